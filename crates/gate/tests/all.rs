//! What the gate decides and stores.
//!
//! One program for all test files of the crate, so that its libraries are linked once.

mod backend;
mod gate;
mod protection;
mod signed_answers;
mod workflows;
