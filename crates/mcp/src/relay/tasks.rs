//! Calls that become tasks: their results are fetched later, and looked at then like any other.

use lockgate::engine::call::Call;
use serde_json::{Map, Value, json};

use super::{
    call_states::CallInFlight,
    settlement::{ReviewedOutput, replaced},
    state::{Action, Handling, Relay, to_client},
};
use crate::{
    message::{Id, Members, Message, read_object, read_value, to_raw},
    protocol::{INVALID_PARAMS, answer, error, refusal},
};

impl Relay {
    /// A call has become a task.
    pub(super) fn begun(&mut self, task: String, flight: CallInFlight) {
        if let Some(left_out) = self.context.begin_task(&self.session, task, flight) {
            self.failed(&left_out);
        }
    }

    /// What became of a task.
    pub(super) fn task_result(
        &mut self,
        id: &Id,
        task: &str,
        message: &Message<'_>,
        actions: &mut Vec<Action>,
    ) -> Handling {
        let Some(raw) = message.members.get("result") else { return Handling::Pass };
        let Ok(result) = read_value("result", raw) else {
            let reason = "the server's result cannot be read.";
            actions.push(to_client(answer(id, &refusal(false, reason)), Some(id)));
            return Handling::Done;
        };
        match self.reviewed_task(task, result) {
            ReviewedOutput::Unchanged => Handling::Pass,
            ReviewedOutput::Replaced(result) => replaced(id, message, "result", &result, actions),
            ReviewedOutput::Withheld(reason) => {
                let reason = format!("Lockgate: {reason}");
                actions.push(to_client(error(Some(id), INVALID_PARAMS, &reason), Some(id)));
                Handling::Done
            }
        }
    }

    /// Reviews a task notification of a server. Returns the message to pass on instead, if it changes.
    pub(super) fn task_told(&mut self, message: &Message<'_>) -> Option<String> {
        let params = Value::Object(message.params().and_then(|raw| read_object("params", raw).ok())?);
        let task = params.get("taskId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut members = message.members.clone();
        match self.reviewed_task(&task, params) {
            ReviewedOutput::Unchanged => return None,
            ReviewedOutput::Replaced(params) => members.set("params", to_raw(&params)),
            ReviewedOutput::Withheld(_) => {
                members.set("params", to_raw(&json!({ "taskId": task, "status": "failed" })))
            }
        }
        Some(members.to_text())
    }

    /// A running task has no result yet; an ended one is settled by its result. The result of an unknown task
    /// is reviewed too: the model will see it.
    fn reviewed_task(&self, task: &str, said: Value) -> ReviewedOutput {
        let status = said.get("status").and_then(Value::as_str);
        let tells =
            ["result", "error", "content", "structuredContent"].iter().any(|name| said.get(name).is_some());
        // A server may call a task unfinished and tell its result all the same.
        if matches!(status, Some("working" | "input_required" | "submitted")) && !tells {
            return ReviewedOutput::Unchanged;
        }
        let unknown = || {
            let call = self.context.call(&self.session, "", Map::new(), None);
            CallInFlight { call: Call { id: format!("task {task}"), ..call }, is_modern: false, change: None }
        };
        let flight = self.context.task(&self.session, task).unwrap_or_else(unknown);
        let is_error = |value: &Value| value.get("isError") == Some(&Value::Bool(true));
        let ok = status.is_none_or(|status| status == "completed")
            && !is_error(&said)
            && !said.get("result").is_some_and(is_error);
        self.review_value(&flight, ok, Some(said))
    }
}

/// The name of the task that a call has become.
pub(super) fn task_of(kind: Option<&str>, result: &Members<'_>) -> Option<String> {
    let task = result.object("task").ok().flatten();
    if task.is_none() && kind != Some("task") {
        return None;
    }
    let inner = task.as_ref().and_then(|task| task.get("taskId")?.as_str().map(ToOwned::to_owned));
    inner.or_else(|| result.text("taskId").ok().flatten())
}
