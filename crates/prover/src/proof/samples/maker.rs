//! Makes the samples of one rule: every tool, every input, every moment and every past that its conditions tell apart.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use lockgate_call::{Call, SeenCall, Time};
use lockgate_pattern::{Match, Pattern};
use lockgate_policy::{
    Counting, Decision, Policy, Reached, Sandbox, ToolName,
    clause::Clause,
    condition::{Attribute, Condition, Schedule, Subject, Test, ValueTest},
    window::WindowId,
};
use serde_json::{Map, Value};

use super::{
    inputs::{SENSITIVE, attacks, call_with, reaching, unreadable},
    naming::Naming,
    run::{Run, START, Sample},
};
use crate::proof::literals::{Literal, Place, conjunctions, numbers_of, values_for};

/// The most tools of one clause that calls are made up for.
pub(in crate::proof) const TOOLS_MAX: usize = 64;

/// From so many calls before it on, few samples are made.
const LONG_BEFORE: u64 = 100;

/// So many samples are made then.
pub(in crate::proof) const LONG_SAMPLES_MAX: usize = 4;

/// The most calls of one tool that are distinguished by what clauses look at.
pub(in crate::proof) const CALLS_MAX: usize = 64;

/// A tool that no rule knows by its name, and others for where a pattern takes it.
const ANY_TOOL: &str = "any_tool";

const ANY_OTHER_TOOLS: [&str; 2] = ["some_tool", "zz"];

/// The most samples of one clause.
pub const SAMPLES_MAX: usize = 400;

/// The most calls that come before a sample.
pub const BEFORE_MAX: u64 = 10_000;

pub(in crate::proof) struct Maker<'a> {
    pub(in crate::proof) policy: &'a Policy,
    pub(in crate::proof) naming: &'a Naming,
    pub(in crate::proof) clause: &'a Clause,
    /// Clauses whose edges are of interest too.
    pub(in crate::proof) beside: Vec<&'a Clause>,
    /// The patterns by which those name tools.
    pub(in crate::proof) patterns: Vec<Pattern>,
    pub(in crate::proof) zone: &'a TimeZone,
}

/// What comes before the call, by one choice.
#[derive(Clone, Default)]
struct Before {
    pub(in crate::proof) runs: Vec<Run>,
    /// How long the session may wait before the call at most.
    within_ms: Option<u64>,
}

impl<'a> Maker<'a> {
    pub(in crate::proof) fn samples(&self) -> Vec<Sample> {
        let mut samples = Vec::new();
        let conjunctions = conjunctions(&self.clause.conditions);
        for (number, tool) in self.tools().into_iter().enumerate() {
            for literals in &conjunctions {
                let calls = self.calls(&tool, literals);
                // One call is enough for all tools but the first: they differ by the name.
                let calls = calls.into_iter().take(if number == 0 { SAMPLES_MAX } else { 1 });
                for (call, attributes) in calls {
                    self.with_sessions(&call, &attributes, &mut samples);
                    if samples.len() >= self.samples_max(&samples) {
                        return samples;
                    }
                }
            }
        }
        samples
    }

    fn samples_max(&self, samples: &[Sample]) -> usize {
        let before = samples.first().map_or(0, |it| it.runs.iter().map(|run| run.times).sum::<u64>());
        if before > LONG_BEFORE { LONG_SAMPLES_MAX } else { SAMPLES_MAX }
    }

    /// The tools the clause is about: some of them, where it names them otherwise than one by one.
    fn tools(&self) -> Vec<String> {
        let ways = self.naming.of_clause(self.clause.id);
        let mut tools: Vec<String> = ways.iter().flat_map(|way| self.named(way.as_ref())).collect();
        tools.extend(self.naming.trap(self.clause.id).map(str::to_owned));
        if tools.is_empty() {
            tools = self.named(None);
        }
        // What others do not name is what tells them apart.
        let is_named = |tool: &String| {
            self.beside.iter().any(|clause| clause.tools.contains(tool))
                || self.patterns.iter().any(|pattern| pattern.find(tool) != Match::No)
        };
        tools.sort_by_cached_key(|tool| (is_named(tool), tool != ANY_TOOL));
        let mut seen = BTreeSet::new();
        tools.retain(|tool| seen.insert(tool.clone()));
        tools.truncate(TOOLS_MAX);
        tools
    }

    /// Tools of this name.
    fn named(&self, way: Option<&ToolName>) -> Vec<String> {
        match way {
            Some(ToolName::Exact(name)) => vec![name.clone()],
            Some(ToolName::Matching(pattern)) => {
                let others = self
                    .patterns
                    .iter()
                    .filter(|other| *other != pattern)
                    .filter_map(|other| pattern.sample_without(other));
                let any = Some(ANY_TOOL.to_owned()).filter(|any| pattern.find(any) != Match::No);
                any.into_iter()
                    .chain(pattern.samples())
                    .chain(others)
                    .filter(|name| !name.is_empty())
                    .collect()
            }
            None => {
                let known = self.policy.known_names().map(|known| known.name.to_string());
                let named = self.policy.clauses().iter().flat_map(|clause| clause.tools.iter().cloned());
                let beside = self.beside.iter().flat_map(|clause| clause.tools.iter().cloned());
                let any = std::iter::once(ANY_TOOL).chain(ANY_OTHER_TOOLS).map(str::to_owned);
                any.chain(beside).chain(named).chain(known).collect()
            }
        }
    }

    /// Calls of a tool of which all of these hold, and what is said about their sessions.
    fn calls(&self, tool: &str, literals: &[Literal<'_>]) -> Vec<(Call, Map<String, Value>)> {
        let conditions: Vec<&Condition> = self.beside.iter().flat_map(|clause| &clause.conditions).collect();
        let Some(values) = values_for(literals, &conditions) else { return Vec::new() };
        let mut found = Vec::new();
        let inputs = self.inputs(tool);
        let Some(first) = inputs.first() else { return found };
        let plain: Vec<(&Place, &Value)> =
            values.iter().filter_map(|(place, values)| Some((place, values.first()?))).collect();
        found.extend(inputs.iter().map(|input| call_with(tool, input, &plain)));
        for (at, (place, values)) in values.iter().enumerate() {
            for value in values.iter().skip(1) {
                let mut changed = plain.clone();
                changed.get_mut(at).into_iter().for_each(|it| *it = (place, value));
                found.push(call_with(tool, first, &changed));
            }
        }
        found
    }

    /// What the whole input may be, for the conditions that look at all of it.
    fn inputs(&self, tool: &str) -> Vec<Map<String, Value>> {
        let all =
            || self.clause.conditions.iter().chain(self.beside.iter().flat_map(|clause| &clause.conditions));
        let mut inputs: Vec<Map<String, Value>> = vec![Map::new()];
        inputs.extend(all().flat_map(|condition| match condition {
            Condition::Outside(sandbox) => reaching(sandbox.boundaries()),
            Condition::Attack(attack) => attacks(attack),
            Condition::Unreadable(_) => vec![unreadable()],
            _ => Vec::new(),
        }));
        inputs.retain(|input| {
            let call = SeenCall::from(Call { input: input.clone(), ..Call::new("", tool) });
            self.clause.conditions.iter().all(|condition| match condition {
                Condition::Outside(sandbox) => is_outside(sandbox, &call),
                Condition::Attack(attack) => attack.refuses(&call.input).is_some(),
                Condition::Unreadable(test) => !test.doubts(&call).is_empty(),
                _ => true,
            })
        });
        let mut kept: Vec<Map<String, Value>> = Vec::new();
        for input in inputs {
            if !kept.contains(&input) {
                kept.push(input);
            }
        }
        kept
    }

    /// The call after each of the sessions that the clause asks for, and at each of its moments.
    fn with_sessions(&self, call: &Call, attributes: &Map<String, Value>, samples: &mut Vec<Sample>) {
        let moments = self.moments();
        for Before { runs, within_ms } in self.before(call) {
            let waits = match within_ms {
                Some(most) => vec![0, most],
                None => vec![0],
            };
            for wait_ms in waits {
                for moment in &moments {
                    let last = Run { call: call.clone(), times: 1, wait_ms, output: None };
                    samples.push(Sample {
                        attributes: attributes.clone(),
                        start: Time(moment.0.saturating_sub(wait_ms)),
                        runs: runs.iter().cloned().chain([last]).collect(),
                    });
                }
            }
        }
    }

    /// The moments at which its schedule holds, at the edges of it and of those beside.
    fn moments(&self) -> Vec<Time> {
        let schedules = |clause: &'a Clause| {
            clause.conditions.iter().filter_map(|condition| match condition {
                Condition::Schedule(schedule) => Some(schedule),
                _ => None,
            })
        };
        let own: Vec<&Schedule> = schedules(self.clause).collect();
        if own.is_empty() {
            return vec![START];
        }
        let all = own.iter().copied().chain(self.beside.iter().flat_map(|clause| schedules(clause)));
        let times = all.filter_map(|schedule| schedule.time);
        let mut minutes: Vec<u16> = vec![12 * 60];
        for time in times {
            let day = 24 * 60;
            let around = |minute: u16| [minute, (minute + 1) % day, (minute + day - 1) % day];
            minutes.extend(around(time.from_minute).into_iter().chain(around(time.to_minute)));
        }
        minutes.sort_unstable();
        minutes.dedup();
        let zones = own.iter().map(|schedule| schedule.zone.as_ref().unwrap_or(self.zone));
        let mut moments: Vec<Time> = zones.flat_map(|zone| week(zone, &minutes)).collect();
        moments.retain(|moment| {
            own.iter().all(|schedule| schedule.truth(*moment, self.zone) == lockgate_policy::Truth::Yes)
        });
        moments
    }

    /// The sessions that the clause asks for before a call.
    fn before(&self, call: &Call) -> Vec<Before> {
        let mut choices = vec![Before::default()];
        let mut counted: Vec<(&Attribute, Vec<&Test>)> = Vec::new();
        for condition in &self.clause.conditions {
            match condition {
                Condition::Value(ValueTest { subject: Subject::Session(of), test, .. })
                    if !matches!(of, Attribute::Named(_)) =>
                {
                    match counted.iter_mut().find(|(known, _)| *known == of) {
                        Some((_, tests)) => tests.push(test),
                        None => counted.push((of, vec![test])),
                    }
                }
                Condition::Called { .. } | Condition::CalledInOrder { .. } | Condition::Earned { .. } => {
                    choices.iter_mut().for_each(|before| self.fill(before, condition, call));
                }
                Condition::Tainted => choices.iter_mut().for_each(|before| before.runs.push(tainting(call))),
                _ => {}
            }
        }
        for (of, tests) in counted {
            let more: Vec<Vec<Run>> = self.counting(of, &tests, call);
            choices = choices
                .iter()
                .flat_map(|before| {
                    more.iter().map(|runs| Before {
                        runs: before.runs.iter().chain(runs).cloned().collect(),
                        within_ms: before.within_ms,
                    })
                })
                .collect();
        }
        let calls = |before: &Before| before.runs.iter().map(|run| run.times).sum::<u64>();
        choices.retain(|before| calls(before) <= BEFORE_MAX);
        choices
    }

    /// The calls that fill a window.
    fn fill(&self, before: &mut Before, condition: &Condition, call: &Call) {
        match condition {
            Condition::Called { window, count, within_ms, is_end_included, .. } => {
                let most = if *is_end_included { *within_ms } else { within_ms.saturating_sub(1) };
                before.within_ms = Some(before.within_ms.map_or(most, |so_far| so_far.min(most)));
                before.runs.push(self.step(*window, u64::from(*count), call));
            }
            Condition::CalledInOrder { window, within_ms } => {
                let most = within_ms.iter().copied().min();
                before.within_ms = before.within_ms.into_iter().chain(most).min();
                let behind = u16::try_from(within_ms.len().saturating_sub(1)).unwrap_or(u16::MAX);
                let first = window.step.saturating_sub(behind);
                for step in first..=window.step {
                    before.runs.push(self.step(WindowId { step, ..*window }, 1, call));
                }
            }
            Condition::Earned { earned, .. } => {
                earned.iter().for_each(|condition| self.fill(before, condition, call))
            }
            _ => {}
        }
    }

    /// Calls that count for a window.
    fn step(&self, window: WindowId, times: u64, call: &Call) -> Run {
        let watched = self.policy.watched(window);
        let is_it = |(way, _): &&(Option<ToolName>, Counting)| match way {
            None => true,
            Some(ToolName::Exact(name)) => *name == call.tool,
            Some(ToolName::Matching(pattern)) => pattern.find(&call.tool) != Match::No,
        };
        // A call that fills its own window is shown as the same call again and again.
        let own = watched
            .iter()
            .find(is_it)
            .filter(|_| watched.iter().all(|(_, it)| matches!(it, Counting::Unless(_))));
        let Some((way, counts)) = own.or(watched.first()) else {
            return Run { call: call.clone(), times, wait_ms: 0, output: None };
        };
        let tool = match own {
            Some(_) => call.tool.clone(),
            None => self.named(way.as_ref()).into_iter().next().unwrap_or_else(|| ANY_TOOL.to_owned()),
        };
        let made = match counts {
            Counting::Decided(Some(wanted)) | Counting::Succeeded(Some(wanted)) => {
                self.wanted(&tool, *wanted)
            }
            Counting::Unless(_) => Some(call.clone()).filter(|_| own.is_some()),
            Counting::Decided(None) | Counting::Succeeded(None) => None,
        };
        Run { call: made.unwrap_or_else(|| Call::new("", tool)), times, wait_ms: 0, output: None }
    }

    /// A call of a tool that some clause wants this for.
    fn wanted(&self, tool: &str, wants: Decision) -> Option<Call> {
        let mut clauses = self.policy.clauses_about(tool).filter(|clause| clause.wants == wants);
        clauses.find_map(|clause| {
            let maker = Maker { clause, beside: Vec::new(), patterns: Vec::new(), ..*self };
            let literals = conjunctions(&clause.conditions);
            let (call, _) =
                literals.iter().find_map(|literals| maker.calls(tool, literals).into_iter().next())?;
            Some(call)
        })
    }

    /// As many calls as these tests of a counter ask for.
    fn counting(&self, of: &Attribute, tests: &[&Test], call: &Call) -> Vec<Vec<Run>> {
        if matches!(of, Attribute::Taints) {
            return vec![vec![tainting(call)], Vec::new()];
        }
        let least = u64::from(matches!(of, Attribute::CallsOf(_)));
        let edges = tests.iter().flat_map(|test| numbers_of(test));
        let mut counts: Vec<u64> = edges.chain([0, 1]).filter(|count| *count >= least).collect();
        counts.sort_unstable();
        let fits = |count: &&u64| {
            tests.iter().all(|test| test.truth(&Value::from(**count)) == lockgate_policy::Truth::Yes)
        };
        let Some(times) = counts.iter().find(fits).copied() else { return Vec::new() };
        let run = |tool: &str| match times {
            0 => Vec::new(),
            times => vec![Run { call: Call::new("", tool), times, wait_ms: 0, output: None }],
        };
        match of {
            Attribute::CallsOf(counter) => {
                let is_counted = |tool: &str| self.policy.counters(tool).contains(counter);
                let tool = if is_counted(&call.tool) { call.tool.as_str() } else { counter };
                vec![run(tool)]
            }
            _ => vec![run(&call.tool), run(ANY_TOOL)],
        }
    }
}

fn is_outside(sandbox: &Sandbox, call: &SeenCall) -> bool {
    !matches!(sandbox.judge(call), Reached::Inside)
}

/// A call whose result holds sensitive data.
fn tainting(call: &Call) -> Run {
    let tool = if call.tool == ANY_TOOL { "any_reader" } else { ANY_TOOL };
    Run { call: Call::new("", tool), times: 1, wait_ms: 0, output: Some(SENSITIVE.into()) }
}

/// These minutes of each day of a week.
fn week(zone: &TimeZone, minutes: &[u16]) -> Vec<Time> {
    let mut moments = Vec::new();
    for day in 1..=7 {
        for minute in minutes {
            let (hour, minute) = (i8::try_from(minute / 60), i8::try_from(minute % 60));
            let (Ok(hour), Ok(minute)) = (hour, minute) else { continue };
            let moment = jiff::civil::date(2024, 1, day).at(hour, minute, 0, 0).to_zoned(zone.clone());
            let ms = moment.ok().and_then(|moment| u64::try_from(moment.timestamp().as_millisecond()).ok());
            moments.extend(ms.map(Time));
        }
    }
    moments
}
