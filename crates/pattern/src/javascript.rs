//! JavaScript regular expressions in the syntax of the Rust engines.
//!
//! [`translate`] walks an expression once. Characters and classes become explicit sets, so that nothing
//! depends on what a shorthand or a letter's case means to an engine, and what JavaScript refuses is refused
//! here, with its place. Missing on purpose: the flags `u` and `v`, which change the syntax itself.

mod classes;
mod escapes;
mod groups;
mod walker;

use classes::LINE_ENDS;
use walker::{Group, Translation, Walker};

use crate::{
    characters::{all, without},
    error::PatternError,
};

pub(crate) use walker::{Dialect, Flags};

/// Writes a JavaScript expression in a dialect of the Rust engines.
pub(crate) fn translate(body: &str, flags: Flags, dialect: Dialect) -> Result<Translation, PatternError> {
    let out = Translation { text: String::new(), needs_backtracking: false };
    let mut walker = Walker {
        body,
        rest: body.chars(),
        flags,
        dialect,
        groups: groups(body),
        open: Vec::new(),
        captured: 0,
        behind: None,
        out,
    };
    walker.walk()?;
    Ok(walker.out)
}

/// The capturing groups of an expression in the order of their numbers, with their names.
fn groups(body: &str) -> Vec<Option<&str>> {
    let (mut groups, mut rest, mut in_class) = (Vec::new(), body.chars(), false);
    while let Some(next) = rest.next() {
        match next {
            '\\' => drop(rest.next()),
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => match rest.as_str().strip_prefix('?') {
                None => groups.push(None),
                Some(kind) => groups.extend(group_name(kind).map(Some)),
            },
            _ => {}
        }
    }
    groups
}

/// The name in `<name>…`, which is what follows `(?` in a named group.
fn group_name(kind: &str) -> Option<&str> {
    let name = kind.strip_prefix('<').filter(|name| !name.starts_with(['=', '!']))?;
    name.split('>').next()
}

const LINE_START: &str = r"(?<![^\n\r\x{2028}\x{2029}])";
const LINE_END: &str = r"(?![^\n\r\x{2028}\x{2029}])";

impl Walker<'_> {
    /// Each step says whether what it wrote may be repeated.
    fn walk(&mut self) -> Result<(), PatternError> {
        let mut repeatable = false;
        loop {
            let start = self.at();
            let Some(next) = self.rest.next() else { break };
            repeatable = match next {
                '(' => self.open_group(start)?,
                ')' => self.close_group(start)?,
                '|' => self.alternative(start)?,
                '^' => self.anchor(start, r"\A", LINE_START)?,
                '$' => self.anchor(start, r"\z", LINE_END)?,
                '*' | '+' | '?' => self.repeat(start, repeatable, &next.to_string())?,
                '{' => match self.braces(start)? {
                    Some(bounds) => self.repeat(start, repeatable, &bounds)?,
                    None => self.literal('{'),
                },
                '[' => self.class(start)?,
                '.' if self.flags.dot_all => self.set(&all()),
                '.' => self.set(&without(&LINE_ENDS)),
                '\\' => self.escape(start)?,
                other => self.literal(other),
            };
        }
        match self.open.pop() {
            Some(Group { start, .. }) => {
                Err(self.error(start, r"`(` is never closed: write `\(` for the character".into()))
            }
            None => Ok(()),
        }
    }

    fn anchor(&mut self, start: usize, of_text: &str, of_line: &str) -> Result<bool, PatternError> {
        if self.flags.multiline {
            self.out.needs_backtracking = true;
            self.inside_behind(start, |behind| behind.has_edge = true)?;
        }
        self.out.text.push_str(if self.flags.multiline { of_line } else { of_text });
        Ok(false)
    }
}
