//! What the fields of an input say about any tool: that it answers early, or runs another program.

use serde_json::{Map, Value};

use crate::programs::names::is_trusted;
use crate::programs::program::Program;
use crate::programs::table::program;
use crate::shell::read::is_script_field;

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
            path.is_empty() || (program(name).is_some_and(Program::is_posix_shell) && is_trusted(path))
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

/// Whether a call with this input may type into what it starts: some field may hold what is typed, or ask for a terminal.
#[must_use]
pub fn may_type(input: &Map<String, Value>) -> bool {
    input.keys().any(|field| !is_script_field(field) && !QUIET_FIELDS.contains(&field.as_str()))
}

fn is_no(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => ["", "0", "false", "no"].iter().any(|no| text.eq_ignore_ascii_case(no)),
        Value::Bool(true) | Value::Array(_) | Value::Object(_) => false,
    }
}

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

/// Fields of tools for scripts that type nothing: where it runs, for how long, and what for.
const QUIET_FIELDS: &[&str] = &[
    "cwd",
    "dangerouslyDisableSandbox",
    "description",
    "dir_path",
    "directory",
    "explanation",
    "is_background",
    "justification",
    "login",
    "max_output_tokens",
    "prefix_rule",
    "restart",
    "run_in_background",
    "sandbox_permissions",
    "timeout",
    "timeout_ms",
    "with_escalated_permissions",
    "workdir",
    "working_directory",
    "yield_time_ms",
];

/// Fields that give a program other variables, with which its name may mean another one.
const VARIABLE_FIELDS: &[&str] =
    &["env", "envVars", "env_vars", "environment", "environmentVariables", "environment_variables", "envs"];

/// Fields that name the shell a script is handed to.
const SHELL_FIELDS: &[&str] = &["shell", "shellPath", "shell_path"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
    fn a_call_with_a_field_of_its_own_may_type() {
        let rows = [
            (json!({ "command": "psql" }), false),
            (json!({ "command": "psql", "timeout": 1, "description": "x" }), false),
            (json!({ "command": "psql", "stdin": "drop table x" }), true),
            (json!({ "cmd": "psql", "tty": true }), true),
        ];
        for (input, may) in rows {
            assert_eq!(may_type(input.as_object().unwrap()), may, "{input}");
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
