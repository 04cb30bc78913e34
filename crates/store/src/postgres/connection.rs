//! Connections to Postgres, each with a thread of its own.
//!
//! The library blocks, and must not block inside an async runtime; and some waits of Postgres end at no timeout of its own. So a
//! [`Connection`] runs its work on a thread and waits for it no longer than the deadline. One whose work did not end is given
//! up, and what became of the work is unknown.

use std::{
    sync::{Condvar, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use postgres::{Client, Config, NoTls, error::SqlState};

use crate::strands::EngineError;

type Work = Box<dyn FnOnce(&mut Client) + Send>;

/// A connection that is lent to one caller at a time.
pub(super) struct Connection {
    work: mpsc::Sender<Work>,
}

impl Connection {
    fn open(config: &Config, deadline: Instant) -> Result<Self, EngineError> {
        let (work, queue) = mpsc::channel::<Work>();
        let (opened, is_open) = mpsc::channel();
        let config = config.clone();
        thread::Builder::new()
            .name("lockgate-postgres".to_owned())
            .spawn(move || match config.connect(NoTls) {
                Err(error) => drop(opened.send(Err(cannot_connect(&error)))),
                Ok(mut client) => {
                    if opened.send(Ok(())).is_ok() {
                        queue.iter().for_each(|work| work(&mut client));
                    }
                }
            })
            .map_err(|error| {
                EngineError::Failed(format!("cannot be reached: no thread can be started ({error})"))
            })?;
        match is_open.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(opened) => opened.map(|()| Self { work }),
            Err(_) => Err(EngineError::Failed("did not answer in time".to_owned())),
        }
    }

    /// Runs work on the connection's thread. The flag says whether the connection can be used again.
    pub(super) fn run<T: Send + 'static>(
        &self,
        deadline: Instant,
        work: impl FnOnce(&mut Client) -> Result<T, postgres::Error> + Send + 'static,
    ) -> (Result<T, EngineError>, bool) {
        let (answer, answered) = mpsc::channel();
        let work: Work = Box::new(move |client| {
            let result = work(client);
            let is_usable = !client.is_closed();
            let _ = answer.send((result, is_usable));
        });
        if self.work.send(work).is_err() {
            return (Err(EngineError::Unknown("lost its connection".to_owned())), false);
        }
        match answered.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok((result, is_usable)) => (result.map_err(|error| failed(&error)), is_usable),
            Err(_) => (Err(EngineError::Unknown("did not answer in time".to_owned())), false),
        }
    }
}

fn cannot_connect(error: &postgres::Error) -> EngineError {
    EngineError::Failed(format!("cannot be reached: {}", words(error)))
}

/// What an error means for the change that met it.
fn failed(error: &postgres::Error) -> EngineError {
    match error.code() {
        Some(code)
            if [
                &SqlState::T_R_SERIALIZATION_FAILURE,
                &SqlState::T_R_DEADLOCK_DETECTED,
                &SqlState::LOCK_NOT_AVAILABLE,
            ]
            .contains(&code) =>
        {
            EngineError::Conflict
        }
        // A record has its number already: the row that knows of it is gone.
        Some(code) if *code == SqlState::UNIQUE_VIOLATION => EngineError::Failed(
            "has records that its rows do not know: rows were deleted outside of Lockgate; restore the database from a copy".to_owned(),
        ),
        Some(_) => EngineError::Failed(format!("failed: {}", words(error))),
        // Without a code the server has not answered.
        None => EngineError::Unknown(format!("lost its connection: {}", words(error))),
    }
}

fn words(error: &postgres::Error) -> String {
    use std::error::Error as _;
    match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}")),
    }
}

/// A few connections, lent one by one.
pub(super) struct Pool {
    config: Config,
    wait: Duration,
    size_max: usize,
    idle: Mutex<Idle>,
    returned: Condvar,
}

#[derive(Default)]
struct Idle {
    connections: Vec<Connection>,
    /// How many are lent.
    lent: usize,
}

impl Pool {
    pub(super) fn new(config: Config, wait: Duration, size_max: usize) -> Self {
        Self { config, wait, size_max: size_max.max(1), idle: Mutex::default(), returned: Condvar::new() }
    }

    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.wait
    }

    /// Lends a connection.
    pub(super) fn lend(&self, deadline: Instant) -> Result<Lent<'_>, EngineError> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(connection) = idle.connections.pop() {
                idle.lent += 1;
                return Ok(Lent { pool: self, connection: Some(connection) });
            }
            if idle.lent < self.size_max {
                idle.lent += 1;
                drop(idle);
                // Gives its place back if it cannot be opened.
                let mut lent = Lent { pool: self, connection: None };
                lent.connection = Some(Connection::open(&self.config, deadline)?);
                return Ok(lent);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(EngineError::Failed(format!(
                    "has {} connections at work; try again",
                    self.size_max
                )));
            }
            idle = self.returned.wait_timeout(idle, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Runs work on any connection.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Client) -> Result<T, postgres::Error> + Send + 'static,
    ) -> Result<T, EngineError> {
        let deadline = self.deadline();
        self.lend(deadline)?.run(deadline, work)
    }
}

/// A connection that is lent; dropping it gives it back.
pub(super) struct Lent<'a> {
    pool: &'a Pool,
    /// None once it cannot be used any more.
    connection: Option<Connection>,
}

impl Lent<'_> {
    pub(super) fn run<T: Send + 'static>(
        &mut self,
        deadline: Instant,
        work: impl FnOnce(&mut Client) -> Result<T, postgres::Error> + Send + 'static,
    ) -> Result<T, EngineError> {
        let Some(connection) = &self.connection else {
            return Err(EngineError::Unknown("lost its connection".to_owned()));
        };
        let (result, is_usable) = connection.run(deadline, work);
        if !is_usable {
            self.connection = None;
        }
        result
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.lent -= 1;
        idle.connections.extend(self.connection.take());
        self.pool.returned.notify_one();
    }
}
