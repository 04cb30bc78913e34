//! A client of the server that speaks in lines: what `lockgate gate --server` is made of.
//!
//! [`Client::answer`] takes a line of the protocol and gives the line that answers it. A call that the server does not judge,
//! for whatever reason, is blocked. There are no retries: a call that was sent twice would count twice.

use std::{
    io::{self, BufRead, Write},
    path::PathBuf,
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    Request, StatusCode, Uri,
    client::conn::http1,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST},
};
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    runtime::{Builder, Runtime},
    time::timeout,
};
use zeroize::Zeroizing;

use crate::{
    lines::{Served, serve_by},
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
    /// `unix:PATH`
    Socket(PathBuf),
}

/// Why a server cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The URL is not one of a server.
    #[error("`{0}` is not the URL of a server; write http://127.0.0.1:PORT or unix:PATH")]
    Url(String),
    /// Without TLS a token would be readable on its way.
    #[error(
        "`{0}` is on another machine, and its tokens would travel unencrypted; use a tunnel to 127.0.0.1, or unix:PATH"
    )]
    Unencrypted(String),
    /// The server cannot be reached.
    #[error("the server cannot be reached: {0}")]
    Unreachable(#[from] io::Error),
    /// The connection broke, or something else than HTTP was said.
    #[error("the server did not answer: {0}")]
    Broken(#[from] hyper::Error),
    /// The request cannot be written.
    #[error("the request cannot be written: {0}")]
    Request(#[from] hyper::http::Error),
    /// It took too long.
    #[error("the server did not answer in time")]
    Late,
    /// The body is not what a server of ours would say.
    #[error("the server's answer cannot be read")]
    Answer,
    /// The server has refused it.
    #[error("{0}")]
    Refused(String),
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
        if url.scheme() != "http" || !is_bare || has_user {
            return Err(wrong());
        }
        let (host, port) = (url.host().ok_or_else(wrong)?, url.port_or_known_default().ok_or_else(wrong)?);
        let is_near = match &host {
            url::Host::Ipv4(ip) => ip.is_loopback(),
            url::Host::Ipv6(ip) => ip.is_loopback(),
            url::Host::Domain(name) => *name == "localhost",
        };
        match is_near {
            true => Ok(Self::Tcp { authority: format!("{host}:{port}") }),
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
        let (status, _) = runtime.block_on(self.send(request, READY_TIME_MAX))?;
        Ok(status == StatusCode::OK)
    }

    /// What the `Host` header says.
    fn host(&self) -> &str {
        match self {
            Self::Tcp { authority } => authority,
            Self::Socket(_) => "lockgate",
        }
    }

    async fn send(
        &self,
        request: Request<Full<Bytes>>,
        time_max: Duration,
    ) -> Result<(StatusCode, String), ClientError> {
        let sent = async {
            match self {
                Self::Tcp { authority } => send_over(TcpStream::connect(authority).await?, request).await,
                Self::Socket(path) => send_over(platform::connect(path).await?, request).await,
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
    /// The session of lines that name none.
    session: Option<String>,
    sends_time: bool,
}

impl Client {
    /// A client of a server. `sends_time`: the `at` of each line is the time, where the server takes it.
    ///
    /// # Errors
    /// When no runtime can be made.
    pub fn new(
        url: ServerUrl,
        token: Zeroizing<String>,
        session: Option<String>,
        sends_time: bool,
    ) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { url, token, runtime, session, sends_time })
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

    fn post(&self, route: &str, body: &Value, at: Option<u64>) -> Result<String, ClientError> {
        let query = at.map(|at| format!("?at={at}")).unwrap_or_default();
        let uri: Uri = format!("/v1/{route}{query}").parse().map_err(hyper::http::Error::from)?;
        let request = Request::post(uri)
            .header(HOST, self.url.host())
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, format!("Bearer {}", self.token.as_str()))
            .body(Full::new(Bytes::from(body.to_string())))?;
        let (status, text) = self.runtime.block_on(self.url.send(request, TIME_MAX))?;
        let answer = read_object(&text).map_err(|_| ClientError::Answer)?;
        match status {
            StatusCode::OK => Ok(text),
            StatusCode::ACCEPTED => Err(ClientError::Refused("no human has answered yet".to_owned())),
            _ => {
                let detail = answer.get("detail").and_then(Value::as_str);
                Err(detail.map_or(ClientError::Answer, |detail| ClientError::Refused(detail.to_owned())))
            }
        }
    }
}

/// One request over one connection.
async fn send_over(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, String), ClientError> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = Limited::new(response.into_body(), LINE_BYTES_MAX).collect().await;
    connection.abort();
    let bytes = body.map_err(|_| ClientError::Answer)?.to_bytes();
    let text = String::from_utf8(bytes.to_vec()).map_err(|_| ClientError::Answer)?;
    Ok((status, text))
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
            ("https://127.0.0.1:7878", false),
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
        let client =
            Client::new(url, Zeroizing::new("lgt_x".to_owned()), Some("s".to_owned()), false).unwrap();
        let (answer, is_error) = client.answer(r#"{"call":{"id":"1","tool":"deploy"}}"#);
        assert!(answer.starts_with(r#"{"id":"1","session":"s","verdict":"block""#) && !is_error, "{answer}");
        let (answer, is_error) = client.answer(r#"{"status":{}}"#);
        assert!(answer.starts_with(r#"{"error":"the server cannot be reached"#) && is_error, "{answer}");
        assert!(client.answer("{").1);
    }
}
