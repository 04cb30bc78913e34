//! What one file says, before the files are joined: the common form all front ends write.
//!
//! A front end is `parse(&Source) -> (Draft, Vec<Diagnostic>)` and never fails. A [`Draft`] holds
//! statements with their spans; names are as written. Nothing is compiled here.

pub mod ruleset;
pub mod spoken;
pub mod when_then;
pub mod workflow;

use std::ops::{Deref, DerefMut};

use lockgate_policy::{Decision, Module, Source};

use self::{ruleset::Ruleset, spoken::Sentences, when_then::WhenThen, workflow::DraftWorkflow};

/// Everything one file says: statements that every language may have, and what only its own language says.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Its statements.
    pub module: Module,
    /// What it says in when and then.
    pub when_then: WhenThen,
    /// What its sentences say.
    pub sentences: Sentences,
    /// What it says as a ruleset.
    pub ruleset: Option<Ruleset>,
    /// What it says as a workflow.
    pub workflow: Option<DraftWorkflow>,
}

impl Deref for Draft {
    type Target = Module;

    fn deref(&self) -> &Module {
        &self.module
    }
}

impl DerefMut for Draft {
    fn deref_mut(&mut self) -> &mut Module {
        &mut self.module
    }
}

impl Draft {
    /// What a file says before any of it is read: nothing.
    pub fn of(source: &Source) -> Self {
        Module::new(source).into()
    }

    /// Whether the file has a rule, or another statement that decides about calls. What is only there for other
    /// statements does not count: maps, claims, examples, a mode.
    pub(crate) fn has_rules(&self) -> bool {
        let WhenThen {
            default_verdict,
            rules,
            includes,
            honeypots,
            taint_chain,
            outputs,
            sanitizer,
            rate_limits,
            patterns,
            ..
        } = &self.when_then;
        let decides = default_verdict.is_some_and(|(verdict, _)| verdict != Decision::Allow);
        let is_when_then = decides
            || !rules.is_empty()
            // The files it includes are looked at by themselves.
            || !includes.is_empty()
            || !honeypots.is_empty()
            || taint_chain.is_some()
            || !outputs.is_empty()
            || sanitizer.is_some()
            || !rate_limits.is_empty()
            || !patterns.is_empty();
        // A ruleset may extend another and say nothing itself.
        let is_ruleset = self.ruleset.as_ref().is_some_and(|it| !it.rules.is_empty() || it.extends.is_some());
        let stops_unreadable = self.unreadable.as_ref().is_some_and(|line| line.wants != Decision::Allow);
        let restricts = self.sentences.rules.iter().any(|rule| rule.wants != Decision::Allow);
        !self.rules.is_empty()
            || restricts
            || stops_unreadable
            || is_when_then
            || is_ruleset
            || self.workflow.is_some()
    }
}

impl From<Module> for Draft {
    fn from(module: Module) -> Self {
        Self {
            module,
            when_then: WhenThen::default(),
            sentences: Sentences::default(),
            ruleset: None,
            workflow: None,
        }
    }
}
