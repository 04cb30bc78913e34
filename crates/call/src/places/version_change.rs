//! What a command of version control would do to the files of a work tree: a question for a door that can look.

/// What a command would do to the files of a work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionChange {
    /// Files become those of a version: all of them, or those of some paths.
    Version {
        /// A branch, a commit or the like.
        version: String,
        /// Paths as git reads them; empty for all.
        paths: Vec<String>,
    },
    /// The same, where the first word is a version or a path: `git checkout x`.
    VersionOrPath {
        /// That word.
        first: String,
        /// Paths behind it.
        rest: Vec<String>,
    },
    /// Files become those of the index.
    Index {
        /// Paths as git reads them.
        paths: Vec<String>,
    },
    /// Files that git does not know are removed.
    Untracked {
        /// Whether that includes files that git is told to ignore.
        ignored: bool,
        /// Paths as git reads them; empty for all.
        paths: Vec<String>,
    },
    /// Files that git knows are removed.
    Tracked {
        /// Paths as git reads them.
        paths: Vec<String>,
    },
    /// Files become those that were put aside.
    Stash {
        /// Where they were put.
        version: String,
    },
    /// The commits since a version are made again.
    Commits {
        /// That version.
        since: String,
    },
    /// It does what the settings say under this name, if they say anything.
    Alias {
        /// The name.
        name: String,
    },
    /// It applies a patch that is in a file, or in the script itself.
    Patch {
        /// The file; none for the script.
        file: Option<String>,
    },
}
