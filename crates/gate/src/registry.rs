//! The nets of one session, to be activated and deactivated, under names of one's own.
//!
//! A rule that is not active takes no part in judgements and keeps its marking; results it waited for still land.
//! [`Names`] says what can be switched: every net by its name, every file as a whole, and what the operator named. The
//! messages are the documented ones. Switching is for the operator, never for the agent: no tool call leads
//! here.

use std::collections::BTreeSet;

use lockgate_call::Time;
use lockgate_policy::RuleId;

use crate::{gate::Gate, state::Event, store::StoreError};

/// The nets of one session.
#[derive(Debug)]
pub struct Registry<'a> {
    gate: &'a Gate,
    session: &'a str,
}

/// Why a net could not be activated or deactivated.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The policy has no such net.
    #[error("Unknown net '{name}'. Available: {available}")]
    Unknown {
        /// The name given.
        name: String,
        /// The nets there are.
        available: String,
    },
    /// It takes part already.
    #[error("'{0}' is already active")]
    AlreadyActive(String),
    /// It takes no part anyway.
    #[error("'{name}' is not active. Active: {active}")]
    NotActive {
        /// The name given.
        name: String,
        /// The nets that take part.
        active: String,
    },
    /// The store failed; nothing was changed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Gate {
    /// The nets of a session, to be activated and deactivated.
    pub fn registry<'a>(&'a self, session: &'a str) -> Registry<'a> {
        Registry::new(self, session)
    }
}

impl<'a> Registry<'a> {
    pub(crate) fn new(gate: &'a Gate, session: &'a str) -> Self {
        Self { gate, session }
    }

    /// Lets a net, a whole file or what a name stands for take part again, where it left off.
    ///
    /// # Errors
    /// When there is no such net, it is active already, or the store fails.
    pub fn activate(&self, name: &str) -> Result<String, RegistryError> {
        let session = self.gate.session(self.session)?;
        let rules = self.find(name);
        if rules.is_empty() {
            return Err(RegistryError::Unknown { name: name.to_owned(), available: self.all().join(", ") });
        }
        if rules.iter().all(|rule| session.is_active(*rule)) {
            return Err(RegistryError::AlreadyActive(name.to_owned()));
        }
        let events = rules.iter().map(|rule| Event::Activated { rule: *rule });
        self.gate.record(self.session, events, Time(0))?;
        Ok(format!("Activated '{name}'"))
    }

    /// Lets a net, a whole file or what a name stands for take no part until it is activated again.
    ///
    /// # Errors
    /// When it is not active, there is no such net, or the store fails.
    pub fn deactivate(&self, name: &str) -> Result<String, RegistryError> {
        let session = self.gate.session(self.session)?;
        let rules = self.find(name);
        if !rules.iter().any(|rule| session.is_active(*rule)) {
            let active = self.active()?.join(", ");
            return Err(RegistryError::NotActive { name: name.to_owned(), active });
        }
        let events = rules.iter().map(|rule| Event::Deactivated { rule: *rule });
        self.gate.record(self.session, events, Time(0))?;
        Ok(format!("Deactivated '{name}' (state preserved)"))
    }

    /// Lets exactly these take part, of all that can be switched.
    ///
    /// # Errors
    /// When a name stands for nothing, or the store fails: then nothing was changed.
    pub fn set_active(&self, names: &[String]) -> Result<(), RegistryError> {
        let policy = self.gate.policy();
        let mut on = BTreeSet::new();
        for name in names {
            let rules = self.find(name);
            if rules.is_empty() {
                let available = self.all().join(", ");
                return Err(RegistryError::Unknown { name: name.to_owned(), available });
            }
            on.extend(rules);
        }
        let switched = self.gate.rulebook().names.switches(policy).into_iter().flat_map(|(_, rules)| rules);
        let switched: BTreeSet<RuleId> = switched.collect();
        let off = switched.difference(&on).map(|rule| Event::Deactivated { rule: *rule });
        let on = on.iter().map(|rule| Event::Activated { rule: *rule });
        let events: Vec<Event> = on.chain(off).collect();
        Ok(self.gate.record(self.session, events, Time(0))?)
    }

    /// What takes part of all that can be switched: names of one's own, and nets beside them, in file order.
    ///
    /// # Errors
    /// When the store fails.
    pub fn active(&self) -> Result<Vec<String>, StoreError> {
        let session = self.gate.session(self.session)?;
        let switches = self.gate.rulebook().names.switches(self.gate.policy());
        let is_on = |rules: &BTreeSet<RuleId>| rules.iter().any(|rule| session.is_active(*rule));
        Ok(switches.into_iter().filter(|(_, rules)| is_on(rules)).map(|(name, _)| name).collect())
    }

    /// All names that can be switched, those of one's own first.
    pub fn all(&self) -> Vec<String> {
        self.gate.rulebook().names.known(self.gate.policy())
    }

    fn find(&self, name: &str) -> BTreeSet<RuleId> {
        self.gate.rulebook().names.find(self.gate.policy(), name)
    }
}
