//! Calls in flight: found by id, by what they hold, and by when their lease ends.
//!
//! A session may have ten thousand of them, and no decision may cost more for that. So nothing here walks over all of them for
//! one call, and a copy of a session shares its [`Flights`] with the original: a judgement that takes lapsed calls off
//! its copy notes their ids instead of copying the others.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use lockgate_call::Time;

use super::parts::{Flight, Table};

/// A copy that landed more calls than this gets a table of its own.
const NOTED_MAX: usize = 64;

/// Calls that run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flights {
    table: Arc<FlightTable>,
    /// Calls that have landed while the table is shared with a copy.
    landed: Vec<Arc<str>>,
}

#[derive(Clone, Debug, Default)]
struct FlightTable {
    /// Ids come from outside; crafted ones could slow this table down, but only as far as the bound on calls in
    /// flight lets them.
    by_id: Table<Arc<str>, (u64, Flight)>,
    /// Ids in the order in which their leases end; landed ones may still be listed.
    leases: VecDeque<(Time, Arc<str>)>,
    /// Calls that more than one door may see, by what they hold.
    alike: Table<Arc<str>, Vec<Alike>>,
    /// How many calls there were.
    count: u64,
}

/// Calls that hold the same and that the same doors have seen, the oldest first.
#[derive(Clone, Debug)]
struct Alike {
    doors: Vec<Arc<str>>,
    ids: BTreeMap<u64, Arc<str>>,
}

impl Flights {
    pub(crate) fn len(&self) -> usize {
        self.table.by_id.len().saturating_sub(self.landed.len())
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Flight> {
        self.get_key_value(id).map(|(_, flight)| flight)
    }

    pub(crate) fn get_key_value(&self, id: &str) -> Option<(&Arc<str>, &Flight)> {
        let (id, (_, flight)) = self.table.by_id.get_key_value(id)?;
        (!self.has_landed(id)).then_some((id, flight))
    }

    /// All of them, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Flight)> {
        self.table.by_id.iter().filter(|(id, _)| !self.has_landed(id)).map(|(id, (_, flight))| (id, flight))
    }

    /// The oldest of the calls that hold this and that the right doors have seen.
    pub(crate) fn like(&self, content: &str, is_meant: impl Fn(&[Arc<str>]) -> bool) -> Option<&Arc<str>> {
        let meant = self.table.alike.get(content)?.iter().filter(|alike| is_meant(&alike.doors));
        let oldest = meant.filter_map(|alike| alike.ids.iter().find(|(_, id)| !self.has_landed(id)));
        oldest.min_by_key(|(number, _)| **number).map(|(_, id)| id)
    }

    /// The calls whose lease has ended by then.
    pub(crate) fn due(&self, at: Time) -> impl Iterator<Item = &Arc<str>> {
        let due = self.table.leases.iter().take_while(move |(deadline, _)| *deadline <= at);
        due.filter(|(deadline, id)| self.get(id).is_some_and(|flight| flight.deadline == *deadline))
            .map(|(_, id)| id)
    }

    pub(crate) fn insert(&mut self, id: Arc<str>, flight: Flight) {
        let table = self.table_mut();
        table.land(&id);
        table.leases.push_back((flight.deadline, id.clone()));
        table.count += 1;
        table.list(&id, table.count, &flight);
        table.by_id.insert(id, (table.count, flight));
    }

    /// One more door has seen a call.
    pub(crate) fn see(&mut self, id: &str, door: &Arc<str>) {
        let table = self.table_mut();
        let Some((id, (number, mut flight))) = table.by_id.remove_entry(id) else { return };
        table.unlist(number, &flight);
        if let Some(passage) = flight.passage.as_deref_mut() {
            passage.doors.push(door.clone());
        }
        table.list(&id, number, &flight);
        table.by_id.insert(id, (number, flight));
    }

    pub(crate) fn land(&mut self, id: &str) {
        if Arc::get_mut(&mut self.table).is_none() && self.landed.len() < NOTED_MAX {
            let known = self.get_key_value(id).map(|(id, _)| id.clone());
            self.landed.extend(known);
            return;
        }
        self.table_mut().land(id);
    }

    /// Orders the leases of calls that were put in in another order.
    pub(crate) fn sort(&mut self) {
        let mut flights: Vec<(Time, Arc<str>, Flight)> =
            self.iter().map(|(id, flight)| (flight.deadline, id.clone(), flight.clone())).collect();
        flights.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        *self = Self::default();
        flights.into_iter().for_each(|(_, id, flight)| self.insert(id, flight));
    }

    fn has_landed(&self, id: &Arc<str>) -> bool {
        self.landed.iter().any(|landed| Arc::ptr_eq(landed, id))
    }

    /// The table of this session alone, without what has landed.
    fn table_mut(&mut self) -> &mut FlightTable {
        let table = Arc::make_mut(&mut self.table);
        self.landed.drain(..).for_each(|id| table.land(&id));
        table
    }
}

impl FlightTable {
    fn land(&mut self, id: &str) {
        let Some((number, flight)) = self.by_id.remove(id) else { return };
        self.unlist(number, &flight);
        let by_id = &self.by_id;
        let is_over = |(deadline, id): &(Time, Arc<str>)| {
            by_id.get(id).is_none_or(|(_, flight)| flight.deadline != *deadline)
        };
        while self.leases.front().is_some_and(is_over) {
            self.leases.pop_front();
        }
        // Behind one slow call a long line of landed ones may wait to be forgotten.
        if self.leases.len() > 2 * by_id.len() + 16 {
            self.leases.retain(|lease| !is_over(lease));
        }
    }

    fn list(&mut self, id: &Arc<str>, number: u64, flight: &Flight) {
        let Some(passage) = flight.passage.as_deref() else { return };
        let alike = self.alike.entry(passage.content.clone()).or_default();
        match alike.iter_mut().find(|alike| alike.doors == passage.doors) {
            Some(alike) => {
                alike.ids.insert(number, id.clone());
            }
            None => {
                alike.push(Alike {
                    doors: passage.doors.clone(),
                    ids: BTreeMap::from([(number, id.clone())]),
                });
            }
        }
    }

    fn unlist(&mut self, number: u64, flight: &Flight) {
        let Some(passage) = flight.passage.as_deref() else { return };
        let Some(alike) = self.alike.get_mut(&passage.content) else { return };
        for alike in alike.iter_mut().filter(|alike| alike.doors == passage.doors) {
            alike.ids.remove(&number);
        }
        alike.retain(|alike| !alike.ids.is_empty());
        if alike.is_empty() {
            self.alike.remove(&passage.content);
        }
    }
}

/// Sessions are equal if their flights are, in whatever order these came.
impl PartialEq for Flights {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(id, flight)| other.get(id) == Some(flight))
    }
}

#[cfg(test)]
mod tests {
    use lockgate_policy::Decision;

    use super::*;
    use crate::state::Passage;

    fn flight(deadline: u64, passage: Option<(&str, &str)>) -> Flight {
        let passage = passage
            .map(|(door, content)| Box::new(Passage { doors: vec![door.into()], content: content.into() }));
        Flight {
            tool: "t".into(),
            decision: Decision::Allow,
            waiting: Default::default(),
            shows: Vec::new(),
            call: None,
            parent: None,
            passage,
            deadline: Time(deadline),
        }
    }

    fn ten_thousand() -> Flights {
        let mut flights = Flights::default();
        (0..10_000).for_each(|n| flights.insert(n.to_string().into(), flight(n, None)));
        flights
    }

    #[test]
    fn a_copy_from_which_calls_have_lapsed_shares_the_others() {
        let flights = ten_thousand();
        let mut copy = flights.clone();
        let due: Vec<_> = copy.due(Time(2)).cloned().collect();
        due.iter().for_each(|id| copy.land(id));
        assert!(Arc::ptr_eq(&flights.table, &copy.table), "ten thousand calls were copied for three");
        assert_eq!((flights.len(), copy.len()), (10_000, 9_997));
        assert!(copy.get("2").is_none() && flights.get("2").is_some() && copy.get("3").is_some());
        assert_eq!(copy.due(Time(3)).map(|id| &**id).collect::<Vec<_>>(), ["3"]);
    }

    #[test]
    fn the_session_itself_is_never_copied_to_change_it() {
        let mut flights = ten_thousand();
        let table = Arc::as_ptr(&flights.table);
        let mut judged = flights.clone();
        judged.land("0");
        drop(judged);
        flights.land("0");
        flights.insert("new".into(), flight(20_000, None));
        assert!(std::ptr::eq(table, Arc::as_ptr(&flights.table)));
        assert_eq!((flights.len(), flights.landed.len()), (10_000, 0));
    }

    #[test]
    fn a_call_without_an_id_is_found_among_ten_thousand_without_looking_at_the_others() {
        let mut flights = Flights::default();
        for n in 0..10_000 {
            flights.insert(format!("same-{n}").into(), flight(n, Some(("hook", "same"))));
        }
        flights.insert("other".into(), flight(10_000, Some(("hook", "other"))));
        let asked = std::cell::Cell::new(0);
        let is_new = |doors: &[Arc<str>]| {
            asked.set(asked.get() + 1);
            !doors.iter().any(|door| **door == *"hook")
        };
        assert_eq!(flights.like("same", is_new), None);
        assert_eq!(flights.like("other", |_| true).map(|id| &**id), Some("other"));
        assert_eq!(asked.get(), 1, "calls that the same doors have seen are looked at once");
    }

    /// Does the same with a list that is searched from its beginning.
    #[derive(Clone, Default)]
    struct Listed(Vec<(String, Flight)>);

    impl Listed {
        fn like(&self, content: &str, door: &str) -> Option<&str> {
            let is_it = |flight: &Flight| {
                let passage = flight.passage.as_deref();
                passage.is_some_and(|it| *it.content == *content && it.doors.iter().all(|it| **it != *door))
            };
            self.0.iter().find(|(_, flight)| is_it(flight)).map(|(id, _)| id.as_str())
        }
    }

    #[test]
    fn flights_are_what_a_plain_list_of_them_is() {
        let mut luck = 11_u64;
        let mut next = |below: u64| {
            luck = luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (luck >> 33) % below
        };
        let (mut flights, mut listed) = (Flights::default(), Listed::default());
        // What somebody looks at meanwhile, which must stay as it was.
        let mut copies: VecDeque<(Flights, Listed)> = VecDeque::new();
        let (doors, contents) = (["hook", "proxy", "api"], ["a", "b"]);
        for step in 0..20_000_u64 {
            let id = next(40).to_string();
            let (door, content) = (doors[next(3) as usize], contents[next(2) as usize]);
            match next(8) {
                0..3 if flights.get(&id).is_none() => {
                    let flight = flight(step, (next(3) > 0).then_some((door, content)));
                    flights.insert(id.as_str().into(), flight.clone());
                    listed.0.push((id, flight));
                }
                3..6 => {
                    flights.land(&id);
                    listed.0.retain(|(known, _)| *known != id);
                }
                6 => {
                    flights.see(&id, &door.into());
                    let flight = listed.0.iter_mut().find(|(known, _)| *known == id);
                    if let Some(passage) = flight.and_then(|(_, flight)| flight.passage.as_deref_mut()) {
                        passage.doors.push(door.into());
                    }
                }
                _ => {
                    copies.push_back((flights.clone(), listed.clone()));
                    if copies.len() > 3 {
                        copies.pop_front();
                    }
                }
            }
            let newest = copies.back().filter(|_| step % 7 == 0);
            let both = newest.map(|(a, b)| (a, b)).into_iter().chain([(&flights, &listed)]);
            for (flights, listed) in both {
                assert_eq!(flights.len(), listed.0.len());
                assert!(listed.0.iter().all(|(id, flight)| flights.get(id) == Some(flight)));
                assert_eq!(
                    flights.like(content, |it| it.iter().all(|it| **it != *door)).map(|id| &**id),
                    listed.like(content, door)
                );
                let due: Vec<&str> = flights.due(Time(step - step.min(20))).map(|id| &**id).collect();
                let is_due = |flight: &Flight| flight.deadline <= Time(step - step.min(20));
                let expected = listed.0.iter().filter(|(_, flight)| is_due(flight));
                assert_eq!(due, expected.map(|(id, _)| id.as_str()).collect::<Vec<_>>());
            }
        }
    }
}
