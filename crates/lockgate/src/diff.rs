//! How two policies differ.
//!
//! [`PolicyDiff`] serialises to the documented JSON of `lockgate diff --json`.

use std::sync::Arc;

use lockgate_gate::Rulebook;
use lockgate_policy::{Policy, Rule, RuleId};
use lockgate_prover::{Differences, TooManyRules, TraceStep, diff, proof::Side, protocol_lines, trace};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// How two policies differ: sessions on which they decide differently, and what was not decided.
#[derive(Debug)]
pub struct PolicyDiff {
    old: Arc<Policy>,
    new: Arc<Policy>,
    differences: Differences,
}

impl PolicyDiff {
    /// Compares two policies, for the doors of this repository.
    ///
    /// # Errors
    /// When there are more rules than the prover takes.
    #[doc(hidden)]
    pub fn between(old: Arc<Policy>, new: Arc<Policy>) -> Result<Self, TooManyRules> {
        let differences = diff(&Rulebook::new(old.clone()), &Rulebook::new(new.clone()))?;
        Ok(Self { old, new, differences })
    }

    /// Whether no session distinguishes them; none if that was not decided.
    pub fn is_same(&self) -> Option<bool> {
        match (self.differences.shown.is_empty(), self.differences.undecided.is_empty()) {
            (false, _) => Some(false),
            (true, false) => None,
            (true, true) => Some(true),
        }
    }

    /// The sessions on which they decide differently, and what was not decided.
    pub fn differences(&self) -> &Differences {
        &self.differences
    }

    /// A rule of one of the policies, for the doors of this repository.
    #[doc(hidden)]
    pub fn rule(&self, of: Side, rule: RuleId) -> Option<&Rule> {
        match of {
            Side::Old => self.old.rule(rule),
            Side::New => self.new.rule(rule),
        }
    }

    fn form(&self) -> DiffForm<'_> {
        DiffForm {
            same: self.is_same(),
            changes: self
                .differences
                .shown
                .iter()
                .map(|it| ChangeForm {
                    kind: it.kind.words(),
                    tool: &it.tool,
                    rule: self.rule(it.stricter, it.rule).map(|rule| rule.name.as_str()),
                    of: it.stricter.word(),
                    old: it.old.word(),
                    new: it.new.word(),
                    reason: &it.reason,
                    trace: trace(&it.session),
                    lines: protocol_lines(&it.session),
                })
                .collect(),
            undecided: self
                .differences
                .undecided
                .iter()
                .map(|it| UndecidedForm {
                    rule: self.rule(it.side, it.rule).map(|rule| rule.name.as_str()),
                    of: it.side.word(),
                    tools: it.tools.iter().map(|tool| &**tool).collect(),
                    why: &it.why,
                    shown: it.is_shown,
                })
                .collect(),
        }
    }
}

impl Serialize for PolicyDiff {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.form().serialize(serializer)
    }
}

#[derive(Debug, Serialize)]
struct DiffForm<'a> {
    /// None if that was not decided.
    same: Option<bool>,
    changes: Vec<ChangeForm<'a>>,
    undecided: Vec<UndecidedForm<'a>>,
}

#[derive(Debug, Serialize)]
struct ChangeForm<'a> {
    kind: &'static str,
    tool: &'a str,
    rule: Option<&'a str>,
    of: &'static str,
    old: &'static str,
    new: &'static str,
    reason: &'a str,
    trace: Vec<TraceStep<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<Value>,
}

#[derive(Debug, Serialize)]
struct UndecidedForm<'a> {
    rule: Option<&'a str>,
    of: &'static str,
    tools: Vec<&'a str>,
    why: &'a str,
    /// Whether some difference was shown that the rule makes, and there may be others.
    shown: bool,
}
