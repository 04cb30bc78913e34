//! A policy in force.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use lockgate::{ApprovalId, Clock, Mode, Time};
use pyo3::prelude::*;

use crate::{
    callbacks::{self, outside},
    error,
    policy::Policy,
    session::Session,
};

/// A clock that shows what it is told, for tests and replays.
#[pyclass(frozen, module = "lockgate")]
pub(crate) struct ManualClock(Arc<AtomicU64>);

#[pymethods]
impl ManualClock {
    /// A clock that shows this many milliseconds since 1970.
    #[new]
    #[pyo3(signature = (now_ms = 0))]
    fn new(now_ms: u64) -> Self {
        Self(Arc::new(AtomicU64::new(now_ms)))
    }

    /// Sets the clock. A session's time never runs backwards, whatever its clock says.
    fn set(&self, now_ms: u64) {
        self.0.store(now_ms, Ordering::SeqCst);
    }
}

/// What a gate sees of such a clock.
struct ClockFace(Arc<AtomicU64>);

impl Clock for ClockFace {
    fn now(&self) -> Time {
        Time(self.0.load(Ordering::SeqCst))
    }
}

/// A policy in force. It can be shared between threads.
#[pyclass(frozen, module = "lockgate")]
pub(crate) struct Gate(lockgate::Gate);

/// What a gate is built with besides its policy.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Options<'py> {
    store: Option<String>,
    mode: String,
    clock: Option<Bound<'py, ManualClock>>,
    validators: HashMap<String, Py<PyAny>>,
    on_results: HashMap<String, Py<PyAny>>,
    describe: HashMap<String, Py<PyAny>>,
    on_decision: Option<Py<PyAny>>,
    names: HashMap<String, Vec<String>>,
    active: Option<Vec<String>>,
    answer_seconds: Option<f64>,
    result_seconds: Option<f64>,
    run_programs: bool,
}

#[pymethods]
impl Gate {
    #[new]
    fn new(py: Python<'_>, policy: &Policy, options: Options<'_>) -> PyResult<Self> {
        let mut builder = lockgate::Gate::builder(policy.0.clone()).mode(mode(&options.mode)?);
        if let Some(url) = &options.store {
            builder = builder.store(url).map_err(|error| error::store(&error))?;
        }
        if let Some(clock) = &options.clock {
            builder = builder.clock(ClockFace(clock.get().0.clone()));
        }
        for (net, function) in options.validators {
            builder =
                builder.validate(&net, move |attempt, notes| callbacks::validate(&function, attempt, notes));
        }
        for (net, function) in options.on_results {
            builder = builder
                .on_result(&net, move |success, notes| callbacks::on_result(&function, success, notes));
        }
        for (prefix, function) in options.describe {
            builder = builder.describe_calls(&prefix, move |call| callbacks::describe(&function, call));
        }
        if let Some(function) = options.on_decision {
            builder = builder.on_decision(move |call, verdict| callbacks::listen(&function, call, verdict));
        }
        for (name, members) in options.names {
            builder = builder.name(&name, members);
        }
        if let Some(active) = options.active {
            builder = builder.active(active);
        }
        if let Some(time) = options.answer_seconds {
            builder = builder.answer_time(seconds(time)?);
        }
        if let Some(time) = options.result_seconds {
            builder = builder.result_time(seconds(time)?);
        }
        if options.run_programs {
            builder = builder.run_programs();
        }
        let built = py.detach(|| builder.build());
        built.map(Self).map_err(|error| error::misuse(error.to_string()))
    }

    /// A session of this name: one agent's conversation.
    #[pyo3(signature = (name, *, unattended = false))]
    fn session(&self, name: &str, unattended: bool) -> Session {
        let session = self.0.session(name);
        Session(if unattended { session.unattended() } else { session })
    }

    /// Stores a human's answer to a question. The call goes on where it is waited for.
    fn answer(&self, py: Python<'_>, question: &str, granted: bool, by: &str) -> PyResult<()> {
        let id = ApprovalId::parse(question)
            .ok_or_else(|| error::answer(&format!("`{question}` is not the id of a question")))?;
        outside(py, || self.0.answer(&id, granted, by))?.map_err(|error| error::answer(&error))
    }

    /// Blocks every call of every session from now on.
    fn halt(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        outside(py, || self.0.halt(reason))?.map_err(|error| error::store(&error))
    }

    /// Ends a halt.
    fn resume(&self, py: Python<'_>) -> PyResult<()> {
        outside(py, || self.0.resume())?.map_err(|error| error::store(&error))
    }
}

fn mode(word: &str) -> PyResult<Mode> {
    match word {
        "enforce" => Ok(Mode::Enforce),
        "observe" => Ok(Mode::Observe),
        other => Err(error::misuse(format!("`{other}` is not a mode; use `enforce` or `observe`"))),
    }
}

fn seconds(time: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(time).map_err(|_| error::misuse(format!("{time} is not a number of seconds")))
}
