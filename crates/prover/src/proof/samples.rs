//! Calls that a clause is about, made up from what it looks for.
//!
//! [`Sampler::samples_of`] gives several, at the edges of what the clause says, each with the session that comes before it.
//! Whether a clause really decides about its sample is seen when it is played; nothing here promises it. Variables of
//! the gate's environment and what the host says under names of its own are missing on purpose: nobody can make
//! those up.

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;
use lockgate_call::{Call, Selector, Time};
use lockgate_pattern::{Match, Pattern};
use lockgate_policy::{
    Boundaries, Counting, Decision, Policy, Reached, RuleId, Sandbox, ToolName,
    clause::Clause,
    condition::{
        AttackPatterns, Attribute, Condition, PrincipalField, Schedule, SenderField, Subject, Test, ValueTest,
    },
    unreadable_scripts,
    window::WindowId,
};
use serde_json::{Map, Value};

use super::literals::{Literal, Place, conjunctions, values_for, values_in};

/// The most samples of one clause.
pub const SAMPLES_MAX: usize = 400;

/// The most tools of one clause that calls are made up for.
const TOOLS_MAX: usize = 64;

/// The most calls that come before a sample.
pub const BEFORE_MAX: u64 = 10_000;

/// From so many calls before it on, few samples are made.
const LONG_BEFORE: u64 = 100;

/// So many samples are made then.
const LONG_SAMPLES_MAX: usize = 4;

/// The most calls of one tool that are told apart by what clauses look at.
const CALLS_MAX: usize = 64;

/// The longest text and the largest input that is made up for a limit on them.
const LARGE_MAX: u64 = 100_000;

/// The deepest input that is made up.
const DEEP_MAX: u64 = 100;

/// A tool that no rule knows by its name, and others for where a pattern takes it.
const ANY_TOOL: &str = "any_tool";
const ANY_OTHER_TOOLS: [&str; 2] = ["some_tool", "zz"];

/// Monday, the first of January 2024: long enough after the beginning of time for every window.
const START: Time = Time(1_704_067_200_000);

/// Texts that look like attacks, one or more for each kind.
const ATTACKS: [&str; 10] = [
    "../../../../etc/passwd",
    "x; rm -rf / #",
    "$(id)",
    "' OR '1'='1' --",
    "x'; DROP TABLE users; --",
    "http://169.254.169.254/latest/meta-data/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "AKIAIOSFODNN7EXAMPLE",
    "password=hunter2hunter2",
];

/// What a result may hold that nobody else should see.
const SENSITIVE: &str = "jane.doe@example.com, 4111 1111 1111 1111, 078-05-1120, +1 212 555 0187";

/// A session that ends with a call that a rule may decide about.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What the trusted caller says about the session.
    pub attributes: Map<String, Value>,
    /// When it begins.
    pub start: Time,
    /// Its calls, the one meant last.
    pub runs: Vec<Run>,
}

impl Sample {
    /// These calls, at any time in any session.
    pub fn of(runs: Vec<Run>) -> Self {
        Self { attributes: Map::new(), start: START, runs }
    }
}

/// One call, several times in a row.
#[derive(Clone, Debug)]
pub struct Run {
    /// The call.
    pub call: Call,
    /// How often.
    pub times: u64,
    /// How long the session waits before the first of them.
    pub wait_ms: u64,
    /// What it returns.
    pub output: Option<Value>,
}

/// Makes up calls for the clauses of a policy.
#[derive(Debug)]
pub struct Sampler<'p> {
    policy: &'p Policy,
    naming: Naming,
}

impl<'p> Sampler<'p> {
    /// For this policy.
    pub fn new(policy: &'p Policy) -> Self {
        Self { policy, naming: Naming::of(policy) }
    }

    /// Sessions that end with calls a clause is about, at the edges of what it says and of what these say beside it.
    pub fn samples_of(&self, rule: RuleId, beside: &[(&Self, RuleId)], zone: &TimeZone) -> Vec<Sample> {
        let Some(clause) = self.policy.clause(rule) else { return Vec::new() };
        let names = beside.iter().flat_map(|(sampler, rule)| sampler.naming.of_clause(*rule));
        let patterns = names.filter_map(|name| match name {
            Some(ToolName::Matching(pattern)) => Some(pattern.clone()),
            Some(ToolName::Exact(_)) | None => None,
        });
        let patterns = patterns.take(TOOLS_MAX).collect();
        let beside = beside.iter().filter_map(|(sampler, rule)| sampler.policy.clause(*rule)).collect();
        let mut samples =
            Maker { policy: self.policy, naming: &self.naming, clause, beside, patterns, zone }.samples();
        // A sandbox has doubts about whoever does not say where a call runs.
        let cwd = self.folder();
        for run in samples.iter_mut().flat_map(|sample| &mut sample.runs) {
            run.call.about.cwd.clone_from(&cwd);
        }
        samples
    }

    /// A folder that some sandbox is about.
    pub(super) fn folder(&self) -> Option<String> {
        let mut conditions = self.policy.clauses().iter().flat_map(|clause| &clause.conditions);
        conditions.find_map(|condition| match condition {
            Condition::Outside(sandbox) => sandbox.boundaries().within.first().cloned(),
            _ => None,
        })
    }
}

impl Sampler<'_> {
    /// Calls of a tool that some clause tells apart from others, each by one value.
    pub fn calls_of(&self, tool: &str) -> Vec<Call> {
        let mut calls: Vec<Call> = Vec::new();
        for clause in self.policy.clauses_about(tool) {
            for (place, value) in values_in(&clause.conditions) {
                let (call, _) = call_with(tool, &Map::new(), &[(&place, &value)]);
                if calls.len() < CALLS_MAX && !calls.contains(&call) && call.tool == tool {
                    calls.push(call);
                }
            }
        }
        calls
    }
}

/// How the clauses of a policy name their tools.
#[derive(Debug)]
pub(super) struct Naming {
    by_rule: BTreeMap<RuleId, Vec<Option<ToolName>>>,
    traps: BTreeMap<RuleId, String>,
}

impl Naming {
    pub(super) fn of(policy: &Policy) -> Self {
        let clauses = policy.clauses();
        let by_rule = clauses.iter().map(|clause| clause.id).zip(policy.ways_of_clauses()).collect();
        let trap = |(tool, at): (&str, usize)| Some((clauses.get(at)?.id, tool.to_owned()));
        Self { by_rule, traps: policy.traps().filter_map(trap).collect() }
    }

    /// How a clause names its tools; none is every tool. A trap and the default name none.
    pub(super) fn of_clause(&self, rule: RuleId) -> &[Option<ToolName>] {
        self.by_rule.get(&rule).map(Vec::as_slice).unwrap_or_default()
    }

    /// The tool of a trap, in lower case.
    pub(super) fn trap(&self, rule: RuleId) -> Option<&str> {
        self.traps.get(&rule).map(String::as_str)
    }
}

struct Maker<'a> {
    policy: &'a Policy,
    naming: &'a Naming,
    clause: &'a Clause,
    /// Clauses whose edges are of interest too.
    beside: Vec<&'a Clause>,
    /// The patterns by which those name tools.
    patterns: Vec<Pattern>,
    zone: &'a TimeZone,
}

/// What comes before the call, by one choice.
#[derive(Clone, Default)]
struct Before {
    runs: Vec<Run>,
    /// How long the session may wait before the call at most.
    within_ms: Option<u64>,
}

impl<'a> Maker<'a> {
    fn samples(&self) -> Vec<Sample> {
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
            Condition::Suspicious(attack) => suspicious(attack),
            Condition::Unreadable { .. } => vec![unreadable()],
            _ => Vec::new(),
        }));
        inputs.retain(|input| {
            let call = Call { input: input.clone(), ..Call::new("", tool) };
            self.clause.conditions.iter().all(|condition| match condition {
                Condition::Outside(sandbox) => is_outside(sandbox, &call),
                Condition::Suspicious(attack) => attack.refuses(&call.input).is_some(),
                Condition::Unreadable { declared } => !unreadable_scripts(&call, declared).is_empty(),
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
        let edges = tests.iter().flat_map(|test| super::literals::numbers_of(test));
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

fn is_outside(sandbox: &Sandbox, call: &Call) -> bool {
    !matches!(sandbox.judge(call), Reached::Inside)
}

/// A call whose result holds what nobody else should see.
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

/// A call of a tool in which these values stand in these places, and what is said about its session.
pub(super) fn call_with(
    tool: &str,
    input: &Map<String, Value>,
    values: &[(&Place, &Value)],
) -> (Call, Map<String, Value>) {
    let mut call = Call { input: input.clone(), ..Call::new("", tool) };
    let mut attributes = Map::new();
    let about = &mut call.about;
    for (place, value) in values.iter().filter(|(_, value)| !value.is_null()) {
        let value = (*value).clone();
        match place {
            Place::Key(key) => drop(call.input.insert(key.clone(), value)),
            Place::Way(way) => {
                way.put(&mut call.input, value);
            }
            Place::Sender(SenderField::Name) => put(&mut about.sender, "name", value),
            Place::Sender(SenderField::Key(key)) => put(&mut about.sender, key, value),
            Place::Context(key) => put(&mut about.context, key, value),
            Place::Attribute(name) => drop(attributes.insert(name.clone(), value)),
            Place::Principal(field) => match field {
                PrincipalField::UserId => put(&mut about.principal, "user_id", value),
                PrincipalField::ServiceId => put(&mut about.principal, "service_id", value),
                PrincipalField::OrgId => put(&mut about.principal, "org_id", value),
                PrincipalField::Role => put(&mut about.principal, "role", value),
                PrincipalField::TicketRef => put(&mut about.principal, "ticket_ref", value),
                PrincipalField::Claims(way) => {
                    let mut claims = object_in(&mut about.principal, "claims");
                    way.put(&mut claims, value);
                    put(&mut about.principal, "claims", Value::Object(claims));
                }
            },
            Place::Environment => about.environment = value.as_str().map(str::to_owned),
            Place::Metadata(way) => put_at(&mut about.metadata, way, value),
            Place::Tool => value.as_str().into_iter().for_each(|tool| tool.clone_into(&mut call.tool)),
        }
    }
    (call, attributes)
}

/// A call with what another one has besides.
pub fn merged(call: &Call, other: &Call) -> Call {
    let mut both = call.clone();
    for (key, value) in &other.input {
        both.input.entry(key).or_insert_with(|| value.clone());
    }
    let (mine, theirs) = (&mut both.about, &other.about);
    mine.sender = mine.sender.take().or_else(|| theirs.sender.clone());
    mine.principal = mine.principal.take().or_else(|| theirs.principal.clone());
    mine.context = mine.context.take().or_else(|| theirs.context.clone());
    mine.metadata = mine.metadata.take().or_else(|| theirs.metadata.clone());
    mine.environment = mine.environment.take().or_else(|| theirs.environment.clone());
    both
}

fn put(object: &mut Option<Value>, key: &str, value: Value) {
    let whole = object.get_or_insert_with(|| Value::Object(Map::new()));
    if let Some(fields) = whole.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
}

fn put_at(object: &mut Option<Value>, way: &Selector, value: Value) {
    let whole = object.get_or_insert_with(|| Value::Object(Map::new()));
    if let Some(fields) = whole.as_object_mut() {
        way.put(fields, value);
    }
}

fn object_in(object: &mut Option<Value>, key: &str) -> Map<String, Value> {
    let inner = object.as_ref().and_then(|whole| whole.get(key)).and_then(Value::as_object);
    inner.cloned().unwrap_or_default()
}

/// Inputs that reach what boundaries speak of, and what they do not speak of.
pub(super) fn reaching(boundaries: &Boundaries) -> Vec<Map<String, Value>> {
    let one = |key: &str, text: String| Map::from_iter([(key.to_owned(), Value::from(text))]);
    let mut inputs = Vec::new();
    let Boundaries { within, not_within, commands, domains, not_domains } = boundaries;
    let program = commands.iter().flatten().next().map_or("cat", String::as_str);
    let mut folders: Vec<String> = Vec::new();
    for folder in within.iter().chain(not_within) {
        let folder = folder.trim_end_matches('/');
        folders.extend([format!("{folder}/file"), format!("{folder}-beside/file")]);
    }
    if !folders.is_empty() {
        folders.push("/outside/file".to_owned());
    }
    for path in folders {
        inputs.extend([one("path", path.clone()), one("command", format!("{program} {path}"))]);
    }
    if let Some(commands) = commands {
        inputs.extend(commands.iter().map(|command| one("command", command.clone())));
        inputs.push(one("command", "outside".to_owned()));
    }
    let hosts: Vec<&String> = domains.iter().flatten().chain(not_domains).collect();
    if !hosts.is_empty() {
        inputs.push(one("url", "https://outside.example/".to_owned()));
    }
    for host in hosts {
        let bare = host.replace("*.", "").replace(['*', '?'], "x");
        inputs.extend([one("url", format!("https://{bare}/")), one("url", format!("https://a.{bare}/"))]);
    }
    inputs
}

/// An input with a script that cannot be read.
fn unreadable() -> Map<String, Value> {
    Map::from_iter([("command".to_owned(), Value::from("$PROGRAM"))])
}

/// Inputs that a sanitizer speaks of.
fn suspicious(sanitizer: &AttackPatterns) -> Vec<Map<String, Value>> {
    let one = |value: Value| Map::from_iter([("text".to_owned(), value)]);
    let mut inputs: Vec<Map<String, Value>> = ATTACKS.iter().map(|text| one(Value::from(*text))).collect();
    let blocked = sanitizer.blocked_patterns.iter().flat_map(Pattern::samples);
    inputs.extend(blocked.map(|text| one(Value::from(text))));
    let past = |limit: Option<u64>, most: u64| limit.filter(|limit| *limit < most).map(|limit| limit + 1);
    if let Some(chars) = past(sanitizer.string_chars_max, LARGE_MAX) {
        inputs.push(one(Value::from("x".repeat(usize::try_from(chars).unwrap_or_default()))));
    }
    if let Some(keys) = past(sanitizer.keys_max, LARGE_MAX) {
        inputs.push((0..keys).map(|key| (format!("k{key}"), Value::from(1))).collect());
    }
    if let Some(depth) = past(sanitizer.depth_max, DEEP_MAX) {
        let nested = (0..depth).fold(Value::from(1), |inner, _| Value::Array(vec![inner]));
        inputs.push(one(nested));
    }
    inputs
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_policy::Source;

    fn policy(text: &str) -> Policy {
        let (policy, mistakes) = lockgate_languages::read(&[Source::new("a.yaml", text)]);
        policy.unwrap_or_else(|| panic!("{mistakes:?}\n{text}"))
    }

    /// The samples of the first clause.
    fn samples(text: &str) -> Vec<Sample> {
        let policy = policy(text);
        let rule = policy.clauses().first().unwrap().id;
        Sampler::new(&policy).samples_of(rule, &[], &TimeZone::UTC)
    }

    fn when_then(when: &str) -> String {
        format!("version: 1\nrules:\n  - {{id: a, when: {when}, then: block}}\n")
    }

    fn listed(count: usize) -> String {
        (0..count).map(|number| format!("t{number}")).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn no_more_tools_are_tried_than_the_limit_says() {
        for (count, tried) in
            [(TOOLS_MAX - 1, TOOLS_MAX - 1), (TOOLS_MAX, TOOLS_MAX), (TOOLS_MAX + 1, TOOLS_MAX)]
        {
            assert_eq!(samples(&when_then(&format!("{{tool: [{}]}}", listed(count)))).len(), tried);
        }
    }

    #[test]
    fn no_more_samples_are_made_than_the_limit_says() {
        let fields: Vec<String> =
            (0..20).map(|field| format!("f{field}: {{in: [{}]}}", listed(40))).collect();
        let made = samples(&when_then(&format!("{{tool: a, args_match: {{{}}}}}", fields.join(", "))));
        assert_eq!(made.len(), SAMPLES_MAX);
    }

    #[test]
    fn no_session_before_a_call_is_longer_than_the_limit_says() {
        let counted = |count: u64| {
            samples(&when_then(&format!("{{tool: a, session: {{total_calls: {{gte: {count}}}}}}}")))
        };
        let calls = |sample: &Sample| sample.runs.iter().map(|run| run.times).sum::<u64>();
        assert_eq!(counted(BEFORE_MAX).iter().map(calls).max(), Some(BEFORE_MAX + 1));
        assert!(counted(BEFORE_MAX + 1).is_empty());
        // Few are made where they are long.
        assert!(counted(BEFORE_MAX).len() <= LONG_SAMPLES_MAX);
    }

    #[test]
    fn no_input_is_larger_or_deeper_than_the_limit_says() {
        let largest = |key: &str, limit: u64| {
            let made = samples(&format!("version: 1\nrules: []\nsanitizer: {{{key}: {limit}}}\n"));
            let size = |sample: &Sample| {
                serde_json::to_string(&sample.runs.last().unwrap().call.input).unwrap().len()
            };
            made.iter().map(size).max().unwrap_or_default()
        };
        assert!(largest("max_string_length", LARGE_MAX - 1) > 99_999);
        assert_eq!(largest("max_string_length", LARGE_MAX), 0);
        assert!(largest("max_depth", DEEP_MAX - 1) > 100);
        assert_eq!(largest("max_depth", DEEP_MAX), 0);
    }

    #[test]
    fn no_more_calls_like_another_are_made_than_the_limit_says() {
        let fields: Vec<String> = (0..40).map(|field| format!("f{field}: {{in: [a, b]}}")).collect();
        let policy = policy(&when_then(&format!("{{tool: a, args_match: {{{}}}}}", fields.join(", "))));
        assert_eq!(Sampler::new(&policy).calls_of("a").len(), CALLS_MAX);
    }
}
