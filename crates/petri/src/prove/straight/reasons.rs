//! Why counting finds no session: the rules that a reason rests on.

use super::{EarlyEnd, Straight, StraightQuestion};
use crate::prove::{dense::At, setting::Goal, structure::Touch};

impl Straight {
    /// The rules because of which a goal is out of reach, if counting alone tells that.
    pub(in crate::prove) fn never_because(
        &mut self,
        asked: &StraightQuestion<'_>,
        value_of: impl Fn(usize) -> u64,
    ) -> Option<Vec<usize>> {
        match self.demand(asked, &value_of) {
            Err(EarlyEnd::Never(cell)) => Some(self.reason(asked, cell)),
            Err(EarlyEnd::Unknown) | Ok(_) => None,
        }
    }

    /// The rules because of which a counter that watches is never used up, if counting alone tells that. The values are
    /// to be at least as good as any in which nothing of the counter is spent: see `Estimator::is_endless`.
    pub(in crate::prove) fn endless_because(
        &mut self,
        asked: &StraightQuestion<'_>,
        value_of: impl Fn(usize) -> u64,
    ) -> Option<Vec<usize>> {
        let Goal::Violate(monitor) = asked.goal else { return None };
        match self.demand(asked, &value_of) {
            Err(EarlyEnd::Never(cell)) => Some(self.reason(asked, cell)),
            Err(EarlyEnd::Unknown) => None,
            Ok(_) => {
                let is_met = self.met.iter().all(|met| value_of(met.rule) > 0);
                let gained = self.gained(monitor).filter(|_| is_met)?;
                let by = self.place_of.get(gained).map(|place| self.demands.at(place)).and_then(|it| it.by);
                Some(by.map(|cell| self.reason(asked, Some(cell))).unwrap_or_default())
            }
        }
    }

    /// The rules that a demand rests on which can never be met.
    pub(super) fn reason(&mut self, asked: &StraightQuestion<'_>, cell: Option<usize>) -> Vec<usize> {
        let mut rules: Vec<usize> = Vec::new();
        let mut open: Vec<usize> = cell.into_iter().collect();
        let mut is_known = vec![false; self.met.len()];
        while let Some(rule) = open.pop() {
            let Some(place) = self.met_of.get(rule).filter(|place| !is_known.at(*place)) else { continue };
            is_known.put(place, true);
            rules.push(rule);
            for label in asked.setting.system.needing(rule) {
                let mut next = self.place_of.get(*label).and_then(|place| self.demands.at(place).raise);
                while let Some(raise) = next.map(|place| self.raises.at(place)) {
                    open.push(raise.by);
                    next = raise.before;
                }
            }
        }
        rules.extend_from_slice(&self.earned);
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    /// Whether something demanded would have to happen before itself: nothing earns what it needs but what waits for it.
    pub(super) fn waits_for_itself(
        &mut self,
        asked: &StraightQuestion<'_>,
        value_of: &impl Fn(usize) -> u64,
    ) -> bool {
        let setting = &asked.setting;
        // Each label is let happen once whatever it spends; what never becomes possible waits for itself.
        let mut unmet = vec![0_u32; self.demands.len()];
        let is_needed = |touch: &Touch| {
            touch.role.needs() && Some(touch.rule) != setting.without && value_of(touch.rule) == 0
        };
        let mut open = Vec::new();
        for (place, demand) in self.demands.iter().enumerate() {
            let needs = setting.system.guards(demand.label).iter().filter(|touch| is_needed(touch)).count();
            unmet.put(place, u32::try_from(needs).unwrap_or(u32::MAX));
            if needs == 0 {
                open.push(place);
            }
        }
        let mut done = 0;
        let mut is_earned = vec![false; self.met.len()];
        while let Some(place) = open.pop() {
            done += 1;
            for touch in setting.system.touches(self.demands.at(place).label) {
                let met = self.met_of.get(touch.rule).filter(|_| touch.role.gains());
                let Some(met) = met.filter(|met| !is_earned.at(*met) && value_of(touch.rule) == 0) else {
                    continue;
                };
                is_earned.put(met, true);
                for needing in setting.system.needing(touch.rule) {
                    let Some(place) = self.place_of.get(*needing) else { continue };
                    unmet.change(place, |count| count.saturating_sub(1));
                    if unmet.at(place) == 0 {
                        open.push(place);
                    }
                }
            }
        }
        done < self.demands.len()
    }
}
