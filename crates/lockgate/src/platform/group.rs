//! A program and everything it starts: one process group, followed until the program ends and ended with it.
//!
//! [`run`] promises that nothing waits longer than the deadline and two short graces, even if another process keeps the program's
//! outputs open. A group is named by the number of its first process, and the system gives that number away again
//! once the process was waited for; so it is looked at without being waited for until the group has been ended.
//! Whatever could fail is done before the program starts, so a program that runs is always followed.

use std::{
    io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, ioctl_fionbio},
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid},
};

use crate::program::{Ended, Output, Tail};

/// How long a group that was asked to end may take to tidy up.
const GRACE: Duration = Duration::from_millis(500);

/// How long a program that was killed may take to vanish; more only when the system itself is stuck.
const VANISHING: Duration = Duration::from_secs(2);

/// How much is read at once, and how often after the program has ended: what left the group may print for ever.
const CHUNK_BYTES: usize = 16 * 1024;
const LAST_READS_MAX: usize = 64;

/// Runs a program until it ends or the deadline comes, and ends whatever is left of its group.
pub(crate) fn run(mut command: Command, deadline: Instant) -> io::Result<(Ended, Output)> {
    let (prints, prints_into) = Stream::new()?;
    let (errors, errors_into) = Stream::new()?;
    let (end, tells_end) = io::pipe()?;
    ioctl_fionbio(&end, true)?;
    let (says_whom, whom) = channel();
    thread::Builder::new().name("lockgate-exec".into()).spawn(move || watch(&whom, tells_end))?;

    command.stdin(Stdio::null()).stdout(prints_into).stderr(errors_into).process_group(0);
    let child = command.spawn()?;
    let id = Pid::from_child(&child);
    // The watcher waits for this word.
    let _ = says_whom.send(id);
    let mut group = Group { id, end, seen: None, prints, errors };
    let ended = group.follow_to_the_end(child, deadline);
    Ok((ended, Output { prints: group.prints.tail, errors: group.errors.tail }))
}

/// What is seen of a program's end.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    /// It has ended and was not waited for, so that its number is still its own.
    Ended,
    /// Another thread waited for it, and its number may have been reused.
    Taken,
}

/// Tells when a program has ended, without waiting for it in the sense of the system.
fn watch(whom: &Receiver<Pid>, mut tells_end: PipeWriter) {
    let Ok(id) = whom.recv() else {
        return;
    };
    let seen = loop {
        match waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(_) => break Seen::Ended,
            Err(Errno::INTR) => {}
            Err(_) => break Seen::Taken,
        }
    };
    // A byte and not the closing of the pipe: some systems let a program that is started meanwhile inherit it.
    let _ = tells_end.write_all(&[u8::from(seen == Seen::Ended)]);
}

struct Group {
    id: Pid,
    end: PipeReader,
    seen: Option<Seen>,
    prints: Stream,
    errors: Stream,
}

impl Group {
    fn follow_to_the_end(&mut self, child: Child, deadline: Instant) -> Ended {
        let in_time = self.follow(deadline);
        if !in_time {
            self.signal(Signal::TERM);
            if !self.follow(Instant::now() + GRACE) {
                self.signal(Signal::KILL);
                self.follow(Instant::now() + VANISHING);
            }
        }
        // Also after a good end: what the program has left behind holds no output open and uses no machine.
        self.signal(Signal::KILL);
        self.read_the_rest();
        match (self.wait(child), in_time) {
            (None, _) => Ended::Stuck,
            (Some(_), false) => Ended::TooLate,
            (Some(Ok(status)), true) => match status.code() {
                Some(code) => Ended::Code(code),
                None => Ended::Signal(signal_in_words(status)),
            },
            (Some(Err(_)), true) => Ended::Unknown,
        }
    }

    /// Reads what the group prints until its program has ended; whether it has in time.
    fn follow(&mut self, until: Instant) -> bool {
        while self.seen.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if self.sleep(left).is_err() {
                return false;
            }
            self.look();
            self.prints.read_some();
            self.errors.read_some();
            if left.is_zero() {
                break;
            }
        }
        self.seen.is_some()
    }

    /// Sleeps until there is something to read.
    fn sleep(&self, at_most: Duration) -> io::Result<()> {
        let timeout = Timespec::try_from(at_most).map_err(io::Error::other)?;
        let pipes = [Some(&self.end), self.prints.pipe.as_ref(), self.errors.pipe.as_ref()];
        let mut watched: Vec<PollFd<'_>> =
            pipes.into_iter().flatten().map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
        match poll(&mut watched, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn look(&mut self) {
        let mut byte = [0];
        self.seen = match self.end.read(&mut byte) {
            Ok(1) if byte == [1] => Some(Seen::Ended),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => None,
            _ => Some(Seen::Taken),
        };
    }

    fn signal(&self, signal: Signal) {
        if self.seen != Some(Seen::Taken) {
            // It fails if no process is left, which is the goal.
            let _ = kill_process_group(self.id, signal);
        }
    }

    fn read_the_rest(&mut self) {
        for stream in [&mut self.prints, &mut self.errors] {
            (0..LAST_READS_MAX).take_while(|_| stream.read_some()).count();
        }
    }

    /// Gives the number of the program back to the system; none where it still runs.
    fn wait(&self, mut child: Child) -> Option<io::Result<ExitStatus>> {
        if self.seen.is_some() {
            return Some(child.wait());
        }
        // The caller must not wait for the system, and no dead process may stay behind.
        let _ = thread::Builder::new().spawn(move || child.wait());
        None
    }
}

fn signal_in_words(status: ExitStatus) -> String {
    match status.signal() {
        // As in `signal: 9 (SIGKILL)`.
        Some(_) => status.to_string().replacen("signal: ", "signal ", 1),
        None => "something unknown".to_owned(),
    }
}

/// One output of a program.
struct Stream {
    /// None once it is closed.
    pipe: Option<PipeReader>,
    tail: Tail,
}

impl Stream {
    fn new() -> io::Result<(Self, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        ioctl_fionbio(&reader, true)?;
        Ok((Self { pipe: Some(reader), tail: Tail::default() }, writer))
    }

    /// Reads what is there; whether there was anything.
    fn read_some(&mut self) -> bool {
        let mut chunk = [0; CHUNK_BYTES];
        let read = self.pipe.as_mut().map_or(Ok(0), |pipe| pipe.read(&mut chunk));
        match read {
            Ok(count) if count > 0 => {
                self.tail.push(chunk.get(..count).unwrap_or_default());
                true
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => false,
            _ => {
                self.pipe = None;
                false
            }
        }
    }
}
