//! The answer to one HTTP request: one JSON message, or a stream of messages that ends with the answer.
//!
//! [`answer`] waits for the first message and chooses; [`Source`] is where messages come from. A body asks its source
//! only when the client takes more, so a slow client slows down whoever speaks to it. Streams have no event ids:
//! what a client missed while it was away is not told again.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
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
    fields::{EVENTS, JSON},
    sse,
};
use crate::{
    link::{Incoming, Outgoing},
    message::{Id, Kind, Message, to_text},
};

/// How long a stream may be silent before a comment shows that it is still there. A request that has no answer by
/// then is answered with a stream, so that nobody on the way takes it for dead.
const SILENCE_MAX: Duration = Duration::from_secs(15);

pub(super) type Body = Either<Full<Bytes>, Events>;

/// Which revision a request is answered in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// With sessions.
    Legacy,
    /// Without.
    Modern,
}

/// Where the messages of one stream come from.
pub(super) struct Source {
    /// What was waiting when the stream was opened.
    kept: VecDeque<Outgoing>,
    rest: mpsc::Receiver<Outgoing>,
    /// The request that the stream answers, and with which it ends.
    request: Option<Id>,
    state: State,
    /// To whom the end of the client is told, where a closed stream means that the request is given up.
    cancelled: Option<mpsc::Sender<Incoming>>,
    _permit: OwnedSemaphorePermit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Answered,
    /// Whoever was to answer has ended.
    Lost,
}

impl Source {
    pub(super) fn new(
        kept: VecDeque<Outgoing>,
        rest: mpsc::Receiver<Outgoing>,
        request: Option<Id>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self { kept, rest, request, state: State::Open, cancelled: None, _permit: permit }
    }

    /// Tells a conversation that its request is given up when the client closes the stream.
    pub(super) fn cancelling(mut self, say: mpsc::Sender<Incoming>) -> Self {
        self.cancelled = Some(say);
        self
    }

    /// The next message; none at the end.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<String>> {
        if self.state != State::Open {
            return Poll::Ready(None);
        }
        let next = match self.kept.pop_front() {
            Some(kept) => Some(kept),
            None => ready!(self.rest.poll_recv(context)),
        };
        Poll::Ready(match (next, &self.request) {
            (Some(next), Some(request)) => {
                if answered(&next.text).as_ref() == Some(request) {
                    self.state = State::Answered;
                }
                Some(next.text)
            }
            (Some(next), None) => Some(next.text),
            (None, Some(request)) => {
                self.state = State::Lost;
                Some(error(Some(request), -32603, "Lockgate ended before there was an answer", None))
            }
            (None, None) => {
                self.state = State::Lost;
                None
            }
        })
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if let (Some(say), Some(request), State::Open) = (&self.cancelled, &self.request, self.state) {
            let params =
                json!({"requestId": request.to_value(), "reason": "the client closed the connection"});
            let notice = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            // Where nobody has taken what was said before, the end of the channel has to do.
            let _ = say.try_send(Incoming::Message(to_text(&notice)));
        }
    }
}

/// The request that a message answers.
pub(super) fn answered(text: &str) -> Option<Id> {
    match Message::read(text).ok()?.kind {
        Kind::Answer { id } => id,
        _ => None,
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

/// Answers a request with what comes from a source.
pub(super) async fn answer(mut source: Source, era: Era) -> Response<Body> {
    let first = timeout(SILENCE_MAX, poll_fn(|context| source.poll_next(context))).await;
    match (first, source.state) {
        (Ok(Some(text)), State::Answered) => json(status(&text, era), text),
        (Ok(Some(text)), State::Lost) => json(StatusCode::INTERNAL_SERVER_ERROR, text),
        (Ok(first), _) => events(source, first),
        (Err(_), _) => events(source, None),
    }
}

/// A stream that begins with what is there already.
pub(super) fn events(source: Source, first: Option<String>) -> Response<Body> {
    // A stream of its own begins with a comment, so that the client sees its head before there is anything to say.
    let first = first.map_or_else(|| sse::KEEP_ALIVE.to_owned(), |text| sse::event(&text));
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

/// What HTTP says about an answer: the modern revision tells some errors there as well.
fn status(text: &str, era: Era) -> StatusCode {
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
    match (era, code) {
        (Era::Modern, Some(-32601)) => StatusCode::NOT_FOUND,
        (Era::Modern, Some(-32022..=-32020)) => StatusCode::BAD_REQUEST,
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
            Poll::Ready(Some(text)) => sse::event(&text),
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
            assert_eq!(status(&text, Era::Modern).as_u16(), modern, "{code}");
            assert_eq!(status(&text, Era::Legacy).as_u16(), 200, "{code}");
        }
        assert_eq!(status(r#"{"jsonrpc":"2.0","id":1,"result":{"code":-32601}}"#, Era::Modern).as_u16(), 200);
    }
}
