//! A host by its name or address, how far it reaches, and patterns of hosts.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(super) const URL_BYTES_MAX: usize = 4_096;

/// The longest name a host can have.
pub(super) const HOST_BYTES_MAX: usize = 255;

/// A host in its one spelling.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    pub(super) name: String,
    pub(super) reach: Reach,
}

/// What kind of address a host has, as far as its text tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// A name; where it leads, a name server decides.
    Name,
    /// An address anyone can reach.
    Public,
    /// An address of a private network.
    Private,
    /// This machine, by address or as `localhost`.
    Loopback,
    /// The network at hand.
    LinkLocal,
    /// No particular address, which often means this machine.
    Unspecified,
    /// Where clouds tell their machines secrets.
    Metadata,
    /// An address set aside for something else, such as many receivers or documentation.
    Reserved,
}

/// Why a host cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostDoubt {
    /// By no rule a host.
    #[error("this is not a valid host")]
    Invalid,
    /// Some part is computed when the call runs.
    #[error("the host is known only when the call runs")]
    Computed,
    /// A program that goes somewhere, and nobody says where.
    #[error("the program takes its host from elsewhere")]
    Elsewhere,
    /// Longer than we read.
    #[error("the address is too long")]
    TooLong,
}

/// Hosts as a rule names them: `example.com`, or `*.example.com` for all names below it, or `*` for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    pub(super) is_below: bool,
    /// None for all hosts.
    pub(super) name: Option<String>,
}

impl HostPattern {
    /// Reads a pattern in any spelling of its host.
    ///
    /// # Errors
    /// [`HostDoubt::Invalid`] when it is no host, or has a `*` elsewhere than before its first dot.
    pub fn parse(text: &str) -> Result<Self, HostDoubt> {
        if text == "*" {
            return Ok(Self { is_below: true, name: None });
        }
        let (is_below, name) = match text.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, text),
        };
        if name.contains('*') {
            return Err(HostDoubt::Invalid);
        }
        let host = Host::parse(name)?;
        if is_below && host.is_address() {
            return Err(HostDoubt::Invalid);
        }
        Ok(Self { is_below, name: Some(host.name) })
    }

    /// Whether it takes in the host: label by label, so that `*.good.com` is neither `good.com` nor `notgood.com`.
    #[must_use]
    pub fn fits(&self, host: &Host) -> bool {
        match &self.name {
            None => true,
            Some(name) if self.is_below => {
                !host.is_address()
                    && host
                        .name
                        .strip_suffix(name.as_str())
                        .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            Some(name) => host.name == *name,
        }
    }
}

impl Host {
    /// Reads a host in any spelling: `EVIL.com.`, `0x7f.1`, `[::ffff:127.0.0.1]`, `evil。com`.
    ///
    /// # Errors
    /// A [`HostDoubt`] when it is none.
    pub fn parse(text: &str) -> Result<Self, HostDoubt> {
        if text.len() > URL_BYTES_MAX {
            return Err(HostDoubt::TooLong);
        }
        let text = text.strip_suffix('.').unwrap_or(text);
        let bare: Result<Ipv6Addr, _> = text.parse();
        let host = match bare {
            Ok(address) => url::Host::Ipv6(address),
            Err(_) => url::Host::parse(text).map_err(|_| HostDoubt::Invalid)?,
        };
        Ok(match host {
            url::Host::Ipv4(address) => Self::address(IpAddr::V4(address)),
            url::Host::Ipv6(address) => Self::address(IpAddr::V6(address).to_canonical()),
            url::Host::Domain(name) => {
                let name = name.trim_end_matches('.').to_owned();
                let is_name = |label: &str| !label.is_empty() && label.len() <= 63;
                if name.len() > HOST_BYTES_MAX
                    || !name.split('.').all(is_name)
                    || !name.chars().all(is_name_character)
                {
                    return Err(HostDoubt::Invalid);
                }
                let reach = reach_of_name(&name);
                Self { name, reach }
            }
        })
    }

    pub(super) fn address(address: IpAddr) -> Self {
        Self { name: address.to_string(), reach: reach_of(address) }
    }

    /// The host in its one spelling: lower case, in ASCII, without brackets or a last dot.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What kind of address it has.
    #[must_use]
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Whether it is an address and not a name.
    pub(super) fn is_address(&self) -> bool {
        self.name.parse::<IpAddr>().is_ok()
    }
}

pub(super) fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

pub(super) fn reach_of_name(name: &str) -> Reach {
    match name {
        "localhost" | "localhost.localdomain" | "ip6-localhost" | "ip6-loopback" => Reach::Loopback,
        "metadata.google.internal" | "metadata.goog" | "metadata" | "instance-data" => Reach::Metadata,
        name if name.ends_with(".localhost") => Reach::Loopback,
        _ => Reach::Name,
    }
}

pub(super) fn reach_of(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_of_v4(address),
        IpAddr::V6(address) => reach_of_v6(address),
    }
}

pub(super) fn reach_of_v4(address: Ipv4Addr) -> Reach {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        _ if matches!(
            address.octets(),
            [169, 254, 169, 254] | [169, 254, 170, 2] | [100, 100, 100, 200] | [168, 63, 129, 16]
        ) =>
        {
            Reach::Metadata
        }
        (0, 0, 0) if address.is_unspecified() => Reach::Unspecified,
        (127, ..) => Reach::Loopback,
        (169, 254, _) => Reach::LinkLocal,
        _ if address.is_private() => Reach::Private,
        // Networks behind a provider's translation are as private as any.
        (100, 64..=127, _) => Reach::Private,
        (0 | 224..=255, ..) | (192, 0, 0 | 2) | (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => {
            Reach::Reserved
        }
        _ => Reach::Public,
    }
}

pub(super) fn reach_of_v6(address: Ipv6Addr) -> Reach {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        reach_of_v4(Ipv4Addr::new(a, b, c, d))
    };
    match (a, b, c, d, e, f) {
        _ if address.is_unspecified() => Reach::Unspecified,
        _ if address.is_loopback() => Reach::Loopback,
        _ if address.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] => Reach::Metadata,
        (0xfe80..=0xfebf, ..) => Reach::LinkLocal,
        (0xfc00..=0xfdff, ..) | (0xfec0..=0xfeff, ..) => Reach::Private,
        (0xff00..=0xffff, ..) | (0x2001, 0xdb8, ..) => Reach::Reserved,
        // Addresses that carry one of version 4: compatible, translated, and 6to4.
        (0, 0, 0, 0, 0 | 0xffff, 0) | (0x64, 0xff9b, 0, 0, 0, 0) => v4(g, h),
        (0x2002, ..) => v4(b, c),
        _ => Reach::Public,
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
