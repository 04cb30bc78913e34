//! Server-sent events: the records of the audit log as they are written.
//!
//! The number of a record is the id of its event, so a client that comes back with `Last-Event-ID` misses none. A stream reads
//! the log itself and is only woken by what happens here, so it also shows what other processes wrote. It ends when its token
//! is revoked, when its client goes away, and when the server ends.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Response, StatusCode, header},
};
use bytes::Bytes;
use hyper::body::Frame;
use lockgate::{Clock as _, SystemClock, engine::store::Query};
use serde_json::Value;
use tokio::{
    sync::mpsc::{Receiver, Sender, channel},
    time::timeout,
};

use super::{
    door::only,
    logins::Login,
    looking::{may_see, read_entry, record},
    problem::Problem,
    service::{STREAMS_MAX, Service},
};
use crate::tokens::Caller;

/// How many records are read at once.
const BATCH: u64 = 200;
/// How often the log is looked at that other processes may have written to.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How often something is said where nothing happens, so that proxies keep the connection and a client that left is noticed.
const BREATH_EVERY: Duration = Duration::from_secs(15);

/// Answers with the records after the one that the client has seen last.
pub(super) async fn stream(
    service: &Arc<Service>,
    (caller, login): (Caller, Option<Login>),
    headers: &HeaderMap,
    query: &[(String, String)],
) -> Result<Response<Body>, Problem> {
    let seen = match query {
        [] => only(headers, &header::HeaderName::from_static("last-event-id"))?,
        [(name, value)] if name == "after" => Some(value.as_str()),
        _ => return Err(Problem::bad("this route has one parameter: `after`, the number of a record")),
    };
    let wrong = |text| Problem::bad(format!("`{text}` is not the number of a record"));
    let seen = seen.map(|text| text.parse::<u64>().map_err(|_| wrong(text))).transpose()?;
    let permit = Arc::clone(&service.streams).try_acquire_owned().map_err(|_| {
        Problem::new(StatusCode::TOO_MANY_REQUESTS, format!("there are {STREAMS_MAX} streams already"))
    })?;
    let own = Arc::clone(service);
    let ends = tokio::task::spawn_blocking(move || own.store.ends());
    let (last, pruned) = ends.await.map_err(|_| Problem::panicked())??;
    let (sender, receiver) = channel(16);
    if seen.is_some_and(|seen| seen < pruned) {
        // The client reads everything anew: what it has missed is not there any more.
        let _ = sender.send(Bytes::from_static(b"event: resync\ndata: {}\n\n")).await;
    }
    let service = Arc::clone(service);
    tokio::spawn(async move {
        let _permit = permit;
        follow(&service, (&caller, login.as_ref()), seen.unwrap_or(last), &sender).await;
    });
    let mut response = Response::new(Body::new(EventBody(receiver)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}

/// Sends what is written until the client is gone.
async fn follow(
    service: &Arc<Service>,
    (caller, login): (&Caller, Option<&Login>),
    mut seen: u64,
    sender: &Sender<Bytes>,
) {
    let mut last_said = Instant::now();
    loop {
        let changed = service.changed.notified();
        // A token that was revoked sees nothing more, and neither does a login that has ended.
        let at = SystemClock.now();
        let Ok(Some(caller)) = service.tokens.caller(&caller.id, at) else { return };
        if login.is_some_and(|login| !service.logins.is_open(login, at)) {
            return;
        }
        let own = Arc::clone(service);
        let read = tokio::task::spawn_blocking(move || next(&own, &caller, seen)).await;
        // A log that cannot be read ends the stream; the client comes back and is told why.
        let Ok(Ok((events, read_to))) = read else { return };
        let is_behind = read_to > seen;
        seen = read_to;
        for event in events {
            last_said = Instant::now();
            if sender.send(event).await.is_err() {
                return;
            }
        }
        if last_said.elapsed() >= BREATH_EVERY {
            last_said = Instant::now();
            if sender.send(Bytes::from_static(b":\n\n")).await.is_err() {
                return;
            }
        }
        if service.is_ending() || sender.is_closed() {
            return;
        }
        if !is_behind {
            // Nothing is lost if this ends early or late: it only looks again.
            let _ = timeout(LOOK_EVERY, changed).await;
        }
    }
}

/// The next events that a caller may see, and up to which record was read.
fn next(service: &Service, caller: &Caller, seen: u64) -> Result<(Vec<Bytes>, u64), Problem> {
    let (mut events, mut read_to) = (Vec::new(), seen);
    for link in service.store.audit_log(Query { after_n: seen, limit: Some(BATCH), ..Query::default() }) {
        let link = link?;
        read_to = link.n;
        if may_see(caller, &read_entry(&link)?) {
            let record = record(&link)?;
            let what = record.pointer("/entry/what").and_then(Value::as_str).unwrap_or("record");
            events.push(Bytes::from(format!("id: {}\nevent: {what}\ndata: {record}\n\n", link.n)));
        }
    }
    Ok((events, read_to))
}

/// The body of a response that goes on.
struct EventBody(Receiver<Bytes>);

impl hyper::body::Body for EventBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
