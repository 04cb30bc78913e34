//! Workflows: YAML files that say `kind: Workflow`.
//!
//! A workflow is a line of stages. [`parse`] reads a file; what a workflow then does is in the policy.

mod conditions;
mod exec;
mod impossible;
mod lint;
mod parse;
#[cfg(test)]
mod tests;

pub(crate) use lint::lint;
pub use parse::{
    CHECKS_MAX, MESSAGE_CHARS_MAX, REQUIREMENTS_MAX, STAGES_MAX, TOOLS_MAX, WORKFLOW_BYTES_MAX, parse,
};

use lockgate_policy::{Builder, Head, Mode, Source, Workflow};

use crate::draft::workflow::DraftWorkflow;

/// Adds a workflow to a policy.
pub(crate) fn lower(draft: DraftWorkflow, source: &Source, policy: &mut Builder) {
    let head = Head {
        key: format!("workflow {}", draft.name),
        name: draft.name,
        span: draft.span,
        mode: Mode::Enforce,
    };
    let rule = policy.rule(head, source);
    policy.workflow(Workflow::new(rule, draft.version, draft.description, draft.stages));
}
