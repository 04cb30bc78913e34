//! The line protocol at the guardian's socket: what `lockgate gate` and libraries ask there.
//!
//! A client is a program of the agent's user. It may have calls judged, settle them, look and narrow. What widens a session is for
//! root and the guardian's own user: a yes, the end of a halt, and facts about a session that later calls of the real host would be
//! judged by.

use lockgate::engine::gate::{AnswerError, ApprovalId, BackendAnswers, JudgedCall, StoredAnswer};
use lockgate_agents::guardian::{GuardedGate, GuardedLine};

use crate::{
    protocol::{AnswerMessage, Message, ProtocolError, Request, decode, encode},
    serve::{Clock, LineError, ServeOptions, Server},
};

/// Who answers, in the audit log, if a program of the agent's user says no.
const HOST: &str = "the program that asks";

/// Why a line was not carried out.
#[derive(Debug, thiserror::Error)]
pub(super) enum GuardedLineError {
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    #[error(transparent)]
    Line(#[from] LineError),
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The gate of the session cannot be had, in a line for people.
    #[error("{0}")]
    Gate(String),
    #[error("`{0}` would open something, and the guardian takes it from root alone")]
    Widens(&'static str),
    #[error(
        "no human has answered `{0}` yet: run `lockgate approve` with the passphrase, or `sudo lockgate approve`, and ask again"
    )]
    Unanswered(String),
}

/// Answers one line.
pub(super) fn answer(around: &GuardedLine<'_>, clock: Clock) -> Result<String, GuardedLineError> {
    let Request { at, message } = decode(around.line())?;
    let is_operator = around.peer().is_operator;
    if let Some(kind) = widening(&message).filter(|_| !is_operator) {
        return Err(GuardedLineError::Widens(kind));
    }
    let session = session_of(&message, around.session())?;
    let guarded = around.gate(session.as_deref()).map_err(GuardedLineError::Gate)?;
    // What the client's tools see is known from the client alone.
    let options = ServeOptions { session: around.session().to_owned(), clock, follows_links: false };
    let mut server = Server::new(&guarded.gate, options);
    match message {
        Message::Call(message) => {
            let (ask, at) = (message.ask, server.moment(at));
            let call = around.look(message.into_call(around.session(), at));
            let verdict = server.decide(&call, ask);
            Ok(encode(&JudgedCall::new(&call, &verdict)))
        }
        Message::Answer(message) if !is_operator => {
            let at = server.moment(at);
            collected(&guarded, &message, at)
        }
        message => Ok(server.respond(Request { at, message })?),
    }
}

/// What a message would open, by its kind; none for one that judges, settles, looks or narrows. A yes is not among them, because
/// it only asks whether a human has given it.
fn widening(message: &Message) -> Option<&'static str> {
    match message {
        // Attributes, counters and active nets decide about later calls, which may be those of another program.
        Message::Session(_) => Some("session"),
        Message::Stage(_) => Some("stage"),
        Message::Net(_) => Some("net"),
        Message::Resume(_) => Some("resume"),
        Message::Untaint(_) => Some("untaint"),
        Message::Call(_)
        | Message::Result(_)
        | Message::Answer(_)
        | Message::User(_)
        | Message::Halt(_)
        | Message::Status(_)
        | Message::Prompt(_) => None,
    }
}

/// The session that a message is about; none for all of them.
fn session_of(message: &Message, default: &str) -> Result<Option<String>, GuardedLineError> {
    let own = |named: &Option<String>| Some(named.clone().unwrap_or_else(|| default.to_owned()));
    Ok(match message {
        Message::Call(message) => own(&message.session),
        Message::Result(message) => own(&message.session),
        Message::Answer(message) => Some(question(message)?.session),
        Message::Session(message) => Some(message.id.clone()),
        Message::User(message) => own(&message.session),
        Message::Stage(message) => own(&message.session),
        Message::Net(message) => own(&message.session),
        Message::Halt(message) => message.session.clone(),
        Message::Resume(message) => message.session.clone(),
        Message::Untaint(message) | Message::Status(message) => own(&message.session),
        Message::Prompt(message) => own(&message.session),
    })
}

fn question(message: &AnswerMessage) -> Result<ApprovalId, GuardedLineError> {
    let named = ApprovalId::parse(&message.approval);
    Ok(named.ok_or_else(|| LineError::NoQuestion(message.approval.clone()))?)
}

/// What a question has come to. The client's no counts; its yes counts if a human has said so by `lockgate approve`.
fn collected(
    guarded: &GuardedGate,
    message: &AnswerMessage,
    at: lockgate::engine::Time,
) -> Result<String, GuardedLineError> {
    let (approval, gate) = (question(message)?, &guarded.gate);
    let answers = BackendAnswers(&*guarded.backend);
    // The call's id has to be looked up first: once answered, the question is gone.
    let asked = gate.question(&approval).map_err(LineError::from)?;
    let id = asked.map(|asked| asked.call.into_call().id).unwrap_or_default();
    let verdict = match message.granted {
        Some(true) => match gate.resume_answered(&answers, &approval, at)? {
            Some(verdict) => verdict,
            None => return Err(GuardedLineError::Unanswered(approval.to_string())),
        },
        Some(false) => {
            gate.answer_unless_answered(&answers, &approval, &StoredAnswer::unsigned(false, HOST, at))?
        }
        None => gate.time_out_unless_answered(&answers, &approval, at)?,
    };
    Ok(encode(&JudgedCall { id: &id, session: &approval.session, verdict: &verdict }))
}
