//! Where there are no process groups, no program is run: it could not be ended for certain.

use std::{io, process::Command, time::Instant};

use super::Tail;

/// How a program ended.
#[expect(dead_code, reason = "no program is ever run here")]
pub(super) enum Ended {
    Code(i32),
    Signal(String),
    TooLate,
    Stuck,
    Unknown,
}

/// What a program printed last.
pub(super) struct Output {
    pub(super) prints: Tail,
    pub(super) errors: Tail,
}

/// Says that it cannot.
#[expect(clippy::needless_pass_by_value, reason = "the same as where there are groups")]
pub(super) fn run(_: Command, _: Instant) -> io::Result<(Ended, Output)> {
    Err(io::Error::other("programs of conditions are run on Linux and macOS only"))
}
