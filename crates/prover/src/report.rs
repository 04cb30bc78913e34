//! What is reported about one rule's net.

use lockgate_policy::RuleId;

/// What a rule's net can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetReport {
    /// The rule it is about.
    pub rule: RuleId,
    /// The net's name.
    pub name: String,
    /// How many markings it can reach.
    pub states: u64,
    /// Whether that is all of them; otherwise there are at least so many.
    pub is_exact: bool,
}
