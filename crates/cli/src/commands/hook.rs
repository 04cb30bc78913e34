//! `lockgate hook`: answers one event of a coding agent.
//!
//! The process is the hook's own from the first line on: its watchdog prints as well, so stdout must not be held.

use clap::{Args, builder::PossibleValuesParser};
use lockgate_agents::{Agent, Environment, hook};

pub(crate) const HOOK_EXAMPLES: &str = "\
Examples:
  lockgate hook claude-code < event.json
  echo '{\"event\": \"before\", \"session\": \"s\", \"tool\": \"deploy\", \"input\": {}}' |
    lockgate hook generic

The answer has the form that the agent expects. When Lockgate itself fails, the
agent blocks the call: exit 2, and one line on stderr.";

#[derive(Debug, Args)]
pub(crate) struct HookArguments {
    /// The agent that sends the event
    #[arg(value_name = "AGENT", value_parser = PossibleValuesParser::new(Agent::with_hooks().map(Agent::name)))]
    pub(crate) agent: String,
}

/// Answers the event on stdin, and ends the process.
pub(crate) fn run(arguments: &HookArguments) {
    if let Some(agent) = Agent::named(&arguments.agent) {
        hook::run(agent, &Environment::of_process());
    }
}
