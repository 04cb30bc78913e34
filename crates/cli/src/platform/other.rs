//! The same for systems that are not Unix, which is to say Windows: files get the rights of their folder, and terminals have the width that
//! most of them have.

use std::{
    fs::{DirBuilder, File, Metadata, OpenOptions},
    io::{self, IsTerminal},
    path::Path,
    process::Command,
    sync::{Arc, atomic::AtomicBool},
};

use lockgate_agents::guardian::Connection;

use crate::service::Service;

pub(crate) const PROGRAM_ENDINGS: &[&str] = &["", ".exe", ".cmd", ".bat"];

pub(crate) fn keep_private(_: &mut OpenOptions) {}

pub(crate) fn keep_folder_private(_: &mut DirBuilder) {}

pub(crate) fn mode(_: &Metadata) -> Option<u32> {
    None
}

pub(crate) fn forget_typed(_: &File) -> io::Result<()> {
    Ok(())
}

/// Not known how: then no passphrase is typed.
pub(crate) struct HiddenTyping;

impl HiddenTyping {
    pub(crate) fn begin(_: &File) -> io::Result<Self> {
        Err(io::Error::other("typing cannot be hidden on this system"))
    }
}

pub(crate) fn terminal_columns() -> Option<usize> {
    io::stdout().is_terminal().then_some(80)
}

pub(crate) const SERVICE: Option<Service> = None;

pub(crate) fn on_end(_: &Arc<AtomicBool>) -> io::Result<()> {
    Err(no_guardian())
}

pub(crate) fn peer_user() -> io::Result<impl Fn(&Connection) -> io::Result<u32>> {
    Ok(|_: &Connection| Err(no_guardian()))
}

pub(crate) fn become_user(_: &mut Command, _: u32, _: u32) -> io::Error {
    no_guardian()
}

pub(crate) fn as_user(_: &mut Command, _: u32, _: u32) {}

pub(crate) fn give(_: &Path, _: u32, _: u32) -> io::Result<()> {
    Err(no_guardian())
}

pub(crate) fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Err(no_guardian())
}

pub(crate) fn user() -> Option<u32> {
    None
}

pub(crate) fn owner(_: &Metadata) -> Option<u32> {
    None
}

fn no_guardian() -> io::Error {
    io::Error::other("the guardian is not supported on this system yet")
}

pub(crate) async fn told_to_end() {
    told_to_stop().await;
}

pub(crate) async fn told_to_stop() {
    // Where it cannot be heard, only the end of the input ends this process.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
