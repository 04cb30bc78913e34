//! The MCP proxy: every call is a request of a client, every result an answer of a server.
//!
//! Client and server are played here, without a process and without a connection: each session is a conversation of its
//! own, its humans answer by the forms that a stateless client shows. A proxy knows one folder that its tools run in, so
//! each folder of a page has a proxy of its own. What is told is read from the messages that would
//! be sent; how that is compared and counted is told in `told.rs`. Operators have a gate of their own over the same
//! store, as another process does. Lists of tools, tasks and older revisions are left to the tests of the proxy.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use lockgate::engine::{Decision, Time, Verdict, gate::Ask};
use lockgate_mcp::{Action, Config, Context, DeadTools, Environment, LocalDecider, Naming, Relay};
use serde_json::{Value, json};

use super::{
    library::{Body, gate_builder},
    told::{Name, Spoken, Tally, Teller, Told, set},
};
use crate::{Door, Options, PolicyFile, contract::MemoryRest};

/// How long the proxy remembers what it asked.
const TICKET_MS: u64 = 15 * 60 * 1000;

/// What the proxy's own sentences begin with.
const OURS: &str = "Lockgate: ";

/// What its remark for the model begins with, where it changed the input of a call.
const REMARK: &str = "Lockgate changed the input of this call: ";

/// Speaks with the proxy as a client and as a server.
#[derive(Default)]
pub struct McpDoor {
    open: Option<Open>,
    tally: Tally,
}

impl McpDoor {
    /// How the lines so far were told.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }
}

impl Door for McpDoor {
    fn open(&mut self, policy: &[PolicyFile], options: &Options) -> Result<(), String> {
        let rest = MemoryRest::default();
        let operator = gate_builder(policy, options)?.backend(rest.clone());
        let operator = operator.build().map_err(|error| error.to_string())?;
        self.open = Some(Open {
            told: Told::new(operator, rest, String::new()),
            policy: policy.to_vec(),
            options: *options,
            contexts: HashMap::new(),
            scene: Scene::default(),
            decided: Arc::default(),
            relays: HashMap::new(),
            requests: 0,
            running: HashMap::new(),
            tickets: HashMap::new(),
        });
        Ok(())
    }

    fn line(&mut self, line: Value) -> Result<Value, String> {
        let open = self.open.as_mut().ok_or("the door is not open")?;
        let (kind, body) = line.as_object().and_then(|line| line.iter().next()).ok_or("an empty line")?;
        let at = line.get("at").and_then(Value::as_u64).unwrap_or_default();
        open.scene.clock.store(at, Ordering::SeqCst);
        open.respond(kind, body, Time(at), &mut self.tally)
    }
}

/// What is around the proxy: the page's clock, and whoever reads what it logs.
#[derive(Clone, Default)]
struct Scene {
    clock: Arc<AtomicU64>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Environment for Scene {
    fn now(&self) -> Time {
        Time(self.clock.load(Ordering::SeqCst))
    }

    fn log(&self, line: &str) {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
    }
}

/// What a client was given with a question.
struct Ticket {
    state: Value,
    /// The call it was given for, as the page says it.
    call: Value,
    since: Time,
}

/// A request that a server has.
struct Running {
    id: u64,
    was_changed: bool,
    folder: Folder,
}

/// Where tools run, if the page says so.
type Folder = Option<String>;

struct Open {
    told: Told,
    policy: Vec<PolicyFile>,
    options: Options,
    /// The proxies, by the folders that their tools run in.
    contexts: HashMap<Folder, Arc<Context>>,
    scene: Scene,
    /// What the gate decided last.
    decided: Arc<Mutex<Option<Verdict>>>,
    /// The conversations, by the folders of their proxies and the names of their sessions.
    relays: HashMap<(Folder, String), Relay>,
    /// How many requests the clients made.
    requests: u64,
    /// The requests that the servers have, by the calls they are.
    running: HashMap<Name, Running>,
    /// By the names of the questions.
    tickets: HashMap<String, Ticket>,
}

impl Teller for Open {
    fn told(&mut self) -> &mut Told {
        &mut self.told
    }

    fn why_not(&self, kind: &str, body: &Value) -> Option<&'static str> {
        match kind {
            "call" => Told::why_not_call(body),
            "result" => {
                let name = (Body(body).session().to_owned(), Body(body).id());
                let is_wanted = self.running.contains_key(&name);
                let not_wanted = (!is_wanted).then_some("a result that the server does not owe");
                self.told.why_not_result(&name).or(not_wanted)
            }
            _ => self.told.why_not_answer(body).or_else(|| self.why_not_retried(body)),
        }
    }

    fn say(&mut self, kind: &str, name: &Name, body: &Value, at: Time) -> Result<Value, String> {
        *self.decided() = None;
        match kind {
            "call" => self.call(name, body, None),
            "answer" => self.answer(body),
            _ => self.result(name, body),
        }
        .map_err(|error| {
            let log = self.scene.log.lock().unwrap_or_else(PoisonError::into_inner);
            format!("{error} (at {}; logged: {})", at.0, log.join("; "))
        })
    }
}

impl Open {
    fn decided(&self) -> std::sync::MutexGuard<'_, Option<Verdict>> {
        self.decided.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn why_not_retried(&self, answer: &Value) -> Option<&'static str> {
        let ticket = Body(answer).text("approval").and_then(|question| self.tickets.get(question));
        match ticket {
            None => Some("a second answer to one question"),
            Some(ticket) if self.scene.now() >= ticket.since.after_ms(TICKET_MS) => {
                Some("an answer to what the proxy has forgotten")
            }
            Some(_) => None,
        }
    }

    /// The proxy for a folder.
    fn context(&mut self, folder: &Folder) -> Result<Arc<Context>, String> {
        if let Some(context) = self.contexts.get(folder) {
            return Ok(Arc::clone(context));
        }
        let last = Arc::clone(&self.decided);
        let gate = gate_builder(&self.policy, &self.options)?.backend(self.told.rest.clone()).on_decision(
            move |_, verdict| {
                *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict.clone());
            },
        );
        let config = Config {
            decider: Box::new(LocalDecider::new(gate.build().map_err(|error| error.to_string())?, None)),
            environment: Box::new(self.scene.clone()),
            session: "default".to_owned(),
            // An agent whose clients name each call on the wire.
            naming: Naming::plain().at_host("claude-code"),
            ask: Ask::Host,
            ask_for: Duration::from_secs(60),
            dead_tools: DeadTools::Show,
            folder: folder.clone(),
            pins: None,
        };
        let context = Arc::new(Context::new(config).map_err(|error| error.to_string())?);
        self.contexts.insert(folder.clone(), Arc::clone(&context));
        Ok(context)
    }

    fn relay(&mut self, folder: &Folder, session: &str) -> Result<&mut Relay, String> {
        let context = self.context(folder)?;
        let begin = || Relay::new(context, false).in_session(session.to_owned());
        Ok(self.relays.entry((folder.clone(), session.to_owned())).or_insert_with(begin))
    }

    /// Makes a call; a second time with what its human said.
    fn call(&mut self, name: &Name, body: &Value, human: Option<(Value, bool)>) -> Result<Value, String> {
        self.requests += 1;
        let id = self.requests;
        let has_answered = human.is_some();
        let request = request(id, &name.1, body, human);
        let folder = Body(body).text("cwd").map(ToOwned::to_owned);
        let outs = self.relay(&folder, &name.0)?.from_client(request.to_string());
        let said = Said::of(&outs, &request)?;
        let verdict = self.decided().take();
        match (said, verdict) {
            (Said::Asked { message, state }, Some(verdict)) => {
                if verdict.decision != Decision::Ask || !shows(&message, body, &verdict) {
                    return Err(format!("the proxy asked {message:?} where the gate decided {verdict:?}"));
                }
                let answer = self.told.tell(name, &verdict);
                let question = answer.get("approval").and_then(Value::as_str).unwrap_or_default().to_owned();
                self.tickets.insert(question, Ticket { state, call: body.clone(), since: self.scene.now() });
                Ok(answer)
            }
            (Said::Spoken(spoken), Some(verdict)) => {
                if matches!(spoken, Spoken::Pass | Spoken::Changed(_)) {
                    let was_changed = matches!(spoken, Spoken::Changed(_));
                    self.running.insert(name.clone(), Running { id, was_changed, folder });
                }
                self.told.agreed(name, &verdict, &spoken)
            }
            // The answer came to nothing.
            (Said::Spoken(Spoken::Blocked(error)), None) if has_answered => {
                Ok(json!({ "error": error.trim_end_matches('.') }))
            }
            (said, None) => Err(format!("the proxy said {said:?} and the gate nothing")),
        }
    }

    fn answer(&mut self, body: &Value) -> Result<Value, String> {
        let (question, name) = self.told.question(body).ok_or("nobody asked that")?;
        let Ticket { state, call, .. } = self.tickets.remove(&question).ok_or("no ticket")?;
        self.call(&name, &call, Some((state, Body(body).says_yes("granted"))))
    }

    fn result(&mut self, name: &Name, body: &Value) -> Result<Value, String> {
        let running = self.running.remove(name).ok_or("the server does not owe that")?;
        let Running { id, was_changed, folder } = running;
        let result = result_of(Body(body).says_yes("ok"), body.get("output"));
        let message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        let outs = self.relay(&folder, &name.0)?.from_server(message.to_string());
        let [Action::Client(out)] = outs.as_slice() else { return Err(format!("no one answer: {outs:?}")) };
        let shown: Value = serde_json::from_str(&out.text).map_err(|error| error.to_string())?;
        if shown.get("id") != Some(&json!(id)) {
            return Err(format!("a result of another call: {shown}"));
        }
        let shown = shown.get("result").ok_or_else(|| format!("no result: {shown}"))?;
        let has_remark = texts_of(shown).any(is_remark);
        let spoken = match (withheld(shown), output_of(shown)) {
            (Some(reason), _) => Spoken::Blocked(reason),
            (None, _) if has_remark != was_changed => {
                return Err(format!("the model was not told rightly whether its input was changed: {shown}"));
            }
            (None, output) if output == body.get("output") => Spoken::Pass,
            (None, Some(output)) => Spoken::Changed(output.clone()),
            (None, None) => return Err(format!("a result that clients cannot read: {shown}")),
        };
        self.told.settled(name, spoken, false)
    }
}

/// What came of a request.
#[derive(Debug)]
enum Said {
    Spoken(Spoken),
    Asked { message: String, state: Value },
}

impl Said {
    fn of(outs: &[Action], request: &Value) -> Result<Self, String> {
        let [out] = outs else { return Err(format!("no one answer: {outs:?}")) };
        let (out, is_to_server) = match out {
            Action::Server(out) => (out, true),
            Action::Client(out) => (out, false),
            Action::Restart => return Err("the server is to be started again".to_owned()),
        };
        let message: Value = serde_json::from_str(&out.text).map_err(|error| error.to_string())?;
        if message.get("id") != request.get("id") {
            return Err(format!("an answer to another request: {message}"));
        }
        if is_to_server {
            return Self::passed(&message, request);
        }
        let Some(result) = message.get("result") else { return Err(format!("no result: {message}")) };
        if result.get("resultType") == Some(&json!("input_required")) {
            let text = result.pointer("/inputRequests/lockgate/params/message").and_then(Value::as_str);
            let state = result.get("requestState").cloned().ok_or("a question without a ticket")?;
            return Ok(Self::Asked { message: text.ok_or("a question without words")?.to_owned(), state });
        }
        withheld(result)
            .map(|reason| Self::Spoken(Spoken::Blocked(reason)))
            .ok_or_else(|| format!("neither a question nor a refusal: {result}"))
    }

    /// The server gets the call, and nothing that was said between client and proxy.
    fn passed(message: &Value, request: &Value) -> Result<Self, String> {
        let mut expected = request.clone();
        if let Some(params) = expected.get_mut("params").and_then(Value::as_object_mut) {
            params.remove("requestState");
            params.remove("inputResponses");
        }
        if *message == expected {
            return Ok(Self::Spoken(Spoken::Pass));
        }
        let arguments = message.pointer("/params/arguments").cloned().unwrap_or_default();
        if let Some(params) = expected.get_mut("params") {
            set(params, "arguments", arguments.clone());
        }
        if *message != expected {
            return Err(format!("the server got {message} and not {expected}"));
        }
        Ok(Self::Spoken(Spoken::Changed(arguments)))
    }
}

/// A call as a stateless client makes it.
fn request(id: u64, call: &str, body: &Value, human: Option<(Value, bool)>) -> Value {
    let can = match Body(body).text("ask") {
        Some("none") => json!({}),
        _ => json!({ "elicitation": { "form": {} } }),
    };
    let mut params = json!({
        "name": body.get("tool"),
        "arguments": body.get("input").cloned().unwrap_or(json!({})),
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": lockgate_mcp::protocol::MODERN,
            "io.modelcontextprotocol/clientCapabilities": can,
            "claudecode/toolUseId": call,
        },
    });
    if let Some((state, granted)) = human {
        let response = if granted {
            json!({ "action": "accept", "content": { "approve": true } })
        } else {
            json!({ "action": "decline" })
        };
        set(&mut params, "requestState", state);
        set(&mut params, "inputResponses", json!({ "lockgate": response }));
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

/// What a server gives back: texts as texts, anything else as itself.
fn result_of(ok: bool, output: Option<&Value>) -> Value {
    let mut result = json!({ "resultType": "complete", "content": [], "isError": !ok });
    match output {
        None => {}
        Some(Value::String(text)) => set(&mut result, "content", json!([{ "type": "text", "text": text }])),
        Some(output) => set(&mut result, "structuredContent", output.clone()),
    }
    result
}

/// What a client finds in that, beside the proxy's remark.
fn output_of(result: &Value) -> Option<&Value> {
    result.get("structuredContent").or_else(|| texts_of(result).find(|text| !is_remark(text)))
}

fn texts_of(result: &Value) -> impl Iterator<Item = &Value> {
    let items = result.get("content").and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| item.get("text"))
}

fn is_remark(text: &Value) -> bool {
    text.as_str().is_some_and(|text| text.starts_with(REMARK))
}

/// Whether a human is shown what is asked, and why.
fn shows(message: &str, call: &Value, verdict: &Verdict) -> bool {
    let tool = call.get("tool").and_then(Value::as_str).unwrap_or_default();
    message.starts_with(&format!("Approve: {tool} ("))
        && verdict.obstacles.iter().all(|it| message.contains(&it.reason) && message.contains(&it.name))
}

/// The proxy's own sentence, where it stands in the place of a result.
fn withheld(result: &Value) -> Option<String> {
    let is_error = result.get("isError") == Some(&json!(true));
    let text = result.pointer("/content/0/text").and_then(Value::as_str)?;
    text.strip_prefix(OURS).filter(|_| is_error).map(ToOwned::to_owned)
}
