//! The process group of a server.

use std::{
    process::ExitStatus,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::{
    process::{Child, Command},
    time::sleep,
};

/// Whether a process can be ended together with all that it has started.
pub(crate) const HAS_GROUPS: bool = true;

/// Has a process start in a group of its own.
pub(crate) fn start_in_group(command: &mut Command) {
    command.process_group(0);
}

/// The signal that ended a process; none where it ended by itself.
pub(crate) fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

/// The process group of a server, as long as there is one.
///
/// Invariant: holds the id only until the group is known to be over, since the system may give the id to others then.
#[derive(Clone, Debug)]
pub(crate) struct Group(Arc<Mutex<Option<Pid>>>);

impl Group {
    pub(crate) fn of(process: &Child) -> Self {
        let id = process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self(Arc::new(Mutex::new(id)))
    }

    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = kill_process_group(id, signal);
        }
    }

    /// Waits for what is left once the server itself has ended, and kills it if it takes long.
    pub(crate) async fn outlast(&self, limit: Duration, look_every: Duration) {
        let looks = limit.as_millis() / look_every.as_millis().max(1);
        for _ in 0..looks {
            if !self.is_left() {
                break;
            }
            sleep(look_every).await;
        }
        self.kill();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn is_left(&self) -> bool {
        let id = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        id.is_some_and(|id| test_kill_process_group(id).is_ok())
    }
}
