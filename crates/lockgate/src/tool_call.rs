//! A tool call and its result, as an agent's host hands them in.

use std::fmt::Display;

use lockgate_call::{About, Call, Time};
use serde_json::{Map, Value};

/// A call that an agent wants to make: the tool, its input, and what the host knows about it.
///
/// ```
/// # use lockgate::ToolCall;
/// # use serde_json::json;
/// let call = ToolCall::new("bash", json!({"command": "ls"})).id("toolu_1").cwd("/srv/app");
/// ```
#[derive(Clone, Debug)]
pub struct ToolCall {
    tool: String,
    input: Value,
    id: Option<String>,
    about: About,
}

/// Why a call cannot be judged. It must not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The session has no name. Sessions separate agents from each other, so each needs a name of its own.
    #[error(
        "the session has no name; name it after the agent's conversation, such as `gate.session(\"s1\")`"
    )]
    NoSession,
    /// The tool has no name.
    #[error("the call names no tool")]
    NoTool,
    /// The input is not an object.
    #[error("the input of `{tool}` is {found}, not a JSON object")]
    NotAnObject {
        /// The tool.
        tool: String,
        /// The kind of value it is.
        found: &'static str,
    },
}

impl ToolCall {
    /// A call of `tool`. The input is a JSON object; `null` is an empty one.
    pub fn new(tool: impl Into<String>, input: Value) -> Self {
        Self { tool: tool.into(), input, id: None, about: About::default() }
    }

    /// The host's id of the call. Without one, the gate makes one up.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The folder relative paths start from.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<String>) -> Self {
        self.about.cwd = Some(cwd.into());
        self
    }

    /// The user or channel the request came from.
    #[must_use]
    pub fn sender(mut self, sender: impl Into<Value>) -> Self {
        self.about.sender = Some(sender.into());
        self
    }

    /// The authenticated identity the agent acts for.
    #[must_use]
    pub fn principal(mut self, principal: impl Into<Value>) -> Self {
        self.about.principal = Some(principal.into());
        self
    }

    /// Facts from the host, such as a time zone or a risk level.
    #[must_use]
    pub fn context(mut self, context: impl Into<Value>) -> Self {
        self.about.context = Some(context.into());
        self
    }

    /// Facts about the call itself.
    #[must_use]
    pub fn metadata(mut self, metadata: impl Into<Value>) -> Self {
        self.about.metadata = Some(metadata.into());
        self
    }

    /// The deployment the agent runs in, such as `production`.
    #[must_use]
    pub fn environment(mut self, environment: impl Into<String>) -> Self {
        self.about.environment = Some(environment.into());
        self
    }

    /// The call of the agent that started this agent.
    #[must_use]
    pub fn parent(mut self, parent: impl Into<String>) -> Self {
        self.about.parent = Some(parent.into());
        self
    }

    /// The call as the engine reads it.
    pub(crate) fn into_call(
        self,
        session: &str,
        at: Time,
        make_id: impl FnOnce() -> String,
    ) -> Result<Call, CallError> {
        let Self { tool, input, id, about } = self;
        if session.is_empty() {
            return Err(CallError::NoSession);
        }
        if tool.is_empty() {
            return Err(CallError::NoTool);
        }
        let input = match input {
            Value::Object(input) => input,
            Value::Null => Map::new(),
            other => return Err(CallError::NotAnObject { tool, found: kind_of(&other) }),
        };
        let id = id.filter(|id| !id.is_empty()).unwrap_or_else(make_id);
        Ok(Call { session: session.to_owned(), id, tool, input, at, about })
    }
}

/// What a tool returned, and whether it succeeded.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    pub(crate) is_success: bool,
    pub(crate) output: Option<Value>,
}

impl ToolResult {
    /// The tool succeeded with this output.
    pub fn success(output: impl Into<Value>) -> Self {
        Self { is_success: true, output: Some(output.into()) }
    }

    /// The tool failed with this output, such as a message.
    pub fn failure(output: impl Into<Value>) -> Self {
        Self { is_success: false, output: Some(output.into()) }
    }
}

/// A tool that returns a [`Result`] succeeds with its value and fails with its error's message.
impl<T: Into<Value>, E: Display> From<Result<T, E>> for ToolResult {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(output) => Self::success(output),
            Err(error) => Self::failure(error.to_string()),
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
