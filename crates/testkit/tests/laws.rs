//! Laws that hold whatever the rules and the history are.
//!
//! Each is one sentence; the worlds come from [`generate`]. The naive model is one of the witnesses: it shares no
//! code with the gate, and where both agree on thousands of worlds, a mistake must have been made twice.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may stop a test")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use lockgate::engine::{
    Call, Decision, Gate, MemoryStore, Mode, Outcome, Policy, Session, Severity, Source, Store, Time,
    Verdict,
    gate::{
        ApprovalId, Changes, Event, Human, OpenedSession, Reach, SharedState, StoreError, judge,
        judge_answer, settle,
    },
    languages::one_line,
};
use lockgate_testkit::{
    Judged, Model, Verdict as ModelVerdict,
    generate::{self, Happening},
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::Map;

/// The session everything happens in.
const SESSION: &str = "s";

fn cases(cases: u32) -> ProptestConfig {
    // A case that fails becomes a row of a page, not a file of seeds.
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn the_naive_model_agrees((policy, history) in generate::worlds(), other in option::of(generate::policies())) {
        let files: Vec<&str> = [policy.as_str()].into_iter().chain(other.as_deref()).collect();
        agree(&mut Live::new(gate(&files)), &mut Model::of_files(files), &history)?;
    }

    #[test]
    fn a_gate_that_observes_lets_all_pass_and_follows_what_happened((policy, history) in generate::worlds()) {
        let mut live = Live::new(Gate::builder(read(&[&policy])).mode(Mode::Observe).build().unwrap());
        agree(&mut live, &mut Model::new(&policy).observing(), &history)?;
        let session = live.gate.session(SESSION).unwrap();
        prop_assert!(session.asked().is_empty(), "nobody is asked");
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn judging_is_pure((policy, history) in generate::worlds_of_scripts()) {
        let mut live = Live::new(gate(&[&policy]));
        for (step, happening) in history.iter().enumerate() {
            let session = live.gate.session(SESSION).unwrap();
            let before = session.clone();
            let rulebook = live.gate.rulebook();
            let at = moment(step);
            match happening {
                Happening::Call { can_ask, .. } => {
                    let (call, human) = (call(happening, at).into(), human(*can_ask));
                    prop_assert_eq!(judge(rulebook, &session, &call, human), judge(rulebook, &session, &call, human));
                }
                Happening::Answer { id, granted } => {
                    let number = live.questions.get(id).map_or(0, |approval| approval.number);
                    prop_assert_eq!(
                        judge_answer(rulebook, &session, number, *granted, at),
                        judge_answer(rulebook, &session, number, *granted, at)
                    );
                }
                Happening::Result { id, ok } => {
                    let outcome = outcome(id, *ok, at);
                    prop_assert_eq!(settle(rulebook, &session, &outcome), settle(rulebook, &session, &outcome));
                }
                Happening::Switch { .. } => {}
            }
            prop_assert_eq!(&session, &before);
            live.happen(happening, at);
        }
    }

    #[test]
    fn a_joint_policy_decides_as_the_stricter_of_its_files(
        (one, history) in generate::worlds_of_scripts(),
        other in generate::policies(),
    ) {
        let joint = gate(&[&one, &other]);
        let parts = [gate(&[&one]), gate(&[&other])];
        let all = || parts.iter().chain([&joint]);
        for happening in &history {
            match happening {
                Happening::Call { can_ask, .. } => {
                    let call = call(happening, Time(0)).into();
                    let judged = |gate: &Gate| {
                        judge(gate.rulebook(), &gate.session(SESSION).unwrap(), &call, human(*can_ask)).verdict
                    };
                    let (together, apart) = (judged(&joint), parts.each_ref().map(judged));
                    let strictest = apart.iter().map(|verdict| verdict.decision).max();
                    prop_assert_eq!(Some(together.decision), strictest, "{:?}\n{}\n\n{}", call, one, other);
                    let is_by_rules = together.obstacles.iter().all(|obstacle| obstacle.rule.is_some());
                    let mut each: Vec<_> = apart.iter().flat_map(names).collect();
                    let mut of_joint = names(&together);
                    each.sort_unstable();
                    of_joint.sort_unstable();
                    prop_assert!(!is_by_rules || each == of_joint, "{each:?} {of_joint:?}\n{call:?}\n{one}\n\n{other}");
                    // Only what really runs reaches the sessions; so all three have seen the same.
                    if together.decision <= Decision::Ask {
                        all().for_each(|gate| run(gate, &call));
                    }
                }
                Happening::Result { id, ok } => {
                    let settled = all().map(|gate| gate.result(&outcome(id, *ok, Time(0))).unwrap().settled);
                    let settled: Vec<_> = settled.collect();
                    prop_assert!(settled.iter().all(|it| *it == settled[0]));
                }
                Happening::Switch { rule, active } => {
                    let names = joint.registry(SESSION).all();
                    if !names.is_empty() {
                        let name: &String = rule.get(&names);
                        all().for_each(|gate| switch(gate, name, *active));
                    }
                }
                Happening::Answer { .. } => {}
            }
        }
    }

    #[test]
    fn the_events_of_a_session_rebuild_it((policy, history) in generate::worlds_of_scripts()) {
        let events = Arc::default();
        let store = Recording { store: MemoryStore::new(), events: Arc::clone(&events) };
        let mut live = Live::new(Gate::builder(read(&[&policy])).store(store).build().unwrap());
        for (step, happening) in history.iter().enumerate() {
            live.happen(happening, moment(step));
        }
        let mut rebuilt = Session::default();
        events.lock().unwrap().iter().for_each(|event| rebuilt.apply(event));
        prop_assert_eq!(rebuilt, live.gate.session(SESSION).unwrap());
    }

    #[test]
    fn a_session_goes_on_after_a_rest_as_if_nothing_had_happened(
        (policy, history) in generate::worlds_of_scripts(),
        rest in any::<prop::sample::Index>(),
    ) {
        let rest = rest.index(history.len() + 1);
        let mut live = Live::new(gate(&[&policy]));
        for (step, happening) in history[..rest].iter().enumerate() {
            live.happen(happening, moment(step));
        }
        let saved = live.saved();
        let session = Session::from_json(&saved, live.gate.policy()).unwrap();
        prop_assert_eq!(&session, &live.gate.session(SESSION).unwrap());
        let mut rested = Live::new(resumed(&policy, session));
        rested.questions.clone_from(&live.questions);
        prop_assert_eq!(rested.saved(), saved);
        for (step, happening) in history.iter().enumerate().skip(rest) {
            prop_assert_eq!(live.happen(happening, moment(step)), rested.happen(happening, moment(step)));
            prop_assert_eq!(live.saved(), rested.saved());
        }
    }

    #[test]
    fn an_edited_limit_keeps_what_was_spent(
        scope in select(vec!["session", "r"]),
        tools in vec(select(vec!["a", "a", "r"]), 0..8),
        is_asked in any::<bool>(),
        limits in vec(1_u64..=4, 1..5),
    ) {
        let policy = |limit: u64| format!("limit a to {limit} per {scope}\nrequire human-approval before a.slowly");
        let mut live = Live::new(gate(&[&policy(3)]));
        let mut spent = 0_u64;
        for (step, tool) in tools.iter().enumerate() {
            let passed = live.gate.call(&Call::new(step.to_string(), *tool).in_session(SESSION)).lets_pass();
            match *tool {
                "a" => spent += u64::from(passed),
                _ => spent -= u64::from(scope == "r" && spent > 0),
            }
        }
        let slowly = Call::new("slowly", "a").in_session(SESSION).with("action", "slowly");
        let question = is_asked.then(|| live.gate.call(&slowly).approval).flatten();
        for limit in &limits {
            let session = Session::from_json(&live.saved(), &read(&[&policy(*limit)])).unwrap();
            live = Live::new(resumed(&policy(*limit), session));
        }
        question.iter().for_each(|question| drop(live.gate.answer(question, false, Time(0)).unwrap()));
        let more = (0..5).map(|number| Call::new(format!("more-{number}"), "a").in_session(SESSION));
        let more = more.filter(|call| live.gate.call(call).lets_pass()).count();
        let last = limits.last().copied().unwrap_or_default();
        prop_assert_eq!(more as u64, last.saturating_sub(spent), "{} spent, {:?}", spent, question);
    }

    #[test]
    fn a_doubt_never_opens_a_gate(script in doubts()) {
        let live = Live::new(gate(&[EARNING]));
        let earned = |id: &str, script: &str| {
            let before = live.gate.status(SESSION, Time(0)).unwrap().text();
            let call = Call::new(id, "bash").in_session(SESSION).with("command", script);
            prop_assert!(live.gate.call(&call).lets_pass());
            prop_assert!(live.gate.result(&outcome(id, true, Time(0))).unwrap().settled);
            Ok(before != live.gate.status(SESSION, Time(0)).unwrap().text())
        };
        run(&live.gate, &Call::new("0", "send").in_session(SESSION));
        prop_assert!(!earned("1", &script)?, "{script}");
        prop_assert!(earned("2", "cp a b")?, "what is certain does open it");
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn what_running_takes_the_bare_word_takes(script in scripts(select(LINES.to_vec()).prop_map(str::to_owned))) {
        for program in ["rm", "git", "echo"] {
            let [word, running] = blocked_under_both_forms(program, &script);
            prop_assert!(word || !running, "`{program}` in {script}");
        }
    }

    #[test]
    fn nothing_around_a_command_hides_what_it_runs(script in scripts(spellings())) {
        prop_assert_eq!(blocked_under_both_forms("rm", &script), [true; 2], "{}", script);
    }
}

/// Whether a script is blocked under the map of a bare word, and under that of what runs.
fn blocked_under_both_forms(program: &str, script: &str) -> [bool; 2] {
    ["bash.command", "bash running"].map(|form| {
        let gate = gate(&[&format!("map {form} {program} as taken\nblock taken")]);
        !gate.call(&Call::new("1", "bash").in_session(SESSION).with("command", script)).lets_pass()
    })
}

/// Lines that run, mention or hide something, and lines nobody can read.
const LINES: [&str; 12] = [
    "rm -rf x",
    "echo rm",
    "git commit -m 'stop calling rm'",
    "git $x",
    "gi''t push",
    "docker run --rm x",
    "$x rm",
    "ls # rm",
    "echo 'rm",
    "r\"\"m 'git'",
    "x=git; $x rm",
    "ls",
];

/// `rm x` in the spellings of people who do not want it to be found.
fn spellings() -> impl Strategy<Value = String> {
    let programs = [
        "rm",
        "r''m",
        "\\rm",
        "\"r\"m",
        "/bin/rm",
        "$'\\x72m'",
        "$'\\162'm",
        "${x:-rm}",
        "$(echo rm)",
        "$x",
        "r{,}m",
    ];
    let prefixes =
        ["sudo", "env A=1", "nohup", "timeout 5", "command", "exec", "nice -n 5", "xargs", "time", "busybox"];
    (
        vec(select(prefixes.to_vec()), 0..3),
        select(programs.to_vec()),
        select(vec!["x", "-rf /", "\"$y\"", "*"]),
    )
        .prop_map(|(prefixes, program, arguments)| {
            prefixes.into_iter().chain([program, arguments]).collect::<Vec<_>>().join(" ")
        })
}

/// Scripts that run a line somewhere within them.
fn scripts(line: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let around = [
        "( @ )",
        "{ @; }",
        "@; ls",
        "ls; @",
        "ls && @",
        "ls || @",
        "ls | @",
        "@ &",
        "! @",
        "echo $( @ )",
        "echo \"a $( @ ) b\"",
        "x=$( @ )",
        "cat <( @ )",
        "if @; then ls; fi",
        "while @; do ls; done",
        "for f in a b; do @; done",
        "f() { @; }; f",
        "cat <<E\n$( @ )\nE",
        "ls\n@\nls",
        "@ > out 2>&1",
        "bash -c %",
        "sudo sh -lc %",
        "eval %",
        "bash <<< %",
        "ssh host %",
        "trap % EXIT",
    ];
    (line, vec(select(around.to_vec()), 0..4)).prop_map(|(line, arounds)| {
        arounds.iter().fold(line, |script, around| {
            let quoted = format!("'{}'", script.replace('\'', r"'\''"));
            around.replace('@', &script).replace('%', &quoted)
        })
    })
}

/// A policy under which `cp` earns twice and nothing else does.
const EARNING: &str =
    "map bash.command cp as backup\nrequire backup before delete\nlimit send to 1 per backup";

/// Scripts that succeed although `cp` may not have, and scripts with such scripts in them.
fn doubts() -> impl Strategy<Value = String> {
    let doubts = [
        "echo cp",
        "cp a b || true",
        "cp a b; true",
        "cp a b & ",
        "cp a b | cat",
        "! cp a b",
        "true || cp a b",
        "$x cp a b",
        "$(echo cp) a b",
        "eval \"$x\"",
        "if false; then cp a b; fi",
        "for f in $none; do cp $f b; done",
        "cp() { true; }; cp a b",
        "alias cp=true\ncp a b",
        // The end comes before it.
        "exit 0; cp a b",
        "{ exit 0; }; cp a b",
        "if test -d x; then exit 0; fi; cp a b",
        "test -d x && exit 0; cp a b",
        "while true; do exit; done; cp a b",
        "exec ls; cp a b",
        "ex''it 0; cp a b",
        "\\exit 0; cp a b",
        "builtin exit; cp a b",
        "logout; cp a b",
        "return 0; cp a b",
        "set -n; cp a b",
        "x=exit; $x 0; cp a b",
        "trap 'exit 0' ERR; cp a b",
        // By then it is another program.
        "function cp { true; }; cp a b",
        "PATH=/tmp; cp a b",
        "PATH=/tmp:$PATH\ncp a b",
        "export PATH=/tmp; cp a b",
        "printf -v PATH /tmp; cp a b",
        "read PATH < x; cp a b",
        "for PATH in /tmp; do ls; done; cp a b",
        "unset PATH; cp a b",
        "let PATH=1; cp a b",
        "getopts a PATH; cp a b",
        "mapfile PATH < x; cp a b",
        "readarray PATH < x; cp a b",
        "wait -p PATH; cp a b",
        "select PATH in /tmp; do break; done; cp a b",
        "ls {PATH}> x; cp a b",
        "(( PATH = 1 )); cp a b",
        "BASH_CMDS[cp]=/bin/true; cp a b",
        "BASH_ALIASES[cp]=true; cp a b",
        "hash -p /bin/true cp; cp a b",
        ". ./x; cp a b",
        "shopt -s expand_aliases\nalias cp=true\ncp a b",
        "PATH=/tmp cp a b",
        "./cp a b",
        "ls # cp a b",
        "cat <<EOF\ncp a b\nEOF",
        "find . -name none -exec cp {} b +",
        "'cp a b",
    ];
    let around = [
        "@",
        "(@)",
        "{ @; }",
        "@; ls",
        "ls; @",
        "ls && @",
        "@\nls",
        "@ || ls",
        "if @; then ls; fi",
        "bash <<'E'\n@\nE",
    ];
    (select(doubts.to_vec()), vec(select(around.to_vec()), 0..4)).prop_map(|(doubt, arounds)| {
        arounds.iter().fold(doubt.to_owned(), |script, around| around.replace('@', &script))
    })
}

/// Plays a history to the gate and the model and compares every answer and every marking.
fn agree(live: &mut Live, model: &mut Model, history: &[Happening]) -> Result<(), TestCaseError> {
    for happening in history {
        match (live.happen(happening, Time(0)), happening) {
            (Came::Judged(verdict), Happening::Call { id, tool, input, can_ask }) => {
                let judged = model.call(id, tool, input.as_object().unwrap(), *can_ask);
                prop_assert_eq!(in_words_of_the_model(&verdict), judged);
            }
            (Came::Answered(verdict), Happening::Answer { id, granted }) => {
                let judged = model.answer(id, *granted);
                prop_assert_eq!(verdict.as_ref().map(in_words_of_the_model), judged);
            }
            (Came::Settled(settled), Happening::Result { id, ok }) => {
                prop_assert_eq!(settled, model.result(id, *ok));
            }
            (Came::Switched(Some(name)), Happening::Switch { active, .. }) => model.switch(&name, *active),
            _ => {}
        }
        let status = live.gate.status(SESSION, Time(0)).unwrap();
        let markings: Vec<_> = status.nets.iter().map(|net| format!("{}: {}", net.name, net.text)).collect();
        prop_assert_eq!(markings.join("\n"), model.markings());
    }
    Ok(())
}

fn in_words_of_the_model(verdict: &Verdict) -> Judged {
    let of_rules = verdict.obstacles.iter().filter(|obstacle| obstacle.rule.is_some());
    let observed = verdict.observed.iter().map(|obstacle| obstacle.name.clone());
    Judged {
        verdict: match verdict.decision {
            Decision::Allow | Decision::Redact => ModelVerdict::Allow,
            Decision::Ask => ModelVerdict::Ask,
            Decision::Block => ModelVerdict::Block,
        },
        // What the gate itself objects to, the model refuses without a reason.
        reason: of_rules.clone().next().map(|_| verdict.reason.clone()),
        obstacles: of_rules.map(|obstacle| obstacle.name.clone()).collect(),
        observed: observed.collect(),
    }
}

/// A gate, one session of it, and the questions open about its calls.
struct Live {
    gate: Gate,
    questions: BTreeMap<&'static str, ApprovalId>,
}

/// What came of one happening.
#[derive(Debug, PartialEq)]
enum Came {
    Judged(Verdict),
    Answered(Option<Verdict>),
    Settled(bool),
    Switched(Option<String>),
}

impl Live {
    fn new(gate: Gate) -> Self {
        Self { gate, questions: BTreeMap::new() }
    }

    fn happen(&mut self, happening: &Happening, at: Time) -> Came {
        match happening {
            Happening::Call { id, can_ask, .. } => {
                let call = call(happening, at);
                let verdict = match human(*can_ask) {
                    Human::Reachable => self.gate.call(&call),
                    Human::Absent => self.gate.call_unattended(&call),
                };
                self.remember(id, &verdict);
                Came::Judged(verdict)
            }
            Happening::Answer { id, granted } => {
                let asked = self.questions.remove(id);
                let verdict = asked.and_then(|approval| self.gate.answer(&approval, *granted, at).ok());
                verdict.iter().for_each(|verdict| self.remember(id, verdict));
                Came::Answered(verdict)
            }
            Happening::Result { id, ok } => {
                Came::Settled(self.gate.result(&outcome(id, *ok, at)).unwrap().settled)
            }
            Happening::Switch { rule, active } => {
                let names = self.gate.registry(SESSION).all();
                let name = (!names.is_empty()).then(|| (*rule.get(&names)).to_owned());
                name.iter().for_each(|name| switch(&self.gate, name, *active));
                Came::Switched(name)
            }
        }
    }

    fn remember(&mut self, id: &'static str, verdict: &Verdict) {
        self.questions.extend(verdict.approval.clone().map(|approval| (id, approval)));
    }

    fn saved(&self) -> String {
        self.gate.session(SESSION).unwrap().to_json(self.gate.policy())
    }
}

/// A store that keeps what was committed.
struct Recording {
    store: MemoryStore,
    events: Arc<Mutex<Vec<Event>>>,
}

struct RecordingOpened<'a> {
    opened: Box<dyn OpenedSession + 'a>,
    events: &'a Mutex<Vec<Event>>,
}

impl Store for Recording {
    fn open<'a>(&'a self, session: &'a str, reach: Reach) -> Result<Box<dyn OpenedSession + 'a>, StoreError> {
        Ok(Box::new(RecordingOpened { opened: self.store.open(session, reach)?, events: &self.events }))
    }

    fn commit_shared(&self, changes: &Changes<'_>) -> Result<(), StoreError> {
        self.store.commit_shared(changes)
    }
}

impl OpenedSession for RecordingOpened<'_> {
    fn session(&self) -> &Session {
        self.opened.session()
    }

    fn shared_state(&self) -> &SharedState {
        self.opened.shared_state()
    }

    fn commit(self: Box<Self>, changes: &Changes<'_>) -> Result<(), StoreError> {
        self.events.lock().unwrap().extend_from_slice(changes.events);
        self.opened.commit(changes)
    }
}

/// The laws hold for policies without a rule too, which nothing but code can make.
fn read(files: &[&str]) -> Policy {
    let draft = |(number, text): (usize, &&str)| {
        let (draft, mistakes) = one_line::parse(&Source::new(format!("{number}.rules"), *text));
        assert!(mistakes.iter().all(|it| it.severity < Severity::Error), "{mistakes:?}");
        draft
    };
    lockgate::engine::languages::compile(files.iter().enumerate().map(draft).collect()).0
}

fn gate(files: &[&str]) -> Gate {
    Gate::new(read(files))
}

/// A gate that finds this session in its store.
fn resumed(policy: &str, session: Session) -> Gate {
    Gate::builder(read(&[policy])).store(MemoryStore::with_session(SESSION, session)).build().unwrap()
}

/// Lets a call run that no rule refuses; whoever is asked agrees at once.
fn run(gate: &Gate, call: &Call) {
    let mut verdict = gate.call(call);
    if let Some(approval) = &verdict.approval {
        verdict = gate.answer(approval, true, call.at).unwrap();
    }
    assert!(verdict.lets_pass(), "{verdict:?}");
}

/// Switches a net; that it stands so already, or is another policy's, is no matter here.
fn switch(gate: &Gate, name: &str, active: bool) {
    let registry = gate.registry(SESSION);
    let _ = if active { registry.activate(name) } else { registry.deactivate(name) };
}

fn names(verdict: &Verdict) -> Vec<&str> {
    verdict.obstacles.iter().map(|obstacle| obstacle.name.as_str()).collect()
}

/// Steps that are far enough apart for questions and leases to run out now and then.
fn moment(step: usize) -> Time {
    Time(step as u64 * 3 * 60 * 1000)
}

fn human(can_ask: bool) -> Human {
    if can_ask { Human::Reachable } else { Human::Absent }
}

fn call(happening: &Happening, at: Time) -> Call {
    let Happening::Call { id, tool, input, .. } = happening else { panic!("a call") };
    let input: Map<_, _> = input.as_object().unwrap().clone();
    Call { input, ..Call::new(*id, *tool).in_session(SESSION).at(at) }
}

fn outcome(id: &str, ok: bool, at: Time) -> Outcome {
    Outcome { session: SESSION.into(), id: id.into(), ok, at, ..Outcome::default() }
}
