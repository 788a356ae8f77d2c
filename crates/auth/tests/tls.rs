//! The transport: version 1.3 only, X25519MLKEM768 first, and the certificates.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use rustls::NamedGroup;
use rustls::pki_types::ServerName;
use sealstone_auth::config::TlsMode;
use sealstone_auth::{Config, Error, Server, World, tls};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::support::{Running, config};

async fn shake(
    server: &Running,
    config: rustls::ClientConfig,
) -> Result<(NamedGroup, String), std::io::Error> {
    let stream = TcpStream::connect(server.address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    let session = stream.get_ref().1;
    let alpn = String::from_utf8_lossy(session.alpn_protocol().unwrap_or_default()).into_owned();
    assert_eq!(session.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
    Ok((session.negotiated_key_exchange_group().unwrap().name(), alpn))
}

#[tokio::test]
async fn x25519mlkem768_is_negotiated_whatever_the_client_prefers() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(config(directory.path())).await;
    let tls13 = &[&rustls::version::TLS13];
    let (group, alpn) = shake(&server, server.tls("h2", tls13)).await.unwrap();
    assert_eq!((group, alpn.as_str()), (NamedGroup::X25519MLKEM768, "h2"));
    assert_eq!(shake(&server, server.tls("http/1.1", tls13)).await.unwrap().1, "http/1.1");

    use rustls::crypto::aws_lc_rs::kx_group;
    for (groups, expected) in [
        (vec![kx_group::X25519, kx_group::X25519MLKEM768], NamedGroup::X25519MLKEM768),
        (vec![kx_group::X25519], NamedGroup::X25519),
        (vec![kx_group::SECP384R1], NamedGroup::secp384r1),
    ] {
        let mut config = server.tls("h2", tls13);
        let mut provider = (**config.crypto_provider()).clone();
        provider.kx_groups = groups;
        config = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(tls13)
            .unwrap()
            .with_root_certificates(roots(&server))
            .with_no_client_auth();
        assert_eq!(shake(&server, config).await.unwrap().0, expected);
    }
    server.stop().await;
}

fn roots(server: &Running) -> rustls::RootCertStore {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(server.certificate_pem.as_bytes()).unwrap()).unwrap();
    roots
}

#[tokio::test]
async fn rfc8446_s4_2_1_tls_1_2_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(config(directory.path())).await;
    let refused = shake(&server, server.tls("h2", &[&rustls::version::TLS12])).await.unwrap_err();
    assert!(refused.to_string().contains("ProtocolVersion"), "{refused}");
    server.stop().await;
}

#[tokio::test]
async fn rfc7301_s3_2_an_unknown_protocol_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(config(directory.path())).await;
    assert!(shake(&server, server.tls("spdy/3", &[&rustls::version::TLS13])).await.is_err());
    server.stop().await;
}

#[tokio::test]
async fn the_self_signed_certificate_is_left_for_clients() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(config(directory.path())).await;
    let path = directory.path().join("data/tls-self-signed.pem");
    let pem = std::fs::read_to_string(path).unwrap();
    assert_eq!(pem, server.certificate_pem);
    assert!(!pem.contains("PRIVATE"));
    assert_eq!(std::fs::metadata(directory.path().join("data")).unwrap().permissions().mode() & 0o777, 0o700);
    server.stop().await;
}

/// Writes a certificate with its key, as another program would.
fn write_identity(directory: &std::path::Path, names: &[&str]) -> (std::path::PathBuf, std::path::PathBuf) {
    let key = rcgen::KeyPair::generate().unwrap();
    let parameters =
        rcgen::CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let certificate = parameters.unwrap().self_signed(&key).unwrap();
    let (chain, private) = (directory.join("chain.pem"), directory.join("key.pem"));
    std::fs::write(&chain, certificate.pem()).unwrap();
    std::fs::write(&private, key.serialize_pem()).unwrap();
    std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o600)).unwrap();
    (chain, private)
}

fn from_files(directory: &std::path::Path, chain: &std::path::Path, key: &std::path::Path) -> Config {
    let mut config = config(directory);
    config.tls.mode = TlsMode::Files;
    config.tls.certificate = Some(chain.into());
    config.tls.key = Some(key.into());
    config
}

#[tokio::test]
async fn a_certificate_from_files_is_presented() {
    let directory = tempfile::tempdir().unwrap();
    let (chain, key) = write_identity(directory.path(), &["localhost", "127.0.0.1"]);
    let server = Running::start(from_files(directory.path(), &chain, &key)).await;
    assert_eq!(server.certificate_pem, std::fs::read_to_string(&chain).unwrap());
    shake(&server, server.tls("h2", &[&rustls::version::TLS13])).await.unwrap();
    assert!(!directory.path().join("data/tls-self-signed.pem").exists());
    server.stop().await;
}

#[tokio::test]
async fn each_unusable_certificate_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (chain, key) = write_identity(directory.path(), &["localhost"]);
    let elsewhere = directory.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let (_, foreign) = write_identity(&elsewhere, &["localhost"]);
    let empty = directory.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    let open = elsewhere.join("open.pem");
    std::fs::copy(&key, &open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o604)).unwrap();
    let missing = directory.path().join("missing.pem");
    for (chain, key, said) in [
        (&missing, &key, "missing.pem"),
        (&chain, &missing, "missing.pem"),
        (&empty, &key, "no certificate in it"),
        (&chain, &chain, "chain.pem"),
        (&chain, &open, "0604"),
        (&chain, &foreign, "key"),
    ] {
        let refused =
            Server::bind(from_files(directory.path(), chain, key), World::default()).await.unwrap_err();
        assert!(matches!(refused, Error::Certificate { .. }), "{refused}");
        assert!(refused.to_string().to_lowercase().contains(said), "{refused}");
        assert!(!refused.to_string().contains("BEGIN"), "no content in an error");
    }
}

#[test]
fn a_self_signed_identity_shows_no_key() {
    let identity = tls::self_signed(&["localhost".into(), "127.0.0.1".into()]).unwrap();
    assert!(identity.certificate_pem().starts_with("-----BEGIN CERTIFICATE-----"));
    assert_eq!(format!("{identity:?}"), "Identity(..)");
    assert_ne!(
        identity.certificate_der(),
        tls::self_signed(&["localhost".into()]).unwrap().certificate_der()
    );
}
