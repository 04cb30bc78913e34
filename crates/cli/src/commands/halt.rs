//! `lockgate halt` and `lockgate resume`: the kill switch, from another terminal.
//!
//! It works without a usable policy (see [`crate::session_index`]) and before the first call: then it makes the database that
//! hooks in this folder will use. Without `--session` it halts every session of the database.

use clap::Args;
use lockgate::engine::{
    Session,
    call::visible,
    gate::{
        Backend, Event, SessionRow,
        audit_log::{LogEntry, LogEvent},
    },
};
use lockgate_agents::{Environment, now};
use serde_json::{Map, json};

use crate::{
    arguments::StateArguments,
    console::{CommandError, Console, Ending},
    human::{self, Opening},
    protocol::encode,
    session_index::SessionIndex,
};

pub(crate) const HALT_EXAMPLES: &str = "\
Examples:
  lockgate halt                       everything
  lockgate halt \"deploys are frozen\"  everything, and tell the agents why
  lockgate halt --session claude-code/3f2a… \"let me look first\"

A call that already runs is not stopped; the next one is.";

pub(crate) const RESUME_EXAMPLES: &str = "\
Examples:
  lockgate resume
  lockgate resume --session claude-code/3f2a…
  lockgate resume --session claude-code/3f2a… --damaged

You prove who you are by your passphrase, typed at the terminal.";

#[derive(Debug, Args)]
pub(crate) struct HaltArguments {
    /// Why; the blocked agents are told
    #[arg(value_name = "REASON", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) reason: Option<String>,
    /// Halt only this session [default: everything]
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) state: StateArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// End the halt of this session [default: the halt of everything]
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Give up what is stored of a session that was changed outside of Lockgate; it is new then, and halted
    #[arg(long, requires = "session")]
    pub(crate) damaged: bool,
    #[command(flatten)]
    pub(crate) state: StateArguments,
}

/// What agents are told when no reason was given.
const NO_REASON: &str = "a human has stopped it; wait until they resume";

/// `lockgate halt`.
pub(crate) fn halt(
    arguments: &HaltArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let session = arguments.session.as_deref();
    if Environment::of_process().is_guarded() && arguments.state.state.is_none() {
        let reason = arguments.reason.as_deref().unwrap_or(NO_REASON);
        super::guarded::halt(session, reason)?;
        return tell_halted(session, reason, "the guardian's database", json, console);
    }
    // One session can only be halted where it has been seen; everything can be halted at any time.
    let index = match session {
        Some(_) => SessionIndex::open(arguments.state.state.as_deref())?,
        None => SessionIndex::open_or_make(arguments.state.state.as_deref())?,
    };
    let reason = arguments.reason.as_deref().unwrap_or(NO_REASON);
    switch(&index, session, Some(reason))?;
    let state = index.backend().path().display().to_string();
    tell_halted(session, reason, &state, json, console)
}

fn tell_halted(
    session: Option<&str>,
    reason: &str,
    state: &str,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    if json {
        let answer = json!({ "halted": session, "reason": reason, "state": state });
        writeln!(console.out, "{}", encode(&answer))?;
        return Ok(Ending::Yes);
    }
    let (whose, option) = words(session);
    writeln!(
        console.out,
        "halted: every further call of {whose} is blocked until `lockgate resume{option}`"
    )?;
    writeln!(console.err, "note: this halts the sessions kept in {}", visible(state))?;
    Ok(Ending::Yes)
}

/// `lockgate resume`.
pub(crate) fn resume(
    arguments: &ResumeArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let index = SessionIndex::open(arguments.state.state.as_deref())?;
    let session = arguments.session.as_deref();
    if let (true, Some(session)) = (arguments.damaged, session) {
        return release(&index, session, json, console);
    }
    if let Some(session) = session {
        check_known(&index, session)?;
    }
    let deed = format!("let calls of {} be judged again", words(session).0);
    let opening = Opening { command: "resume", deed: &deed, shown: "", state: index.backend().path() };
    if !human::confirm(&opening, &Environment::of_process())? {
        writeln!(console.err, "nothing was resumed")?;
        return Ok(Ending::No);
    }
    switch(&index, session, None)?;
    // Either switch blocks by itself.
    let still = index.session_halt(session)?;
    if json {
        writeln!(console.out, "{}", encode(&json!({ "resumed": session, "still_halted": still })))?;
    } else {
        writeln!(console.out, "calls of {} are judged again", words(session).0)?;
        if let Some(reason) = &still {
            let reason = visible(reason);
            writeln!(
                console.err,
                "note: everything is still halted: {reason}; `lockgate resume` without --session ends that"
            )?;
        }
    }
    Ok(if still.is_some() { Ending::No } else { Ending::Yes })
}

/// What agents are told of a session whose state was given up.
const RELEASED: &str = "its stored state was damaged and a human has given it up; start a new session";

/// Puts a new session in the place of a damaged one. It is halted: a human has to see that it starts anew before it does.
fn release(
    index: &SessionIndex,
    session: &str,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let name = visible(session);
    let deed = format!("give up what is stored of session {name}");
    let shown = "What the session has spent and earned is lost, and its questions with it. It stays halted.";
    let opening = Opening { command: "resume", deed: &deed, shown, state: index.backend().path() };
    if !human::confirm(&opening, &Environment::of_process())? {
        writeln!(console.err, "nothing was given up")?;
        return Ok(Ending::No);
    }
    let folder_gate = index.of(session)?;
    let at = now();
    let mut closed = Session::default();
    closed.apply(&Event::Halted { reason: RELEASED.to_owned() });
    let bytes = closed.to_bytes(folder_gate.gate.policy());
    let row = SessionRow { bytes: &bytes, clock: at, questions: 0 };
    let what = LogEvent::Operator { act: "release".to_owned(), about: Map::new() };
    let entry = LogEntry { at: at.0, session: Some(session.to_owned()), policy: None, what };
    let is_released = index.backend().release(session, &row, &entry.to_json()).map_err(CommandError::said)?;
    if json {
        writeln!(console.out, "{}", encode(&json!({ "released": is_released.then_some(session) })))?;
    } else if is_released {
        writeln!(
            console.out,
            "session {name} is new and halted: start another session, or restart this one with \
             `lockgate resume --session {name}`"
        )?;
    } else {
        writeln!(console.err, "nothing is wrong with session {name}: nothing was given up")?;
    }
    Ok(if is_released { Ending::Yes } else { Ending::No })
}

fn words(session: Option<&str>) -> (String, String) {
    match session {
        Some(session) => {
            (format!("session {}", visible(session)), format!(" --session {}", visible(session)))
        }
        None => ("every session".to_owned(), String::new()),
    }
}

/// Halts for a reason, or resumes without one.
pub(super) fn switch(
    index: &SessionIndex,
    session: Option<&str>,
    reason: Option<&str>,
) -> Result<(), CommandError> {
    let folder_gate = match session {
        Some(session) => {
            check_known(index, session)?;
            index.session(session)?.1
        }
        None => index.here()?,
    };
    let switched = match reason {
        Some(reason) => folder_gate.gate.halt(session, reason, now()),
        None => folder_gate.gate.resume(session, now()),
    };
    switched.map_err(CommandError::said)
}

fn check_known(index: &SessionIndex, session: &str) -> Result<(), CommandError> {
    let known = index.backend().sessions().map_err(CommandError::said)?;
    if known.iter().any(|label| label.session == session) {
        return Ok(());
    }
    let name = visible(session);
    Err(CommandError::Said(format!("no session is called `{name}`; `lockgate status` lists them")))
}
