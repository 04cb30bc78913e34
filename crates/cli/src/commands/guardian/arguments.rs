//! The arguments of `lockgate guardian`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) const GUARDIAN_EXAMPLES: &str = "\
Examples:
  sudo lockgate guardian install --dry-run    show every step
  sudo lockgate guardian install              for the user who runs sudo
  lockgate guardian status                    is it there, and does it hold?
  sudo lockgate guardian uninstall

With the guardian, an agent can neither read keys nor change policy, state or
log: they belong to another user of the system, and hooks only ask it.";

const INSTALL_EXAMPLES: &str = "\
Examples:
  sudo lockgate guardian install --dry-run
  sudo lockgate guardian install --user alice --user bob
  lockgate guardian install --root /tmp/scratch --yes

Makes the system user `lockgate`, copies your policy to /etc/lockgate and your
state to /var/lib/lockgate, and starts the service. Your own files stay.
Exit 0: installed, 1: you said no, 2: could not.";

const UNINSTALL_EXAMPLES: &str = "\
Example:
  sudo lockgate guardian uninstall

Hooks decide by themselves again, under the policy of their own user. Policies
and state of the guardian stay in /etc/lockgate and /var/lib/lockgate.
Exit 0: done, 1: you said no, 2: could not.";

const STATUS_EXAMPLES: &str = "\
Example:
  lockgate guardian status --json

Asks the guardian, and tries as this user to read keys, to write state and
policy, and to approve; all of that has to fail.
Exit 0: it guards, 1: something is open, 2: none is installed.";

const EXPORT_EXAMPLES: &str = "\
Example:
  lockgate guardian export > all

`install` runs this as the user whose policy and state it takes over.";

#[derive(Debug, Args)]
pub(crate) struct GuardianArguments {
    #[command(subcommand)]
    pub(crate) command: GuardianCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GuardianCommand {
    /// Install the guardian and start it
    #[command(after_help = INSTALL_EXAMPLES)]
    Install(InstallArguments),
    /// Stop the guardian and let hooks decide by themselves again
    #[command(after_help = UNINSTALL_EXAMPLES)]
    Uninstall(UninstallArguments),
    /// Ask the guardian how it is, and try to get past it
    #[command(after_help = STATUS_EXAMPLES)]
    Status,
    /// Print policy and state of this user, for `install`
    #[command(hide = true, after_help = EXPORT_EXAMPLES)]
    Export,
}

#[derive(Debug, Args)]
pub(crate) struct InstallArguments {
    /// The users whose agents are guarded [default: the user who runs sudo]
    #[arg(long = "user", value_name = "NAME")]
    pub(crate) users: Vec<String>,
    /// The guardian's own user; made if it is missing
    #[arg(long = "as", value_name = "NAME", default_value = "lockgate")]
    pub(crate) guardian: String,
    /// Begin with an empty state instead of a copy of the user's
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Also make a socket and a token for containers
    #[arg(long)]
    pub(crate) containers: bool,
    /// Write everything below this folder; run no program
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Show the steps and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UninstallArguments {
    /// Delete the guardian's policies and state too
    #[arg(long)]
    pub(crate) purge: bool,
    /// The folder that `install --root` was given
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Show the steps and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
}
