//! Whether the user spoke of something.

use std::sync::Arc;

use lockgate_call::{AtomKind, Piece, scan_atoms};

/// How many letters of a word stay at least when its end is cut off.
const STEM_MIN: usize = 4;

/// Up to how many letters a stem is too short for every word that begins with it to be a form of it: `add` begins `address`.
const SHORT: usize = 4;

/// How the forms of short words end. A `sender` is not an order to send.
const ENDINGS: [&str; 18] = [
    "", "s", "es", "ies", "d", "ed", "ied", "e", "y", "ing", "ings", "ying", "al", "als", "ion", "ions",
    "ment", "ments",
];

/// A word that the user is to say, in any of its forms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SaidWord(Arc<str>);

impl SaidWord {
    /// Reads a word as written in a policy: `delete` also stands for `deleting` and `deletion`.
    pub fn new(word: &str) -> Self {
        let word = word.to_lowercase();
        let stem = word.strip_suffix(['e', 'y']).filter(|stem| stem.chars().count() >= STEM_MIN);
        Self(stem.unwrap_or(&word).into())
    }

    /// How its forms begin.
    pub fn stem(&self) -> &Arc<str> {
        &self.0
    }
}

/// Whether a word is a form of the word with this stem.
fn is_form(word: &str, stem: &str) -> bool {
    let Some(rest) = word.strip_prefix(stem) else { return false };
    // `planned`, `putting`
    let undoubled = stem.chars().next_back().and_then(|last| rest.strip_prefix(last));
    stem.chars().count() > SHORT
        || ENDINGS.contains(&rest)
        || undoubled.is_some_and(|rest| ENDINGS.contains(&rest))
}

/// Which of these stems some word of a text is a form of.
pub fn said_in(text: &str, stems: &[Arc<str>]) -> Vec<Arc<str>> {
    let mut said: Vec<Arc<str>> = Vec::new();
    scan_atoms(text, |piece| {
        let Piece::Atom { kind: AtomKind::Word | AtomKind::Mixed, text } = piece else { return };
        let word = text.to_lowercase();
        // `re-book` and `check/cancel` are said as two words.
        for part in word.split(|c: char| !c.is_alphanumeric()) {
            for stem in stems.iter().filter(|stem| is_form(part, stem)) {
                if !said.contains(stem) {
                    said.push(stem.clone());
                }
            }
        }
    });
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stands_for_its_forms() {
        let rows = [
            ("delete", "Deleting it", true),
            ("delete", "the deletion of x", true),
            ("move", "it was moved", true),
            ("move", "moving on", false),
            ("pay", "I paid", false),
            ("pay", "Payment for bob", true),
            ("reply", "replies", true),
            ("book", "please re-book", true),
            ("send", "resend", false),
            ("send", "sending", true),
            ("send", "who is the sender?", false),
            ("add", "her address", false),
            ("add", "additional fees", false),
            ("add", "adding", true),
            ("plan", "I planned it", true),
            ("plan", "a planet", false),
            ("share", "sharing is good", true),
            ("share", "share it", true),
            ("reply", "replace it", false),
            ("rent", "a rental car", true),
            ("cancel", "cancellation", true),
        ];
        for (word, text, wanted) in rows {
            let stem = SaidWord::new(word).stem().clone();
            assert_eq!(!said_in(text, &[stem]).is_empty(), wanted, "{word}: {text}");
        }
    }
}
