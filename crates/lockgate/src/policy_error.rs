//! Why a policy is not in force.

use std::path::PathBuf;

use lockgate_languages::render;
use lockgate_policy::Diagnostic;

/// Why a policy is not in force.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
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
    /// No file is named at all: an empty policy would let everything pass.
    #[error("no policy is named; name a policy file, or a folder of them")]
    NoFiles,
    /// The policy has mistakes.
    #[error("{}", render(.0, false))]
    Mistaken(Vec<Diagnostic>),
}
