//! A tool of the list that the author hands in.

use std::collections::{BTreeMap, BTreeSet};

use lockgate_call::EffectKind;

/// All tools there are, by name.
pub type ListedTools = BTreeMap<String, ListedTool>;

/// What a list says about a tool, beside its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedTool {
    /// The fields of its input; none where the list does not say, or where others may be there.
    pub fields: Option<BTreeSet<String>>,
    /// What its server warns of.
    pub effects: Vec<EffectKind>,
}
