//! The agents: how each is told to talk to the stub, and what it calls its shell.
//!
//! Each is started as in an unattended run with its own permissions switched off, so that nothing but Lockgate can
//! stand in the way of a call. The hooks themselves are written by `lockgate init`.

use std::path::PathBuf;

use lockgate_e2e::{Package, Turn};
use serde_json::json;

use crate::stage::Stage;

/// A coding agent.
pub(crate) struct Agent {
    /// What `lockgate init` calls it.
    pub(crate) name: &'static str,
    pub(crate) package: Package,
    /// The name of its program.
    pub(crate) program: &'static str,
    /// The variable that has to be 1 before it is fetched and run, where its licence asks for a choice.
    pub(crate) opt_in: Option<&'static str>,
    /// What hooks, and so rules, call its shell.
    pub(crate) shell: &'static str,
    /// What its model calls the shell, and the field of the command.
    asks_for: (&'static str, &'static str),
    /// The file in the project that holds the hooks.
    pub(crate) hooks: &'static str,
    arguments: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
    /// What it would install itself into folders of the stage, at every first start; fetched once instead.
    pub(crate) brings: Option<(Package, &'static [&'static str])>,
    /// Files of its own, below the home folder.
    files: fn(&Stage) -> Vec<(&'static str, String)>,
}

/// All that are tried here.
pub(crate) const AGENTS: &[Agent] = &[
    Agent {
        name: "codex",
        package: Package { name: "@openai/codex", version: "0.166.0" },
        program: "codex",
        opt_in: None,
        shell: "Bash",
        asks_for: ("exec_command", "cmd"),
        hooks: ".codex/hooks.json",
        arguments: &[
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            // Otherwise nobody has agreed to the hooks, and they are not run.
            "--dangerously-bypass-hook-trust",
            "go",
        ],
        variables: &[("STUB_KEY", "none")],
        brings: None,
        files: |stage| {
            let (project, port) = (stage.project(), stage.port());
            let text = format!(
                "model = \"stub-model\"\nmodel_provider = \"stub\"\n\
                 [projects.\"{}\"]\ntrust_level = \"trusted\"\n\
                 [model_providers.stub]\nname = \"stub\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n\
                 wire_api = \"responses\"\nenv_key = \"STUB_KEY\"\n",
                project.display()
            );
            Vec::from([(".codex/config.toml", text)])
        },
    },
    Agent {
        name: "gemini-cli",
        package: Package { name: "@google/gemini-cli", version: "0.61.0" },
        program: "gemini",
        opt_in: None,
        shell: "run_shell_command",
        asks_for: ("run_shell_command", "command"),
        hooks: ".gemini/settings.json",
        arguments: &["-p", "go", "--yolo", "--skip-trust", "-m", "gemini-2.5-flash"],
        variables: &[
            ("GEMINI_API_KEY", "none"),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
            ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:PORT"),
        ],
        brings: None,
        files: |_| {
            let settings = json!({
                "security": { "auth": { "selectedType": "gemini-api-key" } },
                "general": { "disableAutoUpdate": true, "enableAutoUpdate": false },
                "privacy": { "usageStatisticsEnabled": false },
                "telemetry": { "enabled": false },
            });
            Vec::from([(".gemini/settings.json", settings.to_string())])
        },
    },
    Agent {
        name: "opencode",
        package: Package { name: "opencode-ai", version: "1.18.33" },
        program: "opencode",
        opt_in: None,
        shell: "bash",
        asks_for: ("bash", "command"),
        hooks: ".opencode/plugins/lockgate.js",
        arguments: &["run", "--model", "stub/stub-model", "go"],
        variables: &[("OPENCODE_DISABLE_MODELS_FETCH", "1"), ("OPENCODE_DISABLE_AUTOUPDATE", "1")],
        brings: Some((
            Package { name: "@opencode-ai/plugin", version: "1.18.33" },
            &["project/.opencode", "home/.config/opencode"],
        )),
        files: |stage| {
            let settings = json!({
                "provider": { "stub": {
                    "npm": "@ai-sdk/openai-compatible",
                    "name": "stub",
                    "options": { "baseURL": format!("http://127.0.0.1:{}/v1", stage.port()), "apiKey": "none" },
                    "models": { "stub-model": { "name": "stub" } },
                } },
                "permission": { "*": "allow" },
                "share": "disabled",
            });
            Vec::from([(".config/opencode/opencode.json", settings.to_string())])
        },
    },
    Agent {
        name: "claude-code",
        package: Package { name: "@anthropic-ai/claude-code", version: "2.1.325" },
        program: "claude",
        opt_in: Some("LOCKGATE_E2E_CLAUDE"),
        shell: "Bash",
        asks_for: ("Bash", "command"),
        hooks: ".claude/settings.local.json",
        arguments: &["-p", "go", "--output-format", "json", "--dangerously-skip-permissions"],
        variables: &[
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:PORT"),
            ("ANTHROPIC_API_KEY", "none"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            // It would not skip its own permissions under root elsewhere.
            ("IS_SANDBOX", "1"),
        ],
        brings: None,
        files: |_| Vec::new(),
    },
    Agent {
        name: "copilot",
        package: Package { name: "@github/copilot", version: "1.0.102" },
        program: "copilot",
        opt_in: Some("LOCKGATE_E2E_COPILOT"),
        // As in its other spelling of events, which is Claude Code's.
        shell: "Bash",
        asks_for: ("bash", "command"),
        hooks: ".github/hooks/lockgate.json",
        arguments: &["-p", "go", "--allow-all-tools", "--allow-all-paths", "-s"],
        variables: &[
            ("COPILOT_OFFLINE", "true"),
            ("COPILOT_PROVIDER_BASE_URL", "http://127.0.0.1:PORT/v1"),
            ("COPILOT_PROVIDER_API_KEY", "none"),
            ("COPILOT_MODEL", "stub-model"),
        ],
        brings: None,
        files: |stage| {
            // In a folder that nobody trusts, it leaves out the hooks of the project and says nothing.
            let settings = json!({ "trustedFolders": [stage.project()] });
            Vec::from([(".copilot/config.json", settings.to_string())])
        },
    },
];

impl Agent {
    /// What its model says to have a shell command run.
    pub(crate) fn asks(&self, command: &str) -> Turn {
        let (tool, field) = self.asks_for;
        let input = json!({ field: command, "description": "as the script says" });
        Turn::Tool { tool: tool.to_owned(), input }
    }

    /// Its own settings, with which it finds the stub.
    pub(crate) fn files(&self, stage: &Stage) -> Vec<(PathBuf, String)> {
        (self.files)(stage).into_iter().map(|(path, text)| (stage.home().join(path), text)).collect()
    }

    pub(crate) fn arguments(&self) -> &[&str] {
        self.arguments
    }

    pub(crate) fn variables(&self, stage: &Stage) -> Vec<(&'static str, String)> {
        let port = stage.port().to_string();
        self.variables.iter().map(|(name, value)| (*name, value.replace("PORT", &port))).collect()
    }
}
