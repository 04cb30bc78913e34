//! Small policies with claims, few enough names and states that all their sessions can be played.
//!
//! [`policies`] makes them in every language and in mixtures of two; [`edited`] changes one statement of one. A
//! statement is a line, in YAML a line of a list, so that it can be taken out alone. [`SmallPolicy::calls`] are the
//! calls that tell its rules apart. Nothing here waits for humans who refuse, and nothing looks at results.

use lockgate::engine::Call;
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select, subsequence},
};
use serde_json::Value;

/// Which languages a policy is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// One-line rules in one file or two, with maps and dotted names.
    OneLine,
    /// A hand-written net, alone or beside one-line rules.
    Nets,
    /// When/then rules.
    WhenThen,
    /// Rulesets.
    Rulesets,
    /// Workflows.
    Workflows,
    /// Two files of different languages.
    Mixtures,
    /// Rules that look at two fields of inputs, in two languages, beside one-line rules.
    Conditions,
}

/// The language of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// One statement a line.
    Rules,
    /// `kind: Net`: a statement is a transition.
    Net,
    /// `rules:` with `when` and `then`.
    WhenThen,
    /// `kind: Ruleset`.
    Ruleset,
    /// `kind: Workflow`: a statement is a stage.
    Workflow,
}

/// A file of a small policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallFile {
    /// Its language.
    pub language: Language,
    /// Whether calls that no rule speaks of are blocked; a word of when/then files.
    pub is_closed: bool,
    /// Its statements, one a line.
    pub statements: Vec<String>,
    /// What it claims, without the word `claim`; only one-line rules have room for it.
    pub claims: Vec<String>,
}

/// A small policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallPolicy {
    /// Its files.
    pub files: Vec<SmallFile>,
    /// The names it speaks of, or could.
    pub names: Vec<String>,
}

impl SmallFile {
    fn new(language: Language, statements: Vec<String>) -> Self {
        Self { language, is_closed: false, statements: once(statements), claims: Vec::new() }
    }

    /// The lines before the first statement.
    fn head(&self, number: usize) -> Vec<String> {
        let edictum = |kind: &str| {
            vec![
                "apiVersion: edictum/v1".to_owned(),
                format!("kind: {kind}"),
                format!("metadata: {{name: f{number}}}"),
            ]
        };
        match self.language {
            // A file has to have a rule; this one is about a tool that is never called.
            Language::Rules => {
                let is_rule = |line: &String| !["map ", "script "].iter().any(|word| line.starts_with(word));
                let has_rule = self.statements.iter().any(is_rule);
                if has_rule { Vec::new() } else { vec!["limit trap to 9 per session".to_owned()] }
            }
            Language::Net => vec![
                "kind: Net".to_owned(),
                format!("name: n{number}"),
                "places: [p, q, r]".to_owned(),
                "marking: {p: 1}".to_owned(),
                "transitions:".to_owned(),
            ],
            Language::WhenThen => {
                let default = self.is_closed.then(|| "default_verdict: block".to_owned());
                // A file has to restrict something.
                let trap = self.statements.is_empty() && !self.is_closed;
                let trap = trap.then(|| "honeypots: [{name: trap}]".to_owned());
                let rules = if self.statements.is_empty() { "rules: []" } else { "rules:" };
                default.into_iter().chain(trap).chain([rules.to_owned()]).collect()
            }
            Language::Ruleset => {
                [edictum("Ruleset"), vec!["defaults: {mode: enforce}".to_owned(), "rules:".to_owned()]]
                    .concat()
            }
            Language::Workflow => [edictum("Workflow"), vec!["stages:".to_owned()]].concat(),
        }
    }

    /// Its text, as the file of this number in its policy.
    pub fn text(&self, number: usize) -> String {
        let mut lines = self.head(number);
        let is_yaml = self.language != Language::Rules;
        lines.extend(
            self.statements.iter().map(|line| if is_yaml { format!("  - {line}") } else { line.clone() }),
        );
        lines.extend(self.claims.iter().map(|claim| format!("claim {claim}")));
        lines.join("\n") + "\n"
    }

    /// The statement that stands in a line, counted from 1.
    pub fn statement_at(&self, number: usize, line: usize) -> Option<usize> {
        let statement = line.checked_sub(1 + self.head(number).len())?;
        (statement < self.statements.len()).then_some(statement)
    }
}

impl SmallPolicy {
    /// The names and texts of its files.
    pub fn texts(&self) -> Vec<(String, String)> {
        let named = |(number, file): (usize, &SmallFile)| {
            let ending = if file.language == Language::Rules { "rules" } else { "yaml" };
            (format!("{number}.{ending}"), file.text(number))
        };
        self.files.iter().enumerate().map(named).collect()
    }

    /// The number of the file of this name.
    pub fn file(&self, name: &str) -> Option<usize> {
        name.split('.').next()?.parse().ok()
    }

    /// The same without one statement.
    pub fn without(&self, file: usize, statement: usize) -> Self {
        let mut policy = self.clone();
        if let Some(file) = policy.files.get_mut(file) {
            file.statements.remove(statement);
        }
        policy.settled()
    }

    /// The same without one file; claims stay.
    pub fn without_file(&self, file: usize) -> Self {
        let mut policy = self.clone();
        if let Some(file) = policy.files.get_mut(file) {
            file.statements.clear();
        }
        policy.settled()
    }

    /// Every way to make it smaller by one statement or claim.
    pub fn smaller(&self) -> Vec<Self> {
        let mut smaller = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            smaller.extend((0..file.statements.len()).map(|statement| self.without(number, statement)));
            for claim in 0..file.claims.len() {
                let mut policy = self.clone();
                policy.files.iter_mut().skip(number).take(1).for_each(|file| drop(file.claims.remove(claim)));
                smaller.push(policy.settled());
            }
        }
        smaller
    }

    /// Files that say nothing any more are left out; files of one-line rules may be empty, and a default stands by itself.
    fn settled(mut self) -> Self {
        let says_something = |file: &SmallFile| {
            file.language == Language::Rules || file.is_closed || !file.statements.is_empty()
        };
        self.files.retain(says_something);
        self
    }

    /// Whether some statement speaks of a name.
    pub fn knows(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.knows(name))
    }

    /// Whether some statement or claim speaks of a name.
    fn speaks_of(&self, name: &str) -> bool {
        let mut claims = self.files.iter().flat_map(|file| &file.claims);
        self.knows(name) || claims.any(|claim| claim.split(' ').any(|word| word == name))
    }

    /// Whether time makes a difference.
    pub fn has_hours(&self) -> bool {
        self.says("within_seconds") || self.says("approval_strategy")
    }

    fn says(&self, word: &str) -> bool {
        self.files.iter().flat_map(|file| &file.statements).any(|statement| statement.contains(word))
    }

    /// Every call that tells rules apart: of each name; with actions that are spoken of, and one that is not; with an
    /// amount; of each mapped command, several, mentions; and of a tool that nobody knows.
    pub fn calls(&self) -> Vec<Call> {
        let mut calls: Vec<Call> = Vec::new();
        for name in &self.names {
            match name.split_once('.') {
                None => calls.push(Call::new("1", name.as_str())),
                Some((tool, action)) if self.speaks_of(name) => {
                    calls.push(Call::new("1", tool).with("action", action));
                    calls.push(Call::new("1", tool).with("action", "other"));
                    calls.push(Call::new("1", name.as_str()));
                }
                Some(_) => {}
            }
            if self.says(&format!("tool: {name},")) {
                calls.extend(self.inputs(name));
            }
        }
        calls.extend(self.says("map d.action x").then(|| Call::new("1", "d").with("action", "x")));
        let bash = |command: &str| Call::new("1", "bash").with("command", command);
        let cp = self.says("map bash.command cp") || self.says("^cp");
        let rm = self.says("map bash.command rm") || self.says("map bash running rm") || self.says("^rm");
        calls.extend(cp.then(|| ["cp x", "cp x || true", "echo cp"].map(bash)).into_iter().flatten());
        calls.extend(rm.then(|| bash("rm y")));
        calls.extend((cp && rm).then(|| ["cp x && rm y", "rm y; cp x"].map(bash)).into_iter().flatten());
        calls.push(Call::new("1", STRANGER));
        let mut distinct: Vec<Call> = Vec::new();
        calls.retain(|call| {
            !distinct.contains(call) && {
                distinct.push(call.clone());
                true
            }
        });
        calls
    }
}

impl SmallPolicy {
    /// Calls of a tool with each of the values that rules tell apart.
    fn inputs(&self, tool: &str) -> Vec<Call> {
        let mut calls = vec![Call::new("1", tool)];
        if !self.says("{id: l") && !self.says("{id: m") {
            calls.extend(self.says("amount").then(|| Call::new("1", tool).with("amount", 500)));
            return calls;
        }
        for (field, values) in VALUES.iter().filter(|(field, _)| self.says(field)) {
            let values: Vec<Value> =
                values.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
            let with = |call: &Call| -> Vec<Call> {
                values.iter().map(|value| call.clone().with(field, value.clone())).collect()
            };
            let more: Vec<Call> = calls.iter().flat_map(with).collect();
            calls.extend(more);
        }
        calls
    }
}

/// Values on all sides of what [`looks`] speaks of, as JSON.
const VALUES: [(&str, &[&str]); 2] =
    [("amount", &["50", "70", "100", "101", "\"q\""]), ("note", &["\"x\"", "\"yxy\"", "\"y\"", "\"q\""])];

impl SmallFile {
    /// Whether some statement speaks of a name.
    pub fn knows(&self, name: &str) -> bool {
        let is_apart = |c: char| c.is_whitespace() || "[]{},:\"".contains(c);
        self.statements.iter().any(|statement| statement.split(is_apart).any(|word| word == name))
    }
}

/// A tool that no policy here speaks of.
pub const STRANGER: &str = "stranger";

/// Above every number in a small policy: no rule tells it from greater ones.
pub const COUNTS_MAX: u64 = 6;

/// Policies of a family, with claims.
pub fn policies(family: Family) -> BoxedStrategy<SmallPolicy> {
    let with_claims = |names: Vec<&'static str>, files: BoxedStrategy<Vec<SmallFile>>| {
        let claims = vec(claim(&names), 4..=8);
        (files, claims, any::<bool>())
            .prop_map(move |(files, claims, last)| claimed(&names, files, claims, last))
    };
    let plain = || subsequence(vec!["a", "b", "c", "d", "bash"], 3..=4);
    match family {
        Family::OneLine => subsequence(NAMES.to_vec(), 3..=5)
            .prop_flat_map(move |names| {
                let first = rules(names.clone(), 2..=6);
                let second = prop_oneof![2 => Just(None), 1 => rules(names.clone(), 1..=3).prop_map(Some)];
                let files = (first, second)
                    .prop_map(|(first, second)| std::iter::once(first).chain(second).collect());
                with_claims(names, files.boxed())
            })
            .boxed(),
        Family::Nets => subsequence(NAMES.to_vec(), 3..=4)
            .prop_flat_map(move |names| {
                let beside = prop_oneof![1 => Just(None), 3 => rules(names.clone(), 1..=4).prop_map(Some)];
                let files = (net(names.clone()), beside)
                    .prop_map(|(net, beside)| beside.into_iter().chain([net]).collect());
                with_claims(names, files.boxed())
            })
            .boxed(),
        Family::WhenThen => plain()
            .prop_flat_map(move |names| with_claims(names.clone(), alone(when_then(&names)).boxed()))
            .boxed(),
        Family::Rulesets => plain()
            .prop_flat_map(move |names| with_claims(names.clone(), alone(ruleset(names)).boxed()))
            .boxed(),
        Family::Workflows => subsequence(vec!["a", "b", "c", "d"], 2..=3)
            .prop_flat_map(move |mut names| {
                names.push("bash");
                with_claims(names.clone(), alone(workflow(names)).boxed())
            })
            .boxed(),
        Family::Conditions => subsequence(vec!["a", "b", "c"], 2..=3)
            .prop_flat_map(move |names| {
                let looking = prop_oneof![
                    2 => looking_when_then(names.clone()).prop_map(|file| vec![file]),
                    2 => looking_ruleset(names.clone()).prop_map(|file| vec![file]),
                    1 => (looking_when_then(names.clone()), looking_ruleset(names.clone()))
                        .prop_map(|(one, other)| vec![one, other]),
                ];
                let files = (rules(names.clone(), 1..=3), looking)
                    .prop_map(|(rules, looking)| std::iter::once(rules).chain(looking).collect());
                with_claims(names, files.boxed())
            })
            .boxed(),
        Family::Mixtures => plain()
            .prop_flat_map(move |mut names| {
                if !names.contains(&"bash") {
                    names.push("bash");
                }
                let any = prop_oneof![
                    net(names.clone()),
                    when_then(&names),
                    ruleset(names.clone()),
                    workflow(names.clone()),
                ];
                let files = (rules(names.clone(), 1..=4), any).prop_map(|(rules, other)| vec![rules, other]);
                with_claims(names, files.boxed())
            })
            .boxed(),
    }
}

/// The same policy with one statement dropped, weakened, strengthened or added, or a map renamed.
pub fn edited(old: &SmallPolicy, file: Index, statement: Index, how: Index) -> SmallPolicy {
    let mut new = old.clone();
    let files: Vec<usize> = (0..old.files.len())
        .filter(|at| old.files.get(*at).is_some_and(|it| !it.statements.is_empty()))
        .collect();
    if files.is_empty() {
        return new;
    }
    let at = *file.get(&files);
    let Some(edited) = new.files.get_mut(at) else { return new };
    let line = statement.index(edited.statements.len());
    let Some(text) = edited.statements.get(line).cloned() else { return new };
    let names: Vec<&String> = old.names.iter().collect();
    let put = |edited: &mut SmallFile, text: String| {
        edited.statements.iter_mut().skip(line).take(1).for_each(|it| it.clone_from(&text));
    };
    match (how.index(5), counted(&text)) {
        (1, Some((before, count, after))) => put(edited, format!("{before}{}{after}", count + 1)),
        (2, Some((before, count, after))) if count > 1 => {
            put(edited, format!("{before}{}{after}", count - 1))
        }
        (3, _) if edited.language == Language::Rules => {
            let name = statement.get(&names);
            let added = if how.index(2) == 0 {
                format!("block {name}")
            } else {
                format!("limit {name} to 2 per session")
            };
            edited.statements.push(added);
            edited.statements = once(std::mem::take(&mut edited.statements));
        }
        (4, _) if text.starts_with("map ") => {
            let (map, _) = text.rsplit_once(' ').unwrap_or((&text, ""));
            put(edited, format!("{map} {}", file.get(&names)));
        }
        _ => return old.without(at, line),
    }
    new
}

/// A statement with a number in it, taken apart.
fn counted(text: &str) -> Option<(&str, u64, &str)> {
    for before in [
        " to ",
        "gte: ",
        "max_tool_calls: ",
        "max_attempts: ",
        "max_calls_per_tool: {a: ",
        "max_calls_per_tool: {b: ",
    ] {
        if let Some((head, tail)) = text.split_once(before) {
            let digits = tail.chars().take_while(char::is_ascii_digit).count();
            let (number, rest) = tail.split_at_checked(digits)?;
            let head = text.get(..head.len() + before.len())?;
            return Some((head, number.parse().ok()?, rest));
        }
    }
    None
}

/// Names, some of which are actions of another and some given by maps.
const NAMES: [&str; 9] = ["a", "b", "c", "d", "d.x", "d.y", "bash", "backup", "delete"];

const MAPS: [&str; 5] = [
    "map bash.command cp as backup",
    "map bash.command rm as delete",
    "map bash.command cp as a",
    "map bash running rm as delete",
    "map d.action x as b",
];

/// The file for claims is the first of one-line rules, or the last, or one of their own.
fn claimed(names: &[&str], mut files: Vec<SmallFile>, claims: Vec<String>, last: bool) -> SmallPolicy {
    let is_rules = |file: &SmallFile| file.language == Language::Rules;
    if !files.iter().any(is_rules) {
        files.push(SmallFile::new(Language::Rules, Vec::new()));
    }
    let at = if last { files.iter().rposition(is_rules) } else { files.iter().position(is_rules) };
    if let Some(file) = at.and_then(|at| files.get_mut(at)) {
        file.claims = once(claims);
    }
    SmallPolicy { names: names.iter().map(ToString::to_string).collect(), files }
}

fn alone(file: impl Strategy<Value = SmallFile>) -> impl Strategy<Value = Vec<SmallFile>> {
    file.prop_map(|file| vec![file])
}

fn once(mut lines: Vec<String>) -> Vec<String> {
    let mut seen = Vec::new();
    lines.retain(|line| {
        !seen.contains(line) && {
            seen.push(line.clone());
            true
        }
    });
    lines
}

fn rules(names: Vec<&'static str>, count: std::ops::RangeInclusive<usize>) -> BoxedStrategy<SmallFile> {
    let maps: Vec<&'static str> = MAPS
        .into_iter()
        .filter(|map| {
            let renamed = map.split([' ', '.']).nth(1);
            renamed.is_some_and(|tool| names.contains(&tool))
        })
        .collect();
    let some = maps.len().min(2);
    (subsequence(maps, 0..=some), vec(rule(names), count))
        .prop_map(|(maps, rules)| {
            let lines = maps.into_iter().map(String::from).chain(rules).collect();
            SmallFile::new(Language::Rules, lines)
        })
        .boxed()
}

fn rule(names: Vec<&'static str>) -> impl Strategy<Value = String> {
    let one = select(names.clone());
    let two = (select(names.clone()), select(names)).prop_filter("two different names", |(a, b)| a != b);
    let count = 1_u8..=3;
    prop_oneof![
        8 => two.clone().prop_map(|(a, b)| format!("require {a} before {b}")),
        2 => one.clone().prop_map(|a| format!("require human-approval before {a}")),
        1 => one.clone().prop_map(|a| format!("block {a}")),
        4 => (one, count.clone()).prop_map(|(a, n)| format!("limit {a} to {n} per session")),
        4 => (two, count).prop_map(|((a, r), n)| format!("limit {a} to {n} per {r}")),
    ]
}

/// A hand-written net of three places and a few transitions, some of which close what others need.
fn net(names: Vec<&'static str>) -> BoxedStrategy<SmallFile> {
    let place = || select(&["p", "q", "r"][..]);
    let outputs = prop_oneof![6 => place().prop_map(|p| format!("[{p}]")), 1 => Just("[]".to_owned())];
    let transition = (place(), outputs, select(names), any::<bool>(), prop::bool::weighted(0.1));
    vec(transition, 1..=4)
        .prop_map(|transitions| {
            let written = transitions.into_iter().enumerate().map(|(number, (from, to, tool, deferred, manual))| {
                let manual = if manual { ", type: manual" } else { "" };
                format!("{{name: t{number}, inputs: [{from}], outputs: {to}, tools: [{tool}], deferred: {deferred}{manual}}}")
            });
            SmallFile::new(Language::Net, written.collect())
        })
        .boxed()
}

/// When/then rules: without conditions, on counters, on arguments, on what was called before.
fn when_then(names: &[&'static str]) -> BoxedStrategy<SmallFile> {
    let one = select(names.to_vec());
    let then = || select(&["block", "approve"][..]);
    let count = 1_u8..=3;
    let rule = prop_oneof![
        3 => (one.clone(), select(&["block", "approve", "allow", "allow"][..])).prop_map(|(a, v)| format!("when: {{tool: {a}}}, then: {v}")),
        1 => one.clone().prop_map(|a| format!("when: {{tool: {a}}}, then: approve, approval_strategy: per_session")),
        2 => (one.clone(), count.clone(), then()).prop_map(|(a, n, v)| format!("when: {{tool: {a}, session: {{tool_count.{a}: {{gte: {n}}}}}}}, then: {v}")),
        1 => (one.clone(), one.clone(), count.clone()).prop_map(|(a, b, n)| format!("when: {{tool: {a}, session: {{tool_count.{b}: {{gte: {n}}}}}}}, then: block")),
        1 => (count, then()).prop_map(|(n, v)| format!("when: {{session: {{total_calls: {{gte: {n}}}}}}}, then: {v}")),
        2 => (one.clone(), select(&["block", "approve", "allow"][..])).prop_map(|(a, v)| format!("when: {{tool: {a}, args_match: {{amount: {{gt: 100}}}}}}, then: {v}")),
        2 => (one.clone(), one, select(&["block", "approve", "allow"][..])).prop_map(|(a, b, v)| format!("when: {{tool: {a}, chain: [{{tool: {b}, within_seconds: 60}}]}}, then: {v}")),
    ];
    (vec(rule, 1..=4), prop::bool::weighted(0.3))
        .prop_map(|(rules, is_closed)| {
            let numbered =
                rules.into_iter().enumerate().map(|(number, rule)| format!("{{id: w{number}, {rule}}}"));
            SmallFile { is_closed, ..SmallFile::new(Language::WhenThen, numbered.collect()) }
        })
        .boxed()
}

/// What rules look at: one field, in the words of when/then rules and of rulesets.
fn looks() -> impl Strategy<Value = (&'static str, &'static str, &'static str)> {
    select(
        &[
            ("amount", "{gt: 100}", "{gt: 100}"),
            ("amount", "{lte: 100}", "{lte: 100}"),
            ("amount", "{gt: 50}", "{gt: 50}"),
            ("amount", "{lt: 100}", "{lt: 100}"),
            ("amount", "{in: [50, 100]}", "{in: [50, 100]}"),
            ("amount", "{not_in: [50, 100]}", "{not_in: [50, 100]}"),
            ("amount", "100", "{equals: 100}"),
            ("amount", "{exists: true}", "{exists: true}"),
            ("amount", "{exists: false}", "{exists: false}"),
            ("note", "{contains: x}", "{contains: x}"),
            ("note", "{not_contains: x}", "{starts_with: y}"),
            ("note", "{in: [x, y]}", "{in: [x, y]}"),
            ("note", "{not_in: [x]}", "{not_equals: x}"),
            ("note", "{exists: true}", "{exists: true}"),
            ("note", "{exists: false}", "{exists: false}"),
        ][..],
    )
}

/// When/then rules that look at inputs, most of them at those of one tool.
fn looking_when_then(names: Vec<&'static str>) -> BoxedStrategy<SmallFile> {
    let first = names.first().copied().unwrap_or("a");
    let tool = prop_oneof![2 => Just(first), 1 => select(names)];
    let wants = select(&["block", "block", "block", "approve", "allow"][..]);
    let rule = (tool, looks(), prop::option::weighted(0.2, looks()), wants);
    (vec(rule, 2..=5), prop::bool::weighted(0.2))
        .prop_map(|(rules, is_closed)| {
            let written = rules.into_iter().enumerate().map(|(number, (tool, look, more, wants))| {
                let more = more.filter(|more| more.0 != look.0);
                let more = more.map_or_else(String::new, |(field, test, _)| format!(", {field}: {test}"));
                let (field, test, _) = look;
                format!("{{id: l{number}, when: {{tool: {tool}, args_match: {{{field}: {test}{more}}}}}, then: {wants}}}")
            });
            SmallFile { is_closed, ..SmallFile::new(Language::WhenThen, written.collect()) }
        })
        .boxed()
}

/// The same in a ruleset, with words that join tests.
fn looking_ruleset(names: Vec<&'static str>) -> BoxedStrategy<SmallFile> {
    let first = names.first().copied().unwrap_or("a");
    let tool = prop_oneof![2 => Just(first), 1 => select(names)];
    let leaf = || looks().prop_map(|(field, _, test)| format!("{{args.{field}: {test}}}"));
    let when = prop_oneof![
        4 => leaf(),
        2 => leaf().prop_map(|leaf| format!("{{not: {leaf}}}")),
        1 => (leaf(), leaf()).prop_map(|(one, other)| format!("{{all: [{one}, {other}]}}")),
        1 => (leaf(), leaf()).prop_map(|(one, other)| format!("{{any: [{one}, {other}]}}")),
        1 => (leaf(), leaf()).prop_map(|(one, other)| format!("{{not: {{all: [{one}, {other}]}}}}")),
    ];
    let wants = select(&["block", "block", "ask"][..]);
    vec((tool, when, wants), 2..=4)
        .prop_map(|rules| {
            let written = rules.into_iter().enumerate().map(|(number, (tool, when, wants))| {
                format!("{{id: m{number}, type: pre, tool: {tool}, when: {when}, then: {{action: {wants}, message: m}}}}")
            });
            SmallFile::new(Language::Ruleset, written.collect())
        })
        .boxed()
}

/// Rulesets: budgets, limits per tool, and what is denied.
fn ruleset(names: Vec<&'static str>) -> BoxedStrategy<SmallFile> {
    let one = select(names);
    let count = 1_u8..=3;
    let act = select(&["block", "ask"][..]);
    let end = "then: {action: block, message: m}";
    let rule = prop_oneof![
        3 => (one.clone(), count.clone()).prop_map(move |(a, n)| format!("type: session, limits: {{max_calls_per_tool: {{{a}: {n}}}}}, {end}")),
        1 => (2_u8..=4).prop_map(move |n| format!("type: session, limits: {{max_tool_calls: {n}}}, {end}")),
        1 => (2_u8..=4).prop_map(move |n| format!("type: session, limits: {{max_attempts: {n}}}, {end}")),
        2 => (one.clone(), act.clone()).prop_map(|(a, v)| format!("type: pre, tool: {a}, when: {{tool.name: {{exists: true}}}}, then: {{action: {v}, message: m}}")),
        2 => (one, act).prop_map(|(a, v)| format!("type: pre, tool: {a}, when: {{args.amount: {{exists: true}}}}, then: {{action: {v}, message: m}}")),
    ];
    vec(rule, 1..=3)
        .prop_map(|rules| {
            let numbered =
                rules.into_iter().enumerate().map(|(number, rule)| format!("{{id: r{number}, {rule}}}"));
            SmallFile::new(Language::Ruleset, numbered.collect())
        })
        .boxed()
}

/// Workflows of two or three stages that end by a command, by a human, or by the next one.
fn workflow(names: Vec<&'static str>) -> BoxedStrategy<SmallFile> {
    let tools: Vec<&'static str> = names.into_iter().filter(|name| *name != "bash").collect();
    let stage = (subsequence(tools, 1..=2), 0_u8..6, any::<bool>());
    vec(stage, 2..=3)
        .prop_map(|stages| {
            let count = stages.len();
            let written = stages.into_iter().enumerate().map(|(number, (mut tools, end, has_shell))| {
                let (needs_shell, end) = match end {
                    0 | 1 => (true, ", exit: [{condition: 'command_matches(\"^cp\")'}]"),
                    2 => (true, ", exit: [{condition: 'command_matches(\"^rm\")'}]"),
                    3 => (false, ", approval: {message: m}"),
                    _ => (false, ""),
                };
                if has_shell || needs_shell {
                    tools.push("bash");
                }
                let entry = match number.checked_sub(1) {
                    Some(before) if number + 1 == count => {
                        format!(", entry: [{{condition: 'stage_complete(\"s{before}\")'}}]")
                    }
                    _ => String::new(),
                };
                format!("{{id: s{number}{entry}, tools: [{}]{end}}}", tools.join(", "))
            });
            SmallFile::new(Language::Workflow, written.collect())
        })
        .boxed()
}

fn claim(names: &[&'static str]) -> impl Strategy<Value = String> + use<> {
    let names = names.to_vec();
    let one = move || prop_oneof![12 => select(names.clone()), 1 => Just(STRANGER)];
    // About a name and itself some claims are mistakes.
    let two = || (one(), one()).prop_filter("two different names", |(a, b)| a != b);
    prop_oneof![
        two().prop_map(|(b, a)| format!("never {b} before {a}")),
        (two(), one()).prop_map(|((b, a), c)| format!("never {b} without {a} since {c}")),
        (one(), one()).prop_map(|(b, a)| format!("never {b} after {a}")),
        two().prop_map(|(a, b)| format!("never {a} and {b} in one session")),
        (0_u8..=4, one()).prop_map(|(n, b)| format!("at most {n} {b}")),
        one().prop_map(|b| format!("{b} possible")),
        one().prop_map(|b| format!("{b} impossible")),
        one().prop_map(|b| format!("{b} stays possible")),
        one().prop_map(|b| format!("human before {b}")),
    ]
}
