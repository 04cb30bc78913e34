//! A net that guards tools: a [`petri::Net`](lockgate_petri::Net) and what its transitions mean to a gate.
//!
//! `petri` knows tokens; this file says which tool fires which transition, whether a human has to agree,
//! and whether the result has to be awaited. Each one-line rule becomes one such net here. What a
//! session's marking is, and what follows from it, is not known in this room.

use std::sync::Arc;

use lockgate_petri::{ADVANCE_FIRINGS_MAX, Firing, Marking, Net, NetError, TransitionId};

use crate::statement::{DraftNet, DraftTransition, InputCheck, Scope, Statement, Tail};

/// A net, and for each transition what lets it fire.
#[derive(Clone, Debug)]
pub struct GuardNet {
    net: Net,
    start: Marking,
    guards: Vec<Guard>,
    free_tools: Vec<Arc<str>>,
    terminal_places: Vec<String>,
}

/// What lets a transition fire.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// The names that fire it; none means no call does.
    pub tools: Vec<Arc<str>>,
    /// Whether a human has to agree.
    pub is_manual: bool,
    /// Whether it fires only when the result says success.
    pub is_deferred: bool,
    /// Whether firing it only ever gives permission. Such a transition needs a certain deed, and a rule
    /// never refuses a call for want of it.
    pub is_credit: bool,
    /// What the input must satisfy.
    pub checks: Vec<InputCheck>,
}

impl GuardNet {
    /// The net of a statement.
    ///
    /// # Errors
    /// Only hand-written nets can be wrong: every structural mistake is returned.
    pub fn of(statement: &Statement) -> Result<Self, Vec<NetError>> {
        Self::grouped(statement, None)
    }

    /// The same, where a name of the statement may stand for several.
    ///
    /// # Errors
    /// As [`GuardNet::of`].
    pub fn grouped(statement: &Statement, tail: Option<&Tail>) -> Result<Self, Vec<NetError>> {
        let mut sketch = Sketch::of(statement);
        if let Some(tail) = tail {
            for transition in &mut sketch.transitions {
                let names = transition.tools.iter().flat_map(|name| tail.members(name));
                transition.tools = names.map(str::to_owned).collect();
            }
        }
        sketch.build()
    }

    /// The tokens, places and arcs.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// The marking a session begins with: the initial one after everything that fires by itself has fired.
    pub fn start(&self) -> &Marking {
        &self.start
    }

    /// What lets each transition fire.
    pub fn guards(&self) -> impl Iterator<Item = &Guard> {
        self.guards.iter()
    }

    /// What lets a transition fire.
    pub fn guard(&self, transition: TransitionId) -> &Guard {
        // Invariant: `guards` has one entry for each transition of `net`.
        static NOTHING: Guard = Guard {
            tools: Vec::new(),
            is_manual: false,
            is_deferred: false,
            is_credit: false,
            checks: Vec::new(),
        };
        self.guards.get(transition.index()).unwrap_or(&NOTHING)
    }

    /// The tools this net always lets pass.
    pub fn free_tools(&self) -> &[Arc<str>] {
        &self.free_tools
    }

    /// The places in which a session may well end.
    pub fn terminal_places(&self) -> &[String] {
        &self.terminal_places
    }

    /// Every name this net knows, each once, in order of appearance.
    pub fn names(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for name in self.free_tools.iter().chain(self.guards.iter().flat_map(|guard| &guard.tools)) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// The transitions that list a name, in the order of declaration.
    pub fn transitions_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = TransitionId> + 'a {
        self.net.transitions().filter(move |t| self.guard(*t).tools.iter().any(|tool| &**tool == name))
    }

    /// A marking as people read it: `ready:1, budget:2`, empty places left out.
    pub fn marking_text(&self, marking: &Marking) -> String {
        let held = self.net.places().filter(|place| marking.tokens(*place) > 0);
        let parts: Vec<String> =
            held.map(|place| format!("{}:{}", self.net.place_name(place), marking.tokens(place))).collect();
        parts.join(", ")
    }
}

/// The stable name of a mistake in a net.
pub(crate) fn code_of(error: &NetError) -> &'static str {
    match error {
        NetError::UndeclaredPlace { .. } => "undeclared-place",
        NetError::DuplicatePlace { .. } => "duplicate-place",
        NetError::DuplicateTransition { .. } => "duplicate-transition",
        NetError::ZeroWeight { .. } => "zero-weight",
        NetError::NeverRests { .. } => "never-rests",
        NetError::TooLarge { .. } => "net-too-large",
        _ => "bad-net",
    }
}

/// A net about to be built: the nets of the one-line rules, drawn side by side.
struct Sketch {
    places: Vec<(String, u64)>,
    transitions: Vec<DraftTransition>,
    credits: Vec<bool>,
    free_tools: Vec<String>,
    terminal_places: Vec<String>,
}

impl Sketch {
    fn of(statement: &Statement) -> Self {
        match statement {
            Statement::Sequence { prerequisite, dependent } => Self::sequence(prerequisite, dependent),
            Statement::Approval { tool } => Self::approval(tool),
            Statement::Block { tool } => Self::block(tool),
            Statement::Limit { tool, count, scope: Scope::Session } => {
                Self::limit_per_session(tool, count.get())
            }
            Statement::Limit { tool, count, scope: Scope::Action(action) } => {
                Self::limit_per_action(tool, count.get(), action)
            }
            Statement::Net(draft) => Self::hand_written(draft),
        }
    }

    /// `idle` holds the token until `start` has fired; every rule's net begins this way.
    fn with_places(rest: &[(&str, u64)]) -> Self {
        let mut places = vec![("idle".to_owned(), 1), ("ready".to_owned(), 0)];
        places.extend(rest.iter().map(|(name, tokens)| ((*name).to_owned(), *tokens)));
        let sketch = Self {
            places,
            transitions: Vec::new(),
            credits: Vec::new(),
            free_tools: Vec::new(),
            terminal_places: Vec::new(),
        };
        sketch.then(DraftTransition::new("start", &["idle"], &["ready"]))
    }

    fn then(mut self, transition: DraftTransition) -> Self {
        self.transitions.push(transition);
        self.credits.push(false);
        self
    }

    fn then_credit(mut self, transition: DraftTransition) -> Self {
        self.transitions.push(transition);
        self.credits.push(true);
        self
    }

    fn sequence(prerequisite: &str, dependent: &str) -> Self {
        // `require a before a` is allowed and pointless; its two transitions still need two names.
        let spend = if prerequisite == dependent {
            format!("do-{dependent}-again")
        } else {
            format!("do-{dependent}")
        };
        let done = DraftTransition::new(format!("do-{prerequisite}"), &["ready"], &["gate"]);
        let spent = DraftTransition::new(spend, &["gate"], &["ready"]);
        let repeat = DraftTransition::new("repeat", &["gate"], &["gate"]);
        Self::with_places(&[("gate", 0)])
            .then_credit(done.tools(&[prerequisite]).deferred())
            .then(spent.tools(&[dependent]))
            .then_credit(repeat.tools(&[prerequisite]))
    }

    fn approval(tool: &str) -> Self {
        let approve = DraftTransition::new("approve", &["ready"], &["ready"]);
        Self::with_places(&[]).then(approve.tools(&[tool]).manual())
    }

    fn block(tool: &str) -> Self {
        let never = DraftTransition::new(format!("do-{tool}"), &["locked"], &["locked"]);
        Self::with_places(&[("locked", 0)]).then(never.tools(&[tool]))
    }

    fn limit_per_session(tool: &str, count: u64) -> Self {
        let spend = DraftTransition::new(format!("do-{tool}"), &["ready", "budget"], &["ready"]);
        Self::with_places(&[("budget", count)]).then(spend.tools(&[tool]))
    }

    fn limit_per_action(tool: &str, count: u64, action: &str) -> Self {
        let spend = DraftTransition::new(format!("do-{tool}"), &["ready", "budget"], &["ready", "spent"]);
        let refill = DraftTransition::new("refill", &["ready", "spent"], &["ready", "budget"]);
        let repeat = DraftTransition::new("repeat", &["ready"], &["ready"]);
        Self::with_places(&[("budget", count), ("spent", 0)])
            .then(spend.tools(&[tool]))
            .then_credit(refill.tools(&[action]))
            .then_credit(repeat.tools(&[action]))
    }

    fn hand_written(draft: &DraftNet) -> Self {
        let tokens = |place: &String| {
            let entry = draft.marking.iter().find(|(name, _)| name == place);
            entry.map_or(0, |(_, tokens)| *tokens)
        };
        Self {
            places: draft.places.iter().map(|place| (place.clone(), tokens(place))).collect(),
            transitions: draft.transitions.clone(),
            credits: vec![false; draft.transitions.len()],
            free_tools: draft.free_tools.clone(),
            terminal_places: draft.terminal_places.clone(),
        }
    }

    fn build(self) -> Result<GuardNet, Vec<NetError>> {
        let mut builder = Net::builder();
        for (name, tokens) in self.places {
            builder = builder.place(name, tokens);
        }
        let mut guards = Vec::with_capacity(self.transitions.len());
        for (transition, is_credit) in self.transitions.into_iter().zip(self.credits) {
            // A manual transition without tools never fires: no human can be asked about it without a call.
            let by_itself = transition.tools.is_empty() && !transition.manual;
            let firing = if by_itself { Firing::Structural } else { Firing::Called };
            let inputs: Vec<&str> = transition.inputs.iter().map(String::as_str).collect();
            let outputs: Vec<&str> = transition.outputs.iter().map(String::as_str).collect();
            builder = builder.transition(transition.name, firing, &inputs, &outputs);
            guards.push(Guard {
                tools: transition.tools.into_iter().map(Arc::from).collect(),
                is_manual: transition.manual,
                is_deferred: transition.deferred,
                is_credit,
                checks: transition.checks,
            });
        }
        let net = builder.build()?;
        let mut start = net.initial().clone();
        if !net.advance(&mut start) {
            let most = u64::try_from(ADVANCE_FIRINGS_MAX).unwrap_or(u64::MAX);
            return Err(vec![NetError::TooLarge { what: "firings before it comes to rest", most }]);
        }
        let free_tools = self.free_tools.into_iter().map(Arc::from).collect();
        Ok(GuardNet { net, start, guards, free_tools, terminal_places: self.terminal_places })
    }
}
