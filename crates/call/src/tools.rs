//! What the tools of coding agents and common servers do: one table.
//!
//! A tool is a row of `table.rs`: its name as rules see it, the agents that come with it, the field that counts, and what it
//! does. Everything that wants to know an agent's tools asks here: `map any shell`, the starter policy, self-protection,
//! workflows and the findings about names that no tool has. An agent may have tools that are missing, from a newer
//! version, a plugin or an MCP server: a name without a row is never proof of a mistake, and such a tool may do anything.
//! Of what a tool says about itself only warnings count (`annotations.rs`): its author wrote that as well.

mod annotations;
pub(crate) mod input;
mod table;
mod tool;

use table::TOOLS;
use tool::Tool;

use crate::programs::effects::EffectKind;

pub(crate) use annotations::warned_of;
pub use annotations::{warned_effects, warnings};
pub(crate) use tool::Does;

/// A coding agent that Lockgate has hooks for.
#[derive(Debug)]
pub struct AgentTools {
    /// The agent's name on the command line.
    pub agent: &'static str,
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

/// All agents that Lockgate has hooks for. The names of their tools are those that their hooks tell: Codex tells every
/// shell as `Bash`, and Copilot the tools that Claude Code has too under the names of Claude Code.
pub const AGENTS: &[AgentTools] = &[
    AgentTools { agent: "claude-code", mcp: McpNames::After("mcp__") },
    AgentTools { agent: "codex", mcp: McpNames::After("mcp__") },
    AgentTools { agent: "gemini-cli", mcp: McpNames::After("mcp_") },
    AgentTools { agent: "copilot", mcp: McpNames::Around("-") },
    AgentTools { agent: "cursor", mcp: McpNames::After("MCP:") },
    AgentTools { agent: "opencode", mcp: McpNames::Around("_") },
    AgentTools { agent: "openclaw", mcp: McpNames::Around("__") },
];

/// The agent of this name.
#[must_use]
pub fn agent_tools(agent: &str) -> Option<&'static AgentTools> {
    AGENTS.iter().find(|row| row.agent == agent)
}

/// Whether some agent has a tool of this name.
#[must_use]
pub fn is_agent_tool(name: &str) -> bool {
    agent_tool_names().any(|tool| tool == name)
}

/// The names of the tools of all agents, some more than once.
pub fn agent_tool_names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().filter(|tool| !tool.agents.is_empty()).map(|tool| tool.name)
}

/// The shell tools of all agents, each name once: what `any shell` stands for in a policy.
#[must_use]
pub fn shell_tools() -> Vec<&'static str> {
    let shells = TOOLS.iter().filter(|tool| tool.does == Does::RunsScript);
    let mut names: Vec<&str> = shells.map(|tool| tool.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether a tool of this name is known to start no program, so that no command can stand in its input.
#[must_use]
pub fn runs_nothing(tool: &str) -> bool {
    rows(tool).any(|tool| tool.does.runs_nothing() && !tool.is_common)
}

/// What a tool of this name is known to do, and whether tools of other servers have this name too.
pub(crate) fn does(tool: &str) -> Option<(Does, bool)> {
    rows(tool).next().map(|tool| (tool.does, tool.is_common))
}

/// What a tool of this name is known to do beside reading, whatever its input; none for those that run scripts.
#[must_use]
pub fn tool_effect(tool: &str) -> Option<EffectKind> {
    let (does, is_common) = does(tool)?;
    match does {
        _ if is_common => None,
        Does::Writes if tool.to_ascii_lowercase().contains("delete") => Some(EffectKind::Deletion),
        Does::Writes => Some(EffectKind::Write),
        Does::Fetches => Some(EffectKind::Download),
        _ => None,
    }
}

/// Whether a tool of this name is known to do nothing but show one file.
#[must_use]
pub fn reads_one_file(tool: &str) -> bool {
    rows(tool).any(|tool| tool.does == Does::ReadsFile)
}

/// The tools of agents and of the filesystem server of MCP that only read what their fields name.
#[must_use]
pub fn reading_tools() -> Vec<&'static str> {
    let reads = |tool: &&Tool| matches!(tool.does, Does::ReadsFile | Does::Looks) && tool.has_owner();
    TOOLS.iter().filter(reads).map(|tool| tool.name).collect()
}

/// The rows of a tool, by its exact name behind any `mcp__server__`.
fn rows(tool: &str) -> impl Iterator<Item = &'static Tool> {
    let name = without_server(tool);
    TOOLS.iter().filter(move |tool| tool.name == name)
}

/// The name without `mcp__server__`. Where a server's name ends is told by the first `__`, so that no tool can put
/// a known name behind its own.
pub fn without_server(tool: &str) -> &str {
    let named = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    named.filter(|(server, _)| !server.is_empty()).map_or(tool, |(_, name)| name)
}

impl AgentTools {
    /// Its tools that run a script, each with the field that holds it; the one it always has comes first.
    pub fn shells(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.rows().filter(|tool| tool.does == Does::RunsScript).map(|tool| (tool.name, tool.field))
    }

    /// The tool that reads a file, with the field that names the file.
    #[must_use]
    pub fn reader(&self) -> Option<(&'static str, &'static str)> {
        let reader = self.rows().find(|tool| tool.does == Does::ReadsFile && !tool.field.is_empty());
        reader.map(|tool| (tool.name, tool.field))
    }

    /// The names of all its tools.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.rows().map(|tool| tool.name)
    }

    /// Whether it has a tool of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        TOOLS.iter().any(|tool| tool.name == name && tool.is_of(self.agent))
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

    fn rows(&self) -> impl Iterator<Item = &'static Tool> {
        let agent = self.agent;
        TOOLS.iter().filter(move |tool| tool.is_of(agent))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_agent_has_each_tool_once() {
        for agent in AGENTS {
            let names: Vec<&str> = agent.names().collect();
            let unique: BTreeSet<&str> = names.iter().copied().collect();
            assert_eq!(names.len(), unique.len(), "{}", agent.agent);
            assert!(agent.shells().next().is_some(), "{}", agent.agent);
        }
    }

    #[test]
    fn every_tool_belongs_to_agents_that_are_known() {
        for tool in TOOLS {
            let owners = tool.agents.split_ascii_whitespace().chain(tool.inner.split_ascii_whitespace());
            for owner in owners {
                assert!(agent_tools(owner).is_some(), "{}: {owner}", tool.name);
            }
            let needs_field = tool.does == Does::RunsScript;
            assert!(!needs_field || !tool.field.is_empty(), "{}", tool.name);
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

    #[test]
    fn a_tool_is_known_by_its_exact_name() {
        let rows = [
            ("Read", true, true),
            ("read_file", true, true),
            ("mcp__fs__read_file", true, true),
            ("mcp__fs__write_file", true, false),
            ("Write", true, false),
            ("TodoWrite", true, false),
            ("mcp__fs__Grep", true, false),
            ("Bash", false, false),
            ("READ", false, false),
            ("Read ", false, false),
            ("ReadAndRun", false, false),
            ("", false, false),
            ("mcp__read_file", false, false),
            ("mcp____read_file", false, false),
            ("mcp__evil__run__read_file", false, false),
            ("x__read_file", false, false),
            ("mcp__fs__", false, false),
        ];
        for (tool, runs_none, reads_one) in rows {
            assert_eq!((runs_nothing(tool), reads_one_file(tool)), (runs_none, reads_one), "{tool}");
        }
    }

    #[test]
    fn readers_belong_to_agents_or_to_the_filesystem_server() {
        for (tool, expected) in [
            ("Read", true),
            ("read_text_file", true),
            ("ls", true),
            ("view", true),
            ("cat_file", false),
            ("view_file", false),
            ("Write", false),
            ("Bash", false),
        ] {
            assert_eq!(reading_tools().contains(&tool), expected, "{tool}");
        }
    }

    #[test]
    fn a_name_that_other_tools_have_too_may_run_anything() {
        for tool in ["list", "ls", "replace", "patch", "Fetch"] {
            assert!(!runs_nothing(tool), "{tool}");
        }
    }
}
