//! What in a text or a JSON value is not for everybody's eyes, and the same without it.
//!
//! [`Detectors`] finds personal data and secrets, and masks them in values, in keys and however deep they are
//! nested; [`find_attack`] looks for input that is made to break out of the tool it is given to. Everything is
//! searched to its end: a limit would be the place to hide behind. Every search is linear in the text.
//! Guessing secrets by how random they look is missing on purpose, for it takes every hash and id for one.

mod addresses;
mod attack_patterns;
mod found;
mod iban;
mod masking;
mod names;
mod numbers;
mod secrets;

pub use attack_patterns::{AttackPattern, find_attack};
use found::{Label, Sort};
pub use masking::Mask;
use regex::Regex;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// What kind of sensitive thing was found, as told to people: `EMAIL`, `API_KEY`, or the name of a pattern
/// of one's own.
pub type Kind = Arc<str>;

/// One sensitive thing in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// What it is.
    pub kind: Kind,
    /// Where it stands, in bytes of the text.
    pub range: Range<usize>,
    /// Which detector found it, in their order.
    rank: usize,
}

impl Hit {
    /// Whether it opens something, so that not even its ends may be shown.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        (Sort::FIRST_SECRET..Sort::ALL.len()).contains(&self.rank)
    }
}

/// The kinds that were found, one for each hit: text by text, and within a text in the order of the detectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinds(Vec<Kind>);

impl Kinds {
    /// One kind for each hit.
    #[must_use]
    pub fn each(&self) -> &[Kind] {
        &self.0
    }

    /// Each kind once, in the order it was first found.
    #[must_use]
    pub fn distinct(&self) -> Vec<Kind> {
        let mut distinct = Vec::new();
        for kind in &self.0 {
            if !distinct.contains(kind) {
                distinct.push(Kind::clone(kind));
            }
        }
        distinct
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes in the hits of one text.
    fn extend(&mut self, hits: &[Hit]) {
        let mut hits: Vec<&Hit> = hits.iter().collect();
        hits.sort_by_key(|hit| hit.rank);
        self.0.extend(hits.iter().map(|hit| Kind::clone(&hit.kind)));
    }
}

/// Everything that finds sensitive data. Made once and shared.
#[derive(Clone, Debug)]
pub struct Detectors {
    /// The kinds we know in their order, then those of the patterns.
    kinds: Arc<[Kind]>,
    patterns: Arc<[Regex]>,
}

impl Detectors {
    /// The detectors that need no configuration.
    #[must_use]
    pub fn standard() -> &'static Self {
        static STANDARD: LazyLock<Detectors> = LazyLock::new(|| Detectors::with_patterns([]));
        &STANDARD
    }

    /// The standard detectors, and patterns of one's own, each with the name of what it finds.
    pub fn with_patterns(custom: impl IntoIterator<Item = (String, Regex)>) -> Self {
        let (names, patterns): (Vec<String>, Vec<Regex>) = custom.into_iter().unzip();
        let standard = Sort::ALL.iter().map(|sort| Kind::from(sort.name()));
        Self { kinds: standard.chain(names.into_iter().map(Kind::from)).collect(), patterns: patterns.into() }
    }

    /// All hits of all kinds, in the order of their place. Hits may overlap.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<Hit> {
        self.find_under(text, Label::default())
    }

    fn find_under(&self, text: &str, label: Label<'_>) -> Vec<Hit> {
        let mut found = Vec::new();
        addresses::find(text, &mut found);
        numbers::find(text, label, &mut found);
        secrets::find(text, &mut found);
        let standard = found.into_iter().filter(|found| !found.range.is_empty());
        let mut hits: Vec<Hit> =
            standard.filter_map(|found| self.hit(found.sort as usize, found.range)).collect();
        for (i, pattern) in self.patterns.iter().enumerate() {
            let found = pattern.find_iter(text).filter(|found| !found.is_empty());
            hits.extend(found.filter_map(|found| self.hit(Sort::ALL.len() + i, found.range())));
        }
        // Where a mask stands already, there is nothing left to find.
        hits.retain(|hit| {
            !hit.is_secret() || !self.is_masked(text.get(hit.range.clone()).unwrap_or_default())
        });
        hits.sort_by_key(|hit| (hit.range.start, hit.rank));
        hits
    }

    fn hit(&self, rank: usize, range: Range<usize>) -> Option<Hit> {
        Some(Hit { kind: Kind::clone(self.kinds.get(rank)?), range, rank })
    }

    /// Whether the text is nothing but what a mask leaves of a secret.
    fn is_masked(&self, text: &str) -> bool {
        let label = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        text.chars().all(|c| c == '*')
            || label.is_some_and(|label| self.kinds.iter().any(|kind| **kind == *label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_kinds_is_in_the_order_of_the_kinds() {
        for (i, sort) in Sort::ALL.iter().enumerate() {
            assert_eq!(*sort as usize, i, "{sort:?}");
        }
    }
}
