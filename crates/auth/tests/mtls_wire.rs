//! Mutual TLS over a real connection: what a handshake shows, and what is bound to it. RFC 8705.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{DnType, KeyPair, SanType};
use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use sealstone_auth::config::{ClientCertificates, TlsMode};
use sealstone_auth::{AuthMethod, Config, Error, NewClient};
use sealstone_jose::Algorithm;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::authority::{Authority, Identity, subject, text, with_names, worker};
use crate::mtls::{jwk_of, jwks, named, registered};
use crate::support::{Answer, Credentials, Running, config, log_capture};

const GRANT: &str = "grant_type=client_credentials&client_id=worker";

/// A configuration that trusts `authority`.
pub fn trusting(directory: &tempfile::TempDir, authority: &Authority) -> Config {
    let path = directory.path().join("clients.pem");
    std::fs::write(&path, authority.certificate.pem()).unwrap();
    let mut config = config(directory.path());
    config.tls.client_ca = Some(path);
    config
}

pub fn tls(server: &Running, alpn: &str, identity: Option<&Identity>) -> ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(server.certificate_pem.as_bytes()).unwrap()).unwrap();
    let builder =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots);
    let mut config = match identity {
        Some(identity) => {
            builder.with_client_auth_cert(identity.chain.clone(), identity.private_key()).unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
    config
}

async fn connect(server: &Running, config: ClientConfig) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(server.address).await?;
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("127.0.0.1").unwrap(), stream).await
}

fn form(server: &Running, path: &str, form: &str) -> Request<Full<Bytes>> {
    let request = server.request("POST", path).header("content-type", "application/x-www-form-urlencoded");
    request.body(Full::from(form.to_owned())).unwrap()
}

/// One request on a connection of its own; `None` if the connection does not come to one.
pub async fn send(server: &Running, config: ClientConfig, request: Request<Full<Bytes>>) -> Option<Answer> {
    let h2 = config.alpn_protocols == [b"h2".to_vec()];
    let io = TokioIo::new(connect(server, config).await.ok()?);
    let response = if h2 {
        let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await;
        let (mut sender, connection) = handshake.ok()?;
        tokio::spawn(connection);
        sender.send_request(request).await.ok()?
    } else {
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.ok()?;
        tokio::spawn(connection);
        sender.send_request(request).await.ok()?
    };
    Some(Answer::read(response).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rfc8705_s2_and_s3_over_the_wire() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), Authority::new("root"));
    let server = Running::start(trusting(&directory, &authority)).await;
    let new = named("tls_client_auth_subject_dn", "CN=worker,O=Example");
    server.enrol(NewClient { tls_client_certificate_bound_access_tokens: true, ..new }).await;
    let metadata = server.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(metadata["tls_client_certificate_bound_access_tokens"], true);
    for method in ["tls_client_auth", "self_signed_tls_client_auth"] {
        assert!(
            metadata["token_endpoint_auth_methods_supported"].as_array().unwrap().contains(&json!(method))
        );
    }
    assert!(metadata.get("mtls_endpoint_aliases").is_none(), "one listener is enough");

    let identity = authority.certify(&worker());
    for alpn in ["http/1.1", "h2"] {
        let answer =
            send(&server, tls(&server, alpn, Some(&identity)), form(&server, "/token", GRANT)).await.unwrap();
        assert_eq!(answer.status, 200, "{:?}", answer.body);
        assert_eq!(answer.json()["token_type"], "Bearer", "RFC 8705 §3");
        let token = answer.json()["access_token"].as_str().unwrap().to_owned();
        let claims: Value =
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap())
                .unwrap();
        // By other hands: openssl would say the same of the certificate.
        let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &identity.chain[0]);
        assert_eq!(claims["cnf"], json!({"x5t#S256": URL_SAFE_NO_PAD.encode(hash)}));
        let own = format!("token={token}&client_id=worker");
        let said = send(&server, tls(&server, alpn, Some(&identity)), form(&server, "/introspect", &own))
            .await
            .unwrap();
        assert_eq!(
            (&said.json()["active"], &said.json()["cnf"]),
            (&json!(true), &claims["cnf"]),
            "RFC 8705 §3.2"
        );
        let done =
            send(&server, tls(&server, alpn, Some(&identity)), form(&server, "/revoke", &own)).await.unwrap();
        assert_eq!(done.status, 200);
        let said = send(&server, tls(&server, alpn, Some(&identity)), form(&server, "/introspect", &own))
            .await
            .unwrap();
        assert_eq!(said.json()["active"], false);
    }
    // Without one, and with a stranger's: the same answer.
    let stranger = Authority::new("root").certify(&worker());
    let mut bodies = Vec::new();
    for identity in [None, Some(&stranger), Some(&Identity::self_signed(&worker()))] {
        let answer =
            send(&server, tls(&server, "h2", identity), form(&server, "/token", GRANT)).await.unwrap();
        assert_eq!(answer.refusal(), (401, "invalid_client".into()));
        bodies.push(answer.body);
    }
    assert_eq!(bodies[1], bodies[2]);
    // Whoever has no certificate is served as before, and whoever has one and a secret too.
    assert_eq!(server.post("/token", "grant_type=client_credentials").await.status, 200);
    let answer = send(
        &server,
        tls(&server, "h2", Some(&stranger)),
        server.form("/token", "grant_type=client_credentials"),
    )
    .await;
    assert_eq!(answer.unwrap().status, 200, "a certificate beside a secret is nobody's business");
    server.stop().await;
}

/// RFC 8446 §4.6.1: a resumed connection has the certificate of the first, and no one else's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resumed_connection_keeps_its_certificate() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), Authority::new("root"));
    let server = Running::start(trusting(&directory, &authority)).await;
    server.enrol(named("tls_client_auth_subject_dn", "CN=worker,O=Example")).await;
    let config = Arc::new(tls(&server, "http/1.1", Some(&authority.certify(&worker()))));
    let mut resumed = 0;
    for round in 0..3 {
        let stream = TcpStream::connect(server.address).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let stream = TlsConnector::from(config.clone()).connect(name, stream).await.unwrap();
        resumed += usize::from(stream.get_ref().1.handshake_kind() == Some(rustls::HandshakeKind::Resumed));
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let answer = Answer::read(sender.send_request(form(&server, "/token", GRANT)).await.unwrap()).await;
        assert_eq!(answer.status, 200, "round {round}: {:?}", answer.body);
    }
    assert!(resumed > 0, "nothing was resumed");
    server.stop().await;
}

/// RFC 9881: certificates of ML-DSA-87 to the root, nearly 18 kB of them. The handshake carries them, a ticket does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_post_quantum_chain() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), Authority::new("root"));
    let server = Running::start(trusting(&directory, &authority)).await;
    server.enrol(named("tls_client_auth_subject_dn", "CN=worker,O=Example")).await;
    let upper = authority.below_with("upper", &rcgen::PKCS_ML_DSA_87, |_| {});
    let lower = upper.below_with("lower", &rcgen::PKCS_ML_DSA_87, |_| {});
    let identity = lower.certify_with(&worker(), &rcgen::PKCS_ML_DSA_87);
    let bytes: usize = identity.chain.iter().map(|certificate| certificate.len()).sum();
    assert!(identity.chain.len() == 3 && bytes > 17_000, "{bytes}");
    for alpn in ["http/1.1", "h2"] {
        let answer = send(&server, tls(&server, alpn, Some(&identity)), form(&server, "/token", GRANT)).await;
        assert_eq!(answer.expect("a connection").status, 200);
    }
    server.stop().await;
}

/// A certificate is public: who does not hold its key gets no connection.
#[tokio::test]
async fn somebody_elses_certificate() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), Authority::new("root"));
    let server = Running::start(trusting(&directory, &authority)).await;
    server.enrol(named("tls_client_auth_subject_dn", "CN=worker,O=Example")).await;
    let mut posed = authority.certify(&worker());
    posed.key = KeyPair::generate().unwrap();
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let key = provider.key_provider.load_private_key(posed.private_key()).unwrap();
    let pair = rustls::sign::CertifiedKey::new(posed.chain.clone(), key);
    let mut config = tls(&server, "http/1.1", None);
    config.client_auth_cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(pair));
    assert!(send(&server, config, form(&server, "/token", GRANT)).await.is_none());
    server.stop().await;
}

/// What a handshake may hold: a chain that is long, large or malformed ends it, and the server goes on.
#[tokio::test]
async fn chains_that_are_too_much() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), Authority::new("root"));
    let server = Running::start(trusting(&directory, &authority)).await;
    server.enrol(named("tls_client_auth_subject_dn", "CN=worker,O=Example")).await;
    let with = |more: Vec<CertificateDer<'static>>| {
        let mut identity = authority.certify(&worker());
        identity.chain.extend(more);
        identity
    };
    let ask = async |identity: &Identity| {
        let answer =
            send(&server, tls(&server, "http/1.1", Some(identity)), form(&server, "/token", GRANT)).await;
        answer.map(|answer| answer.status.as_u16())
    };
    let filler = || authority.certificate.der().clone();
    assert_eq!(ask(&with(vec![filler(); 7])).await, Some(200));
    assert_eq!(ask(&with(vec![filler(); 8])).await, None, "nine certificates");
    let large =
        Identity::self_signed(&with_names(&[SanType::URI(text(&"u".repeat(16_000)))])).chain[0].clone();
    assert_eq!(ask(&with(vec![large.clone()])).await, Some(200), "16 kB");
    assert_eq!(ask(&with(vec![large; 2])).await, None, "32 kB");
    let junk = Identity { chain: vec![CertificateDer::from(vec![0x30, 0x00])], ..with(vec![]) };
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let key = provider.key_provider.load_private_key(junk.private_key()).unwrap();
    let mut config = tls(&server, "http/1.1", None);
    let pair = rustls::sign::CertifiedKey::new(junk.chain.clone(), key);
    config.client_auth_cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(pair));
    assert!(send(&server, config, form(&server, "/token", GRANT)).await.is_none(), "not a certificate");
    assert_eq!(ask(&with(vec![])).await, Some(200));
    server.stop().await;
}

/// RFC 9440 and its homemade kin: a header is what anybody writes. RFC 9700 §4.13.
#[tokio::test]
async fn rfc9700_s4_13_a_certificate_in_a_header() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), Authority::new("root"));
    let server = Running::start(trusting(&directory, &authority)).await;
    let new = named("tls_client_auth_subject_dn", "CN=worker,O=Example");
    server.enrol(NewClient { tls_client_certificate_bound_access_tokens: true, ..new }).await;
    let der = authority.certify(&worker()).chain[0].clone();
    let pem = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(&der));
    let escaped: String = pem.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for (name, value) in [
        ("client-cert", format!(":{}:", STANDARD.encode(&der))),
        ("x-client-cert", STANDARD.encode(&der)),
        ("x-forwarded-client-cert", format!("Cert=\"{escaped}\"")),
        ("x-ssl-cert", escaped.clone()),
        ("ssl-client-cert", escaped.clone()),
        ("x-client-certificate-subject", "CN=worker,O=Example".into()),
        ("x-ssl-client-s-dn", "CN=worker,O=Example".into()),
        ("ssl_client_verify", "SUCCESS".into()),
    ] {
        let mut request = form(&server, "/token", GRANT);
        request.headers_mut().insert(name, value.parse().unwrap());
        let answer = send(&server, tls(&server, "http/1.1", None), request).await.unwrap();
        assert_eq!(answer.refusal(), (401, "invalid_client".into()), "{name}");
    }
    server.stop().await;
}

/// RFC 8705 §4: a client of any method may have bound tokens; without a certificate it gets none.
#[tokio::test]
async fn rfc8705_s3_and_s4_bound_tokens_of_every_client() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(config(directory.path())).await;
    let new = NewClient {
        algorithm: Algorithm::Es256,
        tls_client_certificate_bound_access_tokens: true,
        ..NewClient::default()
    };
    let (client, secret) = server.admin.add_client(new).await.unwrap();
    server.enrol(NewClient { id: Some("last".into()), ..NewClient::default() }).await;
    let who = Credentials { id: client.id, secret: secret.unwrap().reveal().to_owned() };
    let request = || {
        let mut request = form(&server, "/token", "grant_type=client_credentials");
        request.headers_mut().insert("authorization", who.basic().parse().unwrap());
        request
    };
    let bare = send(&server, tls(&server, "http/1.1", None), request()).await.unwrap();
    assert_eq!(bare.refusal(), (400, "invalid_request".into()), "no certificate");
    let (one, other) = (Identity::self_signed(&worker()), Identity::self_signed(&worker()));
    let mut bound = Vec::new();
    for identity in [&one, &other, &one] {
        let answer = send(&server, tls(&server, "http/1.1", Some(identity)), request()).await.unwrap();
        let token = answer.json()["access_token"].as_str().unwrap().to_owned();
        let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
        bound.push(serde_json::from_slice::<Value>(&claims).unwrap()["cnf"]["x5t#S256"].clone());
    }
    assert!(bound[0].is_string() && bound[0] == bound[2] && bound[0] != bound[1]);
    // A client that is not to have bound tokens has none, whatever it shows.
    let answer = send(
        &server,
        tls(&server, "http/1.1", Some(&one)),
        server.form("/token", "grant_type=client_credentials"),
    )
    .await;
    let token = answer.unwrap().json()["access_token"].as_str().unwrap().to_owned();
    assert!(
        !String::from_utf8(URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap())
            .unwrap()
            .contains("cnf")
    );
    server.stop().await;
}

/// Where nobody is asked for a certificate, nobody can be registered by one, and the metadata promises none.
#[tokio::test]
async fn without_client_certificates() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), Authority::new("root"));
    let mut never = config(directory.path());
    never.tls.client_certificates = ClientCertificates::Never;
    let mut plain = config(directory.path());
    plain.tls.mode = TlsMode::PlainLoopback;
    for config in [never, plain] {
        let admin = sealstone_auth::Admin::open(&config).unwrap();
        for new in [
            named("tls_client_auth_subject_dn", "CN=worker,O=Example"),
            registered(&jwks(&[jwk_of(&Identity::self_signed(&worker()))])),
            NewClient { tls_client_certificate_bound_access_tokens: true, ..NewClient::default() },
        ] {
            let error = admin.add_client(new).await.unwrap_err();
            assert!(error.hint().unwrap().contains("tls.client_certificates"), "{error}");
        }
    }
    let error = sealstone_auth::Admin::open(&config(directory.path())).unwrap();
    let error = error.add_client(named("tls_client_auth_san_dns", "a.example")).await.unwrap_err();
    assert!(error.hint().unwrap().contains("tls.client_ca"), "{error}");

    let mut never = config(directory.path());
    never.tls.client_certificates = ClientCertificates::Never;
    let server = Running::start(never).await;
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(metadata["tls_client_certificate_bound_access_tokens"], false);
    let methods = metadata["token_endpoint_auth_methods_supported"].clone();
    let names = AuthMethod::ALL.map(AuthMethod::name);
    let unasked = names.into_iter().filter(|name| !name.contains("tls") && !name.contains("kerberos"));
    assert_eq!(methods, json!(unasked.collect::<Vec<_>>()));
    let identity = authority.certify(&worker());
    let answer =
        send(&server, tls(&server, "http/1.1", Some(&identity)), form(&server, "/token", GRANT)).await;
    assert_eq!(answer.unwrap().refusal(), (401, "invalid_client".into()));
    server.stop().await;
}

#[tokio::test]
async fn a_client_ca_that_is_none() {
    let directory = tempfile::tempdir().unwrap();
    for (content, what) in [
        ("", "no certificate in it"),
        ("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n", "certificate 1"),
    ] {
        let path = directory.path().join("ca.pem");
        std::fs::write(&path, content).unwrap();
        let mut config = config(directory.path());
        config.tls.client_ca = Some(path);
        let error = sealstone_auth::Server::bind(config, Default::default()).await.unwrap_err();
        assert!(matches!(&error, Error::Certificate { what: said } if said.contains(what)), "{error}");
    }
}

/// What the operator reads of a wrong certificate, and that the peer reads nothing of it.
#[tokio::test]
async fn the_log_says_which_certificate_came() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), Authority::new("root"));
    let server = Running::start(trusting(&directory, &authority)).await;
    server.enrol(named("tls_client_auth_subject_dn", "CN=worker,O=Example")).await;
    let identity = authority.certify(&subject(&[(DnType::CommonName, "impostor of the log")]));
    let answer = send(&server, tls(&server, "http/1.1", Some(&identity)), form(&server, "/token", GRANT))
        .await
        .unwrap();
    assert!(!String::from_utf8_lossy(&answer.body).contains("impostor"));
    assert!(log_capture().text().contains("its subject is `CN=impostor of the log`"));
    server.stop().await;
}

/// A resource of this server opens to a bound token only on a connection with its certificate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rfc8705_s3_a_bound_token_at_a_resource() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), Authority::new("root"));
    let mut config = trusting(&directory, &authority);
    config.registration.enabled = true;
    let server = Running::start(config).await;
    let new = named("tls_client_auth_subject_dn", "CN=worker,O=Example");
    let scopes = crate::support::names(&["sealstone:register"]);
    server.enrol(NewClient { scopes, tls_client_certificate_bound_access_tokens: true, ..new }).await;
    let identity = authority.certify(&worker());
    let answer =
        send(&server, tls(&server, "h2", Some(&identity)), form(&server, "/token", GRANT)).await.unwrap();
    let token = answer.json()["access_token"].as_str().unwrap().to_owned();
    let register = |scheme: &str| {
        let request = server.request("POST", "/register").header("content-type", "application/json");
        let request = request.header("authorization", format!("{scheme} {token}"));
        request.body(Full::from(r#"{"redirect_uris": ["https://shop.example/callback"]}"#)).unwrap()
    };
    let (another, none) = (Some(authority.certify(&worker())), None);
    for wrong in [&another, &none] {
        let answer = send(&server, tls(&server, "h2", wrong.as_ref()), register("Bearer")).await.unwrap();
        assert_eq!(answer.refusal(), (401, "invalid_token".into()));
    }
    let answer = send(&server, tls(&server, "h2", Some(&identity)), register("DPoP")).await.unwrap();
    assert_eq!(answer.refusal(), (401, "invalid_token".into()), "it is no DPoP token");
    let answer = send(&server, tls(&server, "h2", Some(&identity)), register("Bearer")).await.unwrap();
    assert_eq!(answer.status, 201);
    server.stop().await;
}
