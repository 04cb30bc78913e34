//! Routes that are lines of the protocol: the body is what stands in the line behind its kind.

use serde_json::Value;

use super::{
    exchange::{Exchange, Reply},
    problem::Problem,
};
use crate::{
    lines::Server,
    protocol::{Request, decode_message},
    scope::Scope,
};

/// Fields of a call that rules trust, so they must not come from the agent.
const HOST_FIELDS: [&str; 5] = ["sender", "principal", "context", "metadata", "environment"];

pub(super) fn call(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    if exchange.caller.scope == Scope::Agent
        && let Some(field) = HOST_FIELDS.iter().find(|field| exchange.body.contains_key(**field))
    {
        let detail = format!(
            "rules trust `{field}`, so an agent's token must not send it; use a token of scope `host`"
        );
        return Err(Problem::forbidden(detail));
    }
    in_session("call", exchange)
}

pub(super) fn result(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    in_session("result", exchange)
}

pub(super) fn prompt(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    in_session("prompt", exchange)
}

pub(super) fn status(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    in_session("status", exchange)
}

pub(super) fn user(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    in_session("user", exchange)
}

pub(super) fn net(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    in_session("net", exchange)
}

pub(super) fn stage(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    in_session("stage", exchange)
}

pub(super) fn untaint(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    in_session("untaint", exchange)
}

/// Its session is called `id`.
pub(super) fn session(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    if let Some(Value::String(session)) = exchange.body.get("id") {
        exchange.enter(session)?;
    }
    respond("session", exchange)
}

pub(super) fn halt(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    of_one_or_all("halt", exchange)
}

pub(super) fn resume(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    of_one_or_all("resume", exchange)
}

/// Without a session it is about all of them.
fn of_one_or_all(kind: &str, exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    match exchange.body.get("session") {
        Some(Value::String(session)) => exchange.enter(session)?,
        _ => exchange.enter_all()?,
    }
    respond(kind, exchange)
}

/// Without a session it is about the token's own.
fn in_session(kind: &str, exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    match exchange.body.get("session") {
        Some(Value::String(session)) => exchange.enter(session)?,
        _ => exchange.enter(exchange.caller.own_session())?,
    }
    respond(kind, exchange)
}

fn respond(kind: &str, exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    let service = exchange.service;
    let message = decode_message(kind, Value::Object(exchange.body.clone()))?;
    let mut server = Server::new(&service.gate, service.lines(exchange.caller));
    let reply = server.respond(Request { at: exchange.at, message })?;
    Ok(Reply::text(reply))
}
