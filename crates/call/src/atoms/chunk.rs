//! One chunk without white space: which atoms it holds.

use super::piece::{AtomKind, Joined};

/// Endings of files that are not also endings of hosts.
const FILE_ENDINGS: [&str; 27] = [
    "bmp", "conf", "csv", "doc", "docx", "eml", "gif", "htm", "html", "ics", "jpeg", "jpg", "json", "lock",
    "log", "odt", "pdf", "png", "pptx", "svg", "toml", "tsv", "txt", "xls", "xlsx", "xml", "yaml",
];

/// The fewest digits of an account number.
const ACCOUNT_DIGITS_MIN: usize = 8;

pub(super) fn scan_chunk(chunk: &str, joined: &mut Joined<'_>) {
    let (inner, ends_run) = trim(chunk);
    scan_inner(inner, joined);
    if ends_run {
        joined.end_run();
    }
}

/// A chunk without the signs around it, and whether a run ends behind it.
pub(super) fn trim(chunk: &str) -> (&str, bool) {
    let start = trim_start(chunk);
    let is_behind = |c: char| is_closing(c) || is_stop(c) || matches!(c, ',' | ':' | '*' | '_' | '~');
    let inner = start.trim_end_matches(is_behind);
    let behind = start.get(inner.len()..).unwrap_or_default();
    (inner, behind.contains(is_stop))
}

pub(super) fn trim_start(chunk: &str) -> &str {
    chunk.trim_start_matches(|c: char| {
        is_opening(c) || matches!(c, '*' | '_' | '~' | '#' | '@' | ',' | ';' | '!')
    })
}

fn is_opening(c: char) -> bool {
    matches!(
        c,
        '(' | '[' | '{' | '<' | '"' | '\'' | '`' | '\u{2018}' | '\u{201c}' | '\u{201e}' | '\u{ab}' | '\u{bf}'
    )
}

fn is_closing(c: char) -> bool {
    matches!(c, ')' | ']' | '}' | '>' | '"' | '\'' | '`' | '\u{2019}' | '\u{201d}' | '\u{bb}')
}

fn is_stop(c: char) -> bool {
    matches!(c, '.' | ';' | '!' | '?' | '\u{3002}')
}

fn scan_inner(text: &str, joined: &mut Joined<'_>) {
    if text.is_empty() {
        return;
    }
    if let Some(scheme) = scheme_start(text) {
        let (before, link) = text.split_at_checked(scheme).unwrap_or((text, ""));
        scan_inner(before.trim_end_matches(|c: char| !c.is_alphanumeric()), joined);
        // What an address cannot hold ends it.
        let (link, behind) =
            split_at(link, |c| matches!(c, '<' | '>' | '"' | '`' | '|' | '\u{201c}' | '\u{201d}'));
        let inner = trim(link).0;
        scan_address(inner, joined);
        return scan_chunk(behind, joined);
    }
    let text = without_possessive(text);
    if let Some((kind, plain)) = atom_of(text) {
        return joined.atom(kind, &plain);
    }
    // It is several things in one, such as `to=bob@corp.example` or `a,b`.
    let is_between = |c: char| {
        (is_opening(c) || is_closing(c)) && c != '\'' || matches!(c, ',' | ';' | '=' | ':' | '|' | '&' | '\\')
    };
    let (first, rest) = split_at(text, is_between);
    if first.len() == text.len() {
        if text.contains(char::is_alphanumeric) {
            joined.atom(AtomKind::Mixed, text);
        }
        return;
    }
    scan_chunk(first, joined);
    if rest.starts_with(';') {
        joined.end_run();
    }
    let mut behind = rest.chars();
    behind.next();
    scan_chunk(behind.as_str(), joined);
}

/// Where a scheme such as `https://` or `mailto:` begins. Browsers need only one slash.
fn scheme_start(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    let named = |scheme: &str, end: &str| lower.find(&format!("{scheme}{end}")).map(|at| at + scheme.len());
    let colon = text
        .find("://")
        .or_else(|| named("mailto", ":"))
        .or_else(|| named("https", ":/"))
        .or_else(|| named("http", ":/"))?;
    let before = text.get(..colon)?;
    let letters =
        before.bytes().rev().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-')).count();
    (letters > 0).then(|| colon - letters)
}

/// An address behind a scheme.
fn scan_address(text: &str, joined: &mut Joined<'_>) {
    let rest = text.split_once(':').map_or(text, |(_, rest)| rest);
    match rest.strip_prefix("//").or_else(|| rest.strip_prefix('/')) {
        Some(rest) => joined.atom(AtomKind::Link, &link(rest)),
        None => scan_inner(rest, joined),
    }
}

/// A link in one spelling: the host in lower case, no slash at the end, the rest to the letter.
fn link(rest: &str) -> String {
    let (authority, path) = split_at(rest, |c| matches!(c, '/' | '?' | '#' | '\\'));
    let host = match authority.rsplit_once('@') {
        Some((user, host)) => format!("{user}@{}", host.to_lowercase()),
        None => authority.to_lowercase(),
    };
    format!("{host}{}", path.trim_end_matches('/'))
}

/// What a text is, where it is one atom, and how it is compared.
fn atom_of(text: &str) -> Option<(AtomKind, String)> {
    if text.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '\u{2019}')) {
        return text.contains(char::is_alphabetic).then(|| (AtomKind::Word, text.to_lowercase()));
    }
    number(text)
        .or_else(|| account(text))
        .or_else(|| is_moment(text).then(|| (AtomKind::Date, text.to_owned())))
        .or_else(|| mail(text))
        .or_else(|| place(text))
}

fn number(text: &str) -> Option<(AtomKind, String)> {
    let money = |c: char| matches!(c, '$' | '\u{20ac}' | '\u{a3}' | '\u{a5}');
    let plain = text.trim_start_matches(money).trim_end_matches(money);
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(digits) => ("-", digits.trim_start_matches(money)),
        None => ("", plain.strip_prefix('+').unwrap_or(plain)),
    };
    let (whole, part) = digits.split_once('.').map_or((digits, None), |(whole, part)| (whole, Some(part)));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let whole: String = match whole.split_once(',') {
        None => whole.to_owned(),
        Some((first, rest)) => {
            let is_grouped = (1..=3).contains(&first.len()) && rest.split(',').all(|group| group.len() == 3);
            is_grouped.then(|| whole.replace(',', ""))?
        }
    };
    if !is_digits(&whole) || !part.is_none_or(is_digits) {
        return None;
    }
    let short = whole.trim_start_matches('0');
    let part = part.unwrap_or_default().trim_end_matches('0');
    if part.is_empty() {
        // A number with leading zeros is a name made of digits.
        let is_name = whole.len() >= ACCOUNT_DIGITS_MIN || (short.len() < whole.len() && whole.len() > 1);
        let kind = if whole.len() >= ACCOUNT_DIGITS_MIN { AtomKind::Account } else { AtomKind::Number };
        let shown = if is_name || short.is_empty() { whole.as_str() } else { short };
        return Some((kind, format!("{sign}{shown}")));
    }
    let short = if short.is_empty() { "0" } else { short };
    Some((AtomKind::Number, format!("{sign}{short}.{part}")))
}

fn account(text: &str) -> Option<(AtomKind, String)> {
    let is_iban = (15..=34).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric())
        && text.bytes().take(2).all(|b| b.is_ascii_alphabetic())
        && text.bytes().skip(2).take(2).all(|b| b.is_ascii_digit())
        && text.bytes().filter(u8::is_ascii_digit).count() > ACCOUNT_DIGITS_MIN;
    if is_iban {
        return Some((AtomKind::Account, text.to_ascii_uppercase()));
    }
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let is_grouped = text
        .strip_prefix('+')
        .unwrap_or(text)
        .split('-')
        .all(|group| group.len() >= 2 && group.bytes().all(|b| b.is_ascii_digit()));
    (is_grouped && digits.len() >= ACCOUNT_DIGITS_MIN && !is_moment(text))
        .then_some((AtomKind::Account, digits))
}

/// Whether it is a date or a time of day.
fn is_moment(text: &str) -> bool {
    let parts = |sign: char| -> Option<Vec<usize>> {
        let is_part = |part: &str| (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        let parts: Vec<&str> = text.split(sign).collect();
        (parts.len() > 1 && parts.iter().all(|part| is_part(part)))
            .then(|| parts.iter().map(|it| it.len()).collect())
    };
    let is_date = |sign: char| match parts(sign).as_deref() {
        Some([4, 1..=2, 1..=2]) => true,
        Some([1..=2, 1..=2, 2 | 4]) => sign != '-' || text.len() >= 8,
        _ => false,
    };
    is_date('-')
        || is_date('/')
        || is_date('.')
        || matches!(parts(':').as_deref(), Some([1..=2, 2] | [1..=2, 2, 2]))
}

fn mail(text: &str) -> Option<(AtomKind, String)> {
    let (user, host) = text.split_once('@')?;
    let is_user = !user.is_empty() && user.chars().all(|c| c.is_alphanumeric() || "+-_.%".contains(c));
    let is_host = host.contains(char::is_alphanumeric)
        && host.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-'));
    (is_user && is_host).then(|| (AtomKind::Mail, text.to_lowercase()))
}

/// A host, a link without a scheme, the name of a file or a path.
fn place(text: &str) -> Option<(AtomKind, String)> {
    // A page takes its own scheme for `//evil.example`.
    if let Some(link) = text.strip_prefix("//").and_then(place).filter(|(kind, _)| *kind == AtomKind::Link) {
        return Some(link);
    }
    let (host, rest) = split_at(text, |c| matches!(c, '/' | '?' | '#' | ':'));
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
    };
    let labels: Vec<&str> = host.split('.').collect();
    let last = labels.last()?.to_lowercase();
    let is_address = labels.len() == 4 && labels.iter().all(|label| label.parse::<u8>().is_ok());
    let is_named =
        labels.len() > 1 && labels.iter().all(|it| is_label(it)) && last.starts_with(char::is_alphabetic);
    let is_port = |rest: &str| {
        let port = rest.get(1..).unwrap_or_default();
        let digits = port.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0
            && port
                .get(digits..)
                .is_some_and(|behind| behind.is_empty() || behind.starts_with(['/', '?', '#']))
    };
    if (is_address || is_named) && (!rest.starts_with(':') || is_port(rest)) {
        let is_file = is_named && rest.is_empty() && FILE_ENDINGS.contains(&last.as_str());
        return Some(match is_file {
            true => (AtomKind::File, text.to_owned()),
            false => (AtomKind::Link, link(text)),
        });
    }
    let is_path = text.contains('/') && text.chars().all(|c| c.is_alphanumeric() || "/._-~+%@".contains(c));
    is_path.then(|| (AtomKind::File, text.trim_end_matches('/').to_owned()))
}

fn without_possessive(text: &str) -> &str {
    ["'s", "\u{2019}s"]
        .iter()
        .find_map(|end| text.strip_suffix(end))
        .filter(|it| !it.is_empty())
        .unwrap_or(text)
}

/// The text before the first such sign, and the rest with it.
fn split_at(text: &str, is_sign: impl Fn(char) -> bool) -> (&str, &str) {
    let at = text.find(is_sign).unwrap_or(text.len());
    text.split_at_checked(at).unwrap_or((text, ""))
}
