//! What an agent must leave alone on this machine: the files of Lockgate, and what switches its hooks off.

use std::{
    fs,
    path::{Path, PathBuf},
};

use lockgate::engine::{call::reading_tools, gate::Protection, policies_beside};

use crate::{
    agents::Agent,
    commands::{Caller, spoken_of},
    environment::Environment,
    install::{Scope, edited_files},
    processes,
    settings::{FILE, FOLDER, Origin, Settings, repository_with_policy},
};

/// Settings of MCP clients that have no hooks.
const SWITCHES: &[&str] = &[".vscode/mcp.json"];

/// Texts that name the files of Lockgate, and settings of such clients, where a call cannot be read whole; all of a row
/// together.
const MARKS: &[&[&str]] = &[
    &[".lockgate"],
    &["lockgate.toml"],
    &["*.rules"],
    &["lockgate.db"],
    &["lockgate.key"],
    &["human.key"],
    &["lockgate.policies"],
    &["mcp-pins"],
    &["lockgate/trusted"],
    &["lockgate/sessions"],
    &["share/lockgate"],
    &[".config/lockgate"],
    &[".vscode", "mcp.json"],
];

/// Options that only tell something.
const TELLING: &[&str] = &["--help", "-h", "--version", "-V"];

/// How many files of a policy folder are known by name.
const FILES_MAX: usize = 256;

/// Where the definitions of tools are pinned: beside the database of sessions.
pub fn pins_folder(state: &Path) -> PathBuf {
    state.with_file_name("mcp-pins")
}

/// What is protected under these settings.
pub fn of(settings: &Settings, folder: &Path, environment: &Environment) -> Protection {
    let mut protection = own();
    let root = root_of(settings, folder);
    let repository = match &settings.elsewhere {
        Some(elsewhere) => elsewhere.repository.clone(),
        None => repository_with_policy(root),
    };
    if let Some(repository) = repository.as_deref().and_then(Path::to_str) {
        protection = protection.tracked(repository);
    }
    if let Some(home) = environment.home.as_deref().and_then(Path::to_str) {
        protection = protection.home(home);
    }
    for name in file_names(settings) {
        protection = protection.file_name(&name);
    }
    for path in unchanged(settings, folder, environment).iter().filter_map(|path| path.to_str()) {
        protection = protection.unchanged(path);
    }
    for path in untouched(settings, environment).iter().filter_map(|path| path.to_str()) {
        protection = protection.untouched(path);
    }
    protection
}

/// What is protected for a gate that was given these files of a policy, and this database if it has one.
pub fn of_files(files: &[PathBuf], state: Option<&Path>) -> Protection {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let mut protection = own();
    for path in files.iter().map(|path| real(path)).chain(std::env::current_exe()) {
        if let Some(path) = path.to_str() {
            protection = protection.unchanged(path);
        }
    }
    for path in state.map(real).iter().flat_map(|state| {
        [
            state.clone(),
            pins_folder(state),
            processes::folder_beside(state),
            state.with_extension("key"),
            policies_beside(state),
        ]
    }) {
        if let Some(path) = path.to_str() {
            protection = protection.untouched(path);
        }
    }
    protection
}

/// What is protected wherever Lockgate runs.
fn own() -> Protection {
    let facts = || Agent::ALL.iter().map(|agent| agent.facts());
    let mut protection = Protection::new()
        .readers(&reading_tools())
        .program("lockgate", &[&spoken_of(Caller::Anyone), TELLING].concat())
        .for_humans("lockgate", &spoken_of(Caller::Human))
        .named(FOLDER)
        .named(FILE);
    for mark in facts().flat_map(|agent| agent.marks).chain(MARKS) {
        protection = protection.mark(mark);
    }
    for word in facts().flat_map(|agent| agent.switch_words) {
        protection = protection.switch(word);
    }
    protection
}

/// A path that must be protected and cannot be, because it has no name that a call could be compared with.
pub(super) fn nameless(settings: &Settings, folder: &Path, environment: &Environment) -> Option<PathBuf> {
    let paths = unchanged(settings, folder, environment).into_iter().chain(untouched(settings, environment));
    paths.into_iter().find(|path| path.to_str().is_none())
}

fn root_of<'p>(settings: &'p Settings, folder: &'p Path) -> &'p Path {
    match &settings.origin {
        Origin::Project(root) => root.as_path(),
        Origin::User(_) | Origin::BuiltIn => folder,
    }
}

/// The names of the policy's files.
fn file_names(settings: &Settings) -> Vec<String> {
    let mut names = Vec::new();
    let texts = settings.project.as_ref().and_then(|project| project.texts.as_ref());
    for path in texts.into_iter().flatten().map(|source| PathBuf::from(source.name())) {
        names.extend(path.file_name().and_then(|name| Some(name.to_str()?.to_owned())));
    }
    let read_elsewhere = texts.and(settings.project.as_ref()).map_or(&[][..], |project| &project.files);
    for path in settings.files().into_iter().filter(|path| !read_elsewhere.contains(path)) {
        let inside = fs::read_dir(&path).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let files: Vec<PathBuf> = inside.take(FILES_MAX).chain([path.clone()]).collect();
        names.extend(files.iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())));
    }
    names
}

fn unchanged(settings: &Settings, folder: &Path, environment: &Environment) -> Vec<PathBuf> {
    let root = root_of(settings, folder);
    let roots = [Some(root), Some(folder), environment.home.as_deref()];
    let mut paths: Vec<PathBuf> = settings.files();
    for root in roots.into_iter().flatten() {
        let switches = Agent::ALL.iter().flat_map(|agent| agent.facts().switches).chain(SWITCHES);
        paths.extend(switches.map(|path| root.join(path)));
        paths.extend([root.join(".lockgate"), root.join("lockgate.toml")]);
    }
    for scope in [Scope::Project, Scope::User] {
        paths.extend(edited_files(scope, root, environment));
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
    let own = [state.clone(), pins_folder(state), processes::folder_beside(state), policies_beside(state)];
    let beside = folder.map(Path::to_path_buf).into_iter().chain(settings.anchor.clone());
    data.into_iter().chain(beside).chain(own).collect()
}
