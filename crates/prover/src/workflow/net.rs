//! A workflow as a Petri net: what its stages, evidence and approvals can let happen.
//!
//! [`workflow_net`] gives each stage a place whose token says that the session stands there, and each piece of
//! evidence, approval and completed stage a place that is marked once and read from then on. No place ever holds
//! two tokens. The net allows at least what the gate allows: wherever it depends on a call's text whether a stage
//! takes it, the net says yes. So what the net can never do, no session can. Missing on purpose: operators who
//! move a session by hand, and what a condition's program comes to, which is taken as a choice.

use std::{
    collections::{BTreeMap, HashSet},
    ops::RangeInclusive,
    sync::Arc,
};

use lockgate_call::{reads_one_file, runs_nothing};
use lockgate_pattern::{Pattern, ToolGlob};
use lockgate_petri::{Firing, Net, NetError, TRANSITIONS_MAX};

use lockgate_policy::workflow::{Condition, Requirement, Stage, Workflow};

/// A workflow's net, and what its transitions stand for.
#[derive(Clone, Debug)]
pub struct WorkflowNet {
    net: Net,
    // Invariant: one for each transition of `net`.
    moves: Vec<Move>,
}

/// What a transition of a workflow's net stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A call, or a human's answer, gives what a condition asks for. That is never lost again.
    Gives,
    /// A call breaks a condition that forbids it.
    Breaks,
    /// The first stage begins, or a stage ends.
    MovesOn,
}

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

/// The workflow as a net. Evidence that only blocked tools could give is given by no transition.
///
/// # Errors
/// When it is too large to be drawn.
pub fn workflow_net(
    workflow: &Workflow,
    is_blocked: &dyn Fn(&str) -> bool,
) -> Result<WorkflowNet, Vec<NetError>> {
    let mut sketch = Sketch::default();
    sketch.draw_places(workflow);
    sketch.draw_evidence(workflow, is_blocked)?;
    sketch.draw_approvals(workflow);
    sketch.draw_moves(workflow);
    sketch.build()
}

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

impl WorkflowNet {
    /// The tokens, places and arcs.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// The transitions of one kind, in order.
    pub fn moves(&self, kind: Move) -> impl Iterator<Item = lockgate_petri::TransitionId> + '_ {
        self.net.transitions().zip(&self.moves).filter(move |(_, is)| **is == kind).map(|(it, _)| it)
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

/// The place that is marked while it holds; none if that is nobody's to tell.
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

const FINISHED: &str = "finished";

/// A net about to be built.
#[derive(Default)]
struct Sketch {
    places: Vec<(String, u64)>,
    transitions: Vec<Drawn>,
    /// The names of both: one place and one transition may be asked for many times.
    names: HashSet<String>,
}

struct Drawn {
    name: String,
    kind: Move,
    takes: Vec<String>,
    puts: Vec<String>,
    /// What it asks for and leaves as it is.
    reads: Vec<String>,
}

impl Sketch {
    fn place(&mut self, name: String, tokens: u64) {
        if self.names.insert(format!("place {name}")) {
            self.places.push((name, tokens));
        }
    }

    /// A piece of evidence and the token that giving it takes, so that it is given once.
    fn once(&mut self, name: &str) {
        self.place(name.to_owned(), 0);
        self.place(lacking(name), 1);
    }

    fn draw_places(&mut self, workflow: &Workflow) {
        let waits = before(workflow).is_some();
        if let Some(before) = before(workflow) {
            self.place(before, 1);
        }
        for (at, stage) in workflow.stages.iter().enumerate() {
            self.place(active(&stage.id), u64::from(at == 0 && !waits));
            self.place(completed(&stage.id), 0);
        }
        self.place(FINISHED.to_owned(), 0);
        for (_, requirement) in workflow.requirements() {
            let Some(place) = place_of(requirement) else { continue };
            match &requirement.condition {
                // Whoever asks for a stage that does not exist asks for ever.
                Condition::StageComplete(_) => self.place(place, 0),
                Condition::CommandNotMatches(_) => self.place(place, 1),
                _ => self.once(&place),
            }
        }
        for stage in workflow.stages.iter().filter(|stage| stage.approval.is_some()) {
            self.once(&approved(&stage.id));
        }
    }

    /// Who gives which evidence where. What is given after the last one who asks is not drawn.
    fn draw_evidence(&mut self, workflow: &Workflow, is_blocked: IsBlocked<'_>) -> Result<(), Vec<NetError>> {
        let before = before(workflow);
        for (of, last, requirement) in asked(workflow) {
            let place = requirement.key.to_string();
            if let Condition::CommandNotMatches(pattern) = &requirement.condition {
                let stage = workflow.stages.get(of);
                let runs = |stage: &&Stage| {
                    may_run(stage, pattern) && tools_give(stage, can_run, is_blocked) == Giving::Can
                };
                if let Some(stage) = stage.filter(runs) {
                    self.transitions.push(Drawn {
                        name: format!("run forbidden {pattern} in {}", stage.id),
                        kind: Move::Breaks,
                        takes: vec![place],
                        puts: Vec::new(),
                        reads: vec![active(&stage.id)],
                    });
                }
                continue;
            }
            let Some(deed) = deed_of(requirement) else { continue };
            let is_given = |giving: Giving| giving == Giving::Can;
            if let Some(before) = &before
                && is_given(entry_gives(workflow, of, &requirement.condition, is_blocked))
            {
                self.give(format!("{deed} {before}"), &place, before.clone());
            }
            for (at, stage) in workflow.stages.iter().enumerate().take(last.map_or(0, |last| last + 1)) {
                if is_given(stage_gives(workflow, at, of, &requirement.condition, is_blocked)) {
                    self.give(format!("{deed} in {}", stage.id), &place, active(&stage.id));
                }
                if self.transitions.len() > TRANSITIONS_MAX {
                    let most = u64::try_from(TRANSITIONS_MAX).unwrap_or(u64::MAX);
                    return Err(vec![NetError::TooLarge { what: "transitions", most }]);
                }
            }
        }
        Ok(())
    }

    /// Who is asked where: a stage asks for its own approval, for those of its exit, and for those of the next
    /// stage's entry.
    fn draw_approvals(&mut self, workflow: &Workflow) {
        let named = |requirements: &[Requirement]| {
            let stage = |requirement: &Requirement| match &requirement.condition {
                Condition::Approval(stage) => Some(stage.clone()),
                _ => None,
            };
            requirements.iter().filter_map(stage).collect::<Vec<_>>()
        };
        if let (Some(before), Some(first)) = (before(workflow), workflow.stages.first()) {
            for wanted in named(&first.entry) {
                self.give(format!("approve {wanted} {before}"), &approved(&wanted), before.clone());
            }
        }
        for (at, stage) in workflow.stages.iter().enumerate() {
            let mut asked = named(&stage.exit);
            asked.extend(stage.approval.iter().map(|_| stage.id.clone()));
            asked.extend(workflow.stages.get(at + 1).map(|next| named(&next.entry)).unwrap_or_default());
            for wanted in asked {
                let name = if wanted == stage.id {
                    format!("approve {wanted}")
                } else {
                    format!("approve {wanted} in {}", stage.id)
                };
                self.give(name, &approved(&wanted), active(&stage.id));
            }
        }
    }

    fn draw_moves(&mut self, workflow: &Workflow) {
        if let (Some(before), Some(first)) = (before(workflow), workflow.stages.first()) {
            self.transitions.push(Drawn {
                name: format!("enter {}", first.id),
                kind: Move::MovesOn,
                takes: vec![before],
                puts: vec![active(&first.id)],
                reads: first.entry.iter().filter_map(place_of).collect(),
            });
        }
        for (at, stage) in workflow.stages.iter().enumerate() {
            let mut reads: Vec<String> = stage.exit.iter().filter_map(place_of).collect();
            reads.extend(stage.approval.iter().map(|_| approved(&stage.id)));
            let (name, next) = match (way_on(workflow, at), workflow.stages.get(at + 1)) {
                (Ok(entered), Some(next)) => {
                    for later in entered {
                        reads.extend(entry_places(workflow, at, later));
                    }
                    (format!("advance {} → {}", stage.id, next.id), active(&next.id))
                }
                (Err(NoWay::IsTheEnd), None)
                    if stage.has_end() && (!stage.is_terminal || stage.asks_programs()) =>
                {
                    (format!("finish {}", stage.id), FINISHED.to_owned())
                }
                _ => continue,
            };
            self.transitions.push(Drawn {
                name,
                kind: Move::MovesOn,
                takes: vec![active(&stage.id)],
                puts: vec![next, completed(&stage.id)],
                reads,
            });
        }
    }

    fn give(&mut self, name: String, place: &str, during: String) {
        if self.names.insert(format!("transition {name}")) {
            self.transitions.push(Drawn {
                name,
                kind: Move::Gives,
                takes: vec![lacking(place)],
                puts: vec![place.to_owned()],
                reads: vec![during],
            });
        }
    }

    fn build(self) -> Result<WorkflowNet, Vec<NetError>> {
        let mut builder = Net::builder();
        for (name, tokens) in self.places {
            builder = builder.place(name, tokens);
        }
        let mut moves = Vec::with_capacity(self.transitions.len());
        for Drawn { name, kind, takes, puts, mut reads } in self.transitions {
            reads.sort_unstable();
            reads.dedup();
            let arcs = |own: &'_ [String]| own.iter().chain(&reads).cloned().collect::<Vec<String>>();
            let (inputs, outputs) = (arcs(&takes), arcs(&puts));
            let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
            let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
            builder = builder.transition(name, Firing::Called, &inputs, &outputs);
            moves.push(kind);
        }
        Ok(WorkflowNet { net: builder.build()?, moves })
    }
}

/// The place that is marked until the first stage begins, where something must hold before it does.
fn before(workflow: &Workflow) -> Option<String> {
    let first = workflow.stages.first()?;
    (!first.entry.is_empty()).then(|| format!("before {}", first.id))
}

/// What a later stage's entry reads when the session leaves a stage: those between have ended by then.
fn entry_places(workflow: &Workflow, from: usize, later: usize) -> Vec<String> {
    let ended: Vec<&Arc<str>> =
        workflow.stages.iter().take(later).skip(from).map(|stage| &stage.id).collect();
    let entry = workflow.stages.get(later).map(|stage| stage.entry.as_slice()).unwrap_or_default();
    let waits = |requirement: &&Requirement| match &requirement.condition {
        Condition::StageComplete(stage) => !ended.contains(&stage),
        // By the time a line is crossed, a human has agreed to it.
        Condition::Approval(stage) => {
            let crossed = workflow.stages.iter().take(later).skip(from + 1);
            !crossed.filter(|it| it.is_boundary()).any(|it| it.id == *stage)
        }
        _ => true,
    };
    entry.iter().filter(waits).filter_map(place_of).collect()
}

/// Every requirement once by its key, with the stage it belongs to and the last stage before whose end somebody
/// asks for it; none where that is before the first begins.
fn asked(workflow: &Workflow) -> Vec<(usize, Option<usize>, &Requirement)> {
    let mut found: Vec<(usize, Option<usize>, &Requirement)> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, stage) in workflow.stages.iter().enumerate() {
        let entry = stage.entry.iter().map(|it| (at.checked_sub(1), it));
        for (last, requirement) in entry.chain(stage.exit.iter().map(|it| (Some(at), it))) {
            let index = *known.entry(&requirement.key).or_insert(found.len());
            match found.get_mut(index) {
                Some((_, latest, _)) => *latest = (*latest).max(last),
                None => found.push((at, last, requirement)),
            }
        }
    }
    found
}
