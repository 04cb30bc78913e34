//! The pages of `spec/hooks`, played with the program itself: a process for every event, as hosts start it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests may panic like the tests")]

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// One heading of a page, and what stands under it.
#[derive(Default)]
struct Story {
    name: String,
    /// Paths below the root, and texts.
    files: Vec<(String, String)>,
    rows: Vec<Row>,
}

struct Row {
    line: usize,
    cells: Vec<(String, String)>,
}

impl Row {
    /// What stands under a heading of the table, without its marks; nothing where there is no such column.
    fn cell(&self, column: &str) -> &str {
        let cell = self.cells.iter().find(|(name, _)| name == column);
        cell.map_or("", |(_, text)| text.trim_matches('`'))
    }
}

fn stories(page: &str) -> Vec<Story> {
    let mut stories: Vec<Story> = Vec::new();
    let mut columns: Vec<String> = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        if let Some(name) = line.strip_prefix("## ") {
            stories.push(Story { name: name.to_owned(), ..Story::default() });
            columns.clear();
        } else if let Some(fence) = line.strip_prefix("```") {
            let (_, path) = fence.split_once(' ').unwrap_or_else(|| panic!("line {}: no path", at + 1));
            let body = lines.by_ref().take_while(|(_, line)| *line != "```");
            let text: String = body.map(|(_, line)| format!("{line}\n")).collect();
            stories.last_mut().unwrap().files.push((path.to_owned(), text));
        } else if line.starts_with('|') {
            let cells = cells(line);
            if columns.is_empty() {
                columns = cells;
            } else if !line.starts_with("|--") {
                assert_eq!(cells.len(), columns.len(), "line {}", at + 1);
                let cells = columns.iter().cloned().zip(cells).collect();
                stories.last_mut().unwrap().rows.push(Row { line: at + 1, cells });
            }
        }
    }
    stories
}

/// The cells of a row; what stands between backticks may hold bars.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    for c in line.trim().trim_matches('|').chars() {
        match c {
            '|' if !is_quoted => cells.push(String::new()),
            c => {
                is_quoted ^= c == '`';
                cells.last_mut().unwrap().push(c);
            }
        }
    }
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

fn play(story: &Story, root: &Path) -> Vec<String> {
    let _ = fs::remove_dir_all(root);
    fs::create_dir_all(root.join("home")).unwrap();
    let root = fs::canonicalize(root).unwrap();
    for (path, text) in &story.files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut wrong = Vec::new();
    for row in &story.rows {
        let event = row.cell("event").replace("ROOT", root.to_str().unwrap());
        let output = hook(&root, row, &event);
        let (answer, because) = said(row.cell("host"), &output);
        if answer != row.cell("answer") || !because.starts_with(row.cell("because")) {
            wrong.push(format!("line {}, {}: {answer}: {because}", row.line, story.name));
        }
    }
    wrong
}

fn hook(root: &Path, row: &Row, event: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .args(["hook", row.cell("host")])
        .current_dir(root.join(row.cell("folder")))
        .env_clear()
        .env("HOME", root.join("home"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// What a host takes the output of a hook for, and the reason it is given.
fn said(host: &str, output: &Output) -> (&'static str, String) {
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    let answer: Value = serde_json::from_str(&stdout).unwrap_or_default();
    let text = |field: &str| answer.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (decision, reason) = match host {
        // At some of its events it only listens.
        "cursor" if answer == serde_json::json!({}) => ("pass".to_owned(), String::new()),
        "cursor" => (text("permission"), text("user_message")),
        _ => (text("decision"), text("reason")),
    };
    match decision.as_str() {
        "pass" | "allow" if output.status.success() => ("pass", reason),
        "block" | "deny" => ("block", reason),
        _ => ("neither", format!("{output:?}")),
    }
}

#[test]
fn hooks_answer_to_their_pages() {
    let folder = Path::new("../../spec/hooks");
    let pages: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!pages.is_empty());
    for page in pages {
        let stories = stories(&fs::read_to_string(&page).unwrap());
        let rows: usize = stories.iter().map(|story| story.rows.len()).sum();
        assert!(rows > 0, "{} has no rows", page.display());
        let mut wrong = Vec::new();
        for (number, story) in stories.iter().enumerate() {
            let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hooks-{number}"));
            wrong.extend(play(story, &root));
        }
        assert!(wrong.is_empty(), "{}:\n{}", page.display(), wrong.join("\n"));
    }
}

#[test]
fn a_row_that_says_something_else_fails() {
    let page = "## X\n```rules .lockgate/policy.rules\nblock push\n```\n| host | event | answer |\n|---|---|---|\n\
                | generic | `{\"event\": \"before\", \"session\": \"s\", \"tool\": \"push\", \"input\": {}}` | pass |\n";
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hooks-wrong");
    let wrong = play(&stories(page)[0], &root);
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].contains("block: push is blocked"), "{wrong:?}");
}
