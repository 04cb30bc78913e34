//! A sign of life while something takes long, for a human at a terminal.
//!
//! [`Progress::start`] says nothing within the first second, and takes away what it said when it is dropped. It never
//! writes to what is not a terminal. How much is left it shows only where it is told ([`Progress::tell`]).

use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How often it is told that work goes on, and how long nothing is told.
const PACE: Duration = Duration::from_secs(1);

/// To the start of the line, and away with it.
const CLEAR_LINE: &str = "\r\u{1b}[2K";

/// How wide the bar is that shows how much is left.
const BAR: usize = 30;

/// Tells on stderr that work goes on, until it is dropped.
#[must_use]
pub(crate) struct Progress {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
    share: Arc<Share>,
}

/// How much is done, as far as that is known.
#[derive(Debug, Default)]
struct Share {
    done: AtomicU64,
    /// 0 where that is not known.
    of: AtomicU64,
}

impl Share {
    /// What is shown behind what is done.
    fn text(&self) -> String {
        let (done, of) = (self.done.load(Ordering::Relaxed), self.of.load(Ordering::Relaxed));
        if of == 0 {
            return "…".to_owned();
        }
        let parts = |whole: u64| {
            let part = u128::from(done.min(of)) * u128::from(whole) / u128::from(of);
            usize::try_from(part).unwrap_or_default()
        };
        let filled = parts(BAR as u64);
        format!(" [{}{}] {} %,", "#".repeat(filled), ".".repeat(BAR - filled), parts(100))
    }
}

impl Progress {
    /// Starts to tell what is done, such as `proving`; silently, where stderr is not a terminal.
    pub(crate) fn start(what: &'static str, json: bool) -> Self {
        if json || !io::stderr().is_terminal() {
            return Self { thread: None, share: Arc::default() };
        }
        Self::on(io::stderr(), what, PACE)
    }

    fn on(mut out: impl Write + Send + 'static, what: &'static str, pace: Duration) -> Self {
        let (stop, stopped) = mpsc::channel();
        let began = Instant::now();
        let share = Arc::new(Share::default());
        let shared = Arc::clone(&share);
        let told = move || {
            let mut has_told = false;
            while stopped.recv_timeout(pace) == Err(RecvTimeoutError::Timeout) {
                // A terminal that is gone does not stop the proof.
                let _ = write!(out, "{CLEAR_LINE}{what}{} {} s", shared.text(), began.elapsed().as_secs());
                let _ = out.flush();
                has_told = true;
            }
            if has_told {
                let _ = write!(out, "{CLEAR_LINE}");
                let _ = out.flush();
            }
        };
        let thread = thread::Builder::new().name("progress".to_owned()).spawn(told);
        Self { thread: thread.ok().map(|thread| (stop, thread)), share }
    }

    /// Says how much is done.
    pub(crate) fn tell(&self, done: u64, of: u64) {
        self.share.done.store(done, Ordering::Relaxed);
        self.share.of.store(of, Ordering::Relaxed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
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
    fn how_much_is_left_is_a_bar() {
        let share = Share::default();
        for (done, of, shown) in [
            (0, 0, "…"),
            (0, 3, " [..............................] 0 %,"),
            (1, 3, " [##########....................] 33 %,"),
            (3, 3, " [##############################] 100 %,"),
            (u64::MAX, u64::MAX, " [##############################] 100 %,"),
            (9, 3, " [##############################] 100 %,"),
        ] {
            share.done.store(done, Ordering::Relaxed);
            share.of.store(of, Ordering::Relaxed);
            assert_eq!(share.text(), shown, "{done} of {of}");
        }
    }

    #[test]
    fn what_is_quick_says_nothing() {
        let (say, heard) = mpsc::channel();
        drop(Progress::on(Heard(say), "proving", Duration::from_secs(3600)));
        assert_eq!(heard.iter().collect::<String>(), "");
    }
}
