//! Attacks the gate with the agent's own tools: `./test attacks`.
//!
//! Every line of `e2e/attacks/` is made for real in a scratch project behind the real hook: calls that the hook lets pass
//! are performed, and afterwards policy, hooks, state and log have to be as before, or the gate has to block what it blocked
//! before. Everyday work has to pass. Nothing outside of a folder for temporary files is touched. With `--guardian`, which needs root,
//! the gate is a guardian that runs as another user than the agent; two users are made for it and taken away again.

#[cfg(unix)]
mod guard;
#[cfg(unix)]
mod harm;
#[cfg(unix)]
mod lines;
#[cfg(unix)]
mod scene;
#[cfg(unix)]
mod tools;
#[cfg(unix)]
mod trial;

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    trial::main()
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    // The lines are commands of Unix.
    ExitCode::from(2)
}
