//! What a call amounts to, as the rules of one file see it.
//!
//! A doubt never opens a gate: a [`Deed`] that is only suspected is *possible*, and possible deeds are restricted like
//! certain ones but earn nothing. Maps give deeds other names (`maps.rs`); what the rules then say about a deed is
//! decided elsewhere.

use std::sync::Arc;

use lockgate_call::Call;
use serde::Serialize;
use serde_json::Value;
use smallvec::SmallVec;

use crate::names::{NameId, Names};

/// What a call amounts to: a name, and whether that is certain.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Deed {
    /// The name rules know it by.
    pub name: Arc<str>,
    /// Whether the call really is this, or only may be.
    pub certain: bool,
    /// Whether a success of the call proves a success of this deed: nothing is earned by `cp a b || true`.
    #[serde(skip)]
    pub is_confirmed: bool,
    /// Whether it was seen in the call, or only follows from a script that cannot be read.
    #[serde(skip)]
    pub basis: Basis,
    /// The number of the name, where the policy knows it.
    #[serde(skip)]
    pub id: Option<NameId>,
    /// The tool, where `name` is the dotted `tool.action`: rules without a dot see this one.
    #[serde(skip)]
    pub tool: Option<NameId>,
}

/// Why a deed is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// The call is it, or mentions it.
    #[default]
    Seen,
    /// It is the tool itself, called with a script that cannot be read.
    Unread,
    /// It is a name that a map could give to what cannot be read.
    Guessed,
    /// The same, for what somebody may type into a console that the call starts.
    Typed,
}

impl Basis {
    /// Whether nothing of it was seen.
    #[must_use]
    pub fn is_guess(self) -> bool {
        self >= Self::Guessed
    }
}

/// The deeds of one call, in the order in which they would happen.
pub type Deeds = SmallVec<[Deed; 2]>;

impl Deed {
    /// Whether a success of the call counts as a success of this deed. Nothing is earned by a doubt.
    pub fn earns(&self) -> bool {
        self.certain && self.is_confirmed
    }

    fn certain(id: NameId, names: &Names) -> Option<Self> {
        let name = names.get(id)?.name.clone();
        let basis = Basis::Seen;
        Some(Self { name, certain: true, is_confirmed: true, basis, id: Some(id), tool: None })
    }

    pub(crate) fn named(name: &str, names: &Names) -> Self {
        let known = names.find(name).and_then(|id| Self::certain(id, names));
        known.unwrap_or_else(|| Self {
            name: Arc::from(name),
            certain: true,
            is_confirmed: true,
            basis: Basis::Seen,
            id: None,
            tool: None,
        })
    }

    pub(crate) fn doubted(&self) -> Self {
        Self { certain: false, is_confirmed: false, ..self.clone() }
    }

    pub(crate) fn doubted_by(&self, basis: Basis) -> Self {
        Self { basis, ..self.doubted() }
    }

    /// The tool's own name, or `tool.action` if it has an action and a rule names that.
    pub(crate) fn of_tool(call: &Call, tool: Option<NameId>, names: &Names) -> Self {
        let known = tool.and_then(|tool| names.get(tool));
        // A base has no dot of its own: `a.b.c` is the action `b.c` of `a`, never `c` of `a.b`.
        let action = known.filter(|known| known.has_actions).and_then(|_| call.input.get("action"));
        if let Some(Value::String(action)) = action {
            return Self { tool, ..Self::named(&format!("{}.{action}", call.tool), names) };
        }
        tool.and_then(|tool| Self::certain(tool, names)).unwrap_or_else(|| Self::named(&call.tool, names))
    }
}
