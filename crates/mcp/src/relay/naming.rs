//! What rules call the tools of a server, and which session and call of a host a message belongs to.
//!
//! Where the client is an agent with hooks, both doors see the same call; they must call it the same, so that it is
//! judged once and counts once. This file alone knows how each agent names things.

use serde_json::{Map, Value};

/// What rules call the tools of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Naming {
    server: Option<String>,
    host: Option<String>,
}

impl Naming {
    /// As the server itself does.
    pub fn plain() -> Self {
        Self::default()
    }

    /// As clients do that know the server under this name.
    pub fn of_server(server: impl Into<String>) -> Self {
        Self { server: Some(server.into()), host: None }
    }

    /// As the hooks of this agent do.
    #[must_use]
    pub fn at_host(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// The server's name, where it has one.
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// The agent, where it is known.
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// What rules call a tool.
    pub fn judged(&self, tool: &str) -> String {
        let Some(server) = &self.server else { return tool.to_owned() };
        let plain = |text: &str| -> String {
            text.chars().map(|it| if it.is_ascii_alphanumeric() || it == '-' { it } else { '_' }).collect()
        };
        match self.host.as_deref() {
            Some("gemini-cli") => format!("mcp_{}_{}", plain(server), plain(tool)),
            Some("copilot") => format!("{server}-{tool}"),
            Some("cursor") => format!("MCP:{tool}"),
            Some("opencode") => format!("{}_{}", plain(server), plain(tool)),
            Some("openclaw") => format!("{server}__{tool}"),
            _ => format!("mcp__{}__{}", plain(server), plain(tool)),
        }
    }

    /// The host's own name of a call, where it says one on the wire.
    pub(super) fn call_id(&self, meta: Option<&Map<String, Value>>) -> Option<String> {
        let field = match self.host.as_deref()? {
            "claude-code" => "claudecode/toolUseId",
            "codex" => "callId",
            _ => return None,
        };
        meta?.get(field)?.as_str().filter(|id| !id.is_empty()).map(ToOwned::to_owned)
    }

    /// The session of a call, where its host says one on the wire.
    pub(super) fn session(&self, meta: Option<&Map<String, Value>>) -> Option<String> {
        if self.host.as_deref()? != "codex" {
            return None;
        }
        let turn = meta?.get("x-codex-turn-metadata")?;
        let read = turn.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let session = read.as_ref().unwrap_or(turn).get("session_id")?.as_str()?;
        (!session.is_empty()).then(|| format!("codex/{session}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_are_called_as_the_hooks_of_the_host_call_them() {
        for (host, judged) in [
            (None, "mcp__my_docs__read file"),
            (Some("claude-code"), "mcp__my_docs__read_file"),
            (Some("codex"), "mcp__my_docs__read_file"),
            (Some("gemini-cli"), "mcp_my_docs_read_file"),
            (Some("copilot"), "my docs-read file"),
            (Some("cursor"), "MCP:read file"),
        ] {
            let naming = Naming { server: Some("my docs".into()), host: host.map(Into::into) };
            assert_eq!(
                naming.judged("read file"),
                judged
                    .replace("read file", if judged.starts_with("mcp") { "read_file" } else { "read file" })
            );
        }
        assert_eq!(Naming::plain().judged("read file"), "read file");
    }

    #[test]
    fn a_call_is_joined_with_what_its_host_says_and_nobody_else() {
        let claude = json!({ "claudecode/toolUseId": "toolu_1", "callId": "other" });
        let codex = json!({ "callId": "call_1", "x-codex-turn-metadata": { "session_id": "s" } });
        let text = json!({ "x-codex-turn-metadata": "{\"session_id\":\"s\"}" });
        let at = |host: &str| Naming::of_server("a").at_host(host);
        assert_eq!(at("claude-code").call_id(claude.as_object()).as_deref(), Some("toolu_1"));
        assert_eq!(at("codex").call_id(codex.as_object()).as_deref(), Some("call_1"));
        assert_eq!(at("codex").session(codex.as_object()).as_deref(), Some("codex/s"));
        assert_eq!(at("codex").session(text.as_object()).as_deref(), Some("codex/s"));
        assert_eq!(at("claude-code").session(codex.as_object()), None);
        assert_eq!(Naming::of_server("a").call_id(claude.as_object()), None);
        assert_eq!(at("codex").call_id(None), None);
    }
}
