//! What a gate answers to a call, and what becomes of a permit.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use lockgate::{Permit, Question, Refusal, ToolResult};
use napi::{Env, Result, bindgen_prelude::AsyncTask};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    callbacks::{Functions, check_outside, drop_permit, on_this_thread},
    error,
    later::Later,
    policy::form,
};

/// A ruling from another thread; none while a question is open.
pub(crate) type LaterRuling = AsyncTask<Later<Option<Ruling>, Option<Ruling>>>;

/// The answer to a call: a permit, a question or a refusal.
#[napi]
pub struct Ruling {
    kind: Kind,
    functions: Arc<Functions>,
}

enum Kind {
    Run(Arc<HeldPermit>),
    Ask(Arc<Question>),
    Block(Box<Refusal>),
}

/// A permit until it is settled.
struct HeldPermit(Mutex<Option<Permit>>);

impl HeldPermit {
    fn look<T>(&self, look: impl FnOnce(&Permit) -> T) -> Result<T> {
        let permit = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        permit.as_ref().map(look).ok_or_else(was_settled)
    }

    fn take(&self) -> Result<Permit> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(was_settled)
    }

    fn settle(&self, ok: bool, output: Value) -> Result<String> {
        let result = if ok { ToolResult::success(output) } else { ToolResult::failure(output) };
        match self.take()?.settle(result) {
            Ok(output) => output_form(&output),
            Err(failed) => {
                let error = error::store(&failed);
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(failed.into_permit());
                Err(error)
            }
        }
    }
}

impl Drop for HeldPermit {
    fn drop(&mut self) {
        if let Some(permit) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            drop_permit(permit);
        }
    }
}

fn was_settled() -> napi::Error {
    error::misuse(&"this permit was settled before; each permit is for one run")
}

/// What may be passed on of a tool's output, as JSON.
pub(crate) fn output_form(output: &lockgate::Output) -> Result<String> {
    let is_unchanged =
        output.settlement().output.is_none() && output.decision() != lockgate::OutputDecision::Block;
    form(&json!({
        // What the tool returned is with the caller, who gets it back as it is.
        "value": if is_unchanged { None } else { output.value() },
        "decision": output.decision().word(),
        "isUnchanged": is_unchanged,
        "sentence": output.sentence(),
        "isSettled": output.is_settled(),
        "settlement": output,
    }))
}

/// What becomes of a question.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", tag = "do")]
enum Step {
    Answer { granted: bool, by: String },
    Resume,
    TimeOut,
}

fn go_on(question: &Question, step: &str, functions: Arc<Functions>) -> Result<Option<Ruling>> {
    let step: Step = serde_json::from_str(step).map_err(|error| error::misuse(&error))?;
    let ruling = match step {
        Step::Answer { granted, by } => question.answer(granted, &by).map(Some),
        Step::Resume => question.resume(),
        Step::TimeOut => question.wait(Duration::ZERO).map(Some),
    };
    let ruling = ruling.map_err(|error| error::answer(&error))?;
    Ok(ruling.map(|ruling| Ruling::new(ruling, functions)))
}

impl Ruling {
    pub(crate) fn new(ruling: lockgate::Ruling, functions: Arc<Functions>) -> Self {
        let kind = match ruling {
            lockgate::Ruling::Run(permit) => Kind::Run(Arc::new(HeldPermit(Mutex::new(Some(permit))))),
            lockgate::Ruling::Ask(question) => Kind::Ask(Arc::new(question)),
            lockgate::Ruling::Block(refusal) => Kind::Block(Box::new(refusal)),
        };
        Self { kind, functions }
    }

    fn permit(&self) -> Result<&Arc<HeldPermit>> {
        match &self.kind {
            Kind::Run(permit) => Ok(permit),
            Kind::Ask(_) | Kind::Block(_) => Err(error::misuse(&"this call may not run")),
        }
    }

    fn question(&self) -> Result<&Arc<Question>> {
        match &self.kind {
            Kind::Ask(question) => Ok(question),
            Kind::Run(_) | Kind::Block(_) => Err(error::misuse(&"no human is asked about this call")),
        }
    }
}

#[napi]
impl Ruling {
    /// `run`, `masked` if it runs with another input, `ask` or `block`.
    #[napi(catch_unwind)]
    pub fn kind(&self) -> Result<&'static str> {
        Ok(match &self.kind {
            Kind::Run(permit) if permit.look(Permit::is_masked)? => "masked",
            Kind::Run(_) => "run",
            Kind::Ask(_) => "ask",
            Kind::Block(_) => "block",
        })
    }

    /// The id of the call.
    #[napi(catch_unwind)]
    pub fn call_id(&self) -> Result<String> {
        Ok(match &self.kind {
            Kind::Run(permit) => permit.look(|permit| permit.id().to_owned())?,
            Kind::Ask(question) => question.call_id().to_owned(),
            Kind::Block(refusal) => refusal.id().to_owned(),
        })
    }

    /// The tool.
    #[napi(catch_unwind)]
    pub fn tool(&self) -> Result<String> {
        Ok(match &self.kind {
            Kind::Run(permit) => permit.look(|permit| permit.tool().to_owned())?,
            Kind::Ask(question) => question.tool().to_owned(),
            Kind::Block(refusal) => refusal.tool().to_owned(),
        })
    }

    /// The input of a permit or of a question, masked where a rule says so.
    #[napi(catch_unwind)]
    pub fn input(&self) -> Result<String> {
        match &self.kind {
            Kind::Run(permit) => permit.look(|permit| form(permit.input()))?,
            Kind::Ask(question) => form(question.input()),
            Kind::Block(_) => Err(error::misuse(&"this call may not run")),
        }
    }

    /// The verdict, as the line protocol writes it.
    #[napi(catch_unwind)]
    pub fn verdict(&self) -> Result<String> {
        match &self.kind {
            Kind::Run(permit) => permit.look(form)?,
            Kind::Ask(question) => form(&**question),
            Kind::Block(refusal) => form(&**refusal),
        }
    }

    /// What a refusal says, or what a question is.
    #[napi(catch_unwind)]
    pub fn words(&self) -> Result<String> {
        match &self.kind {
            Kind::Run(_) => Err(error::misuse(&"this call may run")),
            Kind::Ask(question) => form(&json!({
                "id": question.id().to_string(),
                "text": question.text(),
                "sentence": question.verdict().sentence(),
            })),
            Kind::Block(refusal) => form(&json!({
                "reason": refusal.reason(),
                "sentence": refusal.sentence(),
                "next": refusal.next().collect::<Vec<_>>(),
                "isTimeout": refusal.is_timeout(),
            })),
        }
    }

    /// Stores the result of a permit's call, and returns what may be passed on of it.
    #[napi(catch_unwind)]
    pub fn settle(&self, env: Env, ok: bool, output: String) -> Result<String> {
        let output = read_output(&output)?;
        let permit = self.permit()?;
        on_this_thread(&env, &self.functions, || permit.settle(ok, output))
    }

    /// The same on another thread.
    #[napi(catch_unwind)]
    pub fn settle_later(&self, ok: bool, output: String) -> Result<AsyncTask<Later<String, String>>> {
        check_outside()?;
        let output = read_output(&output)?;
        let permit = self.permit()?.clone();
        Ok(Later::promise(move || permit.settle(ok, output), |text| text))
    }

    /// Leaves the call in flight and returns its id.
    #[napi(catch_unwind)]
    pub fn detach(&self) -> Result<String> {
        Ok(self.permit()?.take()?.detach())
    }

    /// Answers a question, resumes it or ends its time; none while it is open.
    #[napi(catch_unwind)]
    pub fn go_on(&self, env: Env, step: String) -> Result<Option<Ruling>> {
        let question = self.question()?;
        on_this_thread(&env, &self.functions, || go_on(question, &step, self.functions.clone()))
    }

    /// The same on another thread.
    #[napi(catch_unwind)]
    pub fn go_on_later(&self, step: String) -> Result<LaterRuling> {
        check_outside()?;
        let (question, functions) = (self.question()?.clone(), self.functions.clone());
        Ok(Later::promise(move || go_on(&question, &step, functions), |ruling| ruling))
    }
}

fn read_output(output: &str) -> Result<Value> {
    serde_json::from_str(output)
        .map_err(|error| error::input(&format!("the output is not plain JSON: {error}")))
}
