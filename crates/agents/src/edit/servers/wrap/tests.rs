//! Entries of servers that are wrapped and unwrapped.

use proptest::prelude::*;

use super::*;
use crate::{
    agents::{
        claude_code::SERVERS as CLAUDE_CODE, codex::SERVERS as CODEX, copilot::SERVERS as COPILOT,
        gemini_cli::SERVERS as GEMINI_CLI, opencode::SERVERS as OPENCODE,
    },
    install::CLAUDE_DESKTOP,
};

const MOST: Form = Form::of_most();

const GUARD: Guard<'_> = Guard { program: "/opt/my tools/lockgate", host: Some("claude-code") };

fn wrapped_text(text: &str, form: &Form) -> String {
    wrapped(text, form, &GUARD).unwrap().0
}

#[test]
fn a_server_that_is_run_is_run_by_lockgate_and_all_else_stays() {
    let text = r#"{
  // what I use
  "mcpServers": {
    "fs": {
      "command": "npx", // from npm
      "args": ["-y", "x"],
      "env": {"TOKEN": "t"},
    },
    "bare": {"type": "stdio", "command": "srv"},
    "multi": {"args": [
      "a"
    ], "command": "s\u0072v"},
    "none": {"command": "srv", "args": []}
  }
}
"#;
    insta::assert_snapshot!(wrapped_text(text, &MOST).replace(", \n", ",\n"), @r#"
        {
          // what I use
          "mcpServers": {
            "fs": {
              "command": "/opt/my tools/lockgate", // from npm
              "args": ["mcp", "--name", "fs", "--host", "claude-code", "--", "npx", "-y", "x"],
              "env": {"TOKEN": "t"},
            },
            "bare": {"type": "stdio", "command": "/opt/my tools/lockgate", "args": ["mcp", "--name=bare", "--host", "claude-code", "--", "srv"]},
            "multi": {"args": ["mcp", "--name", "multi", "--host", "claude-code", "--", "s\u0072v",
              "a"
            ], "command": "/opt/my tools/lockgate"},
            "none": {"command": "/opt/my tools/lockgate", "args": ["mcp", "--name", "none", "--host", "claude-code", "--", "srv"]}
          }
        }
        "#);
}

#[test]
fn toml_is_wrapped_like_json() {
    let text = r#"model = "x"
[mcp_servers.fs]
command = 'npx' # from npm
args = [
  "-y", # yes
  "x",
]
env = { TOKEN = "t" }

[mcp_servers."a b"]
  command = "srv"
[mcp_servers.local]
url = "http://127.0.0.1:8000/mcp"
tool_timeout_sec = 5
[mcp_servers]
inline = { command = "srv" }
dotted.command = "srv"
dotted.args = []
"#;
    insta::assert_snapshot!(wrapped_text(text, &CODEX).replace(", \n", ",\n"), @r#"
        model = "x"
        [mcp_servers.fs]
        command = "/opt/my tools/lockgate" # from npm
        args = ["mcp", "--name", "fs", "--host", "claude-code", "--", 'npx',
          "-y", # yes
          "x",
        ]
        env = { TOKEN = "t" }

        [mcp_servers."a b"]
          args = ["mcp", "--name=a b", "--host", "claude-code", "--", "srv"]
          command = "/opt/my tools/lockgate"
        [mcp_servers.local]
        command = "/opt/my tools/lockgate"
        args = ["mcp", "--name", "local", "--host", "claude-code", "--url", "http://127.0.0.1:8000/mcp"]
        tool_timeout_sec = 5
        [mcp_servers]
        inline = { args = ["mcp", "--name=inline", "--host", "claude-code", "--", "srv"], command = "/opt/my tools/lockgate" }
        dotted.command = "/opt/my tools/lockgate"
        dotted.args = ["mcp", "--name", "dotted", "--host", "claude-code", "--", "srv"]
        "#);
    assert_eq!(unwrapped(&wrapped_text(text, &CODEX), &CODEX).unwrap(), text);
}

#[test]
fn a_server_of_this_machine_is_reached_by_lockgate() {
    let rows = [
        (
            &MOST,
            r#"{"mcpServers": {"a": {"type": "http", "url" : "http://localhost:1/mcp", "timeout": 5}}}"#,
            r#"{"mcpServers": {"a": {"type": "stdio", "command": "L", "args" : ["mcp", "--name", "a", "--host", "claude-code", "--url", "http://localhost:1/mcp"], "timeout": 5}}}"#,
        ),
        (
            &COPILOT,
            r#"{"mcpServers": {"a": {"type": "http", "url": "http://[::1]:1/mcp", "tools": ["*"]}}}"#,
            r#"{"mcpServers": {"a": {"type": "local", "command": "L", "args": ["mcp", "--name", "a", "--host", "claude-code", "--url", "http://[::1]:1/mcp"], "tools": ["*"]}}}"#,
        ),
        (
            &GEMINI_CLI,
            r#"{"mcpServers": {"a": {"httpUrl": "http://127.0.0.1/mcp"}}}"#,
            r#"{"mcpServers": {"a": {"command": "L", "args": ["mcp", "--name", "a", "--host", "claude-code", "--url", "http://127.0.0.1/mcp"]}}}"#,
        ),
        (
            &OPENCODE,
            r#"{"mcp": {"a": {"type": "remote", "url": "http://localhost/mcp", "enabled": true}}}"#,
            r#"{"mcp": {"a": {"type": "local", "command": ["L", "mcp", "--name", "a", "--host", "claude-code", "--url", "http://localhost/mcp"], "enabled": true}}}"#,
        ),
        (
            &OPENCODE,
            r#"{"mcp": {"a": {"type": "local", "command": ["npx", "x"], "environment": {}}}}"#,
            r#"{"mcp": {"a": {"type": "local", "command": ["L", "mcp", "--name", "a", "--host", "claude-code", "--", "npx", "x"], "environment": {}}}}"#,
        ),
        (
            &CLAUDE_CODE,
            r#"{"projects": {"/p": {"mcpServers": {"a": {"command": "x"}}}}, "mcpServers": {}}"#,
            r#"{"projects": {"/p": {"mcpServers": {"a": {"command": "L", "args": ["mcp", "--name=a", "--host", "claude-code", "--", "x"]}}}}, "mcpServers": {}}"#,
        ),
    ];
    for (form, before, after) in rows {
        assert_eq!(wrapped_text(before, form), after.replace("\"L\"", &literal(GUARD.program)));
        assert_eq!(unwrapped(&wrapped_text(before, form), form).unwrap(), before);
    }
}

#[test]
fn what_only_the_client_can_do_is_left_and_named() {
    let rows = [
        (&MOST, r#"{"url": "https://example.com/mcp"}"#, "sign in"),
        (&MOST, r#"{"url": "http://localhost.example.com/mcp"}"#, "sign in"),
        (&MOST, r#"{"url": "http://localhost@example.com/mcp"}"#, "sign in"),
        (&MOST, r#"{"url": "http://${HOST}/mcp"}"#, "sign in"),
        (&MOST, r#"{"url": "http://localhost/mcp", "headers": {}}"#, "`headers`"),
        (&MOST, r#"{"url": "http://localhost/mcp", "oauth": {}}"#, "`oauth`"),
        (&MOST, r#"{"url": "http://localhost/mcp", "type": "sse"}"#, "`sse`"),
        (&MOST, r#"{"url": "http://localhost/mcp", "command": "x"}"#, "both"),
        (&MOST, r#"{"\u0075rl": "http://localhost/mcp"}"#, "unusual"),
        (&MOST, r#"{"url": 1}"#, "not a string"),
        (&MOST, r#"{"command": ["x"]}"#, "not a string"),
        (&MOST, r#"{"command": ""}"#, "not a string"),
        (&MOST, r#"{"command": "x", "args": [1]}"#, "not a list"),
        (&MOST, r#"{"command": "x", "args": null}"#, "not a list"),
        (&MOST, r#"{}"#, "neither"),
        (&MOST, r#"null"#, "neither"),
        (&GEMINI_CLI, r#"{"url": "http://localhost/sse"}"#, "neither"),
        (&CLAUDE_DESKTOP, r#"{"url": "http://localhost/mcp"}"#, "neither"),
    ];
    for (form, entry, why) in rows {
        let text = format!(r#"{{"mcpServers": {{"a": {entry}}}}}"#);
        let (after, left) = wrapped(&text, form, &GUARD).unwrap();
        assert_eq!(after, text);
        assert!(
            matches!(left.as_slice(), [it] if it.name == "a" && it.why.contains(why)),
            "{entry}: {left:?}"
        );
    }
    for name in ["", "-x", "a\\nb"] {
        let text = format!(r#"{{"mcpServers": {{"{name}": {{"command": "x"}}}}}}"#);
        assert_eq!(wrapped(&text, &MOST, &GUARD).unwrap().1.len(), 1, "{name}");
    }
    let dotted = "mcp_servers.a.command = \"x\"\n";
    let (after, left) = wrapped(dotted, &CODEX, &GUARD).unwrap();
    assert!(after == dotted && left.len() == 1, "{after} {left:?}");
}

#[test]
fn words_of_a_user_s_own_are_not_touched() {
    for args in [
        r#"["mcp", "--policy", "x", "--", "npx"]"#,
        r#"["mcp", "--config", "f"]"#,
        r#"["mcp", "--name", "a", "--url", "u", "--memory"]"#,
    ] {
        let text = format!(r#"{{"mcpServers": {{"a": {{"command": "lockgate", "args": {args}}}}}}}"#);
        assert_eq!(wrapped(&text, &MOST, &GUARD).unwrap(), (text.clone(), Vec::new()));
        assert_eq!(unwrapped(&text, &MOST).unwrap(), text);
    }
}

#[test]
fn another_program_is_put_in_the_older_one_s_place() {
    let text = r#"{"mcpServers": {"a": {"command": "npx", "args": ["x"]}}}"#;
    let older = Guard { program: "/old/lockgate", host: None };
    let (older, _) = wrapped(text, &MOST, &older).unwrap();
    assert!(older.contains("/old/lockgate"));
    assert_eq!(wrapped_text(&older, &MOST), wrapped_text(text, &MOST));
}

#[test]
fn what_a_client_has_written_anew_is_still_unwrapped() {
    let text = r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"]}, "b": {"command": "y"}, "c": {"type": "http", "url": "http://localhost"}, "d": {"command": "z", "args": []}}}"#;
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let anew = serde_json::to_string_pretty(&value(&wrapped_text(text, &MOST))).unwrap();
    assert_eq!(value(&unwrapped(&anew, &MOST).unwrap()), value(text));
    let anew = anew.replace("\"x\"\n", "\"x\",\n").replace("\"y\"\n", "\"y\" , // why\n");
    let read = |text: &str| crate::edit::whole(text).unwrap();
    assert_eq!(Value::Object(read(&unwrapped(&anew, &MOST).unwrap())), value(text));
}

#[test]
fn a_file_that_cannot_be_read_in_one_way_is_told() {
    for (text, form, line, reason) in [
        ("{\n\"mcpServers\": ", &MOST, 2, "it is not JSON"),
        ("{\"mcpServers\": {\"a\": {},\n\"a\": {}}}", &MOST, 2, "`a` appears twice"),
        (
            "{\"mcpServers\": {\"a\": {\"command\": \"x\",\n\"command\": \"y\"}}}",
            &MOST,
            2,
            "`command` appears",
        ),
        ("[mcp_servers.a]\ncommand = ", &CODEX, 2, "it is not TOML"),
    ] {
        let mistake = wrapped(text, form, &GUARD).unwrap_err();
        assert!(mistake.line == line && mistake.reason.starts_with(reason), "{text}: {mistake:?}");
    }
    for text in ["{}", "{\"mcpServers\": []}", "{\"mcpServers\": {}}", "{\"projects\": {\"p\": 1}}"] {
        assert_eq!(wrapped(text, &CLAUDE_CODE, &GUARD).unwrap(), (text.to_owned(), Vec::new()));
    }
}

/// White space and comments, as people leave them.
fn blank() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["", " ", "  ", "\n", "\t", "\r\n  ", "/* ], \" */", "// \" , ä\n"]);
    prop::collection::vec(part, 0..3).prop_map(|parts| parts.concat())
}

fn entry() -> impl Strategy<Value = String> {
    let word = || {
        let words = vec![
            "\"npx\"",
            "\"-y\"",
            "\"--\"",
            "\"a b\"",
            "\"\\u0041\"",
            "\"--url\"",
            "\"mcp\"",
            "\"--name\"",
            "\"/x/lockgate\"",
        ];
        prop::sample::select(words).prop_map(str::to_owned)
    };
    let args = (prop::collection::vec((blank(), word(), blank()), 0..4), any::<bool>(), blank()).prop_map(
        |(words, comma, tail)| {
            let words: Vec<String> = words.into_iter().map(|(a, word, b)| format!("{a}{word}{b}")).collect();
            let comma = if comma && !words.is_empty() { "," } else { "" };
            format!("\"args\":[{}{comma}{tail}]", words.join(","))
        },
    );
    let command = (blank(), word()).prop_map(|(a, word)| format!("\"command\"{a}:{word}"));
    let address = prop::sample::select(vec!["http://localhost:1", "https://far"]);
    let address = (blank(), address).prop_map(|(a, url)| format!("\"url\":{a}\"{url}\""));
    let kind =
        prop::sample::select(vec!["http", "stdio", "sse"]).prop_map(|kind| format!("\"type\": \"{kind}\""));
    let other = Just("\"env\": {\"A\": [1, {}]}".to_owned());
    let some = |it: BoxedStrategy<String>| prop::option::of(it);
    let fields = (
        some(command.boxed()),
        some(args.boxed()),
        some(address.boxed()),
        some(kind.boxed()),
        some(other.boxed()),
    );
    let fields = fields.prop_map(|(a, b, c, d, e)| [a, b, c, d, e].into_iter().flatten().collect::<Vec<_>>());
    (fields.prop_shuffle(), blank(), blank(), any::<bool>()).prop_map(|(fields, a, b, comma)| {
        let comma = if comma && !fields.is_empty() { "," } else { "" };
        format!("{{{a}{}{b}{comma}}}", fields.join(&format!("{b},{a}")))
    })
}

fn settings() -> impl Strategy<Value = String> {
    prop::collection::vec((blank(), entry()), 0..4).prop_map(|entries| {
        let entries =
            entries.iter().enumerate().map(|(at, (blank, entry))| format!("{blank}\"s{at}\":{entry}"));
        format!("{{\"mcpServers\": {{{}}}}}", entries.collect::<Vec<_>>().join(","))
    })
}

/// A TOML file of servers, each with a command, some with arguments.
fn toml_settings() -> impl Strategy<Value = String> {
    let word =
        || prop::sample::select(vec!["\"npx\"", "'-y'", "\"\"\"a\nb\"\"\"", "'''--'''", "\"\\u0041\""]);
    let blank = || prop::sample::select(vec!["", " ", "\n", "\t# ], \" ä\n", "\r\n  "]);
    let args = (prop::collection::vec((blank(), word(), blank()), 0..4), any::<bool>(), blank()).prop_map(
        |(words, comma, tail)| {
            let words: Vec<String> = words.into_iter().map(|(a, word, b)| format!("{a}{word}{b}")).collect();
            let comma = if comma && !words.is_empty() { "," } else { "" };
            format!("args = [{}{comma}{tail}]", words.join(","))
        },
    );
    let indent = prop::sample::select(vec!["", "  ", "\t"]);
    let end = prop::sample::select(vec!["\n", "\r\n", " # c\n", "\n\n"]);
    let server = (word(), prop::option::of(args), any::<bool>(), any::<bool>(), indent, end).prop_map(
        |(command, args, is_first, is_inline, indent, end)| {
            let mut fields = Vec::from([format!("command = {command}")]);
            fields.extend(args);
            if is_first {
                fields.reverse();
            }
            (fields, is_inline, indent, end)
        },
    );
    prop::collection::vec(server, 0..4).prop_map(|servers| {
        let mut text = "model = \"x\"\n[mcp_servers]\n".to_owned();
        let (inline, tables): (Vec<_>, Vec<_>) =
            servers.into_iter().partition(|(_, is_inline, ..)| *is_inline);
        for (at, (fields, _, indent, end)) in inline.into_iter().enumerate() {
            text +=
                &format!("{indent}i{at} = {{{indent}{}{indent}}}{end}", fields.join(&format!(",{indent}")));
        }
        for (at, (fields, _, indent, end)) in tables.into_iter().enumerate() {
            text += &format!("[mcp_servers.s{at}]{end}");
            text.extend(fields.iter().map(|field| format!("{indent}{field}{end}")));
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_file_that_was_wrapped_and_unwrapped_is_the_file_it_was(text in settings()) {
        let text = unwrapped(&text, &MOST).unwrap();
        let after = wrapped_text(&text, &MOST);
        prop_assert_eq!(wrapped_text(&after, &MOST), after.clone(), "twice is once");
        prop_assert_eq!(unwrapped(&after, &MOST).unwrap(), text);
    }

    #[test]
    fn so_is_one_in_toml(text in toml_settings()) {
        let after = wrapped_text(&text, &CODEX);
        prop_assert_eq!(wrapped_text(&after, &CODEX), after.clone(), "twice is once");
        prop_assert_eq!(unwrapped(&after, &CODEX).unwrap(), text);
    }

    #[test]
    fn what_was_run_is_still_run_behind_our_words(text in settings()) {
        let text = unwrapped(&text, &MOST).unwrap();
        let read = |text: &str| crate::edit::whole(text).unwrap();
        let (before, after) = (read(&text), read(&wrapped_text(&text, &MOST)));
        for (name, entry) in before["mcpServers"].as_object().unwrap() {
            let new = &after["mcpServers"][name];
            let args = new["args"].as_array().cloned().unwrap_or_default();
            if new == entry || entry.get("command").is_none() {
                continue;
            }
            prop_assert_eq!(&new["command"], GUARD.program);
            let run: Vec<Value> = std::iter::once(entry["command"].clone())
                .chain(entry["args"].as_array().cloned().unwrap_or_default()).collect();
            let at = args.iter().position(|word| word == "--").unwrap();
            prop_assert_eq!(&args[at + 1..], run.as_slice());
            prop_assert_eq!(&new["env"], &entry["env"]);
        }
    }
}
