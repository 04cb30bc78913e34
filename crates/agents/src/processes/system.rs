//! Running processes: on Linux told by `/proc`, on other Unix systems by `ps`.
//!
//! There is nothing for Windows yet: [`ancestors`] is an error there, and who asks has to refuse.

use std::io;

use crate::platform;
pub(crate) use crate::{
    platform::{boot, group, process},
    process::Process,
};

/// The most parents that are looked at.
const ANCESTORS_MAX: usize = 256;

/// Clock ticks in a second, as Linux tells times to programs.
pub(crate) const TICKS: u64 = 100;

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

/// Clock ticks since the boot.
pub(crate) fn now_ticks() -> u64 {
    platform::uptime_seconds().saturating_mul(TICKS)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn this_process_and_its_parents_are_found() {
        let found = ancestors().unwrap();
        assert_eq!(found[0].pid, std::process::id());
        assert!(found.len() > 1 && found[1].pid == found[0].parent);
        assert!(is_alive(found[0].pid, &found[0].started));
        assert!(!is_alive(found[0].pid, "1"));
    }
}
