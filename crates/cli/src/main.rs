//! The command `lockgate`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lockgate_cli::run()
}
