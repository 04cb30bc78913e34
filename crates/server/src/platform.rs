//! What Unix systems do in their own way. No other module of this crate asks which system it runs on.

use std::{
    fs::{self, DirBuilder, Metadata, OpenOptions, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use tokio::signal::unix::{SignalKind, signal};

pub(crate) use tokio::net::{UnixListener as SocketListener, UnixStream as SocketStream};

/// Makes a new file one that only its user may read and write.
pub(crate) fn keep_private(options: &mut OpenOptions) {
    options.mode(0o600);
}

/// Makes a new folder one that only its user may look into.
pub(crate) fn keep_folder_private(builder: &mut DirBuilder) {
    builder.mode(0o700);
}

/// Whether other users may read or change a file.
pub(crate) fn is_open_to_others(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o077 != 0
}

/// Whether every user of the machine may read or change a file. A group may: the keys of TLS often belong to one.
pub(crate) fn is_open_to_all(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o007 != 0
}

/// What changes whenever a file is replaced or written to.
pub(crate) fn edition(metadata: &Metadata) -> (u64, i64, i64, u64) {
    (metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len())
}

/// Makes a socket that only this user may connect to. One that a server left behind is replaced.
pub(crate) fn listen(socket: &Path) -> io::Result<SocketListener> {
    match fs::symlink_metadata(socket) {
        Ok(data) if data.file_type().is_socket() => {
            if std::os::unix::net::UnixStream::connect(socket).is_ok() {
                return Err(io::Error::other("another server listens there"));
            }
            fs::remove_file(socket)?;
        }
        Ok(_) => return Err(io::Error::other("something else is in its place")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = SocketListener::bind(socket)?;
    fs::set_permissions(socket, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Takes the next connection.
pub(crate) async fn accept(listener: &SocketListener) -> io::Result<SocketStream> {
    Ok(listener.accept().await?.0)
}

/// Connects to a socket.
pub(crate) async fn connect(socket: &Path) -> io::Result<SocketStream> {
    SocketStream::connect(socket).await
}

/// Waits until the process is told to read its files again, as services are told (SIGHUP).
pub(crate) async fn told_to_reload() {
    match signal(SignalKind::hangup()) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_folder::DataFolder;

    #[test]
    fn a_folder_that_others_can_access_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let error = DataFolder::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("other users can access"), "{error}");
    }
}
