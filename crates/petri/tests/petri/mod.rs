//! What nets do, in tables and laws.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail by panicking too"
)]

mod nets;

mod charts;
mod firing;
mod laws;
mod pictures;
mod pnml;
mod space;
