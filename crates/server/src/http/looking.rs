//! Routes that look, and one that binds a session to the policy in force.

use lockgate::{
    AuditQuery, Decision, EffectKind, RuleView,
    engine::{
        AuditFilter, Time,
        gate::{Backend as _, audit_log::LogEntry},
        store::{Head, Link, to_hex},
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    exchange::{Exchange, Reply},
    problem::Problem,
};
use crate::{
    protocol::{Message, call_elsewhere, decode_message, read_body},
    tokens::Caller,
};

/// How many rows a list has at most, and without `limit`.
const ROWS_MAX: u64 = 1_000;
const ROWS: u64 = 100;

pub(super) fn sessions(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&["limit", "offset"])?;
    let (limit, offset) = (limit(exchange)?, exchange.number("offset")?.unwrap_or(0));
    let listed = exchange.service.backend.sessions()?;
    let entered = listed.into_iter().filter(|listing| exchange.caller.may_enter(&listing.session));
    let (skip, take) = (usize::try_from(offset).unwrap_or(usize::MAX), usize::try_from(limit).unwrap_or(0));
    let shown: Vec<Value> = entered
        .skip(skip)
        .take(take)
        .map(|it| json!({ "session": it.session, "at": it.clock.0, "questions": it.questions }))
        .collect();
    Ok(Reply::of(&json!({ "sessions": shown })))
}

fn limit(exchange: &Exchange<'_>) -> Result<u64, Problem> {
    match exchange.number("limit")? {
        None => Ok(ROWS),
        Some(limit @ 1..=ROWS_MAX) => Ok(limit),
        Some(_) => Err(Problem::bad(format!("`limit` is 1 to {ROWS_MAX}"))),
    }
}

pub(super) fn explain(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    let Message::Call(message) = decode_message("call", Value::Object(exchange.body.clone()))? else {
        return Err(Problem::bad("`call` is not a call"));
    };
    let service = exchange.service;
    // A dry run looks at no file of this machine: a viewer must not learn what links there are.
    let call = call_elsewhere(*message, exchange.caller.own_session(), exchange.moment());
    exchange.enter(&call.session)?;
    let views = service.gate.explain(&call)?;
    let views: Vec<RuleView> = views.iter().map(|view| RuleView::of(view, service.gate.policy())).collect();
    Ok(Reply::of(&json!({ "rules": views })))
}

pub(super) fn policy(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    let policy = &exchange.service.policy;
    let compiled = policy.compiled();
    let files: Vec<Value> = compiled
        .sources()
        .iter()
        .map(|source| json!({ "name": source.name(), "text": source.text() }))
        .collect();
    Ok(Reply::of(&json!({ "policy": policy.hash(), "rules": policy.rule_names(), "files": files })))
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AcceptMessage {
    session: String,
}

pub(super) fn accept_policy(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    let AcceptMessage { session } = read_body("accept-policy", Value::Object(exchange.body.clone()))?;
    exchange.enter(&session)?;
    exchange.service.gate.accept_policy(&session, &exchange.caller.name, exchange.moment())?;
    Ok(Reply::of(&json!({ "session": session, "policy": exchange.service.policy.hash() })))
}

/// Which records a request asks for.
fn filter(exchange: &Exchange<'_>) -> Result<AuditFilter, Problem> {
    let mut query = AuditQuery::default();
    if let Some(session) = exchange.parameter("session") {
        query = query.session(session);
    }
    if let Some(tool) = exchange.parameter("tool") {
        query = query.tool(tool);
    }
    if let Some(rule) = exchange.parameter("rule") {
        query = query.rule(rule);
    }
    if let Some(word) = exchange.parameter("verdict") {
        let all = [Decision::Allow, Decision::Redact, Decision::Ask, Decision::Block];
        let verdict = all.into_iter().find(|decision| decision.word() == word);
        let wrong = || Problem::bad(format!("`verdict` is allow, redact, ask or block, not `{word}`"));
        query = query.verdict(verdict.ok_or_else(wrong)?);
    }
    if let Some(word) = exchange.parameter("effect") {
        let wrong = || {
            let known = EffectKind::ALL.map(EffectKind::word).join(", ");
            Problem::bad(format!("`effect` is one of {known}, not `{word}`"))
        };
        query = query.effect(EffectKind::of_word(word).ok_or_else(wrong)?);
    }
    if let Some(since) = exchange.number("since")? {
        query = query.since(Time(since));
    }
    if let Some(until) = exchange.number("until")? {
        query = query.until(Time(until));
    }
    query.filter().map_err(|error| Problem::bad(error.to_string()))
}

/// Whether a caller may see a record. What is about all sessions is for those who may enter all.
pub(super) fn may_see(caller: &Caller, entry: &LogEntry) -> bool {
    match &entry.session {
        Some(session) => caller.may_enter(session),
        None => caller.may_enter_all(),
    }
}

pub(super) fn audit(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&["session", "tool", "rule", "verdict", "since", "until", "after", "limit"])?;
    let (filter, limit) = (filter(exchange)?, limit(exchange)?);
    let mut records = Vec::new();
    let mut read_to = exchange.number("after")?.unwrap_or(0);
    for link in exchange.service.store.audit_log(filter.query(read_to)) {
        let link = link?;
        read_to = link.n;
        let entry = read_entry(&link)?;
        if filter.takes(&entry) && may_see(exchange.caller, &entry) {
            records.push(record(&link)?);
        }
        if records.len() as u64 >= limit {
            break;
        }
    }
    Ok(Reply::of(&json!({ "records": records, "after": read_to })))
}

pub(super) fn read_entry(link: &Link) -> Result<LogEntry, Problem> {
    serde_json::from_str(&link.entry).map_err(|_| damaged(link.n))
}

pub(super) fn record(link: &Link) -> Result<Value, Problem> {
    let entry: Value = serde_json::from_str(&link.entry).map_err(|_| damaged(link.n))?;
    Ok(json!({ "n": link.n, "prev": to_hex(&link.prev), "hash": to_hex(&link.hash), "entry": entry }))
}

fn damaged(n: u64) -> Problem {
    let detail = format!("record {n} of the audit log cannot be read; see `lockgate audit verify`");
    Problem::new(axum::http::StatusCode::SERVICE_UNAVAILABLE, detail)
}

pub(super) fn verify_audit(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    exchange.enter_all()?;
    let found = exchange.service.store.verify(None, &mut |_| ())?;
    let verified = &found.verified;
    let head = verified.head.as_ref().map(|Head { n, hash, at, pruned, public_key, .. }| {
        json!({ "n": n, "hash": to_hex(hash), "at": at.0, "pruned": pruned, "key": to_hex(public_key) })
    });
    let mut answer = json!({
        "whole": found.is_whole(),
        "records": verified.records,
        "rows": verified.rows,
        "first": verified.first,
        "problems": verified.problems,
        "problems_untold": verified.problems_untold,
        "head": head,
    });
    if let (Some(seal), Some(answer)) = (&found.seal, answer.as_object_mut()) {
        let seal =
            json!({ "n": seal.n, "hash": to_hex(&seal.hash), "at": seal.at.0, "key": to_hex(&seal.key) });
        answer.insert("seal".to_owned(), seal);
    }
    Ok(Reply::of(&answer))
}

/// Counters for Prometheus. They are about all sessions, so they are for those who may enter all.
pub(super) fn metrics(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    exchange.enter_all()?;
    let questions = exchange.service.backend.sessions()?.iter().map(|listing| listing.questions).sum();
    let body = exchange.service.metrics.text(questions);
    Ok(Reply {
        media_type: "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ..Reply::text(body)
    })
}

pub(super) fn livez(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    Ok(Reply::of(&json!({ "live": true })))
}

/// Calls can be judged if the database answers and the tokens can be read.
pub(super) fn readyz(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    exchange.service.tokens.list()?;
    exchange.service.store.ends()?;
    Ok(Reply::of(&json!({ "ready": true, "policy": exchange.service.policy.hash() })))
}
