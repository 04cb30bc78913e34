//! Waits for clients at `http://ADDRESS/mcp`.
//!
//! [`serve`] turns each session, and each request of the revision without sessions, into a conversation of its own and
//! hands it to a [`Acceptor`]. Nothing of a request is read before [`Admission`] has let it in, and no number of
//! requests makes it hold more than its bounds. TLS is left out: put a reverse proxy in front to listen beyond this
//! machine.
//!
//! The headers `Mcp-Param-…` of a client have to agree with the arguments they repeat, as far as the acceptor knows
//! which there must be. They are not passed on: the relay makes them anew from the arguments it lets through.

use std::{
    fmt, io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Body as _, Incoming as RequestBody},
    header::{ALLOW, HeaderName, HeaderValue, WWW_AUTHENTICATE},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
    time::{MissedTickBehavior, interval, timeout},
};

use super::{
    acceptor::{Acceptor, ConversationKind},
    admission::{ANSWERS, Admission, Refusal, check_accept, check_content, only},
    fields::{self, EVENTS, LEGACY, MODERN, MODERNS, PRIMED, RepeatedFields},
    response::{Body, Source, answer, empty, error, events, json},
    sessions::{Session, Sessions},
    sse::one_line,
};
use crate::{
    message::{Id, Kind, MESSAGE_BYTES_MAX, Message},
    transport::link::{Incoming, pipe},
};

/// How many connections may be open at once; others wait until one ends.
pub(super) const CONNECTIONS_MAX: usize = 256;

/// How many answers may be under way at once. Fewer than connections: a client whose streams take all of these can
/// still say what they wait for.
pub(super) const STREAMS_MAX: usize = 192;

/// How long the head of a request may take, and how long a connection may wait for its next request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the body of a request may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long what a client said may wait until the gate takes it.
const TAKEN_TIMEOUT: Duration = Duration::from_secs(60);

/// How many headers a request may have.
const HEADERS_MAX: usize = 64;

/// How long all headers of a request may be together, in bytes.
pub(super) const HEAD_BYTES_MAX: usize = 32 * 1024;

/// How much of a connection is held at once. What does not fit is cut off before it is looked at.
const BUFFER_BYTES_MAX: usize = 2 * HEAD_BYTES_MAX;

/// How often unused sessions are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// How long to wait when the machine has no connections left to give.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const PATH: &str = "/mcp";

/// How clients are served.
#[derive(Clone)]
pub struct ServeOptions {
    /// What a client has to know. Beyond this machine there must be one.
    pub token: Option<String>,
    /// Takes sentences for the operator. They hold nothing of the messages.
    pub note: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { token: None, note: Arc::new(|_| {}) }
    }
}

impl fmt::Debug for ServeOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "…");
        formatter.debug_struct("ServeOptions").field("token", &token).finish_non_exhaustive()
    }
}

/// Why clients are not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Others could reach the gate.
    #[error("`{0}` can be reached from other machines: give a token, or listen on 127.0.0.1")]
    Open(SocketAddr),
    /// Anybody knows it.
    #[error("the token is empty")]
    EmptyToken,
    /// The machine does not let us listen.
    #[error("cannot listen")]
    Listen(#[from] io::Error),
}

/// Serves clients until it is dropped. All conversations end with it.
///
/// # Errors
/// When the address can be reached from other machines and there is no token.
pub async fn serve(
    listener: TcpListener,
    options: ServeOptions,
    acceptor: Arc<dyn Acceptor>,
) -> Result<(), ServeError> {
    let address = listener.local_addr()?;
    match options.token.as_deref() {
        Some("") => return Err(ServeError::EmptyToken),
        None if !address.ip().is_loopback() => return Err(ServeError::Open(address)),
        _ => {}
    }
    let responder = Arc::new(Responder {
        admission: Admission::new(address, options.token.as_deref()),
        sessions: Sessions::new(options.note),
        streams: Arc::new(Semaphore::new(STREAMS_MAX)),
        acceptor,
    });
    let seats = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    let mut sweep = interval(SWEEP_EVERY);
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            (stream, seat) = accept(&listener, &seats) => {
                connections.spawn(kind(stream, seat, Arc::clone(&responder)));
            }
            Some(_) = connections.join_next() => {}
            _ = sweep.tick() => responder.sessions.sweep(Instant::now()),
        }
    }
}

/// The next connection, once there is a seat for it.
async fn accept(listener: &TcpListener, seats: &Arc<Semaphore>) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed, so there is always a permit.
    let seat = Arc::clone(seats).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, seat),
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// One connection, from its first request to its end.
async fn kind(stream: TcpStream, _seat: Option<OwnedSemaphorePermit>, responder: Arc<Responder>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let responder = Arc::clone(&responder);
        async move { Ok::<_, std::convert::Infallible>(responder.receive(request).await) }
    });
    // A failed connection has no receiver for an error.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_headers(HEADERS_MAX)
        .max_buf_size(BUFFER_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// What all connections share.
struct Responder {
    admission: Admission,
    sessions: Arc<Sessions>,
    streams: Arc<Semaphore>,
    acceptor: Arc<dyn Acceptor>,
}

/// A refusal, in the words of JSON-RPC.
struct Fault {
    refusal: Refusal,
    id: Option<Id>,
    code: i32,
    /// The revision that was asked for, where it is not one of these.
    requested: Option<(String, &'static [&'static str])>,
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, id: None, code: -32600, requested: None }
    }
}

impl Fault {
    fn new(status: StatusCode, sentence: impl Into<String>) -> Self {
        Refusal::new(status, sentence).into()
    }

    fn about(mut self, id: Option<&Id>) -> Self {
        self.id = id.cloned();
        self
    }

    fn with_code(mut self, code: i32) -> Self {
        self.code = code;
        self
    }

    fn into_response(self) -> Response<Body> {
        let Refusal { status, sentence } = self.refusal;
        let data = |(requested, supported)| json!({"supported": supported, "requested": requested});
        let data = self.requested.map(data);
        let mut response = json(status, error(self.id.as_ref(), self.code, &sentence, data));
        let (name, value) = match status {
            StatusCode::METHOD_NOT_ALLOWED => (ALLOW, "POST, GET, DELETE"),
            StatusCode::UNAUTHORIZED => (WWW_AUTHENTICATE, "Bearer"),
            _ => return response,
        };
        response.headers_mut().insert(name, HeaderValue::from_static(value));
        response
    }
}

impl Responder {
    async fn receive(&self, request: Request<RequestBody>) -> Response<Body> {
        self.answer(request).await.unwrap_or_else(Fault::into_response)
    }

    async fn answer(&self, request: Request<RequestBody>) -> Result<Response<Body>, Fault> {
        let length: usize =
            request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        if length > HEAD_BYTES_MAX {
            let sentence = format!("the headers are longer than {HEAD_BYTES_MAX} bytes together");
            return Err(Fault::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, sentence));
        }
        self.admission.check(request.uri(), request.headers())?;
        if request.uri().path() != PATH {
            return Err(Fault::new(StatusCode::NOT_FOUND, format!("there is nothing here but `{PATH}`")));
        }
        match *request.method() {
            Method::POST => self.post(request).await,
            Method::GET => self.get(request.headers()),
            Method::DELETE => self.delete(request.headers()),
            _ => Err(Fault::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "only POST, GET and DELETE are understood here",
            )),
        }
    }

    async fn post(&self, request: Request<RequestBody>) -> Result<Response<Body>, Fault> {
        check_content(request.headers())?;
        check_accept(request.headers(), &ANSWERS)?;
        let (head, body) = request.into_parts();
        let text = read(body).await?;
        let malformed =
            |error: crate::message::Malformed| Fault::new(StatusCode::BAD_REQUEST, error.to_string());
        let message = Message::read(&text).map_err(malformed)?;
        let repeated = RepeatedFields::read(&message).map_err(malformed)?;
        let kind = message.kind.clone();
        drop(message);
        if repeated.is_modern() || version(&head.headers)? == Some(MODERN) {
            check_modern(&head.headers, &kind, &repeated)?;
            check_mirrored(&head.headers, &kind, &self.acceptor.mirrored(&text))?;
            return self.one_request(text, kind).await;
        }
        self.in_session(&head.headers, text, kind).await
    }

    /// A request of the revision without sessions: a conversation of its own.
    async fn one_request(&self, text: String, kind: Kind) -> Result<Response<Body>, Fault> {
        let permit = self.permit()?;
        let (link, ends) = pipe();
        self.acceptor.begin(link, ConversationKind::Request);
        say(&ends.say, text).await?;
        match kind {
            Kind::Request { id, .. } => Ok(answer(Source::of_request(id, ends, permit)).await),
            Kind::Notice { .. } | Kind::Answer { .. } => Ok(empty(StatusCode::ACCEPTED)),
        }
    }

    async fn in_session(
        &self,
        headers: &HeaderMap,
        text: String,
        kind: Kind,
    ) -> Result<Response<Body>, Fault> {
        let named = only(headers, &HeaderName::from_static(fields::SESSION))?;
        let begins = matches!(&kind, Kind::Request { method, .. } if method == "initialize");
        if begins && named.is_none() {
            // The permit comes first: a session that could not be answered would be left behind.
            let permit = self.permit()?;
            let session = self.sessions.begin(&*self.acceptor)?;
            let is_primed = knows_priming(fields::wanted_version(&text).as_deref());
            let mut response = self.ask(&session, permit, text, kind, is_primed).await?;
            if let Ok(id) = HeaderValue::from_str(&session.id) {
                response.headers_mut().insert(fields::SESSION, id);
            }
            return Ok(response);
        }
        let session = self.session(headers)?;
        match &kind {
            Kind::Request { .. } => {
                self.ask(&session, self.permit()?, text, kind, knows_priming(version(headers)?)).await
            }
            Kind::Notice { .. } | Kind::Answer { .. } => {
                say(&session.say, text).await?;
                Ok(empty(StatusCode::ACCEPTED))
            }
        }
    }

    async fn ask(
        &self,
        session: &Arc<Session>,
        permit: OwnedSemaphorePermit,
        text: String,
        kind: Kind,
        is_primed: bool,
    ) -> Result<Response<Body>, Fault> {
        let Kind::Request { id, .. } = kind else {
            return Err(Fault::new(StatusCode::BAD_REQUEST, "only a request is answered"));
        };
        let source = Source::of_session(session.open_request(&id)?, permit);
        say(&session.say, text).await?;
        Ok(events(source, is_primed))
    }

    fn get(&self, headers: &HeaderMap) -> Result<Response<Body>, Fault> {
        check_accept(headers, &[EVENTS])?;
        let session = self.session(headers)?;
        let is_primed = knows_priming(version(headers)?);
        // The permit comes first: a client that gets none keeps the stream it has.
        let permit = self.permit()?;
        let reader = match only(headers, &HeaderName::from_static(fields::LAST_EVENT))? {
            None => session.open_own(),
            Some(last) => match session.resume(last)? {
                Some(reader) => reader,
                // To clients of event streams this says not to come back. After a stream that ends at once some would,
                // again and again.
                None => return Ok(empty(StatusCode::NO_CONTENT)),
            },
        };
        Ok(events(Source::of_session(reader, permit), is_primed))
    }

    fn delete(&self, headers: &HeaderMap) -> Result<Response<Body>, Fault> {
        let session = self.session(headers)?;
        self.sessions.end(&session.id, "the client ended the session");
        Ok(empty(StatusCode::NO_CONTENT))
    }

    /// The session that a request names.
    fn session(&self, headers: &HeaderMap) -> Result<Arc<Session>, Fault> {
        if let Some(version) = version(headers)?.filter(|version| !LEGACY.contains(version)) {
            return Err(unsupported(version, &LEGACY));
        }
        let Some(id) = only(headers, &HeaderName::from_static(fields::SESSION))? else {
            let sentence = "`Mcp-Session-Id` is missing: begin a session with `initialize`";
            return Err(Fault::new(StatusCode::BAD_REQUEST, sentence));
        };
        let unknown =
            || Fault::new(StatusCode::NOT_FOUND, "no such session exists: begin one with `initialize`");
        self.sessions.find(id).ok_or_else(unknown)
    }

    fn permit(&self) -> Result<OwnedSemaphorePermit, Fault> {
        let busy = |_| {
            Fault::new(StatusCode::SERVICE_UNAVAILABLE, "too many requests wait for answers: try again later")
        };
        Arc::clone(&self.streams).try_acquire_owned().map_err(busy)
    }
}

/// The revision that a request names.
fn version(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    only(headers, &HeaderName::from_static(fields::VERSION))
}

/// Whether a client takes an event without data for what it is. Older ones would try to read it as a message.
fn knows_priming(version: Option<&str>) -> bool {
    version.is_some_and(|version| PRIMED.contains(&version))
}

/// Whether the headers say what the message says.
fn check_modern(headers: &HeaderMap, kind: &Kind, repeated: &RepeatedFields) -> Result<(), Fault> {
    let id = match kind {
        Kind::Request { id, .. } => Some(id),
        Kind::Notice { .. } => None,
        Kind::Answer { .. } => {
            let sentence = "in this revision a server asks nothing, so there is nothing to answer";
            return Err(Fault::new(StatusCode::BAD_REQUEST, sentence));
        }
    };
    let differs = |name: &str| differs(name, id);
    let given = |name: &str| given(headers, name, id);
    let incomplete = |what: &str| {
        let sentence = format!("`_meta` of a request has to name {what}");
        Fault::new(StatusCode::BAD_REQUEST, sentence).about(id).with_code(-32602)
    };
    if id.is_some() && repeated.version.is_none() {
        return Err(incomplete("the revision of the protocol"));
    }
    let version = given(fields::VERSION)?;
    // A notice need not name its revision.
    let version_agrees = repeated.version == version || (id.is_none() && repeated.version.is_none());
    if !version_agrees {
        return Err(differs(fields::VERSION));
    }
    if let Some(version) = version.filter(|version| version != MODERN) {
        return Err(unsupported(&version, &MODERNS).about(id));
    }
    for (name, said) in [(fields::METHOD, &repeated.method), (fields::NAME, &repeated.name)] {
        let given = given(name)?;
        // Only some methods have a name; a header that others send in vain says nothing.
        let compared = name == fields::METHOD || fields::has_name(repeated.method.as_deref());
        if compared && given != *said {
            return Err(differs(name));
        }
    }
    if id.is_some() && !repeated.has_capabilities {
        return Err(incomplete("what the client can do"));
    }
    Ok(())
}

/// Whether headers say what the arguments say that they repeat.
fn check_mirrored(
    headers: &HeaderMap,
    kind: &Kind,
    mirrored: &[(String, Option<String>)],
) -> Result<(), Fault> {
    let Kind::Request { id, .. } = kind else { return Ok(()) };
    for (name, said) in mirrored {
        let name = format!("{}{}", fields::PARAMETER_PREFIX, name.to_ascii_lowercase());
        if given(headers, &name, Some(id))? != *said {
            return Err(differs(&name, Some(id)));
        }
    }
    Ok(())
}

fn differs(name: &str, id: Option<&Id>) -> Fault {
    let sentence = format!("the header `{name}` does not say what the message says");
    Fault::new(StatusCode::BAD_REQUEST, sentence).about(id).with_code(-32020)
}

/// The value of a header. A duplicate or unreadable one cannot be compared.
fn given(headers: &HeaderMap, name: &str, id: Option<&Id>) -> Result<Option<String>, Fault> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().map(fields::decode);
    if values.next().is_some() || value == Some(None) { Err(differs(name, id)) } else { Ok(value.flatten()) }
}

fn unsupported(version: &str, supported: &'static [&'static str]) -> Fault {
    let mut fault = Fault::new(StatusCode::BAD_REQUEST, "this revision of the protocol is not supported");
    fault.requested = Some((version.to_owned(), supported));
    fault.with_code(-32022)
}

/// The text of a request.
async fn read(body: RequestBody) -> Result<String, Fault> {
    let too_long = || {
        let sentence = format!("the message is longer than {MESSAGE_BYTES_MAX} bytes");
        Fault::new(StatusCode::PAYLOAD_TOO_LARGE, sentence)
    };
    if body.size_hint().lower() > MESSAGE_BYTES_MAX as u64 {
        return Err(too_long());
    }
    let whole = timeout(BODY_TIMEOUT, Limited::new(body, MESSAGE_BYTES_MAX).collect()).await;
    let whole =
        whole.map_err(|_| Fault::new(StatusCode::REQUEST_TIMEOUT, "the message took too long to arrive"))?;
    let whole = whole.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => too_long(),
        None => Fault::new(StatusCode::BAD_REQUEST, "the message did not arrive whole"),
    })?;
    match std::str::from_utf8(&whole.to_bytes()) {
        Ok(text) => Ok(one_line(text)),
        Err(_) => Err(Fault::new(StatusCode::BAD_REQUEST, "the message is not UTF-8").with_code(-32700)),
    }
}

/// Tells a conversation what its client said.
async fn say(to: &mpsc::Sender<Incoming>, text: String) -> Result<(), Fault> {
    match timeout(TAKEN_TIMEOUT, to.send(Incoming::Message(text))).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(Fault::new(StatusCode::NOT_FOUND, "the conversation is over: begin another")),
        Err(_) => Err(Fault::new(StatusCode::SERVICE_UNAVAILABLE, "Lockgate is busy: try again later")),
    }
}
