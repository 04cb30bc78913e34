//! Lockgate's own runner: does a job as a program that embeds the library would, and tells how long it took.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "its answer is what it is for")]

use std::{
    error::Error,
    fs, io,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use lockgate::engine::{
    Call, Decision, Gate, Outcome, Policy, SeenCall, Session,
    call::read_script,
    gate::{Human, Rulebook, judge, settle},
    petri::{Limits, explore, from_pnml},
    store::{Options, Sqlite},
};
use lockgate_bench::{
    job::{Answer, Done, Job, Pace, Request, Task, Told},
    pace::{of, pace},
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let answer = io::read_to_string(io::stdin())
        .map_err(Box::from)
        .and_then(|text| Ok(serde_json::from_str(&text)?))
        .and_then(|job| run(&job))
        .and_then(|answer| Ok(serde_json::to_string(&answer)?));
    match answer {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("lockgate-runner: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(job: &Job) -> Result<Answer> {
    let budget = Duration::from_millis(job.budget_ms);
    let done = match job.task {
        Task::Judge | Task::Recall => judged(job, budget)?,
        Task::Commit => committed(job, budget, &Gate::new(policy(job)?))?,
        Task::Store => stored(job, budget)?,
        Task::Load => {
            let sources = lockgate::engine::read_sources(&job.files)?;
            Done::of(pace(budget, || {
                lockgate::Policy::builder().sources(&sources).without_findings().load().is_ok()
            }))
        }
        Task::Prove => {
            let sources = lockgate::engine::read_sources(&job.files)?;
            let prove = || {
                let policy = lockgate::Policy::builder().sources(&sources).load().ok()?;
                let alone = lockgate::engine::prover::verify(&policy.compiled());
                Some((alone, lockgate::engine::prover::prove(&Rulebook::new(policy))))
            };
            Done::of(pace(budget, prove))
        }
        Task::Sessions => sessions(job)?,
        Task::See => seen(job, budget)?,
        Task::Explore => explored(job)?,
    };
    Ok(Answer::Done(Done { version: env!("CARGO_PKG_VERSION").to_owned(), ..done }))
}

fn policy(job: &Job) -> Result<Arc<Policy>> {
    Ok(lockgate::Policy::builder().files(&job.files).without_findings().load()?.compiled())
}

fn asked(job: &Job) -> Result<Call> {
    Ok(call(job.call.as_ref().ok_or("the job names no call")?, "asked"))
}

fn call(request: &Request, id: &str) -> Call {
    Call { input: request.input.clone(), ..Call::new(id, request.tool.as_str()) }
}

fn told(decision: Decision) -> Option<Told> {
    match decision {
        Decision::Allow => Some(Told::Allow),
        Decision::Block => Some(Told::Block),
        Decision::Ask | Decision::Redact => None,
    }
}

/// The judge alone, over a session in which everything earlier has happened.
fn judged(job: &Job, budget: Duration) -> Result<Done> {
    let rulebook = Rulebook::new(policy(job)?);
    let mut session = Session::default();
    for earlier in &job.earlier {
        let call = SeenCall::from(call(&earlier.call, "earlier"));
        for _ in 0..earlier.times {
            let judgement = judge(&rulebook, &session, &call, Human::Absent);
            judgement.events.iter().for_each(|event| session.apply(event));
            let settlement = settle(&rulebook, &session, &Outcome::success(&call));
            settlement.events.iter().for_each(|event| session.apply(event));
        }
    }
    let asked = SeenCall::from(asked(job)?);
    let act = || judge(&rulebook, &session, &asked, Human::Absent);
    let verdict = told(act().verdict.decision);
    Ok(Done { verdict, ..Done::of(pace(budget, act)) })
}

/// A call and its result, through a gate with its store. What has to come earlier is used up by the call, so it is done
/// again each time, and the time is that of one of all these calls.
fn committed(job: &Job, budget: Duration, gate: &Gate) -> Result<Done> {
    let earlier = job.earlier.iter().flat_map(|it| std::iter::repeat_n(call(&it.call, "earlier"), it.times));
    let calls: Vec<Call> = earlier.chain([asked(job)?]).collect();
    let seen = |call: Call| (Outcome::success(&call), SeenCall::from(call));
    let calls: Vec<(Outcome, SeenCall)> = calls.into_iter().map(seen).collect();
    let mut verdict = None;
    let act = || {
        for (outcome, call) in &calls {
            verdict = told(gate.call(call).decision);
            let _ = gate.result(outcome);
        }
    };
    let Pace { min, median, p99, samples } = pace(budget, act);
    let each = |all: f64| all / calls.len() as f64;
    let pace = Pace { min: each(min), median: each(median), p99: each(p99), samples };
    Ok(Done { verdict, ..Done::of(pace) })
}

/// The same, with both on disk before they are told.
fn stored(job: &Job, budget: Duration) -> Result<Done> {
    let folder = tempfile::tempdir()?;
    let backend = Sqlite::open(folder.path().join("state.db"), Options::default())?;
    committed(job, budget, &Gate::builder(policy(job)?).backend(Arc::new(backend)).build()?)
}

/// Many sessions in one process, each of which did the same; then one more call in each of them, in turn.
fn sessions(job: &Job) -> Result<Done> {
    let gate = Gate::new(policy(job)?);
    let asked = asked(job)?;
    let before = memory()?;
    for number in 0..job.sessions {
        for earlier in &job.earlier {
            let call = SeenCall::from(Call { session: number.to_string(), ..call(&earlier.call, "earlier") });
            let outcome = Outcome::success(&call);
            for _ in 0..earlier.times {
                gate.call(&call);
                gate.result(&outcome)?;
            }
        }
    }
    let grown = memory()?.saturating_sub(before);
    let mut verdict = None;
    let samples = (0..job.sessions.min(100_000)).map(|number| {
        // A walk with a stride, so that no cache has the session already.
        let session = (number * 7919 % job.sessions).to_string();
        let call = SeenCall::from(Call { session, ..asked.clone() });
        let started = Instant::now();
        verdict = told(gate.call(&call).decision);
        started.elapsed().as_secs_f64() * 1e9
    });
    let pace = of(samples.collect());
    Ok(Done { verdict, bytes: Some(grown / job.sessions.max(1) as u64), ..Done::of(pace) })
}

/// What this process holds in memory.
fn memory() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS here")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

/// Command lines, one a line: what each will do.
fn seen(job: &Job, budget: Duration) -> Result<Done> {
    let mut lines = Vec::new();
    for file in &job.files {
        let text = fs::read_to_string(file)?;
        lines.extend(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned));
    }
    let act = || lines.iter().map(|line| read_script(line).commands.len()).sum::<usize>();
    Ok(Done { count: Some(lines.len() as u64), ..Done::of(pace(budget, act)) })
}

/// Every marking of a net.
fn explored(job: &Job) -> Result<Done> {
    let file = job.files.first().ok_or("the job names no net")?;
    let net = from_pnml(&fs::read_to_string(file)?)?;
    let limits = Limits { states_max: usize::MAX, depth_max: usize::MAX };
    let (mut count, mut bytes) = (0, 0);
    let mut once = || {
        let started = Instant::now();
        let space = explore(&net, limits);
        (count, bytes) = (space.states() as u64, space.bytes() as u64);
        started.elapsed()
    };
    // The large ones take seconds, and what takes seconds needs few samples.
    let first = once();
    let rounds = if first > Duration::from_millis(200) { 2 } else { 5 };
    let samples = (0..rounds).map(|_| once().as_secs_f64() * 1e9).collect();
    Ok(Done { count: Some(count), bytes: Some(bytes), ..Done::of(of(samples)) })
}
