//! What can be lost: sessions after which something can never happen again, or nothing at all.
//!
//! Whether a goal can still be reached depends only on its cone: the rules that guard what leads to it. So
//! `can_lose` walks forwards over the cone, breadth first, and asks of each state whether the goal is still
//! within reach; a way that was found once answers for every state that has at least what the way needs.
//! Before that it tries the worst state there could be: if the goal is within reach even from there, it is
//! never lost. Nothing is said about fairness: "can still happen", not "will happen".

mod walk;

use hashbrown::HashMap;
use walk::{Reach, Reachability, WAY_STATES_MAX, Walk, WalkResult};

use super::{
    answer::{Answer, Explored, Reason, Run, Trace},
    dense::At,
    gather::{Rules, cone},
    label::{Label, LabelSet},
    losses::Loss,
    problem::{FiringResult, LocalCell, Place, Problem, SOFT_COUNT},
    prover::Prover,
    rule::{Cell, Kind},
    scratch::Scratch,
    setting::{Goal, Setting},
    state::{Session, State},
    structure::RuleId,
};

/// Most cells of a cone that is looked at state by state.
const CONE_CELLS_MAX: usize = 2_048;

/// Most states of the first look at each part of a system that may get stuck.
const STUCK_STATES_MAX: usize = 250;

/// Counters with more than this are not walked down one by one at first.
const COUNTED_MAX: u64 = 16;

/// Most counters that are tried to be used up.
const DRAINED_MAX: usize = 8;

/// Most states of the walk from there.
const DRAINED_STATES_MAX: usize = 1_000;

/// Most labels that are tried for that.
const DRAINING_LABELS_MAX: usize = 4;

impl Prover<'_> {
    /// Is there a session without any of these labels after which none of them can ever happen? If not, one
    /// of them stays possible until it happens.
    pub fn can_lose(&self, labels: &LabelSet) -> Answer {
        self.can_lose_in(labels, &mut Scratch::default())
    }

    /// Is there a session after which each of these labels is refused, at that moment? If they are all labels of
    /// the system, nothing can follow; if not, others may open them again.
    pub fn can_get_stuck(&self, labels: &LabelSet) -> Answer {
        let watched: Vec<usize> = self.system.positions(labels).collect();
        let is_guarded = |label: &usize| self.guards(*label).next().is_some();
        if watched.len() < labels.len() || !watched.iter().all(is_guarded) {
            return Answer::No(Reason::default());
        }
        let mut parts = if watched.len() == 1 { vec![watched] } else { self.by_component(&watched) };
        parts.retain(|part| !part.is_empty());
        parts.sort_by_key(Vec::len);
        let (mut scratch, mut left) = (Scratch::default(), self.bounds.lose_states_max);
        let (mut session, mut explored) = (Vec::new(), Explored::default());
        // One part that never gets stuck is enough: all are looked at a little before some are looked at closely.
        for states_max in [STUCK_STATES_MAX, usize::MAX] {
            for part in std::mem::take(&mut parts) {
                let (walked, rules) = self.refuse_all(&part, states_max, &mut left, &mut scratch);
                match walked {
                    WalkResult::Lost(way) => session.extend(way),
                    WalkResult::All => {
                        return Answer::No(Reason { rules: rules.into_iter().map(RuleId).collect() });
                    }
                    WalkResult::NoRoom(states) => {
                        explored = Explored { states, rules: rules.len() };
                        parts.push(part);
                    }
                }
            }
        }
        if parts.is_empty() { self.checked(self.names_of(&session)) } else { Answer::Undecided(explored) }
    }

    /// Labels in groups that have nothing to do with each other.
    fn by_component(&self, labels: &[usize]) -> Vec<Vec<usize>> {
        let components = self.system.components().into_iter().map(|component| {
            let positions = component.labels.iter().filter_map(|label| self.system.position(*label));
            positions.filter(|label| labels.binary_search(label).is_ok()).collect()
        });
        components.collect()
    }

    /// The rules that refuse a label at some time.
    fn guards(&self, label: usize) -> impl Iterator<Item = usize> + '_ {
        let name = self.system.labels().get(label).copied().unwrap_or_default();
        let touches = self.system.guards(label).iter();
        let guards =
            touches.filter(move |touch| match self.system.cells.get(touch.rule).map(|cell| &cell.kind) {
                Some(Kind::Table(table)) => table.letter(name).is_some_and(|letter| letter.is_refused),
                _ => touch.role.needs(),
            });
        guards.map(|touch| touch.rule)
    }

    /// Walks to the nearest state in which all these labels are refused: over the rules that guard them, and
    /// whatever other rule refuses what was found.
    fn refuse_all(
        &self,
        watched: &[usize],
        states_max: usize,
        left: &mut usize,
        scratch: &mut Scratch,
    ) -> (WalkResult, Vec<usize>) {
        let mut rules: Vec<usize> = watched.iter().flat_map(|label| self.guards(*label)).collect();
        loop {
            rules.sort_unstable();
            rules.dedup();
            if rules.len() > CONE_CELLS_MAX {
                return (WalkResult::NoRoom(0), rules);
            }
            let forward =
                Problem::of_all_labels(self.setting(None), &rules, u64::MAX, &mut scratch.gathering);
            let watched: Vec<usize> =
                watched.iter().filter_map(|label| forward.labels.binary_search(label).ok()).collect();
            let mut walk = Walk::new(&forward, forward.distinct(), states_max.min(*left));
            let start = forward.encode(|cell| self.start(cell), 0);
            let mut next = Vec::new();
            let walked = walk.first(&start, |state| {
                let is_refused =
                    |label: &usize| forward.fire(*label, state, &mut next) == FiringResult::Refused;
                if watched.iter().all(is_refused) { Reachability::Lost } else { Reachability::Fine }
            });
            *left = left.saturating_sub(walk.cost());
            let WalkResult::Lost(way) = walked else { return (walked, rules) };
            let way: Vec<usize> = way.iter().map(|label| forward.labels.at(*label)).collect();
            let Err(refusing) = Session::new(self.system, None).walk(&self.names_of(&way)) else {
                return (WalkResult::Lost(way), rules);
            };
            let known = rules.len();
            rules.extend(
                refusing
                    .into_iter()
                    .map(|rule| rule.0)
                    .filter(|rule| !rules.contains(rule))
                    .collect::<Vec<_>>(),
            );
            if rules.len() == known {
                return (WalkResult::NoRoom(0), rules);
            }
        }
    }

    pub(super) fn can_lose_in(&self, labels: &LabelSet, scratch: &mut Scratch) -> Answer {
        let goals: Vec<usize> = self.system.positions(labels).collect();
        if goals.len() < labels.len() {
            return Answer::No(Reason::default());
        }
        let few = self.bounds.searched_at_once_max;
        if cone(self.setting(None), &goals, few, &mut scratch.gathering).len() > few {
            match self.losses().find(self.ground(), &goals) {
                Loss::None => {
                    let rules = cone(self.setting(None), &goals, usize::MAX, &mut scratch.gathering);
                    return Answer::No(Reason { rules: rules.into_iter().map(RuleId).collect() });
                }
                Loss::After(labels) => return Answer::Yes(Trace::shortest(labels)),
                Loss::Unknown => {}
            }
        }
        let cone = Problem::new(self.setting(None), &Goal::Call(&goals), Rules::All, &mut scratch.gathering);
        let reason = || Reason { rules: cone.cells.iter().map(|cell| RuleId(cell.rule)).collect() };
        let explored = |states| Answer::Undecided(Explored { states, rules: cone.cells.len() });
        if cone.cells.len() > CONE_CELLS_MAX {
            return explored(0);
        }
        let left = self.bounds.lose_states_max;
        let mut reach =
            Reach { cone: &cone, known: Vec::new(), known_by_tables: HashMap::default(), left, scratch };
        let start = cone.encode(|cell| self.start(cell), 0);
        match reach.verdict(&start) {
            Reachability::Lost => return Answer::Yes(Trace::shortest(Vec::new())),
            Reachability::Unknown => return explored(WAY_STATES_MAX),
            Reachability::Fine => {}
        }
        let has_worst = cone.cells.iter().all(|cell| self.worst(cell, &goals).is_some());
        let worst = cone.encode(|cell| self.worst(cell, &goals).unwrap_or_default(), 0);
        if has_worst && matches!(reach.verdict(&worst), Reachability::Fine) {
            return Answer::No(reason());
        }
        let is_large =
            |cell: &LocalCell| matches!(cell.place, Place::Counter { full, .. } if full > COUNTED_MAX);
        let is_large = cone.cells.iter().any(is_large);
        let start = State::default();
        if let WalkResult::All = self.walk(&mut reach, &goals, Detail::Coarse, &start) {
            return Answer::No(reason());
        }
        let detail = if is_large { Detail::Soft } else { Detail::Exact };
        match self.walk(&mut reach, &goals, detail, &start) {
            WalkResult::All => Answer::No(reason()),
            WalkResult::Lost(way) if !is_large || self.is_lost_after(&way, &mut reach) => {
                self.checked(self.names_of(&way))
            }
            WalkResult::Lost(way) => match self.drain(&mut reach, &goals) {
                Some(trace) => Answer::Yes(trace),
                None => explored(way.len()),
            },
            WalkResult::NoRoom(states) => match self.drain(&mut reach, &goals) {
                Some(trace) => Answer::Yes(trace),
                None => explored(states),
            },
        }
    }

    /// Walks over the cone and takes in whatever rule outside refuses what was found. The way is in positions
    /// of labels in the system.
    fn walk(&self, reach: &mut Reach<'_, '_>, goals: &[usize], detail: Detail, from: &State) -> WalkResult {
        let cone = reach.cone;
        let is_left_out = |cell: &LocalCell| match cell.place {
            _ if detail != Detail::Coarse => false,
            Place::Bit { .. } => self.system.cells.get(cell.rule).is_some_and(|cell| !cell.gains.is_empty()),
            Place::Counter { full, .. } => full > COUNTED_MAX,
            Place::Table { .. } => self.worst(cell, goals).is_some(),
        };
        let counted_max = if detail == Detail::Soft { COUNTED_MAX } else { u64::MAX };
        let mut rules: Vec<usize> =
            cone.cells.iter().filter(|cell| !is_left_out(cell)).map(|cell| cell.rule).collect();
        let setting = Setting { forbidden: goals, ..self.setting(None) };
        loop {
            let forward = Problem::of_all_labels(setting, &rules, counted_max, &mut reach.scratch.gathering);
            let is_soft =
                |cell: &LocalCell| matches!(cell.place, Place::Counter { full, .. } if full > counted_max);
            let value_in_cone = |cell: &LocalCell, state: &[u64]| {
                let place = forward.cells.binary_search_by_key(&cell.rule, |other| other.rule).ok();
                let Some(own) = place.and_then(|place| forward.cells.get(place)) else {
                    return self.worst(cell, goals).unwrap_or_default();
                };
                match forward.value(own, state) {
                    0 if is_soft(own) => 0,
                    left if is_soft(own) => {
                        self.start(cell).saturating_sub(SOFT_COUNT - left.min(SOFT_COUNT))
                    }
                    value => value,
                }
            };
            let start = forward.encode(
                |cell| if is_soft(cell) { SOFT_COUNT } else { from.value(self.system, cell.rule) },
                0,
            );
            // From where a counter was used up, what is lost at all is mostly lost soon.
            let walk_max = match detail {
                _ if *from != State::default() => DRAINED_STATES_MAX,
                Detail::Coarse => reach.left / 2,
                Detail::Soft | Detail::Exact => reach.left,
            };
            let mut walk = Walk::new(&forward, forward.distinct(), walk_max.min(reach.left));
            let judge = |state: &[u64]| reach.verdict(&cone.encode(|cell| value_in_cone(cell, state), 0));
            let walked = walk.first(&start, judge);
            reach.left = reach.left.saturating_sub(walk.cost());
            let way = match walked {
                WalkResult::Lost(way) => way,
                other => return other,
            };
            let way: Vec<usize> = way.iter().map(|label| forward.labels.at(*label)).collect();
            let mut session = Session::from(self.system, None, from.clone());
            let Err(refusing) = session.walk(&self.names_of(&way)) else { return WalkResult::Lost(way) };
            let known = rules.len();
            rules.extend(refusing.into_iter().map(|rule| rule.0));
            rules.sort_unstable();
            rules.dedup();
            // Only what was left out can be known and refuse: then the walk was too coarse to tell.
            let is_coarse =
                cone.cells.iter().any(|cell| is_left_out(cell) && rules.binary_search(&cell.rule).is_ok());
            if rules.len() == known || is_coarse {
                return WalkResult::NoRoom(0);
            }
        }
    }

    /// Whether the goal of a cone is out of reach after a way from the start.
    fn is_lost_after(&self, way: &[usize], reach: &mut Reach<'_, '_>) -> bool {
        let mut session = Session::new(self.system, None);
        let is_possible = session.walk(&self.names_of(way)).is_ok();
        let here = reach.cone.encode(|cell| session.state.value(self.system, cell.rule), 0);
        is_possible && matches!(reach.verdict(&here), Reachability::Lost)
    }

    /// A session that uses up counters too large to walk down and goes on from there until the goal is lost:
    /// first each counter alone, then one after the other.
    fn drain(&self, reach: &mut Reach<'_, '_>, goals: &[usize]) -> Option<Trace> {
        let is_large =
            |cell: &&LocalCell| matches!(cell.place, Place::Counter { full, .. } if full > COUNTED_MAX);
        let large = reach.cone.cells.iter().filter(is_large).map(|cell| cell.rule);
        let large: Vec<usize> = large.take(DRAINED_MAX).collect();
        let alone = large.iter().find_map(|counter| self.drain_all(&[*counter], reach, goals));
        alone.or_else(|| self.drain_all(&large, reach, goals))
    }

    /// Uses up counters one after the other, each by the label that earns least if that is possible.
    fn drain_all(&self, counters: &[usize], reach: &mut Reach<'_, '_>, goals: &[usize]) -> Option<Trace> {
        let (mut trace, mut state) = (Trace::default(), State::default());
        for id in counters {
            let needs = self.system.cells.get(*id).map(|cell| &cell.needs)?;
            let spending = self.system.positions(needs).filter(|label| !goals.contains(label));
            let mut spending: Vec<usize> = spending.collect();
            spending.sort_by_key(|label| {
                self.system.touches(*label).iter().filter(|touch| touch.role.gains()).count()
            });
            for label in spending.iter().take(DRAINING_LABELS_MAX) {
                let others = spending.iter().filter(|other| *other != label);
                let forbidden: Vec<usize> = goals.iter().chain(others).copied().collect();
                let setting = Setting { forbidden: &forbidden, without: Some(*id), ..self.setting(None) };
                let Some(more) = self.pump_from(&state, *id, setting, reach.scratch) else { continue };
                let longer = trace.then(more.without_last().runs());
                let Ok(after) = self.system.replay(&longer) else { continue };
                if let WalkResult::Lost(way) = self.walk(reach, goals, Detail::Exact, &after) {
                    return Some(longer.then(&[Run { labels: self.names_of(&way), times: 1 }]));
                }
                if counters.len() > 1 {
                    (trace, state) = (longer, after);
                    break;
                }
            }
        }
        None
    }

    fn names_of(&self, way: &[usize]) -> Vec<Label> {
        way.iter().filter_map(|label| self.system.labels().get(*label)).copied().collect()
    }

    fn start(&self, cell: &LocalCell) -> u64 {
        self.system.cells.get(cell.rule).map_or(0, Cell::start)
    }

    /// The worst that a cell can ever be before a goal happens; none if nothing is worse than all else.
    fn worst(&self, cell: &LocalCell, goals: &[usize]) -> Option<u64> {
        if let Place::Table { table, .. } = &cell.place {
            return table.study().worst();
        }
        let own = self.system.cells.get(cell.rule)?;
        let mut losing = self.system.positions(&own.loses);
        let is_lost = losing.any(|label| !goals.contains(&label) && !self.waiting.is_dead(label));
        Some(if is_lost { 0 } else { own.start() })
    }

    /// A session that was walked under all rules; anything else is not an answer.
    fn checked(&self, labels: Vec<Label>) -> Answer {
        match Session::new(self.system, None).walk(&labels) {
            Ok(()) => Answer::Yes(Trace::shortest(labels)),
            Err(_) => Answer::Undecided(Explored::default()),
        }
    }
}

/// How closely a walk looks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Whatever can be earned again, and whatever is too much to count, is taken to be used up: if the goal
    /// is within reach even so, it always is.
    Coarse,
    /// Large counters are taken to be used up once a little was spent, and to last for ever all the same.
    Soft,
    Exact,
}
