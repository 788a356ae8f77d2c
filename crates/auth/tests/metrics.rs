//! What monitoring reads, by a parser of its own.

use std::net::SocketAddr;
use std::num::NonZeroU64;

use prometheus_parse::{Sample, Scrape, Value};
use sealstone_auth::{Config, World};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Credentials, Guarded, ManualClock, Mood, Running, config};

const GRANT: &str = "grant_type=client_credentials";

fn measured(directory: &std::path::Path) -> Config {
    let mut config = config(directory);
    config.metrics.listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    config
}

/// One request over plain HTTP, and the whole answer.
async fn ask(server: &Running, line: &str) -> String {
    let mut stream = TcpStream::connect(server.metrics.unwrap()).await.unwrap();
    let request = format!("{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn text(server: &Running) -> String {
    let answer = ask(server, "GET /metrics").await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{head}");
    body.to_owned()
}

async fn scrape(server: &Running) -> Vec<Sample> {
    let text = text(server).await;
    let lines = text.lines().map(|line| Ok(line.to_owned()));
    let scrape = Scrape::parse(lines).unwrap();
    assert!(scrape.docs.len() > 10, "each family says what it is: {:?}", scrape.docs);
    scrape.samples
}

/// The value of the one sample with these labels.
fn value(samples: &[Sample], metric: &str, labels: &[(&str, &str)]) -> f64 {
    let fits = |sample: &&Sample| {
        sample.metric == metric && labels.iter().all(|(name, value)| sample.labels.get(name) == Some(value))
    };
    let found: Vec<&Sample> = samples.iter().filter(fits).collect();
    match found.as_slice() {
        [] => 0.0,
        [one] => match one.value {
            Value::Counter(value) | Value::Gauge(value) | Value::Untyped(value) => value,
            ref other => panic!("{metric}: {other:?}"),
        },
        more => panic!("{metric} {labels:?}: {more:?}"),
    }
}

#[tokio::test]
async fn requests_tokens_and_the_store_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(measured(directory.path())).await;
    let token = server.token().await;
    server.token().await;
    server.post("/token", "grant_type=none").await;
    server.post("/revoke", &format!("token={token}")).await;
    server.get("/.well-known/openid-configuration").await;
    server.get("/jwks").await;
    server.get("/what/nobody/has").await;
    let samples = scrape(&server).await;
    let requests = |endpoint, status| {
        value(&samples, "sealstone_http_requests_total", &[("endpoint", endpoint), ("status", status)])
    };
    assert_eq!(requests("token", "200"), 2.0);
    assert_eq!(requests("token", "400"), 1.0);
    assert_eq!(
        (requests("revoke", "200"), requests("metadata", "200"), requests("jwks", "200")),
        (1.0, 1.0, 1.0)
    );
    assert_eq!(requests("other", "404"), 1.0);
    let issued = [("grant", "client_credentials"), ("algorithm", "ES256")];
    assert_eq!(value(&samples, "sealstone_tokens_issued_total", &issued), 2.0);
    assert_eq!(
        value(&samples, "sealstone_http_request_duration_seconds_count", &[("endpoint", "token")]),
        3.0
    );
    assert!(value(&samples, "sealstone_http_request_duration_seconds_sum", &[("endpoint", "token")]) > 0.0);
    assert_eq!(
        value(&samples, "sealstone_store_duration_seconds_count", &[("operation", "insert")]) as u64,
        {
            // The client, two keys, a mark: what was written since the server has its metrics.
            let keys = 2;
            keys + 2
        }
    );
    let key = [("algorithm", "ES256"), ("state", "active")];
    assert!(value(&samples, "sealstone_signing_key_age_seconds", &key) < 600.0);
    assert!(value(&samples, "process_resident_memory_bytes", &[]) > 1e6);
    assert_eq!(value(&samples, "sealstone_revocations", &[]), 1.0);
    for quiet in [
        "sealstone_audit_failing",
        "sealstone_audit_lost_total",
        "sealstone_passwords_waiting",
        "sealstone_requests_in_flight",
        "sealstone_verifications_waiting",
    ] {
        assert_eq!(value(&samples, quiet, &[]), 0.0, "{quiet}");
    }
    server.stop().await;
}

/// The buckets of a histogram grow, and the last one is all.
#[tokio::test]
async fn histograms_are_whole() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(measured(directory.path())).await;
    for _ in 0..7 {
        server.token().await;
    }
    let samples = scrape(&server).await;
    let mut seen = 0;
    for sample in &samples {
        let Value::Histogram(buckets) = &sample.value else { continue };
        seen += 1;
        assert_eq!(buckets.len(), 17, "{}", sample.metric);
        assert!(
            buckets.windows(2).all(|two| two[0].count <= two[1].count && two[0].less_than < two[1].less_than)
        );
        assert_eq!(buckets.last().unwrap().less_than, f64::INFINITY);
        let labels: Vec<(&str, &str)> = sample.labels.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let count = value(&samples, &format!("{}_count", sample.metric), &labels);
        assert_eq!(buckets.last().unwrap().count, count, "{}", sample.metric);
        let of_ten_seconds = &buckets[buckets.len() - 2];
        assert_eq!(
            (of_ten_seconds.less_than, of_ten_seconds.count),
            (10.0, count),
            "nothing here takes longer"
        );
    }
    assert!(seen >= 3, "{seen}");
    server.stop().await;
}

/// No peer can make a series, and none names a client, a user or an address.
#[tokio::test]
async fn nobody_can_make_series() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(measured(directory.path())).await;
    let series = async || -> Vec<String> {
        let text = text(&server).await;
        let names = text.lines().filter(|line| !line.starts_with('#'));
        names.map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect()
    };
    let tour = async |n: u32| {
        server.post("/token", GRANT).await;
        server.post("/token", &format!("grant_type=made-up-{n}")).await;
        server.get(&format!("/nowhere/{n}")).await;
        server.get(&format!("/assets/{n}")).await;
        server.get(&format!("/admin/v1/{n}")).await;
        let who = Credentials { id: format!("nobody-{n}"), ..server.who.clone() };
        let mut request = server.form("/token", GRANT);
        request.headers_mut().insert("authorization", who.basic().parse().unwrap());
        server.send(request).await;
    };
    tour(0).await;
    let before = series().await;
    for n in 1..20 {
        tour(n).await;
    }
    assert_eq!(series().await, before);
    let all = before.join("\n");
    assert!(!all.contains(&server.who.id) && !all.contains("nobody") && !all.contains("127.0.0.1"));
    assert!(before.len() < 500, "{}", before.len());
    server.stop().await;
}

#[tokio::test]
async fn limits_and_what_stands_still_are_seen() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = measured(directory.path());
    config.limits.address_failures_per_minute = 1;
    config.http.max_connections_per_address = NonZeroU64::new(3).unwrap();
    let (store, clock) = (Guarded::new(), ManualClock::new());
    let world = World { store: Some(store.clone()), clock: clock.clone(), ..World::default() };
    let server = Running::start_in(config, world).await;
    let mut wrong = server.form("/token", GRANT);
    wrong.headers_mut().insert("authorization", "Basic eDp5".parse().unwrap());
    assert_eq!(server.send(wrong.clone()).await.status, 401);
    assert_eq!(server.send_from("127.0.0.1", wrong).await.status, 429);
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(server.connect_from("127.0.0.5", "http/1.1").await.unwrap());
    }
    assert!(server.connect_from("127.0.0.5", "http/1.1").await.is_err());
    let limited = |samples: &[Sample], limit| value(samples, "sealstone_limited_total", &[("limit", limit)]);
    let samples = scrape(&server).await;
    assert_eq!(limited(&samples, "limits.address_failures_per_minute"), 1.0);
    assert_eq!(limited(&samples, "http.max_connections_per_address"), 1.0);
    drop(held);

    // The store fails: the snapshot grows old.
    store.set(Mood::Fail);
    clock.advance(100);
    let aged = async {
        loop {
            let samples = scrape(&server).await;
            let failures = value(&samples, "sealstone_store_failures_total", &[("operation", "versions")]);
            if failures > 0.0 {
                return samples;
            }
        }
    };
    let samples = tokio::time::timeout(std::time::Duration::from_secs(30), aged).await.unwrap();
    assert!(value(&samples, "sealstone_snapshot_age_seconds", &[]) >= 100.0);
    store.set(Mood::Serve);
    server.stop().await;
}

#[tokio::test]
async fn the_listener_answers_nothing_else_and_is_off_by_default() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(measured(directory.path())).await;
    assert!(ask(&server, "GET /token").await.starts_with("HTTP/1.1 404"));
    assert!(ask(&server, "POST /metrics").await.starts_with("HTTP/1.1 405"));
    assert_eq!(server.get("/metrics").await.status, 404, "not where the world asks");
    let address = server.metrics.unwrap();
    server.stop().await;
    assert!(TcpStream::connect(address).await.is_err(), "it ends with the server");

    let other = tempfile::tempdir().unwrap();
    let server = Running::start(config(other.path())).await;
    assert_eq!(server.metrics, None);
    server.stop().await;
}
