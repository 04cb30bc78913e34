//! Names that the protection looks for in tools and code; programs have rows in the table of `call`.

/// Words of the names of tools that take away what their fields name.
pub(super) const MOVERS: &[&str] = &[
    "move", "rename", "mv", "delete", "remove", "rm", "rmdir", "unlink", "trash", "erase", "relocate",
    "destroy",
];

/// Words of the names of tools that leave their source as it is.
pub(super) const COPIERS: &[&str] = &["copy", "cp", "duplicate"];

/// What code in another language calls to take away, to link or to fill a whole folder.
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
    "copytree",
    "copy_tree",
    "cpsync",
    "extractall",
    "unpack_archive",
];

/// How such code names the folder it stands in.
pub(super) const HERE: &[&str] = &["getcwd", "cwd()", "'.'", "\".\"", "curdir"];

/// Options of our own program that write what its words name, or run programs.
pub(super) const WRITING_OPTIONS: &[&str] = &["--save", "--exec", "--fix", "--state", "--store"];

/// Options of our own program that name the file it writes.
pub(super) const OUTPUT_OPTIONS: &[&str] = &["--out", "-o"];

/// How a script names the folder it stands in.
pub(super) const PWD: &[&str] = &["$PWD", "${PWD}", "$(pwd)", "`pwd`"];

/// Programs that end others, or look into them.
pub(super) const SIGNALLERS: &[&str] =
    &["kill", "pkill", "killall", "killall5", "skill", "snice", "gdb", "lldb", "strace", "ltrace"];

/// How many letters of a name a pattern must spell out to be taken for it.
pub(super) const LETTERS_MIN: usize = 3;
