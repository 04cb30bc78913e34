//! The nets of a policy, to look at, to draw and to explore one by one.
//!
//! [`Policy::verify`](crate::Policy::verify) proves things about all rules together. This is for one net by itself, and
//! everything in it goes by name.

use std::fmt;

use lockgate_petri::{
    Limits, Marking, Note, Picture, PlaceId, Reach, StateSpace, Style, TransitionId, explore,
};
use lockgate_policy::NetRule;

/// The net of one rule of a [`Policy`](crate::Policy).
///
/// ```
/// let policy = lockgate::Policy::rules("limit send to 2 per session")?;
/// let net = policy.net("limit-send-2").ok_or("no net")?;
/// assert_eq!(net.places().collect::<Vec<_>>(), [("idle", 1), ("ready", 0), ("budget", 2)]);
///
/// let space = net.explore(10_000);
/// assert_eq!((space.states(), space.is_complete()), (4, true));
/// assert_eq!(space.bound("budget"), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Net<'p> {
    rule: &'p NetRule,
}

/// A transition of a [`Net`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transition<'p> {
    /// Its name.
    pub name: &'p str,
    /// The places it takes tokens from, and how many.
    pub inputs: Vec<(&'p str, u64)>,
    /// The places it puts tokens into, and how many.
    pub outputs: Vec<(&'p str, u64)>,
    /// The tools that fire it. A transition without any fires by itself.
    pub tools: Vec<&'p str>,
    /// Whether a human has to agree.
    pub is_manual: bool,
    /// Whether it fires only when the tool succeeds.
    pub is_deferred: bool,
}

impl<'p> Net<'p> {
    /// The net of a compiled rule, for the doors of this repository.
    #[doc(hidden)]
    pub fn of(rule: &'p NetRule) -> Self {
        Self { rule }
    }

    /// The name of the net, which is the name of its rule.
    pub fn name(&self) -> &'p str {
        &self.rule.name
    }

    /// The rule as it is written.
    pub fn text(&self) -> &'p str {
        self.rule.text()
    }

    /// The places in the order of declaration, with their tokens before anything has fired.
    pub fn places(&self) -> impl Iterator<Item = (&'p str, u64)> + use<'p> {
        let net = self.rule.net.net();
        net.places().map(|place| (net.place_name(place), net.initial().tokens(place)))
    }

    /// The transitions in the order of declaration.
    pub fn transitions(&self) -> impl Iterator<Item = Transition<'p>> + use<'p> {
        let rule = self.rule;
        let net = rule.net.net();
        let named = |arcs: &[(PlaceId, u64)]| -> Vec<(&'p str, u64)> {
            arcs.iter().map(|(place, count)| (net.place_name(*place), *count)).collect()
        };
        net.transitions().map(move |transition| {
            let guard = rule.net.guard(transition);
            Transition {
                name: net.transition_name(transition),
                inputs: named(net.inputs(transition)),
                outputs: named(net.outputs(transition)),
                tools: guard.tools.iter().map(AsRef::as_ref).collect(),
                is_manual: guard.is_manual,
                is_deferred: guard.is_deferred,
            }
        })
    }

    /// Whether the weighted sum of tokens never changes, whatever fires. Places that are not named weigh nothing; a name
    /// that is not a place makes the answer false.
    ///
    /// It looks at the arcs alone: a sum that is constant only because some transition never fires is not confirmed.
    pub fn is_invariant(&self, weights: &[(&str, i64)]) -> bool {
        let net = self.rule.net.net();
        let weight_of = |place: PlaceId| {
            let name = net.place_name(place);
            weights.iter().filter(|(it, _)| *it == name).map(|(_, weight)| *weight).sum()
        };
        let weights_by_place: Vec<i64> = net.places().map(weight_of).collect();
        weights.iter().all(|(name, _)| net.place(name).is_some()) && net.holds(&weights_by_place)
    }

    /// Explores the markings that the net can reach, but at most `states_max` of them.
    pub fn explore(&self, states_max: usize) -> NetStates<'p> {
        let net = self.rule.net.net();
        NetStates { net, space: explore(net, Limits { states_max, depth_max: states_max }) }
    }

    /// The net as a picture for Graphviz.
    pub fn to_dot(&self) -> String {
        self.picture().to_dot()
    }

    /// The net as a picture for browsers.
    pub fn to_svg(&self) -> String {
        self.picture().to_svg()
    }

    /// The net as a picture for Markdown pages.
    pub fn to_mermaid(&self) -> String {
        self.picture().to_mermaid()
    }

    /// The net as a picture with these tokens, for the doors of this repository.
    #[doc(hidden)]
    pub fn to_svg_at(&self, marking: &Marking) -> String {
        Picture { marking: Some(marking), ..self.picture() }.to_svg()
    }

    fn picture(&self) -> Picture<'p> {
        let guards = &self.rule.net;
        let notes = guards.net().transitions().map(|transition| {
            let guard = guards.guard(transition);
            let style = match (guard.is_manual, guard.is_deferred) {
                (true, _) => Style::Manual,
                (false, true) => Style::Deferred,
                (false, false) => Style::Plain,
            };
            (transition, Note { caption: guard.tools.join(", "), style })
        });
        Picture {
            net: guards.net(),
            marking: Some(guards.start()),
            title: &self.rule.name,
            notes: notes.collect(),
        }
    }
}

impl fmt::Debug for Net<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Net").field("name", &self.rule.name).finish_non_exhaustive()
    }
}

/// The markings that a [`Net`] can reach, as far as they were explored.
///
/// Only a complete exploration can say "never": otherwise what was not found is unknown.
#[derive(Debug)]
pub struct NetStates<'p> {
    net: &'p lockgate_petri::Net,
    space: StateSpace<'p>,
}

impl<'p> NetStates<'p> {
    /// How many markings were found.
    pub fn states(&self) -> usize {
        self.space.states()
    }

    /// Whether these are all markings that the net can reach.
    pub fn is_complete(&self) -> bool {
        self.space.is_complete()
    }

    /// The markings, as tokens by place.
    pub fn markings(&self) -> impl Iterator<Item = Vec<(&'p str, u64)>> + '_ {
        self.space.markings().map(|marking| self.named(&marking))
    }

    /// The markings in which nothing can fire. A net that is explored completely and has none is free of deadlocks.
    pub fn terminal(&self) -> impl Iterator<Item = Vec<(&'p str, u64)>> + '_ {
        self.space.terminal().map(|marking| self.named(&marking))
    }

    /// The most tokens that a place ever holds; `None` if that is unknown or there is no such place.
    pub fn bound(&self, place: &str) -> Option<u64> {
        self.space.bound(self.net.place(place)?)
    }

    /// The transitions that never fire; `None` if that is unknown.
    pub fn dead_transitions(&self) -> Option<Vec<&'p str>> {
        Some(self.names(&self.space.dead_transitions()?))
    }

    /// The shortest way to a marking for which `is_goal` holds: the transitions that fire. `is_goal` gets the tokens of a
    /// place by its name. `None` means that none was found; there is none if the exploration is complete.
    pub fn shortest_trace_to(&self, is_goal: impl Fn(&dyn Fn(&str) -> u64) -> bool) -> Option<Vec<&'p str>> {
        let is_goal = |marking: &Marking| {
            is_goal(&|place: &str| self.net.place(place).map_or(0, |place| marking.tokens(place)))
        };
        match self.space.shortest_trace_to(is_goal) {
            Reach::By(trace) => Some(self.names(&trace)),
            Reach::Never | Reach::Unknown => None,
        }
    }

    fn named(&self, marking: &Marking) -> Vec<(&'p str, u64)> {
        let net = self.net;
        net.places().map(|place| (net.place_name(place), marking.tokens(place))).collect()
    }

    fn names(&self, transitions: &[TransitionId]) -> Vec<&'p str> {
        transitions.iter().map(|transition| self.net.transition_name(*transition)).collect()
    }
}
