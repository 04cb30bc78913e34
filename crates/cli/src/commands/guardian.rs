//! `lockgate guardian`: installs the guardian, takes it away, and says how it is.
//!
//! `install` computes all steps before it does the first one, and `--dry-run` only shows them. With `--root` everything is
//! written below a folder, no program is run and no user is made, so that tests and packages can look at it. What the user's
//! files hold is read with that user's rights (`export`), never with root's.

mod arguments;
mod export;
mod install;
mod status;
mod steps;
mod uninstall;

use self::arguments::GuardianCommand;
pub(crate) use self::{
    arguments::{GUARDIAN_EXAMPLES, GuardianArguments},
    status::{Trial, trials},
};
use crate::console::{CommandError, Console, Ending};

pub(crate) fn run(
    arguments: &GuardianArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    match &arguments.command {
        GuardianCommand::Install(install) => install::run(install, json, console),
        GuardianCommand::Uninstall(uninstall) => uninstall::run(uninstall, json, console),
        GuardianCommand::Status => status::run(json, console),
        GuardianCommand::Export => export::run(console),
    }
}
