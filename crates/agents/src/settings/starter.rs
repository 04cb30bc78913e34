//! The first policy.

use crate::agents::Agent;

/// The file that `lockgate init` puts a first policy into.
pub const STARTER: &str = "policy.rules";

/// The policy that `lockgate init` writes for these agents, and that is built in for all of them.
pub fn starter_policy(_agents: &[Agent]) -> String {
    // What it says in effects holds for the tools of every agent.
    include_str!("../../assets/policy.rules").to_owned()
}
