//! Sessions that a real gate recorded, played again.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use lockgate::engine::{
    Call, Decision, Gate, Mode, Outcome, Policy, Time, Verdict,
    call::DuplicateKey,
    gate::{
        ApprovalId,
        audit_log::{LogEntry, LogEvent},
    },
    store::{Durability, Options, Query, Sqlite},
};
use proptest::prelude::*;

use super::world::{Flip, World};

const RULES: &str = "
    require test before deploy
    require human-approval before deploy
    require human-approval before publish
    limit push to 2 per session
    limit build to 2 per clean
    block format
";

const WHEN_THEN: &str = r#"
shield_name: replayed
version: 1
default_verdict: allow
rules:
  - id: ask-deploy
    when: {tool: deploy}
    then: approve
    approval_strategy: per_session
  - id: ask-publish-everywhere
    when: {tool: publish}
    then: approve
    approval_strategy: per_rule
  - id: many-pushes
    when: {tool: push, session: {tool_count.push: {gt: 1}}}
    then: block
  - id: busy
    when: {session: {total_calls: {gt: 12}}}
    then: block
  - id: mail
    when: {tool: build}
    then: redact
"#;

const TOOLS: [&str; 8] = ["test", "deploy", "publish", "push", "build", "clean", "format", "read"];
const SESSIONS: [&str; 2] = ["generic/a", "generic/b"];

/// One thing that happens while a gate records.
#[derive(Clone, Debug)]
enum Act {
    Call {
        session: usize,
        tool: usize,
        id: Id,
        attended: bool,
    },
    /// A human answers the how-manieth open question.
    Answer {
        which: usize,
        granted: bool,
    },
    /// The how-manieth call that was let pass ends; it may have ended before.
    Result {
        which: usize,
        ok: bool,
    },
    /// The how-manieth call comes by another door.
    Sight {
        which: usize,
    },
    Wait {
        ms: u64,
    },
    Halt {
        session: Option<usize>,
    },
    Resume {
        session: Option<usize>,
    },
}

/// How a host names calls.
#[derive(Clone, Copy, Debug)]
enum Id {
    New,
    /// The id of the call before.
    Again,
    /// Not at all.
    None,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let id = prop_oneof![6 => Just(Id::New), 1 => Just(Id::Again), 2 => Just(Id::None)];
    let session = || proptest::option::of(0..SESSIONS.len());
    let act = prop_oneof![
        10 => (0..SESSIONS.len(), 0..TOOLS.len(), id, prop::bool::weighted(0.8))
            .prop_map(|(session, tool, id, attended)| Act::Call { session, tool, id, attended }),
        4 => (0..4_usize, prop::bool::weighted(0.7)).prop_map(|(which, granted)| Act::Answer { which, granted }),
        8 => (0..4_usize, prop::bool::weighted(0.7)).prop_map(|(which, ok)| Act::Result { which, ok }),
        1 => (0..4_usize).prop_map(|which| Act::Sight { which }),
        2 => prop_oneof![1..10_000_u64, 500_000..700_000_u64, Just(4_000_000)].prop_map(|ms| Act::Wait { ms }),
        1 => session().prop_map(|session| Act::Halt { session }),
        2 => session().prop_map(|session| Act::Resume { session }),
    ];
    prop::collection::vec(act, 1..60)
}

/// A database of this test's own, taken away afterwards.
struct Recorded {
    folder: PathBuf,
    store: Arc<Sqlite>,
    /// How many calls were judged.
    calls: u64,
}

impl Drop for Recorded {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Recorded {
    fn new(policy: impl Into<Arc<Policy>>, acts: &[Act]) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("lockgate-replay-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let options = Options { durability: Durability::Normal, ..Options::default() };
        let store = Arc::new(Sqlite::open(folder.join("state.db"), options).unwrap());
        let gate = Gate::builder(policy).backend(Arc::clone(&store)).build().unwrap();
        let calls = record(&gate, acts);
        Self { folder, store, calls }
    }

    fn entries(&self) -> Vec<(u64, LogEntry)> {
        let links = self.store.audit_log(Query::default()).map(Result::unwrap);
        links.map(|link| (link.n, serde_json::from_str(&link.entry).unwrap())).collect()
    }

    fn replayed(&self, policy: impl Into<Arc<Policy>>) -> (Vec<Flip>, World) {
        let mut world = World::new(policy, Mode::Enforce);
        let flips = self.entries().into_iter().filter_map(|(n, entry)| world.take(n, entry, true)).collect();
        (flips, world)
    }
}

fn record(gate: &Gate, acts: &[Act]) -> u64 {
    let (mut now, mut ids, mut judged) = (Time(1_767_225_600_000), 0, 0);
    let mut open: Vec<(ApprovalId, Call)> = Vec::new();
    let mut passed: Vec<Call> = Vec::new();
    for act in acts {
        now = now.after_ms(1);
        match act {
            Act::Call { session, tool, id, attended } => {
                ids += u64::from(matches!(id, Id::New));
                let id = if matches!(id, Id::None) { String::new() } else { ids.to_string() };
                let mut call = Call::new(id, TOOLS[*tool]).in_session(SESSIONS[*session]).at(now);
                call.about.duplicate_key =
                    Some(DuplicateKey { door: "before".into(), identifying_fields: Vec::new() });
                let verdict = if *attended { gate.call(&call) } else { gate.call_unattended(&call) };
                judged += u64::from(!is_sighting(&verdict));
                match verdict.approval {
                    Some(approval) => open.push((approval, call)),
                    None if verdict.decision != Decision::Block => passed.push(call),
                    None => {}
                }
            }
            Act::Answer { which, granted } if *which < open.len() => {
                let (approval, call) = open.remove(*which);
                match gate.answer(&approval, *granted, now) {
                    Ok(verdict) if verdict.approval.is_some() => open.push((verdict.approval.unwrap(), call)),
                    Ok(verdict) if verdict.decision != Decision::Block => passed.push(call),
                    _ => {}
                }
            }
            Act::Result { which, ok } if *which < passed.len() => {
                let call = &passed[*which];
                let like = call.id.is_empty().then(|| Box::new(call.clone()));
                gate.result(&Outcome { ok: *ok, like, at: now, ..Outcome::success(call) }).unwrap();
            }
            Act::Sight { which } if *which < passed.len() && !passed[*which].id.is_empty() => {
                let mut call = passed[*which].clone().at(now);
                call.about.duplicate_key =
                    Some(DuplicateKey { door: "after".into(), identifying_fields: Vec::new() });
                // Once it has ended, it is a new call.
                let verdict = gate.call(&call);
                judged += u64::from(!is_sighting(&verdict));
                open.extend(verdict.approval.map(|approval| (approval, call)));
            }
            Act::Wait { ms } => now = now.after_ms(*ms),
            Act::Halt { session } => gate.halt(session.map(|it| SESSIONS[it]), "stop", now).unwrap(),
            Act::Resume { session } => gate.resume(session.map(|it| SESSIONS[it]), now).unwrap(),
            Act::Answer { .. } | Act::Result { .. } | Act::Sight { .. } => {}
        }
    }
    judged
}

/// Whether a call was only seen again: then nobody asked what it amounts to.
fn is_sighting(verdict: &Verdict) -> bool {
    verdict.decision == Decision::Allow && verdict.deeds.is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_policy_of_the_record_flips_nothing(acts in acts()) {
        for policy in [|| lockgate::Policy::rules(RULES).unwrap(), || lockgate::Policy::builder().text("policy.yaml", WHEN_THEN).load().unwrap()] {
            let recorded = Recorded::new(policy(), &acts);
            let (flips, world) = recorded.replayed(policy());
            prop_assert_eq!(flips, Vec::new());
            prop_assert_eq!(world.counted().calls, recorded.calls);
        }
    }

    #[test]
    fn a_policy_without_rules_refuses_nothing_whatever_was_recorded(acts in acts()) {
        let recorded = Recorded::new(lockgate::Policy::rules(RULES).unwrap(), &acts);
        let (flips, _) = recorded.replayed(lockgate::Policy::rules("block nothing_of_these").unwrap());
        for flip in flips {
            prop_assert_eq!(&flip.new.verdict, "allow", "{:?}", flip);
            prop_assert!(!flip.ran);
        }
    }
}

/// A call in the first session, and what a human says who is asked; it succeeds if it is let pass.
fn run(tool: &str, granted: Option<bool>) -> Vec<Act> {
    let tool = TOOLS.iter().position(|it| *it == tool).unwrap();
    let mut acts = vec![Act::Call { session: 0, tool, id: Id::New, attended: true }];
    acts.extend(granted.map(|granted| Act::Answer { which: 0, granted }));
    // Of those that ended before, a second result is a stray.
    acts.extend((0..9).map(|which| Act::Result { which, ok: true }));
    acts
}

/// What flips, as `tool old>new`, with a `!` where the call ran all the same.
fn flips(old: &str, new: &str, acts: &[Vec<Act>]) -> String {
    let recorded = Recorded::new(lockgate::Policy::rules(old).unwrap(), &acts.concat());
    let (flips, _) = recorded.replayed(lockgate::Policy::rules(new).unwrap());
    let shown = flips.iter().map(|flip| {
        let Flip { call, old, new, ran, .. } = flip;
        format!("{} {}>{}{}", call.tool, old.verdict, new.verdict, if *ran { "!" } else { "" })
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[test]
fn after_a_flip_the_record_goes_on() {
    let (asks, tested) = ("require human-approval before deploy", "require test before deploy");
    let two = ["limit push to 2 per session", "limit push to 1 per session", "block format"];
    for (old, new, acts, told) in [
        // What ran has run.
        (two[0], two[1], vec![run("push", None), run("push", None), run("push", None)], "push allow>block!"),
        (
            two[2],
            "block test\nrequire test before deploy",
            vec![run("test", None), run("deploy", None)],
            "test allow>block!",
        ),
        // What did not run has not run.
        (
            two[1],
            two[0],
            vec![run("push", None), run("push", None), run("push", None)],
            "push block>allow, push block>allow",
        ),
        (
            "block test",
            tested,
            vec![run("test", None), run("deploy", None)],
            "test block>allow, deploy allow>block!",
        ),
        // What waited for a human waits, and then runs or not.
        (asks, two[2], vec![run("deploy", Some(true))], "deploy ask>allow"),
        (asks, "block deploy", vec![run("deploy", Some(true))], "deploy ask>block"),
        (
            asks,
            "limit deploy to 1 per session",
            vec![run("deploy", Some(false)), run("deploy", Some(true))],
            "deploy ask>allow, deploy ask>allow",
        ),
        (
            asks,
            "limit deploy to 1 per session",
            vec![run("deploy", Some(true)), run("deploy", Some(true))],
            "deploy ask>allow, deploy ask>block",
        ),
        // Nobody was asked then, so nobody has answered.
        (
            two[2],
            asks,
            vec![run("deploy", None), run("deploy", None)],
            "deploy allow>ask!, deploy allow>ask!",
        ),
        ("block deploy", asks, vec![run("deploy", None)], "deploy block>ask"),
        // What humans said counts where both ask.
        (
            asks,
            "require human-approval before deploy\nlimit deploy to 1 per session",
            vec![run("deploy", Some(true)), run("deploy", Some(true))],
            "deploy ask>block",
        ),
        (
            asks,
            "require human-approval before deploy\nblock push",
            vec![run("deploy", Some(true)), run("push", None)],
            "push allow>block!",
        ),
    ] {
        assert_eq!(flips(old, new, &acts), told, "{old} -> {new}");
    }
}

#[test]
fn a_session_that_was_forgotten_begins_anew() {
    let rules = "limit push to 1 per session";
    let recorded = Recorded::new(lockgate::Policy::rules(rules).unwrap(), &run("push", None));
    let forget =
        r#"{"at":1767225700000,"what":"operator","act":"forget","about":{"sessions":["generic/a"]}}"#;
    let forgotten = recorded.store.forget(Time(u64::MAX), 10, &|_| forget.to_owned()).unwrap();
    assert_eq!(forgotten, 1);
    let gate = Gate::builder(lockgate::Policy::rules(rules).unwrap())
        .backend(Arc::clone(&recorded.store))
        .build()
        .unwrap();
    assert_eq!(record(&gate, &run("push", None)), 1);
    let (flips, world) = recorded.replayed(lockgate::Policy::rules(rules).unwrap());
    assert_eq!((flips, world.counted().calls), (Vec::new(), 2));
}

#[test]
fn a_masked_input_is_counted() {
    let recorded = Recorded::new(lockgate::Policy::rules("block format").unwrap(), &[]);
    let gate = Gate::builder(lockgate::Policy::rules("block format").unwrap())
        .backend(Arc::clone(&recorded.store))
        .build()
        .unwrap();
    gate.call(&Call::new("1", "read").with("text", "write to bob@example.com"));
    gate.call(&Call::new("2", "read").with("text", "nothing to hide"));
    let (_, world) = recorded.replayed(lockgate::Policy::rules("block format").unwrap());
    assert_eq!((world.counted().calls, world.counted().masked), (2, 1));
}

#[test]
fn what_is_not_compared_is_played_all_the_same() {
    let acts = [run("push", None), run("push", None)].concat();
    let recorded = Recorded::new(lockgate::Policy::rules("block format").unwrap(), &acts);
    let mut world =
        World::new(lockgate::Policy::rules("limit push to 1 per session").unwrap(), Mode::Enforce);
    let last =
        recorded.entries().iter().rev().find(|(_, it)| matches!(it.what, LogEvent::Call { .. })).unwrap().0;
    let taken = recorded.entries().into_iter().filter_map(|(n, entry)| world.take(n, entry, n == last));
    assert_eq!(taken.map(|flip| flip.n).collect::<Vec<_>>(), [last]);
    assert_eq!(world.counted().calls, 1);
}

#[test]
fn a_call_under_the_id_of_one_that_waits_answers_nothing() {
    let rules = || lockgate::Policy::rules("require human-approval before deploy").unwrap();
    let call = |tool, id| Act::Call { session: 0, tool, id, attended: true };
    for granted in [true, false] {
        let acts = [call(1, Id::New), call(0, Id::Again), Act::Answer { which: 0, granted }];
        let recorded = Recorded::new(rules(), &acts);
        let (flips, world) = recorded.replayed(rules());
        assert_eq!((flips, world.counted().calls), (Vec::new(), 2), "{granted}");
    }
}
