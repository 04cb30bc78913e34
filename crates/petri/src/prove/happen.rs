//! Lets what was counted happen: the second half of finding a session without a search.

use std::cmp::Reverse;

use super::{
    dense::At,
    rule::Kind,
    straight::{Demand, MetRule, Straight, StraightQuestion},
    structure::{System, Touch},
};

/// Most labels of a session that is looked for like this.
const LENGTH_MAX: u64 = 1 << 20;

/// A label that more rules know than this is a hub.
const TOUCHES_MAX: usize = 64;

impl Straight {
    /// Lets everything demanded happen, the goal only where nothing else can, and last of all.
    pub(super) fn happen(&mut self, asked: &StraightQuestion<'_>, goal: usize) -> Option<Vec<usize>> {
        let total = self.total;
        if total > LENGTH_MAX {
            return None;
        }
        let goal = self.place_of.get(goal)?;
        self.find_hubs(asked.setting.system);
        for (place, demand) in self.demands.iter_mut().enumerate() {
            demand.left = demand.calls;
            if place != goal {
                self.ready.push(Reverse(place));
            }
        }
        let mut way = Vec::with_capacity(usize::try_from(total).ok()?);
        loop {
            let place = match self.ready.pop() {
                Some(Reverse(place)) if place != goal && self.may_come(asked, place) => place,
                Some(_) => continue,
                None if self.is_possible(asked, goal) => goal,
                None => return None,
            };
            let demand = self.demands.get_mut(place).filter(|demand| demand.left > 0)?;
            demand.left -= 1;
            way.push(demand.label);
            if place == goal && demand.left == 0 {
                break;
            }
            self.fire(asked, place);
        }
        (asked.takes_any || way.len() as u64 == total).then_some(way)
    }

    /// Whether a demanded label is not refused.
    fn is_possible(&self, asked: &StraightQuestion<'_>, place: usize) -> bool {
        let StraightQuestion { setting, .. } = asked;
        let label = self.demands.at(place).label;
        let touches = setting.system.guards(label).iter();
        let mut others = touches.filter(|touch| Some(touch.rule) != setting.without);
        others.all(|touch| match self.met_of.get(touch.rule).map(|met| self.met.at(met)) {
            Some(met) if touch.role.needs() => met.value > 0,
            Some(met) => {
                self.after_table(setting.system, touch.rule, label, met.value).is_none_or(|it| it.is_some())
            }
            None => !touch.role.needs(),
        })
    }

    /// Where a table stands after a label, which may be refused; none where a rule is not a table.
    fn after_table(&self, system: &System, rule: usize, label: usize, value: u64) -> Option<Option<u64>> {
        let table = system.table(rule)?;
        let letter = system.labels().get(label).and_then(|name| table.alphabet().position(*name));
        Some(letter.and_then(|letter| table.next(value, letter)))
    }

    /// Whether a demanded label is not refused, earns something that is not there, and takes nothing away that others
    /// ask for. A refill may be wasted where something else is earned.
    fn may_come(&self, asked: &StraightQuestion<'_>, place: usize) -> bool {
        let StraightQuestion { setting, .. } = asked;
        let demand = self.demands.at(place);
        if demand.left == 0 {
            return false;
        }
        let (mut earns, mut wastes) = (false, false);
        let touches = self.touches(setting.system, demand).iter();
        for touch in touches.filter(|it| Some(it.rule) != setting.without) {
            let Some(met) = self.met_of.get(touch.rule).map(|met| self.met.at(met)) else {
                if touch.role.needs() {
                    return false;
                }
                continue;
            };
            if let Some(after) = self.after_table(setting.system, touch.rule, demand.label, met.value) {
                if after.is_none() {
                    return false;
                }
                continue;
            }
            if touch.role.needs() {
                if met.value == 0 {
                    return false;
                }
            } else if touch.role.gains() {
                match setting.system.cells.get(touch.rule).map(|cell| &cell.kind) {
                    Some(Kind::Counter { full }) if met.value >= *full => wastes = true,
                    // Once is enough for ever where nothing spends it.
                    Some(Kind::Bit { .. }) if met.value > 0 => {
                        if self.is_still_left(setting.system.losing(touch.rule), demand) {
                            return false;
                        }
                    }
                    _ => earns = true,
                }
            } else if touch.role.loses()
                && met.value > 0
                && self.is_still_left(setting.system.needing(touch.rule), demand)
            {
                return false;
            }
        }
        earns || !wastes
    }

    /// Whether one of some labels beside another one must still happen.
    fn is_still_left(&self, labels: &[usize], beside: Demand) -> bool {
        let others = labels.iter().filter(|label| **label != beside.label);
        let mut left = others.filter_map(|label| Some(self.demands.at(self.place_of.get(*label)?).left));
        left.any(|left| left > 0)
    }

    /// Changes what rules remember, and looks again at what that may have made possible.
    fn fire(&mut self, asked: &StraightQuestion<'_>, place: usize) {
        let StraightQuestion { setting, .. } = asked;
        let system = setting.system;
        let Demand { label, hub, .. } = self.demands.at(place);
        let own = hub.and_then(|hub| self.hubs.get_mut(hub)).map(std::mem::take);
        for touch in own.as_deref().unwrap_or_else(|| system.touches(label)) {
            let Some(place) = self.met_of.get(touch.rule) else { continue };
            if let Some(table) = system.table(touch.rule) {
                let after = self.after_table(system, touch.rule, label, self.met.at(place).value).flatten();
                self.met.change(place, |met| MetRule { value: after.unwrap_or(met.value), ..met });
                let letters =
                    table.alphabet().iter().filter_map(|name| self.place_of.get(system.position(name)?));
                let letters = letters.filter(|place| self.demands.at(*place).left > 0);
                self.ready.extend(letters.map(Reverse));
                continue;
            }
            let Some(met) = self.met.get_mut(place) else { continue };
            let before = met.value;
            let full = match system.cells.get(touch.rule).map(|cell| &cell.kind) {
                Some(Kind::Counter { full }) => *full,
                _ => 1,
            };
            if touch.role.loses() {
                met.value = if full == 1 { 0 } else { met.value.saturating_sub(1) };
            } else if touch.role.gains() {
                met.value = met.value.saturating_add(1).min(full);
            }
            let after = met.value;
            let others = match (before, after) {
                (0, 1..) => system.needing(touch.rule),
                _ if after < before => system.gaining(touch.rule),
                _ => continue,
            };
            let places = others.iter().filter_map(|label| self.place_of.get(*label));
            self.ready.extend(places.filter(|place| self.demands.at(*place).left > 0).map(Reverse));
        }
        if let Some((hub, own)) = hub.and_then(|hub| self.hubs.get_mut(hub)).zip(own) {
            *hub = own;
        }
        if self.demands.at(place).left > 0 {
            self.ready.push(Reverse(place));
        }
    }

    /// Finds the demanded labels that more rules know than are worth looking at one by one.
    fn find_hubs(&mut self, system: &System) {
        let is_hub = |demand: &Demand| system.touches(demand.label).len() > TOUCHES_MAX;
        let touched: usize =
            self.demands.iter().filter(|it| is_hub(it)).map(|it| system.touches(it.label).len()).sum();
        let known = |met: &MetRule| system.reach(met.rule);
        if touched == 0 || self.met.iter().map(known).sum::<usize>() >= touched {
            return;
        }
        for demand in self.demands.iter_mut().filter(|demand| is_hub(demand)) {
            demand.hub = Some(self.hubs.len());
            self.hubs.push(Vec::new());
        }
        for rule in self.met.iter().map(|met| met.rule) {
            for label in system.known(rule) {
                let demand = self.place_of.get(label).map(|place| self.demands.at(place));
                let hub = demand.and_then(|demand| self.hubs.get_mut(demand.hub?));
                if let Some(hub) = hub.filter(|hub| hub.last().is_none_or(|last| last.rule != rule)) {
                    let name = system.labels().get(label).copied().unwrap_or_default();
                    let role = system.cells.get(rule).map(|cell| cell.role(name)).unwrap_or_default();
                    hub.push(Touch { rule, role });
                }
            }
        }
    }

    /// The rules that know a demanded label; of a hub, those that guard something demanded.
    fn touches<'s>(&'s self, system: &'s System, demand: Demand) -> &'s [Touch] {
        let own = demand.hub.and_then(|hub| self.hubs.get(hub));
        own.map_or_else(|| system.touches(demand.label), Vec::as_slice)
    }
}
