//! What follows when all rules have been heard: the verdict, and what the session has to take in.

use std::sync::Arc;

use lockgate_call::SeenCall;
use lockgate_petri::TransitionId;
use lockgate_policy::{Decision, Deeds, RuleId, clause::Timeout};
use serde_json::{Map, Value};

use super::Hearing;
use crate::{
    next::next_steps,
    record::Record,
    rulebook::Rulebook,
    scratch::Scratch,
    signed_answer::marks,
    stages,
    state::{ApprovalId, Asked, Boundary, Event, Flight, Passage, Remembered, Session},
    verdict::{Verdict, running_sentence},
};

impl Hearing<'_> {
    /// Joins what was said into a verdict, and says what the session has to take in.
    pub(crate) fn close(self, deeds: Deeds, record: &mut Record) -> Verdict {
        let Self { rulebook, stand, call, scratch, obstacles, waiting, fired, staged, wants, .. } = self;
        let session = stand.session;
        let mut verdict = Verdict::join(deeds, obstacles);
        if verdict.decision < Decision::Block {
            verdict.input = masked(rulebook, call, &verdict);
        }
        if let (Some(wanted), true) = (wants, verdict.decision < Decision::Block) {
            let verdict = Verdict::refused_by_gate("condition", running_sentence(&wanted.exec.words));
            record.wants = Some(wanted);
            return verdict;
        }
        let tool = rulebook.policy.name(&call.tool);
        record.steps = stages::take_in(&staged, &verdict, &tool, call.at.max(session.clock));
        match verdict.decision {
            Decision::Allow | Decision::Redact => {
                let (moves, notes) = scratch.into_changes();
                let is_told = waiting.iter().any(|it| rulebook.hooks.result_hook(it.rule).is_some())
                    || rulebook.policy.outputs_look_at_calls(&call.tool)
                    || rulebook.policy.results_are_recorded(&call.tool);
                let flight = Flight {
                    tool,
                    decision: verdict.decision,
                    waiting,
                    shows: stages::shows(&staged),
                    parent: call.about.parent.as_deref().map(Arc::from),
                    call: is_told.then(|| Arc::new(call.clone())),
                    passage: Passage::first(call, verdict.input.as_deref()),
                    deadline: call.at.max(session.clock).after_ms(rulebook.terms.lease_ms),
                };
                let remembered = record.remembered(rulebook, stand, &verdict, call);
                let id = Arc::from(call.id.as_str());
                record.events.push(Event::Allowed { id, at: call.at, flight, moves, notes, remembered });
            }
            Decision::Ask if session.asked.len() >= rulebook.terms.asked_max => {
                // Nothing was asked, so no stage has come to its question.
                record.steps.clear();
                let reason = format!(
                    "{} questions of this session wait for a human: answer them first.",
                    session.asked.len()
                );
                return Verdict::refused_by_gate("questions-waiting", reason);
            }
            Decision::Ask => {
                let number = session.approvals_made + 1;
                verdict.approval = Some(ApprovalId { session: call.session.clone(), number });
                let remembered = record.remembered(rulebook, stand, &verdict, call);
                let about = AskedAbout { fired: &fired, boundaries: stages::boundaries(&staged) };
                record.events.push(ask(rulebook, session, call, number, &verdict, about, remembered));
            }
            Decision::Block => {
                verdict.next = next_steps(rulebook, session, &verdict.obstacles);
            }
        }
        verdict
    }
}

/// The input without its sensitive data, where a rule that acts wants that.
fn masked(rulebook: &Rulebook, call: &SeenCall, verdict: &Verdict) -> Option<Box<Map<String, Value>>> {
    let is_wanted = verdict.obstacles.iter().any(|obstacle| obstacle.decision == Decision::Redact);
    let masking = rulebook.policy.masking();
    is_wanted.then(|| {
        let (masked, _) = masking.detectors.mask_object(&call.input, masking.mask);
        Box::new(masked.unwrap_or_else(|| call.input.clone()))
    })
}

/// What waits for a human's answer beside the call itself.
struct AskedAbout<'a> {
    fired: &'a [(RuleId, TransitionId)],
    boundaries: Vec<Boundary>,
}

/// The question to a human: the tokens of the call are taken until the answer.
fn ask(
    rulebook: &Rulebook,
    session: &Session,
    call: &SeenCall,
    number: u64,
    verdict: &Verdict,
    about: AskedAbout<'_>,
    remembered: Option<Box<Remembered>>,
) -> Event {
    let AskedAbout { fired, boundaries } = about;
    let at = call.at.max(session.clock);
    let mut scratch = Scratch::new(&rulebook.policy, session);
    let taken = fired.iter().copied().filter(|(id, transition)| {
        // A second deed may live on what the first one gives; that is not there to be taken yet.
        rulebook.policy.net(*id).is_some_and(|rule| scratch.take(rule, *transition))
    });
    let asking = verdict.obstacles.iter().filter(|it| it.decision == Decision::Ask);
    let rules: Vec<RuleId> = asking.filter_map(|it| it.rule).collect();
    let timeout = |rule: &RuleId| rulebook.policy.clause(*rule).and_then(|clause| clause.timeout);
    let timeouts: Vec<Option<Timeout>> = rules.iter().map(timeout).collect();
    let stages = boundaries.iter().map(|boundary| boundary.rule);
    let marks = marks(&rulebook.policy, rules.iter().copied().chain(stages));
    // The most impatient rule decides how long is waited.
    let wait_ms = timeouts.iter().map(|it| it.map_or(rulebook.terms.approval_ms, |it| it.ms)).min();
    let asked = Asked {
        call: call.clone(),
        shown: verdict.input.clone(),
        taken: taken.collect(),
        boundaries,
        rules,
        deadline: at.after_ms(wait_ms.unwrap_or(rulebook.terms.approval_ms)),
        allows_late: !timeouts.is_empty()
            && timeouts.iter().all(|timeout| timeout.is_some_and(|it| it.allows)),
        policy: rulebook.policy.hash().to_string().into(),
        marks,
    };
    let (moves, _) = scratch.into_changes();
    Event::Asked { at, number, asked: Box::new(asked), moves, remembered }
}
