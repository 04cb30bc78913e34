//! Cuts texts into atoms: the smallest parts whose origin can be traced.
//!
//! [`scan`] reads a text once and hands on its [`Piece`]s in order. A mail address, a link, an account number, a date, a
//! number or a word is one atom each, in the one spelling under which equal things are equal. Runs of atoms end at full
//! stops, semicolons and line ends. Whatever is compared is cut by this one scanner, so a part of an atom is never taken
//! for the atom. What a text means is missing on purpose.

mod chunk;
mod groups;
mod piece;

use std::borrow::Cow;

use icu_normalizer::ComposingNormalizerBorrowed;

use self::piece::Joined;
pub use self::piece::{AtomKind, Piece};

/// Hands on the pieces of a text, in order. There is never a break at the start, nor are there two in a row.
pub fn scan(text: &str, mut take: impl FnMut(Piece<'_>)) {
    let text = plain_text(text);
    let mut joined = Joined::new(&mut take);
    for line in text.split(['\n', '\r', '\u{2028}', '\u{2029}']) {
        groups::scan_line(line, &mut joined);
        joined.end_run();
    }
}

/// One spelling for texts that look alike: compatibility forms are folded, and what has no width is dropped.
#[must_use]
pub fn plain_text(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let has_no_width = |c: char| matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}');
    let nfkc = ComposingNormalizerBorrowed::new_nfkc().normalize(text);
    if nfkc.contains(has_no_width) {
        return Cow::Owned(nfkc.chars().filter(|c| !has_no_width(*c)).collect());
    }
    nfkc
}

#[cfg(test)]
mod tests;
