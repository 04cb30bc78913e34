//! Requests that go out: one over one connection, by TLS where it is another machine. Nothing is followed, kept or sent again.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    Request, StatusCode,
    client::conn::http1,
    header::{CONTENT_TYPE, HOST},
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    },
};
use url::Url;

use crate::client_error::ClientError;

/// How long a receiver may take.
const TIME_MAX: Duration = Duration::from_secs(15);
/// The longest answer of a receiver that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Sends JSON to a URL, and gives the status of the answer.
pub(crate) async fn post(
    connector: &TlsConnector,
    url: &Url,
    headers: &[(&'static str, String)],
    body: String,
) -> Result<StatusCode, ClientError> {
    let wrong = || ClientError::Url(url.origin().ascii_serialization());
    let (host, port) = (url.host_str().ok_or_else(wrong)?, url.port_or_known_default().ok_or_else(wrong)?);
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let said = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let mut request = Request::post(path).header(HOST, said).header(CONTENT_TYPE, "application/json");
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let request = request.body(Full::new(Bytes::from(body)))?;
    let send = async {
        let bare = host.trim_matches(['[', ']']);
        let stream = TcpStream::connect((bare, port)).await?;
        match url.scheme() {
            "https" => {
                let name = ServerName::try_from(bare.to_owned()).map_err(|_| wrong())?;
                send_over(connector.connect(name, stream).await?, request, ANSWER_BYTES_MAX).await
            }
            _ => send_over(stream, request, ANSWER_BYTES_MAX).await,
        }
    };
    timeout(TIME_MAX, send).await.unwrap_or(Err(ClientError::Late)).map(|(status, _)| status)
}

/// What speaks TLS with servers that these authorities vouch for; without any, those of the machine count.
pub(crate) fn connector(authorities: Option<&Path>) -> Result<TlsConnector, ClientError> {
    let mut roots = RootCertStore::empty();
    match authorities {
        Some(path) => {
            let unusable = || ClientError::Authorities(PathBuf::from(path));
            for certificate in CertificateDer::pem_file_iter(path).map_err(|_| unusable())? {
                roots.add(certificate.map_err(|_| unusable())?).map_err(|_| unusable())?;
            }
            if roots.is_empty() {
                return Err(unusable());
            }
        }
        // One that cannot be read vouches for no server.
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?.with_root_certificates(roots);
    Ok(TlsConnector::from(Arc::new(builder.with_no_client_auth())))
}

/// One request over one connection.
pub(crate) async fn send_over(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
    answer_max: usize,
) -> Result<(StatusCode, Bytes), ClientError> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = Limited::new(response.into_body(), answer_max).collect().await;
    connection.abort();
    Ok((status, body.map_err(|_| ClientError::Answer)?.to_bytes()))
}
