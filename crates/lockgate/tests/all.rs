//! The pages and the examples keep what they promise.
//!
//! One program for all test files of the crate, so that its libraries are linked once.

mod api;
mod docs;
mod examples;
mod json;
mod untrusted;
