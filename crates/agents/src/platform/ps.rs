//! What other Unix systems tell about running processes. Not tried on any of them: `ps` is asked as POSIX has it, with `lstart`,
//! which the BSDs and macOS know.

use std::{io, process::Command};

use crate::process::Process;

pub(crate) fn process(pid: u32) -> io::Result<Process> {
    let id = pid.to_string();
    // By its whole path: an agent may have put another one first in PATH.
    let ps = |what: &str| {
        let said = Command::new("/bin/ps").env_clear().args(["-o", what, "-p", &id]).output()?;
        let text = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        if text.is_empty() { Err(io::Error::other("`ps` does not know it")) } else { Ok(text) }
    };
    let number = |text: String| text.parse::<u32>().map_err(io::Error::other);
    let raw = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let session = rustix::process::getsid(raw).map_or(0, |session| session.as_raw_nonzero().get());
    let words = ps("command=")?;
    Ok(Process {
        pid,
        parent: number(ps("ppid=")?)?,
        session: u32::try_from(session).unwrap_or_default(),
        started: ps("lstart=")?,
        name: ps("comm=")?,
        words: words.split_whitespace().map(ToOwned::to_owned).collect(),
        user: ps("uid=").and_then(number).ok(),
        ..Process::default()
    })
}

pub(crate) fn group(_: u32) -> String {
    String::new()
}

pub(crate) fn boot() -> String {
    String::new()
}

pub(crate) fn uptime_seconds() -> u64 {
    0
}
