//! The nets of one session, to be activated and deactivated.
//!
//! A net that is not active takes no part in judgements and keeps its marking; results it waited for still
//! land. The messages are the documented ones.

use lockgate_call::Time;
use lockgate_policy::NetRule;

use crate::{event::Event, gate::Gate, store::StoreError};

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

impl<'a> Registry<'a> {
    pub(crate) fn new(gate: &'a Gate, session: &'a str) -> Self {
        Self { gate, session }
    }

    /// Lets a net take part again, where it left off.
    ///
    /// # Errors
    /// When there is no such net, it is active already, or the store fails.
    pub fn activate(&self, name: &str) -> Result<String, RegistryError> {
        let session = self.gate.session(self.session)?;
        let nets = self.find(name);
        if nets.is_empty() {
            return Err(RegistryError::Unknown { name: name.to_owned(), available: self.all().join(", ") });
        }
        if nets.iter().all(|rule| session.is_active(rule.id)) {
            return Err(RegistryError::AlreadyActive(name.to_owned()));
        }
        self.gate.record(
            self.session,
            nets.iter().map(|rule| Event::Activated { rule: rule.id }),
            Time(0),
        )?;
        Ok(format!("Activated '{name}'"))
    }

    /// Lets a net take no part until it is activated again.
    ///
    /// # Errors
    /// When the net is not active, there is no such net, or the store fails.
    pub fn deactivate(&self, name: &str) -> Result<String, RegistryError> {
        let active = self.active()?;
        if !active.contains(&name) {
            return Err(RegistryError::NotActive { name: name.to_owned(), active: active.join(", ") });
        }
        let nets = self.find(name);
        self.gate.record(
            self.session,
            nets.iter().map(|rule| Event::Deactivated { rule: rule.id }),
            Time(0),
        )?;
        Ok(format!("Deactivated '{name}' (state preserved)"))
    }

    /// The nets that take part, in file order.
    ///
    /// # Errors
    /// When the store fails.
    pub fn active(&self) -> Result<Vec<&'a str>, StoreError> {
        let session = self.gate.session(self.session)?;
        let rules = self.gate.policy().nets().iter();
        Ok(rules.filter(|rule| session.is_active(rule.id)).map(|rule| rule.name.as_str()).collect())
    }

    /// All nets, in file order.
    pub fn all(&self) -> Vec<&'a str> {
        self.gate.policy().nets().iter().map(|rule| rule.name.as_str()).collect()
    }

    /// Rules written twice share a name and are switched together.
    fn find(&self, name: &str) -> Vec<&'a NetRule> {
        self.gate.policy().nets().iter().filter(|rule| rule.name == name).collect()
    }
}
