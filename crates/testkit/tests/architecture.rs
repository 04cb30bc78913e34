//! ARCHITECTURE.md is short and true: its crates exist, and the path of one call names files and lines as they are.
//!
//! After code has moved, `LOCKGATE_WRITE_LINES=1 cargo test -p lockgate-testkit --test all architecture::` writes the
//! new line numbers. A function that is gone needs an edit by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may panic")]

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The most words that the page may have.
const WORDS_MAX: usize = 2_500;

/// The fewest steps that the path of a call has.
const STEPS_MIN: usize = 12;

#[test]
fn the_page_is_short() {
    let words = page().split_whitespace().count();
    assert!(words <= WORDS_MAX, "ARCHITECTURE.md has {words} words, at most {WORDS_MAX} are allowed");
}

#[test]
fn every_crate_is_on_the_page_and_the_page_names_no_other() {
    let page = page();
    let section = section(&page, "## Crates");
    let named: Vec<&str> = section
        .lines()
        .filter(|line| line.starts_with("| `") && !line.contains("*(planned)*"))
        .filter_map(|line| line.split('`').nth(1))
        .collect();
    let mut crates: Vec<String> = fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    crates.sort();
    let mut sorted = named.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, crates, "the table of crates in ARCHITECTURE.md and the folder `crates` differ");
}

#[test]
fn the_path_of_a_call_names_lines_as_they_are() {
    let before = page();
    let mut after = before.clone();
    let mut wrong = Vec::new();
    let steps = steps(&before);
    assert!(steps.len() >= STEPS_MIN, "the path of a call has only {} steps", steps.len());
    for step in &steps {
        match line_of(step) {
            Ok(line) if line == step.line => {}
            Ok(line) => {
                wrong.push(format!("{}:{}: `{}` is in line {line}", step.file, step.line, step.item));
                let old = format!("`{}:{}` `{}`", step.file, step.line, step.item);
                after = after.replace(&old, &format!("`{}:{line}` `{}`", step.file, step.item));
            }
            Err(reason) => wrong.push(format!("{}:{}: {reason}", step.file, step.line)),
        }
    }
    if env::var_os("LOCKGATE_WRITE_LINES").is_some() {
        fs::write(root().join("ARCHITECTURE.md"), after).unwrap();
    }
    assert!(
        wrong.is_empty(),
        "ARCHITECTURE.md is out of date; see the top of this file:\n{}",
        wrong.join("\n")
    );
}

/// One step of the path: `` `FILE:LINE` `ITEM` ``.
struct Step<'a> {
    file: &'a str,
    line: usize,
    item: &'a str,
}

fn steps(page: &str) -> Vec<Step<'_>> {
    section(page, "## The path of one call").lines().filter_map(step_in).collect()
}

fn step_in(line: &str) -> Option<Step<'_>> {
    let mut parts = line.get(line.find("`crates/")?..)?.split('`').filter(|part| !part.trim().is_empty());
    let (file, number) = parts.next()?.rsplit_once(':')?;
    Some(Step { file, line: number.parse().ok()?, item: parts.next()? })
}

/// The line in which an item such as `fn judge` is declared.
fn line_of(step: &Step<'_>) -> Result<usize, String> {
    let text = fs::read_to_string(root().join(step.file)).map_err(|error| error.to_string())?;
    let declares = |line: &str| {
        line.split_once(step.item).is_some_and(|(before, after)| {
            let is_declaration =
                before.split_whitespace().all(|word| word.starts_with("pub") || word == "async");
            is_declaration && after.starts_with(['(', '<', ' ', ';', '{'])
        })
    };
    let mut lines = text.lines().enumerate().filter(|(_, line)| declares(line)).map(|(at, _)| at + 1);
    let found = lines.next().ok_or_else(|| format!("there is no `{}`", step.item))?;
    // Methods of two types may have one name; the line that the page names is right if it is one of them.
    Ok(if lines.any(|line| line == step.line) { step.line } else { found })
}

/// A section of a page, without its heading.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, rest) = page.split_once(heading).unwrap_or_else(|| panic!("there is no section `{heading}`"));
    rest.split("\n## ").next().unwrap_or(rest)
}

fn page() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
