//! One session of a client with a server: a script of steps, and what the client saw of them.

use std::{path::Path, time::Duration};

use serde_json::{Value, json};

use crate::{
    peers::{Client, Peers},
    recording::Recording,
    stage::Stage,
};

/// How long a session may take as a whole, and how long each step of it.
const SESSION_MAX: Duration = Duration::from_secs(180);
const STEP_MAX: Duration = Duration::from_secs(30);

/// What a client does.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// What it answers when it is asked, by the kind of the question. It does not say that it can be asked anything
    /// else.
    pub(crate) answers: Value,
    pub(crate) steps: Vec<Value>,
}

/// Where a client finds its server.
pub(crate) enum Target {
    Command(Vec<String>),
    Url(String),
    /// An address, and a token that is wanted there.
    Guarded(String, &'static str),
}

impl Script {
    /// Plays it; however it ends, every step of it is in the recording.
    pub(crate) fn play(
        &self,
        peers: &Peers,
        stage: &Stage,
        client: &Client,
        target: &Target,
    ) -> Result<Recording, String> {
        let server = match target {
            Target::Command(command) => json!({"command": command, "folder": stage.root().join("work")}),
            Target::Url(url) => json!({"url": url}),
            Target::Guarded(url, token) => json!({"url": url, "token": token}),
        };
        let script = json!({
            "era": client.era,
            "server": server,
            "answers": self.answers,
            "steps": self.steps,
            "step_limit_ms": STEP_MAX.as_millis() as u64,
        });
        let path = stage.write("script.json", &script.to_string())?;
        let recording = Recording::read(&stage.run(&client.command(peers, &path), SESSION_MAX)?)?;
        // One more, because to connect is a step as well.
        match recording.steps.len() == self.steps.len() + 1 {
            true => Ok(recording),
            false => Err(format!(
                "the client broke off after {} of {} steps: {}\n{}",
                recording.steps.len(),
                self.steps.len() + 1,
                recording.steps.last().unwrap_or(&Value::Null),
                stage.last_words()
            )),
        }
    }
}

/// What our server says it ran, one after another.
pub(crate) fn ran(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or(Value::Null)).collect()
}
