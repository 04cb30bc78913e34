//! The same for systems that are not Unix: files get the rights of their folder, and their owner is not known.

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions},
    io,
    path::Path,
};

pub(crate) fn keep_private(_: &mut OpenOptions) {}

pub(crate) fn keep_folder_private(_: &mut DirBuilder) {}

pub(crate) fn open_no_link(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path)?.is_symlink() {
        return Err(io::Error::other("it is a symbolic link"));
    }
    File::open(path)
}

pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(crate) fn owner_and_mode(_: &Metadata) -> Option<(u32, u32)> {
    None
}

pub(crate) fn user() -> Option<u32> {
    None
}
