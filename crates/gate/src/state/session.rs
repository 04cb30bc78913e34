//! What the gate remembers about one session.
//!
//! [`Session::apply`] is the only thing that changes a session, so live use, replay and simulation all go
//! through one place, and applying a session's events again rebuilds it exactly. Only what differs from a
//! fresh session is kept: a policy of ten thousand rules costs nothing until a call touches one.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use lockgate_call::Time;
use lockgate_petri::Marking;
use lockgate_policy::{
    Policy, RuleId,
    provenance::Origins,
    window::{Window, WindowId},
    workflow::{Progress, Step},
};
use serde_json::{Map, Value};

use super::{
    binding::{Binding, BoundState},
    event::{Event, Move, Remembered},
    flights::Flights,
    parts::{Answered, Asked, Counts, Flight, Notes, SavedNet, Table, keep_answer},
};
use crate::terms::Terms;

/// What a session remembers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    pub(crate) markings: Table<RuleId, Marking>,
    pub(crate) notes: BTreeMap<RuleId, Notes>,
    pub(crate) inactive: BTreeSet<RuleId>,
    /// Whether it was told which rules are off at first.
    pub(crate) has_begun: bool,
    /// Calls that run.
    pub(crate) flights: Flights,
    pub(crate) asked: BTreeMap<u64, Asked>,
    pub(crate) halted: Option<String>,
    pub(crate) approvals_made: u64,
    pub(crate) counts: Counts,
    /// What the trusted caller said about the session.
    pub(crate) attributes: Map<String, Value>,
    /// Calls let pass, of the tools whose calls some rule counts.
    pub(crate) per_tool: Table<Arc<str>, u64>,
    /// When calls were made, as far as some rule still wants to know.
    pub(crate) windows: Table<WindowId, Window>,
    /// The kinds of sensitive data seen, in the order in which they were.
    pub(crate) taints: Vec<Arc<str>>,
    /// Whether a result held sensitive data and the mark has not been cleared since.
    pub(crate) is_tainted: bool,
    /// Answers of humans that still stand.
    pub(crate) answers: Vec<Answered>,
    /// Where it stands in workflows.
    pub(crate) progress: BTreeMap<RuleId, Arc<Progress>>,
    /// What was spent of a limit beyond what it was lowered to, for the day it is raised again.
    pub(crate) overspent: BTreeMap<RuleId, u64>,
    /// The state of rules that the policy no longer has, kept for the day they come back.
    pub(crate) strangers: BTreeMap<String, SavedNet>,
    /// The policies it is bound to, by place.
    pub(crate) bound: BTreeMap<String, BoundState>,
    /// What it has seen of values, as far as some rule asks where they come from.
    pub(crate) origins: Arc<Origins>,
    /// The latest moment seen. Time never runs backwards in a session.
    pub(crate) clock: Time,
}

impl Session {
    /// Takes in what happened. Nothing else changes a session.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Allowed { id, at, flight, moves, notes, remembered } => {
                self.see(*at);
                self.counts.attempts += 1;
                self.counts.tool_calls += 1;
                self.make(moves);
                self.note(notes);
                self.remember(*at, remembered.as_deref());
                self.flights.insert(id.clone(), flight.clone());
            }
            Event::Blocked { at, remembered, .. } => {
                self.see(*at);
                self.counts.attempts += 1;
                self.remember(*at, remembered.as_deref());
            }
            Event::Asked { at, number, asked, moves, remembered } => {
                self.see(*at);
                self.approvals_made = *number;
                self.make(moves);
                self.asked.insert(*number, (**asked).clone());
                self.remember(*at, remembered.as_deref());
            }
            Event::Closed { at, number, moves, answers, steps, .. } => {
                self.see(*at);
                self.step(steps);
                self.make(moves);
                self.asked.remove(number);
                answers.iter().for_each(|answer| keep_answer(&mut self.answers, *at, answer));
            }
            Event::Expired { at, number, moves } => {
                self.see(*at);
                self.make(moves);
                self.asked.remove(number);
                // It ends a call about which nothing else was decided.
                self.counts.attempts += 1;
            }
            Event::Settled { id, at, moves, notes, remembered, .. } => {
                self.see(*at);
                self.make(moves);
                self.note(notes);
                self.remember(*at, remembered.as_deref());
                self.flights.land(id);
            }
            Event::Duplicate { id, at, door } => {
                self.see(*at);
                self.flights.see(id, door);
            }
            Event::Lapsed { id, at } => {
                self.see(*at);
                self.flights.land(id);
            }
            Event::Stray { at, remembered, .. } => {
                self.see(*at);
                self.remember(*at, remembered.as_deref());
            }
            Event::Began { inactive } => {
                self.has_begun = true;
                self.inactive.extend(inactive);
            }
            Event::Activated { rule } => {
                self.inactive.remove(rule);
            }
            Event::Deactivated { rule } => {
                self.inactive.insert(*rule);
            }
            Event::Described { attributes } => {
                for (name, value) in attributes {
                    match value {
                        Value::Null => self.attributes.shift_remove(name),
                        value => self.attributes.insert(name.clone(), value.clone()),
                    };
                }
            }
            Event::Seeded { counts, per_tool } => {
                self.counts = *counts;
                self.per_tool.extend(per_tool.iter().cloned());
            }
            Event::Heard { at, origins } => {
                self.see(*at);
                Arc::make_mut(&mut self.origins).take(origins);
            }
            Event::Moved { at, rule, step } => {
                self.see(*at);
                self.step(std::slice::from_ref(&(*rule, step.clone())));
            }
            Event::Untainted => {
                self.taints.clear();
                self.is_tainted = false;
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
        self.markings.get(&rule).or_else(|| policy.net(rule).map(|rule| rule.net.start()))
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
    pub fn flights(&self) -> impl Iterator<Item = (&Arc<str>, &Flight)> {
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

    /// What the trusted caller said about the session.
    pub fn attributes(&self) -> &Map<String, Value> {
        &self.attributes
    }

    /// Calls let pass, of the tools whose calls some rule counts.
    pub fn per_tool(&self) -> impl Iterator<Item = (&Arc<str>, u64)> {
        self.per_tool.iter().map(|(tool, calls)| (tool, *calls))
    }

    /// The kinds of sensitive data seen, in the order in which they were.
    pub fn taints(&self) -> &[Arc<str>] {
        &self.taints
    }

    /// Where it stands in a workflow; none before its first call.
    pub fn progress(&self, workflow: RuleId) -> Option<&Progress> {
        self.progress.get(&workflow).map(AsRef::as_ref)
    }

    /// What it has seen of values.
    pub fn origins(&self) -> &Origins {
        &self.origins
    }

    /// Whether calls were let pass before anything was kept of their values.
    pub(crate) fn keeps_origins_late(&self) -> bool {
        !self.origins.has_begun() && self.counts.tool_calls > 0
    }

    /// Whether no event has happened yet.
    pub fn is_fresh(&self) -> bool {
        self.counts == Counts::default() && self.asked.is_empty()
    }

    /// Whether nothing at all was stored about it, but what it is bound to.
    pub(crate) fn is_untouched(&self) -> bool {
        *self == Self { bound: self.bound.clone(), ..Self::default() }
    }

    /// The policies it is bound to, by place.
    pub fn bindings(&self) -> impl Iterator<Item = (&str, &Binding)> {
        self.bound.iter().map(|(place, bound)| (place.as_str(), &*bound.binding))
    }

    /// The policies that wait to be accepted, by place.
    pub fn waiting_bindings(&self) -> impl Iterator<Item = (&str, &Binding)> {
        self.bound
            .iter()
            .filter_map(|(place, bound)| Some((place.as_str(), &*bound.changed.as_ref()?.binding)))
    }

    /// Marks are of the moment the session has reached: time never runs backwards in it.
    fn remember(&mut self, at: Time, remembered: Option<&Remembered>) {
        let Some(Remembered { marks, counted, taints, is_tainted, steps, origins }) = remembered else {
            return;
        };
        if let Some(origins) = origins {
            Arc::make_mut(&mut self.origins).take(origins);
        }
        self.step(steps);
        let at = at.max(self.clock);
        for mark in marks {
            self.windows.entry(mark.window).or_default().change(at, &mark.change);
        }
        for counter in counted {
            *self.per_tool.entry(counter.clone()).or_default() += 1;
        }
        for kind in taints {
            if !self.taints.contains(kind) {
                self.taints.push(kind.clone());
            }
        }
        self.is_tainted |= is_tainted;
    }

    fn step(&mut self, steps: &[(RuleId, Step)]) {
        for (rule, step) in steps {
            Arc::make_mut(self.progress.entry(*rule).or_default()).take(step);
        }
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
}

impl Asked {
    /// When the question is closed. One that a timeout grants stays open for a while, for its asker to
    /// learn that.
    pub(crate) fn ends(&self, terms: &Terms) -> Time {
        if self.allows_late { self.deadline.after_ms(terms.approval_ms) } else { self.deadline }
    }
}
