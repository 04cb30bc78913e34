//! `lockgate hook`: answers one event of a coding agent.
//!
//! Where the settings of the machine name a guardian for this user, it answers; otherwise the process decides itself.
//! The process is the hook's own from the first line on: its watchdog prints as well, so stdout must not be held.

use clap::{Args, builder::PossibleValuesParser};
use lockgate_agents::{Agent, Environment, guardian, hook, machine::Machine};

use crate::team_server;

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
    let Some(agent) = Agent::named(&arguments.agent) else { return };
    let environment = Environment::of_process();
    match Machine::read() {
        Ok(Some(machine)) if environment.user.is_some_and(|user| machine.serves(user)) => {
            guardian::run_hook(agent, &machine, &environment);
        }
        Ok(_) => hook::run(agent, &environment, &team_server::connect),
        Err(error) => hook::refuse(agent, &error.to_string()),
    }
}
