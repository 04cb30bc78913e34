//! Access requests of AuthZEN: a question to a human, as a task.
//!
//! The question waits for its answer since the evaluation; a request only gives it the form of the standard. What clients get to hold
//! is a [`handle`]: the name of the question with a code that only this server can make, so that none can be guessed. A handle
//! is worth nothing without a token for the session.

use axum::http::StatusCode;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac as _};
use lockgate::engine::{ApprovalId, Time};
use serde_json::{Value, json};
use sha2::Sha256;

use super::{
    answers::answer_to,
    exchange::{Exchange, Reply},
    problem::Problem,
    service::Service,
};
use crate::{authzen::Evaluation, protocol::call_elsewhere};

const UNKNOWN_TASK: &str = "urn:openid:authzen:access-request:error:unknown_task";
const INVALID_BINDING: &str = "urn:openid:authzen:access-request:error:invalid_denial_binding";

/// What a handle is for. One kind is not taken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandleKind {
    Evaluation,
    Task,
    Approval,
}

impl HandleKind {
    fn word(self) -> &'static str {
        match self {
            Self::Evaluation => "evaluation",
            Self::Task => "task",
            Self::Approval => "approval",
        }
    }
}

/// The handle of a question.
pub(super) fn handle(service: &Service, kind: HandleKind, id: &ApprovalId) -> String {
    let name = id.to_string();
    let code = code(service, kind, &name).finalize().into_bytes();
    format!("{}.{}", URL_SAFE_NO_PAD.encode(code), URL_SAFE_NO_PAD.encode(name))
}

/// The question of a handle; none if this server has not made it.
pub(super) fn read_handle(service: &Service, kind: HandleKind, text: &str) -> Option<ApprovalId> {
    let (shown, name) = text.split_once('.')?;
    let name = String::from_utf8(URL_SAFE_NO_PAD.decode(name).ok()?).ok()?;
    code(service, kind, &name).verify_slice(&URL_SAFE_NO_PAD.decode(shown).ok()?).ok()?;
    ApprovalId::parse(&name)
}

fn code(service: &Service, kind: HandleKind, name: &str) -> Hmac<Sha256> {
    service.code_of(&["authzen", kind.word(), name])
}

/// `POST /access/v1/requests`.
pub(super) fn create(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    let service = exchange.service;
    let evaluation = Evaluation::read(exchange.body)?;
    let shown = exchange.body.get("denial").and_then(|denial| denial.get("evaluation_id"));
    let unbound = |detail: &str| Problem::bad(detail).of_kind(INVALID_BINDING);
    let shown = shown.and_then(Value::as_str).ok_or_else(|| unbound("`denial.evaluation_id` is missing"))?;
    let id = read_handle(service, HandleKind::Evaluation, shown)
        .ok_or_else(|| unbound("`denial.evaluation_id` is not one of this server"))?;
    exchange.enter(&id.session)?;
    let asked =
        service.gate.question(&id)?.ok_or_else(|| unknown_task("the question is not open any more"))?;
    let call = call_elsewhere(evaluation.into_call(&id.session), &id.session, exchange.moment());
    let of = &asked.call;
    if of.tool != call.tool || of.input != call.input || of.about.principal != call.about.principal {
        return Err(unbound("the request is about something else than the evaluation"));
    }
    let body = task(exchange, &id)?;
    Ok(Reply { status: StatusCode::ACCEPTED, ..Reply::of(&body) })
}

/// `GET /access/v1/requests?id=`.
pub(super) fn state(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&["id"])?;
    let shown =
        exchange.parameter("id").ok_or_else(|| Problem::bad("`id` is missing: the id of the task"))?;
    let id = read_handle(exchange.service, HandleKind::Task, shown);
    let id = id.ok_or_else(|| unknown_task("there is no such task"))?;
    exchange.enter(&id.session)?;
    Ok(Reply::of(&task(exchange, &id)?))
}

fn task(exchange: &Exchange<'_>, id: &ApprovalId) -> Result<Value, Problem> {
    let (service, at) = (exchange.service, exchange.moment());
    let asked = service.gate.question(id)?;
    let asked = asked.ok_or_else(|| {
        unknown_task("the question is not open any more: its answer was used, or it has lapsed")
    })?;
    let answer = answer_to(service, id, &asked, at)?;
    let task_id = handle(service, HandleKind::Task, id);
    let status = match &answer {
        Some(answer) if answer.granted => "approved",
        Some(_) => "denied",
        None if asked.deadline <= at => "expired",
        None => "pending",
    };
    let endpoint = format!("{}/access/v1/requests?id={task_id}", exchange.origin);
    let mut body = json!({ "task": { "id": task_id, "status": status, "status_endpoint": endpoint,
                                     "expires_at": rfc3339(asked.deadline) } });
    if let (Some(answer), Some(fields)) = (answer.filter(|answer| answer.granted), body.as_object_mut()) {
        let approval = json!({ "id": handle(service, HandleKind::Approval, id), "approved_at": rfc3339(answer.at),
                               "approved_until": rfc3339(asked.deadline) });
        fields.insert("result".to_owned(), json!({ "mode": "reevaluate", "approval": approval }));
    }
    Ok(body)
}

fn unknown_task(detail: &str) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, detail).of_kind(UNKNOWN_TASK)
}

/// A moment as the standard writes it.
pub(super) fn rfc3339(at: Time) -> String {
    let at_ms = i64::try_from(at.0).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(at_ms).unwrap_or(jiff::Timestamp::MAX).to_string()
}
