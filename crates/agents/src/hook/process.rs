//! One event of one agent, from stdin to the answer.
//!
//! Whatever goes wrong on the way, the agent is made to block: what cannot be read, a policy or a database that is
//! broken or in use for too long, a panic, and our own deadline, which lies well inside the agent's.

use std::{
    io::{self, Read},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
    time::Instant,
};

use lockgate::engine::{
    Policy,
    call::{agent_tools, visible},
    gate::{AnswerTrust, HUMAN_APPROVAL},
    policy::MisnamedTool,
};

use super::{
    decision::Decider,
    gate::{LAST_WORD, forget_old_sessions, open_gate, open_shelf},
    responder::Responder,
    session::{log_once, remember, under},
};
use crate::{
    agents::Agent,
    environment::{Environment, now},
    event::{Answer, Ask, Event, HookReply, Message, Phase},
    install::changed_entry,
    processes,
    settings::{waiting_line, waiting_line_of_files},
    text::{LINE_BYTES_MAX, read_object},
};

/// Answers the event on stdin, and ends the process.
pub fn run(agent: Agent, environment: &Environment) -> ! {
    let started = Instant::now();
    let responder = Arc::new(Responder::new(agent));
    // A panic is answered as a fault; its own text, which may hold anything, is not printed.
    std::panic::set_hook(Box::new(|_| {}));
    let watched = Arc::clone(&responder);
    if thread::Builder::new().spawn(move || watched.watch(started)).is_err() {
        responder.send(&responder.fault("the time cannot be watched; the call is blocked."));
    }
    let answered = catch_unwind(AssertUnwindSafe(|| answer(&responder, environment, started)));
    let reply = match answered {
        Ok(Ok(reply)) => reply,
        Ok(Err(line)) => responder.fault(&line),
        Err(_) => responder.fault("Lockgate panicked; the call is blocked."),
    };
    responder.send(&reply)
}

/// Reads the event, finds the policy it is under, and asks the gate. Every error is a line for people.
fn answer(responder: &Responder, environment: &Environment, started: Instant) -> Result<HookReply, String> {
    let message = read_event()?;
    let message = responder.message.get_or_init(|| message);
    let agent = responder.agent;
    let event = agent.decode(message).map_err(|error| error.to_string())?;
    let sender = agent.sender(message);
    let (session, folder) = match &event {
        Event::Other => return Ok(agent.encode(message, &Answer::Pass)),
        Event::Session { session, .. } => (session, None),
        Event::Call(call) => (&call.session, call.cwd.as_deref()),
        Event::Result(result) => (&result.call.session, result.call.cwd.as_deref()),
        Event::Refused(call) => (&call.session, call.cwd.as_deref()),
    };
    let session = format!("{sender}/{session}");
    let (home, mut settings) = under(environment, &session, folder)?;
    processes::record(&settings.state, environment)
        .map_err(|error| format!("the process of this agent cannot be remembered: {error}"))?;
    // Most agents run the tool when a hook takes too long: the answer must be there well before.
    let limit = settings.deadline.min(agent.waits_for(&event) * 6 / 10);
    let deadline = started + limit;
    responder.watch_until(limit);
    if let Event::Session { phase, .. } = event {
        // No tool waits for this answer.
        if phase == Phase::Started && settings.state.exists() {
            forget_old_sessions(&settings, &open_shelf(&settings, deadline)?)?;
        }
        remember(environment, &session, &settings, None)?;
        let mut reply = agent.encode(message, &Answer::Pass);
        if let (Phase::Started | Phase::Resumed, Some(waiting)) = (phase, waiting_line_of_files(&settings)) {
            reply.stderr = format!("{}lockgate: {waiting}", reply.stderr);
        }
        return Ok(reply);
    }
    let backend = Arc::new(open_shelf(&settings, deadline)?);
    let gate = open_gate(&settings, &home, environment, Arc::clone(&backend), deadline)?;
    remember(environment, &session, &settings, Some(&gate.policy().hash().to_string()))?;
    let held = gate.held(&session).map_err(|error| format!("Lockgate could not decide: {error}"))?;
    if let Some((bound, _)) = &held {
        settings.hold(&bound.settings);
    }
    let limit = settings.deadline.min(limit);
    let deadline = started + limit;
    responder.watch_until(limit);
    let changed_entry = changed_entry(agent, &home, environment);
    if let Some(told) = &changed_entry {
        log_once(environment, &backend, &session, told)?;
    }
    let (asking, unanswerable) = match (agent.asking(settings.ask, message), &gate.rulebook().answer_trust) {
        // No answer that comes by `lockgate approve` would count, so waiting for one is in vain.
        (Ask::Wait | Ask::Defer, AnswerTrust::Nobody(why)) => (Ask::Block, Some(why)),
        (asking, _) => (asking, None),
    };
    let deadline = deadline.checked_sub(LAST_WORD).unwrap_or(started);
    // Agents start their hooks where they stand themselves.
    let folder = std::env::current_dir().ok().and_then(|folder| folder.to_str().map(ToOwned::to_owned));
    let decider =
        Decider { gate: &gate, backend: &*backend, host: sender, asking, folder, deadline, clock: &now };
    let mut answer = decider.answer(event).map_err(|error| format!("Lockgate could not decide: {error}"))?;
    if let (Answer::Block { reason }, Some(why)) = (&mut answer, unanswerable)
        && reason.contains(HUMAN_APPROVAL)
    {
        *reason = format!("{reason} (For the human: {why}.)");
    }
    if let (Answer::Block { reason } | Answer::Ask { reason }, Some(waiting)) =
        (&mut answer, waiting_line(&settings, gate.policy()))
    {
        *reason = format!("{reason} (For the human: {waiting}.)");
    }
    let news: Vec<&str> = held.iter().map(|_| POLICY_CHANGED).chain(changed_entry.as_deref()).collect();
    if let (Answer::Block { reason } | Answer::Ask { reason }, false) = (&mut answer, news.is_empty()) {
        *reason = format!("{reason} (For the human: {}.)", news.join("; "));
    }
    let mut reply = loudly(agent.encode(message, &answer), sender, gate.policy());
    if reply.code == 0 {
        for line in news {
            let end = if reply.stderr.is_empty() || reply.stderr.ends_with('\n') { "" } else { "\n" };
            reply.stderr = format!("{}{end}lockgate: {line}\n", reply.stderr);
        }
    }
    Ok(reply)
}

/// What an operator is told while both policies decide.
const POLICY_CHANGED: &str = "the policy or its settings have changed since this session was bound to them; what they open \
                              waits until you run `lockgate accept-policy`";

/// Adds to an answer that lets pass what keeps rules of the policy from seeing a call of this agent. It is said on stderr:
/// no agent takes that for part of an answer that succeeds.
fn loudly(reply: HookReply, agent: &str, policy: &Policy) -> HookReply {
    let Some(tools) = agent_tools(agent).filter(|_| reply.code == 0 && reply.stderr.is_empty()) else {
        return reply;
    };
    let told = if policy.may_match(tools) {
        match misnamed_line(&policy.misnamed(tools), agent) {
            Some(line) => line,
            None => return reply,
        }
    } else {
        format!("no rule of this policy can match a tool of {agent}, so every call passes")
    };
    HookReply { stderr: format!("lockgate: {told}; run `lockgate doctor {agent}`"), ..reply }
}

/// Why rules see no call of this agent: they name what is not a tool of it.
fn misnamed_line(misnamed: &[MisnamedTool], agent: &str) -> Option<String> {
    let (MisnamedTool { name, file, meant }, others) = misnamed.split_first()?;
    let right = match meant {
        Some(meant) => format!("its name is `{meant}`"),
        None => format!("write `map any shell running {name} as {name}`"),
    };
    let more = match others.len() {
        0 => String::new(),
        more => format!("; {more} more names are wrong"),
    };
    let told =
        format!("`{name}` in `{file}` is not a tool of {agent}, so its rules see no call: {right}{more}");
    Some(visible(&told))
}

fn read_event() -> Result<Message, String> {
    let mut text = String::new();
    let room = LINE_BYTES_MAX as u64 + 1;
    let read = io::stdin().lock().take(room).read_to_string(&mut text);
    read.map_err(|error| format!("the event could not be read: {error}"))?;
    read_object(&text).map_err(|error| format!("the event could not be read: {error}"))
}
