//! Any other agent: a script that speaks the plain form (docs/hooks.md). Lockgate does not install such a hook itself.

use serde_json::Value;

use super::plain;
use crate::{
    coding_agent::{CodingAgent, Facts, Reaction},
    event::{Answer, Event, EventError, HookReply, Message},
};

/// An agent without a file of its own.
pub(crate) struct Generic;

static FACTS: Facts = Facts::of("generic");

impl CodingAgent for Generic {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn decode(&self, message: &Message) -> Result<Event, EventError> {
        plain::decode(message)
    }

    fn encode(&self, message: &Message, answer: &Answer) -> HookReply {
        plain::encode(message, answer, false)
    }

    fn fault(&self, message: Option<&Message>, line: &str) -> HookReply {
        plain::fault(message, line)
    }

    fn reaction(&self, reply: &HookReply) -> Reaction {
        plain::reaction(reply, false)
    }

    fn trial(&self, session: &str, command: &str, folder: &str) -> Value {
        plain::trial("bash", session, command, folder)
    }
}
