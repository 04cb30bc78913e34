//! TLS to Postgres. A certificate is always checked: against the machine's authorities, or those of one file.

use std::{fs, path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The connector, or why there is none. `file` has the certificates of authorities in PEM.
pub(super) fn connector(file: Option<&str>) -> Result<MakeRustlsConnect, String> {
    let mut roots = RootCertStore::empty();
    match file {
        None => {
            // A machine without authorities trusts no server; one that is near needs none.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Some(file) => add_file(&mut roots, Path::new(file))?,
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("cannot be reached by TLS: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn add_file(roots: &mut RootCertStore, file: &Path) -> Result<(), String> {
    let cannot = |why: String| {
        format!("cannot be trusted: the certificates in `{}` cannot be read: {why}", file.display())
    };
    let pem = fs::read(file).map_err(|error| cannot(error.to_string()))?;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| cannot(error.to_string()))?;
        roots.add(certificate).map_err(|error| cannot(error.to_string()))?;
    }
    if roots.is_empty() { Err(cannot("there are none".to_owned())) } else { Ok(()) }
}
