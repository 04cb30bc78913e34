//! Policies and calls to measure on, shared by all benches.
//!
//! The rules are what people write: a fifth each of the five statements, over tools of their own, so that a
//! call touches one rule however many there are.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use lockgate::engine::{Call, Source};

pub mod agentdojo;
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
    cargo.args(["build", "--profile", "dist", "--quiet", "-p", "lockgate-cli"]).current_dir(workspace);
    let is_built = cargo.status().is_ok_and(|built| built.success());
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from);
    is_built.then(|| target.join("dist/lockgate"))
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

/// How rules hang together in [`linked`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Each tool waits for the one before.
    Chain,
    /// Each tool opens two others.
    Tree,
    /// One tool opens all others.
    Star,
    /// Each tool waits for the one above it and the one to its left.
    Grid,
}

impl Links {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Chain, Self::Tree, Self::Star, Self::Grid];

    /// Which tool opens which, without end.
    fn pairs(self) -> Box<dyn Iterator<Item = (usize, usize)>> {
        match self {
            Self::Chain => Box::new((0..).map(|tool| (tool, tool + 1))),
            Self::Tree => Box::new((0..).map(|tool| (tool / 2, tool + 1))),
            Self::Star => Box::new((1..).map(|tool| (0, tool))),
            // Square after square: each side of the next one waits for itself and for the square before.
            Self::Grid => Box::new((1..).flat_map(|side: usize| {
                let tool = |row: usize, column: usize| {
                    let ring = row.max(column);
                    if row == ring { ring * ring + column } else { ring * ring + ring + 1 + row }
                };
                let below = (0..=side).flat_map(move |column| {
                    let above = (tool(side - 1, column), tool(side, column));
                    let left = column.checked_sub(1).map(|left| (tool(side, left), tool(side, column)));
                    (column < side).then_some(above).into_iter().chain(left)
                });
                let beside = (0..side).flat_map(move |row| {
                    let left = (tool(row, side - 1), tool(row, side));
                    let above = row.checked_sub(1).map(|above| (tool(above, side), tool(row, side)));
                    std::iter::once(left).chain(above)
                });
                let corner = (tool(side - 1, side), tool(side, side));
                beside.chain(below).chain([corner])
            })),
        }
    }
}

/// Which rules stand beside the links in [`linked`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guards {
    /// None.
    Bare,
    /// Every tool has a limit and asks a human.
    Limited,
    /// The same, and a tool may be called twice for each call of the one that opens it.
    Mixed,
}

impl Guards {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bare, Self::Limited, Self::Mixed];
}

/// The text of a policy with `n_rules` rules that all hang together.
pub fn linked(links: Links, n_rules: usize, guards: Guards) -> String {
    let (mut text, mut count, mut known) = (String::new(), 0, BTreeSet::new());
    for (before, then) in links.pairs() {
        let mut lines = vec![format!("require t{before} before t{then}\n")];
        if guards == Guards::Mixed {
            lines.push(format!("limit t{then} to 2 per t{before}\n"));
        }
        for tool in [before, then].into_iter().filter(|tool| guards != Guards::Bare && known.insert(*tool)) {
            lines.push(format!("limit t{tool} to 3 per session\n"));
            lines.push(format!("require human-approval before t{tool}\n"));
        }
        for line in lines {
            if count == n_rules {
                return text;
            }
            text.push_str(&line);
            count += 1;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_rules_are_as_many_as_wanted_and_all_in_one_group_without_a_circle() {
        for (links, guards) in Links::ALL.into_iter().flat_map(|links| Guards::ALL.map(|it| (links, it))) {
            let text = linked(links, 200, guards);
            assert_eq!(text.lines().count(), 200);
            let distinct: BTreeSet<&str> = text.lines().collect();
            assert_eq!(distinct.len(), 200, "{links:?}");
            let rulebook = lockgate::engine::gate::Rulebook::new(lockgate::Policy::rules(&text).unwrap());
            let proved = lockgate::engine::prover::prove(&rulebook);
            let is_error = |code: &str| proved.findings.iter().any(|it| it.diagnostic.code == code);
            assert!(!is_error("circular") && !is_error("dead-tool"), "{links:?}");
            // Asking a human hangs together with nothing.
            assert_eq!(proved.components, 1, "{links:?}");
        }
    }
}
