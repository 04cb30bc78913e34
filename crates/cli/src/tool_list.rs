//! The list of all tools, for `lockgate verify --tools FILE`.
//!
//! [`read`] takes what an MCP server answers to `tools/list`, with or without the JSON-RPC around it, a JSON array, or
//! one name a line. A list that may not be whole is refused: names would be called misspelt that are none. What is
//! wrong with the names of a policy is found where policies are read; no server is asked for the list here.

use std::{collections::BTreeSet, fs::File, io::Read, path::Path};

use lockgate::engine::{
    call::{json_mistake, visible, warned_effects},
    languages::{ListedTool, ListedTools},
};
use serde_json::Value;

use crate::console::CommandError;

/// The largest list, in bytes; descriptions and schemas are part of it.
pub(crate) const TOOL_LIST_BYTES_MAX: u64 = 16 << 20;

/// Reads all tools from a file: their names and what else it says about them.
pub(crate) fn read(file: &Path) -> Result<ListedTools, CommandError> {
    let cannot = |why: String| {
        let file = file.display().to_string();
        CommandError::Said(format!("cannot use the tools of `{}`: {}", visible(&file), visible(&why)))
    };
    let mut text = String::new();
    let opened = File::open(file).map_err(|error| cannot(error.to_string()))?;
    opened
        .take(TOOL_LIST_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| cannot(error.to_string()))?;
    parse(&text).map_err(cannot)
}

/// The tools in a list, or what is wrong with it.
fn parse(text: &str) -> Result<ListedTools, String> {
    if text.len() as u64 > TOOL_LIST_BYTES_MAX {
        return Err(format!("it has more than {TOOL_LIST_BYTES_MAX} bytes"));
    }
    let text = text.trim_start_matches('\u{feff}');
    let is_json = text.trim_start().starts_with(['{', '[', '"']);
    let names = if is_json { from_json(text)? } else { from_lines(text)? };
    if names.is_empty() {
        return Err("it names no tool".to_owned());
    }
    Ok(names)
}

const SHAPES: &str = "write `{\"tools\": [{\"name\": …}]}` as an MCP server answers, a JSON array of names, or one name a line";

fn from_json(text: &str) -> Result<ListedTools, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("it is not JSON: {}", json_mistake(&error)))?;
    if let Some(error) = value.get("error") {
        return Err(format!("the server answered with an error: {error}"));
    }
    let answer = value.get("result").unwrap_or(&value);
    if answer.get("nextCursor").is_some_and(|cursor| !cursor.is_null()) {
        return Err(
            "it is not all of them: `nextCursor` says that more come; put all pages into one".to_owned()
        );
    }
    let tools = answer.get("tools").unwrap_or(answer);
    let tools = tools.as_array().ok_or_else(|| format!("it has no list of tools; {SHAPES}"))?;
    tools.iter().enumerate().map(|(at, tool)| one_of(at, tool)).collect()
}

fn one_of(at: usize, tool: &Value) -> Result<(String, ListedTool), String> {
    let name = tool.as_str().or_else(|| tool.get("name")?.as_str());
    let name = name.filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| format!("entry {} has no name; {SHAPES}", at + 1))?;
    let says = |hint: &str| tool.get("annotations").and_then(|it| it.get(hint)?.as_bool());
    Ok((name.to_owned(), ListedTool { fields: fields_of(tool), effects: warned_effects(says).collect() }))
}

/// The fields of a tool's input, where its schema names all that are meant.
fn fields_of(tool: &Value) -> Option<BTreeSet<String>> {
    let schema = ["inputSchema", "input_schema", "parameters"].into_iter().find_map(|key| tool.get(key))?;
    let is_open = ["additionalProperties", "patternProperties", "anyOf", "oneOf", "allOf", "$ref"]
        .into_iter()
        .any(|key| schema.get(key).is_some_and(|it| *it != Value::Bool(false)));
    let properties = schema.get("properties")?.as_object().filter(|_| !is_open)?;
    Some(properties.keys().cloned().collect())
}

fn from_lines(text: &str) -> Result<ListedTools, String> {
    let mut names = ListedTools::new();
    for (line, number) in text.lines().zip(1..) {
        let name = line.trim();
        if name.is_empty() || name.starts_with('#') {
            continue;
        }
        if name.contains(char::is_whitespace) {
            return Err(format!("line {number} is more than one name; {SHAPES}"));
        }
        names.insert(name.to_owned(), ListedTool::default());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_in_each_of_its_shapes() {
        let rows = [
            r#"{"tools": [{"name": "read", "inputSchema": {"type": "object"}}, {"name": "send"}]}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "send"}, {"name": "read"}]}}"#,
            r#"{"tools": [{"name": "read"}, {"name": "send"}], "nextCursor": null}"#,
            r#"["read", "send", "read"]"#,
            r#"[{"name": "read"}, "send"]"#,
            "read\nsend\n",
            "# ours\r\n\r\n  read\r\nsend",
            "\u{feff}read\nsend",
        ];
        for text in rows {
            let names: Vec<String> = parse(text).unwrap().into_keys().collect();
            assert_eq!(names, ["read", "send"], "{text}");
        }
    }

    #[test]
    fn a_list_that_is_none_or_not_whole_is_refused() {
        let rows = [
            ("", "it names no tool"),
            ("# nothing\n", "it names no tool"),
            ("[]", "it names no tool"),
            ("[1]", "entry 1 has no name"),
            (r#"["a", ""]"#, "entry 2 has no name"),
            (r#"[{"title": "a"}]"#, "entry 1 has no name"),
            ("{}", "it has no list of tools"),
            (r#""read""#, "it has no list of tools"),
            (r#"{"tools": {"read": {}}}"#, "it has no list of tools"),
            (r#"{"tools": [{"name": "a"}], "nextCursor": "x"}"#, "it is not all of them"),
            (r#"{"result": {"tools": [{"name": "a"}], "nextCursor": "x"}}"#, "it is not all of them"),
            (r#"{"error": {"code": -32601}}"#, "the server answered with an error"),
            ("[\"a\"", "it is not JSON"),
            ("read\nsend mail\n", "line 2 is more than one name"),
        ];
        for (text, expected) in rows {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_list_may_be_as_large_as_the_limit_and_no_larger() {
        let most = usize::try_from(TOOL_LIST_BYTES_MAX).unwrap();
        let list = |bytes: usize| format!("read\n#{}", "x".repeat(bytes - 6));
        assert!(parse(&list(most)).is_ok());
        assert!(parse(&list(most + 1)).unwrap_err().contains("bytes"));
    }
}
