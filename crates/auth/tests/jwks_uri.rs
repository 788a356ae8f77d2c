//! Keys that a client publishes elsewhere: when they are fetched, how often, and from where never.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_auth::config;
use sealstone_auth::outbound::address::is_allowed;
use sealstone_auth::outbound::{
    COOLDOWN_SECONDS, FRESH_SECONDS, KeySets, MAX_BYTES, Outbound, STALE_SECONDS,
};
use sealstone_auth::protocol::client_assertion::JWT_BEARER;
use sealstone_auth::protocol::{Code, OAuthError};
use sealstone_auth::{
    AssertionAudience, AssertionKeys, Clock, Error, HttpsUri, KeySource, NewAuthentication, NewClient,
};
use sealstone_jose::jwt::{self, Claims};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
use serde_json::json;

use crate::authority::{Authority, Identity, worker};
use crate::mtls::{client, jwk_of, jwks};
use crate::publisher::{Manner, Publisher, Told, server_identity};
use crate::support::{House, Running};

const ISSUER: &str = "https://auth.example.org";

fn signer(uri: &str) -> NewClient {
    let keys = KeySource::Url(HttpsUri::parse(uri).unwrap());
    client(NewAuthentication::PrivateKeyJwt(AssertionKeys { audience: AssertionAudience::Issuer, keys }))
}

fn published(keys: &[&PrivateKey]) -> String {
    JwkSet::new(keys.iter().map(|key| key.public().clone())).unwrap().to_json()
}

/// A house that fetches from `publisher` under any name, with a client `worker` whose keys are there.
async fn house(publisher: &Publisher, uri: &str) -> (Arc<House>, Arc<AtomicUsize>) {
    patient_house(publisher, uri, PATIENT).await
}

/// Longer than any fetch takes on a machine that is busy with other things.
const PATIENT: u64 = 60;

async fn patient_house(publisher: &Publisher, uri: &str, seconds: u64) -> (Arc<House>, Arc<AtomicUsize>) {
    let asked = Arc::<AtomicUsize>::default();
    let told = Told { addresses: vec![publisher.address], asked: asked.clone() };
    let mut house = House::build().await;
    house.key_sets = KeySets::new(patient_outbound(publisher, true, told, seconds));
    house.enrol(signer(uri)).await;
    (Arc::new(house), asked)
}

fn outbound(publisher: &Publisher, allow_private_addresses: bool, told: Told) -> Arc<Outbound> {
    patient_outbound(publisher, allow_private_addresses, told, PATIENT)
}

fn patient_outbound(
    publisher: &Publisher,
    allow_private_addresses: bool,
    told: Told,
    seconds: u64,
) -> Arc<Outbound> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ca.pem");
    std::fs::write(&path, &publisher.ca_pem).unwrap();
    let config = config::Outbound {
        allow_private_addresses,
        ca: Some(path),
        timeout_seconds: NonZeroU64::new(seconds).unwrap(),
    };
    // The file is read at the first fetch.
    std::mem::forget(directory);
    Arc::new(Outbound::new(&config, Arc::new(told)))
}

fn signed(house: &House, key: &PrivateKey, jti: &str) -> String {
    let now = house.clock.now().0;
    let about = Claims::new().with("iss", "worker").with("sub", "worker").with("aud", ISSUER);
    jwt::sign(key, "JWT", &about.with("iat", now).with("exp", now + 60).with("jti", jti)).unwrap()
}

async fn present(house: &House, assertion: &str) -> Result<String, OAuthError> {
    let kind = JWT_BEARER.replace(':', "%3A");
    house.authenticate(&[], None, &format!("client_assertion_type={kind}&client_assertion={assertion}")).await
}

async fn code(house: &House, key: &PrivateKey, jti: &str) -> Option<Code> {
    present(house, &signed(house, key, jti)).await.err().map(|error| error.code)
}

/// So many at the same time; how many came in.
async fn at_once(house: &Arc<House>, key: &PrivateKey, name: &str, count: usize) -> usize {
    let mut race = tokio::task::JoinSet::new();
    for n in 0..count {
        let (house, key, jti) = (house.clone(), key.clone(), format!("{name} {n}"));
        race.spawn(async move { code(&house, &key, &jti).await.is_none() });
    }
    race.join_all().await.into_iter().filter(|good| *good).count()
}

fn key() -> PrivateKey {
    PrivateKey::generate(Algorithm::Es256).unwrap()
}

#[tokio::test]
async fn five_minutes_and_then_with_the_etag() {
    let (old, new) = (key(), key());
    let publisher = Publisher::start(Manner::Publish { body: published(&[&old]), etag: "\"1\"" }).await;
    let (house, asked) = house(&publisher, "https://keys.example/jwks?a=b").await;
    for n in 0..10 {
        assert_eq!(code(&house, &old, &format!("fresh {n}")).await, None);
    }
    assert_eq!(publisher.connections(), 1, "ten requests");
    let head = publisher.requests()[0].to_ascii_lowercase();
    assert!(
        head.starts_with("get /jwks?a=b http/1.1\r\n") && head.contains("host: keys.example\r\n"),
        "{head}"
    );
    assert!(
        !head.contains("if-none-match") && !head.contains("authorization") && !head.contains("cookie"),
        "{head}"
    );
    house.clock.advance(FRESH_SECONDS - 1);
    assert_eq!(code(&house, &old, "still").await, None);
    assert_eq!(publisher.connections(), 1);
    house.clock.advance(1);
    assert_eq!(code(&house, &old, "again").await, None);
    assert_eq!(publisher.connections(), 2);
    assert!(publisher.requests()[1].to_ascii_lowercase().contains("if-none-match: \"1\"\r\n"));
    // 304 is as good as the document: for five minutes more.
    house.clock.advance(FRESH_SECONDS - 1);
    assert_eq!(code(&house, &old, "unchanged").await, None);
    assert_eq!(publisher.connections(), 2);
    // A key that is taken away is refused after five minutes at the latest.
    publisher.set(Manner::Publish { body: published(&[&new]), etag: "\"2\"" });
    house.clock.advance(1);
    assert_eq!(code(&house, &old, "gone").await, Some(Code::InvalidClient));
    assert_eq!(code(&house, &new, "new").await, None);
    assert_eq!(
        (publisher.connections(), asked.load(Ordering::SeqCst)),
        (3, 3),
        "a name is resolved once a fetch"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_with_an_unknown_kid_are_one_fetch() {
    let (known, unknown) = (key(), key());
    let publisher = Publisher::start(Manner::Publish { body: published(&[&known]), etag: "\"1\"" }).await;
    let (house, _) = house(&publisher, "https://keys.example/").await;
    assert_eq!(code(&house, &known, "first").await, None);
    assert_eq!(publisher.connections(), 1);
    // Just fetched: nobody who names a key that is not there makes the server fetch again.
    assert_eq!(at_once(&house, &unknown, "early", 1000).await, 0);
    assert_eq!(publisher.connections(), 1);
    house.clock.advance(COOLDOWN_SECONDS);
    assert_eq!(at_once(&house, &unknown, "later", 1000).await, 0);
    assert_eq!(publisher.connections(), 2, "one in the cooldown");
    assert_eq!(at_once(&house, &known, "meanwhile", 100).await, 100, "the known one is served");
    assert_eq!(publisher.connections(), 2);
    // The client rolls its key: the new one is known after the cooldown.
    publisher.set(Manner::Publish { body: published(&[&known, &unknown]), etag: "\"2\"" });
    assert_eq!(code(&house, &unknown, "rolled").await, Some(Code::InvalidClient));
    house.clock.advance(COOLDOWN_SECONDS);
    // Not more than may wait for one client's signatures.
    assert_eq!(at_once(&house, &unknown, "rolled", 200).await, 200);
    assert_eq!(publisher.connections(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_wait_for_one_slow_fetch() {
    let key = key();
    let after = Duration::from_millis(400);
    let publisher = Publisher::start(Manner::Slow { body: published(&[&key]), after }).await;
    let (house, _) = house(&publisher, "https://keys.example/").await;
    // Not more than may wait for one client's signatures.
    assert_eq!(at_once(&house, &key, "first", 200).await, 200);
    assert_eq!(publisher.connections(), 1);
}

/// Who asks and goes away does not take the fetch along.
#[tokio::test]
async fn a_request_that_is_given_up() {
    let key = key();
    let after = Duration::from_millis(300);
    let publisher = Publisher::start(Manner::Slow { body: published(&[&key]), after }).await;
    let (house, _) = house(&publisher, "https://keys.example/").await;
    let assertion = signed(&house, &key, "given up");
    let given_up = tokio::time::timeout(Duration::from_millis(100), present(&house, &assertion)).await;
    assert!(given_up.is_err(), "it had no time");
    assert_eq!(code(&house, &key, "second").await, None);
    assert_eq!(publisher.connections(), 1);
}

#[tokio::test]
async fn an_error_and_then_the_last_document() {
    let key = key();
    let body = published(&[&key]);
    let publisher = Publisher::start(Manner::Publish { body: body.clone(), etag: "\"1\"" }).await;
    let (house, _) = house(&publisher, "https://keys.example/").await;
    assert_eq!(code(&house, &key, "good").await, None);
    publisher.set(Manner::Say("HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n".into()));
    house.clock.advance(FRESH_SECONDS);
    for n in 0..10 {
        assert_eq!(code(&house, &key, &format!("stale {n}")).await, None);
    }
    assert_eq!(publisher.connections(), 2, "one attempt in the cooldown");
    house.clock.advance(STALE_SECONDS - FRESH_SECONDS - 1);
    assert_eq!(code(&house, &key, "to its last second").await, None);
    house.clock.advance(1);
    assert_eq!(code(&house, &key, "over").await, Some(Code::TemporarilyUnavailable));
    assert_eq!(publisher.connections(), 3);
    // It recovers by itself.
    publisher.set(Manner::Publish { body, etag: "\"1\"" });
    assert_eq!(code(&house, &key, "in the cooldown").await, Some(Code::TemporarilyUnavailable));
    house.clock.advance(COOLDOWN_SECONDS);
    assert_eq!(code(&house, &key, "recovered").await, None);
    // A clock that was ahead for a day does not make the document young for a day.
    house.clock.set_back(86_400);
    assert_eq!(code(&house, &key, "set back").await, None);
    assert_eq!(publisher.connections(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_that_are_not_taken() {
    let key = key();
    let good = published(&[&key]);
    let elsewhere = Publisher::start(Manner::Publish { body: good.clone(), etag: "\"1\"" }).await;
    let ok = |head: &str, body: &str| {
        Manner::Say(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n{head}\r\n{body}", body.len()))
    };
    let moved = |status: &str, to: String| {
        Manner::Say(format!("HTTP/1.1 {status} Moved\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n"))
    };
    let there = |path: &str| format!("https://127.0.0.1:{}{path}", elsewhere.address.port());
    let secret = key.to_jwk().to_json();
    let twice = good.replace("]}", &format!(",{}]}}", key.public().to_jwk().to_json()));
    for (manner, why) in [
        (moved("301", there("/")), "redirected to a private address"),
        (moved("302", there("/")), "302"),
        (moved("303", there("/")), "303"),
        (moved("307", there("/")), "307"),
        (moved("308", "https://keys.example/other".into()), "redirected to the same host"),
        (moved("302", "file:///etc/passwd".into()), "redirected to a file"),
        (Manner::Say("HTTP/1.1 304 Not Modified\r\n\r\n".into()), "304 to who knows nothing"),
        (Manner::Say("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".into()), "404"),
        (Manner::Say("HTTP/1.1 204 No Content\r\n\r\n".into()), "204"),
        (Manner::Say("SSH-2.0-OpenSSH_9.2\r\n".into()), "another protocol"),
        (Manner::Say(String::new()), "nothing"),
        (Manner::Stall(String::new()), "silence"),
        (Manner::Stall("HTTP/1.1 200 OK\r\n".into()), "half a head"),
        (Manner::Stall(format!("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n{good}")), "half a body"),
        (Manner::Flood("HTTP/1.1 200 OK\r\n\r\n{"), "a body without end"),
        (
            Manner::Flood("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffff\r\n"),
            "a chunk without end",
        ),
        (Manner::Flood("HTTP/1.1 200 OK\r\nx: "), "a head without end"),
        (ok("content-encoding: gzip\r\n", &good), "compressed"),
        (ok("content-encoding: identity\r\n", &good), "perhaps compressed"),
        (ok("", &format!("{good}{}", " ".repeat(MAX_BYTES))), "too large"),
        (ok("", ""), "empty"),
        (ok("", "{}"), "no set"),
        (ok("", "<html></html>"), "no JSON"),
        (ok("", &good[..good.len() - 1]), "JSON that breaks off"),
        (ok("", &format!("{{\"keys\":[{}]}}", *secret)), "a private key"),
        (ok("", r#"{"keys":[{"kty":"oct","k":"AAAA"}]}"#), "a secret"),
        (ok("", &twice), "one kid twice"),
    ] {
        let publisher = Publisher::start(manner).await;
        let (house, _) = patient_house(&publisher, "https://keys.example/", 2).await;
        assert_eq!(code(&house, &key, "1").await, Some(Code::TemporarilyUnavailable), "{why}");
        assert_eq!(code(&house, &key, "2").await, Some(Code::TemporarilyUnavailable), "{why}");
        assert_eq!(publisher.connections(), 1, "{why}");
    }
    assert_eq!(elsewhere.connections(), 0, "nothing is followed");
}

/// TLS: the certificate is checked, for the name that was registered.
#[tokio::test]
async fn a_publisher_that_is_somebody_else() {
    let key = key();
    let manner = || Manner::Publish { body: published(&[&key]), etag: "\"1\"" };
    let (trusted, other) = (Authority::new("root"), Authority::new("root"));
    for (authority, names, good) in [
        (&trusted, &["keys.example"][..], true),
        (&trusted, &["other.example"], false),
        (&other, &["keys.example"], false),
    ] {
        let mut publisher = Publisher::start_as(manner(), authority, server_identity(authority, names)).await;
        publisher.ca_pem = trusted.certificate.pem();
        let (house, _) = house(&publisher, "https://keys.example/").await;
        assert_eq!(code(&house, &key, "1").await.is_none(), good, "{names:?}");
        assert_eq!(
            publisher.requests().len(),
            usize::from(good),
            "no request before the certificate is good"
        );
    }
    // A certificate for clients is not one for servers.
    let identity = trusted.certify(&crate::authority::with_names(&[rcgen::SanType::DnsName(
        crate::authority::text("keys.example"),
    )]));
    let publisher = Publisher::start_as(manner(), &trusted, identity).await;
    let (house, _) = house(&publisher, "https://keys.example/").await;
    assert_eq!(code(&house, &key, "1").await, Some(Code::TemporarilyUnavailable));
}

/// SSRF: what a name resolves to is what counts, in every way to write it; and nothing is connected to before that.
#[tokio::test]
async fn no_private_addresses() {
    let key = key();
    let publisher = Publisher::start(Manner::Publish { body: published(&[&key]), etag: "\"1\"" }).await;
    let port = publisher.address.port();
    for addresses in [
        &["127.0.0.1"][..],
        &["::ffff:127.0.0.1"],
        &["0.0.0.0"],
        &["::1", "127.0.0.1"],
        &["64:ff9b::7f00:1"],
        &["169.254.169.254"],
        &[],
    ] {
        let addresses =
            addresses.iter().map(|address| SocketAddr::new(address.parse().unwrap(), port)).collect();
        let asked = Arc::<AtomicUsize>::default();
        let mut house = House::build().await;
        house.key_sets = KeySets::new(outbound(&publisher, false, Told { addresses, asked: asked.clone() }));
        house.enrol(signer(&format!("https://keys.example:{port}/"))).await;
        assert_eq!(code(&house, &key, "1").await, Some(Code::TemporarilyUnavailable));
        assert_eq!(asked.load(Ordering::SeqCst), 1, "resolved once");
    }
    // By the system's resolver, and in spellings that only it knows.
    for host in ["localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1"] {
        let Ok(uri) = HttpsUri::parse(&format!("https://{host}:{port}/")) else { continue };
        let mut house = House::build().await;
        let config = config::Outbound { timeout_seconds: NonZeroU64::MIN, ..Default::default() };
        let outbound = Outbound::new(&config, Arc::new(sealstone_auth::outbound::SystemResolver));
        house.key_sets = KeySets::new(Arc::new(outbound));
        house.enrol(signer(uri.as_str())).await;
        assert_eq!(code(&house, &key, "1").await, Some(Code::TemporarilyUnavailable), "{host}");
    }
    assert_eq!(publisher.connections(), 0);
    // Where it is allowed, by the address that was resolved.
    for address in ["127.0.0.1", "::ffff:127.0.0.1"] {
        let addresses = vec!["[::]:1".parse().unwrap(), SocketAddr::new(address.parse().unwrap(), port)];
        let mut house = House::build().await;
        house.key_sets = KeySets::new(outbound(&publisher, true, Told { addresses, asked: Arc::default() }));
        house.enrol(signer("https://keys.example/")).await;
        assert_eq!(code(&house, &key, "1").await, None, "{address}");
    }
}

#[test]
fn rfc6890_which_addresses_are_public() {
    for (address, public) in [
        ("8.8.8.8", true),
        ("1.1.1.1", true),
        ("100.63.255.255", true),
        ("100.128.0.0", true),
        ("172.15.255.255", true),
        ("172.32.0.0", true),
        ("223.255.255.255", true),
        ("198.17.255.255", true),
        ("198.20.0.0", true),
        ("0.0.0.0", false),
        ("0.1.2.3", false),
        ("10.0.0.0", false),
        ("10.255.255.255", false),
        ("100.64.0.1", false),
        ("100.127.255.255", false),
        ("127.0.0.1", false),
        ("127.255.255.254", false),
        ("169.254.169.254", false),
        ("172.16.0.1", false),
        ("172.31.255.255", false),
        ("192.0.0.1", false),
        ("192.0.2.1", false),
        ("192.88.99.1", false),
        ("192.168.0.1", false),
        ("198.18.0.1", false),
        ("198.19.255.255", false),
        ("198.51.100.1", false),
        ("203.0.113.1", false),
        ("224.0.0.1", false),
        ("240.0.0.1", false),
        ("255.255.255.255", false),
        ("2606:4700::1111", true),
        ("2a00:1450::1", true),
        ("2001:200::1", true),
        ("::ffff:8.8.8.8", true),
        ("64:ff9b::808:808", true),
        ("::", false),
        ("::1", false),
        ("::8.8.8.8", false),
        ("::ffff:127.0.0.1", false),
        ("::ffff:10.0.0.1", false),
        ("::ffff:0:127.0.0.1", false),
        ("64:ff9b::7f00:1", false),
        ("64:ff9b::a9fe:a9fe", false),
        ("64:ff9b:1::808:808", false),
        ("100::1", false),
        ("2001::1", false),
        ("2001:1ff::1", false),
        ("2001:db8::1", false),
        ("2002:7f00:1::", false),
        ("2002:808:808::", false),
        ("3fff:fff::1", false),
        ("5f00::1", false),
        ("fc00::1", false),
        ("fd00::1", false),
        ("fe80::1", false),
        ("fec0::1", false),
        ("ff02::1", false),
    ] {
        let address: IpAddr = address.parse().unwrap();
        assert_eq!(is_allowed(address, false), public, "{address}");
    }
    for address in ["127.0.0.1", "10.0.0.1", "::1", "fd00::1", "::ffff:127.0.0.1", "8.8.8.8"] {
        assert!(is_allowed(address.parse().unwrap(), true), "{address}");
    }
    for address in ["0.0.0.0", "255.255.255.255", "224.0.0.1", "::", "ff02::1", "::ffff:0.0.0.0"] {
        assert!(!is_allowed(address.parse().unwrap(), true), "{address} is no host");
    }
}

#[test]
fn rfc7591_s2_what_can_be_a_jwks_uri() {
    for uri in [
        "https://keys.example",
        "https://keys.example/a/b?c=d&e",
        "https://keys.example:8443/jwks",
        "https://192.0.2.1/",
        "https://[2001:db8::1]:8443/",
        "HTTPS://Keys.Example/",
    ] {
        assert!(HttpsUri::parse(uri).is_ok(), "{uri}");
    }
    let long = format!("https://keys.example/{}", "a".repeat(2048));
    for uri in [
        "",
        "keys",
        "/keys",
        "//keys.example/",
        "http://keys.example/",
        "ftp://keys.example/",
        "file:///keys",
        "data:,{}",
        "https:///keys",
        "https://",
        "https://user@keys.example/",
        "https://user:pw@keys.example/",
        "https://@keys.example/",
        "https://keys.example/#a",
        "https://keys.example:0/",
        "https://keys.example:65536/",
        "https://keys.example:/",
        "https://keys.example:8443x/",
        "https://keys example/",
        "https://kéys.example/",
        "https://[::1/",
        "https://[::1%25eth0]/",
        "https://keys.example\\@evil.example/",
        "https://keys_example:443@evil/",
        "https://keys.example/\n",
        "https://*/",
        &long,
    ] {
        assert!(HttpsUri::parse(uri).is_err(), "{uri}");
    }
}

#[tokio::test]
async fn a_private_address_cannot_be_registered() {
    let house = House::build().await;
    for host in ["127.0.0.1", "[::1]", "10.1.2.3", "169.254.169.254", "[::ffff:127.0.0.1]"] {
        let error = house.admin.add_client(signer(&format!("https://{host}/"))).await.unwrap_err();
        assert!(matches!(error, Error::ClientInvalid { field: "jwks_uri", .. }), "{error}");
        assert!(error.hint().unwrap().contains("outbound.allow_private_addresses"));
    }
    let (added, _) = house.admin.add_client(signer("https://keys.example/jwks")).await.unwrap();
    let [(stored, _)] = &house.admin.list_clients().await.unwrap()[..] else { panic!() };
    assert_eq!(*stored, added, "what is stored is what was added");
}

/// RFC 7515 §4.1.2 to §4.1.6: what a header says about where keys are is never followed.
#[tokio::test]
async fn rfc8725_s3_10_jku_x5u_jwk_are_not_followed() {
    let (own, mine) = (key(), key());
    let publisher = Publisher::start(Manner::Publish { body: published(&[&mine]), etag: "\"1\"" }).await;
    let mut house = House::build().await;
    let told = Told { addresses: vec![publisher.address], asked: Arc::default() };
    house.key_sets = KeySets::new(outbound(&publisher, true, told));
    let keys = JwkSet::new([own.public().clone()]).unwrap().into();
    let audience = AssertionAudience::Issuer;
    house.enrol(client(NewAuthentication::PrivateKeyJwt(AssertionKeys { audience, keys }))).await;
    let there = format!("https://127.0.0.1:{}/", publisher.address.port());
    let jwk: serde_json::Value = serde_json::from_str(&mine.public().to_jwk().to_json()).unwrap();
    for (member, value) in
        [("jku", json!(there)), ("x5u", json!(there)), ("jwk", jwk), ("x5c", json!(["AAAA"]))]
    {
        for kid in [own.kid(), mine.kid()] {
            let mut header = json!({"alg": "ES256", "kid": kid, "typ": "JWT"});
            header[member] = value.clone();
            let payload = signed(&house, &mine, member);
            let payload = payload.split('.').nth(1).unwrap();
            let input = format!("{}.{payload}", URL_SAFE_NO_PAD.encode(header.to_string()));
            let signature = URL_SAFE_NO_PAD.encode(mine.sign(input.as_bytes()).unwrap());
            let refused = present(&house, &format!("{input}.{signature}")).await.unwrap_err();
            assert_eq!(refused.code, Code::InvalidClient, "{member}");
        }
    }
    assert_eq!(publisher.connections(), 0);
}

/// RFC 8705 §2.2: certificates by address too, and a renewed one is found.
#[tokio::test]
async fn rfc8705_s2_2_certificates_by_address() {
    let (old, new) = (Identity::self_signed(&worker()), Identity::self_signed(&worker()));
    let publisher = Publisher::start(Manner::Publish { body: jwks(&[jwk_of(&old)]), etag: "\"1\"" }).await;
    let mut house = House::build().await;
    let told = Told { addresses: vec![publisher.address], asked: Arc::default() };
    house.key_sets = KeySets::new(outbound(&publisher, true, told));
    let keys = KeySource::Url(HttpsUri::parse("https://keys.example/").unwrap());
    house.enrol(client(NewAuthentication::SelfSignedTlsClientAuth(keys))).await;
    let show = async |identity: &Identity| {
        house.authenticate(&[], Some(&identity.shown()), "client_id=worker").await.map_err(|error| error.code)
    };
    assert_eq!(show(&old).await, Ok("worker".into()));
    assert_eq!(show(&new).await, Err(Code::InvalidClient));
    publisher.set(Manner::Publish { body: jwks(&[jwk_of(&old), jwk_of(&new)]), etag: "\"2\"" });
    house.clock.advance(COOLDOWN_SECONDS);
    assert_eq!(show(&new).await, Ok("worker".into()));
    assert_eq!(publisher.connections(), 2);
}

/// What the peer is told over HTTP: that it may come again, and when.
#[tokio::test]
async fn temporarily_unavailable_says_when_to_come_again() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(crate::support::config(directory.path())).await;
    server.enrol(signer("https://localhost:1/")).await;
    let key = key();
    let now = sealstone_auth::clock::SystemClock.now().0;
    let about = Claims::new().with("iss", "worker").with("sub", "worker").with("aud", server.issuer.as_str());
    let assertion = jwt::sign(&key, "JWT", &about.with("exp", now + 60).with("jti", "1")).unwrap();
    let kind = JWT_BEARER.replace(':', "%3A");
    let form =
        format!("grant_type=client_credentials&client_assertion_type={kind}&client_assertion={assertion}");
    let mut request = server.form("/token", &form);
    request.headers_mut().remove("authorization");
    let answer = server.send(request).await;
    assert_eq!(answer.refusal(), (503, "temporarily_unavailable".into()));
    assert_eq!(answer.header("retry-after"), "1");
    server.stop().await;
}
