//! What a proxy is made of, and what the process around it knows and does.

use std::time::Duration;

use lockgate::engine::{
    call::{Call, SeenCall, Time},
    gate::Ask,
};

use super::{decider::Decider, naming::Naming};
use crate::pins::Pins;

/// What the process around the proxy knows and does.
pub trait Environment: Send + Sync {
    /// What time it is.
    fn now(&self) -> Time;

    /// Logs a line for the operator.
    fn log(&self, line: &str);

    /// Looks at a call, and where its paths really lead if the tools run on this machine.
    fn look(&self, call: Call) -> SeenCall {
        call.into()
    }

    /// For each of these tools why no session can ever call it, where that is proved.
    fn dead(&self, tools: &[String]) -> Vec<Option<String>> {
        tools.iter().map(|_| None).collect()
    }

    /// All tools that the server has, by the names that rules see: for finding misspelt ones.
    fn listed(&self, tools: &[String]) {
        let _ = tools;
    }

    /// What is known of the server from earlier.
    fn era(&self) -> Option<Era> {
        None
    }

    /// Keeps what was learnt of the server.
    fn learn(&self, era: &Era) {
        let _ = era;
    }
}

/// Which revisions a server speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Era {
    /// Those that begin with `initialize`.
    Legacy,
    /// The stateless one, with what the server answers to `server/discover`, as JSON.
    Modern(String),
}

/// What a client sees of tools that no session can ever call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeadTools {
    /// What the server says.
    Show,
    /// A remark in front of the description.
    #[default]
    Mark,
    /// Nothing.
    Hide,
}

/// What a proxy is made of.
pub struct Config {
    /// Who judges.
    pub decider: Box<dyn Decider>,
    /// The process around.
    pub environment: Box<dyn Environment>,
    /// The session of calls that name none.
    pub session: String,
    /// What rules call the server's tools.
    pub naming: Naming,
    /// How a human is asked; a client that cannot show a form leaves the question to `lockgate approve`.
    pub ask: Ask,
    /// How long a call waits for one.
    pub ask_for: Duration,
    /// What is shown of dead tools.
    pub dead_tools: DeadTools,
    /// Where the tools run, as far as that is known.
    pub folder: Option<String>,
    /// The definitions that were seen before; none to look at none.
    pub pins: Option<Pins>,
}
