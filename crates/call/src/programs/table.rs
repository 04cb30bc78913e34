//! The table of programs: one row for each, by family.
//!
//! [`program`] finds the row of a name. Whatever wants to know something about a program asks its row, so that what is
//! known of it is known everywhere. A program that has no row may do anything.

pub(crate) mod alike;
mod builtins;
mod databases;
mod effects;
mod files;
mod interpreters;
mod listings;
mod machines;
mod network;
mod options;
mod packages;
mod starts;
mod terminals;
mod versions;
mod wrappers;

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::FixedState;

use super::program::Program;
use crate::glob::fits;
pub(super) use effects::EFFECTS;
pub(crate) use listings::{TAKES_LISTED, lists_files};
pub(super) use options::{OPTIONS, VERBAL};
pub(super) use starts::STARTS;

const FAMILIES: &[&[Program]] = &[
    builtins::ROWS,
    databases::ROWS,
    files::ROWS,
    interpreters::ROWS,
    machines::ROWS,
    network::ROWS,
    packages::ROWS,
    terminals::ROWS,
    versions::ROWS,
    wrappers::ROWS,
];

/// The most names there are; a test sees to it.
const NAMES_MAX: usize = 1_024;

/// The rows by name: every command of every script asks. The names are ours, so the hash needs no secret.
static ROWS: LazyLock<HashMap<&str, &Program, FixedState>> = LazyLock::new(|| {
    let mut rows = HashMap::with_capacity_and_hasher(NAMES_MAX, FixedState::default());
    for row in FAMILIES.iter().copied().flatten() {
        rows.extend(row.names.split_ascii_whitespace().map(|name| (name, row)));
    }
    rows
});

/// What is known about a program of this name, written without its folder.
#[must_use]
pub fn program(name: &str) -> Option<&'static Program> {
    let versioned = || ROWS.get(without_version(name)?).filter(|row| row.has_versions);
    let loader = || ROWS.get("ld.so").filter(|_| name.starts_with("ld-") && name.contains(".so"));
    ROWS.get(name).or_else(versioned).or_else(loader).copied()
}

/// Whether a program is a shell.
pub(crate) fn is_shell(name: &str) -> bool {
    program(name).is_some_and(Program::is_shell)
}

/// The programs that a glob fits; one of several names perhaps several times.
pub(crate) fn programs_fitting(glob: &str) -> impl Iterator<Item = &'static Program> {
    let start = glob.split(['*', '?', '[', '@', '+', '!', '(']).next().unwrap_or_default();
    // `python3.1?` fits versions that are in no list.
    let is_version = move |name: &str| start.starts_with(name) && without_version(start) == Some(name);
    let fits =
        move |(name, row): &(&&str, &&Program)| fits(glob, name) || row.has_versions && is_version(name);
    ROWS.iter().filter(fits).map(|(_, row)| *row)
}

/// A name without the version behind it: `python` of `python3.11`, `gcc` of `gcc-12`; none where there is none.
pub(super) fn without_version(name: &str) -> Option<&str> {
    // Some builds have a letter of their own: `python3.13t`.
    let build = name.strip_suffix(|c: char| c.is_ascii_lowercase());
    let name = build.filter(|name| name.ends_with(|c: char| c.is_ascii_digit())).unwrap_or(name);
    let is_version = |c: char| c.is_ascii_digit() || c == '.';
    let bare = name.trim_end_matches(is_version);
    (bare.len() < name.len()).then(|| bare.strip_suffix('-').unwrap_or(bare))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_one_row() {
        let mut names: Vec<&str> =
            FAMILIES.iter().copied().flatten().flat_map(|row| row.names.split_ascii_whitespace()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "a program has two rows");
        assert!(count <= NAMES_MAX, "{count}");
        assert!(names.iter().all(|name| !name.contains('/')));
    }

    #[test]
    fn a_version_behind_a_name_changes_nothing() {
        let rows = [
            ("python3.11", Some("python")),
            ("python3.15", Some("python")),
            ("python3.13t", Some("python")),
            ("perl5.36.0", Some("perl")),
            ("gcc-12", Some("gcc")),
            ("ksh93", Some("ksh")),
            ("tclsh8.6", Some("tclsh")),
            ("php8.3", Some("php")),
            ("python3-config", None),
            ("git2", None),
            ("rm5", None),
            ("12", None),
            ("", None),
        ];
        for (name, same) in rows {
            let is_same = match (program(name), same.and_then(program)) {
                (Some(row), Some(same)) => std::ptr::eq(row, same),
                (row, same) => row.is_none() && same.is_none(),
            };
            assert!(is_same, "{name}");
        }
    }

    #[test]
    fn a_glob_finds_versions_too() {
        let finds = |glob: &str, name: &str| {
            programs_fitting(glob).any(|row| row.names.split_ascii_whitespace().any(|it| it == name))
        };
        assert!(finds("python3.1?", "python"));
        assert!(finds("perl5.3*", "perl"));
        assert!(finds("r?", "rm"));
        assert!(!finds("r?", "ruby"));
        assert!(!finds("x*", "git"));
    }
}
