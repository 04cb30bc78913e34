//! Policies and calls to measure on, shared by all benches.
//!
//! The rules are what people write: a fifth each of the five statements, over tools of their own, so that a
//! call touches one rule however many there are.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use lockgate::{Call, Source};

pub mod disk;
pub mod figure;
pub mod job;
pub mod pace;
pub mod shapes;
pub mod work;

/// The program as it is shipped, built if need be; `LOCKGATE` names another one.
///
/// None where it does not build.
pub fn program() -> Option<PathBuf> {
    if let Some(program) = std::env::var_os("LOCKGATE") {
        return Some(program.into());
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--quiet", "-p", "lockgate-cli"]).current_dir(workspace);
    let is_built = cargo.status().is_ok_and(|built| built.success());
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from);
    is_built.then(|| target.join("release/lockgate"))
}

/// The text of a policy with `n_rules` rules; the first rule limits `push`.
pub fn rules(n_rules: usize) -> String {
    let mut text = String::from("limit push to 9223372036854775808 per session\n");
    for number in 1..n_rules {
        let statement = match number % 5 {
            0 => format!("limit push{number} to 3 per session\n"),
            1 => format!("require backup{number} before delete{number}\n"),
            2 => format!("require human-approval before deploy{number}\n"),
            3 => format!("block shell{number}\n"),
            _ => format!("limit send{number} to 5 per read{number}\n"),
        };
        text.push_str(&statement);
    }
    text
}

/// The same as a file.
pub fn source(n_rules: usize) -> Source {
    Source::new("bench.rules", rules(n_rules))
}

/// A call that touches exactly one rule of [`rules`].
pub fn call() -> Call {
    Call::new("call-1", "push").with("branch", "main")
}

/// A when/then rule about a tool of its own, with a search in its command.
pub fn by_tool(number: usize) -> String {
    format!(
        "  - {{id: r{number}, when: {{tool: tool_{number}, args: {{command: {{regex: 'rm +-rf +/x{number}\\b'}}}}}}, then: block}}\n"
    )
}

/// A when/then rule about one tool, with a search in its command.
pub fn by_regex(number: usize) -> String {
    format!(
        "  - {{id: r{number}, when: {{tool: exec, args: {{command: {{regex: 'rm +-rf +/x{number}\\b'}}}}}}, then: block}}\n"
    )
}

/// A when/then rule about every tool, with a word in its command.
pub fn by_word(number: usize) -> String {
    format!(
        "  - {{id: r{number}, when: {{args: {{command: {{contains: 'drop table t{number};'}}}}}}, then: block}}\n"
    )
}

/// A when/then rule that names its tools by a pattern.
pub fn by_pattern(number: usize) -> String {
    format!("  - {{id: r{number}, when: {{tool: 'x{number}_.*'}}, then: block}}\n")
}

/// A file of `n_rules` when/then rules.
pub fn when_then(rule: fn(usize) -> String, n_rules: usize) -> Source {
    Source::new("bench.yaml", format!("rules:\n{}", (0..n_rules).map(rule).collect::<String>()))
}

/// A ruleset of `n_rules` check rules.
pub fn ruleset(rule: fn(usize) -> String, n_rules: usize) -> Source {
    let head =
        "apiVersion: edictum/v1\nkind: Ruleset\nmetadata: {name: bench}\ndefaults: {mode: enforce}\nrules:\n";
    Source::new("ruleset.yaml", format!("{head}{}", (0..n_rules).map(rule).collect::<String>()))
}

/// A check rule about every tool, with a word in its command.
pub fn check_contains(number: usize) -> String {
    format!(
        "  - {{id: r{number}, type: pre, tool: '*', when: {{args.command: {{contains: 'drop table t{number};'}}}}, then: {{action: block, message: no}}}}\n"
    )
}

/// A check rule about every tool, with a search in its command.
pub fn check_matches(number: usize) -> String {
    format!(
        "  - {{id: r{number}, type: pre, tool: '*', when: {{args.command: {{matches: 'rm +-rf +/x{number}$'}}}}, then: {{action: block, message: no}}}}\n"
    )
}

/// A check rule about a tool of its own.
pub fn check_tool(number: usize) -> String {
    format!(
        "  - {{id: r{number}, type: pre, tool: tool_{number}, when: {{args.command: {{contains: 'x{number}'}}}}, then: {{action: block, message: no}}}}\n"
    )
}
