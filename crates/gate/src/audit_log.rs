//! What the audit log says: who asked for what, what was decided and why, and what became of it.
//!
//! An [`LogEntry`] is made for everything that is committed, and stored in the same transaction. Secrets are masked
//! before an entry exists, and what tools return is never in it. How entries are chained, so that none can be
//! changed or lost unseen, is the secret of the store.

use std::sync::Arc;

use lockgate_call::{
    SeenCall, Time,
    sensitive::{Detectors, Mask},
};
use lockgate_policy::{Deed, Mode, Policy, RuleId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{
    hex::hex,
    output::OutputHit,
    settle::{Outcome, Settlement},
    signed_answer::SignedAnswer,
    state::{ApprovalId, Binding, BoundFile, Event, PolicyNews, Session},
    verdict::{Obstacle, Verdict},
};

/// The longest text of an input that an entry holds; of a longer one it holds the length and the hash.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;

/// One entry of the audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The session; none where something was done to all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The hash of the policy in force; none where nothing was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub what: LogEvent,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum LogEvent {
    /// A call was decided about.
    Call {
        /// The call.
        call: Box<LoggedCall>,
        /// What was decided.
        #[serde(flatten)]
        decided: Box<LoggedDecision>,
    },
    /// A human answered. What became of the call then is decided anew, and is an entry of its own.
    Answer {
        /// The question.
        approval: String,
        /// Yes or no.
        granted: bool,
        /// Who, as far as the door could tell.
        by: String,
        /// What was signed, and the signature; none where the answer was given in the process that asked, and for a no.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<Arc<SignedAnswer>>,
    },
    /// A call in flight came by another door.
    #[serde(alias = "sighted")]
    Duplicate {
        /// The call's id.
        id: String,
        /// The door.
        door: Arc<str>,
    },
    /// A tool's result came.
    Result {
        /// The call's id.
        id: String,
        /// The tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// Whether it says success.
        ok: bool,
        /// Whether a call waited for it.
        settled: bool,
        /// What became of the output: `allow`, `warn`, `redact` or `block`.
        output: String,
        /// Why, where it is not passed on as it is or changed nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The kinds of sensitive data found in it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        found: Vec<Arc<str>>,
        /// The rules on results that had something to say.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rules: Vec<LoggedRule>,
    },
    /// A call's result never came, or a question timed out.
    Lapsed {
        /// The call's id.
        id: String,
        /// The question, if that is what lapsed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<String>,
    },
    /// A person or program other than the agent did something.
    Operator {
        /// What: `halt`, `resume`, `untaint`, `describe`, `move`, …
        act: String,
        /// More about it.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        about: Map<String, Value>,
    },
}

/// A call as the audit log shows it: secrets masked, long texts named by their hash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoggedCall {
    /// The host's id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The input.
    pub input: Map<String, Value>,
    /// What it does, in the words of rules; what it only may do ends in `?`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<String>,
    /// Whether anything in the input is not as it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_masked: bool,
    /// The door it came through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub door: Option<String>,
    /// The folder it ran in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Who asked, as far as the door says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<Value>,
    /// For whom the agent acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<Value>,
    /// The call of the agent that started this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// What was decided about a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoggedDecision {
    /// The verdict: `allow`, `redact`, `ask` or `block`.
    pub verdict: String,
    /// The sentence for the agent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the call amounts to; a possible deed ends in `?`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deeds: Vec<String>,
    /// The rules that had something against it, or that said yes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<LoggedRule>,
    /// The question that a human can answer, or has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Whether it is refused because no human answered in time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timeout: bool,
}

/// A rule that had a say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoggedRule {
    /// Its name.
    pub rule: String,
    /// The file and line it stands in; empty for the gate's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// What it wanted.
    pub wants: String,
    /// Whether it only observes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// How grave its author says it is, where that is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// Words that travel with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

impl LogEntry {
    /// The entry as one line of JSON.
    pub fn to_json(&self) -> String {
        // Maps with text keys and plain values always have a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// When it happened.
    pub fn time(&self) -> Time {
        Time(self.at)
    }
}

/// A verdict, and the call it is about.
pub(crate) fn decided(policy: &Policy, call: &SeenCall, verdict: &Verdict, events: &[Event]) -> LogEvent {
    // Where the host names no ids, the gate has given one.
    let id = events.iter().find_map(|event| match event {
        Event::Allowed { id, .. } | Event::Duplicate { id, .. } => Some(&**id),
        Event::Blocked { id, .. } => Some(id),
        Event::Asked { asked, .. } => Some(&asked.call.id),
        _ => None,
    });
    let id = id.unwrap_or(&call.id).to_owned();
    if let Some(Event::Duplicate { door, .. }) = events.last() {
        return LogEvent::Duplicate { id, door: door.clone() };
    }
    let (input, is_masked) = shown(&call.input);
    let about = &call.about;
    let call = LoggedCall {
        id,
        tool: call.tool.clone(),
        input,
        effects: policy.effects(call).words(),
        is_masked,
        door: about.duplicate_key.as_ref().map(|duplicate_key| duplicate_key.door.to_string()),
        cwd: about.cwd.clone(),
        sender: about.sender.as_ref().map(masked),
        principal: about.principal.as_ref().map(masked),
        parent: about.parent.clone(),
    };
    LogEvent::Call { call: Box::new(call), decided: Box::new(LoggedDecision::of(verdict)) }
}

/// A result, and what became of it.
pub(crate) fn settled(outcome: &Outcome, settlement: &Settlement, events: &[Event]) -> LogEvent {
    let id = events.iter().find_map(|event| match event {
        Event::Settled { id, .. } => Some(id.to_string()),
        _ => None,
    });
    let ok = events.iter().any(|event| matches!(event, Event::Settled { ok: true, .. }));
    LogEvent::Result {
        id: id.unwrap_or_else(|| outcome.id.clone()),
        tool: outcome.tool.clone(),
        ok,
        settled: settlement.settled,
        output: settlement.decision.word().to_owned(),
        reason: settlement.reason.as_deref().map(masked_text),
        found: settlement.found.clone(),
        rules: settlement.rules.iter().map(LoggedRule::of_result).collect(),
    }
}

/// The file and line of a rule; empty for the gate's own.
fn place(file: &str, line: usize) -> String {
    if file.is_empty() { String::new() } else { format!("{file}:{line}") }
}

impl LoggedRule {
    fn of_result(hit: &OutputHit) -> Self {
        Self {
            rule: hit.name.clone(),
            place: place(&hit.file, hit.line),
            wants: hit.decision.word().to_owned(),
            observed: hit.mode == Mode::Observe,
            severity: hit.severity.map(|severity| severity.word().to_owned()),
            tags: hit.tags.clone(),
        }
    }
}

/// Who is named as the one who answered a question that no human answered in time.
pub const TIMEOUT: &str = "timeout";

/// A human's answer to a question.
pub(crate) fn answered(approval: &ApprovalId, granted: bool, by: &str) -> LogEvent {
    LogEvent::Answer { approval: approval.to_string(), granted, by: by.to_owned(), proof: None }
}

/// What is done when a store records the key of the human who answers.
pub const HUMAN_KEY: &str = "human-key";

/// What is done where an answer in the store does not count.
pub const REJECTED_ANSWER: &str = "rejected-answer";

/// An answer in the store that does not count, and why.
pub(crate) fn rejected(approval: &ApprovalId, granted: bool, by: &str, why: &str) -> LogEvent {
    let (approval, by) = (approval.to_string(), masked_text(by));
    let about = json!({ "approval": approval, "granted": granted, "by": by, "reason": why });
    let about = about.as_object().cloned().unwrap_or_default();
    LogEvent::Operator { act: REJECTED_ANSWER.to_owned(), about }
}

/// What ran out by the way.
pub(crate) fn lapses<'e>(
    name: &'e str,
    session: &'e Session,
    events: &'e [Event],
) -> impl Iterator<Item = LogEvent> + 'e {
    events.iter().filter_map(move |event| match event {
        Event::Lapsed { id, .. } => Some(LogEvent::Lapsed { id: id.to_string(), approval: None }),
        Event::Expired { number, .. } => {
            let id = session.asked.get(number).map(|asked| asked.call.id.clone()).unwrap_or_default();
            let approval = ApprovalId { session: name.to_owned(), number: *number };
            Some(LogEvent::Lapsed { id, approval: Some(approval.to_string()) })
        }
        _ => None,
    })
}

/// What a person or program other than the agent did.
pub(crate) fn operated(policy: &Policy, event: &Event) -> Option<LogEvent> {
    let name = |rule: &RuleId| policy.rule(*rule).map(|rule| rule.name.as_str());
    let (act, about) = match event {
        Event::Halted { reason } => ("halt", json!({ "reason": reason })),
        Event::Resumed => ("resume", json!({})),
        Event::Untainted => ("untaint", json!({})),
        Event::Described { attributes } => {
            ("describe", json!({ "attributes": masked(&Value::Object(attributes.clone())) }))
        }
        Event::Seeded { counts, .. } => {
            ("seed", json!({ "attempts": counts.attempts, "tool_calls": counts.tool_calls }))
        }
        // What was said is not for the log; that something was heard is.
        Event::Heard { .. } => ("heard", json!({})),
        Event::Began { inactive } => {
            ("begin", json!({ "inactive": inactive.iter().filter_map(name).collect::<Vec<_>>() }))
        }
        Event::Activated { rule } => ("activate", json!({ "rule": name(rule) })),
        Event::Deactivated { rule } => ("deactivate", json!({ "rule": name(rule) })),
        Event::Moved { rule, step, .. } => ("move", json!({ "rule": name(rule), "step": step })),
        _ => return None,
    };
    let Value::Object(about) = about else { return None };
    Some(LogEvent::Operator { act: act.to_owned(), about })
}

/// What became of the policy of a session.
pub(crate) fn policy_news(news: &PolicyNews) -> LogEvent {
    let (act, about) = match news {
        PolicyNews::Changed(from, to) => ("policy-changed", change(from, to)),
        PolicyNews::Followed(from, to) => ("policy-followed", change(from, to)),
        PolicyNews::Restored => ("policy-restored", Map::new()),
    };
    LogEvent::Operator { act: act.to_owned(), about }
}

/// A human has accepted a changed policy.
pub(crate) fn accepted(news: Option<&PolicyNews>, policy: &Policy, by: &str) -> LogEvent {
    let mut about = match news {
        Some(PolicyNews::Changed(from, to) | PolicyNews::Followed(from, to)) => change(from, to),
        Some(PolicyNews::Restored) | None => Map::new(),
    };
    about.insert("to".to_owned(), Value::from(policy.hash().to_string()));
    about.insert("by".to_owned(), Value::from(by));
    LogEvent::Operator { act: "accept-policy".to_owned(), about }
}

/// The hashes of two policies, and the files that only one of them has.
fn change(from: &Binding, to: &Binding) -> Map<String, Value> {
    let only = |one: &Binding, other: &Binding| -> Vec<Value> {
        let is_other = |file: &&BoundFile| !other.files.iter().any(|it| it == *file);
        one.files.iter().filter(is_other).map(|file| Value::from(file.path.as_str())).collect()
    };
    let mut about = Map::new();
    about.insert("from".to_owned(), Value::from(from.policy.as_str()));
    about.insert("to".to_owned(), Value::from(to.policy.as_str()));
    for (name, files) in [("changed", only(to, from)), ("gone", only(from, to))] {
        if !files.is_empty() {
            about.insert(name.to_owned(), Value::from(files));
        }
    }
    about
}

impl LogEvent {
    /// The same about a question that was answered.
    pub(crate) fn about(mut self, answered: &ApprovalId) -> Self {
        if let Self::Call { decided, .. } = &mut self {
            decided.approval.get_or_insert_with(|| answered.to_string());
        }
        self
    }
}

impl LoggedDecision {
    /// What a verdict is told as.
    pub fn of(verdict: &Verdict) -> Self {
        let rule = |obstacle: &Obstacle, observed| LoggedRule {
            rule: obstacle.name.clone(),
            place: place(&obstacle.file, obstacle.line),
            wants: obstacle.decision.word().to_owned(),
            observed,
            severity: obstacle.severity.map(|severity| severity.word().to_owned()),
            tags: obstacle.tags.clone(),
        };
        let acting = verdict.obstacles.iter().chain(&verdict.allowed_by).map(|it| rule(it, false));
        let observing = verdict.observed.iter().map(|it| rule(it, true));
        let deed = |deed: &Deed| {
            let doubt = if deed.certain { "" } else { "?" };
            format!("{}{doubt}", deed.name)
        };
        Self {
            verdict: verdict.decision.word().to_owned(),
            reason: masked_text(&verdict.reason),
            deeds: verdict.deeds.iter().map(deed).collect(),
            rules: acting.chain(observing).collect(),
            approval: verdict.approval.as_ref().map(ToString::to_string),
            timeout: verdict.timed_out,
        }
    }
}

/// An input as the audit log may show it, and whether anything in it is not as it was.
fn shown(input: &Map<String, Value>) -> (Map<String, Value>, bool) {
    let mut short = input.clone();
    let is_long = short.values_mut().fold(false, |is_long, value| name_long_texts(value) | is_long);
    let (masked, _) = Detectors::standard().mask_object(&short, Mask::Stars);
    let is_masked = is_long || masked.is_some();
    (masked.unwrap_or(short), is_masked)
}

/// Replaces texts that are too long to keep; whether there were any.
fn name_long_texts(value: &mut Value) -> bool {
    match value {
        Value::String(text) if text.len() > TEXT_BYTES_MAX => {
            *text = format!("({} bytes, sha256 {})", text.len(), hex(&Sha256::digest(&*text)));
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |is_long, item| name_long_texts(item) | is_long),
        Value::Object(fields) => {
            fields.values_mut().fold(false, |is_long, value| name_long_texts(value) | is_long)
        }
        _ => false,
    }
}

fn masked(value: &Value) -> Value {
    Detectors::standard().mask_value(value, Mask::Stars).0.unwrap_or_else(|| value.clone())
}

fn masked_text(text: &str) -> String {
    Detectors::standard().mask_text(text, Mask::Stars).0.into_owned()
}
