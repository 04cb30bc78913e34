//! The answer to a call: allow, redact, ask or block, with every obstacle and a sentence for the agent.
//!
//! [`Verdict`] is what every door tells. The sentences are made here and nowhere else, so that all doors
//! say the same words.

use std::{ops::Not, sync::Arc};

use lockgate_call::Call;
use lockgate_policy::{
    Audience, Decision, Deeds, Mode, NetRule, Rule, RuleId, Scope, Statement, Workflow,
    clause::{Gravity, Rank},
};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::state::ApprovalId;

/// The answer to a call. It serialises to the documented JSON of an answer, except the ids of the call and its session:
/// see [`JudgedCall`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// What is decided.
    #[serde(rename = "verdict")]
    pub decision: Decision,
    /// The leading obstacle's sentence; empty when the call is allowed.
    pub reason: String,
    /// Everything in the way, the leading obstacle first.
    pub obstacles: Vec<Obstacle>,
    /// The rules that say yes: those that allow the call, and those whose human has agreed before.
    #[serde(serialize_with = "write_enforcing", skip_serializing_if = "has_none_enforcing")]
    pub allowed_by: Vec<Obstacle>,
    /// What the agent could call now to get closer; empty when nothing would help.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<Arc<str>>,
    /// The input with sensitive data masked: to run the tool with when the decision is to redact, and to show to
    /// a human when it is to ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Box<Map<String, Value>>>,
    /// The request a human can answer, when the decision is to ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalId>,
    /// Whether it is refused because no human answered in time. No human rejected it.
    #[serde(rename = "timeout", skip_serializing_if = "Not::not")]
    pub timed_out: bool,
    /// What the call amounts to.
    #[serde(serialize_with = "write_deeds")]
    pub deeds: Deeds,
    /// What rules that only observe would have put in the way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<Obstacle>,
}

/// One thing in the way of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Obstacle {
    /// The rule that objects; none where the gate itself does.
    #[serde(skip)]
    pub rule: Option<RuleId>,
    /// The rule's name, or the gate's name for its own objection.
    #[serde(rename = "rule")]
    pub name: String,
    /// The file it stands in; empty for the gate's own.
    pub file: Arc<str>,
    /// The line it stands in; 0 for the gate's own.
    pub line: usize,
    /// What it wants.
    #[serde(rename = "verdict")]
    pub decision: Decision,
    /// Its sentence.
    pub reason: String,
    /// Whether it acts or only observes.
    pub mode: Mode,
    /// The deed it objects to.
    #[serde(skip)]
    pub deed: Arc<str>,
    /// Words that travel with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// How grave the rule's author says it is, where that is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Gravity>,
    /// Whether a human could have lifted it. Obstacles that no human can lift come first.
    #[serde(skip)]
    pub(crate) is_human: bool,
    /// What it has to do with a script that cannot be read.
    #[serde(skip)]
    pub(crate) about: About,
    /// Which of several that want the same leads.
    #[serde(skip)]
    pub(crate) rank: Rank,
}

/// A verdict with the call that it is about, as the line protocol writes it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct JudgedCall<'a> {
    /// The id of the call.
    pub id: &'a str,
    /// Its session.
    pub session: &'a str,
    /// What was decided.
    #[serde(flatten)]
    pub verdict: &'a Verdict,
}

impl<'a> JudgedCall<'a> {
    /// A call with its verdict.
    pub fn new(call: &'a Call, verdict: &'a Verdict) -> Self {
        Self { id: &call.id, session: &call.session, verdict }
    }
}

/// The rules that open the call; one that only observes opens nothing.
fn enforcing(rules: &[Obstacle]) -> impl Iterator<Item = &str> {
    rules.iter().filter(|rule| rule.mode == Mode::Enforce).map(|rule| rule.name.as_str())
}

fn has_none_enforcing(rules: &[Obstacle]) -> bool {
    enforcing(rules).next().is_none()
}

fn write_enforcing<S: Serializer>(rules: &[Obstacle], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(enforcing(rules))
}

fn write_deeds<S: Serializer>(deeds: &Deeds, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(deeds)
}

/// How many obstacles besides the leading one are told to an agent, and how much of each.
const OTHERS_MAX: usize = 4;
const OTHER_CHARS_MAX: usize = 240;

/// What an obstacle has to do with a script that cannot be read, in the order in which such obstacles are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum About {
    /// Nothing: it is about what was seen.
    #[default]
    Seen,
    /// It says that the script cannot be read, and why.
    Unreadable,
    /// It is there only because the script may be anything.
    Guessed,
}

impl Verdict {
    /// Whether the tool may run now, perhaps on a changed input.
    pub fn lets_pass(&self) -> bool {
        match self.decision {
            Decision::Allow | Decision::Redact => true,
            Decision::Ask | Decision::Block => false,
        }
    }

    /// What is told to the agent: why and by which rule, what else is in the way, what would open it, and which
    /// question is open. It stays short however many rules object.
    pub fn sentence(&self) -> String {
        let mut text = match self.obstacles.first() {
            Some(leading) => format!("{}{}", self.reason, leading.source()),
            None => self.reason.clone(),
        };
        let is_new = |it: &&Obstacle| it.decision > Decision::Redact && it.reason != self.reason;
        let others: Vec<&Obstacle> = self.obstacles.iter().skip(1).filter(is_new).collect();
        if !others.is_empty() {
            let told: Vec<String> = others.iter().take(OTHERS_MAX).map(|it| it.in_short()).collect();
            let more = match others.len().saturating_sub(OTHERS_MAX) {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            text.push_str(&format!(" Also in the way: {}{more}.", told.join("; ")));
        }
        if !self.next.is_empty() {
            let next: Vec<&str> = self.next.iter().map(AsRef::as_ref).collect();
            text.push_str(&format!(" What would help first: {}.", next.join(", ")));
        }
        if let (Decision::Ask, Some(approval)) = (self.decision, &self.approval) {
            text.push_str(&format!(" (question {approval})"));
        }
        text
    }

    /// Joins obstacles: the strictest decides, and the first in file order among the strictest leads.
    pub(crate) fn join(deeds: Deeds, obstacles: Vec<Obstacle>) -> Self {
        let (allowed_by, obstacles): (Vec<_>, Vec<_>) =
            obstacles.into_iter().partition(|obstacle| obstacle.decision == Decision::Allow);
        let (mut enforced, mut observed): (Vec<_>, Vec<_>) =
            obstacles.into_iter().partition(|obstacle| obstacle.mode == Mode::Enforce);
        for obstacles in [&mut enforced, &mut observed] {
            obstacles
                .sort_by_key(|it| (std::cmp::Reverse(it.decision), it.is_human, it.about, it.rank, it.rule));
            // One rule may object to several deeds of a call, or by several limits, in the same words; once is
            // enough.
            let place = |it: &Obstacle| (it.name.clone(), it.file.clone(), it.line, it.decision);
            obstacles.dedup_by(|a, b| a.reason == b.reason && place(a) == place(b));
        }
        Self {
            decision: enforced.first().map_or(Decision::Allow, |first| first.decision),
            reason: enforced.first().map_or_else(String::new, |first| first.reason.clone()),
            obstacles: enforced,
            observed,
            allowed_by,
            next: Vec::new(),
            approval: None,
            input: None,
            deeds,
            timed_out: false,
        }
    }

    /// What a call amounts to, to whomever: each deed once.
    pub(crate) fn join_deeds(groups: impl IntoIterator<Item = (Audience, Deeds)>) -> Deeds {
        let mut groups = groups.into_iter().map(|(_, deeds)| deeds);
        let mut all = groups.next().unwrap_or_default();
        for deed in groups.flatten() {
            if !all.contains(&deed) {
                all.push(deed);
            }
        }
        all
    }

    /// The answer to a call whose question is still open.
    pub fn still_asking(approval: ApprovalId) -> Self {
        let reason = format!("a human is still to answer question {approval}.");
        Self {
            decision: Decision::Ask,
            reason,
            approval: Some(approval),
            ..Self::join(Deeds::new(), Vec::new())
        }
    }

    /// A refusal by the gate itself.
    pub(crate) fn refused_by_gate(name: &str, reason: String) -> Self {
        Self::join(Deeds::new(), vec![Obstacle::of_gate(name, reason)])
    }
}

impl Obstacle {
    /// Which rule it is, and where that stands; nothing for the gate's own.
    fn source(&self) -> String {
        match &*self.file {
            "" => String::new(),
            file => format!(" (rule {}, {file}:{})", self.name, self.line),
        }
    }

    /// Its sentence, cut where it is long, and its rule.
    fn in_short(&self) -> String {
        let reason = self.reason.trim_end_matches('.');
        let mut short: String = reason.chars().take(OTHER_CHARS_MAX).collect();
        if short.len() < reason.len() {
            short.push('…');
        }
        short + &self.source()
    }

    pub(crate) fn of_rule(rule: &Rule, deed: &Arc<str>, decision: Decision, reason: String) -> Self {
        Self {
            rule: Some(rule.id),
            name: rule.name.clone(),
            file: rule.place.file.clone(),
            line: rule.place.line,
            decision,
            reason,
            mode: rule.mode,
            deed: deed.clone(),
            tags: Vec::new(),
            severity: None,
            is_human: false,
            about: About::Seen,
            rank: Rank::default(),
        }
    }

    pub(crate) fn of_gate(name: &str, reason: String) -> Self {
        Self {
            rule: None,
            name: name.to_owned(),
            file: Arc::from(""),
            line: 0,
            decision: Decision::Block,
            reason,
            mode: Mode::Enforce,
            deed: Arc::from(""),
            tags: Vec::new(),
            severity: None,
            is_human: false,
            about: About::Seen,
            rank: Rank::default(),
        }
    }
}

/// Why a net with no enabled transition refuses a deed.
pub(crate) fn blocked_sentence(rule: &NetRule, deed: &str) -> String {
    match &rule.statement {
        Statement::Sequence { prerequisite, dependent } => {
            format!("{dependent} requires a successful call to {prerequisite} first.")
        }
        Statement::Limit { tool, count, scope } => {
            let scope = match scope {
                Scope::Session => "session",
                Scope::Action(action) => action,
            };
            format!("{tool} has reached its limit of {count} calls per {scope}.")
        }
        Statement::Block { tool } => format!("{tool} is blocked and cannot be called."),
        Statement::Approval { tool } => format!("{tool} requires {HUMAN_APPROVAL}."),
        Statement::Net(_) => format!("Tool '{deed}' is not available in the current state."),
    }
}

/// Why a call waits for a human.
pub(crate) fn human_sentence(rule: &NetRule, deed: &str) -> String {
    match &rule.statement {
        Statement::Approval { tool } => format!("{tool} requires {HUMAN_APPROVAL}."),
        _ => format!("{deed} requires {HUMAN_APPROVAL}."),
    }
}

/// Why a call that needs a human is blocked where no human can be asked.
pub(crate) fn unattended_sentence(sentence: &str) -> String {
    format!("{sentence} (It needs {HUMAN_APPROVAL}, and no human can be asked.)")
}

/// What every reason says that a human could lift.
pub const HUMAN_APPROVAL: &str = "human approval";

/// What a human's refusal that still stands says.
pub(crate) fn refused_before_sentence(deed: &str) -> String {
    format!("{deed} was rejected by human review before, and that answer is still valid.")
}

/// What a human's refusal says.
pub(crate) fn rejected_sentence(deed: &str) -> String {
    format!("{deed} was rejected by human review.")
}

/// What is said when no human answered in time.
pub(crate) fn timeout_sentence(deed: &str) -> String {
    format!("timeout: no human answered the question about {deed} in time.")
}

/// What a workflow says, and where the session stands in it.
pub(crate) fn stage_sentence(workflow: &Workflow, stage: &str, says: &str) -> String {
    match stage {
        "" => format!("{says} (workflow `{}`)", workflow.name),
        stage => format!("{says} (stage `{stage}` of workflow `{}`)", workflow.name),
    }
}

/// Why nothing is decided yet.
pub(crate) fn running_sentence(words: &[String]) -> String {
    format!("a condition has to run `{}` first.", words.join(" "))
}

/// What a rule has against a script that cannot be read, and that may be its deed.
pub(crate) fn guessed_sentence(deed: &str, sentence: &str) -> String {
    format!("the script may be {deed}: {sentence}")
}

/// Why a hand-written net refuses what only may be its deed.
pub(crate) fn doubtful_sentence(deed: &str) -> String {
    format!("this call may be {deed}, but that is not certain: write it plainly, one command at a time.")
}

/// Why a net refuses a deed after which it would fire by itself for too long, or hold too many tokens.
pub(crate) fn restless_sentence(deed: &str) -> String {
    format!("{deed} would make its net fire without end, so it is blocked: contact the policy author.")
}
