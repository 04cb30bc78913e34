//! Which stored answers count, and how long a standing answer does.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use std::sync::{Arc, Mutex};

use ed25519_dalek::SigningKey;
use lockgate_call::{Call, SeenCall};
use lockgate_gate::{
    AnswerStore, AnswerTrust, ApprovalId, Decision, Gate, HumanKey, IsOpen, MemoryStore, Session, StoreError,
    StoredAnswer, Time, UnprovedAnswer, Verdict,
};
use lockgate_policy::{Policy, Source};

const DATABASE: [u8; 16] = [7; 16];

fn policy(text: &str) -> Arc<Policy> {
    let (policy, mistakes) = lockgate_languages::read(&[Source::new("policy.yaml", text)]);
    Arc::new(policy.unwrap_or_else(|| panic!("{mistakes:?}")))
}

fn human() -> SigningKey {
    SigningKey::from_bytes(&[1; 32])
}

fn signed_by(key: &SigningKey) -> AnswerTrust {
    AnswerTrust::Signed(HumanKey::new(DATABASE, key.verifying_key().as_bytes()).unwrap())
}

fn gate(policy: &Arc<Policy>, session: Session, trust: AnswerTrust) -> Gate {
    let store = MemoryStore::with_session("s", session);
    Gate::builder(policy.clone()).store(store).answer_trust(trust).build().unwrap()
}

fn call(id: &str, tool: &str) -> SeenCall {
    Call { session: "s".into(), ..Call::new(id, tool).at(Time(1)) }.into()
}

/// Answers the open question of a call as the human would.
fn signed(gate: &Gate, approval: &ApprovalId, granted: bool) -> StoredAnswer {
    let asked = gate.question(approval).unwrap().unwrap();
    let claim = asked.claim(&DATABASE, approval, granted, "ada", Time(2));
    let proof = Some(Arc::new(claim.sign(&human())));
    StoredAnswer { proof, ..StoredAnswer::unsigned(granted, "ada", Time(2)) }
}

/// A store that every process can write to, with one answer in it.
struct SharedAnswer {
    answer: Mutex<Option<StoredAnswer>>,
    rejected: Mutex<String>,
}

impl AnswerStore for SharedAnswer {
    fn keep(&self, _: &ApprovalId, _: StoredAnswer, _: &IsOpen<'_>) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn find(&self, _: &ApprovalId) -> Result<Option<StoredAnswer>, StoreError> {
        Ok(self.answer.lock().unwrap().clone())
    }

    fn reject(&self, _: &ApprovalId, _: &StoredAnswer, entry: &str) -> Result<(), StoreError> {
        *self.answer.lock().unwrap() = None;
        entry.clone_into(&mut self.rejected.lock().unwrap());
        Ok(())
    }

    fn forget(&self, _: &ApprovalId) {}

    fn are_shared(&self) -> bool {
        true
    }
}

/// Goes on by an answer that is stored; where it does not count, the entry of the audit log that says why.
fn resume(gate: &Gate, approval: &ApprovalId, answer: StoredAnswer, at: Time) -> Result<Verdict, String> {
    let answers = SharedAnswer { answer: Mutex::new(Some(answer)), rejected: Mutex::default() };
    let resumed = gate.resume_answered(&answers, approval, at).unwrap();
    resumed.ok_or_else(|| answers.rejected.lock().unwrap().clone())
}

const DEPLOYS: &str =
    "rules:\n  - {id: deploys, when: {tool: deploy}, then: approve, approval_strategy: per_session}\n";

#[test]
fn a_yes_counts_only_with_the_signature_of_the_human() {
    let policy = policy(DEPLOYS);
    let nobody = || AnswerTrust::Nobody(Arc::from("no passphrase is set"));
    for (trust, is_signed, granted, expected) in [
        (AnswerTrust::Store, false, true, "allow"),
        (signed_by(&human()), true, true, "allow"),
        (signed_by(&human()), false, true, "no signature"),
        (signed_by(&SigningKey::from_bytes(&[2; 32])), true, true, "not made by the human's key"),
        (nobody(), true, true, "no passphrase is set"),
        (nobody(), false, true, "no passphrase is set"),
        // A no only narrows.
        (signed_by(&human()), false, false, "block"),
        (signed_by(&human()), true, false, "block"),
        (nobody(), false, false, "block"),
    ] {
        let gate = gate(&policy, Session::default(), trust.clone());
        let approval = gate.call(&call("1", "deploy")).approval.unwrap();
        let mut answer = signed(&gate, &approval, granted);
        if !is_signed {
            answer.proof = None;
        }
        let resumed = resume(&gate, &approval, answer, Time(3));
        let is_open = gate.question(&approval).unwrap().is_some();
        assert_eq!(is_open, resumed.is_err(), "what is not an answer leaves the question open");
        let told = resumed.map_or_else(|entry| entry, |verdict| verdict.decision.word().to_owned());
        assert!(told.contains(expected), "{trust:?}: {told}");
    }
}

#[test]
fn an_answer_expires_with_its_question() {
    let policy = policy(DEPLOYS);
    let gate = gate(&policy, Session::default(), signed_by(&human()));
    let approval = gate.call(&call("1", "deploy")).approval.unwrap();
    let answer = signed(&gate, &approval, true);
    let deadline = gate.question(&approval).unwrap().unwrap().deadline;
    let late = resume(&gate, &approval, answer, deadline.after_ms(1)).unwrap_err();
    assert!(late.contains(&UnprovedAnswer::Expired.to_string()), "{late}");
}

#[test]
fn what_an_answer_stands_for_is_signed_too() {
    let policy = policy(DEPLOYS);
    let asked_again = |gate: &Gate| match gate.call(&call("2", "deploy")).decision {
        Decision::Ask => true,
        Decision::Allow => false,
        other => panic!("{other:?}"),
    };
    // Given in this process: it is for one call, where the gate wants signatures.
    for (trust, is_asked) in [(AnswerTrust::Store, false), (signed_by(&human()), true)] {
        let gate = gate(&policy, Session::default(), trust);
        let approval = gate.call(&call("1", "deploy")).approval.unwrap();
        assert!(gate.answer(&approval, true, Time(2)).unwrap().lets_pass());
        assert_eq!(asked_again(&gate), is_asked);
    }
    // Signed: it stands, also after the session was stored and read.
    let first = gate(&policy, Session::default(), signed_by(&human()));
    let approval = first.call(&call("1", "deploy")).approval.unwrap();
    assert!(resume(&first, &approval, signed(&first, &approval, true), Time(3)).unwrap().lets_pass());
    let json = first.session("s").unwrap().to_json(&policy);
    assert!(!asked_again(&first));
    let read = |json: &str, trust| gate(&policy, Session::from_json(json, &policy).unwrap(), trust);
    assert!(!asked_again(&read(&json, signed_by(&human()))));
    assert!(asked_again(&read(&json, signed_by(&SigningKey::from_bytes(&[2; 32])))));
    assert!(asked_again(&read(&json, AnswerTrust::Nobody(Arc::from("nobody")))));
    // Whatever is changed in the stored session, it is asked again.
    let until = json.split("\"until_ms\": ").nth(1).unwrap().split(',').next().unwrap();
    for (from, to) in [
        (format!("\"until_ms\": {until}"), "\"until_ms\": 99999999999999".to_owned()),
        ("\"by\": \"ada\"".to_owned(), "\"by\": \"bob\"".to_owned()),
        ("\"session\": \"s\"".to_owned(), "\"session\": \"t\"".to_owned()),
    ] {
        assert!(json.contains(&from), "{from}: {json}");
        assert!(asked_again(&read(&json.replace(&from, &to), signed_by(&human()))), "{from}");
    }
}

#[test]
fn a_standing_yes_ends_when_its_rule_says_something_else() {
    let rule = |when: &str, more: &str| {
        format!(
            "rules:\n  - {{id: deploys, when: {when}, then: approve, approval_strategy: per_session}}\n{more}"
        )
    };
    let narrow = "{tool: deploy, args_match: {to: {eq: test}}}";
    let other = "  - {id: other, when: {tool: wipe}, then: block}\n";
    let first = policy(&rule(narrow, ""));
    let to = |id: &str, to: &str| -> SeenCall {
        Call { session: "s".into(), ..Call::new(id, "deploy").with("to", to).at(Time(1)) }.into()
    };
    let gate_before = gate(&first, Session::default(), AnswerTrust::Store);
    let approval = gate_before.call(&to("1", "test")).approval.unwrap();
    assert!(gate_before.answer(&approval, true, Time(2)).unwrap().lets_pass());
    let json = gate_before.session("s").unwrap().to_json(&first);
    for (name, text, expected) in [
        ("the same", rule(narrow, ""), Decision::Allow),
        ("another rule beside it", rule(narrow, other), Decision::Allow),
        ("it says more", rule("{tool: deploy}", ""), Decision::Ask),
    ] {
        let policy = policy(&text);
        let gate = gate(&policy, Session::from_json(&json, &policy).unwrap(), AnswerTrust::Store);
        assert_eq!(gate.call(&to("2", "test")).decision, expected, "{name}");
    }
    // The same for a question that is open when its rule is edited.
    let asking = gate(&first, Session::default(), AnswerTrust::Store);
    let approval = asking.call(&to("1", "test")).approval.unwrap();
    let open = asking.session("s").unwrap().to_json(&first);
    for (when, expected) in [(narrow, Decision::Allow), ("{tool: deploy}", Decision::Ask)] {
        let policy = policy(&rule(when, ""));
        let gate = gate(&policy, Session::from_json(&open, &policy).unwrap(), AnswerTrust::Store);
        assert_eq!(gate.answer(&approval, true, Time(2)).unwrap().decision, expected, "{when}");
    }
    // What an older Lockgate remembered does not say for which text.
    let old = json.replace("given_for", "given_for_what");
    let session = Session::from_json(&old, &first).unwrap();
    assert_eq!(gate(&first, session, AnswerTrust::Store).call(&to("2", "test")).decision, Decision::Ask);
}
