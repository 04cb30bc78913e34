//! With a policy that says nothing, nobody notices the gate.
//!
//! A client plays the same session twice without the gate and once with it, for each way to put it in between. What the
//! client saw has to be the same, and what our server ran as well. Where both sides are processes, every byte that came
//! out of the gate has to be one that went in.

use serde_json::{Value, json};

use crate::{
    gate::{Behind, Gate, Way, url},
    job::{Job, Outcome},
    peers::{Client, Peers, Server},
    recording::{Recording, compare},
    session::{Script, Target, ran},
    stage::{Stage, free_port},
    tap,
};

/// A client and a server, and how they can be brought together.
pub(crate) struct Pair {
    pub(crate) client: &'static Client,
    pub(crate) server: Server,
    pub(crate) ways: &'static [Way],
}

/// What was recorded without the gate, twice.
struct Twice {
    first: Session,
    second: Session,
}

/// What a client saw, and what our server ran.
struct Session {
    recording: Recording,
    ran: Vec<Value>,
}

impl Pair {
    pub(crate) fn name(&self, way: Way) -> String {
        format!("transparent: {}, {}, {}", self.client.name, self.server.name(), way.name())
    }

    /// Plays all ways that are wanted.
    pub(crate) fn run(&self, job: &Job, wanted: &[Way]) -> Vec<(Way, Outcome)> {
        let (mut stdio, mut http) = (None, None);
        let mut outcomes = Vec::new();
        for way in wanted {
            let outcome = job.on_stage(|stage| {
                // The gate must not change what a client sees, but transports may: a server that speaks HTTP has names
                // for its sessions, for example. So the side that is compared with is the server's.
                let known = if way.ends_in_http() { &mut http } else { &mut stdio };
                let known = known.get_or_insert_with(|| self.twice(job, stage, *way));
                let twice = known.as_ref().map_err(Clone::clone)?;
                let through = self.through(job, stage, *way)?;
                self.judge(twice, &through, *way)?;
                if *way == Way::Stdio { self.compare_bytes(stage) } else { Ok(()) }
            });
            outcomes.push((*way, outcome));
        }
        outcomes
    }

    fn is_modern(&self) -> bool {
        self.client.era != "legacy" && self.server == Server::Rig
    }

    fn twice(&self, job: &Job, stage: &Stage, way: Way) -> Result<Twice, String> {
        let once = || {
            let session = self.direct(job, stage, way)?;
            self.is_complete(&session.recording)?;
            Ok::<_, String>(session)
        };
        let without = |error: String| format!("without the gate already: {error}");
        Ok(Twice { first: once().map_err(without)?, second: once().map_err(without)? })
    }

    fn direct(&self, job: &Job, stage: &Stage, way: Way) -> Result<Session, String> {
        self.prepare(stage)?;
        if !way.ends_in_http() {
            let command = self.server.command(job.peers, stage, None);
            return self.play(job.peers, stage, &Target::Command(command));
        }
        let port = free_port()?;
        let _server = stage.serve(&self.server.command(job.peers, stage, Some(port)), port)?;
        self.play(job.peers, stage, &Target::Url(url(port)))
    }

    fn through(&self, job: &Job, stage: &Stage, way: Way) -> Result<Session, String> {
        self.prepare(stage)?;
        let gate = Gate::silent(job.lockgate, stage)?;
        let (server_port, gate_port) = (free_port()?, free_port()?);
        let server = |port| self.server.command(job.peers, stage, port);
        let tapped = |name: &str, command: Vec<String>| {
            let folder = stage.folder(name)?.display().to_string();
            Ok::<_, String>([vec![job.this_program.clone(), "tap".to_owned(), folder], command].concat())
        };
        let mut serving = Vec::new();
        if way.ends_in_http() {
            serving.push(stage.serve(&server(Some(server_port)), server_port)?);
        }
        let behind = match way.ends_in_http() {
            true => Behind::Url(url(server_port)),
            false => Behind::Process(tapped("behind", server(None))?),
        };
        if way.begins_with_http() {
            serving.push(stage.serve(&gate.command(Some(gate_port), &behind), gate_port)?);
            return self.play(job.peers, stage, &Target::Url(url(gate_port)));
        }
        let command = tapped("before", gate.command(None, &behind))?;
        self.play(job.peers, stage, &Target::Command(command))
    }

    fn prepare(&self, stage: &Stage) -> Result<(), String> {
        let _ = std::fs::remove_file(stage.root().join("ran"));
        let files = stage.folder("files")?;
        std::fs::write(files.join("one.txt"), "first line\nsecond line\n").map_err(|error| error.to_string())
    }

    fn play(&self, peers: &Peers, stage: &Stage, target: &Target) -> Result<Session, String> {
        let recording = self.script(stage).play(peers, stage, self.client, target)?;
        Ok(Session { recording, ran: ran(&stage.root().join("ran")) })
    }

    /// Nothing may fail but what is meant to; two sessions that both fail to connect would be the same as well.
    fn is_complete(&self, recording: &Recording) -> Result<(), String> {
        for step in &recording.steps {
            let is_meant_to = step.pointer("/step/fails").is_some();
            if step.get("error").is_some() != is_meant_to {
                return Err(format!("a step ended otherwise than it was meant to: {step}"));
            }
        }
        Ok(())
    }

    fn judge(&self, twice: &Twice, through: &Session, way: Way) -> Result<(), String> {
        let ordered = |recording: &Recording| match way {
            Way::Stdio => recording.clone(),
            Way::Http => recording.clone().in_any_order(),
            // An unknown method is something else to a client over HTTP, where it comes with a status of its own.
            Way::HttpToStdio | Way::StdioToHttp => recording.clone().in_any_order().without("request"),
        };
        let Twice { first, second } = twice;
        compare(&ordered(&first.recording), &ordered(&second.recording), &ordered(&through.recording))?;
        match first.ran == through.ran {
            true => Ok(()),
            false => Err(format!(
                "the server ran other calls:\n  without the gate: {:?}\n  with the gate:    {:?}",
                first.ran, through.ran
            )),
        }
    }

    /// Each line that came out on the other side went in like that, and in this order.
    fn compare_bytes(&self, stage: &Stage) -> Result<(), String> {
        let read = |name: &str| tap::kept(&stage.root().join(name)).map_err(|error| error.to_string());
        let (before, behind) = (read("before")?, read("behind")?);
        let (Some(before), Some(behind)) = (before.last(), behind.last()) else {
            return Err("nothing went through the gate".to_owned());
        };
        same_lines("from the client", &before.to_server, &behind.to_server)?;
        same_lines("from the server", &behind.from_server, &before.from_server)
    }

    fn script(&self, stage: &Stage) -> Script {
        let files = stage.root().join("files").display().to_string();
        // A recording is compared with others of other stages, so only a server that needs it is told a real folder.
        let root = match self.server {
            Server::Filesystem => format!("file://{files}"),
            _ => "file:///files".to_owned(),
        };
        let answers = json!({
            "elicitation": [{"action": "accept", "content": {"name": "Ann"}}],
            "sampling": [{"model": "stub", "role": "assistant", "content": {"type": "text", "text": "roses"}}],
            "roots": [{"roots": [{"uri": root, "name": "files"}]}],
        });
        let mut steps = match self.server {
            Server::Rig => rig_steps(),
            Server::Everything => everything_steps(self.client),
            Server::Filesystem => filesystem_steps(&files),
        };
        if !self.is_modern() {
            steps.extend(legacy_steps(self.server));
        }
        Script { answers, steps }
    }
}

/// What the gate may say itself or keep to itself: it answers the question for revisions from what it has learnt, and a
/// server's own state travels inside of ours, so that a call that the server asks back about counts once.
fn same_lines(whose: &str, went_in: &[String], came_out: &[String]) -> Result<(), String> {
    let passed = |lines: &[String]| -> Vec<String> {
        lines.iter().filter(|line| !is_about_revisions(line)).map(|line| without_state(line)).collect()
    };
    let (went_in, came_out) = (passed(went_in), passed(came_out));
    for (index, line) in went_in.iter().enumerate() {
        match came_out.get(index) {
            Some(other) if other == line => {}
            other => {
                let other = other.map_or("nothing", String::as_str);
                return Err(format!(
                    "bytes {whose} were changed:\n  went in:  {line}\n  came out: {other}\n  (line {index})"
                ));
            }
        }
    }
    match came_out.get(went_in.len()) {
        None => Ok(()),
        Some(extra) => Err(format!("{whose} came what nobody said: {extra}")),
    }
}

/// The line with nothing in the place of a state.
fn without_state(line: &str) -> String {
    const KEY: &str = "\"requestState\":\"";
    let Some((before, after)) = line.split_once(KEY) else { return line.to_owned() };
    match after.split_once('"') {
        Some((_, after)) => format!("{before}{KEY}…\"{after}"),
        None => line.to_owned(),
    }
}

fn is_about_revisions(line: &str) -> bool {
    line.contains("\"server/discover\"") || line.contains("\"supportedVersions\"")
}

fn call(name: &str, arguments: impl Into<Value>) -> Value {
    json!({"do": "call", "name": name, "arguments": arguments.into()})
}

fn rig_steps() -> Vec<Value> {
    let logged = json!({"io.modelcontextprotocol/logLevel": "info"});
    let echo = |words: &str| call("echo", json!({"words": words}));
    Vec::from([
        json!({"do": "list_tools"}),
        echo("hello"),
        // What a program that reads and writes again could change: letters beyond ASCII, what JSON may escape, numbers
        // that fit no double, ends of lines.
        echo("ä 🦀 \u{2028} </script> \\ \" \t / 12345678901234567890 1e400 \r\n"),
        call("account", json!({"owner": "Ann"})),
        call("fail", json!({})),
        call("echo", json!({"wrong": 1})),
        call("nobody", json!({})),
        json!({"do": "call", "name": "count", "arguments": {"steps": 3, "pause_ms": 20}, "progress": true, "meta": logged}),
        json!({"do": "call", "name": "count", "arguments": {"steps": 200, "pause_ms": 50}, "progress": true, "cancel_at": 2, "fails": true}),
        // The server has to hear of it before the next call, or what it ran would be in another order.
        json!({"do": "sleep", "ms": 700}),
        call("ask_user", json!({})),
        call("ask_model", json!({})),
        call("ask_roots", json!({})),
        json!({"do": "together", "steps": [
            call("count", json!({"steps": 2, "pause_ms": 300})),
            {"do": "list_prompts"},
            {"do": "read", "uri": "rig://page"},
        ]}),
        json!({"do": "list_resources"}),
        json!({"do": "list_templates"}),
        json!({"do": "read", "uri": "rig://page/7"}),
        json!({"do": "read", "uri": "test://static-binary"}),
        json!({"do": "read", "uri": "rig://none", "fails": true}),
        json!({"do": "list_prompts"}),
        json!({"do": "prompt", "name": "greeting", "arguments": {"name": "Bo"}}),
        json!({"do": "prompt", "name": "nobody", "arguments": {}, "fails": true}),
        json!({"do": "complete", "ref": {"type": "ref/prompt", "name": "greeting"}, "argument": {"name": "name", "value": "a"}}),
        json!({"do": "request", "method": "nobody/knows", "params": {"deep": [{"er": null}]}, "fails": true}),
    ])
}

fn everything_steps(client: &Client) -> Vec<Value> {
    let mut steps = Vec::from([
        // It asks for roots a while after the beginning, and says so.
        json!({"do": "wait", "method": "notifications/message", "times": 1}),
        json!({"do": "list_tools"}),
        call("echo", json!({"message": "hello"})),
        call("get-sum", json!({"a": 40, "b": 2.5})),
        call("get-tiny-image", json!({})),
        call("get-annotated-message", json!({"messageType": "error", "includeImage": true})),
        call("get-structured-content", json!({"location": "Chicago"})),
        call("get-resource-links", json!({"count": 3})),
        call("get-roots-list", json!({})),
        call("trigger-sampling-request", json!({"prompt": "a verse", "maxTokens": 20})),
        call("trigger-elicitation-request", json!({})),
        json!({"do": "call", "name": "trigger-long-running-operation", "arguments": {"duration": 0.4, "steps": 4}, "progress": true}),
        json!({"do": "call", "name": "trigger-long-running-operation", "arguments": {"duration": 1.5, "steps": 15}, "progress": true, "cancel_at": 2, "fails": true}),
        // The server goes on all the same.
        json!({"do": "sleep", "ms": 2000}),
        call("echo", json!({"message": "still there"})),
        json!({"do": "list_resources"}),
        json!({"do": "list_templates"}),
        json!({"do": "read", "uri": "demo://resource/static/document/features.md"}),
        json!({"do": "list_prompts"}),
        json!({"do": "prompt", "name": "args-prompt", "arguments": {"city": "Ulm"}}),
        json!({"do": "prompt", "name": "resource-prompt", "arguments": {"resourceType": "Text", "resourceId": "1"}}),
        json!({"do": "complete", "ref": {"type": "ref/prompt", "name": "completable-prompt"}, "argument": {"name": "department", "value": "E"}}),
        json!({"do": "request", "method": "nobody/knows", "params": {}, "fails": true}),
    ]);
    if client.knows_tasks() {
        steps.push(json!({"do": "task", "name": "simulate-research-query", "arguments": {"topic": "locks"}}));
    }
    steps
}

fn filesystem_steps(files: &str) -> Vec<Value> {
    let file = format!("{files}/one.txt");
    Vec::from([
        json!({"do": "wait", "method": "roots/list", "times": 1}),
        json!({"do": "list_tools"}),
        call("list_allowed_directories", json!({})),
        call("read_text_file", json!({"path": file})),
        call("write_file", json!({"path": format!("{files}/two.txt"), "content": "ä\n\u{2028}🦀"})),
        call(
            "edit_file",
            json!({"path": file, "edits": [{"oldText": "second", "newText": "third"}], "dryRun": true}),
        ),
        call("list_directory", json!({"path": files})),
        call("directory_tree", json!({"path": files})),
        call("search_files", json!({"path": files, "pattern": "*.txt"})),
        call("read_multiple_files", json!({"paths": [file, format!("{files}/two.txt")]})),
        call("read_text_file", json!({"path": "/etc/hostname"})),
        call("read_text_file", json!({"path": format!("{files}/none")})),
    ])
}

fn legacy_steps(server: Server) -> Vec<Value> {
    let mut steps = vec![json!({"do": "ping"})];
    let page = match server {
        Server::Rig => "rig://page",
        Server::Everything => "demo://resource/dynamic/text/1",
        Server::Filesystem => return steps,
    };
    if server == Server::Rig {
        steps.push(call("hang_up", json!({})));
    }
    steps.extend([
        json!({"do": "level", "level": "warning"}),
        json!({"do": "subscribe", "uri": page}),
        json!({"do": "unsubscribe", "uri": page}),
    ]);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_changed_lost_added_or_moved_is_noticed() {
        let lines = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let table = [("a b", "a b", true), ("a b", "a c", false), ("a b", "a", false), ("a", "a b", false)];
        let moved = ("a b", "b a", false);
        for (went_in, came_out, is_same) in table.into_iter().chain([moved]) {
            let found = same_lines("from the client", &lines(went_in), &lines(came_out));
            assert_eq!(found.is_ok(), is_same, "{went_in} → {came_out}: {found:?}");
        }
    }

    #[test]
    fn the_gate_may_answer_for_revisions_itself() {
        let asked = vec![r#"{"id":0,"method":"server/discover"}"#.to_owned(), "a".to_owned()];
        assert!(same_lines("from the client", &asked, &["a".to_owned()]).is_ok());
    }
}
