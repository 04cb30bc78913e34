//! Sessions, answers and the audit log in Redis or Valkey: one node that many gates share.
//!
//! [`StrandStore::open_redis`](crate::StrandStore::open_redis) opens a store. A replica that takes over has not all that was told, so a
//! server with replicas, or one that does not write to its disk before it answers, is refused unless the URL accepts that by name.
//! `open.rs` opens the store and looks at the server, `engine.rs` has the commands, `rows.rs` the form of rows, `write.lua` and
//! `seal.lua` are one change each: the server runs a script as a whole, and it compares everything before it writes anything.

mod engine;
mod open;
mod rows;

pub use open::RedisOptions;
