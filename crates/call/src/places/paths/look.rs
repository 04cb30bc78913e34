//! What a text means as a path: its escapes, its home folder, its patterns.

use std::borrow::Cow;

use url::Url;

use super::shape::{PATH_BYTES_MAX, has_drive, is_file_address};

use crate::call::Call;
use crate::places::path::PathDoubt;

/// How a text comes to whoever opens it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// As a field of a tool we know nothing of: it may trim, decode and expand.
    Field,
    /// As a word of a command, which is taken as it is.
    Word,
    /// As a pattern a shell replaces by the files it fits.
    Glob,
}

/// A path as it will be opened, still relative if it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Looked<'t> {
    pub(super) text: Cow<'t, str>,
    pub(super) is_pattern: bool,
    /// What is matched below, where a shell does it.
    pub(super) globs: Option<Vec<String>>,
}

/// The paths a text may stand for.
pub(super) fn look<'t>(text: &'t str, how: Look, call: &'t Call) -> Result<Vec<Looked<'t>>, PathDoubt> {
    if text.len() > PATH_BYTES_MAX {
        return Err(PathDoubt::TooLong);
    }
    if text.chars().any(char::is_control) {
        return Err(PathDoubt::ControlCharacter);
    }
    if text.chars().any(is_look_alike) {
        return Err(PathDoubt::LookAlike);
    }
    if is_file_address(text) {
        let text = Cow::Owned(file_of_address(text)?);
        return Ok(vec![Looked { text, is_pattern: false, globs: None }]);
    }
    if how == Look::Field {
        check_field(text)?;
    } else {
        check_word(text)?;
    }
    let mut looked = Vec::with_capacity(1);
    if let Some(expanded) = expand(text, how, call)? {
        looked.push(pattern(expanded, how)?);
        if how != Look::Field {
            return Ok(looked);
        }
        // The tool may as well open a folder that is really called `$HOME`.
        looked.push(pattern(Cow::Owned(format!("./{text}")), how)?);
    } else {
        looked.push(pattern(Cow::Borrowed(text), how)?);
    }
    Ok(looked)
}

/// Doubts about a text that an unknown tool will read in its own way.
pub(super) fn check_field(text: &str) -> Result<(), PathDoubt> {
    if has_drive(text) || text.starts_with("\\\\") || (text.starts_with("//") && !text.starts_with("///")) {
        return Err(PathDoubt::Elsewhere);
    }
    if text.contains('\\') {
        return Err(PathDoubt::Backslash);
    }
    if has_escapes(text) {
        return Err(PathDoubt::Encoded);
    }
    let is_loose = |part: &str| {
        part.starts_with(' ') || part.ends_with(' ') || (part.ends_with('.') && !matches!(part, "." | ".."))
    };
    if text.trim() != text || text.split('/').any(is_loose) {
        return Err(PathDoubt::LooseEnd);
    }
    Ok(())
}

/// A shell hands on a backslash as it is; some programs then take it for a slash.
pub(super) fn check_word(text: &str) -> Result<(), PathDoubt> {
    let folded = || text.replace('\\', "/");
    if text.contains('\\')
        && (has_drive(text) || text.starts_with('\\') || folded().split('/').any(|part| part == ".."))
    {
        return Err(PathDoubt::Backslash);
    }
    Ok(())
}

/// The text with a home folder or variable at its start put in; none if it has none.
pub(super) fn expand<'t>(
    text: &'t str,
    how: Look,
    call: &'t Call,
) -> Result<Option<Cow<'t, str>>, PathDoubt> {
    let put_in = |name: &str, rest: &str| {
        let value =
            variable(call, name).filter(|value| value.starts_with('/') && !value.contains(['$', '\0']))?;
        Some(Cow::Owned(format!("{value}{rest}")))
    };
    if let Some(rest) = text.strip_prefix('~') {
        let home = if rest.is_empty() || rest.starts_with('/') { put_in("HOME", rest) } else { None };
        return home.map(Some).ok_or(PathDoubt::Home);
    }
    // In a script `$` is only left where it means itself.
    if how != Look::Field || !text.contains(['$', '%']) {
        return Ok(None);
    }
    let named = text.strip_prefix('$').and_then(|rest| match rest.strip_prefix('{') {
        Some(inside) => inside.split_once('}'),
        None => rest.split_at_checked(
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len()),
        ),
    });
    match named {
        Some((name, rest)) if !rest.contains('$') && (rest.is_empty() || rest.starts_with('/')) => {
            put_in(name, rest).map(Some).ok_or(PathDoubt::Variable)
        }
        _ if text.contains('$') || text.matches('%').count() > 1 => Err(PathDoubt::Variable),
        _ => Ok(None),
    }
}

/// Cuts a pattern down to the folder that all it fits lies in.
pub(super) fn pattern(text: Cow<'_, str>, how: Look) -> Result<Looked<'_>, PathDoubt> {
    let has_braces = |part: &str| part.contains('{') && !part.starts_with("${");
    let is_glob = |part: &&str| part.contains(['*', '?', '[']) || has_braces(part);
    if how == Look::Word || !text.split('/').any(|part| is_glob(&part)) {
        return Ok(Looked { text, is_pattern: false, globs: None });
    }
    let fixed: Vec<&str> = text.split('/').take_while(|part| !is_glob(part)).collect();
    let mut after = text.split('/').skip(fixed.len());
    // `.*` fits `..` in some shells, and braces may hold anything.
    if after.any(|part| part == ".." || has_braces(part) || may_climb(part)) {
        return Err(PathDoubt::Glob);
    }
    let folder = match fixed.as_slice() {
        [] => ".".to_owned(),
        [""] => "/".to_owned(),
        fixed => fixed.join("/"),
    };
    // A tool that is no shell may match in its own way.
    let globs = (how == Look::Glob && !text.contains("**"))
        .then(|| text.split('/').skip(fixed.len()).map(ToOwned::to_owned).collect());
    Ok(Looked { text: Cow::Owned(folder), is_pattern: true, globs })
}

/// Whether a pattern may fit `..`: only one that starts with a dot can, and not if it holds a name.
pub(super) fn may_climb(part: &str) -> bool {
    part.starts_with('.') && !part.contains(|c: char| c.is_alphanumeric())
}

/// The path in a `file:` URL, decoded once.
pub(super) fn file_of_address(text: &str) -> Result<String, PathDoubt> {
    let address = Url::parse(text).map_err(|_| PathDoubt::Encoded)?;
    let after_scheme = text.trim_start().get(5..).unwrap_or_default();
    if !after_scheme.starts_with('/') {
        // By the rules it starts at the root; programs that merely cut `file:` off start elsewhere.
        return Err(PathDoubt::Folder);
    }
    if text.contains('\\') {
        return Err(PathDoubt::Backslash);
    }
    if address.host_str().is_some_and(|host| !host.is_empty() && host != "localhost") {
        return Err(PathDoubt::Elsewhere);
    }
    let path = decode(address.path()).ok_or(PathDoubt::Encoded)?;
    if has_escapes(&path) {
        return Err(PathDoubt::Encoded);
    }
    if path.chars().any(is_look_alike) {
        return Err(PathDoubt::LookAlike);
    }
    if has_drive(path.trim_start_matches('/')) {
        return Err(PathDoubt::Elsewhere);
    }
    Ok(path)
}

/// Whether a `%` with two digits behind it is in the text.
pub(super) fn has_escapes(text: &str) -> bool {
    let is_hex = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let bytes = text.as_bytes();
    bytes
        .iter()
        .enumerate()
        .any(|(i, byte)| *byte == b'%' && is_hex(bytes.get(i + 1)) && is_hex(bytes.get(i + 2)))
}

/// Replaces each `%2e` by what it stands for, once. None if the outcome is no text.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => {
                let digit =
                    |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low)
            }
            _ => None,
        };
        decoded.push(escaped.unwrap_or(*first));
        rest = after.get(if escaped.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    String::from_utf8(decoded).ok()
}

/// Whether some program may take the character for a slash, a dot, a tilde or a dollar, or nobody can see it.
pub(super) fn is_look_alike(c: char) -> bool {
    matches!(
        c,
        '\u{2024}'..='\u{2026}' // dot leaders
        | '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{ff0f}' | '\u{2571}' | '\u{1735}' // slashes
        | '\u{2100}' | '\u{2101}' | '\u{2105}' | '\u{2106}' // letters about a slash
        | '\u{2216}' | '\u{29f5}' | '\u{29f9}' | '\u{fe68}' | '\u{ff3c}' // backslashes
        | '\u{3002}' | '\u{fe52}' | '\u{ff0e}' | '\u{ff61}' // full stops
        | '\u{2488}'..='\u{249b}' // digits with a full stop
        | '\u{223c}' | '\u{ff5e}' | '\u{ff04}' | '\u{fe69}' | '\u{ff05}' | '\u{fe6a}'
        | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
    )
}

/// A variable of the place where the call runs, if the host tells it.
fn variable<'c>(call: &'c Call, name: &str) -> Option<&'c str> {
    call.about.context.as_ref()?.get("env")?.get(name)?.as_str()
}
