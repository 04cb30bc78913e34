//! How the commands speak: data on `out`, talk on `err`, in colours that are stripped where the output is not a terminal.
//!
//! [`Console`] is handed to every command, so that tests can listen. Text that an agent or a policy chose goes
//! through [`lockgate::engine::call::visible`] before it reaches a terminal. There is no cursor movement: what is
//! written reads the same in a file. What takes long says so elsewhere ([`crate::progress`]).

use std::{fmt, io};

use anstyle::{AnsiColor, Style};
use lockgate::engine::{Decision, PolicyError};

use crate::pages::drawn;

/// How wide the text may be that we lay out ourselves.
pub(crate) const WIDTH: usize = 80;

/// Where a command writes.
pub(crate) struct Console<'a> {
    /// What was asked for.
    pub(crate) out: &'a mut dyn io::Write,
    /// What is said about it.
    pub(crate) err: &'a mut dyn io::Write,
}

/// How a command ended, if it could tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Exit 0.
    Yes,
    /// Exit 1.
    No,
    /// Exit 2, after everything there is to say was said.
    CouldNotTell,
}

/// Why a command could not tell.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// It says so itself.
    #[error("{0}")]
    Said(String),
    /// A message that was drawn with its own title.
    #[error("{0}")]
    Drawn(String),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<PolicyError> for CommandError {
    fn from(error: PolicyError) -> Self {
        match error {
            PolicyError::Mistaken(mistakes) => Self::Drawn(drawn(&mistakes)),
            error => Self::said(error),
        }
    }
}

impl CommandError {
    pub(crate) fn said(text: impl fmt::Display) -> Self {
        Self::Said(text.to_string())
    }
}

impl Ending {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Yes => 0,
            Self::No => 1,
            Self::CouldNotTell => 2,
        }
    }
}

/// Text in a style.
pub(crate) struct Painted<T>(Style, T);

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(style, text) = self;
        write!(formatter, "{style}")?;
        // Width and alignment are for the text, not for the style around it.
        text.fmt(formatter)?;
        write!(formatter, "{style:#}")
    }
}

/// A heading, or a word that must be seen.
pub(crate) fn bold<T>(text: T) -> Painted<T> {
    Painted(Style::new().bold(), text)
}

/// What may be overlooked.
pub(crate) fn dim<T>(text: T) -> Painted<T> {
    Painted(Style::new().dimmed(), text)
}

/// What is not certain.
pub(crate) fn doubtful<T>(text: T) -> Painted<T> {
    Painted(AnsiColor::Yellow.on_default().bold(), text)
}

/// Something wrong.
pub(crate) fn wrong<T>(text: T) -> Painted<T> {
    Painted(AnsiColor::Red.on_default().bold(), text)
}

/// Text in the colour of a decision.
pub(crate) fn decided<T>(decision: Decision, text: T) -> Painted<T> {
    let colour = match decision {
        Decision::Allow => AnsiColor::Green,
        Decision::Redact => AnsiColor::Cyan,
        Decision::Ask => AnsiColor::Yellow,
        Decision::Block => AnsiColor::Red,
    };
    Painted(colour.on_default().bold(), text)
}

/// Words in lines of at most [`WIDTH`] columns of which the first `indent` stay free. A word that is longer
/// than a line stays whole.
pub(crate) fn wrapped(text: &str, indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if indent + line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// How long something lasts, in its two largest units.
pub(crate) fn lasting(ms: u64) -> String {
    let seconds = ms / 1000;
    let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let parts = units.into_iter().scan(seconds, |left, (unit, name)| {
        let count = *left / unit;
        *left %= unit;
        Some((count, name))
    });
    let told: Vec<String> = parts
        .skip_while(|(count, _)| *count == 0)
        .take(2)
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    if told.is_empty() { "under 1 s".to_owned() } else { told.join(" ") }
}

/// The beginning of a text that fits into so many columns.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let mut shown: String = text.chars().take(columns.saturating_sub(1)).collect();
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_two_units() {
        for (ms, told) in [
            (0, "under 1 s"),
            (999, "under 1 s"),
            (12_000, "12 s"),
            (288_000, "4 min 48 s"),
            (3_600_000, "1 h"),
            (3_601_000, "1 h"),
            (90_061_000, "1 d 1 h"),
        ] {
            assert_eq!(lasting(ms), told);
        }
    }

    #[test]
    fn lines_end_before_the_edge() {
        let text = "word ".repeat(40);
        assert!(wrapped(&text, 11).iter().all(|line| line.chars().count() <= WIDTH - 11));
        assert_eq!(wrapped(&"x".repeat(100), 0).len(), 1);
        assert_eq!(wrapped("", 0).len(), 0);
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
    }
}
