//! What Unix systems do in their own way. No other module of this crate asks which system it runs on.

use std::{
    fs::{DirBuilder, File, Metadata, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
};

use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcgetwinsize,
    tcsetattr,
};
use tokio::signal::unix::{Signal, SignalKind, signal};

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

/// Waits until this process is to end.
pub(crate) async fn told_to_end() {
    let mut end = signal(SignalKind::terminate()).ok();
    let mut hang_up = signal(SignalKind::hangup()).ok();
    let heard = async |signal: &mut Option<Signal>| match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = heard(&mut end) => {}
        () = heard(&mut hang_up) => {}
    }
}
