//! Labels and sets of labels: what rules test. A label is a number; its meaning belongs to the caller.

use smallvec::SmallVec;

/// One thing that can happen, such as "a deploy succeeded".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(pub u32);

/// A few labels, in order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelSet(SmallVec<[Label; 2]>);

impl LabelSet {
    /// The labels in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Label> + Clone + '_ {
        self.0.iter().copied()
    }

    /// Whether a label is one of them.
    pub fn contains(&self, label: Label) -> bool {
        self.0.binary_search(&label).is_ok()
    }

    /// Its place among them.
    pub(super) fn position(&self, label: Label) -> Option<usize> {
        self.0.binary_search(&label).ok()
    }

    /// Whether all of them are in another set.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.iter().all(|label| other.contains(label))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Those that are not in another set.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.iter().filter(|label| !other.contains(*label)).collect()
    }

    /// Those of both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }
}

impl From<Label> for LabelSet {
    fn from(label: Label) -> Self {
        Self(SmallVec::from_iter([label]))
    }
}

impl<const N: usize> From<[Label; N]> for LabelSet {
    fn from(labels: [Label; N]) -> Self {
        labels.into_iter().collect()
    }
}

impl FromIterator<Label> for LabelSet {
    fn from_iter<T: IntoIterator<Item = Label>>(labels: T) -> Self {
        let mut labels: SmallVec<[Label; 2]> = labels.into_iter().collect();
        labels.sort_unstable();
        labels.dedup();
        Self(labels)
    }
}
