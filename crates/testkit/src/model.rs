//! The naive model: what the one-line rules mean, slow and obvious.
//!
//! [`Model`] follows one session with flags, counters and sets of calls in flight. It shares no code with what
//! it judges and is written from the design, so a mistake must be made twice to go unseen. Where the design is
//! silent (what exactly an asked call holds, and what A earns meanwhile) it follows the gate, and there its
//! agreement proves little. It reads well-formed policies only and takes every script for a single plain
//! command: there are no scripts, no clock and no hand-written nets in here.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

/// One session under a policy of one-line rules.
#[derive(Clone, Debug)]
pub struct Model {
    /// All rules of all files, in order.
    rules: Vec<Rule>,
    /// Whether the rules only watch.
    observes: bool,
    /// Calls that run: for each id the sequences its success would satisfy.
    in_flight: BTreeMap<String, Vec<usize>>,
    /// Calls a human is asked about.
    asked: BTreeMap<String, Asked>,
}

/// What the model says about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Whether the call may run.
    pub verdict: Verdict,
    /// The sentence of the leading rule. A call id used twice is refused without one.
    pub reason: Option<String>,
    /// The names of all rules in the way, the leading one first.
    pub obstacles: Vec<String>,
    /// The names of all rules that would be in the way if they did not only watch.
    pub observed: Vec<String>,
}

/// The answers the one-line rules can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The call may run.
    Allow,
    /// A human decides.
    Ask,
    /// The call must not run.
    Block,
}

impl Model {
    /// A fresh session under one policy file.
    ///
    /// # Panics
    /// If the file is not well-formed.
    pub fn new(policy: &str) -> Self {
        Self::of_files([policy])
    }

    /// A fresh session under several policy files; maps rename calls for the rules of their own file only.
    ///
    /// # Panics
    /// If a file is not well-formed.
    pub fn of_files<'a>(files: impl IntoIterator<Item = &'a str>) -> Self {
        let rules = files.into_iter().flat_map(rules).collect();
        Self { rules, observes: false, in_flight: BTreeMap::new(), asked: BTreeMap::new() }
    }

    /// The same session under rules that only watch: whatever they say, the call runs, and its effects count.
    #[must_use]
    pub fn observing(self) -> Self {
        Self { observes: true, ..self }
    }

    /// Judges a call; where nobody can be asked, what needs a human is blocked.
    pub fn call(&mut self, id: &str, tool: &str, input: &Map<String, Value>, can_ask: bool) -> Judged {
        if self.in_flight.contains_key(id) || self.asked.contains_key(id) {
            return Judged {
                verdict: Verdict::Block,
                reason: None,
                obstacles: Vec::new(),
                observed: Vec::new(),
            };
        }
        let call = Call { id: id.into(), tool: tool.into(), input: input.clone() };
        self.decide(call, &[], can_ask)
    }

    /// Takes in a result; says whether there was a call it belongs to.
    pub fn result(&mut self, id: &str, ok: bool) -> bool {
        let Some(credits) = self.in_flight.remove(id) else {
            return false;
        };
        for (index, rule) in self.rules.iter_mut().enumerate() {
            if let Says::Sequence { state: state @ Progress::Unmet, .. } = &mut rule.says
                && ok
                && credits.contains(&index)
            {
                *state = Progress::Met;
            }
        }
        true
    }

    /// Takes in a human's answer about a call; nothing comes of it if nobody was asked.
    pub fn answer(&mut self, id: &str, granted: bool) -> Option<Judged> {
        let asked = self.asked.remove(id)?;
        for (rule, held) in self.rules.iter_mut().zip(&asked.held) {
            rule.give_back(held);
        }
        if granted {
            let granted: Vec<_> = asked.wanted.iter().map(|obstacle| obstacle.rule).collect();
            return Some(self.decide(asked.call, &granted, true));
        }
        let name = asked.wanted.first().map(|obstacle| obstacle.deed.clone()).unwrap_or_default();
        Some(Judged {
            verdict: Verdict::Block,
            reason: Some(format!("{name} was rejected by human review.")),
            obstacles: self.names(&asked.wanted),
            observed: Vec::new(),
        })
    }

    /// Switches the rules of this name on or off; their state stays.
    pub fn switch(&mut self, name: &str, active: bool) {
        for rule in self.rules.iter_mut().filter(|rule| rule.name == name) {
            rule.active = active;
        }
    }

    /// The names of all rules, in order.
    pub fn rule_names(&self) -> Vec<String> {
        self.rules.iter().map(|rule| rule.name.clone()).collect()
    }

    /// Where each rule stands: one line a rule, `name: place:count, …`, places without tokens left out.
    pub fn markings(&self) -> String {
        self.rules.iter().map(Rule::marking).collect::<Vec<_>>().join("\n")
    }

    /// Judges a call on a copy of the rules and makes the copy true if the call may run.
    fn decide(&mut self, call: Call, granted: &[usize], can_ask: bool) -> Judged {
        let mut after = self.rules.clone();
        let mut credits = Vec::new();
        let (mut refused, mut wanted) = (Vec::new(), Vec::new());
        for (index, rule) in after.iter_mut().enumerate().filter(|(_, rule)| rule.active) {
            for deed in rule.deeds(&call) {
                let obstacle = |reason| Obstacle { rule: index, deed: deed.name.clone(), reason };
                match rule.meet(&deed) {
                    Met::Passes => {}
                    Met::Earns => credits.push(index),
                    Met::WantsHuman(_) if granted.contains(&index) => {}
                    Met::WantsHuman(reason) => wanted.push(obstacle(reason)),
                    Met::Refuses(reason) => refused.push(obstacle(reason)),
                }
            }
        }
        // A rule says the same about every deed it objects to.
        refused.dedup_by_key(|obstacle| obstacle.rule);
        wanted.dedup_by_key(|obstacle| obstacle.rule);
        let blocked = !refused.is_empty() || (!wanted.is_empty() && !can_ask);
        // What nobody can allow leads before what a human could have.
        let obstacles: Vec<_> = refused.into_iter().chain(wanted).collect();
        if self.observes {
            self.rules = after;
            self.in_flight.insert(call.id, credits);
            return Judged {
                verdict: Verdict::Allow,
                reason: None,
                obstacles: Vec::new(),
                observed: self.names(&obstacles),
            };
        }
        let verdict = match (blocked, obstacles.is_empty()) {
            (true, _) => Verdict::Block,
            (false, false) => Verdict::Ask,
            (false, true) => Verdict::Allow,
        };
        let judged = Judged {
            verdict,
            reason: obstacles.first().map(|obstacle| obstacle.reason.clone()),
            obstacles: self.names(&obstacles),
            observed: Vec::new(),
        };
        match verdict {
            Verdict::Block => {}
            Verdict::Ask => {
                let held = self.rules.iter_mut().map(|rule| rule.take(&call)).collect();
                self.asked.insert(call.id.clone(), Asked { call, held, wanted: obstacles });
            }
            Verdict::Allow => {
                self.rules = after;
                self.in_flight.insert(call.id, credits);
            }
        }
        judged
    }

    fn names(&self, obstacles: &[Obstacle]) -> Vec<String> {
        let rules = obstacles.iter().filter_map(|obstacle| self.rules.get(obstacle.rule));
        rules.map(|rule| rule.name.clone()).collect()
    }
}

#[derive(Clone, Debug)]
struct Call {
    id: String,
    tool: String,
    input: Map<String, Value>,
}

/// A call that waits for a human.
#[derive(Clone, Debug)]
struct Asked {
    call: Call,
    /// What was taken from each rule meanwhile.
    held: Vec<Held>,
    /// The rules that want the human.
    wanted: Vec<Obstacle>,
}

/// What an asked call would spend and nobody else may spend meanwhile.
#[derive(Clone, Debug, Default)]
struct Held {
    success: bool,
    budget: u64,
    spent: u64,
}

#[derive(Clone, Debug)]
struct Obstacle {
    rule: usize,
    deed: String,
    reason: String,
}

/// What a call amounts to.
#[derive(Clone, Debug)]
struct Deed {
    name: String,
    certain: bool,
}

#[derive(Clone, Debug)]
struct Rule {
    name: String,
    maps: Vec<MapLine>,
    active: bool,
    says: Says,
}

#[derive(Clone, Debug)]
enum Says {
    Sequence { first: String, then: String, state: Progress },
    Approval { tool: String },
    Block { tool: String },
    Limit { tool: String, count: u64, per: Option<String>, budget: u64, spent: u64 },
}

/// How far a sequence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Nothing has succeeded yet, or the success was spent.
    Unmet,
    /// A success waits to be spent.
    Met,
    /// A human is asked about the call that would spend the success.
    Held,
}

/// What a rule says to a deed.
enum Met {
    Passes,
    /// Passes, and a success of the call satisfies the rule.
    Earns,
    WantsHuman(String),
    Refuses(String),
}

impl Rule {
    /// Judges a deed and does what the rule does at the moment of the call.
    fn meet(&mut self, deed: &Deed) -> Met {
        let is = |name: &String| *name == deed.name;
        match &mut self.says {
            Says::Block { tool } if is(tool) => {
                Met::Refuses(format!("{tool} is blocked and cannot be called."))
            }
            Says::Approval { tool } if is(tool) => {
                Met::WantsHuman(format!("{tool} requires human approval."))
            }
            Says::Sequence { then, state: state @ Progress::Met, .. } if is(then) => {
                *state = Progress::Unmet;
                Met::Passes
            }
            Says::Sequence { first, then, .. } if is(then) => {
                Met::Refuses(format!("{then} requires a successful call to {first} first."))
            }
            // While a success is at hand another changes nothing; while it is held, this one may be wanted.
            Says::Sequence { state: Progress::Met, .. } => Met::Passes,
            Says::Sequence { first, .. } if is(first) && deed.certain => Met::Earns,
            Says::Limit { tool, count, per, budget: 0, .. } if is(tool) => {
                let scope = per.as_deref().unwrap_or("session");
                Met::Refuses(format!("{tool} has reached its limit of {count} calls per {scope}."))
            }
            Says::Limit { tool, per, budget, spent, .. } if is(tool) => {
                *budget -= 1;
                *spent += u64::from(per.is_some());
                Met::Passes
            }
            Says::Limit { per: Some(refill), budget, spent, .. }
                if is(refill) && deed.certain && *spent > 0 =>
            {
                *spent -= 1;
                *budget += 1;
                Met::Passes
            }
            _ => Met::Passes,
        }
    }

    /// Takes what each deed of a call would spend, one after the other; what a deed would give is not there yet.
    fn take(&mut self, call: &Call) -> Held {
        let mut held = Held::default();
        for deed in self.deeds(call).iter().filter(|_| self.active) {
            let is = |name: &String| *name == deed.name;
            match &mut self.says {
                Says::Sequence { then, state: state @ Progress::Met, .. } if is(then) => {
                    *state = Progress::Held;
                    held.success = true;
                }
                Says::Limit { tool, budget, .. } if is(tool) && *budget > 0 => {
                    *budget -= 1;
                    held.budget += 1;
                }
                Says::Limit { per: Some(refill), spent, .. } if is(refill) && deed.certain && *spent > 0 => {
                    *spent -= 1;
                    held.spent += 1;
                }
                _ => {}
            }
        }
        held
    }

    fn give_back(&mut self, held: &Held) {
        match &mut self.says {
            Says::Sequence { state, .. } if held.success => *state = Progress::Met,
            Says::Limit { budget, spent, .. } => {
                *budget += held.budget;
                *spent += held.spent;
            }
            _ => {}
        }
    }

    /// The call as this rule sees it.
    fn deeds(&self, call: &Call) -> Vec<Deed> {
        let deed = |name: &str, certain| Deed { name: name.into(), certain };
        let mut deeds = Vec::new();
        for map in &self.maps {
            match map.matches(call) {
                Some(true) => {
                    deeds.push(deed(&map.name, true));
                    return deeds;
                }
                Some(false) => deeds.push(deed(&map.name, false)),
                None => {}
            }
        }
        deeds.push(deed(&self.own_name(call), true));
        deeds
    }

    /// `tool.action` where the rule speaks of actions of this tool, else the tool.
    fn own_name(&self, call: &Call) -> String {
        let has_actions = |name: &&String| name.split_once('.').is_some_and(|(base, _)| base == call.tool);
        match call.input.get("action").and_then(Value::as_str) {
            Some(action) if self.speaks_of().iter().any(has_actions) => format!("{}.{action}", call.tool),
            _ => call.tool.clone(),
        }
    }

    fn speaks_of(&self) -> Vec<&String> {
        match &self.says {
            Says::Sequence { first, then, .. } => vec![first, then],
            Says::Approval { tool } | Says::Block { tool } => vec![tool],
            Says::Limit { tool, per, .. } => per.iter().chain([tool]).collect(),
        }
    }

    fn marking(&self) -> String {
        let places = match &self.says {
            Says::Sequence { state, .. } => {
                vec![
                    ("ready", u64::from(*state == Progress::Unmet)),
                    ("gate", u64::from(*state == Progress::Met)),
                ]
            }
            Says::Approval { .. } | Says::Block { .. } => vec![("ready", 1)],
            Says::Limit { budget, spent, .. } => vec![("ready", 1), ("budget", *budget), ("spent", *spent)],
        };
        let filled = places.iter().filter(|(_, tokens)| *tokens > 0);
        let tokens: Vec<_> = filled.map(|(place, tokens)| format!("{place}:{tokens}")).collect();
        format!("{}: {}", self.name, tokens.join(", "))
    }
}

#[derive(Clone, Debug)]
struct MapLine {
    tool: String,
    takes: Takes,
    name: String,
    /// The fields of the tool that hold commands.
    command_fields: Vec<String>,
}

#[derive(Clone, Debug)]
enum Takes {
    Field { field: String, pattern: Regex },
    Running { program: String, words: Vec<String> },
}

const COMMAND_FIELDS: [&str; 5] = ["command", "cmd", "script", "shell_command", "bash_command"];

impl MapLine {
    fn new(tool: &str, takes: Takes, name: &str) -> Self {
        let command_fields = COMMAND_FIELDS.map(str::to_owned).to_vec();
        Self { tool: tool.into(), takes, name: name.into(), command_fields }
    }

    /// Whether the call has this map's name: certainly, possibly, or not at all.
    fn matches(&self, call: &Call) -> Option<bool> {
        let text = |field: &String| call.input.get(field).filter(|_| call.tool == self.tool)?.as_str();
        match &self.takes {
            Takes::Field { field, pattern } => {
                let found = pattern.find(text(field)?.trim())?;
                Some(!self.command_fields.contains(field) || found.start() == 0)
            }
            Takes::Running { program, words } => {
                let runs = |command: &str| {
                    let mut given = command.split_whitespace();
                    let is_program = given.next().and_then(|first| first.rsplit('/').next()) == Some(program);
                    is_program && words.iter().all(|word| given.any(|given| given == word))
                };
                self.command_fields.iter().filter_map(text).any(runs).then_some(true)
            }
        }
    }
}

/// The rules of one file, each with all maps of the file.
#[expect(clippy::panic, reason = "a policy of a test is the test's own mistake")]
fn rules(text: &str) -> Vec<Rule> {
    let (mut maps, mut scripts) = (Vec::new(), Vec::new());
    let mut rules = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
        let (name, says) = match words.as_slice() {
            [] => continue,
            ["map", tool, "running", program, words @ .., "as", name] => {
                let words = words.iter().map(|word| (*word).to_owned()).collect();
                let takes = Takes::Running { program: (*program).into(), words };
                maps.push(MapLine::new(tool, takes, name));
                continue;
            }
            ["map", place, pattern, "as", name] => {
                maps.push(map(place, pattern, name));
                continue;
            }
            ["script", place] => {
                scripts.push(split(place));
                continue;
            }
            ["require", "human-approval", "before", tool] => {
                (format!("approve-before-{tool}"), Says::Approval { tool: (*tool).into() })
            }
            ["require", first, "before", then] => (
                format!("require-{first}-before-{then}"),
                Says::Sequence { first: (*first).into(), then: (*then).into(), state: Progress::Unmet },
            ),
            ["block", tool] => (format!("block-{tool}"), Says::Block { tool: (*tool).into() }),
            ["limit", tool, "to", count, "per", scope] => {
                let Ok(count) = count.parse() else { panic!("`{count}` is not a count") };
                let per = (*scope != "session").then(|| (*scope).to_owned());
                let name = format!(
                    "limit-{tool}-{count}{}",
                    per.iter().map(|r| format!("-per-{r}")).collect::<String>()
                );
                (name, Says::Limit { tool: (*tool).into(), count, per, budget: count, spent: 0 })
            }
            _ => panic!("the model cannot read `{line}`"),
        };
        rules.push(Rule { name, maps: Vec::new(), active: true, says });
    }
    for map in &mut maps {
        let declared = scripts.iter().filter(|(tool, _)| *tool == map.tool).map(|(_, field)| field.clone());
        map.command_fields.extend(declared);
    }
    for rule in &mut rules {
        rule.maps.clone_from(&maps);
    }
    rules
}

#[expect(clippy::panic, reason = "a policy of a test is the test's own mistake")]
fn map(place: &str, pattern: &str, name: &str) -> MapLine {
    let (tool, field) = split(place);
    let regex = match pattern.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
        Some(body) => body.to_owned(),
        None => {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let edge = |is_edge: bool| if is_edge { r"(?-u:\b)" } else { "" };
            let (start, end) = (pattern.starts_with(is_word), pattern.ends_with(is_word));
            format!("{}{}{}", edge(start), regex::escape(pattern), edge(end))
        }
    };
    let Ok(pattern) = Regex::new(&regex) else { panic!("`{pattern}` is not a pattern") };
    MapLine::new(&tool, Takes::Field { field, pattern }, name)
}

#[expect(clippy::panic, reason = "a policy of a test is the test's own mistake")]
fn split(place: &str) -> (String, String) {
    let Some((tool, field)) = place.split_once('.') else { panic!("`{place}` has no field") };
    (tool.into(), field.into())
}
