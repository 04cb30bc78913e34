//! All clauses of a policy, and what a call has to do with them.
//!
//! [`Clauses::applying`] finds the clauses a call concerns by the tool's name, and where many of them search one
//! field, by one pass over that field: never by a walk over all clauses. [`Clauses::marks`] says which windows a
//! decided call counts for.

mod outputs;
mod search;
mod watchers;

use std::sync::Arc;

use lockgate_call::{Files, Time};
use search::{Bucket, searched};
use smallvec::SmallVec;

use crate::{
    clause::{Applying, Clause},
    condition::{Attribute, Condition, Subject, ValueTest},
    decision::Truth,
    hash::HashMap,
    past::{self, Recorder, Witnessed},
    provenance::TrustedSources,
    tool_index::{Certainty, ToolIndex},
    tools::{ToolName, Tools},
    view::{Memory, View},
    window::{Change, Mark, Marks, WindowId},
};

pub use outputs::{HitAction, Masking, OutputRule, OutputSearch, mask_kinds};
pub use watchers::{Counting, DecidedCall, Retention, Watcher, WindowMarks};

/// All clauses of a policy.
#[derive(Debug, Default)]
pub(crate) struct Clauses {
    clauses: Vec<Clause>,
    by_tool: ToolIndex<Bucket>,
    /// By the lower-case name of the tool.
    honeypots: HashMap<String, usize>,
    default: Option<usize>,
    watchers: ToolIndex<Vec<Watcher>>,
    /// The logs that calls of tools change.
    recorders: ToolIndex<Vec<Recorder>>,
    /// The counters that calls of tools count for.
    counted: ToolIndex<Vec<Arc<str>>>,
    outputs: Vec<OutputRule>,
    outputs_by_tool: ToolIndex<Vec<usize>>,
    pub(crate) masking: Masking,
    pub(crate) watches_taints: bool,
    pub(crate) shares: bool,
    pub(crate) wants_zone: bool,
    /// What rules want to know about where values come from.
    pub(crate) sources: TrustedSources,
    /// The tools that are declared to act.
    pub(crate) acting: Vec<String>,
    /// Tools that are declared to read and do nothing else.
    pub(crate) readers: Vec<String>,
    /// The variables of the environment that rules look at.
    pub(crate) variables: Vec<String>,
}

impl Clauses {
    pub(crate) fn push(&mut self, clause: Clause, tools: &Tools) -> usize {
        let index = self.clauses.len();
        for condition in clause.conditions.iter().flat_map(Condition::parts) {
            match condition {
                Condition::Value(ValueTest { subject: Subject::Session(Attribute::Taints), .. })
                | Condition::Tainted => self.watches_taints = true,
                Condition::Schedule(schedule) if schedule.zone.is_none() => self.wants_zone = true,
                Condition::Called { is_shared: true, .. } => self.shares = true,
                Condition::Untraced(test) => self.sources.trust(&test.sources),
                Condition::Unsaid(words) => {
                    self.sources.want_said(&words.iter().map(|it| it.stem().clone()).collect::<Vec<_>>());
                }
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

    pub(crate) fn record(&mut self, tools: &Tools, recorder: &Recorder) {
        self.recorders.put(tools, |recorders| recorders.push(recorder.clone()));
    }

    /// Whether some log asks for calls of a tool.
    pub(crate) fn is_recorded(&self, tool: &str) -> bool {
        self.recorders.of(tool).any(|(_, recorders)| !recorders.is_empty())
    }

    /// Whether some log asks for calls of a tool once their results have come.
    pub(crate) fn results_are_recorded(&self, tool: &str) -> bool {
        self.recorders.of(tool).flat_map(|(_, recorders)| recorders).any(past::looks_at_call)
    }

    /// How the logs change by a call: what clears comes before what enters.
    pub(crate) fn records(&self, witnessed: &Witnessed<'_>) -> Marks {
        let mut marks = Marks::new();
        let recorders = || self.recorders.of(&witnessed.view.call.tool).flat_map(|(_, recorders)| recorders);
        let clears = recorders().filter(|it| it.action != past::Action::Enter);
        for recorder in clears.chain(recorders().filter(|it| it.action == past::Action::Enter)) {
            if let Some(change) = recorder.change(witnessed) {
                let mark = Mark { window: recorder.window, change: Change::Log(change) };
                if !marks.contains(&mark) {
                    marks.push(mark);
                }
            }
        }
        marks
    }

    pub(crate) fn resolve_folders(&mut self, files: &dyn Files) {
        for condition in self.clauses.iter_mut().flat_map(|clause| &mut clause.conditions) {
            condition.resolve(files);
        }
    }

    /// Puts everything together; to be called once, when everything is in.
    pub(crate) fn finish(&mut self) {
        self.by_tool.all_mut().for_each(Bucket::finish);
        self.by_tool.finish();
        self.watchers.finish();
        self.recorders.finish();
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

    /// The calls that change a log, in words that do not depend on the numbers of rules.
    pub(crate) fn recorded(&self, window: WindowId) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for (way, recorders) in self.recorders.ways() {
            for recorder in recorders.iter().filter(|recorder| recorder.window == window) {
                let Recorder { conditions, outcome, action, keys, value, .. } = recorder;
                let way = way.as_ref().map(ToString::to_string);
                found.push(format!("{:?}", (way, conditions, outcome, action, keys, value)));
            }
        }
        found.sort();
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
    pub(crate) fn marks(&self, heard: &DecidedCall<'_>, memory: &dyn Memory) -> WindowMarks {
        let mut counted = WindowMarks::default();
        // Every step of an ordered chain builds on what was before this call: no call takes two steps at once.
        let mut ways: SmallVec<[&Watcher; 2]> = SmallVec::new();
        let watchers = self.watchers.of(heard.tool).flat_map(|(certainty, watchers)| {
            let earns = certainty == Certainty::Certain;
            watchers.iter().filter(move |it| earns || !matches!(it.counts, Counting::Succeeded(_)))
        });
        for watcher in watchers.filter(|watcher| watcher.counts.is_met(heard)) {
            match watcher.keeps {
                Retention::Last(keep) => {
                    let marks = if watcher.is_shared { &mut counted.shared } else { &mut counted.marks };
                    let mark = Mark { window: watcher.window, change: Change::Push { keep } };
                    if !marks.contains(&mark) {
                        marks.push(mark);
                    }
                }
                Retention::WayTo(_) => ways.push(watcher),
            }
        }
        for watcher in ways {
            let Retention::WayTo(before) = watcher.keeps else { continue };
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
