//! What a gate answers to a call, and what becomes of a permit.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use lockgate::{Ruling, ToolResult};
use pyo3::{prelude::*, types::PyDict};
use serde::Serialize;
use serde_json::Value;

use crate::{
    callbacks::outside,
    convert::{object_to_python, to_json, to_python},
    error,
};

/// A value of the library as its documented JSON.
pub(crate) fn form(value: &impl Serialize) -> Value {
    // Only maps whose keys are not strings cannot be written, and the library has none.
    serde_json::to_value(value).unwrap_or_default()
}

/// One of the three answers, as Python has it.
#[derive(IntoPyObject)]
pub(crate) enum Answered {
    Run(Permit),
    Ask(Question),
    Block(Refusal),
}

impl From<Ruling> for Answered {
    fn from(ruling: Ruling) -> Self {
        match ruling {
            Ruling::Run(permit) => Self::Run(Permit {
                id: permit.id().to_owned(),
                tool: permit.tool().to_owned(),
                session: permit.session().to_owned(),
                permit: Mutex::new(Some(permit)),
            }),
            Ruling::Ask(question) => Self::Ask(Question(question)),
            Ruling::Block(refusal) => Self::Block(Refusal(refusal)),
        }
    }
}

/// The right to run one tool call, once.
#[pyclass(frozen, module = "lockgate")]
pub(crate) struct Permit {
    #[pyo3(get)]
    id: String,
    #[pyo3(get)]
    tool: String,
    #[pyo3(get)]
    session: String,
    /// None after it was settled.
    permit: Mutex<Option<lockgate::Permit>>,
}

impl Permit {
    fn look<T>(&self, look: impl FnOnce(&lockgate::Permit) -> T) -> PyResult<T> {
        let permit = self.permit.lock().unwrap_or_else(PoisonError::into_inner);
        permit.as_ref().map(look).ok_or_else(was_settled)
    }

    fn take(&self) -> PyResult<lockgate::Permit> {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(was_settled)
    }
}

fn was_settled() -> PyErr {
    error::misuse("this permit was settled before; each permit is for one run")
}

#[pymethods]
impl Permit {
    /// The input to run the tool with, masked where a rule says so.
    #[getter]
    fn input<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.look(|permit| object_to_python(py, permit.input()))?
    }

    /// Whether the input is not the one that the agent sent.
    #[getter]
    fn is_masked(&self) -> PyResult<bool> {
        self.look(lockgate::Permit::is_masked)
    }

    /// The verdict, as the line protocol writes it.
    #[getter]
    fn verdict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let verdict = self.look(form)?;
        to_python(py, &verdict)
    }

    /// Stores the result, and returns what may be passed on of it.
    #[pyo3(signature = (output = None, *, ok = true))]
    fn settle(&self, py: Python<'_>, output: Option<&Bound<'_, PyAny>>, ok: bool) -> PyResult<Output> {
        let output = output.map(to_json).transpose()?.unwrap_or_default();
        let result = if ok { ToolResult::success(output) } else { ToolResult::failure(output) };
        let permit = self.take()?;
        match outside(py, || permit.settle(result))? {
            Ok(output) => Ok(Output(output)),
            Err(failed) => {
                let error = error::store(&failed);
                *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = Some(failed.into_permit());
                Err(error)
            }
        }
    }

    /// Leaves the call in flight and returns its id: `Session.settle` settles it later, in any process.
    fn detach(&self) -> PyResult<String> {
        Ok(self.take()?.detach())
    }

    fn __repr__(&self) -> String {
        format!("<lockgate.Permit {} of {}>", self.id, self.tool)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let permit = self.permit.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let Some(permit) = permit else { return };
        // A dropped permit is stored as a failure, which may wait for a session that a callback holds.
        Python::attach(|py| py.detach(|| drop(permit)));
    }
}

/// What may be passed on of a tool's output.
#[pyclass(frozen, module = "lockgate")]
pub(crate) struct Output(pub(crate) lockgate::Output);

#[pymethods]
impl Output {
    /// The value to hand to the agent: the tool's own, masked, or a sentence in its place.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.value().map(|value| to_python(py, value)).transpose()
    }

    /// What is decided about the output: allow, warn, redact or block.
    #[getter]
    fn decision(&self) -> &'static str {
        self.0.decision().word()
    }

    /// Whether the value is the tool's own.
    #[getter]
    fn is_unchanged(&self) -> bool {
        self.0.settlement().output.is_none() && self.0.decision() != lockgate::OutputDecision::Block
    }

    /// Why the output is not passed on as it is, and by which rule.
    #[getter]
    fn sentence(&self) -> Option<String> {
        self.0.sentence()
    }

    /// Whether a call was waiting for this result.
    #[getter]
    fn is_settled(&self) -> bool {
        self.0.is_settled()
    }

    /// Everything that was decided, as the line protocol writes it.
    #[getter]
    fn settlement<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &form(&self.0))
    }
}

/// A question to a human about one call.
#[pyclass(frozen, module = "lockgate")]
pub(crate) struct Question(pub(crate) lockgate::Question);

#[pymethods]
impl Question {
    /// The name of the question, to hand on and to answer.
    #[getter]
    fn id(&self) -> String {
        self.0.id().to_string()
    }

    /// The id of the call.
    #[getter]
    fn call_id(&self) -> &str {
        self.0.call_id()
    }

    /// The tool.
    #[getter]
    fn tool(&self) -> &str {
        self.0.tool()
    }

    /// What a human has to see before saying yes: the rules, the tool and the whole input.
    #[getter]
    fn text(&self) -> String {
        self.0.text()
    }

    /// The input as a human may see it, masked where a rule says so.
    #[getter]
    fn input<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        object_to_python(py, self.0.input())
    }

    /// The sentence for the agent.
    #[getter]
    fn sentence(&self) -> String {
        self.0.verdict().sentence()
    }

    /// The verdict, as the line protocol writes it.
    #[getter]
    fn verdict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &form(&self.0))
    }

    /// Stores a human's answer and goes on with the call.
    fn answer(&self, py: Python<'_>, granted: bool, by: &str) -> PyResult<Answered> {
        let answered = outside(py, || self.0.answer(granted, by))?;
        answered.map(Answered::from).map_err(|error| error::answer(&error))
    }

    /// Goes on with the call if the question was answered or its time is over; None while it is open.
    fn resume(&self, py: Python<'_>) -> PyResult<Option<Answered>> {
        let resumed = outside(py, || self.0.resume())?;
        resumed.map(|ruling| ruling.map(Answered::from)).map_err(|error| error::answer(&error))
    }

    /// Waits for an answer from elsewhere, for at most so many seconds, and goes on with the call.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<Answered> {
        let patience = Duration::try_from_secs_f64(seconds)
            .map_err(|_| error::misuse(format!("{seconds} is not a number of seconds")))?;
        let answered = outside(py, || self.0.wait(patience))?;
        answered.map(Answered::from).map_err(|error| error::answer(&error))
    }

    fn __repr__(&self) -> String {
        format!("<lockgate.Question {} about {}>", self.0.id(), self.0.tool())
    }
}

/// A call that must not run, and why.
#[pyclass(frozen, module = "lockgate")]
pub(crate) struct Refusal(lockgate::Refusal);

#[pymethods]
impl Refusal {
    /// The id of the call.
    #[getter]
    fn id(&self) -> &str {
        self.0.id()
    }

    /// The tool.
    #[getter]
    fn tool(&self) -> &str {
        self.0.tool()
    }

    /// The leading reason.
    #[getter]
    fn reason(&self) -> &str {
        self.0.reason()
    }

    /// The sentence for the agent: the reason and its rule, what else is in the way, and what to do first.
    #[getter]
    fn sentence(&self) -> String {
        self.0.sentence()
    }

    /// What the agent could call now to get closer.
    #[getter]
    fn next(&self) -> Vec<&str> {
        self.0.next().collect()
    }

    /// Whether it was refused because no human answered in time.
    #[getter]
    fn is_timeout(&self) -> bool {
        self.0.is_timeout()
    }

    /// The verdict, as the line protocol writes it.
    #[getter]
    fn verdict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &form(&self.0))
    }

    fn __repr__(&self) -> String {
        format!("<lockgate.Refusal of {}: {}>", self.0.tool(), self.0.reason())
    }
}
