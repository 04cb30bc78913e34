//! Sessions stay under the policy that they were first judged by.
//!
//! A [`BoundPolicy`] says what new sessions are bound to, and where earlier policies are found again. While the policy in
//! force is another than the one a session is bound to, the session is opened twice ([`Held`]): both policies decide, until
//! a human accepts the change or the accepted policy is back. A new session is bound to the policy that was accepted last at
//! its [`PolicyPlace`]; the first policy of a place is accepted by being used.

use std::sync::{Arc, Mutex, PoisonError};

use lockgate_policy::Policy;
use serde::{Deserialize, Serialize};

use crate::{
    rulebook::Rulebook,
    state::{Binding, BoundState, ChangedState, PolicyNews, Session, SharedEvent, SharedState},
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

    /// What was accepted earlier, by its hash.
    ///
    /// # Errors
    /// When it is not there, or not as it was.
    fn binding(&self, _hash: &str) -> Result<Binding, String> {
        Err("it was not kept".to_owned())
    }
}

/// Where a policy is in force: new sessions begin under the one that was accepted there last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyPlace {
    /// Its name, such as the folder of a project.
    pub name: String,
    /// The places around it, the nearest first. Where nothing was accepted for this one, what was accepted there counts: a
    /// policy that is gone, or that another one hides, is not forgotten.
    pub around: Vec<String>,
    /// Whether a policy is at this very place; otherwise it is where nothing nearer says anything.
    pub is_own: bool,
    /// Whether the first policy there counts as accepted. One that no human has chosen does not.
    pub remembers: bool,
    /// The part of the policy that other places have too.
    pub base: Option<PolicyBase>,
}

impl PolicyPlace {
    /// A place that has nothing to do with others.
    pub fn alone(name: &str) -> Self {
        Self { name: name.to_owned(), around: Vec::new(), is_own: true, remembers: true, base: None }
    }

    /// What was accepted last, and for which place.
    fn accepted<'a>(&'a self, shared: &'a SharedState) -> Option<(&'a str, &'a str)> {
        let (first, last) = if self.is_own { (Some(&self.name), None) } else { (None, Some(&self.name)) };
        let mut names = first.into_iter().chain(&self.around).chain(last);
        names.find_map(|name| Some((name.as_str(), shared.accepted.get(name)?.as_str())))
    }

    /// The place that remembers what is accepted now.
    fn remembering<'a>(&'a self, shared: &'a SharedState) -> &'a str {
        match self.accepted(shared) {
            Some((name, _)) if !self.is_own => name,
            _ => &self.name,
        }
    }
}

/// The part of a policy that many places share, such as the user's own rules: a place that is used for the first time does
/// not accept another one than the others have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyBase {
    /// Its name.
    pub name: String,
    /// The hash of what it says.
    pub hash: String,
    /// Whether the first one counts as accepted.
    pub remembers: bool,
    /// Whether changes of it are followed, if they were when it was accepted.
    pub follows: bool,
}

/// What marks an accepted base whose changes are followed.
const FOLLOWED: &str = " follow";

impl PolicyBase {
    /// As it is remembered.
    fn saved(&self) -> String {
        format!("{}{}", self.hash, if self.follows { FOLLOWED } else { "" })
    }

    fn is_as(&self, saved: &str) -> bool {
        saved.strip_suffix(FOLLOWED).unwrap_or(saved) == self.hash
    }

    /// Whether it may stand in the place of the one that was accepted.
    fn may_follow(&self, saved: &str) -> bool {
        self.is_as(saved) || (self.follows && saved.ends_with(FOLLOWED))
    }
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
    /// Where new sessions begin; none where each begins under the policy in force.
    pub origin: Option<PolicyPlace>,
}

impl std::fmt::Debug for BoundPolicy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { place, binding, changes, origin, .. } = self;
        let mut debug = formatter.debug_struct("BoundPolicy");
        debug
            .field("place", place)
            .field("binding", binding)
            .field("changes", changes)
            .field("origin", origin);
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
    /// What its place remembers once the session is stored.
    pub(super) remembered: Vec<SharedEvent>,
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
        Self { session, changed: None, news: None, is_new: false, remembered: Vec::new() }
    }
}

impl Bound {
    pub(super) fn new(policy: BoundPolicy) -> Self {
        Self { policy, rulebooks: Mutex::default() }
    }

    /// Opens a session; `current` is the policy in force.
    pub(super) fn open(
        &self,
        bytes: Option<&[u8]>,
        current: &Policy,
        shared: &SharedState,
    ) -> Result<BoundSession, StoreError> {
        let BoundPolicy { place, binding, changes, .. } = &self.policy;
        let Some(bytes) = bytes else { return self.begin(None, current, shared) };
        let read = Session::from_bytes(bytes, current);
        let bound = match &read {
            Ok(session) => session.bound.get(place).cloned(),
            // It may fit the policy it is bound to.
            Err(_) => Session::bindings_at_rest(bytes)?.remove(place),
        };
        let Some(bound) = bound else { return self.begin(Some(bytes), current, shared) };
        if bound.binding.is_same_as(binding) {
            let news = bound.changed.is_some().then_some(PolicyNews::Restored);
            let mut session = read?;
            let state = BoundState { changed: None, ..bound };
            session.bound.insert(place.clone(), state);
            return Ok(BoundSession { news, ..BoundSession::free(session) });
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
        Ok(BoundSession { changed, news, ..BoundSession::free(session) })
    }

    /// Opens a session that is not bound here yet: under the policy that was accepted last at its place.
    fn begin(
        &self,
        bytes: Option<&[u8]>,
        current: &Policy,
        shared: &SharedState,
    ) -> Result<BoundSession, StoreError> {
        let read = |policy: &Policy| match bytes {
            Some(bytes) => Session::from_bytes(bytes, policy),
            None => Ok(Session::default()),
        };
        let Some(binding) = self.accepted_before(shared)? else {
            let remembered = self.remembered(shared, false);
            return Ok(BoundSession { remembered, ..self.bound_anew(read(current)?, None) });
        };
        let binding = Arc::new(binding);
        let accepted = self.rulebook(&binding)?;
        let mut session = read(&accepted.policy)?;
        let state = BoundState { binding: Arc::clone(&binding), changed: None };
        session.bound.insert(self.policy.place.clone(), state);
        let news = PolicyNews::Changed(Arc::clone(&binding), Arc::clone(&self.policy.binding));
        let changed = Some(ChangedSession { accepted, binding, session: read(current)? });
        Ok(BoundSession { changed, news: Some(news), ..BoundSession::free(session) })
    }

    /// What new sessions are bound to; none if that is the policy in force.
    fn accepted_before(&self, shared: &SharedState) -> Result<Option<Binding>, StoreError> {
        let BoundPolicy { binding, changes, archive, origin, .. } = &self.policy;
        let Some(place) = origin else { return Ok(None) };
        if *changes == PolicyChanges::Replace {
            return Ok(None);
        }
        let Some((_, hash)) = place.accepted(shared) else {
            let is_other = |base: &PolicyBase| {
                shared.accepted.get(&base.name).is_some_and(|saved| !base.may_follow(saved))
            };
            return match &place.base {
                Some(base) if is_other(base) => Err(StoreError::Unavailable(
                    "the user's policy or settings have changed since they were accepted last, and nothing was accepted \
                     for this folder yet; tell the human: run `lockgate accept-policy` in this folder, or restore the policy"
                        .to_owned(),
                )),
                _ => Ok(None),
            };
        };
        if hash == binding.hash() {
            return Ok(None);
        }
        let accepted = archive.binding(hash).map_err(|reason| {
            StoreError::Unavailable(format!(
                "the policy has changed since it was accepted last, and the accepted one cannot be used: {reason}; tell \
                 the human: run `lockgate accept-policy` in this folder"
            ))
        })?;
        let is_open =
            accepted.is_same_as(binding) || (*changes == PolicyChanges::Follow && accepted.follows());
        Ok((!is_open).then_some(accepted))
    }

    /// What the place is to remember: the policy in force, as far as it is not known there.
    fn remembered(&self, shared: &SharedState, is_chosen: bool) -> Vec<SharedEvent> {
        let Some(place) = &self.policy.origin else { return Vec::new() };
        let PolicyPlace { remembers, base, .. } = place;
        let name = place.remembering(shared);
        let accepted = |place: &str| shared.accepted.get(place).map(String::as_str);
        let own = (*remembers || is_chosen).then(|| (name.to_owned(), self.policy.binding.hash()));
        let own = own.filter(|(place, hash)| accepted(place) != Some(hash.as_str()));
        let base = base.as_ref().filter(|base| base.remembers || is_chosen);
        let base = base.filter(|base| !accepted(&base.name).is_some_and(|saved| base.is_as(saved)));
        let all = own.into_iter().chain(base.map(|base| (base.name.clone(), base.saved())));
        all.map(|(place, hash)| SharedEvent::Accepted { place, hash }).collect()
    }

    /// Keeps the policy in force, which a human accepts for new sessions. `from` is what a session was bound to whose
    /// change the human has seen: then the place accepts it only if it has accepted the same before.
    pub(super) fn accept(
        &self,
        shared: &SharedState,
        from: Option<&Binding>,
    ) -> Result<Vec<SharedEvent>, StoreError> {
        self.keep()?;
        let accepted = self.policy.origin.as_ref().and_then(|place| place.accepted(shared));
        let is_shown = match (from, accepted) {
            (None, _) | (_, None) => true,
            (Some(from), Some((_, hash))) => {
                hash == from.hash() || self.policy.archive.binding(hash).is_ok_and(|it| it.is_same_as(from))
            }
        };
        Ok(if is_shown { self.remembered(shared, true) } else { Vec::new() })
    }

    fn bound_anew(&self, mut session: Session, news: Option<PolicyNews>) -> BoundSession {
        self.bind(&mut session);
        BoundSession { news, is_new: true, ..BoundSession::free(session) }
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
            return Err(gone("its files have changed".to_owned()));
        }
        if known.len() >= RULEBOOKS_MAX {
            known.remove(0);
        }
        let rulebook = Arc::new(rulebook);
        known.push((Arc::clone(binding), Arc::clone(&rulebook)));
        Ok(rulebook)
    }
}
