//! Sets of characters, and how the regular expression engines write them.
//!
//! A set is written out in code points, so that it means the same to every engine, whatever flags are on.
//! What shorthands and letter cases mean is not decided here: each language of expressions has its own view.

use std::{cmp::Ordering, fmt::Write};

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

pub(crate) fn one_of(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|(start, end)| ClassUnicodeRange::new(*start, *end)))
}

pub(crate) fn without(ranges: &[(char, char)]) -> ClassUnicode {
    let mut set = one_of(ranges);
    set.negate();
    set
}

pub(crate) fn all() -> ClassUnicode {
    without(&[])
}

pub(crate) fn has(set: &ClassUnicode, character: char) -> bool {
    let order = |range: &ClassUnicodeRange| match () {
        () if range.end() < character => Ordering::Less,
        () if range.start() > character => Ordering::Greater,
        () => Ordering::Equal,
    };
    set.ranges().binary_search_by(order).is_ok()
}

/// One character of the set.
pub(crate) fn set_text(set: &ClassUnicode) -> String {
    let mut text = String::new();
    match set.ranges() {
        [] => text.push_str(r"[^\x{0}-\x{10FFFF}]"),
        [one] if one.start() == one.end() => push_character(&mut text, one.start()),
        ranges => {
            text.push('[');
            for range in ranges {
                push_character(&mut text, range.start());
                text.push('-');
                push_character(&mut text, range.end());
            }
            text.push(']');
        }
    }
    text
}

/// Writes one character.
pub(crate) fn push_character(out: &mut String, character: char) {
    // Writing into a text never fails.
    let _ = write!(out, r"\x{{{:X}}}", u32::from(character));
}
