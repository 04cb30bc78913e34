//! Where a translation stands in the expression.

use std::str::Chars;

use crate::error::PatternError;

/// The flags `i`, `m` and `s`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Flags {
    pub(super) ignore_case: bool,
    pub(super) multiline: bool,
    pub(super) dot_all: bool,
}

impl Flags {
    pub(crate) fn parse(text: &str) -> Result<Self, PatternError> {
        let mut flags = Self::default();
        for letter in text.chars() {
            let flag = match letter {
                'i' => &mut flags.ignore_case,
                'm' => &mut flags.multiline,
                's' => &mut flags.dot_all,
                _ => {
                    return Err(PatternError::whole(format!(
                        "unknown flag `{letter}`: the flags are `i`, `m` and `s`"
                    )));
                }
            };
            if std::mem::replace(flag, true) {
                return Err(PatternError::whole(format!(
                    "the flag `{letter}` is given twice: leave one out"
                )));
            }
        }
        Ok(flags)
    }
}

/// Which engine an expression is written for. They differ in how an ASCII word edge is spelt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Linear,
    Backtracking,
}

/// An expression rewritten.
pub(crate) struct Translation {
    pub(crate) text: String,
    /// Whether only the backtracking engine can run it; the text is of use only in its dialect then.
    pub(crate) needs_backtracking: bool,
}

pub(super) struct Walker<'b> {
    pub(super) body: &'b str,
    pub(super) rest: Chars<'b>,
    pub(super) flags: Flags,
    pub(super) dialect: Dialect,
    pub(super) groups: Vec<Option<&'b str>>,
    pub(super) open: Vec<Group>,
    pub(super) captured: usize,
    /// The look-behind around this place; they are never inside one another.
    pub(super) behind: Option<Behind>,
    pub(super) out: Translation,
}

/// What a look-behind holds so far.
#[derive(Default)]
pub(super) struct Behind {
    pub(super) has_edge: bool,
    pub(super) varies: bool,
}

/// A group that is not closed yet.
pub(super) struct Group {
    pub(super) start: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    /// With its number.
    Capturing(usize),
    LookAhead,
    LookBehind,
}

impl Walker<'_> {
    pub(super) fn eat(&mut self, prefix: &str) -> bool {
        let after = self.rest.as_str().strip_prefix(prefix);
        if let Some(after) = after {
            self.rest = after.chars();
        }
        after.is_some()
    }

    pub(super) fn at(&self) -> usize {
        self.body.len() - self.rest.as_str().len()
    }

    pub(super) fn error(&self, start: usize, message: String) -> PatternError {
        PatternError { message, at: Some(start..self.at()) }
    }
}
