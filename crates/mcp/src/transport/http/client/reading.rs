//! Reads the bodies of answers within bounds, and says why an exchange failed.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::{
    Response, StatusCode, Uri,
    body::{Body as _, Incoming as AnswerBody},
    header::CONTENT_TYPE,
};
use hyper_util::client::legacy::Error as SendError;
use tokio::time::timeout;

use crate::{
    message::MESSAGE_BYTES_MAX,
    transport::http::fields::{EVENTS, media_type},
};

/// Why an exchange failed, for people.
pub(super) type Reason = String;

/// A whole body that is one message.
pub(super) async fn read_whole(mut body: AnswerBody, patience: Option<Duration>) -> Result<String, Reason> {
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

pub(super) async fn next_piece(
    body: &mut AnswerBody,
    patience: Option<Duration>,
) -> Result<Option<Bytes>, Reason> {
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

pub(super) async fn within<T>(
    patience: Option<Duration>,
    work: impl Future<Output = T>,
) -> Result<T, Reason> {
    let Some(patience) = patience else { return Ok(work.await) };
    timeout(patience, work).await.map_err(|_| format!("the server said nothing for {} s", patience.as_secs()))
}

pub(super) fn is_stream(response: &Response<AnswerBody>) -> bool {
    let media = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(media_type);
    response.status().is_success() && media.as_deref() == Some(EVENTS)
}

pub(super) fn without_answer(status: StatusCode) -> Reason {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            format!("the server wants other credentials ({status}): set a header for it")
        }
        StatusCode::NOT_FOUND => {
            format!("the server does not know this address, or has ended the session ({status})")
        }
        _ if status.is_redirection() => format!(
            "the server points to another address ({status}), which is not followed, so that credentials go nowhere \
             else: give the right address"
        ),
        _ if status.is_success() => {
            format!("the server did not answer, or its answer is not JSON ({status})")
        }
        _ => format!("the server refused the request ({status})"),
    }
}

/// What failed before the server could say anything; its own words are not in it.
pub(super) fn unreachable(uri: &Uri, error: &SendError) -> Reason {
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

pub(super) fn too_long() -> Reason {
    format!("a message of the server is longer than {MESSAGE_BYTES_MAX} bytes")
}
