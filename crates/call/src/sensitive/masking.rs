//! Texts and JSON values with what is sensitive covered.
//!
//! Hits that overlap or touch are covered as one, so that the mask of one never shows what another covers.
//! A secret is covered whole, and its length with it. What is covered cannot be uncovered: there is no map
//! back, on purpose.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Map, Value};

use super::found::{Label, Sort};
use super::{Detectors, Hit, Kind, Kinds, names};

/// How often a masked text is searched again for what only the mask has brought together.
const PASSES_MAX: usize = 8;

/// How many characters are shown at each end, and what hides a secret of any length.
const EDGE_CHARACTERS: usize = 2;
const SECRET_STARS: &str = "********";

/// What is shown instead of something sensitive. Of a secret, none shows more than [`Mask::Stars`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mask {
    /// The first and the last two characters, stars between; only stars where there are four or fewer.
    #[default]
    Edges,
    /// A star for each character.
    Stars,
    /// The kind: `[EMAIL]`.
    Label,
}

impl Detectors {
    /// A text with everything sensitive masked, and what was found.
    pub fn mask_text<'t>(&self, text: &'t str, mask: Mask) -> (Cow<'t, str>, Kinds) {
        let mut kinds = Kinds::default();
        let masked = self.masked(text, Label::default(), mask, &mut kinds);
        (masked.map_or(Cow::Borrowed(text), Cow::Owned), kinds)
    }

    /// A value with everything sensitive masked, in keys as well, or nothing where that changes nothing; and what
    /// was found. A number that is masked becomes a text.
    #[must_use]
    pub fn mask_value(&self, value: &Value, mask: Mask) -> (Option<Value>, Kinds) {
        let mut covering = Covering { detectors: self, mask, kinds: Kinds::default() };
        let masked = covering.value(value, "", false);
        (masked, covering.kinds)
    }

    /// The same for the input of a call.
    #[must_use]
    pub fn mask_object(&self, input: &Map<String, Value>, mask: Mask) -> (Option<Map<String, Value>>, Kinds) {
        let mut covering = Covering { detectors: self, mask, kinds: Kinds::default() };
        let masked = covering.object(input, false);
        (masked, covering.kinds)
    }

    /// What is found in a value and its keys.
    #[must_use]
    pub fn kinds_in(&self, value: &Value) -> Kinds {
        self.mask_value(value, Mask::Stars).1
    }

    fn masked(&self, text: &str, label: Label<'_>, mask: Mask, kinds: &mut Kinds) -> Option<String> {
        let hits = self.find_under(text, label);
        kinds.extend(&hits);
        let mut masked = (!hits.is_empty()).then(|| cover(text, &hits, mask))?;
        // What is left at the ends of a mask may be taken for something new together with what stands beside it.
        for _ in 1..PASSES_MAX {
            let hits = self.find_under(&masked, label);
            if hits.is_empty() {
                break;
            }
            masked = cover(&masked, &hits, mask);
        }
        Some(masked)
    }
}

/// Several hits as one stretch to cover.
struct Stretch<'h> {
    range: Range<usize>,
    kind: &'h Kind,
    is_secret: bool,
}

/// Covers all hits of a text; they are in the order of their place.
fn cover(text: &str, hits: &[Hit], mask: Mask) -> String {
    let mut covered = String::with_capacity(text.len());
    let mut end = 0;
    for stretch in merged(hits) {
        covered.push_str(text.get(end..stretch.range.start).unwrap_or_default());
        let hidden = text.get(stretch.range.clone()).unwrap_or_default();
        match mask {
            Mask::Label => covered.extend(["[", stretch.kind, "]"]),
            Mask::Edges | Mask::Stars if stretch.is_secret => covered.push_str(SECRET_STARS),
            Mask::Stars => covered.extend(hidden.chars().map(|_| '*')),
            Mask::Edges => edges(hidden, &mut covered),
        }
        end = stretch.range.end;
    }
    covered.push_str(text.get(end..).unwrap_or_default());
    covered
}

fn merged(hits: &[Hit]) -> Vec<Stretch<'_>> {
    let mut stretches: Vec<Stretch<'_>> = Vec::new();
    for hit in hits {
        match stretches.last_mut() {
            Some(last) if hit.range.start <= last.range.end => {
                last.range.end = last.range.end.max(hit.range.end);
                // A secret among them makes it all secret, and gives it its name.
                if hit.is_secret() && !last.is_secret {
                    (last.is_secret, last.kind) = (true, &hit.kind);
                }
            }
            _ => stretches.push(Stretch {
                range: hit.range.clone(),
                kind: &hit.kind,
                is_secret: hit.is_secret(),
            }),
        }
    }
    stretches
}

fn edges(hidden: &str, covered: &mut String) {
    let count = hidden.chars().count();
    let is_shown = |i: usize| {
        count > 2 * EDGE_CHARACTERS && (i < EDGE_CHARACTERS || i >= count.saturating_sub(EDGE_CHARACTERS))
    };
    covered.extend(hidden.chars().enumerate().map(|(i, c)| if is_shown(i) { c } else { '*' }));
}

/// One walk through a value.
struct Covering<'d> {
    detectors: &'d Detectors,
    mask: Mask,
    kinds: Kinds,
}

impl Covering<'_> {
    /// The value masked, if that changes it. All of it is secret where its key says so.
    fn value(&mut self, value: &Value, key: &str, is_secret: bool) -> Option<Value> {
        match value {
            Value::String(text) if is_secret => self.secret(text),
            Value::String(text) => {
                let label = Label { key, is_number: false };
                self.detectors.masked(text, label, self.mask, &mut self.kinds).map(Value::String)
            }
            Value::Number(number) if is_secret => self.secret(&number.to_string()),
            Value::Number(number) => {
                let label = Label { key, is_number: true };
                let text = number.to_string();
                self.detectors.masked(&text, label, self.mask, &mut self.kinds).map(Value::String)
            }
            Value::Array(items) => {
                let masked: Vec<Option<Value>> =
                    items.iter().map(|item| self.value(item, key, is_secret)).collect();
                masked.iter().any(Option::is_some).then(|| {
                    let pairs = masked.into_iter().zip(items);
                    pairs.map(|(masked, item)| masked.unwrap_or_else(|| item.clone())).collect()
                })
            }
            Value::Object(object) => self.object(object, is_secret).map(Value::Object),
            Value::Null | Value::Bool(_) => None,
        }
    }

    fn object(&mut self, object: &Map<String, Value>, is_secret: bool) -> Option<Map<String, Value>> {
        let masked: Vec<(Option<String>, Option<Value>)> = object
            .iter()
            .map(|(key, value)| {
                let masked = self.detectors.masked(key, Label::default(), self.mask, &mut self.kinds);
                // The masked key as well: masking must not change what a second masking would find.
                let hides = |key: &str| names::hides(key, value);
                let is_secret = is_secret || hides(key) || masked.as_deref().is_some_and(hides);
                (masked, self.value(value, key, is_secret))
            })
            .collect();
        if masked.iter().all(|(key, value)| key.is_none() && value.is_none()) {
            return None;
        }
        let kept = object.keys().zip(&masked).filter(|(_, (key, _))| key.is_none());
        let mut taken: HashMap<String, u64> = kept.map(|(key, _)| (key.clone(), 2)).collect();
        let pairs = object.iter().zip(masked).map(|((key, value), (masked_key, masked_value))| {
            let key = masked_key.map_or_else(|| key.clone(), |masked| not_taken(masked, &mut taken));
            (key, masked_value.unwrap_or_else(|| value.clone()))
        });
        Some(pairs.collect())
    }

    fn secret(&mut self, text: &str) -> Option<Value> {
        if text.is_empty() || self.detectors.is_masked(text) || names::is_reference(text) {
            return None;
        }
        let hit = self.detectors.hit(Sort::Password as usize, 0..text.len())?;
        let covered = cover(text, std::slice::from_ref(&hit), self.mask);
        self.kinds.extend(&[hit]);
        Some(Value::String(covered))
    }
}

/// A key that no other of the object has, so that none swallows another's value. For each key that is taken,
/// `taken` knows the next number to try, so that many equal ones are no burden.
fn not_taken(key: String, taken: &mut HashMap<String, u64>) -> String {
    let Some(mut number) = taken.get(&key).copied() else {
        taken.insert(key.clone(), 2);
        return key;
    };
    loop {
        let numbered = format!("{key} ({number})");
        number += 1;
        if !taken.contains_key(&numbered) {
            taken.insert(key, number);
            taken.insert(numbered.clone(), 2);
            return numbered;
        }
    }
}
