//! OpenCode, by way of our plugin `assets/opencode-plugin.js`, which speaks the plain form and throws to block.
//!
//! The plugin is `.opencode/plugins/lockgate.js` of a project or below `~/.config/opencode` of a user. The file is ours
//! as a whole, and known by its first line.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::plain;
use crate::{
    coding_agent::{CALL_LIMIT, CodingAgent, Facts, NEVER_HEARS_USER, Processes, Reaction, Signs},
    edit::{Form, HookCommand, Mistake, Places, Scope, script, script_of_ours},
    event::{Answer, Event, EventError, HookReply, Message},
};

/// OpenCode.
pub(crate) struct OpenCode;

const NAME: &str = "opencode";

static FACTS: Facts = Facts {
    signs: Signs {
        project: &[".opencode", "opencode.json", "opencode.jsonc"],
        home: &[".config/opencode"],
        programs: &["opencode"],
    },
    processes: Processes { programs: &["opencode"], packages: &["/opencode-ai/"], variables: &["OPENCODE"] },
    switches: &[".opencode", "opencode.json", ".config/opencode"],
    marks: &[&[".opencode", "plugin"], &["opencode.json"]],
    limits: &["the plugin was not run, only the command it runs", NEVER_HEARS_USER],
    ..Facts::of(NAME)
};

/// How it writes its servers down.
pub(crate) const SERVERS: Form = Form {
    places: &[&["mcp"]],
    is_one_list: true,
    kinds: Some(("\"remote\"", "\"local\"")),
    ..Form::of_most()
};

const PLUGIN: &str = include_str!("../../assets/opencode-plugin.js");

impl CodingAgent for OpenCode {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn decode(&self, message: &Message) -> Result<Event, EventError> {
        plain::decode(message)
    }

    fn encode(&self, message: &Message, answer: &Answer) -> HookReply {
        plain::encode(message, answer, false)
    }

    fn fault(&self, message: Option<&Message>, line: &str) -> HookReply {
        plain::fault(message, line)
    }

    fn reaction(&self, reply: &HookReply) -> Reaction {
        plain::reaction(reply, false)
    }

    fn trial(&self, session: &str, command: &str, folder: &str) -> Value {
        plain::trial("bash", session, command, folder)
    }

    fn files(&self, places: &Places<'_>) -> Vec<PathBuf> {
        let config = places.environment.config_folder().unwrap_or_default();
        Vec::from([match places.scope {
            Scope::Project => places.project.join(".opencode/plugins/lockgate.js"),
            Scope::User => config.join("opencode/plugins/lockgate.js"),
        }])
    }

    fn installed(&self, _: &Path, text: Option<&str>, command: &HookCommand) -> Result<String, Mistake> {
        script(PLUGIN, text, command, CALL_LIMIT)
    }

    fn removed(&self, _: &Path, text: &str) -> Result<Option<String>, Mistake> {
        // A script of another author stays.
        Ok(script_of_ours(text).is_err().then(|| text.to_owned()))
    }

    fn next_steps(&self, _: Scope) -> &'static [&'static str] {
        &["restart OpenCode; the first start with a plugin may take a minute or two"]
    }

    fn server_files(&self, places: &Places<'_>) -> Vec<(PathBuf, &'static Form)> {
        let (folder, names): (PathBuf, &[&str]) = match places.scope {
            Scope::Project => (
                places.project.to_path_buf(),
                &["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"],
            ),
            Scope::User => {
                let config = places.environment.config_folder();
                let config = config.unwrap_or_else(|| places.home.join(".config"));
                (config, &["opencode/opencode.json", "opencode/opencode.jsonc"])
            }
        };
        names.iter().map(|name| (folder.join(name), &SERVERS)).collect()
    }
}
