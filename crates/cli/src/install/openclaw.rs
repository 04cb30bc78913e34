//! OpenClaw: a plugin folder, `.openclaw/extensions/lockgate` in the workspace or at home.
//!
//! The folder is ours as a whole. OpenClaw's own settings are not edited: it has a command for that, which checks them.

use std::path::{Path, PathBuf};

use super::{
    HookCommand, Host, Mistake, OPENCLAW_LIMIT, Places, Scope, Signs, json,
    opencode::{script, script_of_ours},
};

pub(super) struct OpenClaw;

const FOLDER: &str = ".openclaw/extensions/lockgate";
const SCRIPT: &str = "index.js";

/// The files of the plugin beside its script. JSON has no place for a first line of ours.
const MANIFESTS: [(&str, &str); 2] = [
    ("openclaw.plugin.json", include_str!("../../assets/openclaw-plugin/openclaw.plugin.json")),
    ("package.json", include_str!("../../assets/openclaw-plugin/package.json")),
];

const PLUGIN: &str = include_str!("../../assets/openclaw-plugin/index.js");

impl Host for OpenClaw {
    fn signs(&self) -> Signs {
        Signs { project: &[".openclaw"], home: &[".openclaw"], programs: &["openclaw"] }
    }

    fn files(&self, places: &Places<'_>) -> Vec<PathBuf> {
        let folder = places.choose(FOLDER, FOLDER);
        let manifests = MANIFESTS.iter().map(|(name, _)| *name);
        manifests.chain([SCRIPT]).map(|name| folder.join(name)).collect()
    }

    fn installed(&self, file: &Path, text: Option<&str>, command: &HookCommand) -> Result<String, Mistake> {
        let Some(manifest) = manifest(file) else { return script(PLUGIN, text, command, OPENCLAW_LIMIT) };
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
        // Somebody else's file of this name stays.
        Ok(ours.is_err().then(|| text.to_owned()))
    }

    fn next_steps(&self, _: Scope) -> &'static [&'static str] {
        &[
            "run `openclaw plugins enable lockgate` and start the gateway anew; `openclaw plugins list` shows it",
        ]
    }
}

fn manifest(file: &Path) -> Option<&'static str> {
    MANIFESTS.iter().find(|(name, _)| file.ends_with(name)).map(|(_, text)| *text)
}

fn manifest_of_ours(text: &str) -> Result<(), Mistake> {
    let root = json::whole(text)?;
    let says = |key: &str, word: &str| root.get(key).and_then(|value| value.as_str()) == Some(word);
    match says("id", "lockgate") || says("name", "lockgate-openclaw") {
        true => Ok(()),
        false => Err(Mistake::new(1, "it was not written by Lockgate", "move it away")),
    }
}
