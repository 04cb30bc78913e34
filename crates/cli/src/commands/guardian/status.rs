//! `lockgate guardian status`, and the same for `lockgate doctor`: whether the guardian is there, and whether it holds.
//!
//! As the agent's user, [`trials`] tries what an agent would: to read keys, to write state and policy, to become the guardian's
//! socket, and to approve. All of it has to fail.

use std::{
    fs::{self, OpenOptions},
    io::ErrorKind,
    path::Path,
};

use lockgate_agents::{
    guardian::{Errand, VERSION, errand},
    machine::{FILE, Machine, name_of},
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    console::{CommandError, Console, Ending, decided, wrong},
    platform,
    protocol::encode,
};

/// What came of one trial.
#[derive(Debug, Serialize)]
pub(crate) struct Trial {
    pub(crate) trial: &'static str,
    pub(crate) holds: bool,
    pub(crate) told: String,
}

pub(super) fn run(json: bool, console: &mut Console<'_>) -> Result<Ending, CommandError> {
    let Some(machine) = Machine::read().map_err(CommandError::said)? else {
        match json {
            true => writeln!(console.out, "{}", encode(&json!({ "installed": false })))?,
            false => writeln!(
                console.out,
                "no guardian is installed: `{FILE}` is missing; `sudo lockgate guardian install` installs one"
            )?,
        }
        return Ok(Ending::CouldNotTell);
    };
    let user = platform::user().unwrap_or_default();
    let trials = match machine.serves(user) {
        true => trials(&machine),
        false => Vec::from([answers(&machine)]),
    };
    let ending = if trials.iter().all(|trial| trial.holds) { Ending::Yes } else { Ending::No };
    if json {
        let answer = json!({ "installed": true, "machine": machine, "trials": trials, "guards": ending == Ending::Yes });
        writeln!(console.out, "{}", encode(&answer))?;
        return Ok(ending);
    }
    let name = |user: u32| name_of(user).map_or_else(|| user.to_string(), |(name, _)| name);
    let users: Vec<String> = machine.users.iter().map(|user| name(*user)).collect();
    writeln!(console.out, "guardian    user {}, at {}", name(machine.user), machine.socket.display())?;
    writeln!(console.out, "guards      {}", users.join(", "))?;
    writeln!(console.out, "policies    {}", machine.policies.display())?;
    writeln!(console.out, "state       {}", machine.data.display())?;
    for Trial { trial, holds, told } in &trials {
        let word = if *holds {
            decided(lockgate::engine::Decision::Allow, "ok   ").to_string()
        } else {
            wrong("OPEN ").to_string()
        };
        writeln!(console.out, "{word} {trial}: {told}")?;
    }
    if !machine.serves(user) {
        writeln!(
            console.err,
            "note: run it as a user whose agents are guarded, to try what an agent could do"
        )?;
    }
    Ok(ending)
}

/// Tries what an agent of this user could.
pub(crate) fn trials(machine: &Machine) -> Vec<Trial> {
    let user = platform::user().unwrap_or_default();
    let data = machine.data_of(user).join("lockgate");
    let config = machine.config_of(user);
    Vec::from([
        answers(machine),
        Trial::denied("read the key", OpenOptions::new().read(true).open(data.join("lockgate.key")).err()),
        Trial::denied(
            "write the database",
            OpenOptions::new().append(true).open(data.join("lockgate.db")).err(),
        ),
        Trial::denied("make a file beside it", make(&data)),
        Trial::denied("change the policy", make(&nearest(&config))),
        Trial::denied("change the settings", OpenOptions::new().append(true).open(&machine.file).err()),
        Trial::denied("replace the socket", make(machine.socket.parent().unwrap_or(&machine.socket))),
        approves(machine),
    ])
}

/// Whether the guardian is there.
fn answers(machine: &Machine) -> Trial {
    let trial = "the guardian answers";
    // Root is not guarded, and is told so: that is an answer too.
    match errand(machine, Errand::Ping) {
        Ok(answer) if answer.get("version").and_then(Value::as_str) == Some(VERSION) => {
            Trial { trial, holds: true, told: format!("version {VERSION}") }
        }
        Ok(answer) => Trial { trial, holds: false, told: format!("it says {answer}") },
        Err(lockgate_agents::guardian::ClientError::Refused(told))
            if !machine.serves(platform::user().unwrap_or_default()) =>
        {
            Trial { trial, holds: true, told }
        }
        Err(error) => Trial { trial, holds: false, told: error.to_string() },
    }
}

/// Whether a yes without the passphrase counts; no question has this name.
fn approves(machine: &Machine) -> Trial {
    let wanted = Errand::Answer {
        questions: Vec::from(["a1@lockgate/guardian-status".to_owned()]),
        granted: true,
        by: "guardian status".to_owned(),
        passphrase: None,
    };
    let (holds, told) = match errand(machine, wanted) {
        Err(lockgate_agents::guardian::ClientError::Refused(told)) => (true, told),
        Err(error) => (false, error.to_string()),
        Ok(_) => (false, "the guardian takes a yes without a proof".to_owned()),
    };
    Trial { trial: "approve without a passphrase", holds, told }
}

impl Trial {
    /// A trial that the system has to refuse. What is not there, and cannot be made, is refused as well.
    fn denied(trial: &'static str, error: Option<std::io::Error>) -> Self {
        match error {
            Some(error)
                if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
            {
                Self { trial, holds: true, told: format!("refused by the system ({error})") }
            }
            Some(error) => {
                Self { trial, holds: false, told: format!("not refused for lack of rights, but: {error}") }
            }
            None => {
                let told =
                    "this user can; give it to root or to the guardian, as `lockgate guardian install` does";
                Self { trial, holds: false, told: told.to_owned() }
            }
        }
    }
}

/// Tries to make a file in a folder, and takes it away again.
fn make(folder: &Path) -> Option<std::io::Error> {
    let file = folder.join(format!(".lockgate-trial-{}", std::process::id()));
    let made = OpenOptions::new().write(true).create_new(true).open(&file);
    if made.is_ok() {
        let _ = fs::remove_file(&file);
    }
    made.err()
}

/// The nearest folder above that is there.
fn nearest(folder: &Path) -> std::path::PathBuf {
    folder.ancestors().find(|path| path.is_dir()).unwrap_or(folder).to_path_buf()
}
