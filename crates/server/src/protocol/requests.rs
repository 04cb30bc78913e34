//! The lines that come in.
//!
//! [`decode`] reads a line into a [`Request`] and takes any text without failing otherwise than by a
//! [`ProtocolError`]. What is unknown, written twice, nested too deeply or missing is refused here, so that nothing
//! behind this door has to doubt its input.

use lockgate::engine::{
    About, Call, Counts, LocalEyes, Outcome, SeenCall, Status, Time,
    call::{DuplicateKey, StrictJson, line_mistake, read_fields},
    gate::Human,
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{Map, Value};

/// The longest line that is read, in bytes.
pub const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How many objects and lists may stand inside each other in a line.
pub const DEPTH_MAX: usize = StrictJson::DEPTH_MAX;

/// Why a line was not understood. Nothing was decided.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProtocolError(String);

/// One line, understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The moment the line speaks of, where it says one.
    pub at: Option<Time>,
    /// What it wants.
    pub message: Message,
}

/// What a line wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Judge this call.
    Call(Box<CallMessage>),
    /// The tool has finished.
    Result(ResultMessage),
    /// A human has answered.
    Answer(AnswerMessage),
    /// What the trusted caller knows about a session.
    Session(SessionMessage),
    /// What the user said to the agent.
    User(UserMessage),
    /// An operator moves a workflow.
    Stage(StageMessage),
    /// A net is activated or deactivated.
    Net(NetMessage),
    /// The kill switch.
    Halt(HaltMessage),
    /// The kill switch, released.
    Resume(SessionOnly),
    /// What sensitive data had closed is opened again.
    Untaint(SessionOnly),
    /// Where the session stands.
    Status(SessionOnly),
    /// The same for the model: a text for a system prompt.
    Prompt(PromptMessage),
}

/// Reads one line.
///
/// # Errors
/// When the line is anything but exactly one message of the protocol.
pub fn decode(line: &str) -> Result<Request, ProtocolError> {
    let mut fields = read_object(line)?;
    let at = moment(&mut fields)?;
    let mut fields = fields.into_iter();
    let (Some((kind, body)), None) = (fields.next(), fields.next()) else {
        return Err(ProtocolError(format!("a line says exactly one of {KINDS}, and perhaps `at`")));
    };
    Ok(Request { at, message: decode_message(&kind, body)? })
}

/// Reads what stands in a line behind its kind, such as `call`.
///
/// # Errors
/// When no message is of this kind, or the body is anything but such a message.
pub fn decode_message(kind: &str, body: Value) -> Result<Message, ProtocolError> {
    match kind {
        "call" => needs(kind, &body, "id", "door")?,
        "result" => needs(kind, &body, "id", "call")?,
        _ => {}
    }
    let message = match kind {
        "call" => Message::Call(read_body(kind, body)?),
        "result" => Message::Result(read_body(kind, body)?),
        "answer" => Message::Answer(read_body(kind, body)?),
        "session" => Message::Session(read_body(kind, body)?),
        "user" => Message::User(read_body(kind, body)?),
        "stage" => Message::Stage(read_body(kind, body)?),
        "net" => Message::Net(read_body(kind, body)?),
        "halt" => Message::Halt(read_body(kind, body)?),
        "resume" => Message::Resume(read_body(kind, body)?),
        "untaint" => Message::Untaint(read_body(kind, body)?),
        "status" => Message::Status(read_body(kind, body)?),
        "prompt" => Message::Prompt(read_body(kind, body)?),
        _ => {
            return Err(ProtocolError(format!("`{kind}` is not known here: a line says one of {KINDS}")));
        }
    };
    message.check()?;
    Ok(message)
}

/// A call that stands by itself, not in a line of the protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct BareCall {
    /// The call.
    pub call: CallMessage,
    /// How it ends, where it says so.
    pub ok: Option<bool>,
    /// When it happens, where it says so.
    pub at: Option<Time>,
}

/// Reads a call as it stands inside a `call` line; without an id it gets this one. Beside it `ok` may say how
/// it ends, and `at` when it happens.
///
/// # Errors
/// When it is not a call.
pub fn decode_call(text: &str, id: &str) -> Result<BareCall, ProtocolError> {
    let mut fields = read_object(text)?;
    let at = moment(&mut fields)?;
    let ok = match fields.shift_remove("ok") {
        None => None,
        Some(Value::Bool(ok)) => Some(ok),
        Some(_) => return Err(ProtocolError("`ok` is true or false".into())),
    };
    fields.entry("id").or_insert_with(|| Value::from(id));
    let call: CallMessage = read_body("call", Value::Object(fields))?;
    call.check()?;
    Ok(BareCall { call, ok, at })
}

/// Takes the `at` out of a line.
fn moment(fields: &mut Map<String, Value>) -> Result<Option<Time>, ProtocolError> {
    match fields.shift_remove("at") {
        None | Some(Value::Null) => Ok(None),
        Some(at) => at.as_u64().map(|at_ms| Some(Time(at_ms))).ok_or_else(|| {
            ProtocolError(format!("`at` is a whole number of milliseconds since 1970, not {at}"))
        }),
    }
}

/// The call a message means, with where its paths really lead: tools run on this machine.
pub fn call_here(message: CallMessage, session: &str, at: Time) -> SeenCall {
    SeenCall::look(message.into_call(session, at), Some(&LocalEyes))
}

/// The same for a tool of another machine, whose files cannot be looked at here.
pub(crate) fn call_elsewhere(message: CallMessage, session: &str, at: Time) -> SeenCall {
    SeenCall::look(message.into_call(session, at), None)
}

const KINDS: &str = "`call`, `result`, `answer`, `session`, `user`, `stage`, `net`, `halt`, `resume`, `untaint`, `status` or `prompt`";

/// Reads one JSON object that two readers could not read in two ways.
///
/// # Errors
/// When the text is too long, is not JSON, is not an object, or names a field twice.
pub fn read_object(text: &str) -> Result<Map<String, Value>, ProtocolError> {
    if text.len() > LINE_BYTES_MAX {
        return Err(ProtocolError::too_long());
    }
    match serde_json::from_str(text) {
        Ok(StrictJson(Value::Object(fields))) => Ok(fields),
        Ok(_) => Err(ProtocolError("a JSON object was expected".to_owned())),
        Err(error) => Err(ProtocolError(line_mistake(&error))),
    }
}

/// Reads the fields of a message of this kind.
///
/// # Errors
/// When the body is not an object, or has other fields.
pub(crate) fn read_body<T: DeserializeOwned>(kind: &str, body: Value) -> Result<T, ProtocolError> {
    // Without this a list would do, its items taken for fields in the order of our code.
    let Value::Object(fields) = body else {
        return Err(ProtocolError(format!("`{kind}` is a JSON object")));
    };
    read_fields(fields).map_err(|mistake| ProtocolError(format!("`{kind}`: {mistake}")))
}

/// `call`: judge this call.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallMessage {
    /// The host's id of this call; empty only where a door says what distinguishes it.
    #[serde(default)]
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The tool's input; empty where the line has none.
    #[serde(default, deserialize_with = "object_or_nothing")]
    pub input: Map<String, Value>,
    /// The session; the server's own where the line has none.
    pub session: Option<String>,
    /// The chat user or channel the request came from.
    pub sender: Option<Value>,
    /// The authenticated identity the agent acts for.
    pub principal: Option<Value>,
    /// Free facts from the host.
    pub context: Option<Value>,
    /// Facts about the call itself.
    pub metadata: Option<Value>,
    /// The deployment the agent runs in.
    pub environment: Option<String>,
    /// The folder relative paths start from.
    pub cwd: Option<String>,
    /// The call of the agent that started this agent.
    pub parent: Option<String>,
    /// Whether a human can be asked.
    #[serde(default)]
    pub ask: Human,
    /// Where the call was seen, if more than one event or proxy may show it.
    #[serde(default, deserialize_with = "door")]
    pub door: Option<DoorMessage>,
}

/// Where a call was seen. The same call at another door is not counted again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoorMessage {
    /// The name of the event or the proxy.
    pub name: String,
    /// The fields of the input that distinguish calls without an id; empty for all of them.
    #[serde(default)]
    pub by: Vec<String>,
}

/// `result`: the tool has finished.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultMessage {
    /// The call's id; empty only where the call itself is given.
    #[serde(default)]
    pub id: String,
    /// The call that it belongs to, where the host has no id for it.
    #[serde(default, deserialize_with = "whole_call")]
    pub call: Option<Box<CallMessage>>,
    /// The session; the server's own where the line has none.
    pub session: Option<String>,
    /// Whether it says success.
    pub ok: bool,
    /// What the tool returned.
    pub output: Option<Value>,
}

/// `answer`: a human has answered.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerMessage {
    /// The name of the question, as the verdict gave it.
    pub approval: String,
    /// Yes or no; null where there is no answer by now. It must be said.
    #[serde(deserialize_with = "Option::deserialize")]
    pub granted: Option<bool>,
    /// Who answered. Nothing reads it yet.
    pub by: Option<String>,
    /// What they said. Nothing reads it yet.
    pub comment: Option<String>,
}

/// `session`: what the trusted caller knows about a session.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionMessage {
    /// The session.
    pub id: String,
    /// Facts that rules may look at; null makes one unknown again.
    #[serde(default, deserialize_with = "attributes")]
    pub attributes: Option<Map<String, Value>>,
    /// What was counted before this gate was there.
    #[serde(default, deserialize_with = "counters")]
    pub counters: Option<Counters>,
    /// What is active from now on, of all that can be switched.
    pub active: Option<Vec<String>>,
}

/// What was counted in a session before this gate was there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// How often it called.
    pub counts: Counts,
    /// Calls let pass, by tool.
    pub per_tool: Vec<(String, u64)>,
}

/// `stage`: an operator moves a workflow.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageMessage {
    /// The session; the server's own where the line has none.
    pub session: Option<String>,
    /// The workflow.
    pub workflow: String,
    /// Back to this stage: what was shown and agreed to from there on is forgotten.
    pub reset: Option<String>,
    /// To this stage, with all that was shown.
    pub set: Option<String>,
}

/// `net`: a net is activated or deactivated.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetMessage {
    /// The session; the server's own where the line has none.
    pub session: Option<String>,
    /// The net that takes part from now on.
    pub activate: Option<String>,
    /// The net that takes no part from now on.
    pub deactivate: Option<String>,
}

/// `halt`: refuse everything.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HaltMessage {
    /// The session; all of them where the line has none.
    pub session: Option<String>,
    /// Why, for the agents that are refused.
    pub reason: String,
}

/// `resume`, `untaint` and `status`: only a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionOnly {
    /// The session; for `resume` all of them where the line has none, for the others the server's own.
    pub session: Option<String>,
}

/// `prompt`: what the model should know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptMessage {
    /// The session; the server's own where the line has none.
    pub session: Option<String>,
    /// In words, or net by net.
    #[serde(default)]
    pub form: PromptForm,
}

/// What the user said to the agent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserMessage {
    /// The words. Only those of the human: never what the agent or a tool wrote.
    pub says: String,
    /// The session; the one of the command line otherwise.
    pub session: Option<String>,
}

/// How the model is told where a session stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptForm {
    /// What is open, what is closed and what would open it.
    #[default]
    Words,
    /// Every active net with its tools and its marking, as PetriFlow's `formatSystemPrompt`.
    Nets,
}

impl PromptForm {
    /// The text.
    pub fn text(self, status: &Status) -> String {
        match self {
            Self::Words => status.prompt(),
            Self::Nets => status.prompt_with_markings(),
        }
    }
}

impl Message {
    /// What the shape alone does not say.
    fn check(&self) -> Result<(), ProtocolError> {
        match self {
            Self::Call(call) => call.check(),
            Self::Result(result) => {
                match &result.call {
                    Some(call) if !result.id.is_empty() || !call.id.is_empty() => {
                        return Err(ProtocolError(
                            "say either `id` or `call`, and a `call` without an id".into(),
                        ));
                    }
                    Some(call) => call.check()?,
                    None => filled("id", Some(&result.id))?,
                }
                filled("session", result.session.as_ref())
            }
            Self::Answer(answer) => filled("approval", Some(&answer.approval)),
            Self::Session(session) => filled("id", Some(&session.id)),
            Self::User(user) => filled("session", user.session.as_ref()),
            Self::Stage(stage) => {
                either("reset", stage.reset.is_some(), "set", stage.set.is_some())?;
                filled("session", stage.session.as_ref())
            }
            Self::Net(net) => {
                either("activate", net.activate.is_some(), "deactivate", net.deactivate.is_some())?;
                filled("session", net.session.as_ref())
            }
            Self::Halt(halt) => filled("session", halt.session.as_ref()),
            Self::Resume(only) | Self::Untaint(only) | Self::Status(only) => {
                filled("session", only.session.as_ref())
            }
            Self::Prompt(prompt) => filled("session", prompt.session.as_ref()),
        }
    }
}

/// A field that may be missing only beside another one.
fn needs(kind: &str, body: &Value, field: &str, instead: &str) -> Result<(), ProtocolError> {
    match body {
        Value::Object(fields) if !fields.contains_key(field) && !fields.contains_key(instead) => {
            Err(ProtocolError(format!("`{kind}`: `{field}` is missing")))
        }
        _ => Ok(()),
    }
}

fn filled(field: &str, text: Option<&String>) -> Result<(), ProtocolError> {
    match text {
        Some(text) if text.is_empty() => Err(ProtocolError(format!("`{field}` must not be empty"))),
        _ => Ok(()),
    }
}

fn either(one: &str, has_one: bool, other: &str, has_other: bool) -> Result<(), ProtocolError> {
    if has_one == has_other {
        return Err(ProtocolError(format!("say either `{one}` or `{other}`")));
    }
    Ok(())
}

impl CallMessage {
    fn check(&self) -> Result<(), ProtocolError> {
        match &self.door {
            Some(door) => filled("door.name", Some(&door.name))?,
            None => filled("id", Some(&self.id))?,
        }
        filled("tool", Some(&self.tool))?;
        filled("session", self.session.as_ref())
    }

    /// The call, in its session at its moment.
    pub fn into_call(self, session: &str, at: Time) -> Call {
        Call {
            session: self.session.unwrap_or_else(|| session.to_owned()),
            id: self.id,
            tool: self.tool,
            input: self.input,
            at,
            about: About {
                sender: self.sender,
                principal: self.principal,
                context: self.context,
                metadata: self.metadata,
                environment: self.environment,
                cwd: self.cwd,
                parent: self.parent,
                duplicate_key: self.door.map(DoorMessage::into_key),
                ..About::default()
            },
        }
    }
}

impl DoorMessage {
    fn into_key(self) -> DuplicateKey {
        DuplicateKey { door: self.name.into(), identifying_fields: self.by }
    }
}

impl ResultMessage {
    /// The outcome, in its session at its moment.
    pub fn into_outcome(self, session: &str, at: Time) -> Outcome {
        let session = self.session.unwrap_or_else(|| session.to_owned());
        let like = self.call.map(|call| {
            let mut call = call.into_call(&session, at);
            call.session.clone_from(&session);
            Box::new(call)
        });
        Outcome { session, id: self.id, ok: self.ok, output: self.output, at, like, ..Outcome::default() }
    }
}

impl ProtocolError {
    /// A line longer than [`LINE_BYTES_MAX`].
    pub fn too_long() -> Self {
        Self(format!("the line is longer than {LINE_BYTES_MAX} bytes"))
    }

    /// A line that is not UTF-8.
    pub fn not_utf8() -> Self {
        Self("the line is not UTF-8".into())
    }
}

/// An object, and no list in its place.
fn door<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<DoorMessage>, D::Error> {
    let fields = object("door", Value::deserialize(deserializer)?).map_err(D::Error::custom)?;
    fields.map(|fields| read_body("door", Value::Object(fields))).transpose().map_err(D::Error::custom)
}

fn whole_call<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<CallMessage>>, D::Error> {
    let fields = object("call", Value::deserialize(deserializer)?).map_err(D::Error::custom)?;
    fields.map(|fields| read_body("call", Value::Object(fields))).transpose().map_err(D::Error::custom)
}

fn object_or_nothing<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    object("input", Value::deserialize(deserializer)?)
        .map(Option::unwrap_or_default)
        .map_err(D::Error::custom)
}

fn attributes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Map<String, Value>>, D::Error> {
    object("attributes", Value::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn counters<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Counters>, D::Error> {
    let counters = object("counters", Value::deserialize(deserializer)?).map_err(D::Error::custom)?;
    counters.map(Counters::read).transpose().map_err(D::Error::custom)
}

impl Counters {
    fn read(fields: Map<String, Value>) -> Result<Self, String> {
        let mut counters = Self::default();
        for (name, value) in fields {
            match name.as_str() {
                "tool_calls" => counters.counts.tool_calls = whole(&name, &value)?,
                "attempts" => counters.counts.attempts = whole(&name, &value)?,
                "per_tool" => {
                    for (tool, calls) in object(&name, value)?.unwrap_or_default() {
                        let calls = whole(&tool, &calls)?;
                        counters.per_tool.push((tool, calls));
                    }
                }
                _ => {
                    return Err(format!(
                        "`counters` has `tool_calls`, `attempts` and `per_tool`, not `{name}`"
                    ));
                }
            }
        }
        Ok(counters)
    }
}

/// An object, or nothing where it says null.
fn object(name: &str, value: Value) -> Result<Option<Map<String, Value>>, String> {
    match value {
        Value::Object(object) => Ok(Some(object)),
        Value::Null => Ok(None),
        other => Err(format!("`{name}` is a JSON object, not {other}")),
    }
}

fn whole(name: &str, value: &Value) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| format!("`{name}` is a whole number from 0 on, not {value}"))
}

#[cfg(test)]
mod tests;
