//! The one answer of a hook process, and the clock that runs beside it.
//!
//! Exactly one answer is printed, by the first who has one: the decision, or the watchdog when the time is over. Both end
//! the process.

use std::{
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    agents::Agent,
    event::{Answer, Event, HookReply, Message, complaint},
    platform,
    text::one_line,
};

/// How long everything may take until the settings say otherwise.
const FIRST_DEADLINE: Duration = Duration::from_secs(10);

/// Where the answer is given, once.
pub(crate) struct Responder {
    pub(crate) agent: Agent,
    /// The event, once it was read: a fault is answered in the form of its kind.
    pub(crate) message: OnceLock<Message>,
    /// What is said when the time is over, once it is known who was waited for.
    pub(crate) late: OnceLock<&'static str>,
    is_sent: AtomicBool,
    /// The deadline, in milliseconds after the start.
    deadline_ms: AtomicU64,
}

impl Responder {
    pub(crate) fn new(agent: Agent) -> Self {
        let is_sent = AtomicBool::new(false);
        let (message, late) = (OnceLock::new(), OnceLock::new());
        let responder = Self { agent, message, late, is_sent, deadline_ms: AtomicU64::new(0) };
        responder.watch_until(FIRST_DEADLINE);
        responder
    }

    /// The reply when Lockgate fails, also where writing it fails. What the user wrote is not kept from the agent: it was not
    /// heard, and that only closes.
    pub(crate) fn fault(&self, line: &str) -> HookReply {
        let line = &one_line(line);
        let reply = catch_unwind(AssertUnwindSafe(|| match self.message.get() {
            Some(message) if matches!(self.agent.decode(message), Ok(Event::Prompt(_))) => {
                let passed = self.agent.encode(message, &Answer::Pass);
                HookReply {
                    stderr: complaint(&format!("the user's message was not recorded: {line}")),
                    ..passed
                }
            }
            message => self.agent.fault(message, line),
        }));
        reply.unwrap_or_else(|_| HookReply {
            stderr: format!("lockgate: {line}"),
            code: 2,
            ..HookReply::default()
        })
    }

    pub(crate) fn watch_until(&self, deadline: Duration) {
        let ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        self.deadline_ms.store(ms, Ordering::SeqCst);
    }

    /// Blocks when the time is over.
    pub(crate) fn watch(&self, started: Instant) {
        loop {
            let deadline = started + Duration::from_millis(self.deadline_ms.load(Ordering::SeqCst));
            match deadline.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => thread::sleep(left.min(Duration::from_millis(200))),
                _ => break,
            }
        }
        let late = self.late.get().copied();
        self.send(&self.fault(late.unwrap_or("Lockgate did not decide in time; the call is blocked.")))
    }

    pub(crate) fn send(&self, reply: &HookReply) -> ! {
        if self.is_sent.swap(true, Ordering::SeqCst) {
            // The other thread answers and ends the process.
            loop {
                thread::park();
            }
        }
        let written = write_all(&mut io::stdout().lock(), &reply.stdout);
        let _ = write_all(&mut io::stderr().lock(), &reply.stderr);
        // An answer that the agent did not get does not count. Where stdout was closed, the standard library has opened
        // the null device in its place, to which everything can be written.
        let is_lost = written.is_err() || !reply.stdout.is_empty() && platform::is_stdout_null();
        if is_lost {
            let _ = write_all(&mut io::stderr().lock(), "lockgate: stdout is closed, so the call is blocked");
        }
        process::exit(if is_lost { 2 } else { i32::from(reply.code) })
    }
}

fn write_all(to: &mut dyn Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') {
        to.write_all(b"\n")?;
    }
    to.flush()
}
