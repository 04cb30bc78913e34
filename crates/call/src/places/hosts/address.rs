//! What a text means as a URL or a bare host.

use url::Url;

use super::host::{Host, HostDoubt, Reach, URL_BYTES_MAX};

/// Characters that begin or end what a shell puts in.
pub(super) const COMPUTED: [char; 3] = ['$', '`', ')'];

/// What a text says about where to go.
pub(super) struct Address {
    pub(super) scheme: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) host: Result<Host, HostDoubt>,
}

impl Address {
    /// Reads a URL, or what would be one behind a scheme.
    pub(super) fn bare(text: &str) -> Self {
        if starts_with_scheme(text) {
            return Self::of_url(text);
        }
        // A scheme whose own port is the least likely to be written, for that would not be told.
        let start = if starts_scheme_relative(text) { "ftp:" } else { "ftp://" };
        match (Url::parse(&format!("{start}{text}")), Host::parse(text)) {
            _ if text.len() > URL_BYTES_MAX => Self::doubt(HostDoubt::TooLong),
            (Ok(url), _) => Self { scheme: None, port: url.port(), host: host_of(&url) },
            // An address of version 6 without brackets.
            (Err(_), host) => Self { scheme: None, port: None, host },
        }
    }

    /// Whether it can hardly be anything but a host: an address, or a name with a dot.
    pub(super) fn is_telling(&self) -> bool {
        self.host.as_ref().is_ok_and(|host| host.reach != Reach::Name || host.name.contains('.'))
    }

    pub(super) fn doubt(doubt: HostDoubt) -> Self {
        Self { scheme: None, port: None, host: Err(doubt) }
    }

    pub(super) fn of_url(text: &str) -> Self {
        if text.len() > URL_BYTES_MAX {
            return Self::doubt(HostDoubt::TooLong);
        }
        match Url::parse(text) {
            Ok(url) => Self {
                scheme: Some(url.scheme().to_owned()),
                port: url.port_or_known_default(),
                host: host_of(&url),
            },
            Err(_) => Self::doubt(HostDoubt::Invalid),
        }
    }
}

/// In schemes the rules do not know, a host is any text: it is read again.
pub(super) fn host_of(url: &Url) -> Result<Host, HostDoubt> {
    url.host_str().ok_or(HostDoubt::Invalid).and_then(Host::parse)
}

/// Whether a text begins like a URL: `x://`, or `https:` and the like, which need no slashes.
pub(super) fn starts_with_scheme(text: &str) -> bool {
    let plain: String =
        text.chars().take(URL_BYTES_MAX).filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    plain.trim_start().split_once(':').is_some_and(|(scheme, rest)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(is_scheme_character)
            && (rest.starts_with("//") || is_web_scheme(scheme))
    })
}

/// `//host`, also with backslashes.
pub(super) fn starts_scheme_relative(text: &str) -> bool {
    let is_slash = |c: Option<char>| matches!(c, Some('/' | '\\'));
    // Tabs and new lines are dropped before anything else.
    let mut start = text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r'));
    is_slash(start.next()) && is_slash(start.next())
}

/// Schemes whose addresses browsers find a host in, however few slashes there are.
pub(super) fn is_web_scheme(scheme: &str) -> bool {
    ["http", "https", "ws", "wss", "ftp"].iter().any(|web| scheme.eq_ignore_ascii_case(web))
}

pub(super) fn is_scheme_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+.-".contains(c)
}

/// Whether a text in a field for addresses names no host: a path on a host named elsewhere, a file, data.
pub(super) fn is_local(text: &str) -> bool {
    let starts = |start: &str| text.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start));
    (text.starts_with(['/', '?', '#', '.']) && !starts_scheme_relative(text))
        || ["file:", "data:", "mailto:", "about:", "urn:", "blob:", "tel:"]
            .iter()
            .any(|scheme| starts(scheme))
}

/// Whether [`Finder::urls`] finds something in the text.
pub(super) fn has_url(text: &str) -> bool {
    starts_with_scheme(text) || text.contains("://")
}

/// Whether the part of a URL that names the host may hold something computed.
pub(super) fn is_computed(text: &str) -> bool {
    let authority = text.split_once("//").map_or(text, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    text.starts_with(COMPUTED) || authority.contains(COMPUTED) || authority.contains(['*', '[', '{', '~'])
}

pub(super) fn until(text: &str, is_end: impl Fn(char) -> bool) -> &str {
    text.split(is_end).next().unwrap_or_default()
}
