//! The places a call touches: paths, hosts, and where links lead.

pub(crate) mod hosts;
mod links;
pub mod path;
pub(crate) mod paths;
