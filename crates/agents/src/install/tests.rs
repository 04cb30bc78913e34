//! What is written for each agent, and taken out again.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::*;
use crate::{
    agents::Agent,
    edit::{HookCommand, Mistake},
    environment::Environment,
};

const PROGRAM: &str = "/opt/my tools/lockgate";

fn installed(agent: &str, file: &str, text: Option<&str>) -> Result<String, Mistake> {
    let command = HookCommand::new(Path::new(PROGRAM), named(agent).name()).unwrap();
    named(agent).profile().installed(Path::new(file), text, &command)
}

fn named(agent: &str) -> Agent {
    Agent::named(agent).unwrap()
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
        ward: None,
    };
    (top, environment)
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn claude_code_blocks_when_the_hook_fails() {
    insta::assert_snapshot!(installed("claude-code", "", None).unwrap(), @r##"
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
        ],
        "UserPromptSubmit": [
          {"hooks": [{"type": "command", "command": "/opt/my tools/lockgate", "args": ["hook", "claude-code"], "timeout": 60}]}
        ]
      }
    }
    "##);
}

#[test]
fn codex_is_given_a_line_that_no_release_changes() {
    insta::assert_snapshot!(installed("codex", "", Some("{}")).unwrap(), @r##"
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
        ],
        "UserPromptSubmit": [
          {"hooks": [{"type": "command", "command": "'/opt/my tools/lockgate' hook codex || { echo 'lockgate: the hook failed, so this is blocked' >&2; exit 2; }", "timeout": 60}]}
        ]
      }
    }
    "##);
}

#[test]
fn gemini_cli_is_given_milliseconds() {
    insta::assert_snapshot!(installed("gemini-cli", "", Some("{\n  \"theme\": \"dark\"\n}\n")).unwrap(), @r##"
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
        ],
        "BeforeAgent": [
          {"hooks": [{"type": "command", "name": "lockgate", "command": "'/opt/my tools/lockgate' hook gemini-cli || { echo 'lockgate: the hook failed, so this is blocked' >&2; exit 2; }", "timeout": 60000}]}
        ]
      }
    }
    "##);
}

#[test]
fn copilot_is_given_a_file_of_its_own() {
    insta::assert_snapshot!(installed("copilot", "", None).unwrap(), @r##"
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
        ],
        "userPromptSubmitted": [
          {"type": "command", "bash": "'/opt/my tools/lockgate' hook copilot", "powershell": "& '/opt/my tools/lockgate' hook copilot", "timeoutSec": 60}
        ]
      },
      "version": 1
    }
    "##);
}

#[test]
fn cursor_fails_closed() {
    let text = "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [{\"command\": \"./mine.sh\"}]\n  }\n}\n";
    insta::assert_snapshot!(installed("cursor", "", Some(text)).unwrap(), @r##"
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
        ],
        "beforeSubmitPrompt": [
          {"command": "'/opt/my tools/lockgate' hook cursor", "timeout": 60}
        ]
      }
    }
    "##);
}

#[test]
fn every_event_of_a_call_is_hooked_once() {
    for (agent, before) in [
        ("claude-code", "PreToolUse"),
        ("codex", "PreToolUse"),
        ("gemini-cli", "BeforeTool"),
        ("copilot", "preToolUse"),
        ("cursor", "preToolUse"),
    ] {
        let text = installed(agent, "", None).unwrap();
        let root: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(root["hooks"][before].as_array().unwrap().len(), 1, "{text}");
        assert!(root["hooks"].get("beforeShellExecution").is_none(), "{text}");
        assert_eq!(installed(agent, "", Some(&text)).unwrap(), text, "twice is once");
        assert_eq!(named(agent).profile().removed(Path::new(""), &text), Ok(None), "{text}");
    }
}

#[test]
fn hooks_that_are_turned_off_are_told() {
    for (agent, text) in [
        ("claude-code", "{\n\"disableAllHooks\": true}"),
        ("claude-code", "{\n\"disableAllHooks\": \"yes\"}"),
        ("copilot", "{\"version\": 1,\n\"disableAllHooks\": true}"),
        ("gemini-cli", "{\n\"hooksConfig\": {\"enabled\": false}}"),
        ("gemini-cli", "{\"hooksConfig\": {\n\"disabled\": [\"lockgate\"]}}"),
    ] {
        let mistake = installed(agent, "", Some(text)).unwrap_err();
        assert!(mistake.line == 2 && mistake.reason.contains("turns"), "{mistake:?}");
    }
    assert!(installed("claude-code", "", Some("{\"disableAllHooks\": false}")).is_ok());
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
        let planned = plan(&job, &[named("claude-code")], scope, &top.join("project"), &environment);
        assert_eq!(planned.is_err(), is_told, "{file}");
        let removed = plan(&Job::Remove, &[named("claude-code")], scope, &top.join("project"), &environment);
        assert!(removed.is_ok(), "{file}");
        fs::remove_dir_all(&top).unwrap();
    }
}

#[test]
fn scripts_name_the_program_and_are_known_by_their_first_line() {
    for (agent, file) in [("opencode", "lockgate.js"), ("openclaw", "x/index.js")] {
        let script = installed(agent, file, None).unwrap();
        assert!(script.contains(&format!("\"{PROGRAM}\"")), "{script}");
        assert!(!script.contains("__LOCKGATE__"), "{script}");
        let older = format!("{}\nold();\n", script.lines().next().unwrap());
        assert_eq!(installed(agent, file, Some(&older)).unwrap(), script);
        assert_eq!(named(agent).profile().removed(Path::new(file), &older), Ok(None));
        assert!(installed(agent, file, Some("mine();\n")).is_err());
        let kept = named(agent).profile().removed(Path::new(file), "mine();\n");
        assert_eq!(kept, Ok(Some("mine();\n".to_owned())));
    }
    let quoted = HookCommand::new(Path::new("/a\"b\\c/lockgate"), "opencode").unwrap();
    let script = named("opencode").profile().installed(Path::new(""), None, &quoted).unwrap();
    assert!(script.contains(r#""/a\"b\\c/lockgate""#), "{script}");
    let manifest = installed("openclaw", "openclaw.plugin.json", None).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&manifest).unwrap().get("configSchema").is_some());
    assert!(installed("openclaw", "package.json", Some("{\"name\": \"mine\"}")).is_err());
}

#[test]
fn an_agent_is_in_use_where_it_left_traces() {
    for (sign, agent) in [
        ("project/.claude/x", "claude-code"),
        ("home/.claude/x", "claude-code"),
        ("bin/claude", "claude-code"),
        ("home/.codex/x", "codex"),
        ("bin/gemini", "gemini-cli"),
        ("project/.github/hooks/x", "copilot"),
        ("project/.cursor/x", "cursor"),
        ("project/opencode.json", "opencode"),
        ("home/.openclaw/x", "openclaw"),
    ] {
        let (top, environment) = world("traces");
        write(&top.join(sign), "");
        let in_use = |agent: &&Agent| agent.is_in_use(&top.join("project"), &environment);
        assert_eq!(Agent::ALL.iter().filter(in_use).collect::<Vec<_>>(), [&named(agent)], "{sign}");
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
    assert!(shown[0].contains(".gemini/settings.json:2: it is not JSON"), "{shown:?}");
    assert_eq!(files_below(&top).len(), 2);
    fs::remove_dir_all(&top).unwrap();
}

#[test]
fn what_was_written_meanwhile_is_not_lost() {
    let (top, environment) = world("meanwhile");
    let project = top.join("project");
    let job = Job::Install(Path::new(PROGRAM));
    let agents = ["claude-code", "codex"].map(named);
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
    let install = |agent| plan(&job, &[named(agent)], Scope::Project, &project, &environment);
    write(&project.join("real.json"), "{}");
    fs::set_permissions(project.join("real.json"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir_all(project.join(".codex")).unwrap();
    symlink(project.join("real.json"), project.join(".codex/hooks.json")).unwrap();
    install("codex").unwrap().carry_out().unwrap();
    assert!(fs::symlink_metadata(project.join(".codex/hooks.json")).unwrap().is_symlink());
    let real = fs::metadata(project.join("real.json")).unwrap();
    assert!(real.len() > 2 && real.permissions().mode() & 0o777 == 0o600);

    write(&top.join("outside/settings.json"), "{}");
    symlink(top.join("outside"), project.join(".gemini")).unwrap();
    fs::create_dir_all(project.join(".cursor")).unwrap();
    symlink(top.join("nowhere"), project.join(".cursor/hooks.json")).unwrap();
    for agent in ["gemini-cli", "cursor"] {
        let errors = install(agent).unwrap_err();
        let shown = errors[0].to_string();
        assert!(shown.contains("it is a link that leads out") || shown.contains("cannot follow"), "{shown}");
    }
    assert_eq!(fs::read_to_string(top.join("outside/settings.json")).unwrap(), "{}");
    assert!(!top.join("nowhere").exists());
    fs::remove_dir_all(&top).unwrap();
}
