//! The places a call touches: paths, hosts, and where links lead.

pub(crate) mod hosts;
pub(crate) mod links;
pub mod path;
pub(crate) mod paths;
