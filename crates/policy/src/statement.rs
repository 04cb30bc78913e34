//! What a rule can say before it is compiled: statements, hand-written nets, and the maps that give calls other names.
//!
//! Names are as written. Nothing is compiled here.

use std::num::NonZeroU64;

use lockgate_call::EffectKind;
use lockgate_pattern::Pattern;
use serde_json::Value;

use crate::{
    claim::{Claim, Example},
    condition::{Condition, Operator, Test},
    decision::{Decision, Truth},
    rule::Mode,
    source::{Source, Span},
    template::Template,
};

/// What a file says a tool does: `send_email is an upload, message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The tool.
    pub tool: String,
    /// What it does.
    pub effects: Vec<EffectKind>,
}

/// The statements of one file.
#[derive(Clone, Debug)]
pub struct Module {
    /// The file.
    pub source: Source,
    /// Its rules, in file order.
    pub rules: Vec<DraftRule>,
    /// Its maps, in file order. They rename calls for the rules of this file only.
    pub maps: Vec<Map>,
    /// The fields it says are scripts, for its maps only.
    pub scripts: Vec<ScriptField>,
    /// What it says tools do.
    pub declared: Vec<Declared>,
    /// What it says about scripts that cannot be read.
    pub unreadable: Option<UnreadableLine>,
    /// What it states about all sessions.
    pub claims: Vec<Claim>,
    /// Sessions it gives as examples.
    pub examples: Vec<Example>,
}

impl Module {
    /// A file that says nothing yet.
    pub fn new(source: &Source) -> Self {
        Self {
            source: source.clone(),
            rules: Vec::new(),
            maps: Vec::new(),
            scripts: Vec::new(),
            declared: Vec::new(),
            unreadable: None,
            claims: Vec::new(),
            examples: Vec::new(),
        }
    }

    /// A hand-written net that comes from code instead of a file.
    pub fn of_net(net: DraftNet) -> Self {
        let source = Source::new(net.name.clone(), "");
        let rule = DraftRule {
            statement: Statement::Net(net),
            span: Span::default(),
            mode: Mode::Enforce,
            tail: None,
        };
        Self { rules: vec![rule], ..Self::new(&source) }
    }

    /// The same with one more map for its rules.
    #[must_use]
    pub fn map(mut self, tool: &str, field: &str, pattern: Pattern, name: &str) -> Self {
        let takes = Takes::Field { field: field.to_owned(), pattern };
        let (tool, name) = (tool.to_owned(), name.to_owned());
        self.maps.push(Map { tool, takes, name, span: Span::default(), is_any_shell: false });
        self
    }
}

impl From<DraftNet> for Module {
    fn from(net: DraftNet) -> Self {
        Self::of_net(net)
    }
}

/// One rule as written.
#[derive(Clone, Debug)]
pub struct DraftRule {
    /// What it says.
    pub statement: Statement,
    /// Where it says so: the whole statement without its comment.
    pub span: Span,
    /// Whether it acts.
    pub mode: Mode,
    /// What stands behind it, where something does.
    pub tail: Option<Box<Tail>>,
}

/// What stands behind a statement: when it counts, and what it says.
#[derive(Clone, Debug, Default)]
pub struct Tail {
    /// What must hold of a call that the rule would refuse; all of it. A doubt counts as yes.
    pub conditions: Vec<Condition>,
    /// What it says to the agent.
    pub because: Option<Template>,
    /// Whether it asks a human instead of refusing.
    pub asks: bool,
    /// Names that stand for several: as written in the statement, and those that are meant.
    pub groups: Vec<(String, Vec<String>)>,
}

impl Tail {
    /// The names that a name of the statement stands for.
    pub fn members<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        let group = self.groups.iter().find(|(group, _)| group == name);
        group.map_or_else(|| vec![name], |(_, members)| members.iter().map(String::as_str).collect())
    }
}

/// What a rule can say.
#[derive(Clone, Debug)]
pub enum Statement {
    /// `require A before B`: each B spends one success of A.
    Sequence {
        /// The A.
        prerequisite: String,
        /// The B.
        dependent: String,
    },
    /// `require human-approval before B`.
    Approval {
        /// The B.
        tool: String,
    },
    /// `block A`.
    Block {
        /// The A.
        tool: String,
    },
    /// `limit A to N per session` or `limit A to N per R`.
    Limit {
        /// The A.
        tool: String,
        /// The N, at most [`LIMIT_MAX`].
        count: NonZeroU64,
        /// What brings budget back.
        scope: Scope,
    },
    /// A hand-written net.
    Net(DraftNet),
}

/// The largest count a `limit` takes: 2^63.
pub const LIMIT_MAX: u64 = 1 << 63;

/// What brings a limit's budget back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Nothing: the budget is for the whole session.
    Session,
    /// Each call of this name gives one back.
    Action(String),
}

/// A statement that gives calls of a tool, or commands in its scripts, another name.
#[derive(Clone, Debug)]
pub struct Map {
    /// The tool as the agent calls it.
    pub tool: String,
    /// What it takes.
    pub takes: Takes,
    /// The name rules use.
    pub name: String,
    /// Where it is written.
    pub span: Span,
    /// Whether the tool is one of those that `any shell` stands for: each has a map of its own, with the same span.
    pub is_any_shell: bool,
}

/// What a map takes.
#[derive(Clone, Debug)]
pub enum Takes {
    /// `map TOOL.FIELD PATTERN as NAME`: what matches a pattern, in one field.
    Field {
        /// The key in the input; dots are part of the key.
        field: String,
        /// What the field must match.
        pattern: Pattern,
    },
    /// `map TOOL running PROGRAM [ARG…] as NAME`: commands that run a program, in every script of the tool.
    Running {
        /// The name of the program, without a folder.
        program: String,
        /// Words its arguments have in this order, whatever stands between them.
        words: Vec<String>,
    },
}

/// The name a program is known by, which is without its folder: also what `/rm/` is meant as.
pub fn without_folder(program: &str) -> &str {
    program.rsplit('/').find(|part| !part.is_empty()).unwrap_or("rm")
}

/// `script TOOL.FIELD`: a field that holds a script although its name does not say so.
#[derive(Clone, Debug)]
pub struct ScriptField {
    /// The tool as the agent calls it.
    pub tool: String,
    /// The key in the input; dots are part of the key.
    pub field: String,
    /// Where it is written.
    pub span: Span,
}

/// `unreadable scripts: block`: what happens to scripts that cannot be read.
#[derive(Clone, Debug)]
pub struct UnreadableLine {
    /// Allow, ask or block.
    pub wants: Decision,
    /// Whether a console that is started in plain sight is no such script: `ask except consoles`.
    pub except_consoles: bool,
    /// Where it is written.
    pub span: Span,
    /// Whether it acts.
    pub mode: Mode,
}

/// A hand-written net as written: names instead of numbers, nothing checked but its shape.
#[derive(Clone, Debug, Default)]
pub struct DraftNet {
    /// The net's name.
    pub name: String,
    /// Place names in order.
    pub places: Vec<String>,
    /// Tokens at the start, by place.
    pub marking: Vec<(String, u64)>,
    /// Its transitions, in order.
    pub transitions: Vec<DraftTransition>,
    /// Tools it always lets pass.
    pub free_tools: Vec<String>,
    /// Places in which a session may well end.
    pub terminal_places: Vec<String>,
}

/// A transition of a hand-written net as written.
#[derive(Clone, Debug, Default)]
pub struct DraftTransition {
    /// Its name.
    pub name: String,
    /// Whether a human has to agree.
    pub manual: bool,
    /// Whether it fires only when the tool's result says success.
    pub deferred: bool,
    /// Places it takes from; a place named twice is taken from twice.
    pub inputs: Vec<String>,
    /// Places it gives to; a place named twice is given two.
    pub outputs: Vec<String>,
    /// The tools that fire it; none means it fires by itself (`auto`) or never (`manual`).
    pub tools: Vec<String>,
    /// What the input must satisfy, all of it.
    pub checks: Vec<InputCheck>,
    /// Where it is written.
    pub span: Span,
}

/// A declarative validator: what a field of the input must be like, and what to say when it is not.
#[derive(Clone, Debug)]
pub struct InputCheck {
    /// The key in the input; dots are part of it.
    pub field: String,
    /// What its value must be like.
    pub test: Test,
    /// The sentence for the agent.
    pub message: String,
}

impl InputCheck {
    /// Whether the input certainly is as the check asks: a field that is missing, of another type, or too hard for a
    /// pattern never holds. Relative paths start at `cwd`.
    pub fn holds(&self, input: &serde_json::Map<String, Value>, cwd: Option<&str>) -> bool {
        match (&self.test.operator, input.get(&self.field)) {
            (Operator::Exists(expected), found) => {
                found.is_some() == *expected && found != Some(&Value::Null)
            }
            (_, Some(value)) => self.test.truth_in(value, cwd) == Truth::Yes,
            (_, None) => false,
        }
    }
}

impl DraftNet {
    /// A net without places yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The same with one more place, and the tokens it holds at the start.
    #[must_use]
    pub fn place(mut self, name: &str, tokens: u64) -> Self {
        self.places.push(name.to_owned());
        self.marking.push((name.to_owned(), tokens));
        self
    }

    /// The same with one more transition.
    #[must_use]
    pub fn transition(mut self, transition: DraftTransition) -> Self {
        self.transitions.push(transition);
        self
    }

    /// The same with places in which a session may well end.
    #[must_use]
    pub fn terminal(mut self, places: &[&str]) -> Self {
        self.terminal_places.extend(places.iter().map(|place| (*place).to_owned()));
        self
    }

    /// The same with tools that always pass.
    #[must_use]
    pub fn free(mut self, tools: &[&str]) -> Self {
        self.free_tools.extend(tools.iter().map(|tool| (*tool).to_owned()));
        self
    }
}

impl DraftTransition {
    /// A transition that takes from `inputs` and gives to `outputs`.
    pub fn new(name: impl Into<String>, inputs: &[&str], outputs: &[&str]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self { name: name.into(), inputs: owned(inputs), outputs: owned(outputs), ..Self::default() }
    }

    /// The same, fired by calls of these tools.
    #[must_use]
    pub fn tools(mut self, tools: &[&str]) -> Self {
        self.tools.extend(tools.iter().map(|tool| (*tool).to_owned()));
        self
    }

    /// The same, for calls in which a field passes a test; others get the message.
    #[must_use]
    pub fn check(mut self, field: &str, test: Test, message: impl Into<String>) -> Self {
        self.checks.push(InputCheck { field: field.to_owned(), test, message: message.into() });
        self
    }

    /// The same, with a human who has to agree.
    #[must_use]
    pub fn manual(mut self) -> Self {
        self.manual = true;
        self
    }

    /// The same, firing only when the result says success.
    #[must_use]
    pub fn deferred(mut self) -> Self {
        self.deferred = true;
        self
    }
}
