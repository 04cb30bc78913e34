//! Memory that questions use one after another.

use super::{dense::Marks, estimate::Estimator, gather::GatheringMarks, straight::Straight};

#[derive(Default)]
pub(super) struct Scratch {
    pub(super) gathering: GatheringMarks,
    pub(super) seen_labels: Marks,
    pub(super) seen_rules: Marks,
    pub(super) estimator: Estimator,
    pub(super) straight: Straight,
}
