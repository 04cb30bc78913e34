//! What Unix systems do in their own way. No other module of this crate asks which system it runs on.

mod direct;
mod group;

use std::{
    fs::{DirBuilder, File, Metadata, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

pub(crate) use direct::{input, output};
#[cfg(test)]
pub(crate) use direct::{input_at, output_at};
pub(crate) use group::{Group, HAS_GROUPS, signal_of, start_in_group};

/// Makes a new file one that only its user may read and write.
pub(crate) fn keep_private(options: &mut OpenOptions) {
    options.mode(0o600);
}

/// Makes a new folder one that only its user may look into.
pub(crate) fn keep_folder_private(builder: &mut DirBuilder) {
    builder.mode(0o700);
}

/// Puts on disk which files are in a folder.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The number of the user who owns a file, and its mode; none where files have neither.
pub(crate) fn owner_and_mode(metadata: &Metadata) -> Option<(u32, u32)> {
    Some((metadata.uid(), metadata.mode()))
}

/// The number of the user who runs this process; none where users have none.
pub(crate) fn user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}
