//! `lockgate check`: one call, from a script.

use std::{fs, io, path::Path};

use lockgate::{Decision, Gate, MemoryStore, Outcome, Policy, Session};

use crate::{
    args::CheckArguments,
    console::{CommandError, Console, Ending},
    protocol::{Ask, VerdictAnswer, decode_call, encode},
    report,
    serve::now,
};

pub(crate) fn run(
    arguments: &CheckArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let policy = super::open(&arguments.policy.files)?.policy;
    let session = match &arguments.session {
        Some(file) => read_session(file, &policy)?,
        None => Session::default(),
    };
    // Saved sessions keep the ids of calls in flight, so each call needs another.
    let id = format!("call-{}", session.counts().attempts + session.asked().len() as u64 + 1);
    let wrong_call = |error| {
        CommandError::Said(format!("`--call` is no call: {error}; try --call '{{\"tool\": \"NAME\"}}'"))
    };
    let (message, ok) = decode_call(&arguments.call, &id).map_err(wrong_call)?;
    let name = message.session.clone().unwrap_or_else(|| "default".to_owned());
    let built = Gate::builder(policy).store(MemoryStore::with_session(&name, session)).build();
    let gate = built.map_err(CommandError::said)?;

    let ask = message.ask;
    let call = message.into_call(&name, now());
    let verdict = match ask {
        Ask::Wait => gate.call(&call),
        Ask::None => gate.call_unattended(&call),
    };
    if let (Some(ok), true) = (ok, verdict.lets_pass()) {
        let outcome =
            Outcome { session: name.clone(), id: call.id.clone(), ok, at: call.at, ..Outcome::default() };
        gate.result(&outcome).map_err(CommandError::said)?;
    }
    if let (Some(file), true) = (&arguments.session, arguments.save) {
        let session = gate.session(&name).map_err(CommandError::said)?;
        write_whole(file, &session.to_json(gate.policy())).map_err(|error| cannot("write", file, &error))?;
    }

    if json {
        writeln!(console.out, "{}", encode(&VerdictAnswer::new(&call.id, &call.session, &verdict)))?;
    } else {
        report::verdict(console.out, &call, &verdict)?;
    }
    Ok(match verdict.decision {
        Decision::Allow | Decision::Redact => Ending::Yes,
        Decision::Ask | Decision::Block => Ending::No,
    })
}

fn read_session(file: &Path, policy: &Policy) -> Result<Session, CommandError> {
    match fs::read_to_string(file) {
        Ok(text) => Session::from_json(&text, policy)
            .map_err(|error| CommandError::Said(format!("cannot use `{}`: {error}", file.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Session::default()),
        Err(error) => Err(cannot("read", file, &error)),
    }
}

/// Replaces a file at once: half a session would be a session that forgot what was spent.
fn write_whole(file: &Path, text: &str) -> io::Result<()> {
    let beside = file.with_added_extension("new");
    fs::write(&beside, text)?;
    fs::rename(&beside, file)
}

fn cannot(what: &str, file: &Path, error: &io::Error) -> CommandError {
    CommandError::Said(format!("cannot {what} `{}`: {error}", file.display()))
}
