//! Numbers that a value may be written as.

use std::cmp::Ordering;

use lockgate_policy::condition::compare;
use serde_json::Number;

use super::truths::Truths;

/// These numbers, each once, the least first; none if they cannot be compared.
pub(in crate::proof) fn in_order(numbers: Vec<&Number>) -> Option<Vec<&Number>> {
    let mut sorted: Vec<&Number> = Vec::new();
    for number in numbers {
        let mut at = 0;
        let mut is_new = true;
        for known in &sorted {
            match compare(known, number)? {
                Ordering::Less => at += 1,
                Ordering::Equal => is_new = false,
                Ordering::Greater => {}
            }
        }
        if is_new {
            sorted.insert(at, number);
        }
    }
    Some(sorted)
}

/// A number that is one of those named, or stands between two of them.
#[derive(Clone, Copy)]
pub(in crate::proof) struct Spelled<'a> {
    /// Odd where it is a named one.
    pub(in crate::proof) at: usize,
    pub(in crate::proof) numbers: &'a [&'a Number],
}

impl Spelled<'_> {
    fn compare(&self, other: &Number) -> Option<Ordering> {
        let place = self.numbers.iter().position(|it| compare(it, other) == Some(Ordering::Equal))?;
        Some(self.at.cmp(&(2 * place + 1)))
    }

    pub(in crate::proof) fn is(&self, other: &Number) -> Truths {
        (self.compare(other) == Some(Ordering::Equal)).into()
    }

    pub(in crate::proof) fn is_ordered(&self, other: &Number, is_meant: fn(Ordering) -> bool) -> Truths {
        self.compare(other).map_or(Truths::DOUBT, |order| is_meant(order).into())
    }
}
