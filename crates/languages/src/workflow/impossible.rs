//! What no session could ever do: stages that cannot be reached or left, conditions that can never hold.
//!
//! [`tell`] reports each as a mistake, with what to write instead: the user of such a workflow would find out
//! only when an agent is stuck in it. Whether the evidence of a condition can be given at all is not proved here.

use lockgate_policy::workflow::{Condition, Requirement, Stage};

use crate::yaml::{Reader, did_you_mean};

/// Whether a list of requirements is asked before a stage or at its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Entry,
    Exit,
}

/// Reports what can never happen.
pub(super) fn tell(stages: &[Stage], reader: &mut Reader<'_>) {
    // A stage whose id is wrong was reported; conditions may speak of it.
    let are_named = stages.iter().all(|stage| !stage.id.is_empty());
    for (at, stage) in stages.iter().enumerate() {
        shape(stages, at, stage, reader);
        for (list, requirements) in [(List::Entry, &stage.entry), (List::Exit, &stage.exit)] {
            for requirement in requirements {
                if are_named {
                    other_stage(stages, at, requirement, reader);
                    later_approval(stages, at, list, requirement, reader);
                }
                commands(stages, at, list, requirement, reader);
            }
        }
    }
}

fn shape(stages: &[Stage], at: usize, stage: &Stage, reader: &mut Reader<'_>) {
    if let (true, Some(next)) = (stage.is_terminal, stages.get(at + 1)) {
        let message =
            format!("nothing comes after the terminal stage `{}`, and `{}` does", stage.id, next.id);
        reader.error("unreachable-stage", stage.span, message, "move the terminal stage to the end");
    }
    let takes_nothing = stage.checks.iter().any(|check| !check.forbids && check.pattern.is_impossible());
    let has_end = stage.approval.is_some() || !stage.exit.is_empty();
    if takes_nothing && !has_end && !stage.is_terminal {
        let message = format!("`{}` accepts no call, and nothing ends it", stage.id);
        let remedy = "look for a slip in the expressions of its checks";
        reader.error("stuck-stage", stage.span, message, remedy);
    }
}

/// Conditions that name a stage.
fn other_stage(stages: &[Stage], at: usize, requirement: &Requirement, reader: &mut Reader<'_>) {
    let (Condition::StageComplete(named) | Condition::Approval(named)) = &requirement.condition else {
        return;
    };
    let Some(other) = stages.iter().position(|stage| stage.id == *named) else {
        let remedy = did_you_mean(named, stages.iter().map(|stage| &*stage.id)).unwrap_or_else(|| {
            let known: Vec<String> = stages.iter().map(|stage| format!("`{}`", stage.id)).collect();
            format!("the stages are {}", known.join(", "))
        });
        let message = format!("no stage is called `{named}`");
        reader.error("unknown-stage", requirement.span, message, remedy);
        return;
    };
    if matches!(requirement.condition, Condition::StageComplete(_)) && other >= at {
        let message = match other == at {
            true => format!("`{named}` cannot have ended before it ends"),
            false => format!("`{named}` comes later, so it cannot have ended here"),
        };
        let remedy =
            "name an earlier stage, or leave the condition out: stages come in the order of the file";
        reader.error("never-holds", requirement.span, message, remedy);
    }
}

/// An approval that would be asked for before its stage ends, and then count at its end as well: one yes for two
/// questions.
fn later_approval(
    stages: &[Stage],
    at: usize,
    list: List,
    requirement: &Requirement,
    reader: &mut Reader<'_>,
) {
    let Condition::Approval(named) = &requirement.condition else { return };
    let is_early = |(other, stage): &(usize, &Stage)| {
        stage.id == *named
            && stage.approval.is_some()
            && (*other > at || (*other == at && list == List::Entry))
    };
    if stages.iter().enumerate().any(|found| is_early(&found)) {
        let message = format!("the approval of `{named}` is asked for at its end, which comes later");
        let remedy = "put a stage with nothing but an `approval` before this one, and ask for that one's";
        reader.error("early-approval", requirement.span, message, remedy);
    }
}

/// Conditions about commands, which count only in the stage they belong to.
fn commands(stages: &[Stage], at: usize, list: List, requirement: &Requirement, reader: &mut Reader<'_>) {
    let (Condition::CommandMatches(_), Some(stage)) = (&requirement.condition, stages.get(at)) else {
        return;
    };
    let (message, remedy) = match list {
        List::Entry if at > 0 => (
            format!("`{}` has run no command before it begins", stage.id),
            "move the condition to the `exit` of the stage before",
        ),
        List::Exit if stage.is_boundary() => (
            format!("`{}` names no tools, so no command ever runs in it", stage.id),
            "give the stage `tools`, or move the condition to the `exit` of the stage before",
        ),
        List::Exit if stage.is_terminal && stage.tools.is_none() => (
            format!("the terminal stage `{}` names no tools, so no command ever runs in it", stage.id),
            "give the stage `tools`",
        ),
        List::Entry | List::Exit => return,
    };
    reader.error("never-holds", requirement.span, message, remedy);
}
