//! How Lockgate is put between a client and a server: over which transports, with which policy.

use std::path::{Path, PathBuf};

use crate::stage::Stage;

/// How a client reaches a server, and the gate between them, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Processes: client, gate, server.
    Stdio,
    /// HTTP on both sides.
    Http,
    /// The client speaks HTTP, the server is a process.
    HttpToStdio,
    /// The client starts the gate as a process, the server speaks HTTP.
    StdioToHttp,
}

impl Way {
    pub(crate) const ALL: &[Self] = &[Self::Stdio, Self::Http, Self::HttpToStdio, Self::StdioToHttp];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::HttpToStdio => "http to stdio",
            Self::StdioToHttp => "stdio to http",
        }
    }

    /// Whether the server speaks HTTP.
    pub(crate) fn ends_in_http(self) -> bool {
        matches!(self, Self::Http | Self::StdioToHttp)
    }

    /// Whether the client does.
    pub(crate) fn begins_with_http(self) -> bool {
        matches!(self, Self::Http | Self::HttpToStdio)
    }
}

/// A policy that says nothing about any tool of these servers. A file without a rule is an error.
pub(crate) const SILENT_POLICY: &str = "block tool_of_another_server\n";

/// Lockgate with a policy, before it is put anywhere.
pub(crate) struct Gate<'a> {
    pub(crate) program: &'a Path,
    pub(crate) policy: PathBuf,
    /// What else is said on the command line.
    pub(crate) besides: Vec<String>,
}

impl<'a> Gate<'a> {
    /// With a policy that says nothing about these servers.
    pub(crate) fn silent(program: &'a Path, stage: &Stage) -> Result<Self, String> {
        Ok(Self { program, policy: stage.write("silent.rules", SILENT_POLICY)?, besides: Vec::new() })
    }

    /// In front of whatever `behind` says, for clients that start it, or at a port.
    pub(crate) fn command(&self, port: Option<u16>, behind: &Behind) -> Vec<String> {
        let text = |path: &Path| path.display().to_string();
        let mut command = Vec::from([
            text(self.program),
            "mcp".to_owned(),
            "--memory".to_owned(),
            "--policy".to_owned(),
            text(&self.policy),
        ]);
        command.extend(self.besides.iter().cloned());
        if let Some(port) = port {
            command.extend(["--listen".to_owned(), format!("127.0.0.1:{port}")]);
        }
        match behind {
            Behind::Process(server) => {
                command.push("--".to_owned());
                command.extend(server.iter().cloned());
            }
            Behind::Url(url) => command.extend(["--url".to_owned(), url.clone()]),
            Behind::Config(file) => command.extend(["--config".to_owned(), text(file)]),
        }
        command
    }
}

/// What stands behind the gate.
pub(crate) enum Behind {
    Process(Vec<String>),
    Url(String),
    Config(PathBuf),
}

pub(crate) fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}/mcp")
}
