//! The places a call touches: paths, hosts, where links lead, and what version control and patches change.

pub(crate) mod git;
pub(crate) mod hosts;
pub(crate) mod links;
pub(crate) mod patches;
pub mod path;
pub(crate) mod paths;
pub(crate) mod version_change;
pub(crate) mod versions;
