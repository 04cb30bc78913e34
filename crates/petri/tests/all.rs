//! Nets, and what the prover says about many of them together.
//!
//! One program for all test files of the crate, so that its libraries are linked once.

mod petri;
mod prove;
