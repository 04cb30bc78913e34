//! Figures of a system that cannot be fetched and run beside us.
//!
//! PetriFlow is in no registry. What was once recorded of it stands in the tables beside what was measured, marked, and
//! takes no part in ratios: it comes from another machine, of which nothing was noted.

use lockgate_bench::job::Pace;

use super::{
    Question,
    desk::{Cell, Desk},
    line::Line,
    verify,
};

/// Where they come from, for whoever reads a table.
pub(crate) const SOURCE: &str = "cited: recorded from PetriFlow gate 0.3.2 and rules 0.3.0, in or before November 2026, on a machine that was not noted";

/// What marks a note as this.
pub(crate) const MARK: &str = "cited: ";

struct Cited {
    question: Question,
    work: &'static str,
    size: u64,
    who: &'static str,
    ns: f64,
    /// As it was recorded.
    said: &'static str,
}

const CITED: [Cited; 3] = [
    Cited {
        question: Question::Decide,
        work: "rules about other tools",
        size: 1_000,
        who: "PetriFlow, cited",
        ns: 100e3,
        said: "about 0.1 µs for each rule when no rule matches",
    },
    Cited {
        question: Question::Verify,
        work: verify::READING,
        size: 1_000,
        who: "PetriFlow on bun, cited",
        ns: 10e6,
        said: "about 10 µs for each rule",
    },
    Cited {
        question: Question::Verify,
        work: verify::READING,
        size: 1_000,
        who: "PetriFlow on node 22, cited",
        ns: 31e6,
        said: "27 to 35 µs for each rule",
    },
];

/// What else was recorded and has no place in a table.
pub(crate) const ELSEWHERE: [&str; 4] = [
    "With 1,000 rules and 10 maps, one call of bash took 0.53 ms: every map is tried again for every rule.",
    "With 56 rules and 83 maps, one call took 0.10 ms, and 18 to 33 µs even where no rule knows the tool.",
    "Verifying `limit … to 9998` took 14 ms on bun and 78 ms on node 22; higher limits than that are refused.",
    "On node 20.20.2 everything took about 20 times as long as on node 22 (1,000 rules, no match: 2.2 ms); that is taken for \
     an outlier and not cited in tables.",
];

/// Adds what is cited to works that were measured.
pub(crate) fn add(desk: &mut Desk<'_>) {
    let question = desk.question();
    for cited in CITED.iter().filter(|cited| cited.question == question) {
        let is_measured = |line: &Line| matches!(line, Line::Figure(figure) if figure.work == cited.work && figure.size == Some(cited.size));
        if desk.lines().iter().any(is_measured) {
            let pace = Pace { min: cited.ns, median: cited.ns, p99: 0.0, samples: 0 };
            let cell = Cell { work: cited.work, size: Some(cited.size), who: cited.who, against: None };
            desk.put(&cell, "ns", pace, "gate 0.3.2", Some(format!("{SOURCE}: {}", cited.said)));
        }
    }
}

#[cfg(test)]
mod tests {
    use lockgate_bench::work::Work;

    use super::*;

    #[test]
    fn what_is_cited_belongs_to_a_work_that_is_measured_and_says_where_it_comes_from() {
        let works: Vec<&str> = Work::ALL.map(Work::name).into_iter().chain([verify::READING]).collect();
        for cited in CITED {
            assert!(works.contains(&cited.work), "{}", cited.work);
            assert!(cited.who.ends_with(", cited"));
        }
        assert!(SOURCE.starts_with(MARK));
    }
}
