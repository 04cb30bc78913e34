//! The settings that a session is bound to with its policy, and what counts while they differ from those in force.
//!
//! [`Settings::bound`] writes them, [`Settings::hold`] makes the settings in force at least as strict as what the session is
//! bound to. Mode, protection, programs and the registry belong to the rules of each side ([`accepted_rulebook`]).

use std::{fs, path::Path, time::Duration};

use lockgate::engine::{Gate, Mode, gate::Rulebook};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::values::{Registry, Settings};
use crate::event::Ask;

/// The entry that says which file of settings the user has.
pub const USER_SETTINGS: &str = "_user_settings";

/// The entry that says when unused sessions are forgotten; `null` for never. A session is kept for as long as it was said
/// when it was bound.
pub const FORGET_AFTER_MS: &str = "_forget_after_ms";

/// The entry that says which team server is asked.
const SERVER: &str = "server";

impl Settings {
    /// The settings that decide about calls, by name.
    pub fn bound(&self) -> Map<String, Value> {
        let Registry { names, active } = &self.registry;
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let settings = json!({
            "mode": self.mode.word(),
            "protect": self.protect,
            "exec": self.exec,
            "ask": self.ask.word(),
            "deadline_ms": milliseconds(self.deadline),
            "registry": { "names": names, "active": active },
            FORGET_AFTER_MS: self.forget_after.map(milliseconds),
            USER_SETTINGS: self.user.as_ref().and_then(|user| user.settings.as_deref()).map(hash_of),
        });
        let mut settings = match settings {
            Value::Object(settings) => settings,
            _ => Map::new(),
        };
        // Without one nothing is written, so that sessions of earlier versions stay bound to the same.
        if let Some(Ok(server)) = self.server.as_ref().map(serde_json::to_value) {
            settings.insert(SERVER.to_owned(), server);
        }
        settings
    }

    /// Takes over what a session is bound to, where it is stricter.
    pub(crate) fn hold(&mut self, bound: &Map<String, Value>) {
        let ask = bound.get("ask").and_then(Value::as_str).and_then(Ask::named);
        self.ask = ask.map_or(self.ask, |ask| ask.max(self.ask));
        let deadline = bound.get("deadline_ms").and_then(Value::as_u64).map(Duration::from_millis);
        self.deadline = deadline.map_or(self.deadline, |deadline| deadline.min(self.deadline));
        // A session that began under a server stays under it.
        let server = bound.get(SERVER).cloned().map(serde_json::from_value);
        self.server = server.and_then(Result::ok).or(self.server.take());
    }
}

/// The rules of an earlier policy under the settings of that time; `protect` adds what an agent must leave alone.
pub fn accepted_rulebook(
    policy: lockgate::Policy,
    bound: &Map<String, Value>,
    protect: impl FnOnce() -> lockgate::engine::gate::Protection,
) -> Result<Rulebook, String> {
    let observes = bound.get("mode").is_some_and(|mode| mode == Mode::Observe.word());
    let registry = bound.get("registry").cloned().unwrap_or_default();
    let names: Vec<(String, Vec<String>)> = read(&registry, "names")?;
    let active: Option<Vec<String>> = read(&registry, "active")?;
    let registry = Registry { names, active };
    let mode = if observes { Mode::Observe } else { Mode::Enforce };
    let mut builder = registry.lend(Gate::builder(policy)).mode(mode);
    if bound.get("protect") != Some(&Value::Bool(false)) {
        builder = builder.protect(protect());
    }
    let mut rulebook = builder.build().map_err(|error| error.to_string())?.into_rulebook();
    rulebook.terms.runs_programs = bound.get("exec") == Some(&Value::Bool(true));
    Ok(rulebook)
}

/// The hash of a file of settings, or why it cannot be read: that is not the same as any hash.
fn hash_of(file: &Path) -> String {
    match fs::read(file) {
        Ok(text) => Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect(),
        Err(error) => error.to_string(),
    }
}

fn read<T: serde::de::DeserializeOwned + Default>(registry: &Value, name: &str) -> Result<T, String> {
    match registry.get(name) {
        None => Ok(T::default()),
        Some(value) => serde_json::from_value(value.clone())
            .map_err(|error| format!("its registry cannot be read: {error}")),
    }
}
