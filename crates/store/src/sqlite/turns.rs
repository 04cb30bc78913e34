//! Whose turn it is: one connection, lent to one decision at a time.
//!
//! A [`Turns`] hands out its connection for as long as a decision takes, and no caller waits longer than agreed. What
//! was begun and not committed is rolled back when the connection comes back, and once more before it is lent
//! again, should somebody have died with it in hand. There is no order among those who wait.

use std::{
    ops::Deref,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use rusqlite::Connection;

/// A connection and the right to use it.
pub(crate) struct Turns {
    connection: Mutex<Connection>,
    taken: Mutex<bool>,
    given_back: Condvar,
}

impl Turns {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection: Mutex::new(connection), taken: Mutex::new(false), given_back: Condvar::new() }
    }

    /// The connection, unless the deadline is over before it is given back.
    pub(crate) fn lend(&self, deadline: Instant) -> Option<Lent<'_>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken {
            let left = deadline.checked_duration_since(Instant::now())?;
            (taken, _) = self.given_back.wait_timeout(taken, left).unwrap_or_else(PoisonError::into_inner);
        }
        Some(self.lent(taken))
    }

    /// The connection, if it is free.
    pub(crate) fn lend_now(&self) -> Option<Lent<'_>> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        (!*taken).then(|| self.lent(taken))
    }

    fn lent(&self, mut taken: MutexGuard<'_, bool>) -> Lent<'_> {
        *taken = true;
        let turn = Turn { turns: self };
        drop(taken);
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let lent = Lent { connection, _turn: turn };
        lent.roll_back();
        lent
    }
}

/// The connection, for as long as this lives.
// Invariant: the connection is let go before the turn is, because fields are dropped in this order.
pub(crate) struct Lent<'a> {
    connection: MutexGuard<'a, Connection>,
    _turn: Turn<'a>,
}

impl Lent<'_> {
    fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            // If even this fails the next statement that begins a transaction fails as well, and says why.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

impl Deref for Lent<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.roll_back();
    }
}

struct Turn<'a> {
    turns: &'a Turns,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.turns.taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.turns.given_back.notify_one();
    }
}
