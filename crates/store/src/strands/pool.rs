//! A few connections to a database, lent one by one.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::engine::EngineError;

/// Opens a connection before a deadline.
type Open<C> = dyn Fn(Instant) -> Result<C, EngineError> + Send + Sync;

/// Connections that are opened when they are needed and kept.
pub(crate) struct Pool<C> {
    open: Box<Open<C>>,
    wait: Duration,
    size_max: usize,
    idle: Mutex<Idle<C>>,
    returned: Condvar,
}

struct Idle<C> {
    connections: Vec<C>,
    /// How many are lent.
    lent: usize,
}

impl<C> Pool<C> {
    pub(crate) fn new(
        wait: Duration,
        size_max: usize,
        open: impl Fn(Instant) -> Result<C, EngineError> + Send + Sync + 'static,
    ) -> Self {
        let idle = Mutex::new(Idle { connections: Vec::new(), lent: 0 });
        Self { open: Box::new(open), wait, size_max: size_max.max(1), idle, returned: Condvar::new() }
    }

    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.wait
    }

    /// Lends a connection.
    pub(crate) fn lend(&self, deadline: Instant) -> Result<Lent<'_, C>, EngineError> {
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
                lent.connection = Some((self.open)(deadline)?);
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
}

/// A connection that is lent; dropping it gives it back.
pub(crate) struct Lent<'a, C> {
    pool: &'a Pool<C>,
    connection: Option<C>,
}

impl<C> Lent<'_, C> {
    /// Uses the connection. The flag says whether it can be used again; otherwise it is closed.
    pub(crate) fn with<T>(
        &mut self,
        use_it: impl FnOnce(&mut C) -> (Result<T, EngineError>, bool),
    ) -> Result<T, EngineError> {
        let Some(connection) = &mut self.connection else {
            return Err(EngineError::Unknown("lost its connection".to_owned()));
        };
        let (result, is_usable) = use_it(connection);
        if !is_usable {
            self.connection = None;
        }
        result
    }
}

impl<C> Drop for Lent<'_, C> {
    fn drop(&mut self) {
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.lent -= 1;
        idle.connections.extend(self.connection.take());
        self.pool.returned.notify_one();
    }
}
