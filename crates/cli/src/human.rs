//! Whether a human is there: asked by every command that opens what the gate holds closed.
//!
//! [`confirm`] is the only way to an answer. It refuses below a process of an agent, and below a process that may be
//! one ([`processes`]); it refuses without a controlling terminal, which it opens itself, whatever stdin is; and it has a
//! human type back a random word that is shown there. No argument and no environment variable skips any of this, and
//! every refusal is logged. An agent runs as its user, so this is a fence of reading processes: a program that hides
//! where it came from and drives a terminal of its own gets past it (SECURITY.md says how far).

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
};

use lockgate::engine::{
    call::visible,
    gate::{
        Backend, Reach, RowWrite,
        audit_log::{LogEntry, LogEvent},
    },
    store::{Options, Sqlite},
};
use lockgate_agents::{
    Environment, now,
    processes::{self, Refusal},
};
use serde_json::{Map, Value};

use crate::{console::CommandError, platform};

/// How many bytes of an answer are read.
const ANSWER_BYTES_MAX: u64 = 1024;

/// How long the log of refusals outside of a database may get, in bytes.
const LOG_BYTES_MAX: u64 = 1024 * 1024;

/// A command that opens something, and what a human is asked about it.
pub(crate) struct Opening<'a> {
    /// The command as it is typed after `lockgate`, such as `approve`.
    pub(crate) command: &'a str,
    /// What it will do, as the end of "Type WORD to …", such as `approve 2 questions`.
    pub(crate) deed: &'a str,
    /// What a human has to see before; shown on the terminal, empty where it was shown already.
    pub(crate) shown: &'a str,
    /// The database that counts: agents are remembered beside it, and refusals are logged in it.
    pub(crate) state: &'a Path,
}

/// Asks the human at the terminal; whether they agreed.
///
/// # Errors
/// When this process may be an agent's, or has no terminal: then no human was asked, and the refusal is logged.
pub(crate) fn confirm(opening: &Opening<'_>, environment: &Environment) -> Result<bool, CommandError> {
    let asked = processes::check(opening.state, environment).and_then(|()| {
        let terminal = Terminal::open().map_err(|_| Refusal::NoTerminal)?;
        Ok(terminal)
    });
    match asked {
        Ok(terminal) => terminal.ask(opening).map_err(|error| {
            CommandError::Said(format!("the terminal cannot be used: {error}; nothing was done"))
        }),
        Err(refusal) => {
            let command = opening.command;
            let logged = log(opening, &refusal, environment);
            let beside = logged.err().map(|error| format!(" (this could not be logged: {error})"));
            Err(CommandError::Said(format!(
                "`lockgate {command}` is for a human at a terminal: {refusal}; nothing was done{}",
                beside.unwrap_or_default()
            )))
        }
    }
}

/// The controlling terminal, whatever stdin and stdout are.
struct Terminal(File);

impl Terminal {
    fn open() -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        Ok(Self(file))
    }

    /// Shows what it is about and has a random word typed back.
    fn ask(mut self, opening: &Opening<'_>) -> io::Result<bool> {
        let word = random_word()?;
        // What was typed before the question is not an answer to it.
        platform::forget_typed(&self.0)?;
        for line in opening.shown.lines() {
            writeln!(self.0, "{}", visible(line))?;
        }
        write!(self.0, "Type {word} to {}, or anything else to leave it: ", visible(opening.deed))?;
        self.0.flush()?;
        Ok(self.line()?.trim() == word)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        BufReader::new(Read::by_ref(&mut self.0).take(ANSWER_BYTES_MAX)).read_until(b'\n', &mut line)?;
        Ok(String::from_utf8_lossy(&line).into_owned())
    }
}

/// Six letters that can be read aloud.
fn random_word() -> io::Result<String> {
    const CONSONANTS: &[u8] = b"bdfgklmnprstvz";
    const VOWELS: &[u8] = b"aeiou";
    let mut bytes = [0; 6];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let letters = bytes.iter().enumerate().filter_map(|(at, byte)| {
        let all = if at % 2 == 0 { CONSONANTS } else { VOWELS };
        all.get(usize::from(*byte) % all.len()).map(|letter| char::from(*letter))
    });
    Ok(letters.collect())
}

/// Logs a refusal: in the audit log, or in a file of its own where no database is there.
fn log(opening: &Opening<'_>, refusal: &Refusal, environment: &Environment) -> io::Result<()> {
    let mut about = Map::new();
    about.insert("command".to_owned(), Value::from(opening.command));
    about.insert("reason".to_owned(), Value::from(refusal.to_string()));
    let what = LogEvent::Operator { act: "refused-command".to_owned(), about };
    let entry = LogEntry { at: now().0, session: None, policy: None, what }.to_json();
    if opening.state.metadata().is_ok_and(|file| file.len() > 0) {
        let backend = Sqlite::open(opening.state, Options::default()).map_err(io::Error::other)?;
        let row = backend.lock("", Reach::SharedState).map_err(io::Error::other)?;
        let put = RowWrite { entries: &[entry], ..RowWrite::default() };
        return row.write(&put).map_err(io::Error::other);
    }
    let file = log_file(environment).ok_or_else(|| io::Error::other("the home folder is not known"))?;
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    platform::keep_private(&mut options);
    let mut file = options.open(file)?;
    if file.metadata()?.len() < LOG_BYTES_MAX {
        writeln!(file, "{entry}")?;
    }
    Ok(())
}

fn log_file(environment: &Environment) -> Option<PathBuf> {
    Some(environment.data_folder()?.join("lockgate").join("refused-commands.jsonl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_differ_and_can_be_typed() {
        let words: Vec<String> = (0..8).map(|_| random_word().unwrap()).collect();
        assert!(words.iter().all(|word| word.len() == 6 && word.chars().all(|it| it.is_ascii_lowercase())));
        assert!(words.iter().any(|word| *word != words[0]), "{words:?}");
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        for refusal in [
            Refusal::NoTerminal,
            Refusal::BelowAgent { program: "claude".to_owned(), pid: 7, because: "an agent by its name" },
            Refusal::NoLogin("its terminal was not opened by a login"),
            Refusal::Unknown("no /proc".to_owned()),
        ] {
            assert!(refusal.to_string().contains("open a terminal of your own"), "{refusal}");
        }
    }
}
