//! What a runner is asked, and what it answers: one line of JSON each way, one process for each question.
//!
//! Every system that is measured has a runner: a small program in its own language that reads a [`Job`], does it as a
//! user of that system would, and tells how long that took. All runners keep time alike (see [`crate::pace`]), so what
//! is left is the systems. A runner checks nothing; whoever asks compares the verdict with [`Job::expect`], because a
//! fast answer that is wrong is worth nothing.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One thing to do over and over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// What to do.
    pub task: Task,
    /// The policy, in the language of whoever runs it.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// What the session did before, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Earlier>,
    /// The call that is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Request>,
    /// How many sessions, for [`Task::Sessions`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sessions: usize,
    /// What has to come out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Told>,
    /// How long to measure, after warming up for a quarter of it.
    pub budget_ms: u64,
}

impl Job {
    /// To do something for so long; what else it takes is added.
    pub fn of(task: Task, budget_ms: u64) -> Self {
        Self {
            task,
            files: Vec::new(),
            earlier: Vec::new(),
            call: None,
            sessions: 0,
            expect: None,
            budget_ms,
        }
    }
}

/// What a runner can be asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Decide the call, and remember nothing.
    Judge,
    /// Decide the call and remember it in memory, as the system does for its users; with its result, where the system
    /// wants to know that.
    Commit,
    /// Decide the call and have it on disk before the answer.
    Store,
    /// Read the files until a call could be decided.
    Load,
    /// Read the files, and prove about them what can be proved before an agent starts.
    Prove,
    /// Decide the call after all that happened earlier.
    Recall,
    /// Keep as many sessions as the job names, in each of which everything earlier happened; then decide the call in
    /// each. Ours alone, like the two below.
    Sessions,
    /// Read the files as command lines, one a line.
    See,
    /// Visit every marking of the net in the file.
    Explore,
}

/// A call to decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The name of the tool.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub input: Map<String, Value>,
}

/// Calls that were allowed and succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// What was called.
    pub call: Request,
    /// How many times.
    pub times: usize,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// The tool may run.
    Allow,
    /// It may not.
    Block,
}

/// What a runner answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// How long it took.
    Done(Done),
    /// The system has no way to do this.
    Cannot {
        /// Why, in a few words for the table's footnote.
        cannot: String,
    },
}

/// A job that was done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Done {
    /// The release that did it, with what it runs on: `0.19.0, Python 3.11.7`.
    pub version: String,
    /// What was decided, where something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Told>,
    /// How long it took.
    #[serde(flatten)]
    pub pace: Pace,
    /// The memory it took: of one session, of one state space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// How many things were done at once: lines, markings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

impl Done {
    /// Something that took so long, and tells no more than that.
    pub fn of(pace: Pace) -> Self {
        Self { version: String::new(), verdict: None, pace, bytes: None, count: None }
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Nanoseconds of doing something once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// The best sample: what it costs when nothing disturbs.
    pub min: f64,
    /// The middle one: what users see.
    pub median: f64,
    /// One in a hundred is slower.
    pub p99: f64,
    /// How many samples there were.
    pub samples: usize,
}
