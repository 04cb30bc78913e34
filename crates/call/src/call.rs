//! One tool invocation an agent asks for.

use std::sync::Arc;

use serde_json::{Map, Value};

/// A moment, in milliseconds since 1970. Time is a value handed in: nothing below a door looks at a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The moment `ms` milliseconds later, at most the end of time.
    #[must_use]
    pub fn after_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

/// One tool invocation an agent asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// The session it belongs to.
    pub session: String,
    /// The host's id of this call; results are matched by it.
    pub id: String,
    /// The tool's name, as the agent calls it.
    pub tool: String,
    /// The tool's input. A call without input has an empty object.
    pub input: Map<String, Value>,
    /// When it was asked.
    pub at: Time,
    /// Everything else the host knows about the call and who stands behind it.
    pub about: About,
}

/// Who stands behind a call and where it would run; rules of later kinds read it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// The chat user or channel the request came from.
    pub sender: Option<Value>,
    /// The authenticated identity the agent acts for.
    pub principal: Option<Value>,
    /// Free facts from the host, such as a time zone or a risk level.
    pub context: Option<Value>,
    /// Facts about the call itself.
    pub metadata: Option<Value>,
    /// The deployment the agent runs in, such as `production`.
    pub environment: Option<String>,
    /// The folder relative paths start from.
    pub cwd: Option<String>,
    /// The call of the agent that started this agent.
    pub parent: Option<String>,
    /// Where on its way it was seen, if it may be seen more than once.
    pub duplicate_key: Option<DuplicateKey>,
    /// What the door it comes by has against it, whatever the rules say: it is blocked then.
    pub objection: Option<String>,
}

/// Where on its way to the tool a call was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The door, such as `PreToolUse` or `mcp`; it sees each call once.
    pub door: Arc<str>,
    /// The fields of the input that tell calls apart where nobody names ids; empty for all of them.
    pub identifying_fields: Vec<String>,
}

impl Call {
    /// A call with an empty input at time zero: enough for a test or a first look.
    pub fn new(id: impl Into<String>, tool: impl Into<String>) -> Self {
        Self { session: "default".into(), id: id.into(), tool: tool.into(), ..Self::default() }
    }

    /// The same call with one more field in its input.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.input.insert(field.into(), value.into());
        self
    }

    /// The same call in another session.
    #[must_use]
    pub fn in_session(mut self, session: impl Into<String>) -> Self {
        self.session = session.into();
        self
    }

    /// The same call at another moment.
    #[must_use]
    pub fn at(mut self, at: Time) -> Self {
        self.at = at;
        self
    }
}
