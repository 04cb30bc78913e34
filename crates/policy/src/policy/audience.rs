//! For whose rules a deed has a name: maps rename calls only for the rules of their own file.

use smallvec::SmallVec;

use crate::{deed::Deeds, names::FileId};

/// The rules a group of deeds concerns: those of one file whose maps renamed the call, or those of all
/// other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audience(pub(super) Option<FileId>);

impl Audience {
    /// Those of one file.
    pub fn of(file: FileId) -> Self {
        Self(Some(file))
    }

    /// Those of all files that have no map for the tool.
    pub fn everybody() -> Self {
        Self(None)
    }

    /// The file, if the rules of one are meant.
    pub fn file(self) -> Option<FileId> {
        self.0
    }

    /// Whether this is everybody whose file has no map for the tool.
    pub fn is_everybody(self) -> bool {
        self.0.is_none()
    }
}

/// What a call amounts to, and to whose rules.
pub type Groups = SmallVec<[(Audience, Deeds); 1]>;
