//! What a command does to everything in a folder.

/// What a command does to everything in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// It may put any file into the folder it stands in.
    Here(&'static str),
    /// The same, for the folders that these words name.
    Words(Vec<usize>, &'static str),
    /// It may change every file that version control knows, from the folder it stands in.
    Tracked(&'static str),
    /// The same, where the settings give its verb a meaning.
    Alias(&'static str),
    /// It may change every file in the folders that its words and variables name, or where it stands.
    Elsewhere(&'static str),
    /// It removes what is computed when it runs.
    Anything(&'static str),
}

pub(super) const REMOVES: &str = "may remove any file in";
