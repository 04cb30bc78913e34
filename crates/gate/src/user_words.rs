//! What a session takes in when its user says something.

use std::sync::Arc;

use lockgate_call::Time;
use lockgate_policy::{Policy, provenance::TrustedSources};

use crate::state::{Event, Session};

/// The event of the user's words; none where no rule of these policies asks for them.
pub fn hear_user(policies: &[&Policy], session: &Session, text: &str, at: Time) -> Option<Event> {
    let sources = || policies.iter().map(|policy| policy.trusted_sources());
    if !sources().any(TrustedSources::listens) {
        return None;
    }
    let words: Vec<Arc<str>> = sources().flat_map(TrustedSources::words).cloned().collect();
    let traces = sources().any(TrustedSources::traces);
    let new = session.origins().heard(text, &words, traces);
    let origins = Box::new(new.begun_late(session.keeps_origins_late()));
    Some(Event::Heard { at: at.max(session.clock), origins })
}
