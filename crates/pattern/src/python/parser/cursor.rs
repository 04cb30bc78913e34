//! Where the parser stands in the expression, and the flags that hold there.

use std::str::Chars;

use crate::error::PatternError;

pub(super) const IGNORED_WHEN_VERBOSE: [char; 6] = [' ', '\t', '\n', '\r', '\u{b}', '\u{c}'];

#[derive(Clone, Copy, Default)]
pub(super) struct Flags {
    pub(super) ignore_case: bool,
    pub(super) multiline: bool,
    pub(super) dot_all: bool,
    pub(super) verbose: bool,
    pub(super) ascii: bool,
}

pub(super) struct Parser<'p> {
    pub(super) text: &'p str,
    pub(super) rest: Chars<'p>,
    pub(super) groups: Vec<Group<'p>>,
    pub(super) depth: usize,
    pub(super) is_in_look_behind: bool,
}

/// A capturing group.
pub(super) struct Group<'p> {
    pub(super) name: Option<&'p str>,
    pub(super) is_open: bool,
}

impl<'p> Parser<'p> {
    /// Skips what comes up to this character, and it; what stands behind a `\` does not count.
    pub(super) fn skip_past(&mut self, end: char) -> Result<bool, PatternError> {
        loop {
            let start = self.at();
            match self.rest.next() {
                None => return Ok(false),
                Some('\\') if self.rest.next().is_none() => {
                    return Err(
                        self.error(start, r"`\` at the end escapes nothing: write `\\` for the character")
                    );
                }
                Some(next) if next == end => return Ok(true),
                Some(_) => {}
            }
        }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    pub(super) fn eat(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.rest.next();
        }
        is_there
    }

    pub(super) fn at(&self) -> usize {
        self.text.len() - self.rest.as_str().len()
    }

    pub(super) fn error(&self, start: usize, message: impl Into<String>) -> PatternError {
        PatternError { message: message.into(), at: Some(start..self.at()) }
    }
}
