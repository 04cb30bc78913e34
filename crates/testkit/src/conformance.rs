//! Does Lockgate answer as other gates were recorded to answer, and does it see what a shell would run?
//!
//! Each language has a function here that plays a file of recorded cases and gives a [`Report`]; the program
//! `conformance` prints it. What we answer differently on purpose is part of the report, never of the silence.

mod one_liners;
mod petriflow;
mod shell;

use std::fmt;

pub use one_liners::one_liners;
pub use petriflow::petriflow;
pub use shell::shell;

/// How many failing cases are told in full.
const FAILURES_TOLD_MAX: usize = 20;

/// The languages with recorded cases, each with the function that plays them.
pub const LANGUAGES: &[(&str, Conformance)] =
    &[("petriflow", petriflow), ("shell", shell), ("one-liners", one_liners)];

/// Plays the text of a file of recorded cases.
pub type Conformance = fn(&str) -> Result<Report, BadRecording>;

/// What came of a file of recorded cases.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many cases the file has.
    pub cases: usize,
    /// How many steps were compared in them.
    pub steps: usize,
    /// The cases that are answered differently on purpose, each with the reason.
    pub on_purpose: Vec<String>,
    /// The cases that failed, each with its first difference: what follows it means nothing.
    pub failures: Vec<Difference>,
    /// How many cases may fail before the file as a whole does.
    pub tolerated: usize,
}

/// An answer that is not the recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line of the case, from 1.
    pub line: usize,
    /// What happened.
    pub step: String,
    /// What was recorded.
    pub expected: String,
    /// What we said.
    pub got: String,
}

/// A file that holds no recorded cases, or not only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecording {
    /// The line that is no case, from 1.
    pub line: usize,
    /// Why not.
    pub why: String,
}

impl Report {
    /// Whether the file as a whole passes.
    pub fn holds(&self) -> bool {
        self.failures.len() <= self.tolerated
    }

    /// How many cases are answered as they should be.
    pub fn passed(&self) -> usize {
        self.cases - self.failures.len()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for difference in self.failures.iter().take(FAILURES_TOLD_MAX) {
            let Difference { line, step, expected, got } = difference;
            writeln!(f, "line {line}: {step}\n  expected: {expected}\n  got:      {got}")?;
        }
        if self.failures.len() > FAILURES_TOLD_MAX {
            writeln!(f, "and {} more", self.failures.len() - FAILURES_TOLD_MAX)?;
        }
        for case in &self.on_purpose {
            writeln!(f, "on purpose: {case}")?;
        }
        writeln!(f, "{} steps", self.steps)?;
        write!(f, "{}/{}", self.passed(), self.cases)
    }
}

impl fmt::Display for BadRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}
