//! The same for systems that are not Unix: files get the rights of their folder and their owner is not known, threads wait for
//! input and output, and only a server itself is ended, not what it has started.

use std::{
    fs::{DirBuilder, Metadata, OpenOptions},
    io,
    path::Path,
    process::ExitStatus,
    time::Duration,
};

use tokio::process::{Child, Command};

pub(crate) const HAS_GROUPS: bool = false;

pub(crate) fn start_in_group(_: &mut Command) {}

pub(crate) fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}

#[derive(Clone, Debug)]
pub(crate) struct Group;

impl Group {
    pub(crate) fn of(_: &Child) -> Self {
        Self
    }

    pub(crate) fn terminate(&self) {}

    pub(crate) fn kill(&self) {}

    pub(crate) async fn outlast(&self, _: Duration, _: Duration) {}
}

pub(crate) fn input() -> Option<tokio::io::Empty> {
    None
}

pub(crate) fn output() -> Option<tokio::io::Empty> {
    None
}

pub(crate) fn keep_private(_: &mut OpenOptions) {}

pub(crate) fn keep_folder_private(_: &mut DirBuilder) {}

pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(crate) fn owner_and_mode(_: &Metadata) -> Option<(u32, u32)> {
    None
}

pub(crate) fn user() -> Option<u32> {
    None
}
