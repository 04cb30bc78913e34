//! RequestStates: what a client is given with a question, and brings back with the answer.
//!
//! A stateless client repeats its request with the answer and a `requestState` of ours in it. What comes back may be
//! forged, so a state is signed, expires, is valid once, and only for the same call. States do not outlive
//! the process: after a restart the question is asked again.

use std::{collections::BTreeMap, sync::Mutex};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use lockgate::engine::{
    call::{Call, Time, canonical_json},
    gate::ApprovalId,
};
use sha2::{Digest, Sha256};

use super::call_states::CallInFlight;

/// How many states may be open at once; the oldest expire first.
const TICKETS_MAX: usize = 4096;

/// How long one is good for, in milliseconds.
pub(super) const TICKET_MS: u64 = 15 * 60 * 1000;

/// The prefix of all states, which distinguishes them from those of servers.
const PREFIX: &str = "lockgate1.";

/// What follows when a client sends a state back.

#[derive(Clone, Debug)]
pub(super) enum Continuation {
    /// The client's human was asked.
    Approval(ApprovalId),
    /// The server itself wants to know something more about a call that was let pass; and its own state, if any.
    MoreInput(Box<CallInFlight>, Option<String>),
}

/// The open request states of a process.
pub(super) struct RequestStates {
    key: [u8; 64],
    out: Mutex<BTreeMap<u64, Issued>>,
}

struct Issued {
    continuation: Continuation,
    digest: [u8; 32],
    until: Time,
}

/// There is no randomness, so nothing can be signed.
#[derive(Debug, thiserror::Error)]
#[error("this machine has no randomness to sign with: {0}")]
pub struct NoRandomness(getrandom::Error);

impl RequestStates {
    pub(super) fn new() -> Result<Self, NoRandomness> {
        let mut key = [0; 64];
        getrandom::fill(&mut key).map_err(NoRandomness)?;
        Ok(Self { key, out: Mutex::default() })
    }

    /// Issues a state for a call.
    pub(super) fn issue(&self, continuation: Continuation, call: &Call, now: Time) -> String {
        let digest = digest(call);
        let mut out = self.out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        out.retain(|_, issued| issued.until > now);
        if out.len() >= TICKETS_MAX {
            out.pop_first();
        }
        let number = out.last_key_value().map_or(0, |(number, _)| number + 1).max(now.0);
        out.insert(number, Issued { continuation, digest, until: now.after_ms(TICKET_MS) });
        let signature = self.mac(number, &digest).finalize().into_bytes();
        format!("{PREFIX}{number}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }

    /// The continuation of a state; none unless the state is ours, for this call, not expired, and used for the first
    /// time.
    pub(super) fn redeem(&self, ticket: &str, call: &Call, now: Time) -> Option<Continuation> {
        let (number, signature) = ticket.strip_prefix(PREFIX)?.split_once('.')?;
        let number: u64 = number.parse().ok()?;
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?;
        let digest = digest(call);
        self.mac(number, &digest).verify_slice(&signature).ok()?;
        let mut out = self.out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Checked before it is removed: a wrong call must not use up the state of the right one.
        let is_good = out.get(&number).is_some_and(|issued| issued.digest == digest && issued.until > now);
        if is_good { out.remove(&number).map(|issued| issued.continuation) } else { None }
    }

    fn mac(&self, number: u64, digest: &[u8; 32]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(&self.key.into());
        mac.update(&number.to_be_bytes());
        mac.update(digest);
        mac
    }
}

/// What makes a call this call.
fn digest(call: &Call) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [call.session.as_str(), call.tool.as_str(), &canonical_json(&call.input)] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Continuation {
        Continuation::Approval(ApprovalId { session: "s".into(), number: 1 })
    }

    #[test]
    fn a_ticket_is_good_once_for_its_own_call_and_in_time() {
        let call = Call::new("1", "send").with("to", "a");
        let now = Time(1_000);
        let others = [
            Call::new("1", "send").with("to", "b"),
            Call::new("1", "sent").with("to", "a"),
            call.clone().in_session("other"),
        ];
        let request_states = RequestStates::new().unwrap();
        let ticket = request_states.issue(asked(), &call, now);
        for other in &others {
            assert!(request_states.redeem(&ticket, other, now).is_none(), "{other:?}");
        }
        assert!(request_states.redeem(&ticket, &call, now.after_ms(TICKET_MS)).is_none(), "too late");
        for forged in ["", "lockgate1.", "lockgate1.0.", "other", &format!("{ticket}A")] {
            assert!(request_states.redeem(forged, &call, now).is_none(), "{forged}");
        }
        assert!(RequestStates::new().unwrap().redeem(&ticket, &call, now).is_none(), "another process");
        assert!(request_states.redeem(&ticket, &call, now).is_some());
        assert!(request_states.redeem(&ticket, &call, now).is_none(), "a second time");
    }

    #[test]
    fn so_many_tickets_are_out_and_no_more() {
        let call = Call::new("1", "send");
        let request_states = RequestStates::new().unwrap();
        let all: Vec<String> =
            (0..=TICKETS_MAX).map(|_| request_states.issue(asked(), &call, Time(1))).collect();
        assert!(request_states.redeem(&all[0], &call, Time(1)).is_none());
        assert!(request_states.redeem(&all[1], &call, Time(1)).is_some());
        assert!(request_states.redeem(&all[TICKETS_MAX], &call, Time(1)).is_some());
    }
}
