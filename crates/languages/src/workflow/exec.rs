//! The command of an `exec` condition: a program and its arguments.
//!
//! No shell reads it, so whatever only a shell would act on is a mistake instead of an argument that means nothing.
//! An author who wants a shell writes it: `sh -c '…'`. Missing on purpose: whether the program exists.

/// Splits a command into words, quotes as a shell has them. Otherwise what is wrong, and what to do about it.
pub(super) fn words(command: &str) -> Result<Vec<String>, (String, String)> {
    if let Some(live) = first_live(command) {
        let message = format!("`{live}` means something to a shell only, and none reads this command");
        let remedy = "say the shell, as in `exec(\"sh -c '…'\")`, or put the text in single quotes";
        return Err((message, remedy.to_owned()));
    }
    let Some(words) = shlex::split(command) else {
        let message = "a quote of the command is not closed".to_owned();
        return Err((message, "close it, or write `\\\\` before a quote that is meant as itself".to_owned()));
    };
    match words.first().map(String::as_str) {
        None | Some("") => {
            Err(("the command is empty".to_owned(), "name a program, as in `exec(\"npm test\")`".to_owned()))
        }
        Some(word) if is_assignment(word) => {
            let message = format!("`{word}` is not a program: only a shell sets variables like this");
            Err((message, format!("write `env {word} …`")))
        }
        Some(_) => Ok(words),
    }
}

/// Words as one command again.
pub(super) fn joined(words: &[String]) -> String {
    // Only a NUL cannot be quoted, and conditions hold none.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// The first piece of a command that a shell would not take as it stands.
fn first_live(command: &str) -> Option<&str> {
    #[derive(Clone, Copy, PartialEq)]
    enum Quote {
        None,
        Single,
        Double,
    }
    let mut quote = Quote::None;
    let mut is_word_start = true;
    let mut characters = command.char_indices();
    while let Some((at, character)) = characters.next() {
        let rest = command.get(at..).unwrap_or_default();
        let starts_word = std::mem::replace(&mut is_word_start, false);
        match (quote, character) {
            (Quote::None | Quote::Double, '\\') => drop(characters.next()),
            (Quote::None, '\'') => quote = Quote::Single,
            (Quote::None, '"') => quote = Quote::Double,
            (Quote::Single, '\'') | (Quote::Double, '"') => quote = Quote::None,
            (Quote::Single, _) => {}
            (Quote::None, ' ') => is_word_start = true,
            (_, '`') => return rest.get(..1),
            (_, '$') => {
                if let Some(variable) = variable(rest, quote == Quote::None) {
                    return Some(variable);
                }
            }
            (Quote::Double, _) => {}
            (Quote::None, _) => {
                if let Some(live) = operator(rest, starts_word) {
                    return Some(live);
                }
            }
        }
    }
    None
}

/// What a `$` begins, unless it stands for itself.
fn variable(rest: &str, is_bare: bool) -> Option<&str> {
    let after = rest.get(1..)?;
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let next = after.chars().next()?;
    if is_name(next) {
        let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
        return rest.get(..1 + end);
    }
    let is_live = "({[@*#?$!-".contains(next) || is_bare && "'\"".contains(next);
    if is_live { rest.get(..2) } else { None }
}

/// What a shell does not take as it stands, outside quotes.
fn operator(rest: &str, starts_word: bool) -> Option<&str> {
    const DOUBLE: [&str; 5] = ["&&", "||", ">>", "<<", ";;"];
    if let Some(double) = DOUBLE.iter().find(|double| rest.starts_with(**double)) {
        return rest.get(..double.len());
    }
    let word = rest.split(' ').next().unwrap_or_default();
    let is_live = match rest.chars().next()? {
        '|' | '&' | ';' | '<' | '>' | '(' | ')' | '*' | '?' => true,
        '~' | '#' => starts_word,
        '!' => starts_word && word == "!",
        '[' => word.find(']').is_some_and(|end| end > 1),
        '{' => word.split('}').next().is_some_and(|inside| {
            inside.len() < word.len() && (inside.contains(',') || inside.contains(".."))
        }),
        _ => false,
    };
    if is_live { rest.get(..1) } else { None }
}

/// `NAME=value`
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
