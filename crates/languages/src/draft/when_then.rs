//! What one when/then file says, before files are joined.
//!
//! A [`WhenThen`] is the file as understood: every key read, every type checked, every pattern compiled. A rule
//! may leave out what the rule it `extends` says; nothing is filled in here, because that rule may stand in
//! another file.

use std::{num::NonZeroU32, sync::Arc};

use jiff::tz::TimeZone;
use lockgate_call::sensitive::Mask;
use lockgate_pattern::Pattern;

use lockgate_policy::{
    Decision, Diagnostic, Mode, Span, ToolName, Tools,
    clause::{Gravity, Standing},
    condition::{AttackPatterns, DayOfWeek, SenderField, Test, TimeOfDay},
};

/// Everything one when/then file says.
#[derive(Clone, Debug, Default)]
pub struct WhenThen {
    /// Whether the file is one of when/then rules at all.
    pub is_written: bool,
    /// What is decided about calls that no rule speaks of, and where the file says so.
    pub default_verdict: Option<(Decision, Span)>,
    /// The zone its times are in; the machine's own where it names none.
    pub zone: Option<TimeZone>,
    /// Its rules, in file order.
    pub rules: Vec<DraftClause>,
    /// The files it includes, as written.
    pub includes: Vec<(String, Span)>,
    /// Tools that no honest agent calls.
    pub honeypots: Vec<Honeypot>,
    /// Tools that are closed once a result held sensitive data.
    pub taint_chain: Option<TaintChain>,
    /// Rules on results.
    pub outputs: Vec<DraftOutput>,
    /// What an input must not look like.
    pub sanitizer: Option<Sanitizer>,
    /// How often tools may be called.
    pub rate_limits: Vec<RateLimit>,
    /// More kinds of sensitive data.
    pub patterns: Vec<CustomPattern>,
    /// How sensitive data is masked.
    pub mask: Option<Mask>,
    /// Whether its rules act, where they do not say so themselves.
    pub mode: Mode,
    /// How long a human's answer stands, where a rule that asks does not say so itself.
    pub approval_strategy: Option<Standing>,
}

/// One rule as written.
#[derive(Clone, Debug, Default)]
pub struct DraftClause {
    /// Its id.
    pub id: String,
    /// Where the id is written.
    pub id_span: Span,
    /// The whole rule.
    pub span: Span,
    /// The id of the rule it takes everything from that it does not say itself.
    pub extends: Option<(String, Span)>,
    /// What it is for.
    pub description: Option<String>,
    /// What it says to the agent.
    pub message: Option<String>,
    /// What it wants.
    pub then: Option<Decision>,
    /// Which of several rules that want the same leads.
    pub severity: Option<Gravity>,
    /// The same, before severity: the lower number leads.
    pub priority: Option<i64>,
    /// Whether it counts at all.
    pub enabled: Option<bool>,
    /// How long a human's answer stands.
    pub approval_strategy: Option<Standing>,
    /// Whether it acts.
    pub mode: Option<Mode>,
    /// The tools it is about.
    pub tools: Option<Tools>,
    /// What the call must do, as rules name it (`any deletion`); one is enough.
    pub effects: Option<Vec<Arc<str>>>,
    /// What the input must be like, by field; all must hold.
    pub args: Vec<(String, Vec<Test>)>,
    /// What the session must be like, by attribute or counter; all must hold.
    pub session: Vec<(String, Vec<Test>)>,
    /// Who must stand behind the call; all must hold.
    pub sender: Vec<(SenderField, Vec<Pattern>)>,
    /// When it counts: the time of day.
    pub time_of_day: Option<TimeOfDay>,
    /// When it counts: the day of the week.
    pub day_of_week: Option<DayOfWeek>,
    /// What the host must have said about the call, by key; all must hold.
    pub context: Vec<(String, Test)>,
    /// What must have been called before; without steps, nothing.
    pub chain: Option<Chain>,
    /// Patterns that do not compile in a rule that is off. They are mistakes once a rule that is on takes them over.
    pub held_back: Vec<Diagnostic>,
}

/// `chain`: what must have been called before in this session.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The steps; all must have been taken.
    pub steps: Vec<ChainStep>,
    /// Whether in this order.
    pub is_ordered: bool,
}

/// One step of a chain.
#[derive(Clone, Debug)]
pub struct ChainStep {
    /// The tools that take it, as written: the step's state is kept under this.
    pub text: String,
    /// The tools that take it.
    pub tools: ToolName,
    /// How long ago at most.
    pub within_ms: u64,
    /// How often at least; at most [`CHAIN_COUNT_MAX`](lockgate_policy::window::CHAIN_COUNT_MAX).
    pub min_count: NonZeroU32,
    /// Only calls that got this verdict.
    pub verdict: Option<Decision>,
}

/// A tool that no honest agent calls.
#[derive(Clone, Debug)]
pub struct Honeypot {
    /// Its name; case does not matter.
    pub name: String,
    /// What to say.
    pub alert: Option<String>,
    /// How grave it is.
    pub severity: Option<Gravity>,
    /// Where it is written.
    pub span: Span,
}

/// `taint_chain`: tools that are closed once a result held sensitive data.
#[derive(Clone, Debug)]
pub struct TaintChain {
    /// The tools.
    pub outgoing_tools: Vec<String>,
    /// Where it is written.
    pub span: Span,
}

/// A rule on results as written.
#[derive(Clone, Debug)]
pub struct DraftOutput {
    /// Its id; made up where it has none.
    pub id: String,
    /// The tools whose results it looks at.
    pub tools: Tools,
    /// The largest result, in bytes of its text.
    pub bytes_max: Option<u64>,
    /// How grave it is.
    pub severity: Option<Gravity>,
    /// What must not be in it.
    pub patterns: Vec<Pattern>,
    /// Whether what is found is masked; otherwise the whole result is withheld.
    pub masks: bool,
    /// The kinds of sensitive data that are masked; empty for all.
    pub kinds: Vec<&'static str>,
    /// Whether it acts, where it says so itself.
    pub mode: Option<Mode>,
    /// What to say.
    pub message: Option<String>,
    /// Where it is written.
    pub span: Span,
}

/// `sanitizer`: what an input must not look like.
#[derive(Clone, Debug)]
pub struct Sanitizer {
    /// What it must not look like.
    pub attack: AttackPatterns,
    /// Where it is written.
    pub span: Span,
}

/// `rate_limits`: how often tools may be called.
#[derive(Clone, Debug)]
pub struct RateLimit {
    /// The tools as written: the limit's state is kept under this.
    pub text: String,
    /// The tools that share the limit.
    pub tools: Tools,
    /// How many calls.
    pub calls_max: NonZeroU32,
    /// Within how long.
    pub window_ms: u64,
    /// Whether each session has its own limit.
    pub is_per_session: bool,
    /// What to say.
    pub message: Option<String>,
    /// Where it is written.
    pub span: Span,
}

/// One more kind of sensitive data.
#[derive(Clone, Debug)]
pub struct CustomPattern {
    /// The kind's name.
    pub name: String,
    /// What it looks like.
    pub regex: regex::Regex,
}
