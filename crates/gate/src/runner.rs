//! The runner of the programs in a workflow's conditions.
//!
//! The gate itself starts no process: a door that may do so lends it a [`Runner`]. It is asked outside the
//! session's lock, only where nothing else is in the way of a call, and once per program and decision.

use lockgate_policy::workflow::Exec;

/// Runs the programs of conditions.
pub trait Runner: Send + Sync {
    /// Runs a program in a folder and says how it ended.
    ///
    /// # Errors
    /// When it could not be started, did not end in time or was ended by a signal: why, in words. The condition
    /// then does not hold.
    fn run(&self, exec: &Exec, folder: Option<&str>) -> Result<i32, String>;
}
