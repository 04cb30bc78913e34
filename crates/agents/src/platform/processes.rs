//! What Linux tells about running processes, by `/proc`.

use std::{fs, io, os::unix::fs::MetadataExt};

use crate::process::Process;

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

/// How long ago the boot was.
pub(crate) fn uptime_seconds() -> u64 {
    let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds = text.split(['.', ' ']).next().and_then(|it| it.parse::<u64>().ok());
    seconds.unwrap_or_default()
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
}
