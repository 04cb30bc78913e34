//! Plain English: the worst patterns of translated sentences must not come back.
//!
//! They are counted in the string literals of shipped crates and in the prose of the pages. [`OTHERS_MOST`] is a ceiling: a
//! change that removes a pattern lowers it, and no change raises it. Comments, tests and code blocks are not counted.
//! STYLE.md has a table of sentences before and after.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests may panic"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Crates whose messages have none.
const PLAIN: [&str; 7] = ["gate", "languages", "mcp", "pattern", "petri", "prover", "store"];

/// The most that the messages of all other shipped crates have together: files still move between them.
const OTHERS_MOST: usize = 4;

const PLACES: [&str; 7] =
    ["docs", "spec", "templates", "examples", "README.md", "SECURITY.md", "CONTRIBUTING.md"];

const UNSHIPPED: [&str; 2] = ["testkit", "e2e"];

#[test]
fn messages_of_shipped_crates_are_plain_english() {
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for folder in fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path()) {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        if UNSHIPPED.contains(&name.as_str()) {
            continue;
        }
        let group = if PLAIN.contains(&name.as_str()) { &mut found } else { &mut others };
        group.extend(files(&folder.join("src"), &["rs"]).iter().flat_map(|file| in_messages(file)));
    }
    if others.len() > OTHERS_MOST {
        found.extend(others);
    }
    assert!(found.is_empty(), "write these in plain English, see STYLE.md:\n{}", found.join("\n"));
}

#[test]
fn pages_are_plain_english() {
    let mut found = Vec::new();
    for path in PLACES.map(|place| root().join(place)) {
        let pages = if path.is_dir() { files(&path, &["md", "yaml", "rules"]) } else { vec![path] };
        found.extend(pages.iter().flat_map(|page| in_prose(page)));
    }
    assert!(found.is_empty(), "write these in plain English, see STYLE.md:\n{}", found.join("\n"));
}

#[test]
fn patterns_are_found_in_literals_and_prose_alone() {
    let source = r##"
        //! It is no message for nobody.
        fn a() -> char { let b = '"'; let c: &'static str = "`x` is no text"; b }
        const RAW: &str = r#"whoever "quotes" it"#; // nobody
        const FINE: &str = "it is no longer \"open\" for you";
        #[cfg(test)]
        mod tests { const T: &str = "nobody"; }
    "##;
    let found: Vec<&str> = literals(source).iter().filter_map(|(_, text)| pattern_in(text)).collect();
    assert_eq!(found, ["is no", "whoever"]);
    for (text, found) in [
        ("there is no key, and it is no longer open", None),
        ("it is no key", Some("is no")),
        ("what is told is true", Some("what is told")),
        ("whatever became of it", Some("whatever became of")),
        ("Nobody's answer", Some("nobody")),
        ("write `nobody` in a story", None),
    ] {
        assert_eq!(pattern_in(&without_code(text)), found, "{text}");
    }
}

/// The first pattern in a text.
fn pattern_in(text: &str) -> Option<&'static str> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let begins = |at: usize, pattern: &[&str]| {
        words.get(at..at + pattern.len()).is_some_and(|these| these.iter().zip(pattern).all(|(a, b)| a == b))
    };
    (0..words.len()).find_map(|at| {
        // "There is no key" is plain English, "it is no key" is not.
        let is_there = at > 0 && words.get(at - 1).is_some_and(|word| word == "there");
        let next = words.get(at + 2).map_or("", String::as_str);
        let is_word =
            next.starts_with(|c: char| c.is_ascii_lowercase()) && !["longer", "more"].contains(&next);
        match () {
            () if begins(at, &["is", "no"]) && !is_there && is_word => Some("is no"),
            () if begins(at, &["whoever"]) => Some("whoever"),
            () if begins(at, &["nobody"]) => Some("nobody"),
            () if begins(at, &["what", "is", "told"]) => Some("what is told"),
            () if begins(at, &["whatever", "became", "of"]) => Some("whatever became of"),
            () => None,
        }
    })
}

fn in_messages(file: &Path) -> Vec<String> {
    if file.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests")) {
        return Vec::new();
    }
    let found = literals(&fs::read_to_string(file).unwrap());
    let shown = |(line, text): (usize, String)| {
        pattern_in(&text).map(|pattern| format!("{}:{line}: {pattern}: {text}", file.display()))
    };
    found.into_iter().filter_map(shown).collect()
}

fn in_prose(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let is_markdown = page.extension().is_some_and(|ending| ending == "md");
    let mut is_code = false;
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        is_code ^= is_markdown && line.trim_start().starts_with("```");
        // In policy files, comments are the prose.
        let prose = if is_markdown { Some(line) } else { line.split_once('#').map(|(_, comment)| comment) };
        let pattern = prose.filter(|_| !is_code).and_then(|prose| pattern_in(&without_code(prose)));
        found.extend(pattern.map(|pattern| format!("{}:{}: {pattern}", page.display(), number + 1)));
    }
    found
}

/// A line of prose without what is in backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("x")
}

/// The string literals of a source file before its tests, each with its line.
fn literals(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut rest = source;
    let line_of =
        |rest: &str| source.len().checked_sub(rest.len()).map(|at| source[..at].matches('\n').count() + 1);
    while let Some(at) = rest.find(['"', '/', '\'', 'r', '#']) {
        let here = &rest[at..];
        let begins_word = !rest[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let skip = if here.starts_with("#[cfg(test)]")
            && here["#[cfg(test)]".len()..].trim_start().starts_with("mod tests")
        {
            break;
        } else if here.starts_with("//") {
            here.find('\n').unwrap_or(here.len())
        } else if here.starts_with("'\"'") || here.starts_with("'\\\"'") {
            here[1..].find('\'').map_or(1, |end| end + 2).max(3)
        } else if let Some(quoted) = here.strip_prefix('r').filter(|_| begins_word) {
            let hashes = quoted.len() - quoted.trim_start_matches('#').len();
            match quoted[hashes..].strip_prefix('"') {
                None => 1,
                Some(text) => {
                    let end = format!("\"{}", "#".repeat(hashes));
                    let length = text.find(&end).unwrap_or(text.len());
                    found.extend(line_of(here).map(|line| (line, text[..length].to_owned())));
                    here.len() - text.len() + length + end.len()
                }
            }
        } else if let Some(text) = here.strip_prefix('"') {
            let length = end_of_string(text);
            found.extend(line_of(here).map(|line| (line, text[..length].to_owned())));
            length + 2
        } else {
            1
        };
        rest = rest.get(at + skip..).unwrap_or_default();
    }
    found
}

/// How long a string literal is, up to its closing quote.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    text.find(|c: char| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    })
    .unwrap_or(text.len())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files of a folder with one of these endings, in order.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|own| endings.iter().any(|ending| own == *ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
