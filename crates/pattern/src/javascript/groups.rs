//! Groups, look-around and repetition.

use super::{
    group_name,
    walker::{Behind, Group, Kind, Walker},
};
use crate::{error::PatternError, limits::GROUPS_DEPTH_MAX};

impl Walker<'_> {
    pub(super) fn open_group(&mut self, start: usize) -> Result<bool, PatternError> {
        let kind = self.group_kind(start)?;
        self.open.push(Group { start, kind });
        if self.open.len() > GROUPS_DEPTH_MAX {
            return Err(self.error(start, format!("groups are nested deeper than {GROUPS_DEPTH_MAX}")));
        }
        Ok(false)
    }

    pub(super) fn close_group(&mut self, start: usize) -> Result<bool, PatternError> {
        self.out.text.push(')');
        let Some(Group { kind, .. }) = self.open.pop() else {
            return Err(self.error(start, r"`)` closes no group: write `\)` for the character".into()));
        };
        if kind == Kind::LookBehind {
            self.behind = None;
        }
        Ok(matches!(kind, Kind::Plain | Kind::Capturing(_)))
    }

    pub(super) fn alternative(&mut self, start: usize) -> Result<bool, PatternError> {
        self.inside_behind(start, |behind| behind.varies = true)?;
        self.out.text.push('|');
        Ok(false)
    }

    /// Takes what follows `(`, up to what the group holds.
    fn group_kind(&mut self, start: usize) -> Result<Kind, PatternError> {
        let looks = [
            ("?=", Kind::LookAhead),
            ("?!", Kind::LookAhead),
            ("?<=", Kind::LookBehind),
            ("?<!", Kind::LookBehind),
        ];
        for (look, kind) in looks {
            if self.eat(look) {
                self.looks(start)?;
                self.behind = (kind == Kind::LookBehind).then(Behind::default);
                self.out.text.push('(');
                self.out.text.push_str(look);
                return Ok(kind);
            }
        }
        if self.eat("?:") {
            self.out.text.push_str("(?:");
            return Ok(Kind::Plain);
        }
        if let Some(kind) = self.rest.as_str().strip_prefix('?') {
            let Some(name) = group_name(kind) else {
                return Err(self.error(start, "unknown kind of group after `(?`: known are `(?:`, `(?=`, `(?!`, `(?<=`, `(?<!` and `(?<name>`".into()));
            };
            let plain = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
            let starts_well = name.starts_with(|first: char| plain(first) && !first.is_numeric());
            if !self.eat(&format!("?<{name}>")) || !starts_well || !name.chars().all(plain) {
                return Err(self.error(
                    start,
                    "a group's name is letters, digits and `_`, begins with no digit, and ends with `>`"
                        .into(),
                ));
            }
            if self.groups.iter().filter(|group| **group == Some(name)).count() > 1 {
                return Err(self.error(start, format!("two groups are called `{name}`: rename one")));
            }
        }
        self.out.text.push('(');
        self.captured += 1;
        Ok(Kind::Capturing(self.captured))
    }

    /// Notes that only the backtracking engine will do. Inside a look-behind that engine and JavaScript, which
    /// reads it from right to left, would part.
    pub(super) fn looks(&mut self, start: usize) -> Result<(), PatternError> {
        self.out.needs_backtracking = true;
        if self.behind.is_some() {
            let message = "a look-behind cannot hold look-around or back-references: move it outside";
            return Err(self.error(start, message.into()));
        }
        Ok(())
    }

    /// Notes something about the look-behind around this place. In one of varying length, the backtracking
    /// engine gets edges wrong.
    pub(super) fn inside_behind(
        &mut self,
        start: usize,
        note: impl FnOnce(&mut Behind),
    ) -> Result<(), PatternError> {
        self.behind.as_mut().map(note);
        if self.behind.as_ref().is_some_and(|behind| behind.has_edge && behind.varies) {
            let message =
                r"a look-behind with an edge such as `\b` must be of one length: no `|`, no repetition";
            return Err(self.error(start, message.into()));
        }
        Ok(())
    }

    /// The bounds `{n}`, `{n,}` or `{n,m}` after a `{`; none if the brace is just a character.
    pub(super) fn braces(&mut self, start: usize) -> Result<Option<String>, PatternError> {
        let Some((inside, after)) = self.rest.as_str().split_once('}') else {
            return Ok(None);
        };
        let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if least.is_empty() || !digits(least) || !digits(most) {
            return Ok(None);
        }
        self.rest = after.chars();
        let number =
            |text: &str| text.parse::<u32>().map_err(|_| self.error(start, "the count is too large".into()));
        let (least, most) = (number(least)?, if most.is_empty() { None } else { Some(number(most)?) });
        if most.is_some_and(|most| most < least) {
            return Err(self.error(start, "the counts are out of order: the smaller one comes first".into()));
        }
        Ok(Some(format!("{{{least},{}}}", most.map(|most| most.to_string()).unwrap_or_default())))
    }

    /// Repeats what was written last. The answer is that a repetition cannot itself be repeated.
    pub(super) fn repeat(
        &mut self,
        start: usize,
        repeatable: bool,
        times: &str,
    ) -> Result<bool, PatternError> {
        if !repeatable {
            let sign = self.body.get(start..self.at()).unwrap_or_default();
            return Err(self.error(
                start,
                format!(r"nothing to repeat before `{sign}`: write `\{sign}` for the character"),
            ));
        }
        self.inside_behind(start, |behind| behind.varies = true)?;
        self.out.text.push_str(times);
        if self.eat("?") {
            self.out.text.push('?');
        }
        Ok(false)
    }
}
