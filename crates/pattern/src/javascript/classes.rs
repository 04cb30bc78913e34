//! Classes and single characters, as explicit sets.

use std::{collections::BTreeSet, sync::LazyLock};

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::walker::Walker;
use crate::{
    characters::{has, one_of, set_text, without},
    error::PatternError,
};

pub(super) const LINE_ENDS: [(char, char); 3] = [('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')];

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
    /// Takes what follows `[` up to its `]`.
    pub(super) fn class(&mut self, start: usize) -> Result<bool, PatternError> {
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

    pub(super) fn literal(&mut self, character: char) -> bool {
        self.set(&one_of(&[(character, character)]))
    }

    pub(super) fn set(&mut self, set: &ClassUnicode) -> bool {
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

pub(super) fn shorthand(letter: char) -> Option<ClassUnicode> {
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
