//! With a policy that has something to say, the gate stops, asks, masks and counts, and clients take it well.
//!
//! Whether a call ran is seen in what our server wrote down and not in what anybody says about it.

use serde_json::{Value, json};

use crate::{
    cutter::Cutter,
    gate::{Behind, Gate, SILENT_POLICY, Way, url},
    job::{Job, Outcome},
    peers::{
        Client, PYTHON_AUTO, PYTHON_LEGACY, Server, TYPESCRIPT_AUTO, TYPESCRIPT_LEGACY, TYPESCRIPT_MODERN,
        TYPESCRIPT_OLD, rig,
    },
    recording::Recording,
    session::{Script, Target, ran},
    stage::{Stage, free_port},
};

/// One thing to try.
pub(crate) struct Scenario {
    /// A sentence about the product.
    pub(crate) sentence: &'static str,
    clients: &'static [&'static Client],
    ways: &'static [Way],
    servers: Servers,
    /// The connection breaks before the client is told this.
    cut_before: Option<&'static str>,
    /// The name of the policy's file, and its text.
    policy: (&'static str, &'static str),
    /// What the client answers when it is asked, as JSON; with none, it does not say that it can be asked.
    answers: &'static [&'static str],
    /// What is called, with which arguments, and what must come of it.
    calls: &'static [(&'static str, &'static str, Must)],
    /// What must have run, by server and tool, and what must be in all that was written down.
    ran: &'static [&'static str],
    written: &'static [&'static str],
    unwritten: &'static [&'static str],
    /// What the client must have seen somewhere, and what it must not.
    seen: &'static [&'static str],
    unseen: &'static [&'static str],
}

/// How many servers stand behind the gate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Servers {
    One,
    /// Called `first` and `second`, from a file as clients have it.
    Two,
}

/// What must come of a call.
#[derive(Clone, Copy)]
enum Must {
    /// It ran, and its result holds this.
    Give(&'static str),
    /// It did not run, and the result says so, with this in it.
    BeBlocked(&'static str),
    /// It did not come to an end, and the client is told so.
    Fail,
}

const ALL: &[&Client] = &[TYPESCRIPT_OLD, TYPESCRIPT_LEGACY, TYPESCRIPT_MODERN, PYTHON_LEGACY, PYTHON_AUTO];

const PLAIN: Scenario = Scenario {
    sentence: "",
    clients: ALL,
    ways: &[Way::Stdio],
    servers: Servers::One,
    cut_before: None,
    policy: ("policy.rules", SILENT_POLICY),
    answers: &[],
    calls: &[],
    ran: &[],
    written: &[],
    unwritten: &[],
    seen: &[],
    unseen: &[],
};

const APPROVAL: (&str, &str) = ("policy.rules", "require human-approval before erase\n");

/// All of them.
pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        sentence: "a blocked call never reaches the server and the client is told why",
        ways: Way::ALL,
        policy: ("policy.rules", "block erase\n"),
        calls: &[
            ("erase", r#"{"path": "a"}"#, Must::BeBlocked("erase is blocked and cannot be called")),
            ("echo", r#"{"words": "still there"}"#, Must::Give("still there")),
        ],
        ran: &["echo"],
        ..PLAIN
    },
    Scenario {
        sentence: "order is kept across calls",
        policy: ("policy.rules", "require echo before erase\n"),
        calls: &[
            ("erase", r#"{"path": "a"}"#, Must::BeBlocked("echo")),
            ("echo", r#"{"words": "first"}"#, Must::Give("first")),
            ("erase", r#"{"path": "a"}"#, Must::Give("erased a")),
        ],
        ran: &["echo", "erase"],
        ..PLAIN
    },
    Scenario {
        sentence: "a call that a human must see runs once the client's user says yes",
        ways: &[Way::Stdio, Way::Http],
        policy: APPROVAL,
        answers: &[r#"{"action": "accept", "content": {"approve": true}}"#],
        calls: &[("erase", r#"{"path": "a"}"#, Must::Give("erased a"))],
        ran: &["erase"],
        seen: &["elicitation/create"],
        ..PLAIN
    },
    Scenario {
        sentence: "a call that a human must see does not run when the client's user declines",
        ways: &[Way::Stdio, Way::Http],
        policy: APPROVAL,
        answers: &[r#"{"action": "decline"}"#],
        calls: &[
            ("erase", r#"{"path": "a"}"#, Must::BeBlocked("erase")),
            ("echo", r#"{"words": "still there"}"#, Must::Give("still there")),
        ],
        ran: &["echo"],
        seen: &["elicitation/create"],
        ..PLAIN
    },
    Scenario {
        sentence: "an accepted form that does not say yes is no yes",
        policy: APPROVAL,
        answers: &[r#"{"action": "accept", "content": {"approve": false}}"#],
        calls: &[("erase", r#"{"path": "a"}"#, Must::BeBlocked("erase"))],
        seen: &["elicitation/create"],
        ..PLAIN
    },
    Scenario {
        sentence: "what the server asks still reaches the user behind the gate's own question",
        clients: &[TYPESCRIPT_OLD, TYPESCRIPT_MODERN, PYTHON_AUTO],
        policy: ("policy.rules", "require human-approval before ask_user\n"),
        answers: &[
            r#"{"action": "accept", "content": {"approve": true}}"#,
            r#"{"action": "accept", "content": {"name": "Ann"}}"#,
        ],
        calls: &[("ask_user", "{}", Must::Give("accept Ann"))],
        ran: &["ask_user"],
        ..PLAIN
    },
    Scenario {
        sentence: "the server gets arguments in which sensitive data is masked",
        ways: &[Way::Stdio, Way::Http],
        policy: ("policy.yaml", "rules:\n  - {id: mask, when: {tool: send}, then: redact}\n"),
        calls: &[(
            "send",
            r#"{"to": "all", "body": "mail john.doe@example.com now"}"#,
            Must::Give("sent to all"),
        )],
        ran: &["send"],
        written: &["jo****************om"],
        unwritten: &["john.doe"],
        ..PLAIN
    },
    Scenario {
        sentence: "a secret in an output is masked wherever it is",
        ways: &[Way::Stdio, Way::Http],
        policy: (
            "policy.yaml",
            "output_rules:\n  - {id: tickets, tool: account, block_patterns: [\"TICKET-[0-9]+\"], then: redact}\n",
        ),
        calls: &[("account", r#"{"owner": "Ann"}"#, Must::Give("Ann"))],
        ran: &["account"],
        // Once as text, once as data.
        seen: &[r#"\"token\": \"********\""#, r#""token":"********""#],
        unseen: &["TICKET-40718265"],
        ..PLAIN
    },
    Scenario {
        sentence: "a limit counts the calls of all servers behind one gate",
        // Several servers are seen as one that begins with `initialize`, so nobody may insist on the stateless revision.
        clients: &[TYPESCRIPT_OLD, TYPESCRIPT_AUTO, PYTHON_LEGACY, PYTHON_AUTO],
        servers: Servers::Two,
        policy: (
            "policy.rules",
            "map first__send.to /./ as post\nmap second__send.to /./ as post\nlimit post to 1 per session\n",
        ),
        calls: &[
            ("first__send", r#"{"to": "a", "body": "b"}"#, Must::Give("sent to a")),
            ("second__send", r#"{"to": "a", "body": "b"}"#, Must::BeBlocked("post")),
            ("second__echo", r#"{"words": "still there"}"#, Must::Give("still there")),
        ],
        ran: &["first send", "second echo"],
        ..PLAIN
    },
    Scenario {
        sentence: "a server that dies in the middle of a call leaves an error and nothing hangs",
        ways: &[Way::Stdio, Way::HttpToStdio],
        calls: &[("echo", r#"{"words": "before"}"#, Must::Give("before")), ("crash", "{}", Must::Fail)],
        ran: &["echo", "crash"],
        ..PLAIN
    },
    Scenario {
        sentence: "a connection that breaks in the middle of a call loses nothing of it",
        // In the stateless revision a connection that breaks gives the call up.
        clients: &[TYPESCRIPT_OLD, TYPESCRIPT_LEGACY, PYTHON_LEGACY],
        ways: &[Way::Http, Way::HttpToStdio],
        cut_before: Some("counting to 4"),
        calls: &[
            // Sooner than anybody comes back.
            ("count", r#"{"steps": 4, "pause_ms": 50}"#, Must::Give("counted to 4")),
            ("echo", r#"{"words": "still there"}"#, Must::Give("still there")),
        ],
        ran: &["count", "echo"],
        seen: &["counting to 4"],
        ..PLAIN
    },
];

/// What a client has to know that comes over a bad line, because the gate is called by another port then.
const TOKEN: &str = "open sesame";

impl Scenario {
    pub(crate) fn name(&self, client: &Client, way: Way) -> String {
        format!("gated: {}, {}: {}", client.name, way.name(), self.sentence)
    }

    /// Who plays it and how. Every client does over stdin and stdout; one of each era is enough for the other ways.
    pub(crate) fn plays(&self) -> Vec<(&'static Client, Way)> {
        let mut plays = Vec::new();
        for way in self.ways {
            let clients = self.clients.iter().copied();
            let is_enough = |client: &&'static Client| {
                let is_one_of_its_era = [TYPESCRIPT_OLD.name, PYTHON_AUTO.name].contains(&client.name);
                *way == Way::Stdio || is_one_of_its_era || self.cut_before.is_some()
            };
            plays.extend(clients.filter(is_enough).map(|client| (client, *way)));
        }
        plays
    }

    pub(crate) fn play(&self, job: &Job, client: &Client, way: Way) -> Outcome {
        job.on_stage(|stage| {
            let recording = self.record(job, stage, client, way)?;
            let all = || recording.steps.iter().map(|step| format!("  {step}\n")).collect::<String>();
            self.judge(stage, &recording).map_err(|error| format!("{error}\n{}{}", all(), stage.last_words()))
        })
    }

    fn record(&self, job: &Job, stage: &Stage, client: &Client, way: Way) -> Result<Recording, String> {
        let (name, text) = self.policy;
        let mut gate = Gate { program: job.lockgate, policy: stage.write(name, text)?, besides: Vec::new() };
        let mut serving = Vec::new();
        let behind = match self.servers {
            Servers::Two => Behind::Config(self.write_config(job, stage)?),
            Servers::One if way.ends_in_http() => {
                let port = free_port()?;
                serving.push(stage.serve(&Server::Rig.command(job.peers, stage, Some(port)), port)?);
                Behind::Url(url(port))
            }
            Servers::One => Behind::Process(Server::Rig.command(job.peers, stage, None)),
        };
        if let Some(cut_before) = self.cut_before {
            let token = stage.write("token", TOKEN)?.display().to_string();
            gate.besides = vec!["--token-file".to_owned(), token];
            let port = free_port()?;
            serving.push(stage.serve(&gate.command(Some(port), &behind), port)?);
            let cutter = Cutter::stand(port, cut_before)?;
            let target = Target::Guarded(url(cutter.port()), TOKEN);
            let recording = self.script()?.play(job.peers, stage, client, &target)?;
            return if cutter.has_cut() { Ok(recording) } else { Err("nothing was cut".to_owned()) };
        }
        let target = if way.begins_with_http() {
            let port = free_port()?;
            serving.push(stage.serve(&gate.command(Some(port), &behind), port)?);
            Target::Url(url(port))
        } else {
            Target::Command(gate.command(None, &behind))
        };
        self.script()?.play(job.peers, stage, client, &target)
    }

    fn write_config(&self, job: &Job, stage: &Stage) -> Result<std::path::PathBuf, String> {
        let entry = |name: &str| {
            let command = rig(job.peers, &stage.root().join(format!("ran-{name}")), None);
            json!({"command": command.first(), "args": command.get(1..)})
        };
        let config = json!({"mcpServers": {"first": entry("first"), "second": entry("second")}});
        stage.write("servers.json", &config.to_string())
    }

    fn script(&self) -> Result<Script, String> {
        let read =
            |text: &str| serde_json::from_str::<Value>(text).map_err(|error| format!("{error}: {text}"));
        let answers: Vec<Value> = self.answers.iter().map(|text| read(text)).collect::<Result<_, _>>()?;
        let step = |(name, arguments, _): &(&str, &str, Must)| {
            Ok::<_, String>(json!({"do": "call", "name": name, "arguments": read(arguments)?}))
        };
        // Clients look at the tools first, and know then what a result should look like.
        let mut steps = vec![json!({"do": "list_tools"})];
        for call in self.calls {
            steps.push(step(call)?);
        }
        if self.cut_before.is_some() {
            // A process does not say which call its words belong to, so they come on another stream, and maybe later.
            steps.push(json!({"do": "wait", "method": "notifications/message", "times": 1}));
        }
        let answers = if answers.is_empty() { json!({}) } else { json!({"elicitation": answers}) };
        Ok(Script { answers, steps })
    }

    fn judge(&self, stage: &Stage, recording: &Recording) -> Outcome {
        if let Some(step) = recording.steps.iter().take(2).find(|step| step.get("result").is_none()) {
            return Err(format!("not even this went well: {step}"));
        }
        for ((name, _, must), step) in self.calls.iter().zip(recording.steps.iter().skip(2)) {
            must.judge(step).map_err(|error| format!("{name}: {error}"))?;
        }
        let log = |name: &str| ran(&stage.root().join(name));
        let tools = |prefix: &str, log: &[Value]| -> Vec<String> {
            let tool = |entry: &Value| entry.get("tool").and_then(Value::as_str).map(str::to_owned);
            log.iter().filter_map(tool).map(|tool| format!("{prefix}{tool}")).collect()
        };
        let (one, first, second) = (log("ran"), log("ran-first"), log("ran-second"));
        let really = [tools("", &one), tools("first ", &first), tools("second ", &second)].concat();
        if really != self.ran {
            return Err(format!("the server should have run {:?} and ran {really:?}", self.ran));
        }
        let written = json!([one, first, second]).to_string();
        let seen: String = recording.steps.iter().skip(1).map(Value::to_string).collect();
        holds("written down by the server", &written, self.written, self.unwritten)?;
        holds("seen by the client", &seen, self.seen, self.unseen)
    }
}

fn holds(where_to: &str, text: &str, wanted: &[&str], unwanted: &[&str]) -> Outcome {
    if let Some(missing) = wanted.iter().find(|wanted| !text.contains(**wanted)) {
        return Err(format!("`{missing}` was not {where_to}"));
    }
    match unwanted.iter().find(|unwanted| text.contains(**unwanted)) {
        Some(found) => Err(format!("`{found}` was {where_to}")),
        None => Ok(()),
    }
}

impl Must {
    fn judge(self, step: &Value) -> Outcome {
        let is_error = step.pointer("/result/isError").and_then(Value::as_bool).unwrap_or_default();
        let result = step.get("result").map(Value::to_string);
        let is_late = step.to_string().contains("the rig has waited long enough");
        match (self, result) {
            (Self::Give(wanted), Some(result)) if !is_error && result.contains(wanted) => Ok(()),
            (Self::Give(wanted), _) => Err(format!("should have given `{wanted}`: {step}")),
            (Self::BeBlocked(sentence), Some(result)) if is_error && result.contains(sentence) => Ok(()),
            (Self::BeBlocked(sentence), _) => {
                Err(format!("should have been blocked with `{sentence}`: {step}"))
            }
            (Self::Fail, None) if !is_late => Ok(()),
            (Self::Fail, Some(_)) if is_error => Ok(()),
            (Self::Fail, _) => Err(format!("should have failed, and soon: {step}")),
        }
    }
}
