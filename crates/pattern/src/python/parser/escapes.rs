//! What follows a backslash.

use regex_syntax::hir::ClassUnicode;

use super::{
    classes::{Shorthand, literal},
    cursor::{Flags, Parser},
};
use crate::{
    error::PatternError,
    python::tree::{Anchor, Node, Set},
};

impl<'p> Parser<'p> {
    /// Takes what follows `\` outside a class.
    pub(super) fn escape(&mut self, start: usize, flags: Flags) -> Result<Node, PatternError> {
        let Some(next) = self.rest.next() else {
            return Err(self.error(start, r"`\` at the end escapes nothing: write `\\` for the character"));
        };
        if let Some(shorthand) = Shorthand::of(next, flags) {
            return Ok(Node::One(Set::with(&[shorthand], &ClassUnicode::empty(), false)));
        }
        Ok(match next {
            'A' => Node::At(Anchor::TextStart),
            'Z' => Node::At(Anchor::TextEnd),
            'b' => Node::At(Anchor::Edge { is_ascii: flags.ascii }),
            'B' => Node::At(Anchor::NoEdge { is_ascii: flags.ascii }),
            '1'..='9' => match self.octal_after(next) {
                Some(value) => literal(self.octal(start, value)?, flags),
                None => {
                    let second = self.peek().and_then(|next| next.to_digit(10));
                    if second.is_some() {
                        self.rest.next();
                    }
                    let digits = self.text.get(start + 1..self.at()).unwrap_or_default();
                    self.reference(start, digits.parse().unwrap_or_default(), flags)?
                }
            },
            '0' => {
                let value = self.octal_digits(0);
                literal(self.octal(start, value)?, flags)
            }
            other => literal(self.character(start, other)?, flags),
        })
    }

    /// The value of three octal digits, of which the first is already taken; none if there are fewer.
    fn octal_after(&mut self, first: char) -> Option<u32> {
        let mut ahead = self.rest.clone();
        let digits = [Some(first), ahead.next(), ahead.next()];
        let value = digits
            .iter()
            .try_fold(0, |value, digit| Some(value * 8 + digit.and_then(|digit| digit.to_digit(8))?))?;
        self.rest = ahead;
        Some(value)
    }

    /// Takes up to two more octal digits.
    pub(super) fn octal_digits(&mut self, first: u32) -> u32 {
        let mut value = first;
        for _ in 0..2 {
            let Some(digit) = self.peek().and_then(|next| next.to_digit(8)) else { break };
            self.rest.next();
            value = value * 8 + digit;
        }
        value
    }

    pub(super) fn octal(&self, start: usize, value: u32) -> Result<char, PatternError> {
        match u8::try_from(value) {
            Ok(byte) => Ok(char::from(byte)),
            Err(_) => Err(self.error(start, r"the octal number is larger than `\377`: write `\uXXXX`")),
        }
    }

    /// The one character that `\` and `letter` stand for, in a class and outside.
    pub(super) fn character(&mut self, start: usize, letter: char) -> Result<char, PatternError> {
        Ok(match letter {
            'a' => '\u{7}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => self.hexadecimal(start, 2)?,
            'u' => self.hexadecimal(start, 4)?,
            'U' => self.hexadecimal(start, 8)?,
            'N' => {
                return Err(self.error(
                    start,
                    r"characters cannot be named here: write `\uXXXX` or the character itself",
                ));
            }
            letter if letter.is_ascii_alphanumeric() => {
                return Err(self.error(
                    start,
                    format!(r"`\{letter}` means nothing here: write `{letter}` for the character"),
                ));
            }
            other => other,
        })
    }

    fn hexadecimal(&mut self, start: usize, digits: usize) -> Result<char, PatternError> {
        let mut value = 0_u32;
        for _ in 0..digits {
            let Some(digit) = self.peek().and_then(|next| next.to_digit(16)) else {
                return Err(self.error(start, format!("{digits} hexadecimal digits must follow")));
            };
            self.rest.next();
            value = value.wrapping_mul(16) | digit;
        }
        char::from_u32(value).ok_or_else(|| self.error(start, "no such character exists: no text holds it"))
    }
}
