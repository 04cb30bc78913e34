//! A session that goes round in circles to use a counter up.

use super::{
    answer::{Run, Trace},
    label::Label,
    state::Session,
    structure::System,
};

/// A session on its way to use a counter up.
pub(super) struct Climb<'a> {
    pub(super) here: ClimbPosition<'a>,
    pub(super) runs: Vec<Run>,
    /// What came after the runs.
    pub(super) labels: Vec<Label>,
    /// Where it stood after so many of those.
    pub(super) past: Vec<(ClimbPosition<'a>, usize)>,
    /// The most that a circle may cost; none where it may cost anything.
    pub(super) cost_max: Option<u64>,
}

impl<'a> Climb<'a> {
    pub(super) fn new(here: ClimbPosition<'a>) -> Self {
        Self { here, runs: Vec::new(), labels: Vec::new(), past: Vec::new(), cost_max: None }
    }

    /// If it stands where it stood before, but for counters: goes round from there.
    pub(super) fn close_circle(&mut self) {
        let circle = self.past.iter().rev().find(|(past, _)| self.here.is_further_on(past));
        let circle = circle.map(|(past, length)| (self.cost_since(past, *length), *length));
        if let Some((cost, length)) = circle.filter(|(cost, _)| self.cost_max.is_none_or(|max| *cost <= max))
        {
            self.cost_max = self.cost_max.map(|max| max.min(cost));
            let round = self.labels.split_off(length);
            self.go_round(round);
        }
    }

    /// How many labels it took to spend a thousand, since it stood there.
    fn cost_since(&self, past: &ClimbPosition<'_>, length: usize) -> u64 {
        let labels = self.labels.len().saturating_sub(length) as u64;
        labels.saturating_mul(1_000) / past.left().saturating_sub(self.here.left()).max(1)
    }

    /// Goes round for as long as it is possible, after having gone round once.
    pub(super) fn go_round(&mut self, round: Vec<Label>) {
        let times = self.here.go_round(&round).saturating_add(1);
        self.runs.push(Run { labels: std::mem::take(&mut self.labels), times: 1 });
        self.runs.push(Run { labels: round, times });
        self.past.clear();
    }
}

/// Where the rules stand, and the counter that is to be used up.
#[derive(Clone)]
pub(super) struct ClimbPosition<'a> {
    pub(super) session: Session<'a>,
    pub(super) counter: Session<'a>,
}

impl<'a> ClimbPosition<'a> {
    pub(super) fn new(system: &'a System, without: Option<usize>, counter: &'a System) -> Self {
        Self { session: Session::new(system, without), counter: Session::new(counter, None) }
    }

    /// How much is left of the counter.
    pub(super) fn left(&self) -> u64 {
        self.counter.state.value(self.counter.system(), 0)
    }

    /// Whether a session from here is walked to its end, and the counter refuses just its last label.
    pub(super) fn refuses_last_of(mut self, trace: &Trace) -> bool {
        let walk = |session: &mut Session<'_>, trace: &Trace| {
            trace.runs().iter().try_for_each(|run| session.repeat(&run.labels, run.times)).is_ok()
        };
        walk(&mut self.session, trace)
            && walk(&mut self.counter.clone(), &trace.without_last())
            && !walk(&mut self.counter, trace)
    }

    /// Whether only counters differ, and there is less left of the one in question.
    pub(super) fn is_further_on(&self, before: &Self) -> bool {
        self.left() < before.left() && self.session.differs_in_counters_only(&before.session.state)
    }

    /// Goes round for as long as it is possible, and says how often.
    pub(super) fn go_round(&mut self, round: &[Label]) -> u64 {
        let (lasts, _) = self.counter.clone().repeat_while_possible(round, u64::MAX);
        let (times, _) = self.session.repeat_while_possible(round, lasts);
        let (times, _) = self.counter.repeat_while_possible(round, times);
        times
    }
}
