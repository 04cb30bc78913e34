//! How a gate is put together: terms, hooks, a store, listeners.

use std::sync::Arc;

use jiff::tz::TimeZone;
use lockgate_call::Call;
use lockgate_policy::{Mode, Policy, Surroundings};
use serde_json::Value;

use super::Gate;
use crate::{
    answer_trust::AnswerTrust,
    names::{Names, UnknownName},
    protection::Protection,
    rulebook::{Attempt, Hooks, Success},
    runner::Runner,
    state::Notes,
    store::{Backend, BackendStore, BoundPolicy, Store},
    terms::Terms,
    verdict::Verdict,
};

/// Builds a [`Gate`].
pub struct GateBuilder {
    gate: Gate,
    hooks: Hooks,
    around: Surroundings,
    unknown: Option<UnknownNet>,
    named: Vec<(String, Vec<String>)>,
    active: Option<Vec<String>>,
}

/// Something was said about a net that the policy does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownNet {
    /// A hook was set on it.
    #[error("no net is called `{name}`; the policy has: {known}")]
    Hooked {
        /// The name given.
        name: String,
        /// The nets there are.
        known: String,
    },
    /// It was named, or is to be active at first.
    #[error(transparent)]
    Named(#[from] UnknownName),
}

impl Gate {
    /// A gate with terms, hooks, a store or a listener of its own.
    pub fn builder(policy: impl Into<Arc<Policy>>) -> GateBuilder {
        let mut gate = Self::new(policy);
        let around = Arc::try_unwrap(std::mem::take(&mut gate.rulebook.around)).unwrap_or_default();
        GateBuilder { gate, hooks: Hooks::default(), around, unknown: None, named: Vec::new(), active: None }
    }
}

impl GateBuilder {
    /// Applies the rules under other terms.
    #[must_use]
    pub fn terms(mut self, terms: Terms) -> Self {
        let runs_programs = self.gate.runner.is_some();
        self.gate.rulebook.terms = Terms { runs_programs, ..terms };
        self
    }

    /// Enforces or only observes, for the whole policy.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.gate.rulebook.terms.mode = mode;
        self
    }

    /// The time zone of rules about times that name none [default: the machine's].
    #[must_use]
    pub fn zone(mut self, zone: TimeZone) -> Self {
        self.around.zone = zone;
        self
    }

    /// The variables that rules look at as `env.NAME`, instead of those of this process.
    #[must_use]
    pub fn variables(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.around.variables = variables.into_iter().collect();
        self
    }

    /// Says something about every call that only the host knows; rules look at it as `prefix.…`.
    #[must_use]
    pub fn describe_calls(
        mut self,
        prefix: &str,
        describe: impl Fn(&Call) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        self.around.custom.insert(prefix.to_owned(), Box::new(describe));
        self
    }

    /// Keeps sessions elsewhere than in memory.
    #[must_use]
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.gate.store = Box::new(store);
        self
    }

    /// Which answers from the store count: all of them otherwise.
    #[must_use]
    pub fn answer_trust(mut self, trust: AnswerTrust) -> Self {
        self.gate.rulebook.answer_trust = trust;
        self
    }

    /// Refuses what would change Lockgate itself, whatever the rules say and whatever the mode.
    #[must_use]
    pub fn protect(mut self, protection: Protection) -> Self {
        self.gate.rulebook.protection = Some(Arc::new(protection));
        self
    }

    /// Keeps sessions and the audit log on a backend that outlives this process.
    #[must_use]
    pub fn backend(mut self, backend: impl Backend + 'static) -> Self {
        self.gate.store = Box::new(BackendStore::new(backend, self.gate.rulebook.policy.clone()));
        self
    }

    /// The same, and each session stays under the policy that it was first judged by, until a human accepts another.
    #[must_use]
    pub fn bound_backend(mut self, backend: impl Backend + 'static, bound: BoundPolicy) -> Self {
        let policy = self.gate.rulebook.policy.clone();
        self.gate.store = Box::new(BackendStore::bound(backend, policy, bound));
        self
    }

    /// Calls a listener with every verdict, also in observe mode.
    #[must_use]
    pub fn on_decision(mut self, listener: impl Fn(&Call, &Verdict) + Send + Sync + 'static) -> Self {
        self.gate.listener = Some(Box::new(listener));
        self
    }

    /// Lets conditions of workflows run their programs. Without a runner such a condition never holds.
    #[must_use]
    pub fn runner(mut self, runner: impl Runner + 'static) -> Self {
        self.gate.runner = Some(Box::new(runner));
        self.gate.rulebook.terms.runs_programs = true;
        self
    }

    /// Gives nets and whole files a name of one's own, under which [`Gate::registry`] switches them together. A member
    /// is a net, a file (its path, its name, or its name without the ending), or a name given before.
    #[must_use]
    pub fn name<M: Into<String>>(mut self, name: &str, members: impl IntoIterator<Item = M>) -> Self {
        self.named.push((name.to_owned(), members.into_iter().map(Into::into).collect()));
        self
    }

    /// Which names are active when a session begins. All others that [`GateBuilder::name`] gave are off at first, or,
    /// where it gave none, all other nets; what no name covers is always active. Sessions that began before keep what
    /// they have.
    #[must_use]
    pub fn active<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.active = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Asks a closure about every call that a net would let pass.
    #[must_use]
    pub fn validate(
        mut self,
        net: &str,
        validate: impl Fn(&Attempt<'_>, &mut Notes) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        if let Some(rule) = self.find(net) {
            self.hooks.validate(rule, Box::new(validate));
        }
        self
    }

    /// Tells a closure about every success that a deferred transition of a net waited for.
    #[must_use]
    pub fn on_result(
        mut self,
        net: &str,
        on_result: impl Fn(&Success<'_>, &mut Notes) + Send + Sync + 'static,
    ) -> Self {
        if let Some(rule) = self.find(net) {
            self.hooks.on_result(rule, Box::new(on_result));
        }
        self
    }

    /// The gate.
    ///
    /// # Errors
    /// When a hook, a name or what is active names a net that the policy does not have: a hook that never runs must not
    /// look like one.
    pub fn build(mut self) -> Result<Gate, UnknownNet> {
        if let Some(unknown) = self.unknown {
            return Err(unknown);
        }
        let policy = &self.gate.rulebook.policy;
        self.gate.rulebook.names = Arc::new(Names::new(policy, &self.named, self.active.as_deref())?);
        self.gate.rulebook.hooks = Arc::new(self.hooks);
        self.gate.rulebook.around = Arc::new(self.around);
        Ok(self.gate)
    }

    fn find(&mut self, net: &str) -> Option<lockgate_policy::RuleId> {
        let policy = &self.gate.rulebook.policy;
        let found = policy.net_named(net).map(|rule| rule.id);
        if found.is_none() {
            let names: Vec<&str> = policy.nets().iter().map(|rule| rule.name.as_str()).collect();
            self.unknown.get_or_insert(UnknownNet::Hooked { name: net.to_owned(), known: names.join(", ") });
        }
        found
    }
}
