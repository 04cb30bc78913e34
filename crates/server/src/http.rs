//! The server: HTTP in front of a gate.
//!
//! `answering.rs` makes the routes of `routes.rs` answer, `listen.rs` has the sockets, and `service.rs` the gate behind them.
//! `pages.rs` is the dashboard. Reading order: `routes.rs`, `answering.rs`, `door.rs`, `messages.rs`, `answers.rs`, then the others.

mod answering;
mod answers;
mod authzen;
mod authzen_requests;
mod deliveries;
mod door;
mod drafts;
mod events;
mod exchange;
mod listen;
mod logins;
mod looking;
mod messages;
mod metrics;
mod openapi;
mod outbox;
mod pages;
mod problem;
mod rate;
mod routes;
mod service;
#[cfg(test)]
mod tests;
mod tls;
mod tokens;

pub use self::{
    listen::{ListenError, Listeners, Notice, Server},
    service::{Service, ServiceError, ServiceOptions},
    tls::{TlsError, TlsFiles},
};
