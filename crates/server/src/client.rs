//! A client of the server that speaks in lines: what `lockgate gate --server` is made of.
//!
//! [`Client::answer`] takes a line of the protocol and gives the line that answers it; [`Client::collect`] asks what a human has
//! answered. A call that the server does not judge, for whatever reason, is blocked. There are no retries: a call that was sent
//! twice would count twice. To another machine, a client speaks TLS.

use std::{
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Request, StatusCode, Uri,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST},
};
use serde_json::{Map, Value, json};
use tokio::{
    net::TcpStream,
    runtime::{Builder, Handle, Runtime},
    time::timeout,
};
use tokio_rustls::{TlsConnector, rustls::pki_types::ServerName};
use zeroize::Zeroizing;

use crate::{
    client_error::ClientError,
    lines::{Served, serve_by},
    outgoing::{connector, send_over},
    platform,
    protocol::{ErrorAnswer, LINE_BYTES_MAX, blocked_call, decode, encode, read_object},
};

/// How long an answer may take. The server decides within less.
const TIME_MAX: Duration = Duration::from_secs(40);

/// How long a server may take to say that it is ready.
const READY_TIME_MAX: Duration = Duration::from_secs(5);

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerUrl {
    /// `http://HOST:PORT`
    Tcp {
        /// Host and port, as they are connected to and said.
        authority: String,
    },
    /// `https://HOST:PORT`
    Tls {
        /// The name that its certificate must have.
        host: String,
        /// Host and port, as they are connected to and said.
        authority: String,
    },
    /// `unix:PATH`
    Socket(PathBuf),
}

impl ServerUrl {
    /// Reads the URL of a server.
    ///
    /// # Errors
    /// When it is not one, or tokens would travel unencrypted to another machine.
    pub fn parse(text: &str) -> Result<Self, ClientError> {
        let wrong = || ClientError::Url(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() { Err(wrong()) } else { Ok(Self::Socket(PathBuf::from(path))) };
        }
        let url = url::Url::parse(text).map_err(|_| wrong())?;
        let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let has_user = !url.username().is_empty() || url.password().is_some();
        if !matches!(url.scheme(), "http" | "https") || !is_bare || has_user {
            return Err(wrong());
        }
        let (host, port) = (url.host().ok_or_else(wrong)?, url.port_or_known_default().ok_or_else(wrong)?);
        let authority = format!("{host}:{port}");
        if url.scheme() == "https" {
            let host = host.to_string().trim_matches(['[', ']']).to_owned();
            return Ok(Self::Tls { host, authority });
        }
        let is_near = match &host {
            url::Host::Ipv4(ip) => ip.is_loopback(),
            url::Host::Ipv6(ip) => ip.is_loopback(),
            url::Host::Domain(name) => *name == "localhost",
        };
        match is_near {
            true => Ok(Self::Tcp { authority }),
            false => Err(ClientError::Unencrypted(text.to_owned())),
        }
    }

    /// Whether the server can judge calls now: what `GET /readyz` says. No token is needed.
    ///
    /// # Errors
    /// When no server answers.
    pub fn is_ready(&self) -> Result<bool, ClientError> {
        let request =
            Request::get(Uri::from_static("/readyz")).header(HOST, self.host()).body(Full::default())?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let connector = self.connector(None)?;
        let (status, _) = runtime.block_on(self.send(connector.as_ref(), request, READY_TIME_MAX))?;
        Ok(status == StatusCode::OK)
    }

    /// What speaks TLS, if this is a server of another machine.
    fn connector(&self, authorities: Option<&Path>) -> Result<Option<TlsConnector>, ClientError> {
        match self {
            Self::Tls { .. } => connector(authorities).map(Some),
            Self::Tcp { .. } | Self::Socket(_) => Ok(None),
        }
    }

    /// What the `Host` header says.
    fn host(&self) -> &str {
        match self {
            Self::Tcp { authority } | Self::Tls { authority, .. } => authority,
            Self::Socket(_) => "lockgate",
        }
    }

    async fn send(
        &self,
        connector: Option<&TlsConnector>,
        request: Request<Full<Bytes>>,
        time_max: Duration,
    ) -> Result<(StatusCode, Bytes), ClientError> {
        let sent = async {
            match self {
                Self::Tcp { authority } => {
                    send_over(TcpStream::connect(authority).await?, request, LINE_BYTES_MAX).await
                }
                Self::Tls { host, authority } => {
                    let stream = TcpStream::connect(authority).await?;
                    let name =
                        ServerName::try_from(host.clone()).map_err(|_| ClientError::Url(host.clone()))?;
                    // Whoever has such a URL has made one.
                    let connector = connector.ok_or(ClientError::Answer)?;
                    send_over(connector.connect(name, stream).await?, request, LINE_BYTES_MAX).await
                }
                Self::Socket(path) => {
                    send_over(platform::connect(path).await?, request, LINE_BYTES_MAX).await
                }
            }
        };
        timeout(time_max, sent).await.unwrap_or(Err(ClientError::Late))
    }
}

/// A client with its token.
pub struct Client {
    url: ServerUrl,
    token: Zeroizing<String>,
    runtime: Runtime,
    /// For TLS; none where it is not spoken.
    connector: Option<TlsConnector>,
    /// The session of lines that name none.
    session: Option<String>,
    sends_time: bool,
}

impl Client {
    /// A client of a server. `authorities` is a file of certificates in PEM, one of which vouches for the server; without one, those of
    /// the machine count.
    ///
    /// # Errors
    /// When no runtime can be made, or the certificates cannot be used.
    pub fn new(
        url: ServerUrl,
        token: Zeroizing<String>,
        authorities: Option<&Path>,
    ) -> Result<Self, ClientError> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let connector = url.connector(authorities)?;
        Ok(Self { url, token, runtime, connector, session: None, sends_time: false })
    }

    /// With a session for lines that name none.
    #[must_use]
    pub fn in_session(self, session: Option<String>) -> Self {
        Self { session, ..self }
    }

    /// The `at` of each line is the time, where the server takes it.
    #[must_use]
    pub fn sending_time(self, sends_time: bool) -> Self {
        Self { sends_time, ..self }
    }

    /// Answers every line until there are no more, or the answers have no reader.
    ///
    /// # Errors
    /// When reading or writing fails otherwise than by the other side going away.
    pub fn serve(&self, input: impl BufRead, output: impl Write) -> io::Result<Served> {
        serve_by(|line| self.answer(line), input, output)
    }

    /// Answers one line; neither has an end of line. Whether it was answered with an error comes with it.
    pub fn answer(&self, line: &str) -> (String, bool) {
        // It is read here as well, so that a line that is not understood is answered as everywhere.
        let read = decode(line).map_err(|error| error.to_string()).and_then(|request| {
            let mut fields = read_object(line).map_err(|error| error.to_string())?;
            fields.shift_remove("at");
            let (kind, body) = fields.into_iter().next().ok_or("the line is empty")?;
            let Value::Object(body) = body else { return Err(format!("`{kind}` is a JSON object")) };
            Ok((kind, body, request.at.map(|at| at.0)))
        });
        let (kind, mut body, at) = match read {
            Ok(read) => read,
            Err(error) => return (encode(&ErrorAnswer { error }), true),
        };
        let has_default = !matches!(kind.as_str(), "answer" | "session" | "halt" | "resume");
        if let (true, Some(session)) = (has_default && !body.contains_key("session"), &self.session) {
            body.insert("session".to_owned(), Value::from(session.as_str()));
        }
        match self.ask(&kind, &body, at.filter(|_| self.sends_time)) {
            Ok(answer) => (answer, false),
            Err(error) if kind == "call" => {
                let text = |field: &str| body.get(field).and_then(Value::as_str).unwrap_or_default();
                let reason = format!("Lockgate could not decide ({error}), so the call is blocked.");
                (blocked_call(text("id"), text("session"), &reason), false)
            }
            Err(error) => (encode(&ErrorAnswer { error: error.to_string() }), true),
        }
    }

    fn ask(&self, kind: &str, body: &Map<String, Value>, at: Option<u64>) -> Result<String, ClientError> {
        if kind != "answer" {
            return self.post(kind, &Value::Object(body.clone()), at);
        }
        // The server keeps the answer of a human and the verdict apart: the one is the human's, the other the agent's.
        let approval = body.get("approval").cloned().unwrap_or_default();
        let is_over = body.get("granted").is_none_or(Value::is_null);
        if !is_over {
            self.post("answer", &Value::Object(body.clone()), at)?;
        }
        self.post("collect", &json!({ "approval": approval, "end": is_over }), at)
    }

    /// The verdict about a call that a human was asked about, waiting for as many seconds; none while the question is open. `ends`:
    /// without an answer by then, there is none.
    ///
    /// # Errors
    /// When the server cannot be asked, or refuses.
    pub fn collect(&self, approval: &str, wait: u64, ends: bool) -> Result<Option<String>, ClientError> {
        let body = json!({ "approval": approval, "wait": wait, "end": ends });
        match self.post("collect", &body, None) {
            Ok(text) => Ok(Some(text)),
            Err(ClientError::Open) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn post(&self, route: &str, body: &Value, at: Option<u64>) -> Result<String, ClientError> {
        let query = at.map(|at| format!("?at={at}")).unwrap_or_default();
        let uri: Uri = format!("/v1/{route}{query}").parse().map_err(hyper::http::Error::from)?;
        let request = Request::post(uri)
            .header(HOST, self.url.host())
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, format!("Bearer {}", self.token.as_str()))
            .body(Full::new(Bytes::from(body.to_string())))?;
        let (status, bytes) = self.send_in_time(request)?;
        let text = String::from_utf8(bytes.to_vec()).map_err(|_| ClientError::Answer)?;
        let answer = read_object(&text).map_err(|_| ClientError::Answer)?;
        match status {
            StatusCode::OK => Ok(text),
            StatusCode::ACCEPTED => Err(ClientError::Open),
            _ => {
                let detail = answer.get("detail").and_then(Value::as_str);
                Err(detail.map_or(ClientError::Answer, |detail| ClientError::Refused(detail.to_owned())))
            }
        }
    }

    fn send_in_time(&self, request: Request<Full<Bytes>>) -> Result<(StatusCode, Bytes), ClientError> {
        let send = || self.runtime.block_on(self.url.send(self.connector.as_ref(), request, TIME_MAX));
        // A thread of another runtime must not wait for this one.
        match Handle::try_current() {
            Err(_) => send(),
            Ok(_) => thread::scope(|scope| scope.spawn(send).join()).unwrap_or(Err(ClientError::Answer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_do_not_travel_unencrypted_to_another_machine() {
        for (url, is_good) in [
            ("http://127.0.0.1:7878", true),
            ("http://localhost:7878/", true),
            ("http://[::1]:7878", true),
            ("unix:/run/lockgate.sock", true),
            ("http://gate.example:7878", false),
            ("http://127.evil.example:7878", false),
            ("http://127.0.0.1:7878/v1", false),
            ("http://me@127.0.0.1:7878", false),
            ("https://gate.example", true),
            ("https://127.0.0.1:7878", true),
            ("https://gate.example/v1", false),
            ("ftp://127.0.0.1:7878", false),
            ("unix:", false),
            ("", false),
        ] {
            assert_eq!(ServerUrl::parse(url).is_ok(), is_good, "{url}");
        }
    }

    #[test]
    fn a_call_is_blocked_where_no_server_is() {
        let folder = tempfile::tempdir().unwrap();
        let url = ServerUrl::Socket(folder.path().join("none"));
        let client = Client::new(url, Zeroizing::new("lgt_x".to_owned()), None).unwrap();
        let client = client.in_session(Some("s".to_owned()));
        let (answer, is_error) = client.answer(r#"{"call":{"id":"1","tool":"deploy"}}"#);
        assert!(answer.starts_with(r#"{"id":"1","session":"s","verdict":"block""#) && !is_error, "{answer}");
        let (answer, is_error) = client.answer(r#"{"status":{}}"#);
        assert!(answer.starts_with(r#"{"error":"the server cannot be reached"#) && is_error, "{answer}");
        assert!(client.answer("{").1);
    }
}
