//! Limits: how often, how much at once, and whose address counts.

use std::num::NonZeroU64;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use proptest::prelude::*;
use sealstone_auth::config::ProxyHeader;
use sealstone_auth::limits::{Meter, Network};
use sealstone_auth::{Config, World};
use sealstone_jose::UnixSeconds;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::audit::lines;
use crate::support::{Credentials, ManualClock, Running, START, config};

const GRANT: &str = "grant_type=client_credentials";

fn at(seconds: u64) -> UnixSeconds {
    UnixSeconds(START + seconds)
}

#[test]
fn a_meter_lets_a_minutes_worth_through_and_then_one_after_the_other() {
    let meter = Meter::per_minute(6).unwrap();
    for _ in 0..6 {
        assert_eq!(meter.take(1, at(0)), Ok(()));
    }
    assert_eq!(meter.take(1, at(0)), Err(10));
    assert_eq!(meter.take(1, at(4)), Err(6));
    assert_eq!(meter.take(2, at(4)), Ok(()), "another key has its own");
    assert_eq!(meter.take(1, at(10)), Ok(()));
    assert_eq!(meter.take(1, at(10)), Err(10));
    for _ in 0..6 {
        assert_eq!(meter.take(1, at(1000)), Ok(()), "quiet for long, and no more than a minute's worth");
    }
    assert_eq!(meter.take(1, at(1000)), Err(10));
    // A clock that is set back holds nobody up for longer than a minute.
    assert!(meter.take(1, UnixSeconds(5)).is_err());
    assert_eq!(meter.take(1, UnixSeconds(5 + 60)), Err(10), "it counts from what it said last");
    assert!(Meter::per_minute(0).is_none());
    assert_eq!(Meter::per_minute(u64::MAX).unwrap().take(1, at(0)), Ok(()));
}

/// Others do not use up what is one's own, nor does their number give it back.
#[test]
fn many_keys_share_a_meter() {
    let meter = Meter::per_minute(2).unwrap();
    let (_, _) = (meter.take("used up", at(0)), meter.take("used up", at(0)));
    for other in 0..1000 {
        let (_, _) = (meter.take(other, at(0)), meter.take(other, at(0)));
    }
    assert!(meter.check("used up", at(0)).is_err());
    let refused = (1000..2000).filter(|fresh| meter.check(*fresh, at(0)).is_err()).count();
    assert!(refused < 5, "{refused} of a thousand");
}

proptest! {
    /// Against the algorithm as it is written down, for one key.
    #[test]
    fn a_meter_is_a_gcra(most in 1u64..100, steps in prop::collection::vec((0u64..30, any::<bool>()), 1..200)) {
        let meter = Meter::per_minute(most).unwrap();
        let (one, mut now, mut until) = (60_000_000 / most, 0u64, 0u64);
        for (step, take) in steps {
            now += step;
            let micros = at(now).0 * 1_000_000;
            let allowed = until.max(micros) + one <= micros + 60_000_000;
            prop_assert_eq!(meter.check("key", at(now)).is_ok(), allowed);
            if take && meter.take("key", at(now)).is_ok() {
                until = until.max(micros) + one;
            }
        }
    }
}

#[test]
fn an_address_is_a_subscriber() {
    let network = |text: &str| Network::of(text.parse().unwrap());
    assert_eq!(network("2001:db8::1"), network("2001:db8:0:0:ffff::2"));
    assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
    assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
    assert_ne!(network("192.0.2.2"), network("192.0.2.1"));
}

/// A server whose clock stands still, with limits.
async fn limited(directory: &Path, change: impl FnOnce(&mut Config)) -> (Running, Arc<ManualClock>) {
    let mut config = config(directory);
    change(&mut config);
    let clock = ManualClock::new();
    let world = World { clock: clock.clone(), ..World::default() };
    (Running::start_in(config, world).await, clock)
}

fn wrong(server: &Running) -> Request<Full<Bytes>> {
    let who = Credentials { secret: "wrong".into(), ..server.who.clone() };
    let mut request = server.form("/token", GRANT);
    request.headers_mut().insert("authorization", who.basic().parse().unwrap());
    request
}

#[tokio::test]
async fn an_address_that_fails_too_often_is_turned_away() {
    let directory = tempfile::tempdir().unwrap();
    let (server, clock) =
        limited(directory.path(), |config| config.limits.address_failures_per_minute = 5).await;
    for _ in 0..20 {
        assert_eq!(server.post("/token", GRANT).await.status, StatusCode::OK, "a success uses nothing up");
        assert_eq!(server.post("/token", "grant_type=x").await.refusal().1, "unsupported_grant_type");
    }
    for _ in 0..5 {
        assert_eq!(server.send(wrong(&server)).await.refusal(), (401, "invalid_client".into()));
    }
    let held = server.send(wrong(&server)).await;
    assert_eq!(held.refusal(), (429, "temporarily_unavailable".into()));
    assert_eq!(held.header("retry-after"), "12");
    assert_eq!(held.header("cache-control"), "no-store");
    // The right secret as well, and every other way in, or it could be tried out.
    for path in ["/token", "/introspect", "/revoke", "/par", "/login"] {
        assert_eq!(server.post(path, GRANT).await.status, 429, "{path}");
    }
    assert_eq!(server.get("/userinfo").await.status, 429);
    for path in ["/jwks", "/health/live", "/health/ready", "/.well-known/openid-configuration"] {
        assert_eq!(server.get(path).await.status, 200, "{path}");
    }
    // Somebody else is not held up.
    assert_eq!(server.send_from("127.0.0.2", server.form("/token", GRANT)).await.status, 200);
    clock.advance(12);
    for _ in 0..10 {
        assert_eq!(server.post("/token", GRANT).await.status, 200);
    }
    assert_eq!(server.send(wrong(&server)).await.status, 401);
    assert_eq!(server.send(wrong(&server)).await.status, 429);
    server.stop().await;
    let refused = lines(&directory.path().join("data"), "server");
    let refused = refused.iter().filter(|line| line["code"] == "invalid_client").count();
    assert_eq!(refused, 6, "what was turned away was not decided, and has no line");
}

/// Of a person, what counts is a wrong password; that one says no to a client is no failure.
#[tokio::test]
async fn wrong_passwords_and_tokens_count() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = limited(directory.path(), |config| config.limits.address_failures_per_minute = 3).await;
    let request = |authorization: &str| {
        let request = server.request("GET", "/userinfo").header("authorization", authorization);
        request.body(Full::default()).unwrap()
    };
    assert_eq!(server.send(request("Bearer x")).await.status, 401);
    let code = "grant_type=authorization_code&code=x&redirect_uri=y&code_verifier=z";
    assert_eq!(server.post("/token", code).await.refusal().1, "unauthorized_client", "not a failure");
    for path in ["/login", "/login"] {
        let page = server.post(path, "username=a&password=b&form_token=c").await;
        assert_eq!(page.status, 403, "the form is not that of the page");
    }
    assert_eq!(server.post("/token", GRANT).await.status, 429);
    server.stop().await;
}

#[tokio::test]
async fn a_client_uses_up_its_own_share_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let (server, clock) =
        limited(directory.path(), |config| config.limits.client_requests_per_minute = 3).await;
    for _ in 0..10 {
        // Whoever only knows its name.
        assert_eq!(server.send(wrong(&server)).await.status, 401);
    }
    for path in ["/token", "/introspect", "/revoke"] {
        assert_eq!(server.post(path, &format!("{GRANT}&token=x")).await.status, 200, "{path}");
    }
    let held = server.post("/token", GRANT).await;
    assert_eq!((held.status.as_u16(), held.header("retry-after")), (429, "20"));
    assert_eq!(
        server.send_from("127.0.0.2", server.form("/token", GRANT)).await.status,
        429,
        "from anywhere"
    );
    clock.advance(20);
    assert_eq!(server.post("/token", GRANT).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn an_address_has_so_many_requests() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = limited(directory.path(), |config| config.limits.address_requests_per_minute = 2).await;
    assert_eq!(server.post("/token", GRANT).await.status, 200);
    assert_eq!(server.get("/nowhere").await.status, 404);
    assert_eq!(server.post("/token", GRANT).await.status, 429);
    assert_eq!(server.get("/jwks").await.status, 200);
    server.stop().await;
}

/// The address in the audit line of a refused request that says `said` of itself.
async fn address_of(header: ProxyHeader, proxies: &[&str], said: &[&str]) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = limited(directory.path(), |config| {
        config.http.proxy_header = header;
        config.http.proxies = proxies.iter().map(|block| block.parse().unwrap()).collect();
    })
    .await;
    let mut request = wrong(&server);
    for line in said {
        let name = if header == ProxyHeader::Forwarded { "forwarded" } else { "x-forwarded-for" };
        request.headers_mut().append(name, line.parse().unwrap());
    }
    assert_eq!(server.send(request).await.status, 401);
    server.stop().await;
    let lines = lines(&directory.path().join("data"), "server");
    let refused = lines.into_iter().find(|line| line["event"] == "token.refused").unwrap();
    refused["address"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn a_proxy_is_believed_if_it_is_ours() {
    use ProxyHeader::{Forwarded, XForwardedFor};
    let own = &["127.0.0.0/8", "10.0.0.7", "2001:db8:1::/48"][..];
    let (none, x) = (&[][..], XForwardedFor);
    for (header, proxies, said, expected) in [
        // Nobody is believed who is not named.
        (x, none, &["192.0.2.1"][..], Some("127.0.0.1")),
        (x, &["10.0.0.0/8"][..], &["192.0.2.1"], Some("127.0.0.1")),
        (x, own, &["192.0.2.1"], Some("192.0.2.1")),
        // What the client has made up stands on the left.
        (x, own, &["1.1.1.1, 192.0.2.1"], Some("192.0.2.1")),
        (x, own, &["1.1.1.1", "192.0.2.1"], Some("192.0.2.1")),
        // Past proxies of ours, and no further.
        (x, own, &["192.0.2.1, 10.0.0.7,2001:db8:1::5"], Some("192.0.2.1")),
        (x, own, &["192.0.2.1, 10.0.0.8, 10.0.0.7"], Some("10.0.0.8")),
        (x, own, &["[2001:db8::1]:443"], Some("2001:db8::1")),
        (x, own, &["192.0.2.1:4711"], Some("192.0.2.1")),
        // What is no address hides what stands before it.
        (x, own, &["192.0.2.1, unknown"], None),
        (x, own, &["192.0.2.1,"], None),
        (x, own, &[], None),
        (x, own, &["127.0.0.1"], None),
        // RFC 7239 §4.
        (Forwarded, own, &["for=192.0.2.43, For=\"[2001:db8:cafe::17]:4711\""], Some("2001:db8:cafe::17")),
        (Forwarded, own, &["for=192.0.2.60;proto=http;by=203.0.113.43"], Some("192.0.2.60")),
        (Forwarded, own, &["for=192.0.2.60, for=_hidden"], None),
        (Forwarded, own, &["by=203.0.113.43"], None),
    ] {
        assert_eq!(address_of(header, proxies, said).await.as_deref(), expected, "{said:?}");
    }
}

/// Behind a proxy, it is the person who is limited and not the proxy.
#[tokio::test]
async fn the_limit_is_of_whom_the_proxy_names() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = limited(directory.path(), |config| {
        config.limits.address_failures_per_minute = 1;
        config.http.proxies = vec!["127.0.0.1".parse().unwrap()];
        config.http.max_connections_per_address = NonZeroU64::MIN;
    })
    .await;
    let ask = async |from: &str, request: Request<Full<Bytes>>| {
        let mut request = request;
        request.headers_mut().insert("x-forwarded-for", from.parse().unwrap());
        server.send(request).await.status.as_u16()
    };
    assert_eq!(ask("2001:db8::1", wrong(&server)).await, 401);
    assert_eq!(ask("2001:db8::2", wrong(&server)).await, 429, "the same subscriber");
    assert_eq!(ask("2001:db8:0:1::1", wrong(&server)).await, 401, "another one");
    // Whose address is not known cannot be limited by it.
    assert_eq!(ask("unknown", wrong(&server)).await, 401);
    assert_eq!(ask("unknown", wrong(&server)).await, 401);
    // The proxy may have many connections.
    let (_one, _two) = (server.connect("http/1.1").await, server.connect("http/1.1").await);
    server.stop().await;
}

/// A body that does not come.
struct Never;

impl hyper::body::Body for Never {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
        Poll::Pending
    }
}

/// A request whose body has begun and does not end.
const HALF: &str = "POST /token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n\
                    content-length: 99\r\n\r\nx";

#[tokio::test]
async fn no_more_is_under_way_than_there_is_room_for() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    (config.http.max_requests, config.http.max_requests_per_address) =
        (NonZeroU64::new(3).unwrap(), NonZeroU64::new(2).unwrap());
    let server = Running::start(config).await;
    let mut slow = Vec::new();
    // Two of one address, over one HTTP/2 connection.
    let io = TokioIo::new(server.connect("h2").await);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    for _ in 0..2 {
        let request = server.request("POST", "/token");
        let request =
            request.header("content-type", "application/x-www-form-urlencoded").body(Never).unwrap();
        slow.push(tokio::spawn(sender.send_request(request)));
    }
    let served = async |from: &'static str| server.send_from(from, server.form("/token", GRANT)).await;
    let full = async {
        loop {
            let answer = served("127.0.0.1").await;
            if answer.status == 503 {
                return answer;
            }
        }
    };
    let full = tokio::time::timeout(Duration::from_secs(30), full).await.unwrap();
    assert_eq!(full.refusal(), (503, "temporarily_unavailable".into()));
    assert_eq!(full.header("retry-after"), "1");
    // There is room for others, until there is none at all.
    assert_eq!(served("127.0.0.2").await.status, 200);
    let mut third = server.connect_from("127.0.0.3", "http/1.1").await.unwrap();
    third.write_all(HALF.as_bytes()).await.unwrap();
    let full = async { while served("127.0.0.2").await.status != 503 {} };
    tokio::time::timeout(Duration::from_secs(30), full).await.unwrap();
    // What ends makes room again, also if it is given up.
    drop(third);
    slow.iter().for_each(|request| request.abort());
    let room = async { while served("127.0.0.1").await.status != 200 {} };
    tokio::time::timeout(Duration::from_secs(30), room).await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn an_address_has_so_many_connections() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.http.max_connections_per_address = NonZeroU64::new(2).unwrap();
    let server = Running::start(config).await;
    let first = server.connect("http/1.1").await;
    let _second = server.connect("http/1.1").await;
    assert!(server.connect_from("127.0.0.1", "http/1.1").await.is_err(), "closed at once");
    assert_eq!(server.send_from("127.0.0.2", server.form("/token", GRANT)).await.status, 200);
    drop(first);
    let again = async { while server.connect_from("127.0.0.1", "http/1.1").await.is_err() {} };
    tokio::time::timeout(Duration::from_secs(30), again).await.unwrap();
    server.stop().await;
}

/// Bodies that come a byte at a time, from many connections: each is cut when its time is over, and others are served.
#[tokio::test]
async fn slow_bodies_are_cut_and_hold_nobody_up() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.http.request_timeout_seconds = NonZeroU64::MIN;
    config.http.max_requests_per_address = NonZeroU64::new(50).unwrap();
    let server = Running::start(config).await;
    let mut dripping = Vec::new();
    for _ in 0..50 {
        let mut stream = server.connect_from("127.0.0.9", "http/1.1").await.unwrap();
        stream.write_all(HALF.as_bytes()).await.unwrap();
        dripping.push(tokio::spawn(async move {
            let mut answer = Vec::new();
            let (mut read, mut write) = tokio::io::split(&mut stream);
            let drip = async {
                while write.write_all(b"x").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            };
            tokio::select! {
                _ = read.read_to_end(&mut answer) => {}
                () = drip => {}
            }
            String::from_utf8_lossy(&answer).into_owned()
        }));
        assert_eq!(server.post("/token", GRANT).await.status, 200);
    }
    for ended in dripping {
        let answer = tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap().unwrap();
        assert!(answer.starts_with("HTTP/1.1 408") || answer.starts_with("HTTP/1.1 503"), "{answer}");
    }
    server.stop().await;
}

/// Of the failures of a second the first are answered at once and the others late: eight in a row, of which one a second is
/// answered at once, take a second at least. Nobody who succeeds is held up by them.
#[tokio::test]
async fn failures_of_a_flood_are_answered_late() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = limited(directory.path(), |config| config.limits.failures_per_second = 1).await;
    let begun = std::time::Instant::now();
    for _ in 0..8 {
        assert_eq!(server.send(wrong(&server)).await.refusal(), (401, "invalid_client".into()));
    }
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    server.token().await;
    server.stop().await;
}
