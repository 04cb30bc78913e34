//! Wrong shapes in everything that a user writes: each is answered in our words, with a place, and never in those of the
//! parsers.

use crate::world::World;

/// Words of the parsers' code.
const THEIRS: [&str; 13] = [
    "unknown field",
    "unknown variant",
    "missing field",
    "duplicate field",
    "invalid type",
    "invalid value",
    "invalid length",
    ", expected ",
    "expected value",
    "expected `,`",
    "EOF while",
    "at line ",
    "trailing c",
];

/// Texts that are no JSON, or JSON of another shape.
const WRONG: [&str; 12] = [
    "",
    "{",
    "[1 2]",
    "{\"a\" 1}",
    "{\"a\": tru}",
    "\"half",
    "5",
    "null",
    "[]",
    "{\"unheard\": true}",
    "{\"id\": 5, \"tool\": []}",
    "{\"call\": {\"id\": 5}}",
];

fn check(input: &str, text: &str, told: &str) {
    let left = THEIRS.iter().find(|phrase| told.contains(**phrase));
    assert_eq!(left, None, "{input} with `{text}`: {told}");
    assert!(!told.contains("Usage:"), "{input} was not called as it should be: {told}");
    assert!(!told.contains("\\n"), "{input} with `{text}` prints an escaped line end: {told}");
}

#[test]
fn no_words_of_a_parser_reach_a_user() {
    let world = World::with("mistakes", "block rm\n", "");
    let policy = world.path("project/.lockgate/policy.rules");
    let policy = policy.to_str().unwrap();
    for text in WRONG {
        // A line of the protocol.
        let said = crate::world::Said::of(world.spawn(&["gate", policy], &format!("{text}\n")));
        check("gate", text, &(said.out() + &said.err()));
        // A call on the command line, and a file of calls.
        let said = world.lockgate(&["check", policy, "--call", text]);
        check("check --call", text, &(said.out() + &said.err()));
        world.write("calls.jsonl", text);
        let file = world.path("calls.jsonl");
        let file = file.to_str().unwrap();
        for words in [
            &["explain", policy, file][..],
            &["check", policy, "--call", "{\"tool\": \"a\"}", "--session", file],
            &["verify", policy, "--tools", file],
            &["replay", policy, "--file", file],
            &["mcp", "--config", file],
            &["see", "--tool", "bash", "--input", text],
        ] {
            let said = world.lockgate(words);
            check(&words.join(" "), text, &(said.out() + &said.err()));
        }
        // Events of hosts.
        for agent in ["claude-code", "codex", "gemini-cli", "copilot", "cursor", "opencode", "generic"] {
            let said = world.hook(agent, text);
            check(agent, text, &(said.out() + &said.err()));
        }
    }
}

#[test]
fn no_words_of_a_parser_are_told_about_settings() {
    for text in [
        "mod = 'observe'",
        "protect = 'no'",
        "[hook]\nask = 5",
        "[hook]\nask = 'maybe'",
        "policy = 5",
        "[[hook]]",
        "state = []",
        "mode = ",
        "mode = observe",
        "= 5",
        "[hook",
    ] {
        let world = World::with("mistakes-settings", "block rm\n", text);
        let event = r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_use_id":"1","tool_name":"rm","tool_input":{}}"#;
        let said = world.hook("claude-code", event);
        check("the settings", text, &(said.out() + &said.err()));
        let said = world.lockgate(&["doctor"]);
        check("doctor", text, &(said.out() + &said.err()));
    }
}

#[test]
fn a_policy_with_mistakes_is_told_in_one_line() {
    let world = World::with("mistakes-policy", "blok rm\nrequire a befor b\n", "");
    let event = r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_use_id":"1","tool_name":"rm","tool_input":{}}"#;
    for agent in ["claude-code", "codex", "gemini-cli", "copilot", "cursor"] {
        let said = world.hook(agent, event);
        let told = said.out() + &said.err();
        check(agent, event, &told);
    }
    let said = world.hook("claude-code", event);
    let told = said.out() + &said.err();
    assert!(told.contains("policy.rules:1") && told.contains("unknown-keyword"), "{told}");
    let said = world.lockgate(&["doctor"]);
    check("doctor", "", &(said.out() + &said.err()));
}
