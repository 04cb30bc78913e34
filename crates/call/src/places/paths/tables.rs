//! Which fields name paths: the tables.

use crate::programs::files::Access;

/// Keys that hold a path by custom, and what is done to it.
pub(super) const FIELDS: &[(&str, Access)] = &[
    ("path", Access::Unknown),
    ("pathname", Access::Unknown),
    ("filepath", Access::Unknown),
    ("filename", Access::Unknown),
    ("file", Access::Unknown),
    ("directory", Access::Unknown),
    ("dir", Access::Unknown),
    ("dirname", Access::Unknown),
    ("folder", Access::Unknown),
    ("root", Access::Unknown),
    ("cwd", Access::Unknown),
    ("workdir", Access::Unknown),
    ("notebook", Access::Unknown),
    ("symlink", Access::Unknown),
    ("infile", Access::Reads),
    ("outfile", Access::Writes),
];

/// Keys that often hold a path, and as often a name, a person or a whole text.
pub(super) const LOOSE_FIELDS: &[(&str, Access)] = &[
    ("target", Access::Unknown),
    ("workspace", Access::Unknown),
    ("location", Access::Unknown),
    ("archive", Access::Unknown),
    ("source", Access::Reads),
    ("src", Access::Reads),
    ("input", Access::Reads),
    ("from", Access::Reads),
    ("attachment", Access::Reads),
    ("destination", Access::Writes),
    ("dest", Access::Writes),
    ("dst", Access::Writes),
    ("output", Access::Writes),
    ("to", Access::Writes),
];

/// Keys that say where a call runs.
pub(super) const FOLDER_FIELDS: &[&str] =
    &["cwd", "workdir", "working_dir", "working_directory", "work_dir", "current_directory"];

/// Files that are none: nothing is read from them and nothing kept.
pub(super) const STREAMS: &[&str] = &["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"];
