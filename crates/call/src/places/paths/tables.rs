//! Which fields and programs name paths: the tables.

use super::touched::Access;

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

/// Programs whose every word that is no option is a path.
pub(super) const FILE_PROGRAMS: &[(&str, Access)] = &[
    ("cat", Access::Reads),
    ("tac", Access::Reads),
    ("nl", Access::Reads),
    ("bat", Access::Reads),
    ("batcat", Access::Reads),
    ("less", Access::Reads),
    ("more", Access::Reads),
    ("head", Access::Reads),
    ("tail", Access::Reads),
    ("ls", Access::Reads),
    ("cd", Access::Reads),
    ("pushd", Access::Reads),
    ("source", Access::Reads),
    (".", Access::Reads),
    ("stat", Access::Reads),
    ("wc", Access::Reads),
    ("cp", Access::Unknown),
    ("mv", Access::Writes),
    ("ln", Access::Writes),
    ("rm", Access::Writes),
    ("rmdir", Access::Writes),
    ("mkdir", Access::Writes),
    ("touch", Access::Writes),
    ("tee", Access::Writes),
    ("truncate", Access::Writes),
    ("shred", Access::Writes),
];

/// Programs that do nothing with the files their words may name.
pub(super) const WORD_PROGRAMS: &[&str] =
    &["echo", "printf", "true", "false", ":", "sleep", "exit", "return", "kill"];

/// Programs whose first word is a pattern or a piece of code, as a rule.
pub(super) const PATTERN_PROGRAMS: &[&str] =
    &["grep", "egrep", "fgrep", "rg", "ag", "sed", "awk", "gawk", "mawk", "perl", "jq", "yq", "tr", "expr"];

/// Programs whose short options are never written together, so that `-Isrc/a` is `src/a` and never `/a`.
pub(super) const SINGLE_OPTION_PROGRAMS: &[&str] =
    &["cc", "gcc", "g++", "c++", "clang", "clang++", "ld", "rustc", "javac"];

/// Programs that run others with words from elsewhere.
pub(super) const FEEDERS: &[&str] = &["xargs", "parallel"];

/// Files that are none: nothing is read from them and nothing kept.
pub(super) const STREAMS: &[&str] = &["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"];
