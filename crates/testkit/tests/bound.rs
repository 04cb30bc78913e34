//! A session stays under the policy that it was first judged by, until a human accepts another.
//!
//! The law: while a changed policy waits, a call is let pass only if the accepted policy alone and the changed policy alone
//! let it pass on the same history. The tables say what that means for limits, credits, questions and restarts.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may stop a test")]

use std::sync::Arc;

use lockgate::engine::{
    Call, Decision, Gate, MemoryStore, Outcome, Policy, Session, Source, Time, Verdict,
    gate::{Archive, Binding, BoundPolicy, Human, PolicyChanges, Rulebook, StoreError, judge},
};
use lockgate_testkit::{
    contract::{MemoryRest, Rest as _},
    generate::proofs::{Family, SmallPolicy, edited, policies as small_policies},
};
use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::{Value, json};

const SESSION: &str = "s";

/// Every policy that a test has ever had.
struct Texts(Vec<Vec<Source>>);

impl Archive for Texts {
    fn keep(&self) -> Result<(), String> {
        Ok(())
    }

    fn find(&self, binding: &Binding) -> Result<Rulebook, String> {
        let found = self
            .0
            .iter()
            .map(|sources| compiled(sources))
            .find(|policy| policy.hash().to_string() == binding.policy);
        found.map(Rulebook::new).ok_or_else(|| "it is not kept any more".to_owned())
    }
}

fn compiled(sources: &[Source]) -> Policy {
    let (policy, mistakes) = lockgate::engine::languages::read(sources);
    policy.unwrap_or_else(|| panic!("{mistakes:?}"))
}

fn rules(text: &str) -> Vec<Source> {
    vec![Source::new("policy.rules", text)]
}

/// A gate that has just started under the last of some policies.
fn gate_of(rest: &MemoryRest, policies: &[Vec<Source>], changes: PolicyChanges) -> Gate {
    let policy = Arc::new(compiled(policies.last().unwrap()));
    let settings = json!({ "policy_changes": changes.word() });
    let binding = Arc::new(Binding::new(&policy, settings.as_object().unwrap().clone()));
    let archive = Box::new(Texts(policies.to_vec()));
    let bound = BoundPolicy { place: String::new(), binding, changes, archive, origin: None };
    Gate::builder(policy).bound_backend(rest.clone(), bound).build().unwrap()
}

/// Gates that start one after the other over the same sessions.
struct Restarts {
    rest: MemoryRest,
    policies: Vec<Vec<Source>>,
    calls: usize,
}

impl Restarts {
    fn new(policy: &str) -> Self {
        Self { rest: MemoryRest::default(), policies: vec![rules(policy)], calls: 0 }
    }

    fn becomes(&mut self, policy: &str) -> &mut Self {
        self.policies.push(rules(policy));
        self
    }

    fn gate(&self) -> Gate {
        gate_of(&self.rest, &self.policies, PolicyChanges::Hold)
    }

    /// Calls a tool, which succeeds if it is let pass.
    fn call(&mut self, tool: &str) -> Verdict {
        self.calls += 1;
        let call = Call::new(self.calls.to_string(), tool).with("kind", tool).in_session(SESSION);
        let verdict = self.gate().call(&call);
        if verdict.lets_pass() {
            self.gate().result(&Outcome::success(&call)).unwrap();
        }
        verdict
    }

    fn decide(&mut self, tool: &str) -> Decision {
        self.call(tool).decision
    }

    fn acts(&self) -> Vec<String> {
        let entries = self.rest.audit_log();
        let read = |entry: &String| serde_json::from_str::<Value>(entry).unwrap();
        let act = |entry: Value| {
            let entry = entry.get("entry").cloned().unwrap_or(entry);
            Some(entry.get("act")?.as_str()?.to_owned())
        };
        entries.iter().map(read).filter_map(act).collect()
    }
}

use Decision::{Allow, Ask, Block};

#[test]
fn a_raised_limit_waits_and_a_lowered_one_counts_at_once() {
    let mut world = Restarts::new("limit send to 3 per session");
    assert_eq!(world.decide("send"), Allow);
    world.becomes("limit send to 5 per session");
    assert_eq!([world.decide("send"), world.decide("send"), world.decide("send")], [Allow, Allow, Block]);
    let reason = world.call("send").sentence();
    assert!(reason.contains("limit of 3 calls") && reason.contains("lockgate accept-policy"), "{reason}");
    world.gate().accept_policy(SESSION, "ada", Time(0)).unwrap();
    assert_eq!([world.decide("send"), world.decide("send"), world.decide("send")], [Allow, Allow, Block]);
    assert_eq!(world.acts(), ["policy-changed", "accept-policy"]);

    let mut world = Restarts::new("limit send to 3 per session");
    assert_eq!(world.decide("send"), Allow);
    world.becomes("limit send to 2 per session");
    assert_eq!([world.decide("send"), world.decide("send")], [Allow, Block]);
    // Restored: what was counted meanwhile stays counted.
    world.becomes("limit send to 3 per session");
    assert_eq!([world.decide("send"), world.decide("send")], [Allow, Block]);
    assert_eq!(world.acts(), ["policy-changed", "policy-restored"]);
}

#[test]
fn what_a_change_removes_stays_and_what_it_adds_counts() {
    let mut world = Restarts::new("block wipe\nlimit send to 1 per session");
    assert_eq!([world.decide("wipe"), world.decide("send")], [Block, Allow]);
    world.becomes("block deploy\nlimit mail to 1 per session");
    let expected = [Block, Block, Block, Allow, Block, Allow];
    assert_eq!(["wipe", "send", "deploy", "mail", "mail", "other"].map(|tool| world.decide(tool)), expected);
    // A further change does not refund what the waiting limit has counted.
    world.becomes("block deploy\nlimit mail to 2 per session");
    assert_eq!([world.decide("mail"), world.decide("mail"), world.decide("wipe")], [Allow, Block, Block]);
    world.gate().accept_policy(SESSION, "ada", Time(0)).unwrap();
    assert_eq!(
        ["wipe", "send", "deploy", "mail"].map(|tool| world.decide(tool)),
        [Allow, Allow, Block, Block]
    );
    // What the rule that is gone has counted is kept for the day it comes back.
    world.becomes("limit send to 1 per session");
    assert_eq!(world.decide("send"), Block);
}

#[test]
fn a_credit_counts_for_the_policy_that_gives_it() {
    let mut world = Restarts::new("require test before deploy");
    assert_eq!(world.decide("other"), Allow);
    // Under the changed policy a listing would be a test.
    world.becomes("require test before deploy\nmap ls.kind ls as test");
    assert_eq!(["deploy", "ls", "deploy"].map(|tool| world.decide(tool)), [Block, Allow, Block]);
    assert_eq!(["test", "deploy"].map(|tool| world.decide(tool)), [Allow, Allow]);
    // A credit that a waiting policy gave is gone with it.
    let mut world = Restarts::new("block x");
    assert_eq!(world.decide("other"), Allow);
    world.becomes("block x\nrequire test before deploy\nmap ls.kind ls as test");
    assert_eq!(["ls", "deploy"].map(|tool| world.decide(tool)), [Allow, Allow]);
    world.becomes("block x\nrequire test before deploy");
    assert_eq!(world.decide("deploy"), Block);
}

#[test]
fn one_question_is_asked_for_both_and_its_answer_counts_for_both() {
    let asks = "require human-approval before deploy";
    for (before, after) in
        [(asks, "block x"), ("block x", asks), (asks, "require human-approval before deploy\nblock y")]
    {
        let mut world = Restarts::new(before);
        assert_eq!(world.decide("other"), Allow);
        world.becomes(after);
        let verdict = world.call("deploy");
        assert_eq!(verdict.decision, Ask, "{before} -> {after}");
        let rules: Vec<&str> = verdict.obstacles.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(rules, ["approve-before-deploy"], "{before} -> {after}");
        let approval = verdict.approval.unwrap();
        let granted = world.gate().answer(&approval, true, Time(1)).unwrap();
        assert_eq!(granted.decision, Allow, "{before} -> {after}: {granted:?}");
        let refused = world.call("deploy").approval.unwrap();
        assert_eq!(refused.number, 2);
        assert_eq!(world.gate().answer(&refused, false, Time(2)).unwrap().decision, Block);
        // A question that is open when the policy changes.
        let open = world.call("deploy").approval.unwrap();
        world.becomes("block deploy");
        assert_eq!(world.gate().answer(&open, true, Time(3)).unwrap().decision, Block);
        assert_eq!(world.gate().session(SESSION).unwrap().asked().len(), 0);
    }
}

#[test]
fn sessions_follow_where_that_is_said_and_block_where_the_accepted_policy_is_lost() {
    let rest = MemoryRest::default();
    let (strict, lax) = (rules("block wipe"), rules("block x"));
    let call = |id: &str| Call::new(id, "wipe").in_session(SESSION);
    let first = gate_of(&rest, std::slice::from_ref(&strict), PolicyChanges::Hold);
    assert_eq!(first.call(&call("1")).decision, Block);
    // The archive has lost the accepted policy.
    let lost = gate_of(&rest, std::slice::from_ref(&lax), PolicyChanges::Hold);
    let verdict = lost.call(&call("2"));
    assert_eq!(verdict.decision, Block);
    assert!(verdict.reason.contains("lockgate accept-policy"), "{}", verdict.reason);
    assert!(matches!(lost.held(SESSION), Err(StoreError::Unavailable(_))));
    // A held session does not follow because its settings say so now; a human has to accept that.
    let following = gate_of(&rest, std::slice::from_ref(&lax), PolicyChanges::Follow);
    assert_eq!(following.call(&call("3")).decision, Block);
    let replacing = gate_of(&rest, std::slice::from_ref(&lax), PolicyChanges::Replace);
    replacing.accept_policy(SESSION, "ada", Time(0)).unwrap();
    // A session that began so follows.
    let followed = |id: &str| Call::new(id, "wipe").in_session("author");
    assert_eq!(
        gate_of(&rest, std::slice::from_ref(&strict), PolicyChanges::Follow).call(&followed("1")).decision,
        Block
    );
    assert_eq!(following.call(&followed("2")).decision, Allow);
    // A new session is bound to the policy it finds, and a halt counts for both sides.
    let both = gate_of(&rest, &[lax, strict], PolicyChanges::Hold);
    assert_eq!(both.call(&Call::new("1", "wipe").in_session("other")).decision, Block);
    both.halt(Some(SESSION), "look first", Time(0)).unwrap();
    assert!(both.call(&Call::new("5", "ls").in_session(SESSION)).reason.contains("look first"));
    both.resume(Some(SESSION), Time(0)).unwrap();
    assert_eq!(both.call(&Call::new("6", "ls").in_session(SESSION)).decision, Allow);
    assert!(both.registry(SESSION).deactivate("block-wipe").is_err(), "its rules cannot be switched");
}

fn families() -> impl Strategy<Value = (SmallPolicy, SmallPolicy)> {
    let families = [
        Family::OneLine,
        Family::Nets,
        Family::WhenThen,
        Family::Rulesets,
        Family::Workflows,
        Family::Conditions,
        Family::Mixtures,
    ];
    let pair = |family| {
        let edit = (small_policies(family), any::<(Index, Index, Index)>())
            .prop_map(|(old, (file, statement, how))| (old.clone(), edited(&old, file, statement, how)));
        let other = (small_policies(family), small_policies(family));
        prop_oneof![2 => edit, 1 => other]
    };
    proptest::sample::select(families.to_vec()).prop_flat_map(pair)
}

fn sources(policy: &SmallPolicy) -> Vec<Source> {
    policy.texts().into_iter().map(|(name, text)| Source::new(name, text)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_call_passes_only_if_the_accepted_and_the_changed_policy_alone_let_it_pass(
        (old, new) in families(),
        before in vec((any::<Index>(), any::<bool>()), 1..6),
        after in vec((any::<Index>(), any::<bool>()), 1..8),
    ) {
        let calls: Vec<Call> = old.calls().into_iter().chain(new.calls()).collect();
        prop_assume!(!calls.is_empty());
        let (old, new) = (sources(&old), sources(&new));
        // An edit may leave a policy that is not one.
        prop_assume!(lockgate::engine::languages::read(&new).0.is_some());
        let (accepted, changed) = (Arc::new(compiled(&old)), Arc::new(compiled(&new)));
        prop_assume!(accepted.hash() != changed.hash());
        let rest = MemoryRest::default();
        let first = gate_of(&rest, std::slice::from_ref(&old), PolicyChanges::Hold);
        let alone = Gate::new(Arc::clone(&accepted));
        let mut number = 0;
        let mut named = |which: &Index| {
            number += 1;
            let mut call = which.get(&calls).clone().in_session(SESSION);
            call.id = number.to_string();
            call.at(Time(number * 1_000))
        };
        for (which, ok) in &before {
            let call = named(which);
            for gate in [&first, &alone] {
                gate.call_unattended(&call);
                gate.result(&Outcome { ok: *ok, ..Outcome::success(&call) }).unwrap();
            }
        }
        let kept = alone.session(SESSION).unwrap().to_json(&accepted);
        // A net that was redrawn under the session blocks everything; another test is about that.
        let Ok(moved) = Session::from_json(&kept, &changed) else { return Ok(()) };
        let other = Gate::builder(Arc::clone(&changed)).store(MemoryStore::with_session(SESSION, moved)).build().unwrap();
        let held = gate_of(&rest, &[old, new], PolicyChanges::Hold);
        // Workflows may end a stage earlier beside another policy, which only closes; what is shared is not decided at all.
        let may_be_stricter = [&accepted, &changed].iter().any(|it| it.shares() || !it.workflows().is_empty());
        for (which, ok) in &after {
            let call = named(which);
            let says = |gate: &Gate| {
                let session = gate.session(SESSION).unwrap();
                judge(gate.rulebook(), &session, &call.clone().into(), Human::Absent).verdict
            };
            let each = [says(&alone), says(&other)];
            let together = held.call_unattended(&call);
            let strictest = each.iter().map(|verdict| verdict.decision).max().unwrap();
            prop_assert!(together.decision >= strictest, "{call:?}\n{together:?}\n{each:?}");
            prop_assert!(may_be_stricter || together.decision == strictest, "{call:?}\n{together:?}\n{each:?}");
            let mut same = call.clone();
            if !together.lets_pass() {
                same.about.objection = Some("the other policy".to_owned());
            }
            for gate in [&alone, &other] {
                let verdict = gate.call_unattended(&same);
                prop_assert_eq!(verdict.lets_pass(), together.lets_pass());
            }
            let outcome = Outcome { ok: *ok, output: Some(json!({ "text": "done" })), ..Outcome::success(&call) };
            let settled: Vec<_> = [&alone, &other].map(|gate| gate.result(&outcome).unwrap()).into();
            let of_both = held.result(&outcome).unwrap();
            prop_assert!(settled.iter().all(|it| it.settled == of_both.settled && it.decision <= of_both.decision));
        }
    }
}
