//! Settings that cannot be used.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::files::UnusableFile;

/// What cannot be used, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {reason}; {remedy}", .file.display(), line_text(*.line))]
pub struct SettingsError {
    /// The file or folder it is about.
    pub file: PathBuf,
    /// 0 where it is about no line.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
    /// What to do about it.
    pub remedy: String,
    /// Whether all that is missing is a policy.
    pub(crate) lacks_policy: bool,
}

fn line_text(line: usize) -> String {
    if line == 0 { String::new() } else { format!(":{line}") }
}

impl SettingsError {
    pub(crate) fn new(file: &Path, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (reason, remedy) = (reason.into(), remedy.into());
        Self { file: file.to_path_buf(), line: 0, reason, remedy, lacks_policy: false }
    }

    pub(crate) fn io(file: &Path, error: &io::Error) -> Self {
        Self::new(file, format!("it cannot be read: {error}"), "let this user read it, or take it away")
    }
}

impl From<UnusableFile> for SettingsError {
    fn from(UnusableFile { file, reason, remedy }: UnusableFile) -> Self {
        Self::new(&file, reason, remedy)
    }
}
