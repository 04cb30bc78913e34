//! What systems other than Unix do. There are no sockets in the file system, and files have no rights that are looked at.

use std::{
    fs::{DirBuilder, Metadata, OpenOptions},
    io,
    path::Path,
    time::UNIX_EPOCH,
};

pub(crate) use tokio::net::TcpStream as SocketStream;

/// A socket in the file system, of which there is none here.
#[derive(Debug)]
pub(crate) struct SocketListener;

pub(crate) fn keep_private(_: &mut OpenOptions) {}

pub(crate) fn keep_folder_private(_: &mut DirBuilder) {}

pub(crate) fn is_open_to_others(_: &Metadata) -> bool {
    false
}

pub(crate) fn is_open_to_all(_: &Metadata) -> bool {
    false
}

pub(crate) async fn told_to_reload() {
    std::future::pending().await
}

pub(crate) fn edition(metadata: &Metadata) -> (u64, i64, i64, u64) {
    let since =
        metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or_default();
    (0, seconds, i64::from(since.subsec_nanos()), metadata.len())
}

pub(crate) fn listen(_: &Path) -> io::Result<SocketListener> {
    Err(no_sockets())
}

pub(crate) async fn accept(_: &SocketListener) -> io::Result<SocketStream> {
    Err(no_sockets())
}

pub(crate) async fn connect(_: &Path) -> io::Result<SocketStream> {
    Err(no_sockets())
}

fn no_sockets() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "this system has no Unix sockets; use --listen")
}
