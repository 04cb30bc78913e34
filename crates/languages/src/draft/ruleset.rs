//! What a ruleset says, before rulesets are joined: every word of the file, typed.
//!
//! [`Ruleset`] is the file, [`DraftRulesetRule`] one of its rules, [`Condition`] what a rule looks at. Names are as
//! written. How a file is read, how rulesets are joined and what an expression says about a call have rooms of
//! their own. Missing on purpose: anything a gate would need; lowering makes that.

use std::num::NonZeroU64;

pub use lockgate_pattern::ToolGlob;
use serde_json::{Map, Value};

pub use lockgate_policy::Boundaries;
pub use lockgate_policy::Template;
use lockgate_policy::{Mode, Source, Span, condition::Condition};

/// How long a human is waited for where a rule names no time.
pub const TIMEOUT_MS_DEFAULT: u64 = 300_000;

/// A file that says `kind: Ruleset`.
#[derive(Clone, Debug)]
pub struct Ruleset {
    /// `metadata.name`: other rulesets extend it under this name.
    pub name: String,
    /// `metadata.description`.
    pub description: Option<String>,
    /// `defaults.mode`: the mode of rules without one of their own.
    pub mode: Mode,
    /// What is known about tools, by their exact names, each once.
    pub tools: Vec<DeclaredTool>,
    /// Its rules in file order. After composition, those of all files stand in the first ruleset.
    pub rules: Vec<DraftRulesetRule>,
    /// The ruleset whose rules come before these, and where that is said.
    pub extends: Option<(String, Span)>,
    /// Whether its rules only watch when another ruleset comes before it.
    pub observe_alongside: bool,
    /// Where records should go.
    pub observability: Observability,
    /// Where it is written.
    pub span: Span,
}

/// What a file says about one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredTool {
    /// Its exact name.
    pub name: String,
    /// What a call of it leaves behind.
    pub side_effect: SideEffect,
    /// Whether calling it twice is the same as calling it once.
    pub is_idempotent: bool,
    /// The file that says so: after composition not always the one of its ruleset.
    pub source: Source,
    /// Where it is written.
    pub span: Span,
}

/// What a call leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SideEffect {
    /// `pure`: nothing, and it reads nothing either.
    Pure,
    /// `read`: nothing.
    Read,
    /// `write`: something that can be undone.
    Write,
    /// `irreversible`: something that cannot.
    Irreversible,
}

impl SideEffect {
    /// Whether it is too late to keep a result back, because the call has acted.
    pub fn has_acted(self) -> bool {
        matches!(self, Self::Write | Self::Irreversible)
    }
}

/// Where a file wants records to go. It is read so that a mistake in it is reported; doors decide what they do with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observability {
    /// `otel`.
    pub otel: Option<Otel>,
    /// `stdout`.
    pub stdout: Option<bool>,
    /// `file`: a file of JSON lines.
    pub file: Option<String>,
}

/// `observability.otel`: how to send spans.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Otel {
    /// `enabled`.
    pub enabled: Option<bool>,
    /// `endpoint`.
    pub endpoint: Option<String>,
    /// `protocol`: `grpc` or `http`.
    pub protocol: Option<String>,
    /// `service_name`.
    pub service_name: Option<String>,
    /// `insecure`.
    pub insecure: Option<bool>,
    /// `resource_attributes`.
    pub resource_attributes: Map<String, Value>,
}

/// One rule of a ruleset.
#[derive(Clone, Debug)]
pub struct DraftRulesetRule {
    /// Its id; a candidate's ends with `:candidate`.
    pub id: String,
    /// What it looks at.
    pub kind: RuleKind,
    /// The tools it is about, any of them; every tool where there is none, as with all session rules.
    pub tools: Vec<ToolGlob>,
    /// Its own mode.
    pub mode: Option<Mode>,
    /// Whether it counts at all.
    pub enabled: bool,
    /// Whether no later ruleset may replace it, disable it or make it observe. Lockgate's own word.
    pub locked: bool,
    /// What it says to the agent.
    pub message: Template,
    /// Words that travel with the verdict.
    pub tags: Vec<String>,
    /// Whatever else travels with the verdict.
    pub metadata: Map<String, Value>,
    /// What it does when it fires.
    pub action: Action,
    /// How long a human is waited for, where it asks one.
    pub timeout_ms: u64,
    /// What happens when no human answers in that time.
    pub timeout_action: TimeoutAction,
    /// Whether the file says something about waiting.
    pub has_timeout: bool,
    /// The file it stands in: after composition not always the one of its ruleset.
    pub source: Source,
    /// Where its id is written.
    pub id_span: Span,
    /// Where it is written.
    pub span: Span,
}

/// What a rule looks at.
#[derive(Clone, Debug)]
pub enum RuleKind {
    /// `pre`: the call, before it runs.
    Pre {
        /// When it fires.
        when: Condition,
    },
    /// `post`: the result.
    Post {
        /// When it fires.
        when: Condition,
    },
    /// `session`: how many calls there were.
    Session(Limits),
    /// `sandbox`: what the call touches.
    Sandbox(Boundaries),
}

/// What a rule does when it fires. Which kinds of rules take which action, the schema says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The call does not run, or its result is withheld.
    Block,
    /// A human has to agree first.
    Ask,
    /// The result passes, with a warning.
    Warn,
    /// What the rule found in the result is masked.
    Redact,
}

/// What happens when no human answers in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimeoutAction {
    /// The call does not run.
    #[default]
    Block,
    /// The call runs.
    Allow,
}

/// How many calls a session may have; at least one of them is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Calls that ran.
    pub max_tool_calls: Option<NonZeroU64>,
    /// Calls that were asked for, whatever their verdict.
    pub max_attempts: Option<NonZeroU64>,
    /// Calls that ran, by the name of the tool; the tools of a glob share one limit.
    pub max_calls_per_tool: Vec<(String, NonZeroU64)>,
}

impl Ruleset {
    /// The mode a rule of this ruleset acts in.
    pub fn mode_of(&self, rule: &DraftRulesetRule) -> Mode {
        rule.mode.unwrap_or(self.mode)
    }
}

impl DraftRulesetRule {
    /// Whether it is about this tool.
    pub fn concerns(&self, tool: &str) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|glob| glob.fits(tool))
    }

    /// What the rule looks for, where it looks for something.
    pub fn when(&self) -> Option<&Condition> {
        match &self.kind {
            RuleKind::Pre { when } | RuleKind::Post { when } => Some(when),
            RuleKind::Session(_) | RuleKind::Sandbox(_) => None,
        }
    }
}
