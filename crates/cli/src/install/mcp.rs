//! Puts `lockgate mcp` before the MCP servers in the settings of clients, and takes it away again.
//!
//! [`plan_servers`] knows where clients keep their servers; [`wrap`] edits one file. An entry that ran `npx -y x` runs
//! `lockgate mcp --name NAME --host AGENT -- npx -y x` afterwards, with everything else in it as it was. Files are
//! never made here: a client without servers needs no gate before them. A server that a client signs in to by itself
//! is left as it is and named, because the proxy would stand between the two without being able to sign in.

mod tree;
mod wrap;

use std::path::{Path, PathBuf};

pub(crate) use self::wrap::{Server, Wrapped};
use self::{
    tree::Syntax,
    wrap::{Form, Guard},
};
use super::{Agent, Change, FileError, Job, Plan, Scope, command::program_text};
use crate::settings::Environment;

/// A file in which a client keeps its servers.
struct ServerFile {
    path: PathBuf,
    /// None where the client is no agent whose hooks we know.
    agent: Option<Agent>,
    form: &'static Form,
}

const CLAUDE_CODE: Form = Form { places: &[&["mcpServers"], &["projects", "*", "mcpServers"]], ..MOST };
const MOST: Form = Form::of_most();
const VS_CODE: Form = Form { places: &[&["servers"]], ..MOST };
const GEMINI_CLI: Form = Form { address: Some("httpUrl"), kinds: None, ..MOST };
const COPILOT: Form = Form { kinds: Some(("\"http\"", "\"local\"")), ..MOST };
const CLAUDE_DESKTOP: Form = Form { address: None, ..MOST };
const CODEX: Form = Form { syntax: Syntax::Toml, places: &[&["mcp_servers"]], kinds: None, ..MOST };
const OPENCODE: Form =
    Form { places: &[&["mcp"]], is_one_list: true, kinds: Some(("\"remote\"", "\"local\"")), ..MOST };

/// Adds to a plan what becomes of the servers of these agents, or of all clients where none are named. Gives what is
/// to be said about servers that are left as they are.
pub(crate) fn plan_servers(
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
pub(crate) fn wrapped_servers(
    scope: Scope,
    project: &Path,
    environment: &Environment,
) -> Vec<(PathBuf, Wrapped)> {
    let found = |file: ServerFile| {
        let text = std::fs::read_to_string(&file.path).unwrap_or_default();
        let servers = if mentions_us(&text) { wrap::found(&text, file.form) } else { Ok(Vec::new()) };
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
            wrap::wrapped(&text, file.form, &guard).map_err(mistaken)?
        }
        // A file that never held anything of ours need not even be one that we can read.
        Job::Remove if !mentions_us(&text) => return Ok(Vec::new()),
        Job::Remove => (wrap::unwrapped(&text, file.form).map_err(mistaken)?, Vec::new()),
    };
    let before = plan.read(&file.path)?;
    plan.put(Change { agent: file.agent, path: file.path.clone(), before, after: Some(after) });
    let told =
        |it: wrap::Left| format!("{}: `{}` is left as it is: {}", file.path.display(), it.name, it.why);
    Ok(left.into_iter().map(told).collect())
}

fn mentions_us(text: &str) -> bool {
    text.contains("lockgate")
}

fn files(scope: Scope, project: &Path, environment: &Environment) -> Vec<ServerFile> {
    let file = |agent, path: PathBuf, form| ServerFile { path, agent, form };
    let of = |agent| Some(agent);
    match scope {
        Scope::Project => {
            let mut files = Vec::from([
                file(of(Agent::ClaudeCode), project.join(".mcp.json"), &MOST),
                file(of(Agent::Codex), project.join(".codex/config.toml"), &CODEX),
                file(of(Agent::GeminiCli), project.join(".gemini/settings.json"), &GEMINI_CLI),
                file(of(Agent::Cursor), project.join(".cursor/mcp.json"), &MOST),
                file(None, project.join(".vscode/mcp.json"), &VS_CODE),
            ]);
            let names =
                ["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"];
            files.extend(names.map(|name| file(of(Agent::OpenCode), project.join(name), &OPENCODE)));
            files
        }
        Scope::User => {
            let Some(home) = &environment.home else { return Vec::new() };
            let folder = |variable: &str, own: &str| {
                environment.variable(variable).map_or_else(|| home.join(own), PathBuf::from)
            };
            let config = environment.config_folder().unwrap_or_else(|| home.join(".config"));
            // Applications keep their settings elsewhere than tools on one system.
            let applications = match std::env::consts::OS {
                "macos" => home.join("Library/Application Support"),
                _ => config.clone(),
            };
            let claude = environment.variable("CLAUDE_CONFIG_DIR").map_or(home.clone(), PathBuf::from);
            let mut files = Vec::from([
                file(of(Agent::ClaudeCode), claude.join(".claude.json"), &CLAUDE_CODE),
                file(of(Agent::Codex), folder("CODEX_HOME", ".codex").join("config.toml"), &CODEX),
                file(of(Agent::GeminiCli), home.join(".gemini/settings.json"), &GEMINI_CLI),
                file(of(Agent::Copilot), home.join(".copilot/mcp-config.json"), &COPILOT),
                file(of(Agent::Cursor), home.join(".cursor/mcp.json"), &MOST),
                file(None, applications.join("Code/User/mcp.json"), &VS_CODE),
                file(None, applications.join("Claude/claude_desktop_config.json"), &CLAUDE_DESKTOP),
            ]);
            let names = ["opencode/opencode.json", "opencode/opencode.jsonc"];
            files.extend(names.map(|name| file(of(Agent::OpenCode), config.join(name), &OPENCODE)));
            files
        }
    }
}
