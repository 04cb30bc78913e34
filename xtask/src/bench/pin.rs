//! One core for everybody: this process and all it starts, so that no figure holds a move between cores.

use std::fmt;

/// Keeps to one core until it is dropped.
pub(crate) struct Pinned {
    core: Option<usize>,
    #[cfg(target_os = "linux")]
    before: Option<rustix::thread::CpuSet>,
}

impl Pinned {
    /// Runs wherever the system likes.
    pub(crate) fn not() -> Self {
        Self {
            core: None,
            #[cfg(target_os = "linux")]
            before: None,
        }
    }

    /// The last core that this process may use: systems do most of their own work on the first.
    #[cfg(target_os = "linux")]
    pub(crate) fn to_last_core() -> Self {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let Ok(before) = sched_getaffinity(None) else { return Self::not() };
        let Some(core) = (0..CpuSet::MAX_CPU).rev().find(|core| before.is_set(*core)) else {
            return Self::not();
        };
        let mut one = CpuSet::new();
        one.set(core);
        match sched_setaffinity(None, &one) {
            Ok(()) => Self { core: Some(core), before: Some(before) },
            Err(_) => Self::not(),
        }
    }

    /// There is no way to ask for it here.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn to_last_core() -> Self {
        Self::not()
    }
}

#[cfg(target_os = "linux")]
impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // Whatever comes next only runs on fewer cores.
            let _ = rustix::thread::sched_setaffinity(None, before);
        }
    }
}

impl fmt::Display for Pinned {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.core {
            Some(core) => write!(out, "everybody on core {core}"),
            None => write!(out, "on all cores"),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::thread::sched_getaffinity;

    use super::*;

    #[test]
    fn a_pinned_process_has_one_core_and_has_the_others_again_later() {
        let before = sched_getaffinity(None).unwrap();
        let pinned = Pinned::to_last_core();
        assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
        assert!(pinned.to_string().starts_with("everybody on core "));
        drop(pinned);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
