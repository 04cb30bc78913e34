//! Functions of the host that the gate calls while it judges.
//!
//! They run on the thread of JavaScript, inside of a decision that [`on_this_thread`] began, while the session is locked. A
//! function that asked the gate again would wait for itself, so that is refused. Whatever goes wrong in a function
//! refuses the call; a decision on another thread cannot reach the functions, and is refused too.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Mutex, PoisonError},
};

use lockgate::{Attempt, Call, Notes, Success, Verdict};
use lockgate_bindings::{attempt_form, call_form, success_form};
use napi::{
    Env, Result,
    bindgen_prelude::{FnArgs, Function, FunctionRef},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{error, later::caught};

/// What the function of the package takes: the kind of the function, its name, what it is about, and the notes.
type Told = FnArgs<(String, String, String, String)>;

/// The function of the package that calls those of the host, and returns a [`Reply`] as text.
pub(crate) type DispatchFunction<'a> = Function<'a, Told, String>;

/// The same, for later.
pub(crate) type Dispatch = FunctionRef<Told, String>;

/// What the functions of a gate need.
pub(crate) struct Functions {
    pub(crate) dispatch: Option<Dispatch>,
    /// Verdicts that listeners have not heard yet; none where there is no listener.
    pub(crate) heard: Option<Heard>,
}

/// Calls with their verdicts, as JSON.
pub(crate) type Heard = Arc<Mutex<VecDeque<Value>>>;

thread_local! {
    /// The decision that runs on this thread.
    static RUNNING: RefCell<Option<(Env, Arc<Functions>)>> = const { RefCell::new(None) };
    /// Whether a function of the host runs inside of it.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// Permits that were collected while a decision ran, which holds the session that they would settle in.
    static COLLECTED: RefCell<Vec<lockgate::Permit>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work`, which may call functions of the host.
pub(crate) fn on_this_thread<T>(
    env: &Env,
    functions: &Arc<Functions>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    check_outside()?;
    RUNNING.set(Some((Env::from_raw(env.raw()), functions.clone())));
    let done = caught(work);
    RUNNING.set(None);
    for permit in COLLECTED.take() {
        drop_permit(permit);
    }
    done
}

/// Refuses what a function of the host asks while the gate waits for it.
pub(crate) fn check_outside() -> Result<()> {
    if INSIDE.get() || RUNNING.with_borrow(Option::is_some) {
        return Err(error::misuse(
            &"a function that the gate calls while it judges must not ask the gate; look at what it is given",
        ));
    }
    Ok(())
}

/// A permit that was not settled counts as a failure. That is stored now, or when the decision that runs has ended.
pub(crate) fn drop_permit(permit: lockgate::Permit) {
    if RUNNING.with_borrow(Option::is_some) {
        COLLECTED.with_borrow_mut(|collected| collected.push(permit));
        return;
    }
    let _ = catch_unwind(AssertUnwindSafe(|| drop(permit)));
}

/// What the package answers for a function of the host.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reply {
    /// Why the call must not run, in the words of the function.
    refusal: Option<String>,
    /// What went wrong in the function.
    failure: Option<String>,
    notes: Option<Notes>,
    value: Option<Value>,
}

fn ask(kind: &str, name: &str, about: &Value, notes: &Notes) -> std::result::Result<Reply, String> {
    let running = RUNNING.with_borrow(|running| {
        running.as_ref().map(|(env, functions)| (Env::from_raw(env.raw()), functions.clone()))
    });
    let Some((env, functions)) = running else {
        return Err("functions of the host run on the thread of JavaScript only".to_owned());
    };
    let dispatch = functions.dispatch.as_ref().ok_or("the host has no functions")?;
    let notes = Value::Object(notes.clone()).to_string();
    let before = INSIDE.replace(true);
    let replied = dispatch.borrow_back(&env).and_then(|function| {
        function.call((kind.to_owned(), name.to_owned(), about.to_string(), notes).into())
    });
    INSIDE.set(before);
    let replied = replied.map_err(|error| error.to_string())?;
    serde_json::from_str(&replied).map_err(|error| error.to_string())
}

/// A validator: agrees, or says why not.
pub(crate) fn validate(
    net: &str,
    attempt: &Attempt<'_>,
    notes: &mut Notes,
) -> std::result::Result<(), String> {
    let about = attempt_form(attempt);
    let failed = |error: String| format!("a validator failed ({error}), so the call is blocked");
    match ask("validator", net, &about, notes).map_err(failed)? {
        Reply { failure: Some(failure), .. } => Err(failed(failure)),
        Reply { refusal: Some(reason), .. } => Err(reason),
        Reply { notes: Some(kept), .. } => {
            *notes = kept;
            Ok(())
        }
        Reply { notes: None, .. } => Err(failed("it gave no notes back".to_owned())),
    }
}

/// A result hook: notes what a success means. If it fails, the success does not count.
pub(crate) fn on_result(net: &str, success: &Success<'_>, notes: &mut Notes) {
    let about = success_form(success);
    match ask("onResult", net, &about, notes) {
        Ok(Reply { notes: Some(kept), failure: None, .. }) => *notes = kept,
        Ok(Reply { failure, .. }) => give_up(failure),
        Err(failure) => give_up(Some(failure)),
    }
}

/// What only the host knows about a call. If the function fails, it is unknown what rules about it would say, so the call
/// is blocked.
pub(crate) fn describe(prefix: &str, call: &Call) -> Option<Value> {
    match ask("describe", prefix, &call_form(call), &Notes::new()) {
        Ok(Reply { value, failure: None, .. }) => value.filter(|value| !value.is_null()),
        Ok(Reply { failure, .. }) => give_up(failure),
        Err(failure) => give_up(Some(failure)),
    }
}

/// Ends the decision, which the gate takes for a failure of its own: it blocks. The package has told what went wrong.
fn give_up(failure: Option<String>) -> ! {
    resume_unwind(Box::new(failure.unwrap_or_default()))
}

/// Keeps a verdict for the listeners, which hear it when the decision has ended.
pub(crate) fn keep(heard: &Heard, call: &Call, verdict: &Verdict) {
    let verdict = serde_json::to_value(verdict).unwrap_or_default();
    let told = json!({ "call": call_form(call), "verdict": verdict });
    heard.lock().unwrap_or_else(PoisonError::into_inner).push_back(told);
}
