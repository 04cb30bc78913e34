//! A workflow as a Petri net: what its stages, evidence and approvals can let happen.
//!
//! [`workflow_net`] gives each stage a place whose token says that the session stands there, and each piece of
//! evidence, approval and completed stage a place that is marked once and read from then on. No place ever holds
//! two tokens. The net allows at least what the gate allows: wherever it depends on a call's text whether a stage
//! takes it, the net says yes. So what the net can never do, no session can. Missing on purpose: operators who
//! move a session by hand, and what a condition's program comes to, which is taken as a choice.

mod sketch;

use std::{ops::RangeInclusive, sync::Arc};

use lockgate_call::{reads_one_file, runs_nothing};
use lockgate_pattern::{Pattern, ToolGlob};
use lockgate_policy::workflow::{Condition, Requirement, Stage, Workflow};

pub use sketch::{Move, WorkflowNet, workflow_net};

/// Why no call ever ends a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoWay {
    /// Nothing is meant to come after it.
    IsTheEnd,
    /// It takes every call there is.
    TakesEveryCall,
    /// What comes after it takes no calls.
    NothingBegins,
    /// It has neither exit nor approval, and one of its tools stands for many.
    StandsForMany(String),
    /// It has neither exit nor approval, and takes every call that this stage takes.
    TakesCallsOf(Arc<str>),
}

/// Whether evidence can be given in a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Giving {
    Can,
    /// These tools could, but are blocked whatever the call.
    Blocked(Vec<String>),
    Cannot,
}

/// Whether a tool is blocked whatever the call.
pub(crate) type IsBlocked<'a> = &'a dyn Fn(&str) -> bool;

/// The stages whose entries must hold before a stage can end, from the next one on.
///
/// This is what `consider` asks of a call that a stage does not take, freed from the call's text.
pub(crate) fn way_on(workflow: &Workflow, at: usize) -> Result<RangeInclusive<usize>, NoWay> {
    let (Some(stage), Some(next)) = (workflow.stages.get(at), workflow.stages.get(at + 1)) else {
        return Err(NoWay::IsTheEnd);
    };
    if stage.is_terminal {
        return Err(NoWay::IsTheEnd);
    }
    if stage.is_boundary() {
        return Ok(at + 1..=at + 1);
    }
    let refuses_tools = stage.tools.as_ref().is_some_and(|tools| !tools.iter().any(ToolGlob::is_every));
    let has_demands = demands(stage);
    let is_claimed = stage.checks.iter().any(|check| check.forbids) && demands(next);
    if !refuses_tools && !has_demands && !is_claimed {
        return Err(NoWay::TakesEveryCall);
    }
    if stage.has_end() && (refuses_tools || is_claimed) {
        return Ok(at + 1..=at + 1);
    }
    let following = workflow.stages.iter().enumerate().skip(at + 1);
    let Some((begun, target)) = following.into_iter().find(|(_, later)| !later.is_boundary()) else {
        return Err(NoWay::NothingBegins);
    };
    let many = stage.tools.iter().flatten().find(|tool| tool.exact().is_none());
    match many {
        Some(many) if !stage.has_end() && !target.is_terminal => {
            Err(NoWay::StandsForMany(many.text().to_owned()))
        }
        _ if has_demands || is_claimed || target.is_terminal || may_open_beside(target, stage) => {
            Ok(at + 1..=begun)
        }
        _ => Err(NoWay::TakesCallsOf(target.id.clone())),
    }
}

/// Whether the calls of a stage can give evidence for a requirement of the stage `of`.
pub(crate) fn stage_gives(
    workflow: &Workflow,
    at: usize,
    of: usize,
    condition: &Condition,
    is_blocked: IsBlocked<'_>,
) -> Giving {
    let Some(stage) = workflow.stages.get(at) else { return Giving::Cannot };
    match condition {
        Condition::FileRead(_) => tools_give(stage, can_read, is_blocked),
        Condition::CommandMatches(pattern) if at == of && may_run(stage, pattern) => {
            tools_give(stage, can_run, is_blocked)
        }
        Condition::ResultMatches { tool, .. } if stage.opens(tool) => {
            if is_blocked(tool) {
                Giving::Blocked(vec![tool.clone()])
            } else {
                Giving::Can
            }
        }
        _ => Giving::Cannot,
    }
}

/// The same before the first stage has begun, where only what its entry asks for may happen.
pub(crate) fn entry_gives(
    workflow: &Workflow,
    of: usize,
    condition: &Condition,
    is_blocked: IsBlocked<'_>,
) -> Giving {
    let entry = workflow.stages.first().map(|first| first.entry.as_slice()).unwrap_or_default();
    let asks = |wanted: &dyn Fn(&Condition) -> bool| entry.iter().any(|it| wanted(&it.condition));
    match condition {
        Condition::FileRead(path)
            if asks(&|it| matches!(it, Condition::FileRead(asked) if may_be_one(asked, path))) =>
        {
            Giving::Can
        }
        Condition::CommandMatches(_) if asks(&|it| matches!(it, Condition::CommandMatches(_))) => {
            if of == 0 {
                stage_gives(workflow, 0, of, condition, is_blocked)
            } else {
                Giving::Cannot
            }
        }
        Condition::ResultMatches { tool, .. }
            if asks(&|it| matches!(it, Condition::ResultMatches { tool: asked, .. } if asked == tool)) =>
        {
            if is_blocked(tool) {
                Giving::Blocked(vec![tool.clone()])
            } else {
                Giving::Can
            }
        }
        _ => Giving::Cannot,
    }
}

/// Whether it says which commands it is for.
fn demands(stage: &Stage) -> bool {
    stage.checks.iter().any(|check| !check.forbids)
}

/// Whether a command that matches may run in it.
pub(super) fn may_run(stage: &Stage, pattern: &Pattern) -> bool {
    !pattern.is_impossible() && !stage.checks.iter().any(|check| check.forbids && check.pattern == *pattern)
}

/// Whether a tool may be open in it that is not open in another stage, all of whose tools have one name.
fn may_open_beside(stage: &Stage, other: &Stage) -> bool {
    match &stage.tools {
        None => !stage.is_boundary(),
        Some(tools) => tools.iter().any(|tool| tool.exact().is_none_or(|name| !other.opens(&name))),
    }
}

/// Whether one of its tools can do something that is not blocked.
fn tools_give(stage: &Stage, can: impl Fn(&ToolGlob) -> bool, is_blocked: IsBlocked<'_>) -> Giving {
    let Some(tools) = &stage.tools else {
        // Every tool is open, or none.
        return if stage.is_terminal || stage.is_boundary() { Giving::Cannot } else { Giving::Can };
    };
    let mut blocked = Vec::new();
    for tool in tools.iter().filter(|tool| can(tool)) {
        match tool.exact().filter(|name| is_blocked(name)) {
            Some(name) => blocked.push(name),
            None => return Giving::Can,
        }
    }
    if blocked.is_empty() { Giving::Cannot } else { Giving::Blocked(blocked) }
}

/// Whether a tool may run commands: all but those known to run nothing.
fn can_run(tool: &ToolGlob) -> bool {
    tool.exact().is_none_or(|name| !runs_nothing(&name))
}

/// Whether a tool may read a file: those known to, and those that may run a command that does.
fn can_read(tool: &ToolGlob) -> bool {
    can_run(tool) || tool.exact().is_some_and(|name| reads_one_file(&name))
}

/// Whether two paths may be spellings of one file: their last parts are.
fn may_be_one(path: &str, other: &str) -> bool {
    let last = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
    let is_plain = |last: &str| !["", ".", ".."].contains(&last);
    let (path, other) = (last(path), last(other));
    path == other || !is_plain(&path) || !is_plain(&other)
}

/// The place that is marked while it holds; none if that is unknown.
pub(super) fn place_of(requirement: &Requirement) -> Option<String> {
    match &requirement.condition {
        Condition::StageComplete(stage) => Some(completed(stage)),
        Condition::Approval(stage) => Some(approved(stage)),
        Condition::FileRead(_)
        | Condition::CommandMatches(_)
        | Condition::CommandNotMatches(_)
        | Condition::ResultMatches { .. } => Some(requirement.key.to_string()),
        Condition::Exec(_) => None,
    }
}

/// What gives it, in words, without the stage.
fn deed_of(requirement: &Requirement) -> Option<String> {
    match &requirement.condition {
        Condition::FileRead(path) => Some(format!("read {path}")),
        Condition::CommandMatches(pattern) => Some(format!("run {pattern}")),
        Condition::ResultMatches { tool, field, value } => {
            Some(format!("result of {tool} with {field:?} = {value:?}"))
        }
        Condition::StageComplete(_)
        | Condition::Approval(_)
        | Condition::CommandNotMatches(_)
        | Condition::Exec(_) => None,
    }
}

pub(super) fn active(stage: &str) -> String {
    format!("in {stage}")
}

fn completed(stage: &str) -> String {
    format!("completed {stage}")
}

fn approved(stage: &str) -> String {
    format!("approved {stage}")
}

/// The place that is marked until another one is.
fn lacking(place: &str) -> String {
    format!("no {place}")
}
