//! A process that stands between two others that speak over stdin and stdout, and keeps every byte of both.
//!
//! With one tap before the gate and one behind it, what the gate changed is seen in a single run, byte by byte. It keeps
//! bytes only: what they mean is not its business.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    thread,
};

/// What one tap has kept.
pub(crate) struct Kept {
    /// What went to the server, line by line.
    pub(crate) to_server: Vec<String>,
    /// What came from it.
    pub(crate) from_server: Vec<String>,
}

/// Starts `command` and stands before it until it ends.
pub(crate) fn stand(folder: &Path, command: &[String]) -> io::Result<ExitCode> {
    let [program, arguments @ ..] = command else { return Err(io::Error::other("there is no command")) };
    // Names that sort by the time of the start: clients may start a server more than once.
    let start =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_err(io::Error::other)?;
    let name = |end: &str| folder.join(format!("{:020}.{end}", start.as_nanos()));
    let (to, from) = (File::create(name("to"))?, File::create(name("from"))?);
    let mut child =
        Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(child_in), Some(child_out)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("the command has no pipes"));
    };
    // Nobody waits for this one: a client may stay silent after its server has gone.
    thread::spawn(move || copy(io::stdin(), child_in, to));
    copy(child_out, io::stdout(), from)?;
    let code = child.wait()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

fn copy(mut from: impl Read, mut to: impl Write, mut kept: impl Write) -> io::Result<()> {
    let mut piece = vec![0; 1 << 16];
    loop {
        let length = from.read(&mut piece)?;
        let read = piece.get(..length).unwrap_or_default();
        if read.is_empty() {
            return Ok(());
        }
        kept.write_all(read)?;
        to.write_all(read)?;
        to.flush()?;
    }
}

/// What all taps of a folder have kept, in the order in which they were started.
pub(crate) fn kept(folder: &Path) -> io::Result<Vec<Kept>> {
    let mut starts: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "to") {
            starts.push(path);
        }
    }
    starts.sort();
    let lines = |path: &Path| -> io::Result<Vec<String>> {
        let bytes = std::fs::read(path)?;
        Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
    };
    let both = |path: PathBuf| {
        Ok(Kept { to_server: lines(&path)?, from_server: lines(&path.with_extension("from"))? })
    };
    starts.into_iter().map(both).collect()
}
