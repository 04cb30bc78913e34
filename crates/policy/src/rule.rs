//! What every rule has, whichever form it takes.

use serde::{Deserialize, Serialize};

use crate::source::{Place, Source, Span};

/// Whether a rule acts or only records what it would have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The rule only records what it would have done.
    Observe,
    /// The rule acts.
    #[default]
    Enforce,
}

impl Mode {
    /// The word that files, settings and answers use.
    pub fn word(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Enforce => "enforce",
        }
    }
}

/// What every rule has, whatever it became.
#[derive(Debug)]
pub struct Rule {
    /// Its number in this policy.
    pub id: RuleId,
    /// What it is called in messages and answers: the net's name.
    pub name: String,
    /// What its state is kept under: the same after a count was edited, and no other rule's.
    pub key: String,
    /// Where it stands.
    pub place: Place,
    /// Whether it acts.
    pub mode: Mode,
    /// The file it stands in.
    pub source: Source,
    /// Where in that file.
    pub span: Span,
}

/// A rule's number in its policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub(crate) u32);

/// What a front end knows of a rule.
pub struct Head {
    /// What it is called.
    pub name: String,
    /// What its state is kept under.
    pub key: String,
    /// Where it stands in its file.
    pub span: Span,
    /// Whether it acts.
    pub mode: Mode,
}

impl Rule {
    /// What it says, as written.
    pub fn text(&self) -> &str {
        self.source.slice(self.span)
    }
}

impl RuleId {
    /// The number, for tables indexed by rule.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
