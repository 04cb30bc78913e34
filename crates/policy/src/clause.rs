//! A rule that looks instead of remembering by itself: when its facts hold, it wants something.
//!
//! A [`Clause`] reads the call, the moment, and through [`Memory`] what the session knows; it changes nothing.
//! Every fact answers yes, no or doubt. What a doubt means depends on what the clause would do: it never opens
//! a gate. Which clauses a call concerns is found by an index, not here.

use std::{ops::Deref, sync::Arc};

use jiff::tz::TimeZone;
use lockgate_call::{Call, Time, is_script_field};
use serde_json::{Map, Value};

use crate::{
    decision::{Decision, Truth},
    deed::unreadable_in,
    policy::Rule,
    ruleset::draft::{Expr, Template},
    sandbox::{Reached, Sandbox},
    surroundings::Surroundings,
    when_then::draft::{ContextTest, DayOfWeek, Sanitizer, SenderField, Test, TimeOfDay},
    window::{Window, WindowId},
};

/// A rule that wants something when its facts hold.
#[derive(Debug)]
pub struct Clause {
    pub(crate) rule: Rule,
    /// What it wants.
    pub wants: Decision,
    /// How long a human's answer stands, where it wants one.
    pub standing: Standing,
    /// Where it stands among rules that want the same.
    pub rank: Rank,
    /// What it says to the agent.
    pub sentence: String,
    /// What must hold, all of it.
    pub facts: Vec<Fact>,
    /// Whether it opens what would be closed without it. Then nothing doubtful counts.
    pub is_credit: bool,
    /// Whether it acts even where everything else only observes.
    pub acts_always: bool,
    /// Whether it decides in the place of the default verdict: only a when/then rule does.
    pub speaks_for_default: bool,
    /// What it says where that depends on the call.
    pub template: Option<Template>,
    /// How long a human has to answer, and whether nobody's answer is a yes; the gate's own terms otherwise.
    pub timeout: Option<Timeout>,
    /// Words that travel with the verdict.
    pub tags: Vec<String>,
    /// How grave its author says it is, where that is said.
    pub severity: Option<Gravity>,
    /// Whatever else travels with the verdict.
    pub metadata: Map<String, Value>,
    /// The names its windows are kept under, by step.
    pub windows: Vec<String>,
    /// The tools it is about, as written; none where it is about every tool, or where that is nobody's business.
    pub tools: Vec<String>,
}

impl Deref for Clause {
    type Target = Rule;

    fn deref(&self) -> &Rule {
        &self.rule
    }
}

/// How long a human has to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// How long.
    pub ms: u64,
    /// Whether the call may run when nobody has answered by then.
    pub allows: bool,
}

/// How long a human's answer stands, and for what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// For the call that was asked about.
    #[default]
    Once,
    /// For this rule in this session.
    PerSession,
    /// For this rule in every session.
    PerRule,
    /// For this tool in this session.
    PerTool,
}

/// Which of several rules that want the same leads: the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// The author's number; what has none comes after all that have one.
    pub priority: i64,
    /// How grave it is.
    pub gravity: Gravity,
    /// Whether it names its tools by a pattern.
    pub is_pattern: bool,
    /// Which kind of rule it is: what a call holds is told before where it reaches, and that before how often it comes.
    pub kind: RankKind,
}

/// The kinds of rules, in the order in which they are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RankKind {
    /// Checks, and every rule that is neither of the others.
    #[default]
    Check,
    /// A sandbox.
    Sandbox,
    /// A limit on a session.
    Session,
}

impl Default for Rank {
    fn default() -> Self {
        Self { priority: i64::MAX, gravity: Gravity::Low, is_pattern: false, kind: RankKind::Check }
    }
}

impl Gravity {
    /// The word for it in policy files and answers.
    pub fn word(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// How grave a rule's author takes it, the gravest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gravity {
    /// `critical`
    Critical,
    /// `high`
    High,
    /// `medium`
    Medium,
    /// `low`
    #[default]
    Low,
}

/// One thing that must hold.
#[derive(Clone, Debug)]
pub enum Fact {
    /// A field of the input.
    Input {
        /// The field as written; nested fields have dots.
        field: Field,
        /// What it must be like.
        test: Test,
    },
    /// What the trusted caller said about the session, or what was counted.
    Session {
        /// Which.
        of: Attribute,
        /// What it must be like.
        test: Test,
    },
    /// Who stands behind the call.
    Sender {
        /// What is looked at.
        field: SenderField,
        /// Any of these must match all of it.
        patterns: Vec<lockgate_pattern::Pattern>,
    },
    /// What the host said about the call.
    Context {
        /// Under which key.
        key: String,
        /// What it must be like.
        test: ContextTest,
    },
    /// The moment of the call.
    Schedule(Schedule),
    /// So many calls that count for a window, not longer ago than this.
    Called {
        /// The window.
        window: WindowId,
        /// How often at least.
        count: u32,
        /// How long ago at most.
        within_ms: u64,
        /// Whether the far end of the window still counts.
        is_end_included: bool,
        /// Whether all sessions share the window.
        is_shared: bool,
    },
    /// Calls in this order, each not longer ago than its own time.
    CalledInOrder {
        /// The window of the last of them.
        window: WindowId,
        /// How long ago at most, in order.
        within_ms: Vec<u64>,
    },
    /// A chain of a clause that opens what would be closed, and closes what another clause opens.
    Earned {
        /// The chain of calls that succeeded: certain.
        earned: Vec<Fact>,
        /// The chain of calls that were decided, whatever became of them: a doubt.
        decided: Vec<Fact>,
    },
    /// What a ruleset's check rule looks for.
    Expression(Box<Expr>),
    /// The call reaches out of a sandbox.
    Outside(Box<Sandbox>),
    /// A result of this session held sensitive data.
    Tainted,
    /// The input looks like an attack.
    Suspicious(Box<Sanitizer>),
    /// The call holds a script that cannot be read.
    Unreadable {
        /// Fields that hold scripts although their names do not say so, with the tool.
        declared: Vec<(String, String)>,
    },
}

/// A field of an input: the key as written, and if it has dots, the way it may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// As written.
    pub text: String,
    /// The nested field it may mean.
    pub nested: Option<lockgate_call::Selector>,
}

/// What a session knows about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// What the trusted caller said.
    Named(String),
    /// How many calls were asked for, whatever became of them.
    Attempts,
    /// How many calls were let pass.
    Calls,
    /// How many calls of this tool, or of the tools of this pattern together, were let pass.
    CallsOf(Arc<str>),
    /// The kinds of sensitive data seen.
    Taints,
}

/// A time of day and days of the week: one schedule.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The time of day.
    pub time: Option<TimeOfDay>,
    /// The days.
    pub days: Option<DayOfWeek>,
    /// The zone, where the file names one.
    pub zone: Option<TimeZone>,
}

/// What a session remembers, as far as clauses look at it.
pub trait Memory {
    /// What the trusted caller said about the session.
    fn attribute(&self, name: &str) -> Option<&Value>;
    /// How many calls were asked for, whatever became of them.
    fn attempts(&self) -> u64;
    /// How many calls were let pass.
    fn calls(&self) -> u64;
    /// How many calls of a tool were let pass; none if there was none yet.
    fn calls_of(&self, tool: &str) -> Option<u64>;
    /// The kinds of sensitive data seen, in the order in which they were.
    fn taints(&self) -> &[Arc<str>];
    /// Whether a result held sensitive data, and nobody has cleared that since.
    fn is_tainted(&self) -> bool;
    /// What a window of this session holds.
    fn window(&self, id: WindowId) -> Option<&Window>;
    /// What a window that all sessions share holds.
    fn shared_window(&self, id: WindowId) -> Option<&Window>;
}

/// A session that has just begun.
#[cfg(test)]
pub(crate) struct Nothing;

#[cfg(test)]
impl Memory for Nothing {
    fn attribute(&self, _: &str) -> Option<&Value> {
        None
    }
    fn attempts(&self) -> u64 {
        0
    }
    fn calls(&self) -> u64 {
        0
    }
    fn calls_of(&self, _: &str) -> Option<u64> {
        None
    }
    fn taints(&self) -> &[Arc<str>] {
        &[]
    }
    fn is_tainted(&self) -> bool {
        false
    }
    fn window(&self, _: WindowId) -> Option<&Window> {
        None
    }
    fn shared_window(&self, _: WindowId) -> Option<&Window> {
        None
    }
}

/// A call as clauses look at it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The call.
    pub call: &'a Call,
    /// Now: not before anything the session has seen.
    pub now: Time,
    /// Where the gate stands.
    pub around: &'a Surroundings,
    /// What the session remembers.
    pub memory: &'a dyn Memory,
}

impl Clause {
    /// A clause that wants something always, whatever the call; the rest is for the front end to say.
    pub(crate) fn new(rule: Rule, wants: Decision, sentence: String) -> Self {
        Self {
            rule,
            wants,
            standing: Standing::Once,
            rank: Rank::default(),
            sentence,
            facts: Vec::new(),
            is_credit: false,
            acts_always: false,
            speaks_for_default: false,
            template: None,
            timeout: None,
            tags: Vec::new(),
            severity: None,
            metadata: Map::new(),
            windows: Vec::new(),
            tools: Vec::new(),
        }
    }

    /// What it says to the agent about this call.
    pub fn says(&self, view: &View<'_>) -> String {
        let found = self.facts.iter().find_map(|fact| match fact {
            Fact::Suspicious(sanitizer) => {
                sanitizer.refuses(&view.call.input).map(|found| format!("{found}."))
            }
            Fact::Outside(sandbox) => match sandbox.judge(view.call) {
                Reached::Outside(what) | Reached::Doubt(what) => Some(format!("({what})")),
                Reached::Inside => None,
            },
            Fact::Unreadable { declared } => {
                Some(unreadable_sentence(&unreadable_scripts(view.call, declared)))
            }
            _ => None,
        });
        let expand =
            |template: &Template| view.around.with_facts(view.call, None, |facts| template.expand(facts));
        let sentence = self.template.as_ref().map_or_else(|| self.sentence.clone(), expand);
        match found {
            None => sentence,
            Some(found) if sentence.is_empty() => found,
            Some(found) => format!("{sentence} {found}"),
        }
    }

    /// Whether it is about scripts that cannot be read.
    pub fn is_about_unreadable(&self) -> bool {
        self.facts.iter().any(|fact| matches!(fact, Fact::Unreadable { .. }))
    }

    /// The first of its facts that keeps it from applying: one that does not hold, or one that cannot be told.
    pub fn unmet(&self, view: &View<'_>) -> Option<(&Fact, Truth)> {
        let truths = || self.facts.iter().map(|fact| (fact, fact.truth(view)));
        let is = |wanted: Truth| move |(_, truth): &(&Fact, Truth)| *truth == wanted;
        truths().find(is(Truth::No)).or_else(|| truths().find(is(Truth::Doubt)))
    }

    /// One of its facts in words, for whoever asks why it did not apply.
    pub fn words(&self, fact: &Fact) -> String {
        let window = |id: &WindowId| self.windows.get(usize::from(id.step)).map_or("", String::as_str);
        match fact {
            Fact::Called { window: id, count, within_ms, .. } => {
                // Two steps of one tool are kept under two names.
                let name = window(id).split(" #").next().unwrap_or_default();
                let calls = if *count == 1 { "was a call".to_owned() } else { format!("were {count} calls") };
                format!("there {calls} of `{name}` in the last {} s", Seconds(*within_ms))
            }
            Fact::CalledInOrder { window: id, .. } => {
                let way = window(id).split_once(" on ").map_or("", |(_, way)| way);
                format!("the calls of `{}` came in this order, each in time", way.replace(" > ", "`, `"))
            }
            fact => fact.to_string(),
        }
    }

    /// Whether its facts hold of this call, all of them, once its tools are known to fit.
    pub fn truth(&self, view: &View<'_>) -> Truth {
        let all = self.facts.iter().try_fold(Truth::Yes, |so_far, fact| match so_far.and(fact.truth(view)) {
            Truth::No => None,
            truth => Some(truth),
        });
        all.unwrap_or(Truth::No)
    }

    /// Whether the clause wants what it wants where its facts hold so far: what cannot be told restricts, and
    /// allows nothing.
    pub fn applies(&self, truth: Truth) -> bool {
        match truth {
            Truth::Yes => true,
            Truth::Doubt => self.wants > Decision::Allow,
            Truth::No => false,
        }
    }

    /// Whether the clause, where it applies, stands in the place of what is decided without any. A doubt opens
    /// nothing, so it does not where that would be stricter.
    pub fn speaks(&self, truth: Truth) -> bool {
        self.speaks_for_default && (truth == Truth::Yes || !self.is_credit)
    }
}

/// Why the scripts of a call cannot be read, in words; empty where they can.
pub(crate) fn unreadable_scripts(call: &Call, declared: &[(String, String)]) -> Vec<String> {
    let is_declared =
        |field: &str| declared.iter().any(|(tool, declared)| *tool == call.tool && declared == field);
    unreadable_in(call, |field| is_script_field(field) || is_declared(field))
}

/// The most reasons that a sentence gives.
const REASONS_MAX: usize = 3;

/// What an agent hears about a script that cannot be read, for these reasons.
pub fn unreadable_sentence(doubts: &[String]) -> String {
    let reasons = match doubts {
        [] => "the script cannot be read".to_owned(),
        doubts if doubts.len() <= REASONS_MAX => doubts.join("; "),
        doubts => {
            let more = doubts.len() - REASONS_MAX;
            let first: Vec<&str> = doubts.iter().take(REASONS_MAX).map(String::as_str).collect();
            format!("{}; and {more} more", first.join("; "))
        }
    };
    format!("{reasons}. So it is not known what this script does: write programs and arguments out plainly.")
}

/// A clause that wants something of a call.
#[derive(Clone, Copy, Debug)]
pub struct Applying<'a> {
    /// The clause.
    pub clause: &'a Clause,
    /// Whether it certainly is about this call.
    pub truth: Truth,
}

/// Milliseconds, told in seconds.
struct Seconds(u64);

impl std::fmt::Display for Seconds {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.0 / 1000, self.0 % 1000) {
            (seconds, 0) => write!(out, "{seconds}"),
            (seconds, rest) => write!(out, "{}", format!("{seconds}.{rest:03}").trim_end_matches('0')),
        }
    }
}
