//! What follows a backslash.

use super::{
    classes::shorthand,
    walker::{Dialect, Kind, Walker},
};
use crate::error::PatternError;

impl Walker<'_> {
    /// Takes what follows `\` outside a class and says whether it may be repeated.
    pub(super) fn escape(&mut self, start: usize) -> Result<bool, PatternError> {
        let Some(next) = self.rest.next() else {
            return Err(
                self.error(start, r"`\` at the end escapes nothing: write `\\` for the character".into())
            );
        };
        if let Some(set) = shorthand(next) {
            return Ok(self.set(&set));
        }
        match next {
            'b' | 'B' => {
                self.inside_behind(start, |behind| behind.has_edge = true)?;
                self.out.text.push_str(match (next, self.dialect) {
                    ('b', Dialect::Linear) => r"(?-u:\b)",
                    ('b', Dialect::Backtracking) => {
                        r"(?:(?<=[0-9A-Za-z_])(?![0-9A-Za-z_])|(?<![0-9A-Za-z_])(?=[0-9A-Za-z_]))"
                    }
                    (_, Dialect::Linear) => r"(?-u:\B)",
                    (_, Dialect::Backtracking) => {
                        r"(?:(?<=[0-9A-Za-z_])(?=[0-9A-Za-z_])|(?<![0-9A-Za-z_])(?![0-9A-Za-z_]))"
                    }
                });
                Ok(false)
            }
            '1'..='9' => {
                let after = self.rest.as_str();
                let more = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
                let number =
                    self.body.get(start + 1..self.body.len() - more.len()).and_then(|text| text.parse().ok());
                match number.filter(|number: &usize| *number <= self.groups.len()) {
                    Some(number) => {
                        self.rest = more.chars();
                        self.back_reference(start, number)
                    }
                    None => self.character(start, next).map(|character| self.literal(character)),
                }
            }
            'k' if self.groups.iter().any(Option::is_some) => {
                let name = self.rest.as_str().strip_prefix('<').and_then(|name| name.split_once('>'));
                let known = name.and_then(|(name, after)| {
                    Some((self.groups.iter().position(|group| *group == Some(name))?, after))
                });
                let Some((position, after)) = known else {
                    return Err(
                        self.error(start, r"`\k` must name a group of this expression: `\k<name>`".into())
                    );
                };
                self.rest = after.chars();
                self.back_reference(start, position + 1)
            }
            other => self.character(start, other).map(|character| self.literal(character)),
        }
    }

    /// A group that took no part matches as empty in JavaScript and not at all in the engine, hence the condition.
    fn back_reference(&mut self, start: usize, number: usize) -> Result<bool, PatternError> {
        self.looks(start)?;
        let is_open = self.open.iter().any(|group| group.kind == Kind::Capturing(number));
        if is_open || number > self.captured {
            let message =
                "a back-reference matches nothing before its group is closed: move it behind the group";
            return Err(self.error(start, message.into()));
        }
        let flag = if self.flags.ignore_case { "i" } else { "" };
        self.out.text.push_str(&format!(r"(?{flag}:(?({number})\{number}|))"));
        Ok(true)
    }

    /// The one character that `\` and `letter` stand for. What JavaScript does not know stands for itself.
    pub(super) fn character(&mut self, start: usize, letter: char) -> Result<char, PatternError> {
        Ok(match letter {
            't' => '\t',
            'n' => '\n',
            'v' => '\u{b}',
            'f' => '\u{c}',
            'r' => '\r',
            '0'..='7' => self.octal(letter),
            'x' => self.hexadecimal(2).and_then(char::from_u32).unwrap_or('x'),
            'u' | 'p' | 'P' if self.rest.as_str().starts_with('{') => {
                let remedy = if letter == 'u' { r"write `\uXXXX`" } else { "list the characters in `[…]`" };
                return Err(self.error(
                    start,
                    format!(r"`\{letter}{{…}}` has no meaning without the flag `u`: {remedy}"),
                ));
            }
            'u' => match self.hexadecimal(4) {
                Some(unit) => self.utf16(start, unit)?,
                None => 'u',
            },
            'c' => match self.rest.as_str().chars().next().filter(char::is_ascii_alphabetic) {
                Some(control) => {
                    self.rest.next();
                    char::from(control as u8 % 32)
                }
                None => {
                    return Err(self
                        .error(start, r"`\c` needs a letter: `\cA` is the first control character".into()));
                }
            },
            other => other,
        })
    }

    /// Up to three octal digits that fit in a byte, as JavaScript still reads them.
    fn octal(&mut self, first: char) -> char {
        let mut value = first.to_digit(8).unwrap_or_default();
        for _ in 0..if first <= '3' { 2 } else { 1 } {
            let Some(digit) = self.rest.as_str().chars().next().and_then(|next| next.to_digit(8)) else {
                break;
            };
            self.rest.next();
            value = value * 8 + digit;
        }
        char::from_u32(value).unwrap_or_default()
    }

    /// Takes exactly this many hexadecimal digits, or nothing.
    fn hexadecimal(&mut self, digits: usize) -> Option<u32> {
        let text = self
            .rest
            .as_str()
            .get(..digits)
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        let value = u32::from_str_radix(text, 16).ok()?;
        self.rest = self.rest.as_str().get(digits..)?.chars();
        Some(value)
    }

    /// The character of one UTF-16 unit, or of two where a `\uXXXX` follows that completes it.
    fn utf16(&mut self, start: usize, unit: u32) -> Result<char, PatternError> {
        if let Some(character) = char::from_u32(unit) {
            return Ok(character);
        }
        let second = if self.eat("\\u") { self.hexadecimal(4) } else { None };
        let units = [Some(unit), second].into_iter().flatten().filter_map(|unit| u16::try_from(unit).ok());
        match char::decode_utf16(units).next() {
            Some(Ok(character)) => Ok(character),
            _ => {
                Err(self
                    .error(start, "half of a UTF-16 pair matches no text: write the whole character".into()))
            }
        }
    }
}
