//! How long does it take to prove something about n rules together?
//!
//! Prints a table: for each size and kind of system the milliseconds of each kind of question, the median over
//! a few seeds, and how many answers stayed undecided in all. The rules are drawn in the shares people write
//! them: requirements first, then limits, clearers, kills and blocks. "clustered" systems speak of groups of
//! twelve tools and rarely across them, "random" ones of any tools together, the worst case: nearly all rules
//! hang together. In a "dag" requirements mostly run one way, in "any" they run in circles too.
//!
//! `cargo bench -p lockgate-bench --bench proofs -- 1000 clustered` shows the rows that have both words.
#![allow(clippy::print_stdout, reason = "the table is what it is for")]

use std::time::Instant;

use lockgate::petri::system::{Answer, Bounds, Label, LabelSet, Prover, Rule, System};

const SEEDS: u64 = 5;
const CLAIMS: usize = 100;
/// How many labels are asked about one by one whether they can be lost.
const GOALS: usize = 20;

/// What a random system looks like.
#[derive(Clone, Copy)]
struct Shape {
    rules: usize,
    /// Tools per group; none if there are no groups.
    group: Option<u64>,
    is_dag: bool,
    count_max: u64,
    /// Whether a tool is two labels, one for each outcome.
    has_outcomes: bool,
}

impl Shape {
    fn name(self) -> String {
        let group = if self.group.is_some() { "clustered" } else { "random" };
        let order = if self.is_dag { "dag" } else { "any" };
        let outcomes = if self.has_outcomes { " outcomes" } else { "" };
        format!("{:>6} {group} {order} limits<={}{outcomes}", self.rules, self.count_max)
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    println!(
        "{:42} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  undecided: call matter diff claim lose",
        "ms, median of 5 systems",
        "structure",
        "call",
        "matter",
        "diff",
        "claims",
        "all five",
        "lose one",
        "lose max"
    );
    for shape in shapes() {
        let name = shape.name();
        if words.iter().all(|word| name.split_whitespace().any(|part| part == word)) {
            println!("{name:42} {}", Row::measure(shape));
        }
    }
}

fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for group in [Some(12), None] {
        for is_dag in [true, false] {
            for rules in [10, 100, 1_000, 10_000] {
                shapes.push(Shape { rules, group, is_dag, count_max: 5, has_outcomes: false });
            }
        }
    }
    for rules in [1_000, 10_000] {
        let clustered =
            Shape { rules, group: Some(12), is_dag: true, count_max: 1_000_000, has_outcomes: false };
        shapes.push(clustered);
        shapes.push(Shape { count_max: 5, has_outcomes: true, ..clustered });
        shapes.push(Shape { has_outcomes: true, ..clustered });
    }
    shapes
}

#[derive(Default)]
struct Row {
    structure: Vec<f64>,
    call: Vec<f64>,
    matter: Vec<f64>,
    diff: Vec<f64>,
    claims: Vec<f64>,
    lose: Vec<f64>,
    undecided: [usize; 5],
}

impl Row {
    fn measure(shape: Shape) -> Self {
        let mut row = Self::default();
        for seed in 0..SEEDS {
            row.add(shape, seed);
        }
        row
    }

    fn add(&mut self, shape: Shape, seed: u64) {
        let mut world = Dice(seed.wrapping_mul(0x9E37_79B9) + shape.rules as u64);
        let rules: Vec<Rule> = (0..shape.rules).filter_map(|_| world.rule(shape)).collect();
        let mut edited = rules.clone();
        for _ in 0..shape.rules.div_ceil(100) {
            let place = world.below(edited.len() as u64) as usize;
            if let (Some(rule), Some(other)) = (edited.get_mut(place), world.rule(shape)) {
                *rule = other;
            }
        }
        let claims: Vec<Rule> = std::iter::repeat_with(|| world.rule(shape)).flatten().take(CLAIMS).collect();
        let system = |rules| System::new(rules).unwrap_or_else(|error| unreachable!("{error}"));
        let edited = system(edited);

        let ((system, cycles), structure) = timed(|| {
            let system = system(rules);
            let cycles = system.cycles().len() + system.components().len();
            (system, cycles)
        });
        std::hint::black_box(cycles);
        let (prover, preparing) = timed(|| Prover::with_bounds(&system, Bounds::default()));
        self.structure.push(structure + preparing);

        let (answers, time) = timed(|| prover.all_can_call());
        self.call.push(time);
        self.count(0, answers.iter().map(|(_, answer)| answer));
        let (answers, time) = timed(|| prover.all_can_matter());
        self.matter.push(time);
        self.count(1, &answers);
        let ((there, back), time) =
            timed(|| (prover.refused_by(&edited), Prover::new(&edited).refused_by(&system)));
        self.diff.push(time);
        self.count(2, there.iter().chain(&back).map(|difference| &difference.answer));
        let (answers, time) = timed(|| prover.all_can_violate(&claims));
        self.claims.push(time);
        self.count(3, &answers);
        for place in 0..GOALS.min(system.labels().len()) {
            let label = system.labels().get(place * system.labels().len() / GOALS);
            let goal: LabelSet = label.copied().unwrap_or_default().into();
            let (answer, time) = timed(|| prover.can_lose(&goal));
            self.lose.push(time);
            self.count(4, [&answer]);
        }
    }

    fn count<'a>(&mut self, kind: usize, answers: impl IntoIterator<Item = &'a Answer>) {
        let undecided = answers.into_iter().filter(|answer| answer.is_undecided()).count();
        if let Some(count) = self.undecided.get_mut(kind) {
            *count += undecided;
        }
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kinds = [&self.structure, &self.call, &self.matter, &self.diff, &self.claims];
        for times in kinds {
            write!(out, "{:>9.2} ", median(times))?;
        }
        let all: f64 = kinds.iter().map(|times| median(times)).sum();
        let worst = self.lose.iter().copied().fold(0.0, f64::max);
        write!(out, "{all:>9.2} {:>9.2} {worst:>9.2}  ", median(&self.lose))?;
        self.undecided.iter().try_for_each(|count| write!(out, "{count} "))
    }
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// What comes out, and how many milliseconds it took.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64() * 1_000.0)
}

/// Random numbers that are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }

    /// A rule in one of the usual shares; none where a human would be asked, which forbids nothing.
    fn rule(&mut self, shape: Shape) -> Option<Rule> {
        let [one, other, third] = self.tools(shape);
        let done = |tool: u64| labels(shape, tool, false);
        let tried = |tool: u64| labels(shape, tool, true);
        let count = 1 + self.below(shape.count_max);
        Some(match self.below(100) {
            0..45 => {
                let (before, then) = if shape.is_dag && self.below(100) < 97 && one > other {
                    (other, one)
                } else {
                    (one, other)
                };
                Rule::Require { before: done(before), then: tried(then), latched: self.below(4) == 0 }
            }
            45..60 => Rule::Limit { spend: tried(one), count },
            60..70 => Rule::LimitPer { spend: tried(one), count, refill: done(other) },
            70..75 => Rule::Block(tried(one)),
            75..82 => Rule::Never { after: tried(one), then: tried(other) },
            82..90 => Rule::Since { needs: done(one), clears: tried(third), then: tried(other) },
            _ => return None,
        })
    }

    /// Three different tools, of one group if there are groups, but for a few.
    fn tools(&mut self, shape: Shape) -> [u64; 3] {
        let tools = (shape.rules as u64 * 6 / 10).max(4);
        let group = shape.group.unwrap_or(tools).min(tools);
        let first = self.below(tools);
        let mut next = |taken: &[u64]| {
            loop {
                let base = if self.below(100) < 3 { self.below(tools) } else { first };
                let tool = (base / group * group + self.below(group)).min(tools - 1);
                if !taken.contains(&tool) {
                    return tool;
                }
            }
        };
        let second = next(&[first]);
        let third = next(&[first, second]);
        [first, second, third]
    }
}

/// A tool as rules see it: what it did, or that it was tried at all.
fn labels(shape: Shape, tool: u64, with_failure: bool) -> LabelSet {
    let label = |number: u64| Label(u32::try_from(number).unwrap_or(u32::MAX));
    let failure = (shape.has_outcomes && with_failure).then(|| label(tool * 2 + 1));
    std::iter::once(label(tool * 2)).chain(failure).collect()
}
