//! How many labels it takes at least from a state to the goal, without searching.
//!
//! [`Estimator::estimate`] counts demands: a goal must happen once, what it spends must have been earned as
//! often as it is spent, and so on backwards. It never says too much, and it says "never" where a demanded
//! label can no longer happen, must happen more often than something allows, or waits for itself. It looks at
//! the counters' numbers and not at their steps, so a demand of a thousand million is as cheap as one of two.
//! Which of several earners is used is left open: only that one of them is needed counts then.

use super::{
    dense::At,
    problem::{LocalCell, LocalMonitor, Problem},
    rule::Kind,
};

/// Most steps of spreading demands per label; stopping early only makes the estimate lower.
const SPREADS_PER_LABEL_MAX: usize = 8;

#[derive(Default)]
pub(super) struct Estimator {
    /// For each label how often it must happen at least.
    calls: Vec<u64>,
    open: Vec<usize>,
    /// Cells that need more of one of several earners.
    choices: Vec<usize>,
    /// Sets of which together a number must happen.
    some_of: Vec<(Vec<usize>, u64)>,
    colours: Vec<Colour>,
    path: Vec<(usize, usize)>,
    used: Vec<bool>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Colour {
    #[default]
    White,
    Grey,
    Black,
}

/// The goal cannot be reached from here.
struct Never;

/// One of the labels that must come before another: its first time or its last.
enum Before {
    First(usize),
    Last(usize),
    Nothing,
    /// There are no more.
    End,
}

impl Estimator {
    /// The least number of labels to the goal; none if it cannot be reached.
    pub(super) fn estimate(&mut self, problem: &Problem, state: &[u64]) -> Option<u64> {
        self.demand(problem, state).ok()?;
        Some(self.total(problem, state))
    }

    /// Whether a counter that watches can never be used up, because using it up would take what refills it, and ever more
    /// of that. The state is to be at least as good as any in which nothing of the counter is spent.
    ///
    /// Take the last such moment of a session that uses it up. From then on each refill has to be spent once more. If
    /// spending as often as there is to spend already demands a refill, spending once more demands one more: each cell
    /// that is spent more often must be earned as much more often. So there is no end to it.
    pub(super) fn is_endless(&mut self, problem: &Problem, state: &[u64]) -> bool {
        let Some(monitor) = &problem.monitor else { return false };
        let is_met = problem.cells.iter().all(|cell| problem.value(cell, state) > 0);
        match self.demand(problem, state) {
            Err(Never) => true,
            Ok(()) => is_met && monitor.gains.iter().any(|label| self.calls.at(*label) > 0),
        }
    }

    /// After an estimate: a label that must happen, is possible now and may as well happen first.
    pub(super) fn commit(&self, problem: &Problem, state: &[u64]) -> Option<usize> {
        let demanded = self.calls.iter().enumerate().filter(|(_, calls)| **calls > 0);
        let mut first =
            demanded.map(|(label, _)| label).filter(|label| problem.may_come_first(*label, state));
        first.find(|label| {
            let cells = problem.ops.get(*label).into_iter().flat_map(|op| &op.cells);
            cells.filter_map(|cell| problem.cells.get(*cell)).all(|cell| problem.value(cell, state) > 0)
        })
    }

    fn demand(&mut self, problem: &Problem, state: &[u64]) -> Result<(), Never> {
        self.calls.clear();
        self.calls.resize(problem.labels.len(), 0);
        self.open.clear();
        self.choices.clear();
        self.some_of.clear();
        let mut spreads = SPREADS_PER_LABEL_MAX * (problem.labels.len() + 1);
        let Some(monitor) = &problem.monitor else {
            self.one_of(&problem.goals, 1)?;
            self.spread(problem, state, &mut spreads)?;
            return self.no_circle(problem, state);
        };
        let value = problem.monitor_value(state);
        match &monitor.kind {
            Kind::Table(_) => {
                let distance = monitor.distances.at(usize::try_from(value).unwrap_or(usize::MAX));
                return distance.map(drop).ok_or(Never);
            }
            Kind::Counter { full } => {
                self.one_of(&problem.goals, (full - value.min(*full)).saturating_add(1))?
            }
            Kind::Bit { .. } => self.one_of(&problem.goals, 1)?,
        }
        self.spread(problem, state, &mut spreads)?;
        if matches!(monitor.kind, Kind::Bit { .. }) {
            // What it refuses now it will not refuse any more once it has earned, until it loses again.
            let will_gain = monitor.gains.iter().any(|label| self.calls.at(*label) > 0);
            if value == 0 || will_gain {
                self.lose_first(problem, monitor)?;
                self.spread(problem, state, &mut spreads)?;
            }
        }
        self.no_circle(problem, state)
    }

    /// The monitor must lose what it has before the goal.
    fn lose_first(&mut self, problem: &Problem, monitor: &LocalMonitor) -> Result<(), Never> {
        let also_loses = problem.goals.iter().filter(|goal| monitor.loses.contains(goal)).count();
        if also_loses == problem.goals.len() {
            // The goal itself makes it lose: it happens once more, unless another label does it.
            let times = if monitor.loses.len() == also_loses { 2 } else { 1 };
            self.one_of(&problem.goals, times)?;
            if monitor.loses.len() > also_loses {
                self.one_of(&monitor.loses, 2)?;
            }
            return Ok(());
        }
        if also_loses > 0 {
            return if monitor.loses.is_empty() { Err(Never) } else { Ok(()) };
        }
        self.one_of(&monitor.loses, 1)
    }

    /// Some of these labels must happen so many times together.
    fn one_of(&mut self, labels: &[usize], times: u64) -> Result<(), Never> {
        match labels {
            [] => Err(Never),
            [label] => {
                self.raise(*label, times);
                Ok(())
            }
            several => {
                self.some_of.push((several.to_vec(), times));
                Ok(())
            }
        }
    }

    fn raise(&mut self, label: usize, times: u64) {
        if self.calls.at(label) < times {
            self.calls.put(label, times);
            self.open.push(label);
        }
    }

    fn spread(&mut self, problem: &Problem, state: &[u64], spreads: &mut usize) -> Result<(), Never> {
        while let Some(label) = self.open.pop() {
            if *spreads == 0 {
                return Ok(());
            }
            *spreads -= 1;
            for index in problem.ops.get(label).into_iter().flat_map(|op| &op.cells) {
                let Some(cell) = problem.cells.get(*index) else { continue };
                let missing = self.missing(cell, problem.value(cell, state));
                match cell.gains.as_slice() {
                    _ if missing == 0 => {}
                    [] => return Err(Never),
                    [earner] => self.raise(*earner, missing),
                    _ if self.choices.contains(index) => {}
                    _ => self.choices.push(*index),
                }
            }
            self.spread_by_tables(problem, label, state)?;
        }
        Ok(())
    }

    /// What tables want before a label that they refuse now.
    fn spread_by_tables(&mut self, problem: &Problem, label: usize, state: &[u64]) -> Result<(), Never> {
        for (cell, table, letter, value) in problem.tables_of(label, state) {
            table.study().distance(letter, value).ok_or(Never)?;
            for (before, times) in table.study().before_each(letter, value, self.calls.at(label)) {
                // Whatever is in no session of the problem leads nowhere.
                self.raise(cell.label_of(before).ok_or(Never)?, times);
            }
        }
        Ok(())
    }

    /// How often a cell must be earned for all that is demanded.
    fn missing(&self, cell: &LocalCell, value: u64) -> u64 {
        let spent = cell.spends.iter().map(|label| self.calls.at(*label)).fold(0, u64::saturating_add);
        let is_asked = value == 0 && cell.asks.iter().any(|label| self.calls.at(*label) > 0);
        spent.saturating_sub(value).max(u64::from(is_asked))
    }

    /// Whether something demanded would have to happen before itself.
    ///
    /// A label stands here twice: for the first time it happens, and beyond all labels for the last.
    fn no_circle(&mut self, problem: &Problem, state: &[u64]) -> Result<(), Never> {
        let n_labels = problem.labels.len();
        self.colours.clear();
        self.colours.resize(2 * n_labels, Colour::White);
        for start in 0..n_labels {
            if self.calls.at(start) == 0 || self.colours.at(start) != Colour::White {
                continue;
            }
            self.path.clear();
            self.path.push((start, 0));
            self.colours.put(start, Colour::Grey);
            while let Some((moment, next)) = self.path.last_mut() {
                let (moment, place) = (*moment, *next);
                *next += 1;
                let before = match moment.checked_sub(n_labels) {
                    None => self.before_first(problem, state, moment, place),
                    Some(label) => self.before_last(problem, state, label, place),
                };
                let before = match before {
                    Before::First(label) => label,
                    Before::Last(label) => n_labels + label,
                    Before::Nothing => continue,
                    Before::End => {
                        self.colours.put(moment, Colour::Black);
                        self.path.pop();
                        continue;
                    }
                };
                match self.colours.at(before) {
                    Colour::Grey => return Err(Never),
                    Colour::Black => {}
                    Colour::White => {
                        self.colours.put(before, Colour::Grey);
                        self.path.push((before, 0));
                    }
                }
            }
        }
        Ok(())
    }

    /// What comes before a demanded label for the first time: whatever alone earns what it needs, whatever it
    /// forbids for good, and whatever tables want.
    #[inline]
    fn before_first(&self, problem: &Problem, state: &[u64], label: usize, place: usize) -> Before {
        let Some(op) = problem.ops.get(label) else { return Before::End };
        if let Some(index) = op.cells.get(place) {
            return match problem.cells.get(*index) {
                Some(cell) if cell.gains.len() == 1 && problem.value(cell, state) == 0 => {
                    Before::First(cell.gains.at(0))
                }
                _ => Before::Nothing,
            };
        }
        let place = place - op.cells.len();
        if let Some(forbidden) = op.forbids.get(place) {
            let is_demanded = self.calls.at(*forbidden) > 0;
            return if is_demanded { Before::Last(*forbidden) } else { Before::Nothing };
        }
        let mut by_tables = problem.before_by_tables(label, state);
        by_tables.nth(place - op.forbids.len()).map_or(Before::End, Before::First)
    }

    /// What comes before a demanded label for the last time: its first time, and whatever alone earns what it spends more
    /// of than there is.
    fn before_last(&self, problem: &Problem, state: &[u64], label: usize, place: usize) -> Before {
        let Some(op) = problem.ops.get(label) else { return Before::End };
        let Some(place) = place.checked_sub(1) else { return Before::First(label) };
        let Some(index) = op.cells.get(place) else { return Before::End };
        match problem.cells.get(*index) {
            Some(cell) if cell.gains.len() == 1 => {
                let others = cell.spends.iter().filter(|other| **other != label);
                let others = others.fold(0_u64, |sum, other| sum.saturating_add(self.calls.at(*other)));
                let is_short = others == 0 && self.missing(cell, problem.value(cell, state)) > 0;
                if is_short { Before::First(cell.gains.at(0)) } else { Before::Nothing }
            }
            _ => Before::Nothing,
        }
    }

    fn total(&mut self, problem: &Problem, state: &[u64]) -> u64 {
        let mut total = self.calls.iter().copied().fold(0, u64::saturating_add);
        if !self.choices.is_empty() || !self.some_of.is_empty() {
            self.used.clear();
            self.used.resize(problem.labels.len(), false);
            let (some_of, choices) = (std::mem::take(&mut self.some_of), std::mem::take(&mut self.choices));
            // The demands made last are the higher ones.
            for (labels, times) in some_of.iter().rev() {
                total = total.saturating_add(self.more_of(labels, *times));
            }
            for cell in choices.iter().filter_map(|index| problem.cells.get(*index)) {
                let missing = self.missing(cell, problem.value(cell, state));
                total = total.saturating_add(self.more_of(&cell.gains, missing));
            }
            (self.some_of, self.choices) = (some_of, choices);
        }
        if problem.has_tables() {
            for (label, _) in self.calls.iter().enumerate().filter(|(_, calls)| **calls > 0) {
                for (_, table, letter, value) in problem.tables_of(label, state) {
                    total = total.max(table.study().distance(letter, value).map_or(0, |before| before + 1));
                }
            }
        }
        let distance = problem.monitor.as_ref().and_then(|monitor| {
            monitor.distances.at(usize::try_from(problem.monitor_value(state)).unwrap_or(usize::MAX))
        });
        total.max(distance.unwrap_or(1))
    }

    /// How many of these labels are needed beyond what is demanded of each. Labels are counted once only, so
    /// that the sum over several sets never says too much.
    fn more_of(&mut self, labels: &[usize], times: u64) -> u64 {
        if labels.iter().any(|label| self.used.at(*label)) {
            return 0;
        }
        labels.iter().for_each(|label| self.used.put(*label, true));
        let demanded = labels.iter().map(|label| self.calls.at(*label)).fold(0, u64::saturating_add);
        times.saturating_sub(demanded)
    }
}
