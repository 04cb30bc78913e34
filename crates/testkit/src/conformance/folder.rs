//! Recorded cases that fill a folder: every file is played by what its name says, and told by itself.
//!
//! No file is passed over in silence: one that nothing plays is told too. Left out on purpose is what begins with a
//! dot, which is some program's own, and what lies behind links to folders.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use super::{BadRecording, ByName, Report};

/// What came of a folder of recorded cases, file by file.
#[derive(Clone, Debug, Default)]
pub struct FolderReport {
    /// Each file by its path in the folder, with what came of it.
    files: Vec<(String, Played)>,
}

/// What came of a file in a folder.
#[derive(Clone, Debug)]
enum Played {
    /// Its cases were played.
    Cases(Report),
    /// It ought to hold cases, and does not.
    Bad(BadRecording),
    /// Nothing plays files of its name.
    Unknown,
}

/// Plays every file in a folder and its folders.
///
/// # Errors
/// When the folder or a file in it cannot be read.
pub fn play_folder(folder: &Path, by_name: ByName) -> io::Result<FolderReport> {
    let mut report = FolderReport::default();
    for path in files_below(folder)? {
        let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        let played = match by_name(&name) {
            Some(conformance) => {
                conformance(&fs::read_to_string(&path)?).map_or_else(Played::Bad, Played::Cases)
            }
            None => Played::Unknown,
        };
        report.files.push((name, played));
    }
    Ok(report)
}

/// All files, in the order of their paths.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            match entry.file_type()?.is_dir() {
                true => folders.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    files.sort();
    Ok(files)
}

impl FolderReport {
    /// Whether all files pass; nothing, where that cannot be told: a file is bad, or there is no case at all.
    pub fn holds(&self) -> Option<bool> {
        let is_bad = self.files.iter().any(|(_, played)| matches!(played, Played::Bad(_)));
        let is_told = !is_bad && self.cases() > 0;
        is_told.then(|| self.reports().all(Report::holds))
    }

    /// How many cases were played.
    pub fn cases(&self) -> usize {
        self.reports().map(|report| report.cases).sum()
    }

    /// How many cases are answered as they should be.
    pub fn passed(&self) -> usize {
        self.reports().map(Report::passed).sum()
    }

    fn reports(&self) -> impl Iterator<Item = &Report> {
        self.files.iter().filter_map(|(_, played)| match played {
            Played::Cases(report) => Some(report),
            Played::Bad(_) | Played::Unknown => None,
        })
    }
}

impl fmt::Display for FolderReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, played) in &self.files {
            match played {
                Played::Cases(report) => {
                    writeln!(f, "{name}: {}/{}", report.passed(), report.cases)?;
                    let failing: Vec<&str> =
                        report.failures.iter().map(|difference| difference.step.as_str()).collect();
                    if !failing.is_empty() {
                        writeln!(f, "  failing: {}", failing.join(", "))?;
                    }
                    report.remarks().iter().try_for_each(|remark| writeln!(f, "  {remark}"))?;
                }
                Played::Bad(bad) => writeln!(f, "{name}: no recording: {bad}")?,
                Played::Unknown => writeln!(f, "{name}: SKIPPED: nothing plays files of this name")?,
            }
        }
        if self.cases() == 0 {
            writeln!(f, "there is no recorded case in this folder")?;
        }
        write!(f, "{}/{}", self.passed(), self.cases())
    }
}
