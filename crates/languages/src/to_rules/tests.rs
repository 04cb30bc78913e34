use super::*;

fn rules(name: &str, text: &str) -> String {
    to_rules(&Source::new(name, text)).map_or("none".to_owned(), |rules| rules.text)
}

#[test]
fn permissions_of_claude_code_become_sentences() {
    let text = r#"{"permissions": {
        "deny": ["Bash(git push:*)", "Read(./secrets/**)", "Read(**/*.pem)", "mcp__crm", "WebFetch(domain:evil.example)"],
        "ask": ["Bash(npm publish)", "Edit(/src/**)"],
        "allow": ["Bash(npm run test:*)", "Read", "mcp__crm__search"]
    }}"#;
    insta::assert_snapshot!(rules("settings.json", text), @r#"
    # From `settings.json`.
    block Bash running git push
    block Read when file_path is inside ./secrets
    # not said: Read(**/*.pem) (its pattern is not a folder or a file)
    # not said: mcp__crm (it is about all tools of a server: name each of them)
    block WebFetch to evil.example
    ask about Bash when command is "npm publish"
    ask about Edit when file_path is inside ./src
    ask about Write when file_path is inside ./src
    ask about MultiEdit when file_path is inside ./src
    allow Bash running npm run test
    allow Read
    allow mcp__crm__search
    otherwise ask
    "#);
}

#[test]
fn rules_of_codex_and_gemini_become_sentences() {
    let codex = "prefix_rule(\n  pattern = [\"gh\", [\"pr\", \"issue\"]],\n  decision = \"prompt\",\n)\n";
    insta::assert_snapshot!(rules("default.rules", codex), @"
    # From `default.rules`.
    ask about Bash running gh pr
    ask about Bash running gh issue
    ");
    let gemini =
        r#"{"tools": {"exclude": ["run_shell_command(rm -rf)", "web_fetch"], "core": ["read_file"]}}"#;
    insta::assert_snapshot!(rules("settings.json", gemini), @"
    # From `settings.json`.
    block run_shell_command running rm -rf
    block web_fetch
    allow read_file
    otherwise block
    ");
}

#[test]
fn what_is_written_loads_as_rules() {
    let text = r#"{"permissions": {"deny": ["Bash(git push:*)", "Read(./a/**)"], "allow": ["WebFetch(domain:a.example)"]}}"#;
    let source = Source::new("new.rules", rules("settings.json", text));
    let (policy, mistakes) = crate::read(&[source]);
    assert!(policy.is_some(), "{mistakes:?}");
}

#[test]
fn policies_of_gemini_become_sentences() {
    let policy = r#"
# Nothing is pushed.
[[rule]]
toolName = "run_shell_command"
commandPrefix = ["git push", "npm publish"]
decision = "deny"
priority = 200

[[rule]]
toolName = ["read_file", "glob"]
decision = "allow"
priority = 100

[[rule]]
toolName = "write_file"
argsPattern = "\\.env"
decision = "ask_user"

[[rule]]
toolName = "*"
decision = "ask_user"
priority = 1
"#;
    insta::assert_snapshot!(rules("policy.toml", policy), @r#"
    # From `policy.toml`.
    block run_shell_command running git push
    block run_shell_command running npm publish
    allow read_file
    allow glob
    # not said: toolName = "write_file" argsPattern = "\\.env" decision = "ask_user" (`argsPattern = "\\.env"` has no sentence that says the same)
    otherwise ask
    "#);
}

#[test]
fn what_codex_says_besides_is_told() {
    let codex = "host_executable(name = \"git\", paths = [\"/usr/bin/git\"])\nprefix_rule(\n  pattern = [\"git\", [\"push\", \"fetch\"]],\n  decision = \"forbidden\",\n  justification = \"ask first (really)\",\n  match = [[\"git\", \"push\"]],\n)\n";
    insta::assert_snapshot!(rules("default.rules", codex), @r#"
    # From `default.rules`.
    # not said: host_executable(name = "git", paths = ["/usr/bin/git"]) (programs are known by name here, wherever they lie)
    block Bash running git push
    block Bash running git fetch
    "#);
}
