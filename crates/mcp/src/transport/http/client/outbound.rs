//! What is to be sent to a server, by how it is sent.

use std::time::Duration;

use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue},
};

use super::reading::Reason;
use crate::{
    message::{Id, Kind, Members, Message},
    transport::{
        http::fields::{self, RepeatedFields},
        link::Outgoing,
    },
};

/// How long nothing may come of an answer. Tools may work for long before they say anything.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// How long the end of a conversation may take.
pub(super) const GOODBYE_TIMEOUT: Duration = Duration::from_secs(5);

/// One request, as far as its exchange has to know it.
pub(super) struct SentRequest {
    pub(super) id: Id,
    pub(super) method: String,
    pub(super) modern: bool,
    /// Tells it apart from a later request with the same id.
    pub(super) serial: u64,
}

impl SentRequest {
    pub(super) fn begins_session(&self) -> bool {
        self.method == "initialize" && !self.modern
    }

    /// How long nothing may come. A subscription is there to wait.
    pub(super) fn patience(&self) -> Option<Duration> {
        (self.method != "subscriptions/listen").then_some(IDLE_TIMEOUT)
    }
}

/// What is to be sent, by how it is sent.
pub(super) enum Outbound {
    Request(SentRequest, Post),
    /// Gives up a request; in the revision without sessions nothing is sent for that.
    Cancel(Id, Post),
    /// The session has begun, and the server may speak by itself.
    Initialized(Post),
    /// Wants no answer.
    Note(Post),
}

/// One message on its way.
pub(super) struct Post {
    pub(super) text: String,
    pub(super) fields: HeaderMap,
    /// Without a session: it begins one, or needs none.
    pub(super) outside: bool,
}

impl Outbound {
    /// Reads a message to send; an error names the request that cannot be sent, and why.
    pub(super) fn read(outgoing: Outgoing) -> Result<Self, (Option<Id>, Reason)> {
        let unreadable = |error| format!("cannot send an invalid message: {error}");
        let message = Message::read(&outgoing.text).map_err(|error| (None, unreadable(error)))?;
        let kind = message.kind.clone();
        let about = |reason| match &kind {
            Kind::Request { id, .. } => (Some(id.clone()), reason),
            Kind::Notice { .. } | Kind::Answer { .. } => (None, reason),
        };
        let repeated = RepeatedFields::read(&message).map_err(|error| about(unreadable(error)))?;
        let cancelled = match &kind {
            Kind::Notice { method } if method == "notifications/cancelled" => cancelled_id(&message),
            _ => None,
        };
        drop(message);
        let begins = matches!(&kind, Kind::Request { method, .. } if method == "initialize");
        let fields = match repeated.is_modern() {
            true => modern_fields(&repeated, &outgoing.mirrored).map_err(about)?,
            false => HeaderMap::new(),
        };
        let post = Post { text: outgoing.text, fields, outside: begins || repeated.is_modern() };
        Ok(match (kind, cancelled) {
            (Kind::Request { id, method }, _) => {
                Self::Request(SentRequest { id, method, modern: repeated.is_modern(), serial: 0 }, post)
            }
            (_, Some(id)) => Self::Cancel(id, post),
            (Kind::Notice { method }, None) if method == "notifications/initialized" => {
                Self::Initialized(post)
            }
            _ => Self::Note(post),
        })
    }
}

/// The request that a notice gives up.
fn cancelled_id(notice: &Message<'_>) -> Option<Id> {
    let params = Members::read(notice.params()?.get()).ok()?;
    let id = serde_json::from_str(params.get("requestId")?.get()).ok()?;
    Id::of(&id)
}

/// What the headers repeat of a message of the revision without sessions.
fn modern_fields(repeated: &RepeatedFields, mirrored: &[(String, String)]) -> Result<HeaderMap, Reason> {
    let mut headers = HeaderMap::new();
    // A name that is no header name, or not of this kind, could pass for another header.
    let parameters = mirrored.iter().map(|(name, value)| {
        let name = name.to_ascii_lowercase();
        let prefix = if name.starts_with(fields::PARAMETER_PREFIX) { "" } else { fields::PARAMETER_PREFIX };
        (format!("{prefix}{name}"), Some(value))
    });
    let own = [
        (fields::VERSION, &repeated.version),
        (fields::METHOD, &repeated.method),
        (fields::NAME, &repeated.name),
    ];
    let own = own.into_iter().map(|(name, value)| (name.to_owned(), value.as_ref()));
    for (name, value) in own.chain(parameters) {
        let Some(value) = value else { continue };
        let unfit = || format!("`{}` cannot be the name of a header", name.escape_debug());
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?;
        let value = HeaderValue::from_str(&fields::encode(value)).map_err(|_| unfit())?;
        if headers.insert(key, value).is_some() {
            return Err(format!("the header `{name}` would appear twice"));
        }
    }
    Ok(headers)
}
