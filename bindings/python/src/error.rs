//! Errors as the classes of `lockgate.errors`.

use pyo3::{prelude::*, sync::PyOnceLock, types::PyModule};
use serde_json::Value;

use crate::convert::to_python;

/// An error of this class with this message.
fn raise(class: &str, message: &str) -> PyErr {
    raise_with(class, message, None)
}

/// The same, with what the class keeps beside the message.
fn raise_with(class: &str, message: &str, detail: Option<&Value>) -> PyErr {
    Python::attach(|py| {
        let made = classes(py).and_then(|module| {
            let class = module.getattr(class)?;
            match detail {
                None => class.call1((message,)),
                Some(detail) => class.call1((message, to_python(py, detail)?)),
            }
        });
        // Without its class an error is still an error.
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

fn classes(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static CLASSES: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = CLASSES.get_or_try_init(py, || py.import("lockgate.errors").map(Bound::unbind))?;
    Ok(module.bind(py))
}

/// A value that cannot be judged, because it is not plain JSON.
pub(crate) fn input(message: impl AsRef<str>) -> PyErr {
    raise("InputError", message.as_ref())
}

/// A policy that is not in force, with its mistakes.
pub(crate) fn policy(message: &str, diagnostics: &Value) -> PyErr {
    raise_with("PolicyError", message, Some(diagnostics))
}

/// The store failed.
pub(crate) fn store(message: &impl ToString) -> PyErr {
    raise("StoreError", &message.to_string())
}

/// A question cannot be answered.
pub(crate) fn answer(message: &impl ToString) -> PyErr {
    raise("AnswerError", &message.to_string())
}

/// The package was used in a way that it does not allow.
pub(crate) fn misuse(message: impl AsRef<str>) -> PyErr {
    raise("LockgateError", message.as_ref())
}
