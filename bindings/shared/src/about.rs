//! What the host knows about a call besides its tool and its input.

use lockgate::ToolCall;
use serde_json::Value;

/// Adds one fact to a call. Null adds nothing.
///
/// # Errors
/// When there is no such fact, or it is a string and something else is given.
pub fn tell(call: ToolCall, key: &str, value: Value) -> Result<ToolCall, AboutError> {
    if value.is_null() {
        return Ok(call);
    }
    let text = |value| match value {
        Value::String(text) => Ok(text),
        _ => Err(AboutError::NotText(key.to_owned())),
    };
    Ok(match key {
        "id" => call.id(text(value)?),
        "cwd" => call.cwd(text(value)?),
        "environment" => call.environment(text(value)?),
        "parent" => call.parent(text(value)?),
        "sender" => call.sender(value),
        "principal" => call.principal(value),
        "context" => call.context(value),
        "metadata" => call.metadata(value),
        _ => return Err(AboutError::Unknown(key.to_owned())),
    })
}

/// What is told about a call is not known or has the wrong type.
#[derive(Debug, thiserror::Error)]
pub enum AboutError {
    /// There is no such fact.
    #[error(
        "`{0}` is not known about a call; known are id, cwd, environment, parent, sender, principal, context and metadata"
    )]
    Unknown(String),
    /// It is a string.
    #[error("`{0}` is not a string")]
    NotText(String),
}
