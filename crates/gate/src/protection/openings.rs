//! Whether a call mentions a command that only a human may give, in any spelling.
//!
//! Two words are looked for in all texts of the input together: the program and one of its verbs. Quotes, backslashes,
//! `+` between texts, `$(…)`, `${…}` and escapes are looked through. What is encoded or computed in any other way is not
//! found here; the commands themselves refuse it then.

use lockgate_call::fits_glob;
use serde_json::{Map, Value};

use super::tables::LETTERS_MIN;

/// The verb that an input mentions together with the program, if any.
pub(super) fn found<'v>(input: &Map<String, Value>, program: &str, verbs: &'v [String]) -> Option<&'v str> {
    let mut text = String::new();
    gather_object(input, &mut text);
    let text = unescaped(&text.to_lowercase());
    // A comma parts the words of a list, or the pieces of one word.
    let (joined, listed) = (joined(&text, "+."), joined(&text, "+.,"));
    let bare = without_expansions(&text);
    let spellings = [text.as_str(), &joined, &listed, &bare];
    // A verb of several words is spoken of by all of them.
    let speaks = |text: &str, verb: &str| verb.split(|c| !is_letter(c)).all(|word| has_word(text, word));
    let verb = verbs.iter().find(|verb| spellings.iter().any(|text| speaks(text, verb)))?;
    let names = |text: &&str| has_program(text, program) || has_glob(text, program);
    spellings.iter().any(names).then_some(verb)
}

fn gather_object(object: &Map<String, Value>, text: &mut String) {
    for (key, value) in object {
        text.push_str(key);
        text.push('\n');
        gather(value, text);
    }
}

fn gather(value: &Value, text: &mut String) {
    match value {
        Value::String(part) => {
            text.push_str(part);
            text.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, text)),
        Value::Object(object) => gather_object(object, text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// With `\147`, `\x67`, `\u0067` and `\u{67}` as the letters they stand for.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, behind) = rest.split_at(at);
        out.push_str(before);
        let behind = behind.get(1..).unwrap_or_default();
        match escape(behind) {
            Some((letter, length)) => {
                out.push(letter);
                rest = behind.get(length..).unwrap_or_default();
            }
            None => {
                out.push('\\');
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    out
}

/// The letter that an escape stands for, and its length behind the backslash.
fn escape(behind: &str) -> Option<(char, usize)> {
    let number = |from: usize, digits: usize, base: u32| {
        let text = behind.get(from..from.checked_add(digits)?)?;
        let number = text.chars().all(|c| c.is_digit(base)).then(|| u32::from_str_radix(text, base).ok());
        let letter = char::from_u32(number??)?.to_ascii_lowercase();
        letter.is_ascii_alphanumeric().then_some((letter, from.saturating_add(digits)))
    };
    let bytes = behind.as_bytes();
    match bytes.first()? {
        b'x' => number(1, 2, 16),
        b'u' if bytes.get(1) == Some(&b'{') => {
            let end = behind.find('}')?;
            let (letter, _) = number(2, end.checked_sub(2)?, 16)?;
            Some((letter, end.saturating_add(1)))
        }
        b'u' => number(1, 4, 16).or_else(|| number(1, 8, 16)),
        // A shell's printf takes a zero in front.
        b'0' => number(1, 3, 8).or_else(|| number(0, 3, 8)),
        b'1'..=b'7' => number(0, 3, 8),
        _ => None,
    }
}

const QUOTES: &[char] = &['\'', '"', '`'];

/// With texts put together that only quotes, backslashes or one of `signs` between quotes part.
fn joined(text: &str, signs: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let behind = rest.get(c.len_utf8()..).unwrap_or_default();
        rest = match c {
            _ if QUOTES.contains(&c) => {
                // `'lock' + 'gate'`, `"lock" "gate"`, `'lock','gate'`.
                let gap = behind.trim_start_matches(|c: char| c == ' ' || c == '\t' || signs.contains(c));
                if gap.len() < behind.len() && gap.starts_with(QUOTES) { gap } else { behind }
            }
            '\\' | '$' | '}' | ')' => behind,
            // What stands before a bracket is another word.
            '(' | '{' => {
                out.push(' ');
                behind
            }
            _ => {
                out.push(c);
                behind
            }
        };
    }
    out
}

/// Without `${…}`, `$(…)`, `$@` and the like, which may stand for nothing, and without quotes.
fn without_expansions(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '$' => match chars.next() {
                Some(open @ ('{' | '(')) => {
                    let close = if open == '{' { '}' } else { ')' };
                    let mut depth = 1_usize;
                    for c in chars.by_ref() {
                        match c {
                            _ if c == open => depth = depth.saturating_add(1),
                            _ if c == close => depth = depth.saturating_sub(1),
                            _ => {}
                        }
                        if depth == 0 {
                            break;
                        }
                    }
                }
                Some('@' | '*' | '#' | '?' | '!' | '-') | None => {}
                Some(c) if c.is_ascii_digit() => {}
                Some(c) => out.push(c),
            },
            '\'' | '"' | '`' | '\\' => {}
            _ => out.push(c),
        }
    }
    out
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !is_letter(c)).any(|part| part == word)
}

/// Whether a text names a program.
pub(super) fn names(text: &str, program: &str) -> bool {
    has_program(&text.to_lowercase(), program)
}

/// Whether the text names the program, and not only a folder, a file or another program whose name holds its name.
fn has_program(text: &str, program: &str) -> bool {
    text.match_indices(program).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let behind = text.get(at.saturating_add(program.len())..).unwrap_or_default();
        // `env -Slockgate`.
        let token = before.rsplit(|c: char| c.is_whitespace()).next().unwrap_or_default();
        let is_glued = token.starts_with('-') && token.chars().all(|c| is_letter(c) || c == '-');
        let begins = is_glued || !before.ends_with(|c: char| is_letter(c) || c == '.' || c == '-');
        let mut next = behind.chars();
        let ends = match next.next() {
            Some('.') => {
                let end: String = next.take_while(|c| is_letter(*c)).collect();
                end.is_empty() || ["exe", "cmd", "bat", "com"].contains(&end.as_str())
            }
            Some(c) => !is_letter(c) && c != '/' && c != '-',
            None => true,
        };
        begins && ends
    })
}

/// Whether a pattern of a shell in the text fits the program.
fn has_glob(text: &str, program: &str) -> bool {
    let is_part = |c: char| is_letter(c) || "*?[]!^-".contains(c);
    text.split(|c: char| !is_part(c)).any(|part| {
        part.contains(['*', '?', '['])
            && part.chars().filter(|c| is_letter(*c)).count() >= LETTERS_MIN
            && fits_glob(part, program)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spoken(input: &Value) -> bool {
        let verbs = ["approve", "refuse", "resume", "uninstall", "trust", "accept", "serve token"];
        let verbs = verbs.map(str::to_owned);
        found(input.as_object().unwrap(), "lockgate", &verbs).is_some()
    }

    #[test]
    fn every_spelling_that_can_be_read_is_found() {
        for command in [
            "lockgate approve --all --yes",
            "LOCKGATE Approve x",
            "/opt/bin/lockgate --json approve",
            "lockgate.exe uninstall",
            "lock''gate approve x",
            "lo\"ck\"gate app'ro've",
            "loc\\kgate ref\\use x",
            "$(echo lock)gate approve",
            "lock${x}gate approve",
            "lock$@gate approve",
            "$(printf 'lock\\147ate') approve",
            "$'\\x6cockgate' mcp accept",
            "python3 -c \"import subprocess; p='lockgate'; subprocess.run([p,'approve'])\"",
            "python3 -c \"subprocess.run([shutil.which('lock'+'gate'),'approve'])\"",
            "python3 -c \"subprocess.run(['lock' + 'gate','ap' 'prove'])\"",
            "find /b -name 'lockg*' -exec {} uninstall --yes ';'",
            "/usr/local/bin/l?ckgate resume",
            "x=y; y=lockgate; ${!x} approve",
            "alias q=lockgate; q approve",
            "env -Slockgate approve",
            "cargo run -p lockgate -- trust",
            "lockgate serve token create x --scope admin",
            "lockgate --json ser''ve 'token' revoke x",
        ] {
            assert!(spoken(&json!({ "command": command })), "{command}");
        }
        assert!(spoken(&json!({ "program": "lockgate", "args": ["approve", "--all"] })));
        assert!(spoken(&json!({ "a": { "lockgate": ["x", { "b": "approve" }] } })));
        assert!(spoken(&json!({ "file_path": "x.sh", "content": "#!/bin/sh\nlockgate approve --all\n" })));
    }

    #[test]
    fn one_of_the_two_words_is_not_enough() {
        for command in [
            "lockgate status",
            "lockgate verify a.rules",
            "git commit -m 'approve the design'",
            "cat /home/me/lockgate/docs/approve.md",
            "ls .lockgate; echo approve",
            "cargo test -p lockgate-cli approve",
            "ls lockgate.toml; echo trust",
            "echo unlockgates approve",
            "lockgate status # approved, accepted, trusted, disapprove",
            "ls *.rs; echo approve",
            "lockgate verify token.rules",
        ] {
            assert!(!spoken(&json!({ "command": command })), "{command}");
        }
    }
}
