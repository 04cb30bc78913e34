//! The scanner itself: where it stands, and what it steps over.

use std::mem::take;

use super::form::Outline;

/// How deep brackets, quotes and commands may be nested: deeper than is listed, so that the reader says so first.
pub(super) const DEPTH_MAX: usize = 128;

/// Words that the grammar treats as brackets where a command may start.
pub(super) const RESERVED: [&str; 21] = [
    "!", "time", "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "select", "function", "coproc", "{", "}", "[[", "]]",
];

/// Those of them that end what another has begun.
pub(super) const CLOSERS: [&str; 9] = ["then", "else", "elif", "fi", "do", "done", "esac", "}", "]]"];

/// What stands around an expansion.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    /// A bare word.
    Nothing,
    /// Double quotes.
    Quotes,
    /// A heredoc: double quotes mean nothing.
    Heredoc,
}

pub(super) struct Heredoc<'t> {
    pub(super) delimiter: &'t str,
    pub(super) strips_tabs: bool,
    pub(super) expands: bool,
}

pub(super) struct Scanner<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) depth: usize,
    /// How many substitutions stand around, and how many at most.
    pub(super) level: usize,
    pub(super) deepest: usize,
    pub(super) outline: Outline,
    pub(super) found: Vec<String>,
    /// Heredocs whose bodies start behind the line.
    pub(super) pending: Vec<Heredoc<'t>>,
}

/// Every method gives nothing where the scanner gives up.
impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str, depth: usize, level: usize) -> Self {
        let (outline, found, pending) = (Outline::with_room_for(text), Vec::new(), Vec::new());
        Self { text, at: 0, depth, level, deepest: level, outline, found, pending }
    }

    /// Takes over what a scanner of a part has found.
    pub(super) fn take_over(&mut self, mut part: Scanner<'_>) {
        self.found.append(&mut part.found);
        self.deepest = self.deepest.max(part.deepest);
    }

    pub(super) fn script(&mut self) -> Option<()> {
        self.list()?;
        let outline = take(&mut self.outline).finish();
        self.found.push(outline);
        // Nothing may be left over.
        (self.at == self.text.len() && self.pending.is_empty()).then_some(())
    }

    // Bytes. The end of the text is a NUL, which cannot stand in it.

    pub(super) fn byte(&self) -> u8 {
        self.byte_after(0)
    }

    pub(super) fn byte_after(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or_default()
    }

    pub(super) fn follows(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Goes past the next character.
    pub(super) fn skip(&mut self) -> Option<()> {
        self.at += self.rest().chars().next()?.len_utf8();
        Some(())
    }

    /// Goes past a backslash and what it quotes.
    pub(super) fn skip_escaped(&mut self) -> Option<()> {
        self.at += 1;
        self.skip()
    }

    pub(super) fn skip_past(&mut self, end: u8) -> Option<()> {
        self.at += self.rest().bytes().position(|byte| byte == end)? + 1;
        Some(())
    }

    pub(super) fn expect(&mut self, text: &str) -> Option<()> {
        self.follows(text).then(|| self.at += text.len())
    }

    /// Goes past an operator. One that is broken by a line continuation could be a longer one.
    pub(super) fn operator(&mut self, length: usize) -> Option<()> {
        self.at += length;
        let rest = self.rest();
        let joined = rest.trim_start_matches("\\\n");
        let is_broken = joined.len() < rest.len() && joined.starts_with(['|', '&', ';', '<', '>', '(', ')']);
        (!is_broken).then_some(())
    }

    pub(super) fn blanks(&mut self) {
        loop {
            match self.byte() {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.byte_after(1) == b'\n' => self.at += 2,
                _ => return,
            }
        }
    }

    /// Goes past blanks, comments and ends of lines.
    pub(super) fn lines(&mut self) -> Option<()> {
        loop {
            self.blanks();
            match self.byte() {
                b'#' => self.comment(),
                b'\n' => self.end_line()?,
                _ => return Some(()),
            }
        }
    }

    pub(super) fn comment(&mut self) {
        let rest = self.rest();
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    pub(super) fn end_line(&mut self) -> Option<()> {
        self.at += 1;
        take(&mut self.pending).iter().try_for_each(|heredoc| self.heredoc(heredoc))
    }

    /// The word that starts here, if it is written without quotes: for telling reserved words.
    pub(super) fn keyword(&self) -> &'t str {
        let is_end = |c: char| matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>');
        let rest = self.rest();
        rest.get(..rest.find(is_end).unwrap_or(rest.len())).unwrap_or_default()
    }

    /// What stands behind a word that starts here, and blanks.
    pub(super) fn after(&self, word: &str) -> &'t str {
        self.rest().get(word.len()..).unwrap_or_default().trim_start_matches([' ', '\t'])
    }

    pub(super) fn expect_keyword(&mut self, word: &str) -> Option<()> {
        (self.keyword() == word).then(|| self.at += word.len())
    }

    pub(super) fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        read(self)?;
        self.depth -= 1;
        Some(())
    }
}

pub(super) fn is_function_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:+@%".contains(&byte);
    !text.is_empty() && text.bytes().all(is_plain)
}

pub(super) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
