//! Which fields name hosts: the tables.

/// Last words of keys that hold a URL or a host by custom, so that `evil.com/x` is one without a scheme.
pub(crate) const FIELDS: &[&str] =
    &["url", "uri", "href", "endpoint", "webhook", "callback", "host", "hostname", "domain", "fqdn", "ip"];

/// The same of keys that may as well hold another name.
pub(super) const LOOSE_FIELDS: &[&str] = &[
    "link",
    "server",
    "origin",
    "proxy",
    "remote",
    "website",
    "site",
    "registry",
    "gateway",
    "upstream",
    "broker",
    "address",
    "addr",
    "peer",
    "nameserver",
];
