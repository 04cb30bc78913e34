//! The MCP door: a proxy between any client and any server that judges every tool call.
//!
//! A client and a server are [`Link`]s, whatever carries them: [`stdio`], a process that was [`start`]ed, HTTP
//! ([`serve`] and [`connect`]); several servers can be seen [`as_one`]. A [`Relay`] decides what happens to each
//! message; [`drive`] moves the messages. All conversations share a [`Context`], which holds the gate. The protocol is
//! parsed as raw JSON-RPC and no further than needed: everything else passes byte for byte, so future revisions and
//! extensions pass too. There are no policies and no command line in here.

mod joined;
pub mod message;
pub mod pins;
#[cfg_attr(not(unix), path = "platform/other.rs")]
mod platform;
pub mod protocol;
mod relay;
mod server_list;
mod transport;

pub use joined::{JoinedAction, JoinedServers, as_one};
pub use message::Id;
pub use pins::Pins;
pub use relay::{
    Action, Config, Context, ConversationEnd, DeadTools, Decider, Environment, Era, LocalDecider, Naming,
    NoRandomness, Relay, Restart, ReviewedResult, Ruling, Undecided, drive,
};
pub use server_list::{SERVERS_MAX, ServerSpec, Servers, ServersError, check_server_name, read_servers};
pub use transport::{
    Acceptor, BadTarget, Child, ConversationKind, HttpTarget, Incoming, Link, Outgoing, OutputDrain,
    ServeError, ServeOptions, ServerCommand, SharedServer, TransportEnd, connect, pipe, serve, start,
    start_as, stdio,
};
