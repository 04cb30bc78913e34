//! What Unix systems do in their own way. No other module of this crate asks which system it runs on.

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions},
    io,
    os::unix::{
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
        process::CommandExt,
    },
    path::Path,
    process::Command,
    sync::{Arc, atomic::AtomicBool},
};

use lockgate_agents::guardian::Connection;

use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcgetwinsize,
    tcsetattr,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::service::Service;

/// How services are started here.
pub(crate) const SERVICE: Option<Service> =
    if cfg!(target_os = "macos") { Some(Service::Launchd) } else { Some(Service::Systemd) };

/// What the name of a program's file may end with.
pub(crate) const PROGRAM_ENDINGS: &[&str] = &[""];

/// Makes a new file one that only its user may read and write.
pub(crate) fn keep_private(options: &mut OpenOptions) {
    options.mode(0o600);
}

/// Makes a new folder one that only its user may look into.
pub(crate) fn keep_folder_private(builder: &mut DirBuilder) {
    builder.mode(0o700);
}

/// The rights of a file, as three digits of eight; none where files have none.
pub(crate) fn mode(metadata: &Metadata) -> Option<u32> {
    Some(metadata.permissions().mode() & 0o777)
}

/// Throws away what was typed and not read yet.
pub(crate) fn forget_typed(terminal: &File) -> io::Result<()> {
    Ok(tcflush(terminal, QueueSelector::IFlush)?)
}

/// What is typed is not shown, and no key sends a signal, as long as this lives.
pub(crate) struct HiddenTyping<'t> {
    terminal: &'t File,
    before: Termios,
}

impl<'t> HiddenTyping<'t> {
    pub(crate) fn begin(terminal: &'t File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut hidden = before.clone();
        hidden.local_modes -= LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG;
        hidden.special_codes[SpecialCodeIndex::VMIN] = 1;
        hidden.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(terminal, OptionalActions::Flush, &hidden)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for HiddenTyping<'_> {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that is gone.
        let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}

/// How wide the terminal at standard output is; none where there is none.
pub(crate) fn terminal_columns() -> Option<usize> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    // Some terminals do not know how wide they are.
    Some(usize::from(size.ws_col)).filter(|columns| *columns >= 20)
}

/// Sets a flag when this process is to end.
pub(crate) fn on_end(ended: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(ended))?;
    }
    Ok(())
}

/// What tells which user is at the other end of a connection, as the system knows it.
pub(crate) fn peer_user() -> io::Result<impl Fn(&Connection) -> io::Result<u32>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    Ok(move |connection: &Connection| {
        let _inside = runtime.enter();
        let copy = connection.try_clone()?;
        copy.set_nonblocking(true)?;
        let user = tokio::net::UnixStream::from_std(copy)?.peer_cred()?.uid();
        // Both have the same state.
        connection.set_nonblocking(false)?;
        Ok(user)
    })
}

/// Becomes another user and runs a program in the place of this one; returns only if that fails.
pub(crate) fn become_user(command: &mut Command, user: u32, group: u32) -> io::Error {
    command.uid(user).gid(group).exec()
}

/// Has a program run as another user.
pub(crate) fn as_user(command: &mut Command, user: u32, group: u32) {
    command.uid(user).gid(group);
}

/// Gives a file to a user.
pub(crate) fn give(path: &Path, user: u32, group: u32) -> io::Result<()> {
    std::os::unix::fs::lchown(path, Some(user), Some(group))
}

/// Sets the rights of a file.
pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// The number of the user who runs this process.
pub(crate) fn user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

/// The number of the user who owns a file.
pub(crate) fn owner(metadata: &Metadata) -> Option<u32> {
    Some(metadata.uid())
}

/// Waits until this process is to end; the end of its terminal is one.
pub(crate) async fn told_to_end() {
    tokio::select! {
        () = told_to_stop() => {}
        () = heard(SignalKind::hangup()) => {}
    }
}

/// Waits until this process is told to end, by a human or a service.
pub(crate) async fn told_to_stop() {
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = heard(SignalKind::terminate()) => {}
    }
}

async fn heard(kind: SignalKind) {
    match signal(kind) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}
