//! A running process, as the system tells about it.

/// A running process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// The leader of its session; 0 where that is not to be seen from here.
    pub(crate) session: u32,
    /// When it started, as the system writes it; with `pid` this names one process until the next boot.
    pub(crate) started: String,
    /// Its program as the system calls it.
    pub(crate) name: String,
    /// Its command line; empty where that may not be read.
    pub(crate) words: Vec<String>,
    /// The names of its variables when it started; empty where they may not be read.
    pub(crate) variables: Vec<String>,
    /// Who runs it, where that is told.
    pub(crate) user: Option<u32>,
    /// Whether its terminal is a machine's own console and not one that a program made.
    pub(crate) has_console: bool,
}

impl Process {
    /// The name of the program's file, without folders.
    pub(crate) fn program(&self) -> &str {
        let first = self.words.first().map_or(self.name.as_str(), String::as_str);
        // A login shell is started as `-bash`.
        let first = first.strip_prefix('-').unwrap_or(first);
        first.rsplit('/').next().unwrap_or(first)
    }

    /// Clock ticks since the boot, where `started` is that.
    pub(crate) fn ticks(&self) -> Option<u64> {
        self.started.parse().ok()
    }
}
