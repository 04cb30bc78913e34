//! What the gate remembers about one session.
//!
//! [`Session::apply`] is the only thing that changes a session, so live use, replay and simulation all go
//! through one place, and applying a session's events again rebuilds it exactly. Only what differs from a
//! fresh session is kept: a policy of ten thousand rules costs nothing until a call touches one.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    sync::Arc,
};

use lockgate_call::{Call, Time};
use lockgate_petri::{Marking, TransitionId};
use lockgate_policy::{Policy, RuleId};
use serde_json::{Map, Value};
use smallvec::SmallVec;

use crate::{
    event::{Closing, Event, Move},
    saved::SavedNet,
};

/// What a session remembers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    pub(crate) markings: Table<RuleId, Marking>,
    pub(crate) notes: BTreeMap<RuleId, Notes>,
    pub(crate) inactive: BTreeSet<RuleId>,
    /// Calls that run, by id. Ids come from outside; crafted ones could slow this table down, but only as far
    /// as the bound on calls in flight lets them.
    pub(crate) flights: Table<Arc<str>, Flight>,
    pub(crate) leases: Leases,
    pub(crate) asked: BTreeMap<u64, Asked>,
    pub(crate) halted: Option<String>,
    pub(crate) approvals_made: u64,
    pub(crate) counts: Counts,
    /// What was spent of a limit beyond what it was lowered to, for the day it is raised again.
    pub(crate) overspent: BTreeMap<RuleId, u64>,
    /// The state of rules that the policy no longer has, kept for the day they come back.
    pub(crate) strangers: BTreeMap<String, SavedNet>,
    /// The latest moment seen. Time never runs backwards in a session.
    pub(crate) clock: Time,
}

type Table<K, V> = hashbrown::HashMap<K, V, foldhash::fast::RandomState>;

/// The ids of flights in the order in which their leases end; landed ones may still be listed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leases(pub(crate) VecDeque<(Time, Arc<str>)>);

/// Sessions are equal if their flights are, however many landed ones are still to be forgotten.
impl PartialEq for Leases {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What validators and result hooks of one net remember: a JSON object of theirs.
pub type Notes = Map<String, Value>;

/// How often this session called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls judged.
    pub attempts: u64,
    /// Calls let pass.
    pub tool_calls: u64,
}

/// A call that was let pass and whose result has not come.
#[derive(Clone, Debug, PartialEq)]
pub struct Flight {
    /// The tool that runs.
    pub tool: Arc<str>,
    /// What fires when the result says success.
    pub waiting: SmallVec<[Waiting; 1]>,
    /// The call, kept only for result hooks.
    pub call: Option<Arc<Call>>,
    /// When the result is given up.
    pub deadline: Time,
}

/// A transition that fires when a call turns out well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The rule.
    pub rule: RuleId,
    /// Its transition.
    pub transition: TransitionId,
    /// The deed that chose it.
    pub deed: Arc<str>,
}

/// A call that waits for a human.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The call as it was asked about; a grant is for exactly this.
    pub call: Call,
    /// The rules that want the human.
    pub rules: Vec<RuleId>,
    /// The transitions whose tokens are taken while the human decides.
    pub taken: SmallVec<[(RuleId, TransitionId); 2]>,
    /// When the question lapses.
    pub deadline: Time,
}

/// The name of a question put to a human, unique over all sessions: `a3@session`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApprovalId {
    /// The session that asks.
    pub session: String,
    /// The how-manieth question of that session.
    pub number: u64,
}

impl Session {
    /// Takes in what happened. Nothing else changes a session.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Allowed { id, at, flight, moves, notes } => {
                self.see(*at);
                self.counts.attempts += 1;
                self.counts.tool_calls += 1;
                self.make(moves);
                self.note(notes);
                self.leases.0.push_back((flight.deadline, id.clone()));
                self.flights.insert(id.clone(), flight.clone());
            }
            Event::Blocked { at, .. } => {
                self.see(*at);
                self.counts.attempts += 1;
            }
            Event::Asked { at, number, asked, moves } => {
                self.see(*at);
                self.approvals_made = *number;
                self.make(moves);
                self.asked.insert(*number, (**asked).clone());
            }
            Event::Closed { at, number, how, moves } => {
                self.see(*at);
                self.make(moves);
                self.asked.remove(number);
                // A question nobody answered in time ends a call that was never decided otherwise.
                if *how == Closing::Expired {
                    self.counts.attempts += 1;
                }
            }
            Event::Settled { id, at, moves, notes, .. } => {
                self.see(*at);
                self.make(moves);
                self.note(notes);
                self.land(id);
            }
            Event::Lapsed { id, at } => {
                self.see(*at);
                self.land(id);
            }
            Event::Stray { at, .. } => self.see(*at),
            Event::Activated { rule } => {
                self.inactive.remove(rule);
            }
            Event::Deactivated { rule } => {
                self.inactive.insert(*rule);
            }
            Event::Halted { reason } => self.halted = Some(reason.clone()),
            Event::Resumed => self.halted = None,
        }
    }

    /// The session after some events; itself, where nothing happened.
    pub(crate) fn after(&self, events: &[Event]) -> Cow<'_, Self> {
        if events.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut later = self.clone();
        events.iter().for_each(|event| later.apply(event));
        Cow::Owned(later)
    }

    /// Why this session is halted, if it is.
    pub fn halted(&self) -> Option<&str> {
        self.halted.as_deref()
    }

    /// Where a rule stands; none if it is not of this policy.
    pub fn marking<'a>(&'a self, policy: &'a Policy, rule: RuleId) -> Option<&'a Marking> {
        self.markings.get(&rule).or_else(|| policy.rule(rule).map(|rule| rule.net.start()))
    }

    /// Whether a rule takes part in this session.
    pub fn is_active(&self, rule: RuleId) -> bool {
        self.inactive.is_empty() || !self.inactive.contains(&rule)
    }

    /// What the hooks of a net remember.
    pub fn notes(&self, rule: RuleId) -> Option<&Notes> {
        self.notes.get(&rule)
    }

    /// Calls that run, by id.
    pub fn flights(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &Flight)> {
        self.flights.iter()
    }

    /// Calls that wait for a human, by the number of the question.
    pub fn asked(&self) -> &BTreeMap<u64, Asked> {
        &self.asked
    }

    /// How often this session called.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The latest moment this session has seen.
    pub fn clock(&self) -> Time {
        self.clock
    }

    fn see(&mut self, at: Time) {
        self.clock = self.clock.max(at);
    }

    fn make(&mut self, moves: &[Move]) {
        for Move { rule, marking } in moves {
            self.markings.insert(*rule, marking.clone());
        }
    }

    fn note(&mut self, notes: &[(RuleId, Notes)]) {
        for (rule, notes) in notes {
            self.notes.insert(*rule, notes.clone());
        }
    }

    fn land(&mut self, id: &str) {
        self.flights.remove(id);
        let flights = &self.flights;
        let is_over =
            |(deadline, id): &(Time, Arc<str>)| flights.get(id).is_none_or(|it| it.deadline != *deadline);
        while self.leases.0.front().is_some_and(is_over) {
            self.leases.0.pop_front();
        }
        // Behind one slow call a long line of landed ones may wait to be forgotten.
        if self.leases.0.len() > 2 * flights.len() + 16 {
            self.leases.0.retain(|lease| !is_over(lease));
        }
    }
}

impl ApprovalId {
    /// Reads the name of a question.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, session) = text.strip_prefix('a')?.split_once('@')?;
        Some(Self { session: session.to_owned(), number: number.parse().ok()? })
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a{}@{}", self.number, self.session)
    }
}
