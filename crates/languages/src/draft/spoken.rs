//! What sentences with a tail say, before files are joined: which calls, when, and what then.
//!
//! A [`Spoken`] becomes one clause; [`SpokenPast`] what it asks about earlier calls. Names are as written, groups are
//! already taken apart.

use jiff::tz::TimeZone;
use lockgate_policy::{
    Boundaries, Decision, Mode, Span, Template,
    clause::{PerValue, RankKind},
    condition::{Condition, Subject, Test},
    past::{Measure, Outcome},
    provenance::ResultSource,
};

/// What the sentences of one file say.
#[derive(Clone, Debug, Default)]
pub struct Sentences {
    /// Rules, in file order.
    pub rules: Vec<Spoken>,
    /// The zone of its hours; the machine's own where it names none.
    pub zone: Option<TimeZone>,
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Spoken {
    /// Where it is written.
    pub span: Span,
    /// Whether it acts.
    pub mode: Mode,
    /// What it wants.
    pub wants: Decision,
    /// The calls it is about.
    pub calls: Names,
    /// What must hold, all of it.
    pub parts: Vec<SpokenPart>,
    /// What it says to the agent.
    pub because: Option<Template>,
    /// Which kind of rule it is.
    pub kind: RankKind,
    /// What its state is kept under: its words without what may be edited.
    pub key: String,
    /// What it says for each value apart, where that is all it says.
    pub per_value: Option<PerValue>,
}

/// The calls a sentence is about.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The names.
    pub names: Vec<String>,
    /// Whether every call is meant.
    pub is_every: bool,
}

/// Something that must hold.
#[derive(Clone, Debug)]
pub enum SpokenPart {
    /// Of the call.
    Holds(Condition),
    /// The call reaches out of these boundaries.
    Reaches(Boundaries),
    /// One of these.
    Either(Vec<SpokenPart>),
    /// Of earlier calls.
    Past(Box<SpokenPast>),
    /// Not so of earlier calls.
    NotPast(Box<SpokenPast>),
    /// So many calls in a time: those that this rule did not refuse count.
    Rate {
        /// How many.
        count: u32,
        /// In how long.
        within_ms: u64,
        /// Whether all sessions are counted together.
        is_shared: bool,
    },
}

/// What is asked about earlier calls.
#[derive(Clone, Debug)]
pub struct SpokenPast {
    /// The calls.
    pub calls: Names,
    /// What became of them.
    pub outcome: Outcome,
    /// What else must have held of them.
    pub tests: Vec<Condition>,
    /// How long ago at most.
    pub within_ms: Option<u64>,
    /// The values that must be the same: of the earlier call, and of this one.
    pub keys: Vec<(Subject, Subject)>,
    /// What is measured.
    pub measure: Measure,
    /// The value that is measured.
    pub value: Option<Subject>,
    /// What the measured number must be like.
    pub amount: Test,
    /// How many entries are asked for.
    pub keep: usize,
    /// What makes it as if they had never been.
    pub cleared_by: Vec<Clearing>,
    /// Whether only the call just before counts.
    pub is_right: bool,
    /// Whether a yes opens something.
    pub is_credit: bool,
    /// Whether this very call counts.
    pub counts_itself: bool,
}

/// What clears a log.
#[derive(Clone, Debug)]
pub struct Clearing {
    /// The calls.
    pub calls: Names,
    /// Whether all other calls clear instead.
    pub is_others: bool,
    /// What must have become of them.
    pub outcome: Outcome,
    /// What must hold of them.
    pub tests: Vec<Condition>,
    /// The values that must be the same.
    pub keys: Vec<Subject>,
    /// Whether what is cleared must also have begun afterwards.
    pub is_since: bool,
    /// Whether such a call clears for as long as it runs, and not only when it is asked for.
    pub lasts: bool,
}

impl Spoken {
    /// The tools whose results it trusts.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &ResultSource> {
        let tests = self.parts.iter().filter_map(|part| match part {
            SpokenPart::Holds(Condition::Untraced(test)) => Some(test),
            _ => None,
        });
        tests.flat_map(|test| &test.sources)
    }

    /// The names of all calls it speaks of.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.calls.names.iter().map(String::as_str).collect();
        names.extend(self.sources().map(|source| source.tool.as_str()));
        for part in &self.parts {
            if let SpokenPart::Past(past) | SpokenPart::NotPast(past) = part {
                names.extend(past.calls.names.iter().map(String::as_str));
                let cleared = past.cleared_by.iter().flat_map(|it| &it.calls.names);
                names.extend(cleared.map(String::as_str));
            }
        }
        names
    }
}
