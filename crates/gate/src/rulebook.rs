//! Everything a judgement rests on that does not change while sessions run.

use std::{collections::BTreeMap, sync::Arc};

use jiff::tz::TimeZone;
use lockgate_call::Call;
use lockgate_policy::{Policy, RuleId, Surroundings};

use crate::{answer_trust::AnswerTrust, names::Names, protection::Protection, state::Notes, terms::Terms};

/// A policy, the author's own hooks on its nets, and the terms it is applied under.
#[derive(Debug)]
pub struct Rulebook {
    /// The rules.
    pub policy: Arc<Policy>,
    /// Rust closures on nets.
    pub hooks: Arc<Hooks>,
    /// How the rules are applied.
    pub terms: Terms,
    /// Where the gate stands.
    pub around: Arc<Surroundings>,
    /// What of Lockgate itself an agent must leave alone, whatever the rules say.
    pub protection: Option<Arc<Protection>>,
    /// What can be switched on and off under which name.
    pub names: Arc<Names>,
    /// Which answers from the store count.
    pub answer_trust: AnswerTrust,
}

impl Rulebook {
    /// A policy under the usual terms, without hooks, where the machine stands.
    #[expect(clippy::disallowed_methods, reason = "no door hands in the variables of its environment yet")]
    pub fn new(policy: impl Into<Arc<Policy>>) -> Self {
        let policy = policy.into();
        // Where the machine stands is looked up only for a policy that asks.
        let zone = if policy.wants_zone() { TimeZone::system() } else { TimeZone::UTC };
        let asked = policy.variables().iter();
        let variables = asked.filter_map(|name| Some((name.clone(), std::env::var(name).ok()?))).collect();
        let around = Arc::new(Surroundings { zone, variables, ..Surroundings::default() });
        Self {
            policy,
            hooks: Arc::default(),
            terms: Terms::default(),
            around,
            protection: None,
            names: Arc::default(),
            answer_trust: AnswerTrust::default(),
        }
    }
}

/// The author's own Rust code on nets, by rule.
#[derive(Default)]
pub struct Hooks {
    validators: BTreeMap<RuleId, Box<Validate>>,
    on_results: BTreeMap<RuleId, Box<OnResult>>,
}

/// Decides about a call that a net's marking would let pass: the sentence for the agent on refusal.
///
/// It may change the net's notes; if anything refuses the call, the change is forgotten. It may be asked
/// more than once about one call (before a human is asked and after), so it must not act on the world.
pub type Validate = dyn Fn(&Attempt<'_>, &mut Notes) -> Result<(), String> + Send + Sync;

/// Takes in the success of a call that a deferred transition waited for.
pub type OnResult = dyn Fn(&Success<'_>, &mut Notes) + Send + Sync;

/// What a validator sees.
#[derive(Debug)]
pub struct Attempt<'a> {
    /// The call.
    pub call: &'a Call,
    /// The deed of the call that the net knows.
    pub deed: &'a str,
    /// The transition that would fire.
    pub transition: &'a str,
    /// Where the net stands before it: tokens by place, empty places too, in the order of declaration.
    pub marking: Vec<(&'a str, u64)>,
    /// The calls in flight whose success the net waits for, by id.
    pub pending: Vec<PendingCall<'a>>,
}

impl Attempt<'_> {
    /// The tokens in a place; 0 where the net has no such place.
    pub fn tokens(&self, place: &str) -> u64 {
        self.marking.iter().find(|(name, _)| *name == place).map_or(0, |(_, tokens)| *tokens)
    }
}

/// A call in flight whose success a net waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingCall<'a> {
    /// The call's id.
    pub id: &'a str,
    /// The deed of the call that the net knows.
    pub deed: &'a str,
    /// The transition that fires when the call succeeds.
    pub transition: &'a str,
}

/// What a result hook sees.
#[derive(Debug)]
pub struct Success<'a> {
    /// The call that succeeded.
    pub call: &'a Call,
    /// The deed of the call that the net knows.
    pub deed: &'a str,
    /// The transition that has fired.
    pub transition: &'a str,
}

impl Hooks {
    /// Asks a closure about every call that a net would let pass.
    pub fn validate(&mut self, rule: RuleId, validate: Box<Validate>) {
        self.validators.insert(rule, validate);
    }

    /// Tells a closure about every success that a deferred transition of a net waited for.
    pub fn on_result(&mut self, rule: RuleId, on_result: Box<OnResult>) {
        self.on_results.insert(rule, on_result);
    }

    pub(crate) fn validator(&self, rule: RuleId) -> Option<&Validate> {
        self.validators.get(&rule).map(AsRef::as_ref)
    }

    pub(crate) fn result_hook(&self, rule: RuleId) -> Option<&OnResult> {
        self.on_results.get(&rule).map(AsRef::as_ref)
    }
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rules = |keys: Vec<&RuleId>| format!("{keys:?}");
        formatter
            .debug_struct("Hooks")
            .field("validators", &rules(self.validators.keys().collect()))
            .field("on_results", &rules(self.on_results.keys().collect()))
            .finish()
    }
}
