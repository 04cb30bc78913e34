//! AuthZEN 1.0: the gate as a policy decision point of that standard.
//!
//! An evaluation with `context.call_id` is a call like any other: it is decided, counted and logged. One without is a dry run.
//! A question to a human is a denial that can be requested ([`requests`](super::authzen_requests)), and a masked input an obligation.
//! `docs/authzen.md` is the page for users.

use lockgate::{
    Decision,
    engine::{ApprovalId, Verdict},
};
use serde_json::{Map, Value, json};

use super::{
    answers::go_on,
    authzen_requests::{HandleKind, handle, read_handle, rfc3339},
    exchange::{Exchange, Reply},
    problem::Problem,
};
use crate::{
    authzen::{AuthzenError, Batch, Evaluation, OBLIGATION},
    protocol::call_elsewhere,
    scope::Scope,
};

impl From<AuthzenError> for Problem {
    fn from(error: AuthzenError) -> Self {
        Self::bad(error.to_string())
    }
}

/// `GET /.well-known/authzen-configuration`.
pub(super) fn configuration(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    let origin = exchange.origin;
    Ok(Reply::of(&json!({
        "policy_decision_point": origin,
        "access_evaluation_endpoint": format!("{origin}/access/v1/evaluation"),
        "access_evaluations_endpoint": format!("{origin}/access/v1/evaluations"),
        "access_request_endpoint": format!("{origin}/access/v1/requests"),
        "capabilities": ["urn:openid:authzen:capability:access-request"],
        "obligations_supported": [OBLIGATION],
    })))
}

/// `POST /access/v1/evaluation`.
pub(super) fn evaluation(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    Ok(Reply::of(&decide(exchange, Evaluation::read(exchange.body)?)?))
}

/// `POST /access/v1/evaluations`.
pub(super) fn evaluations(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    let Some(batch) = Batch::read(exchange.body)? else { return evaluation(exchange) };
    let mut decided = Vec::new();
    for item in batch.evaluations {
        let decision = item.map_err(Problem::from).and_then(|item| decide(exchange, item));
        let answer = match decision {
            Ok(decision) => decision,
            Err(problem) => {
                let error = json!({ "status": problem.status.as_u16(), "message": problem.detail });
                json!({ "decision": false, "context": { "error": error } })
            }
        };
        let is_permitted = answer.get("decision") == Some(&Value::Bool(true));
        decided.push(answer);
        if batch.semantic.stops_at(is_permitted) {
            break;
        }
    }
    Ok(Reply::of(&json!({ "evaluations": decided })))
}

/// The decision where Lockgate could not decide.
pub(super) fn closed(reason: &str) -> Reply {
    Reply::of(&json!({ "decision": false, "context": { "verdict": "block", "reason": reason } }))
}

fn decide(exchange: &Exchange<'_>, evaluation: Evaluation) -> Result<Value, Problem> {
    let session = evaluation.session().unwrap_or_else(|| exchange.caller.own_session()).to_owned();
    exchange.enter(&session)?;
    let (is_call, takes_obligations) = (evaluation.call_id().is_some(), evaluation.takes_obligations());
    if is_call && !matches!(exchange.caller.scope, Scope::Host | Scope::Admin) {
        let detail = "a call is decided for a token of scope `host` or `admin`; without `context.call_id` it is a dry run";
        return Err(Problem::forbidden(detail));
    }
    let approval = evaluation.approval().map(ToOwned::to_owned);
    let call = call_elsewhere(evaluation.into_call(&session), &session, exchange.moment());
    let gate = &exchange.service.gate;
    let verdict = match (is_call, approval) {
        (false, _) => gate.foresee(&call)?,
        (true, None) => match gate.call_unless_asked(&call, Default::default()) {
            Ok(verdict) => verdict,
            Err(open) => return waiting(exchange, &open, &[]),
        },
        (true, Some(approval)) => {
            let id = read_handle(exchange.service, HandleKind::Approval, &approval);
            let asked = id.as_ref().map(|id| gate.question(id)).transpose()?.flatten();
            let is_same = |of: &lockgate::engine::Call| {
                of.id == call.id
                    && of.tool == call.tool
                    && of.input == call.input
                    && of.about.principal == call.about.principal
            };
            match (id, asked) {
                (Some(id), Some(asked)) if id.session == session && is_same(&asked.call) => {
                    match go_on(exchange.service, &id, &asked, (exchange.moment(), false))? {
                        Some(verdict) => verdict,
                        None => return waiting(exchange, &id, &[]),
                    }
                }
                _ => return Ok(unapproved()),
            }
        }
    };
    let rules: Vec<&str> = verdict.obstacles.iter().map(|obstacle| obstacle.name.as_str()).collect();
    match (&verdict.approval, is_call) {
        (Some(open), true) => waiting(exchange, open, &rules),
        _ => Ok(decision_of(&verdict, &rules, takes_obligations)),
    }
}

fn decision_of(verdict: &Verdict, rules: &[&str], takes_obligations: bool) -> Value {
    let context =
        |reason: &str| json!({ "verdict": verdict.decision.word(), "reason": reason, "rules": rules });
    match (verdict.decision, &verdict.input) {
        (Decision::Allow, _) => json!({ "decision": true }),
        (Decision::Redact, Some(input)) if takes_obligations => {
            let mut context = context(&verdict.reason);
            let obligation = json!({ "id": "redact-input", "type": OBLIGATION, "vendor": "lockgate", "action": "replace-input",
                                     "properties": { "input": input } });
            if let Some(fields) = context.as_object_mut() {
                fields.insert("obligations".to_owned(), json!([obligation]));
            }
            json!({ "decision": true, "context": context })
        }
        (Decision::Redact, _) => {
            let reason = "The input has to be masked first, and the client does not say that it can; name `custom` in \
                          `context.obligations_supported`.";
            json!({ "decision": false, "context": context(reason) })
        }
        (Decision::Ask | Decision::Block, _) => {
            json!({ "decision": false, "context": context(&verdict.reason) })
        }
    }
}

/// A human is asked: the denial can be requested, and the call comes back with the approval.
fn waiting(exchange: &Exchange<'_>, open: &ApprovalId, rules: &[&str]) -> Result<Value, Problem> {
    let asked = exchange.service.gate.question(open)?;
    let Some(asked) = asked else { return Ok(unapproved()) };
    let mut context = Map::new();
    context.insert("verdict".to_owned(), Value::from(Decision::Ask.word()));
    context.insert("reason".to_owned(), Value::from("approval_required"));
    context.insert("rules".to_owned(), json!(rules));
    context.insert("evaluation_id".to_owned(), handle(exchange.service, HandleKind::Evaluation, open).into());
    context.insert(
        "access_request".to_owned(),
        json!({
            "endpoint": format!("{}/access/v1/requests", exchange.origin),
            "expires_at": rfc3339(asked.deadline),
        }),
    );
    Ok(json!({ "decision": false, "context": context }))
}

/// The approval is not one for this call, or was used.
fn unapproved() -> Value {
    let reason = "The approval is unknown, has ended, was used, or is for another call.";
    json!({ "decision": false, "context": { "verdict": "block", "reason": reason, "next_action": "none" } })
}
