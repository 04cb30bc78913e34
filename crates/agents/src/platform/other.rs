//! The same for systems that are not Unix, which is to say Windows: files get the rights of their folder, their owner is not known,
//! and there is nothing to be told about processes.

use std::{
    convert::Infallible,
    fs::{DirBuilder, Metadata, OpenOptions},
    io::{self, Read, Write},
    path::Path,
    time::Duration,
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

pub(crate) fn file_id(_: &Metadata) -> Option<(u64, u64)> {
    None
}

/// There is no guardian here, so there is no conversation with one.
#[derive(Debug)]
pub struct Connection(Infallible);

impl Connection {
    pub(crate) fn set_read_timeout(&self, _: Option<Duration>) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn set_write_timeout(&self, _: Option<Duration>) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        match self.0 {}
    }
}

impl Read for &Connection {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }
}

impl Write for &Connection {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}

pub(crate) struct Listener(Infallible);

pub(crate) fn connect(_: &Path) -> io::Result<Connection> {
    Err(unsupported())
}

pub(crate) fn listen(_: &Path) -> io::Result<Listener> {
    Err(unsupported())
}

pub(crate) fn accept(listeners: &[&Listener], _: Duration) -> io::Result<Option<(usize, Connection)>> {
    match listeners.first() {
        Some(listener) => match listener.0 {},
        None => Err(unsupported()),
    }
}

pub(crate) fn is_passing(_: &io::Error) -> bool {
    false
}

fn unsupported() -> io::Error {
    io::Error::other("the guardian is not supported on this system yet")
}
