//! Workflows: stages, what opens them, and how a session moves through them.
//!
//! A workflow is a line of stages. A session stands in one of them; a tool is open only in its stage, and the next
//! stage opens only with evidence: files that were read, commands that succeeded, results, answers of humans.
//! [`progress`] is what a session remembers, `machine` moves it, [`Sight`] is what a
//! workflow sees of a call. Nothing is run in here and no clock is asked: what a command of a condition came to is
//! handed in as [`Ran`].

use std::{ops::Deref, sync::Arc};

use lockgate_pattern::{Pattern, ToolGlob};

use crate::{rule::Rule, source::Span};

mod line;
mod machine;
pub mod progress;
mod sight;

pub use line::{Line, StageStand, Whereabouts};
pub use machine::{Assessment, CallEvidence, OperatorMove, Outcome, UnknownStage};
pub use progress::{Progress, Step};
pub use sight::Sight;

/// A workflow in force.
#[derive(Debug)]
pub struct Workflow {
    /// What every rule has.
    pub rule: Rule,
    /// Which edition of it this is, in its author's words.
    pub version: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its stages, in order; at least one.
    pub stages: Vec<Stage>,
    /// Tells editions apart whose stages differ.
    pub fingerprint: Arc<str>,
}

/// One stage of a workflow.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Its name, which no other stage of the workflow has.
    pub id: Arc<str>,
    /// What it is for.
    pub description: Option<String>,
    /// What must hold before it begins.
    pub entry: Vec<Requirement>,
    /// The tools that are open in it. None: every tool, and in a terminal stage no tool.
    pub tools: Option<Vec<ToolGlob>>,
    /// What every call in it must satisfy.
    pub checks: Vec<Check>,
    /// What must hold before it ends.
    pub exit: Vec<Requirement>,
    /// What a human is asked before it ends.
    pub approval: Option<String>,
    /// Whether nothing comes after it.
    pub is_terminal: bool,
    /// Where it is written: its id.
    pub span: Span,
}

/// One condition for entering or leaving a stage.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// What must hold.
    pub condition: Condition,
    /// The condition in one spelling.
    pub text: Arc<str>,
    /// What its evidence is kept under: the text, and for commands the stage as well.
    pub key: Arc<str>,
    /// The sentence for the agent while it does not hold.
    pub message: Option<String>,
    /// Where the condition is written.
    pub span: Span,
}

/// What a requirement asks for.
#[derive(Clone, Debug)]
pub enum Condition {
    /// `stage_complete("id")`: a stage has ended.
    StageComplete(Arc<str>),
    /// `file_read("path")`: a file was read.
    FileRead(String),
    /// `approval()`, `approval("stage")`: a human has agreed to the end of a stage.
    Approval(Arc<str>),
    /// `command_matches("re")`: a command that matches has succeeded in this stage.
    CommandMatches(Pattern),
    /// `command_not_matches("re")`: no command that matches was let pass in this stage.
    CommandNotMatches(Pattern),
    /// `exec("command", exit_code=N)`: a program that the gate runs itself ends like this.
    Exec(Exec),
    /// `mcp_result_matches("tool", "field", "value")`: a result of a tool had a field with this value.
    ResultMatches {
        /// The tool.
        tool: String,
        /// The field, at the top of the result.
        field: String,
        /// Its value, as text.
        value: String,
    },
}

/// A program that a condition runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Exec {
    /// The program and its arguments; no shell reads them unless one is the program.
    pub words: Vec<String>,
    /// How it must end.
    pub exit_code: i32,
}

/// What the programs of conditions came to, as far as they were run for this decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran(Vec<(Exec, Result<i32, String>)>);

/// What calls must satisfy while a stage is active.
#[derive(Clone, Debug)]
pub struct Check {
    /// What commands are compared with.
    pub pattern: Pattern,
    /// `command_not_matches`: no command may match. Otherwise every one has to.
    pub forbids: bool,
    /// The sentence for the agent.
    pub message: Option<String>,
    /// Where it is written.
    pub span: Span,
}

impl Deref for Workflow {
    type Target = Rule;

    fn deref(&self) -> &Rule {
        &self.rule
    }
}

impl Stage {
    /// Whether no call is ever made in it: it is only a line to be crossed.
    pub fn is_boundary(&self) -> bool {
        !self.is_terminal
            && self.tools.is_none()
            && self.checks.is_empty()
            && (self.approval.is_some() || !self.exit.is_empty())
    }

    /// Whether something marks its end.
    pub fn has_end(&self) -> bool {
        self.approval.is_some() || !self.exit.is_empty()
    }

    /// Whether one of its tools stands for many.
    pub fn has_wildcard(&self) -> bool {
        self.tools.iter().flatten().any(|tool| tool.exact().is_none())
    }

    /// Whether a tool is open in it, whatever the call.
    pub fn opens(&self, tool: &str) -> bool {
        match &self.tools {
            Some(tools) => tools.iter().any(|glob| glob.fits(tool)),
            None => !self.is_terminal && !self.is_boundary(),
        }
    }
}

impl Workflow {
    /// A workflow of these stages; at least one.
    pub fn new(rule: Rule, version: Option<String>, description: Option<String>, stages: Vec<Stage>) -> Self {
        let fingerprint = fingerprint(&stages);
        Self { rule, version, description, stages, fingerprint }
    }

    /// Its conditions that want a program to be run, in the order of the stages.
    pub fn exec_conditions(&self) -> impl Iterator<Item = &Requirement> {
        exec_conditions(&self.stages)
    }
}

/// The conditions of stages that want a program to be run.
pub fn exec_conditions(stages: &[Stage]) -> impl Iterator<Item = &Requirement> {
    let all = stages.iter().flat_map(|stage| stage.entry.iter().chain(&stage.exit));
    all.filter(|requirement| matches!(requirement.condition, Condition::Exec(_)))
}

impl Ran {
    /// No program was run.
    pub fn nothing() -> &'static Self {
        static NOTHING: Ran = Ran(Vec::new());
        &NOTHING
    }

    /// Takes in how a program ended, or why that is not known.
    pub fn took(&mut self, exec: Exec, ended: Result<i32, String>) {
        self.0.push((exec, ended));
    }

    /// How many programs were run.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How a program ended, if it was run.
    pub fn ended(&self, exec: &Exec) -> Option<&Result<i32, String>> {
        // The same program with another wanted end need not run twice.
        self.0.iter().find(|(ran, _)| ran.words == exec.words).map(|(_, ended)| ended)
    }
}

/// The same for stages that say the same, however they are written.
fn fingerprint(stages: &[Stage]) -> Arc<str> {
    use sha2::{Digest, Sha256};
    let mut hasher = Sha256::new();
    let mut say = |part: &str| {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    };
    for stage in stages {
        say(&stage.id);
        for tool in stage.tools.iter().flatten() {
            say(tool.text());
        }
        for check in &stage.checks {
            say(if check.forbids { "not" } else { "only" });
            say(&check.pattern.to_string());
        }
        for (word, requirements) in [("entry", &stage.entry), ("exit", &stage.exit)] {
            say(word);
            requirements.iter().for_each(|requirement| say(&requirement.text));
        }
        say(if stage.tools.is_none() { "open" } else { "listed" });
        say(if stage.approval.is_some() { "human" } else { "" });
        say(if stage.is_terminal { "terminal" } else { "" });
    }
    let hash = hasher.finalize();
    Arc::from(hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>())
}
