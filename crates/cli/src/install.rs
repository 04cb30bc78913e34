//! Puts Lockgate into the hooks of coding agents and before their MCP servers, and takes it out again.
//!
//! Each host has a file here with pure functions from text to text: [`Host::installed`] and [`Host::removed`]. [`plan`]
//! reads all files a change would touch and computes all of it before [`Plan::carry_out`] writes the first one, so a
//! file that cannot be edited keeps every other file as it is. Whether a host then really obeys is not looked at here.

mod claude_code;
mod codex;
mod command;
mod copilot;
mod cursor;
pub(crate) mod exclude;
mod files;
mod gemini_cli;
mod json;
mod mcp;
mod openclaw;
mod opencode;

use std::{
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::ValueEnum;
use lockgate::call::{AgentTools, agent_tools};

pub(crate) use command::{HookCommand, InstalledCommand, running_program};
pub(crate) use files::{Change, FileError, Plan};
pub(crate) use mcp::{Server, Wrapped, plan_servers, wrapped_servers};

use crate::settings::Environment;

/// How long a host waits for our answer about a call: long enough for a human to be asked meanwhile. Some hosts run
/// the tool when this time is over, so a hook process has to end well before.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(600);

/// How long a host waits for our answer to anything else.
pub(crate) const OTHER_LIMIT: Duration = Duration::from_secs(60);

/// OpenClaw waits for a plugin no longer than 15 seconds, whatever it is told.
pub(crate) const OPENCLAW_LIMIT: Duration = Duration::from_secs(14);

/// A coding agent that runs hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub(crate) enum Agent {
    ClaudeCode,
    Codex,
    GeminiCli,
    Copilot,
    Cursor,
    #[value(name = "opencode")]
    OpenCode,
    #[value(name = "openclaw")]
    OpenClaw,
}

impl Agent {
    /// All of them.
    pub(crate) const ALL: &'static [Self] = &[
        Self::ClaudeCode,
        Self::Codex,
        Self::GeminiCli,
        Self::Copilot,
        Self::Cursor,
        Self::OpenCode,
        Self::OpenClaw,
    ];

    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
            Self::Copilot => "copilot",
            Self::Cursor => "cursor",
            Self::OpenCode => "opencode",
            Self::OpenClaw => "openclaw",
        }
    }

    fn host(self) -> &'static dyn Host {
        match self {
            Self::ClaudeCode => &claude_code::ClaudeCode,
            Self::Codex => &codex::Codex,
            Self::GeminiCli => &gemini_cli::GeminiCli,
            Self::Copilot => &copilot::Copilot,
            Self::Cursor => &cursor::Cursor,
            Self::OpenCode => &opencode::OpenCode,
            Self::OpenClaw => &openclaw::OpenClaw,
        }
    }

    /// Its tools, as rules see them. Invariant: every agent has a row, which a test holds.
    pub(crate) fn tools(self) -> Option<&'static AgentTools> {
        agent_tools(self.name())
    }

    /// Whether the host is in use here: it has a folder in the project or at home, or its program can be run.
    pub(crate) fn is_in_use(self, project: &Path, environment: &Environment) -> bool {
        let signs = self.host().signs();
        let home = environment.home.as_deref();
        let in_home = |sign: &str| home.is_some_and(|home| home.join(sign).exists());
        let in_path = |program: &str| environment.path.iter().any(|folder| folder.join(program).is_file());
        // A project may well be the home folder's neighbour, never the home folder itself.
        signs.project.iter().any(|sign| project.join(sign).exists())
            || signs.home.iter().any(|sign| in_home(sign))
            || signs.programs.iter().any(|program| in_path(program))
    }

    /// What has to be done by hand after an installation.
    pub(crate) fn next_steps(self, scope: Scope) -> &'static [&'static str] {
        self.host().next_steps(scope)
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// For one project, or for everything a user does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Project,
    User,
}

/// By what a host is known to be in use.
struct Signs {
    project: &'static [&'static str],
    home: &'static [&'static str],
    programs: &'static [&'static str],
}

/// What differs from host to host.
trait Host: Sync {
    fn signs(&self) -> Signs;

    /// The files to edit, each with what is done to it; none where a host cannot be reached in this scope.
    fn files(&self, places: &Places<'_>) -> Vec<PathBuf>;

    /// The text of a file with our hooks in it. `file` is one of [`Host::files`].
    fn installed(&self, file: &Path, text: Option<&str>, command: &HookCommand) -> Result<String, Mistake>;

    /// The text without them; none where the file was ours alone.
    fn removed(&self, file: &Path, text: &str) -> Result<Option<String>, Mistake>;

    /// Other files in which hooks may be turned off.
    fn switches(&self, _: &Places<'_>) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Whether such a file leaves them on.
    fn leaves_on(&self, _: &str) -> Result<(), Mistake> {
        Ok(())
    }

    fn next_steps(&self, scope: Scope) -> &'static [&'static str];
}

/// Where files of hosts are.
struct Places<'a> {
    project: &'a Path,
    home: &'a Path,
    environment: &'a Environment,
    scope: Scope,
}

impl Places<'_> {
    /// A path in the project, or one at home.
    fn choose(&self, in_project: &str, in_home: &str) -> PathBuf {
        match self.scope {
            Scope::Project => self.project.join(in_project),
            Scope::User => self.home.join(in_home),
        }
    }
}

/// What keeps a text from being edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; {remedy}")]
pub(crate) struct Mistake {
    /// 0 where it is about no line.
    pub(crate) line: usize,
    pub(crate) reason: String,
    pub(crate) remedy: String,
}

impl Mistake {
    fn new(line: usize, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { line, reason: reason.into(), remedy: remedy.into() }
    }
}

/// What is to happen.
#[derive(Clone, Debug)]
pub(crate) enum Job<'a> {
    /// The program that hosts shall run.
    Install(&'a Path),
    Remove,
}

/// Computes every change, or every reason why it cannot be made.
pub(crate) fn plan(
    job: &Job<'_>,
    agents: &[Agent],
    scope: Scope,
    project: &Path,
    environment: &Environment,
) -> Result<Plan, Vec<FileError>> {
    let nowhere = PathBuf::new();
    let home = match (&environment.home, scope) {
        (Some(home), _) => home,
        (None, Scope::Project) => &nowhere,
        (None, Scope::User) => return Err(Vec::from([FileError::no_home()])),
    };
    let places = Places { project, home, environment, scope };
    let top = match scope {
        Scope::Project => project,
        Scope::User => home,
    };
    let mut plan = Plan::new(top);
    let mut errors = Vec::new();
    for agent in agents {
        if matches!(job, Job::Install(_)) {
            errors.extend(switched_off(*agent, &places));
        }
        for file in agent.host().files(&places) {
            if let Err(error) = plan_file(&mut plan, job, *agent, &file) {
                errors.push(error);
            }
        }
    }
    if errors.is_empty() { Ok(plan) } else { Err(errors) }
}

/// The files that turn off the hooks we would write. They are the host's to complain about where they are broken.
fn switched_off(agent: Agent, places: &Places<'_>) -> Vec<FileError> {
    let off = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).ok()?;
        json::whole(&text).ok()?;
        agent.host().leaves_on(&text).err().map(|mistake| FileError::mistaken(&file, mistake))
    };
    agent.host().switches(places).into_iter().filter_map(off).collect()
}

/// Whether hooks of ours are there. What cannot be read has none.
pub(crate) fn is_installed(agent: Agent, scope: Scope, project: &Path, environment: &Environment) -> bool {
    let plan = plan(&Job::Remove, &[agent], scope, project, environment);
    plan.is_ok_and(|plan| plan.changes().next().is_some())
}

/// The commands of ours that a host runs, as they stand in its files. What cannot be read has none.
pub(crate) fn installed_commands(
    agent: Agent,
    scope: Scope,
    project: &Path,
    environment: &Environment,
) -> Vec<InstalledCommand> {
    let Ok(plan) = plan(&Job::Remove, &[agent], scope, project, environment) else { return Vec::new() };
    let mut found: Vec<InstalledCommand> = Vec::new();
    for text in plan.changes().filter_map(|change| change.before.as_deref()) {
        match json::whole(text) {
            Ok(root) => collect_commands(&serde_json::Value::Object(root), agent, &mut found),
            Err(_) => found.extend(opencode::script_command(text, agent)),
        }
    }
    found.dedup();
    found
}

fn collect_commands(value: &serde_json::Value, agent: Agent, found: &mut Vec<InstalledCommand>) {
    found.extend(command::installed_command(value, agent));
    match value {
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect_commands(item, agent, found)),
        serde_json::Value::Object(fields) => {
            fields.values().for_each(|field| collect_commands(field, agent, found));
        }
        _ => {}
    }
}

fn plan_file(plan: &mut Plan, job: &Job<'_>, agent: Agent, file: &Path) -> Result<(), FileError> {
    let before = plan.read(file)?;
    let mistaken = |mistake| FileError::mistaken(file, mistake);
    let after = match (job, before.as_deref()) {
        (Job::Install(program), text) => {
            let command = HookCommand::new(program, agent).map_err(mistaken)?;
            Some(agent.host().installed(file, text, &command).map_err(mistaken)?)
        }
        (Job::Remove, Some(text)) => agent.host().removed(file, text).map_err(mistaken)?,
        (Job::Remove, None) => None,
    };
    plan.put(Change { agent: Some(agent), path: file.to_path_buf(), before, after });
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs};

    use super::*;

    const PROGRAM: &str = "/opt/my tools/lockgate";

    fn installed(agent: Agent, file: &str, text: Option<&str>) -> Result<String, Mistake> {
        let command = HookCommand::new(Path::new(PROGRAM), agent).unwrap();
        agent.host().installed(Path::new(file), text, &command)
    }

    #[test]
    fn the_table_of_tools_has_a_row_for_every_agent() {
        let known: Vec<&str> = lockgate::call::AGENTS.iter().map(|row| row.agent).collect();
        assert_eq!(known, Agent::ALL.iter().map(|agent| agent.name()).collect::<Vec<_>>());
    }

    /// A folder of a test's own with a project and a home in it.
    fn world(name: &str) -> (PathBuf, Environment) {
        let top = std::env::temp_dir().join(format!("lockgate-install-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&top);
        for folder in ["project", "home", "bin"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        let top = fs::canonicalize(top).unwrap();
        let environment = Environment {
            home: Some(top.join("home")),
            path: Vec::from([top.join("bin")]),
            variables: BTreeMap::new(),
            user: None,
        };
        (top, environment)
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn claude_code_blocks_when_the_hook_fails() {
        insta::assert_snapshot!(installed(Agent::ClaudeCode, "", None).unwrap(), @r##"
        {
          "hooks": {
            "PreToolUse": [
              {"matcher": "*", "hooks": [{"type": "command", "command": "/opt/my tools/lockgate", "args": ["hook", "claude-code"], "timeout": 600, "onFailure": "block"}]}
            ],
            "PostToolUse": [
              {"matcher": "*", "hooks": [{"type": "command", "command": "/opt/my tools/lockgate", "args": ["hook", "claude-code"], "timeout": 60, "onFailure": "block"}]}
            ],
            "PostToolUseFailure": [
              {"matcher": "*", "hooks": [{"type": "command", "command": "/opt/my tools/lockgate", "args": ["hook", "claude-code"], "timeout": 60, "onFailure": "block"}]}
            ],
            "SessionStart": [
              {"hooks": [{"type": "command", "command": "/opt/my tools/lockgate", "args": ["hook", "claude-code"], "timeout": 60}]}
            ],
            "SessionEnd": [
              {"hooks": [{"type": "command", "command": "/opt/my tools/lockgate", "args": ["hook", "claude-code"], "timeout": 60}]}
            ],
            "PreCompact": [
              {"hooks": [{"type": "command", "command": "/opt/my tools/lockgate", "args": ["hook", "claude-code"], "timeout": 60}]}
            ]
          }
        }
        "##);
    }

    #[test]
    fn codex_is_given_a_line_that_no_release_changes() {
        insta::assert_snapshot!(installed(Agent::Codex, "", Some("{}")).unwrap(), @r##"
        {

          "hooks": {
            "PreToolUse": [
              {"hooks": [{"type": "command", "command": "'/opt/my tools/lockgate' hook codex || { echo 'lockgate: the hook failed, so this is blocked' >&2; exit 2; }", "timeout": 600}]}
            ],
            "PostToolUse": [
              {"hooks": [{"type": "command", "command": "'/opt/my tools/lockgate' hook codex || { echo 'lockgate: the hook failed, so this is blocked' >&2; exit 2; }", "timeout": 60}]}
            ],
            "SessionStart": [
              {"hooks": [{"type": "command", "command": "'/opt/my tools/lockgate' hook codex || { echo 'lockgate: the hook failed, so this is blocked' >&2; exit 2; }", "timeout": 60}]}
            ],
            "SessionEnd": [
              {"hooks": [{"type": "command", "command": "'/opt/my tools/lockgate' hook codex || { echo 'lockgate: the hook failed, so this is blocked' >&2; exit 2; }", "timeout": 60}]}
            ],
            "PreCompact": [
              {"hooks": [{"type": "command", "command": "'/opt/my tools/lockgate' hook codex || { echo 'lockgate: the hook failed, so this is blocked' >&2; exit 2; }", "timeout": 60}]}
            ]
          }
        }
        "##);
    }

    #[test]
    fn gemini_cli_is_given_milliseconds() {
        insta::assert_snapshot!(installed(Agent::GeminiCli, "", Some("{\n  \"theme\": \"dark\"\n}\n")).unwrap(), @r##"
        {
          "theme": "dark",
          "hooks": {
            "BeforeTool": [
              {"hooks": [{"type": "command", "name": "lockgate", "command": "'/opt/my tools/lockgate' hook gemini-cli || { echo 'lockgate: the hook failed, so this is blocked' >&2; exit 2; }", "timeout": 600000}]}
            ],
            "AfterTool": [
              {"hooks": [{"type": "command", "name": "lockgate", "command": "'/opt/my tools/lockgate' hook gemini-cli || { echo 'lockgate: the hook failed, so this is blocked' >&2; exit 2; }", "timeout": 60000}]}
            ],
            "SessionStart": [
              {"hooks": [{"type": "command", "name": "lockgate", "command": "'/opt/my tools/lockgate' hook gemini-cli || { echo 'lockgate: the hook failed, so this is blocked' >&2; exit 2; }", "timeout": 60000}]}
            ],
            "SessionEnd": [
              {"hooks": [{"type": "command", "name": "lockgate", "command": "'/opt/my tools/lockgate' hook gemini-cli || { echo 'lockgate: the hook failed, so this is blocked' >&2; exit 2; }", "timeout": 60000}]}
            ],
            "PreCompress": [
              {"hooks": [{"type": "command", "name": "lockgate", "command": "'/opt/my tools/lockgate' hook gemini-cli || { echo 'lockgate: the hook failed, so this is blocked' >&2; exit 2; }", "timeout": 60000}]}
            ]
          }
        }
        "##);
    }

    #[test]
    fn copilot_is_given_a_file_of_its_own() {
        insta::assert_snapshot!(installed(Agent::Copilot, "", None).unwrap(), @r##"
        {
          "hooks": {
            "preToolUse": [
              {"type": "command", "bash": "'/opt/my tools/lockgate' hook copilot", "powershell": "& '/opt/my tools/lockgate' hook copilot", "timeoutSec": 600}
            ],
            "postToolUse": [
              {"type": "command", "bash": "'/opt/my tools/lockgate' hook copilot", "powershell": "& '/opt/my tools/lockgate' hook copilot", "timeoutSec": 60}
            ],
            "sessionStart": [
              {"type": "command", "bash": "'/opt/my tools/lockgate' hook copilot", "powershell": "& '/opt/my tools/lockgate' hook copilot", "timeoutSec": 60}
            ],
            "sessionEnd": [
              {"type": "command", "bash": "'/opt/my tools/lockgate' hook copilot", "powershell": "& '/opt/my tools/lockgate' hook copilot", "timeoutSec": 60}
            ]
          },
          "version": 1
        }
        "##);
    }

    #[test]
    fn cursor_fails_closed() {
        let text =
            "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [{\"command\": \"./mine.sh\"}]\n  }\n}\n";
        insta::assert_snapshot!(installed(Agent::Cursor, "", Some(text)).unwrap(), @r##"
        {
          "version": 1,
          "hooks": {
            "stop": [{"command": "./mine.sh"}],
            "preToolUse": [
              {"command": "'/opt/my tools/lockgate' hook cursor", "timeout": 600, "failClosed": true}
            ],
            "postToolUse": [
              {"command": "'/opt/my tools/lockgate' hook cursor", "timeout": 60, "failClosed": true}
            ],
            "postToolUseFailure": [
              {"command": "'/opt/my tools/lockgate' hook cursor", "timeout": 60, "failClosed": true}
            ],
            "sessionStart": [
              {"command": "'/opt/my tools/lockgate' hook cursor", "timeout": 60}
            ],
            "sessionEnd": [
              {"command": "'/opt/my tools/lockgate' hook cursor", "timeout": 60}
            ],
            "preCompact": [
              {"command": "'/opt/my tools/lockgate' hook cursor", "timeout": 60}
            ]
          }
        }
        "##);
    }

    #[test]
    fn every_event_of_a_call_is_hooked_once() {
        for (agent, before) in [
            (Agent::ClaudeCode, "PreToolUse"),
            (Agent::Codex, "PreToolUse"),
            (Agent::GeminiCli, "BeforeTool"),
            (Agent::Copilot, "preToolUse"),
            (Agent::Cursor, "preToolUse"),
        ] {
            let text = installed(agent, "", None).unwrap();
            let root: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(root["hooks"][before].as_array().unwrap().len(), 1, "{text}");
            assert!(root["hooks"].get("beforeShellExecution").is_none(), "{text}");
            assert_eq!(installed(agent, "", Some(&text)).unwrap(), text, "twice is once");
            assert_eq!(agent.host().removed(Path::new(""), &text), Ok(None), "{text}");
        }
    }

    #[test]
    fn hooks_that_are_turned_off_are_told() {
        for (agent, text) in [
            (Agent::ClaudeCode, "{\n\"disableAllHooks\": true}"),
            (Agent::ClaudeCode, "{\n\"disableAllHooks\": \"yes\"}"),
            (Agent::Copilot, "{\"version\": 1,\n\"disableAllHooks\": true}"),
            (Agent::GeminiCli, "{\n\"hooksConfig\": {\"enabled\": false}}"),
            (Agent::GeminiCli, "{\"hooksConfig\": {\n\"disabled\": [\"lockgate\"]}}"),
        ] {
            let mistake = installed(agent, "", Some(text)).unwrap_err();
            assert!(mistake.line == 2 && mistake.reason.contains("turns"), "{mistake:?}");
        }
        assert!(installed(Agent::ClaudeCode, "", Some("{\"disableAllHooks\": false}")).is_ok());
    }

    #[test]
    fn hooks_that_are_turned_off_elsewhere_are_told() {
        for (file, scope, is_told) in [
            ("project/.claude/settings.json", Scope::Project, true),
            ("home/.claude/settings.json", Scope::Project, true),
            ("project/.claude/settings.json", Scope::User, true),
            ("project/.claude/other.json", Scope::Project, false),
        ] {
            let (top, environment) = world("off");
            write(&top.join(file), "{\"disableAllHooks\": true}");
            let job = Job::Install(Path::new(PROGRAM));
            let planned = plan(&job, &[Agent::ClaudeCode], scope, &top.join("project"), &environment);
            assert_eq!(planned.is_err(), is_told, "{file}");
            let removed = plan(&Job::Remove, &[Agent::ClaudeCode], scope, &top.join("project"), &environment);
            assert!(removed.is_ok(), "{file}");
            fs::remove_dir_all(&top).unwrap();
        }
    }

    #[test]
    fn scripts_name_the_program_and_are_known_by_their_first_line() {
        for (agent, file) in [(Agent::OpenCode, "lockgate.js"), (Agent::OpenClaw, "x/index.js")] {
            let script = installed(agent, file, None).unwrap();
            assert!(script.contains(&format!("\"{PROGRAM}\"")), "{script}");
            assert!(!script.contains("__LOCKGATE__"), "{script}");
            let older = format!("{}\nold();\n", script.lines().next().unwrap());
            assert_eq!(installed(agent, file, Some(&older)).unwrap(), script);
            assert_eq!(agent.host().removed(Path::new(file), &older), Ok(None));
            assert!(installed(agent, file, Some("mine();\n")).is_err());
            let kept = agent.host().removed(Path::new(file), "mine();\n");
            assert_eq!(kept, Ok(Some("mine();\n".to_owned())));
        }
        let quoted = HookCommand::new(Path::new("/a\"b\\c/lockgate"), Agent::OpenCode).unwrap();
        let script = Agent::OpenCode.host().installed(Path::new(""), None, &quoted).unwrap();
        assert!(script.contains(r#""/a\"b\\c/lockgate""#), "{script}");
        let manifest = installed(Agent::OpenClaw, "openclaw.plugin.json", None).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(&manifest).unwrap().get("configSchema").is_some());
        assert!(installed(Agent::OpenClaw, "package.json", Some("{\"name\": \"mine\"}")).is_err());
    }

    #[test]
    fn an_agent_is_in_use_where_it_left_traces() {
        for (sign, agent) in [
            ("project/.claude/x", Agent::ClaudeCode),
            ("home/.claude/x", Agent::ClaudeCode),
            ("bin/claude", Agent::ClaudeCode),
            ("home/.codex/x", Agent::Codex),
            ("bin/gemini", Agent::GeminiCli),
            ("project/.github/hooks/x", Agent::Copilot),
            ("project/.cursor/x", Agent::Cursor),
            ("project/opencode.json", Agent::OpenCode),
            ("home/.openclaw/x", Agent::OpenClaw),
        ] {
            let (top, environment) = world("traces");
            write(&top.join(sign), "");
            let in_use = |agent: &&Agent| agent.is_in_use(&top.join("project"), &environment);
            assert_eq!(Agent::ALL.iter().filter(in_use).collect::<Vec<_>>(), [&agent], "{sign}");
            fs::remove_dir_all(&top).unwrap();
        }
    }

    #[test]
    fn all_files_of_all_agents_come_and_go() {
        for scope in [Scope::Project, Scope::User] {
            let (top, environment) = world(&format!("all-{scope:?}"));
            let project = top.join("project");
            let mine = "{\n  \"hooks\": {}, // mine\n}";
            let kept = match scope {
                Scope::Project => project.join(".gemini/settings.json"),
                Scope::User => top.join("home/.gemini/settings.json"),
            };
            write(&kept, mine);
            let job = Job::Install(Path::new(PROGRAM));
            let install = || plan(&job, Agent::ALL, scope, &project, &environment).unwrap();
            install().carry_out().unwrap();
            assert_eq!(install().changes().count(), 0);
            for agent in Agent::ALL {
                assert!(is_installed(*agent, scope, &project, &environment), "{agent}");
            }
            let remove = || plan(&Job::Remove, Agent::ALL, scope, &project, &environment).unwrap();
            remove().carry_out().unwrap();
            assert_eq!(remove().changes().count(), 0);
            assert_eq!(fs::read_to_string(&kept).unwrap(), mine);
            let left: Vec<PathBuf> = files_below(&top);
            assert_eq!(left, [kept]);
            fs::remove_dir_all(&top).unwrap();
        }
    }

    fn files_below(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { Vec::from([path]) }).collect()
    }

    #[test]
    fn one_broken_file_keeps_all_others_as_they_are() {
        let (top, environment) = world("broken");
        let project = top.join("project");
        write(&project.join(".gemini/settings.json"), "{\n\"hooks\": ");
        write(&project.join(".cursor/hooks.json"), "[]");
        let job = Job::Install(Path::new(PROGRAM));
        let errors = plan(&job, Agent::ALL, Scope::Project, &project, &environment).unwrap_err();
        let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 2, "{shown:?}");
        assert!(shown[0].contains(".gemini/settings.json:2: it is no JSON"), "{shown:?}");
        assert_eq!(files_below(&top).len(), 2);
        fs::remove_dir_all(&top).unwrap();
    }

    #[test]
    fn what_was_written_meanwhile_is_not_lost() {
        let (top, environment) = world("meanwhile");
        let project = top.join("project");
        let job = Job::Install(Path::new(PROGRAM));
        let agents = [Agent::ClaudeCode, Agent::Codex];
        let planned = plan(&job, &agents, Scope::Project, &project, &environment).unwrap();
        write(&project.join(".codex/hooks.json"), "{}");
        let error = planned.carry_out().unwrap_err().to_string();
        assert!(error.contains("it has changed meanwhile"), "{error}");
        assert_eq!(files_below(&top).len(), 1);
        fs::remove_dir_all(&top).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_inside_and_refused_where_they_lead_out() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let (top, environment) = world("links");
        let project = top.join("project");
        let job = Job::Install(Path::new(PROGRAM));
        let install = |agent| plan(&job, &[agent], Scope::Project, &project, &environment);
        write(&project.join("real.json"), "{}");
        fs::set_permissions(project.join("real.json"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::create_dir_all(project.join(".codex")).unwrap();
        symlink(project.join("real.json"), project.join(".codex/hooks.json")).unwrap();
        install(Agent::Codex).unwrap().carry_out().unwrap();
        assert!(fs::symlink_metadata(project.join(".codex/hooks.json")).unwrap().is_symlink());
        let real = fs::metadata(project.join("real.json")).unwrap();
        assert!(real.len() > 2 && real.permissions().mode() & 0o777 == 0o600);

        write(&top.join("outside/settings.json"), "{}");
        symlink(top.join("outside"), project.join(".gemini")).unwrap();
        fs::create_dir_all(project.join(".cursor")).unwrap();
        symlink(top.join("nowhere"), project.join(".cursor/hooks.json")).unwrap();
        for agent in [Agent::GeminiCli, Agent::Cursor] {
            let errors = install(agent).unwrap_err();
            let shown = errors[0].to_string();
            assert!(
                shown.contains("it is a link that leads out") || shown.contains("cannot follow"),
                "{shown}"
            );
        }
        assert_eq!(fs::read_to_string(top.join("outside/settings.json")).unwrap(), "{}");
        assert!(!top.join("nowhere").exists());
        fs::remove_dir_all(&top).unwrap();
    }
}
