//! What holds for the whole workspace: its structure, and the laws that any policy and any session obeys.
//!
//! One program for all test files of the crate, so that its libraries are linked once.

mod architecture;
mod bash;
mod bound;
mod bypasses;
mod contract;
mod cycles;
mod english;
mod field;
mod fuzz;
mod late_answers;
mod laws;
mod model;
mod platforms;
mod proofs;
mod recorded;
mod rooms;
mod security;
mod sentences;
mod simulator;
mod spaces;
mod spec;
mod statements;
mod tables;
mod tampering;
mod test_files;
mod threads;
mod values;
mod windows;
mod workflow_model;
mod workflows;
