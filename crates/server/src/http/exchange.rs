//! One request that was let in, and its reply.

use axum::http::{HeaderName, StatusCode};
use lockgate::engine::Time;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{logins::Login, problem::Problem, service::Service};
use crate::{protocol::encode, tokens::Caller};

/// One request that was let in.
pub(crate) struct Exchange<'a> {
    pub(crate) service: &'a Service,
    pub(crate) caller: &'a Caller,
    /// The login by which a page is shown.
    pub(crate) login: Option<&'a Login>,
    /// The address of this server as the client knows it, such as `https://gate.example`.
    pub(crate) origin: &'a str,
    /// What time it is, where requests may say so.
    pub(crate) at: Option<Time>,
    /// What stands behind the `?`.
    pub(crate) query: &'a [(String, String)],
    /// The body, or the fields of a form; empty for a GET.
    pub(crate) body: &'a Map<String, Value>,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) media_type: &'static str,
    /// Beside those that every response has.
    pub(crate) headers: Vec<(HeaderName, String)>,
    pub(crate) body: String,
}

impl Reply {
    /// The JSON of a value.
    pub(crate) fn of(value: &impl Serialize) -> Self {
        Self::text(encode(value))
    }

    /// JSON that was written already.
    pub(crate) fn text(body: String) -> Self {
        Self { status: StatusCode::OK, media_type: "application/json", headers: Vec::new(), body }
    }
}

impl Exchange<'_> {
    /// The moment of the request.
    pub(crate) fn moment(&self) -> Time {
        self.service.moment(self.at)
    }

    /// Whether the caller may enter a session.
    ///
    /// # Errors
    /// When it is not one of the token's.
    pub(crate) fn enter(&self, session: &str) -> Result<(), Problem> {
        if self.caller.may_enter(session) {
            return Ok(());
        }
        let detail = format!("this token is not for session `{session}`; an admin can make one that is");
        Err(Problem::forbidden(detail))
    }

    /// Whether the caller may do what is about all sessions.
    ///
    /// # Errors
    /// When the token is for some of them.
    pub(crate) fn enter_all(&self) -> Result<(), Problem> {
        match self.caller.may_enter_all() {
            true => Ok(()),
            false => {
                Err(Problem::forbidden("this token is for some sessions; name one of them in `session`"))
            }
        }
    }

    /// A field of a form; empty where it was not sent.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.body.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A parameter of the query.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A parameter that is a number.
    ///
    /// # Errors
    /// When it is something else.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        let read = |text: &str| {
            text.parse().map_err(|_| Problem::bad(format!("`{name}` is a whole number, not `{text}`")))
        };
        self.parameter(name).map(read).transpose()
    }

    /// Refuses parameters that the route does not have: a misspelt filter must not look like one.
    ///
    /// # Errors
    /// The first one that is unknown or appears twice.
    pub(crate) fn know(&self, names: &[&str]) -> Result<(), Problem> {
        for (place, (name, _)) in self.query.iter().enumerate() {
            if !names.contains(&name.as_str()) {
                let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                return Err(Problem::bad(format!(
                    "the parameter `{name}` is not known here; known are: {known}"
                )));
            }
            if self.query.iter().take(place).any(|(other, _)| other == name) {
                return Err(Problem::bad(format!("the parameter `{name}` appears twice")));
            }
        }
        Ok(())
    }
}
