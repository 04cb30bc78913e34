//! A policy in force.

use std::collections::HashMap;

use lockgate::ApprovalId;
use lockgate_bindings::{OptionError, Options, SharedClock};
use pyo3::{prelude::*, types::PyDict};

use crate::{
    callbacks::{self, outside},
    convert::{to_json, to_python},
    error,
    policy::Policy,
    ruling::form,
    session::{Session, tool_call},
};

/// A clock that shows what it is told, for tests and replays.
#[pyclass(frozen, module = "lockgate")]
pub(crate) struct ManualClock(SharedClock);

#[pymethods]
impl ManualClock {
    /// A clock that shows this many milliseconds since 1970.
    #[new]
    #[pyo3(signature = (now_ms = 0))]
    fn new(now_ms: u64) -> Self {
        Self(SharedClock::new(now_ms))
    }

    /// Sets the clock. A session's time never runs backwards, whatever its clock says.
    fn set(&self, now_ms: u64) {
        self.0.set(now_ms);
    }
}

/// A policy in force. It can be shared between threads.
#[pyclass(frozen, module = "lockgate")]
pub(crate) struct Gate(lockgate::Gate);

/// The functions of the host.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Functions {
    validators: HashMap<String, Py<PyAny>>,
    on_results: HashMap<String, Py<PyAny>>,
    describe: HashMap<String, Py<PyAny>>,
    on_decision: Option<Py<PyAny>>,
}

#[pymethods]
impl Gate {
    /// Puts a policy in force. `options` are those of the package, without its functions and its clock.
    #[new]
    #[pyo3(signature = (policy, options, functions, clock = None))]
    fn new(
        py: Python<'_>,
        policy: &Policy,
        options: &Bound<'_, PyAny>,
        functions: Functions,
        clock: Option<&Bound<'_, ManualClock>>,
    ) -> PyResult<Self> {
        let options: Options = serde_json::from_value(to_json(options)?)
            .map_err(|error| error::misuse(format!("an option of the gate is wrong: {error}")))?;
        let mut builder = options.builder(&policy.0).map_err(|error| match error {
            OptionError::Store(error) => error::store(&error),
            error => error::misuse(error.to_string()),
        })?;
        if let Some(clock) = clock {
            builder = builder.clock(clock.get().0.clone());
        }
        for (net, function) in functions.validators {
            builder =
                builder.validate(&net, move |attempt, notes| callbacks::validate(&function, attempt, notes));
        }
        for (net, function) in functions.on_results {
            builder = builder
                .on_result(&net, move |success, notes| callbacks::on_result(&function, success, notes));
        }
        for (prefix, function) in functions.describe {
            builder = builder.describe_calls(&prefix, move |call| callbacks::describe(&function, call));
        }
        if let Some(function) = functions.on_decision {
            builder = builder.on_decision(move |call, verdict| callbacks::listen(&function, call, verdict));
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

    /// What the rules say to a call by itself, and what would be passed on of an output, as the line protocol writes both.
    #[pyo3(signature = (tool, input = None, output = None, **about))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        tool: &str,
        input: Option<&Bound<'py, PyAny>>,
        output: Option<&Bound<'py, PyAny>>,
        about: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let call = tool_call(tool, input, about)?;
        let output = output.map(to_json).transpose()?;
        let evaluated = outside(py, || self.0.evaluate(call, output.as_ref()))?;
        let (verdict, settlement) = evaluated.map_err(|error| error::input(error.to_string()))?;
        Ok((to_python(py, &form(&verdict))?, to_python(py, &form(&settlement))?))
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
