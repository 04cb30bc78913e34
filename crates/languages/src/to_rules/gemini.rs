//! Policy files of Gemini CLI: `[[rule]]` tables in TOML, each with tools, a prefix of the command and a decision.
//!
//! Only what such files have is read: keys with a text, a number, a boolean or a list of texts. Of several rules the one with
//! the highest priority decides there, and the strictest here, so a rule that opens what another closes is told.

use serde_json::Value;

use super::{
    line::{Line, unsaid},
    permissions::{Wish, command, named},
};

/// The rules of a policy file; none where the text is something else.
pub(super) fn lines(text: &str) -> Option<Vec<Line>> {
    let head = "[[rule]]";
    let (_, rules) = text.split_once(head)?;
    let is_rule = |rule: &&str| rule.lines().any(|line| line.trim_start().starts_with("decision"));
    let rules: Vec<&str> = rules.split(head).collect();
    if !rules.iter().all(is_rule) {
        return None;
    }
    Some(rules.into_iter().flat_map(rule).collect())
}

fn rule(text: &str) -> Vec<Line> {
    let mut tools: Vec<String> = Vec::new();
    let mut prefixes: Vec<String> = Vec::new();
    let (mut wish, mut others) = (None, Vec::new());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let Some((key, value)) = line.split_once('=') else {
            others.push(line);
            continue;
        };
        match (key.trim(), texts(value.trim())) {
            ("toolName", Some(names)) => tools = names,
            ("commandPrefix", Some(words)) => prefixes = words,
            ("decision", Some(words)) => wish = words.first().and_then(|word| wish_of(word)),
            ("priority", _) => {}
            ("description" | "name" | "denyMessage", _) => {}
            _ => others.push(line),
        }
    }
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(wish) = wish else { return vec![unsaid(whole, "its decision is not known")] };
    if !others.is_empty() {
        return vec![unsaid(whole, format!("`{}` has no sentence that says the same", others.join("`, `")))];
    }
    if !prefixes.is_empty() {
        let tool = tools.first().map_or("run_shell_command", String::as_str);
        return prefixes.iter().map(|prefix| command(&whole, tool, &format!("{prefix}:*"), wish)).collect();
    }
    if tools.is_empty() {
        return vec![unsaid(whole, "it names no tool")];
    }
    let line = |tool: &String| match (tool.as_str(), wish) {
        // What holds for every tool gives way to whatever else a rule says.
        ("*", Wish::Ask) => Ok("otherwise ask".to_owned()),
        ("*", Wish::Block) => Ok("otherwise block".to_owned()),
        ("*", Wish::Allow) => unsaid(whole.clone(), "what no rule restricts is allowed anyway"),
        (tool, wish) => named(tool, wish),
    };
    tools.iter().map(line).collect()
}

fn wish_of(word: &str) -> Option<Wish> {
    match word {
        "allow" => Some(Wish::Allow),
        "ask_user" => Some(Wish::Ask),
        "deny" => Some(Wish::Block),
        _ => None,
    }
}

/// A text or a list of texts, which TOML writes as JSON does, or in single quotes.
fn texts(value: &str) -> Option<Vec<String>> {
    let value = value.split(" #").next().unwrap_or(value).trim();
    if let Some(text) = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return Some(vec![text.to_owned()]);
    }
    match serde_json::from_str(value).ok()? {
        Value::String(text) => Some(vec![text]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}
