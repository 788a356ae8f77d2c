//! TLS to the broker: whom the gateway trusts, who it is, and two threads on one connection.

use crate::broker::{Mosquitto, message, options};
use crate::peer::Peer;
use crate::place::{Running, config_with, devices, sealed};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sealstone_mldsa::Level;
use sealstone_mqtt::gateway::client::Client;
use sealstone_mqtt::gateway::config::{Broker, Config, Tls};
use sealstone_mqtt::gateway::link::Options;
use sealstone_mqtt::gateway::wire::{Packet, Publish, Qos, Version};
use sealstone_mqtt::{Form, Number};
use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const TOPIC: &str = "device/44/telemetry/temp";

/// An authority's files in a folder: `ca.pem`, `broker.pem` of 127.0.0.1 and `localhost`, `client.pem`, and a key beside each.
pub(crate) struct Papers(PathBuf);

impl Papers {
    pub(crate) fn new(folder: &Path) -> Self {
        Self::named(folder, "authority")
    }

    fn named(folder: &Path, authority: &str) -> Self {
        Self::with(folder, authority, &["127.0.0.1", "localhost"], 2040)
    }

    /// The broker's certificate is of these names, and of the years from 2020 until before this one.
    fn with(folder: &Path, authority: &str, names: &[&str], until: i32) -> Self {
        fs::create_dir_all(folder).unwrap();
        let params = |names: &[&str], common: &str| {
            let mut params =
                CertificateParams::new(names.iter().map(|&name| name.into()).collect::<Vec<_>>()).unwrap();
            params.distinguished_name.push(DnType::CommonName, common);
            params.not_before = rcgen::date_time_ymd(2020, 1, 1);
            params.not_after = rcgen::date_time_ymd(2040, 1, 1);
            params
        };
        let mut authority = params(&[], authority);
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = authority.self_signed(&key).unwrap();
        fs::write(folder.join("ca.pem"), certificate.pem()).unwrap();
        let issuer = Issuer::new(authority, key);
        let mut broker = params(names, "broker");
        broker.not_after = rcgen::date_time_ymd(until, 1, 1);
        broker.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let mut client = params(&[], "gateway");
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        for (name, params) in [("broker", broker), ("client", client)] {
            let key = KeyPair::generate().unwrap();
            fs::write(folder.join(format!("{name}.pem")), params.signed_by(&key, &issuer).unwrap().pem())
                .unwrap();
            let path = folder.join(format!("{name}.key"));
            fs::write(&path, key.serialize_pem()).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        Papers(folder.to_owned())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A listener of Mosquitto's, which demands a certificate or does not.
    pub(crate) fn listener(&self, demands: bool) -> String {
        let (ca, certificate, key) = (self.file("ca.pem"), self.file("broker.pem"), self.file("broker.key"));
        format!(
            "cafile {}\ncertfile {}\nkeyfile {}\nrequire_certificate {demands}\ntls_version tlsv1.3\nallow_anonymous true\n",
            ca.display(),
            certificate.display(),
            key.display()
        )
    }

    /// `[broker] tls` of one with a certificate.
    pub(crate) fn toml(&self) -> String {
        let (ca, certificate, key) = (self.file("ca.pem"), self.file("client.pem"), self.file("client.key"));
        format!("tls = {{ ca = {ca:?}, certificate = {certificate:?}, key = {key:?} }}")
    }

    pub(crate) fn tls(&self) -> Tls {
        Tls {
            ca: Some(self.file("ca.pem")),
            certificate: Some(self.file("client.pem")),
            key: Some(self.file("client.key")),
            server_name: None,
        }
    }

    /// How a client of a test connects.
    pub(crate) fn options(&self, plain: Options) -> Options {
        let broker = Broker { address: plain.address.clone(), tls: Some(self.tls()), ..Broker::default() };
        Options { tls: Options::of(&broker).unwrap().tls, ..plain }
    }
}

/// A connection that must fail, and what is said then.
fn refused(port: u16, host: &str, tls: Tls) -> String {
    let broker = Broker { address: format!("mqtts://{host}:{port}"), tls: Some(tls), ..Broker::default() };
    let secured = Options::of(&broker).unwrap();
    let plain = options(port, Version::V5, "reader", false);
    let options = Options { address: secured.address, tls: secured.tls, ..plain };
    // Under TLS 1.3 the client is done before the server looks at its certificate: then the first answer says so.
    Client::connect(&options).map(|_| ()).expect_err(host).to_string()
}

/// From a device through a broker with TLS to a reader, by addresses and names that the certificate has; in both versions.
#[test]
fn what_is_genuine_arrives_under_tls() {
    for (version, name) in [(Version::V5, "5"), (Version::V311, "3.1.1")] {
        let folder = tempfile::tempdir().unwrap();
        let papers = Papers::new(&folder.path().join("papers"));
        let broker = Mosquitto::start_with(folder.path(), &papers.listener(true));
        devices(folder.path());
        let gateway = Running::start(config_with(folder.path(), broker.port, name, "", &papers.toml()));
        let connect = |name| {
            let plain = options(broker.port, version, name, false);
            Client::connect(
                &papers.options(Options { address: format!("localhost:{}", broker.port), ..plain }),
            )
            .unwrap()
            .0
        };
        let (mut reader, mut writer) = (connect("reader"), connect("writer"));
        reader.subscribe(&["clean/#"], Qos::ExactlyOnce).unwrap();
        // Longer than many records, and an empty one.
        let payloads = [vec![7; 700_000], Vec::new(), b"21.5".to_vec()];
        for (sequence, payload) in payloads.iter().enumerate() {
            let number = Number { epoch: 1, sequence: sequence as u32 };
            writer
                .publish(message(TOPIC, &sealed(Form::V1, Level::MlDsa44, TOPIC, payload, number)))
                .unwrap();
        }
        for payload in &payloads {
            let came = reader.next(Duration::from_secs(30)).unwrap().expect("a message");
            assert!(came.payload == *payload, "MQTT {name}: {} bytes", came.payload.len());
        }
        gateway.stop().unwrap();
    }
}

#[test]
fn a_broker_that_is_not_the_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let papers = Papers::new(&folder.path().join("papers"));
    let other = Papers::new(&folder.path().join("other"));
    let broker = Mosquitto::start_with(folder.path(), &papers.listener(false));
    let trusting = |papers: &Papers| Tls { ca: Some(papers.file("ca.pem")), ..Tls::default() };
    let port = broker.port;
    // Of the same name, and of another.
    let unlike = Papers::named(&folder.path().join("unlike"), "another authority");
    for other in [&other, &unlike] {
        let why = refused(port, "127.0.0.1", trusting(other));
        assert_eq!(why, "its certificate is of no authority that is trusted");
    }
    let named = Tls { server_name: Some("broker.example.org".into()), ..trusting(&papers) };
    assert_eq!(refused(port, "127.0.0.1", named), "its certificate is of another name");
    drop(broker);

    let old = Papers::with(&folder.path().join("old"), "authority", &["127.0.0.1"], 2024);
    let broker = Mosquitto::start_with(&folder.path().join("old"), &old.listener(false));
    assert_eq!(refused(broker.port, "127.0.0.1", trusting(&old)), "its certificate has expired");
    drop(broker);

    // The gateway says the same, and goes on trying.
    let broker = Mosquitto::start_with(folder.path(), &papers.listener(false));
    devices(folder.path());
    let ca = format!("tls = {{ ca = {:?} }}", other.file("ca.pem"));
    let gateway = Running::start_alone(config_with(folder.path(), broker.port, "5", "", &ca));
    for _ in 0..2 {
        let why = gateway.until("Disconnected");
        assert!(why.contains("of no authority that is trusted"), "{why}");
    }
    gateway.stop().unwrap();
    // Without TLS there, and without TLS here.
    let plain = Mosquitto::start(&folder.path().join("plain"));
    let why = refused(plain.port, "127.0.0.1", trusting(&papers));
    assert!(why.contains("is this its port for TLS?"), "{why}");
    let why = Client::connect(&options(broker.port, Version::V5, "reader", false)).map(|_| ()).unwrap_err();
    assert!(!why.to_string().is_empty());
}

#[test]
fn a_broker_that_demands_a_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let papers = Papers::new(&folder.path().join("papers"));
    let other = Papers::new(&folder.path().join("other"));
    let broker = Mosquitto::start_with(folder.path(), &papers.listener(true));
    let none = Tls { certificate: None, key: None, ..papers.tls() };
    assert_eq!(refused(broker.port, "127.0.0.1", none), "it demands a certificate of ours");
    let foreign = Tls { ca: Some(papers.file("ca.pem")), ..other.tls() };
    assert_eq!(refused(broker.port, "127.0.0.1", foreign), "it does not trust our certificate");
    let unlike = Papers::named(&folder.path().join("unlike"), "another authority");
    let foreign = Tls { ca: Some(papers.file("ca.pem")), ..unlike.tls() };
    assert_eq!(refused(broker.port, "127.0.0.1", foreign), "it does not trust our certificate");
}

/// What an operator got wrong is said before anything connects.
#[test]
fn files_and_names_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let papers = Papers::new(folder.path());
    let why = |tls: Tls| {
        let broker = Broker { address: "mqtts://localhost".into(), tls: Some(tls), ..Broker::default() };
        Options::of(&broker).map(|_| ()).unwrap_err().to_string()
    };
    let file = |name: &str| Some(papers.file(name));
    assert!(why(Tls { ca: file("none.pem"), ..papers.tls() }).contains("none.pem"));
    assert!(why(Tls { ca: file("client.key"), ..papers.tls() }).contains("no certificate in it"));
    assert!(
        !why(Tls { key: file("broker.key"), ..papers.tls() }).is_empty(),
        "the key of another certificate"
    );
    assert!(why(Tls { server_name: Some("a b".into()), ..papers.tls() }).contains("no name of a server"));
    fs::set_permissions(papers.file("client.key"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(why(papers.tls()).contains("mode 0644 lets everyone in"));
    let half = Config::parse("[broker]\ntls = { certificate = \"a.pem\" }\n", None).unwrap_err();
    assert!(half.to_string().contains("2:1: `certificate` and `key` of `tls` belong together"), "{half}");
    for (address, reached) in [
        ("mqtts://localhost", "localhost:8883"),
        ("mqtts://localhost:1", "localhost:1"),
        ("mqtts://[::1]", "[::1]:8883"),
        ("mqtts://[::1]:1", "[::1]:1"),
        ("127.0.0.1:1", "127.0.0.1:1"),
    ] {
        let tls = Some(Tls { ca: file("ca.pem"), ..Tls::default() });
        let options = Options::of(&Broker { address: address.into(), tls, ..Broker::default() }).unwrap();
        assert_eq!((options.address.as_str(), options.tls.is_some()), (reached, true));
    }
    assert!(Options::of(&Broker::default()).unwrap().tls.is_none());
}

/// A broker of ours under TLS.
impl Peer<StreamOwned<ServerConnection, TcpStream>> {
    fn under_tls(listener: &TcpListener, papers: &Papers) -> Self {
        let chain = vec![CertificateDer::from_pem_file(papers.file("broker.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(papers.file("broker.key")).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let stream = listener.accept().unwrap().0;
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let stream = StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), stream);
        let mut peer = Peer::over(stream);
        assert!(matches!(peer.read(), Packet::Connect(_)));
        peer.send(Packet::ConnAck { session_present: false, code: 0, properties: Box::default() });
        peer.subscribed();
        peer
    }
}

/// A broker that takes nothing while it delivers more than all buffers hold, and asks for new keys in between: the gateway's
/// writer waits for it, its reader does not, and on the same connection everything arrives, once.
#[test]
fn a_broker_that_is_slow_to_take_does_not_stop_what_it_gives() {
    let folder = tempfile::tempdir().unwrap();
    let papers = Papers::new(&folder.path().join("papers"));
    devices(folder.path());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // What is unsigned is sent back as it came, and never to the disk.
    let more = "topics.dead_letters_per_second = 1000000\n";
    let gateway = Running::start_alone(config_with(folder.path(), port, "5", more, &papers.toml()));
    let mut peer = Peer::under_tls(&listener, &papers);
    let exchange = peer.stream.conn.negotiated_key_exchange_group().map(|group| group.name());
    assert_eq!(exchange, Some(rustls::NamedGroup::X25519MLKEM768));
    const COUNT: u16 = 440;
    for id in 1..=COUNT {
        if id % 100 == 0 {
            peer.stream.conn.refresh_traffic_keys().unwrap();
        }
        let mut payload = vec![b'0'; 64_000];
        payload[1..3].copy_from_slice(&id.to_be_bytes());
        let topic = TOPIC.to_owned();
        let publish = Publish { qos: Qos::AtLeastOnce, id, topic, payload, ..Publish::default() };
        peer.send(Packet::Publish(Box::new(publish)));
        if id <= 40 {
            gateway.until("Refused");
        }
    }
    let (mut copied, mut acknowledged) = (BTreeMap::new(), 0);
    while acknowledged < COUNT || copied.len() < usize::from(COUNT) {
        match peer.read() {
            Packet::Publish(copy) => {
                *copied.entry([copy.payload[1], copy.payload[2]]).or_insert(0) += 1;
                peer.send(Packet::PubAck { id: copy.id, reason: 0 });
            }
            Packet::PubAck { .. } => acknowledged += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(copied.values().all(|count| *count == 1), "{copied:?}");
    gateway.stop().unwrap();
}
