//! What Unix systems do in their own way. No other module of this crate asks which system it runs on.

#[cfg_attr(not(target_os = "linux"), path = "platform/ps.rs")]
mod processes;
/// Tried here, because no test runs where it is used.
#[cfg(all(test, target_os = "linux"))]
mod ps;

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions},
    io,
    os::{
        fd::AsFd,
        unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    },
    path::Path,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

pub(crate) use std::os::unix::net::UnixListener as Listener;
/// One end of a conversation with the guardian.
pub use std::os::unix::net::UnixStream as Connection;

pub(crate) use processes::{boot, group, process, uptime_seconds};

/// Where users keep settings, below their home.
pub(crate) const CONFIG_FOLDER: &str = ".config";

/// Where programs keep data, below the user's home.
pub(crate) const DATA_FOLDER: &str =
    if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };

/// Makes a new file one that only its user may read and write.
pub(crate) fn keep_private(options: &mut OpenOptions) {
    options.mode(0o600);
}

/// Makes a new folder one that only its user may look into.
pub(crate) fn keep_folder_private(builder: &mut DirBuilder) {
    builder.mode(0o700);
}

/// The number of the user who owns a file, and its mode; none where files have neither.
pub(crate) fn owner_and_mode(metadata: &Metadata) -> Option<(u32, u32)> {
    Some((metadata.uid(), metadata.mode()))
}

/// What no other file of this machine has; none where files have no number.
pub(crate) fn file_id(metadata: &Metadata) -> Option<(u64, u64)> {
    Some((metadata.dev(), metadata.ino()))
}

/// Connects to a socket.
pub(crate) fn connect(socket: &Path) -> io::Result<Connection> {
    Connection::connect(socket)
}

/// Makes a socket that every user may connect to: who it is, is asked at the connection.
pub(crate) fn listen(socket: &Path) -> io::Result<Listener> {
    match fs::symlink_metadata(socket) {
        Ok(data) if data.file_type().is_socket() => fs::remove_file(socket)?,
        Ok(_) => return Err(io::Error::other("something else is in its place")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = Listener::bind(socket)?;
    listener.set_nonblocking(true)?;
    fs::set_permissions(socket, Permissions::from_mode(0o666))?;
    Ok(listener)
}

/// Waits for a connection at one of these sockets, and says at which.
pub(crate) fn accept(listeners: &[&Listener], wait: Duration) -> io::Result<Option<(usize, Connection)>> {
    let mut waiting: Vec<PollFd<'_>> =
        listeners.iter().map(|listener| PollFd::new(*listener, PollFlags::IN)).collect();
    let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
    match poll(&mut waiting, Some(&wait)) {
        Ok(0) | Err(Errno::INTR) => return Ok(None),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    for (at, (listener, _)) in
        listeners.iter().zip(&waiting).enumerate().filter(|(_, (_, it))| !it.revents().is_empty())
    {
        match listener.accept() {
            Ok((connection, _)) => {
                connection.set_nonblocking(false)?;
                return Ok(Some((at, connection)));
            }
            // The client has changed its mind.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Whether an error of accepting concerns one connection, or passes by itself.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    let passing = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::CONNABORTED, Errno::INTR];
    Errno::from_io_error(error).is_some_and(|error| passing.contains(&error))
}

/// Whether what is written to stdout goes nowhere.
pub(crate) fn is_stdout_null() -> bool {
    let stdout = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let (stdout, null) = (stdout.and_then(|file| file.metadata()), fs::metadata("/dev/null"));
    match (stdout, null) {
        (Ok(stdout), Ok(null)) => stdout.file_type().is_char_device() && stdout.rdev() == null.rdev(),
        // Without a stdout there is no reader.
        (Err(_), _) => true,
        (Ok(_), Err(_)) => false,
    }
}

/// The number of the user who runs this process; none where users have none.
pub(crate) fn user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{
        process::{Command, Stdio},
        thread,
    };

    use super::{processes, ps};

    /// In a session of its own: the one of the tests may have begun outside of a container, where it has no number.
    #[test]
    fn ps_tells_what_proc_tells() {
        let mut sleep = Command::new("setsid").args(["sleep", "600"]).stdout(Stdio::null()).spawn().unwrap();
        let pid = sleep.id();
        while processes::process(pid).is_ok_and(|process| process.words != ["sleep", "600"]) {
            thread::yield_now();
        }
        let (by_proc, by_ps, again) = (processes::process(pid), ps::process(pid), ps::process(pid));
        sleep.kill().unwrap();
        sleep.wait().unwrap();
        let (by_proc, by_ps) = (by_proc.unwrap(), by_ps.unwrap());
        assert_eq!(
            (by_proc.parent, by_proc.session, by_proc.user),
            (by_ps.parent, by_ps.session, by_ps.user)
        );
        assert_eq!((by_proc.name, by_proc.words.join(" ")), (by_ps.name, by_ps.words.join(" ")));
        assert_eq!(again.unwrap().started, by_ps.started);
        assert!(ps::process(0x7fff_ffff).is_err());
        assert_eq!((ps::group(1), ps::boot(), ps::uptime_seconds()), (String::new(), String::new(), 0));
    }
}
