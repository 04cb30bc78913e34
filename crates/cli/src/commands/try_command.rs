//! `lockgate try`: judges a command as a hook would, under the policy in force.
//!
//! The call goes through a gate in memory, as the first call of a new session: nothing runs and nothing is recorded.
//! Policy, mode and protection are those of hooks in this folder; what earlier calls of a session have opened or spent
//! does not count.

use std::{env, path::PathBuf};

use clap::Args;
use lockgate::engine::{
    Call, Decision, Gate, LocalEyes, MemoryStore, Mode, SeenCall, call::visible, gate::JudgedCall,
};
use lockgate_agents::{
    Agent, Environment,
    hook::protection_of,
    install::{Scope, is_installed},
    now,
};
use serde_json::{Map, Value, json};

use super::in_force;
use crate::{
    arguments::agent,
    console::{CommandError, Console, Ending, dim},
    protocol::{encode, read_object},
    report,
};

pub(crate) const TRY_EXAMPLES: &str = "\
Examples:
  lockgate try \"rm -rf /\"
  lockgate try \"git push --force\" --agent codex
  lockgate try .env --tool Read
  lockgate try '{\"file_path\": \"/etc/hosts\"}' --tool Write --json

Nothing runs and nothing is recorded: the call is judged as the first one of a
new session. Exit 0: allowed, 1: blocked or a human is asked, 2: could not tell.";

#[derive(Debug, Args)]
pub(crate) struct TryArguments {
    /// The command, in quotes; with --tool, the file to read or the tool's input as JSON
    #[arg(value_name = "COMMAND")]
    pub(crate) text: String,
    /// The tool that is called [default: the agent's shell tool]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) tool: Option<String>,
    /// The agent that calls it [default: the agent that has hooks here, or claude-code]
    #[arg(long, value_parser = agent(), value_name = "AGENT")]
    pub(crate) agent: Option<Agent>,
    /// Policy files or folders [default: the policy in force in this folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
}

pub(crate) fn run(
    arguments: &TryArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let (folder, environment) = (env::current_dir()?, Environment::of_process());
    let agent = match arguments.agent {
        Some(agent) => agent,
        None => agent_here(&folder, &environment),
    };
    let shell = || agent.tools().and_then(|tools| tools.shells().next()).map(|(name, _)| name.to_owned());
    let tool =
        arguments.tool.clone().or_else(shell).ok_or_else(|| {
            CommandError::Said(format!("{agent} has no shell tool; name a tool with --tool"))
        })?;
    let input = input_of(&arguments.text, &tool, agent)?;
    let (mut builder, which, mode) = match arguments.policy.as_slice() {
        [] => {
            let settings = in_force::settings_here()?;
            let sources = settings.sources().map_err(CommandError::from)?;
            let policy = lockgate::Policy::builder().sources(&sources).load().map_err(CommandError::from)?;
            let mut builder = Gate::builder(policy).mode(settings.mode);
            if settings.protect {
                builder = builder.protect(protection_of(&settings, &folder, &environment));
            }
            (builder, in_force::which(&settings), settings.mode)
        }
        files => {
            let which = files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ");
            (
                Gate::builder(lockgate::Policy::builder().files(files).load().map_err(CommandError::from)?),
                which,
                Mode::Enforce,
            )
        }
    };
    builder = builder.store(MemoryStore::default());
    let gate = builder.build().map_err(CommandError::said)?;
    let mut call = Call {
        session: format!("{agent}/try"),
        id: "try".to_owned(),
        tool,
        input,
        at: now(),
        ..Call::default()
    };
    call.about.cwd = folder.to_str().map(ToOwned::to_owned);
    call.about.metadata = Some(json!({ "host": agent.name() }));
    let call = SeenCall::look(call, Some(&LocalEyes));
    let verdict = gate.call(&call);
    if json {
        let mut answer =
            serde_json::to_value(JudgedCall::new(&call, &verdict)).map_err(CommandError::said)?;
        if let Value::Object(fields) = &mut answer {
            fields.insert("tool".to_owned(), Value::from(call.tool.as_str()));
            fields.insert("agent".to_owned(), Value::from(agent.name()));
            fields.insert("policy_in_force".to_owned(), Value::from(which));
        }
        writeln!(console.out, "{}", encode(&answer))?;
    } else {
        report::verdict(console.out, &call, &verdict)?;
        let text = format!("judged as a call of `{}` by {agent}, under {which}", call.tool);
        writeln!(console.err, "{}", dim(visible(&text)))?;
        if mode == Mode::Observe {
            writeln!(console.err, "note: the mode is observe, so hooks let every call pass")?;
        }
    }
    Ok(match verdict.decision {
        Decision::Allow | Decision::Redact => Ending::Yes,
        Decision::Ask | Decision::Block => Ending::No,
    })
}

/// The agent that has hooks here; otherwise one that is in use, otherwise Claude Code.
fn agent_here(folder: &std::path::Path, environment: &Environment) -> Agent {
    let has_hooks = |agent: &Agent| {
        [Scope::Project, Scope::User]
            .into_iter()
            .any(|scope| is_installed(*agent, scope, folder, environment))
    };
    let is_in_use = |agent: &Agent| agent.is_in_use(folder, environment);
    let all = || Agent::ALL.iter().copied();
    all().find(has_hooks).or_else(|| all().find(is_in_use)).unwrap_or(Agent::CLAUDE_CODE)
}

/// The input of a call, from what was typed: JSON as it is, otherwise the one field that counts for this tool.
fn input_of(text: &str, tool: &str, agent: Agent) -> Result<Map<String, Value>, CommandError> {
    let known = agent.tools().into_iter().flat_map(|tools| tools.shells().chain(tools.reader()));
    let Some((_, field)) = known.into_iter().find(|(name, _)| *name == tool) else {
        return read_object(text).map_err(|error| {
            CommandError::Said(format!(
                "the input of `{}` has to be a JSON object: {error}; try '{{\"FIELD\": \"VALUE\"}}'",
                visible(tool)
            ))
        });
    };
    // A command can begin with a brace too, so only a whole object that has the field is taken for an input.
    match read_object(text) {
        Ok(input) if input.contains_key(field) => Ok(input),
        _ => Ok(Map::from_iter([(field.to_owned(), Value::from(text))])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_becomes_the_input_of_the_tool() {
        let input = |text: &str, tool: &str| {
            input_of(text, tool, Agent::CLAUDE_CODE).map(|input| Value::Object(input).to_string()).ok()
        };
        for (text, tool, expected) in [
            ("rm -rf /", "Bash", Some(r#"{"command":"rm -rf /"}"#)),
            ("{ rm x; }", "Bash", Some(r#"{"command":"{ rm x; }"}"#)),
            (r#"{"a":1}"#, "Bash", Some(r#"{"command":"{\"a\":1}"}"#)),
            (r#"{"command":"ls","timeout":1}"#, "Bash", Some(r#"{"command":"ls","timeout":1}"#)),
            (".env", "Read", Some(r#"{"file_path":".env"}"#)),
            (r#"{"x":1}"#, "deploy", Some(r#"{"x":1}"#)),
            ("x", "deploy", None),
        ] {
            assert_eq!(input(text, tool).as_deref(), expected, "{tool} {text}");
        }
    }
}
