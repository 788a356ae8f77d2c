//! Key sets that others publish: the state machine at chosen times, and the client against a server with TLS on loopback whose
//! requests are counted.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sealstone_jose::jws::{self, Header};
use sealstone_jose::remote::{Builder, Cache, Client, Lifetime, Outcome, Policy, Step, Ticket, address};
use sealstone_jose::{Algorithm, Error, JwkSet, PrivateKey, UnixSeconds};

use crate::{Row, assert_refused, row};

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);

fn later(seconds: u64) -> UnixSeconds {
    UnixSeconds(NOW.0 + seconds)
}

fn fetch<K>(step: Step<K>) -> Ticket {
    match step {
        Step::Fetch(ticket) => ticket,
        Step::Wait => panic!("wait"),
        Step::Use(_) => panic!("use"),
        Step::Unavailable => panic!("unavailable"),
    }
}

fn used<K: Copy>(step: Step<K>) -> K {
    match step {
        Step::Use(keys) => *keys,
        Step::Wait => panic!("wait"),
        Step::Fetch(_) => panic!("fetch"),
        Step::Unavailable => panic!("unavailable"),
    }
}

fn document(keys: u8, etag: Option<&str>, cache_control: &str) -> Outcome<u8> {
    let lifetime =
        if cache_control.is_empty() { Lifetime::UNSAID } else { Lifetime::of(cache_control, None) };
    Outcome::Document { keys, etag: etag.map(str::to_owned), lifetime }
}

#[test]
fn a_document_is_believed_for_its_time() {
    for (said, seconds) in
        [("", 300), ("max-age=600", 600), ("no-store", 60), ("max-age=0", 60), ("max-age=999999999", 3_600)]
    {
        let mut cache = Cache::new(Policy::default());
        let ticket = fetch(cache.next(NOW, None, |_| true));
        cache.done(&ticket, NOW, document(1, None, said));
        for second in [0, 1, seconds - 1] {
            assert_eq!(used(cache.next(later(second), Some("a"), |_| true)), 1, "{said} {second}");
        }
        fetch(cache.next(later(seconds), Some("a"), |_| true));
    }
}

#[test]
fn an_unknown_key_asks_once_in_the_cooldown() {
    let mut cache = Cache::new(Policy::default());
    let ticket = fetch(cache.next(NOW, Some("a"), |_| false));
    cache.done(&ticket, NOW, document(1, None, ""));
    let mut fetches = 0;
    for second in 0..300 {
        for n in 0..10 {
            match cache.next(later(second), Some(&format!("{second}-{n}")), |_| false) {
                Step::Fetch(ticket) => {
                    fetches += 1;
                    assert_eq!(second % 30, 0);
                    cache.done(&ticket, later(second), document(1, None, ""));
                }
                Step::Use(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(fetches, 9, "300 s, one in 30 s, the first of them at 30 s");
}

/// One name that is never there asks less often than many: it is remembered.
#[test]
fn a_missing_key_is_remembered() {
    let mut cache = Cache::new(Policy::default());
    let mut fetches = Vec::new();
    for second in 0..240 {
        if let Step::Fetch(ticket) = cache.next(later(second), Some("ghost"), |_| false) {
            fetches.push(second);
            cache.done(&ticket, later(second), document(1, None, ""));
        }
    }
    assert_eq!(fetches, [0, 120]);
    // What was not asked for is not held against it: a key that is rolled in the cooldown is there after it.
    let ticket = fetch(cache.next(later(240), None, |_| false));
    cache.done(&ticket, later(240), document(2, None, ""));
    assert_eq!(used(cache.next(later(241), Some("new"), |_| false)), 2);
    fetch(cache.next(later(270), Some("new"), |_| false));
}

#[test]
fn old_keys_hold_while_the_address_does_not_answer() {
    let mut cache = Cache::new(Policy::default());
    let ticket = fetch(cache.next(NOW, None, |_| true));
    cache.done(&ticket, NOW, document(1, Some("\"v1\""), ""));
    let mut second = 300;
    while second < 3_900 {
        let ticket = fetch(cache.next(later(second), None, |_| true));
        assert_eq!(ticket.etag(), Some("\"v1\""));
        cache.done(&ticket, later(second), Outcome::Failed);
        assert_eq!(used(cache.next(later(second + 1), None, |_| true)), 1);
        second += 30;
    }
    // An hour beyond its time it is believed no longer.
    let ticket = fetch(cache.next(later(3_900), None, |_| true));
    cache.done(&ticket, later(3_900), Outcome::Failed);
    assert!(matches!(cache.next(later(3_901), None, |_| true), Step::Unavailable));
    let ticket = fetch(cache.next(later(3_930), None, |_| true));
    cache.done(&ticket, later(3_930), Outcome::Unchanged { lifetime: Lifetime::UNSAID });
    assert_eq!(used(cache.next(later(4_229), None, |_| true)), 1);
}

#[test]
fn one_flight_at_a_time() {
    let mut cache = Cache::new(Policy::default());
    let ticket = fetch(cache.next(NOW, None, |_| true));
    assert!(matches!(cache.next(later(59), None, |_: &u8| true), Step::Wait));
    // Nobody reported its end: it is given up, and heard no more.
    let second = fetch(cache.next(later(60), None, |_| true));
    cache.done(&ticket, later(61), document(1, None, ""));
    assert!(matches!(cache.next(later(61), None, |_| true), Step::Wait));
    cache.done(&second, later(62), document(2, None, ""));
    assert_eq!(used(cache.next(later(62), None, |_| true)), 2);
    // A failure at the first time: nothing to be had, and no second attempt at once.
    let mut cache: Cache<u8> = Cache::new(Policy::default());
    let ticket = fetch(cache.next(NOW, None, |_| true));
    cache.done(&ticket, NOW, Outcome::Failed);
    assert!(matches!(cache.next(later(29), None, |_| true), Step::Unavailable));
    fetch(cache.next(later(30), None, |_| true));
}

/// A 304 to a question without an ETag, or a clock that was ahead for a while, makes nothing fresh.
#[test]
fn nothing_is_fresh_by_mistake() {
    let mut cache = Cache::new(Policy::default());
    let ticket = fetch(cache.next(NOW, None, |_| true));
    cache.done(&ticket, NOW, document(1, None, ""));
    let ticket = fetch(cache.next(later(300), None, |_| true));
    assert_eq!(ticket.etag(), None);
    cache.done(&ticket, later(300), Outcome::Unchanged { lifetime: Lifetime::of("max-age=3600", None) });
    assert_eq!(used(cache.next(later(301), None, |_| true)), 1, "only as it was before");
    fetch(cache.next(later(330), None, |_| true));

    let mut ahead = Cache::new(Policy::default());
    let ticket = fetch(ahead.next(later(10_000), None, |_| true));
    ahead.done(&ticket, later(10_000), document(1, None, ""));
    fetch(ahead.next(NOW, None, |_| true));
}

#[test]
fn lifetimes() {
    let of = |text: &str, age| Lifetime::of(text, age).get().map(|time| time.as_secs());
    for (text, age, seconds) in [
        ("max-age=600", None, Some(600)),
        ("Max-Age = 600", None, Some(600)),
        ("max-age=\"600\"", None, Some(600)),
        ("max-age=600", Some("100"), Some(500)),
        ("max-age=600", Some("700"), Some(0)),
        ("max-age=600", Some("x"), Some(600)),
        ("max-age=600, max-age=5", None, Some(5)),
        ("max-age=", None, Some(0)),
        ("max-age", None, Some(0)),
        ("max-age=-1", None, Some(0)),
        ("max-age=1e9", None, Some(0)),
        ("max-age=99999999999999999999999", None, Some(1 << 31)),
        ("no-store, max-age=600", None, Some(0)),
        ("no-cache", None, Some(0)),
        ("private", None, None),
        ("s-maxage=5", None, None),
        ("", None, None),
        (",,,=,", None, None),
    ] {
        assert_eq!(of(text, age), seconds, "{text} {age:?}");
    }
}

#[test]
fn addresses() {
    let allowed = |text: &str, private| address::is_allowed(text.parse().unwrap(), private);
    for public in
        ["1.1.1.1", "8.8.8.8", "198.17.255.255", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::808:808"]
    {
        assert!(allowed(public, false) && allowed(public, true), "{public}");
    }
    for private in [
        "10.0.0.1",
        "127.0.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "198.18.0.1",
        "::1",
        "fe80::1",
        "fc00::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001:db8::1",
        "3fff::1",
        "240.0.0.1",
    ] {
        assert!(!allowed(private, false), "{private}");
    }
    for nothing in ["0.0.0.0", "255.255.255.255", "224.0.0.1", "::", "ff02::1", "::ffff:0.0.0.0"] {
        assert!(!allowed(nothing, false) && !allowed(nothing, true), "{nothing}");
    }
}

/// What the server does with the request of this number, from 0: bytes to send, each after a pause.
type Script = dyn Fn(usize, &str) -> Answer + Send + Sync;
/// Milliseconds to wait, and bytes to send then.
type Answer = Vec<(u64, Vec<u8>)>;

struct Server {
    port: u16,
    roots: Vec<u8>,
    requests: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    fn new(script: impl Fn(usize, &str) -> Answer + Send + Sync + 'static) -> Self {
        let pair = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&pair).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pair.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (requests, connections) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (config, script): (_, Arc<Script>) = (Arc::new(config), Arc::new(script));
        let (counted, connected) = (Arc::clone(&requests), Arc::clone(&connections));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                connected.fetch_add(1, Ordering::SeqCst);
                let (config, script, counted) =
                    (Arc::clone(&config), Arc::clone(&script), Arc::clone(&counted));
                thread::spawn(move || {
                    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
                    let mut head = Vec::new();
                    let mut byte = [0];
                    while !head.ends_with(b"\r\n\r\n") {
                        match stream.read(&mut byte) {
                            Ok(1) => head.push(byte[0]),
                            _ => return,
                        }
                    }
                    let number = counted.fetch_add(1, Ordering::SeqCst);
                    for (pause, bytes) in script(number, &String::from_utf8(head).unwrap()) {
                        thread::sleep(Duration::from_millis(pause));
                        if stream.write_all(&bytes).and_then(|()| stream.flush()).is_err() {
                            return;
                        }
                    }
                    stream.conn.send_close_notify();
                    let _ = stream.flush();
                });
            }
        });
        Self { port, roots: certificate.pem().into_bytes(), requests, connections }
    }

    fn builder(&self) -> Builder {
        let url = format!("https://localhost:{}/jwks.json", self.port);
        Client::builder(&url).roots(&self.roots).allow_private_addresses().time_limit(Duration::from_secs(10))
    }

    fn client(&self) -> Client {
        self.builder().build().unwrap()
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn answer(status: &str, head: &str, body: &[u8]) -> Vec<u8> {
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{head}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn ok(set: &str) -> Answer {
    vec![(0, answer("200 OK", "Content-Type: application/jwk-set+json\r\n", set.as_bytes()))]
}

fn set(keys: &[&PrivateKey]) -> String {
    JwkSet::new(keys.iter().map(|key| key.public().clone())).unwrap().to_json()
}

fn key(kid: &str) -> PrivateKey {
    PrivateKey::generate(Algorithm::MlDsa44).unwrap().with_kid(kid)
}

fn token(key: &PrivateKey) -> String {
    jws::encode(key, &Header::new(), b"{}").unwrap()
}

#[test]
fn five_tokens_one_fetch() {
    let key = key("a");
    let text = set(&[&key]);
    let server = Server::new(move |_, head| {
        assert!(head.starts_with("GET /jwks.json HTTP/1.1\r\n"), "{head}");
        assert!(head.to_lowercase().contains("accept-encoding: identity"), "{head}");
        ok(&text)
    });
    let client = server.client();
    assert_eq!(server.requests(), 0, "nothing is fetched before it is needed");
    for second in 0..5 {
        assert!(client.verify(&token(&key), later(second)).is_ok());
    }
    assert_eq!(server.requests(), 1);
    // What is no token asks nobody, and a forgery is one.
    assert!(client.verify("a.b.c", later(500)).is_err());
    assert_eq!(server.requests(), 1);
    let stranger = PrivateKey::generate(Algorithm::MlDsa44).unwrap().with_kid("a");
    assert_refused("forged", client.verify(&token(&stranger), later(5)), "signature");
    assert_eq!(server.requests(), 1);
}

#[test]
fn a_flood_of_unknown_kids_is_one_fetch_in_the_cooldown() {
    let key = key("a");
    let text = set(&[&key]);
    let server = Server::new(move |_, _| ok(&text));
    let client = server.client();
    assert!(client.verify(&token(&key), NOW).is_ok());
    let stranger = PrivateKey::generate(Algorithm::Ed25519).unwrap();
    let flood = |from: u64, to: u64| {
        for second in from..to {
            for n in 0..20 {
                let token = token(&stranger.clone().with_kid(&format!("{second}-{n}")));
                assert_refused("flood", client.verify(&token, later(second)), "unknown kid");
            }
        }
    };
    flood(0, 30);
    assert_eq!(server.requests(), 1, "inside the first cooldown");
    flood(30, 60);
    assert_eq!(server.requests(), 2);
    flood(60, 120);
    assert_eq!(server.requests(), 4);
}

#[test]
fn a_document_that_has_not_changed_is_not_sent_again() {
    let key = key("a");
    let text = set(&[&key]);
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    let server = Server::new(move |number, head| {
        seen.lock().unwrap().push(head.to_lowercase());
        match number {
            0 => {
                vec![(0, answer("200 OK", "ETag: \"v1\"\r\nCache-Control: max-age=60\r\n", text.as_bytes()))]
            }
            _ => vec![(0, answer("304 Not Modified", "Cache-Control: max-age=600\r\n", b""))],
        }
    });
    let client = server.client();
    for second in [0, 59, 60, 61, 659] {
        assert!(client.verify(&token(&key), later(second)).is_ok(), "{second}");
    }
    assert_eq!(server.requests(), 2, "0, 60; then the 304 gave it ten minutes");
    let heads = heads.lock().unwrap();
    assert!(!heads[0].contains("if-none-match") && heads[1].contains("if-none-match: \"v1\""), "{heads:?}");
}

#[test]
fn a_key_rolled_while_tokens_are_verified() {
    let (old, new) = (key("old"), key("new"));
    let texts = [set(&[&old]), set(&[&old, &new]), set(&[&new])];
    let server = Server::new(move |number, _| ok(&texts[number.min(2)]));
    let client = Arc::new(server.client());
    assert!(client.verify(&token(&old), NOW).is_ok());
    // The new key is used before this side knows it: the first token of it asks, all of them pass.
    let tokens = Arc::new((token(&old), token(&new)));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (client, tokens) = (Arc::clone(&client), Arc::clone(&tokens));
            thread::spawn(move || {
                for _ in 0..20 {
                    client.verify(&tokens.0, later(40)).unwrap();
                    client.verify(&tokens.1, later(40)).unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(server.requests(), 2);
    // And the old one ends with the document that does not hold it.
    assert!(client.verify(&tokens.1, later(400)).is_ok());
    assert_refused("old", client.verify(&tokens.0, later(400)), "unknown kid");
    assert_eq!(server.requests(), 3);
}

#[test]
fn a_hundred_threads_one_fetch() {
    let key = key("a");
    let text = set(&[&key]);
    let server = Server::new(move |_, _| {
        let mut answer = ok(&text);
        answer[0].0 = 200;
        answer
    });
    let client = Arc::new(server.client());
    let (start, token) = (Arc::new(Barrier::new(100)), Arc::new(token(&key)));
    let threads: Vec<_> = (0..100)
        .map(|_| {
            let (client, start, token) = (Arc::clone(&client), Arc::clone(&start), Arc::clone(&token));
            thread::spawn(move || {
                start.wait();
                client.verify(&token, NOW).map(|_| ())
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap().unwrap();
    }
    assert_eq!((server.requests(), server.connections.load(Ordering::SeqCst)), (1, 1));
}

/// A failure is shared like a document: a hundred threads, one attempt, all refused.
#[test]
fn a_failure_is_one_fetch_too() {
    let server = Server::new(|_, _| vec![(100, answer("503 Service Unavailable", "", b""))]);
    let client = Arc::new(server.client());
    let (start, token) = (Arc::new(Barrier::new(20)), Arc::new(token(&key("a"))));
    let threads: Vec<_> = (0..20)
        .map(|_| {
            let (client, start, token) = (Arc::clone(&client), Arc::clone(&start), Arc::clone(&token));
            thread::spawn(move || {
                start.wait();
                client.verify(&token, NOW).map(|_| ())
            })
        })
        .collect();
    for thread in threads {
        assert_refused("503", thread.join().unwrap(), "unreachable");
    }
    assert_eq!(server.requests(), 1);
}

#[test]
fn stale_if_error() {
    let key = key("a");
    let text = set(&[&key]);
    let server = Server::new(move |number, _| match number {
        0 => ok(&text),
        1 => vec![(0, answer("500 Internal Server Error", "", b"oops"))],
        2 => vec![(0, answer("200 OK", "", b"<!DOCTYPE html>"))],
        3 => vec![(0, b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"keys".to_vec())],
        _ => vec![(0, b"nonsense\r\n\r\n".to_vec())],
    });
    let client = server.client();
    for (count, second) in [0, 300, 330, 360, 390].into_iter().enumerate() {
        assert!(client.verify(&token(&key), later(second)).is_ok(), "{second}");
        assert!(client.verify(&token(&key), later(second + 29)).is_ok(), "{second}");
        assert_eq!(server.requests(), count + 1);
    }
    assert_refused("over", client.verify(&token(&key), later(3_900)), "unreachable");
}

/// Each answer is refused, and the error says why.
#[test]
fn answers_that_are_refused() {
    let key = key("a");
    let text = set(&[&key]);
    let private = format!("{{\"keys\":[{}]}}", &*key.to_jwk().to_json());
    let redirect = answer("302 Found", "Location: https://localhost/elsewhere\r\n", b"");
    let large = format!("{{\"keys\":[],\"x\":\"{}\"}}", "a".repeat(2_000));
    let endless = || {
        let mut script = vec![(0, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec())];
        script.extend((0..200).map(|_| (0, [&b"400\r\n"[..], &[b' '; 1024], b"\r\n"].concat())));
        script
    };
    let long_head = format!("X: {}\r\n", "a".repeat(20_000));
    let whole = text.clone();
    let cases: Vec<(&str, Answer, &str)> = vec![
        ("a redirect", vec![(0, redirect)], "nothing is followed"),
        (
            "a permanent redirect",
            vec![(0, answer("301 Moved", "Location: /x\r\n", b""))],
            "nothing is followed",
        ),
        (
            "a temporary redirect",
            vec![(0, answer("307 T", "Location: http://127.0.0.1/\r\n", b""))],
            "nothing is followed",
        ),
        ("a 304 that was not asked for", vec![(0, answer("304 Not Modified", "", b""))], "304"),
        ("not found", vec![(0, answer("404 Not Found", "", text.as_bytes()))], "404"),
        ("no content", vec![(0, answer("204 No Content", "", b""))], "204"),
        ("gzip", vec![(0, answer("200 OK", "Content-Encoding: gzip\r\n", &[0x1f, 0x8b]))], "compressed"),
        (
            "deflate",
            vec![(0, answer("200 OK", "Content-Encoding: deflate\r\n", text.as_bytes()))],
            "compressed",
        ),
        ("more than 2 kB, and it says so", vec![(0, answer("200 OK", "", large.as_bytes()))], "more than"),
        ("without an end", endless(), "more than"),
        ("a head of 20 kB", vec![(0, answer("200 OK", &long_head, text.as_bytes()))], ""),
        ("a private key", vec![(0, answer("200 OK", "", private.as_bytes()))], "private member"),
        ("HTML", vec![(0, answer("200 OK", "", b"<html>"))], "JSON"),
        ("nothing", vec![(0, answer("200 OK", "", b""))], "JSON"),
        ("an end before the end", vec![(0, whole.as_bytes()[..100].to_vec())], ""),
    ];
    for (name, script, why) in cases {
        let server = Server::new(move |_, _| script.clone());
        let client = server.builder().max_bytes(2_000).build().unwrap();
        match client.verify(&token(&key), NOW).unwrap_err() {
            Error::Unreachable { cause, .. } => assert!(cause.contains(why), "{name}: {cause}"),
            other => panic!("{name}: {other}"),
        }
        assert_eq!(server.requests(), 1, "{name}");
    }
}

#[test]
fn a_slow_drip_is_cut_off() {
    let text = set(&[&key("a")]);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n".to_vec();
    for script in [
        head.iter().chain(text.as_bytes()).map(|byte| (50, vec![*byte])).collect::<Vec<_>>(),
        std::iter::once((0, head.clone())).chain(text.bytes().map(|byte| (50, vec![byte]))).collect(),
        vec![(60_000, Vec::new())],
    ] {
        let server = Server::new(move |_, _| script.clone());
        let client = server.builder().time_limit(Duration::from_millis(700)).build().unwrap();
        let start = Instant::now();
        assert_refused("drip", client.keys(None, NOW), "unreachable");
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
}

#[test]
fn private_addresses_are_not_connected_to() {
    let server = Server::new(|_, _| Vec::new());
    for host in [
        "localhost",
        "127.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "169.254.169.254",
        "10.0.0.1",
        "2130706433",
    ] {
        let url = format!("https://{host}:{}/jwks.json", server.port);
        let client =
            Client::builder(&url).roots(&server.roots).time_limit(Duration::from_secs(2)).build().unwrap();
        let start = Instant::now();
        match client.keys(None, NOW).unwrap_err() {
            Error::Unreachable { cause, .. } => {
                assert!(cause.contains("not public") || host == "2130706433", "{host}: {cause}");
            }
            other => panic!("{host}: {other}"),
        }
        assert!(start.elapsed() < Duration::from_secs(2), "{host}: it was tried");
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 0);
}

#[test]
fn servers_that_are_not_trusted() {
    let (server, other) = (Server::new(|_, _| ok("{\"keys\":[]}")), Server::new(|_, _| Vec::new()));
    let client = server.builder().roots(&other.roots).build().unwrap();
    assert_refused("another authority", client.keys(None, NOW), "unreachable");
    let url = format!("https://127.0.0.1:{}/jwks.json", server.port);
    let named = Client::builder(&url).roots(&server.roots).allow_private_addresses().build().unwrap();
    assert_refused("another name", named.keys(None, NOW), "unreachable");
    assert_eq!(server.requests(), 0, "no request was made");
}

pub(crate) fn rows() -> Vec<Row> {
    let urls = [
        "",
        "jwks.json",
        "http://id.example/jwks",
        "HTTP://id.example/",
        "file:///etc/passwd",
        "ftp://id.example/",
        "https://user:password@id.example/",
        "https://user@id.example/",
        "https://",
        "https:///jwks",
        "//id.example/jwks",
        "https://id example/",
        "javascript:alert(1)",
        "data:application/json,{}",
        "unix:/run/x",
        "https://id.example\r\nX: y/",
    ];
    let build = |url: &&str| {
        row(
            "address of a key set",
            &format!("{url:?}"),
            "url",
            Client::builder(url).roots(b"").build().map(drop),
        )
    };
    urls.iter().map(build).collect()
}

#[test]
fn urls_that_are_refused() {
    rows().iter().for_each(Row::check);
    let outcome = Client::builder("https://id.example/").roots(b"").build().map(|_| ());
    assert_refused("no authority", outcome, "unreachable");
}
