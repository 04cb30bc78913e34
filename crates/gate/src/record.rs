//! What a decision stores, and what it answers.

use std::sync::Arc;

use lockgate_call::{SeenCall, Time, sensitive::Mask};
use lockgate_policy::{
    DecidedCall, Decision, RuleId, View, WindowMarks,
    clause::Standing,
    past::{Moment, Witnessed},
    provenance::NewOrigins,
    window::Marks,
};
use serde_json::Value;
use smallvec::SmallVec;

use crate::{
    rulebook::Rulebook,
    signed_answer::SignedAnswer,
    stages::WantedRun,
    state::{Answered, Asked, Event, Remembered, SharedEvent, Stand, Steps, Subject},
    verdict::Verdict,
};

/// A verdict, and what happens to the session if it is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The answer for the agent.
    pub verdict: Verdict,
    /// What the session has to take in before the verdict may be told.
    pub events: Events,
    /// What the session has to take in under a changed policy that waits to be accepted; none where there is none.
    pub changed: Option<Events>,
    /// What all sessions have to take in with it.
    pub shared: Vec<SharedEvent>,
    /// A program that has to be run before anything is decided: then there is nothing to take in yet.
    pub wants: Option<WantedRun>,
}

/// The events of one decision, in order.
pub type Events = Vec<Event>;

/// What is going to be stored with a verdict.
pub(crate) struct Record {
    pub(crate) events: Events,
    pub(crate) shared: Vec<SharedEvent>,
    /// What workflows take in with the next event.
    pub(crate) steps: Steps,
    pub(crate) wants: Option<WantedRun>,
    /// Whether a human has agreed to the call.
    pub(crate) is_agreed: bool,
}

impl From<Events> for Record {
    fn from(events: Events) -> Self {
        Self { events, shared: Vec::new(), steps: Steps::new(), wants: None, is_agreed: false }
    }
}

impl Record {
    /// Where a program has to be run first, nothing is stored: all of it is judged again.
    pub(crate) fn judgement(self, verdict: Verdict) -> Judgement {
        let Self { events, shared, wants, .. } = self;
        match wants {
            None => Judgement { verdict, events, changed: None, shared, wants },
            Some(_) => Judgement { verdict, events: Events::new(), changed: None, shared: Vec::new(), wants },
        }
    }

    pub(crate) fn block(
        &mut self,
        rulebook: &Rulebook,
        stand: Stand<'_>,
        verdict: &Verdict,
        call: &SeenCall,
    ) {
        if verdict.decision == Decision::Block {
            let remembered = self.remembered(rulebook, stand, verdict, call);
            let (id, tool) = (call.id.clone(), call.tool.clone());
            self.events.push(Event::Blocked { id, tool, at: call.at, remembered });
        }
    }

    /// What a decided call leaves beside markings.
    pub(crate) fn remembered(
        &mut self,
        rulebook: &Rulebook,
        stand: Stand<'_>,
        verdict: &Verdict,
        call: &SeenCall,
    ) -> Option<Box<Remembered>> {
        let policy = &rulebook.policy;
        let steps = std::mem::take(&mut self.steps);
        if policy.clauses().is_empty() {
            return (!steps.is_empty()).then(|| Box::new(Remembered { steps, ..Remembered::default() }));
        }
        let at = call.at.max(stand.session.clock);
        let refused_by = |rule: RuleId| verdict.obstacles.iter().any(|obstacle| obstacle.rule == Some(rule));
        let (tool, decision) = (call.tool.as_str(), verdict.decision);
        let heard = DecidedCall { tool, decision, succeeded: false, refused_by: &refused_by, at };
        let WindowMarks { mut marks, shared } = policy.marks(&heard, &stand);
        marks.extend(recorded(rulebook, stand, (call, None), Moment::Decided(decision), at));
        if !shared.is_empty() {
            self.shared.push(SharedEvent::Marked { at, marks: shared });
        }
        let counted = if verdict.lets_pass() { policy.counters(tool) } else { SmallVec::new() };
        // What was refused or masked for what it held has been seen all the same.
        let is_seen = matches!(decision, Decision::Block | Decision::Redact) && policy.watches_taints();
        let kinds = || policy.masking().detectors.mask_object(&call.input, Mask::Stars).1.distinct();
        let taints = if is_seen { kinds() } else { Vec::new() };
        let origins = self.brought_in(rulebook, stand, verdict, call);
        let remembered = Remembered { marks, counted, taints, is_tainted: false, steps, origins };
        (remembered != Remembered::default()).then(|| Box::new(remembered))
    }

    /// The values that a call brings into the session, where that matters to some rule.
    fn brought_in(
        &self,
        rulebook: &Rulebook,
        stand: Stand<'_>,
        verdict: &Verdict,
        call: &SeenCall,
    ) -> Option<Box<NewOrigins>> {
        let (sources, session) = (rulebook.policy.trusted_sources(), stand.session);
        if !verdict.lets_pass() || !(sources.trusts_results() || (sources.traces() && self.is_agreed)) {
            return None;
        }
        let new = session.origins.brought_in((&call.tool, &call.input), self.is_agreed);
        let new = new.begun_late(session.keeps_origins_late());
        // The first one counts even if it is empty: from then on it is known what calls bring in.
        (!new.is_empty() || !session.origins.has_begun()).then(|| Box::new(new))
    }

    /// The answers that stand from now on; those for all sessions are put aside.
    pub(crate) fn standing_answers(
        &mut self,
        rulebook: &Rulebook,
        asked: &Asked,
        granted: bool,
        at: Time,
        proof: Option<&Arc<SignedAnswer>>,
    ) -> Vec<Answered> {
        let until = at.after_ms(rulebook.terms.standing_ms);
        let mut answers = Vec::new();
        for clause in asked.rules.iter().filter_map(|rule| rulebook.policy.clause(*rule)) {
            let about = match clause.standing {
                Standing::Once => continue,
                Standing::PerSession | Standing::PerRule => Subject::Rule(clause.id),
                Standing::PerTool => Subject::Tool(rulebook.policy.name(&asked.call.tool)),
            };
            let is_shared = clause.standing == Standing::PerRule;
            let given_for = clause.id;
            let answer = Answered { about, granted, until, given_for, is_shared, proof: proof.cloned() };
            if is_shared {
                self.shared.push(SharedEvent::Answered { at, answer });
            } else {
                answers.push(answer);
            }
        }
        answers
    }
}

/// How the logs of earlier calls change by a call, or by its result.
pub(crate) fn recorded(
    rulebook: &Rulebook,
    stand: Stand<'_>,
    (call, output): (&SeenCall, Option<&Value>),
    moment: Moment,
    at: Time,
) -> Marks {
    let policy = &rulebook.policy;
    if !policy.is_recorded(&call.tool) {
        return Marks::new();
    }
    let groups = policy.deeds(call);
    let around = &rulebook.around;
    let view = View { call, output, now: at, around, memory: &stand, deeds: Some(&groups) };
    policy.records(&Witnessed { view, moment })
}
