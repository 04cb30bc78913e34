//! How long does it take to prove something about n rules together?
//!
//! Prints three tables. The first is about systems of rules as the engine sees them: for each shape and size the
//! milliseconds of each kind of question, the median over a few systems, and how many answers stayed undecided
//! in all of them. The second is about whole policies from their text. The third is about all that `lockgate verify`
//! does with files of one kind of rule, such as conditions on calls. Milliseconds are those of all threads that
//! work, so that a busy machine changes little.
//!
//! `cargo bench -p lockgate-bench --bench proofs -- 1000 clustered` shows the rows that have both words; the
//! words `systems`, `policies` and `files` leave the other tables out.
#![allow(clippy::print_stdout, reason = "the tables are what it is for")]

use lockgate::engine::{
    Policy, Source,
    gate::Rulebook,
    petri::prove::{Answer, Bounds, LabelSet, Prover, Rule, System},
    prover::proof::{Composed, diff, prove},
    verify,
};
use lockgate_bench::{
    by_regex, by_tool, by_word, check_contains, ruleset,
    shapes::{Dice, Form, Shape, Statement, rules, text},
    when_then,
};
use rustix::time::{ClockId, clock_gettime};

const SYSTEMS: u64 = 5;
const CLAIMS: usize = 100;

/// The kinds of questions, as columns.
const KINDS: [&str; 8] = ["cycles", "dead", "matter", "diff", "claims", "five", "lose all", "stuck"];

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let tables: Vec<String> = words.extract_if(.., |word| TABLES.contains(&word.as_str())).collect();
    let has = |table: &str| tables.is_empty() || tables.iter().any(|it| it == table);
    // Under `cargo test` it only has to be seen to work.
    let rules_max = if std::env::args().any(|word| word == "--bench") { usize::MAX } else { 10 };
    if has("systems") {
        println!("{:44}{}  lose max, undecided: {}", "ms of systems", heads(&KINDS), UNDECIDED);
        each_shape(&words, rules_max, |shape| Row::measure(shape).to_string());
    }
    if has("policies") {
        println!("{:44}{}", "ms of policies from text", heads(&QUESTIONS.map(|(name, _)| name)));
        each_shape(&words, rules_max, policies_from_text);
    }
    if has("files") {
        println!(
            "{:44}{}",
            "ms of files of one kind of rule",
            heads(&["read", "verify", "prove", "findings"])
        );
        for (kind, source) in FILES {
            for n_rules in [10, 100, 1_000, 10_000].into_iter().filter(|n_rules| *n_rules <= rules_max) {
                let name = format!("{n_rules:>6} {kind}");
                if words.iter().all(|word| name.split_whitespace().any(|part| part == word)) {
                    println!("{name:44}{}", verified(&source(n_rules)));
                }
            }
        }
    }
}

const TABLES: [&str; 3] = ["systems", "policies", "files"];

/// Makes a file of so many rules.
type Written = fn(usize) -> Source;

/// Files of one kind of rule.
const FILES: [(&str, Written); 5] = [
    ("limits per tool", limits_per_tool),
    ("conditions on tools of their own", |n_rules| when_then(by_tool, n_rules)),
    ("conditions on one tool", |n_rules| when_then(by_regex, n_rules)),
    ("conditions on every tool", |n_rules| when_then(by_word, n_rules)),
    ("checks of every tool", |n_rules| ruleset(check_contains, n_rules)),
];

/// Budgets that other tools refill, in groups.
fn limits_per_tool(n_rules: usize) -> Source {
    let shape = Shape {
        rules: n_rules,
        form: Form::Clustered,
        is_dag: true,
        count_max: 100,
        has_outcomes: false,
        nets: 0,
    };
    let mut dice = Dice(1);
    let statements = std::iter::repeat_with(|| shape.statement(&mut dice));
    let limits = statements.filter(|statement| matches!(statement, Statement::LimitPer { .. }));
    Source::new("bench.rules", text(&limits.take(n_rules).collect::<Vec<_>>()))
}

/// One row of the third table.
fn verified(source: &Source) -> String {
    let ((policy, _), reading) = timed(|| lockgate::engine::languages::read(std::slice::from_ref(source)));
    let Some(policy) = policy else { return " is not accepted".into() };
    let (reports, verifying) = timed(|| verify(&policy));
    std::hint::black_box(reports);
    let rulebook = Rulebook::new(policy);
    let (proved, proving) = timed(|| lockgate::engine::prover::prove(&rulebook));
    format!("{reading:>10.2}{verifying:>10.2}{proving:>10.2}{:>10}", proved.findings.len())
}

const UNDECIDED: &str = "dead matter diff claims lose stuck";

fn heads(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name:>10}")).collect()
}

fn each_shape(words: &[String], rules_max: usize, measure: impl Fn(Shape) -> String) {
    for shape in shapes().into_iter().filter(|shape| shape.rules <= rules_max) {
        let name = shape.name();
        if words.iter().all(|word| name.split_whitespace().any(|part| part == word)) {
            println!("{name:44}{}", measure(shape));
        }
    }
}

fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    let plain =
        Shape { rules: 0, form: Form::Clustered, is_dag: true, count_max: 5, has_outcomes: false, nets: 0 };
    for form in [Form::Clustered, Form::Random, Form::Chains, Form::Stars] {
        for rules in [10, 100, 1_000, 10_000] {
            shapes.push(Shape { rules, form, ..plain });
            shapes.push(Shape { rules, form, count_max: 1_000_000, ..plain });
        }
    }
    for rules in [1_000, 10_000] {
        shapes.push(Shape { rules, is_dag: false, ..plain });
        shapes.push(Shape { rules, has_outcomes: true, ..plain });
        shapes.push(Shape { rules, has_outcomes: true, count_max: 1_000_000, ..plain });
        shapes.push(Shape { rules, nets: 3, ..plain });
        shapes.push(Shape { rules, has_outcomes: true, nets: 3, ..plain });
    }
    shapes
}

/// What the questions about the systems of one shape took.
#[derive(Default)]
struct Row {
    /// Milliseconds of each kind, but for the sum of the first five.
    times: [Vec<f64>; 7],
    lose_max: f64,
    undecided: [usize; 6],
    answers: [usize; 6],
}

impl Row {
    fn measure(shape: Shape) -> Self {
        let mut row = Self::default();
        (0..SYSTEMS).for_each(|seed| row.add(shape, seed));
        row
    }

    fn add(&mut self, shape: Shape, seed: u64) {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9) + shape.rules as u64);
        let statements = shape.statements(&mut dice);
        let mut changed = statements.clone();
        change(&mut changed, shape, &mut dice);
        let claim = || shape.statement(&mut dice).rule(shape.has_outcomes);
        let claims: Vec<Rule> = std::iter::repeat_with(claim).flatten().take(CLAIMS).collect();
        let system = |statements| {
            System::new(rules(statements, shape)).unwrap_or_else(|error| unreachable!("{error}"))
        };
        let changed = system(&changed);
        let bounds = Bounds { threads: 1, ..Bounds::default() };

        let ((system, cycles), mut time) = timed(|| {
            let system = system(&statements);
            let cycles = system.cycles().len() + system.components().len();
            (system, cycles)
        });
        std::hint::black_box(cycles);
        let (prover, preparing) = timed(|| Prover::with_bounds(&system, bounds));
        time += preparing;
        self.note(0, time);

        let (answers, time) = timed(|| prover.all_can_call());
        self.note(1, time);
        self.count(0, answers.iter().map(|(_, answer)| answer));
        let (answers, time) = timed(|| prover.all_can_matter());
        self.note(2, time);
        self.count(1, &answers);
        let ((there, back), time) = timed(|| {
            let back = Prover::with_bounds(&changed, bounds).refused_by(&system);
            (prover.refused_by(&changed), back)
        });
        self.note(3, time);
        self.count(2, there.iter().chain(&back).map(|difference| &difference.answer));
        let (answers, time) = timed(|| prover.all_can_violate(&claims));
        self.note(4, time);
        self.count(3, &answers);

        let mut all = 0.0;
        for label in system.labels() {
            let (answer, time) = timed(|| prover.can_lose(&LabelSet::from(*label)));
            self.lose_max = self.lose_max.max(time);
            all += time;
            self.count(4, [&answer]);
        }
        self.note(5, all);
        let guarded = system
            .labels()
            .iter()
            .copied()
            .filter(|label| prover.can_get_stuck(&(*label).into()).trace().is_some());
        let guarded: LabelSet = guarded.collect();
        let (answer, time) = timed(|| prover.can_get_stuck(&guarded));
        self.note(6, time);
        self.count(5, [&answer]);
    }

    fn note(&mut self, kind: usize, time: f64) {
        self.times.get_mut(kind).into_iter().for_each(|times| times.push(time));
    }

    fn count<'a>(&mut self, kind: usize, answers: impl IntoIterator<Item = &'a Answer>) {
        for answer in answers {
            self.answers.get_mut(kind).into_iter().for_each(|count| *count += 1);
            let undecided = usize::from(answer.is_undecided());
            self.undecided.get_mut(kind).into_iter().for_each(|count| *count += undecided);
        }
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let times = self.times.iter().map(|times| median(times)).collect::<Vec<_>>();
        let five: f64 = times.iter().take(5).sum();
        for time in times.iter().take(5).chain([&five]).chain(times.iter().skip(5)) {
            write!(out, "{time:>10.2}")?;
        }
        write!(out, "{:>10.2}  ", self.lose_max)?;
        let mut counts = self.undecided.iter().zip(&self.answers);
        counts.try_for_each(|(undecided, all)| write!(out, "{undecided}/{all} "))
    }
}

/// Changes a hundredth of some statements.
fn change(statements: &mut [Statement], shape: Shape, dice: &mut Dice) {
    for _ in 0..shape.rules.div_ceil(100) {
        let place = dice.below(statements.len() as u64) as usize;
        let other = shape.statement(dice);
        statements.get_mut(place).into_iter().for_each(|statement| *statement = other.clone());
    }
}

/// A question about a policy and a later version of it: says how much was found, so that nothing is left out.
type Question = fn(&Policy, &Policy) -> usize;

/// What is asked of whole policies; reading both of them comes first, in every row.
const QUESTIONS: [(&str, Question); 3] = [
    ("compose", |policy, _| Composed::new(policy).map_or(0, |composed| composed.components())),
    ("prove", |policy, _| prove(policy).findings.len()),
    ("diff", |old, new| diff(old, new).map_or(0, |difference| difference.changes.len())),
];

/// One row of the second table.
fn policies_from_text(shape: Shape) -> String {
    let mut times = vec![Vec::new(); QUESTIONS.len()];
    for seed in 0..SYSTEMS {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9) + shape.rules as u64);
        let statements = shape.statements(&mut dice);
        let mut changed = statements.clone();
        change(&mut changed, shape, &mut dice);
        let read = |text: String| lockgate::engine::languages::read(&[Source::new("bench.rules", text)]).0;
        let (Some(old), Some(new)) = (read(text(&statements)), read(text(&changed))) else {
            return " is not accepted".into();
        };
        for ((_, question), times) in QUESTIONS.iter().zip(&mut times) {
            let (found, time) = timed(|| question(&old, &new));
            std::hint::black_box(found);
            times.push(time);
        }
    }
    times.iter().map(|times| format!("{:>10.2}", median(times))).collect()
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// What comes out, and how many milliseconds all threads together worked for it.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 * 1_000.0 + time.tv_nsec as f64 / 1_000_000.0
    };
    let start = now();
    let result = work();
    (result, now() - start)
}
