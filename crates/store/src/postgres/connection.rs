//! Connections to Postgres, each with a thread of its own.
//!
//! The library blocks, and must not block inside an async runtime; and some waits of Postgres end at no timeout of its own. So a
//! [`Connection`] runs its work on a thread and waits for it no longer than the deadline. One whose work did not end is given
//! up, and what became of the work is unknown.

use std::{sync::mpsc, thread, time::Instant};

use postgres::{Client, Config, error::SqlState};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::strands::{EngineError, Lent, Pool};

type Work = Box<dyn FnOnce(&mut Client) + Send>;

/// A connection that is lent to one caller at a time.
pub(super) struct Connection {
    work: mpsc::Sender<Work>,
}

impl Connection {
    pub(super) fn open(
        config: &Config,
        tls: &MakeRustlsConnect,
        deadline: Instant,
    ) -> Result<Self, EngineError> {
        let (work, queue) = mpsc::channel::<Work>();
        let (opened, is_open) = mpsc::channel();
        let (config, tls) = (config.clone(), tls.clone());
        thread::Builder::new()
            .name("lockgate-postgres".to_owned())
            .spawn(move || match config.connect(tls) {
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

impl Pool<Connection> {
    /// Runs work on any connection.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Client) -> Result<T, postgres::Error> + Send + 'static,
    ) -> Result<T, EngineError> {
        let deadline = self.deadline();
        self.lend(deadline)?.run(deadline, work)
    }
}

impl Lent<'_, Connection> {
    pub(super) fn run<T: Send + 'static>(
        &mut self,
        deadline: Instant,
        work: impl FnOnce(&mut Client) -> Result<T, postgres::Error> + Send + 'static,
    ) -> Result<T, EngineError> {
        self.with(|connection| connection.run(deadline, work))
    }
}
