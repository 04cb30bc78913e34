//! Secrets: keys of providers, tokens, private keys, and whatever a text calls a password.
//!
//! One walk over the text: at the start of each word it looks for the beginnings in [`KEYS`], at each `=` and
//! `:` for a name before it that says what follows. What is found is skipped, so the walk reads everything a
//! fixed number of times. Whether a key is still valid is not asked.

use std::ops::Range;

use super::found::{Found, Sort, after, before};
use super::names::{self, Name, is_folder, is_placeholder};

/// A kind of key that its provider lets begin with the same letters.
struct Key {
    start: &'static str,
    /// How many characters follow at least.
    rest_min: usize,
    /// Which characters follow.
    is_rest: fn(u8) -> bool,
}

const fn key(start: &'static str, rest_min: usize, is_rest: fn(u8) -> bool) -> Key {
    Key { start, rest_min, is_rest }
}

const KEYS: &[Key] = &[
    // Language models.
    key("sk-", 16, is_token),
    key("hf_", 20, is_letter_or_digit),
    key("gsk_", 20, is_letter_or_digit),
    key("r8_", 20, is_letter_or_digit),
    key("xai-", 20, is_token),
    key("pplx-", 20, is_letter_or_digit),
    // Clouds.
    key("AKIA", 16, is_upper_or_digit),
    key("ASIA", 16, is_upper_or_digit),
    key("ABIA", 16, is_upper_or_digit),
    key("ACCA", 16, is_upper_or_digit),
    key("AIza", 30, is_token),
    key("GOCSPX-", 20, is_token),
    key("ya29.", 20, is_token),
    key("dop_v1_", 32, is_letter_or_digit),
    key("doo_v1_", 32, is_letter_or_digit),
    key("LTAI", 12, is_letter_or_digit),
    key("dapi", 32, is_hex),
    // Code and packages.
    key("ghp_", 20, is_letter_or_digit),
    key("gho_", 20, is_letter_or_digit),
    key("ghu_", 20, is_letter_or_digit),
    key("ghs_", 20, is_letter_or_digit),
    key("ghr_", 20, is_letter_or_digit),
    key("github_pat_", 20, is_token),
    key("glpat-", 16, is_token),
    key("gldt-", 16, is_token),
    key("glrt-", 16, is_token),
    key("glcbt-", 16, is_token),
    key("npm_", 30, is_letter_or_digit),
    key("pypi-", 16, is_token),
    key("rubygems_", 32, is_hex),
    key("dckr_pat_", 16, is_token),
    key("ATATT3", 30, is_token),
    key("lin_api_", 30, is_letter_or_digit),
    key("figd_", 20, is_token),
    // Messages and mail.
    key("xoxa-", 10, is_token),
    key("xoxb-", 10, is_token),
    key("xoxe-", 10, is_token),
    key("xoxe.", 10, is_dotted),
    key("xoxp-", 10, is_token),
    key("xoxr-", 10, is_token),
    key("xoxs-", 10, is_token),
    key("xoxc-", 10, is_token),
    key("xoxd-", 10, is_token),
    key("xapp-", 10, is_token),
    key("SG.", 30, is_dotted),
    key("key-", 32, is_hex),
    // Money.
    key("sk_live_", 10, is_letter_or_digit),
    key("sk_test_", 10, is_letter_or_digit),
    key("rk_live_", 10, is_letter_or_digit),
    key("rk_test_", 10, is_letter_or_digit),
    key("whsec_", 16, is_token),
    key("sq0atp-", 20, is_token),
    key("sq0csp-", 20, is_token),
    key("shpat_", 32, is_hex),
    key("shpss_", 32, is_hex),
    key("shpca_", 32, is_hex),
    // Machines.
    key("hvs.", 20, is_token),
    key("hvb.", 20, is_token),
    key("pul-", 32, is_hex),
    key("tskey-", 16, is_token),
    key("ntn_", 30, is_letter_or_digit),
    key("AGE-SECRET-KEY-1", 40, is_upper_or_digit),
];

/// How long a name before an assignment may be, and the line that begins a private key.
const NAME_BYTES_MAX: usize = 64;
const PEM_LINE_BYTES_MAX: usize = 80;

/// How much is looked at before something is said to be no secret: what goes on longer is one. Without it, a
/// text could be made to be read again from each of its words.
const LOOK_BYTES_MAX: usize = 256;

/// How many characters the parts of a JSON web token have at least.
const JWT_PART_MIN: usize = 8;

/// Ways to sign on that stand before the secret in a header.
const SCHEMES: &[&str] = &["basic", "bearer", "token", "digest", "negotiate", "apikey", "aws4-hmac-sha256"];

/// Finds all of them.
pub(super) fn find(text: &str, found: &mut Vec<Found>) {
    let mut end = 0;
    let mut token = 0..0;
    let mut is_in_word = false;
    for (at, byte) in text.bytes().enumerate() {
        let starts_word = byte.is_ascii_alphanumeric() && !is_in_word;
        is_in_word = byte.is_ascii_alphanumeric() || !byte.is_ascii();
        if at < end {
            continue;
        }
        let secret = match byte {
            b'=' | b':' => assigned(text, at).or_else(|| in_url(text, at)),
            b'-' => private_key(text, at).or_else(|| option(text, at)),
            _ if starts_word => json_web_token(text, at, &mut token).or_else(|| word(text, at)),
            _ => None,
        };
        if let Some(secret) = secret {
            end = secret.range.end;
            found.push(secret);
        }
    }
}

fn secret(sort: Sort, range: Range<usize>) -> Option<Found> {
    (!range.is_empty()).then_some(Found { sort, range })
}

/// A secret that its own letters give away.
fn word(text: &str, at: usize) -> Option<Found> {
    let rest = text.get(at..)?;
    bearer(text, at).or_else(|| {
        let first = rest.as_bytes().first();
        let keys =
            KEYS.iter().filter(|key| key.start.as_bytes().first() == first && rest.starts_with(key.start));
        let key = keys.max_by_key(|key| key.start.len())?;
        let tail = rest.get(key.start.len()..)?;
        let is_key = |b: &u8| (key.is_rest)(*b);
        let near: Vec<u8> = tail.bytes().take(LOOK_BYTES_MAX).take_while(is_key).collect();
        // Words joined by hyphens are not a key, however they begin.
        let is_telling =
            near.iter().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase()) || !near.contains(&b'-');
        let is_whole = near.len() >= key.rest_min && is_telling;
        is_whole.then(|| secret(Sort::ApiKey, at..at + key.start.len() + run(tail, key.is_rest)))?
    })
}

/// Three parts joined by dots, the first of which is the beginning of a JSON object. `token` is the stretch of
/// their characters that was read last: many tokens may seem to begin in one.
fn json_web_token(text: &str, at: usize, token: &mut Range<usize>) -> Option<Found> {
    let rest = text.get(at..).filter(|rest| rest.starts_with("eyJ"))?;
    if !token.contains(&at) {
        *token = at..at + run(rest, is_token);
    }
    let header = token.end - at;
    let payload = run(rest.get(header..)?.strip_prefix('.')?, is_token);
    let end = header + 1 + payload;
    let signature = rest.get(end..)?.strip_prefix('.').map_or(0, |rest| 1 + run(rest, is_token));
    let is_whole = header >= JWT_PART_MIN && payload >= JWT_PART_MIN;
    is_whole.then(|| secret(Sort::Jwt, at..at + end + signature))?
}

/// `Bearer`, and a token behind it.
fn bearer(text: &str, at: usize) -> Option<Found> {
    const WORD: usize = "bearer".len();
    let rest = text.get(at..)?;
    let behind = rest.get(..WORD).filter(|word| word.eq_ignore_ascii_case("bearer")).and(rest.get(WORD..))?;
    let token = behind.trim_start_matches([' ', '\t']);
    let length = run(token, |b| is_token(b) || b".~+/=".contains(&b));
    let start = at + WORD + (behind.len() - token.len());
    let is_given = token.len() < behind.len() && looks_secret(token.get(..length)?);
    is_given.then(|| secret(Sort::Bearer, start..start + length))?
}

/// A private key from its first line to its last. Where the last is missing, everything is taken for it.
fn private_key(text: &str, at: usize) -> Option<Found> {
    let rest = text.get(at..)?.strip_prefix("-----BEGIN ")?;
    let line = rest.get(..rest.floor_char_boundary(PEM_LINE_BYTES_MAX))?;
    let (title, _) = line.split_once("-----")?;
    if !title.contains("PRIVATE KEY") {
        return None;
    }
    let end = rest.find("-----END ").and_then(|end| {
        let last = rest.get(end + "-----END ".len()..)?;
        let line = last.get(..last.floor_char_boundary(PEM_LINE_BYTES_MAX))?;
        let length = line.find("-----").map_or(0, |at| at + "-----".len());
        Some(at + "-----BEGIN ".len() + end + "-----END ".len() + length)
    });
    secret(Sort::PrivateKey, at..end.unwrap_or(text.len()))
}

/// `scheme://user:password@host`.
fn in_url(text: &str, colon: usize) -> Option<Found> {
    let rest = text.get(colon..)?.strip_prefix("://")?;
    let end = rest.find(|c: char| c.is_whitespace() || "/?#\"'`<>".contains(c)).unwrap_or(rest.len());
    // Unlike a scheme's, a password's own `@` does not end it: the last one does.
    let (account, _) = rest.get(..end)?.rsplit_once('@')?;
    let (user, password) = account.split_once(':')?;
    let start = colon + "://".len() + user.len() + 1;
    (!is_placeholder(password)).then(|| secret(Sort::Password, start..start + password.len()))?
}

/// `--password hunter2`.
fn option(text: &str, at: usize) -> Option<Found> {
    let rest = text.get(at..)?.strip_prefix("--").filter(|_| before(text, at) != Some('-'))?;
    let length = rest.bytes().take(NAME_BYTES_MAX).position(|b| b == b' ' || b == b'\t')?;
    let name_text = rest.get(..length)?;
    let behind = rest.get(length..)?;
    let value = behind.trim_start_matches([' ', '\t']);
    if value.len() == behind.len() || value.starts_with('-') {
        return None;
    }
    let name = names::name(name_text)?;
    value_at(text, at + 2 + length + (behind.len() - value.len()), name, name_text)
}

/// `password=hunter2`, `"api_key": "…"`, `Authorization: Basic …`.
fn assigned(text: &str, at: usize) -> Option<Found> {
    let (left, right) = (text.get(..at)?, text.get(at + 1..)?);
    let sign = text.get(at..=at)?;
    let is_comparison = left.ends_with(['=', '!', '<', '>', '~']) || right.starts_with(['=', '~']);
    let is_path = left.ends_with(':') || right.starts_with(':') || right.starts_with("//");
    let operator = match sign {
        "=" if is_comparison => return None,
        "=" if right.starts_with('>') => 2,
        ":" if right.starts_with('=') => 2,
        ":" if is_path => return None,
        _ => 1,
    };
    let name_text = name_before(left)?;
    let name = names::name(name_text)?;
    let behind = text.get(at + operator..)?;
    let value = behind.trim_start_matches([' ', '\t']);
    value_at(text, at + operator + (behind.len() - value.len()), name, name_text)
}

/// The name at the end of a text, whatever closes it: `password`, `"password"`, `\"password\"`, `["password"]`.
fn name_before(text: &str) -> Option<&str> {
    let text = text.trim_end_matches([' ', '\t']).trim_end_matches(':');
    let text = text.strip_suffix(']').unwrap_or(text);
    let text = text.strip_suffix(['"', '\'', '`']).unwrap_or(text).trim_end_matches('\\');
    let near = text.get(text.ceil_char_boundary(text.len().saturating_sub(NAME_BYTES_MAX))..)?;
    let start =
        near.rfind(|c: char| !is_name(c)).map_or(0, |at| at + after(near, at).map_or(1, char::len_utf8));
    near.get(start..).filter(|name| !name.is_empty())
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || "_-.".contains(c)
}

/// The secret that begins here, if what stands here is one.
fn value_at(text: &str, start: usize, name: Name, name_text: &str) -> Option<Found> {
    let rest = text.get(start..)?;
    let opening = rest.trim_start_matches('\\');
    let quote = opening.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    let slashes = rest.len() - opening.len();
    let (range, is_quoted) = match quote {
        Some(quote) => {
            let quotes = if opening.starts_with(&quote.to_string().repeat(3)) { 3 } else { 1 };
            let start = start + slashes + quotes;
            let inner = text.get(start..)?;
            (start..start + quoted_length(inner, quote, slashes > 0), true)
        }
        None if name == Name::Header => (start..start + line_length(rest), false),
        None => (start..start + plain_length(rest), false),
    };
    let value = text.get(range.clone())?;
    if value.len() > LOOK_BYTES_MAX {
        return secret(Sort::Password, range);
    }
    if is_folder(name_text, value) || is_placeholder(value) || value.eq_ignore_ascii_case(name_text) {
        return None;
    }
    match name {
        Name::Sure => secret(Sort::Password, range),
        Name::Loose if is_quoted || looks_secret(value) => secret(Sort::Password, range),
        Name::Loose => None,
        Name::Header => header(value, range),
    }
}

/// What of a header's value is secret.
fn header(value: &str, range: Range<usize>) -> Option<Found> {
    let (scheme, rest) = value.split_once(' ').unwrap_or(("", value));
    if SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) {
        let rest = rest.trim_start();
        let sort = if scheme.eq_ignore_ascii_case("bearer") { Sort::Bearer } else { Sort::Password };
        return (!is_placeholder(rest)).then(|| secret(sort, range.end - rest.len()..range.end))?;
    }
    let first = value.split([' ', '=']).next().unwrap_or_default();
    (looks_secret(first) || value.contains('=')).then(|| secret(Sort::Password, range))?
}

/// Up to the closing quote; where there is none, up to the end of the line.
fn quoted_length(text: &str, quote: char, is_escaped: bool) -> usize {
    let mut is_behind_slash = false;
    for (at, c) in text.char_indices() {
        if c == quote && (is_escaped || !is_behind_slash) {
            let inner = text.get(..at).unwrap_or_default();
            return if is_escaped { inner.trim_end_matches('\\').len() } else { at };
        }
        if c == '\n' {
            return at;
        }
        is_behind_slash = c == '\\' && !is_behind_slash;
    }
    text.len()
}

/// Up to the end of the line, or the quote that closes what the header stands in.
fn line_length(text: &str) -> usize {
    let end = text.find(['\n', '\r', '"', '\'', '`', '\\']).unwrap_or(text.len());
    text.get(..end).map_or(0, |line| line.trim_end().len())
}

/// Up to a space. Marks that separate one assignment from the next end it only where another one follows, for
/// they may as well be part of a password.
fn plain_length(text: &str) -> usize {
    let is_end = |c: char| c.is_whitespace() || "\"'`<>".contains(c);
    let mut length = 0;
    loop {
        let rest = text.get(length..).unwrap_or_default();
        let (mark, piece) = match rest.chars().next() {
            Some(mark) if length > 0 && "&;,".contains(mark) => (1, rest.get(1..).unwrap_or_default()),
            _ if length == 0 => (0, rest),
            _ => break,
        };
        let end = piece.find(|c| is_end(c) || "&;,".contains(c)).unwrap_or(piece.len());
        let piece = piece.get(..end).unwrap_or_default();
        if piece.is_empty() || (mark > 0 && piece.contains(['=', ':'])) {
            break;
        }
        length += mark + end;
    }
    let mut value = text.get(..length).unwrap_or_default();
    // What closes something that was opened before the value does not belong to it.
    while let Some((_, rest)) =
        [('(', ')'), ('[', ']'), ('{', '}'), ('.', '.')].iter().find_map(|(open, close)| {
            let rest = value.strip_suffix(*close)?;
            (!rest.contains(*open)).then_some((open, rest))
        })
    {
        value = rest;
    }
    value.len()
}

/// Whether a value that a loose name announces can be told from a word of prose or of a program.
fn looks_secret(value: &str) -> bool {
    let count = value.chars().count();
    let has_digit = value.chars().any(|c| c.is_ascii_digit());
    !value.contains(['(', '[', '{']) && ((count >= 6 && has_digit) || count >= 20)
}

fn run(text: &str, is_part: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|b| is_part(*b)).count()
}

fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'-' || b == b'_'
}

fn is_dotted(b: u8) -> bool {
    is_token(b) || b == b'.'
}

fn is_letter_or_digit(b: u8) -> bool {
    b.is_ascii_alphanumeric()
}

fn is_upper_or_digit(b: u8) -> bool {
    b.is_ascii_uppercase() || b.is_ascii_digit()
}

fn is_hex(b: u8) -> bool {
    b.is_ascii_hexdigit()
}
