//! Sessions, answers and the audit log in Postgres, for many gates at once.
//!
//! [`StrandStore::open_postgres`](crate::StrandStore::open_postgres) opens a store. All gates of a store have its key file, which the first
//! one makes. `connection.rs` keeps connections, each with a thread of its own, so that a gate inside an async program can use
//! them and a server that hangs holds up no decision longer than agreed; `engine.rs` has the statements, `schema.sql` the
//! tables; `open.rs` opens the store,
//! over `tls.rs` where a network lies between.

mod connection;
mod engine;
mod open;
mod tls;

pub use open::PostgresOptions;
