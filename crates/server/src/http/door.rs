//! Who may come in, by the head of a request alone.
//!
//! [`Door::admit`] looks at host and origin before anything else: a page in a browser can reach any address of this machine, by
//! its number or by a name of its own that points here. [`bearer`] reads the token. There are no answers to cross-origin
//! questions of browsers (CORS).

use std::net::{IpAddr, SocketAddr};

use axum::http::{
    HeaderMap, Method, StatusCode, Uri,
    header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, HeaderName, ORIGIN},
};
use url::{Host, Url};

use super::problem::Problem;

/// Where a request came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// A Unix socket, which no page in a browser can reach.
    Socket,
    /// This address.
    Tcp(SocketAddr),
}

/// Checks the head of each request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Door {
    /// Names under which others reach this server, with their port where it is not the usual one.
    hosts: Vec<String>,
}

impl Door {
    pub(crate) fn new(hosts: Vec<String>) -> Self {
        Self { hosts: hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect() }
    }

    /// Whether a request may go on. A front page may be reached by a link of any site: it shows nothing and changes nothing.
    ///
    /// # Errors
    /// When its host is not this server, or a page of another server has sent it.
    pub(crate) fn admit(
        &self,
        via: Via,
        uri: &Uri,
        headers: &HeaderMap,
        is_front: bool,
    ) -> Result<(), Problem> {
        let host = only(headers, &HOST)?;
        if let Via::Tcp(address) = via {
            let host = host.ok_or_else(|| Problem::bad("the `Host` header is missing"))?;
            let named = [Some(host), uri.authority().map(axum::http::uri::Authority::as_str)];
            if !named.into_iter().flatten().all(|authority| self.is_ours(authority, address)) {
                let detail = "`Host` is not a name of this server; use 127.0.0.1 or localhost with its port, or start the \
                              server with `--host NAME`";
                return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, detail));
            }
        }
        if let Some(origin) = only(headers, &ORIGIN)?
            && !is_own(origin, host)
        {
            return Err(Problem::forbidden(
                "`Origin` is a page of another server; such pages may not use this one",
            ));
        }
        if let Some(site) = only(headers, &HeaderName::from_static("sec-fetch-site"))?
            && !matches!(site, "same-origin" | "none")
            && !is_front
        {
            return Err(Problem::forbidden("a page of another site has sent this request"));
        }
        Ok(())
    }

    fn is_ours(&self, authority: &str, address: SocketAddr) -> bool {
        if self.hosts.contains(&authority.to_ascii_lowercase()) {
            return true;
        }
        let Some(url) = read_authority(authority) else { return false };
        let is_near = match url.host() {
            Some(Host::Ipv4(ip)) => ip.is_loopback() || IpAddr::V4(ip) == address.ip(),
            Some(Host::Ipv6(ip)) => ip.is_loopback() || IpAddr::V6(ip) == address.ip(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        };
        // Without a port it is the usual one, of HTTP or of TLS.
        is_near && url.port().map_or(matches!(address.port(), 80 | 443), |port| port == address.port())
    }
}

/// Whether a page has come from the host that the request is for.
fn is_own(origin: &str, host: Option<&str>) -> bool {
    let Some(page) = Url::parse(origin).ok().filter(|url| matches!(url.scheme(), "http" | "https")) else {
        return false;
    };
    host.and_then(read_authority).is_some_and(|own| {
        let is_same_port =
            own.port() == page.port() || own.port_or_known_default() == page.port_or_known_default();
        own.host() == page.host() && is_same_port
    })
}

/// A host and a port, and nothing else.
fn read_authority(authority: &str) -> Option<Url> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-:[]_".contains(c);
    authority.chars().all(is_plain).then(|| Url::parse(&format!("http://{authority}/")).ok())?
}

/// The token that a request shows; none where it shows none.
///
/// # Errors
/// When there are two, or it is not a bearer token.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(given) = only(headers, &AUTHORIZATION)? else { return Ok(None) };
    match given.split_at_checked("bearer ".len()) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer ") => Ok(Some(token.trim_matches(' '))),
        _ => Err(Problem::new(StatusCode::UNAUTHORIZED, "send the token as `Authorization: Bearer …`")),
    }
}

/// Whether a form was sent by a page: browsers say so with every one.
///
/// # Errors
/// When nothing is said. That it is a page of ours was looked at before.
pub(crate) fn check_origin(headers: &HeaderMap) -> Result<(), Problem> {
    match only(headers, &ORIGIN)? {
        Some(_) => Ok(()),
        None => Err(Problem::forbidden("`Origin` is missing; forms are sent by pages of this server alone")),
    }
}

/// The value of a cookie; none where there is none, or two.
///
/// # Errors
/// When the header cannot be read.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Problem> {
    let all = only(headers, &COOKIE)?.unwrap_or_default();
    let mut values = all.split(';').filter_map(|pair| {
        let (key, value) = pair.trim().split_once('=')?;
        (key == name).then_some(value)
    });
    let first = values.next();
    // Another server of this machine may have set a second one.
    Ok(first.filter(|_| values.next().is_none()))
}

/// Whether the body is of this media type.
///
/// # Errors
/// When it is said to be something else, or nothing is said.
pub(crate) fn check_content(method: &Method, headers: &HeaderMap, wanted: &str) -> Result<(), Problem> {
    if *method == Method::GET {
        return Ok(());
    }
    let given = only(headers, &CONTENT_TYPE)?.unwrap_or_default();
    let media_type = given.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case(wanted) {
        return Ok(());
    }
    let detail = format!("`Content-Type` must be {wanted}");
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
}

/// The one value of a header; two could be read in two ways.
pub(crate) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Problem> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Problem::bad(format!("the header `{name}` appears twice")));
    }
    value.to_str().map(Some).map_err(|_| Problem::bad(format!("the header `{name}` is not plain text")))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn admit(via: Via, fields: &[(&str, &str)]) -> u16 {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let door = Door::new(vec!["Gate.example".to_owned(), "gate.example:8443".to_owned()]);
        door.admit(via, &Uri::from_static("/v1/call"), &headers, false)
            .map_or_else(|it| it.status.as_u16(), |()| 200)
    }

    fn tcp() -> Via {
        Via::Tcp("127.0.0.1:7000".parse().unwrap())
    }

    #[test]
    fn only_names_of_this_server_are_answered() {
        for (host, status) in [
            ("127.0.0.1:7000", 200),
            ("LOCALHOST:7000", 200),
            ("[::1]:7000", 200),
            ("gate.example", 200),
            ("GATE.example:8443", 200),
            ("gate.example:1", 421),
            ("127.0.0.1:7001", 421),
            ("127.0.0.1", 421),
            ("127.evil.example:7000", 421),
            ("localhost.evil.example:7000", 421),
            ("evil.example@127.0.0.1:7000", 421),
            ("127.0.0.1:7000/x", 421),
            ("", 421),
        ] {
            assert_eq!(admit(tcp(), &[("host", host)]), status, "{host}");
        }
        assert_eq!(admit(tcp(), &[]), 400);
        assert_eq!(admit(tcp(), &[("host", "localhost:7000"), ("host", "localhost:7000")]), 400);
        assert_eq!(admit(Via::Socket, &[]), 200);
    }

    #[test]
    fn pages_of_other_servers_are_sent_away() {
        for (origin, status) in [
            ("http://localhost:7000", 200),
            ("http://localhost:3000", 403),
            ("http://127.0.0.1:7000", 403),
            ("http://evil.example", 403),
            ("null", 403),
            ("", 403),
            ("file:///localhost:7000", 403),
        ] {
            assert_eq!(admit(tcp(), &[("host", "localhost:7000"), ("origin", origin)]), status, "{origin}");
        }
        for (site, status) in [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)] {
            assert_eq!(
                admit(tcp(), &[("host", "localhost:7000"), ("sec-fetch-site", site)]),
                status,
                "{site}"
            );
        }
    }
}
