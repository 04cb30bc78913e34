//! One agent's conversation before the gate.

use lockgate::{ApprovalId, Counts, Past, StageMove, ToolCall, ToolResult};
use lockgate_bindings::{AboutError, tell};
use pyo3::{prelude::*, types::PyDict};
use serde_json::Value;

use crate::{
    callbacks::outside,
    convert::{object_to_python, to_json, to_object, to_python},
    error,
    ruling::{Answered, Output, Question, form},
};

/// One agent's conversation: what its rules remember.
#[pyclass(frozen, module = "lockgate")]
pub(crate) struct Session(pub(crate) lockgate::Session);

/// The call that the agent wants to make, and what the host knows about it.
pub(crate) fn tool_call(
    tool: &str,
    input: Option<&Bound<'_, PyAny>>,
    about: Option<&Bound<'_, PyDict>>,
) -> PyResult<ToolCall> {
    let mut call = ToolCall::new(tool, Value::Object(to_object(input)?));
    for (key, value) in about.into_iter().flatten() {
        let key: String = key.extract()?;
        let told = tell(call, &key, to_json(&value)?);
        call = told.map_err(|error| match error {
            AboutError::Unknown(_) => error::misuse(error.to_string()),
            AboutError::NotText(_) => error::input(error.to_string()),
        })?;
    }
    Ok(call)
}

#[pymethods]
impl Session {
    /// The name of the session.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Judges a call.
    #[pyo3(signature = (tool, input = None, **about))]
    fn call(
        &self,
        py: Python<'_>,
        tool: &str,
        input: Option<&Bound<'_, PyAny>>,
        about: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Answered> {
        let call = tool_call(tool, input, about)?;
        let ruling = outside(py, || self.0.request(call))?;
        ruling.map(Answered::from).map_err(|error| error::input(error.to_string()))
    }

    /// What each rule says to a call now, by itself. Nothing is stored.
    #[pyo3(signature = (tool, input = None, **about))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        tool: &str,
        input: Option<&Bound<'py, PyAny>>,
        about: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let call = tool_call(tool, input, about)?;
        let views = outside(py, || self.0.explain(call))?;
        to_python(py, &form(&views.map_err(|error| error::store(&error))?))
    }

    /// Stores the result of a call whose permit was detached.
    #[pyo3(signature = (call_id, output = None, *, ok = true))]
    fn settle(
        &self,
        py: Python<'_>,
        call_id: &str,
        output: Option<&Bound<'_, PyAny>>,
        ok: bool,
    ) -> PyResult<Output> {
        let output = output.map(to_json).transpose()?;
        let output = output.unwrap_or_default();
        let result = if ok { ToolResult::success(output) } else { ToolResult::failure(output) };
        let settled = outside(py, || self.0.settle(call_id, result))?;
        settled.map(Output).map_err(|error| error::store(&error))
    }

    /// Where the session stands, as the line protocol writes it.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let status = outside(py, || self.0.status())?;
        to_python(py, &form(&status.map_err(|error| error::store(&error))?))
    }

    /// What the model should know now, for a system prompt.
    fn prompt(&self, py: Python<'_>) -> PyResult<String> {
        outside(py, || self.0.prompt())?.map_err(|error| error::store(&error))
    }

    /// The ids of the open questions.
    fn questions(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let questions = outside(py, || self.0.questions())?;
        Ok(questions.map_err(|error| error::store(&error))?.iter().map(ToString::to_string).collect())
    }

    /// Goes on with a question by its name, where another part of the program or another process asked it.
    fn question(&self, py: Python<'_>, id: &str) -> PyResult<Question> {
        let id = ApprovalId::parse(id)
            .ok_or_else(|| error::answer(&format!("`{id}` is not the id of a question")))?;
        outside(py, || self.0.question(&id))?.map(Question).map_err(|error| error::answer(&error))
    }

    /// Whether another policy is in force than the one that the session is bound to. Then both decide.
    fn is_held(&self, py: Python<'_>) -> PyResult<bool> {
        outside(py, || self.0.is_held())?.map_err(|error| error::store(&error))
    }

    /// Binds the session to the policy in force. For a human who has seen what the change opens, never for the agent.
    fn accept_policy(&self, py: Python<'_>, by: &str) -> PyResult<()> {
        outside(py, || self.0.accept_policy(by))?.map_err(|error| error::store(&error))
    }

    /// Facts about the session from the host, such as a role; None removes one.
    fn describe(&self, py: Python<'_>, attributes: &Bound<'_, PyDict>) -> PyResult<()> {
        let attributes = to_object(Some(attributes.as_any()))?;
        outside(py, || self.0.describe(attributes))?.map_err(|error| error::store(&error))
    }

    /// Adds calls that ran before the gate was there, and returns what the rules would have said to each.
    fn replay<'py>(
        &self,
        py: Python<'py>,
        history: Vec<(String, Bound<'py, PyAny>, bool)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let past = |(tool, input, ok): (String, Bound<'py, PyAny>, bool)| {
            Ok(Past { tool, input: to_object(Some(&input))?, ok })
        };
        let history = history.into_iter().map(past).collect::<PyResult<Vec<Past>>>()?;
        let verdicts = outside(py, || self.0.replay(&history))?;
        to_python(py, &form(&verdicts.map_err(|error| error::store(&error))?))
    }

    #[expect(clippy::needless_pass_by_value, reason = "values that cross the border are handed over")]
    /// Sets the counters of a new session. Returns false if the session has begun already.
    fn seed(
        &self,
        py: Python<'_>,
        tool_calls: u64,
        attempts: u64,
        per_tool: Vec<(String, u64)>,
    ) -> PyResult<bool> {
        let counts = Counts { tool_calls, attempts };
        outside(py, || self.0.seed(counts, &per_tool))?.map_err(|error| error::store(&error))
    }

    /// Blocks every call of this session from now on.
    fn halt(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        outside(py, || self.0.halt(reason))?.map_err(|error| error::store(&error))
    }

    /// Ends a halt of this session.
    fn resume(&self, py: Python<'_>) -> PyResult<()> {
        outside(py, || self.0.resume())?.map_err(|error| error::store(&error))
    }

    /// Tells the gate what the user said to the agent.
    fn hear(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        outside(py, || self.0.hear(text))?.map_err(|error| error::store(&error))
    }

    /// Forgets that sensitive data was seen.
    fn untaint(&self, py: Python<'_>) -> PyResult<()> {
        outside(py, || self.0.untaint())?.map_err(|error| error::store(&error))
    }

    /// Moves a workflow to a stage; `drop_evidence` goes back to it as if it had just begun.
    #[pyo3(signature = (workflow, stage, *, drop_evidence = false))]
    fn move_stage(&self, py: Python<'_>, workflow: &str, stage: &str, drop_evidence: bool) -> PyResult<()> {
        let how = if drop_evidence { StageMove::Reset } else { StageMove::Set };
        outside(py, || self.0.move_stage(workflow, how, stage))?
            .map_err(|error| error::misuse(error.to_string()))
    }

    /// What the validator and the result hook of a net have noted.
    fn notes<'py>(&self, py: Python<'py>, net: &str) -> PyResult<Bound<'py, PyDict>> {
        let notes = outside(py, || self.0.notes(net))?;
        object_to_python(py, &notes.map_err(|error| error::store(&error))?)
    }

    /// Switches a net, a file or a name on in this session.
    fn activate(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        outside(py, || self.0.registry().activate(name))?.map_err(|error| error::misuse(error.to_string()))
    }

    /// Switches a net, a file or a name off in this session.
    fn deactivate(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        outside(py, || self.0.registry().deactivate(name))?.map_err(|error| error::misuse(error.to_string()))
    }

    /// The session as JSON, to go on with it elsewhere.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        outside(py, || self.0.to_json())?.map_err(|error| error::store(&error))
    }

    fn __repr__(&self) -> String {
        format!("<lockgate.Session {}>", self.0.name())
    }
}
