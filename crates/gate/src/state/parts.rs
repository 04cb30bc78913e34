//! What a session and its events are made of.

use std::{collections::BTreeMap, fmt, sync::Arc};

use lockgate_call::{SeenCall, Time, canonical_json};
use lockgate_petri::TransitionId;
use lockgate_policy::past::Log;
use lockgate_policy::{
    Decision, RuleId,
    workflow::{Progress, progress::Shown},
};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use smallvec::SmallVec;

use crate::{
    hex::hex,
    signed_answer::{AnswerClaim, RuleMark, SignedAnswer},
};

pub(crate) type Table<K, V> = hashbrown::HashMap<K, V, foldhash::fast::RandomState>;

/// What validators and result hooks of one net remember: a JSON object of theirs.
pub type Notes = Map<String, Value>;

/// How often this session called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Calls let pass.
    pub tool_calls: u64,
    /// Calls judged.
    pub attempts: u64,
}

/// A call that was let pass and whose result has not come.
#[derive(Clone, Debug, PartialEq)]
pub struct Flight {
    /// The tool that runs.
    pub tool: Arc<str>,
    /// What was decided about it.
    pub decision: Decision,
    /// What fires when the result says success.
    pub waiting: SmallVec<[Waiting; 1]>,
    /// What it shows in workflows when the result says success.
    pub shows: Vec<Shows>,
    /// The call, kept only for result hooks and rules on results that look at it.
    pub call: Option<Arc<SeenCall>>,
    /// The call of the agent that started this one's agent.
    pub parent: Option<Arc<str>>,
    /// Which doors have seen it, where more than one may.
    pub passage: Option<Box<Passage>>,
    /// When the result is given up.
    pub deadline: Time,
}

/// A transition that fires when a call turns out well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The rule.
    pub rule: RuleId,
    /// Its transition.
    pub transition: TransitionId,
    /// The deed that chose it.
    pub deed: Arc<str>,
}

/// What a call shows in a workflow when it turns out well.
#[derive(Clone, Debug, PartialEq)]
pub struct Shows {
    /// The workflow.
    pub rule: RuleId,
    /// How often an operator had moved the session by then: what was shown before a move does not count after it.
    pub round: u64,
    /// What it shows.
    pub shown: Shown,
}

/// The end of a stage that a human is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// The workflow.
    pub rule: RuleId,
    /// The stage.
    pub stage: Arc<str>,
    /// How often an operator had moved the session by then: the answer is not about what came after.
    pub round: u64,
}

/// A call that waits for a human.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The call as it was asked about; a grant is for exactly this.
    pub call: SeenCall,
    /// The input as a human may see it, where rules want something masked.
    pub shown: Option<Box<Map<String, Value>>>,
    /// The rules that want the human.
    pub rules: Vec<RuleId>,
    /// The ends of stages among what is asked.
    pub boundaries: Vec<Boundary>,
    /// The transitions whose tokens are taken while the human decides.
    pub taken: SmallVec<[(RuleId, TransitionId); 2]>,
    /// When the question lapses.
    pub deadline: Time,
    /// Whether every asking rule treats a timeout as approval.
    pub allows_late: bool,
    /// The hash of the policy under which it is asked.
    pub policy: Arc<str>,
    /// What the rules that want the human say.
    pub marks: Vec<RuleMark>,
}

impl Asked {
    /// What a human signs to answer it; the answer expires when the question lapses.
    pub fn claim(
        &self,
        database: &[u8; 16],
        approval: &ApprovalId,
        granted: bool,
        by: &str,
        at: Time,
    ) -> AnswerClaim {
        AnswerClaim {
            database: hex(database),
            session: approval.session.clone(),
            number: approval.number,
            call: self.call.id.clone(),
            tool: self.call.tool.clone(),
            input: hex(&Sha256::digest(canonical_json(&self.call.input))),
            policy: self.policy.to_string(),
            rules: self.marks.clone(),
            granted,
            by: by.to_owned(),
            at: at.0,
            expires: self.deadline.0,
        }
    }
}

/// The name of a question put to a human, unique over all sessions: `a3@session`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApprovalId {
    /// The session that asks.
    pub session: String,
    /// The question's sequence number within the session.
    pub number: u64,
}

/// As it is written in messages and answers.
impl Serialize for ApprovalId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Which doors have seen a call, and what they saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The doors.
    pub doors: Vec<Arc<str>>,
    /// What tells the call apart from others.
    pub content: Arc<str>,
}

/// A human's answer that stands for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// What it is about.
    pub about: Subject,
    /// Yes or no.
    pub granted: bool,
    /// Until when.
    pub until: Time,
    /// The rule whose question was answered. When it says something else, the answer is gone.
    pub given_for: RuleId,
    /// Whether it stands in every session.
    pub is_shared: bool,
    /// The signed answer it comes from; none if the answer was given in the process that asked.
    pub proof: Option<Arc<SignedAnswer>>,
}

/// What a standing answer is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A rule.
    Rule(RuleId),
    /// A tool.
    Tool(Arc<str>),
}

/// The latest answer stands; what has run out is forgotten.
pub(crate) fn keep_answer(answers: &mut Vec<Answered>, at: Time, answer: &Answered) {
    answers.retain(|known| known.about != answer.about && known.until > at);
    answers.push(answer.clone());
}

/// The moments of calls that limits over all sessions count, by the rule's key and the step's name.
pub(crate) type SavedWindows = BTreeMap<String, BTreeMap<String, Vec<u64>>>;

/// One rule's state: tokens by place, and for a limit how many it started with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SavedNet {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) marking: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) limit: Option<u64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) overspent: u64,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) notes: Notes,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) inactive: bool,
    /// When calls were made that a step of a chain counts, by the step's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) windows: BTreeMap<String, Vec<u64>>,
    /// Earlier calls with their values, by the step's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) logs: BTreeMap<String, Log>,
    /// Where the session stands, if the rule is a workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) progress: Option<Arc<Progress>>,
}

impl ApprovalId {
    /// Reads the name of a question.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, session) = text.strip_prefix('a')?.split_once('@')?;
        Some(Self { session: session.to_owned(), number: number.parse().ok()? })
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a{}@{}", self.number, self.session)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands the field by reference")]
pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands the field by reference")]
pub(super) fn is_false(flag: &bool) -> bool {
    !flag
}
