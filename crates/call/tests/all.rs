//! What calls are seen to do, in tables.
//!
//! One program for all test files of the crate, so that its libraries are linked once.

mod hosts;
mod paths;
mod runners;
mod scripts;
mod selectors;
mod sensitive;
