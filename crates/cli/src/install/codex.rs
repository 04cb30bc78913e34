//! Codex: `.codex/hooks.json` of a project, `hooks.json` in `$CODEX_HOME` (`~/.codex`) of a user.
//!
//! Codex has no strict form: a hook that fails or takes too long lets the tool run. And it runs none that nobody has
//! trusted; trust is lost with every change of the command line, so nothing here may depend on the release. No matcher
//! is every tool.
//!
//! What is typed into a running program (`write_stdin`) it shows to no hook. So `config.toml` beside it says that
//! programs get no terminal; without one Codex closes their standard input. That file is edited as text and only
//! where one line does it: whoever writes `features` in another way is asked to add the line.

use std::path::{Path, PathBuf};

use lockgate::call::plain_mistake;
use serde_json::json;

use super::{
    Agent, CALL_LIMIT, HookCommand, Host, Mistake, OTHER_LIMIT, Places, Scope, Signs,
    json::{self, Entry, Layout},
};

pub(super) struct Codex;

const LAYOUT: Layout = Layout { grouped: true, versioned: false };
const EVENTS: [&str; 5] = ["PreToolUse", "PostToolUse", "SessionStart", "SessionEnd", "PreCompact"];

impl Host for Codex {
    fn signs(&self) -> Signs {
        Signs { project: &[".codex"], home: &[".codex"], programs: &["codex"] }
    }

    fn files(&self, places: &Places<'_>) -> Vec<PathBuf> {
        let folder = places.environment.variable("CODEX_HOME").map(PathBuf::from);
        let folder = match (places.scope, folder) {
            (Scope::User, Some(folder)) => folder,
            _ => places.choose(".codex", ".codex"),
        };
        Vec::from([folder.join("hooks.json"), folder.join("config.toml")])
    }

    fn installed(&self, file: &Path, text: Option<&str>, command: &HookCommand) -> Result<String, Mistake> {
        match is_config(file) {
            true => without_terminals(text.unwrap_or_default()),
            false => json::add(text, &entries(command), LAYOUT, command.agent()),
        }
    }

    fn removed(&self, file: &Path, text: &str) -> Result<Option<String>, Mistake> {
        match is_config(file) {
            true => Ok(with_terminals(text)),
            false => json::remove(text, LAYOUT, Agent::Codex),
        }
    }

    fn next_steps(&self, scope: Scope) -> &'static [&'static str] {
        match scope {
            Scope::User => &[TRUST],
            Scope::Project => {
                &[TRUST, "keep .codex/hooks.json out of the repository: it names a path of this machine"]
            }
        }
    }
}

const TRUST: &str = "start `codex`, open `/hooks` and trust the hooks of Lockgate: until then Codex does not run \
                     them, and every tool runs unguarded";

fn entries(command: &HookCommand) -> Vec<Entry> {
    let entry = |event| {
        let limit = if event == "PreToolUse" { CALL_LIMIT } else { OTHER_LIMIT }.as_secs();
        let handler = json!({"type": "command", "command": command.blocking_line(), "timeout": limit});
        Entry { event, value: json!({"hooks": [handler]}) }
    };
    EVENTS.into_iter().map(entry).collect()
}

fn is_config(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "toml")
}

/// The table, where there was none.
const HEADER: &str = "[features] # lockgate";

/// The switch. It is known again by its whole text.
const SWITCH: &str =
    "unified_exec_tty = false # lockgate: hooks are not shown what is typed into a running program";

fn without_terminals(text: &str) -> Result<String, Mistake> {
    match terminals(text)? {
        Some(false) => return Ok(text.to_owned()),
        Some(true) => {
            let at = text.lines().position(|line| line.contains("unified_exec_tty"));
            let reason = "it gives programs a terminal, and no hook is shown what is typed into one";
            return Err(Mistake::new(at.map_or(0, |at| at + 1), reason, "remove `unified_exec_tty = true`"));
        }
        None => {}
    }
    let edited = match text.lines().position(is_features) {
        Some(at) => {
            let mut lines: Vec<&str> = text.lines().collect();
            lines.insert(at + 1, SWITCH);
            lines.join("\n") + "\n"
        }
        None => {
            let gap = if text.is_empty() || text.ends_with("\n\n") {
                ""
            } else if text.ends_with('\n') {
                "\n"
            } else {
                "\n\n"
            };
            format!("{text}{gap}{HEADER}\n{SWITCH}\n")
        }
    };
    match terminals(&edited) {
        Ok(Some(false)) => Ok(edited),
        _ => Err(Mistake::new(
            0,
            "`features` is written in a way that is not edited here",
            "add `unified_exec_tty = false` to it and try again",
        )),
    }
}

fn is_features(line: &str) -> bool {
    line.split('#').next().unwrap_or_default().trim() == "[features]"
}

/// What the file says about terminals, if anything.
fn terminals(text: &str) -> Result<Option<bool>, Mistake> {
    let mistake = |error: toml::de::Error| {
        let at = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let reason = format!("it is not TOML: {}", plain_mistake(error.message()));
        Mistake::new(at.matches('\n').count() + 1, reason, "mend it first")
    };
    let root: toml::Table = toml::from_str(text).map_err(mistake)?;
    Ok(root.get("features").and_then(|features| features.get("unified_exec_tty")?.as_bool()))
}

/// The text without what we wrote; none if nothing else was in there.
fn with_terminals(text: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let before = lines.len();
    lines.retain(|line| *line != SWITCH);
    if lines.len() == before {
        return Some(text.to_owned());
    }
    if let Some(at) = lines.iter().position(|line| *line == HEADER) {
        // Somebody may have put a switch of their own under it.
        let following = lines.get(at + 1..).unwrap_or_default().iter().find(|line| !line.trim().is_empty());
        if following.is_none_or(|line| line.trim_start().starts_with('[')) {
            lines.remove(at);
            if at > 0 && lines.get(at - 1).is_some_and(|line| line.is_empty()) {
                lines.remove(at - 1);
            }
        }
    }
    let is_empty = lines.iter().all(|line| line.trim().is_empty());
    (!is_empty).then(|| lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_get_no_terminal_and_whoever_uninstalls_has_the_file_as_it_was() {
        let rows = [
            ("", format!("{HEADER}\n{SWITCH}\n")),
            ("model = \"m\"\n", format!("model = \"m\"\n\n{HEADER}\n{SWITCH}\n")),
            ("[features]\nhooks = true\n", format!("[features]\n{SWITCH}\nhooks = true\n")),
            ("[a]\nb = 1\n\n[ features ]\n[c]\n", String::new()),
            (
                "[a]\nb = 1\n[features] # mine\n\n[c]\n",
                format!("[a]\nb = 1\n[features] # mine\n{SWITCH}\n\n[c]\n"),
            ),
            ("features = {hooks = true}\n", String::new()),
            ("features.hooks = true\n", String::new()),
            ("x = \"\"\"\n[features]\n\"\"\"\n", String::new()),
        ];
        for (before, after) in rows {
            let installed = without_terminals(before);
            match after.as_str() {
                "" => assert!(installed.is_err(), "{before:?} became {installed:?}"),
                after => {
                    assert_eq!(installed.as_deref(), Ok(after));
                    assert_eq!(without_terminals(after).as_deref(), Ok(after));
                    assert_eq!(with_terminals(after).unwrap_or_default(), before);
                }
            }
        }
    }

    #[test]
    fn a_switch_that_others_have_set_stays_theirs() {
        let off = "[features]\nunified_exec_tty = false\n";
        assert_eq!(without_terminals(off).as_deref(), Ok(off));
        assert_eq!(with_terminals(off).as_deref(), Some(off));
        let theirs = format!("{HEADER}\n{SWITCH}\nhooks = true\n");
        assert_eq!(with_terminals(&theirs).as_deref(), Some("[features] # lockgate\nhooks = true\n"));
        insta::assert_snapshot!(without_terminals("[features]\nunified_exec_tty = true\n").unwrap_err(), @"it gives programs a terminal, and no hook is shown what is typed into one; remove `unified_exec_tty = true`");
        insta::assert_snapshot!(without_terminals("a = \n").unwrap_err(), @"it is not TOML: string values must be quoted; mend it first");
    }
}
