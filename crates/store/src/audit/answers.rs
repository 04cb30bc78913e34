//! The answers of humans in the audit log: which are signed, which are not what was signed, and which were rejected.

use std::collections::BTreeMap;

use lockgate_gate::{
    SignedAnswer, StoredAnswer,
    audit_log::{HUMAN_KEY, LogEntry, LogEvent, REJECTED_ANSWER},
};

use super::walk::{ProblemKind, Verified};

/// What the log says of answers, gathered along the chain.
#[derive(Default)]
pub(crate) struct AnswerWalk {
    signed: BTreeMap<String, SignedAnswer>,
    /// Timeouts, and answers that a door took from its own human: who and when.
    unsigned: BTreeMap<String, (String, u64)>,
    /// The human's key that was recorded last, in hexadecimal digits.
    key: Option<String>,
}

impl AnswerWalk {
    /// Looks at one entry.
    pub(crate) fn step(&mut self, n: u64, entry: &[u8], verified: &mut Verified) {
        // Most entries are about calls; only these kinds are read whole.
        let text = std::str::from_utf8(entry).unwrap_or_default();
        if !["\"answer\"", REJECTED_ANSWER, HUMAN_KEY].iter().any(|word| text.contains(word)) {
            return;
        }
        let Ok(LogEntry { what, at, .. }) = serde_json::from_str::<LogEntry>(text) else { return };
        match what {
            LogEvent::Answer { approval, granted, by, proof: Some(proof) } => {
                let claim = &proof.claim;
                let is_about = format!("a{}@{}", claim.number, claim.session) == approval
                    && (claim.granted, &claim.by, claim.at) == (granted, &by, at);
                if !is_about || !proof.is_signed_by_its_key() {
                    let sentence =
                        format!("record {n}: the answer to {approval} is not the one that was signed");
                    verified.add(n, ProblemKind::ForgedAnswer, sentence);
                }
                self.signed.insert(approval, (*proof).clone());
            }
            LogEvent::Answer { approval, granted: true, by, proof: None } => {
                self.unsigned.insert(approval, (by, at));
            }
            LogEvent::Operator { act, about } if act == REJECTED_ANSWER => {
                let word = |key: &str| about.get(key).and_then(|it| it.as_str()).unwrap_or("?").to_owned();
                let sentence = format!(
                    "record {n}: an answer to {} was put into the database that did not count: {}",
                    word("approval"),
                    word("reason")
                );
                verified.add(n, ProblemKind::ForgedAnswer, sentence);
            }
            LogEvent::Operator { act, about } if act == HUMAN_KEY => {
                self.key = about.get("key").and_then(|it| it.as_str()).map(ToOwned::to_owned);
            }
            _ => {}
        }
    }

    /// Holds the human's key of the database against the log.
    pub(crate) fn compare_key(&self, key: Option<&str>, verified: &mut Verified) {
        if self.key.as_deref() != key {
            let sentence = "the human's key in the database is not the one that the audit log recorded last";
            verified.add(None, ProblemKind::ForgedAnswer, sentence);
        }
    }

    /// Holds a stored yes against the log and the human's key, in hexadecimal digits.
    pub(crate) fn compare(&self, approval: &str, answer: &StoredAnswer, key: &str, verified: &mut Verified) {
        if !answer.granted {
            return;
        }
        let is_logged = |(by, at): &(String, u64)| (by, *at) == (&answer.by, answer.at.0);
        let wrong = match &answer.proof {
            None if self.unsigned.get(approval).is_some_and(is_logged) => return,
            None => "has no signature",
            Some(proof) if proof.key != key || !proof.is_signed_by_its_key() => {
                "was not signed by the human's key"
            }
            Some(proof) if self.signed.get(approval) != Some(&**proof) => "is not in the audit log",
            Some(proof)
                if !proof.claim.granted || (&proof.claim.by, proof.claim.at) != (&answer.by, answer.at.0) =>
            {
                "is not the one that was signed"
            }
            Some(_) => return,
        };
        verified.add(None, ProblemKind::ForgedAnswer, format!("the stored answer to {approval} {wrong}"));
    }
}
