//! What the system tells about running processes: on Linux by `/proc`, on other Unix systems by `ps`.
//!
//! There is nothing for Windows yet: [`ancestors`] is an error there, and who asks has to refuse.

use std::io;

/// The most parents that are looked at.
const ANCESTORS_MAX: usize = 256;

/// Clock ticks in a second, as Linux tells times to programs.
pub(crate) const TICKS: u64 = 100;

/// A running process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// The leader of its session; 0 where that is not to be seen from here.
    pub(crate) session: u32,
    /// When it started, as the system writes it; with `pid` this names one process until the next boot.
    pub(crate) started: String,
    /// Its program as the system calls it.
    pub(crate) name: String,
    /// Its command line; empty where that may not be read.
    pub(crate) words: Vec<String>,
    /// The names of its variables when it started; empty where they may not be read.
    pub(crate) variables: Vec<String>,
    /// Who runs it, where that is told.
    pub(crate) user: Option<u32>,
    /// Whether its terminal is a machine's own console and not one that a program made.
    pub(crate) has_console: bool,
}

impl Process {
    /// The name of the program's file, without folders.
    pub(crate) fn program(&self) -> &str {
        let first = self.words.first().map_or(self.name.as_str(), String::as_str);
        // A login shell is started as `-bash`.
        let first = first.strip_prefix('-').unwrap_or(first);
        first.rsplit('/').next().unwrap_or(first)
    }

    /// Clock ticks since the boot, where `started` is that.
    pub(crate) fn ticks(&self) -> Option<u64> {
        self.started.parse().ok()
    }
}

/// This process, its parent, and so on up to the first that has none.
pub(crate) fn ancestors() -> io::Result<Vec<Process>> {
    let mut found: Vec<Process> = Vec::new();
    let mut next = std::process::id();
    while next != 0 {
        let process = process(next)?;
        // A process is younger than its parent, or the number was given to another one meanwhile.
        let is_younger = |child: &Process| child.ticks() < process.ticks();
        if found.last().is_some_and(is_younger) || found.len() >= ANCESTORS_MAX {
            return Err(io::Error::other("its parents changed meanwhile"));
        }
        next = process.parent;
        found.push(process);
    }
    Ok(found)
}

/// Whether a process is still there.
pub(crate) fn is_alive(pid: u32, started: &str) -> bool {
    process(pid).is_ok_and(|process| process.started == started)
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{boot, group, now_ticks, process};

#[cfg(target_os = "linux")]
mod linux {
    use std::{fs, io, os::unix::fs::MetadataExt};

    use super::Process;

    /// The device numbers of terminals that programs make (`/dev/pts`).
    const PSEUDO_TERMINALS: std::ops::RangeInclusive<u32> = 136..=143;

    /// One process.
    pub(crate) fn process(pid: u32) -> io::Result<Process> {
        let folder = format!("/proc/{pid}");
        let stat = fs::read(format!("{folder}/stat"))?;
        let mut process = read_stat(&String::from_utf8_lossy(&stat))
            .ok_or_else(|| io::Error::other(format!("{folder}/stat is not understood")))?;
        process.user = fs::metadata(&folder).ok().map(|folder| folder.uid());
        let list = |file: &str| {
            let bytes = fs::read(format!("{folder}/{file}")).unwrap_or_default();
            let parts = bytes.split(|byte| *byte == 0).filter(|part| !part.is_empty());
            parts.map(|part| String::from_utf8_lossy(part).into_owned()).collect::<Vec<String>>()
        };
        process.words = list("cmdline");
        let name = |variable: &String| variable.split('=').next().unwrap_or_default().to_owned();
        process.variables = list("environ").iter().map(name).collect();
        Ok(process)
    }

    /// `/proc/PID/stat`; the name stands in brackets and may hold anything.
    fn read_stat(text: &str) -> Option<Process> {
        let (before, rest) = text.split_once('(')?;
        let (name, rest) = rest.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u32>().ok();
        let terminal = fields.get(4)?.parse::<i64>().ok()?;
        let major = u32::try_from((terminal >> 8) & 0xfff).ok()?;
        Some(Process {
            pid: before.trim().parse().ok()?,
            parent: number(1)?,
            session: number(3)?,
            started: (*fields.get(19)?).to_owned(),
            name: name.to_owned(),
            has_console: terminal != 0 && !PSEUDO_TERMINALS.contains(&major),
            ..Process::default()
        })
    }

    /// The control group of a process; what it starts stays in it, also what cuts all other ties.
    pub(crate) fn group(pid: u32) -> String {
        fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default()
    }

    /// What no other boot of this machine has.
    pub(crate) fn boot() -> String {
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        text.trim().to_owned()
    }

    /// Clock ticks since the boot.
    pub(crate) fn now_ticks() -> u64 {
        let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
        let seconds = text.split(['.', ' ']).next().and_then(|it| it.parse::<u64>().ok());
        seconds.unwrap_or_default().saturating_mul(super::TICKS)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_name_may_hold_anything() {
            let stat = "42 (a) b (c) S 7 42 40 34816 42 4194304 1 0 0 0 1 2 0 0 20 0 1 0 9999 1 1";
            let process = read_stat(stat).unwrap();
            assert_eq!((process.pid, process.parent, process.session), (42, 7, 40));
            assert_eq!((process.name.as_str(), process.started.as_str()), ("a) b (c", "9999"));
            assert!(!process.has_console, "34816 is /dev/pts/0");
            let console = stat.replace("34816", "1025");
            assert!(read_stat(&console).unwrap().has_console);
            for broken in ["", "42", "42 (a", "42 (a) S", "42 (a) S x 42 40 0"] {
                assert_eq!(read_stat(broken), None, "{broken}");
            }
        }

        #[test]
        fn this_process_and_its_parents_are_found() {
            let found = super::super::ancestors().unwrap();
            assert_eq!(found[0].pid, std::process::id());
            assert!(found.len() > 1 && found[1].pid == found[0].parent);
            assert!(super::super::is_alive(found[0].pid, &found[0].started));
            assert!(!super::super::is_alive(found[0].pid, "1"));
        }
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
pub(crate) use other_unix::{boot, group, now_ticks, process};

/// Not tried on any of these systems; `ps` is asked as POSIX has it, with `lstart`, which the BSDs and macOS know.
#[cfg(all(unix, not(target_os = "linux")))]
mod other_unix {
    use std::{io, process::Command};

    use super::Process;

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

    pub(crate) fn now_ticks() -> u64 {
        0
    }
}

#[cfg(not(unix))]
pub(crate) fn process(_: u32) -> io::Result<Process> {
    Err(io::Error::other("this is not supported on this system yet"))
}

#[cfg(not(unix))]
pub(crate) fn group(_: u32) -> String {
    String::new()
}

#[cfg(not(unix))]
pub(crate) fn boot() -> String {
    String::new()
}

#[cfg(not(unix))]
pub(crate) fn now_ticks() -> u64 {
    0
}
