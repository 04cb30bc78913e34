//! A server that is reached over streamable HTTP, as a link.
//!
//! [`connect`] gives the link; nothing is sent before something is said. Each message is a POST of its own, and what
//! the answer holds is passed on as it comes. When one exchange fails, only its request is lost ([`Incoming::Gone`]
//! says which and why). The reason never repeats what the server said, which no rule has looked at, nor the headers of
//! the target, which hold credentials. Redirects are not followed, so that credentials go nowhere else, and proxies
//! named in the environment are not used.

use std::{
    collections::HashMap,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri,
    body::{Body as _, Incoming as AnswerBody},
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue},
};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::{
    client::legacy::{
        Client, Error as SendError,
        connect::{Connect, HttpConnector},
    },
    rt::{TokioExecutor, TokioTimer},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
    task::JoinSet,
    time::{sleep, timeout},
};
use url::Url;

use super::{
    doorkeeper::media_type,
    fields::{self, EVENTS, JSON, Told},
    sse::{Event, Reader, one_line},
    stream::answered,
};
use crate::{
    link::{Incoming, Link, Outgoing, pipe},
    message::{Id, Kind, MESSAGE_BYTES_MAX, Members, Message},
};

/// How many requests may wait for answers at once. One more is refused rather than held back: what waits behind it
/// may be the very answer that the others wait for.
pub(super) const REQUESTS_MAX: usize = 128;

/// How many notices and answers may be under way at once; others wait.
pub(super) const NOTES_MAX: usize = 16;

/// How long one address of the server may take to be reached.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long nothing may come of an answer. Tools may work for long before they say anything.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// How long a server may take to accept what wants no answer.
const NOTE_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the end of a conversation may take.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection that nobody uses is kept for the next exchange. Many servers close theirs after five seconds,
/// and a request that meets the closing is lost.
const UNUSED_CONNECTION_MAX: Duration = Duration::from_secs(4);

/// How often the machine asks whether a silent server is still there.
const TCP_KEEP_ALIVE: Duration = Duration::from_secs(60);

/// How often in a row a stream is opened again without anything coming of it.
pub(super) const ATTEMPTS_MAX: u32 = 5;

/// How long to wait before a stream is opened again, where the server does not say; longer with each attempt.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The longest wait before a stream is opened again, whatever the server says.
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(30);

/// A stream that was open for so long had come to something, even if nothing was said.
const STREAM_LASTED: Duration = Duration::from_secs(30);

/// The longest session id that is remembered, in bytes.
pub(super) const SESSION_ID_BYTES_MAX: usize = 1024;

/// Where a server is and what it wants to be told with every request.
#[derive(Clone)]
pub struct HttpTarget {
    /// Its address, `http://…` or `https://…`.
    pub url: String,
    /// Headers, such as `Authorization`. Their values are never shown.
    pub headers: Vec<(String, String)>,
}

impl fmt::Debug for HttpTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        // An address may hold a secret as well, after its host.
        let host = Url::parse(&self.url).ok().and_then(|url| url.host_str().map(str::to_owned));
        formatter.debug_struct("HttpTarget").field("host", &host).field("headers", &names).finish()
    }
}

/// Why a server cannot be spoken to at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadTarget {
    /// The address is none.
    #[error("the address of the server is no URL: write `https://…` or `http://…`")]
    Url,
    /// There is a password in the address.
    #[error("the address of the server holds a name or a password: put them into a header")]
    Credentials,
    /// A header cannot be sent.
    #[error("the header `{0}` cannot be sent: its name or its value has characters that headers cannot have")]
    Header(String),
    /// A header is not the user's to set.
    #[error("the header `{0}` is set by Lockgate itself: leave it out")]
    Reserved(String),
    /// The certificates of this machine cannot be read.
    #[error("cannot read the certificates of this machine, which `https://` needs")]
    Certificates(#[source] std::io::Error),
    /// This is not a place where anything can run.
    #[error("there is no runtime to speak from")]
    Runtime,
}

/// Begins a conversation with a server. Nothing is sent yet: whether the server is there shows with the first message.
///
/// # Errors
/// When the target cannot be spoken to whatever the server does.
pub fn connect(target: &HttpTarget) -> Result<Link, BadTarget> {
    let runtime = tokio::runtime::Handle::try_current().map_err(|_| BadTarget::Runtime)?;
    let url = Url::parse(&target.url).map_err(|_| BadTarget::Url)?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(BadTarget::Url);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(BadTarget::Credentials);
    }
    let uri: Uri = url.as_str().parse().map_err(|_| BadTarget::Url)?;
    let place =
        Place { uri, headers: read_headers(&target.headers)?, send: sender(url.scheme() == "https")? };
    let (link, ends) = pipe();
    let mouth = Arc::new(Mouth { place, say: ends.say, state: Mutex::default() });
    runtime.spawn(speak(ends.hear, mouth));
    Ok(link)
}

/// What the protocol needs these for; a second value could be read in place of ours.
const RESERVED: [&str; 13] = [
    "accept",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

fn read_headers(given: &[(String, String)]) -> Result<HeaderMap, BadTarget> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let bad = || BadTarget::Header(name.clone());
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        if RESERVED.contains(&key.as_str()) || key.as_str().starts_with("mcp-") {
            return Err(BadTarget::Reserved(name.clone()));
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.append(key, value);
    }
    Ok(headers)
}

type Sending = Pin<Box<dyn Future<Output = Result<Response<AnswerBody>, SendError>> + Send>>;
type Sender = Box<dyn Fn(Request<Full<Bytes>>) -> Sending + Send + Sync>;

/// Sends requests, with or without TLS.
fn sender(tls: bool) -> Result<Sender, BadTarget> {
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    connector.set_keepalive(Some(TCP_KEEP_ALIVE));
    connector.set_nodelay(true);
    if !tls {
        return Ok(sender_over(connector));
    }
    connector.enforce_http(false);
    let secure = HttpsConnectorBuilder::new().with_native_roots().map_err(BadTarget::Certificates)?;
    Ok(sender_over(secure.https_only().enable_http1().wrap_connector(connector)))
}

fn sender_over<C: Connect + Clone + Send + Sync + 'static>(connector: C) -> Sender {
    let client = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(UNUSED_CONNECTION_MAX)
        .build(connector);
    Box::new(move |request| Box::pin(client.request(request)))
}

/// Where the server is.
struct Place {
    uri: Uri,
    headers: HeaderMap,
    send: Sender,
}

/// What all exchanges of one conversation share.
struct Mouth {
    place: Place,
    say: mpsc::Sender<Incoming>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The session that the server gave us.
    session: Option<HeaderValue>,
    /// The revision that was agreed on with it.
    version: Option<HeaderValue>,
    running: HashMap<Id, Running>,
    /// How many requests there were.
    asked: u64,
}

impl State {
    /// A request is over. A later one with the same id is not.
    fn forget(&mut self, asked: &Asked) -> Option<Running> {
        let same = self.running.get(&asked.id).is_some_and(|running| running.serial == asked.serial);
        same.then(|| self.running.remove(&asked.id))?
    }
}

/// A request that waits for its answer.
struct Running {
    serial: u64,
    modern: bool,
    /// Dropped or used, this ends the exchange.
    stop: oneshot::Sender<()>,
}

/// One request, as far as its exchange has to know it.
struct Asked {
    id: Id,
    method: String,
    modern: bool,
    /// Tells it apart from a later request with the same id.
    serial: u64,
}

/// Why an exchange failed, for people.
type Reason = String;

/// Sends what is said until nobody says anything more.
async fn speak(mut hear: mpsc::Receiver<Outgoing>, mouth: Arc<Mouth>) {
    let mut requests = JoinSet::new();
    let mut notes = JoinSet::new();
    let mut own_stream = JoinSet::new();
    let notes_free = Arc::new(Semaphore::new(NOTES_MAX));
    loop {
        let outgoing = tokio::select! {
            outgoing = hear.recv() => outgoing,
            () = mouth.say.closed() => None,
            Some(_) = requests.join_next() => continue,
            Some(_) = notes.join_next() => continue,
            Some(_) = own_stream.join_next() => continue,
        };
        let Some(outgoing) = outgoing else { break };
        match Spoken::read(outgoing) {
            Ok(Spoken::Request(mut asked, post)) => match mouth.register(&mut asked) {
                Ok(stopped) => drop(requests.spawn(Arc::clone(&mouth).ask(asked, post, stopped))),
                Err(reason) => mouth.lose(Some(asked.id), reason).await,
            },
            Ok(Spoken::Cancel(id, _)) if mouth.stop(&id) => {}
            Ok(Spoken::Cancel(_, note) | Spoken::Note(note)) => {
                let Ok(permit) = Arc::clone(&notes_free).acquire_owned().await else { break };
                notes.spawn(Arc::clone(&mouth).note(note, Some(permit)));
            }
            Ok(Spoken::Initialized(note)) => {
                // What comes next may only come after this.
                Arc::clone(&mouth).note(note, None).await;
                own_stream.abort_all();
                own_stream.spawn(Arc::clone(&mouth).listen());
            }
            Err((id, reason)) => mouth.lose(id, reason).await,
        }
    }
    drop((requests, own_stream));
    let goodbye = async {
        while notes.join_next().await.is_some() {}
        mouth.end_session().await;
    };
    let _ = timeout(GOODBYE_TIMEOUT, goodbye).await;
}

/// What is to be sent, by how it is sent.
enum Spoken {
    Request(Asked, Post),
    /// Gives up a request; in the revision without sessions nothing is sent for that.
    Cancel(Id, Post),
    /// The session has begun, and the server may speak by itself.
    Initialized(Post),
    /// Wants no answer.
    Note(Post),
}

/// One message on its way.
struct Post {
    text: String,
    fields: HeaderMap,
    /// Without a session: it begins one, or needs none.
    outside: bool,
}

impl Spoken {
    /// Reads what is to be sent; otherwise tells which request cannot be, and why.
    fn read(outgoing: Outgoing) -> Result<Self, (Option<Id>, Reason)> {
        let unreadable = |error| format!("what was to be sent is no message: {error}");
        let message = Message::read(&outgoing.text).map_err(|error| (None, unreadable(error)))?;
        let kind = message.kind.clone();
        let about = |reason| match &kind {
            Kind::Request { id, .. } => (Some(id.clone()), reason),
            Kind::Notice { .. } | Kind::Answer { .. } => (None, reason),
        };
        let told = Told::read(&message).map_err(|error| about(unreadable(error)))?;
        let cancelled = match &kind {
            Kind::Notice { method } if method == "notifications/cancelled" => cancelled_id(&message),
            _ => None,
        };
        drop(message);
        let begins = matches!(&kind, Kind::Request { method, .. } if method == "initialize");
        let fields = match told.is_modern() {
            true => modern_fields(&told, &outgoing.mirrored).map_err(about)?,
            false => HeaderMap::new(),
        };
        let post = Post { text: outgoing.text, fields, outside: begins || told.is_modern() };
        Ok(match (kind, cancelled) {
            (Kind::Request { id, method }, _) => {
                Self::Request(Asked { id, method, modern: told.is_modern(), serial: 0 }, post)
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
fn modern_fields(told: &Told, mirrored: &[(String, String)]) -> Result<HeaderMap, Reason> {
    let mut headers = HeaderMap::new();
    // A name that is no header name, or not of this kind, could pass for another header.
    let parameters = mirrored.iter().map(|(name, value)| {
        let name = name.to_ascii_lowercase();
        let prefix = if name.starts_with(fields::PARAMETER_PREFIX) { "" } else { fields::PARAMETER_PREFIX };
        (format!("{prefix}{name}"), Some(value))
    });
    let own = [(fields::VERSION, &told.version), (fields::METHOD, &told.method), (fields::NAME, &told.name)];
    let own = own.into_iter().map(|(name, value)| (name.to_owned(), value.as_ref()));
    for (name, value) in own.chain(parameters) {
        let Some(value) = value else { continue };
        let unfit = || format!("`{}` cannot be the name of a header", name.escape_debug());
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?;
        let value = HeaderValue::from_str(&fields::encode(value)).map_err(|_| unfit())?;
        if headers.insert(key, value).is_some() {
            return Err(format!("the header `{name}` would stand twice"));
        }
    }
    Ok(headers)
}

impl Mouth {
    fn state(&self) -> MutexGuard<'_, State> {
        // What was locked when a thread died is still whole: every change is one step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that something could not be sent.
    async fn lose(&self, id: Option<Id>, reason: Reason) {
        let lost = match id {
            Some(id) => Incoming::Gone { reason, about: Some(id) },
            None => Incoming::Unreadable(reason),
        };
        // Where nobody listens any more, nobody misses it.
        let _ = self.say.send(lost).await;
    }

    /// Makes a request known, so that it can be stopped.
    fn register(&self, asked: &mut Asked) -> Result<oneshot::Receiver<()>, Reason> {
        let mut state = self.state();
        state.asked += 1;
        asked.serial = state.asked;
        let running = &mut state.running;
        if running.contains_key(&asked.id) {
            return Err("another request with the same id still waits for its answer".into());
        }
        if running.len() >= REQUESTS_MAX {
            return Err(format!("{REQUESTS_MAX} requests wait for this server already: come back later"));
        }
        let (stop, stopped) = oneshot::channel();
        running.insert(asked.id.clone(), Running { serial: asked.serial, modern: asked.modern, stop });
        Ok(stopped)
    }

    /// Gives up a request by closing its exchange; false where the server has to be told in words.
    fn stop(&self, id: &Id) -> bool {
        let mut state = self.state();
        match state.running.get(id).map(|running| running.modern) {
            Some(true) => {
                if let Some(running) = state.running.remove(id) {
                    // One that has just ended needs no stop.
                    let _ = running.stop.send(());
                }
                true
            }
            Some(false) => false,
            // Without a session, a request that is over cannot be given up.
            None => state.version.is_none(),
        }
    }

    /// One request, until its answer is there.
    async fn ask(self: Arc<Self>, asked: Asked, post: Post, stopped: oneshot::Receiver<()>) {
        let outcome = tokio::select! {
            _ = stopped => Ok(()),
            outcome = self.exchange(&asked, post) => outcome,
        };
        self.state().forget(&asked);
        if let Err(reason) = outcome {
            self.lose(Some(asked.id), reason).await;
        }
    }

    async fn exchange(&self, asked: &Asked, post: Post) -> Result<(), Reason> {
        let response = self.send(self.post(post), asked.patience()).await?;
        if asked.begins_session() && response.status().is_success() {
            self.remember_session(response.headers())?;
        }
        let status = response.status();
        let media =
            response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(media_type);
        match media.as_deref() {
            Some(EVENTS) if status.is_success() => self.follow(asked, response.into_body()).await,
            Some(JSON) if !status.is_redirection() => {
                let text = read_whole(response.into_body(), asked.patience()).await?;
                let answers = answered(&text).as_ref() == Some(&asked.id);
                // What is no answer to this request is only passed on where the exchange went well.
                let counts = answers || (status.is_success() && !text.trim().is_empty());
                if counts && self.pass(Some(asked), text).await? {
                    return Ok(());
                }
                Err(without_answer(status))
            }
            _ => Err(without_answer(status)),
        }
    }

    /// Reads the stream that answers a request, and opens it again where it breaks and the server allows that.
    async fn follow(&self, asked: &Asked, body: AnswerBody) -> Result<(), Reason> {
        let mut course = Course::default();
        let mut body = Some(body);
        let mut heard = Instant::now();
        loop {
            let reason = match body.take() {
                Some(body) => match self.read_events(body, Some(asked), &mut course).await {
                    End::Answered => return Ok(()),
                    End::Useless(reason) => return Err(reason),
                    End::Cut(reason) => {
                        if course.advanced {
                            heard = Instant::now();
                        }
                        // Some servers close their streams all the time, so that nobody holds one for long. As often as
                        // they open them again, the answer may still come.
                        course.advanced |= heard.elapsed() < IDLE_TIMEOUT;
                        reason
                    }
                },
                None => "the server cannot be reached to resume the answer".to_owned(),
            };
            if asked.modern || course.last_id.is_none() || !course.wait().await {
                return Err(reason);
            }
            let Ok(response) = self.send(self.get(&course), asked.patience()).await else { continue };
            if !is_stream(&response) {
                return Err(reason);
            }
            body = Some(response.into_body());
        }
    }

    /// Listens to what the server says by itself, as long as it lets us. Most servers say nothing of that kind, so it
    /// is no fault when there is no such stream.
    async fn listen(self: Arc<Self>) {
        let mut course = Course::default();
        loop {
            match self.send(self.get(&course), None).await {
                Ok(response) if is_stream(&response) => {
                    let begun = Instant::now();
                    if let End::Useless(_) = self.read_events(response.into_body(), None, &mut course).await {
                        return;
                    }
                    course.advanced |= begun.elapsed() >= STREAM_LASTED;
                }
                Ok(response) if response.status().is_server_error() => {}
                // 405: there is none. 404: the session has ended.
                Ok(_) => return,
                Err(_) => {}
            }
            if !course.wait().await {
                return;
            }
        }
    }

    /// Passes on the messages of a stream, until it ends or has the answer.
    async fn read_events(&self, mut body: AnswerBody, asked: Option<&Asked>, course: &mut Course) -> End {
        let patience = asked.and_then(Asked::patience);
        let mut reader = Reader::default();
        loop {
            let piece = match next_piece(&mut body, patience).await {
                Ok(Some(piece)) => piece,
                Ok(None) => return End::Cut("the server ended the stream before the answer".into()),
                Err(reason) => return End::Cut(reason),
            };
            let mut events = Vec::new();
            let taken = reader.take(&piece, &mut events);
            for event in events {
                course.advanced = true;
                match self.pass_event(asked, event).await {
                    Ok(true) => return End::Answered,
                    Ok(false) => {}
                    Err(reason) => return End::Useless(reason),
                }
            }
            course.note(&reader);
            if taken.is_err() {
                return End::Useless(too_long());
            }
        }
    }

    async fn pass_event(&self, asked: Option<&Asked>, event: Event) -> Result<bool, Reason> {
        if !matches!(event.name.as_str(), "" | "message") || event.data.is_empty() {
            return Ok(false);
        }
        match String::from_utf8(event.data) {
            Ok(text) => self.pass(asked, text).await,
            Err(_) => {
                let unreadable = Incoming::Unreadable("an event of the server is not UTF-8".into());
                self.say.send(unreadable).await.map_err(|_| nobody())?;
                Ok(false)
            }
        }
    }

    /// Passes on one message; true where it is the answer.
    async fn pass(&self, asked: Option<&Asked>, text: String) -> Result<bool, Reason> {
        let answer = asked.filter(|asked| answered(&text).as_ref() == Some(&asked.id));
        // The request is over before its answer is seen, so that its id is free for whoever sees it. What could stop
        // it lives on until the answer is passed on.
        let _running = answer.and_then(|asked| {
            let mut state = self.state();
            if asked.begins_session() {
                state.version = agreed_version(&text);
            }
            state.forget(asked)
        });
        self.say.send(Incoming::Message(one_line(&text))).await.map_err(|_| nobody())?;
        Ok(answer.is_some())
    }

    /// Sends what wants no answer. Whether it arrived nobody can be told: there is no request it belongs to.
    async fn note(self: Arc<Self>, post: Post, _permit: Option<OwnedSemaphorePermit>) {
        let _ = self.send(self.post(post), Some(NOTE_TIMEOUT)).await;
    }

    /// Tells the server that the session is over.
    async fn end_session(&self) {
        if self.state().session.is_none() {
            return;
        }
        let _ = self.send(self.request(Method::DELETE, String::new(), false), Some(GOODBYE_TIMEOUT)).await;
    }

    fn remember_session(&self, headers: &HeaderMap) -> Result<(), Reason> {
        let session = headers.get(fields::SESSION).cloned();
        let plain = |id: &HeaderValue| id.to_str().is_ok() && id.len() <= SESSION_ID_BYTES_MAX;
        if session.as_ref().is_some_and(|id| !plain(id)) {
            return Err("the server named the session in a way that cannot be repeated".into());
        }
        let mut state = self.state();
        state.session = session;
        state.version = None;
        Ok(())
    }

    fn post(&self, post: Post) -> Request<Full<Bytes>> {
        let mut request = self.request(Method::POST, post.text, post.outside);
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.extend(post.fields);
        request
    }

    fn get(&self, course: &Course) -> Request<Full<Bytes>> {
        let mut request = self.request(Method::GET, String::new(), false);
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static(EVENTS));
        if let Some(Ok(id)) = course.last_id.as_deref().map(HeaderValue::from_str) {
            headers.insert(fields::LAST_EVENT, id);
        }
        request
    }

    fn request(&self, method: Method, text: String, outside: bool) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(Bytes::from(text)));
        *request.method_mut() = method;
        request.uri_mut().clone_from(&self.place.uri);
        request.headers_mut().clone_from(&self.place.headers);
        if !outside {
            let state = self.state();
            for (name, value) in [(fields::SESSION, &state.session), (fields::VERSION, &state.version)] {
                if let Some(value) = value {
                    request.headers_mut().insert(name, value.clone());
                }
            }
        }
        request
    }

    async fn send(
        &self,
        request: Request<Full<Bytes>>,
        patience: Option<Duration>,
    ) -> Result<Response<AnswerBody>, Reason> {
        let sent = within(patience, (self.place.send)(request)).await?;
        sent.map_err(|error| unreachable(&self.place.uri, &error))
    }
}

impl Asked {
    fn begins_session(&self) -> bool {
        self.method == "initialize" && !self.modern
    }

    /// How long nothing may come. A subscription is there to wait.
    fn patience(&self) -> Option<Duration> {
        (self.method != "subscriptions/listen").then_some(IDLE_TIMEOUT)
    }
}

/// How a stream ended.
enum End {
    /// With the answer.
    Answered,
    /// Too early; there may be more of it.
    Cut(Reason),
    /// Nothing more can come of it.
    Useless(Reason),
}

/// How far a stream has come that may be opened several times.
#[derive(Default)]
struct Course {
    last_id: Option<String>,
    retry: Option<Duration>,
    /// Something came since it was opened last.
    advanced: bool,
    attempts: u32,
}

impl Course {
    fn note(&mut self, reader: &Reader) {
        if let Some(id) = reader.last_id() {
            self.advanced |= self.last_id.as_deref() != Some(id);
            self.last_id = Some(id.to_owned());
        }
        self.retry = reader.retry().or(self.retry);
    }

    /// Waits until the stream may be opened again; false when that was tried often enough.
    async fn wait(&mut self) -> bool {
        if std::mem::take(&mut self.advanced) {
            self.attempts = 0;
        }
        self.attempts += 1;
        if self.attempts > ATTEMPTS_MAX {
            return false;
        }
        let pause = self.retry.unwrap_or(RETRY_PAUSE * self.attempts);
        // Even a server that wants no wait at all gets one: otherwise it could keep us busy for nothing.
        sleep(pause.clamp(RETRY_PAUSE / 10, RETRY_PAUSE_MAX)).await;
        true
    }
}

/// A whole body that is one message.
async fn read_whole(mut body: AnswerBody, patience: Option<Duration>) -> Result<String, Reason> {
    if body.size_hint().lower() > MESSAGE_BYTES_MAX as u64 {
        return Err(too_long());
    }
    let mut whole = Vec::new();
    while let Some(piece) = next_piece(&mut body, patience).await? {
        if whole.len() + piece.len() > MESSAGE_BYTES_MAX {
            return Err(too_long());
        }
        whole.extend_from_slice(&piece);
    }
    String::from_utf8(whole).map_err(|_| "the answer of the server is not UTF-8".into())
}

async fn next_piece(body: &mut AnswerBody, patience: Option<Duration>) -> Result<Option<Bytes>, Reason> {
    loop {
        match within(patience, body.frame()).await? {
            None => return Ok(None),
            Some(Err(_)) => {
                return Err("the connection to the server broke before the answer was there".into());
            }
            Some(Ok(frame)) => {
                if let Ok(piece) = frame.into_data() {
                    return Ok(Some(piece));
                }
            }
        }
    }
}

async fn within<T>(patience: Option<Duration>, work: impl Future<Output = T>) -> Result<T, Reason> {
    let Some(patience) = patience else { return Ok(work.await) };
    timeout(patience, work).await.map_err(|_| format!("the server said nothing for {} s", patience.as_secs()))
}

fn is_stream(response: &Response<AnswerBody>) -> bool {
    let media = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(media_type);
    response.status().is_success() && media.as_deref() == Some(EVENTS)
}

/// The revision that the answer to `initialize` names.
fn agreed_version(text: &str) -> Option<HeaderValue> {
    let message = Message::read(text).ok()?;
    let result = Members::read(message.members.get("result")?.get()).ok()?;
    let version = result.text("protocolVersion").ok()??;
    HeaderValue::from_str(&fields::encode(&version)).ok()
}

fn without_answer(status: StatusCode) -> Reason {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            format!("the server wants other credentials ({status}): set a header for it")
        }
        StatusCode::NOT_FOUND => {
            format!("the server knows no such address or has ended the session ({status})")
        }
        _ if status.is_redirection() => format!(
            "the server points to another address ({status}), which is not followed, so that credentials go nowhere \
             else: give the right address"
        ),
        _ if status.is_success() => format!("the server gave no answer, or one that is no JSON ({status})"),
        _ => format!("the server refused the request ({status})"),
    }
}

/// What failed before the server could say anything; its own words are not in it.
fn unreachable(uri: &Uri, error: &SendError) -> Reason {
    if !error.is_connect() {
        return "the connection to the server broke before it answered".into();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    // The path may hold a secret, the host does not.
    let host = uri.authority().map_or("the server", hyper::http::uri::Authority::as_str);
    format!("cannot connect to {host}: {cause}")
}

fn too_long() -> Reason {
    format!("a message of the server is longer than {MESSAGE_BYTES_MAX} bytes")
}

fn nobody() -> Reason {
    "nobody listens any more".into()
}
