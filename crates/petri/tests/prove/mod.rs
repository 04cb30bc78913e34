//! What the prover says of many rules together, against plain enumeration and in tables.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests may fail by panicking too"
)]

mod brute;
mod worlds;

mod behaviours;
mod laws;
mod shapes;
mod stories;
