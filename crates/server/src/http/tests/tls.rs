//! TLS of the server's own.

use std::{fs, path::Path, sync::Mutex, time::Duration};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName},
    },
};

use super::*;
use crate::{data_folder::write_private, http::TlsFiles};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn issue(authority: &Authority, name: &str) -> (rcgen::Certificate, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    (params.signed_by(&key, authority).unwrap(), key)
}

/// As files have them.
fn pem(what: &str, der: &[u8]) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", STANDARD.encode(der))
}

fn key_pem(key: &KeyPair) -> String {
    pem("PRIVATE KEY", &key.serialize_der())
}

/// Writes a certificate of this authority and its key.
fn write(folder: &Path, authority: &Authority) {
    let (certificate, key) = issue(authority, "localhost");
    write_private(&folder.join("key.pem"), key_pem(&key).as_bytes()).unwrap();
    fs::write(folder.join("cert.pem"), pem("CERTIFICATE", certificate.der())).unwrap();
}

fn files(folder: &Path) -> TlsFiles {
    TlsFiles { certificate: folder.join("cert.pem"), key: folder.join("key.pem"), client_authorities: None }
}

/// The status of `GET /livez`, asked by a client that trusts this authority; none if there is no connection.
fn live(
    address: SocketAddr,
    trusted: &Authority,
    shown: Option<(rcgen::Certificate, KeyPair)>,
) -> Option<u16> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(trusted.der().to_vec())).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    let config = match shown {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
            builder.with_client_auth_cert(vec![certificate.der().clone()], key).unwrap()
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let stream = tokio::net::TcpStream::connect(address).await.ok()?;
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.ok()?;
        let head =
            format!("GET /livez HTTP/1.1\r\nhost: localhost:{}\r\nconnection: close\r\n\r\n", address.port());
        stream.write_all(head.as_bytes()).await.ok()?;
        let mut text = String::new();
        // A client whose certificate is refused hears it here.
        let _ = stream.read_to_string(&mut text).await;
        text.split(' ').nth(1)?.parse().ok()
    })
}

fn served(tls: TlsFiles, heard: &Arc<Mutex<Vec<String>>>) -> World {
    let listeners = Listeners { tcp: Some("127.0.0.1:0".parse().unwrap()), tls: Some(tls), socket: None };
    let heard = Arc::clone(heard);
    World::at(listeners, ServiceOptions { has_tls: true, ..ServiceOptions::default() }, move |text: &str| {
        heard.lock().unwrap().push(text.to_owned());
    })
}

#[test]
fn an_address_with_tls_speaks_nothing_else_and_takes_a_new_certificate() {
    let (folder, old, new) = (tempfile::tempdir().unwrap(), authority(), authority());
    write(folder.path(), &old);
    let heard = Arc::default();
    let world = served(files(folder.path()), &heard);
    assert_eq!(live(world.address, &old, None), Some(200));
    assert_eq!(live(world.address, &new, None), None, "the client does not trust it");
    assert_eq!(world.get_or_nothing("/livez"), "", "plain HTTP is not answered");
    fs::write(folder.path().join("cert.pem"), "nothing").unwrap();
    let wait_for = |what: &str| {
        for _ in 0..300 {
            if heard.lock().unwrap().iter().any(|text| text.contains(what)) {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("{what} was not said: {:?}", heard.lock().unwrap());
    };
    wait_for("stays as it was");
    assert_eq!(live(world.address, &old, None), Some(200));
    write(folder.path(), &new);
    wait_for("was read again");
    assert_eq!(live(world.address, &new, None), Some(200));
}

#[test]
fn clients_without_a_certificate_of_the_authority_are_sent_away() {
    let (folder, servers, clients) = (tempfile::tempdir().unwrap(), authority(), authority());
    write(folder.path(), &servers);
    fs::write(folder.path().join("clients.pem"), pem("CERTIFICATE", clients.der())).unwrap();
    let tls =
        TlsFiles { client_authorities: Some(folder.path().join("clients.pem")), ..files(folder.path()) };
    let world = served(tls, &Arc::default());
    assert_eq!(live(world.address, &servers, Some(issue(&clients, "agent"))), Some(200));
    assert_eq!(live(world.address, &servers, None), None);
    assert_eq!(live(world.address, &servers, Some(issue(&servers, "agent"))), None, "another authority");
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), authority());
    write(folder.path(), &authority);
    let tried = |tls: TlsFiles| {
        crate::http::tls::Tls::open(tls).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(tried(files(folder.path())), "");
    let other = |name: &str, text: &str| {
        let path = folder.path().join(name);
        write_private(&path, text.as_bytes()).unwrap();
        path
    };
    let good = || files(folder.path());
    for (tls, told) in [
        (TlsFiles { certificate: folder.path().join("none"), ..good() }, "cannot read"),
        (TlsFiles { certificate: other("empty", ""), ..good() }, "has no certificate in PEM"),
        (TlsFiles { key: other("empty.key", "x"), ..good() }, "has no private key in PEM"),
        (
            TlsFiles { key: other("other.key", &key_pem(&KeyPair::generate().unwrap())), ..good() },
            "cannot be used",
        ),
        (TlsFiles { client_authorities: Some(other("cas", "")), ..good() }, "has no certificate in PEM"),
    ] {
        assert!(tried(tls.clone()).contains(told), "{told}: {}", tried(tls));
    }
}
