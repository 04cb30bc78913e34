//! SECURITY.md's table of attackers names what shows each row, and all of it is there.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::{fs, path::Path};

/// The last column of each row of the table, without the two lines above the rows.
fn shown_by(page: &str) -> Vec<&str> {
    let section = page.split("## Who attacks").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.filter_map(|row| row.trim_end_matches('|').rsplit('|').next()).collect()
}

/// What is wrong with the names in one cell.
fn mistakes(root: &Path, cell: &str, classes: &str) -> Vec<String> {
    let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
    let files: Vec<&str> =
        names.iter().copied().filter(|name| name.contains('/') && !name.contains(' ')).collect();
    let texts: String =
        files.iter().map(|file| fs::read_to_string(root.join(file)).unwrap_or_default()).collect();
    let mut wrong = Vec::new();
    if names.is_empty() {
        wrong.push(format!("nothing is named in `{cell}`"));
    }
    for name in names {
        let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit());
        let is_there = match name {
            _ if files.contains(&name) => root.join(name).exists(),
            // Commands and variables.
            _ if !is_plain => true,
            _ if name.contains('_') => texts.contains(&format!("fn {name}(")),
            _ => classes.contains(&format!("\n== {name}:")),
        };
        if !is_there {
            wrong.push(format!("`{name}` is not there"));
        }
    }
    wrong
}

#[test]
fn every_row_of_the_table_of_attackers_names_what_shows_it() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let page = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let attacks = fs::read_dir(root.join("e2e/attacks")).unwrap();
    let classes: String = attacks.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    let cells = shown_by(&page);
    assert!(cells.len() >= 8, "the table has lost rows: {cells:?}");
    let wrong: Vec<String> = cells.iter().flat_map(|cell| mistakes(root, cell, &classes)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // It can fail.
    for cell in ["nothing", "`no_such_test` of `crates/cli/tests/fence.rs`", "`crates/none.rs`", "`nonsense`"]
    {
        assert_eq!(mistakes(root, cell, &classes).len(), 1, "{cell}");
    }
}
