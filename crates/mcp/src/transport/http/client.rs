//! A server that is reached over streamable HTTP, as a link.
//!
//! [`connect`] gives the link; nothing is sent before something is said. Each message is a POST of its own, and what
//! the answer holds is passed on as it comes. When one exchange fails, only its request is lost
//! ([`Incoming::Gone`](crate::Incoming::Gone) says which and why). The reason never repeats what the server said, which
//! no rule has looked at, nor the headers of the target, which hold credentials. Redirects are not followed, so that
//! credentials go nowhere else, and proxies named in the environment are not used.

pub(super) mod connection;
pub(super) mod driver;
mod outbound;
pub(super) mod progress;
mod reading;
mod target;

pub use driver::connect;
pub use target::{BadTarget, HttpTarget};
