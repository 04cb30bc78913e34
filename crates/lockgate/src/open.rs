//! Policies from files and folders.
//!
//! [`open`] reads them all or none: a policy of which one file is missing or wrong is not in force.

use std::{
    fs,
    path::{Path, PathBuf},
};

use lockgate_policy::{Diagnostic, Draft, Policy, Severity, Source, render};

/// The endings of policy files that are looked for in a folder.
const ENDINGS: [&str; 4] = ["rules", "yaml", "yml", "json"];
/// The largest policy file that is read.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// A policy, and what its author should know about it.
#[derive(Debug)]
pub struct Opened {
    /// The policy.
    pub policy: Policy,
    /// Warnings and notes; none of them an error.
    pub findings: Vec<Diagnostic>,
}

/// Why a policy is not in force.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file or folder could not be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A folder holds no policy file: an empty policy would let everything pass.
    #[error("no policy file in `{}`: looked for names ending in .rules, .yaml, .yml or .json", .0.display())]
    Empty(PathBuf),
    /// The policy has mistakes.
    #[error("{}", render(.0, false))]
    Mistaken(Vec<Diagnostic>),
}

/// Reads and joins policy files; folders stand for the policy files in them, in the order of their names.
///
/// # Errors
/// When a file cannot be read, a folder has none, or anything in them is wrong: all mistakes are in the error.
pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Opened, OpenError> {
    join(&read_sources(paths)?)
}

/// Reads one-line rules from a text.
///
/// # Errors
/// When anything in it is wrong: all mistakes are in the error.
pub fn rules(text: &str) -> Result<Policy, OpenError> {
    join(&[Source::new("policy.rules", text)]).map(|opened| opened.policy)
}

/// Takes a hand-written net that comes from code instead of a file.
///
/// # Errors
/// When the net is wrong: all mistakes are in the error.
pub fn net(draft: Draft) -> Result<Policy, OpenError> {
    match Policy::compile(vec![draft]) {
        (policy, mistakes) if mistakes.is_empty() => Ok(policy),
        (_, mistakes) => Err(OpenError::Mistaken(mistakes)),
    }
}

/// Reads policy files without looking at what they say.
///
/// # Errors
/// When a file cannot be read or a folder has none.
pub fn read_sources<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Source>, OpenError> {
    let mut sources = Vec::with_capacity(paths.len());
    for path in paths.iter().map(AsRef::as_ref) {
        let unreadable = |source| OpenError::Unreadable { path: path.to_path_buf(), source };
        if !fs::metadata(path).map_err(unreadable)?.is_dir() {
            sources.push(read_source(path)?);
            continue;
        }
        let mut files = Vec::new();
        for entry in fs::read_dir(path).map_err(unreadable)? {
            let file = entry.map_err(unreadable)?.path();
            let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            if ENDINGS.contains(&ending) && file.is_file() {
                files.push(file);
            }
        }
        if files.is_empty() {
            return Err(OpenError::Empty(path.to_path_buf()));
        }
        files.sort();
        for file in files {
            sources.push(read_source(&file)?);
        }
    }
    Ok(sources)
}

fn read_source(path: &Path) -> Result<Source, OpenError> {
    let unreadable = |source| OpenError::Unreadable { path: path.to_path_buf(), source };
    if fs::metadata(path).map_err(unreadable)?.len() > FILE_BYTES_MAX {
        let too_large = format!("larger than {FILE_BYTES_MAX} bytes");
        return Err(unreadable(std::io::Error::other(too_large)));
    }
    let text = fs::read_to_string(path).map_err(unreadable)?;
    Ok(Source::new(path.display().to_string(), text))
}

fn join(sources: &[Source]) -> Result<Opened, OpenError> {
    match Policy::read(sources) {
        (Some(policy), findings) => Ok(Opened { policy, findings }),
        (None, diagnostics) => {
            let mistakes = diagnostics.into_iter().filter(|it| it.severity == Severity::Error);
            Err(OpenError::Mistaken(mistakes.collect()))
        }
    }
}
