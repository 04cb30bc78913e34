//! The process that hooks reach: it accepts connections, bounds them, and ends cleanly.
//!
//! Each connection is a thread with one request. There are bounds on connections, on those of one user, on the bytes of all
//! messages at once, and on the time in which a client has to say what it wants, so one slow client keeps no other waiting.
//! A panic in a request refuses that request.

use std::{
    collections::BTreeMap,
    fs, io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::{
    conversation::{Conversation, Peer},
    desk::Desk,
    lines::GuardedLine,
    protocol::{Errand, Request, Response, VERSION, Wants, read_frame, write_frame},
    service,
    ward::WardState,
};
use crate::{
    machine::Machine,
    platform::{self, Connection, Listener},
};

/// How often the daemon looks whether it has to end.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long running requests may take when the daemon ends.
const LAST_REQUESTS: Duration = Duration::from_secs(3);

/// How much a client can make the guardian do at once.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections.
    pub connections: usize,
    /// Connections of one user.
    pub of_one_user: usize,
    /// Bytes of messages that are being read or answered.
    pub bytes: usize,
    /// How long a client may take to say what it wants, and to read the answer.
    pub conversation: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            of_one_user: 128,
            bytes: 256 * 1024 * 1024,
            conversation: Duration::from_secs(10),
        }
    }
}

/// Why the daemon cannot run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// It runs as another user than the settings say.
    #[error("this process runs as user {runs}, but `{}` says that the guardian is user {user}; start it by its service", file.display())]
    WrongUser {
        /// The user who runs it.
        runs: u32,
        /// The guardian's user.
        user: u32,
        /// The settings.
        file: PathBuf,
    },
    /// Another one runs already.
    #[error("a guardian answers at `{}` already", .0.display())]
    Running(PathBuf),
    /// The socket cannot be made.
    #[error("the socket `{}` cannot be made: {source}; its folder must be there and belong to the guardian", socket.display())]
    Socket {
        /// The socket.
        socket: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The guardian, ready to serve.
pub struct Daemon {
    office: Arc<Office>,
    listeners: Vec<(Listener, PathBuf)>,
}

/// What all connections share.
struct Office {
    machine: Machine,
    limits: Limits,
    wards: BTreeMap<u32, WardState>,
    desk: Box<dyn Desk>,
    connections: AtomicUsize,
    of_users: Mutex<BTreeMap<u32, usize>>,
    bytes: AtomicUsize,
}

/// Tells which user is at the other end.
type PeerUser<'a> = dyn Fn(&Connection) -> io::Result<u32> + 'a;

impl Daemon {
    /// Makes the sockets.
    ///
    /// # Errors
    /// When another guardian runs, or this process must not be one.
    pub fn bind(machine: Machine, limits: Limits, desk: Box<dyn Desk>) -> Result<Self, DaemonError> {
        if let Some(runs) = platform::user().filter(|runs| *runs != machine.user) {
            return Err(DaemonError::WrongUser { runs, user: machine.user, file: machine.file });
        }
        let mut listeners = Vec::new();
        for socket in [Some(&machine.socket), machine.container_socket.as_ref()].into_iter().flatten() {
            listeners.push((listen(socket)?, socket.clone()));
        }
        let wards = machine.users.iter().map(|user| (*user, WardState::new(&machine, *user))).collect();
        let office = Office {
            machine,
            limits,
            wards,
            desk,
            connections: AtomicUsize::new(0),
            of_users: Mutex::default(),
            bytes: AtomicUsize::new(0),
        };
        Ok(Self { office: Arc::new(office), listeners })
    }

    /// Serves until it is told to end.
    ///
    /// # Errors
    /// When no connection can be accepted any more.
    pub fn run(self, peer_user: &PeerUser<'_>, is_ended: &AtomicBool) -> io::Result<()> {
        let listeners: Vec<&Listener> = self.listeners.iter().map(|(listener, _)| listener).collect();
        let ended = loop {
            if is_ended.load(Ordering::SeqCst) {
                break Ok(());
            }
            match platform::accept(&listeners, LOOK_EVERY) {
                // Only the first socket tells users by the system: root in a container may be anyone.
                Ok(Some((at, connection))) => self.begin(connection, peer_user, at == 0),
                Ok(None) => {}
                Err(error) if platform::is_passing(&error) => thread::sleep(LOOK_EVERY / 10),
                Err(error) => break Err(error),
            }
        };
        drop(listeners);
        for (_, socket) in &self.listeners {
            let _ = fs::remove_file(socket);
        }
        let end = Instant::now() + LAST_REQUESTS;
        while self.office.connections.load(Ordering::SeqCst) > 0 && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
        ended
    }

    /// Has a thread answer a connection, if there is room for it.
    fn begin(&self, connection: Connection, peer_user: &PeerUser<'_>, by_system: bool) {
        let started = Instant::now();
        let office = Arc::clone(&self.office);
        let caller = if by_system { peer_user(&connection).map(Some) } else { Ok(None) };
        let place = caller.map_err(|error| format!("the system does not say which user asks: {error}"));
        let place = place.and_then(|user| Place::take(office, user));
        let patience = self.office.limits.conversation;
        let refuse = |connection: &Connection, line: String| {
            // It fits into the socket's own room, so it does not wait for the client.
            let _ = write_frame(connection, &Response::Refused(line), Instant::now() + patience);
        };
        let place = match place {
            Ok(place) => place,
            Err(line) => return refuse(&connection, line),
        };
        let spare = connection.try_clone();
        if thread::Builder::new().spawn(move || place.serve(&connection, started)).is_err()
            && let Ok(connection) = spare
        {
            refuse(&connection, "the guardian cannot start another thread".to_owned());
        }
    }
}

/// Makes a socket and replaces one that no process listens on any more.
fn listen(socket: &Path) -> Result<Listener, DaemonError> {
    if platform::connect(socket).is_ok() {
        return Err(DaemonError::Running(socket.to_path_buf()));
    }
    platform::listen(socket).map_err(|source| DaemonError::Socket { socket: socket.to_path_buf(), source })
}

/// One of the connections that there is room for, given back when it ends.
struct Place {
    office: Arc<Office>,
    /// Who asks, as the system says; none where a token says it.
    user: Option<u32>,
    /// How many bytes were reserved.
    bytes: usize,
}

impl Place {
    fn take(office: Arc<Office>, user: Option<u32>) -> Result<Self, String> {
        let limits = office.limits;
        // A user of its own for all whom a token has to name.
        let key = user.unwrap_or(u32::MAX);
        {
            let mut of_users = office.of_users.lock().unwrap_or_else(PoisonError::into_inner);
            let own = of_users.entry(key).or_default();
            if *own >= limits.of_one_user || office.connections.load(Ordering::SeqCst) >= limits.connections {
                return Err(format!(
                    "too many calls at once: the guardian answers {} of one user; try again",
                    limits.of_one_user
                ));
            }
            *own += 1;
            office.connections.fetch_add(1, Ordering::SeqCst);
        }
        Ok(Self { office, user, bytes: 0 })
    }

    fn serve(mut self, connection: &Connection, started: Instant) {
        let deadline = started + self.office.limits.conversation;
        let answered = catch_unwind(AssertUnwindSafe(|| self.answer(connection, started, deadline)));
        let response = answered.unwrap_or_else(|_| {
            Response::Refused("the guardian panicked at this request; the call is blocked".to_owned())
        });
        // A client that is gone has blocked.
        let deadline = Instant::now() + self.office.limits.conversation;
        let _ = write_frame(connection, &response, deadline);
    }

    fn answer(&mut self, connection: &Connection, started: Instant, deadline: Instant) -> Response {
        let office = Arc::clone(&self.office);
        let mut reserve = |bytes: usize| self.reserve(bytes);
        let request: Request = match read_frame(connection, &|| deadline, &mut reserve) {
            Ok(request) => request,
            Err(error) => {
                return Response::Refused(format!("the guardian could not read a request: {error}"));
            }
        };
        if request.version != VERSION {
            return Response::Refused(format!(
                "this client is of version {}, the guardian of version {VERSION}; install one version for both, and start \
                 the guardian again",
                request.version
            ));
        }
        let (ward, peer) = match office.caller(self.user, request.token.as_deref()) {
            Ok(caller) => caller,
            Err(line) => return Response::Refused(line),
        };
        let mut reserve = |bytes: usize| self.reserve(bytes);
        let conversation =
            Conversation { connection, deadline, reserve: std::cell::RefCell::new(&mut reserve) };
        match request.wants {
            Wants::Hook(hook) => service::hook(ward, *hook, &conversation, started),
            Wants::Line(line) => {
                let line = GuardedLine::new(ward, peer, &conversation, *line);
                office.desk.line(&line).map_or_else(Response::Refused, Response::Line)
            }
            Wants::Errand(Errand::Ping) => Response::Data(service::ping(ward)),
            Wants::Errand(errand) => match office.desk.serve(ward, peer, errand) {
                Ok(data) => Response::Data(data),
                Err(line) => Response::Refused(line),
            },
        }
    }

    fn reserve(&mut self, bytes: usize) -> bool {
        let before = self.office.bytes.fetch_add(bytes, Ordering::SeqCst);
        self.bytes = self.bytes.saturating_add(bytes);
        before.saturating_add(bytes) <= self.office.limits.bytes
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.office.bytes.fetch_sub(self.bytes, Ordering::SeqCst);
        let mut of_users = self.office.of_users.lock().unwrap_or_else(PoisonError::into_inner);
        let key = self.user.unwrap_or(u32::MAX);
        if let Some(own) = of_users.get_mut(&key) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                of_users.remove(&key);
            }
        }
        self.office.connections.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Office {
    /// The user that a request is for.
    fn caller(&self, user: Option<u32>, token: Option<&str>) -> Result<(&WardState, Peer), String> {
        let Some(user) = user else {
            let token = token.ok_or("this socket is for containers, and the request shows no token")?;
            let ward = self.wards.values().find(|ward| ward.has_token(token));
            let ward = ward.ok_or("the token of this container is not that of any user")?;
            return Ok((ward, Peer { user: ward.user(), is_operator: false }));
        };
        let is_operator = user == 0 || user == self.machine.user;
        let ward = self.wards.get(&user).ok_or_else(|| {
            format!(
                "the guardian does not guard user {user}; `users` in {} lists whom it does",
                self.machine.file.display()
            )
        })?;
        Ok((ward, Peer { user, is_operator }))
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "helpers of tests may panic")]
mod tests {
    use std::{
        io::{Read, Write},
        os::unix::net::UnixStream,
    };

    use serde_json::{Value, json};

    use super::*;

    /// Panics at one errand, and says yes to all others.
    struct Shaky;

    impl Desk for Shaky {
        fn serve(&self, _: &WardState, _: Peer, errand: Errand) -> Result<Value, String> {
            assert!(!matches!(errand, Errand::Pending), "a mistake of ours");
            Ok(json!("fine"))
        }

        fn line(&self, _: &GuardedLine<'_>) -> Result<String, String> {
            Ok("fine".to_owned())
        }
    }

    fn sent(socket: &Path, body: &str) -> String {
        let mut stream = UnixStream::connect(socket).unwrap();
        // The guardian may refuse before it has read anything.
        let _ = stream.write_all(&u32::try_from(body.len()).unwrap().to_be_bytes());
        let _ = stream.write_all(body.as_bytes());
        received(&mut stream)
    }

    fn received(stream: &mut UnixStream) -> String {
        let (mut length, mut answer) = ([0; 4], Vec::new());
        stream.read_exact(&mut length).unwrap();
        stream.take(u64::from(u32::from_be_bytes(length))).read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    /// Ends the daemon when the test ends.
    struct Ending<'a>(&'a AtomicBool);

    impl Drop for Ending<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_panic_refuses_one_request_and_bounds_hold() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, user) = (folder.path().join("s"), platform::user().unwrap());
        let machine = Machine {
            socket: socket.clone(),
            user,
            users: vec![user],
            policies: folder.path().join("policies"),
            data: folder.path().join("data"),
            container_socket: None,
            token_file: None,
            deadline: None,
            file: folder.path().join("guardian.toml"),
        };
        let limits = Limits {
            connections: 4,
            of_one_user: 3,
            bytes: 200 * 1024,
            conversation: Duration::from_secs(20),
        };
        let wrong = Machine { user: user + 1, ..machine.clone() };
        assert!(matches!(Daemon::bind(wrong, limits, Box::new(Shaky)), Err(DaemonError::WrongUser { .. })));
        let daemon = Daemon::bind(machine.clone(), limits, Box::new(Shaky)).unwrap();
        assert!(matches!(Daemon::bind(machine, limits, Box::new(Shaky)), Err(DaemonError::Running(_))));
        let ended = AtomicBool::new(false);
        let wants = |errand: &str| format!(r#"{{"version": "{VERSION}", "wants": {{"errand": {errand}}}}}"#);
        // A client has its answer a moment before its place is given back.
        let office = Arc::clone(&daemon.office);
        let all_places_are_free = || {
            while office.connections.load(Ordering::SeqCst) > 0 {
                thread::sleep(Duration::from_millis(1));
            }
        };
        let sent = |socket: &Path, body: &str| {
            all_places_are_free();
            sent(socket, body)
        };
        thread::scope(|scope| {
            let served = scope.spawn(|| daemon.run(&|_| Ok(user), &ended));
            // A scope waits for its threads, also after a failure.
            let _ending = Ending(&ended);
            for _ in 0..3 {
                assert!(sent(&socket, &wants(r#""pending""#)).contains("panicked"));
                assert!(sent(&socket, &wants(r#""ping""#)).contains(VERSION));
            }
            // More bytes than there is room for, and then there is room again.
            let long =
                wants(&format!(r#"{{"halt": {{"session": null, "reason": "{}"}}}}"#, "x".repeat(300_000)));
            assert!(sent(&socket, &long).contains("too many large messages"));
            assert!(sent(&socket, &wants(r#""ping""#)).contains(VERSION));
            // Three that say nothing leave no room for a fourth of the same user.
            all_places_are_free();
            let silent: Vec<UnixStream> = (0..3).map(|_| UnixStream::connect(&socket).unwrap()).collect();
            let mut late = UnixStream::connect(&socket).unwrap();
            assert!(received(&mut late).contains("too many calls at once"));
            drop(silent);
            assert!(sent(&socket, &wants(r#""ping""#)).contains(VERSION));
            ended.store(true, Ordering::SeqCst);
            served.join().unwrap().unwrap();
        });
        assert!(!socket.exists());
    }
}
