//! Runs the programs of workflow conditions on this machine.
//!
//! [`LocalRunner`] starts a program without a shell, waits for it no longer than its limit, and leaves nothing of its
//! process group running, however it ended. The `platform` knows how a group is followed and ended. A program that leaves
//! its group on purpose (`setsid`) is not followed; what it prints is no longer waited for. A sandbox is missing on
//! purpose: a program runs with the rights of the gate, so a condition should name nothing that an agent can write.

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, ErrorKind},
    path::Path,
    process::Command,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use lockgate_call::visible;
use lockgate_gate::Runner;
use lockgate_policy::workflow::Exec;

use crate::{platform, program::Ended};

/// How long a program may take unless [`LocalRunner::limit`] says otherwise.
const LIMIT_DEFAULT: Duration = Duration::from_secs(60);

/// How long a program may take at most.
const LIMIT_MAX: Duration = Duration::from_secs(3600);

/// How many programs one runner has running at the same time, so that calls cannot flood the machine through the
/// gate.
const RUNS_AT_ONCE_MAX: usize = 4;

/// Runs the programs of conditions on this machine, each in a process group of its own that ends with it.
///
/// A program gets the gate's environment and an empty input. Its folder must be absolute and exist; without one it
/// runs where the gate does. It is found on the `PATH` of the gate, of which only absolute folders count: with `.` in
/// it, an agent could put its own program into the folder and have it taken for the real one.
#[derive(Debug)]
pub struct LocalRunner {
    limit: Duration,
    running: Mutex<usize>,
    one_ended: Condvar,
}

impl LocalRunner {
    /// A runner whose programs may take a minute each.
    #[must_use]
    pub fn new() -> Self {
        Self { limit: LIMIT_DEFAULT, running: Mutex::new(0), one_ended: Condvar::new() }
    }

    /// Sets how long a program may take, waiting for its turn included; never more than an hour.
    #[must_use]
    pub fn limit(self, limit: Duration) -> Self {
        Self { limit: limit.min(LIMIT_MAX), ..self }
    }

    /// Waits until fewer than [`RUNS_AT_ONCE_MAX`] programs are running; none when it is too late by then.
    fn turn(&self, deadline: Instant) -> Option<Turn<'_>> {
        let patience = deadline.saturating_duration_since(Instant::now());
        let is_full = |running: &mut usize| *running >= RUNS_AT_ONCE_MAX;
        let waited = self.one_ended.wait_timeout_while(self.running(), patience, is_full);
        let (mut running, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if is_full(&mut running) {
            return None;
        }
        *running += 1;
        Some(Turn(self))
    }

    fn running(&self) -> MutexGuard<'_, usize> {
        // A number is never left half changed.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for LocalRunner {
    fn default() -> Self {
        Self::new()
    }
}

impl Runner for LocalRunner {
    fn run(&self, exec: &Exec, folder: Option<&str>) -> Result<i32, String> {
        let deadline = Instant::now() + self.limit;
        let (program, command) = command(exec, folder)?;
        let limit = spoken(self.limit);
        let Some(_turn) = self.turn(deadline) else {
            return Err(format!("did not begin within {limit}: {RUNS_AT_ONCE_MAX} others were running"));
        };
        let cannot_start =
            |error| format!("`{}` cannot be started: {}", visible(program), why_not_started(&error));
        let (ended, output) = platform::run(command, deadline).map_err(cannot_start)?;
        let why = match ended {
            Ended::Code(code) => return Ok(code),
            Ended::Signal(signal) => format!("was ended by {signal}"),
            Ended::TooLate => format!("did not end within {limit}"),
            Ended::Stuck => format!("did not end within {limit}, and cannot be ended"),
            Ended::Unknown => "ended in an unknown way: something else in this process waits for all \
                               children, or ignores them"
                .to_owned(),
        };
        Err(match output.last_line() {
            Some(line) => format!("{why}; its last line is `{line}`"),
            None => why,
        })
    }
}

/// One of the programs that may run at the same time.
struct Turn<'r>(&'r LocalRunner);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.running() -= 1;
        self.0.one_ended.notify_one();
    }
}

/// The name of the program, and how to start it.
fn command<'e>(exec: &'e Exec, folder: Option<&str>) -> Result<(&'e str, Command), String> {
    let Some((program, arguments)) = exec.words.split_first().filter(|(program, _)| !program.is_empty())
    else {
        return Err("names no program".to_owned());
    };
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(folder) = folder {
        command.current_dir(existing(folder)?);
    }
    if let Some(path) = env::var_os("PATH") {
        match absolute_only(&path) {
            Some(kept) if kept == path => {}
            Some(kept) => _ = command.env("PATH", kept),
            // An empty one would mean the folder the program runs in.
            None => _ = command.env_remove("PATH"),
        }
    }
    Ok((program, command))
}

/// The folder, if a program can run there.
fn existing(folder: &str) -> Result<&Path, String> {
    let path = Path::new(folder);
    if !path.is_absolute() {
        return Err(format!("cannot run in `{}`: the folder must be absolute", visible(folder)));
    }
    if !path.is_dir() {
        return Err(format!("cannot run in `{}`: the folder does not exist", visible(folder)));
    }
    Ok(path)
}

/// The absolute folders of a `PATH`, if there are any.
fn absolute_only(path: &OsStr) -> Option<OsString> {
    let joined = env::join_paths(env::split_paths(path).filter(|folder| folder.is_absolute())).ok()?;
    (!joined.is_empty()).then_some(joined)
}

fn why_not_started(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "it was not found; is it installed, and on the `PATH` of the gate?".to_owned(),
        ErrorKind::PermissionDenied => "it is not executable, or not for the gate".to_owned(),
        _ => error.to_string(),
    }
}

fn spoken(limit: Duration) -> String {
    match (limit.as_secs(), limit.subsec_nanos()) {
        (1, 0) => "1 second".to_owned(),
        (seconds, 0) => format!("{seconds} seconds"),
        _ => format!("{} seconds", limit.as_secs_f64()),
    }
}

#[cfg(all(test, unix))]
mod tests;
