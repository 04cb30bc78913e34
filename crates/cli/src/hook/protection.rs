//! What an agent must leave alone on this machine: the files of Lockgate, and what switches its hooks off.

use std::path::{Path, PathBuf};

use lockgate::{gate::Protection, store::memos_folder};

use crate::{
    commands::mcp::pins_folder,
    human::seen,
    settings::{Environment, Origin, Settings},
};

/// Of each host: its settings of hooks and of MCP servers, in the project and in the user's home; both may be there or
/// not.
const SWITCHES: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/hooks.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".gemini/policies",
    ".github/hooks",
    ".copilot/hooks",
    ".copilot/settings.json",
    ".cursor/hooks.json",
    ".opencode",
    "opencode.json",
    ".config/opencode",
    ".openclaw",
    ".mcp.json",
    ".claude.json",
    ".copilot/mcp-config.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
];

/// The same where a call cannot be told whole: texts that only somebody at the switches puts together.
const MARKS: &[&[&str]] = &[
    &[".lockgate"],
    &["lockgate.toml"],
    &["lockgate.db"],
    &["lockgate.key"],
    &["mcp-pins"],
    &["lockgate/trusted"],
    &["lockgate/sessions"],
    &["share/lockgate"],
    &[".config/lockgate"],
    &[".claude", "settings"],
    &[".codex", "hooks"],
    &[".codex", "config"],
    &[".gemini", "settings"],
    &[".github/hooks"],
    &[".copilot", "hooks"],
    &[".cursor", "hooks"],
    &[".opencode", "plugin"],
    &["opencode.json"],
    &[".openclaw"],
    &[".mcp.json"],
    &[".claude.json"],
    &["mcp-config.json"],
    &[".cursor", "mcp.json"],
    &[".vscode", "mcp.json"],
];

/// Words of command lines that start an agent without its hooks.
const WORDS: &[&str] = &["disableAllHooks", "--dangerously-bypass-hook-trust", "allowManagedHooksOnly"];

/// Tools of hosts that only read what they are given.
const READERS: &[&str] = &[
    "Read",
    "Grep",
    "Glob",
    "LS",
    "NotebookRead",
    "read_file",
    "read_many_files",
    "list_directory",
    "glob",
    "grep_search",
    "search_file_content",
    "view",
    "grep",
    "list",
    "read",
    "ls",
    "codebase_search",
    // Of the filesystem server of MCP.
    "read_text_file",
    "read_media_file",
    "read_multiple_files",
    "list_directory_with_sizes",
    "directory_tree",
    "search_files",
    "get_file_info",
];

/// What an agent may have Lockgate do: whatever changes nothing.
const HARMLESS: &[&str] = &[
    "demo",
    "verify",
    "diff",
    "check",
    "explain",
    "status",
    "see",
    "graph",
    "completions",
    "pending",
    "help",
    "--help",
    "-h",
    "--version",
    "-V",
];

/// What is protected under these settings.
pub(crate) fn of(settings: &Settings, folder: &Path, environment: &Environment) -> Protection {
    let mut protection = Protection::new().readers(READERS).program("lockgate", HARMLESS);
    for mark in MARKS {
        protection = protection.mark(mark);
    }
    for word in WORDS {
        protection = protection.switch(word);
    }
    for path in unchanged(settings, folder, environment).iter().filter_map(|path| path.to_str()) {
        protection = protection.unchanged(path);
    }
    for path in untouched(settings, environment).iter().filter_map(|path| path.to_str()) {
        protection = protection.untouched(path);
    }
    protection
}

/// A path that must be protected and cannot be, because it has no name that a call could be compared with.
pub(crate) fn nameless(settings: &Settings, folder: &Path, environment: &Environment) -> Option<PathBuf> {
    let paths = unchanged(settings, folder, environment).into_iter().chain(untouched(settings, environment));
    paths.into_iter().find(|path| path.to_str().is_none())
}

fn unchanged(settings: &Settings, folder: &Path, environment: &Environment) -> Vec<PathBuf> {
    let root = match &settings.origin {
        Origin::Project(root) => root.as_path(),
        Origin::User(_) | Origin::BuiltIn => folder,
    };
    let roots = [Some(root), Some(folder), environment.home.as_deref()];
    let mut paths: Vec<PathBuf> = settings.files();
    for root in roots.into_iter().flatten() {
        paths.extend(SWITCHES.iter().map(|path| root.join(path)));
        paths.extend([root.join(".lockgate"), root.join("lockgate.toml")]);
    }
    paths.extend(environment.config_folder().map(|config| config.join("lockgate")));
    paths.extend(std::env::current_exe());
    paths.sort();
    paths.dedup();
    paths
}

fn untouched(settings: &Settings, environment: &Environment) -> Vec<PathBuf> {
    let data = environment.data_folder().map(|data| data.join("lockgate"));
    let folder =
        settings.state.parent().filter(|folder| folder.ends_with("lockgate") || folder.ends_with("state"));
    let state = &settings.state;
    let own = [state.clone(), pins_folder(state), memos_folder(state), seen::folder_beside(state)];
    data.into_iter().chain(folder.map(Path::to_path_buf)).chain(own).collect()
}
