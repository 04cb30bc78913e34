//! A clock that shows what it is told.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use lockgate::{Clock, Time};

/// A clock that shows what it is told. Clones show the same time.
#[derive(Clone, Debug)]
pub struct SharedClock(Arc<AtomicU64>);

impl SharedClock {
    /// A clock that shows this many milliseconds since 1970.
    pub fn new(now_ms: u64) -> Self {
        Self(Arc::new(AtomicU64::new(now_ms)))
    }

    /// Sets the clock. A session's time never runs backwards, whatever its clock says.
    pub fn set(&self, now_ms: u64) {
        self.0.store(now_ms, Ordering::SeqCst);
    }
}

impl Clock for SharedClock {
    fn now(&self) -> Time {
        Time(self.0.load(Ordering::SeqCst))
    }
}
