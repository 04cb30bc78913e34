//! A human at a terminal of their own, for commands that nothing else may answer.
//!
//! [`Desk::new`] makes a pseudo-terminal; the command runs as the leader of a session whose controlling terminal it is,
//! and [`Desk::run`] types the passphrase that [`set_up`] has set, or the word that is shown there. The command must not be started below a
//! process that has run a hook in the same home: run hooks by [`agent`], which stands for the agent. Under a coding
//! agent none of this works, as it should be: run the tests in a terminal of your own.

#![allow(clippy::expect_used, reason = "only tests use it, and may panic")]

use std::{
    collections::VecDeque,
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::Path,
    process::{Command, Output, Stdio},
    thread,
};

use lockgate_agents::{
    Environment,
    human_key::{Cost, SealedKey},
    trust::Record,
};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// What the human types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typed<'a> {
    /// The passphrase of [`set_up`], or the word that is shown.
    Word,
    /// Something else, once; then nothing more.
    Text(&'a str),
    /// One line after the other, each when it is asked for; then nothing more.
    Lines(&'a [&'a str]),
}

/// The passphrase of the human that [`set_up`] sets up.
pub const PASSPHRASE: &str = "correct horse";

/// Sets up a human in a home: a key under [`PASSPHRASE`] that costs next to nothing to unlock.
///
/// # Panics
/// When the file cannot be written.
pub fn set_up(home: &Path) {
    let key = SealedKey::make(PASSPHRASE.as_bytes(), Cost::for_tests()).expect("a key can be made");
    key.save_first(&environment_of(home)).expect("a home without a key");
}

/// What a process with this home and no other variable sees.
fn environment_of(home: &Path) -> Environment {
    let variables = Default::default();
    Environment { home: Some(home.to_path_buf()), variables, ..Environment::of_process() }
}

/// What became of a command at a terminal.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code, stdout and stderr.
    pub output: Output,
    /// What was shown on the terminal.
    pub terminal: String,
}

/// A terminal, and the command that is run at it.
pub struct Desk {
    master: File,
    /// The command: its folder, its environment, and where its output goes are the caller's choice; stdin is taken.
    pub command: Command,
}

impl Desk {
    /// A terminal for a program.
    ///
    /// # Panics
    /// When the system has no pseudo-terminals or no `setsid`: what needs a human cannot be tested there.
    pub fn new(program: &Path, words: &[impl AsRef<OsStr>]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("a pseudo-terminal that may be used");
        let name = ptsname(&master, Vec::new()).expect("a pseudo-terminal has a name");
        let name = name.to_str().expect("in ASCII").to_owned();
        let slave = OpenOptions::new().read(true).write(true).open(name).expect("a terminal");
        // It makes its stdin the controlling terminal of a new session, and becomes the program.
        let setsid = ["/usr/bin/setsid", "/bin/setsid"].into_iter().find(|it| Path::new(it).exists());
        let mut command =
            Command::new(setsid.expect("`setsid` of util-linux is needed to test what humans do"));
        command.arg("-c").arg(program).args(words).stdin(slave);
        Self { master: File::from(master), command }
    }

    /// Runs the command, and types when it asks.
    ///
    /// # Panics
    /// When the command cannot be started.
    pub fn run(self, typed: Typed<'_>) -> Ran {
        let Self { mut master, mut command } = self;
        let child = command.spawn().expect("`setsid` runs");
        // Only the child keeps the terminal open: it is at its end when the child is.
        drop(command);
        let mut lines: Option<VecDeque<String>> = match typed {
            Typed::Word => None,
            Typed::Text(text) => Some(VecDeque::from([text.to_owned()])),
            Typed::Lines(lines) => Some(lines.iter().map(|line| (*line).to_owned()).collect()),
        };
        let human = thread::spawn(move || {
            let (mut seen, mut answered) = (Vec::new(), 0);
            let mut bytes = [0; 1024];
            // A terminal whose last user has ended is an error to read.
            while let Ok(count @ 1..) = master.read(&mut bytes) {
                seen.extend_from_slice(bytes.get(..count).unwrap_or_default());
                let shown = String::from_utf8_lossy(&seen).into_owned();
                let new = shown.get(answered..).unwrap_or_default();
                if let Some(word) = asked_for(new) {
                    let answer = match &mut lines {
                        None => word.to_owned(),
                        Some(lines) => lines.pop_front().unwrap_or_default(),
                    };
                    answered = shown.len();
                    let _ = writeln!(master, "{answer}");
                }
            }
            String::from_utf8_lossy(&seen).into_owned()
        });
        let output = child.wait_with_output().expect("it ends");
        Ran { output, terminal: human.join().unwrap_or_default() }
    }
}

/// What is to be typed, once the question is shown whole.
fn asked_for(shown: &str) -> Option<&str> {
    let is_hidden = |line: &&str| {
        ["Passphrase to ", "New passphrase", "The same again"].iter().any(|it| line.starts_with(it))
    };
    if shown.ends_with(": ") && shown.lines().last().as_ref().is_some_and(is_hidden) {
        return Some(PASSPHRASE);
    }
    let (_, rest) = shown.rsplit_once("Type ")?;
    let (word, rest) = rest.split_once(' ')?;
    rest.ends_with("leave it: ").then_some(word)
}

/// A command that is started by a process of its own, which stands for an agent: a shell that runs a script and waits.
/// With `script`, where the script is put.
///
/// # Panics
/// When the script cannot be written.
pub fn agent(script: &Path, program: &Path, words: &[impl AsRef<OsStr>]) -> Command {
    if !script.exists() {
        // It passes on the signals that tests send, so that nothing is left running.
        let text = "trap 'kill -TERM $child' TERM\nexec 3<&0\n\"$@\" <&3 &\nchild=$!\nexec 3<&-\nwait $child\ncode=$?\n\
                    while kill -0 $child 2>/dev/null; do wait $child; code=$?; done\nexit $code\n";
        fs::write(script, text).expect("a script can be written");
    }
    let mut command = Command::new("/bin/sh");
    command.arg(script).arg(program).args(words);
    command
}

/// Trusts a project as it is now, by the record that `lockgate trust` writes when a human agrees. A project whose policy
/// cannot be trusted, because it has mistakes, stays untrusted.
///
/// # Errors
/// When the program cannot be started, or the record cannot be written.
pub fn trust(program: &Path, project: &Path, home: &Path) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(["trust", "--json"]).current_dir(project).env_clear().env("HOME", home);
    let shown = command.stdin(Stdio::null()).output()?;
    let Ok(shown) = serde_json::from_slice::<Value>(&shown.stdout) else { return Ok(()) };
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let listed = shown.get("files").and_then(Value::as_array).into_iter().flatten();
    let files: Map<String, Value> =
        listed.map(|file| (text(file, "path"), Value::from(text(file, "sha256")))).collect();
    let project = text(&shown, "project");
    let name: String = Sha256::digest(&project).iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = home.join(".local/share/lockgate/trusted");
    fs::create_dir_all(&folder)?;
    let record = json!({ "project": project, "files": files });
    let mut record: Record = serde_json::from_value(record)?;
    let environment = environment_of(home);
    if let Some(sealed) = SealedKey::read(&environment).map_err(io::Error::other)? {
        record = record.signed(&sealed.unlock(PASSPHRASE.as_bytes()).map_err(io::Error::other)?);
    }
    fs::write(folder.join(format!("{name}.json")), serde_json::to_string(&record)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_found_when_the_question_is_whole() {
        for (shown, word) in [
            ("", None),
            ("Type mivoka to approve it", None),
            ("a question\r\nPassphrase to approve it, or only Enter to leave it: ", Some(PASSPHRASE)),
            ("Passphrase to approve it, or only En", None),
            ("a question\r\nType mivoka to approve it, or anything else to leave it: ", Some("mivoka")),
        ] {
            assert_eq!(asked_for(shown), word, "{shown}");
        }
    }
}
