//! `lockgate serve health`: whether a server can judge calls now, for what restarts it: a container, a service.

use clap::Args;
use lockgate_server::ServerUrl;

use crate::console::{CommandError, Console, Ending};

pub(crate) const HEALTH_EXAMPLES: &str = "\
Examples:
  lockgate serve health
  lockgate serve health --server unix:/run/lockgate/gate.sock

It needs no token. Exit 0: calls can be judged, 1: they cannot, 2: no server
answers.";

#[derive(Debug, Args)]
pub(crate) struct HealthArguments {
    /// Where the server is: http://127.0.0.1:PORT or unix:PATH
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:7878")]
    pub(crate) server: String,
}

pub(super) fn run(
    arguments: &HealthArguments,
    json: bool,
    console: &mut Console<'_>,
) -> Result<Ending, CommandError> {
    let server = ServerUrl::parse(&arguments.server).map_err(CommandError::said)?;
    let is_ready = server.is_ready().map_err(CommandError::said)?;
    match (json, is_ready) {
        (true, _) => writeln!(console.out, "{}", serde_json::json!({ "ready": is_ready }))?,
        (false, true) => writeln!(console.out, "the server is ready")?,
        (false, false) => writeln!(console.out, "the server answers, but cannot judge calls now")?,
    }
    Ok(if is_ready { Ending::Yes } else { Ending::No })
}
