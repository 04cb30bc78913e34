//! Policies that would let everything pass without a word: every door refuses them or says so.
#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests may panic like the tests")]

use crate::world::World;
use serde_json::{Value, json};

/// The findings of `lockgate verify` on a text, as `severity[code]`, and its exit code.
fn verified(world: &World, file: &str, text: &str, options: &[&str]) -> (Vec<String>, i32) {
    world.write(&format!("project/{file}"), text);
    let words: Vec<&str> = ["verify", file, "--json"].iter().chain(options).copied().collect();
    let said = world.lockgate(&words);
    let answer: Value = serde_json::from_str(&said.out()).unwrap_or_else(|_| panic!("{}", said.err()));
    let findings = answer.get("findings").and_then(|it| it.as_array()).unwrap().iter();
    let codes =
        findings.map(|it| format!("{}[{}]", it["severity"].as_str().unwrap(), it["code"].as_str().unwrap()));
    (codes.collect(), said.code().unwrap())
}

#[test]
fn every_void_line_gets_its_finding() {
    let world = World::new("void-lines");
    let claude = &["--agent", "claude-code"][..];
    let own = "require test before deploy\nlimit deploy to 3 per session\n";
    for (text, options, expected, code) in [
        ("", &[][..], "error[no-rules]", 1),
        ("# require test before deploy # block rm\n", &[], "error[no-rules]", 1),
        ("mode observe\n", &[], "error[no-rules]", 1),
        ("claim never delete before backup\n", &[], "error[no-rules]", 1),
        ("map any shell running rm as delete\n", &[], "error[no-rules]", 1),
        ("script a.b\n", &[], "error[no-rules]", 1),
        ("block bash\n", claude, "error[misspelt]", 1),
        ("map bash running rm as delete\nblock delete\n", claude, "error[misspelt]", 1),
        ("map bash running rm as delete\nblock delete\n", claude, "error[matches-nothing]", 1),
        ("block rm\n", &[], "warning[program-name]", 0),
        ("block git\n", &[], "warning[program-name]", 0),
        ("block rm\n", claude, "error[program-name]", 1),
        ("block Bash(rm *)\n", &[], "error[permission-syntax]", 1),
        ("require human-approval before Bash(git push:*)\n", &[], "error[permission-syntax]", 1),
        ("block Bash(ls)\n", &[], "error[permission-syntax]", 1),
        ("block file_*\n", &[], "error[wildcard]", 1),
        ("limit mcp__fs__* to 3 per session\n", &[], "error[wildcard]", 1),
        ("limit deploy to 3 per hour\n", &[], "error[looks-like-time]", 1),
        ("limit deploy to 3 per Day\n", &[], "error[looks-like-time]", 1),
        ("limit deploy to 3 per 24h\n", &[], "error[looks-like-time]", 1),
        ("require approval before deploy\n", &[], "error[looks-like-keyword]", 1),
        ("require human before deploy\n", &[], "error[looks-like-keyword]", 1),
        ("require human_approval before deploy\n", &[], "error[looks-like-keyword]", 1),
        ("require confirm before deploy\n", &[], "warning[looks-like-keyword]", 0),
        ("require human approval before deploy\n", &[], "error[token-count]", 1),
        ("require test before deploy\nlimit deply to 3 per session\n", &[], "warning[misspelt]", 0),
        ("require test before deploy\nlimit depoly to 3 per session\n", &[], "warning[misspelt]", 0),
        ("block deploy\nrequire test before deploy\n", &[], "warning[redundant]", 0),
        ("block deploy\nlimit deploy to 3 per session\n", &[], "warning[redundant]", 0),
        ("block deploy,build\n", &[], "error[literal-name]", 1),
        ("block 'deploy'\n", &[], "error[literal-name]", 1),
        ("block deploy;\n", &[], "error[literal-name]", 1),
        ("block everything\n", &[], "error[looks-like-keyword]", 1),
        ("block deletion\n", &[], "error[looks-like-keyword]", 1),
        ("block any deletions\n", &[], "error[unknown-effect]", 1),
        ("limit all to 3 per session\n", &[], "error[looks-like-keyword]", 1),
        ("tools pair = a or b\nblock a\nclaim pair impossible\n", &[], "error[expected-word]", 1),
        ("tools pair = a or b\nblock a\nexample: pair -> allow\n", &[], "error[expected-word]", 1),
        (own, claude, "error[matches-nothing]", 1),
        (own, claude, "warning[unknown-tool]", 1),
    ] {
        let (findings, ended) = verified(&world, "a.rules", text, options);
        assert!(findings.iter().any(|it| it == expected), "{text:?} {options:?}: {findings:?}");
        assert_eq!(ended, code, "{text:?} {options:?}: {findings:?}");
    }
}

#[test]
fn what_is_in_order_stays_quiet() {
    let world = World::new("void-quiet");
    world.write("project/tools", "hour\napproval\nrm\ndeploy\n");
    let own = "map bash running rm as delete\nrequire backup before delete\nlimit deploy to 3 per session\n";
    for (text, options) in [
        (own, &[][..]),
        ("require read before reads\nblock charge\nblock change\n", &[]),
        ("require build before undeploy\nblock deploy\nlimit deploys to 1 per session\n", &[]),
        ("limit deploy to 3 per hour\n", &["--tools", "tools"]),
        ("require approval before deploy\n", &["--tools", "tools"]),
        ("block rm\n", &["--tools", "tools"]),
        ("map any shell running rm as rm\nblock rm\n", &["--agent", "claude-code"]),
        ("map any shell running rm as rm\nblock rm\n", &["--agent", "opencode"]),
        ("block mcp__github__delete_repository\n", &["--agent", "claude-code"]),
        ("block bash\n", &["--agent", "opencode"]),
        ("block Bash\n", &["--agent", "codex"]),
        // A tool that the author names elsewhere as one is a tool.
        ("limit search to 3 per day\nblock day\n", &[]),
        ("require approval before deploy\nlimit approval to 3 per session\n", &[]),
    ] {
        let (findings, ended) = verified(&world, "a.rules", text, options);
        let loud: Vec<&String> = findings.iter().filter(|it| !it.starts_with("note")).collect();
        assert!(loud.is_empty() && ended == 0, "{text:?} {options:?}: {findings:?}");
    }
}

#[test]
fn when_then_files_are_looked_at_alike() {
    let world = World::new("void-yaml");
    for (text, expected) in [
        ("rules: []\n", "error[no-rules]"),
        ("rules: [{id: a, enabled: false, then: block, when: {tool: x}}]\n", "warning[no-rules]"),
        ("rules: [{id: a, then: block, when: {tool: '.*'}}]\n", "warning[broad]"),
        ("rules: [{id: a, then: block, when: {tool: x}}]\n", "note[missing-message]"),
        ("rules: [{id: a, then: block, when: {tool: rm}}]\n", "warning[program-name]"),
        (
            "rules: [{id: a, then: block, message: Large or foreign., when: {tool: pay, args_match: {amount: {gt: 5}, \
             land: {eq: X}}}}]\n",
            "note[both-must-hold]",
        ),
    ] {
        let (findings, _) = verified(&world, "a.yaml", text, &[]);
        assert!(findings.iter().any(|it| it == expected), "{text:?}: {findings:?}");
    }
}

#[test]
fn warnings_are_told_beside_errors_and_fail_where_that_is_wanted() {
    let world = World::new("void-strict");
    let (findings, code) =
        verified(&world, "a.rules", "block rm\nlimit a to 0 per session\nblock b\nblock b\n", &[]);
    assert_eq!(code, 1);
    for expected in ["warning[program-name]", "error[bad-count]", "warning[duplicate-rule]"] {
        assert!(findings.iter().any(|it| it == expected), "{findings:?}");
    }
    let twice = "block b\nblock b\n";
    assert_eq!(verified(&world, "a.rules", twice, &[]).1, 0);
    assert_eq!(verified(&world, "a.rules", twice, &["--strict"]).1, 1);
    assert_eq!(verified(&world, "a.rules", "block b\n", &["--strict"]).1, 0);
}

#[test]
fn findings_come_in_the_forms_of_other_programs() {
    let world = World::new("void-forms");
    world.write("project/a.rules", "block rm\n");
    let github = world.lockgate(&["verify", "a.rules", "--format", "github"]);
    let first = github.out().lines().next().unwrap().to_owned();
    assert!(
        first.starts_with(
            "::warning file=a.rules,line=1,col=7,endLine=1,endColumn=9,title=program-name::`rm` is a program"
        ),
        "{first}"
    );
    let sarif = world.lockgate(&["verify", "a.rules", "--format", "sarif"]);
    let log: Value = serde_json::from_str(&sarif.out()).unwrap();
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(log["runs"][0]["results"][0]["ruleId"], "program-name");
    let json = world.lockgate(&["verify", "a.rules", "--format", "json"]);
    assert_eq!(json.out(), world.lockgate(&["verify", "a.rules", "--json"]).out());
}

fn event(world: &World) -> String {
    json!({
        "session_id": "s", "transcript_path": "/dev/null", "cwd": world.path("project"), "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1",
    })
    .to_string()
}

/// An editor empties a file before it writes it: whatever comes in between must be refused.
#[test]
fn every_door_refuses_a_file_without_a_rule() {
    for (number, text) in
        ["", "# nothing\n", "mode observe\n", "claim a possible\n", "map Bash running rm as d\n"]
            .into_iter()
            .enumerate()
    {
        let world = World::with(&format!("void-doors-{number}"), text, "");
        let hook = world.hook("claude-code", &event(&world));
        let told = format!("{}{}", hook.out(), hook.err());
        assert!(hook.code() == Some(2) || hook.out().contains("\"deny\""), "{text:?}: {told}");
        assert!(told.contains("has no rule"), "{text:?}: {told}");
        let policy = ".lockgate/policy.rules";
        for words in [
            &["check", policy, "--call", r#"{"tool": "Bash"}"#][..],
            &["gate", policy],
            &["mcp", "--policy", policy, "--", "true"],
        ] {
            let said = world.lockgate(words);
            assert_eq!(said.code(), Some(2), "{text:?} {words:?}: {}", said.err());
            assert!(said.err().contains("no-rules"), "{text:?} {words:?}: {}", said.err());
        }
        assert_eq!(world.lockgate(&["verify", policy]).code(), Some(1), "{text:?}");
    }
}

#[test]
fn one_void_file_of_two_is_refused_and_named() {
    let world = World::with("void-second", "block rm2\n", "");
    world.write("project/.lockgate/second.rules", "");
    let said = world.lockgate(&["check", ".lockgate", "--call", r#"{"tool": "rm2"}"#]);
    assert_eq!(said.code(), Some(2), "{}", said.err());
    assert!(said.err().contains("second.rules` has no rule"), "{}", said.err());
}

#[test]
fn a_policy_that_matches_nothing_is_told_at_every_door() {
    let world = World::with("void-agent", "map bash running rm as delete\nblock delete\n", "");
    let hook = world.hook("claude-code", &event(&world));
    assert_eq!(hook.code(), Some(0));
    assert!(hook.err().contains("no rule of this policy can match a tool of claude-code"), "{}", hook.err());
    assert_eq!(world.lockgate(&["init", "claude-code", "--yes"]).code(), Some(0));
    let doctor = world.lockgate(&["doctor", "claude-code"]);
    assert!(doctor.out().contains("matches-nothing"), "{}", doctor.out());
    assert_eq!(doctor.code(), Some(1));
    // The policy in force is verified for the agents whose hooks it is behind.
    let verify = world.lockgate(&["verify", ".lockgate"]);
    assert!(verify.out().contains("error[matches-nothing]"), "{}", verify.out());
    assert_eq!(verify.code(), Some(1));
    let policy = ".lockgate/policy.rules";
    let gate = world.lockgate(&["gate", policy]);
    assert!(gate.err().contains("matches-nothing"), "{}", gate.err());
    let check = world.lockgate(&["check", policy, "--call", r#"{"tool": "Bash"}"#]);
    assert!(check.err().contains("no rule of this policy is about `Bash`"), "{}", check.err());
    world.write("project/.lockgate/policy.rules", "map any shell running rm as delete\nblock delete\n");
    let said = world.hook("claude-code", &event(&world).replace("t1", "t2"));
    assert_eq!(said.code(), Some(0), "{}", said.out());
    assert!(!said.err().contains("no rule of this policy"), "{}", said.err());
    assert_eq!(world.lockgate(&["verify", ".lockgate"]).code(), Some(0));
}

#[test]
fn a_hook_tells_a_name_that_the_agent_has_not_beside_rules_that_match() {
    for (number, (text, told)) in [
        ("block bash\nblock Write\n", "`bash` in"),
        ("map bash running rm as delete\nblock delete\nblock Write\n", "its name is `Bash`"),
        ("block rm\nblock Write\n", "write `map any shell running rm as rm`"),
        // A file for several agents names the tools of each.
        ("block bash\nblock Bash.x\nblock Bash\n", ""),
        ("map any shell running rm as delete\nblock delete\n", ""),
    ]
    .into_iter()
    .enumerate()
    {
        let world = World::with(&format!("void-misnamed-{number}"), text, "");
        let hook = world.hook("claude-code", &event(&world));
        if told.is_empty() {
            assert!(!hook.err().contains("is not a tool"), "{text}: {}", hook.err());
        } else {
            assert_eq!(hook.code(), Some(0), "{text}: {}", hook.err());
            assert!(hook.err().contains("is not a tool of claude-code"), "{text}: {}", hook.err());
            assert!(hook.err().contains(told), "{text}: {}", hook.err());
        }
    } // A project that is not trusted is joined with the rules that are built in, and these match.
    let world = World::new("void-misnamed-untrusted");
    world.write("project/.lockgate/policy.rules", "block bash\n");
    let hook = world.hook("claude-code", &event(&world));
    assert_eq!(hook.code(), Some(0), "{}", hook.err());
    assert!(hook.err().contains("`bash` in") && hook.err().contains("its name is `Bash`"), "{}", hook.err());
}
