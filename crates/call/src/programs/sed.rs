//! What a `sed` script runs, reads and writes.
//!
//! [`deeds`] follows the script command by command, because in `s/r/w/e` each letter means something else: only
//! its place tells. What edits the text is passed over on purpose, and a script that cannot be followed to its
//! end is none.

/// Something a script does beside editing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed<'s> {
    /// It runs this; none if that is a line of the text.
    Runs(Option<&'s str>),
    /// It reads or writes a file of this name.
    Opens(&'s str),
}

/// All it does beside editing; none if that cannot be told.
pub(crate) fn deeds(script: &str) -> Option<Vec<Deed<'_>>> {
    let mut found = Vec::new();
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | '{' | '}'));
        if rest.is_empty() {
            return Some(found);
        }
        rest = after_addresses(rest)?;
        let mut letters = rest.chars();
        let command = letters.next()?;
        rest = one(command, letters.as_str(), &mut found)?;
    }
}

/// Reads one command behind its letter and gives what follows it.
fn one<'s>(command: char, rest: &'s str, found: &mut Vec<Deed<'s>>) -> Option<&'s str> {
    let (line, after_line) = rest.split_once('\n').unwrap_or((rest, ""));
    Some(match command {
        '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => rest,
        'l' | 'L' | 'q' | 'Q' => rest.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit()),
        'b' | 't' | 'T' | ':' | 'v' => rest.trim_start_matches(|c| !matches!(c, ';' | '\n' | '}')),
        '#' => after_line,
        'a' | 'i' | 'c' => after_text(rest),
        'r' | 'R' | 'w' | 'W' => {
            found.push(Deed::Opens(line.trim()));
            after_line
        }
        'e' => {
            found.push(Deed::Runs(Some(line.trim()).filter(|line| !line.is_empty())));
            after_line
        }
        's' => {
            let mark = rest.chars().next().filter(|mark| !matches!(mark, '\n' | '\\'))?;
            let rest = after_pattern(rest.strip_prefix(mark)?, mark)?;
            flags(after_mark(rest, mark)?, found)
        }
        'y' => {
            let mark = rest.chars().next().filter(|mark| !matches!(mark, '\n' | '\\'))?;
            after_mark(after_mark(rest.strip_prefix(mark)?, mark)?, mark)?
        }
        _ => return None,
    })
}

/// What follows the flags of a substitution.
fn flags<'s>(rest: &'s str, found: &mut Vec<Deed<'s>>) -> &'s str {
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit() || "gpiImMe ".contains(c));
    let flags = rest.strip_suffix(after).unwrap_or_default();
    if flags.contains('e') {
        found.push(Deed::Runs(None));
    }
    match after.strip_prefix('w') {
        Some(file) => {
            let (file, after) = file.split_once('\n').unwrap_or((file, ""));
            found.push(Deed::Opens(file.trim()));
            after
        }
        None => after,
    }
}

/// What follows the lines a command is for: `1,$!`, `/a/,+2`, `\%b%I`.
fn after_addresses(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || " \t,$!~+".contains(c));
        let mark = match rest.strip_prefix('\\') {
            Some(custom) => custom.chars().next().filter(|mark| *mark != '\n')?,
            None if rest.starts_with('/') => '/',
            None => return Some(rest),
        };
        let pattern = rest.strip_prefix('\\').unwrap_or(rest).strip_prefix(mark)?;
        rest = after_pattern(pattern, mark)?.trim_start_matches(['I', 'M']);
    }
}

/// What follows a regular expression. In brackets the mark means itself.
fn after_pattern(text: &str, mark: char) -> Option<&str> {
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match c {
            '\\' => drop(letters.next()),
            c if c == mark => return Some(letters.as_str()),
            '[' => letters = after_set(letters.as_str(), mark)?.chars(),
            _ => {}
        }
    }
    None
}

/// What follows the set whose bracket was just opened; none where programs would not agree on its end.
fn after_set(text: &str, mark: char) -> Option<&str> {
    let inner = text.strip_prefix('^').unwrap_or(text);
    let inner = inner.strip_prefix(']').unwrap_or(inner);
    let (mut rest, mut has_mark, mut has_class) = (inner, false, false);
    loop {
        let mut letters = rest.chars();
        match letters.next()? {
            ']' => break,
            '\\' if letters.as_str().starts_with(']') => return None,
            '[' => {
                if let Some(kind) = letters.as_str().chars().next().filter(|c| matches!(c, ':' | '.' | '=')) {
                    has_class = true;
                    let (_, after) = letters.as_str().strip_prefix(kind)?.split_once(&format!("{kind}]"))?;
                    rest = after;
                    continue;
                }
            }
            c => has_mark |= c == mark,
        }
        rest = letters.as_str();
    }
    if has_mark && has_class { None } else { rest.strip_prefix(']') }
}

/// What follows the next mark that is not escaped.
fn after_mark(text: &str, mark: char) -> Option<&str> {
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match c {
            '\\' => drop(letters.next()),
            c if c == mark => return Some(letters.as_str()),
            _ => {}
        }
    }
    None
}

/// What follows the text of `a`, `i` or `c`: all of the line, and those after it while each ends in a backslash.
fn after_text(text: &str) -> &str {
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n') {
        rest = after;
        if !line.ends_with('\\') {
            return rest;
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_place_says_what_a_letter_does() {
        let ran = |script| Some(vec![Deed::Runs(script)]);
        let opens = |file| Some(vec![Deed::Opens(file)]);
        let nothing = || Some(vec![]);
        let rows = [
            ("s/e/w/", nothing()),
            ("s/a/b/g;s/r/w /", nothing()),
            ("s/[^/]*$//", nothing()),
            ("s|a/e|b|;p", nothing()),
            ("y/e/w/", nothing()),
            ("/e id/d", nothing()),
            ("1,5p;$!N;/x/,+2{d}", nothing()),
            (":e;s/a/b/;te", nothing()),
            ("# e id", nothing()),
            ("a e id", nothing()),
            ("a\\\n e id\\\n w x", nothing()),
            ("$a\\\ne id\nw x", opens("x")),
            ("e id", ran(Some("id"))),
            ("1e", ran(None)),
            ("/a\\/b/e id", ran(Some("id"))),
            ("\\%b%e id", ran(Some("id"))),
            ("/a/I,/b/!e id", ran(Some("id"))),
            ("1{e id\n}", ran(Some("id"))),
            ("s/a/b/;e id;p", ran(Some("id;p"))),
            ("s/a/id/e", ran(None)),
            ("s;a;id;2ge", ran(None)),
            ("s/a/b/w /etc/x", opens("/etc/x")),
            ("s/a/b/ew x", Some(vec![Deed::Runs(None), Deed::Opens("x")])),
            ("r/etc/passwd", opens("/etc/passwd")),
            ("1r../x", opens("../x")),
            ("$!W x;y", opens("x;y")),
            ("s/[\\]/id/e;#]/x/", None),
            ("s/[[:a:]/]/id/e", None),
            ("s/a/b", None),
            ("@", None),
            ("1", None),
        ];
        for (script, deeds) in rows {
            assert_eq!(super::deeds(script), deeds, "{script}");
        }
    }
}
