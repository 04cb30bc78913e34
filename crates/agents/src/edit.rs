//! The files of coding agents, edited as text: hooks go in and come out, and everything else stays byte for byte.
//!
//! `json` adds and removes hook entries, `servers` puts `lockgate mcp` before MCP servers, `script` fills in our plugins,
//! `command` is the command line that an agent runs. Nothing here reads or writes a file.

mod command;
mod json;
mod mistake;
mod places;
mod script;
mod servers;

pub(crate) use self::{
    command::{HookCommand, installed_command, program_text},
    json::{Entry, Layout, SETTINGS_BYTES_MAX, add, line_end, remove, whole},
    mistake::Mistake,
    places::Places,
    script::{script, script_command, script_of_ours},
    servers::{Form, Guard, Skipped, Syntax, guarded, unwrapped, wrapped},
};
pub use self::{
    command::{InstalledCommand, running_program},
    places::Scope,
    servers::{GuardedServer, Server},
};
