//! Does Lockgate answer as other gates were recorded to answer, and does it see what a shell would run?
//!
//! Each language has a function here that plays a file of recorded cases and gives a [`Report`]; the program
//! `conformance` prints it. What we answer differently on purpose, and what is not played at all, is part of the
//! report, never of the silence.

mod dogwood;
mod edictum;
mod folder;
mod nets;
mod one_liners;
mod petriflow;
mod policyshield;
mod shell;
mod yaml;

use std::{fmt, io, path::Path};

pub use dogwood::dogwood;
pub use edictum::edictum;
pub use folder::{FolderReport, play_folder};
pub use nets::{NetsReport, petri};
pub use one_liners::one_liners;
pub use petriflow::petriflow;
pub use policyshield::policyshield;
pub use shell::shell;
pub use yaml::read as read_yaml;

/// How many failing cases are told in full.
const FAILURES_TOLD_MAX: usize = 20;

/// The languages with recorded cases.
pub const LANGUAGES: &[(&str, Recorded)] = &[
    ("petriflow", Recorded::InFile(petriflow)),
    ("policyshield", Recorded::InFile(policyshield)),
    ("edictum", Recorded::InFolder(edictum)),
    ("dogwood", Recorded::InFile(dogwood)),
    ("shell", Recorded::InFile(shell)),
    ("one-liners", Recorded::InFile(one_liners)),
    ("petri", Recorded::InTable(petri)),
];

/// How the cases of a language are kept.
#[derive(Clone, Copy, Debug)]
pub enum Recorded {
    /// In files, all played by this.
    InFile(Conformance),
    /// In a folder of files of several kinds.
    InFolder(ByName),
    /// In a folder of nets, with a table of what is known about each.
    InTable(fn(&Path) -> io::Result<NetsReport>),
}

/// What plays a file of this name; nothing, where it holds no recorded cases.
pub type ByName = fn(&str) -> Option<Conformance>;

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

    /// What is not as it was recorded, line by line.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        for Difference { line, step, expected, got } in self.failures.iter().take(FAILURES_TOLD_MAX) {
            remarks.push(format!("line {line}: {step}"));
            remarks.push(format!("  expected: {expected}"));
            remarks.push(format!("  got:      {got}"));
        }
        if self.failures.len() > FAILURES_TOLD_MAX {
            remarks.push(format!("and {} more", self.failures.len() - FAILURES_TOLD_MAX));
        }
        remarks.extend(self.on_purpose.iter().map(|case| format!("on purpose: {case}")));
        remarks
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.remarks().iter().try_for_each(|remark| writeln!(f, "{remark}"))?;
        writeln!(f, "{} steps", self.steps)?;
        write!(f, "{}/{}", self.passed(), self.cases)
    }
}

impl fmt::Display for BadRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}
