//! Whether answers and other openings need a human's proof.

use serde::Deserialize;

/// Whether answers and other openings need a human's proof, the strictest last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approvals {
    /// None: every program of the user can approve.
    Unprotected,
    /// The passphrase that `lockgate passphrase set` has set.
    #[default]
    Protected,
}

impl Approvals {
    /// As it is written in a file of settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unprotected => "unprotected",
            Self::Protected => "protected",
        }
    }
}
