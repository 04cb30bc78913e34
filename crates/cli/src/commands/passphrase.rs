//! `lockgate passphrase`: the passphrase that answers and other openings need.
//!
//! `set` makes the key that signs answers, `change` seals the same key under another passphrase. `reset` makes another key
//! without the old passphrase, and `adopt` has a database take the key of the user's file: both halt every session of the
//! database, because they were begun under another human's key. Passphrases are typed at the terminal and nowhere else.

use std::{
    env,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use lockgate::engine::{gate::Backend, store::Sqlite};
use lockgate_agents::{
    Environment,
    human_key::{self, Cost, HumanSetup, PASSPHRASE_CHARACTERS_MIN, SealedKey},
    now, processes,
    settings::{self, Approvals},
};
use zeroize::Zeroizing;

use crate::{
    arguments::StateArguments,
    console::{CommandError, Console, Ending, wrong},
    human::{self, Opening, Terminal, unusable_terminal},
    session_index::SessionIndex,
    state::open_state_if_there,
};

pub(crate) const PASSPHRASE_EXAMPLES: &str = "\
Examples:
  lockgate passphrase set             choose one; `lockgate init` asks too
  lockgate passphrase change          you know the old one
  lockgate passphrase reset           you forgot it; halts every session

`approve`, `resume`, `trust`, `uninstall` and `mcp accept` ask for it. It is
typed at the terminal, never as an argument, a variable or on stdin.
Exit 0: done, 1: you left it, 2: could not.";

const SET_EXAMPLES: &str = "\
Example:
  lockgate passphrase set

Choose at least 6 characters; longer is better, because a program that copies
the key file can try many. The key file is only as good as the passphrase.";

const CHANGE_EXAMPLES: &str = "\
Example:
  lockgate passphrase change

The key stays the same, so sessions go on.";

const RESET_EXAMPLES: &str = "\
Example:
  lockgate passphrase reset

Makes a new key without the old passphrase and halts every session of the
database: start new ones, or `lockgate resume --session NAME` each.";

const ADOPT_EXAMPLES: &str = "\
Example:
  lockgate passphrase adopt --state /srv/project/.lockgate/state/lockgate.db

For a database that knows another key than your key file, after a reset. Halts
every session of the database.";

#[derive(Debug, Args)]
pub(crate) struct PassphraseArguments {
    #[command(subcommand)]
    pub(crate) command: PassphraseCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PassphraseCommand {
    /// Choose a passphrase for approvals
    #[command(after_help = SET_EXAMPLES)]
    Set(StateArguments),
    /// Choose another passphrase for the same key
    #[command(after_help = CHANGE_EXAMPLES)]
    Change(StateArguments),
    /// Make a new key without the old passphrase
    #[command(after_help = RESET_EXAMPLES)]
    Reset(StateArguments),
    /// Let a database take the key of your key file
    #[command(after_help = ADOPT_EXAMPLES)]
    Adopt(StateArguments),
}

/// Why sessions are halted when the human's key is replaced.
const REPLACED: &str = "the key of the human who answers was replaced; start a new session";

pub(crate) fn run(
    arguments: &PassphraseArguments,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let environment = Environment::of_process();
    match &arguments.command {
        PassphraseCommand::Set(state) => set(&place(state)?, &environment, console),
        PassphraseCommand::Change(state) => change(&place(state)?, &environment, console),
        PassphraseCommand::Reset(state) => reset(state, &environment, console),
        PassphraseCommand::Adopt(state) => adopt(state, &environment, console),
    }
}

/// The database that counts, whether it is there or not.
fn place(arguments: &StateArguments) -> Result<PathBuf, CommandError> {
    match &arguments.state {
        Some(state) => Ok(state.clone()),
        None => {
            let found = settings::find(&env::current_dir()?, &Environment::of_process());
            Ok(found.map_err(CommandError::said)?.state)
        }
    }
}

fn opening<'a>(command: &'a str, deed: &'a str, state: &'a Path) -> Opening<'a> {
    Opening { command, deed, shown: "", state }
}

fn set(state: &Path, environment: &Environment, console: &mut Console<'_>) -> Result<Ending, CommandError> {
    let opening = opening("passphrase set", "set a passphrase", state);
    let mut terminal = human::fence(&opening, environment)?;
    match human_key::look(Approvals::Protected, environment, human::recorded_key(state)?) {
        HumanSetup::Missing => {}
        HumanSetup::Known(_) | HumanSetup::New(_) => {
            return Err(CommandError::said(
                "a passphrase is set already; `lockgate passphrase change` changes it",
            ));
        }
        wrong => return Err(CommandError::Said(wrong.to_string())),
    }
    set_at(&mut terminal, environment, console)
}

fn set_at(
    terminal: &mut Terminal,
    environment: &Environment,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let Some(passphrase) = choose(terminal)? else {
        writeln!(console.err, "no passphrase was set")?;
        return Ok(Ending::No);
    };
    let sealed = SealedKey::make(&passphrase, Cost::INTERACTIVE).map_err(CommandError::said)?;
    sealed.save_first(environment).map_err(CommandError::said)?;
    if let (Some(key), Some(backend)) = (sealed.public_key(), open_state_if_there(None)?) {
        human_key::record(&backend, key, "set").map_err(CommandError::said)?;
    }
    writeln!(
        console.out,
        "the passphrase is set: `lockgate approve` and other openings ask for it from now on"
    )?;
    Ok(Ending::Yes)
}

/// Offers to set a passphrase after `lockgate init`, where a human is at a terminal of their own and none is set.
pub(super) fn offer(
    state: &Path,
    environment: &Environment,
    console: &mut Console<'_>,
) -> Result<(), CommandError> {
    let setup = human_key::look(human::approvals_here(environment), environment, human::recorded_key(state)?);
    if setup != HumanSetup::Missing || processes::check(state, environment).is_err() {
        return Ok(());
    }
    let opening = opening("passphrase set", "set a passphrase", state);
    let Ok(mut terminal) = human::fence(&opening, environment) else { return Ok(()) };
    terminal
        .show("Approvals need a passphrase, so that no agent can answer its own questions.")
        .map_err(unusable_terminal)?;
    set_at(&mut terminal, environment, console)?;
    Ok(())
}

fn change(
    state: &Path,
    environment: &Environment,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let opening = opening("passphrase change", "change it", state);
    let mut terminal = human::fence(&opening, environment)?;
    let sealed = sealed(environment)?;
    let Some(key) = human::unlock(&mut terminal, &sealed, &opening, environment)? else {
        writeln!(console.err, "the passphrase is as before")?;
        return Ok(Ending::No);
    };
    let Some(passphrase) = choose(&mut terminal)? else {
        writeln!(console.err, "the passphrase is as before")?;
        return Ok(Ending::No);
    };
    let sealed = SealedKey::seal(&key, &passphrase, Cost::INTERACTIVE).map_err(CommandError::said)?;
    sealed.save_again(environment).map_err(CommandError::said)?;
    writeln!(console.out, "the passphrase is changed; the key is the same, so sessions go on")?;
    Ok(Ending::Yes)
}

fn reset(
    arguments: &StateArguments,
    environment: &Environment,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let state = place(arguments)?;
    let opening = opening("passphrase reset", "make a new key and halt every session", &state);
    let mut terminal = human::fence(&opening, environment)?;
    if !terminal.ask_word(opening.deed).map_err(unusable_terminal)? {
        writeln!(console.err, "the key is as before")?;
        return Ok(Ending::No);
    }
    let Some(passphrase) = choose(&mut terminal)? else {
        writeln!(console.err, "the key is as before")?;
        return Ok(Ending::No);
    };
    let sealed = SealedKey::make(&passphrase, Cost::INTERACTIVE).map_err(CommandError::said)?;
    let halted = match open_state_if_there(arguments.state.as_deref())? {
        Some(_) => replace_in(arguments, &sealed, "reset", console)?,
        None => 0,
    };
    sealed.save_again(environment).map_err(CommandError::said)?;
    tell_replaced(halted, console)
}

fn adopt(
    arguments: &StateArguments,
    environment: &Environment,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let state = place(arguments)?;
    let opening = opening("passphrase adopt", "adopt your key and halt every session", &state);
    let mut terminal = human::fence(&opening, environment)?;
    let sealed = sealed(environment)?;
    if human::unlock(&mut terminal, &sealed, &opening, environment)?.is_none() {
        writeln!(console.err, "the key is as before")?;
        return Ok(Ending::No);
    }
    let halted = replace_in(arguments, &sealed, "adopted", console)?;
    tell_replaced(halted, console)
}

fn sealed(environment: &Environment) -> Result<SealedKey, CommandError> {
    let sealed = SealedKey::read(environment).map_err(CommandError::said)?;
    sealed.ok_or_else(|| CommandError::said("no passphrase is set; run `lockgate passphrase set`"))
}

/// Halts every session of a database, then records the key. How many sessions were halted.
fn replace_in(
    arguments: &StateArguments,
    sealed: &SealedKey,
    how: &str,
    console: &mut Console<'_>,
) -> Result<usize, CommandError> {
    let index = SessionIndex::open(arguments.state.as_deref())?;
    let backend: &Sqlite = index.backend();
    let key = sealed.public_key().ok_or_else(|| CommandError::said("the key file holds no key"))?;
    let recorded = backend.human_key().map_err(CommandError::said)?;
    let sessions = backend.sessions().map_err(CommandError::said)?;
    for listing in &sessions {
        let (_, folder_gate) = index.session(&listing.session)?;
        folder_gate.gate.halt(Some(&listing.session), REPLACED, now()).map_err(CommandError::said)?;
    }
    let at = now();
    let entry = human_key::key_entry(&key, how, at);
    if !backend.replace_human_key(recorded.as_ref(), &key, at, &entry).map_err(CommandError::said)? {
        writeln!(console.err, "{}: another process replaced the key meanwhile", wrong("error"))?;
        return Err(CommandError::said("the key was not replaced; try again"));
    }
    Ok(sessions.len())
}

fn tell_replaced(halted: usize, console: &mut Console<'_>) -> Result<Ending, CommandError> {
    writeln!(console.out, "the key of the human who answers is replaced")?;
    writeln!(
        console.err,
        "{}: ALL SESSIONS MUST BE RESTARTED: {halted} halted here; other databases reject answers until `lockgate \
         passphrase adopt --state FILE`",
        wrong("warning")
    )?;
    Ok(Ending::Yes)
}

/// Has a new passphrase typed twice; none if the human leaves it.
fn choose(terminal: &mut Terminal) -> Result<Option<Zeroizing<Vec<u8>>>, CommandError> {
    let prompt =
        format!("New passphrase, at least {PASSPHRASE_CHARACTERS_MIN} characters, or only Enter to leave it");
    let first = terminal.ask_hidden(&prompt).map_err(unusable_terminal)?;
    if first.is_empty() {
        return Ok(None);
    }
    if String::from_utf8_lossy(&first).chars().count() < PASSPHRASE_CHARACTERS_MIN {
        return Err(CommandError::Said(format!(
            "the passphrase is too short; choose at least {PASSPHRASE_CHARACTERS_MIN} characters"
        )));
    }
    let again = terminal.ask_hidden("The same again").map_err(unusable_terminal)?;
    if *first != *again {
        return Err(CommandError::said("the two passphrases differ; nothing was done"));
    }
    Ok(Some(first))
}
