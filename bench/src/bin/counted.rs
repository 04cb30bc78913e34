//! Does one thing that people wait for, so that its instructions can be counted: `cargo xtask counts` runs it.
//!
//! `counted` lists the cases, `counted CASE TIMES` does one so many times. Each time starts anew, with a policy and a
//! session of its own, because their tables have random seeds; then the case runs a few times unseen, so that what is
//! made once is there, and once inside of [`count_this`], the only function that whoever counts looks at. It keeps no
//! time and counts nothing itself.

use std::{
    cell::RefCell,
    hint::black_box,
    io::{Write, stdout},
    process::ExitCode,
    rc::Rc,
};

use lockgate::engine::{
    Call, Outcome, SeenCall, Session, Source, Time,
    call::{hosts, paths, read_script},
    gate::{Human, Rulebook, judge, settle},
};
use lockgate_bench::{
    by_regex, by_word, call, check_contains, ruleset, source, when_then,
    work::{COMMAND, SCRIPT_STEP},
};
use serde_json::json;

/// How often a case runs before it is counted: what is made once is made in the first run, what grows has grown.
const RUNS_BEFORE: usize = 3;

/// From nothing to what is counted.
type Prepare = fn() -> Act;

/// The name and what is done, in the order of the tables.
const CASES: [(&str, Prepare); 15] = [
    ("judge/no-rule-of-10", || {
        Act::new(judged(&source(10), Call::new("1", "read_file").with("path", "README.md")))
    }),
    ("judge/one-rule-of-10", || Act::new(judged(&source(10), call()))),
    ("judge/one-rule-of-1000", || Act::new(judged(&source(1_000), call()))),
    ("judge/100-words", || Act::new(judged(&when_then(by_word, 100), command(COMMAND)))),
    ("judge/100-regexes", || Act::new(judged(&when_then(by_regex, 100), command(COMMAND)))),
    ("judge/100-checks", || Act::new(judged(&ruleset(check_contains, 100), command(COMMAND)))),
    ("commit/one-rule-of-10", || committed(10)),
    ("settle/one-rule-of-10", || settled(10)),
    ("commit/10-in-flight", || among(10)),
    ("commit/10000-in-flight", || among(9_990)),
    ("commit/one-lapsed-of-10000", || lapsing(9_990)),
    ("see/command", || Act::new(|| drop(black_box(read_script(black_box("git push origin main")))))),
    ("see/pipeline", || Act::new(|| drop(black_box(read_script(black_box(COMMAND)))))),
    ("see/script", || {
        let script = SCRIPT_STEP.repeat(10);
        Act::new(move || drop(black_box(read_script(black_box(&script)))))
    }),
    ("see/paths-and-hosts", || {
        let call = places();
        Act::new(move || drop(black_box((paths(black_box(&call)), hosts(black_box(&call))))))
    }),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, times] = words.as_slice() else {
        let names: String = CASES.iter().map(|(name, _)| format!("{name}\n")).collect();
        return stdout().write_all(names.as_bytes()).map_or(ExitCode::from(2), |()| ExitCode::SUCCESS);
    };
    let (Some((_, prepare)), Ok(times)) = (CASES.iter().find(|case| case.0 == name), times.parse::<usize>())
    else {
        return ExitCode::from(2);
    };
    for _ in 0..times {
        let mut act = prepare();
        for _ in 0..RUNS_BEFORE {
            (act.run)();
            (act.undo)();
        }
        count_this(&mut *act.run);
    }
    ExitCode::SUCCESS
}

/// Whoever counts finds this function by its name: it must stay one, whatever the compiler thinks of it.
#[inline(never)]
fn count_this(run: &mut dyn FnMut()) {
    run();
}

/// What is counted, and what leads back to where it can be done again.
struct Act {
    run: Box<dyn FnMut()>,
    undo: Box<dyn FnMut()>,
}

impl Act {
    /// Something that changes nothing.
    fn new(run: impl FnMut() + 'static) -> Self {
        Self { run: Box::new(run), undo: Box::new(|| ()) }
    }
}

fn command(text: &str) -> Call {
    Call::new("call-1", "exec").with("command", text)
}

/// A call as an agent's own tools are called: paths and addresses in fields and in a command.
fn places() -> Call {
    Call::new("call-1", "bash")
        .with("command", "curl -s https://example.com/x -o build/x && cp -r build/x ../out")
        .with("file_path", "/srv/data/../data/old.db")
        .with("urls", json!(["https://example.org:8443/a?b=c", "http://[::1]/"]))
}

fn rulebook(source: &Source) -> Rulebook {
    let (policy, findings) = lockgate::engine::languages::read(std::slice::from_ref(source));
    Rulebook::new(policy.unwrap_or_else(|| unreachable!("the policy has no mistakes: {findings:?}")))
}

/// The question alone; nothing is remembered.
fn judged(source: &Source, call: Call) -> impl FnMut() + 'static {
    let (rulebook, session, call) = (rulebook(source), Session::default(), SeenCall::from(call));
    move || drop(black_box(judge(&rulebook, &session, black_box(&call), Human::Absent)))
}

/// The question and what is remembered of its answer.
fn committed(n_rules: usize) -> Act {
    let [ask, tell] = turns(n_rules);
    Act { run: ask, undo: tell }
}

/// The result of a call, taken in and remembered.
fn settled(n_rules: usize) -> Act {
    let [mut ask, tell] = turns(n_rules);
    ask();
    Act { run: tell, undo: ask }
}

/// The question and what is remembered of its answer while so many other calls are in flight.
fn among(n_flights: u64) -> Act {
    let rulebook = rulebook(&source(10));
    let session = in_flight(&rulebook, n_flights);
    let [ask, tell] = turns_in(rulebook, session);
    Act { run: ask, undo: tell }
}

/// The same, and each time the lease of one of them has just run out.
fn lapsing(n_flights: u64) -> Act {
    let rulebook = rulebook(&source(10));
    let mut session = in_flight(&rulebook, n_flights);
    let lease_ms = rulebook.terms.lease_ms;
    let mut turn = 0_u64;
    Act::new(move || {
        turn += 1;
        let call = SeenCall::from(Call { id: format!("late-{turn}"), at: Time(turn + lease_ms), ..call() });
        let judgement = black_box(judge(&rulebook, &session, black_box(&call), Human::Absent));
        judgement.events.iter().for_each(|event| session.apply(event));
    })
}

/// A session with calls whose results have not come; each was made a millisecond after the one before.
fn in_flight(rulebook: &Rulebook, n_flights: u64) -> Session {
    let mut session = Session::default();
    for n in 1..=n_flights {
        let call =
            Call { at: Time(n), ..Call::new(format!("running-{n}"), "read_file").with("path", "README.md") };
        let judgement = judge(rulebook, &session, &SeenCall::from(call), Human::Absent);
        judgement.events.iter().for_each(|event| session.apply(event));
    }
    session
}

/// A call that is judged and remembered, and its result; each makes way for the other.
fn turns(n_rules: usize) -> [Box<dyn FnMut()>; 2] {
    turns_in(rulebook(&source(n_rules)), Session::default())
}

fn turns_in(rulebook: Rulebook, session: Session) -> [Box<dyn FnMut()>; 2] {
    let rulebook = Rc::new(rulebook);
    let session = Rc::new(RefCell::new(session));
    let call = SeenCall::from(call());
    let outcome = Outcome::success(&call);
    let ask = {
        let (rulebook, session) = (rulebook.clone(), session.clone());
        move || {
            let mut session = session.borrow_mut();
            let judgement = black_box(judge(&rulebook, &*session, black_box(&call), Human::Absent));
            judgement.events.iter().for_each(|event| session.apply(event));
        }
    };
    let tell = move || {
        let mut session = session.borrow_mut();
        let settlement = black_box(settle(&rulebook, &*session, black_box(&outcome)));
        settlement.events.iter().for_each(|event| session.apply(event));
    };
    [Box::new(ask), Box::new(tell)]
}
