//! How a demand spreads: from a label to the rules that guard it, and to the labels that earn those.

use super::{Demand, EarlyEnd, SPREADS_PER_LABEL_MAX, Straight, StraightQuestion, watcher};
use crate::prove::{dense::At, rule::Table};

impl Straight {
    pub(super) fn spread(
        &mut self,
        asked: &StraightQuestion<'_>,
        value_of: &impl Fn(usize) -> u64,
    ) -> Result<(), EarlyEnd> {
        self.spread_within(asked, value_of, u64::MAX)
    }

    /// Spreads demands to whatever earns what they need; ends early once more than `most` labels are demanded.
    pub(super) fn spread_within(
        &mut self,
        asked: &StraightQuestion<'_>,
        value_of: &impl Fn(usize) -> u64,
        most: u64,
    ) -> Result<(), EarlyEnd> {
        let setting = &asked.setting;
        let mut spreads = 0;
        while let Some(place) = self.open.pop_front().filter(|_| self.total <= most) {
            let Some(demand) = self.demands.get_mut(place) else { continue };
            demand.is_open = false;
            let label = demand.label;
            spreads += 1;
            if spreads > SPREADS_PER_LABEL_MAX * self.demands.len() {
                return Err(EarlyEnd::Unknown);
            }
            for touch in setting.system.guards(label) {
                if Some(touch.rule) == setting.without {
                    continue;
                }
                if let Some(table) = setting.system.table(touch.rule) {
                    self.spread_by_table(asked, value_of, place, touch.rule, table)?;
                    continue;
                }
                if !touch.role.needs() {
                    continue;
                }
                let value = self.meet(touch.rule, value_of);
                let missing = self.missing(setting.system, touch.rule, value);
                if missing > 0 {
                    let gains = setting.system.gaining(touch.rule).iter().copied();
                    match self.earner(asked, gains, missing)? {
                        Some(earner) => self.raise(earner, missing, Some(touch.rule)),
                        None => return Err(EarlyEnd::Never(Some(touch.rule))),
                    }
                }
            }
        }
        Ok(())
    }

    /// What a table wants before a label that it refuses now: taken as often as the label, which is always enough.
    fn spread_by_table(
        &mut self,
        asked: &StraightQuestion<'_>,
        value_of: &impl Fn(usize) -> u64,
        place: usize,
        rule: usize,
        table: &Table,
    ) -> Result<(), EarlyEnd> {
        let Demand { label, calls, .. } = self.demands.at(place);
        let system = asked.setting.system;
        let letter = system.labels().get(label).and_then(|name| table.alphabet().position(*name));
        let (Some(letter), true) = (letter, asked.takes_any) else { return Err(EarlyEnd::Unknown) };
        let value = self.meet(rule, value_of);
        table.study().distance(letter, value).ok_or(EarlyEnd::Unknown)?;
        for before in table.study().before(letter, value) {
            let name = table.alphabet().iter().nth(before);
            let before = name.and_then(|name| system.position(name)).ok_or(EarlyEnd::Unknown)?;
            if asked.setting.forbidden.contains(&before) {
                return Err(EarlyEnd::Unknown);
            }
            self.raise(before, calls, Some(rule));
        }
        Ok(())
    }

    /// The label to earn something by, so many times; none if none may happen. Where there are several, counting does
    /// not tell which, unless any will do: then one that is demanded anyway, or one that the rule that watches and
    /// tables do not know.
    pub(super) fn earner(
        &self,
        asked: &StraightQuestion<'_>,
        labels: impl Iterator<Item = usize>,
        times: u64,
    ) -> Result<Option<usize>, EarlyEnd> {
        let StraightQuestion { setting, .. } = asked;
        let monitor = watcher(asked.goal);
        let rank = |label: usize| {
            let is_table = |rule: usize| setting.system.table(rule).is_some();
            let name = setting.name(label, monitor);
            let is_watched = monitor.is_some_and(|monitor| monitor.cell.gains.contains(name));
            let touches = setting.system.guards(label);
            (self.calls(label) < times, is_watched, touches.iter().any(|touch| is_table(touch.rule)), label)
        };
        let mut found: Option<usize> = None;
        for label in labels.filter(|label| !setting.forbidden.contains(label)) {
            let label = setting.stand_in(label, monitor);
            found = match found {
                Some(known) if known == label => continue,
                Some(_) if !asked.takes_any => return Err(EarlyEnd::Unknown),
                Some(known) if rank(known) < rank(label) => continue,
                _ => Some(label),
            };
        }
        Ok(found)
    }
}
