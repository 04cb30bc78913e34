//! `cargo xtask readme`: runs every command that README.md shows, literally, in a clean clone.
//!
//! A command is inline code, or a line behind `$ ` in a `console` block, that starts with `cargo `, `echo ` or `./`. It must end
//! with exit 0, or with what `(exit N)` behind it says; one marked `(until Ctrl-C)` must print something and end when
//! interrupted. The lines below a `$ ` line and the cells of the table below a paragraph with `from` and a command must
//! stand in what the command prints, in that order; `…` stands for anything. What `./test` runs besides this is left to it.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
};

use rustix::process::{Pid, Signal, kill_process_group};

use self::page::{Ending, Line};

mod page;

/// Run every command that README.md shows, in a clean clone
#[derive(Debug, clap::Args)]
pub(crate) struct Readme {
    /// Only list the commands
    #[arg(long)]
    list: bool,
    /// Another page than README.md
    #[arg(default_value = "README.md")]
    page: PathBuf,
}

/// What `./test` runs besides this: itself, and steps that have their own line there.
const RUN_ELSEWHERE: &[&str] =
    &["./test", "./test python", "./test node", "cargo xtask counts", "cargo xtask playground"];

impl Readme {
    pub(crate) fn run(&self) -> ExitCode {
        match self.try_run() {
            Ok(0) => ExitCode::SUCCESS,
            Ok(_) => ExitCode::FAILURE,
            Err(why) => {
                eprintln!("error: {why}");
                ExitCode::from(2)
            }
        }
    }

    /// How many commands failed.
    fn try_run(&self) -> Result<usize, String> {
        let text = fs::read_to_string(&self.page)
            .map_err(|why| format!("cannot read {}: {why}", self.page.display()))?;
        let lines: Vec<Line> = page::commands(&text)
            .into_iter()
            .filter(|it| !RUN_ELSEWHERE.contains(&it.command.as_str()))
            .collect();
        if lines.is_empty() {
            return Err(format!("{} shows no command", self.page.display()));
        }
        if self.list {
            lines.iter().for_each(|line| println!("{}", line.command));
            return Ok(0);
        }
        let place = Clone::new()?;
        let mut failed = 0;
        for line in &lines {
            match place.play(line) {
                Ok(()) => println!("ok    {}", line.command),
                Err(why) => {
                    failed += 1;
                    println!("FAILED {}\n{}", line.command, indented(&why));
                }
            }
        }
        let verdict = if failed == 0 { "ok" } else { "FAILED" };
        println!("\ntest result: {verdict}. {} passed; {failed} failed; 0 ignored", lines.len() - failed);
        Ok(failed)
    }
}

/// A clone of this repository with the changes of the working tree, and an empty home folder.
struct Clone {
    /// Deleted with this value.
    folder: tempfile::TempDir,
    target: PathBuf,
}

impl Clone {
    fn new() -> Result<Self, String> {
        let root = output(Command::new("git").args(["rev-parse", "--show-toplevel"]))?;
        // What is changed and not committed is tried too; an unchanged tree gives no commit of its own.
        let changed = output(Command::new("git").args(["stash", "create"]))?;
        let commit = if changed.is_empty() { "HEAD" } else { &changed };
        let commit = output(Command::new("git").args(["rev-parse", commit]))?;
        let folder = tempfile::tempdir().map_err(|why| format!("cannot make a folder: {why}"))?;
        let clone = folder.path().join("lockgate");
        output(Command::new("git").args(["clone", "--quiet", "--no-checkout", &root]).arg(&clone))?;
        output(Command::new("git").args(["fetch", "--quiet", &root, &commit]).current_dir(&clone))?;
        output(Command::new("git").args(["checkout", "--quiet", &commit]).current_dir(&clone))?;
        fs::create_dir(folder.path().join("home")).map_err(|why| format!("cannot make a home: {why}"))?;
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| Path::new(&root).join("target"), PathBuf::from);
        Ok(Self { folder, target })
    }

    /// Runs one command, and compares what it does with what the page says.
    fn play(&self, line: &Line) -> Result<(), String> {
        let mut child = self.start(&line.command)?;
        let printed = match line.ending {
            Ending::Exit(code) => {
                let out = read_in_background(&mut child);
                let status = child.wait().map_err(|why| why.to_string())?;
                let printed = out();
                if status.code() != Some(code) {
                    return Err(format!("the page says exit {code}, it was {status}\n{printed}"));
                }
                printed
            }
            Ending::Interrupted => {
                let printed = read_some(&mut child);
                interrupt(&child)?;
                child.wait().map_err(|why| why.to_string())?;
                printed
            }
        };
        self.has_shown_something(line, &printed)?;
        line.shows
            .iter()
            .try_fold(printed.as_str(), |rest, shown| after(rest, shown))
            .map(drop)
            .map_err(|missing| format!("the page shows `{missing}`, which is not printed there:\n{printed}"))
    }

    /// A command of ours prints something, or writes the file it was told to write.
    fn has_shown_something(&self, line: &Line, printed: &str) -> Result<(), String> {
        let file = line.command.split_once(" --out ").and_then(|(_, rest)| rest.split_whitespace().next());
        let is_ours = line.command.contains("cargo run ");
        match file {
            Some(file) => {
                let written = fs::metadata(self.folder.path().join("lockgate").join(file));
                let is_written = written.is_ok_and(|written| written.len() > 0);
                is_written.then_some(()).ok_or_else(|| format!("it did not write `{file}`"))
            }
            None if is_ours && printed.trim().is_empty() => Err("it printed nothing".to_owned()),
            None => Ok(()),
        }
    }

    fn start(&self, command: &str) -> Result<Child, String> {
        let home = self.folder.path().join("home");
        let real_home = std::env::home_dir().unwrap_or_default();
        let kept = |name: &str, folder: &str| {
            std::env::var_os(name).map_or_else(|| real_home.join(folder), PathBuf::from)
        };
        let mut bash = Command::new("bash");
        bash.args(["-c", &format!("{command} 2>&1")])
            .current_dir(self.folder.path().join("lockgate"))
            .env("CARGO_HOME", kept("CARGO_HOME", ".cargo"))
            .env("RUSTUP_HOME", kept("RUSTUP_HOME", ".rustup"))
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_TERM_QUIET", "true")
            .env("CARGO_INSTALL_ROOT", home.join(".cargo"))
            .env("HOME", &home)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
            bash.env_remove(name);
        }
        std::os::unix::process::CommandExt::process_group(&mut bash, 0);
        bash.spawn().map_err(|why| format!("cannot start bash: {why}"))
    }
}

/// Reads all that a process prints while somebody waits for its end.
fn read_in_background(child: &mut Child) -> impl FnOnce() -> String + use<> {
    let out = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut out) = out {
            // A process that breaks off shows what it has printed until then.
            let _ = out.read_to_end(&mut text);
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    move || reader.join().unwrap_or_default()
}

/// Reads the first lines that a process prints.
fn read_some(child: &mut Child) -> String {
    let mut some = vec![0; 4096];
    let read = child.stdout.as_mut().and_then(|out| out.read(&mut some).ok()).unwrap_or(0);
    some.truncate(read);
    String::from_utf8_lossy(&some).into_owned()
}

fn interrupt(child: &Child) -> Result<(), String> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or("the process has no id")?;
    kill_process_group(pid, Signal::INT).map_err(|why| format!("cannot interrupt it: {why}"))
}

/// What stands behind a text that is shown; the text itself where it is missing. `…` stands for anything.
fn after<'t>(printed: &'t str, shown: &str) -> Result<&'t str, String> {
    shown.split('…').map(str::trim).filter(|part| !part.is_empty()).try_fold(printed, |rest, part| {
        rest.find(part).and_then(|at| rest.get(at + part.len()..)).ok_or_else(|| part.to_owned())
    })
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("      {line}\n")).collect()
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|why| format!("cannot run {command:?}: {why}"))?;
    if !output.status.success() {
        let _ = std::io::stderr().write_all(&output.stderr);
        return Err(format!("{command:?} failed"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_shows_is_looked_for_in_order() {
        for (printed, shown, missing) in [
            ("a\nb\nc", vec!["a", "c"], None),
            ("a\nb\nc", vec!["c", "a"], Some("a")),
            ("15 calls in 1.5 µs", vec!["15 calls in … µs"], None),
            ("15 calls in 1.5 ms", vec!["15 calls in … µs"], Some("µs")),
        ] {
            let result = shown.iter().try_fold(printed, |rest, shown| after(rest, shown)).map(drop);
            assert_eq!(result.err().as_deref(), missing, "{shown:?} in {printed}");
        }
    }
}
