//! What one file says, before the files are joined: the common form all front ends write.
//!
//! A front end is `parse(&Source) -> (Draft, Vec<Diagnostic>)` and never fails. A [`Draft`] holds
//! statements with their spans; names are as written. Nothing is compiled here.

pub mod ruleset;
pub mod when_then;
pub mod workflow;

use lockgate_policy::{
    Claim, Decision, DraftRule, Example, Map, Module, ScriptField, Source, UnreadableLine,
};

use self::{ruleset::Ruleset, when_then::WhenThen, workflow::DraftWorkflow};

/// Everything one file says.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The file.
    pub source: Source,
    /// Its rules, in file order.
    pub rules: Vec<DraftRule>,
    /// Its maps, in file order. They rename calls for the rules of this file only.
    pub maps: Vec<Map>,
    /// The fields it says are scripts, for its maps only.
    pub scripts: Vec<ScriptField>,
    /// What it says about scripts that cannot be read.
    pub unreadable: Option<UnreadableLine>,
    /// What it says in when and then.
    pub when_then: WhenThen,
    /// What it says as a ruleset.
    pub ruleset: Option<Ruleset>,
    /// What it says as a workflow.
    pub workflow: Option<DraftWorkflow>,
    /// What it states about all sessions.
    pub claims: Vec<Claim>,
    /// Sessions it gives as examples.
    pub examples: Vec<Example>,
}

impl Draft {
    /// What a file says before any of it is read: nothing.
    pub fn of(source: &Source) -> Self {
        Self {
            source: source.clone(),
            rules: Vec::new(),
            maps: Vec::new(),
            scripts: Vec::new(),
            unreadable: None,
            when_then: WhenThen::default(),
            ruleset: None,
            workflow: None,
            claims: Vec::new(),
            examples: Vec::new(),
        }
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
        !self.rules.is_empty() || stops_unreadable || is_when_then || is_ruleset || self.workflow.is_some()
    }

    /// What it says in statements, for the policy.
    pub(crate) fn into_module(self) -> Module {
        let Self { source, rules, maps, scripts, unreadable, claims, examples, .. } = self;
        Module { source, rules, maps, scripts, unreadable, claims, examples }
    }
}

impl From<Module> for Draft {
    fn from(module: Module) -> Self {
        let Module { source, rules, maps, scripts, unreadable, claims, examples } = module;
        Self { rules, maps, scripts, unreadable, claims, examples, ..Self::of(&source) }
    }
}
