//! *Now*: questions that wait for a human, the latest verdicts, and the halt.

use lockgate::engine::{
    AuditFilter,
    call::visible,
    gate::audit_log::{LogEntry, LogEvent},
};
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::{
    layout::{Tab, form_token, go_to, is_approver, page},
    newest::newest,
    parts::{encoded, input, moment, records, session_link, session_path},
};
use crate::{
    http::{
        answers::{OpenQuestion, open_questions, store_answer},
        exchange::{Exchange, Reply},
        problem::Problem,
    },
    protocol::AnswerMessage,
    scope::Scope,
};

/// How many verdicts are shown.
const VERDICTS: usize = 30;
/// The longest reason of a halt, in characters.
const REASON_MAX: usize = 500;

pub(in crate::http) fn now(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&["done"])?;
    let questions = open_questions(exchange)?;
    let is_call = |entry: &LogEntry| matches!(entry.what, LogEvent::Call { .. });
    let latest = newest(exchange, &AuditFilter::default(), None, VERDICTS, is_call)?;
    // No session has an empty name, so this is about all of them.
    let halted = exchange.service.gate.status("", exchange.moment())?.halted;
    let open = questions.iter().filter(|question| question.answer.is_none()).count();
    let main = html! {
        h1 { "Now" }
        @if let Some(done) = exchange.parameter("done").and_then(done) { p.notice role="status" { (done) } }
        div #halted data-live {
            @if let Some(reason) = &halted {
                p.alarm role="alert" { strong { "Everything is halted: " } (visible(reason)) }
            }
        }
        section aria-labelledby="questions-title" {
            h2 #questions-title { "Questions" }
            p #waiting.quiet role="status" data-live { (waiting(open)) }
            div #questions data-live data-keyed {
                @for question in &questions { (question_card(exchange, question)) }
            }
        }
        section aria-labelledby="verdicts-title" {
            h2 #verdicts-title { "Latest verdicts" }
            div #verdicts data-live {
                @if latest.records.is_empty() { p.quiet { "No call was judged yet." } } @else { (records(&latest.records, true)) }
            }
        }
        div #halting data-live { (halt_forms(exchange, None, halted.is_some())) }
    };
    let title = if open > 0 { format!("({open}) Now") } else { "Now".to_owned() };
    Ok(page(exchange, Tab::Now, &title, &main))
}

fn done(word: &str) -> Option<&'static str> {
    match word {
        "yes" => Some("Approved. The agent goes on when it collects the answer."),
        "no" => Some("Refused. The agent is told when it collects the answer."),
        "halted" => Some("Halted. Every further call is blocked."),
        "resumed" => Some("Resumed. Calls are judged again."),
        _ => None,
    }
}

fn waiting(open: usize) -> String {
    match open {
        0 => "No question waits for a human.".to_owned(),
        1 => "1 question waits for a human.".to_owned(),
        many => format!("{many} questions wait for a human."),
    }
}

fn question_card(exchange: &Exchange<'_>, question: &OpenQuestion) -> Markup {
    let state = if question.answer.is_some() { "answered" } else { "open" };
    let id = format!("{state}-{}", encoded(&question.approval));
    html! {
        article.question.answered[question.answer.is_some()] id=(id) aria-labelledby=(format!("{id}-title")) {
            h3 id=(format!("{id}-title")) { code.tool { (visible(&question.tool)) } }
            p.facts {
                "in " (session_link(&question.session))
                ", asked " (moment(question.asked_at))
                @if question.answer.is_none() {
                    ", open until " (moment(question.open_until)) span.left data-until=(question.open_until) {}
                }
            }
            (input(&question.input))
            @if question.masked { p.quiet { "Sensitive parts are masked here; the tool gets them as the rules say." } }
            @if !question.rules.is_empty() {
                p.label { "Rules that ask" }
                ul.rules {
                    @for rule in &question.rules {
                        li { code { (rule.text) } span.quiet { " " (rule.place) } }
                    }
                }
            }
            @match &question.answer {
                Some(answer) => p.notice {
                    @if answer.granted { "Approved by " } @else { "Refused by " } (answer.by) ", " (moment(answer.at))
                    ". The agent has not collected the answer yet."
                }
                None => @if is_approver(exchange) {
                    form.answer method="post" action="answer" {
                        (form_token(exchange))
                        input type="hidden" name="approval" value=(question.approval);
                        label {
                            "Comment " span.quiet { "(optional, kept in the audit log)" }
                            textarea name="comment" rows="2" maxlength="2000" {}
                        }
                        div.buttons {
                            button.good type="submit" name="granted" value="yes" { "Approve" }
                            button.bad type="submit" name="granted" value="no" { "Refuse" }
                        }
                    }
                } @else {
                    p.quiet { "An approver or an admin can answer." }
                }
            }
        }
    }
}

/// The forms that halt and resume one session, or all of them.
pub(super) fn halt_forms(exchange: &Exchange<'_>, session: Option<&str>, is_halted: bool) -> Markup {
    let may = is_approver(exchange) && (session.is_some() || exchange.caller.may_enter_all());
    let (title, label) = match session {
        Some(_) => ("Halt this session", "Why its calls are blocked"),
        None => ("Halt", "Why everything is blocked"),
    };
    html! {
        @if may {
            section.halt aria-labelledby="halt-title" {
                h2 #halt-title { (title) }
                form.row method="post" action="halt" {
                    (form_token(exchange))
                    @if let Some(session) = session { input type="hidden" name="session" value=(session); }
                    label { (label) input name="reason" required maxlength=(REASON_MAX); }
                    button.bad type="submit" { @if session.is_some() { "Halt the session" } @else { "Halt everything" } }
                }
                @if is_halted && exchange.caller.scope == Scope::Admin {
                    form.row method="post" action="resume" {
                        (form_token(exchange))
                        @if let Some(session) = session { input type="hidden" name="session" value=(session); }
                        button type="submit" { "Resume" }
                    }
                } @else if is_halted {
                    p.quiet { "An admin can end the halt." }
                }
            }
        }
    }
}

pub(in crate::http) fn answer(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    let granted = match exchange.field("granted") {
        "yes" => true,
        "no" => false,
        _ => return Err(Problem::bad("`granted` is yes or no")),
    };
    let comment = exchange.field("comment").trim();
    let message = AnswerMessage {
        approval: exchange.field("approval").to_owned(),
        granted: Some(granted),
        by: None,
        comment: (!comment.is_empty()).then(|| comment.to_owned()),
    };
    let stored = store_answer(exchange, &message, granted)?;
    if stored.get("late") == Some(&Value::Bool(true)) {
        let detail =
            "the question had ended before this answer came; it is stored, and a late yes does not count";
        return Err(Problem::new(axum::http::StatusCode::CONFLICT, detail));
    }
    Ok(go_to(if granted { "now?done=yes" } else { "now?done=no" }))
}

pub(in crate::http) fn halt(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    let session = session_of(exchange)?;
    let reason = exchange.field("reason").trim();
    if reason.is_empty() || reason.chars().count() > REASON_MAX {
        return Err(Problem::bad(format!("say in 1 to {REASON_MAX} characters why it is halted")));
    }
    exchange.service.gate.halt(session, reason, exchange.moment())?;
    note(exchange, "halted-by", session)?;
    Ok(back(session, "halted"))
}

pub(in crate::http) fn resume(exchange: &Exchange<'_>) -> Result<Reply, Problem> {
    exchange.know(&[])?;
    let session = session_of(exchange)?;
    exchange.service.gate.resume(session, exchange.moment())?;
    note(exchange, "resumed-by", session)?;
    Ok(back(session, "resumed"))
}

/// The session of a form; none where it is about all of them.
fn session_of<'a>(exchange: &'a Exchange<'_>) -> Result<Option<&'a str>, Problem> {
    let session = Some(exchange.field("session")).filter(|session| !session.is_empty());
    match session {
        Some(session) => exchange.enter(session)?,
        None => exchange.enter_all()?,
    }
    Ok(session)
}

/// Logs who it was: the gate only knows what was done.
fn note(exchange: &Exchange<'_>, act: &str, session: Option<&str>) -> Result<(), Problem> {
    let mut about = Map::new();
    about.insert("by".to_owned(), Value::from(exchange.caller.name.clone()));
    Ok(exchange.service.log(act, session.map(str::to_owned), about)?)
}

fn back(session: Option<&str>, done: &str) -> Reply {
    match session {
        Some(session) => go_to(&session_path(session)),
        None => go_to(&format!("now?done={done}")),
    }
}
