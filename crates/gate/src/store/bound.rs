//! Sessions stay under the policy that they were first judged by.
//!
//! A [`BoundPolicy`] says what new sessions are bound to, and where earlier policies are found again. While the policy in
//! force is another than the one a session is bound to, the session is opened twice ([`Held`]): both policies decide, until
//! a human accepts the change or the accepted policy is back.

use std::sync::{Arc, Mutex, PoisonError};

use lockgate_policy::Policy;
use serde::{Deserialize, Serialize};

use crate::{
    rulebook::Rulebook,
    state::{Binding, BoundState, ChangedState, PolicyNews, Session},
};

use super::session_store::StoreError;

/// How many earlier policies one process keeps compiled.
const RULEBOOKS_MAX: usize = 16;

/// What happens to a running session when its policy changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PolicyChanges {
    /// The changed policy applies at once.
    Follow,
    /// Stricter parts apply at once; what widens waits for a human.
    #[default]
    Hold,
    /// A human accepts the changed policy, and what the session was bound to cannot be found any more. No setting says so.
    #[serde(skip)]
    Replace,
}

impl PolicyChanges {
    /// As it is written in a file of settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::Follow => "follow",
            Self::Hold => "hold",
            Self::Replace => "replace",
        }
    }
}

/// Where the texts of policies are kept for as long as sessions are bound to them.
pub trait Archive: Send + Sync {
    /// Keeps the policy in force, before the first session is bound to it.
    ///
    /// # Errors
    /// When it cannot be kept: then no session is bound to it, and the call is blocked.
    fn keep(&self) -> Result<(), String>;

    /// The rules of an earlier policy, under the settings of that time.
    ///
    /// # Errors
    /// When they are not there, or not as they were.
    fn find(&self, binding: &Binding) -> Result<Rulebook, String>;
}

/// The policy in force, as sessions are bound to it.
pub struct BoundPolicy {
    /// Which doors share a binding: those of one place read the same policy.
    pub place: String,
    /// What a new session is bound to.
    pub binding: Arc<Binding>,
    /// What happens to sessions that are bound to another policy.
    pub changes: PolicyChanges,
    /// Where earlier policies are.
    pub archive: Box<dyn Archive>,
}

impl std::fmt::Debug for BoundPolicy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { place, binding, changes, .. } = self;
        let mut debug = formatter.debug_struct("BoundPolicy");
        debug.field("place", place).field("binding", binding).field("changes", changes);
        debug.finish_non_exhaustive()
    }
}

/// A bound policy, and the earlier ones that were compiled so far.
pub(super) struct Bound {
    policy: BoundPolicy,
    rulebooks: Mutex<Vec<(Arc<Binding>, Arc<Rulebook>)>>,
}

/// A session that was opened under the policy it is bound to, and under the one in force where that is another.
pub(super) struct BoundSession {
    pub(super) session: Session,
    pub(super) changed: Option<ChangedSession>,
    pub(super) news: Option<PolicyNews>,
    /// Whether the session is bound now, for the first time or anew.
    pub(super) is_new: bool,
}

/// The other side of a session whose policy has changed.
pub(super) struct ChangedSession {
    pub(super) accepted: Arc<Rulebook>,
    pub(super) binding: Arc<Binding>,
    pub(super) session: Session,
}

impl BoundSession {
    /// A session that is bound to nothing.
    pub(super) fn free(session: Session) -> Self {
        Self { session, changed: None, news: None, is_new: false }
    }
}

impl Bound {
    pub(super) fn new(policy: BoundPolicy) -> Self {
        Self { policy, rulebooks: Mutex::default() }
    }

    /// Opens a session; `current` is the policy in force.
    pub(super) fn open(&self, bytes: Option<&[u8]>, current: &Policy) -> Result<BoundSession, StoreError> {
        let BoundPolicy { place, binding, changes, .. } = &self.policy;
        let Some(bytes) = bytes else {
            return Ok(self.bound_anew(Session::default(), None));
        };
        let read = Session::from_bytes(bytes, current);
        let bound = match &read {
            Ok(session) => session.bound.get(place).cloned(),
            // It may fit the policy it is bound to.
            Err(_) => Session::bindings_at_rest(bytes)?.remove(place),
        };
        let Some(bound) = bound else { return Ok(self.bound_anew(read?, None)) };
        if bound.binding.is_same_as(binding) {
            let news = bound.changed.is_some().then_some(PolicyNews::Restored);
            let mut session = read?;
            let state = BoundState { changed: None, ..bound };
            session.bound.insert(place.clone(), state);
            return Ok(BoundSession { session, changed: None, news, is_new: false });
        }
        let news = |what: fn(Arc<Binding>, Arc<Binding>) -> PolicyNews| {
            Some(what(Arc::clone(&bound.binding), Arc::clone(binding)))
        };
        let follows = match changes {
            // A session that was to be held is not let go by a change of its settings.
            PolicyChanges::Follow => bound.binding.follows(),
            PolicyChanges::Hold => false,
            PolicyChanges::Replace => true,
        };
        if follows {
            return Ok(self.bound_anew(read?, news(PolicyNews::Followed)));
        }
        let accepted = self.rulebook(&bound.binding)?;
        let session = Session::from_bytes(bytes, &accepted.policy)?;
        let (other, news) = match &bound.changed {
            Some(changed) if changed.binding.is_same_as(binding) => {
                (Session::from_value(&changed.session, current)?, None)
            }
            waiting => {
                let waiting = waiting.as_ref().map(|waiting| &*waiting.session);
                let other = session.under_changed(&accepted.policy, waiting, current)?;
                (other, news(PolicyNews::Changed))
            }
        };
        let changed = Some(ChangedSession { accepted, binding: Arc::clone(&bound.binding), session: other });
        Ok(BoundSession { session, changed, news, is_new: false })
    }

    fn bound_anew(&self, mut session: Session, news: Option<PolicyNews>) -> BoundSession {
        self.bind(&mut session);
        BoundSession { session, changed: None, news, is_new: true }
    }

    /// Binds a session to the policy in force.
    pub(super) fn bind(&self, session: &mut Session) {
        let binding = Arc::clone(&self.policy.binding);
        session.bound.insert(self.policy.place.clone(), BoundState { binding, changed: None });
    }

    /// Stores in a session what it is under the policy that waits.
    pub(super) fn hold(
        &self,
        session: &mut Session,
        changed: &Session,
        current: &Policy,
    ) -> Result<(), StoreError> {
        let value = Arc::new(changed.to_value(current)?);
        let state = ChangedState { binding: Arc::clone(&self.policy.binding), session: value };
        if let Some(bound) = session.bound.get_mut(&self.policy.place) {
            bound.changed = Some(state);
        }
        Ok(())
    }

    pub(super) fn keep(&self) -> Result<(), StoreError> {
        self.policy.archive.keep().map_err(|reason| {
            StoreError::Unavailable(format!("the policy of this session cannot be kept: {reason}"))
        })
    }

    /// The rules that a session is bound to.
    fn rulebook(&self, binding: &Arc<Binding>) -> Result<Arc<Rulebook>, StoreError> {
        let mut known = self.rulebooks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, rulebook)) = known.iter().find(|(of, _)| of.is_same_as(binding)) {
            return Ok(Arc::clone(rulebook));
        }
        let gone = |reason: String| {
            StoreError::Unavailable(format!(
                "the policy has changed since this session began, and the one it began under cannot be used: {reason}; \
                 tell the human: run `lockgate accept-policy`, restore the policy, or start a new session"
            ))
        };
        let rulebook = self.policy.archive.find(binding).map_err(gone)?;
        if rulebook.policy.hash().to_string() != binding.policy {
            return Err(gone("its files are not as they were".to_owned()));
        }
        if known.len() >= RULEBOOKS_MAX {
            known.remove(0);
        }
        let rulebook = Arc::new(rulebook);
        known.push((Arc::clone(binding), Arc::clone(&rulebook)));
        Ok(rulebook)
    }
}
