//! Groups of all kinds: capturing, look-around, conditions, flags, and references to them.

use std::collections::BTreeMap;

use super::cursor::{Flags, Group, Parser};
use crate::{error::PatternError, limits::GROUPS_DEPTH_MAX, python::tree::Node};

impl<'p> Parser<'p> {
    /// Takes what follows `(`; no node for a comment and for flags of the whole expression, which go to
    /// `global`, where they are allowed.
    pub(super) fn group(
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

    pub(super) fn reference(&self, start: usize, group: usize, flags: Flags) -> Result<Node, PatternError> {
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
}
