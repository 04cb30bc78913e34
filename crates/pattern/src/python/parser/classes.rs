//! Classes and single characters, as explicit sets.

use std::{collections::BTreeMap, sync::LazyLock};

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::cursor::{Flags, Parser};
use crate::{
    characters::{has, one_of, set_text},
    error::PatternError,
    limits::RANGE_STATES_MAX,
    python::tree::{Node, Set, WORD, WORD_ASCII},
};

const SPACE: &str =
    r"\x{9}-\x{D}\x{1C}-\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}";

const SPACE_ASCII: &str = r"\x{9}-\x{D}\x{20}";

impl<'p> Parser<'p> {
    /// Takes what follows `[` up to its `]`.
    pub(super) fn class(&mut self, start: usize, flags: Flags) -> Result<Node, PatternError> {
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
}

const RANGE_OF_SETS: &str = r"a range needs a character at each end: put the `-` last, or write `\-`";

enum Member {
    Character(char),
    Shorthand(Shorthand),
}

/// What `\d` and the like stand for.
pub(super) struct Shorthand {
    /// As members of a class, without the negation.
    members: &'static str,
    is_negated: bool,
    /// How many ranges of characters the members have at most.
    ranges_max: usize,
    /// How many states an automaton needs for the members at most, and as many for all other characters.
    states_max: usize,
}

impl Shorthand {
    pub(super) fn of(letter: char, flags: Flags) -> Option<Self> {
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
    pub(super) fn of(set: &ClassUnicode) -> Self {
        let ranges = Some(set.ranges().len()).filter(|ranges| *ranges > 0);
        Self { text: set_text(set), states_max: ranges.map(|ranges| ranges.saturating_mul(RANGE_STATES_MAX)) }
    }

    /// Shorthands and other characters together, or all characters but those.
    pub(super) fn with(shorthands: &[Shorthand], others: &ClassUnicode, is_negated: bool) -> Self {
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

/// A character that is not a digit, a space or a part of a word in any alphabet.
const PRIVATE: char = '\u{e000}';

pub(super) fn literal(character: char, flags: Flags) -> Node {
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
    use crate::{characters::all, python::parser::parse, word_edges::class};

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
