//! A project, a home and the real binary between them, for tests of what hooks do.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of tests may panic like the tests"
)]

use std::{
    fs,
    io::Write,
    panic::Location,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use lockgate_testkit::human::{self, Desk, Ran, Typed};
use serde_json::Value;

/// A folder with a project and a home in it.
pub(crate) struct World(pub(crate) PathBuf);

impl World {
    #[track_caller]
    pub(crate) fn new(name: &str) -> Self {
        let top = folder(name);
        for folder in ["project", "home"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        let world = Self(fs::canonicalize(top).unwrap());
        human::set_up(&world.path("home"));
        world
    }

    /// The same without a human who could answer.
    #[track_caller]
    pub(crate) fn without_human(name: &str) -> Self {
        let world = Self::new(name);
        fs::remove_file(world.path("home/.local/share/lockgate/human.key")).unwrap();
        world
    }

    /// The same with a policy and settings, which a human has trusted.
    #[track_caller]
    pub(crate) fn with(name: &str, policy: &str, settings: &str) -> Self {
        let world = Self::new(name);
        world.write("project/.lockgate/policy.rules", policy);
        world.write("project/.lockgate/lockgate.toml", settings);
        world.trust();
        world
    }

    /// Trusts the project as it is, as a human at a terminal would; one that cannot be trusted stays as it is.
    pub(crate) fn trust(&self) {
        trust(&self.path("project"), &self.path("home"));
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path("home/.local/share/lockgate/lockgate.db")
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        fs::create_dir_all(self.path(file).parent().unwrap()).unwrap();
        fs::write(self.path(file), text).unwrap();
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    pub(crate) fn command_of(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped());
        self.at_home(&mut command);
        command
    }

    /// The same, started by a process that stands for the agent.
    pub(crate) fn agent_of(&self, words: &[&str]) -> Command {
        let lockgate = Path::new(env!("CARGO_BIN_EXE_lockgate"));
        let mut command = human::agent(&self.path("agent.sh"), lockgate, words);
        command.stdin(Stdio::piped());
        self.at_home(&mut command);
        command
    }

    fn at_home(&self, command: &mut Command) {
        command
            .current_dir(self.path("project"))
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", "/usr/bin:/bin")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    pub(crate) fn spawn(&self, words: &[&str], input: &str) -> Child {
        let is_of_agent = words.first() == Some(&"hook");
        let mut command = match is_of_agent {
            true => self.agent_of(words),
            false => self.command_of(Path::new(env!("CARGO_BIN_EXE_lockgate")), words),
        };
        let mut child = command.spawn().unwrap();
        // Who ends before reading everything is judged by what it said.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child
    }

    pub(crate) fn lockgate(&self, words: &[&str]) -> Said {
        Said(self.spawn(words, "").wait_with_output().unwrap())
    }

    /// A human runs it at a terminal of their own and types their passphrase.
    pub(crate) fn human(&self, words: &[&str]) -> Said {
        Said(self.human_typing(words, Typed::Word).output)
    }

    pub(crate) fn human_typing(&self, words: &[&str], typed: Typed<'_>) -> Ran {
        let mut desk = Desk::new(Path::new(env!("CARGO_BIN_EXE_lockgate")), words);
        self.at_home(&mut desk.command);
        desk.run(typed)
    }

    pub(crate) fn hook(&self, agent: &str, event: &str) -> Said {
        Said(self.spawn(&["hook", agent], event).wait_with_output().unwrap())
    }

    /// The questions that are open, as soon as there is one.
    pub(crate) fn first_question(&self) -> Value {
        for _ in 0..600 {
            let said = self.lockgate(&["pending", "--json"]);
            if said.code() == Some(0)
                && let Some(question) = said.json()["questions"].get(0)
            {
                return question.clone();
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("nobody asked anything");
    }
}

/// An empty folder of the test's own. Test files run at the same time, so each has its folders in one of its own.
#[track_caller]
pub(crate) fn folder(name: &str) -> PathBuf {
    let file = Path::new(Location::caller().file()).file_stem().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Keeps the record that `lockgate trust` keeps when a human has agreed.
pub(crate) fn trust(project: &Path, home: &Path) {
    human::trust(Path::new(env!("CARGO_BIN_EXE_lockgate")), project, home).unwrap();
}

pub(crate) struct Said(pub(crate) Output);

impl Said {
    pub(crate) fn of(child: Child) -> Self {
        Self(child.wait_with_output().unwrap())
    }

    pub(crate) fn code(&self) -> Option<i32> {
        self.0.status.code()
    }

    pub(crate) fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out()).unwrap_or_else(|_| panic!("{}{}", self.out(), self.err()))
    }
}
