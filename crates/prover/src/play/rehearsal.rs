//! A session that is played through the judge, without a store and without tools.

use std::sync::Arc;

use lockgate_call::{Call, Time};
use lockgate_gate::{
    Event, Human, Judgement, Outcome, Rulebook, Session, SharedState, Stand, Verdict, hear_user, judge,
    judge_answer, settle,
};
use lockgate_policy::{Decision, Deeds};
use serde_json::{Map, Value};

use crate::proof::Way;

/// When a session starts: the first day of 2026, as the sessions of spec pages do, so that one can be pasted there.
pub const PLAYED_FROM: Time = Time(1_767_225_600_000);

/// How long a session waits where a rule forbids something for a while: more than an hour, a day, a month.
const WAITS_MS: [u64; 3] = [61 * 60_000, 25 * 3_600_000, 32 * 86_400_000];

/// One call of a session, and what became of it.
#[derive(Clone, Debug)]
pub struct Step {
    /// The call.
    pub call: Call,
    /// What it is called for, in the words of the rules.
    pub deed: Arc<str>,
    /// All it amounts to.
    pub deeds: Deeds,
    /// How long the session waited before it, in milliseconds.
    pub waited_ms: u64,
    /// What was decided before a human answered.
    pub decision: Decision,
    /// What a human said who was asked.
    pub granted: Option<bool>,
    /// What was decided in the end, once a human had answered.
    pub came: Decision,
    /// How it ended.
    pub ended: CallEnd,
}

impl Step {
    /// Whether the same happens again; the ids and moments of two calls always differ.
    pub fn is_like(&self, other: &Self) -> bool {
        let happens = |step: &Self| (step.waited_ms, step.decision, step.granted, step.came, step.ended);
        happens(self) == happens(other)
            && self.deed == other.deed
            && self.call.tool == other.call.tool
            && self.call.input == other.call.input
            && self.call.about == other.call.about
    }
}

/// How a call of a played session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// It was not let pass.
    Refused,
    /// It succeeded.
    Success,
    /// It failed.
    Failure,
    /// Its result comes later.
    Open,
    /// Not a call, but the late success of an earlier one.
    LateSuccess,
}

/// A session that is played.
pub(crate) struct Rehearsal<'a> {
    rulebook: &'a Rulebook,
    session: Session,
    shared_state: SharedState,
    calls: u64,
    now: Time,
    /// Whether it waits where a rule forbids something for a while.
    is_patient: bool,
    /// Calls whose results have not come.
    pub(super) open: Vec<(Arc<Way>, Call)>,
}

impl<'a> Rehearsal<'a> {
    pub(crate) fn new(rulebook: &'a Rulebook) -> Self {
        Self {
            rulebook,
            session: Session::default(),
            shared_state: SharedState::default(),
            calls: 0,
            now: PLAYED_FROM,
            is_patient: true,
            open: Vec::new(),
        }
    }

    /// One in which all calls come at once.
    pub(crate) fn hurried(rulebook: &'a Rulebook) -> Self {
        Self { is_patient: false, ..Self::new(rulebook) }
    }

    /// A session that begins at a moment, and what the trusted caller says about it.
    pub(crate) fn starting(rulebook: &'a Rulebook, now: Time, attributes: Map<String, Value>) -> Self {
        let mut stage = Self { now, ..Self::new(rulebook) };
        stage.session.apply(&Event::Described { attributes });
        stage
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, ms: u64) {
        self.now = self.now.after_ms(ms);
    }

    pub(crate) fn next_id(&mut self) -> String {
        self.calls += 1;
        format!("c{}", self.calls)
    }

    fn stand(&self) -> Stand<'_> {
        Stand { shared_state: &self.shared_state, ..Stand::from(&self.session) }
    }

    /// One call, what a human says who is asked, and how it ends; none: not yet.
    pub(crate) fn call(
        &mut self,
        call: Call,
        deed: Arc<str>,
        granted: Option<bool>,
        ends: Option<bool>,
    ) -> (Step, Verdict) {
        let (waited_ms, judged) = self.judge_in_time(&call);
        let end = ends.map(|ok| Outcome { ok, ..Outcome::default() });
        self.decided(call, deed, granted, end, (waited_ms, judged))
    }

    /// The same with all that is known of its end.
    pub(crate) fn call_ending(
        &mut self,
        call: Call,
        deed: Arc<str>,
        granted: Option<bool>,
        end: Outcome,
    ) -> (Step, Verdict) {
        let (waited_ms, judged) = self.judge_in_time(&call);
        self.decided(call, deed, granted, Some(end), (waited_ms, judged))
    }

    /// The user says something.
    pub(crate) fn hear(&mut self, text: &str) {
        let heard = hear_user(&[&*self.rulebook.policy], &self.session, text, self.now);
        self.take(heard.as_slice(), &[]);
    }

    /// The same at once, whatever may be let pass later; what it returns is handed in.
    pub(crate) fn call_now(
        &mut self,
        call: Call,
        deed: Arc<str>,
        granted: Option<bool>,
        output: Option<Value>,
    ) -> (Step, Verdict) {
        let judged = judge(self.rulebook, self.stand(), &call.clone().at(self.now).into(), Human::Reachable);
        let end = Some(Outcome { ok: true, output, ..Outcome::default() });
        self.decided(call, deed, granted, end, (0, judged))
    }

    fn decided(
        &mut self,
        call: Call,
        deed: Arc<str>,
        granted: Option<bool>,
        end: Option<Outcome>,
        (waited_ms, judged): (u64, Judgement),
    ) -> (Step, Verdict) {
        let call = call.at(self.now);
        self.take(&judged.events, &judged.shared);
        let verdict = judged.verdict;
        let (mut passes, mut came) = (verdict.lets_pass(), verdict.decision);
        let mut answer = None;
        if let (Some(approval), Some(granted)) = (&verdict.approval, granted)
            && let Some(answered) =
                judge_answer(self.rulebook, self.stand(), approval.number, granted, self.now)
        {
            self.take(&answered.events, &answered.shared);
            (passes, came) = (answered.verdict.lets_pass(), answered.verdict.decision);
            answer = Some(granted);
        }
        let ended = match (passes, end) {
            (false, _) => CallEnd::Refused,
            (true, None) => CallEnd::Open,
            (true, Some(Outcome { ok, output, .. })) => {
                self.settle(&call, ok, output);
                if ok { CallEnd::Success } else { CallEnd::Failure }
            }
        };
        let (decision, granted, deeds) = (verdict.decision, answer, verdict.deeds.clone());
        (Step { call, deed, deeds, waited_ms, decision, granted, came, ended }, verdict)
    }

    /// What is decided about a call, now or later.
    pub(super) fn decision(&self, call: &Call) -> Decision {
        let judge_at = |at: Time| {
            judge(self.rulebook, self.stand(), &call.clone().at(at).into(), Human::Reachable).verdict
        };
        let now = judge_at(self.now).decision;
        let later = WAITS_MS.iter().map(|wait| judge_at(self.now.after_ms(*wait)).decision);
        match now {
            Decision::Block if self.is_patient => later.min().map_or(now, |later| later.min(now)),
            now => now,
        }
    }

    /// Judges a call; where it is refused now and not later, later.
    fn judge_in_time(&mut self, call: &Call) -> (u64, Judgement) {
        let judge_at = |stage: &Self, at: Time| {
            judge(stage.rulebook, stage.stand(), &call.clone().at(at).into(), Human::Reachable)
        };
        let now = judge_at(self, self.now);
        if now.verdict.decision != Decision::Block || !self.is_patient {
            return (0, now);
        }
        for wait in WAITS_MS {
            let at = Time(self.now.0.saturating_add(wait));
            let later = judge_at(self, at);
            if later.verdict.decision != Decision::Block {
                self.now = at;
                return (wait, later);
            }
        }
        (0, now)
    }

    /// The result of the oldest open call of a way.
    pub(super) fn succeed_late(&mut self, way: &Arc<Way>) -> Option<Step> {
        let place = self.open.iter().position(|(open, _)| open == way)?;
        let (way, call) = self.open.remove(place);
        self.settle(&call, true, None);
        Some(Step {
            call,
            deed: way.deed(),
            deeds: Deeds::new(),
            waited_ms: 0,
            decision: Decision::Allow,
            granted: None,
            came: Decision::Allow,
            ended: CallEnd::LateSuccess,
        })
    }

    fn settle(&mut self, call: &Call, ok: bool, output: Option<Value>) {
        let outcome = Outcome { ok, output, at: self.now, ..Outcome::success(call) };
        let settled = settle(self.rulebook, self.stand(), &outcome);
        self.take(&settled.events, &settled.shared);
    }

    pub(super) fn take(&mut self, events: &[Event], shared: &[lockgate_gate::SharedEvent]) {
        events.iter().for_each(|event| self.session.apply(event));
        shared.iter().for_each(|event| self.shared_state.apply(event));
    }
}
