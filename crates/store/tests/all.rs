//! What the store keeps and what it refuses.
//!
//! One program for all test files of the crate, so that its libraries are linked once.

mod common;

mod audit_log;
mod refusals;
mod sealed;
mod tamper;
mod tampering;
