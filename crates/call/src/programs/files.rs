//! What programs do with the files their words name: the tables.

/// What a call does to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is only read.
    Reads,
    /// It is made, changed or removed.
    Writes,
    /// It is run as a program.
    Runs,
    /// It may be any of these.
    Unknown,
}

/// Programs whose every word that is no option is a path.
pub(crate) const FILE_PROGRAMS: &[(&str, Access)] = &[
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
pub(crate) const WORD_PROGRAMS: &[&str] =
    &["echo", "printf", "true", "false", ":", "sleep", "exit", "return", "kill"];

/// Programs whose first word is a pattern or a piece of code, as a rule.
pub(crate) const PATTERN_PROGRAMS: &[&str] =
    &["grep", "egrep", "fgrep", "rg", "ag", "sed", "awk", "gawk", "mawk", "perl", "jq", "yq", "tr", "expr"];

/// Programs whose short options are never written together, so that `-Isrc/a` is `src/a` and never `/a`.
pub(crate) const SINGLE_OPTION_PROGRAMS: &[&str] =
    &["cc", "gcc", "g++", "c++", "clang", "clang++", "ld", "rustc", "javac"];

/// Programs that run others with words from elsewhere.
pub(crate) const FEEDERS: &[&str] = &["xargs", "parallel"];

/// Programs that do not change the files they are given, or only those the redirections tell of.
pub(crate) const READERS: &str = ". : [ ash basename bash cat cd chgrp chmod chown cksum cmp dash diff dirname du echo file git \
    grep head ksh less ls md5sum mkdir more printf pwd readlink realpath rm rmdir sh sha1sum sha256sum shellcheck \
    source stat tail test touch true type wc which zsh";

/// Programs that give a file a second name or place.
pub(crate) const COPIERS: &str = "cp mv ln install";
