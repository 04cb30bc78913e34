//! Questions to humans: which are open, how they are answered, and how the agent goes on.
//!
//! An answer is stored with the signature of the server's key about exactly this question; [`collect`] verifies it, judges the
//! call again, and gives the verdict to the agent that asked. The first answer stands.

use std::sync::Arc;

use axum::http::StatusCode;
use lockgate::engine::{
    ApprovalId, Time, Verdict,
    call::{
        sensitive::{Detectors, Mask},
        visible,
    },
    gate::{AnswerStore, Asked, Backend, BackendAnswers, JudgedCall, StoredAnswer},
    policy::RuleId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    exchange::{Exchange, Reply},
    problem::Problem,
    service::Service,
};
use crate::protocol::{AnswerMessage, Message, decode_message, read_body};

/// The longest comment, in characters.
const COMMENT_MAX: usize = 2_000;
/// How long a request may wait for an answer, in seconds: shorter than proxies wait.
pub(super) const WAIT_SECONDS_MAX: u64 = 55;

/// An open question, as `lockgate pending --json` shows it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OpenQuestion {
    pub(crate) approval: String,
    pub(crate) session: String,
    /// The id of the call.
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) input: Map<String, Value>,
    /// Whether parts of the input are masked.
    pub(crate) masked: bool,
    pub(crate) rules: Vec<RuleText>,
    pub(crate) asked_at: u64,
    pub(crate) open_until: u64,
    /// An answer that the agent has not collected yet.
    pub(crate) answer: Option<AnswerText>,
}

/// A rule that asks.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RuleText {
    pub(crate) rule: String,
    pub(crate) place: String,
    pub(crate) text: String,
}

/// An answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AnswerText {
    pub(crate) granted: bool,
    pub(crate) by: String,
    pub(crate) at: u64,
}

impl OpenQuestion {
    fn new(service: &Service, id: &ApprovalId, asked: &Asked, at: Time) -> Result<Self, Problem> {
        let answer = answer_to(service, id, asked, at)?;
        let call = &asked.call;
        let shown = asked.shown.as_deref().unwrap_or(&call.input);
        // As the audit log masks it, but whole: to answer a question, no one has to see the secrets in it.
        let (masked, _) = Detectors::standard().mask_object(shown, Mask::Stars);
        Ok(Self {
            approval: id.to_string(),
            session: id.session.clone(),
            id: call.id.clone(),
            tool: call.tool.clone(),
            masked: asked.shown.is_some() || masked.is_some(),
            input: masked.unwrap_or_else(|| shown.clone()),
            rules: asked.rules.iter().filter_map(|rule| RuleText::of(service, *rule)).collect(),
            asked_at: call.at.0,
            open_until: asked.deadline.0,
            answer: answer.map(|StoredAnswer { granted, by, at, .. }| AnswerText { granted, by, at: at.0 }),
        })
    }
}

impl RuleText {
    fn of(service: &Service, rule: RuleId) -> Option<Self> {
        let rule = service.gate.policy().rule(rule)?;
        let place = format!("{}:{}", rule.place.file, rule.place.line);
        Some(Self { rule: rule.name.clone(), place, text: rule.text().trim().to_owned() })
    }
}

/// The answer to a question, if it counts. One that does not is taken away when it is collected.
pub(super) fn answer_to(
    service: &Service,
    id: &ApprovalId,
    asked: &Asked,
    at: Time,
) -> Result<Option<StoredAnswer>, Problem> {
    let trust = &service.gate.rulebook().answer_trust;
    let answer = service.backend.answer(&id.session, id.number)?;
    Ok(answer.filter(|answer| trust.check(id, asked, answer, at).is_ok()))
}

/// The open questions of the sessions that a caller may enter, the oldest first.
pub(crate) fn open_questions(exchange: &Exchange<'_>) -> Result<Vec<OpenQuestion>, Problem> {
    let (service, at) = (exchange.service, exchange.moment());
    let mut open = Vec::new();
    for listing in service.backend.sessions()? {
        if listing.questions == 0 || !exchange.caller.may_enter(&listing.session) {
            continue;
        }
        let session = service.gate.session(&listing.session)?;
        for (number, asked) in session.asked().iter().filter(|(_, asked)| asked.deadline > at) {
            let id = ApprovalId { session: listing.session.clone(), number: *number };
            open.push(OpenQuestion::new(service, &id, asked, at)?);
        }
    }
    open.sort_by_key(|question| question.asked_at);
    Ok(open)
}

/// A question, if it is open now.
pub(super) fn question(service: &Service, id: &ApprovalId) -> Result<Option<OpenQuestion>, Problem> {
    let at = service.moment(None);
    let asked = service.gate.question(id)?.filter(|asked| asked.deadline > at);
    asked.map(|asked| OpenQuestion::new(service, id, &asked, at)).transpose()
}

pub(super) fn questions(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    Ok(Reply::of(&json!({ "questions": open_questions(exchange)? })))
}

pub(super) fn answer(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    let Message::Answer(message) = decode_message("answer", Value::Object(exchange.body.clone()))? else {
        return Err(Problem::bad("`answer` is not an answer"));
    };
    let Some(granted) = message.granted else {
        let detail = "`granted` is true or false; the end of the time is found by `POST /v1/collect`";
        return Err(Problem::bad(detail));
    };
    Ok(Reply::of(&store_answer(exchange, &message, granted)?))
}

/// Signs an answer and stores it for the agent that asked.
pub(crate) fn store_answer(
    exchange: &Exchange<'_>,
    message: &AnswerMessage,
    granted: bool,
) -> Result<Value, Problem> {
    let (service, at) = (exchange.service, exchange.moment());
    let id = question_id(exchange, &message.approval)?;
    let comment = message.comment.as_deref().map(str::trim).filter(|comment| !comment.is_empty());
    if comment.is_some_and(|comment| comment.chars().count() > COMMENT_MAX) {
        return Err(Problem::bad(format!("`comment` is longer than {COMMENT_MAX} characters")));
    }
    let asked = service.gate.question(&id)?.ok_or_else(|| not_open(&id))?;
    // The name of the token is the one that was proved; what else was said stands behind it.
    let name = exchange.caller.name.as_str();
    let by = match message.by.as_deref().map(str::trim).filter(|by| !by.is_empty() && *by != name) {
        Some(by) => format!("{name} ({})", visible(by).chars().take(100).collect::<String>()),
        None => name.to_owned(),
    };
    // A no only narrows, and needs no proof.
    let claim = granted.then(|| asked.claim(&service.database, &id, granted, &by, at));
    let proof = claim.map(|claim| Arc::new(claim.sign(&service.key)));
    let answer = StoredAnswer { granted, by: by.clone(), at, proof };
    let is_open = || Ok(service.gate.question(&id)?.is_some());
    if !answers(service).keep(&id, answer, &is_open)? {
        return Err(match service.backend.answer(&id.session, id.number)? {
            Some(first) => {
                let word = if first.granted { "yes" } else { "no" };
                let detail = format!("`{id}` was answered before: {word}, by {}", visible(&first.by));
                Problem::new(StatusCode::CONFLICT, detail)
            }
            None => not_open(&id),
        });
    }
    if let Some(comment) = comment {
        let about = json!({ "approval": id.to_string(), "by": by, "comment": comment });
        let about = about.as_object().cloned().unwrap_or_default();
        service.log("answer-comment", Some(id.session.clone()), about)?;
    }
    service.changed.notify_waiters();
    let is_late = asked.deadline <= at;
    Ok(
        json!({ "approval": id.to_string(), "session": id.session, "granted": granted, "by": by, "late": is_late }),
    )
}

/// `collect`: go on with a call that a human was asked about.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CollectMessage {
    /// The name of the question.
    approval: String,
    /// How long to wait for an answer, in seconds.
    #[serde(default)]
    wait: u64,
    /// No longer wait: without an answer by now, there is none.
    #[serde(default)]
    end: bool,
}

/// How long a `collect` waits, in seconds.
pub(super) fn wait_of(body: &Map<String, Value>) -> u64 {
    body.get("wait").and_then(Value::as_u64).unwrap_or(0).min(WAIT_SECONDS_MAX)
}

pub(super) fn collect(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    let message: CollectMessage = read_body("collect", Value::Object(exchange.body.clone()))?;
    if message.wait > WAIT_SECONDS_MAX {
        return Err(Problem::bad(format!("`wait` is at most {WAIT_SECONDS_MAX} seconds")));
    }
    let (service, at) = (exchange.service, exchange.moment());
    let id = question_id(exchange, &message.approval)?;
    // The call's id has to be looked up first: once answered, the question is gone.
    let asked = service.gate.question(&id)?.ok_or_else(|| not_open(&id))?;
    let Some(verdict) = go_on(service, &id, &asked, (at, message.end))? else {
        let body = json!({ "approval": id.to_string(), "session": id.session, "state": "open",
                           "open_until": asked.deadline.0 });
        return Ok(Reply { status: StatusCode::ACCEPTED, ..Reply::text(body.to_string()) });
    };
    let call = asked.call.into_call();
    Ok(Reply::of(&JudgedCall { id: &call.id, session: &id.session, verdict: &verdict }))
}

/// Judges a call again that a human was asked about; none while the question is open. `ends`: without an answer by now,
/// there is none.
pub(super) fn go_on(
    service: &Service,
    id: &ApprovalId,
    asked: &Asked,
    (at, ends): (Time, bool),
) -> Result<Option<Verdict>, Problem> {
    let answers = answers(service);
    // The clock decides that the time is over, not what an answer says about itself.
    let came_late =
        |answer: &StoredAnswer| answer.granted && asked.deadline <= answer.at && asked.deadline <= at;
    let verdict = match service.backend.answer(&id.session, id.number)?.filter(came_late) {
        // The gate refuses it and says why, unless the rules take a timeout for a yes anyway.
        Some(_) => Some(service.gate.answer(id, true, at)?),
        None => service.gate.resume_answered(&answers, id, at)?,
    };
    Ok(match verdict {
        None if ends || asked.deadline <= at => {
            Some(service.gate.time_out_unless_answered(&answers, id, at)?)
        }
        verdict => verdict,
    })
}

fn question_id(exchange: &Exchange<'_>, name: &str) -> Result<ApprovalId, Problem> {
    let id = ApprovalId::parse(name).ok_or_else(|| {
        Problem::bad(format!("no question is called `{name}`; the `approval` of an `ask` is its name"))
    })?;
    exchange.enter(&id.session)?;
    Ok(id)
}

fn answers(service: &Service) -> BackendAnswers<Arc<dyn Backend>> {
    BackendAnswers(Arc::clone(&service.backend))
}

fn not_open(id: &ApprovalId) -> Problem {
    let detail =
        format!("no question `{id}` is open: it was answered before, has lapsed, or was never asked");
    Problem::new(StatusCode::CONFLICT, detail)
}
