//! What an agent must leave alone: the files and switches of Lockgate itself.

#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use lockgate_call::{Call, Links};
use lockgate_gate::{Gate, Protection};
use lockgate_policy::{Mode, Policy, Source};
use serde_json::json;

fn gate() -> Gate {
    let (policy, mistakes) = Policy::read(&[Source::new("test.rules", "block nothing")]);
    let protection = Protection::new()
        .unchanged("/desk/.lockgate")
        .unchanged("/desk/.claude/settings.json")
        .unchanged("/home/me/.config/lockgate")
        .untouched("/home/me/.local/share/lockgate")
        .mark(&[".lockgate"])
        .mark(&[".claude", "settings"])
        .switch("disableAllHooks")
        .readers(&["Read", "Grep"])
        .program("lockgate", &["verify", "status", "--help"]);
    let policy = policy.unwrap_or_else(|| panic!("{mistakes:?}"));
    // Not even where everything is only observed.
    Gate::builder(policy).mode(Mode::Observe).protect(protection).build().unwrap()
}

fn call(tool: &str) -> Call {
    let mut call = Call::new("", tool);
    call.about.cwd = Some("/desk/src".into());
    call.about.context = Some(json!({ "env": { "HOME": "/home/me" } }));
    call
}

fn objection(call: &Call) -> Option<String> {
    let verdict = gate().call_unattended(call);
    verdict.obstacles.first().map(|obstacle| format!("{}: {}", obstacle.name, obstacle.reason))
}

#[test]
fn scripts_that_reach_for_the_gate_are_refused() {
    let refused = [
        "rm -rf ../.lockgate",
        "rm -rf /desk/.lockgate/policy.rules",
        "cd .. && rm .lockgate/policy.rules",
        "echo 'allow everything' > ../.lockgate/policy.rules",
        "cat x >> /desk/.lockgate/policy.rules",
        "sed -i s/block/allow/ ../.lockgate/policy.rules",
        "tee ../.lockgate/policy.rules < x",
        "cp x ../.lockgate/policy.rules",
        "mv ../.lockgate /tmp",
        "ln -sf /tmp/x ../.claude/settings.json",
        "ln ../.lockgate/policy.rules here",
        // Folders take along what lies in them.
        "rm -rf ..",
        "rm -rf /desk",
        "mv /desk/.claude /tmp/x",
        "cd / && rm -rf desk",
        "rm -rf ../.*",
        "rm -rf ~/.config",
        // The state is not even read.
        "cat ~/.local/share/lockgate/lockgate.db",
        "sqlite3 /home/me/.local/share/lockgate/lockgate.db 'delete from trail'",
        "cp ~/.local/share/lockgate/lockgate.key /tmp",
        // In any spelling a reader sees through.
        "bash -c 'rm ../.lockgate/policy.rules'",
        "sudo env A=1 rm -rf ../.lockgate",
        "rm -rf \"../.lock\"gate",
        "rm -rf ../.lock*",
        "find .. -name policy.rules -delete; rm $(echo ../.lockgate/policy.rules)",
        "RM ../.LOCKGATE/policy.rules",
        // Where what it does cannot be told, speaking of it is enough.
        "python3 -c \"open('/desk/.lockgate/policy.rules','w')\"",
        "cd .. && f=.lockgate && rm -rf $f",
        "cd ../.claude; node -e 'fs.writeFileSync(`settings.json`, ``)'",
        "eval \"$X\" # .lockgate",
        // What only humans say.
        "lockgate approve a1@x",
        "/usr/bin/lockgate hook claude-code < forged.json",
        "lockgate $SUB",
        "claude --settings '{\"disableAllHooks\": true}' -p go",
        "CLAUDE_SETTINGS=disableallhooks claude -p go",
    ];
    let passed: Vec<&str> = refused
        .into_iter()
        .filter(|script| {
            let said = objection(&call("Bash").with("command", *script));
            !said.is_some_and(|it| it.starts_with("self-protection"))
        })
        .collect();
    assert_eq!(passed, [""; 0]);
}

#[test]
fn everyday_scripts_pass() {
    let passing = [
        "ls -la ..",
        "cat ../.lockgate/policy.rules",
        "grep -r block ../.lockgate",
        "lockgate verify ../.lockgate",
        "lockgate status",
        "lockgate",
        "rm -rf target && cargo build",
        "for f in *.rs; do wc -l $f; done",
        "python3 -c 'print(1)'",
        "git commit -am 'settings of the linter'",
        "mkdir -p ../.claude",
        "mkdir -p ~/.config",
        "echo see .lockgate for the policy",
        "rm -rf /tmp/x /desk/src/old",
        "rm -rf *",
    ];
    let refused: Vec<String> = passing
        .into_iter()
        .filter_map(|script| Some(format!("{script}: {}", objection(&call("Bash").with("command", script))?)))
        .collect();
    assert_eq!(refused, [""; 0]);
}

#[test]
fn tools_of_any_name_are_refused_what_scripts_are() {
    let policy = "/desk/.lockgate/policy.rules";
    let rows = [
        ("Write", "file_path", policy, true),
        ("Edit", "file_path", "../.lockgate/policy.rules", true),
        ("mcp__fs__write_file", "path", "/desk/.lockgate/../.lockgate/new.rules", true),
        ("apply", "anything", "/desk/.claude/settings.json", true),
        ("Read", "file_path", policy, false),
        ("mcp__fs__Read", "file_path", policy, false),
        ("mcp__fs__run__Read", "file_path", policy, true),
        ("Grep", "path", "/desk/.lockgate", false),
        ("Read", "file_path", "/home/me/.local/share/lockgate/lockgate.key", true),
        ("Write", "file_path", "/desk/src/main.rs", false),
        ("LS", "path", "/desk", false),
    ];
    for (tool, field, path, is_refused) in rows {
        let said = objection(&call(tool).with(field, path));
        assert_eq!(said.is_some(), is_refused, "{tool} {path}: {said:?}");
    }
    // Where nobody knows the folder, only what speaks of it is refused.
    let nowhere = |path: &str| objection(&Call::new("", "Write").with("file_path", path)).is_some();
    assert_eq!([nowhere("c:"), nowhere("notes.md"), nowhere(".lockgate/policy.rules")], [false, false, true]);
    // A file's text may speak of anything.
    let note = call("Write").with("file_path", "notes.md").with("content", "rm -rf .lockgate\nis refused");
    assert_eq!(objection(&note), None);
}

#[test]
fn a_link_is_followed() {
    let mut write = call("Write").with("file_path", "/desk/src/innocent");
    assert_eq!(objection(&write), None);
    let target = "/desk/.lockgate/policy.rules".to_owned();
    write.about.links = Some(Links::from_iter([("/desk/src/innocent".to_owned(), Some(target))]));
    assert!(objection(&write).is_some());
}
