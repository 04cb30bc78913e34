//! One agent's conversation before the gate.

use std::sync::Arc;

use lockgate::{ApprovalId, Counts, Past, StageMove, ToolCall, ToolResult};
use lockgate_bindings::tell;
use napi::{Env, Result, bindgen_prelude::AsyncTask};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    callbacks::{Functions, check_outside, on_this_thread},
    error,
    later::Later,
    policy::form,
    ruling::{LaterRuling, Ruling, output_form},
};

/// One agent's conversation: what its rules remember.
#[napi]
pub struct Session {
    pub(crate) session: lockgate::Session,
    pub(crate) functions: Arc<Functions>,
}

/// The call that the agent wants to make.
pub(crate) fn read_call(tool: &str, input: &str, about: Option<&str>) -> Result<ToolCall> {
    let input: Map<String, Value> = serde_json::from_str(input)
        .map_err(|error| error::input(&format!("the input of `{tool}` is not plain JSON: {error}")))?;
    let about: Map<String, Value> = match about {
        None => Map::new(),
        Some(about) => serde_json::from_str(about)
            .map_err(|error| error::input(&format!("what is told about `{tool}` is wrong: {error}")))?,
    };
    let mut call = ToolCall::new(tool, Value::Object(input));
    for (key, value) in about {
        call = tell(call, &key, value).map_err(|error| error::input(&error))?;
    }
    Ok(call)
}

/// What can be asked and told about a session, besides calls.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "do")]
enum Command {
    Explain { tool: String, input: String, about: Option<String> },
    Settle { id: String, ok: bool, output: Value },
    Status,
    StatusText,
    NetsPrompt,
    Prompt,
    Questions,
    Describe { attributes: Map<String, Value> },
    Replay { history: Vec<PastCall> },
    Seed { tool_calls: u64, attempts: u64, per_tool: Vec<(String, u64)> },
    Halt { reason: String },
    Resume,
    Hear { text: String },
    Untaint,
    MoveStage { workflow: String, stage: String, drop_evidence: bool },
    Notes { net: String },
    Activate { name: String },
    Deactivate { name: String },
    Active,
    ToJson,
    IsHeld,
    AcceptPolicy { by: String },
}

/// A call that ran before the gate was there.
#[derive(Deserialize)]
struct PastCall {
    tool: String,
    #[serde(default)]
    input: Map<String, Value>,
    ok: bool,
}

#[napi]
impl Session {
    /// Judges a call.
    #[napi(catch_unwind)]
    pub fn call(&self, env: Env, tool: String, input: String, about: Option<String>) -> Result<Ruling> {
        let call = read_call(&tool, &input, about.as_deref())?;
        let functions = &self.functions;
        let ruling = on_this_thread(&env, functions, || {
            self.session.request(call).map_err(|error| error::input(&error))
        })?;
        Ok(Ruling::new(ruling, functions.clone()))
    }

    /// The same on another thread.
    #[napi(catch_unwind)]
    pub fn call_later(&self, tool: String, input: String, about: Option<String>) -> Result<LaterRuling> {
        check_outside()?;
        let call = read_call(&tool, &input, about.as_deref())?;
        let (session, functions) = (self.session.clone(), self.functions.clone());
        Ok(Later::promise(
            move || {
                let ruling = session.request(call).map_err(|error| error::input(&error))?;
                Ok(Some(Ruling::new(ruling, functions)))
            },
            |ruling| ruling,
        ))
    }

    /// Goes on with a question by its name.
    #[napi(catch_unwind)]
    pub fn question(&self, env: Env, id: String) -> Result<Ruling> {
        let approval = ApprovalId::parse(&id)
            .ok_or_else(|| error::answer(&format!("`{id}` is not the id of a question")))?;
        let question = on_this_thread(&env, &self.functions, || {
            self.session.question(&approval).map_err(|error| error::answer(&error))
        })?;
        Ok(Ruling::new(lockgate::Ruling::Ask(question), self.functions.clone()))
    }

    /// Asks or tells something else.
    #[napi(catch_unwind)]
    pub fn ask(&self, env: Env, command: String) -> Result<String> {
        on_this_thread(&env, &self.functions, || answer(&self.session, &command))
    }

    /// The same on another thread.
    #[napi(catch_unwind)]
    pub fn ask_later(&self, command: String) -> Result<AsyncTask<Later<String, String>>> {
        check_outside()?;
        let session = self.session.clone();
        Ok(Later::promise(move || answer(&session, &command), |text| text))
    }
}

fn answer(session: &lockgate::Session, command: &str) -> Result<String> {
    let command: Command = serde_json::from_str(command)
        .map_err(|error| error::input(&format!("a value is not what is needed here: {error}")))?;
    let done = |()| "null".to_owned();
    let text = |text: String| Value::from(text).to_string();
    let store = |error| error::store(&error);
    Ok(match command {
        Command::Explain { tool, input, about } => {
            let call = read_call(&tool, &input, about.as_deref())?;
            form(&session.explain(call).map_err(|error| error::store(&error))?)?
        }
        Command::Settle { id, ok, output } => {
            let result = if ok { ToolResult::success(output) } else { ToolResult::failure(output) };
            output_form(&session.settle(&id, result).map_err(store)?)?
        }
        Command::Status => form(&session.status().map_err(store)?)?,
        Command::StatusText => text(session.status().map_err(store)?.text().to_owned()),
        Command::NetsPrompt => text(session.status().map_err(store)?.prompt_with_markings()),
        Command::Prompt => text(session.prompt().map_err(store)?),
        Command::Questions => {
            let questions = session.questions().map_err(store)?;
            form(&questions.iter().map(ToString::to_string).collect::<Vec<_>>())?
        }
        Command::Describe { attributes } => session.describe(attributes).map(done).map_err(store)?,
        Command::Replay { history } => {
            let past = |PastCall { tool, input, ok }| Past { tool, input, ok };
            let history: Vec<Past> = history.into_iter().map(past).collect();
            form(&session.replay(&history).map_err(store)?)?
        }
        Command::Seed { tool_calls, attempts, per_tool } => {
            let counts = Counts { tool_calls, attempts };
            session.seed(counts, &per_tool).map_err(store)?.to_string()
        }
        Command::Halt { reason } => session.halt(&reason).map(done).map_err(store)?,
        Command::Resume => session.resume().map(done).map_err(store)?,
        Command::Hear { text } => session.hear(&text).map(done).map_err(store)?,
        Command::Untaint => session.untaint().map(done).map_err(store)?,
        Command::MoveStage { workflow, stage, drop_evidence } => {
            let how = if drop_evidence { StageMove::Reset } else { StageMove::Set };
            session
                .move_stage(&workflow, how, &stage)
                .map(|_| "null".to_owned())
                .map_err(|error| error::misuse(&error))?
        }
        Command::Notes { net } => Value::Object(session.notes(&net).map_err(store)?).to_string(),
        Command::Activate { name } => {
            text(session.registry().activate(&name).map_err(|error| error::misuse(&error))?)
        }
        Command::Deactivate { name } => {
            text(session.registry().deactivate(&name).map_err(|error| error::misuse(&error))?)
        }
        Command::Active => {
            let registry = session.registry();
            let active = registry.active().map_err(store)?;
            json!({ "active": active, "all": registry.all() }).to_string()
        }
        Command::ToJson => text(session.to_json().map_err(store)?),
        Command::IsHeld => session.is_held().map_err(store)?.to_string(),
        Command::AcceptPolicy { by } => session.accept_policy(&by).map(done).map_err(store)?,
    })
}
