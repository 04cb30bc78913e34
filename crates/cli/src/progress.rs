//! A sign of life while something takes long, for whoever sits at a terminal.
//!
//! [`Progress::start`] says nothing within the first second, and takes away what it said when it is dropped. It never
//! writes to what is not a terminal, and it does not know how much is left.

use std::{
    io::{self, IsTerminal, Write},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How often it is told that work goes on, and how long nothing is told.
const PACE: Duration = Duration::from_secs(1);

/// To the start of the line, and away with it.
const CLEAR_LINE: &str = "\r\u{1b}[2K";

/// Tells on stderr that work goes on, until it is dropped.
#[must_use]
pub(crate) struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    /// Starts to tell what is done, such as `proving`; silently, if nobody would see it.
    pub(crate) fn start(what: &'static str, json: bool) -> Self {
        if json || !io::stderr().is_terminal() {
            return Self(None);
        }
        Self::on(io::stderr(), what, PACE)
    }

    fn on(mut out: impl Write + Send + 'static, what: &'static str, pace: Duration) -> Self {
        let (stop, stopped) = mpsc::channel();
        let began = Instant::now();
        let told = move || {
            let mut has_told = false;
            while stopped.recv_timeout(pace) == Err(RecvTimeoutError::Timeout) {
                // A terminal that is gone is no reason to stop proving.
                let _ = write!(out, "{CLEAR_LINE}{what}… {} s", began.elapsed().as_secs());
                let _ = out.flush();
                has_told = true;
            }
            if has_told {
                let _ = write!(out, "{CLEAR_LINE}");
                let _ = out.flush();
            }
        };
        let thread = thread::Builder::new().name("progress".to_owned()).spawn(told);
        Self(thread.ok().map(|thread| (stop, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands on what is written.
    struct Heard(Sender<String>);

    impl Write for Heard {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_takes_long_is_told_and_taken_away() {
        let (say, heard) = mpsc::channel();
        let progress = Progress::on(Heard(say), "proving", Duration::from_millis(1));
        let mut text = String::new();
        while !text.contains("proving… 0 s") {
            text.push_str(&heard.recv().unwrap());
        }
        drop(progress);
        text.extend(heard.iter());
        assert!(text.ends_with(CLEAR_LINE), "{text:?}");
    }

    #[test]
    fn what_is_quick_says_nothing() {
        let (say, heard) = mpsc::channel();
        drop(Progress::on(Heard(say), "proving", Duration::from_secs(3600)));
        assert_eq!(heard.iter().collect::<String>(), "");
    }
}
