//! All clauses of a policy, and what a call has to do with them.
//!
//! [`Clauses::applying`] finds the clauses a call concerns by the tool's name, and where many of them search one
//! field, by one pass over that field: never by a walk over all clauses. [`Clauses::marks`] says which windows a
//! decided call counts for.

use std::sync::Arc;

use lockgate_call::{
    Call, Files, Time,
    sensitive::{Detectors, Mask},
};
use lockgate_pattern::{Pattern, python_text};
use serde_json::Value;
use smallvec::SmallVec;

use crate::{
    clause::{Applying, Clause, Gravity},
    condition::{Attribute, Coercion, Condition, Field, Found, Operator, Subject, ValueTest},
    decision::{Decision, Truth},
    hash::HashMap,
    rule::{Rule, RuleId},
    template::Template,
    tool_index::{Certainty, LazySet, ToolIndex},
    tools::{ToolName, Tools},
    view::{Memory, Surroundings, View},
    window::{Change, Mark, Marks, WindowId},
};

/// From how many searches of one field on they are put together: below, one after another is as fast.
const SEARCHES_TOGETHER_MIN: usize = 4;

/// All clauses of a policy.
#[derive(Debug, Default)]
pub(crate) struct Clauses {
    clauses: Vec<Clause>,
    by_tool: ToolIndex<Bucket>,
    /// By the lower-case name of the tool.
    honeypots: HashMap<String, usize>,
    default: Option<usize>,
    watchers: ToolIndex<Vec<Watcher>>,
    /// The counters that calls of tools count for.
    counted: ToolIndex<Vec<Arc<str>>>,
    outputs: Vec<OutputRule>,
    outputs_by_tool: ToolIndex<Vec<usize>>,
    pub(crate) masking: Masking,
    pub(crate) watches_taints: bool,
    pub(crate) shares: bool,
    pub(crate) wants_zone: bool,
    pub(crate) has_sandboxes: bool,
    /// The tools that are declared to act.
    pub(crate) acting: Vec<String>,
    /// Tools that are declared to read and do nothing else.
    pub(crate) readers: Vec<String>,
    /// The variables of the environment that rules look at.
    pub(crate) variables: Vec<String>,
}

/// How sensitive data is found and masked.
#[derive(Debug)]
pub struct Masking {
    /// What finds it.
    pub detectors: Detectors,
    /// What it is replaced by.
    pub mask: Mask,
}

impl Default for Masking {
    fn default() -> Self {
        Self { detectors: Detectors::standard().clone(), mask: Mask::default() }
    }
}

/// A rule on results.
#[derive(Debug)]
pub struct OutputRule {
    /// What every rule has.
    pub rule: Rule,
    /// What it looks for.
    pub looks_for: LooksFor,
    /// What it does with a result that has it.
    pub on_hit: OnHit,
    /// Whether it only warns of tools that are declared to have acted: keeping their result back undoes nothing.
    pub spares_what_acted: bool,
    /// What it says.
    pub sentence: String,
    /// What it says where that depends on the call.
    pub template: Option<Template>,
    /// Words that travel with what is decided.
    pub tags: Vec<String>,
    /// How grave its author says it is, where that is said.
    pub severity: Option<Gravity>,
}

/// What a rule on results looks for.
#[derive(Debug)]
pub enum LooksFor {
    /// A text that is too large or has something in it; whatever its mask finds, where it names neither.
    Text {
        /// The largest result, in bytes of its text.
        bytes_max: Option<u64>,
        /// What must not be in it.
        patterns: Vec<Pattern>,
    },
    /// A condition on the call and its result.
    Condition(Box<Condition>),
}

/// What a rule does with a result.
#[derive(Debug)]
pub enum OnHit {
    /// It says so.
    Warn,
    /// It masks what these find.
    Mask(Detectors),
    /// It replaces what these match; all of it, where there are none.
    Replace(Vec<regex::Regex>),
    /// It withholds the result.
    Withhold,
}

impl OutputRule {
    /// What it says about a result.
    pub fn says(&self, around: &Surroundings, call: &Call, output: &Value) -> String {
        let expand = |template: &Template| template.expand(&View::of_result(call, Some(output), around));
        self.template.as_ref().map_or_else(|| self.sentence.clone(), expand)
    }
}

impl std::ops::Deref for OutputRule {
    type Target = Rule;

    fn deref(&self) -> &Rule {
        &self.rule
    }
}

/// The clauses of one way of naming tools.
#[derive(Debug, Default)]
struct Bucket {
    /// Those to be asked one by one.
    plain: Vec<usize>,
    /// Those that search one field for something, together.
    searches: Vec<Search>,
}

/// Where something is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Where {
    field: Field,
    /// Whether anything but a text is a doubt to the clauses; to others everything has a text.
    only_texts: bool,
}

/// Clauses that can only apply where a field has something in it.
#[derive(Debug)]
struct Search {
    place: Where,
    /// What each clause searches for, until they are put together.
    sources: Vec<String>,
    clauses: Vec<usize>,
    set: LazySet,
}

/// A window that counts calls of some tools.
#[derive(Clone, Debug)]
pub struct Watcher {
    /// The window.
    pub window: WindowId,
    /// Which calls count.
    pub counts: Counting,
    /// How many moments are kept; of an ordered chain, how many calls come before this one.
    pub keeps: Keeps,
    /// Whether all sessions share the window.
    pub is_shared: bool,
}

/// What a window keeps.
#[derive(Clone, Copy, Debug)]
pub enum Keeps {
    /// So many of the last moments.
    Last(u32),
    /// The latest way through an ordered chain up to here.
    WayTo(u16),
}

/// Which calls count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Those that were decided, or only those that got this verdict.
    Decided(Option<Decision>),
    /// Those let pass, perhaps with this verdict, once their result says success: what opens a gate is earned.
    Succeeded(Option<Decision>),
    /// Those that were decided, unless this very rule refused them.
    Unless(RuleId),
}

/// A call that was decided, or succeeded.
#[derive(Clone, Copy)]
pub struct Heard<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What was decided about it.
    pub decision: Decision,
    /// Whether this is about its success.
    pub succeeded: bool,
    /// The rules that refused it.
    pub refused_by: &'a dyn Fn(RuleId) -> bool,
    /// When.
    pub at: Time,
}

/// The windows a call counts for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// Of its session.
    pub marks: Marks,
    /// Of all sessions together.
    pub shared: Marks,
}

impl Clauses {
    pub(crate) fn push(&mut self, clause: Clause, tools: &Tools) -> usize {
        let index = self.clauses.len();
        for condition in &clause.conditions {
            match condition {
                Condition::Value(ValueTest { subject: Subject::Session(Attribute::Taints), .. })
                | Condition::Tainted => self.watches_taints = true,
                Condition::Schedule(schedule) if schedule.zone.is_none() => self.wants_zone = true,
                Condition::Called { is_shared: true, .. } => self.shares = true,
                Condition::Outside(_) => self.has_sandboxes = true,
                _ => {}
            }
        }
        self.shares |= clause.standing == crate::clause::Standing::PerRule;
        let search = clause.conditions.iter().find_map(searched);
        self.by_tool.put(tools, |bucket| match &search {
            Some((place, source)) => bucket.search_for(place, source, index),
            None => bucket.plain.push(index),
        });
        self.clauses.push(clause);
        index
    }

    pub(crate) fn push_honeypot(&mut self, clause: Clause, tool: &str) -> usize {
        let index = self.clauses.len();
        self.honeypots.insert(tool.to_lowercase(), index);
        self.clauses.push(clause);
        index
    }

    pub(crate) fn push_default(&mut self, clause: Clause) -> usize {
        let index = self.clauses.len();
        self.default = Some(index);
        self.clauses.push(clause);
        index
    }

    pub(crate) fn push_output(&mut self, rule: OutputRule, tools: &Tools) -> usize {
        let index = self.outputs.len();
        self.outputs_by_tool.put(tools, |outputs| outputs.push(index));
        self.outputs.push(rule);
        index
    }

    pub(crate) fn watch(&mut self, tools: &Tools, watcher: &Watcher) {
        self.watchers.put(tools, |watchers| watchers.push(watcher.clone()));
    }

    pub(crate) fn resolve_folders(&mut self, files: &dyn Files) {
        for condition in self.clauses.iter_mut().flat_map(|clause| &mut clause.conditions) {
            if let Condition::Outside(sandbox) = condition {
                sandbox.resolve(files);
            }
        }
    }

    /// Puts everything together; to be called once, when everything is in.
    pub(crate) fn finish(&mut self) {
        self.by_tool.all_mut().for_each(Bucket::finish);
        self.by_tool.finish();
        self.watchers.finish();
        self.counted.finish();
        self.outputs_by_tool.finish();
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Clause> {
        self.clauses.get(index)
    }

    pub(crate) fn all(&self) -> &[Clause] {
        &self.clauses
    }

    pub(crate) fn outputs(&self) -> &[OutputRule] {
        &self.outputs
    }

    pub(crate) fn output(&self, index: usize) -> Option<&OutputRule> {
        self.outputs.get(index)
    }

    /// How each clause names its tools, by its number; a trap and the default name none.
    pub(crate) fn ways(&self) -> Vec<Vec<Option<ToolName>>> {
        let mut ways = vec![Vec::new(); self.clauses.len()];
        for (way, bucket) in self.by_tool.ways() {
            for index in bucket.all() {
                ways.get_mut(index).into_iter().for_each(|ways: &mut Vec<_>| ways.push(way.clone()));
            }
        }
        // By name, because the index has no order of its own.
        for ways in &mut ways {
            ways.sort_by_cached_key(|way| way.as_ref().map(ToString::to_string));
        }
        ways
    }

    /// The tools whose calls count for a window, and which of their calls do. None is every tool.
    pub(crate) fn watched(&self, window: WindowId) -> Vec<(Option<ToolName>, Counting)> {
        let mut found: Vec<(Option<ToolName>, Counting)> = Vec::new();
        for (way, watchers) in self.watchers.ways() {
            let of_window = watchers.iter().filter(|watcher| watcher.window == window);
            found.extend(of_window.map(|watcher| (way.clone(), watcher.counts)));
        }
        // By name, because the index has no order of its own.
        found.sort_by_cached_key(|(way, _)| way.as_ref().map(ToString::to_string));
        found
    }

    /// Traps: the tool's name in lower case, and the place of the clause.
    pub(crate) fn traps(&self) -> impl Iterator<Item = (&str, usize)> {
        self.honeypots.iter().map(|(tool, index)| (tool.as_str(), *index))
    }

    /// A trap's clause, by the tool's name.
    pub(crate) fn trap(&self, tool: &str) -> Option<&Clause> {
        self.clauses.get(self.honeypot(tool)?)
    }

    /// What is decided where no clause applies.
    pub(crate) fn default_clause(&self) -> Option<&Clause> {
        self.clauses.get(self.default?)
    }

    /// Lets calls of these tools count for a counter.
    pub(crate) fn count(&mut self, tools: &Tools, counter: &Arc<str>) {
        self.counted.put(tools, |counters| {
            if !counters.contains(counter) {
                counters.push(counter.clone());
            }
        });
    }

    pub(crate) fn counters(&self, tool: &str) -> SmallVec<[Arc<str>; 1]> {
        let mut counters: SmallVec<[Arc<str>; 1]> = SmallVec::new();
        for counter in self.counted.of(tool).flat_map(|(_, counters)| counters) {
            if !counters.contains(counter) {
                counters.push(counter.clone());
            }
        }
        counters
    }

    /// The clauses about a tool, whether they apply or not, in file order.
    pub(crate) fn about<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a Clause> + 'a {
        let mut found: Vec<usize> = self.by_tool.of(tool).flat_map(|(_, bucket)| bucket.all()).collect();
        found.extend(self.honeypot(tool));
        found.sort_unstable();
        found.dedup();
        found.into_iter().filter_map(|index| self.clauses.get(index))
    }

    /// The clauses that want something of a call, in file order, without the default.
    pub(crate) fn applying<'a>(&'a self, view: &View<'_>) -> SmallVec<[Applying<'a>; 4]> {
        let mut found: SmallVec<[usize; 8]> = SmallVec::new();
        let mut doubtful: SmallVec<[usize; 1]> = SmallVec::new();
        if self.clauses.is_empty() {
            return SmallVec::new();
        }
        for (certainty, bucket) in self.by_tool.of(&view.call.tool) {
            let before = found.len();
            found.extend_from_slice(&bucket.plain);
            for search in &bucket.searches {
                search.candidates(view, &mut found);
            }
            if certainty == Certainty::Doubtful {
                doubtful.extend(found.drain(before..));
            }
        }
        found.extend(self.honeypot(&view.call.tool));
        // A clause may name a tool twice, by its name and by a pattern.
        doubtful.retain(|index| !found.contains(index));
        found.extend_from_slice(&doubtful);
        found.sort_unstable();
        found.dedup();
        let applying = found.into_iter().filter_map(|index| {
            let clause = self.clauses.get(index)?;
            let is_about = if doubtful.contains(&index) { Truth::Doubt } else { Truth::Yes };
            let truth = is_about.and(clause.truth(view));
            clause.applies(truth).then_some(Applying { clause, truth })
        });
        applying.collect()
    }

    /// The windows a call counts for, and what they hold from now on.
    pub(crate) fn marks(&self, heard: &Heard<'_>, memory: &dyn Memory) -> Counted {
        let mut counted = Counted::default();
        // Every step of an ordered chain builds on what was before this call: no call takes two steps at once.
        let mut ways: SmallVec<[&Watcher; 2]> = SmallVec::new();
        let watchers = self.watchers.of(heard.tool).flat_map(|(certainty, watchers)| {
            let earns = certainty == Certainty::Certain;
            watchers.iter().filter(move |it| earns || !matches!(it.counts, Counting::Succeeded(_)))
        });
        for watcher in watchers.filter(|watcher| watcher.counts.is_met(heard)) {
            match watcher.keeps {
                Keeps::Last(keep) => {
                    let marks = if watcher.is_shared { &mut counted.shared } else { &mut counted.marks };
                    let mark = Mark { window: watcher.window, change: Change::Push { keep } };
                    if !marks.contains(&mark) {
                        marks.push(mark);
                    }
                }
                Keeps::WayTo(_) => ways.push(watcher),
            }
        }
        for watcher in ways {
            let Keeps::WayTo(before) = watcher.keeps else { continue };
            let mut way: SmallVec<[Time; 4]> = SmallVec::new();
            if let (true, Some(previous)) = (before > 0, watcher.window.step.checked_sub(1)) {
                let previous = WindowId { step: previous, ..watcher.window };
                way.extend(
                    memory.window(previous).into_iter().flat_map(|window| window.times.iter().copied()),
                );
            }
            if way.len() == usize::from(before) {
                way.push(heard.at);
                counted.marks.push(Mark { window: watcher.window, change: Change::Set(way) });
            }
        }
        counted
    }

    /// The rules on results of a tool, in file order.
    pub(crate) fn outputs_of<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a OutputRule> + 'a {
        let mut found: SmallVec<[usize; 4]> =
            self.outputs_by_tool.of(tool).flat_map(|(_, outputs)| outputs).copied().collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().filter_map(|index| self.outputs.get(index))
    }

    fn honeypot(&self, tool: &str) -> Option<usize> {
        if self.honeypots.is_empty() { None } else { self.honeypots.get(&tool.to_lowercase()).copied() }
    }
}

impl Counting {
    fn is_met(self, heard: &Heard<'_>) -> bool {
        match self {
            Self::Decided(None) => !heard.succeeded && heard.decision != Decision::Ask,
            Self::Decided(Some(wanted)) => !heard.succeeded && heard.decision == wanted,
            Self::Succeeded(wanted) => {
                heard.succeeded && wanted.is_none_or(|wanted| heard.decision == wanted)
            }
            Self::Unless(rule) => {
                !heard.succeeded && heard.decision != Decision::Ask && !(heard.refused_by)(rule)
            }
        }
    }
}

/// What a field must have in it for a condition to hold, as an expression that many can be put together of. Of
/// several parts the first counts: where that does not hold, the others are not asked.
fn searched(condition: &Condition) -> Option<(Where, String)> {
    let value = match condition {
        Condition::All(parts) => return searched(parts.first()?),
        Condition::Value(value) if !value.test.is_negated => value,
        _ => return None,
    };
    let field = match &value.subject {
        Subject::Input(field) => field.clone(),
        Subject::Argument(way) => Field::at(way),
        _ => return None,
    };
    let linear = |pattern: &Pattern| pattern.linear_source().map(|source| format!("(?:{source})"));
    let sources: Option<Vec<String>> = match &value.test.operator {
        Operator::Contains(parts) => Some(parts.iter().map(|part| regex::escape(part)).collect()),
        Operator::Matches(patterns) => patterns.iter().map(linear).collect(),
        _ => None,
    };
    Some((Where { field, only_texts: value.test.coercion != Coercion::Text }, sources?.join("|")))
}

impl Bucket {
    fn search_for(&mut self, place: &Where, source: &str, clause: usize) {
        match self.searches.iter_mut().find(|search| search.place == *place) {
            Some(search) => {
                search.sources.push(source.to_owned());
                search.clauses.push(clause);
            }
            None => self.searches.push(Search {
                place: place.clone(),
                sources: vec![source.to_owned()],
                clauses: vec![clause],
                set: LazySet::default(),
            }),
        }
    }

    /// Puts the searches of one field together, unless they are few.
    fn finish(&mut self) {
        for mut search in std::mem::take(&mut self.searches) {
            if search.clauses.len() < SEARCHES_TOGETHER_MIN {
                self.plain.extend(search.clauses);
            } else {
                search.set = LazySet::of(std::mem::take(&mut search.sources));
                self.searches.push(search);
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = usize> {
        let searched = self.searches.iter().flat_map(|search| &search.clauses);
        self.plain.iter().chain(searched).copied()
    }
}

impl Search {
    /// The clauses whose pattern is found in the field; all of them where the set cannot tell.
    fn candidates(&self, view: &View<'_>, found: &mut SmallVec<[usize; 8]>) {
        let mut search = |value: &Value| {
            if value.is_null() {
                return true;
            }
            if self.place.only_texts && !value.is_string() {
                return false;
            }
            let text = python_text(value);
            let set = if Pattern::suits_set(&text) { self.set.get() } else { None };
            let Some(set) = set else { return false };
            let indices = set.matches(&text);
            found.extend(indices.into_iter().filter_map(|index| self.clauses.get(index).copied()));
            true
        };
        let is_known = match self.place.field.look(&view.call.input) {
            Found::Missing => true,
            Found::Value(value) => search(value),
            Found::Values(values) => values.into_iter().all(search),
            _ => false,
        };
        if !is_known {
            found.extend_from_slice(&self.clauses);
        }
    }
}
