//! What must hold of a call for a rule to apply: one form for all languages.
//!
//! A [`Condition`] answers yes, no or doubt. What a doubt means is for the rule to decide; it never opens a gate. A
//! condition reads the call and, through [`View`], what the session remembers; it changes nothing.

mod attack;
mod attribute;
mod found;
mod only;
mod origin;
mod past;
mod schedule;
mod shape;
mod subject;
mod test;

use std::{fmt, sync::Arc};

use lockgate_call::{Files, Time};
use lockgate_pattern::{Pattern, python_text};

pub use attack::AttackPatterns;
pub use attribute::Attribute;
pub(crate) use found::Found;
pub use origin::OriginTest;
pub use past::Past;
pub(crate) use past::{key_of, value_of};
pub use schedule::{DayOfWeek, Schedule, TimeOfDay};
pub use shape::Shape;
pub use subject::{Field, PrincipalField, SenderField, Subject, typed};
pub use test::{Coercion, Operator, Test, compare, demand};

use crate::{
    audience::{amounts_only_to, amounts_to},
    decision::Truth,
    names::FileId,
    provenance::SaidWord,
    sandbox::{Reached, Sandbox},
    scripts::UnreadableTest,
    source::Span,
    view::View,
    window::WindowId,
};

/// What must hold.
#[derive(Clone, Debug)]
pub enum Condition {
    /// All of these, asked in this order: the first that does not hold, or is a doubt, decides.
    All(Vec<Condition>),
    /// Any of these, asked in this order: the first that holds, or is a doubt, decides.
    Any(Vec<Condition>),
    /// Not this.
    Not(Box<Condition>),
    /// A value passes a test.
    Value(ValueTest),
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
        earned: Vec<Condition>,
        /// The chain of calls that were decided, whether they succeeded or not: a doubt.
        decided: Vec<Condition>,
    },
    /// The call reaches out of a sandbox.
    Outside(Box<Sandbox>),
    /// The call amounts to one of these names, to the rules of a file.
    Deed {
        /// The file.
        file: FileId,
        /// The names.
        names: Vec<Arc<str>>,
    },
    /// What happened earlier in the session.
    Past(Box<Past>),
    /// A result of this session held sensitive data.
    Tainted,
    /// The input looks like an attack.
    Attack(Box<AttackPatterns>),
    /// The call holds a script that cannot be read.
    Unreadable(UnreadableTest),
    /// Some value does not come from where it must.
    Untraced(Box<OriginTest>),
    /// The user has said none of these words.
    Unsaid(Vec<SaidWord>),
    /// The call does nothing but what these names and phrases say, to the rules of a file.
    Only {
        /// The file.
        file: FileId,
        /// Names of tools, or names that its maps give.
        names: Vec<Arc<str>>,
        /// Phrases, such as `bash running git status`.
        phrases: Vec<Arc<str>>,
    },
}

/// One test of one value.
#[derive(Clone, Debug)]
pub struct ValueTest {
    /// Which value.
    pub subject: Subject,
    /// What it must be like.
    pub test: Test,
    /// Where the test is written.
    pub span: Span,
}

impl ValueTest {
    /// A test without a place in a file.
    pub fn new(subject: Subject, test: Test) -> Self {
        Self { subject, test, span: Span::default() }
    }

    /// Whether the value passes.
    pub fn truth(&self, view: &View<'_>) -> Truth {
        match self.subject.look(view) {
            Found::Missing if self.test.is_negated && self.subject.is_open_where_missing() => Truth::Doubt,
            found => found.passes(&self.test),
        }
    }
}

/// A test of an expression.
#[derive(Clone, Copy, Debug)]
pub struct Leaf<'e> {
    /// The test.
    pub value: &'e ValueTest,
    /// Whether the expression wants it not to hold.
    pub is_negated: bool,
}

impl Condition {
    /// One test of one value.
    pub fn value(subject: Subject, test: Test) -> Self {
        Self::Value(ValueTest::new(subject, test))
    }

    /// Whether it holds of this call.
    pub fn truth(&self, view: &View<'_>) -> Truth {
        match self {
            Self::All(parts) => first_not(parts, Truth::Yes, view),
            Self::Any(parts) => first_not(parts, Truth::No, view),
            Self::Not(part) => !part.truth(view),
            Self::Value(value) => value.truth(view),
            Self::Schedule(schedule) => schedule.truth(view.now, &view.around.zone),
            Self::Called { window, count, within_ms, is_end_included, is_shared } => {
                let memory = view.memory;
                let found = if *is_shared { memory.shared_window(*window) } else { memory.window(*window) };
                // A moment exactly as old as the window is long: some windows still count it.
                let oldest = match view.now.0.checked_sub(*within_ms).map(Time) {
                    Some(oldest) if *is_end_included => oldest,
                    Some(oldest) => oldest.after_ms(1),
                    // Time is younger than the window is long.
                    None => Time(0),
                };
                found.is_some_and(|window| window.has(*count, oldest)).into()
            }
            Self::CalledInOrder { window, within_ms } => {
                let times = view.memory.window(*window).map(|window| &window.times);
                let is_recent =
                    |(time, within_ms): (&Time, &u64)| view.now.0.saturating_sub(*within_ms) <= time.0;
                let is_full = times.is_some_and(|times| {
                    times.len() == within_ms.len() && times.iter().zip(within_ms).all(is_recent)
                });
                is_full.into()
            }
            Self::Earned { earned, decided } => {
                let holds = |parts: &[Self]| parts.iter().all(|part| part.truth(view) == Truth::Yes);
                match (holds(earned), holds(decided)) {
                    (true, _) => Truth::Yes,
                    (false, true) => Truth::Doubt,
                    (false, false) => Truth::No,
                }
            }
            Self::Outside(sandbox) => match sandbox.judge(view.call) {
                Reached::Inside => Truth::No,
                Reached::Outside(_) => Truth::Yes,
                Reached::Doubt(_) => Truth::Doubt,
            },
            Self::Deed { file, names } => {
                view.deeds.map_or(Truth::Doubt, |deeds| amounts_to(deeds, *file, names))
            }
            Self::Past(past) => past.truth(view),
            Self::Tainted => view.memory.is_tainted().into(),
            Self::Attack(attack) => attack.refuses(&view.call.input).is_some().into(),
            Self::Unreadable(test) => (!test.doubts(view.call).is_empty()).into(),
            Self::Untraced(test) => test.truth(view),
            Self::Only { file, names, phrases } => {
                if !phrases.is_empty() && only::only(view.call, phrases) == Truth::Yes {
                    return Truth::Yes;
                }
                view.deeds.map_or(Truth::Doubt, |deeds| amounts_only_to(deeds, *file, names).into())
            }
            Self::Unsaid(words) => {
                let origins = view.memory.origins();
                (!words.iter().any(|word| origins.is_some_and(|it| it.has_said(word.stem())))).into()
            }
        }
    }

    /// It and everything it is made of.
    pub fn parts(&self) -> Vec<&Self> {
        let mut all = vec![self];
        match self {
            Self::All(parts) | Self::Any(parts) => all.extend(parts.iter().flat_map(Self::parts)),
            Self::Not(part) => all.extend(part.parts()),
            _ => {}
        }
        all
    }

    /// Looks up where the folders of sandboxes really are.
    pub(crate) fn resolve(&mut self, files: &dyn Files) {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter_mut().for_each(|part| part.resolve(files)),
            Self::Not(part) => part.resolve(files),
            Self::Outside(sandbox) => sandbox.resolve(files),
            _ => {}
        }
    }

    /// Every test of a value in it, in the order of the file, and whether an odd number of `not` stands before it.
    pub fn leaves(&self) -> Vec<Leaf<'_>> {
        let mut leaves = Vec::new();
        self.collect(false, &mut leaves);
        leaves
    }

    fn collect<'e>(&'e self, is_negated: bool, leaves: &mut Vec<Leaf<'e>>) {
        match self {
            Self::All(parts) | Self::Any(parts) => {
                parts.iter().for_each(|part| part.collect(is_negated, leaves));
            }
            Self::Not(part) => part.collect(!is_negated, leaves),
            Self::Value(value) => leaves.push(Leaf { value, is_negated }),
            _ => {}
        }
    }

    /// Whether it is a test of values, or several of them joined.
    pub fn is_of_values(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().all(Self::is_of_values),
            Self::Not(part) => part.is_of_values(),
            Self::Value(_) => true,
            _ => false,
        }
    }

    /// Whether it looks at nothing but the name of the tool.
    pub fn is_of_tool_name(&self) -> bool {
        self.is_of_values() && self.leaves().iter().all(|leaf| leaf.value.subject == Subject::ToolName)
    }

    /// The regular expressions that look at the result: what `redact` masks. Those behind a `not` too.
    pub fn output_patterns(&self) -> Vec<&Pattern> {
        let leaves = self.leaves();
        let of_output = leaves.iter().filter(|leaf| leaf.value.subject.is_of_output());
        of_output.flat_map(|leaf| leaf.value.test.operator.patterns()).collect()
    }
}

/// The first answer that is not the one to go on with.
fn first_not(parts: &[Condition], go_on: Truth, view: &View<'_>) -> Truth {
    parts.iter().map(|part| part.truth(view)).find(|truth| *truth != go_on).unwrap_or(go_on)
}

/// A condition in words, for people who ask why a rule did not apply.
impl fmt::Display for Condition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(out, "{value}"),
            Self::All(_) | Self::Any(_) | Self::Not(_) => write!(out, "what the rule looks for is there"),
            Self::Schedule(schedule) => write!(out, "{schedule}"),
            Self::Called { count, within_ms, .. } => {
                write!(out, "{count} such calls in the last {within_ms} ms")
            }
            Self::CalledInOrder { within_ms, .. } => {
                write!(out, "{} such calls in this order", within_ms.len())
            }
            Self::Earned { earned, .. } => {
                earned.first().map_or(Ok(()), |part| write!(out, "{part}, all of them succeeded"))
            }
            Self::Outside(_) => write!(out, "the call reaches out of its sandbox"),
            Self::Deed { names, .. } => write!(out, "the call is `{}`", names.join("` or `")),
            Self::Past(_) => write!(out, "what the rule looks for has happened before"),
            Self::Tainted => write!(out, "a result held sensitive data"),
            Self::Attack(_) => write!(out, "the input looks like an attack"),
            Self::Unreadable(_) => write!(out, "the call has a script that cannot be read"),
            Self::Untraced(test) => write!(out, "`{}` does not come from where it must", test.field.text),
            Self::Only { names, phrases, .. } => {
                let all: Vec<&str> = names.iter().chain(phrases).map(|name| &**name).collect();
                write!(out, "the call does nothing but `{}`", all.join("`, `"))
            }
            Self::Unsaid(words) => {
                let words: Vec<&str> = words.iter().map(|word| &**word.stem()).collect();
                write!(out, "the user has not said `{}`", words.join("` or `"))
            }
        }
    }
}

impl fmt::Display for ValueTest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, test, .. } = self;
        match subject {
            Subject::Input(field) => write!(out, "`{}` {test}", field.text),
            Subject::Session(Attribute::Named(name)) => write!(out, "the session's `{name}` {test}"),
            Subject::Session(Attribute::Attempts) => write!(out, "the number of attempts {test}"),
            Subject::Session(Attribute::Calls) => write!(out, "the number of calls {test}"),
            Subject::Session(Attribute::CallsOf(tool)) => {
                write!(out, "the number of calls of `{tool}` {test}")
            }
            Subject::Session(Attribute::Taints) => write!(out, "the sensitive data seen {test}"),
            Subject::Sender(SenderField::Name) => write!(out, "the sender {}", identity(test)),
            Subject::Sender(SenderField::Key(key)) => write!(out, "the sender's `{key}` {}", identity(test)),
            Subject::Context(key) => write!(out, "the context's `{key}` {}", identity(test)),
            Subject::Argument(_)
            | Subject::Principal(_)
            | Subject::Environment
            | Subject::ToolName
            | Subject::Variable(_)
            | Subject::Metadata(_)
            | Subject::OutputText
            | Subject::Result(_)
            | Subject::Custom { .. } => write!(out, "what the rule looks for is there"),
        }
    }
}

/// A test that names a role or a person, in words.
fn identity(test: &Test) -> String {
    let is = if test.is_negated { "is not" } else { "is" };
    let names: Vec<String> = match &test.operator {
        Operator::Matches(patterns) => patterns.iter().map(ToString::to_string).collect(),
        Operator::OneOf(values) => values.iter().map(|value| python_text(value).into_owned()).collect(),
        _ => return test.to_string(),
    };
    format!("{is} `{}`", names.join("` or `"))
}

#[cfg(test)]
mod tests;
