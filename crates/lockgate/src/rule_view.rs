//! What each rule says to a call, by itself.

use std::ops::Not;

use lockgate_gate::{Fires, NetVerdict, NetView};
use lockgate_policy::{Mode, Policy};
use serde::{Serialize, Serializer};

/// What one rule says to a call. It serialises to the documented JSON of `lockgate explain --json`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleView {
    /// The name of the rule.
    pub rule: String,
    /// The deed it looked at; the tool itself if it knows none.
    pub deed: String,
    /// What it says.
    pub says: NetVerdict,
    /// Whether it acts or only observes.
    pub mode: Mode,
}

impl RuleView {
    /// The view of a rule by its name, for the doors of this repository.
    #[doc(hidden)]
    pub fn of(view: &NetView, policy: &Policy) -> Self {
        let rule = policy.rule(view.rule).map(|rule| rule.name.clone()).unwrap_or_default();
        let clause = policy.clause(view.rule);
        let only_observes = clause.is_some_and(|it| it.mode == Mode::Observe && !it.acts_always);
        let mode = if only_observes { Mode::Observe } else { Mode::Enforce };
        Self { rule, deed: view.deed.to_string(), says: view.says.clone(), mode }
    }
}

#[derive(Serialize)]
struct RuleViewForm<'a> {
    rule: &'a str,
    deed: &'a str,
    says: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    transition: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fires: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    human: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
    #[serde(skip_serializing_if = "Not::not")]
    doubtful: bool,
}

impl<'a> RuleViewForm<'a> {
    fn of(view: &'a RuleView) -> Self {
        let says = |says| Self {
            rule: &view.rule,
            deed: &view.deed,
            says,
            transition: None,
            stage: None,
            fires: None,
            human: None,
            reason: None,
            mode: (view.mode == Mode::Observe).then_some(Mode::Observe),
            doubtful: false,
        };
        match &view.says {
            NetVerdict::Free => says("free"),
            NetVerdict::Abstain => says("abstain"),
            NetVerdict::Gated { transition, human, fires } => Self {
                transition: Some(transition),
                fires: Some(match fires {
                    Fires::AtOnce => "at once",
                    Fires::OnSuccess => "on success",
                    Fires::Never => "never",
                }),
                human: human.as_deref(),
                ..says("gated")
            },
            NetVerdict::Staged { stage } => Self { stage: Some(stage), ..says("staged") },
            NetVerdict::Blocked { reason } => Self { reason: Some(reason), ..says("blocked") },
            NetVerdict::Wants { decision, reason, is_doubtful } => {
                Self { reason: Some(reason), doubtful: *is_doubtful, ..says(decision.word()) }
            }
            NetVerdict::Unmet { fact, is_doubtful } => {
                Self { reason: Some(fact), doubtful: *is_doubtful, ..says("unmet") }
            }
        }
    }
}

impl Serialize for RuleView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RuleViewForm::of(self).serialize(serializer)
    }
}
