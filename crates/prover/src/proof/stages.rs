//! What a workflow refuses in any case, whatever the texts of calls.
//!
//! Three things are certain of a line of stages that no operator moves by hand. A tool that no stage opens is never
//! called. A tool that only later stages open needs, once, a success for each condition in between that some call has
//! to fulfil. And a session that has called such a tool never again calls one that only earlier stages open.

use lockgate_call::runs_nothing;
use lockgate_petri::prove::{LabelSet, Rule as Form};
use lockgate_policy::{
    Workflow,
    workflow::{Condition, Stage},
};

use super::{labels::Labels, ways::Way};

/// The forms of a workflow.
pub(super) fn forms(workflow: &Workflow, labels: &Labels<'_>) -> Vec<Form> {
    let stages = &workflow.stages;
    // Any call may be the one that crosses the last line.
    let is_crossed = stages.last().is_some_and(Stage::has_end);
    let open =
        |way: &Way, from: usize| is_crossed || stages.iter().skip(from).any(|stage| stage.opens(&way.tool));
    let ways = |is_it: &dyn Fn(&Way) -> bool| -> Vec<usize> {
        let meant = labels.ways().filter(|(_, way)| !way.is_further && is_it(way));
        meant.map(|(index, _)| index).collect()
    };
    let mut forms = vec![Form::Block(labels.calls(ways(&|way| !open(way, 0))))];
    for (at, stage) in stages.iter().enumerate() {
        let is_later = |way: &Way| open(way, at + 1) && !opens_up_to(stages, at, way);
        let later = labels.calls(ways(&is_later));
        if later.is_empty() {
            continue;
        }
        let earlier = ways(&|way| opens_up_to(stages, at, way) && !open(way, at + 1));
        forms.push(Form::Never { after: later.clone(), then: labels.calls(earlier) });
        let entry = stages.get(at + 1).map(|next| next.entry.as_slice()).unwrap_or_default();
        for requirement in stage.exit.iter().chain(entry) {
            if let Some(before) = givers(stages, at, &requirement.condition, labels) {
                forms.push(Form::Require { before, then: later.clone(), latched: true });
            }
        }
    }
    forms
}

fn opens_up_to(stages: &[Stage], at: usize, way: &Way) -> bool {
    stages.iter().take(at + 1).any(|stage| stage.opens(&way.tool))
}

/// The successes that may fulfil a condition at the end of a stage; none where others may as well.
fn givers(stages: &[Stage], at: usize, condition: &Condition, labels: &Labels<'_>) -> Option<LabelSet> {
    let in_stages = match condition {
        Condition::CommandMatches(_) => stages.get(at..=at)?,
        Condition::FileRead(_) | Condition::ResultMatches { .. } => stages.get(..=at)?,
        Condition::StageComplete(_)
        | Condition::Approval(_)
        | Condition::CommandNotMatches(_)
        | Condition::Exec(_) => return None,
    };
    // A stage that takes many tools takes some that are unknown here.
    let takes_many = |stage: &Stage| stage.has_wildcard() || (stage.tools.is_none() && !stage.is_boundary());
    if in_stages.iter().any(takes_many) {
        return None;
    }
    let gives = |way: &Way| match condition {
        Condition::FileRead(_) => true,
        Condition::ResultMatches { tool, .. } => *way.tool == **tool,
        _ => !runs_nothing(&way.tool),
    };
    let is_open = |way: &Way| in_stages.iter().any(|stage| stage.opens(&way.tool));
    let meant = labels.ways().filter(|(_, way)| gives(way) && is_open(way));
    Some(labels.successes(meant.map(|(index, _)| index)))
}
