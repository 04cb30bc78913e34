//! Hooks on trial: an installed command is run on a made-up event, in folders that are thrown away.
//!
//! The policy is the one that counts; everything else a hook reads or writes is made for it, so neither sessions nor
//! settings of the user are touched. No tool is run.

use std::{
    env, fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use lockgate_agents::{
    Agent, HookReply,
    install::InstalledCommand,
    settings::{FILE, Settings, starter_policy},
};
use serde_json::Value;

use crate::platform;

/// How long a hook on trial may take; it answers itself after half of that.
const TRIAL_LIMIT: Duration = Duration::from_secs(30);
/// The most that is read of what a hook prints, in bytes.
const PRINTED_BYTES_MAX: u64 = 1024 * 1024;

/// What is made to go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    BrokenPolicy,
    CorruptDatabase,
    NoState,
}

/// A project, a home and a folder of data, gone when this is dropped.
pub(super) struct World {
    top: PathBuf,
    /// A path of the policy that counts: what an agent must leave alone.
    pub(super) guarded: PathBuf,
}

impl World {
    pub(super) fn new(settings: &Settings, fault: Fault) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("lockgate-doctor-{}-{number}", std::process::id());
        let top = fs::canonicalize(env::temp_dir())?.join(name);
        make_folder(&top)?;
        let mut world = Self { top, guarded: PathBuf::new() };
        for folder in ["project", "home", "data", "config"] {
            make_folder(&world.path(folder))?;
        }
        make_folder(&world.path("config/lockgate"))?;
        let (user, project) = world.policy_files(settings, fault)?;
        world.guarded = user.iter().chain(&project).next().cloned().unwrap_or_default();
        // The settings that count are those of the made-up user: what a project says would only count as far as it
        // restricts.
        world.write(&format!("config/lockgate/{FILE}"), &settings_text(settings, &user)?)?;
        if !project.is_empty() {
            world.write(&format!("project/{FILE}"), &policy_text(&project)?)?;
        }
        match fault {
            Fault::None | Fault::BrokenPolicy => {}
            Fault::NoState => world.write("data/lockgate", "")?,
            Fault::CorruptDatabase => {
                make_folder(&world.path("data/lockgate"))?;
                world.write("data/lockgate/lockgate.db", &"this is not a database ".repeat(400))?;
            }
        }
        Ok(world)
    }

    /// The folder in which the made-up agent works.
    pub(super) fn project(&self) -> PathBuf {
        self.path("project")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.join(name)
    }

    /// The policies of the made-up user and of the made-up project.
    fn policy_files(&self, settings: &Settings, fault: Fault) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
        if fault == Fault::BrokenPolicy {
            self.write("project/broken.rules", "requir a befor b\n")?;
            return Ok((Vec::from([self.path("project/broken.rules")]), Vec::new()));
        }
        let project = settings.project.as_ref().map(|project| project.files.clone()).unwrap_or_default();
        match &settings.user {
            Some(user) => Ok((user.files.clone(), project)),
            None if !settings.has_built_in() => Ok((project, Vec::new())),
            None => {
                self.write("config/lockgate/built-in.rules", &starter_policy(Agent::ALL))?;
                Ok((Vec::from([self.path("config/lockgate/built-in.rules")]), project))
            }
        }
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        platform::keep_private(&mut options);
        options.open(self.path(name))?.write_all(text.as_bytes())
    }

    /// Runs a hook as its host would, in this world. How it answered, and how long that took.
    pub(super) fn run(&self, command: &InstalledCommand, event: &str) -> io::Result<(HookReply, Duration)> {
        let Some((program, arguments)) = command.words.split_first() else {
            return Err(io::Error::other("it is empty"));
        };
        let started = Instant::now();
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(self.project())
            .env("HOME", self.path("home"))
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (out, err) = (read(child.stdout.take()), read(child.stderr.take()));
        if let Some(mut stdin) = child.stdin.take() {
            // A program that ends without reading is told by what it answers.
            let _ = stdin.write_all(event.as_bytes());
        }
        let code = wait(&mut child, started, TRIAL_LIMIT)?;
        let took = started.elapsed();
        let text = |reader: thread::JoinHandle<Vec<u8>>| {
            String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
        };
        Ok((HookReply { stdout: text(out), stderr: text(err), code }, took))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.top);
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    platform::keep_folder_private(&mut builder);
    builder.create(folder)
}

/// The settings that count, except where sessions rest, and that no human is asked.
fn settings_text(settings: &Settings, files: &[PathBuf]) -> io::Result<String> {
    let mode = settings.mode.word();
    Ok(format!(
        "{}mode = \"{mode}\"\nprotect = {}\nstate = \"user\"\n[hook]\nask = \"block\"\ndeadline = \"{}s\"\n",
        policy_text(files)?,
        settings.protect,
        TRIAL_LIMIT.as_secs() / 2
    ))
}

/// The line of settings that names policy files.
fn policy_text(files: &[PathBuf]) -> io::Result<String> {
    let mut quoted = Vec::new();
    for file in files {
        let text = file.to_str().ok_or_else(|| io::Error::other("a policy's path is not Unicode"))?;
        // As TOML reads it, too.
        quoted.push(Value::from(text).to_string());
    }
    Ok(format!("policy = [{}]\n", quoted.join(", ")))
}

fn read(from: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(from) = from {
            // What was printed before a failure still counts.
            let _ = from.take(PRINTED_BYTES_MAX).read_to_end(&mut bytes);
        }
        bytes
    })
}

/// How a process ended; one that takes longer than it may is ended.
fn wait(child: &mut Child, started: Instant, limit: Duration) -> io::Result<u8> {
    loop {
        if let Some(status) = child.try_wait()? {
            // A process that was killed has not answered, and neither has one with a code that does not fit.
            return Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX));
        }
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other(format!("it did not answer within {} s", limit.as_secs())));
        }
        thread::sleep(Duration::from_millis(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_is_kept() {
        for (printed, kept) in
            [(PRINTED_BYTES_MAX, PRINTED_BYTES_MAX), (PRINTED_BYTES_MAX + 1, PRINTED_BYTES_MAX)]
        {
            let bytes = read(Some(io::repeat(b'x').take(printed))).join().unwrap();
            assert_eq!(bytes.len() as u64, kept);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_hook_that_never_answers_is_ended() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let ended = wait(&mut child, Instant::now(), Duration::from_millis(10)).unwrap_err();
        assert!(ended.to_string().contains("did not answer"), "{ended}");
        assert!(child.try_wait().unwrap().is_some());
    }
}
