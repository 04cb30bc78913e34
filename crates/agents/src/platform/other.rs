//! The same for systems that are not Unix, which is to say Windows: files get the rights of their folder, their owner is not known,
//! and there is nothing to be told about processes.

use std::{
    fs::{DirBuilder, Metadata, OpenOptions},
    io,
};

use crate::process::Process;

pub(crate) const CONFIG_FOLDER: &str = "AppData/Roaming";

pub(crate) const DATA_FOLDER: &str = "AppData/Local";

pub(crate) fn process(_: u32) -> io::Result<Process> {
    Err(io::Error::other("this is not supported on this system yet"))
}

pub(crate) fn group(_: u32) -> String {
    String::new()
}

pub(crate) fn boot() -> String {
    String::new()
}

pub(crate) fn uptime_seconds() -> u64 {
    0
}

pub(crate) fn keep_private(_: &mut OpenOptions) {}

pub(crate) fn keep_folder_private(_: &mut DirBuilder) {}

pub(crate) fn owner_and_mode(_: &Metadata) -> Option<(u32, u32)> {
    None
}

pub(crate) fn is_stdout_null() -> bool {
    false
}

pub(crate) fn user() -> Option<u32> {
    None
}
