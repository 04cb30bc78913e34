//! The plain form: what our own plugins and scripts for other agents write, and what they are answered.
//!
//! Every answer is one JSON object with a `decision`, never silence, so that a script can distinguish an answer from a
//! crash. Events are `{"event":"before","session":…,"tool":…,"input":{…}}` and `{"event":"after",…,"ok":true,"output":…}`,
//! with `call`, `cwd` and `agent` where the agent has them, `start`, `resume`, `compact`, `end` with a
//! `session`, and `{"event":"user","session":…,"says":…}` for what the user wrote.

use serde_json::{Value, json};

use crate::{
    coding_agent::{Reaction, printed_object},
    event::{
        Answer, Event, EventError, HookReply, Message, Moment, Phase, Prompt, ToolCall, complaint,
        json_reply, object, optional_text, quiet, reason_of, sentence, text, unknown, value,
    },
};

/// Reads an event in the plain form.
pub(super) fn decode(message: &Message) -> Result<Event, EventError> {
    match text(message, "event")? {
        "before" => Ok(Event::Call(Box::new(call(message, "before")?))),
        "after" => {
            let ok = value(message, "ok")?
                .as_bool()
                .ok_or_else(|| EventError("the field `ok` of the event is not a boolean".to_owned()))?;
            let output = value(message, "output")?.clone();
            Ok(Event::result(call(message, "after")?, ok, output))
        }
        "start" => session(message, Phase::Started),
        "resume" => session(message, Phase::Resumed),
        "compact" => session(message, Phase::Compacted),
        "end" => session(message, Phase::Ended),
        "user" => {
            no_input(message)?;
            quiet(message)?;
            let (session, words) = (text(message, "session")?.to_owned(), text(message, "says")?.to_owned());
            Ok(Event::Prompt(Box::new(Prompt { session, cwd: optional_text(message, "cwd")?, words })))
        }
        other => {
            no_input(message)?;
            unknown(message, other)
        }
    }
}

/// Where nothing is called there is no input: an event that has one was meant to tell a call.
fn no_input(message: &Message) -> Result<(), EventError> {
    if message.contains_key("input") {
        return Err(EventError(
            "the event carries a tool call in `input`, which is not expected at this event".to_owned(),
        ));
    }
    Ok(())
}

fn call(message: &Message, seen_at: &'static str) -> Result<ToolCall, EventError> {
    Ok(ToolCall {
        session: text(message, "session")?.to_owned(),
        id: optional_text(message, "call")?,
        tool: text(message, "tool")?.to_owned(),
        input: object(message, "input")?,
        cwd: optional_text(message, "cwd")?,
        agent: optional_text(message, "agent")?,
        seen_at,
        distinct_by: &[],
    })
}

fn session(message: &Message, phase: Phase) -> Result<Event, EventError> {
    no_input(message)?;
    quiet(message)?;
    Ok(Event::Session { session: text(message, "session")?.to_owned(), phase })
}

fn moment(message: &Message) -> Moment {
    match message.get("event").and_then(Value::as_str) {
        Some("before") => Moment::Before,
        Some("after") => Moment::After,
        _ => Moment::Other,
    }
}

/// Writes an answer; `can_ask` where the agent asks people itself.
pub(super) fn encode(message: &Message, answer: &Answer, can_ask: bool) -> HookReply {
    let reason = reason_of(answer);
    match (moment(message), answer) {
        (_, Answer::Pass) => json_reply(&json!({ "decision": "pass" })),
        (Moment::Before, Answer::Change { input, .. }) => {
            json_reply(&json!({ "decision": "change", "input": input, "reason": reason }))
        }
        (Moment::Before, Answer::Ask { .. }) if can_ask => {
            json_reply(&json!({ "decision": "ask", "reason": reason }))
        }
        (Moment::After, Answer::Replace { output, .. }) => {
            json_reply(&json!({ "decision": "replace", "output": output, "reason": reason }))
        }
        (Moment::After, _) => json_reply(&json!({ "decision": "withhold", "reason": reason })),
        (_, _) => json_reply(&json!({ "decision": "block", "reason": reason })),
    }
}

/// Says that Lockgate has failed, in the answer and in the exit code: a script may look at either.
pub(super) fn fault(message: Option<&Message>, line: &str) -> HookReply {
    let decision = match message.map(moment) {
        Some(Moment::After) => "withhold",
        _ => "block",
    };
    let answer =
        json_reply(&json!({ "decision": decision, "reason": format!("lockgate: {}", sentence(line)) }));
    HookReply { stderr: complaint(line), code: 2, ..answer }
}

/// What our plugins do with a reply, and every script that follows docs/hooks.md.
pub(super) fn reaction(reply: &HookReply, can_ask: bool) -> Reaction {
    let stdout = printed_object(reply);
    match (reply.code, stdout.get("decision").and_then(Value::as_str)) {
        (0, Some("pass")) => Reaction::AsWithoutUs,
        (0, Some("change")) if stdout.get("input").is_some_and(Value::is_object) => {
            Reaction::to_input(stdout.get("input"))
        }
        (0, Some("ask")) if can_ask => Reaction::Asks,
        _ => Reaction::Blocks,
    }
}

/// The event before a shell command runs.
pub(super) fn trial(tool: &str, session: &str, command: &str, folder: &str) -> Value {
    json!({
        "event": "before", "session": session, "call": "doctor-1", "cwd": folder, "tool": tool,
        "input": { "command": command },
    })
}
