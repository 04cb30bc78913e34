//! Does jobs with Dogwood's local engine, as its users do.
//!
//! - A call is an event: `request` when it is made, `response` when it succeeded. The engine remembers every event,
//!   so there is no decision without a trace, and `judge` is not among the tasks.
//! - `commit` and `recall` decide in memory: the language's authorizer over the local engine. `store` is the durable
//!   engine, which writes each event to disk before it decides. Both keep each principal's history apart: the durable
//!   engine does so by itself, and it is the faster way.
//! - Each decision makes every rule's memory longer, for as long as the rule looks back. So that a decision is timed
//!   after what happened earlier, and not after thousands of its kind, the memory is set back before each sample.
//!   Setting it back leaves the memory cold; one decision that is not timed warms it.
//! - Stamping an event with its time and building it is timed: it cannot be done before, and `submit` does it too.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dogwood_language::{
    Authorizer, Error as Refusal, Event, EventBuilder, EventSignature, LoweredPolicySet, PartitionKey,
    PolicySchema, ServiceSchema, TemporalBindings, TemporalEngine, TemporalField, Validator, Value,
    cedar::Schema,
};
use dogwood_local_engine::{
    DurableError, DurableTemporalEngine, LocalTemporalEngine, Outcome as Submission, TickRate,
};
use lockgate_peers::{
    Outcome, answer, cannot, done,
    job::{Job, Request, Task, Told},
    pace::{pace, pace_anew},
    texts, told,
};

/// As pinned in `Cargo.toml`; the library does not tell.
const VERSION: &str = "1.1.1";

/// How far two events are apart. Timestamps must grow, and all of them must stay within the day that rules look back.
const STEP_NANOS: i64 = 1_000;

/// After how many events the durable engine takes a snapshot, as its documentation does.
const SNAPSHOT_INTERVAL: u64 = 1_000;

fn main() -> ExitCode {
    answer(run)
}

fn run(job: &Job) -> Outcome {
    let budget = Duration::from_millis(job.budget_ms);
    Ok(match job.task {
        Task::Judge => cannot("remembers every call it decides"),
        Task::Commit | Task::Recall => {
            let call = job.call.as_ref().ok_or("the job has no call to decide")?;
            let mut gate = Gate::load(job)?;
            gate.remember(job)?;
            let snapshot = gate.engine.lock().save_snapshot();
            let asked = event(call, "request")?;
            let verdict = gate.decide(&asked)?;
            let renew = |gate: &mut Gate| {
                let is_set_back = gate.engine.lock().load_snapshot(&snapshot);
                assert!(is_set_back, "the engine refuses its own snapshot");
                gate.submit(&asked);
            };
            let pace = pace_anew(budget, &mut gate, renew, |gate| gate.submit(&asked));
            done(VERSION.to_owned(), Some(verdict), pace)
        }
        Task::Store => store(job, budget)?,
        Task::Load => {
            Gate::load(job)?;
            done(VERSION.to_owned(), None, pace(budget, || Gate::load(job).is_ok()))
        }
        Task::Prove => cannot("checks types alone"),
        Task::Sessions | Task::See | Task::Explore => cannot("has no such thing"),
    })
}

/// An authorizer with the engine inside it in reach.
struct Gate {
    authorizer: Authorizer,
    engine: Shared,
    now_nanos: i64,
}

impl Gate {
    /// From files to the first decision, in the four steps of its documentation.
    fn load(job: &Job) -> Result<Self, Box<dyn Error>> {
        let schema = PolicySchema::from_cedarschema_str(&texts(job, "cedarschema")?)?;
        let policies =
            LoweredPolicySet::from_str(&texts(job, "dogwood")?, &ServiceSchema::defaults(), &schema)?;
        let validation = Validator::new().validate(&policies);
        if !validation.validation_passed() {
            return Err("the policy does not fit its schema".into());
        }
        let engine = Shared::new(LocalTemporalEngine::new().with_tick_rate(TickRate::NANOS));
        let authorizer =
            Authorizer::builder(policies).temporal_engine(engine.clone()).partition_temporal().build()?;
        Ok(Self { authorizer, engine, now_nanos: 0 })
    }

    /// Everything that happened earlier: each call, and that it succeeded.
    fn remember(&mut self, job: &Job) -> Result<(), Box<dyn Error>> {
        for earlier in &job.earlier {
            let (asked, succeeded) = (event(&earlier.call, "request")?, event(&earlier.call, "response")?);
            for _ in 0..earlier.times {
                if self.decide(&asked)? != Told::Allow {
                    return Err(format!("the earlier call of `{}` is not allowed", earlier.call.tool).into());
                }
                self.submit(&succeeded);
            }
        }
        Ok(())
    }

    /// One decision, looked at closely: what cannot be evaluated is denied, and a figure for that would be a wrong one.
    fn decide(&mut self, asked: &EventBuilder) -> Result<Told, Box<dyn Error>> {
        let response = self.submit(asked).ok_or("a request was not decided")?;
        match response.diagnostics().errors().next() {
            Some(problem) => Err(format!("a rule could not be evaluated: {problem}").into()),
            None => Ok(told(response.allowed())),
        }
    }

    fn submit(&mut self, event: &EventBuilder) -> Option<dogwood_language::Response> {
        self.now_nanos += STEP_NANOS;
        self.authorizer.is_authorized(&event.clone().timestamp(self.now_nanos).build())
    }
}

/// The engine, still in reach when the authorizer owns it. The durable engine does the same.
#[derive(Clone)]
struct Shared(Arc<Mutex<LocalTemporalEngine>>);

impl Shared {
    fn new(engine: LocalTemporalEngine) -> Self {
        Self(Arc::new(Mutex::new(engine)))
    }

    fn lock(&self) -> MutexGuard<'_, LocalTemporalEngine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TemporalEngine for Shared {
    fn prepare(
        &mut self,
        leaves: &[TemporalField],
        schema: &Schema,
        events: &[EventSignature],
    ) -> Result<(), Refusal> {
        self.lock().prepare(leaves, schema, events)
    }

    fn observe(&mut self, event: &Event) {
        self.lock().observe(event);
    }

    fn evaluate(&mut self) -> Result<TemporalBindings, String> {
        self.lock().evaluate()
    }

    fn supports_partitioning(&self) -> bool {
        self.lock().supports_partitioning()
    }

    fn set_partition_keys(&mut self, keys: &[PartitionKey]) {
        self.lock().set_partition_keys(keys);
    }
}

fn event(call: &Request, kind: &str) -> Result<EventBuilder, Box<dyn Error>> {
    let mut event = Event::builder_for(&["Bench", "Action"], &call.tool, kind)
        .principal_for("Bench::Agent", "agent")
        .resource_for("Bench::Host", "host");
    for (name, value) in &call.input {
        let text = value.as_str().ok_or_else(|| format!("the argument `{name}` is not a text"))?;
        let text = || Value::String(text.to_owned());
        event = event.field("input", name, text()).request_context("input", name, text());
    }
    Ok(event)
}

/// Decides on disk. The store lies beside the first file, so that whoever asks chooses the disk.
fn store(job: &Job, budget: Duration) -> Outcome {
    let call = job.call.as_ref().ok_or("the job has no call to decide")?;
    let folder = job.files.first().and_then(|file| file.parent()).ok_or("the job has no files")?;
    let place = Place(folder.join(format!("dogwood-{}.store", std::process::id())));
    let mut engine = DurableTemporalEngine::open(&place.0, SNAPSHOT_INTERVAL).map_err(refusal)?;
    engine.install(&texts(job, "dogwood")?, &texts(job, "cedarschema")?, None, None).map_err(refusal)?;
    for earlier in &job.earlier {
        for _ in 0..earlier.times {
            if decide_stored(&mut engine, event(&earlier.call, "request")?)? != Told::Allow {
                return Err(format!("the earlier call of `{}` is not allowed", earlier.call.tool).into());
            }
            engine.submit(event(&earlier.call, "response")?).map_err(refusal)?;
        }
    }
    let asked = event(call, "request")?;
    let verdict = decide_stored(&mut engine, asked.clone())?;
    let mut is_stored = true;
    let pace = pace(budget, || is_stored &= engine.submit(asked.clone()).is_ok());
    if !is_stored {
        return Err("a call could not be stored".into());
    }
    Ok(done(VERSION.to_owned(), Some(verdict), pace))
}

fn decide_stored(engine: &mut DurableTemporalEngine, asked: EventBuilder) -> Result<Told, Box<dyn Error>> {
    match engine.submit(asked).map_err(refusal)?.outcome {
        Submission::Recorded => Err("a request was not decided".into()),
        Submission::Decision(response) => match response.diagnostics().errors().next() {
            Some(problem) => Err(format!("a rule could not be evaluated: {problem}").into()),
            None => Ok(told(response.allowed())),
        },
    }
}

/// The durable engine's errors are no errors to the standard library.
fn refusal(problem: DurableError) -> String {
    format!("the store refuses: {problem}")
}

/// A file that goes when the job is done.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let path: &Path = &self.0;
        if let Err(problem) = fs::remove_file(path) {
            eprintln!("cannot remove `{}`: {problem}", path.display());
        }
    }
}
