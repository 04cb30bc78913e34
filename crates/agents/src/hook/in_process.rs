//! The hook door without a process around it: events of an agent in, what the process would print out.
//!
//! [`HookDoor`] reads, asks and writes with the very code of `lockgate hook`, so that the pages of `spec/` can be
//! played through it with a clock and a backend of their own. What belongs to the process is missing on purpose:
//! settings, the folder of a session, the watchdog and the answer to a panic.

use std::time::{Duration, Instant};

use lockgate::engine::{Call, Gate, LocalEyes, SeenCall, Time, gate::Backend};

use super::decision::Decider;
use crate::{
    agents::Agent,
    event::{Ask, HookReply, Message},
};

/// Where events of one agent are answered.
pub struct HookDoor<'a> {
    /// The agent, by its name on the command line.
    pub host: &'a str,
    /// Who decides.
    pub gate: &'a Gate,
    /// Where the gate's sessions rest, and the answers of humans.
    pub backend: &'a dyn Backend,
    /// How humans are asked.
    pub asks: Ask,
    /// How long a hook waits for them.
    pub patience: Duration,
    /// What time it is.
    pub clock: &'a dyn Fn() -> Time,
}

impl HookDoor<'_> {
    /// Answers an event; none where no agent has this name.
    pub fn answer(&self, message: &Message) -> Option<HookReply> {
        let agent = Agent::named(self.host)?;
        let look = |call: Call| SeenCall::look(call, Some(&LocalEyes));
        let decider = Decider {
            gate: self.gate,
            backend: self.backend,
            host: agent.sender(message),
            asking: agent.asking(self.asks, message),
            folder: None,
            deadline: Instant::now() + self.patience,
            clock: self.clock,
            look: &look,
            waits: &|_| {},
        };
        let event = agent.decode(message).map_err(|error| error.to_string());
        let answer = event.and_then(|event| decider.answer(event).map_err(|error| error.to_string()));
        Some(match answer {
            Ok(answer) => agent.encode(message, &answer),
            Err(line) => agent.fault(Some(message), &line),
        })
    }
}
