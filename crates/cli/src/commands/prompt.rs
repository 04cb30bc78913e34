//! `lockgate prompt`: what the model should know about a session, as a text for a system prompt.
//!
//! The session is found as `lockgate status` finds it; without a policy and a session it is the beginning of one under the
//! policy that counts here. Nothing is decided and nothing is stored.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use lockgate::engine::{Gate, MemoryStore, Policy, Status};
use lockgate_agents::now;

use super::{
    check::read_session,
    in_force,
    status::{StatusArguments, kept},
};
use crate::{
    arguments::RegistryArguments,
    console::{CommandError, Console, Ending},
    protocol::{PromptAnswer, PromptForm, encode},
};

pub(crate) const PROMPT_EXAMPLES: &str = "\
Examples:
  lockgate prompt ops.rules                       at the beginning of a session
  lockgate prompt ops.rules --session day.json    a session that `check` saved
  lockgate prompt --session claude-code/3f2a…     a session of hooks
  lockgate prompt ops.rules --form nets           PetriFlow's formatSystemPrompt";

#[derive(Debug, Args)]
pub(crate) struct PromptArguments {
    #[command(flatten)]
    pub(crate) of: StatusArguments,
    /// In words, or net by net
    #[arg(long, value_enum, default_value = "words")]
    pub(crate) form: FormArgument,
    #[command(flatten)]
    pub(crate) registry: RegistryArguments,
}

/// [`PromptForm`] as the command line says it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FormArgument {
    /// What is open, what is closed and what would open it
    Words,
    /// Every active net with its tools and its marking, as PetriFlow's formatSystemPrompt
    Nets,
}

impl From<FormArgument> for PromptForm {
    fn from(form: FormArgument) -> Self {
        match form {
            FormArgument::Words => Self::Words,
            FormArgument::Nets => Self::Nets,
        }
    }
}

pub(crate) fn run(
    arguments: &PromptArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let of = &arguments.of;
    let status = match (&of.session, of.files.is_empty()) {
        (Some(session), true) => kept(&session.to_string_lossy(), of.state.as_deref(), console)?,
        _ => fresh(arguments, in_force::open(&of.files, console)?.compiled())?,
    };
    let prompt = PromptForm::from(arguments.form).text(&status);
    if json {
        writeln!(console.out, "{}", encode(&PromptAnswer { session: &status.session, prompt }))?;
    } else {
        writeln!(console.out, "{}", prompt.trim_end())?;
    }
    Ok(Ending::Yes)
}

/// Where a session in a file stands, or one that has not begun.
fn fresh(arguments: &PromptArguments, policy: Arc<Policy>) -> Result<Status, CommandError> {
    let file = arguments.of.session.as_deref().filter(|_| !arguments.of.files.is_empty());
    let session = read_session(file, &policy)?;
    let builder = Gate::builder(policy).store(MemoryStore::with_session("default", session));
    let gate = arguments.registry.registry().lend(builder).build().map_err(CommandError::said)?;
    gate.status("default", now()).map_err(CommandError::said)
}
