//! Tools whose names and fields say what they do: the tables.
//!
//! [`runs_nothing`] and [`reads_one_file`] know the file tools of common hosts and servers, by their exact names
//! behind any `mcp__server__`. A tool that is missing may do anything. Looking at what a tool says about itself is
//! left out on purpose: whoever wrote the tool wrote that as well.

use serde_json::{Map, Value};

use crate::programs::names::is_shell;
use crate::programs::names::is_trusted;

/// Tools that show one file they are given the path of.
const READERS: &[&str] = &[
    "Read",
    "ReadFile",
    "NotebookRead",
    "cat_file",
    "open_file",
    "read",
    "read_file",
    "read_text_file",
    "view",
    "view_file",
];

/// Tools that work on files or look something up, and start no program of the agent's choice.
const OTHERS: &[&str] = &[
    "Edit",
    "Glob",
    "Grep",
    "LS",
    "MultiEdit",
    "NotebookEdit",
    "TodoRead",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
    "apply_patch",
    "create_directory",
    "create_file",
    "delete_file",
    "directory_tree",
    "edit",
    "edit_file",
    "file_search",
    "get_file_info",
    "glob",
    "google_web_search",
    "grep",
    "grep_search",
    "list_allowed_directories",
    "list_dir",
    "list_directory",
    "list_directory_with_sizes",
    "list_files",
    "move_file",
    "read_many_files",
    "read_media_file",
    "read_multiple_files",
    "search_file_content",
    "search_files",
    "search_replace",
    "todoread",
    "todowrite",
    "update_plan",
    "web_fetch",
    "web_search",
    "webfetch",
    "write",
    "write_file",
];

/// Fields with which a tool answers before its work is done, or without doing it, unless they say no.
const EARLY_FIELDS: &[&str] = &[
    "async",
    "background",
    "detach",
    "detached",
    "dryRun",
    "dry_run",
    "in_background",
    "isBackground",
    "is_background",
    "runInBackground",
    "run_in_background",
];

/// Fields with which it does so if they say no.
const WAITING_FIELDS: &[&str] = &["blocking", "wait", "wait_for_completion"];

/// Fields that give a program other variables, with which its name may mean another one.
const VARIABLE_FIELDS: &[&str] =
    &["env", "envVars", "env_vars", "environment", "environmentVariables", "environment_variables", "envs"];

/// Fields that name the shell a script is handed to.
const SHELL_FIELDS: &[&str] = &["shell", "shellPath", "shell_path"];

/// Whether a tool of this name is known to start no program, so that no command can stand in its input.
#[must_use]
pub fn runs_nothing(tool: &str) -> bool {
    let name = without_server(tool);
    READERS.contains(&name) || OTHERS.contains(&name)
}

/// Whether a tool of this name is known to do nothing but show one file.
#[must_use]
pub fn reads_one_file(tool: &str) -> bool {
    READERS.contains(&without_server(tool))
}

/// Whether a call with this input may be answered before its work is done, or without doing it: then a success
/// proves nothing.
#[must_use]
pub fn may_answer_early(input: &Map<String, Value>) -> bool {
    // Inputs have few fields, so going through them is cheaper than looking each of ours up.
    input.iter().any(|(field, value)| {
        let field = field.as_str();
        (EARLY_FIELDS.contains(&field) && !is_no(value)) || (WAITING_FIELDS.contains(&field) && is_no(value))
    })
}

/// Whether a call with this input may run another program than its commands say: it sets variables, or names a shell
/// that is none of the system's.
#[must_use]
pub fn may_run_another(input: &Map<String, Value>) -> bool {
    let is_nothing = |value: &Value| match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        other => is_no(other),
    };
    let is_plain_shell = |value: &Value| match value {
        Value::String(path) => {
            let name = path.rsplit('/').next().unwrap_or_default();
            path.is_empty() || (is_shell(name) && is_trusted(path))
        }
        Value::Null | Value::Bool(_) => true,
        Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
    };
    input.iter().any(|(field, value)| {
        let field = field.as_str();
        (VARIABLE_FIELDS.contains(&field) && !is_nothing(value))
            || (SHELL_FIELDS.contains(&field) && !is_plain_shell(value))
    })
}

/// The name without `mcp__server__`. Where a server's name ends is told by the first `__`, so that no tool can put
/// a known name behind its own.
pub fn without_server(tool: &str) -> &str {
    let named = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    named.filter(|(server, _)| !server.is_empty()).map_or(tool, |(_, name)| name)
}

fn is_no(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => ["", "0", "false", "no"].iter().any(|no| text.eq_ignore_ascii_case(no)),
        Value::Bool(true) | Value::Array(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_known_by_its_exact_name() {
        let rows = [
            ("Read", true, true),
            ("read_file", true, true),
            ("mcp__fs__read_file", true, true),
            ("mcp__fs__write_file", true, false),
            ("Write", true, false),
            ("TodoWrite", true, false),
            ("mcp__fs__Grep", true, false),
            ("Bash", false, false),
            ("READ", false, false),
            ("Read ", false, false),
            ("ReadAndRun", false, false),
            ("", false, false),
            ("mcp__read_file", false, false),
            ("mcp____read_file", false, false),
            ("mcp__evil__run__read_file", false, false),
            ("x__read_file", false, false),
            ("mcp__fs__", false, false),
        ];
        for (tool, runs_none, reads_one) in rows {
            assert_eq!((runs_nothing(tool), reads_one_file(tool)), (runs_none, reads_one), "{tool}");
        }
    }

    #[test]
    fn a_call_with_variables_or_a_shell_of_its_own_may_run_another_program() {
        let rows = [
            (json!({ "command": "x" }), false),
            (json!({ "env": { "PATH": "/tmp" } }), true),
            (json!({ "env": ["PATH=/tmp"] }), true),
            (json!({ "environment": "PATH=/tmp" }), true),
            (json!({ "env": {}, "envs": null, "environment": "" }), false),
            (json!({ "shell": "/bin/bash" }), false),
            (json!({ "shell": "zsh" }), false),
            (json!({ "shell": true }), false),
            (json!({ "shell": "/tmp/bash" }), true),
            (json!({ "shell": "true" }), true),
            (json!({ "shell": ["bash"] }), true),
        ];
        for (input, may) in rows {
            assert_eq!(may_run_another(input.as_object().unwrap()), may, "{input}");
        }
    }

    #[test]
    fn a_call_in_the_background_is_answered_early() {
        let rows = [
            (json!({ "command": "x" }), false),
            (json!({ "run_in_background": true }), true),
            (json!({ "run_in_background": false }), false),
            (json!({ "run_in_background": null }), false),
            (json!({ "is_background": "true" }), true),
            (json!({ "is_background": "False" }), false),
            (json!({ "background": 1 }), true),
            (json!({ "background": 0 }), false),
            (json!({ "background": [] }), true),
            (json!({ "dry_run": true }), true),
            (json!({ "wait": false }), true),
            (json!({ "wait": true }), false),
        ];
        for (input, is_early) in rows {
            assert_eq!(may_answer_early(input.as_object().unwrap()), is_early, "{input}");
        }
    }
}
