//! Names that the protection looks for in tools and code; programs have rows in the table of `call`.

/// Words of the names of tools that take away what their fields name.
pub(super) const MOVERS: &[&str] = &[
    "move", "rename", "mv", "delete", "remove", "rm", "rmdir", "unlink", "trash", "erase", "relocate",
    "destroy",
];

/// Words of the names of tools that leave their source as it is.
pub(super) const COPIERS: &[&str] = &["copy", "cp", "duplicate"];

/// What code in another language calls to take away or to link a whole folder.
pub(super) const TAKERS: &[&str] = &[
    "rename",
    "rmtree",
    "symlink",
    "rmsync",
    "rmdirsync",
    "removedirs",
    "shutil.move",
    "os.link",
    "linksync",
    "remove_tree",
];

/// How such code names the folder it stands in.
pub(super) const HERE: &[&str] = &["getcwd", "cwd()", "'.'", "\".\"", "curdir"];

/// Options of our own program that write a file, or run programs.
pub(super) const WRITING_OPTIONS: &[&str] =
    &["--out", "-o", "--save", "--exec", "--fix", "--state", "--store"];
