//! The guardian: another user of the system that owns policies, keys, state and log, and decides for hooks.
//!
//! `client` is what a hook process does when the settings of the machine name a guardian ([`crate::machine`]): it reads the
//! event, looks at what only the agent's user can see, and asks. `daemon` is the process at the other end of the socket, with
//! bounds on everything that a client can make large or slow; `service` answers an event, `lines` a line of the line protocol with the
//! words of a `desk`, `conversation` is with one client, `ward` keeps what is open for one user, and `protocol` is what both sides say. The guardian opens no file that a client names: it runs with rights that the
//! client does not have, and could be made to read its own keys aloud. So the client looks, and sends what it saw.

mod client;
mod conversation;
mod daemon;
mod desk;
mod lines;
mod protocol;
mod service;
mod ward;

pub use self::{
    client::{ClientError, LineClient, errand, run_hook},
    conversation::Peer,
    daemon::{Daemon, DaemonError, Limits},
    desk::Desk,
    lines::{GuardedGate, GuardedLine},
    protocol::{Errand, VERSION},
    ward::WardState,
};
pub use crate::platform::Connection;
