//! Why a server cannot be asked.

use std::{io, path::PathBuf};

/// Why a server cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The URL is not one of a server.
    #[error("`{0}` is not the URL of a server; write https://HOST, http://127.0.0.1:PORT or unix:PATH")]
    Url(String),
    /// Without TLS a token would be readable on its way.
    #[error(
        "`{0}` is on another machine, and its tokens would travel unencrypted; use https://, a tunnel to 127.0.0.1, or unix:PATH"
    )]
    Unencrypted(String),
    /// The authorities of certificates cannot be used.
    #[error("no certificate in `{}` can be used", .0.display())]
    Authorities(PathBuf),
    /// TLS cannot be spoken.
    #[error("TLS cannot be used: {0}")]
    Tls(#[from] tokio_rustls::rustls::Error),
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
    /// The question waits for a human.
    #[error("no human has answered yet")]
    Open,
    /// The server has refused it.
    #[error("{0}")]
    Refused(String),
}
