//! The line protocol: one JSON object a line in, one a line out.
//!
//! [`decode`] reads a line into a [`Request`]; the answers are written with [`encode`]. Nothing is decided in here.

mod answers;
mod requests;

pub(crate) use self::requests::{call_elsewhere, read_body};
pub use self::{
    answers::{
        ErrorAnswer, HaltAnswer, PromptAnswer, SessionAnswer, StageAnswer, SwitchAnswer, UntaintAnswer,
        blocked_call, encode,
    },
    requests::{
        AnswerMessage, BareCall, CallMessage, Counters, DEPTH_MAX, DoorMessage, HaltMessage, LINE_BYTES_MAX,
        Message, NetMessage, PromptForm, PromptMessage, ProtocolError, Request, ResultMessage,
        SessionMessage, SessionOnly, StageMessage, UserMessage, call_here, decode, decode_call,
        decode_message, read_object,
    },
};
