//! Every statement of the pages that people come from is shown by a test that runs.
//!
//! `docs/from/statements.md` lists the statements in tables. The last column of a row names what shows it: sections of
//! `spec/` that are played, sections of `docs/` whose snippets are run, or tests by name (`crate::test_name`).
//! [`mistakes`] finds rows that show nothing, and sections that have lost rows. Whether a section really shows
//! the statement is for readers to judge.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use lockgate_testkit::read_pages;

/// The page with the statements, from the top of the repository.
const PAGE: &str = "docs/from/statements.md";

#[test]
fn every_statement_is_shown_by_a_test() {
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    let found = mistakes(&page, &Shown::of_repository());
    assert!(found.is_empty(), "{} mistakes in {PAGE}:\n{}", found.len(), found.join("\n"));
}

/// Each row has one mistake, so that this file can be seen to fail.
#[test]
fn a_row_that_shows_nothing_is_found() {
    let shown = Shown::of_repository();
    let played = "[block § A is closed for good](../../spec/block.md#a-is-closed-for-good)";
    for (row, mistake) in [
        (format!("| a | holds | {played} |"), ""),
        ("| a | holds | `gate::a_dry_run_asks_no_workflow` |".into(), ""),
        (format!("| a | differs on purpose: b | {played} |"), ""),
        (format!("| a | differs on purpose | {played} |"), "the difference is not named"),
        ("| a | holds | |".into(), "nothing shows it"),
        ("| a | holds |".into(), "the row has 2 columns"),
        ("| a | holds | `lockgate verify POLICY` |".into(), "nothing shows it"),
        ("| a | holds | [block](../../spec/block.md) |".into(), "spec/block.md: name the section"),
        ("| a | holds | [x](../../spec/block.md#no-such) |".into(), "spec/block.md#no-such: no such heading"),
        ("| a | holds | [x](../../spec/missing.md#a) |".into(), "spec/missing.md: there is no such page"),
        (
            "| a | holds | [x](../../spec/README.md#how-a-page-is-written) |".into(),
            "spec/README.md#how-a-page-is-written: nothing in this section is run",
        ),
        (
            "| a | holds | [x](../hooks.md#settings) |".into(),
            "docs/hooks.md#settings: nothing in this section is run",
        ),
        ("| a | holds | `gate::no_such_test` |".into(), "`gate::no_such_test` is not a test"),
        (
            "| a | holds | `nowhere::a_dry_run_asks_no_workflow` |".into(),
            "`nowhere::a_dry_run_asks_no_workflow` is not",
        ),
    ] {
        let page =
            format!("## Theirs\n\n1 statement.\n\n| statement | here | shown by |\n|---|---|---|\n{row}\n");
        let found = mistakes(&page, &shown).join("; ");
        assert_eq!(found.is_empty(), mistake.is_empty(), "{row}: {found}");
        assert!(found.contains(mistake), "{row}: {found}");
        let lost = mistakes(&page.replace("1 statement", "2 statements"), &shown).join("; ");
        assert!(lost.contains("`Theirs` has 1 of 2 statements"), "{lost}");
    }
}

/// What is wrong with the page, each with its line.
fn mistakes(page: &str, shown: &Shown) -> Vec<String> {
    let mut found = Vec::new();
    let mut sections: Vec<Section> = Vec::new();
    for (index, line) in page.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            sections.push(Section { heading: heading.to_owned(), said: None, rows: 0 });
        }
        let Some(section) = sections.last_mut() else { continue };
        let count = line.split_once(" statement").and_then(|(count, _)| count.parse().ok());
        section.said = section.said.or(count);
        if line.starts_with('|') && !line.starts_with("|-") && !line.starts_with("| statement |") {
            section.rows += 1;
            let mistakes = mistakes_of_row(line, shown);
            found.extend(mistakes.into_iter().map(|mistake| format!("{PAGE}:{}: {mistake}", index + 1)));
        }
    }
    for Section { heading, said, rows } in &sections {
        match said {
            None => found.push(format!("`{heading}` does not say how many statements it has")),
            Some(said) if said != rows => found.push(format!("`{heading}` has {rows} of {said} statements")),
            Some(_) => {}
        }
    }
    if sections.is_empty() {
        found.push("the page has no section".into());
    }
    found
}

/// The statements of one foreign page.
struct Section {
    heading: String,
    /// How many there are, as the page says.
    said: Option<usize>,
    rows: usize,
}

fn mistakes_of_row(line: &str, shown: &Shown) -> Vec<String> {
    let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
    let [_, here, shows] = cells.as_slice() else {
        return vec![format!("the row has {} columns, not 3", cells.len())];
    };
    let mut found = Vec::new();
    if *here == "differs on purpose" {
        found.push("the difference is not named".into());
    }
    let links = shows.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    let tests = shows.split('`').skip(1).step_by(2).filter(|code| code.contains("::"));
    let checked: Vec<Result<(), String>> =
        links.map(|target| shown.section(target)).chain(tests.map(|name| shown.test(name))).collect();
    if checked.is_empty() {
        found.push("nothing shows it".into());
    }
    found.extend(checked.into_iter().filter_map(Result::err));
    found
}

/// What the tests of the repository run.
struct Shown {
    /// The sections of each page by anchor, and whether something in them is run. The empty anchor is the whole page, where
    /// a page is about one thing.
    sections: BTreeMap<PathBuf, BTreeMap<String, bool>>,
    /// Tests by crate.
    tests: BTreeMap<String, BTreeSet<String>>,
}

impl Shown {
    fn of_repository() -> Self {
        let mut shown = Self { sections: BTreeMap::new(), tests: BTreeMap::new() };
        let mut stories: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for page in read_pages(&root().join("spec")).unwrap() {
            let played = page.stories.iter().filter(|story| !story.rows.is_empty());
            stories.insert(page.name.clone(), played.map(|story| anchor(&story.heading)).collect());
        }
        let doctests = fs::read_to_string(root().join("crates/lockgate/src/lib.rs")).unwrap();
        for path in files(&root().join("spec"), "md").into_iter().chain(files(&root().join("docs"), "md")) {
            let name = path.strip_prefix(root()).unwrap().to_owned();
            let text = fs::read_to_string(&path).unwrap();
            let of_page = path.file_name().and_then(|file| stories.get(file.to_str()?));
            let is_doctest = doctests.contains(&format!("include_str!(\"../../../{}\")", name.display()));
            let is_run = |part: &Part| match of_page {
                Some(stories) if name.parent() == Some(Path::new("spec")) => stories.contains(&part.anchor),
                _ if name.starts_with("spec/hooks") => part.rows_of_events > 0,
                _ if name.starts_with("spec") => false,
                _ => part.blocks.iter().any(|block| match block.as_str() {
                    "story" | "finding" => true,
                    "rust" => is_doctest,
                    "jsonl" => name == Path::new("docs/protocol.md"),
                    _ => false,
                }),
            };
            let parts = parts(&text);
            let mut anchors: BTreeMap<String, bool> =
                parts.iter().map(|part| (part.anchor.clone(), is_run(part))).collect();
            if name.starts_with("docs/findings") {
                anchors.insert(String::new(), parts.iter().any(is_run));
            }
            shown.sections.insert(name, anchors);
        }
        for folder in fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path()) {
            let sources = ["src", "tests"].map(|part| files(&folder.join(part), "rs")).concat();
            let tests =
                sources.iter().flat_map(|file| tests_in(&fs::read_to_string(file).unwrap())).collect();
            shown.tests.insert(folder.file_name().unwrap().to_string_lossy().into_owned(), tests);
        }
        shown
    }

    /// Whether a link of the page leads to a section in which something is run.
    fn section(&self, target: &str) -> Result<(), String> {
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        // The page is two folders below the top.
        let name = match file.strip_prefix("../../") {
            Some(file) => PathBuf::from(file),
            None => match file.strip_prefix("../") {
                Some(file) => Path::new("docs").join(file),
                None => Path::new("docs/from").join(file),
            },
        };
        let target = format!("{}{}{anchor}", name.display(), if anchor.is_empty() { "" } else { "#" });
        let Some(anchors) = self.sections.get(&name) else {
            return Err(format!("{}: there is no such page", name.display()));
        };
        match anchors.get(anchor) {
            Some(true) => Ok(()),
            Some(false) => Err(format!("{target}: nothing in this section is run")),
            None if anchor.is_empty() => Err(format!("{target}: name the section that shows it")),
            None => Err(format!("{target}: no such heading")),
        }
    }

    /// Whether `crate::test_name` is a test.
    fn test(&self, name: &str) -> Result<(), String> {
        let is_there = name
            .rsplit_once("::")
            .is_some_and(|(krate, test)| self.tests.get(krate).is_some_and(|tests| tests.contains(test)));
        if is_there { Ok(()) } else { Err(format!("`{name}` is not a test")) }
    }
}

/// A heading and what stands below it, down to the next heading.
struct Part {
    anchor: String,
    /// The languages of its fenced blocks.
    blocks: Vec<String>,
    /// Rows of tables with events of agents.
    rows_of_events: usize,
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let (mut is_fenced, mut is_events) = (false, false);
    for line in text.lines() {
        if let Some(language) = line.strip_prefix("```") {
            is_fenced = !is_fenced;
            if let (true, Some(part)) = (is_fenced, parts.last_mut()) {
                part.blocks.push(language.split(' ').next().unwrap_or_default().to_owned());
            }
            continue;
        }
        let heading = line.trim_start_matches('#');
        if !is_fenced && heading.len() < line.len() && heading.starts_with(' ') {
            parts.push(Part { anchor: anchor(heading), blocks: Vec::new(), rows_of_events: 0 });
        } else if let Some(part) = parts.last_mut() {
            is_events = line.starts_with('|') && (is_events || line.starts_with("| host | event |"));
            part.rows_of_events += usize::from(is_events && line.contains("| `"));
        }
    }
    parts
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || [' ', '-', '_'].contains(c);
    heading.trim().to_lowercase().chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The names of the tests in a source that are not ignored.
fn tests_in(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("fn ") {
            let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            names.extend(is_test.then(|| name.to_owned()));
            is_test = false;
        } else if line.starts_with("#[test]") {
            is_test = true;
        } else if line.starts_with("#[ignore") || !(line.starts_with('#') || line.starts_with("//")) {
            is_test = false;
        }
    }
    names
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|it| it == ending) {
            found.push(path);
        }
    }
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
