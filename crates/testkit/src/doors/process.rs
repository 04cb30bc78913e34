//! The program itself: `lockgate gate` as a process of its own, one for each story.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::Value;

use super::pipes::Pipes;
use crate::{Door, Options, PolicyFile};

/// Starts a `lockgate` program and speaks to it over its stdin and stdout.
pub struct ProcessDoor {
    program: PathBuf,
    running: Option<Running>,
}

impl ProcessDoor {
    /// A door to the program at this path.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), running: None }
    }
}

impl Door for ProcessDoor {
    fn open(&mut self, policy: &[PolicyFile], options: &Options) -> Result<(), String> {
        let running = Running::start(&self.program, policy, options);
        self.running =
            Some(running.map_err(|error| format!("cannot start `{}`: {error}", self.program.display()))?);
        Ok(())
    }

    fn line(&mut self, line: Value) -> Result<Value, String> {
        let running = self.running.as_mut().ok_or("the door is not open")?;
        // What the process has to say about its end stands on stderr.
        running
            .pipes
            .say(&line)
            .map_err(|error| format!("{error}\n{}", running.complaint()).trim_end().to_owned())
    }
}

/// A process in a folder of its own; both are gone when this is dropped.
struct Running {
    child: Child,
    pipes: Pipes,
    folder: Folder,
}

impl Running {
    fn start(program: &Path, policy: &[PolicyFile], options: &Options) -> io::Result<Self> {
        let folder = Folder::new()?;
        for file in policy {
            fs::write(folder.0.join(&file.name), &file.text)?;
        }
        // It starts in the folder, so that answers name the files as the page does.
        let mut child = Command::new(program)
            .current_dir(&folder.0)
            .args(["gate", "--clock", "lines", "--mode", if options.observe { "observe" } else { "enforce" }])
            .args(policy.iter().map(|file| &file.name))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folder.complaint())?)
            .spawn()?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the process has no pipes"));
        };
        Ok(Self { child, pipes: Pipes::new(to, from), folder })
    }

    fn complaint(&self) -> String {
        fs::read_to_string(self.folder.complaint()).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself, and then there is nobody to kill; waiting is due in any case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("lockgate-door-{}-{number}", process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    fn complaint(&self) -> PathBuf {
        self.0.join("stderr")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
