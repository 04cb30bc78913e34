//! What is proved about the policy in force, and about drafts.

use lockgate::{Policy, PolicyBuilder, PolicyError};
use serde::Deserialize;
use serde_json::Value;

use super::{
    exchange::{Exchange, Reply},
    problem::Problem,
};
use crate::protocol::read_body;

/// How many files a draft may have.
const FILES_MAX: usize = 100;

/// A draft of a policy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DraftMessage {
    files: Vec<DraftFile>,
}

/// One file of a draft. It must not include others: nothing is read from the server's disk.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DraftFile {
    name: String,
    text: String,
}

pub(super) fn verify_active(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    Ok(Reply::of(exchange.service.verified()))
}

pub(super) fn verify(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    Ok(Reply::of(&draft("verify", exchange)?.verify().map_err(|error| unreadable(&error))?))
}

pub(super) fn diff(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    let new = draft("diff", exchange)?.load().map_err(|error| unreadable(&error))?;
    let compared = exchange.service.policy.diff(&new).map_err(|error| Problem::bad(error.to_string()))?;
    Ok(Reply::of(&compared))
}

fn draft(kind: &str, exchange: &Exchange<'_>) -> Result<PolicyBuilder, Problem> {
    let DraftMessage { files } = read_body(kind, Value::Object(exchange.body.clone()))?;
    builder_of(files.into_iter().map(|file| (file.name, file.text)).collect())
}

/// A draft of files, each with its name and its text.
///
/// # Errors
/// When there are none, or too many.
pub(super) fn builder_of(files: Vec<(String, String)>) -> Result<PolicyBuilder, Problem> {
    if files.is_empty() || files.len() > FILES_MAX {
        return Err(Problem::bad(format!("`files` has 1 to {FILES_MAX} files, each with `name` and `text`")));
    }
    Ok(files.into_iter().fold(Policy::builder(), |builder, (name, text)| builder.text(&name, text)))
}

fn unreadable(error: &PolicyError) -> Problem {
    Problem::bad(format!("the draft cannot be used: {error}"))
}
