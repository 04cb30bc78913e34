//! TLS of the server's own: its certificate and key, and whose certificates clients must show.
//!
//! [`Tls::open`] reads the files, and [`Tls::reload`] reads them again after they have changed. Files that cannot be used then leave
//! everything as it was: a certificate that is renewed badly must not end the server. There is no automatic issuance.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
        server::{VerifierBuilderError, WebPkiClientVerifier},
    },
};

use crate::platform;

/// The files of TLS, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of the server, and those between it and its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities of which each client must show a certificate; none if clients show none.
    pub client_authorities: Option<PathBuf>,
}

/// Why TLS cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// All users of the machine can read the key.
    #[error("every user of this machine can read the key in `{}`; run `chmod o= {}`", .0.display(), .0.display())]
    Open(PathBuf),
    /// A file has nothing of what it should have.
    #[error("`{}` has no {what} in PEM", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// What is missing.
        what: &'static str,
    },
    /// A certificate and a key are not for each other, or cannot be used.
    #[error("the certificate in `{}` cannot be used: {source}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// The authorities of clients cannot be used.
    #[error("the certificates in `{}` cannot be used: {source}", path.display())]
    Authorities {
        /// The file.
        path: PathBuf,
        /// Why.
        source: VerifierBuilderError,
    },
}

/// TLS with the files as they were read last.
pub(super) struct Tls {
    files: TlsFiles,
    read: RwLock<(Vec<Edition>, Arc<ServerConfig>)>,
}

type Edition = Option<(u64, i64, i64, u64)>;

impl Tls {
    /// Reads the files.
    pub(super) fn open(files: TlsFiles) -> Result<Self, TlsError> {
        let editions = editions(&files);
        let config = Arc::new(config(&files)?);
        Ok(Self { files, read: RwLock::new((editions, config)) })
    }

    /// For the next connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.read.read().unwrap_or_else(PoisonError::into_inner).1))
    }

    /// Reads the files again if they have changed, and says whether it has. Files that cannot be used are told once.
    pub(super) fn reload(&self) -> Result<bool, TlsError> {
        let editions = editions(&self.files);
        if self.read.read().unwrap_or_else(PoisonError::into_inner).0 == editions {
            return Ok(false);
        }
        let config = config(&self.files);
        let mut read = self.read.write().unwrap_or_else(PoisonError::into_inner);
        read.0 = editions;
        read.1 = Arc::new(config?);
        Ok(true)
    }
}

fn editions(files: &TlsFiles) -> Vec<Edition> {
    let paths = [Some(&files.certificate), Some(&files.key), files.client_authorities.as_ref()];
    let edition = |path: &PathBuf| fs::metadata(path).ok().map(|metadata| platform::edition(&metadata));
    paths.into_iter().flatten().map(edition).collect()
}

fn config(files: &TlsFiles) -> Result<ServerConfig, TlsError> {
    let chain = certificates(&files.certificate)?;
    let key = key(&files.key)?;
    let provider = Arc::new(ring::default_provider());
    let unusable = |source| TlsError::Unusable { path: files.certificate.clone(), source };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(unusable)?;
    let builder = match &files.client_authorities {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                let unusable = |source| TlsError::Unusable { path: path.clone(), source };
                roots.add(certificate).map_err(unusable)?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            let unusable = |source| TlsError::Authorities { path: path.clone(), source };
            builder.with_client_cert_verifier(verifier.map_err(unusable)?)
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = fs::read(path).map_err(|source| TlsError::Io { path: path.to_owned(), source })?;
    let empty = || TlsError::Empty { path: path.to_owned(), what: "certificate" };
    let read = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>().map_err(|_| empty())?;
    if read.is_empty() { Err(empty()) } else { Ok(read) }
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let failed = |source| TlsError::Io { path: path.to_owned(), source };
    if platform::is_open_to_all(&fs::metadata(path).map_err(failed)?) {
        return Err(TlsError::Open(path.to_owned()));
    }
    let text = zeroize::Zeroizing::new(fs::read(path).map_err(failed)?);
    let empty = |_| TlsError::Empty { path: path.to_owned(), what: "private key" };
    PrivateKeyDer::from_pem_slice(&text).map_err(empty)
}
