//! What a workflow sees of calls, as tables and laws.

use lockgate_call::{Links, canonical_text};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn python(text: &str) -> Pattern {
    Pattern::python(text).unwrap()
}

fn bare(tool: &str, input: Value) -> Call {
    let Value::Object(input) = input else { panic!("an input is an object") };
    let mut call = Call { input, ..Call::new("1", tool) };
    call.about.cwd = Some("/desk".into());
    call
}

fn call(tool: &str, input: Value) -> SeenCall {
    bare(tool, input).into()
}

/// The fields of a tool whose policy declares one.
fn recipe() -> ScriptFields {
    ScriptFields::declared(vec!["recipe".to_owned()])
}

/// Asks about a call in the folder `/desk`.
fn see<T>(tool: &str, input: Value, ask: impl FnOnce(&Sight<'_>) -> T) -> T {
    let call = call(tool, input);
    ask(&Sight::of(&call, recipe()))
}

fn only_matches(script: &str, pattern: &str) -> bool {
    see("Bash", json!({ "command": script }), |sight| sight.only_matches(&python(pattern)))
}

fn may_match(script: &str, pattern: &str) -> bool {
    see("Bash", json!({ "command": script }), |sight| sight.may_match(&python(pattern)))
}

fn proves(script: &str, pattern: &str) -> bool {
    see("Bash", json!({ "command": script }), |sight| sight.proves(&python(pattern)))
}

fn kept(tool: &str, input: Value) -> Vec<Arc<str>> {
    Sight::of(&call(tool, input), recipe()).commands()
}

fn reads(tool: &str, input: Value) -> Vec<String> {
    see(tool, input, |sight| sight.reads(Some("/desk")).iter().map(ToString::to_string).collect())
}

#[test]
fn a_stage_for_some_commands_takes_nothing_else() {
    let rows = [
        ("npm test", true),
        (" npm test \n", true),
        ("npm  test", false),
        ("npm test -- --watch", true),
        ("npm test && npm test x", true),
        ("npm test $FILES", true),
        ("npm test src/*.js", true),
        ("npm test > log", true),
        ("npm test; rm -rf /", false),
        ("npm test && rm x", false),
        ("npm test || rm x", false),
        ("npm test & rm x", false),
        ("npm test\nrm x", false),
        ("npm test | sh", false),
        ("npm test | tee log", false),
        ("npm test $(rm x)", false),
        ("npm test `rm x`", false),
        ("npm test \"$(rm x)\"", false),
        ("npm test <(rm x)", false),
        ("npm test <<< \"$(rm x)\"", false),
        ("npm test ${X:-$(rm x)}", false),
        ("npm test \"unterminated", false),
        ("npm test && $X", false),
        ("npm test && r?m x", false),
        ("npm test && ./npm test", false),
        ("npm test && /tmp/npm test", false),
        ("npm test && /usr/bin/npm test", true),
        ("npm test && PATH=/tmp npm test", false),
        ("npm test && npm() { rm x; }; npm test", false),
        ("npm test && alias npm=rm", false),
        ("npm test && eval 'rm x'", false),
        ("npm test && sh -c 'npm test; rm x'", false),
        ("npm testify", true),
        ("# npm test\nrm x", false),
        ("", false),
    ];
    for (script, passes) in rows {
        assert_eq!(only_matches(script, "^npm test"), passes, "{script}");
    }
}

#[test]
fn a_pattern_with_an_open_middle_swallows_no_second_command() {
    let rows = [
        ("git .*status", "git status", true),
        ("git .*status", "git x; rm y; git status", false),
        (".*", "rm -rf /", true),
        (".*", "$X", false),
        ("^git (?!push)", "git status", true),
        ("^git (?!push)", "git $X", false),
        ("^git [a-z]+$", "git $X", false),
        ("^git [a-z$X ]+$", "git $X", false),
        ("^cd app && npm test$", "cd app && npm test", true),
        ("^cd app && npm test$", "cd app && npm test && rm x", false),
        ("^cd app && npm test$", "\u{a0}cd app && npm test", false),
        ("^cd app && npm test", "cd app && npm test", false),
        (r"^\./run\.sh && make$", "./run.sh && make", true),
        ("^CI=1 npm test$", "CI=1 npm test", true),
        ("^CI=1 npm test", "CI=1 npm test x", true),
        ("npm test", "PATH=/tmp npm test", false),
    ];
    for (pattern, script, passes) in rows {
        assert_eq!(only_matches(script, pattern), passes, "{pattern}: {script}");
    }
}

#[test]
fn a_call_without_a_script_runs_nothing_only_if_its_tool_is_known_to() {
    let rows = [
        ("Read", json!({ "file_path": "a" }), true),
        ("Write", json!({ "file_path": "a", "content": "rm -rf /" }), true),
        ("mcp__fs__write_file", json!({ "path": "a", "content": "x" }), true),
        ("Read", json!({ "file_path": "a", "command": "rm x" }), false),
        ("Bash", json!({}), false),
        ("Bash", json!({ "command": null }), false),
        ("deploy", json!({ "target": "npm test" }), false),
        ("Bash", json!({ "command": "npm test", "description": "tests" }), true),
        ("Bash", json!({ "command": "npm test", "code": "rm x" }), false),
        ("Bash", json!({ "command": "npm test", "commands": { "then": "rm x" } }), false),
        ("Bash", json!({ "command": "npm test", "cmd": "rm x" }), false),
        ("Bash", json!({ "command": ["npm", "test"] }), true),
        ("Bash", json!({ "command": ["bash", "-lc", "npm test"] }), true),
        ("Bash", json!({ "command": ["bash", "-lc", "npm test; rm x"] }), false),
        ("Bash", json!({ "command": ["/tmp/bash", "-lc", "npm test"] }), false),
        ("run", json!({ "command": "npm", "args": ["test"] }), true),
        ("run", json!({ "command": "npm test", "args": ["; rm x"] }), false),
        ("run", json!({ "recipe": "npm test" }), true),
        ("run", json!({ "recipe": "npm test; rm x" }), false),
        ("Bash", json!({ "command": "npm test", "env": { "PATH": "/tmp" } }), false),
    ];
    for (tool, input, passes) in rows {
        let seen = see(tool, input.clone(), |sight| sight.only_matches(&python("^npm test")));
        assert_eq!(seen, passes, "{tool} {input}");
    }
}

#[test]
fn what_is_forbidden_is_found_wherever_it_hides() {
    let rows = [
        ("^git push$", "git push", true),
        ("^git push$", "git push\n", true),
        ("^git push$", "\n\t git push  ", true),
        ("^git push$", "git  push ''", true),
        ("^git push$", "ls; git push", true),
        ("^git push$", "echo $(git push)", true),
        ("^git push$", "/usr/bin/git push", true),
        ("^git push$", "g\\it 'pu'sh", true),
        ("^git push$", "sudo -u me env A=1 git push", true),
        ("^git push$", "X=push; git $X", true),
        ("^git push$", "git $X", true),
        ("^git push$", "git $(cat verb)", true),
        ("^git push$", "git pus?", true),
        ("^git push$", "echo push | xargs git", true),
        ("push --force", "git push $OPTIONS", true),
        ("^git push$", "cat *.md", false),
        ("git push", "cat *.md $X", false),
        ("^git push$", "git status", false),
        ("^git push$", "git push origin", false),
        ("^git push", "g?t push", true),
        ("^git push", "$X", true),
        ("^git push", "echo 'unterminated", true),
        ("^git push", "curl x | sh", true),
        ("^sudo rm", "\"sudo\" -u root rm x", true),
        ("^/opt/x", "ls && /opt/x", true),
        ("os\\.remove", "python -c 'import os; os.remove(1)'", true),
        ("^A=1 make", "ls; A=1 make", true),
        ("^rm", "# rm", false),
        ("^rm", "echo rm", false),
        ("rm", "echo rm", true),
    ];
    for (pattern, script, may) in rows {
        assert_eq!(may_match(script, pattern), may, "{pattern}: {script}");
    }
}

#[test]
fn a_tool_that_nobody_knows_may_run_any_text_it_is_given() {
    let rows = [
        ("Write", json!({ "content": "rm -rf /" }), false),
        ("Write", json!({ "content": "x", "command": "rm -rf /" }), true),
        ("deploy", json!({ "target": "rm -rf /" }), true),
        ("deploy", json!({ "steps": [{ "then": "ls; rm -rf /" }] }), true),
        ("deploy", json!({ "target": "don't; rm -rf /" }), true),
        ("deploy", json!({ "target": "s\\udo \"rm\" -rf /" }), true),
        ("deploy", json!({ "target": "don't worry", "about": "$(it)" }), false),
        ("deploy", json!({ "count": 3 }), false),
        ("Bash", json!({ "command": "ls", "description": "rm -rf /" }), false),
        ("Bash", json!({ "command": "ls", "code": "rm -rf /" }), true),
        ("Bash", json!({ "command": "ls", "cmd": "rm -rf /" }), true),
        ("Bash", json!({ "command": ["sh", "-c", "rm -rf /"] }), true),
        ("run", json!({ "command": "ls", "args": ["; rm -rf /"] }), false),
        ("run", json!({ "command": "ls x", "args": ["; rm -rf /"] }), true),
        ("run", json!({ "recipe": "ls; rm -rf /" }), true),
    ];
    for (tool, input, may) in rows {
        let seen = see(tool, input.clone(), |sight| sight.may_match(&python("^rm -rf")));
        assert_eq!(seen, may, "{tool} {input}");
    }
}

#[test]
fn more_text_than_is_searched_may_be_forbidden() {
    let seen = |length: usize| {
        let input = json!({ "text": "a".repeat(length) });
        see("deploy", input, |sight| sight.may_match(&python("^rm")))
    };
    assert!(!seen(commands::LOOSE_BYTES_MAX));
    assert!(seen(commands::LOOSE_BYTES_MAX + 1));
}

#[test]
fn only_a_command_that_must_have_succeeded_is_evidence() {
    let rows = [
        ("^pytest", "pytest", true),
        ("^pytest", "pytest -v", true),
        ("^pytest", " pytest -q\n", true),
        ("^pytest", "pytest tests/*.py", true),
        ("^pytest", "/usr/bin/pytest -q", true),
        ("^pytest", "cd app && pytest", true),
        ("^pytest", "pytest && ls", true),
        ("^pytest", "timeout 60 pytest", true),
        ("^pytest", "pytest -k 'a or b'", true),
        ("^pytest -k \"a or b\"", "pytest -k \"a or b\"", true),
        ("^pytest", "pytest > log 2>&1", true),
        ("^npm test", "cd app && npm test", true),
        ("^npm test", "npm  test", true),
        ("^npm run test", "npm run 'test nothing'", false),
        ("^pytest", "echo pytest", false),
        ("pytest", "echo pytest", false),
        (".*pytest", "# pytest\ntrue", false),
        ("^# pytest", "# pytest\ntrue", false),
        (".*pytest", "true > 'a pytest'", false),
        ("^pytest", "pytest || true", false),
        ("^pytest", "pytest; true", false),
        ("^pytest", "pytest &", false),
        ("^pytest", "pytest | tee log", false),
        ("^pytest", "# pytest", false),
        ("^pytest", "! pytest", false),
        ("^pytest", "if pytest; then true; fi", false),
        ("^pytest", "alias pytest=true; pytest", false),
        ("^pytest", "pytest() { true; }; pytest", false),
        ("^pytest", "PATH=/tmp pytest", false),
        ("^pytest", "export PATH=/tmp; pytest", false),
        ("^pytest", "./pytest", false),
        ("^pytest", "/tmp/pytest", false),
        ("pytest", "./pytest", false),
        (".*pytest", "./pytest", false),
        ("^pytest", "exit 0; pytest", false),
        ("^pytest", "$X", false),
        ("^pytest", "pytest \"unterminated", false),
    ];
    for (pattern, script, is_proof) in rows {
        assert_eq!(proves(script, pattern), is_proof, "{pattern}: {script}");
    }
}

#[test]
fn a_program_in_a_folder_is_evidence_where_the_author_names_the_folder() {
    let gradle = r"^\./gradlew test";
    let rows = [
        (gradle, "./gradlew test", true),
        (gradle, "./gradlew test --info", true),
        (gradle, "./gradlew test || true", false),
        (gradle, "./gradlew test; true", false),
        (gradle, "./gradlew test &", false),
        (gradle, "./gradlew test | cat", false),
        (gradle, "./gradlew test > log", false),
        (gradle, "A=1 ./gradlew test", false),
        (gradle, "cd x && ./gradlew test", false),
        (gradle, "! ./gradlew test", false),
        (gradle, "./gradlew test # x", false),
        (gradle, "./gradlew test $X", false),
        (gradle, "./gradlew test --dry-run", false),
        (gradle, "./gradlew 'test x'", false),
        (gradle, "gradlew test", false),
        ("^.*gradlew test", "./gradlew test", false),
        ("^.*gradlew test", "/tmp/gradlew test", false),
    ];
    for (pattern, script, is_proof) in rows {
        assert_eq!(proves(script, pattern), is_proof, "{pattern}: {script}");
    }
}

#[test]
fn what_a_launcher_starts_is_evidence() {
    let launchers = [
        "python -m",
        "python3 -m",
        "uv run",
        "poetry run",
        "pipenv run",
        "pdm run",
        "hatch run",
        "npx",
        "npm exec --",
        "pnpm exec",
        "pnpm dlx",
        "yarn dlx",
        "bunx",
        "bundle exec",
        "mise exec --",
        "uv run python -m",
        "cd app && uv run",
    ];
    for launcher in launchers {
        assert!(proves(&format!("{launcher} pytest -q"), "^pytest"), "{launcher}");
        assert!(!proves(&format!("{launcher} pytest --version"), "^pytest"), "{launcher}");
        assert!(!proves(&format!("{launcher} echo pytest"), "^pytest"), "{launcher}");
        assert!(!proves(&format!("{launcher} pytest || true"), "^pytest"), "{launcher}");
    }
    for script in [
        "npx -y pytest",
        "uv run --with x pytest",
        "python -m x pytest",
        "./uv run pytest",
        "uv run sh -c 'pytest || true'",
        "uv run ./pytest",
        "uv --version run pytest",
    ] {
        assert!(!proves(script, "^pytest"), "{script}");
    }
    assert!(proves("uv run pytest", "^uv run pytest"));
}

#[test]
fn a_program_that_was_told_to_do_nothing_is_no_evidence() {
    let rows = [
        ("^pytest", "pytest --version", false),
        ("^pytest", "pytest \"--version\"", false),
        ("^pytest", "pytest --version=x", false),
        ("^pytest", "pytest -V", false),
        ("^pytest", "pytest -h", false),
        ("^pytest", "pytest -x --help", false),
        ("^pytest", "pytest --collect-only -q", false),
        ("^pytest", "pytest --co", false),
        ("^pytest", "pytest $X", false),
        ("^pytest", "pytest *", false),
        ("^pytest", "pytest \"$X\"", false),
        ("^pytest", "pytest -V -x", true),
        ("^pytest --co", "pytest --co", true),
        ("^pytest --cov", "pytest --cov --co", false),
        ("^pytest --version$", "pytest --version", true),
        ("^npm test", "npm test -- --version", false),
        ("^npm run test", "npm run test --if-present", false),
        ("^cargo test", "cargo test --no-run", false),
        ("^pytest", "pytest --collect", false),
        ("^eslint", "eslint --fix", true),
        ("^make test", "make test", true),
        ("^make test", "make test -j4", true),
        ("^make test", "make test -n", false),
        ("^make test", "make test -kn", false),
        ("^make test", "make test --dry", false),
        ("^make test", "make test -i", false),
        ("^make test", "make test SHELL=true", false),
        ("^make test V=", "make test V=1", true),
        ("^gradle test", "gradle test -x test", false),
        ("^mvn test", "mvn test -DskipTests", false),
        ("^go test", "go test -list .", false),
        ("^go test", "go test ./...", true),
    ];
    for (pattern, script, is_proof) in rows {
        assert_eq!(proves(script, pattern), is_proof, "{pattern}: {script}");
    }
}

#[test]
fn a_call_is_no_evidence_where_it_may_not_have_run_the_command() {
    let rows = [
        ("Bash", json!({ "command": "pytest" }), true),
        ("Bash", json!({ "command": ["pytest"] }), true),
        ("Bash", json!({ "command": ["bash", "-lc", "cd app && pytest"] }), true),
        ("run", json!({ "command": "pytest", "args": ["-q"] }), true),
        ("run", json!({ "command": "pytest", "args": ["--version"] }), false),
        ("run", json!({ "command": "pytest", "args": "|| true" }), false),
        ("run", json!({ "recipe": "pytest" }), true),
        ("Bash", json!({ "command": "pytest", "run_in_background": true }), false),
        ("Bash", json!({ "command": "pytest", "run_in_background": false }), true),
        ("Bash", json!({ "command": "pytest", "cmd": "true" }), false),
        ("Bash", json!({ "note": "pytest" }), false),
        ("Bash", json!({ "command": ["echo", "x; pytest"] }), false),
        ("Bash", json!({ "command": "pytest", "env": { "PATH": "/tmp" } }), false),
        ("Bash", json!({ "command": "pytest", "env": {} }), true),
        ("Bash", json!({ "command": "pytest", "shell": "/tmp/sh" }), false),
        ("Bash", json!({ "command": "\u{a0}pytest" }), false),
        ("Read", json!({ "file_path": "a", "command": "pytest" }), false),
    ];
    for (tool, input, is_proof) in rows {
        let seen = see(tool, input.clone(), |sight| sight.proves(&python("^pytest")));
        assert_eq!(seen, is_proof, "{tool} {input}");
        // What is kept of it proves no more when it is weighed again.
        let kept = kept(tool, input.clone());
        let again = kept.iter().any(|text| Sight::of_text(text, |sight| sight.proves(&python("^pytest"))));
        assert_eq!(again, is_proof, "{tool} {input}: {kept:?}");
    }
}

#[test]
fn commands_are_kept_as_text_or_by_their_hash() {
    let one = |script: &str| kept("Bash", json!({ "command": script })).join("|");
    assert_eq!(one("npm test"), "npm test");
    assert_eq!(one("  npm  test\n"), "npm  test");
    assert_eq!(one("a\n\tb"), "a\n\tb");
    assert_eq!(one(" "), "");
    assert!(one("a\u{1b}b").starts_with("sha256:"));
    assert_eq!(one("a\u{1b}b").len(), "sha256:".len() + 64);
    assert_eq!(one(&"a".repeat(4096)), "a".repeat(4096));
    assert!(is_folded(&one(&"a".repeat(4097))));
    let secret = one("curl -H 'Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789'");
    assert!(!secret.contains("abcdefghijklmnop"), "{secret}");
    assert!(secret.starts_with("curl -H") && is_folded(&secret), "{secret}");
    assert!(!is_folded("npm test"));
    assert!(kept("deploy", json!({ "target": "npm test" })).is_empty());
    assert_eq!(kept("Bash", json!({ "command": "a", "cmd": "a" })).join("|"), "a &");
    assert_eq!(kept("Bash", json!({ "command": "a && b", "run_in_background": true })).join("|"), "a && b &");
    assert!(is_folded(&kept("Bash", json!({ "command": "a # b", "run_in_background": true }))[0]));
    assert_eq!(kept("Bash", json!({ "command": ["echo", "a; b"] })).join("|"), "echo 'a; b'");
    assert_eq!(kept("Bash", json!({ "command": ["bash", "-lc", "npm test"] })).join("|"), "npm test");
}

#[test]
fn a_tool_that_reads_has_read_its_file() {
    let rows = [
        ("Read", json!({ "file_path": "specs/008.md" }), "specs/008.md"),
        ("Read", json!({ "file_path": "./specs//008.md", "offset": 3, "limit": 5 }), "specs/008.md"),
        ("Read", json!({ "file_path": "x/../specs/008.md" }), "specs/008.md"),
        ("Read", json!({ "file_path": "/desk/specs/008.md" }), "specs/008.md"),
        ("Read", json!({ "file_path": "/desk/../etc/passwd" }), "/etc/passwd"),
        ("Read", json!({ "file_path": "../other/a" }), "/other/a"),
        ("Read", json!({ "file_path": "/deskshop/a" }), "/deskshop/a"),
        ("mcp__fs__read_file", json!({ "path": "a" }), "a"),
        ("read_file", json!({ "filename": "a" }), "a"),
        ("Read", json!({ "file_path": "a", "path": "./a" }), "a"),
        ("Read", json!({ "file_path": "a", "path": "b" }), ""),
        ("Read", json!({ "file_path": "a", "options": { "path": "b" } }), ""),
        ("Read", json!({ "file_path": "a", "cwd": "/tmp" }), ""),
        ("Read", json!({ "file_path": "~/a" }), ""),
        ("Read", json!({ "file_path": "a\u{0}b" }), ""),
        ("Read", json!({ "file_path": "*.md" }), ""),
        ("Read", json!({ "directory": "a" }), ""),
        ("Read", json!({ "file_path": ["a", "b"] }), ""),
        ("Read", json!({}), ""),
        ("read_multiple_files", json!({ "paths": ["a"] }), ""),
        ("Write", json!({ "file_path": "a" }), ""),
        ("Grep", json!({ "path": "a" }), ""),
        ("READ", json!({ "file_path": "a" }), ""),
    ];
    for (tool, input, read) in rows {
        assert_eq!(reads(tool, input.clone()).join("|"), read, "{tool} {input}");
    }
}

#[test]
fn a_script_has_read_what_it_certainly_shows() {
    let rows = [
        ("cat a", "a"),
        ("cat ./a b//c", "a|b/c"),
        ("cat -n a", "a"),
        ("cat -- -a", "-a"),
        ("head -n 5 a", "a"),
        ("head -5 a", "a"),
        ("tail -c100 a", "a"),
        ("nl a", "a"),
        ("bat -p a", "a"),
        ("less a", "a"),
        ("cd specs && cat 008.md", "specs/008.md"),
        ("cat a && cat /etc/hosts", "a|/etc/hosts"),
        ("cat {a,b}", "a|b"),
        ("timeout 5 cat a", "a"),
        ("cat a > b", ""),
        ("cat a > /dev/null", ""),
        ("cat a || true", ""),
        ("cat a; true", ""),
        ("cat a &", ""),
        ("cat a | head", ""),
        ("cat $X", ""),
        ("cat *.md", ""),
        ("cat --help a", ""),
        ("cat --version a", ""),
        ("head -n 0 a", ""),
        ("head -n00 a", ""),
        ("head -c 0 a", ""),
        ("head -n -9 a", ""),
        ("head -0 a", ""),
        ("less -o a b", ""),
        ("less +G a", ""),
        ("tail +99 a", ""),
        ("cat -- +a", "+a"),
        ("bat --list-themes a", ""),
        ("./cat a", ""),
        ("PATH=/tmp cat a", ""),
        ("cat() { true; }; cat a", ""),
        ("echo cat a", ""),
        ("# cat a", ""),
        ("grep x a", ""),
        ("ls a", ""),
        ("wc a", ""),
        ("cd x; cat a", ""),
        ("cat ~/a", ""),
        ("cat -", ""),
        ("cat ''", ""),
        ("uv run cat a", ""),
    ];
    for (script, read) in rows {
        assert_eq!(reads("Bash", json!({ "command": script })).join("|"), read, "{script}");
    }
    assert!(reads("Bash", json!({ "command": "cat a", "run_in_background": true })).is_empty());
    assert!(reads("Bash", json!({ "command": "cat a", "cmd": "cat b" })).is_empty());
    assert!(reads("Bash", json!({ "command": "cat a", "cwd": "/tmp" })).is_empty());
}

#[test]
fn a_path_that_climbs_is_the_file_it_says_where_somebody_has_looked() {
    let read = |path: &str, links: &[(&str, &str)]| {
        let links = links.iter().map(|(from, to)| ((*from).to_owned(), Some((*to).to_owned())));
        let links = links.collect::<Links>();
        let call = SeenCall::looked_at(bare("Read", json!({ "file_path": path })), Some(links));
        Sight::of(&call, ScriptFields::Customary).reads(Some("/desk")).join("|")
    };
    assert_eq!(read("x/../a", &[("/desk/x/../a", "/desk/a")]), "a");
    assert_eq!(read("x/../a", &[("/desk/x/../a", "/tmp/a")]), "");
    assert_eq!(read("x/../a", &[("/desk", "/desk")]), "");
    assert_eq!(read("x/../a", &[("/desk", "/real"), ("/desk/x/../a", "/real/a")]), "a");
    assert_eq!(read("a", &[("/desk/a", "/tmp/b")]), "a");
}

#[test]
fn a_path_is_kept_from_the_folder_the_session_knows() {
    let read = |path: &str, cwd: Option<&str>, root: Option<&str>| {
        let mut call = bare("Read", json!({ "file_path": path }));
        call.about.cwd = cwd.map(ToOwned::to_owned);
        Sight::of(&call.into(), ScriptFields::Customary).reads(root).join("|")
    };
    let rows = [
        ("a", Some("/desk"), Some("/desk"), "a"),
        ("a", Some("/desk/sub"), Some("/desk/"), "sub/a"),
        ("a", Some("/other"), Some("/desk"), "/other/a"),
        ("/desk/a", Some("/desk"), None, "a"),
        ("/etc/a", Some("/desk"), None, "/etc/a"),
        ("a", None, Some("/desk"), "a"),
        ("/desk/a", None, Some("/desk"), "a"),
        ("/desk/a", None, None, "/desk/a"),
        ("./a", None, None, "a"),
        ("/etc/a", Some("/"), Some("/"), "etc/a"),
    ];
    for (path, cwd, root, kept) in rows {
        assert_eq!(read(path, cwd, root), kept, "{path} in {cwd:?} of {root:?}");
    }
}

#[test]
fn a_file_is_the_same_however_it_is_written() {
    let rows = [
        ("a", "a", None, true),
        ("a", "./a", None, true),
        ("a", "x/..//a", None, true),
        ("a", "/desk/a", Some("/desk"), true),
        ("/desk/a", "a", Some("/desk"), true),
        ("/desk/a", "a", None, false),
        ("a", "A", None, false),
        ("a", "a/b", None, false),
        ("", "", None, false),
        ("~/a", "~/a", None, false),
    ];
    for (read, path, root, is_same) in rows {
        assert_eq!(is_same_file(read, path, root), is_same, "{read} {path} {root:?}");
    }
}

#[test]
fn a_call_that_only_reads_a_file_does_nothing_else() {
    let rows = [
        ("Read", json!({ "file_path": "a" }), true),
        ("Read", json!({ "file_path": "/desk/./a", "limit": 3 }), true),
        ("Read", json!({ "file_path": "b" }), false),
        ("Read", json!({ "file_path": "a", "command": "rm x" }), false),
        ("Bash", json!({ "command": "cat a" }), true),
        ("Bash", json!({ "command": "cat a", "description": "Read the spec" }), true),
        ("Bash", json!({ "command": "cat a && head -3 ./a" }), true),
        ("Bash", json!({ "command": "cat a b" }), false),
        ("Bash", json!({ "command": "cat a && rm x" }), false),
        ("Bash", json!({ "command": "rm x; cat a" }), false),
        ("Bash", json!({ "command": "cat b; cat a" }), false),
        ("Bash", json!({ "command": "cat a > b" }), false),
        ("Bash", json!({ "command": "cat a $(rm x)" }), false),
        ("Bash", json!({ "command": "X=1; cat a" }), false),
        ("Bash", json!({ "command": "cat a", "code": "rm x" }), false),
        ("Write", json!({ "file_path": "a" }), false),
    ];
    for (tool, input, only) in rows {
        let seen = see(tool, input.clone(), |sight| sight.only_reads("a", Some("/desk")));
        assert_eq!(seen, only, "{tool} {input}");
    }
}

#[test]
fn a_summary_is_one_short_line_without_secrets() {
    let summary = |tool: &str, input: Value| Sight::of(&call(tool, input), ScriptFields::Customary).summary();
    assert_eq!(summary("Bash", json!({ "command": " npm test\nls " })), "npm test\\nls");
    assert_eq!(summary("Read", json!({ "file_path": "./a" })), "./a");
    assert_eq!(summary("deploy", json!({ "target": "x y" })), "x y");
    assert_eq!(summary("search", json!({ "query": "x" })), "");
    assert_eq!(summary("Bash", json!({ "command": "a\u{1b}[2J" })), "a\\u{1b}[2J");
    assert_eq!(summary("Bash", json!({ "command": "a".repeat(200) })), "a".repeat(200));
    assert_eq!(summary("Bash", json!({ "command": "a".repeat(201) })), format!("{}…", "a".repeat(199)));
    let secret = summary("Bash", json!({ "command": "export PASSWORD=hunter2hunter2" }));
    assert!(!secret.contains("hunter2"), "{secret}");
}

#[test]
fn the_object_in_a_result_is_found_in_every_shape() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let rows = [
        (json!({ "a": 1 }), Some(json!({ "a": 1 }))),
        (json!({ "structuredContent": { "a": 1 }, "content": [] }), Some(json!({ "a": 1 }))),
        (json!({ "structuredContent": 3, "content": [text("{\"a\": 1}")] }), Some(json!({ "a": 1 }))),
        (json!({ "content": [text("{\"a\": 1}")] }), Some(json!({ "a": 1 }))),
        (json!({ "content": [text("{\"a\": 1}"), text("{}")] }), None),
        (json!({ "content": [text("no")] }), None),
        (json!({ "content": [{ "type": "image", "text": "{}" }] }), None),
        (json!({ "content": [] }), None),
        (json!({ "content": "x" }), Some(json!({ "content": "x" }))),
        (json!("{\"a\": null}"), Some(json!({ "a": null }))),
        (json!("[1]"), None),
        (json!("no"), None),
        (json!([{ "a": 1 }]), None),
        (json!(null), None),
    ];
    for (output, found) in rows {
        assert_eq!(result_object(&output).map(Value::Object), found, "{output}");
    }
}

#[test]
fn what_is_long_or_nested_in_a_result_is_kept_by_its_hash() {
    let kept = |value: Value| result_object(&json!({ "a": value })).unwrap().remove("a").unwrap();
    let is_hash = |value: &Value| value.as_str().unwrap().starts_with("sha256:");
    assert_eq!(kept(json!("a".repeat(4096))), json!("a".repeat(4096)));
    assert!(is_hash(&kept(json!("a".repeat(4097)))));
    assert!(is_hash(&kept(json!([1]))));
    assert_eq!(kept(json!({ "x": 1, "y": 2 })), kept(serde_json::from_str(r#"{"y":2,"x":1}"#).unwrap()));
    assert_ne!(kept(json!([1])), kept(json!([2])));
    assert_eq!(canonical_text(&json!([1, { "b": 1, "a": "x" }])), r#"[1,{"a":"x","b":1}]"#);

    let fields = |n: usize| Value::Object((0..n).map(|i| (format!("f{i:03}"), json!(i))).collect());
    assert_eq!(result_object(&fields(64)).unwrap().len(), 64);
    let kept = result_object(&fields(65)).unwrap();
    assert_eq!((kept.len(), kept.get("f064")), (64, None));
}

#[test]
fn a_field_is_compared_as_text() {
    let hash = kept::command(&"a".repeat(5000)).to_string();
    let rows = [
        (json!("ok"), "ok", true),
        (json!("ok"), "OK", false),
        (json!(1), "1", true),
        (json!(1.0), "1.0", true),
        (json!(1.0), "1", false),
        (json!(true), "True", true),
        (json!(true), "true", true),
        (json!(true), "1", false),
        (json!(false), "False", true),
        (json!(null), "", true),
        (json!(null), "None", false),
        (json!(""), "", true),
        (json!([1]), "[1]", false),
        (json!(hash), hash.as_str(), false),
        (json!("sha256:short"), "sha256:short", true),
    ];
    for (found, value, is_equal) in rows {
        assert_eq!(field_text(&found, value), is_equal, "{found} {value}");
    }
}

/// A script with a command somewhere in it that runs, however it is wrapped.
fn wrapped() -> impl Strategy<Value = String> {
    let command = prop::sample::select(vec![
        "git push",
        "git  push",
        "g\\it push",
        "'git' \"push\"",
        "/usr/bin/git push",
    ]);
    command.prop_map(ToOwned::to_owned).prop_recursive(4, 8, 1, |inner| {
        (inner, 0_usize..14).prop_map(|(script, how)| {
            let quoted = script.replace('\'', r"'\''");
            match how {
                0 => format!("sudo -u me sh -c '{quoted}'"),
                1 => format!("env A=1 bash -c '{quoted}'"),
                2 => format!("cd x && {script}"),
                3 => format!("ls; {script}"),
                4 => format!("{script} || true"),
                5 => format!("({script}); ls"),
                6 => format!("{{ {script}; }}"),
                7 => format!("echo $({script})"),
                8 => format!("eval '{quoted}'"),
                9 => format!("if true; then {script}\nfi"),
                10 => format!("{script} &"),
                11 => format!("timeout 5 nohup sh -c '{quoted}'"),
                12 => format!("bash <<'END'\n{script}\nEND"),
                _ => format!("  {script}\n\n"),
            }
        })
    })
}

/// A chain of plain commands that proves `pytest`.
fn proving() -> impl Strategy<Value = String> {
    let before = prop::sample::select(vec!["", "cd app && ", "ls; ", "mkdir x && cd x && ", "make || ls\n"]);
    let launcher = prop::sample::select(vec!["", "uv run ", "python -m ", "timeout 9 ", "npx "]);
    let after = prop::sample::select(vec!["", " -q", " tests/*.py", " -k 'a or b'", " && ls"]);
    (before, launcher, after).prop_map(|(before, launcher, after)| format!("{before}{launcher}pytest{after}"))
}

/// Scraps of scripts, in any order.
fn scraps() -> impl Strategy<Value = String> {
    let scraps = vec![
        "git push",
        "pytest",
        "npm test",
        " ",
        " ",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "\n",
        "$(",
        ")",
        "`",
        "'",
        "\"",
        "$X",
        "*",
        "#",
        ">",
        "<",
        "{",
        "}",
        "sudo",
        "sh -c",
        "uv run",
        "--version",
        "./",
        "A=1",
        "\\",
        "cd x",
        "é",
    ];
    prop::collection::vec(prop::sample::select(scraps), 0..12).prop_map(|scraps| scraps.concat())
}

#[test]
fn space_around_a_script_goes_away_and_what_is_escaped_stays() {
    let rows =
        [(" a b\n", "a b"), ("a\\ ", "a\\ "), ("a\\\n", "a\\\n"), ("\\ ", "\\ "), ("\\", "\\"), (" ", "")];
    for (script, kept) in rows {
        assert_eq!(trimmed(script), kept, "{script:?}");
    }
}

proptest! {
    #[test]
    fn no_wrapping_hides_what_is_forbidden(script in wrapped()) {
        prop_assert!(may_match(&script, "^git push$"), "{}", script);
        prop_assert!(!only_matches(&script, "^ls"), "{}", script);
    }

    #[test]
    fn a_success_in_spite_of_a_failure_proves_nothing(script in proving()) {
        prop_assert!(proves(&script, "^pytest"), "{}", script);
        for spoilt in [
            format!("{script} || true"),
            format!("{script}; true"),
            format!("{script} &"),
            format!("{script} | cat"),
            format!("({script}); true"),
            format!("! {script}; true"),
            format!("pytest() {{ :; }}; {script}"),
            format!("PATH=/tmp; {script}"),
        ] {
            prop_assert!(!proves(&spoilt, "^pytest"), "{}", spoilt);
        }
    }

    #[test]
    fn what_is_kept_of_a_command_proves_and_hides_no_more_than_it_did(script in scraps(), pattern in prop::sample::select(vec!["^git push", "^pytest", "npm test"])) {
        let kept = kept("Bash", json!({ "command": script }));
        let pattern_again = python(pattern);
        let proves_again = kept.iter().any(|text| Sight::of_text(text, |sight| sight.proves(&pattern_again)));
        let may_again = kept.iter().any(|text| Sight::of_text(text, |sight| sight.may_match(&pattern_again)));
        prop_assert_eq!(proves_again, proves(&script, pattern), "{:?}", script);
        prop_assert_eq!(may_again, may_match(&script, pattern), "{:?}", script);
    }

    #[test]
    fn what_passes_or_proves_also_may_match(script in scraps(), pattern in prop::sample::select(vec!["^git push", "^pytest", "npm test", "^.*$"])) {
        let may = may_match(&script, pattern);
        prop_assert!(may || !only_matches(&script, pattern), "{:?}", script);
        prop_assert!(may || !proves(&script, pattern), "{:?}", script);
    }

    #[test]
    fn a_read_file_is_the_same_with_dots_and_slashes_put_in(parts in prop::collection::vec("[a-z]{1,4}", 1..4), joints in prop::collection::vec(prop::sample::select(vec!["/", "//", "/./", "/x/../"]), 4), start in prop::sample::select(vec!["", "./", "/desk/", "././/", "x/../"])) {
        let plain = parts.join("/");
        let mut written = start.to_owned();
        for (part, joint) in parts.iter().zip(&joints) {
            written.push_str(part);
            written.push_str(joint);
        }
        let written = written.trim_end_matches("x/../").trim_end_matches(['/', '.']).to_owned();
        prop_assert_eq!(reads("Read", json!({ "file_path": &written })), [plain.clone()]);
        prop_assert_eq!(reads("Bash", json!({ "command": format!("cat {written}") })), [plain]);
    }
}
