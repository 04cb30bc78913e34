//! Lockgate in a browser: rules, nets, findings and sessions without a server.
//!
//! [`answer`] is all a page needs: it takes a question as JSON and returns the answer as JSON. Nothing is kept between two
//! questions, and there is no clock, so that a shared page shows everybody the same. `border.rs` is how WebAssembly calls it;
//! `page/` is the page, which `cargo xtask playground` joins into one file.

pub mod border;
mod play;
mod question;

pub use question::answer;
