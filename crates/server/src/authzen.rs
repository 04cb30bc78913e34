//! The requests of AuthZEN 1.0, as clients of that standard send them.
//!
//! [`Evaluation::read`] and [`Batch::read`] read them, and [`Evaluation::into_call`] says which call is meant. Fields that are not
//! known are passed over: the standard wants it, and the line protocol refuses them. Duplicate keys were refused before, by
//! [`read_object`](crate::protocol::read_object). Nothing is decided in here.

use lockgate::engine::gate::Human;
use serde_json::{Map, Value, json};

use crate::protocol::CallMessage;

/// How many evaluations a request has at most.
pub const EVALUATIONS_MAX: usize = 100;
/// The action of a call of an MCP tool, by the default mapping of COAZ-MCP.
const TOOL_CALL: &str = "tools/call";
/// The type of the resource that such a tool is.
const TOOL: &str = "tool";
/// The obligation to run a tool with another input.
pub const OBLIGATION: &str = "custom";

/// Why a request is not one of AuthZEN.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AuthzenError(String);

/// Whether someone may do something to something.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    subject: Entity,
    action: String,
    action_properties: Map<String, Value>,
    resource: Entity,
    context: Map<String, Value>,
}

/// A subject or a resource.
#[derive(Clone, Debug, PartialEq)]
struct Entity {
    kind: String,
    id: String,
    properties: Map<String, Value>,
}

/// Several evaluations at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Each of them; one that cannot be read is denied.
    pub evaluations: Vec<Result<Evaluation, AuthzenError>>,
    /// Where to stop.
    pub semantic: Semantic,
}

/// Which evaluations of a batch are carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Semantic {
    /// All of them.
    #[default]
    ExecuteAll,
    /// All up to the first that is denied.
    DenyOnFirstDeny,
    /// All up to the first that is permitted.
    PermitOnFirstPermit,
}

impl Semantic {
    /// Whether nothing is carried out behind this decision.
    pub fn stops_at(self, decision: bool) -> bool {
        match self {
            Self::ExecuteAll => false,
            Self::DenyOnFirstDeny => !decision,
            Self::PermitOnFirstPermit => decision,
        }
    }
}

impl Batch {
    /// Reads a request of `evaluations`; none where it has none, and is a single evaluation.
    ///
    /// # Errors
    /// When it is not a list, is too long, or asks for a semantic that the standard does not have.
    pub fn read(fields: &Map<String, Value>) -> Result<Option<Self>, AuthzenError> {
        let all = match fields.get("evaluations") {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Array(all)) if all.is_empty() => return Ok(None),
            Some(Value::Array(all)) if all.len() <= EVALUATIONS_MAX => all,
            Some(Value::Array(_)) => {
                return Err(wrong(format!("`evaluations` has at most {EVALUATIONS_MAX}")));
            }
            Some(_) => return Err(wrong("`evaluations` is a list")),
        };
        let options = object(fields, "options")?;
        let semantic = options.and_then(|options| options.get("evaluations_semantic"));
        let semantic = match semantic.map(Value::as_str) {
            None | Some(Some("execute_all")) => Semantic::ExecuteAll,
            Some(Some("deny_on_first_deny")) => Semantic::DenyOnFirstDeny,
            Some(Some("permit_on_first_permit")) => Semantic::PermitOnFirstPermit,
            Some(_) => {
                let known = "`execute_all`, `deny_on_first_deny` or `permit_on_first_permit`";
                return Err(wrong(format!("`options.evaluations_semantic` is {known}")));
            }
        };
        let read = |own: &Value| match own {
            Value::Object(own) => Evaluation::with_defaults(own, fields),
            _ => Err(wrong("an evaluation is a JSON object")),
        };
        Ok(Some(Self { evaluations: all.iter().map(read).collect(), semantic }))
    }
}

impl Evaluation {
    /// Reads a single evaluation.
    ///
    /// # Errors
    /// When a field that the standard requires is missing or mistyped.
    pub fn read(fields: &Map<String, Value>) -> Result<Self, AuthzenError> {
        Self::with_defaults(fields, &Map::new())
    }

    /// The same where another object says what this one does not. An entity replaces the other one as a whole; only its type,
    /// id or name are taken from there if it has none.
    fn with_defaults(own: &Map<String, Value>, defaults: &Map<String, Value>) -> Result<Self, AuthzenError> {
        let (subject, resource) = (entity(own, defaults, "subject")?, entity(own, defaults, "resource")?);
        let (action, default) = (object(own, "action")?, object(defaults, "action")?);
        let name = text(action, default, "action", "name")?;
        let context = object(own, "context")?.or(object(defaults, "context")?);
        let evaluation = Self {
            subject,
            action: name,
            action_properties: properties(action.or(default), "action")?,
            resource,
            context: context.cloned().unwrap_or_default(),
        };
        // They decide what is stored, so a mistake in them must not make another request of it.
        for name in ["call_id", "session"] {
            evaluation.text_of(name)?;
        }
        if object(&evaluation.context, "approval")?.is_some() && evaluation.approval().is_none() {
            return Err(wrong("`context.approval.id` is a text"));
        }
        Ok(evaluation)
    }

    /// The session that it is about; none if it is the token's own.
    pub fn session(&self) -> Option<&str> {
        self.context.get("session").and_then(Value::as_str)
    }

    /// The id of the call, where it is to be decided and counted; none if it is a dry run.
    pub fn call_id(&self) -> Option<&str> {
        self.context.get("call_id").and_then(Value::as_str)
    }

    /// The approval that it comes back with.
    pub fn approval(&self) -> Option<&str> {
        self.context.get("approval")?.get("id")?.as_str()
    }

    /// Whether the client says that it carries out our obligation.
    pub fn takes_obligations(&self) -> bool {
        let kinds = self.context.get("obligations_supported").and_then(Value::as_array);
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == OBLIGATION))
    }

    /// The call that is meant. That of an MCP tool is the tool with its arguments; of anything else, such as to `write` a
    /// `record`, the tool is `record.write`, and its input says to which.
    pub fn into_call(self, session: &str) -> CallMessage {
        let Self { subject, action, action_properties, resource, context } = self;
        let (tool, input) = if action == TOOL_CALL && resource.kind == TOOL {
            let arguments = context.get("arguments").and_then(Value::as_object).cloned();
            (resource.id, arguments.unwrap_or(resource.properties))
        } else {
            let mut input = Map::new();
            input.insert("id".to_owned(), resource.id.into());
            input.insert("properties".to_owned(), resource.properties.into());
            input.insert("action".to_owned(), action_properties.into());
            (format!("{}.{action}", resource.kind), input)
        };
        let id = context.get("call_id").and_then(Value::as_str).unwrap_or("dry-run").to_owned();
        CallMessage {
            id,
            tool,
            input,
            session: Some(session.to_owned()),
            principal: Some(subject.into_principal()),
            context: Some(Value::Object(context)),
            ask: Human::Reachable,
            ..CallMessage::default()
        }
    }

    fn text_of(&self, name: &str) -> Result<(), AuthzenError> {
        match self.context.get(name) {
            None => Ok(()),
            Some(Value::String(text)) if !text.is_empty() => Ok(()),
            Some(_) => Err(wrong(format!("`context.{name}` is a text that is not empty"))),
        }
    }
}

impl Entity {
    /// Who it is, as rulesets read it: `principal.user_id`, `principal.role` and the like, and `principal.claims`.
    fn into_principal(self) -> Value {
        let Self { kind, id, properties } = self;
        let mut principal = Map::new();
        for name in ["role", "org_id", "service_id", "ticket_ref"] {
            if let Some(value) = properties.get(name) {
                principal.insert(name.to_owned(), value.clone());
            }
        }
        principal.insert("user_id".to_owned(), Value::from(id));
        principal.insert("type".to_owned(), Value::from(kind));
        principal.insert("claims".to_owned(), json!(properties));
        Value::Object(principal)
    }
}

fn wrong(text: impl Into<String>) -> AuthzenError {
    AuthzenError(text.into())
}

fn entity(
    own: &Map<String, Value>,
    defaults: &Map<String, Value>,
    name: &str,
) -> Result<Entity, AuthzenError> {
    let (own, default) = (object(own, name)?, object(defaults, name)?);
    let (kind, id) = (text(own, default, name, "type")?, text(own, default, name, "id")?);
    Ok(Entity { kind, id, properties: properties(own.or(default), name)? })
}

fn object<'a>(
    fields: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a Map<String, Value>>, AuthzenError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(fields)) => Ok(Some(fields)),
        Some(_) => Err(wrong(format!("`{name}` is a JSON object"))),
    }
}

fn text(
    own: Option<&Map<String, Value>>,
    default: Option<&Map<String, Value>>,
    of: &str,
    name: &str,
) -> Result<String, AuthzenError> {
    let found = own.and_then(|own| own.get(name)).or_else(|| default.and_then(|default| default.get(name)));
    match found {
        Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
        Some(_) => Err(wrong(format!("`{of}.{name}` is a text that is not empty"))),
        None if own.or(default).is_none() => Err(wrong(format!("`{of}` is missing"))),
        None => Err(wrong(format!("`{of}.{name}` is missing"))),
    }
}

fn properties(of: Option<&Map<String, Value>>, name: &str) -> Result<Map<String, Value>, AuthzenError> {
    let found = of.map(|of| object(of, "properties")).transpose();
    let found = found.map_err(|_| wrong(format!("`{name}.properties` is a JSON object")))?;
    Ok(found.flatten().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests;
