#![cfg(unix)]
//! The page "Protect Claude Code in three commands" and the pages to start with, played to the letter against the real program.
//!
//! Blocks marked `console` hold commands behind `$` and what they print; `…` stands for any text, alone in a line for any
//! lines. Blocks of JSON, TOML and rules with a name are files of the project; other blocks are not played. `exit=N` is the exit code, `human` is typed by a
//! human at a terminal, `background` goes on while the next blocks are played and has to let the call pass in the end.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use std::{fs, io::Write, os::unix::fs::PermissionsExt, path::Path, process::Child};

use crate::world::{Said, World};
use lockgate_testkit::human::{Desk, Typed};
use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/claude-code.md");

/// Other pages whose commands are run, each with how many it has at least.
const STARTS: [(&str, &str, usize); 3] = [
    ("mcp", include_str!("../../../docs/start/mcp.md"), 4),
    ("team-server", include_str!("../../../docs/start/team-server.md"), 3),
    ("security-reviewer", include_str!("../../../docs/start/security-reviewer.md"), 7),
];

/// A fenced block: the words behind its fence, and its lines.
fn blocks(page: &'static str) -> Vec<(Vec<&'static str>, Vec<&'static str>)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let body = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((info.split_whitespace().collect(), body));
        }
    }
    blocks
}

/// Whether a line is what the page says.
fn is_like(line: &str, told: &str) -> bool {
    let mut parts = told.split('…').peekable();
    let mut rest = match line.strip_prefix(parts.next().unwrap_or_default()) {
        Some(rest) => rest,
        None => return false,
    };
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.is_empty()
}

/// Whether an output is what the page says.
fn is_told(lines: &[&str], told: &[&str]) -> bool {
    match told {
        [] => lines.is_empty(),
        ["…", rest @ ..] => (0..=lines.len()).any(|skip| is_told(&lines[skip..], rest)),
        [first, rest @ ..] => {
            lines.first().is_some_and(|line| is_like(line, first)) && is_told(&lines[1..], rest)
        }
    }
}

#[test]
fn what_the_page_says_is_compared_to_the_letter() {
    for (line, told, expected) in [
        ("abc", "abc", true),
        ("abc", "ab", false),
        ("abc", "a…", true),
        ("abc", "…c", true),
        ("abc", "a…x", false),
        ("a b c", "a … c", true),
        ("", "", true),
        ("x", "", false),
    ] {
        assert_eq!(is_like(line, told), expected, "{line} {told}");
    }
    assert!(is_told(&["a", "b", "c"], &["a", "…", "c"]) && is_told(&["a"], &["…", "a", "…"]));
    assert!(!is_told(&["a", "b"], &["a"]) && !is_told(&["a"], &["a", "b"]) && !is_told(&[], &["a"]));
}

/// A project of its own, with programs named as on the page: `lockgate` is the one that was built, and the stand-in for
/// cargo installs nothing but looks whether what it is told to install is there.
fn page_world(name: &str) -> World {
    let world = World::without_human(&format!("page-{name}"));
    fs::create_dir_all(world.path("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_lockgate"), world.path("bin/lockgate")).unwrap();
    let clone = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().parent().unwrap();
    let cargo = format!(
        "#!/bin/sh\ntest \"$1 $2\" = 'install --path' && grep -q 'name = \"lockgate\"' '{}'/\"$3\"/Cargo.toml\n",
        clone.display()
    );
    world.write("bin/cargo", &cargo);
    fs::set_permissions(world.path("bin/cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    world
}

/// Runs a line of the page; hooks run below a process that stands for the agent.
fn run(world: &World, line: &str) -> Said {
    match line.strip_prefix("lockgate hook claude-code < ") {
        Some(file) => Said::of(hook(world, file)),
        None => {
            let mut command = world.command_of(Path::new("/bin/sh"), &["-c", line]);
            Said(command.env("PATH", path(world)).output().unwrap())
        }
    }
}

fn path(world: &World) -> String {
    format!("{}:/usr/bin:/bin", world.path("bin").display())
}

fn hook(world: &World, file: &str) -> Child {
    let mut child = world.agent_of(&["hook", "claude-code"]).spawn().unwrap();
    child.stdin.take().unwrap().write_all(world.read(&format!("project/{file}")).as_bytes()).unwrap();
    child
}

fn run_as_human(world: &World, line: &str) -> Said {
    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
    let mut desk = Desk::new(&world.path("bin/lockgate"), &words);
    desk.command.current_dir(world.path("project")).env_clear();
    desk.command.env("HOME", world.path("home")).env("PATH", path(world));
    desk.command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    Said(desk.run(Typed::Word).output)
}

#[test]
fn claude_code_is_protected_in_three_commands() {
    let world = page_world("claude-code");
    let Played { waiting, commands } = play(&world, PAGE);
    // The hook that waited goes on, and the answer was the human's.
    assert_eq!(waiting.len(), 1);
    for child in waiting {
        let said = Said::of(child);
        assert_eq!((said.code(), said.out().as_str()), (Some(0), ""), "{}", said.err());
    }
    // The title says how many it takes.
    assert_eq!(
        commands.get(..3),
        Some(
            &[
                "cargo install --path crates/cli",
                "lockgate init claude-code --yes",
                "lockgate doctor claude-code"
            ][..]
        )
    );
    assert!(!world.path("project/.claude/settings.local.json").exists());
    assert!(world.path("project/.lockgate/policy.rules").exists());
}

#[test]
fn the_pages_to_start_with_do_what_they_say() {
    for (name, page, count) in STARTS {
        let commands = play(&page_world(name), page).commands;
        assert!(commands.len() >= count, "{name} has lost its commands: {commands:?}");
    }
}

/// What came of a page: hooks that wait, and all commands.
struct Played {
    waiting: Vec<Child>,
    commands: Vec<&'static str>,
}

fn play(world: &World, page: &'static str) -> Played {
    let mut waiting: Vec<Child> = Vec::new();
    let mut commands = Vec::new();
    for (info, lines) in blocks(page) {
        match info.as_slice() {
            ["json" | "toml" | "rules", file] => {
                let text = lines.join("\n");
                if file.ends_with(".json") && !file.starts_with('.') {
                    let event: Value = serde_json::from_str(&text).unwrap();
                    assert_eq!(event["hook_event_name"], "PreToolUse", "{file}");
                }
                world.write(&format!("project/{file}"), &text);
            }
            ["console", options @ ..] => {
                let mut lines = lines.as_slice();
                while let [first, rest @ ..] = lines {
                    let line = first.strip_prefix("$ ").unwrap_or_else(|| panic!("not a command: {first}"));
                    let end = rest.iter().position(|line| line.starts_with("$ ")).unwrap_or(rest.len());
                    let (told, next) = rest.split_at(end);
                    lines = next;
                    commands.push(line);
                    if options.contains(&"background") {
                        waiting.push(hook(world, line.strip_prefix("lockgate hook claude-code < ").unwrap()));
                        continue;
                    }
                    if line == "lockgate pending" {
                        wait_for_questions(world, 2);
                    }
                    let said = match options.contains(&"human") {
                        true => run_as_human(world, line),
                        false => run(world, line),
                    };
                    let code = options.iter().find_map(|option| option.strip_prefix("exit="));
                    let code = code.map_or(0, |code| code.parse().unwrap());
                    assert_eq!(said.code(), Some(code), "{line}: {}{}", said.out(), said.err());
                    let out = said.out();
                    let out: Vec<&str> = out.lines().collect();
                    assert!(is_told(&out, told), "{line}: told {told:#?}, printed {out:#?} {}", said.err());
                }
            }
            ["sh" | "text"] => {}
            _ => panic!("what is to be done with a block of {info:?}?"),
        }
    }
    Played { waiting, commands }
}

fn wait_for_questions(world: &World, count: usize) {
    for _ in 0..600 {
        let said = world.lockgate(&["pending", "--json"]);
        if said.json()["questions"].as_array().is_some_and(|questions| questions.len() == count) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("the question never came");
}
