//! `lockgate mcp` before the MCP servers in the settings of clients.
//!
//! [`plan_servers`] knows where clients keep their servers. An entry that ran `npx -y x` runs
//! `lockgate mcp --name NAME --host AGENT -- npx -y x` afterwards, with everything else in it as it was. Files are
//! never made here: a client without servers needs no gate before them. A server that a client signs in to by itself
//! is left as it is and named, because the proxy would stand between the two without being able to sign in.

use std::path::{Path, PathBuf};

use super::{
    files::{Change, FileError, Plan},
    plan::Job,
};
use crate::{
    agents::Agent,
    edit::{Form, Guard, GuardedServer, Places, Scope, Skipped, guarded, program_text, unwrapped, wrapped},
    environment::Environment,
};

/// A file in which a client keeps its servers.
struct ServerFile {
    path: PathBuf,
    /// None where the client has no hooks.
    agent: Option<Agent>,
    form: &'static Form,
}

/// Claude Desktop, which has no hooks.
pub(crate) const CLAUDE_DESKTOP: Form = Form { address: None, ..Form::of_most() };
/// Visual Studio Code, which has no hooks.
const VS_CODE: Form = Form { places: &[&["servers"]], ..Form::of_most() };

/// Adds to a plan what becomes of the servers of these agents, or of all clients where none are named. Gives what is
/// to be said about servers that are left as they are.
///
/// # Errors
/// Every reason why the changes cannot be made.
pub fn plan_servers(
    plan: &mut Plan,
    job: &Job<'_>,
    agents: &[Agent],
    scope: Scope,
    project: &Path,
    environment: &Environment,
) -> Result<Vec<String>, Vec<FileError>> {
    let mut notes = Vec::new();
    let mut errors = Vec::new();
    for file in files(scope, project, environment) {
        if !agents.is_empty() && !file.agent.is_some_and(|agent| agents.contains(&agent)) {
            continue;
        }
        match plan_file(plan, job, &file) {
            Ok(told) => notes.extend(told),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(notes) } else { Err(errors) }
}

/// The servers that Lockgate stands before, each with the file it is named in. What cannot be read has none.
pub fn wrapped_servers(
    scope: Scope,
    project: &Path,
    environment: &Environment,
) -> Vec<(PathBuf, GuardedServer)> {
    let found = |file: ServerFile| {
        let text = std::fs::read_to_string(&file.path).unwrap_or_default();
        let servers = if mentions_us(&text) { guarded(&text, file.form) } else { Ok(Vec::new()) };
        servers.unwrap_or_default().into_iter().map(move |server| (file.path.clone(), server))
    };
    files(scope, project, environment).into_iter().flat_map(found).collect()
}

fn plan_file(plan: &mut Plan, job: &Job<'_>, file: &ServerFile) -> Result<Vec<String>, FileError> {
    let mistaken = |mistake| FileError::mistaken(&file.path, mistake);
    let Some(text) = plan.planned(&file.path)? else { return Ok(Vec::new()) };
    let (after, left) = match job {
        Job::Install(program) => {
            let program = program_text(program).map_err(mistaken)?;
            let guard = Guard { program: &program, host: file.agent.map(Agent::name) };
            wrapped(&text, file.form, &guard).map_err(mistaken)?
        }
        // A file that never held anything of ours need not even be one that we can read.
        Job::Remove if !mentions_us(&text) => return Ok(Vec::new()),
        Job::Remove => (unwrapped(&text, file.form).map_err(mistaken)?, Vec::new()),
    };
    let before = plan.read(&file.path)?;
    plan.put(Change { agent: file.agent, path: file.path.clone(), before, after: Some(after) });
    let told = |it: Skipped| format!("{}: `{}` is left as it is: {}", file.path.display(), it.name, it.why);
    Ok(left.into_iter().map(told).collect())
}

fn mentions_us(text: &str) -> bool {
    text.contains("lockgate")
}

/// Every file of hooks and MCP servers that an installation reads or edits; each may be there or not.
pub(crate) fn edited_files(scope: Scope, project: &Path, environment: &Environment) -> Vec<PathBuf> {
    let servers = files(scope, project, environment).into_iter().map(|file| file.path);
    let Some(home) = &environment.home else { return servers.collect() };
    let places = Places { project, home, environment, scope };
    let hooks = Agent::ALL.iter().map(|agent| agent.profile());
    let hooks = hooks.flat_map(|agent| [agent.files(&places), agent.switch_files(&places)].concat());
    servers.chain(hooks).collect()
}

fn files(scope: Scope, project: &Path, environment: &Environment) -> Vec<ServerFile> {
    let nowhere = PathBuf::new();
    let home = match (&environment.home, scope) {
        (Some(home), _) => home,
        (None, Scope::Project) => &nowhere,
        (None, Scope::User) => return Vec::new(),
    };
    let places = Places { project, home, environment, scope };
    let of_agent = |agent: &Agent| {
        let files = agent.profile().server_files(&places);
        let agent = Some(*agent);
        files.into_iter().map(move |(path, form)| ServerFile { path, agent, form }).collect::<Vec<_>>()
    };
    let of_client = |path: PathBuf, form| ServerFile { path, agent: None, form };
    let clients = match scope {
        Scope::Project => Vec::from([of_client(project.join(".vscode/mcp.json"), &VS_CODE)]),
        Scope::User => {
            // Applications keep their settings elsewhere than tools on one system.
            let applications = match std::env::consts::OS {
                "macos" => home.join("Library/Application Support"),
                _ => environment.config_folder().unwrap_or_else(|| home.join(".config")),
            };
            Vec::from([
                of_client(applications.join("Code/User/mcp.json"), &VS_CODE),
                of_client(applications.join("Claude/claude_desktop_config.json"), &CLAUDE_DESKTOP),
            ])
        }
    };
    Agent::ALL.iter().flat_map(of_agent).chain(clients).collect()
}
