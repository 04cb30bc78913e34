//! The MCP door: a proxy between any client and any server that judges every tool call.
//!
//! A client and a server are [`Link`]s, whatever carries them: [`stdio`], a process that was [`start`]ed, HTTP ([`serve`]
//! and [`connect`]); several servers can be seen [`as_one`]. Between client and server stands a [`Relay`], which says what becomes of each
//! message; [`drive`] moves the messages. What all conversations share is a [`House`]: the gate above all. The protocol
//! is read as raw JSON-RPC and no further than needed: what nobody here touches passes byte for byte, so revisions and
//! extensions that do not exist yet pass, too. There are no policies and no command line in here.

mod asking;
mod calls;
mod child;
mod drive;
mod fleet;
mod house;
mod http;
mod hub;
mod link;
mod listing;
pub mod message;
mod naming;
pub mod pins;
pub mod protocol;
mod relay;
mod servers;
mod stdio;
mod tasks;
mod tickets;

pub use child::{Child, ServerCommand, start, start_as};
pub use drive::{Ended, Restart, drive};
pub use fleet::{Fleet, FleetOut, as_one};
pub use house::{Asking, DeadTools, Era, House, Plan, World};
pub use http::{BadTarget, Board, HttpTarget, ServeError, ServeOptions, Talk, connect, serve};
pub use hub::Hub;
pub use link::{Ends, Incoming, Link, Outgoing, pipe};
pub use message::Id;
pub use naming::Naming;
pub use pins::Pins;
pub use relay::{Out, Relay};
pub use servers::{SERVERS_MAX, ServerSpec, Servers, ServersError, check_server_name, read_servers};
pub use stdio::{Written, stdio};
pub use tickets::NoRandomness;
