//! `lockgate guardian uninstall`.

use std::path::PathBuf;

use lockgate_agents::machine::{FILE, Machine, choose};

use super::{
    arguments::UninstallArguments,
    steps::{Step, Way, settle},
};
use crate::{
    console::{CommandError, Console, Ending},
    platform,
};

pub(super) fn run(
    arguments: &UninstallArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let Some(service) = platform::SERVICE else {
        return Err(CommandError::Said("the guardian is not supported on this system yet".to_owned()));
    };
    let is_real = arguments.root.is_none();
    if is_real && platform::user() != Some(0) && !arguments.dry_run {
        return Err(CommandError::Said("only root can remove the guardian; run it with `sudo`".to_owned()));
    }
    let root = arguments.root.as_ref().map(std::path::absolute).transpose()?;
    let at = |path: &str| match &root {
        Some(root) => root.join(path.trim_start_matches('/')),
        None => PathBuf::from(path),
    };
    if root.is_some() {
        choose(&at(FILE));
    }
    let file = at(FILE);
    if !file.exists() {
        writeln!(console.out, "no guardian is installed: `{}` is missing", file.display())?;
        return Ok(Ending::Yes);
    }
    // Settings that cannot be used can still be taken away.
    let machine = Machine::read().ok().flatten().filter(|machine| machine.file == file);
    let stops = service.stop().into_iter().map(|words| Step::Run { words, user: None, may_fail: true });
    let mut steps: Vec<Step> = stops.collect();
    // First of all the settings: without them hooks decide by themselves again.
    steps.push(Step::Delete(file));
    steps.push(Step::Delete(at(&service.file().display().to_string())));
    let mut next = Vec::from([
        "hooks decide by themselves again, under the policy and with the state of their own user".to_owned(),
    ]);
    if let Some(machine) = machine {
        steps.push(Step::Delete(machine.socket.clone()));
        if arguments.purge {
            steps.push(Step::DeleteFolder(machine.policies));
            steps.push(Step::DeleteFolder(machine.data));
        } else {
            next.push(format!(
                "the guardian's policies stay in {}, its state in {}",
                machine.policies.display(),
                machine.data.display()
            ));
        }
    }
    let way = Way { dry_run: arguments.dry_run, yes: arguments.yes, runs: is_real, next: &next };
    settle(&steps, &way, json, console)
}
