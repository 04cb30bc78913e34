//! A policy in force.

use std::sync::{Arc, PoisonError};

use lockgate::ApprovalId;
use lockgate_bindings::{OptionError, Options};
use napi::{Env, Result, bindgen_prelude::AsyncTask};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    callbacks::{self, DispatchFunction, Functions, check_outside, on_this_thread},
    clock::ManualClock,
    error,
    later::Later,
    policy::{Policy, form},
    session::{Session, read_call},
};

/// A policy in force.
#[napi]
pub struct Gate {
    gate: lockgate::Gate,
    functions: Arc<Functions>,
}

/// Which functions the host has, by kind and name.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Names {
    validators: Vec<String>,
    on_results: Vec<String>,
    describe: Vec<String>,
    listens: bool,
}

/// What an operator does with a gate.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", tag = "do")]
enum Command {
    Answer { question: String, granted: bool, by: String },
    Halt { reason: String },
    Resume,
}

#[napi]
impl Gate {
    /// Puts a policy in force. `functions` names the functions of the host, which `dispatch` calls.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        policy: &Policy,
        options: String,
        functions: String,
        clock: Option<&ManualClock>,
        dispatch: Option<DispatchFunction<'_>>,
    ) -> Result<Self> {
        let wrong = |error| error::misuse(&format!("an option of the gate is wrong: {error}"));
        let options: Options = serde_json::from_str(&options).map_err(wrong)?;
        let names: Names = serde_json::from_str(&functions).map_err(wrong)?;
        let mut builder = options.builder(&policy.0).map_err(|error| match error {
            OptionError::Store(error) => error::store(&error),
            error => error::misuse(&error),
        })?;
        if let Some(clock) = clock {
            builder = builder.clock(clock.face());
        }
        for net in names.validators {
            let name = net.clone();
            builder =
                builder.validate(&net, move |attempt, notes| callbacks::validate(&name, attempt, notes));
        }
        for net in names.on_results {
            let name = net.clone();
            builder =
                builder.on_result(&net, move |success, notes| callbacks::on_result(&name, success, notes));
        }
        for prefix in names.describe {
            let name = prefix.clone();
            builder = builder.describe_calls(&prefix, move |call| callbacks::describe(&name, call));
        }
        let heard = names.listens.then(callbacks::Heard::default);
        if let Some(heard) = heard.clone() {
            builder = builder.on_decision(move |call, verdict| callbacks::keep(&heard, call, verdict));
        }
        let gate = builder.build().map_err(|error| error::misuse(&error))?;
        let dispatch = dispatch.map(|function| function.create_ref()).transpose()?;
        Ok(Self { gate, functions: Arc::new(Functions { dispatch, heard }) })
    }

    /// A session of this name: one agent's conversation.
    #[napi(catch_unwind)]
    pub fn session(&self, name: String, unattended: bool) -> Session {
        let session = self.gate.session(name);
        let session = if unattended { session.unattended() } else { session };
        Session { session, functions: self.functions.clone() }
    }

    /// What the rules say to a call by itself, and what would be passed on of an output.
    #[napi(catch_unwind)]
    pub fn evaluate(
        &self,
        env: Env,
        tool: String,
        input: String,
        about: Option<String>,
        output: Option<String>,
    ) -> Result<String> {
        let call = read_call(&tool, &input, about.as_deref())?;
        let output: Option<Value> = output
            .map(|text| serde_json::from_str(&text).map_err(|error| error::input(&error)))
            .transpose()?;
        on_this_thread(&env, &self.functions, || {
            form(&self.gate.evaluate(call, output.as_ref()).map_err(|error| error::input(&error))?)
        })
    }

    /// Does what an operator wants.
    #[napi(catch_unwind)]
    pub fn operate(&self, env: Env, command: String) -> Result<()> {
        on_this_thread(&env, &self.functions, || operate(&self.gate, &command))
    }

    /// The same on another thread.
    #[napi(catch_unwind)]
    pub fn operate_later(&self, command: String) -> Result<AsyncTask<Later<(), ()>>> {
        check_outside()?;
        let gate = self.gate.clone();
        Ok(Later::promise(move || operate(&gate, &command), |()| ()))
    }

    /// The verdicts since the last time, for listeners.
    #[napi(catch_unwind)]
    pub fn take_heard(&self) -> Option<String> {
        let heard = self.functions.heard.as_ref()?;
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        (!heard.is_empty()).then(|| heard.drain(..).collect::<Value>().to_string())
    }
}

fn operate(gate: &lockgate::Gate, command: &str) -> Result<()> {
    match serde_json::from_str(command).map_err(|error| error::misuse(&error))? {
        Command::Answer { question, granted, by } => {
            let id = ApprovalId::parse(&question)
                .ok_or_else(|| error::answer(&format!("`{question}` is not the id of a question")))?;
            gate.answer(&id, granted, &by).map_err(|error| error::answer(&error))
        }
        Command::Halt { reason } => gate.halt(&reason).map_err(|error| error::store(&error)),
        Command::Resume => gate.resume().map_err(|error| error::store(&error)),
    }
}
