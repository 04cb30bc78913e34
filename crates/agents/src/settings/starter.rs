//! The first policy.

use crate::agents::Agent;

/// The file that `lockgate init` puts a first policy into.
pub const STARTER: &str = "policy.rules";

/// The policy that `lockgate init` writes for these agents, and that is built in for all of them.
pub fn starter_policy(agents: &[Agent]) -> String {
    let reader = |agent: &Agent| agent.tools()?.reader().map(|(tool, field)| format!("{tool}.{field}"));
    let mut readers: Vec<String> = agents.iter().filter_map(reader).collect();
    readers.sort_unstable();
    readers.dedup();
    let mut text = String::new();
    for line in include_str!("../../assets/policy.rules").lines() {
        if !line.starts_with("map READING") {
            text.push_str(line);
            text.push('\n');
            continue;
        }
        for reader in &readers {
            text.push_str(&line.replacen("READING", reader, 1));
            text.push('\n');
        }
    }
    text
}
