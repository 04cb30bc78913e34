//! The pages of `spec/hooks`, played with the program itself: a process for every event, as hosts start it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests may panic like the tests")]

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::world::folder;
use lockgate_testkit::human::{Desk, Typed, agent, set_up};
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
    fs::create_dir_all(root.join("home")).unwrap();
    let root = fs::canonicalize(root).unwrap();
    for (path, text) in &story.files {
        let path = root.join(path);
        let text = text.replace("ROOT", root.to_str().unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut wrong = Vec::new();
    for row in &story.rows {
        let event = row.cell("event").replace("ROOT", root.to_str().unwrap());
        if row.cell("host") == "human" {
            let came = human(&root, &event, row.cell("folder"));
            if came != row.cell("answer") {
                wrong.push(format!("line {}, {}: {came}", row.line, story.name));
            }
            continue;
        }
        let output = hook(&root, row, &event);
        let (answer, because) = said(row.cell("host"), &output);
        let expected = row.cell("because").replace("ROOT", root.to_str().unwrap());
        if answer != row.cell("answer") || !is_like(&because, &expected) {
            wrong.push(format!("line {}, {}: {answer}: {because}", row.line, story.name));
        }
    }
    wrong
}

/// Whether a sentence begins so; `…` stands for anything in between.
fn is_like(said: &str, expected: &str) -> bool {
    let (first, rest) = expected.split_once('…').unwrap_or((expected, ""));
    let Some(mut left) = said.strip_prefix(first) else { return false };
    rest.split('…').all(|part| match left.split_once(part) {
        Some((_, after)) => {
            left = after;
            true
        }
        None => false,
    })
}

/// What somebody does between two events; or what is there by then.
fn human(root: &Path, deed: &str, folder: &str) -> &'static str {
    let (verb, rest) = deed.split_once(' ').unwrap_or((deed, ""));
    let (path, more) = rest.split_once(' ').unwrap_or((rest, ""));
    let (path, to) = (root.join(path), root.join(more));
    let lockgate = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
        command.args(words).current_dir(root.join(folder)).env_clear().env("HOME", root.join("home"));
        command.stdin(Stdio::null()).output().unwrap()
    };
    match verb {
        "trust" | "accept" => {
            if !root.join("home/.local/share/lockgate/human.key").exists() {
                set_up(&root.join("home"));
            }
            let words: &[&str] = if verb == "trust" { &["trust"] } else { &["accept-policy", "--all"] };
            let mut desk = Desk::new(Path::new(env!("CARGO_BIN_EXE_lockgate")), words);
            let command = desk.command.current_dir(root.join(folder)).env_clear();
            command.env("HOME", root.join("home")).stdout(Stdio::piped()).stderr(Stdio::piped());
            let ran = desk.run(Typed::Word);
            assert!(ran.output.status.success(), "{ran:?}");
        }
        "revoke" => assert!(lockgate(&["trust", "--revoke"]).status.success()),
        "write" => fs::write(path, format!("{more}\n")).unwrap(),
        "empty" => fs::write(path, "").unwrap(),
        "fill" => fs::write(path, "#".repeat(17 << 20)).unwrap(),
        "delete" if path.is_dir() => fs::remove_dir_all(path).unwrap(),
        "delete" => fs::remove_file(path).unwrap(),
        "move" => fs::rename(path, to).unwrap(),
        "link" => std::os::unix::fs::symlink(to, path).unwrap(),
        "look" if path.exists() => return "there",
        "look" => return "missing",
        // What `lockgate status` says waits for trust.
        "waits" => {
            let said = lockgate(&["status", "--json"]);
            let told: Value = serde_json::from_slice(&said.stdout).unwrap();
            let waiting = told.pointer("/settings/waiting").and_then(Value::as_array).unwrap().iter();
            return match waiting.filter_map(Value::as_str).any(|it| it.contains(rest)) {
                true => "yes",
                false => "no",
            };
        }
        _ => panic!("no human does `{deed}`"),
    }
    "done"
}

fn hook(root: &Path, row: &Row, event: &str) -> Output {
    // Started by a process that stands for the agent: what runs below an agent is not a human.
    let lockgate = Path::new(env!("CARGO_BIN_EXE_lockgate"));
    let mut child = agent(&root.join("home/agent.sh"), lockgate, &["hook", row.cell("host")])
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
    let spec = Path::new("../../spec/hooks");
    let pages: Vec<PathBuf> = fs::read_dir(spec).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!pages.is_empty());
    for page in pages {
        let stories = stories(&fs::read_to_string(&page).unwrap());
        let rows: usize = stories.iter().map(|story| story.rows.len()).sum();
        assert!(rows > 0, "{} has no rows", page.display());
        let mut wrong = Vec::new();
        for (number, story) in stories.iter().enumerate() {
            let name = page.file_stem().unwrap().to_string_lossy();
            let root = folder(&format!("page-{name}-{number}"));
            wrong.extend(play(story, &root));
        }
        assert!(wrong.is_empty(), "{}:\n{}", page.display(), wrong.join("\n"));
    }
}

#[test]
fn a_row_that_says_something_else_fails() {
    let page = "## X\n```rules .lockgate/policy.rules\nblock push\n```\n| host | event | answer |\n|---|---|---|\n\
                | generic | `{\"event\": \"before\", \"session\": \"s\", \"tool\": \"push\", \"input\": {}}` | pass |\n";
    let root = folder("wrong");
    let wrong = play(&stories(page)[0], &root);
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].contains("block: push is blocked"), "{wrong:?}");
}
