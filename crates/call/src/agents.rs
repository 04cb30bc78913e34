//! The coding agents Lockgate knows, and what their own tools are called: one table.
//!
//! [`AGENTS`] names the tools as rules see them, which is how the hooks of each agent tell them. Everything that wants to
//! know an agent's tools asks here: `map any shell`, the starter policy, and the findings about names that no tool has.
//! An agent may have tools that are missing in its row, from a newer version, a plugin or an MCP server; so a name that is
//! not in the table is never proof of a mistake.

/// A coding agent and its tools.
#[derive(Debug)]
pub struct AgentTools {
    /// The agent's name on the command line.
    pub agent: &'static str,
    /// The tools that run a script, each with the field that holds it; the one it always has comes first.
    pub shells: &'static [(&'static str, &'static str)],
    /// The tool that reads a file, with the field that names the file.
    pub reader: Option<(&'static str, &'static str)>,
    /// The other tools it comes with.
    pub others: &'static [&'static str],
    /// How it names the tools of MCP servers.
    mcp: McpNames,
}

/// How an agent names the tools of MCP servers.
#[derive(Clone, Copy, Debug)]
enum McpNames {
    /// They start with this.
    After(&'static str),
    /// They have this in the middle.
    Around(&'static str),
}

/// The tools of Claude Code beside shells and `Read`; those that it had in earlier versions too.
const CLAUDE_CODE: &[&str] = &[
    "Agent",
    "Artifact",
    "AskUserQuestion",
    "BashOutput",
    "CronCreate",
    "CronDelete",
    "CronList",
    "Edit",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "Glob",
    "Grep",
    "KillBash",
    "KillShell",
    "LS",
    "LSP",
    "ListMcpResourcesTool",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "PushNotification",
    "ReadMcpResourceTool",
    "RemoteTrigger",
    "SendMessage",
    "Skill",
    "SlashCommand",
    "StructuredOutput",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TeamCreate",
    "TeamDelete",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// All agents that Lockgate has hooks for.
pub const AGENTS: &[AgentTools] = &[
    AgentTools {
        agent: "claude-code",
        shells: &[("Bash", "command"), ("PowerShell", "command"), ("Monitor", "command")],
        reader: Some(("Read", "file_path")),
        others: CLAUDE_CODE,
        mcp: McpNames::After("mcp__"),
    },
    AgentTools {
        agent: "codex",
        // Its hooks tell every shell as `Bash`; the other names are those that its model calls.
        shells: &[
            ("Bash", "command"),
            ("shell", "command"),
            ("local_shell", "command"),
            ("shell_command", "command"),
            ("exec_command", "cmd"),
        ],
        reader: None,
        others: &[
            "apply_patch",
            "request_user_input",
            "update_plan",
            "view_image",
            "web_search",
            "write_stdin",
        ],
        mcp: McpNames::After("mcp__"),
    },
    AgentTools {
        agent: "gemini-cli",
        shells: &[("run_shell_command", "command")],
        reader: Some(("read_file", "file_path")),
        others: &[
            "activate_skill",
            "ask_user",
            "codebase_investigator",
            "complete_task",
            "delegate_to_agent",
            "enter_plan_mode",
            "exit_plan_mode",
            "get_internal_docs",
            "glob",
            "google_web_search",
            "grep_search",
            "list_directory",
            "read_many_files",
            "replace",
            "save_memory",
            "search_file_content",
            "web_fetch",
            "write_file",
            "write_todos",
        ],
        mcp: McpNames::After("mcp_"),
    },
    AgentTools {
        agent: "copilot",
        // Its hooks tell the tools that Claude Code has too under the names of Claude Code.
        shells: &[("Bash", "command")],
        reader: Some(("Read", "path")),
        others: &[
            "Agent",
            "AskUserQuestion",
            "Edit",
            "Glob",
            "Grep",
            "TodoWrite",
            "WebFetch",
            "WebSearch",
            "Write",
            "list_agents",
            "list_bash",
            "read_agent",
            "read_bash",
            "report_intent",
            "skill",
            "sql",
            "stop_bash",
            "store_memory",
            "write_bash",
        ],
        mcp: McpNames::Around("-"),
    },
    AgentTools {
        agent: "cursor",
        shells: &[("Shell", "command")],
        reader: Some(("Read", "path")),
        others: &[
            "AskQuestion",
            "CreatePlan",
            "Delete",
            "Edit",
            "EditNotebook",
            "Fetch",
            "GenerateImage",
            "Glob",
            "Grep",
            "LS",
            "ListMcpResources",
            "ReadLints",
            "ReadMcpResource",
            "SemanticSearch",
            "StrReplace",
            "SwitchMode",
            "TabRead",
            "TabWrite",
            "Task",
            "TodoWrite",
            "WebFetch",
            "WebSearch",
            "Write",
            "WriteShellStdin",
        ],
        mcp: McpNames::After("MCP:"),
    },
    AgentTools {
        agent: "opencode",
        shells: &[("bash", "command")],
        reader: Some(("read", "filePath")),
        others: &[
            "apply_patch",
            "codesearch",
            "edit",
            "glob",
            "grep",
            "invalid",
            "list",
            "lsp",
            "multiedit",
            "patch",
            "plan_enter",
            "plan_exit",
            "question",
            "skill",
            "task",
            "todoread",
            "todowrite",
            "webfetch",
            "websearch",
            "write",
        ],
        mcp: McpNames::Around("_"),
    },
    AgentTools {
        agent: "openclaw",
        shells: &[("exec", "command"), ("bash", "command")],
        reader: Some(("read", "path")),
        others: &[
            "agents_list",
            "apply_patch",
            "browser",
            "canvas",
            "cron",
            "edit",
            "gateway",
            "image",
            "memory_get",
            "memory_search",
            "message",
            "nodes",
            "process",
            "session_status",
            "sessions_history",
            "sessions_list",
            "sessions_send",
            "sessions_spawn",
            "subagents",
            "tts",
            "web_fetch",
            "web_search",
            "write",
        ],
        mcp: McpNames::Around("__"),
    },
];

/// The agent of this name.
#[must_use]
pub fn agent_tools(agent: &str) -> Option<&'static AgentTools> {
    AGENTS.iter().find(|row| row.agent == agent)
}

/// The shell tools of all agents, each name once: what `any shell` stands for in a policy.
#[must_use]
pub fn shell_tools() -> Vec<&'static str> {
    let mut names: Vec<&str> = AGENTS.iter().flat_map(|row| row.shells).map(|(tool, _)| *tool).collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl AgentTools {
    /// The names of all its tools.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let shells = self.shells.iter().map(|(tool, _)| *tool);
        shells.chain(self.reader.map(|(tool, _)| tool)).chain(self.others.iter().copied())
    }

    /// Whether it has a tool of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Whether a tool of an MCP server could have this name here.
    #[must_use]
    pub fn may_be_of_server(&self, name: &str) -> bool {
        match self.mcp {
            McpNames::After(start) => name.starts_with(start),
            McpNames::Around(between) => {
                let parts = name.split_once(between);
                parts.is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_row_names_each_tool_once() {
        for row in AGENTS {
            let names: Vec<&str> = row.names().collect();
            let unique: BTreeSet<&str> = names.iter().copied().collect();
            assert_eq!(names.len(), unique.len(), "{}", row.agent);
            assert!(!row.shells.is_empty(), "{}", row.agent);
            assert!(row.others.is_sorted(), "{}", row.agent);
        }
    }

    #[test]
    fn the_shell_of_each_agent_is_a_shell() {
        let shells = shell_tools();
        for (agent, shell) in [
            ("claude-code", "Bash"),
            ("codex", "shell"),
            ("gemini-cli", "run_shell_command"),
            ("copilot", "Bash"),
            ("cursor", "Shell"),
            ("opencode", "bash"),
            ("openclaw", "exec"),
        ] {
            assert!(agent_tools(agent).unwrap().has(shell), "{agent}");
            assert!(shells.contains(&shell), "{shell}");
        }
        assert!(shells.is_sorted());
        assert!(agent_tools("nobody").is_none());
    }

    #[test]
    fn tools_of_servers_are_known_by_their_names() {
        for (agent, name, expected) in [
            ("claude-code", "mcp__fs__read", true),
            ("claude-code", "fs_read", false),
            ("gemini-cli", "mcp_fs_read", true),
            ("copilot", "fs-read", true),
            ("cursor", "MCP:read", true),
            ("opencode", "fs_read", true),
            ("opencode", "deploy", false),
            ("openclaw", "fs__read", true),
            ("openclaw", "__read", false),
        ] {
            assert_eq!(agent_tools(agent).unwrap().may_be_of_server(name), expected, "{agent} {name}");
        }
    }
}
