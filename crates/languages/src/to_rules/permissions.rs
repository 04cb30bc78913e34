//! Permissions of Claude Code and Gemini CLI (`settings.json`), and of Codex (`prefix_rule(…)`).
//!
//! A prefix such as `Bash(git push:*)` becomes `Bash running git push`. Where that closes, it closes the command however it
//! is written; where it opens, it opens a command that begins with these words and nothing else.

use serde_json::Value;

use super::line::{Line, name, quoted, unsaid};

/// What a list of permissions wants.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Allow,
    Ask,
    Block,
}

impl Wish {
    fn words(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask about",
            Self::Block => "block",
        }
    }
}

/// The rules of a permission file; none where the text is something else.
pub(super) fn lines(text: &str) -> Option<Vec<Line>> {
    if text.contains("prefix_rule(") {
        return Some(codex(text));
    }
    let file: Value = serde_json::from_str(text).ok()?;
    let found = claude(&file);
    Some(if found.is_empty() { gemini(&file)? } else { found })
}

fn entries<'v>(file: &'v Value, pointer: &str) -> Vec<&'v str> {
    file.pointer(pointer).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn claude(file: &Value) -> Vec<Line> {
    let lists = [
        ("/permissions/deny", Wish::Block),
        ("/permissions/ask", Wish::Ask),
        ("/permissions/allow", Wish::Allow),
    ];
    let mut lines: Vec<Line> = Vec::new();
    for (pointer, wish) in lists {
        lines.extend(entries(file, pointer).into_iter().map(|entry| permission(entry, wish)));
    }
    if !entries(file, "/permissions/allow").is_empty() {
        lines.push(Ok("otherwise ask".to_owned()));
    }
    for key in ["additionalDirectories", "defaultMode", "disableBypassPermissionsMode"] {
        if let Some(value) = file.pointer(&format!("/permissions/{key}")) {
            lines.push(unsaid(format!("{key}: {value}"), "the agent's own setting, which no rule replaces"));
        }
    }
    lines
}

fn gemini(file: &Value) -> Option<Vec<Line>> {
    let mut lines: Vec<Line> = Vec::new();
    let lists = [
        ("/tools/exclude", Wish::Block),
        ("/excludeTools", Wish::Block),
        ("/tools/allowed", Wish::Allow),
        ("/allowedTools", Wish::Allow),
        ("/tools/core", Wish::Allow),
        ("/coreTools", Wish::Allow),
    ];
    for (pointer, wish) in lists {
        lines.extend(entries(file, pointer).into_iter().map(|entry| permission(entry, wish)));
    }
    // A list of core tools leaves nothing but these; a list of allowed ones only asks less.
    let has = |pointer: &str| !entries(file, pointer).is_empty();
    if has("/tools/core") || has("/coreTools") {
        lines.push(Ok("otherwise block".to_owned()));
    } else if has("/tools/allowed") || has("/allowedTools") {
        lines.push(Ok("otherwise ask".to_owned()));
    }
    (!lines.is_empty()).then_some(lines)
}

/// `prefix_rule(pattern = ["git", "push"], decision = "prompt")`
fn codex(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let others = text.lines().filter(|line| line.trim_start().starts_with("host_executable("));
    lines
        .extend(others.map(|line| unsaid(line.trim(), "programs are known by name here, wherever they lie")));
    let uncommented: String = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    for rule in uncommented.split("prefix_rule(").skip(1) {
        let whole = format!("prefix_rule({}", rule.split(')').next().unwrap_or_default());
        let after = |key: &str| Some(rule.split_once(key)?.1.trim_start().strip_prefix('=')?.trim_start());
        let wish =
            match after("decision").and_then(|it| it.strip_prefix('"')).and_then(|it| it.split('"').next()) {
                Some("forbidden") => Wish::Block,
                Some("prompt") => Wish::Ask,
                Some("allow") | None => Wish::Allow,
                Some(_) => {
                    lines.push(unsaid(whole, "its decision is not known"));
                    continue;
                }
            };
        let pattern = after("pattern")
            .and_then(|it| serde_json::Deserializer::from_str(it).into_iter::<Vec<Value>>().next()?.ok());
        match pattern.and_then(|pattern| alternatives(&pattern)) {
            Some(all) => lines.extend(all.into_iter().map(|words| {
                running("Bash", &words, wish).map_or_else(|| unsaid(words.join(" "), WORDS), Ok)
            })),
            None => lines.push(unsaid(whole, "its pattern is not a list of words")),
        }
    }
    lines
}

const WORDS: &str = "a word of it cannot be told from a word of the language";

/// Every list of words that a pattern with choices stands for.
fn alternatives(pattern: &[Value]) -> Option<Vec<Vec<String>>> {
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    for part in pattern {
        let choices: Option<Vec<String>> = match part {
            Value::String(word) => Some(vec![word.clone()]),
            Value::Array(words) => words.iter().map(|word| word.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        let choices = choices?;
        all = all
            .iter()
            .flat_map(|before| {
                choices.iter().map(|choice| before.iter().cloned().chain([choice.clone()]).collect())
            })
            .take(64)
            .collect();
    }
    (!pattern.is_empty()).then_some(all)
}

/// One entry: `Read`, `Bash(git push:*)`, `Read(./secrets/**)`, `WebFetch(domain:example.com)`.
fn permission(entry: &str, wish: Wish) -> Line {
    let Some((tool, inner)) = entry.strip_suffix(')').and_then(|entry| entry.split_once('(')) else {
        return named(entry, wish);
    };
    let inner = inner.trim();
    if inner.is_empty() || inner == "*" {
        return Ok(format!("{} {}", wish.words(), name(tool)));
    }
    match tool {
        "Bash" | "PowerShell" | "run_shell_command" | "ShellTool" => command(entry, tool, inner, wish),
        "Read" => path(entry, &["Read"], inner, wish),
        "Edit" => path(entry, &["Edit", "Write", "MultiEdit"], inner, wish),
        "Write" => path(entry, &["Write"], inner, wish),
        "WebFetch" | "web_fetch" => match inner.strip_prefix("domain:") {
            Some(host) if wish == Wish::Block || wish == Wish::Ask || wish == Wish::Allow => {
                Ok(format!("{} {tool} to {host}", wish.words()))
            }
            _ => unsaid(entry, "it names no domain"),
        },
        _ => unsaid(entry, "what stands in brackets is not known for this tool"),
    }
}

/// A tool by its name.
pub(super) fn named(tool: &str, wish: Wish) -> Line {
    match tool {
        _ if tool.contains('*') => unsaid(tool, "names of tools have no wildcards"),
        _ if tool.starts_with("mcp__") && tool.matches("__").count() < 2 => {
            unsaid(tool, "it is about all tools of a server: name each of them")
        }
        _ => Ok(format!("{} {}", wish.words(), name(tool))),
    }
}

pub(super) fn command(entry: &str, tool: &str, inner: &str, wish: Wish) -> Line {
    let prefix = inner.strip_suffix(":*").or_else(|| inner.strip_suffix(" *"));
    // Gemini CLI takes what stands in brackets for a prefix.
    let is_prefix = prefix.is_some() || tool == "run_shell_command" || tool == "ShellTool";
    let tool = if tool == "ShellTool" { "run_shell_command" } else { tool };
    let text = prefix.unwrap_or(inner);
    if !is_prefix && !text.contains('*') {
        return Ok(format!("{} {tool} when command is {}", wish.words(), quoted(text)));
    }
    if text.contains('*') {
        return unsaid(entry, "it has a wildcard within the command");
    }
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    running(tool, &words, wish).map_or_else(|| unsaid(entry, WORDS), Ok)
}

/// `block Bash running git push`; none where a word would end the command.
fn running(tool: &str, words: &[String], wish: Wish) -> Option<String> {
    let is_plain =
        |word: &String| !word.contains(['"', '\'', ',', '#', '/']) && !crate::one_line::ends_command(word);
    let is_said = !words.is_empty() && words.iter().all(is_plain);
    is_said.then(|| format!("{} {tool} running {}", wish.words(), words.join(" ")))
}

fn path(entry: &str, tools: &[&str], inner: &str, wish: Wish) -> Line {
    let place = inner.strip_suffix("/**").or_else(|| inner.strip_suffix("/*")).unwrap_or(inner);
    if place.contains(['*', '?', '[', ' '])
        || inner.ends_with("/*") && wish != Wish::Allow && place.is_empty()
    {
        return unsaid(entry, "its pattern is not a folder or a file");
    }
    let place = match place.strip_prefix("//") {
        Some(absolute) => format!("/{absolute}"),
        // From the folder of the settings, which is the project's.
        None if place.starts_with('/') => format!(".{place}"),
        None if place.starts_with(['~', '.']) => place.to_owned(),
        None => format!("./{place}"),
    };
    let test = |tool: &str| format!("{} {tool} when file_path is inside {place}", wish.words());
    Ok(tools.iter().map(|tool| test(tool)).collect::<Vec<_>>().join("\n"))
}
