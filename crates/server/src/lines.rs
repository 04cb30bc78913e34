//! The gate behind the line protocol: lines in, lines out.
//!
//! A [`Server`] answers one line at a time, so that tests need no pipes; [`serve`] feeds it from a reader until
//! there are no more lines. Every line gets exactly one answer, in order: a line that is not understood gets
//! an error and decides nothing, and no line ends the service. Lines are answered one after another.

use std::{
    io::{self, BufRead, ErrorKind, Read, Write},
    panic::{AssertUnwindSafe, catch_unwind},
};

use lockgate::engine::{
    Gate, SeenCall, Time, Verdict,
    gate::{AnswerError, ApprovalId, Human, JudgedCall, RegistryError, SettledCall, StageError, StoreError},
    policy::workflow::OperatorMove,
};
use lockgate::{Clock as _, SystemClock};

use crate::protocol::{
    AnswerMessage, CallMessage, Counters, ErrorAnswer, HaltAnswer, HaltMessage, LINE_BYTES_MAX, Message,
    NetMessage, PromptAnswer, PromptMessage, ProtocolError, Request, ResultMessage, SessionAnswer,
    SessionMessage, SessionOnly, StageAnswer, StageMessage, SwitchAnswer, UntaintAnswer, UserMessage,
    call_elsewhere, call_here, decode, encode,
};

/// How a [`Server`] reads its lines.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The session of lines that name none.
    pub session: String,
    /// What time it is.
    pub clock: Clock,
    /// Whether links are followed where this process runs: tools run on this machine.
    pub follows_links: bool,
}

/// What time it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// The machine's time. The `at` of a line is ignored: the sender of calls must not move the clock.
    #[default]
    Real,
    /// The `at` of each line; a line without one happens at the same moment as the line before, the first at 0.
    Lines,
}

impl Clock {
    /// As the command line says it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Lines => "lines",
        }
    }
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { session: "default".to_owned(), clock: Clock::Real, follows_links: true }
    }
}

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// It is not a request.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// Both or none of two fields were given.
    #[error("say either `{0}` or `{1}`")]
    Either(&'static str, &'static str),
    /// It names a question in a way that no question is named.
    #[error("no question is called `{0}`; the `approval` of an `ask` is its name")]
    NoQuestion(String),
    /// The policy has no such workflow.
    #[error("no workflow is called `{0}`")]
    NoWorkflow(String),
    /// Counters came too late.
    #[error("session `{0}` has begun and keeps its own counters: send `counters` before its first call")]
    HasBegun(String),
    /// A question is not open, or its answer could not be stored.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// A net cannot be switched.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A workflow cannot be moved.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Lockgate panicked; what was stored is not known.
    #[error("Lockgate panicked; treat this line as refused")]
    Panicked,
}

/// What a service came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Lines answered.
    pub lines: u64,
    /// Lines that were answered with an error.
    pub errors: u64,
}

/// Answers every line until there are no more, or the answers have no reader.
///
/// # Errors
/// When reading or writing fails otherwise than by the other side going away.
pub fn serve(
    gate: &Gate,
    options: &ServeOptions,
    mut input: impl BufRead,
    mut output: impl Write,
) -> io::Result<Served> {
    let mut server = Server::new(gate, options.clone());
    let mut line = Vec::new();
    while let Some(length) = read_line(&mut input, &mut line)? {
        let answer = server.answer_bytes(&line, length);
        let written = writeln!(output, "{answer}").and_then(|()| output.flush());
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
            written => written?,
        }
    }
    Ok(server.served)
}

/// Answers every line as `answer` says, until there are no more, or the answers have no reader. Whether a line was answered
/// with an error comes with its answer.
///
/// # Errors
/// When reading or writing fails otherwise than by the other side going away.
pub fn serve_by(
    mut answer: impl FnMut(&str) -> (String, bool),
    mut input: impl BufRead,
    mut output: impl Write,
) -> io::Result<Served> {
    let (mut line, mut served) = (Vec::new(), Served::default());
    let refused = |error: ProtocolError| (encode(&ErrorAnswer { error: error.to_string() }), true);
    while let Some(length) = read_line(&mut input, &mut line)? {
        let (answer, is_error) = match str::from_utf8(&line) {
            _ if length > LINE_BYTES_MAX => refused(ProtocolError::too_long()),
            Err(_) => refused(ProtocolError::not_utf8()),
            Ok(line) => answer(line),
        };
        served.lines += 1;
        served.errors += u64::from(is_error);
        match writeln!(output, "{answer}").and_then(|()| output.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
            written => written?,
        }
    }
    Ok(served)
}

/// Reads one line without its end into `line`, of a longer one only the beginning, and says how long it was.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<usize>> {
    line.clear();
    let room = LINE_BYTES_MAX + 1;
    let mut length = input.by_ref().take(room as u64).read_until(b'\n', line)?;
    if length == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some(length - 1));
    }
    if length == room {
        length += input.skip_until(b'\n')?;
    }
    Ok(Some(length))
}

/// A gate that is spoken to in lines.
#[derive(Debug)]
pub struct Server<'a> {
    gate: &'a Gate,
    options: ServeOptions,
    last_at: Time,
    served: Served,
}

impl<'a> Server<'a> {
    /// A server that has heard nothing yet.
    pub fn new(gate: &'a Gate, options: ServeOptions) -> Self {
        Self { gate, options, last_at: Time(0), served: Served::default() }
    }

    /// Answers one line; neither has an end of line.
    pub fn answer(&mut self, line: &str) -> String {
        self.count(|server| server.respond(decode(line)?))
    }

    /// How many lines were answered so far.
    pub fn served(&self) -> Served {
        self.served
    }

    fn answer_bytes(&mut self, line: &[u8], length: usize) -> String {
        match str::from_utf8(line) {
            _ if length > LINE_BYTES_MAX => self.count(|_| Err(ProtocolError::too_long().into())),
            Err(_) => self.count(|_| Err(ProtocolError::not_utf8().into())),
            Ok(line) => self.answer(line),
        }
    }

    fn count(&mut self, respond: impl FnOnce(&mut Self) -> Result<String, LineError>) -> String {
        // No line ends the service, also one that makes Lockgate panic.
        let response = catch_unwind(AssertUnwindSafe(|| respond(self))).unwrap_or(Err(LineError::Panicked));
        self.served.lines += 1;
        response.unwrap_or_else(|error| {
            self.served.errors += 1;
            encode(&ErrorAnswer { error: error.to_string() })
        })
    }

    /// Carries out one request.
    ///
    /// # Errors
    /// When it cannot be carried out; nothing was changed then, unless Lockgate panicked.
    pub fn respond(&mut self, request: Request) -> Result<String, LineError> {
        let at = self.moment(request.at);
        match request.message {
            Message::Call(message) => {
                let ask = message.ask;
                let call = self.call_of(*message, at);
                let verdict = self.decide(&call, ask);
                Ok(encode(&JudgedCall::new(&call, &verdict)))
            }
            Message::Result(result) => self.result(result, at),
            Message::Answer(answer) => self.human(&answer, at),
            Message::Session(session) => self.know(session),
            Message::User(user) => self.hear(&user, at),
            Message::Stage(stage) => self.stage(&stage, at),
            Message::Net(net) => self.switch(&net),
            Message::Halt(halt) => self.halt(&halt, at),
            Message::Resume(resume) => self.resume(&resume, at),
            Message::Untaint(untaint) => self.untaint(&untaint),
            Message::Status(status) => self.status(&status, at),
            Message::Prompt(prompt) => self.prompt(&prompt, at),
        }
    }

    /// The moment of a line.
    pub fn moment(&mut self, at: Option<Time>) -> Time {
        match (self.options.clock, at) {
            (Clock::Real, _) => SystemClock.now(),
            (Clock::Lines, at) => {
                self.last_at = at.unwrap_or(self.last_at);
                self.last_at
            }
        }
    }

    /// Judges a call.
    pub fn decide(&self, call: &SeenCall, ask: Human) -> Verdict {
        match ask {
            Human::Reachable => self.gate.call(call),
            Human::Absent => self.gate.call_unattended(call),
        }
    }

    /// The call a message means.
    pub fn call_of(&self, message: CallMessage, at: Time) -> SeenCall {
        match self.options.follows_links {
            true => call_here(message, &self.options.session, at),
            false => call_elsewhere(message, &self.options.session, at),
        }
    }

    fn result(&self, message: ResultMessage, at: Time) -> Result<String, LineError> {
        let outcome = message.into_outcome(&self.options.session, at);
        let settlement = self.gate.result(&outcome)?;
        Ok(encode(&SettledCall::new(&outcome, &settlement)))
    }

    fn human(&self, message: &AnswerMessage, at: Time) -> Result<String, LineError> {
        let name = &message.approval;
        let approval = ApprovalId::parse(name).ok_or_else(|| LineError::NoQuestion(name.clone()))?;
        // The call's id has to be looked up first: once answered, the question is gone.
        let question = self.gate.question(&approval)?;
        let id = question.map(|asked| asked.call.into_call().id);
        let answered = match message.granted {
            Some(granted) => self.gate.answer(&approval, granted, at),
            None => self.gate.time_out(&approval, at),
        };
        let verdict = answered?;
        let (id, session) = (id.unwrap_or_default(), &approval.session);
        Ok(encode(&JudgedCall { id: &id, session, verdict: &verdict }))
    }

    fn know(&self, message: SessionMessage) -> Result<String, LineError> {
        let session = message.id.as_str();
        if let Some(Counters { counts, per_tool }) = message.counters {
            let seeded = self.gate.seed(session, counts, &per_tool)?;
            if !seeded {
                return Err(LineError::HasBegun(session.to_owned()));
            }
        }
        if let Some(active) = message.active {
            self.gate.registry(session).set_active(&active)?;
        }
        if let Some(attributes) = message.attributes {
            self.gate.describe(session, attributes)?;
        }
        Ok(encode(&SessionAnswer { session }))
    }

    fn hear(&self, message: &UserMessage, at: Time) -> Result<String, LineError> {
        let session = self.session(message.session.as_ref());
        self.gate.hear(session, &message.says, at)?;
        Ok(encode(&SessionAnswer { session }))
    }

    fn switch(&self, message: &NetMessage) -> Result<String, LineError> {
        let session = self.session(message.session.as_ref());
        let registry = self.gate.registry(session);
        let (net, active, switched) = match (&message.activate, &message.deactivate) {
            (Some(net), _) => (net, true, registry.activate(net)),
            (None, Some(net)) => (net, false, registry.deactivate(net)),
            (None, None) => return Err(LineError::Either("activate", "deactivate")),
        };
        let text = switched?;
        Ok(encode(&SwitchAnswer { session, net, active, text }))
    }

    fn stage(&self, message: &StageMessage, at: Time) -> Result<String, LineError> {
        let session = self.session(message.session.as_ref());
        let (how, stage) = match (&message.reset, &message.set) {
            (Some(stage), _) => (OperatorMove::Reset, stage),
            (None, Some(stage)) => (OperatorMove::Set, stage),
            (None, None) => return Err(LineError::Either("reset", "set")),
        };
        self.gate.move_stage(session, &message.workflow, how, stage, at)?;
        let status = self.gate.status(session, at)?;
        let moved = status.workflows.iter().find(|workflow| workflow.name == message.workflow);
        let moved = moved.ok_or_else(|| LineError::NoWorkflow(message.workflow.clone()))?;
        Ok(encode(&StageAnswer { session, workflow: moved }))
    }

    fn halt(&self, message: &HaltMessage, at: Time) -> Result<String, LineError> {
        let session = message.session.as_deref();
        self.gate.halt(session, &message.reason, at)?;
        Ok(encode(&HaltAnswer { session, halted: true }))
    }

    fn resume(&self, message: &SessionOnly, at: Time) -> Result<String, LineError> {
        let session = message.session.as_deref();
        self.gate.resume(session, at)?;
        Ok(encode(&HaltAnswer { session, halted: false }))
    }

    fn untaint(&self, message: &SessionOnly) -> Result<String, LineError> {
        let session = self.session(message.session.as_ref());
        self.gate.untaint(session)?;
        Ok(encode(&UntaintAnswer { session, tainted: false }))
    }

    fn status(&self, message: &SessionOnly, at: Time) -> Result<String, LineError> {
        let session = self.session(message.session.as_ref());
        let status = self.gate.status(session, at)?;
        Ok(encode(&status))
    }

    fn prompt(&self, message: &PromptMessage, at: Time) -> Result<String, LineError> {
        let session = self.session(message.session.as_ref());
        let status = self.gate.status(session, at)?;
        Ok(encode(&PromptAnswer { session, prompt: message.form.text(&status) }))
    }

    fn session<'s>(&'s self, named: Option<&'s String>) -> &'s str {
        named.unwrap_or(&self.options.session)
    }
}

#[cfg(test)]
mod tests;
