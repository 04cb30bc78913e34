//! Reads a Python regular expression the way Python 3.11 does.
//!
//! [`parse`] refuses, with its place, what Python refuses. Characters and classes become explicit sets, so
//! that nothing depends on what a shorthand or a letter's case means to an engine. Missing on purpose:
//! `\N{…}`, half UTF-16 pairs (no text holds one), the flags `L` and `t`, references and conditions inside a
//! look-behind, and conditions on a group that is open or comes later.

mod classes;
mod cursor;
mod escapes;
mod groups;

use classes::literal;
use cursor::{Flags, IGNORED_WHEN_VERBOSE, Parser};

use super::tree::{Anchor, Manner, Node, Set};
use crate::{
    characters::{all, without},
    error::PatternError,
};

/// Reads an expression; `.` is any character from the start if `dot_all`.
pub(super) fn parse(text: &str, dot_all: bool) -> Result<Node, PatternError> {
    let mut parser =
        Parser { text, rest: text.chars(), groups: Vec::new(), depth: 0, is_in_look_behind: false };
    let root = parser.choice(&mut Flags { dot_all, ..Flags::default() })?;
    let start = parser.at();
    if parser.eat(')') {
        return Err(parser.error(start, r"`)` closes no group: write `\)` for the character"));
    }
    Ok(root)
}

impl<'p> Parser<'p> {
    fn choice(&mut self, flags: &mut Flags) -> Result<Node, PatternError> {
        let mut alternatives = vec![self.sequence(flags, self.depth == 0)?];
        while self.eat('|') {
            alternatives.push(self.sequence(flags, false)?);
        }
        Ok(if alternatives.len() > 1 {
            Node::Choice(alternatives)
        } else {
            alternatives.pop().unwrap_or(Node::Sequence(Vec::new()))
        })
    }

    fn sequence(&mut self, flags: &mut Flags, is_first: bool) -> Result<Node, PatternError> {
        let mut nodes = Vec::new();
        while !matches!(self.peek(), None | Some('|' | ')')) {
            let start = self.at();
            let Some(next) = self.rest.next() else { break };
            let node = match next {
                next if flags.verbose && IGNORED_WHEN_VERBOSE.contains(&next) => continue,
                '#' if flags.verbose => {
                    self.skip_past('\n')?;
                    continue;
                }
                '\\' => self.escape(start, *flags)?,
                '[' => self.class(start, *flags)?,
                '*' => self.repeat(start, nodes.pop(), (0, None))?,
                '+' => self.repeat(start, nodes.pop(), (1, None))?,
                '?' => self.repeat(start, nodes.pop(), (0, Some(1)))?,
                '{' => match self.counts(start)? {
                    Some(counts) => self.repeat(start, nodes.pop(), counts)?,
                    None => literal(next, *flags),
                },
                '.' if flags.dot_all => Node::One(Set::of(&all())),
                '.' => Node::One(Set::of(&without(&[('\n', '\n')]))),
                '^' if flags.multiline => Node::At(Anchor::LineStart),
                '^' => Node::At(Anchor::TextStart),
                '$' if flags.multiline => Node::At(Anchor::LineEnd),
                '$' => Node::At(Anchor::End),
                '(' => {
                    self.depth += 1;
                    let outer = *flags;
                    let global = (is_first && nodes.is_empty()).then_some(&mut *flags);
                    let node = self.group(start, outer, global)?;
                    self.depth -= 1;
                    match node {
                        Some(node) => node,
                        None => continue,
                    }
                }
                other => literal(other, *flags),
            };
            nodes.push(node);
        }
        Ok(Node::Sequence(nodes))
    }

    fn repeat(
        &mut self,
        start: usize,
        last: Option<Node>,
        (least, most): (u32, Option<u32>),
    ) -> Result<Node, PatternError> {
        let sign = self.text.get(start..self.at()).unwrap_or_default();
        let of = match last {
            None | Some(Node::At(_)) => {
                return Err(self.error(
                    start,
                    format!(r"nothing to repeat before `{sign}`: write `\{sign}` for the character"),
                ));
            }
            Some(Node::Repeat { .. }) => {
                return Err(self.error(
                    start,
                    format!("`{sign}` repeats a repetition: put what it repeats into `(?:…)`"),
                ));
            }
            Some(last) => Box::new(last),
        };
        let manner = if self.eat('?') {
            Manner::Lazy
        } else if self.eat('+') {
            Manner::Possessive
        } else {
            Manner::Greedy
        };
        Ok(Node::Repeat { of, least, most, manner })
    }

    /// The counts `{n}`, `{n,}`, `{,m}` or `{n,m}` after a `{`; none if the brace is just a character.
    fn counts(&mut self, start: usize) -> Result<Option<(u32, Option<u32>)>, PatternError> {
        let Some((inside, after)) = self.rest.as_str().split_once('}') else {
            return Ok(None);
        };
        let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if inside.is_empty() || !digits(least) || !digits(most) {
            return Ok(None);
        }
        self.rest = after.chars();
        let number = |text: &str| match text {
            "" => Ok(None),
            text => text.parse::<u32>().map(Some).map_err(|_| self.error(start, "the count is too large")),
        };
        let (least, most) = (number(least)?.unwrap_or(0), number(most)?);
        if most.is_some_and(|most| most < least) {
            return Err(self.error(start, "the counts are out of order: the smaller one comes first"));
        }
        Ok(Some((least, most)))
    }
}
