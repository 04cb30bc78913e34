//! What Unix systems do in their own way. No other module of this crate asks which system it runs on.

mod group;

use std::{fs, os::unix::fs::MetadataExt};

pub(crate) use group::run;

/// Whether a file has another name somewhere.
pub(crate) fn has_other_names(path: &str) -> bool {
    // What is not there yet has no name at all.
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.nlink() > 1)
}

/// Makes a folder that only its user may look into, and those above it.
#[cfg(feature = "store")]
pub(crate) fn make_private_folder(folder: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
