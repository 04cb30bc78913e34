//! What the MCP proxy and the guardian say to each other, in lines beside those of the line protocol.
//!
//! A proxy says more of a call than the line protocol has words for: by which door it comes, and which question a hook has put to
//! its host. Both ends are of one version, so these lines are not for others.

use std::sync::Arc;

use lockgate::engine::{
    About, Call, Decision, Time,
    call::DuplicateKey,
    gate::{ApprovalId, Outcome},
};
use lockgate_mcp::{ReviewedResult, Ruling};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A line of a proxy.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProxyLine {
    /// What it wants.
    pub(crate) proxy: ProxyWish,
}

/// What a proxy wants.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum ProxyWish {
    /// A verdict.
    Judge { call: ProxyCall, is_attended: bool },
    /// The question that a hook has put to its host about this call.
    AskedAtHost { call: ProxyCall },
    /// A human at the client has answered.
    Answer { approval: String, granted: bool, by: String, call: ProxyCall },
    /// What a question has come to.
    ByNow { approval: String, is_over: bool, call: ProxyCall },
    /// No answer is wanted any more.
    GiveUp { approval: String, why: String },
    /// A tool has finished.
    Settle { call: ProxyCall, ok: bool, output: Option<Value> },
}

/// A call, as far as a proxy knows it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProxyCall {
    pub(crate) session: String,
    id: String,
    tool: String,
    input: Map<String, Value>,
    cwd: Option<String>,
    metadata: Option<Value>,
    objection: Option<String>,
    door: Option<String>,
    identifying_fields: Vec<String>,
}

/// A [`Ruling`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RulingLine {
    decision: String,
    sentence: String,
    input: Option<Map<String, Value>>,
    approval: Option<String>,
    question: String,
}

/// A [`ReviewedResult`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReviewLine {
    is_whole: bool,
    output: Option<Value>,
    reason: Option<String>,
}

impl ProxyWish {
    /// The session that it is about.
    pub(crate) fn session(&self) -> Option<String> {
        match self {
            Self::Judge { call, .. } | Self::AskedAtHost { call } | Self::Settle { call, .. } => {
                Some(call.session.clone())
            }
            // A call of another session does not make a question one of its own.
            Self::Answer { approval, call, .. } | Self::ByNow { approval, call, .. } => {
                let approval = ApprovalId::parse(approval)?;
                (approval.session == call.session).then_some(approval.session)
            }
            Self::GiveUp { approval, .. } => Some(ApprovalId::parse(approval)?.session),
        }
    }
}

impl ProxyCall {
    /// A call of the proxy.
    pub(crate) fn of(call: &Call) -> Self {
        let key = call.about.duplicate_key.as_ref();
        Self {
            session: call.session.clone(),
            id: call.id.clone(),
            tool: call.tool.clone(),
            input: call.input.clone(),
            cwd: call.about.cwd.clone(),
            metadata: call.about.metadata.clone(),
            objection: call.about.objection.clone(),
            door: key.map(|key| key.door.to_string()),
            identifying_fields: key.map(|key| key.identifying_fields.clone()).unwrap_or_default(),
        }
    }

    /// The same for the gate.
    pub(crate) fn into_call(self, at: Time) -> Call {
        let identifying_fields = self.identifying_fields;
        let key = self.door.map(|door| DuplicateKey { door: Arc::from(door), identifying_fields });
        let about = About {
            cwd: self.cwd,
            metadata: self.metadata,
            objection: self.objection,
            duplicate_key: key,
            ..About::default()
        };
        Call { session: self.session, id: self.id, tool: self.tool, input: self.input, at, about }
    }
}

/// The outcome of a call. One that has no id is known by what it is.
pub(crate) fn outcome_of(call: &Call, ok: bool, output: Option<Value>) -> Outcome {
    let like = call.id.is_empty().then(|| Box::new(call.clone()));
    Outcome { ok, output, like, at: call.at, ..Outcome::success(call) }
}

const WORDS: [(Decision, &str); 4] = [
    (Decision::Allow, "allow"),
    (Decision::Redact, "redact"),
    (Decision::Ask, "ask"),
    (Decision::Block, "block"),
];

impl From<Ruling> for RulingLine {
    fn from(ruling: Ruling) -> Self {
        let word = WORDS.iter().find(|(decision, _)| *decision == ruling.decision).map(|(_, word)| *word);
        Self {
            decision: word.unwrap_or("block").to_owned(),
            sentence: ruling.sentence,
            input: ruling.input,
            approval: ruling.approval.map(|approval| approval.to_string()),
            question: ruling.question,
        }
    }
}

impl RulingLine {
    /// The ruling; none where it is not one.
    pub(crate) fn read(self) -> Option<Ruling> {
        let decision =
            WORDS.iter().find(|(_, word)| *word == self.decision).map(|(decision, _)| *decision)?;
        let approval = match self.approval {
            Some(name) => Some(ApprovalId::parse(&name)?),
            None => None,
        };
        Some(Ruling {
            decision,
            sentence: self.sentence,
            input: self.input,
            approval,
            question: self.question,
        })
    }
}

impl From<ReviewedResult> for ReviewLine {
    fn from(result: ReviewedResult) -> Self {
        Self { is_whole: result.is_whole, output: result.output, reason: result.reason }
    }
}

impl From<ReviewLine> for ReviewedResult {
    fn from(line: ReviewLine) -> Self {
        Self { is_whole: line.is_whole, output: line.output, reason: line.reason }
    }
}
