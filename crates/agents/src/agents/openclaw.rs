//! OpenClaw, by way of our plugin `assets/openclaw-plugin`, which speaks the plain form.
//!
//! The plugin is the folder `.openclaw/extensions/lockgate` in the workspace or at home, and ours as a whole. OpenClaw's
//! own settings are not edited: it has a command for that, which checks them.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;

use super::plain;
use crate::{
    coding_agent::{CodingAgent, Facts, NEVER_HEARS_USER, Processes, Reaction, Signs},
    edit::{HookCommand, Mistake, Places, Scope, script, script_of_ours, whole},
    event::{Answer, Ask, Event, EventError, HookReply, Message},
};

/// OpenClaw.
pub(crate) struct OpenClaw;

const NAME: &str = "openclaw";

/// OpenClaw waits for a plugin no longer than 15 seconds, whatever its settings say.
const LIMIT: Duration = Duration::from_secs(14);

static FACTS: Facts = Facts {
    signs: Signs { project: &[".openclaw"], home: &[".openclaw"], programs: &["openclaw"] },
    processes: Processes {
        programs: &["openclaw"],
        packages: &["/openclaw/", "/openclaw.mjs"],
        variables: &["OPENCLAW_SESSION_KEY", "OPENCLAW_SHELL"],
    },
    switches: &[".openclaw"],
    marks: &[&[".openclaw"]],
    limits: &[
        "whether the plugin is enabled is known to OpenClaw alone: see `openclaw plugins list`",
        NEVER_HEARS_USER,
    ],
    ..Facts::of(NAME)
};

const FOLDER: &str = ".openclaw/extensions/lockgate";
const SCRIPT: &str = "index.js";

/// The files of the plugin beside its script. JSON has no place for a first line of ours.
const MANIFESTS: [(&str, &str); 2] = [
    ("openclaw.plugin.json", include_str!("../../assets/openclaw-plugin/openclaw.plugin.json")),
    ("package.json", include_str!("../../assets/openclaw-plugin/package.json")),
];

const PLUGIN: &str = include_str!("../../assets/openclaw-plugin/index.js");

impl CodingAgent for OpenClaw {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn asking(&self, _message: &Message) -> Ask {
        Ask::Host
    }

    fn waits_for(&self, _event: &Event) -> Duration {
        LIMIT
    }

    fn decode(&self, message: &Message) -> Result<Event, EventError> {
        plain::decode(message)
    }

    fn encode(&self, message: &Message, answer: &Answer) -> HookReply {
        plain::encode(message, answer, true)
    }

    fn fault(&self, message: Option<&Message>, line: &str) -> HookReply {
        plain::fault(message, line)
    }

    fn reaction(&self, reply: &HookReply) -> Reaction {
        plain::reaction(reply, true)
    }

    fn trial(&self, session: &str, command: &str, folder: &str) -> Value {
        plain::trial("exec", session, command, folder)
    }

    fn files(&self, places: &Places<'_>) -> Vec<PathBuf> {
        let folder = places.choose(FOLDER, FOLDER);
        let manifests = MANIFESTS.iter().map(|(name, _)| *name);
        manifests.chain([SCRIPT]).map(|name| folder.join(name)).collect()
    }

    fn installed(&self, file: &Path, text: Option<&str>, command: &HookCommand) -> Result<String, Mistake> {
        let Some(manifest) = manifest(file) else { return script(PLUGIN, text, command, LIMIT) };
        if let Some(text) = text {
            manifest_of_ours(text)?;
        }
        Ok(manifest.to_owned())
    }

    fn removed(&self, file: &Path, text: &str) -> Result<Option<String>, Mistake> {
        let ours = match manifest(file) {
            Some(_) => manifest_of_ours(text),
            None => script_of_ours(text),
        };
        // A file of another author stays.
        Ok(ours.is_err().then(|| text.to_owned()))
    }

    fn next_steps(&self, _: Scope) -> &'static [&'static str] {
        &["run `openclaw plugins enable lockgate` and restart the gateway; `openclaw plugins list` shows it"]
    }
}

fn manifest(file: &Path) -> Option<&'static str> {
    MANIFESTS.iter().find(|(name, _)| file.ends_with(name)).map(|(_, text)| *text)
}

fn manifest_of_ours(text: &str) -> Result<(), Mistake> {
    let root = whole(text)?;
    let says = |key: &str, word: &str| root.get(key).and_then(|value| value.as_str()) == Some(word);
    match says("id", "lockgate") || says("name", "lockgate-openclaw") {
        true => Ok(()),
        false => Err(Mistake::new(1, "it was not written by Lockgate", "move it away")),
    }
}
