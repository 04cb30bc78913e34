//! Why a request is not carried out, as HTTP says it: `application/problem+json`.

use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
};
use lockgate::engine::{
    StoreError,
    gate::{AnswerError, RegistryError, StageError},
};
use serde_json::json;

use crate::{lines::LineError, protocol::ProtocolError, tokens::TokenError};

/// Why a request is not carried out: what HTTP answers, and a sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) detail: String,
    /// What kind of problem it is, where a standard names it.
    kind: &'static str,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), kind: "about:blank" }
    }

    pub(crate) fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// The same, named as a standard names it.
    pub(crate) fn of_kind(self, kind: &'static str) -> Self {
        Self { kind, ..self }
    }

    /// Lockgate panicked.
    pub(crate) fn panicked() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Lockgate panicked; treat this request as refused")
    }

    /// As a response.
    pub(crate) fn respond(&self) -> Response<Body> {
        let Self { status, detail, kind } = self;
        let title = status.canonical_reason().unwrap_or("Error");
        let body = json!({ "type": kind, "title": title, "status": status.as_u16(), "detail": detail });
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = *status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if *status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"lockgate\""));
        }
        if *status == StatusCode::TOO_MANY_REQUESTS {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<ProtocolError> for Problem {
    fn from(error: ProtocolError) -> Self {
        Self::bad(error.to_string())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
    }
}

impl From<AnswerError> for Problem {
    fn from(error: AnswerError) -> Self {
        let status = match error {
            AnswerError::NotOpen(_) => StatusCode::CONFLICT,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, error.to_string())
    }
}

impl From<TokenError> for Problem {
    fn from(error: TokenError) -> Self {
        let status = match error {
            TokenError::Name(_) | TokenError::Sessions { .. } => StatusCode::BAD_REQUEST,
            TokenError::Unknown(_) => StatusCode::NOT_FOUND,
            TokenError::Taken(_) | TokenError::TooMany => StatusCode::CONFLICT,
            // The path of the file is not for the network.
            _ => {
                let detail =
                    "the tokens of this server cannot be used; see what it says where it was started";
                return Self::new(StatusCode::SERVICE_UNAVAILABLE, detail);
            }
        };
        Self::new(status, error.to_string())
    }
}

impl From<LineError> for Problem {
    fn from(error: LineError) -> Self {
        let status = match error {
            LineError::Protocol(_) | LineError::Either(..) | LineError::NoQuestion(_) => {
                StatusCode::BAD_REQUEST
            }
            LineError::NoWorkflow(_)
            | LineError::Registry(RegistryError::Unknown { .. })
            | LineError::Stage(StageError::UnknownWorkflow { .. } | StageError::UnknownStage(_)) => {
                StatusCode::NOT_FOUND
            }
            LineError::HasBegun(_) | LineError::Registry(_) | LineError::Answer(AnswerError::NotOpen(_)) => {
                StatusCode::CONFLICT
            }
            LineError::Answer(_) | LineError::Stage(_) | LineError::Store(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            LineError::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}
