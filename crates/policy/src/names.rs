//! Every name a policy knows, and what it has to do with it.
//!
//! One look at this table tells the judge everything about a tool: which rules watch it, whether some rule names
//! its actions, and whose maps rename it. Names are numbered, so that nothing is looked up twice.

use std::sync::Arc;

use lockgate_petri::TransitionId;
use smallvec::SmallVec;

use crate::{hash::HashMap, rule::RuleId};

/// All names of a policy.
#[derive(Debug, Default)]
pub(crate) struct Names {
    index: HashMap<Arc<str>, NameId>,
    known: Vec<Known>,
}

/// A name's number in its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NameId(u32);

/// A file's number in its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// What a policy has to do with one name.
#[derive(Debug)]
pub struct Known {
    /// The name.
    pub name: Arc<str>,
    /// The rules that know it, in file order.
    pub watches: Vec<Watch>,
    /// Whether some rule names an action of it: `name.action`.
    pub has_actions: bool,
    /// The files whose maps rename its calls.
    pub renamed_in: SmallVec<[FileId; 1]>,
}

/// What one rule has to do with one name.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The name, as this rule knows it.
    pub name: Arc<str>,
    /// The rule.
    pub rule: RuleId,
    /// Whether the rule always lets this name pass.
    pub is_free: bool,
    /// Whether the rule can refuse this name: a rule never refuses what it only watches.
    pub refuses: bool,
    /// The transitions that list the name, in the order of declaration.
    pub transitions: SmallVec<[TransitionId; 3]>,
    /// Whether the rule names actions of this tool, so that a call with an action is that action to it.
    pub names_actions: bool,
    /// The file of the rule.
    pub file: FileId,
}

impl Names {
    /// The number of a name, given anew if need be.
    pub(crate) fn add(&mut self, name: &str) -> NameId {
        if let Some(id) = self.index.get(name) {
            return *id;
        }
        let id = NameId(u32::try_from(self.known.len()).unwrap_or(u32::MAX));
        let name: Arc<str> = Arc::from(name);
        self.index.insert(name.clone(), id);
        self.known.push(Known { name, watches: Vec::new(), has_actions: false, renamed_in: SmallVec::new() });
        id
    }

    /// The number of a name, if the policy knows it.
    pub(crate) fn find(&self, name: &str) -> Option<NameId> {
        self.index.get(name).copied()
    }

    pub(crate) fn get(&self, id: NameId) -> Option<&Known> {
        self.known.get(id.0 as usize)
    }

    pub(crate) fn get_mut(&mut self, id: NameId) -> Option<&mut Known> {
        self.known.get_mut(id.0 as usize)
    }

    pub(crate) fn watches(&self, id: Option<NameId>) -> &[Watch] {
        id.and_then(|id| self.get(id)).map(|known| known.watches.as_slice()).unwrap_or_default()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Known> {
        self.known.iter()
    }
}
