//! Workflows as pictures.
//!
//! [`track`] is what people want to see of a workflow: its stages in a line, and what is needed between them.

use lockgate_pattern::ToolGlob;
use lockgate_petri::{Need, Shape, Station, Track};
use lockgate_policy::{
    Workflow,
    workflow::{Check, Condition, Requirement, Stage},
};

/// A workflow as people think of it: its stages, and what is needed between them.
///
/// The stage in which a session is stands out, if it is given.
pub fn track(workflow: &Workflow, active: Option<&str>) -> Track {
    let mut stops: Vec<Station> = Vec::with_capacity(workflow.stages.len() + 2);
    let mut needs: Vec<Need> = Vec::new();
    if workflow.stages.first().is_some_and(|first| !first.entry.is_empty()) {
        stops.push(Station { shape: Shape::Dot, ..Station::default() });
    }
    for stage in &workflow.stages {
        needs.extend(stage.entry.iter().map(need));
        stops.push(Station {
            name: stage.id.to_string(),
            lines: lines(stage),
            shape: if stage.is_terminal { Shape::Last } else { Shape::Box },
            is_active: active == Some(&*stage.id),
            needs: std::mem::take(&mut needs),
        });
        needs.extend(stage.exit.iter().map(need));
        let asked = stage.approval.as_ref().filter(|_| !stage.is_terminal);
        needs.extend(asked.map(|message| Need { text: message.clone(), is_human: true }));
    }
    // A last stage that something ends is not where the line ends.
    if workflow.stages.last().is_some_and(|last| !last.is_terminal) && !needs.is_empty() {
        stops.push(Station {
            name: "finished".to_owned(),
            lines: Vec::new(),
            shape: Shape::Dot,
            is_active: false,
            needs,
        });
    }
    Track { title: workflow.name.clone(), stops }
}

/// What may happen in a stage, in short.
fn lines(stage: &Stage) -> Vec<String> {
    let tools = match &stage.tools {
        Some(tools) => {
            let names: Vec<&str> = tools.iter().map(ToolGlob::text).collect();
            names.join(", ")
        }
        None if stage.is_terminal || stage.is_boundary() => "no calls".to_owned(),
        None => "every tool".to_owned(),
    };
    let check = |check: &Check| match check.forbids {
        true => format!("never {}", check.pattern),
        false => format!("only {}", check.pattern),
    };
    let mut lines = vec![tools];
    lines.extend(stage.checks.iter().map(check));
    if stage.is_terminal {
        lines.extend(stage.exit.iter().map(|requirement| format!("until {}", need(requirement).text)));
    }
    lines
}

/// A condition in a few words.
fn need(requirement: &Requirement) -> Need {
    let text = match &requirement.condition {
        Condition::StageComplete(stage) => format!("{stage} completed"),
        Condition::FileRead(path) => format!("read {path}"),
        Condition::Approval(stage) => {
            return Need { text: format!("agrees to {stage}"), is_human: true };
        }
        Condition::CommandMatches(pattern) => format!("ran {pattern}"),
        Condition::CommandNotMatches(pattern) => format!("never ran {pattern}"),
        Condition::Exec(exec) => format!("{} ends with {}", exec.words.join(" "), exec.exit_code),
        Condition::ResultMatches { tool, field, value } => format!("{tool}: {field} = {value}"),
    };
    Need { text, is_human: false }
}
