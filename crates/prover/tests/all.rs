//! What is proved, and what proofs say.
//!
//! One program for all test files of the crate, so that its libraries are linked once.

mod claims;
mod diff;
mod policy;
