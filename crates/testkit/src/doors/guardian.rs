//! The guardian of `lockgate serve --guardian`, asked by `lockgate gate` over its socket: two processes for each story.
//!
//! Both run as the user who plays the pages, because the pages speak for operators and humans too; what an agent's user
//! may not say is tested with two users in `crates/cli/tests/guardian.rs`.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::pipes::Pipes;
use crate::{Door, Options, PolicyFile};

/// How long a guardian may take to listen, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts a guardian and a client of it, and speaks to the client over its stdin and stdout.
pub struct GuardianDoor {
    program: PathBuf,
    running: Option<Running>,
}

impl GuardianDoor {
    /// A door to the program at this path.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), running: None }
    }
}

impl Door for GuardianDoor {
    fn open(&mut self, policy: &[PolicyFile], options: &Options) -> Result<(), String> {
        // The last story's guardian ends before the next one begins.
        self.running = None;
        let running = Running::start(&self.program, policy, options);
        self.running = Some(running.map_err(|error| format!("cannot start the guardian: {error}"))?);
        Ok(())
    }

    fn line(&mut self, line: Value) -> Result<Value, String> {
        let running = self.running.as_mut().ok_or("the door is not open")?;
        let answer = running.pipes.say(&line)?.to_string();
        // The page names files as they are called in its own folder.
        let plain = answer.replace(&format!("{}/", running.policies.display()), "");
        serde_json::from_str(&plain).map_err(|error| format!("no JSON ({error}): {plain}"))
    }
}

/// A guardian and its client in a folder of their own; all are gone when this is dropped.
struct Running {
    guardian: Child,
    client: Child,
    pipes: Pipes,
    policies: PathBuf,
    _folder: tempfile::TempDir,
}

impl Running {
    fn start(program: &Path, policy: &[PolicyFile], options: &Options) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let place = fs::canonicalize(folder.path())?;
        let (machine, complaint) = (place.join("guardian.toml"), place.join("stderr"));
        let user = fs::metadata(&place)?.uid();
        let policies = place.join(format!("policies/{user}/lockgate"));
        let (work, home) = (place.join("work"), place.join("home"));
        for folder in [&policies, &work, &home, &place.join(format!("data/users/{user}"))] {
            fs::create_dir_all(folder)?;
        }
        for file in policy {
            fs::write(policies.join(&file.name), &file.text)?;
        }
        let names: Vec<&str> = policy.iter().map(|file| file.name.as_str()).collect();
        // Only rules decide at the doors that pages know.
        let mode = if options.observe { "observe" } else { "enforce" };
        let settings = format!("mode = \"{mode}\"\nprotect = false\npolicy = {}\n", json!(names));
        fs::write(policies.join("lockgate.toml"), settings)?;
        let named = |path: &str| json!(place.join(path));
        let text = format!(
            "socket = {}\nuser = {user}\nusers = [{user}]\npolicies = {}\ndata = {}\ndeadline = \"60s\"\n",
            named("socket"),
            named("policies"),
            named("data")
        );
        fs::write(&machine, text)?;
        let start = |words: &[&str]| {
            let mut command = Command::new(program);
            command.current_dir(&work).env("HOME", &home).arg("--machine").arg(&machine).args(words);
            command
        };
        let mut guardian = start(&["serve", "--guardian", "--clock", "lines"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&complaint)?)
            .spawn()?;
        let begun = Instant::now();
        while !fs::read_to_string(&complaint)?.contains("listens at") {
            if guardian.try_wait()?.is_some() || begun.elapsed() > PATIENCE {
                let _ = guardian.kill();
                let _ = guardian.wait();
                return Err(io::Error::other(fs::read_to_string(&complaint)?));
            }
            thread::sleep(Duration::from_millis(2));
        }
        let client = start(&["gate", "--guardian", "--clock", "lines"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut client = match client {
            Ok(client) => client,
            Err(error) => {
                let _ = guardian.kill();
                let _ = guardian.wait();
                return Err(error);
            }
        };
        let (Some(to), Some(from)) = (client.stdin.take(), client.stdout.take()) else {
            return Err(io::Error::other("the process has no pipes"));
        };
        Ok(Self { guardian, client, pipes: Pipes::new(to, from), policies, _folder: folder })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in [&mut self.client, &mut self.guardian] {
            // It may have ended by itself; waiting is due in any case.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
