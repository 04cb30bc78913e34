//! `lockgate init` and `lockgate uninstall` as people and scripts meet them: through the real binary, in a project and a
//! home of the test's own.
#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic like the tests")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::world::folder;
use lockgate_testkit::human::{Desk, Typed};
use serde_json::Value;

/// A folder with a project and a home in it.
struct World(PathBuf);

impl World {
    fn new(name: &str) -> Self {
        let top = folder(name);
        for folder in ["project", "home"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        lockgate_testkit::human::set_up(&top.join("home"));
        Self(fs::canonicalize(top).unwrap())
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    fn write(&self, file: &str, text: &str) {
        fs::create_dir_all(self.path(file).parent().unwrap()).unwrap();
        fs::write(self.path(file), text).unwrap();
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.path(file)).ok()
    }

    fn lockgate(&self, words: &[&str]) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_lockgate"))
            .args(words)
            .current_dir(self.path("project"))
            .env_clear()
            .env("HOME", self.path("home"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Said(output)
    }

    /// A human runs it at a terminal of their own and types their passphrase.
    fn human(&self, words: &[&str]) -> Said {
        let mut desk = Desk::new(Path::new(env!("CARGO_BIN_EXE_lockgate")), words);
        desk.command.current_dir(self.path("project")).env_clear().env("HOME", self.path("home"));
        desk.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Said(desk.run(Typed::Word).output)
    }

    fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut folders = vec![self.0.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    // The log of what was tried without a human is looked at elsewhere.
                    false if path.ends_with("refused-commands.jsonl") => {}
                    // So is the human's key.
                    false if path.parent().is_some_and(|it| it.ends_with("share/lockgate")) => {}
                    // So are the records of what was installed.
                    false
                        if path.components().any(|part| part.as_os_str() == "hooks")
                            && path.starts_with(self.0.join("home/.local/share/lockgate")) => {}
                    false => files.push(path.strip_prefix(&self.0).unwrap().display().to_string()),
                }
            }
        }
        files.sort();
        files
    }
}

struct Said(Output);

impl Said {
    fn code(&self) -> Option<i32> {
        self.0.status.code()
    }

    fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out()).unwrap()
    }
}

const MINE: &str = "{\n  // what I like\n  \"theme\": \"dark\"\n}\n";

#[test]
fn init_shows_every_change_and_writes_only_when_told() {
    let world = World::new("init");
    world.write("home/.gemini/settings.json", MINE);
    let before = world.files();

    let shown = world.lockgate(&["init", "--dry-run"]);
    assert_eq!(shown.code(), Some(0), "{}", shown.err());
    assert!(shown.out().contains("+++ "), "{}", shown.out());
    assert!(shown.out().contains("hook gemini-cli"), "{}", shown.out());
    assert!(!shown.out().contains("claude"), "it is not in use");

    let unasked = world.lockgate(&["init"]);
    assert_eq!(unasked.code(), Some(2));
    assert_eq!(unasked.out(), shown.out(), "the changes are shown all the same");
    assert!(unasked.err().contains("run it again with --yes"), "{}", unasked.err());
    assert_eq!(world.files(), before);

    let done = world.lockgate(&["init", "--yes"]);
    assert_eq!(done.code(), Some(0), "{}", done.err());
    let policy = "project/.lockgate/policy.rules";
    let hooks = "project/.gemini/settings.json";
    assert_eq!(world.files(), ["home/.gemini/settings.json", hooks, policy]);
    assert!(done.out().contains("gemini-cli: restart Gemini CLI"), "{}", done.out());
    assert!(world.read(policy).unwrap().contains("require human-approval before any deletion"));
    let verified = world.lockgate(&["verify", ".lockgate"]);
    assert_eq!(verified.code(), Some(0));
    assert!(verified.out().ends_with(": no errors\n"), "{}", verified.out());

    let again = world.lockgate(&["init", "--yes"]);
    assert!(again.out().starts_with("nothing to change\n"), "{}", again.out());
}

#[test]
fn uninstall_gives_back_what_was_there() {
    let world = World::new("uninstall");
    world.write("project/.gemini/settings.json", MINE);
    let agents =
        ["init", "claude-code", "codex", "gemini-cli", "copilot", "cursor", "opencode", "openclaw", "--yes"];
    let done = world.lockgate(&agents);
    assert_eq!(done.code(), Some(0), "{}", done.err());
    assert!(done.out().contains("codex: start `codex`, open `/hooks` and trust"), "{}", done.out());
    assert_eq!(world.files().len(), 11, "{:?}", world.files());
    world.write("project/.lockgate/policy.rules", "block format_disk\n");

    assert_eq!(world.human(&["uninstall", "codex"]).code(), Some(0));
    assert_eq!(world.read("project/.codex/hooks.json"), None);
    assert_eq!(world.read("project/.codex/config.toml"), None);
    assert!(world.read("project/.cursor/hooks.json").is_some());
    for words in [&["uninstall"][..], &["uninstall", "--yes"]] {
        assert_eq!(world.lockgate(words).code(), Some(2), "a human has to be asked");
    }
    assert!(world.read("project/.cursor/hooks.json").is_some());
    assert_eq!(world.human(&["uninstall"]).code(), Some(0));
    assert_eq!(world.files(), ["project/.gemini/settings.json", "project/.lockgate/policy.rules"]);
    assert_eq!(world.read("project/.gemini/settings.json").as_deref(), Some(MINE));

    let all = world.human(&["uninstall", "--all"]);
    assert!(all.out().contains("delete with all that is in it:"), "{}", all.out());
    assert_eq!(world.files(), ["project/.gemini/settings.json"]);
    assert_eq!(world.lockgate(&["uninstall", "--all"]).out(), "nothing to change\n");
}

#[test]
fn a_policy_is_never_overwritten_and_broken_files_keep_everything_as_it_is() {
    let world = World::new("never");
    world.write("project/.lockgate/policy.rules", "block a\n");
    let kept = world.lockgate(&["init", "codex", "--yes"]);
    assert_eq!(kept.code(), Some(0));
    assert!(kept.err().contains("it stays as it is"), "{}", kept.err());
    assert_eq!(world.read("project/.lockgate/policy.rules").as_deref(), Some("block a\n"));

    let world = World::new("broken");
    world.write("project/.cursor/hooks.json", "{\n  oops\n}");
    let before = world.files();
    for words in
        [&["init", "--yes"][..], &["init", "codex", "cursor", "--yes"], &["init", "cursor", "--dry-run"]]
    {
        let refused = world.lockgate(words);
        assert_eq!(refused.code(), Some(2), "{words:?}");
        assert!(refused.err().contains("hooks.json:2: it is not JSON"), "{}", refused.err());
        assert_eq!(world.files(), before, "{words:?}");
    }

    let world = World::new("broken-settings");
    world.write("project/lockgate.toml", "mode = 'shadow'\n");
    let refused = world.lockgate(&["init", "codex", "--yes"]);
    assert_eq!(refused.code(), Some(2));
    assert!(refused.err().contains("lockgate.toml:1: `shadow` is not known here"), "{}", refused.err());
    assert_eq!(world.files(), ["project/lockgate.toml"]);
}

#[test]
fn the_user_is_served_like_a_project() {
    let world = World::new("user");
    let done = world.lockgate(&["init", "claude-code", "--user", "--yes"]);
    assert_eq!(done.code(), Some(0), "{}", done.err());
    assert_eq!(world.files(), ["home/.claude/settings.json", "home/.config/lockgate/policy.rules"]);
    let twice = world.lockgate(&["init", "claude-code", "--dry-run"]);
    assert!(twice.err().contains("`lockgate uninstall claude-code --user`"), "{}", twice.err());
    assert!(!twice.out().contains("policy.rules"), "the user's policy counts: {}", twice.out());
    let wanted = world.lockgate(&["init", "--policy-only", "--yes"]);
    assert_eq!(wanted.code(), Some(0), "{}", wanted.err());
    assert!(
        world
            .read("project/.lockgate/policy.rules")
            .unwrap()
            .contains("require human-approval before any deletion")
    );
    assert_eq!(world.human(&["uninstall", "--user", "--all"]).code(), Some(0));
    assert_eq!(world.files(), ["project/.lockgate/policy.rules"]);
}

#[test]
fn programs_are_told_the_same_in_one_object() {
    let world = World::new("json");
    let unasked = world.lockgate(&["init", "cursor", "--json"]);
    assert_eq!((unasked.code(), &unasked.json()["written"]), (Some(2), &Value::Bool(false)));
    assert!(world.files().is_empty());
    let done = world.lockgate(&["init", "cursor", "--json", "--yes"]).json();
    assert_eq!(done["written"], true);
    assert_eq!(done["agents"], serde_json::json!(["cursor"]));
    assert_eq!(done["files"][0]["change"], "created");
    assert_eq!(done["files"][0]["agent"], "cursor");
    assert!(done["files"][0]["diff"].as_str().unwrap().contains("failClosed"));
    assert!(done["next"][0]["text"].as_str().unwrap().contains("Cursor"));
    let gone = world.human(&["uninstall", "cursor", "--json", "--yes"]).json();
    assert_eq!(gone["files"][0]["change"], "deleted");
    assert!(world.lockgate(&["init", "vim"]).err().contains("invalid value 'vim'"));
}

/// Files of servers, as clients have them: of which agent, where, and what they say.
const SERVERS: &[(&str, &str)] = &[
    (
        "project/.mcp.json",
        "{\n  \"mcpServers\": {\n    \"fs\": {\"command\": \"npx\", \"args\": [\"-y\", \"x\"]} // mine\n  }\n}\n",
    ),
    ("project/.codex/config.toml", "# mine\n[mcp_servers.fs]\ncommand = 'npx'\n"),
    (
        "project/.gemini/settings.json",
        "{\"theme\": \"dark\", \"mcpServers\": {\"fs\": {\"httpUrl\": \"http://localhost:1/mcp\"}}}",
    ),
    ("project/.cursor/mcp.json", "{\"mcpServers\":{\"fs\":{\"command\":\"npx\",\"args\":[]}}}"),
    (
        "project/.vscode/mcp.json",
        "{\"servers\": {\"fs\": {\"type\": \"stdio\", \"command\": \"npx\"}}, \"inputs\": []}",
    ),
    ("project/opencode.json", "{\"mcp\": {\"fs\": {\"type\": \"local\", \"command\": [\"npx\", \"x\"]}}}"),
    (
        "home/.claude.json",
        "{\"mcpServers\": {\"fs\": {\"command\": \"npx\"}}, \"projects\": {\"/p\": {\"mcpServers\": {\"gh\": {\"command\": \"gh\"}}}}}",
    ),
    (
        "home/.copilot/mcp-config.json",
        "{\"mcpServers\": {\"fs\": {\"type\": \"local\", \"command\": \"npx\", \"args\": [], \"tools\": [\"*\"]}}}",
    ),
    (
        "home/.config/opencode/opencode.jsonc",
        "{\"mcp\": {\"fs\": {\"type\": \"remote\", \"url\": \"http://localhost/mcp\"}}}",
    ),
];

#[test]
fn servers_of_clients_are_wrapped_on_demand_and_restored_to_the_byte() {
    let world = World::new("servers");
    for (file, text) in SERVERS {
        world.write(file, text);
    }
    let unasked = world.lockgate(&["init", "claude-code", "--dry-run"]);
    assert!(!unasked.out().contains(".mcp.json"), "only on demand: {}", unasked.out());
    let program = env!("CARGO_BIN_EXE_lockgate");
    for scope in [&[][..], &["--user"]] {
        let words = |first: &[&'static str]| [first, scope].concat();
        let shown = world.lockgate(&words(&["init", "--mcp-only", "--dry-run"]));
        assert!(shown.out().contains("+++ "), "{}{}", shown.out(), shown.err());
        let done = world.lockgate(&words(&["init", "--mcp-only", "--yes"]));
        assert_eq!(done.code(), Some(0), "{}", done.err());
        let again = world.lockgate(&words(&["init", "--mcp-only", "--yes"]));
        assert!(again.out().starts_with("nothing to change\n"), "{}", again.out());
    }
    for (file, text) in SERVERS {
        let wrapped = world.read(file).unwrap();
        assert!(wrapped != *text && wrapped.contains(program), "{file}: {wrapped}");
    }
    let read = |file: &str| serde_json::from_str::<Value>(&world.read(file).unwrap()).unwrap();
    let cursor = &read("project/.cursor/mcp.json")["mcpServers"]["fs"];
    assert_eq!(cursor["args"], serde_json::json!(["mcp", "--name", "fs", "--host", "cursor", "--", "npx"]));
    let code = &read("project/.vscode/mcp.json")["servers"]["fs"];
    assert_eq!(
        code["args"],
        serde_json::json!(["mcp", "--name=fs", "--", "npx"]),
        "no hooks are known of it"
    );
    let gh = &read("home/.claude.json")["projects"]["/p"]["mcpServers"]["gh"];
    assert_eq!(gh["args"][1], "--name=gh");

    let one = world.human(&["uninstall", "cursor"]);
    assert_eq!(one.code(), Some(0), "{}", one.err());
    assert!(!world.read("project/.cursor/mcp.json").unwrap().contains("lockgate"));
    assert!(world.read("project/.mcp.json").unwrap().contains("lockgate"), "only the named one");
    for scope in [&["uninstall"][..], &["uninstall", "--user"]] {
        assert_eq!(world.human(scope).code(), Some(0));
    }
    for (file, text) in SERVERS {
        assert_eq!(world.read(file).as_deref(), Some(*text), "{file}");
    }
}

#[test]
fn hooks_and_servers_of_one_file_come_and_go_together() {
    let (file, text) = ("project/.gemini/settings.json", SERVERS[2].1);
    let world = World::new("hooks-and-servers");
    world.write(file, text);
    let done = world.lockgate(&["init", "gemini-cli", "--mcp", "--yes"]);
    assert_eq!(done.code(), Some(0), "{}", done.err());
    let wrapped = world.read(file).unwrap();
    assert!(wrapped.contains("hook gemini-cli") && wrapped.contains("\"--url\""), "{wrapped}");
    assert!(
        world.lockgate(&["init", "gemini-cli", "--mcp", "--yes"]).out().starts_with("nothing to change\n")
    );
    assert_eq!(world.human(&["uninstall"]).code(), Some(0));
    assert_eq!(world.read(file).as_deref(), Some(text));
}

#[test]
fn servers_that_are_not_wrapped_are_named_and_broken_files_keep_all_as_it_is() {
    let world = World::new("left-servers");
    let text = "{\"mcpServers\": {\"gh\": {\"type\": \"http\", \"url\": \"https://example.com/mcp\"}}}";
    world.write("project/.mcp.json", text);
    let done = world.lockgate(&["init", "--mcp-only", "--yes"]);
    assert_eq!(done.code(), Some(0), "{}", done.err());
    assert!(
        done.err().contains("`gh` is left as it is: whether the client has to sign in"),
        "{}",
        done.err()
    );
    assert_eq!(world.read("project/.mcp.json").as_deref(), Some(text));

    world.write("project/.cursor/mcp.json", "{\n  oops\n}");
    world.write("project/.vscode/mcp.json", SERVERS[4].1);
    let refused = world.lockgate(&["init", "--mcp-only", "--yes"]);
    assert_eq!(refused.code(), Some(2));
    assert!(refused.err().contains("mcp.json:2: it is not JSON"), "{}", refused.err());
    assert_eq!(world.read("project/.vscode/mcp.json").as_deref(), Some(SERVERS[4].1));
    assert_eq!(world.human(&["uninstall"]).code(), Some(0), "it never held anything of ours");
}

#[test]
fn doctor_looks_for_the_programs_before_and_behind_the_proxy() {
    let world = World::new("doctor-servers");
    let servers = r#"{"mcpServers": {"fs": {"command": "/bin/sh"}, "gone": {"command": "/no/such/server"},
        "near": {"type": "http", "url": "http://localhost:1/mcp"}}}"#;
    world.write("project/.mcp.json", servers);
    assert_eq!(world.lockgate(&["init", "claude-code", "--mcp", "--yes"]).code(), Some(0));
    let said = world.lockgate(&["doctor", "claude-code", "--json"]);
    let told = said.json();
    let checks = told["installation"].as_array().unwrap().iter().filter(|check| check["check"] == "mcp");
    let checks: Vec<_> =
        checks.map(|it| (it["result"].as_str().unwrap(), it["told"].as_str().unwrap())).collect();
    let [("ok", fs), ("wrong", gone), ("ok", near)] = checks.as_slice() else { panic!("{checks:?}") };
    assert!(fs.starts_with("`fs` in ") && fs.ends_with(".mcp.json: /bin/sh"), "{fs}");
    assert!(gone.ends_with("runs `/no/such/server`, which is not there; install it"), "{gone}");
    assert!(near.ends_with(": http://localhost:1/mcp"), "{near}");
    assert_eq!(said.code(), Some(1));

    let moved =
        world.read("project/.mcp.json").unwrap().replace(env!("CARGO_BIN_EXE_lockgate"), "/gone/lockgate");
    world.write("project/.mcp.json", &moved);
    let shown = world.lockgate(&["doctor", "claude-code"]).out();
    assert!(shown.contains("`/gone/lockgate`, which is not there; run `lockgate init"), "{shown}");
}

#[test]
fn the_files_of_init_are_kept_out_of_version_control_where_the_user_agrees() {
    let world = World::new("exclude");
    world.write("project/.git/config", "");
    world.write("project/.git/info/exclude", "*.log\n");
    let kept = world.lockgate(&["init", "codex", "--yes", "--no-exclude"]);
    assert_eq!(kept.code(), Some(0), "{}", kept.err());
    assert!(!kept.err().contains("git"), "{}", kept.err());
    assert_eq!(world.human(&["uninstall", "--all"]).code(), Some(0));
    let told = world.lockgate(&["init", "codex", "--yes"]);
    assert!(told.err().contains("`lockgate init --exclude`"), "{}", told.err());
    assert_eq!(world.read("project/.git/info/exclude").as_deref(), Some("*.log\n"));
    assert_eq!(world.human(&["uninstall", "--all"]).code(), Some(0));
    let done = world.lockgate(&["init", "codex", "--yes", "--exclude"]);
    assert!(done.err().contains("`git clean -fdx`"), "{}", done.err());
    let text = world.read("project/.git/info/exclude").unwrap();
    assert!(text.starts_with("*.log\n") && text.contains("\n/.lockgate/\n"), "{text}");
    assert!(text.contains("\n/.codex/hooks.json\n"), "{text}");
    let again = world.lockgate(&["init", "codex", "--yes", "--exclude"]);
    assert!(again.out().starts_with("nothing to change\n"), "{}", again.out());
    assert_eq!(world.human(&["uninstall", "--all"]).code(), Some(0));
    assert_eq!(world.read("project/.git/info/exclude").as_deref(), Some("*.log\n"));
}
