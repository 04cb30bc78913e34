//! A host that a call names.

use super::host::{Host, HostDoubt, HostPattern};
use crate::contents::{Place, Unseen};

/// The hosts of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    /// Each host, in the order it is found.
    pub touched: Vec<TouchedHost>,
    /// Why there may be more.
    pub unseen: Vec<Unseen>,
}

/// One host a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedHost {
    /// The URL or host as it stands in the call.
    pub text: String,
    /// Where it stands.
    pub place: Place,
    /// Whether it is only taken for a host, by its look.
    pub is_guess: bool,
    /// The scheme, where one is written.
    pub scheme: Option<String>,
    /// The port, written or usual for the scheme.
    pub port: Option<u16>,
    /// The host, or why it cannot be told.
    pub host: Result<Host, HostDoubt>,
}

impl TouchedHost {
    /// Whether the host certainly fits. Any doubt is a no.
    #[must_use]
    pub fn matches(&self, pattern: &HostPattern) -> bool {
        self.host.as_ref().is_ok_and(|host| pattern.fits(host))
    }

    /// Whether the host may fit. Any doubt is a yes.
    #[must_use]
    pub fn may_match(&self, pattern: &HostPattern) -> bool {
        self.host.as_ref().map_or(true, |host| pattern.fits(host))
    }
}
