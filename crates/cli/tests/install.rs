//! `lockgate init` and `lockgate uninstall` as people and scripts meet them: through the real binary, in a project and a
//! home of the test's own.
#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic like the tests")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// A folder with a project and a home in it.
struct World(PathBuf);

impl World {
    fn new(name: &str) -> Self {
        let top = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&top);
        for folder in ["project", "home"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
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

    fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut folders = vec![self.0.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
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
    assert!(done.out().contains("gemini-cli: start Gemini CLI anew"), "{}", done.out());
    assert!(world.read(policy).unwrap().contains("map run_shell_command running rm as delete"));
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

    assert_eq!(world.lockgate(&["uninstall", "codex", "--yes"]).code(), Some(0));
    assert_eq!(world.read("project/.codex/hooks.json"), None);
    assert_eq!(world.read("project/.codex/config.toml"), None);
    assert!(world.read("project/.cursor/hooks.json").is_some());
    assert_eq!(world.lockgate(&["uninstall"]).code(), Some(2), "nobody can be asked");
    assert!(world.read("project/.cursor/hooks.json").is_some());
    assert_eq!(world.lockgate(&["uninstall", "--yes"]).code(), Some(0));
    assert_eq!(world.files(), ["project/.gemini/settings.json", "project/.lockgate/policy.rules"]);
    assert_eq!(world.read("project/.gemini/settings.json").as_deref(), Some(MINE));

    let all = world.lockgate(&["uninstall", "--all", "--yes"]);
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
        assert!(refused.err().contains("hooks.json:2: it is no JSON"), "{}", refused.err());
        assert_eq!(world.files(), before, "{words:?}");
    }

    let world = World::new("broken-settings");
    world.write("project/lockgate.toml", "mode = 'shadow'\n");
    let refused = world.lockgate(&["init", "codex", "--yes"]);
    assert_eq!(refused.code(), Some(2));
    assert!(refused.err().contains("lockgate.toml:1: unknown variant `shadow`"), "{}", refused.err());
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
    assert!(world.read("project/.lockgate/policy.rules").unwrap().contains("map Shell running rm as delete"));
    assert_eq!(world.lockgate(&["uninstall", "--user", "--all", "--yes"]).code(), Some(0));
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
    let gone = world.lockgate(&["uninstall", "cursor", "--json", "--yes"]).json();
    assert_eq!(gone["files"][0]["change"], "deleted");
    assert!(world.lockgate(&["init", "vim"]).err().contains("invalid value 'vim'"));
}
