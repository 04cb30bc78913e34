//! Errors for the classes of `errors.js`: the message of a thrown error is JSON, which the package turns into its class.

use napi::{Error, Status};
use serde_json::{Value, json};

/// An error of this class with this message.
fn error(class: &str, message: &str, diagnostics: &Value) -> Error {
    let told = json!({ "class": class, "message": message, "diagnostics": diagnostics });
    Error::new(Status::GenericFailure, told.to_string())
}

/// A value that cannot be judged, because it is not plain JSON.
pub(crate) fn input(message: &impl ToString) -> Error {
    error("InputError", &message.to_string(), &Value::Null)
}

/// A policy that is not in force, with its mistakes.
pub(crate) fn policy(message: &impl ToString, diagnostics: &Value) -> Error {
    error("PolicyError", &message.to_string(), diagnostics)
}

/// The store failed.
pub(crate) fn store(message: &impl ToString) -> Error {
    error("StoreError", &message.to_string(), &Value::Null)
}

/// A question cannot be answered.
pub(crate) fn answer(message: &impl ToString) -> Error {
    error("AnswerError", &message.to_string(), &Value::Null)
}

/// The package was used in a way that it does not allow.
pub(crate) fn misuse(message: &impl ToString) -> Error {
    error("LockgateError", &message.to_string(), &Value::Null)
}
