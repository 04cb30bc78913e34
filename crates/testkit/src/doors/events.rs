//! The hook of a coding agent: every call and every result is an event of its host.
//!
//! What the hook answers is read from what it would print, and has to agree with what the gate decided; what a host is
//! never told (deeds, all rules, markings) is taken from the gate. Operators do not speak through hooks, so their steps
//! go to the gate as `lockgate halt` and the like do. What a page says and no event can say goes there too, and is
//! counted under its reason: [`EventsDoor::tally`] tells. No process is started.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use lockgate::{
    Decision, Gate, Time, Verdict,
    gate::{KeptAnswer, Shelf},
};
use lockgate_cli::{HookAsks, HookDoor, HookReply};
use serde_json::{Map, Value, json};

use super::library::{Body, Open as Operator, gate_builder};
use crate::{
    Door, Options, PolicyFile,
    contract::{MemoryRest, Rest},
};

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

/// How the lines of the pages were told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lines that became events.
    pub events: usize,
    /// What operators did.
    pub operator: usize,
    /// Calls, answers and results that no event of this host can tell, by the reason.
    pub unsayable: BTreeMap<&'static str, usize>,
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

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} events, {} steps of operators", self.events, self.operator)?;
        self.unsayable.iter().try_for_each(|(reason, count)| write!(f, ", {count} NOT SAYABLE: {reason}"))
    }
}

impl Door for EventsDoor {
    fn open(&mut self, policy: &[PolicyFile], options: &Options) -> Result<(), String> {
        let rest = MemoryRest::default();
        let (say, heard) = channel();
        let listener = say.clone();
        let builder = gate_builder(policy, options)?.shelf(rest.clone()).on_decision(move |_, verdict| {
            // Nobody listens any more once a story is over.
            let _ = listener.send(Heard::Decided(Box::new(verdict.clone())));
        });
        let gate = Arc::new(builder.build().map_err(|error| error.to_string())?);
        self.open = Some(Open {
            host: self.host,
            operator: Operator::new(Arc::clone(&gate)),
            gate,
            rest,
            clock: Arc::default(),
            say,
            heard,
            hooks: 0,
            told: HashMap::new(),
            besides: HashSet::new(),
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

/// The name of a call: its session and its id.
type Name = (String, String);

struct Open {
    host: Host,
    operator: Operator,
    gate: Arc<Gate>,
    rest: MemoryRest,
    clock: Arc<AtomicU64>,
    say: Sender<Heard>,
    heard: Receiver<Heard>,
    /// How many hooks were started.
    hooks: usize,
    /// The calls that were told as events: their tools and inputs, as a host would tell them again.
    told: HashMap<Name, Value>,
    /// The calls that were not.
    besides: HashSet<Name>,
    /// The hooks that wait for a human, by the name of the question.
    waiting: HashMap<String, usize>,
}

impl Open {
    fn respond(&mut self, kind: &str, body: &Value, at: Time, tally: &mut Tally) -> Result<Value, String> {
        while self.heard.try_recv().is_ok() {}
        let unsayable = match kind {
            "call" => self.why_not_call(body),
            "result" => self.why_not_result(body),
            "answer" => self.why_not_answer(body),
            _ => {
                tally.operator += 1;
                return Ok(self.besides(kind, body, at));
            }
        };
        let name = (Body(body).session().to_owned(), Body(body).id());
        if let Some(reason) = unsayable {
            *tally.unsayable.entry(reason).or_default() += 1;
            if kind == "call" {
                self.besides.insert(name);
            }
            return Ok(self.besides(kind, body, at));
        }
        tally.events += 1;
        match kind {
            "call" => {
                self.besides.remove(&name);
                let before = self.told.insert(name.clone(), body.clone());
                let answer = self.call(&name, body)?;
                // The id may belong to a call that is still on its way.
                if let (Some(before), Some("block")) = (before, answer.get("verdict").and_then(Value::as_str))
                {
                    self.told.insert(name, before);
                }
                Ok(answer)
            }
            "answer" => self.answer(body, at),
            _ => self.result(&name, body),
        }
    }

    /// Says a line to the gate itself. Hosts are the first part of the names of their sessions.
    fn besides(&mut self, kind: &str, body: &Value, at: Time) -> Value {
        let mut body = body.clone();
        let field = if kind == "session" { "id" } else { "session" };
        let is_for_all = matches!(kind, "halt" | "resume") && body.get(field).is_none();
        if let Some(object) = body.as_object_mut().filter(|_| !is_for_all) {
            let session = object.get(field).and_then(Value::as_str).unwrap_or("default").to_owned();
            object.insert(field.to_owned(), json!(self.whole(&session)));
        }
        let answer = self.operator.respond(kind, &Body(&body), at);
        let mut answer = answer.unwrap_or_else(|error| json!({ "error": error }));
        if let Some(session) = answer.get("session").and_then(Value::as_str).map(|it| self.bare(it)) {
            set(&mut answer, "session", json!(session));
        }
        answer
    }

    fn whole(&self, session: &str) -> String {
        format!("{}/{session}", self.host.name())
    }

    fn bare(&self, session: &str) -> String {
        let bare = session.strip_prefix(self.host.name()).and_then(|rest| rest.strip_prefix('/'));
        bare.unwrap_or(session).to_owned()
    }

    fn why_not_call(&self, body: &Value) -> Option<&'static str> {
        let has = |field: &str| body.get(field).is_some();
        match () {
            () if has("sender") => Some("a call's sender"),
            () if has("context") => Some("a call's context"),
            () if has("principal") => Some("a call's principal"),
            () if has("metadata") => Some("a call's metadata"),
            () if has("environment") => Some("a call's environment"),
            () => None,
        }
    }

    fn why_not_result(&self, body: &Value) -> Option<&'static str> {
        let name = (Body(body).session().to_owned(), Body(body).id());
        let is_asked = self.operator.questions.values().any(|(approval, id)| {
            *id == name.1
                && approval.session == self.whole(&name.0)
                && self.gate.question(approval).is_ok_and(|question| question.is_some())
        });
        let failed_with = !Body(body).says_yes("ok") && body.get("output").is_some();
        match () {
            () if self.besides.contains(&name) => Some("the result of a call that was not told"),
            () if !self.told.contains_key(&name) => Some("the result of a call that nobody made"),
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
        let question = Body(body).text("approval").and_then(|name| self.operator.questions.get(name));
        let Some((approval, id)) = question else { return Some("an answer to what nobody asked") };
        let name = (self.bare(&approval.session), id.clone());
        let is_open = self.gate.question(approval).is_ok_and(|question| question.is_some());
        match () {
            () if self.besides.contains(&name) => Some("an answer about a call that was not told"),
            () if !is_open => Some("an answer to what nobody asks any more"),
            () => None,
        }
    }

    fn call(&mut self, name: &Name, body: &Value) -> Result<Value, String> {
        let event = self.host.before(name, body);
        let asks = match (Body(body).text("ask"), self.host) {
            (Some("none"), _) => HookAsks::Nobody,
            (_, Host::Generic) => HookAsks::Wait,
            (_, Host::ClaudeCode) => HookAsks::Defer,
        };
        let hook = self.start(event, asks);
        self.hear(hook, name)
    }

    fn answer(&mut self, body: &Value, at: Time) -> Result<Value, String> {
        let name = Body(body).text("approval").unwrap_or_default().to_owned();
        let (approval, id) = self.operator.questions.get(&name).cloned().ok_or("nobody asked that")?;
        let kept = KeptAnswer { granted: Body(body).says_yes("granted"), by: "the page".to_owned(), at };
        let entry = json!({ "at": at.0, "what": "answer", "by": kept.by }).to_string();
        let is_first = self.rest.keep_answer(&approval.session, approval.number, &kept, &entry);
        if !is_first.map_err(|error| error.to_string())? {
            return Err(format!("the answer to `{name}` was not kept"));
        }
        let call = (self.bare(&approval.session), id);
        let hook = match (self.waiting.remove(&name), self.told.get(&call)) {
            (Some(hook), _) => hook,
            // The host comes back with the call that it put off.
            (None, Some(told)) => self.start(self.host.before(&call, told), HookAsks::Defer),
            (None, None) => return Err("a question about no call".to_owned()),
        };
        self.hear(hook, &call)
    }

    fn result(&mut self, name: &Name, body: &Value) -> Result<Value, String> {
        let told = self.told.get(name).ok_or("a result of no call")?;
        let event = self.host.after(name, told, body);
        let hook = self.start(event, HookAsks::Nobody);
        let spoken = loop {
            match self.heard.recv_timeout(PATIENCE).map_err(|error| format!("no answer: {error}"))? {
                Heard::Ended(number, reply) if number == hook => break self.host.spoken_after(&reply)?,
                Heard::Ended(..) | Heard::Decided(_) => {}
            }
        };
        let trail = self.rest.trail();
        let entries = trail.iter().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut results = entries.filter(|entry| entry.get("what") == Some(&json!("result")));
        let entry = results.next().ok_or("the trail tells of no result")?;
        let decided = entry.get("output").and_then(Value::as_str).unwrap_or_default();
        let agrees = match &spoken {
            Spoken::Pass => matches!(decided, "allow" | "warn"),
            Spoken::Changed(_) => decided == "redact" || decided == "block" && self.host == Host::ClaudeCode,
            Spoken::Blocked(_) => matches!(decided, "block" | "redact"),
            Spoken::Asked(_) => false,
        };
        if !agrees {
            return Err(format!("the hook said {spoken:?} where the gate decided `{decided}`"));
        }
        let mut answer = json!({
            "id": name.1,
            "session": name.0,
            "settled": entry.get("settled"),
            "verdict": decided,
            "reason": entry.get("reason"),
        });
        let reason = entry.get("reason").and_then(Value::as_str).unwrap_or_default();
        match (spoken, decided) {
            (Spoken::Changed(output), "redact") => set(&mut answer, "output", output),
            (Spoken::Changed(shown), _) if !shown.to_string().contains(reason) => {
                return Err(format!("the host shows {shown} and no reason"));
            }
            (Spoken::Changed(_), _) => set(&mut answer, "output", suppressed(reason)),
            (Spoken::Blocked(reason), _) => set(&mut answer, "output", suppressed(&reason)),
            (Spoken::Pass | Spoken::Asked(_), _) => {}
        }
        Ok(answer)
    }

    /// Starts a hook with an event, as a host starts a process.
    fn start(&mut self, event: Map<String, Value>, asks: HookAsks) -> usize {
        self.hooks += 1;
        let (number, host, say) = (self.hooks, self.host.name(), self.say.clone());
        let (gate, rest, clock) = (Arc::clone(&self.gate), self.rest.clone(), Arc::clone(&self.clock));
        thread::spawn(move || {
            let clock = || Time(clock.load(Ordering::SeqCst));
            let door = HookDoor { host, gate: &gate, shelf: &rest, asks, patience: PATIENCE, clock: &clock };
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
                        let answer = self.tell(name, &verdict);
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
                    return self.agreed(name, &verdict, &spoken);
                }
                Heard::Ended(..) => {}
            }
        }
    }

    /// The verdict as the page's words, after it was compared with what the host is told.
    fn agreed(&mut self, name: &Name, verdict: &Verdict, spoken: &Spoken) -> Result<Value, String> {
        let input = self.told.get(name).and_then(|told| told.get("input")).cloned().unwrap_or(json!({}));
        let given = verdict.input.as_deref().map(|input| Value::Object(input.clone()));
        let agrees = match (spoken, verdict.decision) {
            (Spoken::Pass, Decision::Allow) => true,
            (Spoken::Pass, Decision::Redact) => given == Some(input),
            (Spoken::Changed(changed), Decision::Redact) => given.as_ref() == Some(changed),
            (Spoken::Asked(reason), Decision::Ask) | (Spoken::Blocked(reason), Decision::Block) => {
                let leading = verdict.obstacles.first().filter(|leading| !leading.file.is_empty());
                reason.starts_with(&verdict.reason)
                    && leading.is_none_or(|it| {
                        reason.contains(&format!("(rule {}, {}:{})", it.name, it.file, it.line))
                    })
                    && verdict.next.iter().all(|next| reason.contains(next.as_ref()))
            }
            _ => false,
        };
        if !agrees {
            let decided = verdict.decision.word();
            return Err(format!(
                "the hook said {spoken:?} where the gate decided `{decided}`: {}",
                verdict.reason
            ));
        }
        Ok(self.tell(name, verdict))
    }

    fn tell(&mut self, name: &Name, verdict: &Verdict) -> Value {
        self.operator.tell(&name.0, &name.1, verdict)
    }
}

/// What a host is told, in one form for all hosts.
#[derive(Debug)]
enum Spoken {
    Pass,
    /// It runs, or is shown, like this.
    Changed(Value),
    /// Somebody is asked, now or before it comes again.
    Asked(String),
    Blocked(String),
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

/// What pages show where an output is kept back.
fn suppressed(reason: &str) -> Value {
    json!(format!("[OUTPUT SUPPRESSED] {reason}"))
}

fn set(object: &mut Value, field: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(field.to_owned(), value);
    }
}
