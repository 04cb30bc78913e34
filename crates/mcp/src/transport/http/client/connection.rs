//! The exchanges of one conversation with a server: each message is a request of its own.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Request, Response,
    body::Incoming as AnswerBody,
    header::{ACCEPT, CONTENT_TYPE, HeaderValue},
};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::{
    outbound::{GOODBYE_TIMEOUT, IDLE_TIMEOUT, Post, SentRequest},
    progress::StreamProgress,
    reading::{Reason, is_stream, next_piece, read_whole, too_long, unreachable, within, without_answer},
    target::Target,
};
use crate::{
    message::{Id, Members, Message},
    transport::{
        http::{
            fields::{self, EVENTS, JSON, answered, media_type},
            sse::{Event, Reader, one_line},
        },
        link::Incoming,
    },
};

/// How many requests may wait for answers at once. One more is refused rather than held back: what waits behind it
/// may be the very answer that the others wait for.
pub(crate) const REQUESTS_MAX: usize = 128;

/// How long a server may take to accept what wants no answer.
const NOTE_TIMEOUT: Duration = Duration::from_secs(60);

/// A stream that was open for so long had come to something, even if nothing was said.
const STREAM_LASTED: Duration = Duration::from_secs(30);

/// The longest session id that is remembered, in bytes.
pub(crate) const SESSION_ID_BYTES_MAX: usize = 1024;

/// What all exchanges of one conversation share.
pub(super) struct Connection {
    target: Target,
    pub(super) say: mpsc::Sender<Incoming>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The session that the server gave us.
    session: Option<HeaderValue>,
    /// The revision that was agreed on with it.
    version: Option<HeaderValue>,
    running: HashMap<Id, RunningRequest>,
    /// How many requests there were.
    asked: u64,
}

impl State {
    /// A request is over. A later one with the same id is not.
    fn forget(&mut self, asked: &SentRequest) -> Option<RunningRequest> {
        let same = self.running.get(&asked.id).is_some_and(|running| running.serial == asked.serial);
        same.then(|| self.running.remove(&asked.id))?
    }
}

/// A request that waits for its answer.
struct RunningRequest {
    serial: u64,
    modern: bool,
    /// Dropped or used, this ends the exchange.
    stop: oneshot::Sender<()>,
}

impl Connection {
    pub(super) fn new(target: Target, say: mpsc::Sender<Incoming>) -> Self {
        Self { target, say, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What was locked when a thread died is still whole: every change is one step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that something could not be sent.
    pub(super) async fn lose(&self, id: Option<Id>, reason: Reason) {
        let lost = match id {
            Some(id) => Incoming::Gone { reason, about: Some(id) },
            None => Incoming::Unreadable(reason),
        };
        // If the receiver is gone, the error is not needed.
        let _ = self.say.send(lost).await;
    }

    /// Makes a request known, so that it can be stopped.
    pub(super) fn register(&self, asked: &mut SentRequest) -> Result<oneshot::Receiver<()>, Reason> {
        let mut state = self.state();
        state.asked += 1;
        asked.serial = state.asked;
        let running = &mut state.running;
        if running.contains_key(&asked.id) {
            return Err("another request with the same id still waits for its answer".into());
        }
        if running.len() >= REQUESTS_MAX {
            return Err(format!("{REQUESTS_MAX} requests wait for this server already: try again later"));
        }
        let (stop, stopped) = oneshot::channel();
        running.insert(asked.id.clone(), RunningRequest { serial: asked.serial, modern: asked.modern, stop });
        Ok(stopped)
    }

    /// Gives up a request by closing its exchange; false if the server needs a notification.
    pub(super) fn stop(&self, id: &Id) -> bool {
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
    pub(super) async fn ask(self: Arc<Self>, asked: SentRequest, post: Post, stopped: oneshot::Receiver<()>) {
        let outcome = tokio::select! {
            _ = stopped => Ok(()),
            outcome = self.exchange(&asked, post) => outcome,
        };
        self.state().forget(&asked);
        if let Err(reason) = outcome {
            self.lose(Some(asked.id), reason).await;
        }
    }

    async fn exchange(&self, asked: &SentRequest, post: Post) -> Result<(), Reason> {
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
    async fn follow(&self, asked: &SentRequest, body: AnswerBody) -> Result<(), Reason> {
        let mut progress = StreamProgress::default();
        let mut body = Some(body);
        let mut heard = Instant::now();
        loop {
            let reason = match body.take() {
                Some(body) => match self.read_events(body, Some(asked), &mut progress).await {
                    End::Answered => return Ok(()),
                    End::Useless(reason) => return Err(reason),
                    End::Cut(reason) => {
                        if progress.advanced {
                            heard = Instant::now();
                        }
                        // Some servers close their streams often, so that none stays open for long. As often as
                        // they open them again, the answer may still come.
                        progress.advanced |= heard.elapsed() < IDLE_TIMEOUT;
                        reason
                    }
                },
                None => "the server cannot be reached to resume the answer".to_owned(),
            };
            if asked.modern || progress.last_id.is_none() || !progress.wait().await {
                return Err(reason);
            }
            let Ok(response) = self.send(self.get(&progress), asked.patience()).await else { continue };
            if !is_stream(&response) {
                return Err(reason);
            }
            body = Some(response.into_body());
        }
    }

    /// Listens to what the server says by itself, as long as it lets us. Most servers say nothing of that kind, so it
    /// is no fault when there is no such stream.
    pub(super) async fn listen(self: Arc<Self>) {
        let mut progress = StreamProgress::default();
        loop {
            match self.send(self.get(&progress), None).await {
                Ok(response) if is_stream(&response) => {
                    let begun = Instant::now();
                    if let End::Useless(_) = self.read_events(response.into_body(), None, &mut progress).await
                    {
                        return;
                    }
                    progress.advanced |= begun.elapsed() >= STREAM_LASTED;
                }
                Ok(response) if response.status().is_server_error() => {}
                // 405: there is none. 404: the session has ended.
                Ok(_) => return,
                Err(_) => {}
            }
            if !progress.wait().await {
                return;
            }
        }
    }

    /// Passes on the messages of a stream, until it ends or has the answer.
    async fn read_events(
        &self,
        mut body: AnswerBody,
        asked: Option<&SentRequest>,
        progress: &mut StreamProgress,
    ) -> End {
        let patience = asked.and_then(SentRequest::patience);
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
                progress.advanced = true;
                match self.pass_event(asked, event).await {
                    Ok(true) => return End::Answered,
                    Ok(false) => {}
                    Err(reason) => return End::Useless(reason),
                }
            }
            progress.note(&reader);
            if taken.is_err() {
                return End::Useless(too_long());
            }
        }
    }

    async fn pass_event(&self, asked: Option<&SentRequest>, event: Event) -> Result<bool, Reason> {
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
    async fn pass(&self, asked: Option<&SentRequest>, text: String) -> Result<bool, Reason> {
        let answer = asked.filter(|asked| answered(&text).as_ref() == Some(&asked.id));
        // The request is over before its answer is seen, so that its id is free by then. What could stop
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

    /// Sends a message without an answer. A failure is not reported: it belongs to no request.
    pub(super) async fn note(self: Arc<Self>, post: Post, _permit: Option<OwnedSemaphorePermit>) {
        let _ = self.send(self.post(post), Some(NOTE_TIMEOUT)).await;
    }

    /// Tells the server that the session is over.
    pub(super) async fn end_session(&self) {
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

    fn get(&self, progress: &StreamProgress) -> Request<Full<Bytes>> {
        let mut request = self.request(Method::GET, String::new(), false);
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static(EVENTS));
        if let Some(Ok(id)) = progress.last_id.as_deref().map(HeaderValue::from_str) {
            headers.insert(fields::LAST_EVENT, id);
        }
        request
    }

    fn request(&self, method: Method, text: String, outside: bool) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(Bytes::from(text)));
        *request.method_mut() = method;
        request.uri_mut().clone_from(&self.target.uri);
        request.headers_mut().clone_from(&self.target.headers);
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
        let sent = within(patience, (self.target.send)(request)).await?;
        sent.map_err(|error| unreachable(&self.target.uri, &error))
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

/// The revision that the answer to `initialize` names.
fn agreed_version(text: &str) -> Option<HeaderValue> {
    let message = Message::read(text).ok()?;
    let result = Members::read(message.members.get("result")?.get()).ok()?;
    let version = result.text("protocolVersion").ok()??;
    HeaderValue::from_str(&fields::encode(&version)).ok()
}

fn nobody() -> Reason {
    "the receiver is gone".into()
}
