//! What Unix systems do in their own way. No other module of this crate asks which system it runs on.

mod group;

use std::{fs, os::unix::fs::MetadataExt};

pub(crate) use group::run;

/// Whether a file has another name somewhere.
pub(crate) fn has_other_names(path: &str) -> bool {
    // What is not there yet has no name at all.
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.nlink() > 1)
}
