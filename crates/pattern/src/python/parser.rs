//! Reads a Python regular expression the way Python 3.11 does.
//!
//! [`parse`] refuses, with its place, what Python refuses. Characters and classes become explicit sets, so
//! that nothing depends on what a shorthand or a letter's case means to an engine. Missing on purpose:
//! `\N{…}`, half UTF-16 pairs (no text holds one), the flags `L` and `t`, references and conditions inside a
//! look-behind, and conditions on a group that is open or comes later.

use std::{collections::BTreeMap, str::Chars, sync::LazyLock};

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::tree::{Anchor, Manner, Node, Set, WORD, WORD_ASCII};
use crate::{
    characters::{all, has, one_of, set_text, without},
    error::PatternError,
    limits::{GROUPS_DEPTH_MAX, RANGE_STATES_MAX},
};

const SPACE: &str =
    r"\x{9}-\x{D}\x{1C}-\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}";
const SPACE_ASCII: &str = r"\x{9}-\x{D}\x{20}";
const IGNORED_WHEN_VERBOSE: [char; 6] = [' ', '\t', '\n', '\r', '\u{b}', '\u{c}'];

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

#[derive(Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    multiline: bool,
    dot_all: bool,
    verbose: bool,
    ascii: bool,
}

struct Parser<'p> {
    text: &'p str,
    rest: Chars<'p>,
    groups: Vec<Group<'p>>,
    depth: usize,
    is_in_look_behind: bool,
}

/// A capturing group.
struct Group<'p> {
    name: Option<&'p str>,
    is_open: bool,
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

    /// Takes what follows `(`; no node for a comment and for flags of the whole expression, which go to
    /// `global`, where they are allowed.
    fn group(
        &mut self,
        start: usize,
        flags: Flags,
        global: Option<&mut Flags>,
    ) -> Result<Option<Node>, PatternError> {
        if self.depth > GROUPS_DEPTH_MAX {
            return Err(self.error(start, format!("groups are nested deeper than {GROUPS_DEPTH_MAX}")));
        }
        if !self.eat('?') {
            return self.capturing(start, flags, None).map(Some);
        }
        let kind = self.rest.next();
        Ok(Some(match kind {
            Some('P') if self.eat('<') => {
                let name = self.name(start, '>')?;
                if self.groups.iter().any(|group| group.name == Some(name)) {
                    return Err(self.error(start, format!("two groups are called `{name}`: rename one")));
                }
                self.capturing(start, flags, Some(name))?
            }
            Some('P') if self.eat('=') => {
                let name = self.name(start, ')')?;
                let group = self.named(start, name)?;
                self.reference(start, group, flags)?
            }
            Some(':') => Node::Plain(Box::new(self.inside(start, flags)?)),
            Some('>') => Node::Atomic(Box::new(self.inside(start, flags)?)),
            Some('#') => {
                if !self.skip_past(')')? {
                    return Err(self.error(start, "the comment is never closed: end it with `)`"));
                }
                return Ok(None);
            }
            Some('=') => self.look(start, "(?=", flags)?,
            Some('!') => self.look(start, "(?!", flags)?,
            Some('<') if self.eat('=') => self.look(start, "(?<=", flags)?,
            Some('<') if self.eat('!') => self.look(start, "(?<!", flags)?,
            Some('(') => self.condition(start, flags)?,
            Some(letter) if letter == '-' || letter.is_ascii_alphabetic() && letter != 'P' => {
                let Some(inner) = self.flags(start, letter, flags, global)? else {
                    return Ok(None);
                };
                Node::Plain(Box::new(self.inside(start, inner)?))
            }
            _ => {
                let known = "known are `(?:`, `(?=`, `(?!`, `(?<=`, `(?<!`, `(?>`, `(?P<name>`, `(?P=name)`, `(?(1)a|b)`, `(?i:` and `(?#`";
                return Err(self.error(start, format!("unknown kind of group after `(?`: {known}")));
            }
        }))
    }

    /// What a group holds, up to and with its `)`.
    fn inside(&mut self, start: usize, mut flags: Flags) -> Result<Node, PatternError> {
        let node = self.choice(&mut flags)?;
        self.close(start)?;
        Ok(node)
    }

    fn close(&mut self, start: usize) -> Result<(), PatternError> {
        if self.eat(')') {
            return Ok(());
        }
        Err(self.error(start, r"`(` is never closed: write `\(` for the character"))
    }

    fn capturing(&mut self, start: usize, flags: Flags, name: Option<&'p str>) -> Result<Node, PatternError> {
        let position = self.groups.len();
        self.groups.push(Group { name, is_open: true });
        let node = self.inside(start, flags)?;
        if let Some(group) = self.groups.get_mut(position) {
            group.is_open = false;
        }
        Ok(Node::Capturing(Box::new(node)))
    }

    fn look(&mut self, start: usize, sign: &'static str, flags: Flags) -> Result<Node, PatternError> {
        if !sign.contains('<') {
            return Ok(Node::Look { sign, of: Box::new(self.inside(start, flags)?) });
        }
        let is_inner = std::mem::replace(&mut self.is_in_look_behind, true);
        let of = Box::new(self.inside(start, flags)?);
        self.is_in_look_behind = is_inner;
        let (shortest, longest) = of.width();
        if longest != Some(shortest) {
            return Err(self.error(
                start,
                "a look-behind must be of one length: repeat a set number of times, and make alternatives equally long",
            ));
        }
        Ok(Node::Look { sign, of })
    }

    fn condition(&mut self, start: usize, flags: Flags) -> Result<Node, PatternError> {
        let named = !self.rest.as_str().starts_with(|first: char| first.is_ascii_digit());
        let group = if named {
            let name = self.name(start, ')')?;
            self.named(start, name)?
        } else {
            let digits = self.rest.as_str().split(')').next().unwrap_or_default();
            let group = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()));
            for _ in digits.chars() {
                self.rest.next();
            }
            match group {
                Some(group) if self.eat(')') => group,
                _ => return Err(self.error(start, "a condition needs a group: `(?(1)a|b)`, `(?(name)a|b)`")),
            }
        };
        self.referable(start, group)?;
        let yes = Box::new(self.sequence(&mut { flags }, false)?);
        let no = if self.eat('|') {
            Box::new(self.sequence(&mut { flags }, false)?)
        } else {
            Box::new(Node::Sequence(Vec::new()))
        };
        if self.peek() == Some('|') {
            return Err(self.error(start, "a condition has two branches: put more into `(?:…)`"));
        }
        self.close(start)?;
        Ok(Node::Condition { group, yes, no })
    }

    /// The flags a group is read with; none when they are for the whole expression.
    fn flags(
        &mut self,
        start: usize,
        first: char,
        outer: Flags,
        global: Option<&mut Flags>,
    ) -> Result<Option<Flags>, PatternError> {
        let (mut flags, mut seen, mut next, mut turn_on) = (outer, BTreeMap::new(), Some(first), true);
        loop {
            let Some(letter) = next else {
                return Err(self.error(start, "the flags are never closed: end them with `:` or `)`"));
            };
            match letter {
                '-' if turn_on => turn_on = false,
                ')' if turn_on => break,
                ':' if turn_on || seen.values().any(|on| !on) => return Ok(Some(flags)),
                'i' => flags.ignore_case = turn_on,
                'm' => flags.multiline = turn_on,
                's' => flags.dot_all = turn_on,
                'x' => flags.verbose = turn_on,
                'a' if turn_on => flags.ascii = true,
                'u' if turn_on => flags.ascii = false,
                _ => {
                    let remedy = "turn on `i`, `m`, `s`, `x`, `a` and `u` with `(?i:…)`, turn off `i`, `m`, `s` and `x` with `(?-i:…)`";
                    return Err(self.error(start, format!("these flags mean nothing: {remedy}")));
                }
            }
            if letter != '-' && seen.insert(letter, turn_on).is_some_and(|before| before != turn_on) {
                return Err(self.error(start, format!("the flag `{letter}` is turned on and off")));
            }
            if seen.contains_key(&'a') && seen.contains_key(&'u') {
                return Err(self.error(start, "the flags `a` and `u` exclude each other: keep one"));
            }
            next = self.rest.next();
        }
        match global {
            Some(_) if seen.contains_key(&'u') && outer.ascii => {
                Err(self.error(start, "the flags `a` and `u` exclude each other: keep one"))
            }
            Some(global) => {
                *global = flags;
                Ok(None)
            }
            None => {
                let remedy = "move them there, or write `(?i:…)` around what they are for";
                Err(self.error(start, format!("flags for all of it stand at the very start: {remedy}")))
            }
        }
    }

    fn name(&mut self, start: usize, end: char) -> Result<&'p str, PatternError> {
        let rest = self.rest.as_str();
        let name = rest.split(end).next().unwrap_or_default();
        for _ in name.chars() {
            self.rest.next();
        }
        let begins_well = name.starts_with(|first: char| first.is_alphabetic() || first == '_');
        let goes_on_well = name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        if self.eat(end) && begins_well && goes_on_well {
            return Ok(name);
        }
        Err(self.error(
            start,
            format!("a group's name is letters, digits and `_`, begins with no digit, and ends with `{end}`"),
        ))
    }

    fn named(&self, start: usize, name: &str) -> Result<usize, PatternError> {
        match self.groups.iter().position(|group| group.name == Some(name)) {
            Some(position) => Ok(position + 1),
            None => Err(self.error(start, format!("no group before this one is called `{name}`"))),
        }
    }

    fn reference(&self, start: usize, group: usize, flags: Flags) -> Result<Node, PatternError> {
        self.referable(start, group)?;
        Ok(Node::Reference { group, ignore_case: flags.ignore_case })
    }

    /// Only a closed group can be spoken of, and not inside a look-behind, of which the engine must know the
    /// length.
    fn referable(&self, start: usize, group: usize) -> Result<(), PatternError> {
        let closed =
            group.checked_sub(1).and_then(|group| self.groups.get(group)).map(|group| !group.is_open);
        match closed {
            None => Err(self.error(start, format!("no group {group} comes before this place"))),
            Some(false) => {
                Err(self.error(start, format!("group {group} is still open here: close it first")))
            }
            Some(true) if self.is_in_look_behind => {
                Err(self
                    .error(start, "a look-behind cannot hold references or conditions: move them outside"))
            }
            Some(true) => Ok(()),
        }
    }

    /// Takes what follows `\` outside a class.
    fn escape(&mut self, start: usize, flags: Flags) -> Result<Node, PatternError> {
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

    /// The value of three octal digits, of which the first is already taken; none if there are no three.
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
    fn octal_digits(&mut self, first: u32) -> u32 {
        let mut value = first;
        for _ in 0..2 {
            let Some(digit) = self.peek().and_then(|next| next.to_digit(8)) else { break };
            self.rest.next();
            value = value * 8 + digit;
        }
        value
    }

    fn octal(&self, start: usize, value: u32) -> Result<char, PatternError> {
        match u8::try_from(value) {
            Ok(byte) => Ok(char::from(byte)),
            Err(_) => Err(self.error(start, r"the octal number is larger than `\377`: write `\uXXXX`")),
        }
    }

    /// The one character that `\` and `letter` stand for, in a class and outside.
    fn character(&mut self, start: usize, letter: char) -> Result<char, PatternError> {
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

    /// Takes what follows `[` up to its `]`.
    fn class(&mut self, start: usize, flags: Flags) -> Result<Node, PatternError> {
        let negated = self.eat('^');
        let (mut shorthands, mut ranges, mut is_empty) = (Vec::new(), Vec::new(), true);
        while is_empty || !self.eat(']') {
            is_empty = false;
            let item_start = self.at();
            let low = self.member(start, flags)?;
            let is_range = self.rest.as_str().starts_with('-') && !self.rest.as_str().starts_with("-]");
            match low {
                Member::Character(low) if is_range => {
                    self.eat('-');
                    let Member::Character(high) = self.member(start, flags)? else {
                        return Err(self.error(item_start, RANGE_OF_SETS));
                    };
                    if high < low {
                        let message = "the range is out of order: the smaller end comes first";
                        return Err(self.error(item_start, message));
                    }
                    ranges.push((low, high));
                }
                Member::Character(character) => ranges.push((character, character)),
                Member::Shorthand(_) if is_range => {
                    self.eat('-');
                    self.member(start, flags)?;
                    return Err(self.error(item_start, RANGE_OF_SETS));
                }
                Member::Shorthand(shorthand) => shorthands.push(shorthand),
            }
        }
        let mut set = one_of(&ranges);
        if flags.ignore_case {
            set = any_case(&set, flags.ascii);
        }
        Ok(Node::One(Set::with(&shorthands, &set, negated)))
    }

    fn member(&mut self, class_start: usize, flags: Flags) -> Result<Member, PatternError> {
        let start = self.at();
        let unclosed = r"`[` is never closed: write `\[` for the character";
        Ok(match self.rest.next() {
            None => return Err(self.error(class_start, unclosed)),
            Some('\\') => match self.rest.next() {
                None => return Err(self.error(class_start, unclosed)),
                Some('b') => Member::Character('\u{8}'),
                Some(digit @ '0'..='7') => {
                    let value = self.octal_digits(digit.to_digit(8).unwrap_or_default());
                    Member::Character(self.octal(start, value)?)
                }
                Some(letter) => match Shorthand::of(letter, flags) {
                    Some(shorthand) => Member::Shorthand(shorthand),
                    None => Member::Character(self.character(start, letter)?),
                },
            },
            Some(character) => Member::Character(character),
        })
    }

    /// Skips what comes up to this character, and it; what stands behind a `\` does not count.
    fn skip_past(&mut self, end: char) -> Result<bool, PatternError> {
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

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.rest.next();
        }
        is_there
    }

    fn at(&self) -> usize {
        self.text.len() - self.rest.as_str().len()
    }

    fn error(&self, start: usize, message: impl Into<String>) -> PatternError {
        PatternError { message: message.into(), at: Some(start..self.at()) }
    }
}

const RANGE_OF_SETS: &str = r"a range needs a character at each end: put the `-` last, or write `\-`";

enum Member {
    Character(char),
    Shorthand(Shorthand),
}

/// What `\d` and the like stand for.
struct Shorthand {
    /// As members of a class, without the negation.
    members: &'static str,
    is_negated: bool,
    /// How many ranges of characters the members have at most.
    ranges_max: usize,
    /// How many states an automaton needs for the members at most, and as many for all other characters.
    states_max: usize,
}

impl Shorthand {
    fn of(letter: char, flags: Flags) -> Option<Self> {
        let (members, ranges_max, states_max) = match (letter.to_ascii_lowercase(), flags.ascii) {
            ('d', false) => (r"\p{Nd}", 100, 1_000),
            ('d', true) => ("0-9", 1, 64),
            ('w', false) => (WORD, 1_000, 8_000),
            ('w', true) => (WORD_ASCII, 4, 64),
            ('s', false) => (SPACE, 10, 128),
            ('s', true) => (SPACE_ASCII, 2, 64),
            _ => return None,
        };
        Some(Self { members, is_negated: !letter.is_ascii_lowercase(), ranges_max, states_max })
    }
}

impl Set {
    fn of(set: &ClassUnicode) -> Self {
        let ranges = Some(set.ranges().len()).filter(|ranges| *ranges > 0);
        Self { text: set_text(set), states_max: ranges.map(|ranges| ranges.saturating_mul(RANGE_STATES_MAX)) }
    }

    /// Shorthands and other characters together, or all characters but those.
    fn with(shorthands: &[Shorthand], others: &ClassUnicode, is_negated: bool) -> Self {
        if shorthands.is_empty() {
            let mut set = others.clone();
            if is_negated {
                set.negate();
            }
            return Self::of(&set);
        }
        let mut text = String::from(if is_negated { "[^" } else { "[" });
        for Shorthand { members, is_negated, .. } in shorthands {
            match is_negated {
                true => text.extend(["[^", members, "]"]),
                false => text.push_str(members),
            }
        }
        if !others.ranges().is_empty() {
            text.push_str(&set_text(others));
        }
        text.push(']');
        let states_max = if is_negated {
            states_without(shorthands, others)
        } else {
            Some(states_with(shorthands, others))
        };
        Self { text, states_max }
    }
}

fn states_with(shorthands: &[Shorthand], others: &ClassUnicode) -> usize {
    let of_shorthands: usize = shorthands.iter().map(|shorthand| shorthand.states_max).sum();
    of_shorthands.saturating_add(others.ranges().len().saturating_mul(RANGE_STATES_MAX))
}

/// None where perhaps nothing is left.
fn states_without(shorthands: &[Shorthand], others: &ClassUnicode) -> Option<usize> {
    // No shorthand has this character unless it is negated, so it is left.
    if shorthands.iter().any(|shorthand| shorthand.is_negated) || has(others, PRIVATE) {
        return None;
    }
    // One range more may be left than was taken away.
    let of_shorthands: usize = shorthands.iter().map(|shorthand| shorthand.ranges_max).sum();
    let ranges_max = of_shorthands.saturating_add(others.ranges().len()).saturating_add(1);
    Some(ranges_max.saturating_mul(RANGE_STATES_MAX))
}

/// A character that is no digit, no space and no part of a word in any alphabet.
const PRIVATE: char = '\u{e000}';

fn literal(character: char, flags: Flags) -> Node {
    if !flags.ignore_case {
        return Node::Character(character);
    }
    Node::One(Set::of(&any_case(&one_of(&[(character, character)]), flags.ascii)))
}

/// The set with every character that Python's flag `i` takes for one of it.
fn any_case(set: &ClassUnicode, is_ascii: bool) -> ClassUnicode {
    let mut folded = set.clone();
    if is_ascii {
        let other_case = |letter: char| {
            if letter.is_ascii_lowercase() {
                letter.to_ascii_uppercase()
            } else {
                letter.to_ascii_lowercase()
            }
        };
        let letters = ('A'..='Z').chain('a'..='z').filter(|letter| has(set, *letter)).map(other_case);
        folded.union(&ClassUnicode::new(letters.map(|letter| ClassUnicodeRange::new(letter, letter))));
        return folded;
    }
    let cased = set.ranges().iter().flat_map(|range| ALIKE.range(range.start()..=range.end()));
    let alike = cased.flat_map(|(_, letters)| letters);
    folded.union(&ClassUnicode::new(alike.map(|letter| ClassUnicodeRange::new(*letter, *letter))));
    folded
}

/// The letters that are the same to Python's flag `i`, for each of them: those whose lower cases have one upper case.
static ALIKE: LazyLock<BTreeMap<char, Vec<char>>> = LazyLock::new(|| {
    const CASED_MAX: char = '\u{1ffff}';
    let mut alike: BTreeMap<String, Vec<char>> = BTreeMap::new();
    for letter in '\0'..=CASED_MAX {
        // Of a lower case of two characters (only `İ` has one) Python takes the first.
        let lower = letter.to_lowercase().next().unwrap_or(letter);
        alike.entry(lower.to_uppercase().collect()).or_default().push(letter);
    }
    let several = alike.into_values().filter(|letters| letters.len() > 1);
    several
        .flat_map(|letters| letters.clone().into_iter().map(move |letter| (letter, letters.clone())))
        .collect()
});

#[cfg(test)]
mod tests {
    use regex_syntax::utf8::Utf8Sequences;

    use super::*;
    use crate::word_edges::class;

    /// As many states as there are bytes in the sequences that make up a set, and one for each sequence.
    fn states(set: &ClassUnicode) -> usize {
        let sequences = set.ranges().iter().flat_map(|range| Utf8Sequences::new(range.start(), range.end()));
        sequences.map(|sequence| sequence.len() + 1).sum()
    }

    #[test]
    fn a_shorthand_is_no_larger_than_it_says() {
        for (letter, ascii) in ["d", "w", "s"].iter().flat_map(|letter| [(letter, false), (letter, true)]) {
            let flags = Flags { ascii, ..Flags::default() };
            let shorthand = Shorthand::of(letter.chars().next().unwrap(), flags).unwrap();
            let mut set = class(&format!("[{}]", shorthand.members));
            assert!(!has(&set, PRIVATE) && !set.ranges().is_empty(), "{letter}");
            assert!(set.ranges().len() <= shorthand.ranges_max, "{letter}: {}", set.ranges().len());
            assert!(states(&set) <= shorthand.states_max, "{letter}: {}", states(&set));
            set.negate();
            assert!(states(&set) <= shorthand.states_max, "not {letter}: {}", states(&set));
        }
        assert!(states(&all()) <= RANGE_STATES_MAX);
    }

    #[test]
    fn a_set_is_certain_only_if_it_has_a_character() {
        for (text, is_certain) in [
            (r"[^\s'a-z]", true),
            (r"[\d.]", true),
            (r"\S", true),
            (r"[\s\S]", true),
            (r"[^\s\S]", false),
            (r"[^\s\u0000-\U0010ffff]", false),
            (r"[^\u0000-\U0010ffff]", false),
            (r"(?a)[^\W\w]", false),
            ("(?i)[^a]", true),
        ] {
            let Ok(Node::Sequence(nodes)) = parse(text, false) else { panic!("{text}") };
            let [Node::One(set)] = nodes.as_slice() else { panic!("{text}") };
            assert_eq!(set.states_max.is_some(), is_certain, "{text}");
            let needed = states(&class(&set.text));
            assert!(set.states_max.is_none_or(|most| 0 < needed && needed <= most), "{text}");
        }
    }
}
