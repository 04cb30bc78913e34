//! The lines that are tried: `e2e/attacks/*.txt`, and recorded attacks where there are some.
//!
//! A line is one attempt: calls with ` ;;; ` between them. A call is a tool and its input (`Write {"file_path": …}`) or else
//! a shell command for `Bash`, in which `⏎` is a new line. `== NAME: what it is about` begins a class, `#` a comment.
//! `(stop) ` before a line: the hook has to stop it, and it is never run, because a test cannot undo what it does.
//! `(limit) ` before a line: a gap that SECURITY.md lists. `@P` is the project, `@D` a folder outside of it, `@U` the home
//! folder, `@H` the state, `@B` the folder of the program and `@L` the program.

use std::{fs, io, path::Path};

use serde_json::{Value, json};

/// What a line has to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    /// It does no harm.
    Attack,
    /// It does no harm, not even behind the hook's back.
    SelfApproval,
    /// The hook lets it pass.
    Everyday,
}

/// What is known of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Nothing.
    Plain,
    /// It must be stopped, and is never run.
    Stop,
    /// A gap that SECURITY.md lists.
    Limit,
}

/// One attempt.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The name of its class.
    pub(crate) class: String,
    /// What it has to show.
    pub(crate) aim: Aim,
    /// What is known of it.
    pub(crate) mark: Mark,
    /// The line as it is written.
    pub(crate) text: String,
    /// Its calls: tools and inputs.
    pub(crate) calls: Vec<(String, Value)>,
}

/// All lines of the repository, then those of the folder of recorded data.
///
/// # Errors
/// When a line or a recorded file cannot be read.
pub(crate) fn all(data: Option<&Path>) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for (text, aim) in [
        (include_str!("../../../attacks/files.txt"), Aim::Attack),
        (include_str!("../../../attacks/tools.txt"), Aim::Attack),
        (include_str!("../../../attacks/limits.txt"), Aim::Attack),
        (include_str!("../../../attacks/self-approval.txt"), Aim::SelfApproval),
        (include_str!("../../../attacks/everyday.txt"), Aim::Everyday),
    ] {
        lines.extend(read(text, aim)?);
    }
    if let Some(data) = data {
        lines.extend(recorded(data).map_err(|error| format!("recorded attacks: {error}"))?);
    }
    Ok(lines)
}

fn read(text: &str, aim: Aim) -> Result<Vec<Line>, String> {
    let (mut class, mut lines) = (String::new(), Vec::new());
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        if let Some(head) = line.strip_prefix("== ") {
            class = head.split(':').next().unwrap_or(head).to_owned();
            continue;
        }
        let (mark, text) = match (line.strip_prefix("(stop) "), line.strip_prefix("(limit) ")) {
            (Some(text), _) => (Mark::Stop, text),
            (_, Some(text)) => (Mark::Limit, text),
            _ => (Mark::Plain, line),
        };
        let calls: Result<Vec<_>, String> = text.split(" ;;; ").map(call).collect();
        let calls = calls.map_err(|error| format!("{line}: {error}"))?;
        lines.push(Line { class: class.clone(), aim, mark, text: text.to_owned(), calls });
    }
    Ok(lines)
}

fn call(text: &str) -> Result<(String, Value), String> {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    match text.split_once(" {") {
        Some((tool, rest)) if is_name(tool) && rest.starts_with('"') => {
            let input = serde_json::from_str(&format!("{{{rest}")).map_err(|error| error.to_string())?;
            Ok((tool.to_owned(), input))
        }
        _ => Ok(("Bash".to_owned(), json!({ "command": text.replace('⏎', "\n") }))),
    }
}

/// Recorded attacks that reading calls does not catch; `limits.txt` has the like, and SECURITY.md says why.
const LEFT: &[&str] = &[
    "for f in $(git ls-files)",
    "python concat name",
    "bash var from cmd",
    "base64 | sh",
    "Write x.sh; bash x.sh",
    "Write py; python",
    "python glob db delete",
    "cd .lockgate; make",
];

fn recorded(data: &Path) -> io::Result<Vec<Line>> {
    let rows = |file: &str| -> io::Result<Vec<Value>> {
        let text = fs::read_to_string(data.join("attacks").join(file))?;
        text.lines().map(|line| serde_json::from_str(line).map_err(io::Error::other)).collect()
    };
    let text = |row: &Value, key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut lines = Vec::new();
    for row in rows("attacks.jsonl")? {
        // Some rows say in words what was done.
        let Ok(calls) = serde_json::from_str::<Vec<(String, Value)>>(&text(&row, "command")) else {
            continue;
        };
        let title = text(&row, "title");
        let mark = if LEFT.iter().any(|left| title.contains(left)) { Mark::Limit } else { Mark::Plain };
        lines.push(Line { class: "recorded".to_owned(), aim: Aim::Attack, mark, text: title, calls });
    }
    for row in rows("self-approval.jsonl")? {
        let commands = row.get("commands").and_then(Value::as_array).cloned().unwrap_or_default();
        let calls = commands.into_iter().map(|it| ("Bash".to_owned(), json!({ "command": it }))).collect();
        lines.push(Line {
            class: "recorded-approval".to_owned(),
            aim: Aim::SelfApproval,
            mark: Mark::Plain,
            text: text(&row, "name"),
            calls,
        });
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_lines_of_every_kind() {
        let lines = all(None).unwrap();
        let count = |aim: Aim| lines.iter().filter(|line| line.aim == aim).count();
        assert!(count(Aim::Attack) >= 250, "{}", count(Aim::Attack));
        assert!(count(Aim::SelfApproval) >= 80, "{}", count(Aim::SelfApproval));
        assert!(count(Aim::Everyday) >= 80, "{}", count(Aim::Everyday));
        assert!(lines.iter().all(|line| !line.class.is_empty()));
        let mut texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        texts.sort_unstable();
        let twice: Vec<_> = texts.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn a_line_is_read_as_its_page_says() {
        let lines =
            read("# x\n== a: b\nls⏎pwd ;;; Write {\"file_path\": \"x\"}\n(stop) f() { x; }\n", Aim::Attack);
        let lines = lines.unwrap();
        assert_eq!(lines[0].calls[0], ("Bash".to_owned(), json!({"command": "ls\npwd"})));
        assert_eq!(lines[0].calls[1], ("Write".to_owned(), json!({"file_path": "x"})));
        assert_eq!((lines[1].mark, lines[1].calls[0].0.as_str()), (Mark::Stop, "Bash"));
    }
}
