//! Draws a workflow as a Petri net: places for stages and evidence, transitions for what moves them.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use lockgate_petri::{Firing, Net, NetError, TRANSITIONS_MAX};
use lockgate_policy::workflow::{Condition, Requirement, Stage, Workflow};

use super::{
    Giving, IsBlocked, NoWay, active, approved, can_run, completed, deed_of, entry_gives, lacking, may_run,
    place_of, stage_gives, tools_give, way_on,
};

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

/// A net about to be built.
#[derive(Default)]
pub(super) struct Sketch {
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

    pub(super) fn draw_places(&mut self, workflow: &Workflow) {
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
                // A condition on a stage that does not exist never holds.
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
    pub(super) fn draw_evidence(
        &mut self,
        workflow: &Workflow,
        is_blocked: IsBlocked<'_>,
    ) -> Result<(), Vec<NetError>> {
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
    pub(super) fn draw_approvals(&mut self, workflow: &Workflow) {
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

    pub(super) fn draw_moves(&mut self, workflow: &Workflow) {
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

    pub(super) fn build(self) -> Result<WorkflowNet, Vec<NetError>> {
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
pub(super) fn asked(workflow: &Workflow) -> Vec<(usize, Option<usize>, &Requirement)> {
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

const FINISHED: &str = "finished";
