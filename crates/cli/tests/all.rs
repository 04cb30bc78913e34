//! The command as people and scripts meet it.
//!
//! One program for all test files of the crate, so that its libraries are linked once.

mod world;

mod accept;
mod attacks;
mod audit;
mod bound;
mod command;
mod faults;
mod fence;
mod guarded_gate;
mod guardian;
mod hooks;
mod human;
mod install;
mod mcp;
mod mistakes;
mod operate;
mod page;
mod processes;
mod proofs;
mod seed_pages;
mod serve;
mod spec;
mod starter;
mod states;
mod verbs;
mod void;
mod watch;
