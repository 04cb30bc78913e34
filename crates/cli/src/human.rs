//! Whether a human is there: asked by every command that opens what the gate holds closed.
//!
//! [`confirm`] is the only way to a yes. It refuses below a process of an agent, and below a process that may be one
//! ([`processes`]); it refuses without a controlling terminal, which it opens itself, whatever stdin is; and it has the
//! human type the passphrase that `lockgate passphrase set` has set, without showing it. Attempts are counted over all
//! processes, and wrong ones are logged, as is every refusal. [`prove`] also hands out the key that the passphrase unlocks,
//! to sign answers. No argument and no environment variable skips any of this; only the setting
//! `approvals = "unprotected"` puts a random word that is typed back in the place of the passphrase.

mod terminal;

use std::{
    env,
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use ed25519_dalek::SigningKey;
use lockgate::engine::{
    call::visible,
    gate::{
        Backend, Reach, RowWrite,
        audit_log::{LogEntry, LogEvent},
    },
    store::{Options, Sqlite},
};
use lockgate_agents::{
    Environment,
    human_key::{self, Attempts, HumanKeyError, HumanSetup, SealedKey},
    now,
    processes::{self, Refusal},
    settings::{self, Approvals},
};
use serde_json::{Map, Value};

pub(crate) use self::terminal::Terminal;
use crate::{console::CommandError, platform};

/// How often a passphrase may be typed for one command.
const TRIES: usize = 3;

/// How long the log of refusals outside of a database may get, in bytes.
const LOG_BYTES_MAX: u64 = 1024 * 1024;

/// A command that opens something, and what a human is asked about it.
pub(crate) struct Opening<'a> {
    /// The command as it is typed after `lockgate`, such as `approve`.
    pub(crate) command: &'a str,
    /// What it will do, as the end of "Passphrase to …", such as `approve 2 questions`.
    pub(crate) deed: &'a str,
    /// What a human has to see before; shown on the terminal, empty where it was shown already.
    pub(crate) shown: &'a str,
    /// The database that counts: agents are remembered beside it, and refusals are logged in it.
    pub(crate) state: &'a Path,
}

/// What a human has proved.
pub(crate) enum Proof {
    /// That they know the passphrase: the key that it unlocks.
    Key(Box<SigningKey>),
    /// Nothing: the settings want no proof.
    Unprotected,
}

/// Asks the human at the terminal; whether they agreed.
///
/// # Errors
/// When this process may be an agent's, has no terminal, or no passphrase is set: then no human was asked, and the refusal
/// is logged. When the passphrase is wrong: that is logged too.
pub(crate) fn confirm(opening: &Opening<'_>, environment: &Environment) -> Result<bool, CommandError> {
    Ok(prove(opening, environment, false)?.is_some())
}

/// The same, with the key of the human who agreed. `yes` agrees already, where the settings want no proof.
///
/// # Errors
/// As [`confirm`].
pub(crate) fn prove(
    opening: &Opening<'_>,
    environment: &Environment,
    yes: bool,
) -> Result<Option<Proof>, CommandError> {
    if environment.is_guardian() {
        // Only root can run this as the guardian's user, and root owns everything here.
        let about = [("command", opening.command), ("deed", opening.deed)];
        log(opening, "root-command", &about, environment).map_err(CommandError::said)?;
        return Ok(Some(Proof::Unprotected));
    }
    refuse_guarded(opening.command, environment)?;
    let approvals = approvals_here(environment);
    if approvals == Approvals::Unprotected {
        let is_agreed = if yes {
            processes::check(opening.state, environment).map_err(|it| refused(opening, &it, environment))?;
            true
        } else {
            let mut terminal = fence(opening, environment)?;
            let asked = terminal.show(opening.shown).and_then(|()| terminal.ask_word(opening.deed));
            asked.map_err(unusable_terminal)?
        };
        if is_agreed {
            let about = [("command", opening.command), ("deed", opening.deed)];
            log(opening, "unprotected-command", &about, environment).map_err(CommandError::said)?;
        }
        return Ok(is_agreed.then_some(Proof::Unprotected));
    }
    let mut terminal = fence(opening, environment)?;
    let setup = human_key::look(approvals, environment, recorded_key(opening.state)?);
    let (HumanSetup::Known(_) | HumanSetup::New(_)) = setup else {
        return Err(refused(opening, &setup, environment));
    };
    let Some(sealed) = SealedKey::read(environment).map_err(CommandError::said)? else {
        return Err(refused(opening, &HumanSetup::Gone, environment));
    };
    terminal.show(opening.shown).map_err(unusable_terminal)?;
    let key = unlock(&mut terminal, &sealed, opening, environment)?;
    Ok(key.map(|key| Proof::Key(Box::new(key))))
}

/// The terminal of a human, if this process cannot be an agent's.
///
/// # Errors
/// When it may be one, or has no terminal; that is logged.
pub(crate) fn fence(opening: &Opening<'_>, environment: &Environment) -> Result<Terminal, CommandError> {
    refuse_guarded(opening.command, environment)?;
    if environment.is_guardian() {
        return Terminal::open().map_err(|_| refused(opening, &Refusal::NoTerminal, environment));
    }
    fence_of(opening, environment)
}

/// Refuses a process that an agent may have started. No human is asked.
///
/// # Errors
/// When an agent may have started it; that is logged.
pub(crate) fn refuse_agents(opening: &Opening<'_>, environment: &Environment) -> Result<(), CommandError> {
    processes::check(opening.state, environment).map_err(|refusal| refused(opening, &refusal, environment))
}

/// Refuses what only root can do where the guardian owns policy, keys and state.
pub(crate) fn refuse_guarded(command: &str, environment: &Environment) -> Result<(), CommandError> {
    if !environment.is_guarded() {
        return Ok(());
    }
    Err(CommandError::Said(format!(
        "the guardian owns the policy, the keys and the state of this user; run `sudo lockgate {command}`"
    )))
}

/// The same where the guardian has the key: whether this process can be an agent's, and its terminal.
pub(crate) fn fence_of(opening: &Opening<'_>, environment: &Environment) -> Result<Terminal, CommandError> {
    processes::check(opening.state, environment)
        .and_then(|()| Terminal::open().map_err(|_| Refusal::NoTerminal))
        .map_err(|refusal| refused(opening, &refusal, environment))
}

/// Has the passphrase typed that unlocks a key; none if the human leaves it.
///
/// # Errors
/// When it was wrong too often.
pub(crate) fn unlock(
    terminal: &mut Terminal,
    sealed: &SealedKey,
    opening: &Opening<'_>,
    environment: &Environment,
) -> Result<Option<SigningKey>, CommandError> {
    let attempts = Attempts::of(environment).ok_or(HumanKeyError::NoHome).map_err(CommandError::said)?;
    let prompt = format!("Passphrase to {}, or only Enter to leave it", opening.deed);
    for _ in 0..TRIES {
        let typed = terminal.ask_hidden(&prompt).map_err(unusable_terminal)?;
        if typed.is_empty() {
            return Ok(None);
        }
        // Counted before it is tried: a process that ends in between has used it up.
        let count = attempts.begin(now()).map_err(|error| refused(opening, &error, environment))?;
        match sealed.unlock(&typed) {
            Ok(key) => {
                attempts.succeeded().map_err(CommandError::said)?;
                return Ok(Some(key));
            }
            Err(HumanKeyError::WrongPassphrase) => {
                let about = [("command", opening.command), ("attempts", &count.to_string())];
                log(opening, "wrong-passphrase", &about, environment).map_err(CommandError::said)?;
                terminal.show("That is not the passphrase.").map_err(unusable_terminal)?;
            }
            Err(error) => return Err(CommandError::said(error)),
        }
    }
    Err(CommandError::Said(format!(
        "the passphrase was wrong {TRIES} times; nothing was done, and the next attempt has to wait"
    )))
}

/// What the settings of this folder want. Where they cannot be read, they want a proof.
pub(crate) fn approvals_here(environment: &Environment) -> Approvals {
    let settings = env::current_dir().ok().and_then(|here| settings::find(&here, environment).ok());
    settings.map_or(Approvals::Protected, |settings| settings.approvals)
}

/// The human's key that a database knows; none if there is no database.
pub(crate) fn recorded_key(state: &Path) -> Result<Option<[u8; 32]>, CommandError> {
    if !has_database(state) {
        return Ok(None);
    }
    // A database that cannot be used records nothing and judges nothing; Lockgate can still be taken out.
    let Ok(backend) = Sqlite::open(state, Options::default()) else { return Ok(None) };
    backend.human_key().map_err(CommandError::said)
}

fn has_database(state: &Path) -> bool {
    state.metadata().is_ok_and(|file| file.len() > 0)
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands the error over")]
pub(crate) fn unusable_terminal(error: io::Error) -> CommandError {
    CommandError::Said(format!("the terminal cannot be used: {error}; nothing was done"))
}

/// Logs a refusal, and says it.
fn refused(opening: &Opening<'_>, why: &impl std::fmt::Display, environment: &Environment) -> CommandError {
    let command = opening.command;
    let about = [("command", command), ("reason", &why.to_string())];
    let logged = match environment.is_guarded() {
        // The log is the guardian's.
        true => Ok(()),
        false => log(opening, "refused-command", &about, environment),
    };
    let beside = logged.err().map(|error| format!(" (this could not be logged: {error})"));
    CommandError::Said(format!(
        "`lockgate {command}` is for a human at a terminal: {}; nothing was done{}",
        visible(&why.to_string()),
        beside.unwrap_or_default()
    ))
}

/// Logs: in the audit log, or in a file of its own where no database is there.
pub(crate) fn log(
    opening: &Opening<'_>,
    act: &str,
    about: &[(&str, &str)],
    environment: &Environment,
) -> io::Result<()> {
    let about: Map<String, Value> =
        about.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect();
    let what = LogEvent::Operator { act: act.to_owned(), about };
    let entry = LogEntry { at: now().0, session: None, policy: None, what }.to_json();
    if has_database(opening.state) {
        let backend = Sqlite::open(opening.state, Options::default()).map_err(io::Error::other)?;
        let row = backend.lock("", Reach::SharedState).map_err(io::Error::other)?;
        let put = RowWrite { entries: &[entry], ..RowWrite::default() };
        return row.write(&put).map_err(io::Error::other);
    }
    let file = log_file(environment).ok_or_else(|| io::Error::other("the home folder is not known"))?;
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    platform::keep_private(&mut options);
    let mut file = options.open(file)?;
    if file.metadata()?.len() < LOG_BYTES_MAX {
        writeln!(file, "{entry}")?;
    }
    Ok(())
}

fn log_file(environment: &Environment) -> Option<PathBuf> {
    Some(environment.data_folder()?.join("lockgate").join("refused-commands.jsonl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_do() {
        for refusal in [
            Refusal::NoTerminal,
            Refusal::BelowAgent { program: "claude".to_owned(), pid: 7, because: "an agent by its name" },
            Refusal::NoLogin("its terminal was not opened by a login"),
            Refusal::Unknown("no /proc".to_owned()),
        ] {
            assert!(refusal.to_string().contains("open a terminal of your own"), "{refusal}");
        }
        for setup in [HumanSetup::Missing, HumanSetup::Replaced, HumanSetup::Gone] {
            assert!(setup.to_string().contains("run `lockgate passphrase "), "{setup}");
        }
    }
}
