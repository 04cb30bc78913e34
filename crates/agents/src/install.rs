//! Puts Lockgate into the hooks of coding agents and before their MCP servers, and takes it out again.
//!
//! [`plan()`] reads all files a change would touch and computes all of it before [`Plan::carry_out`] writes the first one,
//! so a file that cannot be edited keeps every other file as it is. Whether an agent then really obeys is not looked at
//! here. `edit` knows how a text is changed, and each agent which text that is.

mod exclude;
mod files;
mod plan;
mod record;
mod servers;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use self::servers::CLAUDE_DESKTOP;
pub use self::{
    exclude::{Repository, excluded, included},
    files::{Change, FileError, Plan},
    plan::{Job, installed_agents, installed_commands, is_installed, plan},
    record::{changed_entry, forget_installed, record_installed},
    servers::{plan_servers, wrapped_servers},
};
pub(crate) use self::{
    record::{changed_text, read as read_settings, recorded_files},
    servers::edited_files,
};
pub use crate::edit::{GuardedServer, InstalledCommand, Scope, Server, running_program};
