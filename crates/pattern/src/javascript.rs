//! JavaScript regular expressions in the syntax of the Rust engines.
//!
//! [`translate`] walks an expression once. Characters and classes become explicit sets, so that nothing
//! depends on what a shorthand or a letter's case means to an engine, and what JavaScript refuses is refused
//! here, with its place. Missing on purpose: the flags `u` and `v`, which change the syntax itself.

use std::{collections::BTreeSet, str::Chars, sync::LazyLock};

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use crate::{
    characters::{all, has, one_of, set_text, without},
    error::PatternError,
    limits::GROUPS_DEPTH_MAX,
};

/// The flags `i`, `m` and `s`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Flags {
    ignore_case: bool,
    multiline: bool,
    dot_all: bool,
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

struct Walker<'b> {
    body: &'b str,
    rest: Chars<'b>,
    flags: Flags,
    dialect: Dialect,
    groups: Vec<Option<&'b str>>,
    open: Vec<Group>,
    captured: usize,
    /// The look-behind around this place; they are never inside one another.
    behind: Option<Behind>,
    out: Translation,
}

/// What a look-behind holds so far.
#[derive(Default)]
struct Behind {
    has_edge: bool,
    varies: bool,
}

/// A group that is not closed yet.
struct Group {
    start: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// With its number.
    Capturing(usize),
    LookAhead,
    LookBehind,
}

const LINE_ENDS: [(char, char); 3] = [('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')];
const LINE_START: &str = r"(?<![^\n\r\x{2028}\x{2029}])";
const LINE_END: &str = r"(?![^\n\r\x{2028}\x{2029}])";
const DIGITS: [(char, char); 1] = [('0', '9')];
const WORDS: [(char, char); 4] = [('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];
const SPACES: [(char, char); 10] = [
    ('\t', '\r'),
    (' ', ' '),
    ('\u{a0}', '\u{a0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200a}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202f}', '\u{202f}'),
    ('\u{205f}', '\u{205f}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{feff}', '\u{feff}'),
];

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

    fn open_group(&mut self, start: usize) -> Result<bool, PatternError> {
        let kind = self.group_kind(start)?;
        self.open.push(Group { start, kind });
        if self.open.len() > GROUPS_DEPTH_MAX {
            return Err(self.error(start, format!("groups are nested deeper than {GROUPS_DEPTH_MAX}")));
        }
        Ok(false)
    }

    fn close_group(&mut self, start: usize) -> Result<bool, PatternError> {
        self.out.text.push(')');
        let Some(Group { kind, .. }) = self.open.pop() else {
            return Err(self.error(start, r"`)` closes no group: write `\)` for the character".into()));
        };
        if kind == Kind::LookBehind {
            self.behind = None;
        }
        Ok(matches!(kind, Kind::Plain | Kind::Capturing(_)))
    }

    fn alternative(&mut self, start: usize) -> Result<bool, PatternError> {
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
    fn looks(&mut self, start: usize) -> Result<(), PatternError> {
        self.out.needs_backtracking = true;
        if self.behind.is_some() {
            let message = "a look-behind cannot hold look-around or back-references: move it outside";
            return Err(self.error(start, message.into()));
        }
        Ok(())
    }

    /// Notes something about the look-behind around this place. In one of varying length, the backtracking
    /// engine gets edges wrong.
    fn inside_behind(&mut self, start: usize, note: impl FnOnce(&mut Behind)) -> Result<(), PatternError> {
        self.behind.as_mut().map(note);
        if self.behind.as_ref().is_some_and(|behind| behind.has_edge && behind.varies) {
            let message =
                r"a look-behind with an edge such as `\b` must be of one length: no `|`, no repetition";
            return Err(self.error(start, message.into()));
        }
        Ok(())
    }

    /// The bounds `{n}`, `{n,}` or `{n,m}` after a `{`; none if the brace is just a character.
    fn braces(&mut self, start: usize) -> Result<Option<String>, PatternError> {
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
    fn repeat(&mut self, start: usize, repeatable: bool, times: &str) -> Result<bool, PatternError> {
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

    fn anchor(&mut self, start: usize, of_text: &str, of_line: &str) -> Result<bool, PatternError> {
        if self.flags.multiline {
            self.out.needs_backtracking = true;
            self.inside_behind(start, |behind| behind.has_edge = true)?;
        }
        self.out.text.push_str(if self.flags.multiline { of_line } else { of_text });
        Ok(false)
    }

    /// Takes what follows `\` outside a class and says whether it may be repeated.
    fn escape(&mut self, start: usize) -> Result<bool, PatternError> {
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

    /// Takes what follows `[` up to its `]`.
    fn class(&mut self, start: usize) -> Result<bool, PatternError> {
        let negated = self.eat("^");
        let mut members = ClassUnicode::empty();
        while !self.eat("]") {
            let item_start = self.at();
            let low = self.class_member(start)?;
            // A dash is a range only between two characters: not before `]`, not beside `\d` and the like.
            let Member::Character(low) = low else {
                members.union(&low.into_set());
                continue;
            };
            let dashed = self.rest.as_str().strip_prefix('-').is_some_and(|after| !after.starts_with(']'));
            if !dashed {
                members.push(ClassUnicodeRange::new(low, low));
                continue;
            }
            self.eat("-");
            match self.class_member(start)? {
                Member::Character(high) if high < low => {
                    return Err(self
                        .error(item_start, "the range is out of order: the smaller end comes first".into()));
                }
                Member::Character(high) => members.push(ClassUnicodeRange::new(low, high)),
                Member::Set(high) => {
                    members.union(&high);
                    members.union(&one_of(&[(low, low), ('-', '-')]));
                }
            }
        }
        if self.flags.ignore_case {
            members = any_case(&members);
        }
        if negated {
            members.negate();
        }
        self.push_set(&members);
        Ok(true)
    }

    fn class_member(&mut self, start: usize) -> Result<Member, PatternError> {
        let here = self.at();
        match self.rest.next() {
            None => Err(self.error(start, r"`[` is never closed: write `\[` for the character".into())),
            Some('\\') => match self.rest.next() {
                None => Err(self.error(start, "`[` is never closed".into())),
                Some('b') => Ok(Member::Character('\u{8}')),
                Some(letter) => match shorthand(letter) {
                    Some(set) => Ok(Member::Set(set)),
                    None => self.character(here, letter).map(Member::Character),
                },
            },
            Some(character) => Ok(Member::Character(character)),
        }
    }

    /// The one character that `\` and `letter` stand for. What JavaScript does not know stands for itself.
    fn character(&mut self, start: usize, letter: char) -> Result<char, PatternError> {
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

    fn literal(&mut self, character: char) -> bool {
        self.set(&one_of(&[(character, character)]))
    }

    fn set(&mut self, set: &ClassUnicode) -> bool {
        if self.flags.ignore_case {
            self.push_set(&any_case(set));
        } else {
            self.push_set(set);
        }
        true
    }

    fn push_set(&mut self, set: &ClassUnicode) {
        self.out.text.push_str(&set_text(set));
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let after = self.rest.as_str().strip_prefix(prefix);
        if let Some(after) = after {
            self.rest = after.chars();
        }
        after.is_some()
    }

    fn at(&self) -> usize {
        self.body.len() - self.rest.as_str().len()
    }

    fn error(&self, start: usize, message: String) -> PatternError {
        PatternError { message, at: Some(start..self.at()) }
    }
}

enum Member {
    Character(char),
    Set(ClassUnicode),
}

impl Member {
    fn into_set(self) -> ClassUnicode {
        match self {
            Self::Character(character) => one_of(&[(character, character)]),
            Self::Set(set) => set,
        }
    }
}

fn shorthand(letter: char) -> Option<ClassUnicode> {
    Some(match letter {
        'd' => one_of(&DIGITS),
        'D' => without(&DIGITS),
        'w' => one_of(&WORDS),
        'W' => without(&WORDS),
        's' => one_of(&SPACES),
        'S' => without(&SPACES),
        _ => return None,
    })
}

/// The set with every character that JavaScript's flag `i` takes for one of it: two characters are the same
/// if their upper cases are, but no character outside ASCII becomes one inside (`ſ` is no `S`).
fn any_case(set: &ClassUnicode) -> ClassUnicode {
    let uppers: BTreeSet<char> =
        UPPERS.iter().filter(|(lower, _)| has(set, *lower)).map(|(_, upper)| *upper).collect();
    let same = UPPERS.iter().filter(|(_, upper)| has(set, *upper) || uppers.contains(upper));
    let mut folded = set.clone();
    folded.union(&one_of(
        &same.flat_map(|(lower, upper)| [(*lower, *lower), (*upper, *upper)]).collect::<Vec<_>>(),
    ));
    folded
}

/// Every character whose upper case is another single character, with it, as far as the flag `i` goes.
static UPPERS: LazyLock<Vec<(char, char)>> = LazyLock::new(|| {
    let upper = |lower: char| {
        let mut upper = lower.to_uppercase();
        let (first, rest) = (upper.next()?, upper.next());
        let counts = rest.is_none() && first != lower && (lower.is_ascii() || !first.is_ascii());
        counts.then_some((lower, first))
    };
    ('\0'..='\u{ffff}').filter_map(upper).collect()
});
