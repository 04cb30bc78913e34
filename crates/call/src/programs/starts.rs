//! Whether a console is started in plain sight: its words say where it goes, and hold nothing that could be a command.
//!
//! [`is_plain_start`] is asked of commands that wait for what is typed. What is in no line of `table/starts.rs` is no plain
//! start, nor is a word that is only known when the script runs.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::FixedState;

use super::table::{STARTS, without_version};
use super::word::Field;

/// What may stand behind the name of a console.
#[derive(Default)]
struct Start {
    /// Options without a value.
    flags: Vec<&'static str>,
    /// Options with one.
    valued: Vec<&'static str>,
    /// What the first word may be that is no option; none where it may be any.
    words: Option<Vec<&'static str>>,
    /// Whether any option may stand there.
    any: bool,
}

static ROWS: LazyLock<HashMap<&str, Start, FixedState>> = LazyLock::new(|| {
    let mut rows = HashMap::default();
    for (names, line) in STARTS.lines().filter_map(|line| line.split_once(':')) {
        names.split_ascii_whitespace().for_each(|name| drop(rows.insert(name, Start::read(line))));
    }
    rows
});

/// Whether a program is a console that has a line.
pub(crate) fn is_console(program: &str) -> bool {
    row_of(program).is_some()
}

fn row_of(program: &str) -> Option<&'static Start> {
    ROWS.get(program).or_else(|| ROWS.get(without_version(program)?))
}

/// Whether a console is started with words that cannot hold a command.
pub(crate) fn is_plain_start(program: &str, arguments: &[Field]) -> bool {
    let is_known = |word: &Field| word.is_certain() && is_plain(&word.text);
    row_of(program).is_some_and(|row| arguments.iter().all(is_known) && row.takes(arguments))
}

impl Start {
    fn read(line: &'static str) -> Self {
        let (options, words) = match line.split_once('/') {
            Some((options, words)) => (options, Some(words.split_ascii_whitespace().collect())),
            None => (line, None),
        };
        let mut start = Self { words, ..Self::default() };
        for option in options.split_ascii_whitespace() {
            match option.strip_suffix('=') {
                Some(option) => start.valued.push(option),
                None if option == "*" => start.any = true,
                None => start.flags.push(option),
            }
        }
        start
    }

    fn takes(&self, arguments: &[Field]) -> bool {
        let mut texts = arguments.iter().map(|word| word.text.as_str());
        let mut is_first = true;
        while let Some(text) = texts.next() {
            if text.len() > 1 && text.starts_with('-') {
                match self.option(text) {
                    Some(true) => drop(texts.next()),
                    Some(false) => {}
                    None => return false,
                }
            } else if std::mem::take(&mut is_first)
                && self.words.as_ref().is_some_and(|words| !words.contains(&text))
            {
                return false;
            }
        }
        true
    }

    /// Whether the next word is the value of an option; none where the option is not known here.
    fn option(&self, text: &str) -> Option<bool> {
        let is_glued = |flag: &&&str| flag.strip_suffix('*').is_some_and(|start| text.starts_with(start));
        if self.any || self.flags.contains(&text) || self.flags.iter().any(|flag| is_glued(&flag)) {
            return Some(false);
        }
        if self.valued.contains(&text) {
            return Some(true);
        }
        if let Some((name, _)) = text.split_once('=').filter(|_| text.starts_with("--")) {
            return self.valued.contains(&name).then_some(false);
        }
        if text.starts_with("--") {
            return None;
        }
        let letters = text.strip_prefix('-')?;
        for (at, letter) in letters.char_indices() {
            let option = format!("-{letter}");
            if self.valued.contains(&option.as_str()) {
                return Some(at + letter.len_utf8() == letters.len());
            }
            if !self.flags.contains(&option.as_str()) {
                return None;
            }
        }
        Some(false)
    }
}

/// Whether a word cannot be a command of a console's own: a name, a path, a host or an option.
fn is_plain(text: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:@=+,~%?&".contains(c);
    // `vim +10 x` is a line; `vim +q x` a command.
    let is_command = match text.strip_prefix('+') {
        Some(line) => !line.chars().all(|c| c.is_ascii_digit() || c == ','),
        None => text.starts_with([':', '@', '?', '&', '=', '%']),
    };
    text.chars().all(is_plain) && !is_command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_start_holds_no_command() {
        let rows = [
            ("vim a.txt", true),
            ("vim +10 a.txt", true),
            ("vim -O a b", true),
            ("vim +q a", false),
            ("vim -s keys a", false),
            ("nvim --remote-send :!x", false),
            ("psql -h db -U me shop", true),
            ("psql -hdb", true),
            ("psql -v x=y", false),
            ("mysql -u root -p", true),
            ("mysql --init-command=system", false),
            ("python3.11", true),
            ("python3 -i x.py", true),
            ("python3 -c x", false),
            ("bash", true),
            ("bash -il", true),
            ("bash -s", false),
            ("bash x", false),
            ("ssh -p 22 me@host", true),
            ("ssh -p22 host", true),
            ("ssh -F x host", false),
            ("docker run -it ubuntu", true),
            ("tmux new -s x", true),
            ("tmux source-file x", false),
            ("screen -X stuff x", false),
            ("kitty @ send-text x", false),
            ("gnome-terminal -- rm x", false),
            ("frob", false),
        ];
        for (text, expected) in rows {
            let words: Vec<Field> = text.split(' ').map(Field::certain).collect();
            assert_eq!(is_plain_start(&words[0].text, &words[1..]), expected, "{text}");
        }
    }

    #[test]
    fn a_word_that_is_computed_is_no_plain_start() {
        assert!(!is_plain_start("vim", &[Field::uncertain("$x")]));
    }
}
