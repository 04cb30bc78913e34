//! The same for systems that are not Unix: no program of a condition is run, because it could not be ended for certain, and other names of a
//! file are not seen.

use std::{io, process::Command, time::Instant};

use crate::program::{Ended, Output};

pub(crate) fn run(_: Command, _: Instant) -> io::Result<(Ended, Output)> {
    Err(io::Error::other("programs of conditions are run on Linux and macOS only"))
}

pub(crate) fn has_other_names(_: &str) -> bool {
    false
}

#[cfg(feature = "store")]
pub(crate) fn make_private_folder(folder: &std::path::Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}
