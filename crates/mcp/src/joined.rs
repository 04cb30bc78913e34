//! Several servers seen as one.
//!
//! A [`JoinedServers`] says what becomes of each message: a tool `status` of server `git` is called `git__status` here,
//! lists are joined, and whatever concerns one server goes to that one under the name it gave itself. What is passed on
//! keeps its bytes but for names and ids. [`as_one`] moves the messages; nothing else in here has a clock or does I/O.
//!
//! The client sees one server of the revisions that begin with `initialize`. A server that only speaks the
//! modern revision is left out, with a line in the log: it has to be connected alone. Methods that are not named here
//! are not supported, because it is unknown which server they are for.

mod client;
mod driver;
mod gathering;
mod lists;
mod messages;
mod server;
mod state;
#[cfg(test)]
mod tests;

pub use driver::as_one;
pub use state::{JoinedAction, JoinedServers};
