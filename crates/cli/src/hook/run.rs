//! One event of one host, from stdin to the answer.
//!
//! Whatever goes wrong on the way, the host is made to block: what cannot be read, a policy or a database that is
//! broken or in use for too long, a panic, and our own deadline, which lies well inside the host's. Exactly one
//! answer is printed, by whoever is first: the desk, or the watchdog when the time is over.

use std::{
    io::{self, Read, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use lockgate::{
    Gate, LocalRunner, OpenError, Policy, Time,
    call::agent_tools,
    gate::{Reach, Shelf},
    policy::{Diagnostic, Severity},
    store::{Options, Sqlite},
};

use super::{
    anchor::{self, Policies},
    desk::Desk,
    dialect::{Asking, Dialect, Event, Phase, Reply, Said, Told},
    protection,
    transcripts::open_policy,
};
use crate::{
    commands::{FORGET_BATCH, forgotten},
    console::one_line,
    human::seen,
    protocol::{self, LINE_BYTES_MAX},
    serve::now,
    settings::{self, Ask, Environment, Settings},
    trust,
};

/// How long everything may take until the settings say otherwise.
const FIRST_DEADLINE: Duration = Duration::from_secs(10);

/// Of a deadline, what is kept for saying that it is over.
const LAST_WORD: Duration = Duration::from_millis(200);

/// Answers the event on stdin, and ends the process.
pub(crate) fn run(dialect: &'static dyn Dialect, environment: &Environment) -> ! {
    let started = Instant::now();
    let post = Arc::new(Post::new(dialect));
    // A panic is told as a fault; its own text, which may hold anything, is not printed.
    std::panic::set_hook(Box::new(|_| {}));
    let watched = Arc::clone(&post);
    if thread::Builder::new().spawn(move || watched.watch(started)).is_err() {
        post.send(&post.fault("there is nobody to watch the time; the call is blocked."));
    }
    let answered = catch_unwind(AssertUnwindSafe(|| answer(&post, environment, started)));
    let reply = match answered {
        Ok(Ok(reply)) => reply,
        Ok(Err(line)) => post.fault(&line),
        Err(_) => post.fault("Lockgate panicked; the call is blocked."),
    };
    post.send(&reply)
}

/// Where the answer is given, once.
struct Post {
    dialect: &'static dyn Dialect,
    /// The event, once it was read: a fault is answered in the form of its kind.
    event: OnceLock<Event>,
    is_sent: AtomicBool,
    /// The deadline, in milliseconds after the start.
    deadline_ms: AtomicU64,
}

impl Post {
    fn new(dialect: &'static dyn Dialect) -> Self {
        let is_sent = AtomicBool::new(false);
        let post = Self { dialect, event: OnceLock::new(), is_sent, deadline_ms: AtomicU64::new(0) };
        post.watch_until(FIRST_DEADLINE);
        post
    }

    /// The answer when Lockgate fails, also where writing it fails.
    fn fault(&self, line: &str) -> Reply {
        let line = &one_line(line);
        let reply = catch_unwind(AssertUnwindSafe(|| self.dialect.fault(self.event.get(), line)));
        reply.unwrap_or_else(|_| Reply { stderr: format!("lockgate: {line}"), code: 2, ..Reply::default() })
    }

    fn watch_until(&self, deadline: Duration) {
        let ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        self.deadline_ms.store(ms, Ordering::SeqCst);
    }

    /// Blocks when the time is over.
    fn watch(&self, started: Instant) {
        loop {
            let deadline = started + Duration::from_millis(self.deadline_ms.load(Ordering::SeqCst));
            match deadline.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => thread::sleep(left.min(Duration::from_millis(200))),
                _ => break,
            }
        }
        self.send(&self.fault("Lockgate did not decide in time; the call is blocked."))
    }

    fn send(&self, reply: &Reply) -> ! {
        if self.is_sent.swap(true, Ordering::SeqCst) {
            // Somebody else answers and ends the process.
            loop {
                thread::park();
            }
        }
        let written = write_all(&mut io::stdout().lock(), &reply.stdout);
        let _ = write_all(&mut io::stderr().lock(), &reply.stderr);
        // An answer that the host did not get is no answer.
        process::exit(if written.is_ok() { i32::from(reply.code) } else { 2 })
    }
}

fn write_all(to: &mut dyn Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') {
        to.write_all(b"\n")?;
    }
    to.flush()
}

/// Reads the event, finds the policy it is under, and asks the gate. Every error is a line for people.
fn answer(post: &Post, environment: &Environment, started: Instant) -> Result<Reply, String> {
    let event = read_event()?;
    let event = post.event.get_or_init(|| event);
    let dialect = post.dialect;
    let told = dialect.decode(event).map_err(|error| error.to_string())?;
    let host = dialect.host(event);
    let (session, folder) = match &told {
        Told::Nothing => return Ok(dialect.encode(event, &Said::Pass)),
        Told::Session { session, .. } => (session, None),
        Told::Call(call) => (&call.session, call.cwd.as_deref()),
        Told::Result(result) => (&result.call.session, result.call.cwd.as_deref()),
        Told::Refused(call) => (&call.session, call.cwd.as_deref()),
    };
    let session = format!("{host}/{session}");
    let (home, settings) = under(environment, &session, folder)?;
    seen::record(&settings.state, environment)
        .map_err(|error| format!("the process of this agent cannot be remembered: {error}"))?;
    // Most hosts run the tool when a hook takes too long: the answer must be there well before.
    let limit = settings.deadline.min(dialect.waits_for(&told) * 6 / 10);
    let deadline = started + limit;
    post.watch_until(limit);
    if let Told::Session { phase, .. } = told {
        // Nobody waits for a tool now.
        if phase == Phase::Started && settings.state.exists() {
            forget_old_sessions(&settings, &open_shelf(&settings, deadline)?)?;
        }
        remember(environment, &session, &settings, None)?;
        let mut reply = dialect.encode(event, &Said::Pass);
        if let (Phase::Started | Phase::Resumed, Some(waiting)) = (phase, trust::waiting_line(&settings)) {
            reply.stderr = format!("{}lockgate: {waiting}", reply.stderr);
        }
        return Ok(reply);
    }
    let shelf = Arc::new(open_shelf(&settings, deadline)?);
    let gate = open_gate(&settings, &home, environment, Arc::clone(&shelf), deadline)?;
    remember(environment, &session, &settings, Some(&gate.policy().hash().to_string()))?;
    let asking = asking(settings.ask, dialect, event);
    let deadline = deadline.checked_sub(LAST_WORD).unwrap_or(started);
    // Hosts start their hooks where they stand themselves.
    let folder = std::env::current_dir().ok().and_then(|folder| folder.to_str().map(ToOwned::to_owned));
    let desk = Desk { gate: &gate, shelf: &*shelf, host, asking, folder, deadline, clock: &now };
    let mut said = desk.answer(told).map_err(|error| format!("Lockgate could not decide: {error}"))?;
    if let (Said::Block { reason } | Said::Ask { reason }, Some(waiting)) =
        (&mut said, trust::told(&settings, gate.policy()))
    {
        *reason = format!("{reason} (For the human: {waiting}.)");
    }
    Ok(loudly(dialect.encode(event, &said), host, gate.policy()))
}

/// Adds to an answer that lets pass that the policy can match nothing this agent has. It is told on stderr: no host
/// takes that for part of an answer that succeeds.
fn loudly(reply: Reply, host: &str, policy: &Policy) -> Reply {
    let is_void = || agent_tools(host).is_some_and(|agent| !policy.may_match(agent));
    if reply.code != 0 || !reply.stderr.is_empty() || !is_void() {
        return reply;
    }
    let stderr = format!(
        "lockgate: no rule of this policy can match a tool of {host}, so every call passes; run `lockgate doctor {host}`"
    );
    Reply { stderr, ..reply }
}

/// How a question about an event reaches a human.
pub(crate) fn asking(ask: Ask, dialect: &dyn Dialect, event: &Event) -> Asking {
    match (ask, dialect.asking(event)) {
        (Ask::Host, asking) => asking,
        (Ask::Defer, _) if dialect.can_defer(event) => Asking::Defer,
        (Ask::Defer, asking) => asking,
        (Ask::Wait, _) => Asking::Wait,
        (Ask::Block, _) => Asking::Nobody,
    }
}

fn read_event() -> Result<Event, String> {
    let mut text = String::new();
    let room = LINE_BYTES_MAX as u64 + 1;
    let read = io::stdin().lock().take(room).read_to_string(&mut text);
    read.map_err(|error| format!("the event could not be read: {error}"))?;
    protocol::read_object(&text).map_err(|error| format!("the event could not be read: {error}"))
}

/// The folder whose policy counts for a session, and the settings that count there.
///
/// # Errors
/// When they cannot be told, or when a policy that the session was under is gone: a weaker one never takes its place.
pub(crate) fn under(
    environment: &Environment,
    session: &str,
    folder: Option<&str>,
) -> Result<(PathBuf, Settings), String> {
    let here = std::env::current_dir().map_err(|error| format!("this process has no folder: {error}"))?;
    let folder = folder.map(PathBuf::from).filter(|folder| folder.is_absolute() && folder.is_dir());
    let folder = folder.unwrap_or(here);
    let anchors = anchors(environment).ok_or("there is no home folder, so nothing can be remembered")?;
    let unknown = |error: io::Error| format!("the policy of this session is not known: {error}");
    if !anchor::is_known(&anchors, session)
        && settings::find(&folder, environment).is_ok_and(|settings| was_judged(&settings, session))
        // Another process may have begun the session just now.
        && !anchor::is_known(&anchors, session)
    {
        return Err(format!(
            "the session `{session}` was judged before, and where it began is not known any more, so every call is \
             blocked; start a new session"
        ));
    }
    let home = anchor::folder_of(&anchors, session, &folder).map_err(unknown)?;
    let settings = settings::find(&home, environment).map_err(|error| error.to_string())?;
    match anchor::vanished(&anchors, session, policies(&settings)).map_err(unknown)? {
        Some(vanished) => Err(vanished.to_string()),
        None => Ok((home, settings)),
    }
}

/// Keeps whose policies a session is under: from now on it blocks where one of them is gone.
pub(crate) fn remember(
    environment: &Environment,
    session: &str,
    settings: &Settings,
    hash: Option<&str>,
) -> Result<(), String> {
    let anchors = anchors(environment).ok_or("there is no home folder, so nothing can be remembered")?;
    anchor::remember(&anchors, session, policies(settings), hash)
        .map_err(|error| format!("the policy of this session cannot be remembered: {error}"))
}

fn policies(settings: &Settings) -> Policies<'_> {
    Policies {
        project: settings.project.as_ref().map(|project| project.root.as_path()),
        user: settings.user.as_ref().map(|user| user.folder.as_path()),
    }
}

/// Whether the database knows a session. One that cannot be opened is told by whoever needs it.
fn was_judged(settings: &Settings, session: &str) -> bool {
    let is_there = std::fs::symlink_metadata(&settings.state).is_ok_and(|data| data.len() > 0);
    is_there
        && Sqlite::open(&settings.state, Options::default())
            .is_ok_and(|shelf| shelf.take(session, Reach::Look).is_ok_and(|taken| taken.session().is_some()))
}

fn anchors(environment: &Environment) -> Option<PathBuf> {
    Some(environment.data_folder()?.join("lockgate").join("sessions"))
}

/// The folder whose policy counts for a session that hooks have seen, by its whole name.
pub(crate) fn folder_of_session(environment: &Environment, session: &str) -> Option<PathBuf> {
    anchor::known_folder(&anchors(environment)?, session)
}

fn open_shelf(settings: &Settings, deadline: Instant) -> Result<Sqlite, String> {
    let wait = deadline.saturating_duration_since(Instant::now()).saturating_sub(LAST_WORD);
    let options = Options { wait, ..Options::default() };
    Sqlite::open(&settings.state, options).map_err(|error| error.to_string())
}

/// Forgets, a few at a time, the sessions that nobody has gone on with for as long as the settings say.
fn forget_old_sessions(settings: &Settings, shelf: &Sqlite) -> Result<(), String> {
    let Some(after) = settings.forget_after else { return Ok(()) };
    let after = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    let before = Time(now().0.saturating_sub(after));
    let entry = |sessions: &[String]| forgotten(before, sessions);
    shelf.forget(before, FORGET_BATCH, &entry).map(|_| ()).map_err(|error| error.to_string())
}

/// Why there is no policy, in one line: of many mistakes, the first.
pub(crate) fn in_short(error: &OpenError) -> String {
    let OpenError::Mistaken(mistakes) = error else { return error.to_string() };
    let is_error = |mistake: &&Diagnostic| mistake.severity == Severity::Error;
    let Some(first) = mistakes.iter().find(is_error).or(mistakes.first()) else { return error.to_string() };
    let mut told = first.to_string();
    if let Some(remedy) = &first.remedy {
        told.push_str(&format!("; try: {remedy}"));
    }
    match mistakes.len() {
        1 => told,
        all => format!("{told}; and {} more, which `lockgate verify` shows", all - 1),
    }
}

fn open_gate(
    settings: &Settings,
    folder: &Path,
    environment: &Environment,
    shelf: Arc<Sqlite>,
    deadline: Instant,
) -> Result<Gate, String> {
    let policy = open_policy(settings, &shelf);
    let (policy, sources) =
        policy.map_err(|error| format!("the policy is not in force: {}", in_short(&error)))?;
    settings.check(&policy, &sources)?;
    let mut builder = settings.registry.lend(Gate::builder(policy)).mode(settings.mode).shelf(shelf);
    if settings.exec {
        // A program that takes longer than this process may is ended, and the condition does not hold.
        let left = deadline.saturating_duration_since(Instant::now()).saturating_sub(LAST_WORD);
        builder = builder.runner(LocalRunner::new().limit(left));
    }
    if settings.protect {
        if let Some(path) = protection::nameless(settings, folder, environment) {
            return Err(format!(
                "`{}` cannot be protected from the agent: its name is no Unicode text; rename it, or say `protect = \
                 false` in the settings",
                path.display()
            ));
        }
        builder = builder.protect(protection::of(settings, folder, environment));
    }
    builder.build().map_err(|error| error.to_string())
}
