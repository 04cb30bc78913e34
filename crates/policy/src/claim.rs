//! What the author of a policy states about it, for the prover to decide.
//!
//! A [`Claim`] is about all sessions: `claim never deploy before test`. An [`Example`] is one session with the
//! verdict its last call gets: `example: backup ok, delete -> allow`. Names are deeds as the rules of the same
//! file know them. What a claim comes to is decided elsewhere.

use std::fmt;

use serde_json::{Map, Value};

use crate::{
    decision::Decision,
    source::{Source, Span},
};

/// How many claims one file may state: each is searched for in all sessions.
pub const CLAIMS_MAX: usize = 1_000;
/// How many examples one file may give.
pub const EXAMPLES_MAX: usize = 1_000;
/// How many calls one example may have.
pub const STEPS_MAX: usize = 1_000;

/// A property of all sessions.
#[derive(Clone, Debug)]
pub struct Claim {
    /// What is stated.
    pub property: Property,
    /// The fields for whose values it is stated, each value apart; empty where values do not matter.
    pub each: Vec<String>,
    /// The file it stands in.
    pub source: Source,
    /// Where it says so, without the word `claim`; in YAML, the text in its list.
    pub span: Span,
}

/// What a claim states. A call in it is one that is let pass; a success is one whose
/// result says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Property {
    /// `never B before A`: no call of B without an earlier success of A.
    NeverBefore {
        /// The B.
        call: String,
        /// The A.
        needs: String,
    },
    /// `never B without A since C`: between the latest call of C, or the start, and a call of B a success of A.
    NeverWithoutSince {
        /// The B.
        call: String,
        /// The A.
        needs: String,
        /// The C.
        since: String,
    },
    /// `never B after A`: once A was let pass, no call of B.
    NeverAfter {
        /// The B.
        call: String,
        /// The A.
        after: String,
    },
    /// `at most N B`: in one session.
    AtMost {
        /// The N, at most [`LIMIT_MAX`](crate::LIMIT_MAX).
        count: u64,
        /// The B.
        call: String,
    },
    /// `B possible`: some session calls B.
    Possible(String),
    /// `B impossible`: none does.
    Impossible(String),
    /// `B stays possible`: until B is called for the first time, whatever a session does, it can still come to a
    /// call of B.
    StaysPossible(String),
    /// `human before B`: each call of B was put to a human, or a human's standing yes covers it.
    HumanBefore(String),
    /// `never A and B in one session`.
    NeverTogether(String, String),
}

/// A session and what its last call gets.
#[derive(Clone, Debug)]
pub struct Example {
    /// Its calls, in order; at least one.
    pub steps: Vec<ExampleStep>,
    /// What is decided about the last one, before a human answers.
    pub verdict: Decision,
    /// The file it stands in.
    pub source: Source,
    /// Where it says so, without the word `example:`; in YAML, the text in its list.
    pub span: Span,
}

/// One step of an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExampleStep {
    /// A call.
    Call(ExampleCall),
    /// The user says something.
    UserSays(String),
    /// Time passes, in milliseconds.
    Wait(u64),
}

/// One call of an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExampleCall {
    /// What is called.
    pub call: String,
    /// What it is called with, where that is said.
    pub input: Option<Map<String, Value>>,
    /// How it ends: `ok`, `failed`, or not at all.
    pub ok: Option<bool>,
    /// What it returns.
    pub output: Option<Value>,
    /// What a human who is asked says: `granted`, `refused`, or nothing.
    pub granted: Option<bool>,
}

impl ExampleCall {
    /// A call of which nothing else is said.
    pub fn new(call: &str) -> Self {
        Self { call: call.to_owned(), input: None, ok: None, output: None, granted: None }
    }
}

impl ExampleStep {
    /// The call, if it is one.
    pub fn call(&self) -> Option<&ExampleCall> {
        match self {
            Self::Call(call) => Some(call),
            Self::UserSays(_) | Self::Wait(_) => None,
        }
    }
}

impl Property {
    /// The names in it.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::NeverBefore { call, needs } => vec![call, needs],
            Self::NeverWithoutSince { call, needs, since } => vec![call, needs, since],
            Self::NeverAfter { call, after } => vec![call, after],
            Self::NeverTogether(one, other) => vec![one, other],
            Self::AtMost { call, .. }
            | Self::Possible(call)
            | Self::Impossible(call)
            | Self::StaysPossible(call)
            | Self::HumanBefore(call) => vec![call],
        }
    }
}

/// As it is written behind `claim`; what is read from it is the same claim.
impl fmt::Display for Property {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverBefore { call, needs } => write!(out, "never {call} before {needs}"),
            Self::NeverWithoutSince { call, needs, since } => {
                write!(out, "never {call} without {needs} since {since}")
            }
            Self::NeverAfter { call, after } => write!(out, "never {call} after {after}"),
            Self::AtMost { count, call } => write!(out, "at most {count} {call}"),
            Self::Possible(call) => write!(out, "{call} possible"),
            Self::Impossible(call) => write!(out, "{call} impossible"),
            Self::StaysPossible(call) => write!(out, "{call} stays possible"),
            Self::HumanBefore(call) => write!(out, "human before {call}"),
            Self::NeverTogether(one, other) => write!(out, "never {one} and {other} in one session"),
        }
    }
}

/// As it is written behind `example:`.
impl fmt::Display for Example {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.steps.iter().enumerate() {
            write!(out, "{}{step}", if at > 0 { ", " } else { "" })?;
        }
        write!(out, " -> {}", self.verdict.word())
    }
}

impl fmt::Display for ExampleStep {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(call) => write!(out, "{call}"),
            Self::UserSays(text) => write!(out, "user says {}", Value::from(text.as_str())),
            Self::Wait(ms) => write!(out, "wait {} seconds", ms / 1000),
        }
    }
}

impl fmt::Display for ExampleCall {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = self.ok.map_or("", |ok| if ok { " ok" } else { " failed" });
        let answer = self.granted.map_or("", |granted| if granted { " granted" } else { " refused" });
        write!(out, "{}", self.call)?;
        if let Some(input) = &self.input {
            write!(out, " {}", Value::Object(input.clone()))?;
        }
        write!(out, "{ends}{answer}")?;
        self.output.iter().try_for_each(|output| write!(out, " returns {output}"))
    }
}
