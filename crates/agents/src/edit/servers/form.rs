//! How clients write their MCP servers down, and what is put before them.

use std::path::PathBuf;

use super::tree::Syntax;

/// How a client writes its servers down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) syntax: Syntax,
    /// Where tables of servers stand; `*` is any name.
    pub(crate) places: &'static [&'static [&'static str]],
    /// Whether `command` is a list with all arguments in it.
    pub(crate) is_one_list: bool,
    /// What holds the address of a server that speaks HTTP.
    pub(crate) address: Option<&'static str>,
    /// What `type` says of a server over HTTP, and of one that is run.
    pub(crate) kinds: Option<(&'static str, &'static str)>,
}

impl Form {
    /// The form that most clients have taken over from each other.
    pub(crate) const fn of_most() -> Self {
        Self {
            syntax: Syntax::Json,
            places: &[&["mcpServers"]],
            is_one_list: false,
            address: Some("url"),
            kinds: Some(("\"http\"", "\"stdio\"")),
        }
    }
}

/// What is put before servers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard<'a> {
    pub(crate) program: &'a str,
    /// The client, where its hooks are known.
    pub(crate) host: Option<&'a str>,
}

/// A server that is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Skipped {
    pub(crate) name: String,
    pub(crate) why: String,
}

/// A server that Lockgate stands before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardedServer {
    /// Its name in the client's settings.
    pub name: String,
    /// The program of Lockgate that the client runs.
    pub program: PathBuf,
    /// What that runs in turn, or the address of what it speaks with.
    pub server: Server,
}

/// What stands behind the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// The program that the proxy runs.
    Command(String),
    /// The address that the proxy speaks with.
    Address(String),
}
