//! `lockgate mcp` before the MCP servers in one file of a client's settings.

mod form;
mod tree;
mod wrap;

pub use self::form::{GuardedServer, Server};
pub(crate) use self::{
    form::{Form, Guard, Skipped},
    tree::Syntax,
    wrap::{guarded, unwrapped, wrapped},
};
