//! What the tools of agents do, for calls that the hook has let pass.
//!
//! [`perform`] runs commands and does with files what the tool's name and fields say. Unknown tools do nothing, so a line that
//! needs one shows only what the hook answers.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::scene::Scene;

/// Makes a call for real, with the rights of the agent.
pub(crate) fn perform(scene: &Scene, tool: &str, input: &Value) {
    let project = scene.path("project");
    match action(tool) {
        None => {}
        Some(Action::Run) => {
            let script = first(input, &["command", "cmd", "script", "program"]).unwrap_or_default();
            let words = words(input, "args");
            let script = if words.is_empty() { script } else { format!("{script} {}", words.join(" ")) };
            let folder = first(input, &["cwd"]);
            let folder = folder.map_or(project.clone(), |path| place(&path, &project, &scene.path("home")));
            let _ = scene.bash(&script, &folder);
        }
        Some(Action::Git) => {
            let verb = tool.rsplit("git_").next().unwrap_or_default().rsplit("__").next().unwrap_or_default();
            let to = first(input, &["branch_name", "target", "ref"]).unwrap_or_default();
            let hard = if verb == "reset" { "--hard" } else { "-q" };
            let _ = scene.bash(&format!("git {verb} {hard} {to}"), &project);
        }
        Some(_) if scene.has_guardian() => scene.perform_as_agent(tool, input),
        Some(_) => change_files(&scene.path(""), tool, input),
    }
}

fn place(path: &str, project: &Path, home: &Path) -> PathBuf {
    let path = path.strip_prefix("file://").map_or_else(|| path.to_owned(), |path| path.replace("%2e", "."));
    match path.strip_prefix("~/") {
        Some(rest) => project.join(home.join(rest)),
        None => project.join(path),
    }
}

/// Does with the files of a scene what a tool would.
pub(crate) fn change_files(root: &Path, tool: &str, input: &Value) {
    let (project, home) = (root.join("project"), root.join("home"));
    let at = |path: String| place(&path, &project, &home);
    let Some(action) = action(tool) else { return };
    match action {
        Action::Run | Action::Git => {}
        Action::Write => {
            let (Some(path), Some(text)) = (target(input).map(at), first(input, CONTENTS)) else { return };
            if let Some(parent) = path.parent() {
                let _ = fs::create_dir_all(parent);
            }
            let _ = fs::write(path, text);
        }
        Action::Edit => {
            let Some(path) = target(input).map(at) else { return };
            let edits =
                input.get("edits").and_then(Value::as_array).cloned().unwrap_or_else(|| vec![input.clone()]);
            let mut text = fs::read_to_string(&path).unwrap_or_default();
            for edit in &edits {
                let old = first(edit, &["old_string", "oldText"]).unwrap_or_default();
                text = text.replace(&old, &first(edit, &["new_string", "newText"]).unwrap_or_default());
            }
            let _ = fs::write(path, text);
        }
        Action::Move | Action::Copy => {
            let pairs =
                input.get("files").and_then(Value::as_array).cloned().unwrap_or_else(|| vec![input.clone()]);
            for pair in &pairs {
                let (Some(from), Some(to)) = (first(pair, SOURCES).map(at), first(pair, TARGETS).map(at))
                else {
                    continue;
                };
                match action {
                    Action::Move => drop(fs::rename(from, to)),
                    _ => drop(copy(&from, &to)),
                }
            }
        }
        Action::Delete => {
            if let Some(path) = target(input).map(at) {
                let _ = fs::remove_file(&path);
                let _ = fs::remove_dir_all(&path);
            }
        }
        Action::MakeFolder => drop(target(input).map(|path| fs::create_dir_all(at(path)))),
        Action::Link => {
            if let (Some(target), Some(path)) = (first(input, &["target"]), first(input, &["path"])) {
                let _ = std::os::unix::fs::symlink(at(target), at(path));
            }
        }
        Action::Patch => {
            let text =
                first(input, &["input", "patch"]).unwrap_or_else(|| words(input, "command").join("\n"));
            patch(&text, &project);
        }
    }
}

const SOURCES: &[&str] = &["source", "from", "src", "old_path", "oldPath", "source_path"];
const TARGETS: &[&str] = &["destination", "to", "dst", "new_path", "newPath", "target_path"];
const CONTENTS: &[&str] = &["content", "new_source", "text"];

#[derive(Clone, Copy)]
enum Action {
    Run,
    Write,
    Edit,
    Move,
    Copy,
    Delete,
    MakeFolder,
    Link,
    Patch,
    Git,
}

fn action(tool: &str) -> Option<Action> {
    let name = tool.rsplit("__").next().unwrap_or(tool);
    Some(match name {
        "Bash" | "run" | "exec" => Action::Run,
        "Write" | "write_file" | "write" | "put" | "NotebookEdit" => Action::Write,
        "Edit" | "MultiEdit" | "edit_file" => Action::Edit,
        "move_file" | "rename" | "transfer" | "relocate" | "move_files" => Action::Move,
        "copy_file" | "copy_directory" => Action::Copy,
        "delete_file" | "remove" => Action::Delete,
        "create_directory" => Action::MakeFolder,
        "create_symlink" => Action::Link,
        "apply_patch" => Action::Patch,
        _ if tool.starts_with("mcp__git__") => Action::Git,
        _ => return None,
    })
}

fn target(input: &Value) -> Option<String> {
    first(input, &["file_path", "path", "notebook_path", "uri", "anything", "target"])
}

fn first(input: &Value, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| input.get(key)?.as_str()).map(ToOwned::to_owned)
}

fn words(input: &Value, key: &str) -> Vec<String> {
    let list = input.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    list.iter().filter_map(|word| word.as_str().map(ToOwned::to_owned)).collect()
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// The patches of coding agents: each hunk is replaced where its old lines stand.
fn patch(text: &str, folder: &Path) {
    let mut file: Option<(PathBuf, PathBuf)> = None;
    let (mut old, mut new) = (String::new(), String::new());
    let put = |file: &mut Option<(PathBuf, PathBuf)>, old: &mut String, new: &mut String| {
        if let Some((from, to)) = file.as_ref() {
            let before = fs::read_to_string(from).unwrap_or_default();
            if let Some(parent) = to.parent() {
                let _ = fs::create_dir_all(parent);
            }
            let after = if old.is_empty() { new.clone() } else { before.replace(old.as_str(), new) };
            let _ = fs::write(to, after);
        }
        old.clear();
        new.clear();
    };
    for line in text.lines() {
        let name = |start: &str| line.strip_prefix(start).map(|name| folder.join(name.trim()));
        if let Some(path) = name("*** Update File: ").or_else(|| name("*** Add File: ")) {
            put(&mut file, &mut old, &mut new);
            file = Some((path.clone(), path));
        } else if let Some(path) = name("*** Move to: ") {
            file = file.map(|(from, _)| (from, path));
        } else if let Some(path) = name("*** Delete File: ") {
            put(&mut file, &mut old, &mut new);
            file = None;
            let _ = fs::remove_file(path);
        } else if let Some(line) = line.strip_prefix('-') {
            old.push_str(&format!("{line}\n"));
        } else if let Some(line) = line.strip_prefix('+') {
            new.push_str(&format!("{line}\n"));
        }
    }
    put(&mut file, &mut old, &mut new);
}
