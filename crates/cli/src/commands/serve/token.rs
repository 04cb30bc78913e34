//! `lockgate serve token`: make, list and revoke the tokens of the team server.
//!
//! Making one opens the gate, so only a human at a terminal of their own may do it. Revoking only narrows.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use lockgate::engine::{Time, call::visible};
use lockgate_agents::{Environment, duration, now};
use lockgate_server::{NewToken, Scope, Token, Tokens};
use serde_json::{Value, json};

use super::team::data_folder;
use crate::{
    arguments::words,
    console::{CommandError, Console, Ending, bold},
    human::{self, Opening},
    protocol::encode,
    when,
};

pub(crate) const TOKEN_EXAMPLES: &str = "\
Examples:
  lockgate serve token create ci --scope agent --sessions 'ci/*'
  lockgate serve token list
  lockgate serve token revoke ci";

const CREATE_EXAMPLES: &str = "\
Examples:
  lockgate serve token create ci --scope agent --sessions 'ci/*' --expires 30d
  lockgate serve token create ada --scope approver --sessions '*'

It needs a human at a terminal. Exit 0: made, 1: you said no, 2: could not.";

const LIST_EXAMPLES: &str = "\
Examples:
  lockgate serve token list
  lockgate serve token list --json";

const REVOKE_EXAMPLES: &str = "\
Examples:
  lockgate serve token revoke ci";

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it, once
    #[command(after_help = CREATE_EXAMPLES)]
    Create(CreateArguments),
    /// List the tokens, without their secrets
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArguments),
    /// Revoke a token; it counts for nothing from the next request on
    #[command(after_help = REVOKE_EXAMPLES)]
    Revoke(RevokeArguments),
}

#[derive(Debug, Args)]
pub(crate) struct CreateArguments {
    /// What people call its owner; answers are stored under this name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What its owner may do
    #[arg(long, value_parser = words(Scope::ALL, Scope::word))]
    pub(crate) scope: Scope,
    /// The sessions it is for: names, or patterns such as 'ci/*'; '*' for all
    #[arg(long, value_name = "PATTERN,…", value_delimiter = ',', required = true)]
    pub(crate) sessions: Vec<String>,
    /// When it ends, such as 30d or 12h; never otherwise
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    pub(crate) expires: Option<std::time::Duration>,
    #[command(flatten)]
    pub(crate) data: DataArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    pub(crate) data: DataArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArguments {
    /// Its name or its number
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) data: DataArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DataArguments {
    /// The folder of the server [default: `lockgate/server` in the user's data folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

fn lifetime(text: &str) -> Result<std::time::Duration, String> {
    duration(text).ok_or_else(|| "write a number and a unit, such as 30d, 12h or 45m".to_owned())
}

pub(super) fn run(
    command: &TokenCommand,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    match command {
        TokenCommand::Create(arguments) => create(arguments, json, console),
        TokenCommand::List(arguments) => list(arguments, json, console),
        TokenCommand::Revoke(arguments) => revoke(arguments, json, console),
    }
}

fn create(
    arguments: &CreateArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let data = data_folder(arguments.data.data.as_deref())?;
    let state = data.state();
    let opening = Opening { command: "serve token create", deed: "make a token", shown: "", state: &state };
    // An agent that could make a token could approve its own calls.
    drop(human::fence(&opening, &Environment::of_process())?);
    let at = now();
    let lifetime_ms = arguments.expires.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let new = NewToken {
        name: arguments.name.clone(),
        scope: arguments.scope,
        sessions: arguments.sessions.clone(),
        expires: lifetime_ms.map(|lifetime_ms| at.after_ms(lifetime_ms)),
    };
    let token = Tokens::of(&data).create(new, at).map_err(CommandError::said)?;
    if json {
        writeln!(console.out, "{}", encode(&json!({ "token": token })))?;
    } else {
        writeln!(console.out, "{token}")?;
        writeln!(
            console.err,
            "it is shown this once; keep it where the agent cannot read more than its own"
        )?;
    }
    Ok(Ending::Yes)
}

fn list(arguments: &ListArguments, json: bool, console: &mut Console<'_>) -> Result<Ending, CommandError> {
    let data = data_folder(arguments.data.data.as_deref())?;
    let tokens = Tokens::of(&data).list().map_err(CommandError::said)?;
    if json {
        let tokens: Vec<Value> = tokens.iter().map(form).collect();
        writeln!(console.out, "{}", encode(&json!({ "tokens": tokens })))?;
        return Ok(Ending::Yes);
    }
    if tokens.is_empty() {
        writeln!(console.out, "no tokens")?;
    }
    for Token { name, scope, sessions, expires, .. } in &tokens {
        let until = expires.map(|at| format!(", until {}", when::local(Time(at)))).unwrap_or_default();
        let sessions = visible(&sessions.join(", "));
        writeln!(console.out, "{}  {}, sessions {sessions}{until}", bold(name), scope.word())?;
    }
    Ok(Ending::Yes)
}

fn form(token: &Token) -> Value {
    let Token { id, name, scope, sessions, made_at, expires, .. } = token;
    json!({ "id": id, "name": name, "scope": scope.word(), "sessions": sessions, "made_at": made_at, "expires": expires })
}

fn revoke(
    arguments: &RevokeArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let data = data_folder(arguments.data.data.as_deref())?;
    let revoked = Tokens::of(&data).revoke(&arguments.name).map_err(CommandError::said)?;
    match json {
        true => writeln!(console.out, "{}", encode(&json!({ "revoked": revoked.name })))?,
        false => writeln!(console.out, "revoked {}", bold(&revoked.name))?,
    }
    Ok(Ending::Yes)
}
