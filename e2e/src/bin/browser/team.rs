//! A team: a server with its policy, and the tokens of its people and its agent.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::{Child, Command, Stdio},
};

use lockgate_testkit::make_team_token;
use serde_json::{Value, json};

use crate::driver::{free_port, request, wait_until};

const POLICY: &str = "\
# What the agents of the shop may do.
require backup before delete
require human-approval before deploy
limit push to 3 per session
block rm
claim rm impossible
";

/// A server that runs, and the folder of its own that it runs in.
pub(crate) struct Team {
    server: Child,
    pub(crate) address: SocketAddr,
    pub(crate) agent: String,
    pub(crate) approver: String,
    pub(crate) admin: String,
}

impl Team {
    /// Starts a server in a folder that must not be there yet.
    pub(crate) fn start(lockgate: &Path, folder: &Path) -> Result<Self, String> {
        let said = |error: std::io::Error| error.to_string();
        fs::create_dir_all(folder).map_err(said)?;
        fs::write(folder.join("shop.rules"), POLICY).map_err(said)?;
        let data = folder.join("data");
        let token = |name: &str, scope: &str| make_team_token(&data, name, scope).map_err(said);
        let (agent, approver, admin) =
            (token("shop-agent", "agent")?, token("ada", "approver")?, token("grace", "admin")?);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let server = Command::new(lockgate)
            .current_dir(folder)
            .args([
                "serve",
                "shop.rules",
                "--data",
                "data",
                "--rate",
                "100000",
                "--listen",
                &address.to_string(),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.join("stderr")).map_err(said)?)
            .spawn()
            .map_err(said)?;
        let team = Self { server, address, agent, approver, admin };
        wait_until("the server answers", || Ok(request(address, "GET", "/livez", &[], "").is_ok()))?;
        Ok(team)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Sends what an agent sends.
    pub(crate) fn send(&self, path: &str, body: &Value) -> Result<Value, String> {
        let bearer = format!("Bearer {}", self.agent);
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        let (_, text) = request(self.address, "POST", path, &headers, &body.to_string())?;
        serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))
    }

    /// The verdict about a call.
    pub(crate) fn call(&self, session: &str, id: &str, tool: &str, input: &Value) -> Result<Value, String> {
        self.send("/v1/call", &json!({ "id": id, "tool": tool, "session": session, "input": input }))
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        // It may have ended by itself; waiting is due in any case.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
