//! Commands of root, where a guardian is installed: they run as the guardian's user.
//!
//! `sudo lockgate approve 3` changes the state of a user that only the guardian's user can read. So root's process becomes that
//! user, in the folders of the one who is meant: who has run `sudo`, who is named by `--for`, or the only one there is.
//! From then on the command is the same as everywhere; that only root can get here is the proof that it needs.

use std::{env, process::Command as Process};

use lockgate_agents::{
    Environment, WARD,
    machine::{self, Machine},
};

use crate::{
    command_line::{Arguments, Command},
    console::CommandError,
    platform,
};

/// Becomes the guardian's user where the command needs it; otherwise nothing happens.
///
/// # Errors
/// When the settings of the machine cannot be used, or it is not known who is meant.
pub(crate) fn settle(arguments: &Arguments) -> Result<(), CommandError> {
    // What repairs the settings of the machine, or has nothing to do with them.
    if matches!(
        arguments.command,
        Command::Guardian(_) | Command::Completions(_) | Command::Man(_) | Command::Demo
    ) {
        return Ok(());
    }
    let Some(machine) = Machine::read().map_err(CommandError::said)? else { return Ok(()) };
    let is_root = platform::user() == Some(0);
    if !is_root || !uses_state(&arguments.command) || Environment::of_process().is_guardian() {
        return Ok(());
    }
    let meant = meant(&machine, arguments.whom.as_deref())?;
    let group = machine::name_of(machine.user).map_or(machine.user, |(_, group)| group);
    let mut again = Process::new(env::current_exe()?);
    again.args(env::args_os().skip(1)).env(WARD, meant.to_string());
    let error = platform::become_user(&mut again, machine.user, group);
    Err(CommandError::Said(format!("this process cannot become the guardian's user: {error}")))
}

/// The user whose state is meant.
fn meant(machine: &Machine, named: Option<&str>) -> Result<u32, CommandError> {
    let served = |user: u32| machine.serves(user).then_some(user);
    if let Some(name) = named {
        let user = machine::user_named(name).map(|(user, _)| user).or_else(|| name.parse().ok());
        return user.and_then(served).ok_or_else(|| {
            CommandError::Said(format!(
                "the guardian does not guard a user `{name}`; `lockgate guardian status` lists them"
            ))
        });
    }
    let sudo = env::var("SUDO_UID").ok().and_then(|text| text.parse().ok());
    match (sudo.and_then(served), machine.users.as_slice()) {
        (Some(user), _) => Ok(user),
        (None, [user]) => Ok(*user),
        (None, _) => Err(CommandError::Said(
            "the guardian guards several users; say whose state is meant with `--for USER`".to_owned(),
        )),
    }
}

/// Whether a command is about state, keys or trust.
fn uses_state(command: &Command) -> bool {
    match command {
        Command::Pending(_)
        | Command::Approve(_)
        | Command::Refuse(_)
        | Command::Halt(_)
        | Command::Resume(_)
        | Command::Trust(_)
        | Command::Passphrase(_)
        | Command::AcceptPolicy(_)
        | Command::Status(_)
        | Command::Audit(_) => true,
        Command::Demo
        | Command::Init(_)
        | Command::Try(_)
        | Command::Doctor(_)
        | Command::Uninstall(_)
        | Command::Verify(_)
        | Command::Migrate(_)
        | Command::Fmt(_)
        | Command::Learn(_)
        | Command::Lsp(_)
        | Command::Check(_)
        | Command::Explain(_)
        | Command::Diff(_)
        | Command::Prompt(_)
        | Command::Graph(_)
        | Command::See(_)
        | Command::Hook(_)
        | Command::Mcp(_)
        | Command::Gate(_)
        | Command::Replay(_)
        | Command::Serve(_)
        | Command::Guardian(_)
        | Command::Completions(_)
        | Command::Upgrade(_)
        | Command::Man(_) => false,
    }
}
