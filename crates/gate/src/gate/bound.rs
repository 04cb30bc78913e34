//! Which policies decide about a session: the one in force, and another that the session is bound to.

use std::sync::Arc;

use lockgate_call::Time;
use lockgate_policy::Policy;

use super::{ATTEMPTS_MAX, Gate, failure::catching};
use crate::{
    audit_log,
    both::{Both, Rules},
    rulebook::Rulebook,
    state::Binding,
    store::{Changes, Held, OpenedSession, Reach, StoreError},
};

/// A name that no session has.
const NO_SESSION: &str = "\0";

impl Gate {
    /// The policy that a session is bound to, where another one is in force and waits to be accepted.
    ///
    /// # Errors
    /// When the store fails, or the policy that the session is bound to is not there any more.
    pub fn held(&self, session: &str) -> Result<Option<(Binding, Arc<Policy>)>, StoreError> {
        let told = |held: Held<'_>| (held.binding.clone(), Arc::clone(&held.accepted.policy));
        self.opened(session, |opened| opened.held().map(told))
    }

    /// Binds a session to the policy in force. For a human who has seen what the change opens, never for the agent.
    ///
    /// # Errors
    /// When the store fails: then the session stays as it was.
    pub fn accept_policy(&self, session: &str, by: &str, at: Time) -> Result<(), StoreError> {
        let accept = || {
            let opened = self.store.open(session, Reach::SharedState)?;
            let told = self.told(|| audit_log::accepted(opened.news(), &self.rulebook.policy, by));
            let entries = self.entries(Some((session, opened.session())), &[], told, at);
            opened.commit(&Changes { accepts: true, entries: &entries, ..Changes::default() })
        };
        for _ in 0..ATTEMPTS_MAX {
            match catching(accept) {
                Err(StoreError::Conflict) => {}
                ended => return ended,
            }
        }
        Err(StoreError::Conflict)
    }

    /// The policy that new sessions are bound to, where another one is in force and waits to be accepted.
    ///
    /// # Errors
    /// When the store fails, or no session can begin before a human has accepted the policy in force.
    pub fn held_here(&self) -> Result<Option<(Binding, Arc<Policy>)>, StoreError> {
        self.held(NO_SESSION)
    }

    /// Lets new sessions begin under the policy in force. For a human who has seen what it opens, never for the agent.
    ///
    /// # Errors
    /// When the store fails: then they begin as before.
    pub fn accept_here(&self, by: &str, at: Time) -> Result<(), StoreError> {
        let told = self.told(|| audit_log::accepted(None, &self.rulebook.policy, by));
        let entries = self.entries(None, &[], told, at);
        let changes = Changes { accepts: true, entries: &entries, ..Changes::default() };
        catching(|| self.store.commit_shared(&changes))
    }

    /// The rules with hooks and terms, taken out of the gate.
    pub fn into_rulebook(self) -> Rulebook {
        self.rulebook
    }

    /// The rules that decide about a session.
    pub(super) fn rules_of<'a>(&'a self, opened: &'a (dyn OpenedSession + 'a)) -> Rules<'a> {
        match opened.held() {
            None => Rules::One(&self.rulebook),
            Some(Held { accepted, session, .. }) => {
                Rules::Both(Both { accepted, current: &self.rulebook, session })
            }
        }
    }
}
