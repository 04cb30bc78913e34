//! Python functions that the gate calls while it judges.
//!
//! They run while the session is locked, so a function that asked the gate again would wait for itself: [`outside`] refuses
//! that. Whatever goes wrong in a function refuses the call.

use std::{cell::Cell, panic::resume_unwind};

use pyo3::{prelude::*, types::PyDict};
use serde_json::Value;

use lockgate::{Attempt, Call, Notes, Success, Verdict};
use lockgate_bindings::{attempt_form, call_form, success_form};

use crate::{
    convert::{object_to_python, to_json, to_object, to_python},
    error,
    ruling::form,
};

thread_local! {
    /// Whether a function of the host is running inside of a decision, on this thread.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` without the lock of the interpreter.
///
/// # Errors
/// When a callback asks the gate that waits for it.
pub(crate) fn outside<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    if INSIDE.get() {
        return Err(error::misuse("a function that the gate calls while it judges must not ask the gate"));
    }
    Ok(py.detach(work))
}

/// Calls a function of the host with the lock of the interpreter.
fn inside<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, String> {
    Python::attach(|py| {
        let before = INSIDE.replace(true);
        let done = work(py);
        INSIDE.set(before);
        done.map_err(|error| error.to_string())
    })
}

/// A validator: returns None to agree, or a string that says why not.
pub(crate) fn validate(function: &Py<PyAny>, attempt: &Attempt<'_>, notes: &mut Notes) -> Result<(), String> {
    let about = attempt_form(attempt);
    let answer = inside(|py| {
        let kept = object_to_python(py, notes)?;
        let answer = function.bind(py).call1((to_python(py, &about)?, &kept))?;
        let answer = if answer.is_none() { None } else { Some(refusal_text(&answer)?) };
        Ok((answer, notes_of(&kept)?))
    });
    match answer {
        Ok((None, kept)) => {
            *notes = kept;
            Ok(())
        }
        Ok((Some(reason), _)) => Err(reason),
        Err(error) => Err(format!("a validator failed ({error}), so the call is blocked")),
    }
}

/// A validator that returns something else, such as a coroutine, has not agreed.
fn refusal_text(answer: &Bound<'_, PyAny>) -> PyResult<String> {
    answer.extract::<String>().or_else(|_| {
        // A coroutine that is never awaited would complain when it is collected.
        let _ = answer.call_method0("close");
        Ok(format!("a validator returned a {} instead of None or a string", answer.get_type().name()?))
    })
}

/// A result hook: notes what a success means. If it fails, the success does not count.
pub(crate) fn on_result(function: &Py<PyAny>, success: &Success<'_>, notes: &mut Notes) {
    let about = success_form(success);
    let kept = inside(|py| {
        let kept = object_to_python(py, notes)?;
        let returned = function.bind(py).call1((to_python(py, &about)?, &kept))?;
        if !returned.is_none() {
            // A coroutine that is never awaited would complain when it is collected.
            let _ = returned.call_method0("close");
            return Err(error::misuse(format!("it returned a {}", returned.get_type().name()?)));
        }
        notes_of(&kept)
    });
    match kept {
        Ok(kept) => *notes = kept,
        Err(error) => give_up(&format!("a result hook failed, so the success does not count: {error}")),
    }
}

/// What only the host knows about a call. If the function fails, it is unknown what rules about it would say, so the call
/// is blocked.
pub(crate) fn describe(function: &Py<PyAny>, call: &Call) -> Option<Value> {
    let described = inside(|py| {
        let described = function.bind(py).call1((to_python(py, &call_form(call))?,))?;
        if described.is_none() { Ok(None) } else { to_json(&described).map(Some) }
    });
    described.unwrap_or_else(|error| {
        give_up(&format!("a function that describes calls failed, so the call is blocked: {error}"))
    })
}

/// Tells what went wrong and ends the decision, which the gate takes for a failure of its own.
fn give_up(line: &str) -> ! {
    report(line);
    resume_unwind(Box::new(line.to_owned()))
}

fn notes_of(kept: &Bound<'_, PyDict>) -> PyResult<Notes> {
    to_object(Some(kept.as_any()))
}

fn report(line: &str) {
    Python::attach(|py| error::misuse(line).write_unraisable(py, None));
}

/// A listener, which is called after a decision was stored and changes nothing.
pub(crate) fn listen(function: &Py<PyAny>, call_of: &Call, verdict: &Verdict) {
    Python::attach(|py| {
        let told = to_python(py, &call_form(call_of)).and_then(|call| {
            let verdict = to_python(py, &form(verdict))?;
            function.bind(py).call1((call, verdict))
        });
        if let Err(error) = told {
            error.write_unraisable(py, Some(function.bind(py)));
        }
    });
}
