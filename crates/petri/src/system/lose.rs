//! What can be lost: sessions after which something can never happen again, or nothing at all.
//!
//! Whether a goal can still be reached depends only on its cone: the rules that guard what leads to it. So
//! `can_lose` walks forwards over the cone, breadth first, and asks of each state whether the goal is still
//! within reach; a way that was found once answers for every state that has at least what the way needs.
//! Before that it tries the worst state there could be: if the goal is within reach even from there, it is
//! never lost. Nothing is said about fairness: "can still happen", not "will happen".

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::{
    answer::{Answer, Explored, Reason, Run, Trace},
    dense::At,
    label::{Label, LabelSet},
    problem::{Fired, Goal, LocalCell, Place, Problem, Rules, SOFT_COUNT, Scratch, Setting},
    prover::Prover,
    rule::Cell,
    search::{Found, search},
    state::{Session, State},
    structure::RuleId,
};

/// Most cells of a cone that is looked at state by state.
const CONE_CELLS_MAX: usize = 2_048;

/// Most states of one search for a way that is still open.
const WAY_STATES_MAX: usize = 5_000;

/// Most states of the walk over a cone.
const WALK_STATES_MAX: usize = 20_000;

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

    /// Is there a session after which every label of the system is refused?
    pub fn can_get_stuck(&self) -> Answer {
        let is_refused = |position: usize| {
            self.system.touches(position).iter().any(|touch| {
                let table = self.system.cells.get(touch.rule).is_some_and(Cell::is_table);
                touch.role.needs() || table
            })
        };
        if !(0..self.system.labels().len()).all(is_refused) {
            return Answer::No(Reason::default());
        }
        let mut scratch = Scratch::default();
        let mut labels = Vec::new();
        let mut undecided = None;
        for component in self.system.components() {
            let rules: Vec<usize> = component.rules.iter().map(|rule| rule.0).collect();
            let forward = Problem::of_all_labels(self.setting(None), &rules, u64::MAX, &mut scratch);
            let moves: Vec<usize> = (0..forward.labels.len()).collect();
            let mut walk = Walk::new(&forward, moves, self.bounds.states_max.min(WALK_STATES_MAX));
            let start = forward.encode(|cell| self.system.cells.get(cell.rule).map_or(0, Cell::start), 0);
            match walk.first(&start, |_, is_stuck| if is_stuck { Verdict::Lost } else { Verdict::Fine }) {
                Walked::Lost(way) => labels.extend(
                    self.names_of(&way.iter().map(|label| forward.labels.at(*label)).collect::<Vec<_>>()),
                ),
                Walked::All => return Answer::No(Reason { rules: component.rules }),
                Walked::NoRoom(states) => undecided = Some(Explored { states, rules: rules.len() }),
            }
        }
        match undecided {
            Some(explored) => Answer::Undecided(explored),
            None => self.checked(labels),
        }
    }

    pub(super) fn can_lose_in(&self, labels: &LabelSet, scratch: &mut Scratch) -> Answer {
        let goals: Vec<usize> = self.system.positions(labels).collect();
        if goals.len() < labels.len() {
            return Answer::No(Reason::default());
        }
        let cone = Problem::new(self.setting(None), &Goal::Call(&goals), Rules::All, scratch);
        let reason = || Reason { rules: cone.cells.iter().map(|cell| RuleId(cell.rule)).collect() };
        let explored = |states| Answer::Undecided(Explored { states, rules: cone.cells.len() });
        if cone.cells.len() > CONE_CELLS_MAX {
            return explored(0);
        }
        let mut reach = Reach { cone: &cone, known: Vec::new(), scratch };
        let start = cone.encode(|cell| self.start(cell), 0);
        match reach.verdict(&start) {
            Verdict::Lost => return Answer::Yes(Trace::shortest(Vec::new())),
            Verdict::Unknown => return explored(WAY_STATES_MAX),
            Verdict::Fine => {}
        }
        let has_tables = cone.cells.iter().any(|cell| cell.place.is_table());
        let worst = cone.encode(|cell| self.worst(cell, &goals), 0);
        if !has_tables && matches!(reach.verdict(&worst), Verdict::Fine) {
            return Answer::No(reason());
        }
        let is_large =
            |cell: &LocalCell| matches!(cell.place, Place::Counter { full, .. } if full > COUNTED_MAX);
        let is_large = cone.cells.iter().any(is_large);
        let start = State::default();
        if let Walked::All = self.walk(&mut reach, &goals, Detail::Coarse, &start) {
            return Answer::No(reason());
        }
        let detail = if is_large { Detail::Soft } else { Detail::Exact };
        match self.walk(&mut reach, &goals, detail, &start) {
            Walked::All => Answer::No(reason()),
            Walked::Lost(way) if !is_large || self.is_lost_after(&way, &mut reach) => {
                self.checked(self.names_of(&way))
            }
            Walked::Lost(way) => match self.drain(&mut reach, &goals) {
                Some(trace) => Answer::Yes(trace),
                None => explored(way.len()),
            },
            Walked::NoRoom(states) => match self.drain(&mut reach, &goals) {
                Some(trace) => Answer::Yes(trace),
                None => explored(states),
            },
        }
    }

    /// Walks over the cone and takes in whatever rule outside refuses what was found. The way is in positions
    /// of labels in the system.
    fn walk(&self, reach: &mut Reach<'_, '_>, goals: &[usize], detail: Detail, from: &State) -> Walked {
        let cone = reach.cone;
        let is_left_out = |cell: &LocalCell| match cell.place {
            _ if detail != Detail::Coarse => false,
            Place::Bit { .. } => self.system.cells.get(cell.rule).is_some_and(|cell| !cell.gains.is_empty()),
            Place::Counter { full, .. } => full > COUNTED_MAX,
            Place::Table { .. } => false,
        };
        let counted_max = if detail == Detail::Soft { COUNTED_MAX } else { u64::MAX };
        let mut rules: Vec<usize> =
            cone.cells.iter().filter(|cell| !is_left_out(cell)).map(|cell| cell.rule).collect();
        let setting = Setting { forbidden: goals, ..self.setting(None) };
        loop {
            let forward = Problem::of_all_labels(setting, &rules, counted_max, reach.scratch);
            let is_soft =
                |cell: &LocalCell| matches!(cell.place, Place::Counter { full, .. } if full > counted_max);
            let value_in_cone = |cell: &LocalCell, state: &[u64]| {
                let place = forward.cells.binary_search_by_key(&cell.rule, |other| other.rule).ok();
                let Some(own) = place.and_then(|place| forward.cells.get(place)) else {
                    return self.worst(cell, goals);
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
            let walk_max = if *from == State::default() { WALK_STATES_MAX } else { DRAINED_STATES_MAX };
            let states_max = self.bounds.states_max.min(walk_max);
            let mut walk = Walk::new(&forward, forward.distinct(), states_max);
            let judge = |state: &[u64], _| reach.verdict(&cone.encode(|cell| value_in_cone(cell, state), 0));
            let way = match walk.first(&start, judge) {
                Walked::Lost(way) => way,
                other => return other,
            };
            let way: Vec<usize> = way.iter().map(|label| forward.labels.at(*label)).collect();
            let mut session = Session::from(self.system, None, from.clone());
            let Err(refusing) = session.walk(&self.names_of(&way)) else { return Walked::Lost(way) };
            let known = rules.len();
            rules.extend(refusing.into_iter().map(|rule| rule.0));
            rules.sort_unstable();
            rules.dedup();
            // Only what was left out can be known and refuse: then the walk was too coarse to tell.
            let is_coarse =
                cone.cells.iter().any(|cell| is_left_out(cell) && rules.binary_search(&cell.rule).is_ok());
            if rules.len() == known || is_coarse {
                return Walked::NoRoom(0);
            }
        }
    }

    /// Whether the goal of a cone is out of reach after a way from the start.
    fn is_lost_after(&self, way: &[usize], reach: &mut Reach<'_, '_>) -> bool {
        let mut session = Session::new(self.system, None);
        let is_possible = session.walk(&self.names_of(way)).is_ok();
        let here = reach.cone.encode(|cell| session.state.value(self.system, cell.rule), 0);
        is_possible && matches!(reach.verdict(&here), Verdict::Lost)
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
                if let Walked::Lost(way) = self.walk(reach, goals, Detail::Exact, &after) {
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

    /// The lowest a cell can ever be before a goal happens.
    fn worst(&self, cell: &LocalCell, goals: &[usize]) -> u64 {
        let Some(own) = self.system.cells.get(cell.rule) else { return 0 };
        let mut losing = self.system.positions(&own.loses);
        let is_lost = losing.any(|label| !goals.contains(&label) && !self.waiting.is_dead(label));
        if is_lost { 0 } else { own.start() }
    }

    /// A session that was walked under all rules; anything else is no answer.
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

#[derive(Clone, Copy)]
enum Verdict {
    Fine,
    Lost,
    Unknown,
}

/// From which states of a cone its goal can be reached.
struct Reach<'a, 's> {
    cone: &'a Problem,
    /// States from which it can; and so it can from all that are at least as good.
    known: Vec<Vec<u64>>,
    scratch: &'s mut Scratch,
}

impl Reach<'_, '_> {
    fn verdict(&mut self, state: &[u64]) -> Verdict {
        if let Some(place) = self.known.iter().position(|known| self.cone.dominates(state, known)) {
            // What answered last will answer next.
            if place > 0 {
                self.known.swap(place, place / 2);
            }
            return Verdict::Fine;
        }
        match search(self.cone, state, &mut self.scratch.estimator, WAY_STATES_MAX).0 {
            Found::Way(way, _) => {
                self.known.push(self.cone.weakest(&way, state));
                Verdict::Fine
            }
            Found::None => Verdict::Lost,
            Found::NoRoom => Verdict::Unknown,
        }
    }
}

/// A walk over all states of a problem, nearest first.
struct Walk<'a> {
    problem: &'a Problem,
    moves: Vec<usize>,
    states_max: usize,
    words: Vec<u64>,
    from: Vec<(usize, usize)>,
    index: HashTable<usize>,
}

enum Walked {
    /// The nearest state that is lost is reached by these labels.
    Lost(Vec<usize>),
    /// No state is lost.
    All,
    /// Not decided after so many states.
    NoRoom(usize),
}

impl<'a> Walk<'a> {
    fn new(problem: &'a Problem, moves: Vec<usize>, states_max: usize) -> Self {
        let (words, from, index) = (Vec::new(), Vec::new(), HashTable::new());
        Self { problem, moves, states_max, words, from, index }
    }

    /// The nearest state that a judge calls lost. The judge sees each state, and whether nothing moves there.
    fn first(&mut self, start: &[u64], mut judge: impl FnMut(&[u64], bool) -> Verdict) -> Walked {
        self.keep(start, (0, 0));
        let (mut place, mut state, mut next) = (0, Vec::new(), Vec::new());
        while place < self.from.len() {
            state.clear();
            state.extend_from_slice(self.state(place));
            let mut is_stuck = true;
            let moves = std::mem::take(&mut self.moves);
            let mut has_room = true;
            for label in &moves {
                if self.problem.fire(*label, &state, &mut next) != Fired::Refused {
                    is_stuck = false;
                    has_room &= self.keep(&next, (place, *label));
                }
            }
            self.moves = moves;
            match judge(&state, is_stuck) {
                Verdict::Fine if has_room => {}
                Verdict::Lost => return Walked::Lost(self.way(place)),
                Verdict::Fine | Verdict::Unknown => return Walked::NoRoom(self.from.len()),
            }
            place += 1;
        }
        Walked::All
    }

    fn state(&self, place: usize) -> &[u64] {
        let width = self.problem.width;
        self.words.get(place * width..(place + 1) * width).unwrap_or_default()
    }

    fn keep(&mut self, state: &[u64], from: (usize, usize)) -> bool {
        let hasher = FixedState::default();
        let hash = hasher.hash_one(state);
        if self.index.find(hash, |place| self.state(*place) == state).is_some() {
            return true;
        }
        if self.from.len() >= self.states_max {
            return false;
        }
        let (words, width) = (&self.words, self.problem.width);
        self.index.insert_unique(hash, self.from.len(), |place| {
            hasher.hash_one(words.get(place * width..(place + 1) * width).unwrap_or_default())
        });
        self.words.extend_from_slice(state);
        self.from.push(from);
        true
    }

    fn way(&self, mut place: usize) -> Vec<usize> {
        let mut way = Vec::new();
        while place > 0 {
            let (before, label) = self.from.at(place);
            way.push(label);
            place = before;
        }
        way.reverse();
        way
    }
}
