//! Admission of HTTP requests, by their heads alone.
//! [`Admission::check`] checks the origin, the host and the
//! token of a request, before any of its body is read. A page in a browser can reach any address of this machine, by
//! its number or by a name of its own that points here; so without a token only the names of this machine are answered.
//! There are no answers to cross-origin questions of browsers (CORS): no page has to speak to a gate.

use std::net::{IpAddr, SocketAddr};

use hyper::{
    HeaderMap, StatusCode, Uri,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, ORIGIN},
};
use sha2::{Digest as _, Sha256};
use url::{Host, Url};

use super::fields::{EVENTS, JSON, media_type};

/// Why a request is not let in: what HTTP answers, and the sentence with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub status: StatusCode,
    pub sentence: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, sentence: impl Into<String>) -> Self {
        Self { status, sentence: sentence.into() }
    }
}

/// Checks the head of each request.
pub(super) struct Admission {
    address: SocketAddr,
    /// The digest of the token: what is compared has one length, whatever was sent.
    token: Option<[u8; 32]>,
}

impl Admission {
    pub(super) fn new(address: SocketAddr, token: Option<&str>) -> Self {
        Self { address, token: token.map(|token| Sha256::digest(token).into()) }
    }

    /// Whether a request may go on.
    ///
    /// # Errors
    /// When its origin or host is another machine, or its token is wrong.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = only(headers, &HOST)?;
        if self.token.is_none() {
            let host =
                host.ok_or_else(|| Refusal::new(StatusCode::BAD_REQUEST, "the `Host` header is missing"))?;
            let named = [Some(host), uri.authority().map(hyper::http::uri::Authority::as_str)];
            if !named.into_iter().flatten().all(|authority| self.is_ours(authority)) {
                let sentence = "`Host` names neither this machine nor the address Lockgate listens on: use \
                    127.0.0.1 or localhost, or start Lockgate with a token";
                return Err(Refusal::new(StatusCode::FORBIDDEN, sentence));
            }
        }
        if let Some(origin) = only(headers, &ORIGIN)?
            && !is_near(origin, host)
        {
            let sentence = "`Origin` is a page of another machine, and such pages may not speak to Lockgate";
            return Err(Refusal::new(StatusCode::FORBIDDEN, sentence));
        }
        self.check_token(headers)
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(expected) = &self.token else { return Ok(()) };
        let given = only(headers, &AUTHORIZATION)?.unwrap_or_default();
        let given = match given.split_at_checked("bearer ".len()) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer ") => token.trim_matches(' '),
            _ => "",
        };
        if is_same(&Sha256::digest(given).into(), expected) {
            return Ok(());
        }
        let sentence = "the token is missing or wrong: send it as `Authorization: Bearer …`";
        Err(Refusal::new(StatusCode::UNAUTHORIZED, sentence))
    }

    fn is_ours(&self, authority: &str) -> bool {
        let Some(url) = read_authority(authority) else { return false };
        let near = match url.host() {
            Some(Host::Ipv4(ip)) => ip.is_loopback() || IpAddr::V4(ip) == self.address.ip(),
            Some(Host::Ipv6(ip)) => ip.is_loopback() || IpAddr::V6(ip) == self.address.ip(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        };
        near && url.port_or_known_default() == Some(self.address.port())
    }
}

/// Whether a page of this origin is on this machine, or on the one the request was sent to.
fn is_near(origin: &str, host: Option<&str>) -> bool {
    let Ok(url) = Url::parse(origin) else { return false };
    if !matches!(url.scheme(), "http" | "https") {
        return false;
    }
    let loopback = match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    // A request without a token has shown above that its host is this machine, so this opens nothing more for it.
    let own = host.and_then(read_authority).is_some_and(|own| {
        own.host() == url.host() && own.port_or_known_default() == url.port_or_known_default()
    });
    loopback || own
}

/// A host and a port, and nothing else.
fn read_authority(authority: &str) -> Option<Url> {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-:[]_".contains(c);
    authority.chars().all(plain).then(|| Url::parse(&format!("http://{authority}/")).ok())?
}

/// Takes the same time wherever the first difference is.
fn is_same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    let different = one.iter().zip(other).fold(0, |seen, (a, b)| seen | (a ^ b));
    std::hint::black_box(different) == 0
}

/// The one value of a header; two could be read in two ways.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Refusal> {
    let refuse = |what: &str| Refusal::new(StatusCode::BAD_REQUEST, format!("the header `{name}` {what}"));
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(refuse("appears twice"));
    }
    value.to_str().map(Some).map_err(|_| refuse("is not plain text"))
}

/// Whether the client takes both forms in which a request can be answered.
///
/// # Errors
/// When it names what it takes, and one of them is not there.
pub(super) fn check_accept(headers: &HeaderMap, wanted: &[&str]) -> Result<(), Refusal> {
    let takes = |wanted: &str| {
        let (family, _) = wanted.split_once('/').unwrap_or((wanted, ""));
        let mut types = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        types.any(|value| {
            value
                .split(',')
                .map(media_type)
                .any(|given| given == wanted || given == "*/*" || given.strip_suffix("/*") == Some(family))
        })
    };
    if !headers.contains_key(ACCEPT) || wanted.iter().all(|wanted| takes(wanted)) {
        return Ok(());
    }
    let sentence = format!("`Accept` must name {}", wanted.join(" and "));
    Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, sentence))
}

/// Whether the body is JSON.
///
/// # Errors
/// When it is said to be something else, or nothing is said.
pub(super) fn check_content(headers: &HeaderMap) -> Result<(), Refusal> {
    if only(headers, &CONTENT_TYPE)?.map(media_type).as_deref() == Some(JSON) {
        return Ok(());
    }
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, format!("`Content-Type` must be {JSON}")))
}

/// What a request that is answered with JSON or a stream has to take.
pub(super) const ANSWERS: [&str; 2] = [JSON, EVENTS];

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn check(token: Option<&str>, fields: &[(&str, &str)]) -> u16 {
        let address = "127.0.0.1:7000".parse().unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let checked = Admission::new(address, token).check(&Uri::from_static("/mcp"), &headers);
        checked.err().map_or(200, |refusal| refusal.status.as_u16())
    }

    #[test]
    fn without_a_token_only_the_names_of_this_machine_are_answered() {
        for (host, status) in [
            ("127.0.0.1:7000", 200),
            ("localhost:7000", 200),
            ("LOCALHOST:7000", 200),
            ("[::1]:7000", 200),
            ("127.0.0.1:7001", 403),
            ("127.0.0.1", 403),
            ("evil.example:7000", 403),
            ("localhost.evil.example:7000", 403),
            ("127.0.0.1.evil.example:7000", 403),
            ("evil.example@127.0.0.1:7000", 403),
            ("127.0.0.1:7000/evil.example", 403),
            ("10.0.0.1:7000", 403),
            ("", 403),
            ("[::1", 403),
            ("\u{e9}:7000", 400),
        ] {
            assert_eq!(check(None, &[("host", host)]), status, "{host}");
        }
        assert_eq!(check(None, &[]), 400);
        assert_eq!(check(None, &[("host", "localhost:7000"), ("host", "evil.example")]), 400);
    }

    #[test]
    fn an_address_in_the_request_line_counts_as_well() {
        let keeper = Admission::new("127.0.0.1:7000".parse().unwrap(), None);
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("localhost:7000"));
        let check = |uri: &'static str| keeper.check(&Uri::from_static(uri), &headers).is_ok();
        assert!(check("http://localhost:7000/mcp"));
        assert!(!check("http://evil.example:7000/mcp"));
    }

    #[test]
    fn pages_of_other_machines_are_sent_away() {
        for (origin, status) in [
            ("http://localhost:3000", 200),
            ("http://127.0.0.1", 200),
            ("https://[::1]:8443", 200),
            ("http://evil.example", 403),
            ("http://localhost.evil.example", 403),
            ("http://localhost@evil.example", 403),
            ("https://127.0.0.1.evil.example", 403),
            ("null", 403),
            ("", 403),
            ("file:///localhost", 403),
            ("chrome-extension://localhost", 403),
        ] {
            assert_eq!(check(None, &[("host", "localhost:7000"), ("origin", origin)]), status, "{origin}");
        }
        let twice =
            [("host", "localhost:7000"), ("origin", "http://localhost"), ("origin", "http://evil.example")];
        assert_eq!(check(None, &twice), 400);
    }

    #[test]
    fn with_a_token_any_host_is_answered_and_its_own_pages() {
        let token = ("authorization", "Bearer s3cret");
        for (host, origin, status) in [
            ("gate.example", "https://other.example", 403),
            ("gate.example:7000", "http://gate.example:7000", 200),
            ("gate.example:7000", "http://gate.example:7001", 403),
        ] {
            assert_eq!(check(Some("s3cret"), &[token, ("host", host), ("origin", origin)]), status);
        }
        assert_eq!(check(Some("s3cret"), &[token, ("host", "gate.example")]), 200);
    }

    #[test]
    fn a_token_is_right_or_wrong() {
        for (given, status) in [
            ("Bearer s3cret", 200),
            ("bearer s3cret", 200),
            ("Bearer  s3cret ", 200),
            ("Bearer s3cre", 401),
            ("Bearer s3crets", 401),
            ("Bearer S3CRET", 401),
            ("Bearer ", 401),
            ("Bearer", 401),
            ("s3cret", 401),
            ("Basic s3cret", 401),
            ("", 401),
        ] {
            let fields = [("host", "localhost:7000"), ("authorization", given)];
            assert_eq!(check(Some("s3cret"), &fields), status, "{given}");
        }
        assert_eq!(check(Some("s3cret"), &[("host", "localhost:7000")]), 401);
    }

    #[test]
    fn a_client_takes_json_and_streams() {
        for (accept, fine) in [
            ("application/json, text/event-stream", true),
            ("text/event-stream;q=0.5, APPLICATION/JSON", true),
            ("*/*", true),
            ("application/*, text/*", true),
            ("application/json", false),
            ("text/event-stream", false),
            ("text/html", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(check_accept(&headers, &ANSWERS).is_ok(), fine, "{accept}");
        }
        assert!(check_accept(&HeaderMap::new(), &ANSWERS).is_ok());
    }

    #[test]
    fn a_body_is_json() {
        for (given, fine) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("text/plain", false),
            ("application/json-seq", false),
            ("text/plain;application/json", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(given));
            assert_eq!(check_content(&headers).is_ok(), fine, "{given}");
        }
        assert!(check_content(&HeaderMap::new()).is_err());
    }
}
