//! `cargo xtask`: what the project needs done besides being built and tested.
//!
//! Its secret is how figures come about: who is asked, in which order, and how answers become tables and pages. What is
//! measured, and how time is kept, is `bench`'s. Nothing in here is shipped.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "data goes to stdout and talk to stderr, which is what a task is for"
)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod counts;
mod peers;
mod playground;
mod readme;
mod report;
mod site;

/// Do what the project needs besides being built and tested
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Xtask {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Bench(bench::Bench),
    Counts(counts::Counts),
    Playground(playground::Playground),
    Readme(readme::Readme),
    Site(site::Site),
}

fn main() -> ExitCode {
    // A proxy is measured between two processes that are this program too.
    if let Some(done) = bench::play_role() {
        return done;
    }
    match Xtask::parse().task {
        Task::Bench(bench) => bench.run(),
        Task::Counts(counts) => counts.run(),
        Task::Playground(playground) => playground.run(),
        Task::Readme(readme) => readme.run(),
        Task::Site(site) => site.run(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_contradicts_itself_nowhere() {
        Xtask::command().debug_assert();
    }
}
