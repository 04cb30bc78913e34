//! Where a server is, and how requests are sent to it.

use std::{fmt, pin::Pin, time::Duration};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    HeaderMap, Request, Response, Uri,
    body::Incoming as AnswerBody,
    header::{HeaderName, HeaderValue},
};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::{
    client::legacy::{
        Client, Error as SendError,
        connect::{Connect, HttpConnector},
    },
    rt::{TokioExecutor, TokioTimer},
};
use url::Url;

/// How long one address of the server may take to be reached.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an unused connection is kept for the next exchange. Many servers close theirs after five seconds,
/// and a request that meets the closing is lost.
const UNUSED_CONNECTION_MAX: Duration = Duration::from_secs(4);

/// How often the machine asks whether a silent server is still there.
const TCP_KEEP_ALIVE: Duration = Duration::from_secs(60);

/// The address of a server, and the headers of every request to it.
#[derive(Clone)]
pub struct HttpTarget {
    /// Its address, `http://…` or `https://…`.
    pub url: String,
    /// Headers, such as `Authorization`. Their values are never shown.
    pub headers: Vec<(String, String)>,
}

impl fmt::Debug for HttpTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        // An address may hold a secret as well, after its host.
        let host = Url::parse(&self.url).ok().and_then(|url| url.host_str().map(str::to_owned));
        formatter.debug_struct("HttpTarget").field("host", &host).field("headers", &names).finish()
    }
}

/// Why a server cannot be spoken to at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadTarget {
    /// The address is none.
    #[error("the address of the server is not an HTTP URL: write `https://…` or `http://…`")]
    Url,
    /// There is a password in the address.
    #[error("the address of the server holds a name or a password: put them into a header")]
    Credentials,
    /// A header cannot be sent.
    #[error("the header `{0}` cannot be sent: its name or its value has characters that headers cannot have")]
    Header(String),
    /// A header is not the user's to set.
    #[error("the header `{0}` is set by Lockgate itself: leave it out")]
    Reserved(String),
    /// The certificates of this machine cannot be read.
    #[error("cannot read the certificates of this machine, which `https://` needs")]
    Certificates(#[source] std::io::Error),
    /// This is not a place where anything can run.
    #[error("an async runtime is missing")]
    Runtime,
}

/// A server that requests can be sent to.
pub(super) struct Target {
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) send: Sender,
}

impl Target {
    /// Reads a target.
    ///
    /// # Errors
    /// When the target cannot be spoken to whatever the server does.
    pub(super) fn read(target: &HttpTarget) -> Result<Self, BadTarget> {
        let url = Url::parse(&target.url).map_err(|_| BadTarget::Url)?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(BadTarget::Url);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadTarget::Credentials);
        }
        let uri: Uri = url.as_str().parse().map_err(|_| BadTarget::Url)?;
        let headers = read_headers(&target.headers)?;
        Ok(Self { uri, headers, send: sender(url.scheme() == "https")? })
    }
}

/// What the protocol needs these for; a second value could be read in place of ours.
const RESERVED: [&str; 13] = [
    "accept",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

fn read_headers(given: &[(String, String)]) -> Result<HeaderMap, BadTarget> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let bad = || BadTarget::Header(name.clone());
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        if RESERVED.contains(&key.as_str()) || key.as_str().starts_with("mcp-") {
            return Err(BadTarget::Reserved(name.clone()));
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.append(key, value);
    }
    Ok(headers)
}

type Sending = Pin<Box<dyn Future<Output = Result<Response<AnswerBody>, SendError>> + Send>>;
pub(super) type Sender = Box<dyn Fn(Request<Full<Bytes>>) -> Sending + Send + Sync>;

/// Sends requests, with or without TLS.
fn sender(tls: bool) -> Result<Sender, BadTarget> {
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    connector.set_keepalive(Some(TCP_KEEP_ALIVE));
    connector.set_nodelay(true);
    if !tls {
        return Ok(sender_over(connector));
    }
    connector.enforce_http(false);
    let secure = HttpsConnectorBuilder::new().with_native_roots().map_err(BadTarget::Certificates)?;
    Ok(sender_over(secure.https_only().enable_http1().wrap_connector(connector)))
}

fn sender_over<C: Connect + Clone + Send + Sync + 'static>(connector: C) -> Sender {
    let client = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(UNUSED_CONNECTION_MAX)
        .build(connector);
    Box::new(move |request| Box::pin(client.request(request)))
}
