//! What coding agents tell a hook and what a hook answers, in our words.
//!
//! `message` has the events, `prompt` what the user wrote, `answer` the answers and what the process prints, `fields` reads what must be in an event,
//! `shape` empties an output without changing its shape. No agent is named in here.

mod answer;
mod fields;
mod message;
mod prompt;
mod shape;

pub use lockgate::engine::gate::Ask;

pub use self::{answer::HookReply, message::Message};
pub(crate) use self::{
    answer::{
        Answer, cannot_hide, complaint, json_reply, reason_of, refuse, sentence, silence, specific_reply,
    },
    fields::{Moment, object, optional_text, phase_of, quiet, text, unknown, value},
    message::{Event, EventError, Phase, Prompt, ToolCall, ToolResult},
    prompt::prompt,
    shape::{as_text, same_shape, withheld},
};
