//! The answer to one HTTP request: one JSON message, or a stream of messages that ends with the answer.
//!
//! [`answer`] waits for the first message and chooses, for the revision without sessions; in a session everything is a
//! stream ([`events`]). [`Source`] is where messages come from. A body asks its source only when the client takes more,
//! so a slow client slows down the sender. Events of a session have ids, by which a client whose connection
//! broke comes back to them; a request without a session ends with its connection, so its events have none.

use std::{
    fmt::Display,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::{
    HeaderMap, Response, StatusCode,
    body::{Body as HttpBody, Frame},
    header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue},
};
use serde_json::json;
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    time::{Instant, Sleep, sleep, timeout},
};

use super::{
    fields::{EVENTS, JSON, answered},
    sessions::StreamReader,
    sse,
    streams::{EventId, StreamItem},
};
use crate::{
    message::{Id, to_text},
    transport::link::{Incoming, Outgoing, TransportEnd},
};

/// How long a stream may be silent before a comment shows that it is still there. A request that has no answer by
/// then is answered with a stream, so that proxies on the way do not close it.
const SILENCE_MAX: Duration = Duration::from_secs(15);

pub(super) type Body = Either<Full<Bytes>, Events>;

/// Where the messages of one answer come from.
pub(super) struct Source {
    from: Origin,
    /// The request that is answered, and with which the stream ends.
    request: Option<Id>,
    state: State,
    _permit: OwnedSemaphorePermit,
}

enum Origin {
    /// A stream of a session, which outlives its connection.
    Session(StreamReader),
    /// A conversation of one request. When the client closes the stream, the request is
    /// cancelled.
    Request { hear: mpsc::Receiver<Outgoing>, say: mpsc::Sender<Incoming> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Answered,
    /// It goes on elsewhere.
    Ended,
    /// The relay has ended without an answer.
    Lost,
}

/// A message, and the name of its event if it has one.
struct ResponseMessage {
    id: Option<EventId>,
    text: Arc<String>,
}

impl Source {
    /// A stream of a session.
    pub(super) fn of_session(reader: StreamReader, permit: OwnedSemaphorePermit) -> Self {
        let request = reader.request().cloned();
        Self { from: Origin::Session(reader), request, state: State::Open, _permit: permit }
    }

    /// The answer to a request that is a conversation of its own.
    pub(super) fn of_request(request: Id, ends: TransportEnd, permit: OwnedSemaphorePermit) -> Self {
        let from = Origin::Request { hear: ends.hear, say: ends.say };
        Self { from, request: Some(request), state: State::Open, _permit: permit }
    }

    /// The next message; none at the end.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<ResponseMessage>> {
        if self.state != State::Open {
            return Poll::Ready(None);
        }
        let told = |is_answer: bool, id: Option<EventId>, text: Arc<String>| {
            let state = if is_answer { State::Answered } else { State::Open };
            (state, Some(ResponseMessage { id, text }))
        };
        let (state, said) = match &mut self.from {
            Origin::Session(reader) => match ready!(reader.poll_hear(context)) {
                StreamItem::Message { id, text, is_answer } => told(is_answer, Some(id), text),
                StreamItem::End => (State::Ended, None),
                StreamItem::Lost => (State::Lost, None),
            },
            Origin::Request { hear, .. } => match ready!(hear.poll_recv(context)) {
                Some(next) => {
                    let is_answer = answered(&next.text) == self.request;
                    told(is_answer, None, Arc::new(next.text))
                }
                None => (State::Lost, None),
            },
        };
        self.state = state;
        let lost = |request: &Id| {
            let text = error(Some(request), -32603, "Lockgate ended before there was an answer", None);
            ResponseMessage { id: None, text: Arc::new(text) }
        };
        Poll::Ready(match (state, &self.request) {
            (State::Lost, Some(request)) => Some(lost(request)),
            _ => said,
        })
    }
}

impl ResponseMessage {
    fn to_event(&self) -> String {
        sse::event(self.id.as_ref().map(|id| id as &dyn Display), &self.text)
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if let (Origin::Request { say, .. }, Some(request), State::Open) =
            (&self.from, &self.request, self.state)
        {
            let params =
                json!({"requestId": request.to_value(), "reason": "the client closed the connection"});
            let notice = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            // If the queue is full, the end of the channel has to do.
            let _ = say.try_send(Incoming::Message(to_text(&notice)));
        }
    }
}

/// A JSON-RPC error.
pub(super) fn error(id: Option<&Id>, code: i32, sentence: &str, data: Option<serde_json::Value>) -> String {
    let mut error = json!({"code": code, "message": sentence});
    if let (Some(data), Some(error)) = (data, error.as_object_mut()) {
        error.insert("data".into(), data);
    }
    to_text(&json!({"jsonrpc": "2.0", "id": id.map(Id::to_value), "error": error}))
}

/// Answers a request of the revision without sessions.
pub(super) async fn answer(mut source: Source) -> Response<Body> {
    let first = timeout(SILENCE_MAX, poll_fn(|context| source.poll_next(context))).await;
    match (first, source.state) {
        (Ok(Some(said)), State::Answered) => json(status(&said.text), Arc::unwrap_or_clone(said.text)),
        (Ok(Some(said)), State::Lost) => {
            json(StatusCode::INTERNAL_SERVER_ERROR, Arc::unwrap_or_clone(said.text))
        }
        (Ok(Some(said)), _) => stream(source, said.to_event()),
        (Ok(None) | Err(_), _) => stream(source, sse::KEEP_ALIVE.to_owned()),
    }
}

/// Answers with a stream, whatever comes. A client that knows what a priming event is can come back from the first
/// moment on; to others a comment shows that the stream is there.
pub(super) fn events(mut source: Source, is_primed: bool) -> Response<Body> {
    let first = match &mut source.from {
        Origin::Session(reader) if is_primed => sse::priming(&reader.begins_at()),
        _ => sse::KEEP_ALIVE.to_owned(),
    };
    stream(source, first)
}

fn stream(source: Source, first: String) -> Response<Body> {
    let body = Events { first: Some(first), source, silence: Box::pin(sleep(SILENCE_MAX)) };
    let mut response = Response::new(Either::Right(body));
    let headers = response.headers_mut();
    describe(headers, EVENTS);
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// One JSON message.
pub(super) fn json(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(Bytes::from(text))));
    *response.status_mut() = status;
    describe(response.headers_mut(), JSON);
    response
}

/// Nothing but a status.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::default()));
    *response.status_mut() = status;
    response
}

fn describe(headers: &mut HeaderMap, media_type: &'static str) {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

/// The HTTP status of an answer: the revision without sessions reports some errors there too.
fn status(text: &str) -> StatusCode {
    #[derive(serde::Deserialize)]
    struct Answer {
        error: Option<Code>,
    }
    #[derive(serde::Deserialize)]
    struct Code {
        code: i64,
    }
    let code =
        serde_json::from_str::<Answer>(text).ok().and_then(|answer| answer.error).map(|error| error.code);
    match code {
        Some(-32601) => StatusCode::NOT_FOUND,
        Some(-32022..=-32020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// The body of a stream.
pub(super) struct Events {
    first: Option<String>,
    source: Source,
    silence: Pin<Box<Sleep>>,
}

impl HttpBody for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        let frame = |text: String| Poll::Ready(Some(Ok(Frame::data(Bytes::from(text)))));
        if let Some(first) = this.first.take() {
            return frame(first);
        }
        let piece = match this.source.poll_next(context) {
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Ready(Some(said)) => said.to_event(),
            Poll::Pending => {
                ready!(this.silence.as_mut().poll(context));
                sse::KEEP_ALIVE.to_owned()
            }
        };
        this.silence.as_mut().reset(Instant::now() + SILENCE_MAX);
        frame(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_errors_of_the_modern_revision_are_told_by_http_as_well() {
        for (code, modern) in
            [(-32601, 404), (-32019, 200), (-32020, 400), (-32021, 400), (-32022, 400), (-32023, 200)]
        {
            let text = error(Some(&Id::Number(1)), code, "no", None);
            assert_eq!(status(&text).as_u16(), modern, "{code}");
        }
        assert_eq!(status(r#"{"jsonrpc":"2.0","id":1,"result":{"code":-32601}}"#).as_u16(), 200);
    }
}
