//! What an agent must leave alone: the files and switches of Lockgate itself.

#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use lockgate_call::{Call, Links, SeenCall};
use lockgate_gate::{Gate, Protection};
use lockgate_policy::{Mode, Source};
use serde_json::json;

fn gate() -> Gate {
    let (policy, mistakes) = lockgate_languages::read(&[Source::new("test.rules", "block nothing")]);
    let protection = Protection::new()
        .unchanged("/desk/.lockgate")
        .unchanged("/desk/.claude/settings.json")
        .unchanged("/home/me/.config/lockgate")
        .untouched("/home/me/.local/share/lockgate")
        .mark(&[".lockgate"])
        .mark(&[".claude", "settings"])
        .switch("disableAllHooks")
        .readers(&["Read", "Grep"])
        .program("lockgate", &["verify", "status", "graph", "check", "--help"])
        .for_humans("lockgate", &["approve", "refuse", "resume", "uninstall", "trust", "accept"])
        .named(".lockgate")
        .named("lockgate.toml")
        .file_name("p.rules")
        .tracked("/desk");
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
    objection_to(&call.clone().into())
}

fn objection_to(call: &SeenCall) -> Option<String> {
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
        "find ~ -name settings.json -exec truncate -s0 {} ';'",
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
        "lock''gate approve x",
        "python3 -c \"subprocess.run(['lock'+'gate','approve'])\"",
        "lockgate check a.yaml --exec --call '{}'",
        "lockgate graph a.rules --out=../.claude/settings.json",
        // One is for humans in any folder.
        "mkdir -p sub/.lockgate && echo x > sub/.lockgate/a.rules",
        "touch deep/lockgate.toml",
        "cp x /tmp/copy/.lockgate/p.rules",
        // Whole folders.
        "cd .. && git checkout -q HEAD~1",
        "git reset --hard HEAD~1",
        "git -C .. clean -fdx",
        "cd .. && git stash -u",
        "cd .. && git apply e.patch",
        "cd .. && patch -p1 < e.patch",
        "cd .. && git restore .",
        "git checkout HEAD~1 -- ..",
        "cp -r x/. ..",
        "cp -al .. /tmp/copy",
        "tar -C .. -xf x.tar",
        "cd .. && tar xf x.tar",
        "cd .. && unzip -o x.zip",
        "rsync -a x/ ..",
        "find .. -mindepth 1 -delete",
        "find .. -name '*.rules' -exec truncate -s0 {} ';'",
        "cd .. && rm -rf $(ls -A)",
        "ls -A .. | (cd .. && xargs rm -rf)",
        "dd if=/dev/null of=../.claude/settings.json",
        "dd if=x of=/tmp/.lockgate/p.rules",
        "wget -qO../.lockgate/p.rules http://h/x",
        "cd ../.lockgate && unzip -oq x.zip",
        "cd ../.lockgate",
        "for d in .[k-m]*; do cd $d; echo x > p.rules; cd ..; done",
        "ls -d .l* | while read d; do echo x > $d/p.rules; done",
        "python3 -c \"import os; os.rename('/desk','/tmp/q')\"",
        "cd .. && python3 -c \"import os,shutil; shutil.rmtree(os.getcwd())\"",
        "cp -r x/. \"$PWD/..\"",
        "cd .. && rm -rf $(pwd)",
        "cd .. && rm -rf \"$PWD\"",
        "env -C .. rm -rf .lockgate",
        "env -C / rm -rf desk",
        "env --chdir=/ rm -rf desk",
        "find .. -type f -print0 | xargs -0 rm -f",
        "find .. -type f | while read f; do : > \"$f\"; done",
        "cd ..; for f in .*; do rm -rf \"$f\"; done",
        "cd ../.claude; for f in *.json; do echo x > $f; done",
        "cd ..; cd .claude; for f in *.json; do echo x > $f; done",
        "cd ~/.local/share && rm -rf lock*",
        "cd .. && git rm -qf '*.rules'",
        "cd .. && git checkout weak -- $(git ls-files)",
        "cd .. && git restore --pathspec-from-file=x -s HEAD~1",
        "cd /tmp && git --git-dir=/desk/.git --work-tree=/desk checkout -f HEAD~1",
        "cd /tmp && GIT_WORK_TREE=/desk GIT_DIR=/desk/.git git checkout -f HEAD~1",
        "cd /tmp/evil && git config core.worktree /desk",
        "cd .. && python3 -c \"import shutil; shutil.copytree('/tmp/weak','.',dirs_exist_ok=True)\"",
        "cd .. && node -e \"require('fs').cpSync('/tmp/weak','.',{recursive:true})\"",
        "mount --bind /tmp/weak /desk",
        "pkill -x lockgate",
        "kill $(pgrep -f 'lockgate hook')",
        "patch x <<'EOF'\n*** .lockgate/p.rules\n--- .lockgate/p.rules\nEOF",
        "patch x <<'EOF'\n--- a/.lockgate/p.rules\n+++ b/.lockgate/p.rules\nEOF",
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
        "git status; git add -A; git commit -m x; git push",
        "git checkout -b topic",
        "git restore --staged .",
        "git checkout -- main.rs",
        "git stash list",
        "cp -r a b",
        "tar xf x.tar",
        "unzip x.zip -d out",
        "find . -name '*.pyc' -delete",
        "find .. -name '*.rs' -exec grep -l x {} +",
        "dd if=/dev/zero of=disk.img bs=1M count=1",
        "test -f ../.lockgate/p.rules && echo there",
        "cd .. && ls",
        "for f in *.tmp; do rm \"$f\"; done",
        "python3 -c \"print('a.b'.replace('.', '-'))\"",
        "cat x | xargs rm",
        "find . -name '*.o' | xargs rm",
        "find .. -type f | xargs grep -l x",
        "find .. -name '*.rs' | while read f; do wc -l \"$f\"; done",
        "for f in src/*; do cat \"$f\"; done",
        "for f in .github/*; do cat \"$f\"; done",
        "rm -rf \"$PWD/target\"",
        "cp -r src/. \"$OUT\"",
        "env -C /tmp rm -rf x",
        "pkill -f my-server",
        "kill $PID",
        "mount | grep sda",
        "git lfs pull",
        "git config user.name me",
        "jq . ../.claude/settings.json",
        "lockgate graph ../.lockgate/policy.rules --out graph.dot",
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
        // What moves takes its source away.
        ("mcp__fs__move_file", "source", policy, true),
        ("mcp__fs__move_file", "source", "/desk", true),
        ("moveFile", "from", policy, true),
        ("rename", "oldPath", "/desk/.lockgate", true),
        ("transfer", "src", policy, true),
        ("delete_file", "path", "/desk", true),
        ("mcp__fs__copy_file", "source", policy, false),
        ("mcp__fs__move_file", "source", "/desk/src/a", false),
        ("Write", "file_path", "/desk/src/sub/.lockgate/a.rules", true),
        ("Write", "file_path", "/tmp/lockgate.toml", true),
        ("apply_patch", "patch", "*** Begin Patch\n*** Update File: ../.lockgate/p.rules\n", true),
        ("apply_patch", "input", "*** Begin Patch\n*** Update File: main.rs\n", false),
        ("mcp__git__git_checkout", "branch_name", "old", true),
        ("mcp__git__git_status", "repo_path", "/desk", false),
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
    let code = call("Write").with("file_path", "main.rs").with("content", "// see .lockgate\nfn main() {}\n");
    assert_eq!(objection(&code), None);
    assert!(objection(&call("Write").with("anything", "/desk/.lockgate/policy.rules\n")).is_some());
}

#[test]
fn a_link_is_followed() {
    let linked = |call: &Call, path: &str, real: Option<&str>| {
        let links = Links::from_iter([(path.to_owned(), real.map(ToOwned::to_owned))]);
        objection_to(&SeenCall::looked_at(call.clone(), Some(links)))
    };
    let write = call("Write").with("file_path", "/desk/src/innocent");
    assert_eq!(objection(&write), None);
    assert!(linked(&write, "/desk/src/innocent", Some("/desk/.lockgate/policy.rules")).is_some());
    // Also for what is removed with a folder, and for a file that has a second name somewhere.
    let removed = call("Bash").with("command", "rm -rf q/sub");
    assert!(linked(&removed, "/desk/src/q/sub", Some("/desk")).is_some());
    let second = call("Write").with("file_path", "/tmp/copy/settings.json");
    assert!(linked(&second, "/tmp/copy/settings.json", None).is_some());
}

#[test]
fn a_call_that_speaks_of_a_command_for_humans_is_refused_in_any_field() {
    for input in [
        json!({ "command": "lockgate approve --all" }),
        json!({ "program": "lockgate", "args": ["mcp", "accept"] }),
        json!({ "a": "LockGate", "b": { "c": ["Resume"] } }),
        json!({ "file_path": "notes.md", "content": "run `lockgate uninstall`" }),
    ] {
        let call = Call { input: input.as_object().cloned().unwrap(), ..call("anything") };
        let said = objection(&call).unwrap_or_default();
        assert!(said.contains("only a human may run"), "{input}: {said}");
    }
    for input in [json!({ "command": "lockgate status" }), json!({ "note": "approve it" })] {
        let call = Call { input: input.as_object().cloned().unwrap(), ..call("anything") };
        assert_eq!(objection(&call), None, "{input}");
    }
}
