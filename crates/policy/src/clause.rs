//! A rule that looks instead of remembering by itself: when its conditions hold, it wants something.
//!
//! A [`Clause`] reads the call, the moment, and through [`Memory`](crate::Memory) what the session knows; it changes nothing.
//! Every condition answers yes, no or doubt. What a doubt means depends on what the clause would do: it never opens
//! a gate. Which clauses a call concerns is found by an index, not here.

use std::ops::Deref;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    condition::Condition,
    decision::{Decision, Truth},
    rule::{Mode, Rule},
    sandbox::Reached,
    template::Template,
    view::View,
    window::WindowId,
};

/// A rule that wants something when its conditions hold.
#[derive(Debug)]
pub struct Clause {
    /// What every rule has.
    pub rule: Rule,
    /// What it wants.
    pub wants: Decision,
    /// How long a human's answer stands, where it wants one.
    pub standing: Standing,
    /// Where it stands among rules that want the same.
    pub rank: Rank,
    /// What it says to the agent.
    pub sentence: String,
    /// What must hold, all of it.
    pub conditions: Vec<Condition>,
    /// Whether it opens what would be closed without it. Then nothing doubtful counts.
    pub is_credit: bool,
    /// Whether it acts even where everything else only observes.
    pub acts_always: bool,
    /// Whether it decides in the place of the default verdict: only a when/then rule does.
    pub speaks_for_default: bool,
    /// What it says where that depends on the call.
    pub template: Option<Template>,
    /// How long a human has to answer, and whether a timeout counts as approval; the gate's own terms otherwise.
    pub timeout: Option<Timeout>,
    /// Words that travel with the verdict.
    pub tags: Vec<String>,
    /// How grave its author says it is, where that is said.
    pub severity: Option<Gravity>,
    /// Whatever else travels with the verdict.
    pub metadata: Map<String, Value>,
    /// The names its windows are kept under, by step.
    pub windows: Vec<String>,
    /// The tools it is about, as written; none where it is about every tool, or where that does not matter.
    pub tools: Vec<String>,
    /// What it says for each value apart, where that is all it says.
    pub per_value: Option<PerValue>,
}

/// A rule that is a small net for each value: `require backup before delete for each path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerValue {
    /// What it says of one value.
    pub form: PerValueForm,
    /// The fields whose values are told apart, the same in all its calls.
    pub keys: Vec<String>,
}

/// What a rule says of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PerValueForm {
    /// Each of `then` spends one success of `first`.
    Require {
        /// What must have succeeded.
        first: Vec<String>,
        /// What waits for it.
        then: Vec<String>,
    },
    /// So many calls in a session.
    Limit {
        /// The calls.
        calls: Vec<String>,
        /// How many.
        count: u64,
    },
    /// Once one of `after` was asked for, none of `then`.
    Close {
        /// What closes.
        after: Vec<String>,
        /// What is closed.
        then: Vec<String>,
    },
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
    /// Whether the call may run when no human has answered by then.
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
    /// Which kind of rule it is: what a call holds is reported before where it reaches, and that before how often it comes.
    pub kind: RankKind,
}

/// The kinds of rules, in the order in which they are reported.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
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

impl Clause {
    /// A clause that wants something always, whatever the call; the rest is for the front end to say.
    pub fn new(rule: Rule, wants: Decision, sentence: String) -> Self {
        Self {
            rule,
            wants,
            standing: Standing::Once,
            rank: Rank::default(),
            sentence,
            conditions: Vec::new(),
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
            per_value: None,
        }
    }

    /// What it says to the agent about this call.
    pub fn says(&self, view: &View<'_>) -> String {
        let found = self.conditions.iter().flat_map(Condition::parts).find_map(|condition| match condition {
            Condition::Attack(attack) => attack.refuses(&view.call.input).map(|found| format!("{found}.")),
            Condition::Outside(sandbox) => match sandbox.judge(view.call) {
                Reached::Outside(what) | Reached::Doubt(what) => Some(format!("({what})")),
                Reached::Inside => None,
            },
            Condition::Unreadable(test) => Some(unreadable_sentence(&test.doubts(view.call))),
            Condition::Untraced(test) => Some(test.says(view)),
            Condition::Unsaid(_) => Some("The user has not spoken of this. Ask the user first.".to_owned()),
            _ => None,
        });
        let expand = |template: &Template| template.expand(view);
        let sentence = self.template.as_ref().map_or_else(|| self.sentence.clone(), expand);
        match found {
            None => sentence,
            Some(found) if sentence.is_empty() => found,
            Some(found) => format!("{sentence} {found}"),
        }
    }

    /// Whether it acts; otherwise it only observes.
    pub fn acts(&self) -> bool {
        self.mode == Mode::Enforce || self.acts_always
    }

    /// Whether it is about scripts that cannot be read.
    pub fn is_about_unreadable(&self) -> bool {
        self.conditions.iter().any(|condition| matches!(condition, Condition::Unreadable(_)))
    }

    /// The first of its conditions that keeps it from applying: one that does not hold, or one that is unknown.
    pub fn unmet(&self, view: &View<'_>) -> Option<(&Condition, Truth)> {
        let truths = || self.conditions.iter().map(|condition| (condition, condition.truth(view)));
        let is = |wanted: Truth| move |(_, truth): &(&Condition, Truth)| *truth == wanted;
        truths().find(is(Truth::No)).or_else(|| truths().find(is(Truth::Doubt)))
    }

    /// One of its conditions in words, for people who ask why it did not apply.
    pub fn words(&self, condition: &Condition) -> String {
        let window = |id: &WindowId| self.windows.get(usize::from(id.step)).map_or("", String::as_str);
        match condition {
            Condition::Called { window: id, count, within_ms, .. } => {
                // Two steps of one tool are kept under two names.
                let name = window(id).split(" #").next().unwrap_or_default();
                let calls = if *count == 1 { "was a call".to_owned() } else { format!("were {count} calls") };
                format!("there {calls} of `{name}` in the last {} s", Seconds(*within_ms))
            }
            Condition::CalledInOrder { window: id, .. } => {
                let way = window(id).split_once(" on ").map_or("", |(_, way)| way);
                format!("the calls of `{}` came in this order, each in time", way.replace(" > ", "`, `"))
            }
            condition => condition.to_string(),
        }
    }

    /// Whether its conditions hold of this call, all of them, once its tools are known to fit.
    pub fn truth(&self, view: &View<'_>) -> Truth {
        let all = self.conditions.iter().try_fold(Truth::Yes, |so_far, condition| {
            match so_far.and(condition.truth(view)) {
                Truth::No => None,
                truth => Some(truth),
            }
        });
        all.unwrap_or(Truth::No)
    }

    /// Whether the clause wants what it wants where its conditions hold so far: the unknown restricts, and
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
