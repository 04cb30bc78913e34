//! By which names the clauses of a policy know their tools.

use std::collections::BTreeMap;

use lockgate_policy::{Policy, RuleId, ToolName};

/// How the clauses of a policy name their tools.
#[derive(Debug)]
pub(in crate::proof) struct Naming {
    by_rule: BTreeMap<RuleId, Vec<Option<ToolName>>>,
    traps: BTreeMap<RuleId, String>,
}

impl Naming {
    pub(in crate::proof) fn of(policy: &Policy) -> Self {
        let clauses = policy.clauses();
        let by_rule = clauses.iter().map(|clause| clause.id).zip(policy.ways_of_clauses()).collect();
        let trap = |(tool, at): (&str, usize)| Some((clauses.get(at)?.id, tool.to_owned()));
        Self { by_rule, traps: policy.traps().filter_map(trap).collect() }
    }

    /// How a clause names its tools; none is every tool. A trap and the default name none.
    pub(in crate::proof) fn of_clause(&self, rule: RuleId) -> &[Option<ToolName>] {
        self.by_rule.get(&rule).map(Vec::as_slice).unwrap_or_default()
    }

    /// The tool of a trap, in lower case.
    pub(in crate::proof) fn trap(&self, rule: RuleId) -> Option<&str> {
        self.traps.get(&rule).map(String::as_str)
    }
}
