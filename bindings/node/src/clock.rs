//! A clock that shows what it is told.

use lockgate_bindings::SharedClock;
use napi::Result;
use napi_derive::napi;

use crate::error;

/// A clock that shows what it is told, for tests and replays.
#[napi]
pub struct ManualClock(SharedClock);

#[napi]
impl ManualClock {
    /// A clock that shows this many milliseconds since 1970.
    #[napi(constructor, catch_unwind)]
    pub fn new(now_ms: f64) -> Result<Self> {
        Ok(Self(SharedClock::new(milliseconds(now_ms)?)))
    }

    /// Sets the clock. A session's time never runs backwards, whatever its clock says.
    #[napi(catch_unwind)]
    pub fn set(&self, now_ms: f64) -> Result<()> {
        self.0.set(milliseconds(now_ms)?);
        Ok(())
    }

    /// What a gate sees of it.
    pub(crate) fn face(&self) -> SharedClock {
        self.0.clone()
    }
}

fn milliseconds(time: f64) -> Result<u64> {
    // Every number of the range has an exact integer.
    if time.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&time) {
        return Ok(time as u64);
    }
    Err(error::misuse(&format!("{time} is not a time; give milliseconds since 1970 as an integer")))
}
