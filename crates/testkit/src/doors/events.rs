//! The hook of a coding agent: every call and every result is an event of its host.
//!
//! What the hook answers is read from what it would print; how that is compared and counted is told in `told.rs`. Hosts
//! are the first part of the names of their sessions. No process is started.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use lockgate::engine::{
    Decision, Time, Verdict,
    gate::{Backend, StoredAnswer},
};
use lockgate_agents::{Ask, HookReply, hook::HookDoor};
use serde_json::{Map, Value, json};

use super::{
    library::{Body, gate_builder},
    told::{Name, Spoken, Tally, Teller, Told, set},
};
use crate::{Door, Options, PolicyFile, contract::MemoryRest};

/// How long an answer may take, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whose events are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// Any host: the hook waits while a human decides.
    Generic,
    /// Claude Code: a call that needs a human is put off, and comes again.
    ClaudeCode,
}

/// Tells a hook about calls and results.
pub struct EventsDoor {
    host: Host,
    open: Option<Open>,
    tally: Tally,
}

impl EventsDoor {
    /// A door for events of this host.
    pub fn new(host: Host) -> Self {
        Self { host, open: None, tally: Tally::default() }
    }

    /// How the lines so far were told.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }
}

impl Door for EventsDoor {
    fn open(&mut self, policy: &[PolicyFile], options: &Options) -> Result<(), String> {
        let rest = MemoryRest::default();
        let (say, heard) = channel();
        let listener = say.clone();
        let builder = gate_builder(policy, options)?.backend(rest.clone()).on_decision(move |_, verdict| {
            // Nobody listens any more once a story is over.
            let _ = listener.send(Heard::Decided(Box::new(verdict.clone())));
        });
        let gate = Arc::new(builder.build().map_err(|error| error.to_string())?);
        self.open = Some(Open {
            host: self.host,
            told: Told::new(gate, rest, format!("{}/", self.host.name())),
            clock: Arc::default(),
            say,
            heard,
            hooks: 0,
            waiting: HashMap::new(),
        });
        Ok(())
    }

    fn line(&mut self, line: Value) -> Result<Value, String> {
        let open = self.open.as_mut().ok_or("the door is not open")?;
        let (kind, body) = line.as_object().and_then(|line| line.iter().next()).ok_or("an empty line")?;
        let at = line.get("at").and_then(Value::as_u64).unwrap_or_default();
        open.clock.store(at, Ordering::SeqCst);
        open.respond(kind, body, Time(at), &mut self.tally)
    }
}

/// What is heard while a hook works.
enum Heard {
    /// The gate has decided.
    Decided(Box<Verdict>),
    /// The hook of this number has ended.
    Ended(usize, Box<HookReply>),
}

struct Open {
    host: Host,
    told: Told,
    clock: Arc<AtomicU64>,
    say: Sender<Heard>,
    heard: Receiver<Heard>,
    /// How many hooks were started.
    hooks: usize,
    /// The hooks that wait for a human, by the name of the question.
    waiting: HashMap<String, usize>,
}

impl Teller for Open {
    fn told(&mut self) -> &mut Told {
        &mut self.told
    }

    fn why_not(&self, kind: &str, body: &Value) -> Option<&'static str> {
        match kind {
            "call" => Told::why_not_call(body),
            "result" => self.why_not_result(body),
            _ => self.why_not_answer(body),
        }
    }

    fn say(&mut self, kind: &str, name: &Name, body: &Value, at: Time) -> Result<Value, String> {
        while self.heard.try_recv().is_ok() {}
        match kind {
            "call" => self.call(name, body),
            "answer" => self.answer(body, at),
            _ => self.result(name, body),
        }
    }
}

impl Open {
    fn why_not_result(&self, body: &Value) -> Option<&'static str> {
        let name = (Body(body).session().to_owned(), Body(body).id());
        let is_asked = self.told.operator.questions.values().any(|(approval, id)| {
            *id == name.1
                && approval.session == self.told.whole(&name.0)
                && self.told.gate().question(approval).is_ok_and(|question| question.is_some())
        });
        let failed_with = !Body(body).says_yes("ok") && body.get("output").is_some();
        if let Some(reason) = self.told.why_not_result(&name) {
            return Some(reason);
        }
        match () {
            // Where a host has let a tool run, its human has said yes.
            () if is_asked => Some("the result of a call while a human decides"),
            () if failed_with && self.host == Host::ClaudeCode => {
                Some("a failure whose output can be hidden")
            }
            // Another output is taken only with the keys of the first one.
            () if self.host == Host::ClaudeCode && is_secret_in_a_key(body) => {
                Some("a result whose keys must not be seen")
            }
            () => None,
        }
    }

    fn why_not_answer(&self, body: &Value) -> Option<&'static str> {
        let reason = self.told.why_not_answer(body);
        if reason.is_some() {
            return reason;
        }
        let question = Body(body).text("approval").and_then(|name| self.told.operator.questions.get(name));
        let is_open = |approval| self.told.gate().question(approval).is_ok_and(|it| it.is_some());
        let is_asked = question.is_some_and(|(approval, _)| is_open(approval));
        (!is_asked).then_some("an answer to what nobody asks any more")
    }

    fn call(&mut self, name: &Name, body: &Value) -> Result<Value, String> {
        let event = self.host.before(name, body);
        let asks = match (Body(body).text("ask"), self.host) {
            (Some("none"), _) => Ask::Block,
            (_, Host::Generic) => Ask::Wait,
            (_, Host::ClaudeCode) => Ask::Defer,
        };
        let hook = self.start(event, asks);
        self.hear(hook, name)
    }

    fn answer(&mut self, body: &Value, at: Time) -> Result<Value, String> {
        let (question, call) = self.told.question(body).ok_or("nobody asked that")?;
        let (approval, _) =
            self.told.operator.questions.get(&question).cloned().ok_or("nobody asked that")?;
        let kept = StoredAnswer::unsigned(Body(body).says_yes("granted"), "the page".to_owned(), at);
        let entry = json!({ "at": at.0, "what": "answer", "by": kept.by }).to_string();
        let is_first = self.told.rest.keep_answer(&approval.session, approval.number, &kept, &entry);
        if !is_first.map_err(|error| error.to_string())? {
            return Err(format!("the answer to `{question}` was not kept"));
        }
        let hook = match (self.waiting.remove(&question), self.told.calls.get(&call)) {
            (Some(hook), _) => hook,
            // The host comes back with the call that it put off.
            (None, Some(told)) => self.start(self.host.before(&call, told), Ask::Defer),
            (None, None) => return Err("a question about no call".to_owned()),
        };
        self.hear(hook, &call)
    }

    fn result(&mut self, name: &Name, body: &Value) -> Result<Value, String> {
        let told = self.told.calls.get(name).ok_or("a result of no call")?;
        let event = self.host.after(name, told, body);
        let hook = self.start(event, Ask::Block);
        let spoken = loop {
            match self.heard.recv_timeout(PATIENCE).map_err(|error| format!("no answer: {error}"))? {
                Heard::Ended(number, reply) if number == hook => break self.host.spoken_after(&reply)?,
                Heard::Ended(..) | Heard::Decided(_) => {}
            }
        };
        self.told.settled(name, spoken, self.host == Host::ClaudeCode)
    }

    /// Starts a hook with an event, as a host starts a process.
    fn start(&mut self, event: Map<String, Value>, asks: Ask) -> usize {
        self.hooks += 1;
        let (number, host, say) = (self.hooks, self.host.name(), self.say.clone());
        let (gate, rest) = (Arc::clone(&self.told.operator.gate), self.told.rest.clone());
        let clock = Arc::clone(&self.clock);
        thread::spawn(move || {
            let clock = || Time(clock.load(Ordering::SeqCst));
            let door =
                HookDoor { host, gate: &gate, backend: &rest, asks, patience: PATIENCE, clock: &clock };
            let reply = door.answer(&event);
            // Nobody listens any more once a story is over.
            let _ = reply.map(|reply| say.send(Heard::Ended(number, Box::new(reply))));
        });
        number
    }

    /// Waits until a hook has answered about a call, or waits for a human itself.
    fn hear(&mut self, hook: usize, name: &Name) -> Result<Value, String> {
        let mut decided: Option<Box<Verdict>> = None;
        loop {
            match self.heard.recv_timeout(PATIENCE).map_err(|error| format!("no answer: {error}"))? {
                Heard::Decided(verdict) => {
                    let waits = verdict.decision == Decision::Ask && self.host == Host::Generic;
                    if waits {
                        let answer = self.told.tell(name, &verdict);
                        let question = answer.get("approval").and_then(Value::as_str).unwrap_or_default();
                        self.waiting.insert(question.to_owned(), hook);
                        return Ok(answer);
                    }
                    decided = Some(verdict);
                }
                Heard::Ended(number, reply) if number == hook => {
                    let spoken = self.host.spoken_before(&reply)?;
                    let Some(verdict) = decided else {
                        return Err(format!("the hook said {spoken:?} and the gate nothing"));
                    };
                    return self.told.agreed(name, &verdict, &spoken);
                }
                Heard::Ended(..) => {}
            }
        }
    }
}

impl Host {
    fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::ClaudeCode => "claude-code",
        }
    }

    /// The event before a call runs.
    fn before(self, (session, id): &Name, call: &Value) -> Map<String, Value> {
        let (tool, input) = (call.get("tool"), call.get("input").cloned().unwrap_or(json!({})));
        let mut event = match self {
            Self::Generic => {
                json!({"event": "before", "session": session, "call": id, "tool": tool, "input": input})
            }
            Self::ClaudeCode => json!({
                "hook_event_name": "PreToolUse",
                "session_id": session,
                "transcript_path": "/tmp/transcript.jsonl",
                "permission_mode": "default",
                "tool_name": tool,
                "tool_input": input,
                "tool_use_id": id,
            }),
        };
        if let Some(cwd) = call.get("cwd") {
            set(&mut event, "cwd", cwd.clone());
        }
        event.as_object().cloned().unwrap_or_default()
    }

    /// The event after it ran.
    fn after(self, name: &Name, call: &Value, result: &Value) -> Map<String, Value> {
        let mut event = Value::Object(self.before(name, call));
        let output = result.get("output").cloned().unwrap_or_default();
        let ok = result.get("ok") == Some(&json!(true));
        match self {
            Self::Generic => {
                set(&mut event, "event", json!("after"));
                set(&mut event, "ok", json!(ok));
                set(&mut event, "output", output);
            }
            Self::ClaudeCode if ok => {
                set(&mut event, "hook_event_name", json!("PostToolUse"));
                set(&mut event, "tool_response", output);
            }
            Self::ClaudeCode => {
                set(&mut event, "hook_event_name", json!("PostToolUseFailure"));
                set(&mut event, "error", output);
            }
        }
        event.as_object().cloned().unwrap_or_default()
    }

    fn spoken_before(self, reply: &HookReply) -> Result<Spoken, String> {
        let answer = heard_by_host(reply)?;
        let text = |field: &str| answer.get(field).and_then(Value::as_str).unwrap_or_default();
        let given = |field: &str| answer.get(field).cloned().unwrap_or_default();
        let spoken = match self {
            Self::Generic => match text("decision") {
                "pass" => Spoken::Pass,
                "change" => Spoken::Changed(given("input")),
                "block" => Spoken::Blocked(text("reason").to_owned()),
                _ => return Err(format!("no answer to a call: {reply:?}")),
            },
            Self::ClaudeCode => match text("permissionDecision") {
                "" if answer.get("updatedInput").is_some() => Spoken::Changed(given("updatedInput")),
                "" if answer.is_null() => Spoken::Pass,
                "deny" => Spoken::Blocked(text("permissionDecisionReason").to_owned()),
                "defer" => Spoken::Asked(text("permissionDecisionReason").to_owned()),
                _ => return Err(format!("no answer to a call: {reply:?}")),
            },
        };
        Ok(spoken)
    }

    fn spoken_after(self, reply: &HookReply) -> Result<Spoken, String> {
        let answer = heard_by_host(reply)?;
        let text = |field: &str| answer.get(field).and_then(Value::as_str).unwrap_or_default();
        let given = |field: &str| answer.get(field).cloned().unwrap_or_default();
        let spoken = match self {
            Self::Generic => match text("decision") {
                "pass" => Spoken::Pass,
                "replace" => Spoken::Changed(given("output")),
                "withhold" => Spoken::Blocked(text("reason").to_owned()),
                _ => return Err(format!("no answer to a result: {reply:?}")),
            },
            Self::ClaudeCode if answer.is_null() => Spoken::Pass,
            // A masked output and one that was withheld look alike: the gate tells which it was.
            Self::ClaudeCode => Spoken::Changed(given("updatedToolOutput")),
        };
        Ok(spoken)
    }
}

/// The answer a host reads; nothing where it is told nothing.
fn heard_by_host(reply: &HookReply) -> Result<Value, String> {
    if reply.code != 0 {
        return Err(format!("the hook failed: {}", reply.stderr.trim()));
    }
    if reply.stdout.is_empty() {
        return Ok(Value::Null);
    }
    let answer: Value = serde_json::from_str(&reply.stdout).map_err(|error| format!("no JSON ({error})"))?;
    Ok(answer.get("hookSpecificOutput").cloned().unwrap_or(answer))
}

/// Pages write it like this.
fn is_secret_in_a_key(result: &Value) -> bool {
    result.pointer("/output/SECRET").is_some()
}
