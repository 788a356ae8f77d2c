//! Signing keys change while verifiers keep what they fetched: by command, by schedule, and at once.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::Full;
use hyper::Request;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sealstone_auth::admin::SigningKey;
use sealstone_auth::keys::State;
use sealstone_auth::{Clock, Error, World};
use sealstone_jose::jws::Unverified;
use sealstone_jose::jwt::Rules;
use sealstone_jose::{Algorithm, JwkSet, UnixSeconds};

use crate::support::{Answer, ManualClock, Running, config};

/// A resource server that asks for the JWK set when the one that it has has ended, and for no other reason.
struct Verifier {
    set: JwkSet,
    until: u64,
}

impl Verifier {
    async fn fetch(server: &Running, now: u64) -> Self {
        let answer = server.get("/jwks").await;
        let (_, age) = answer.header("cache-control").split_once("max-age=").unwrap();
        Self { set: JwkSet::parse(&answer.body).unwrap(), until: now + age.parse::<u64>().unwrap() }
    }

    /// With what it has at `now`.
    async fn check(&mut self, token: &str, server: &Running, now: UnixSeconds) -> bool {
        if now.0 >= self.until {
            *self = Self::fetch(server, now.0).await;
        }
        let rules = Rules::new().issuer(&server.issuer).audience(&server.issuer).typ("at+jwt");
        let rules = rules.leeway(Duration::from_secs(300));
        let verified = Unverified::parse(token).unwrap().verify_with_set(&self.set);
        verified.is_ok_and(|token| rules.check(token, now).is_ok())
    }
}

async fn settled(server: &Running, mut done: impl FnMut(&[SigningKey]) -> bool) -> Vec<SigningKey> {
    let looking = async {
        loop {
            let keys = server.admin.list_signing_keys().await.unwrap();
            if done(&keys) {
                return keys;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), looking).await.unwrap()
}

fn kid(token: &str) -> String {
    Unverified::parse(token).unwrap().header().kid().unwrap().to_owned()
}

async fn start(directory: &std::path::Path, clock: Arc<ManualClock>) -> Running {
    let mut config = config(directory);
    config.keys.active_seconds = NonZeroU64::new(6_000).unwrap();
    config.keys.publish_seconds = NonZeroU64::new(600).unwrap();
    config.tokens.max_lifetime_seconds = NonZeroU64::new(900).unwrap();
    config.tokens.algorithms = vec![Algorithm::Es256];
    Running::start_in(config, World { clock, ..World::default() }).await
}

/// Four verifiers, each with a JWK set of another age, and clients that never stop: one rotation by command, and then one
/// by schedule. Every token is checked when it is issued and again at its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_verifier_fails_over_whole_rotations_under_load() {
    let (directory, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let server = Arc::new(start(directory.path(), clock.clone()).await);
    let (stop, issued) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut verifiers = Vec::new();
    for number in 0..4 {
        let (server, clock, stop, issued) = (server.clone(), clock.clone(), stop.clone(), issued.clone());
        verifiers.push(tokio::spawn(async move {
            let io = TokioIo::new(server.connect("h2").await);
            let (mut wire, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
            tokio::spawn(connection);
            // Their sets end at different times.
            let mut verifier = Verifier::fetch(&server, clock.now().0 - 70 * number).await;
            let (mut kept, mut kids) = (Vec::new(), std::collections::BTreeSet::new());
            while !stop.load(Ordering::SeqCst) {
                let request: Request<Full<hyper::body::Bytes>> =
                    server.form("/token", "grant_type=client_credentials");
                let mut request = request;
                request.headers_mut().remove("host");
                let answer = Answer::read(wire.send_request(request).await.unwrap()).await;
                let token = answer.json()["access_token"].as_str().unwrap().to_owned();
                let now = clock.now();
                assert!(verifier.check(&token, &server, now).await, "a new token of {}", kid(&token));
                kids.insert(kid(&token));
                // Within its 900 seconds; the clock moves in steps of 50.
                if kept.len() < 64 || kept.last().is_some_and(|(at, _): &(u64, _)| *at + 50 < now.0) {
                    kept.push((now.0, token));
                }
                let at_end = |(at, _): &(u64, String)| now.0 >= at + 800;
                for (at, old) in kept.iter().filter(|kept| at_end(kept)) {
                    let its_end = UnixSeconds(clock.now().0.min(at + 899));
                    assert!(verifier.check(old, &server, its_end).await, "an old token of {}", kid(old));
                }
                kept.retain(|kept| !at_end(kept));
                issued.fetch_add(1, Ordering::SeqCst);
            }
            kids
        }));
    }
    // Each step is seen by every part: the keys have settled, and tokens are issued at each time.
    let step = async || {
        clock.advance(50);
        let begun = issued.load(Ordering::SeqCst);
        while issued.load(Ordering::SeqCst) < begun + 12 && !verifiers.iter().any(|task| task.is_finished()) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    for _ in 0..10 {
        step().await;
    }
    let heir = server.admin.rotate_signing_key(Algorithm::Es256).await.unwrap();
    assert_eq!((heir.stage.sequence, heir.stage.state), (2, State::PrePublished));
    assert_eq!(server.admin.rotate_signing_key(Algorithm::Es256).await.unwrap(), heir, "one heir is enough");
    let signing = |keys: &[SigningKey]| {
        keys.iter().filter(|key| key.stage.state == State::Active).map(|key| key.stage.sequence).max()
    };
    while signing(&server.admin.list_signing_keys().await.unwrap()) == Some(1) {
        assert!(clock.now().0 <= heir.stage.since.0 + 650, "the heir does not take over");
        step().await;
    }
    // The schedule renews the second one after its 6000 seconds, and the first one is retired long before.
    while signing(&server.admin.list_signing_keys().await.unwrap()) != Some(3) {
        assert!(clock.now().0 <= heir.stage.since.0 + 8_000, "the schedule does not go on");
        step().await;
    }
    for _ in 0..20 {
        step().await;
    }
    stop.store(true, Ordering::SeqCst);
    for verifier in verifiers {
        assert_eq!(verifier.await.unwrap().len(), 3, "each saw tokens of three keys");
    }
    let keys = server.admin.list_signing_keys().await.unwrap();
    assert_eq!(keys[0].stage.state, State::Retired);
}

/// A key that others may have: gone from the set with the next poll, its tokens with it, and the algorithm goes on.
#[tokio::test]
async fn a_key_that_others_have_is_retired_at_once() {
    let (directory, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let server = start(directory.path(), clock).await;
    let token = server.token().await;
    let first = kid(&token);
    // Without an heir, a new key is made; with one, the heir takes over before its time.
    for round in 1..=2_u64 {
        let active = if round == 1 { first.clone() } else { format!("ES256/{round}") };
        if round == 2 {
            server.admin.rotate_signing_key(Algorithm::Es256).await.unwrap();
        }
        let retired = server.admin.retire_signing_key(&active).await.unwrap();
        assert_eq!((retired.stage.sequence, retired.stage.state), (round, State::Retired));
        assert_eq!(server.admin.retire_signing_key(&active).await.unwrap(), retired, "once is enough");
        let keys = settled(&server, |keys| keys.len() as u64 > round).await;
        let states: Vec<_> = keys.iter().map(|key| key.stage.state).collect();
        assert_eq!(states.last(), Some(&State::Active), "{states:?}");
        let gone = async {
            while server.get("/jwks").await.json()["keys"].to_string().contains(&retired.kid) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), gone).await.unwrap();
        let fresh = server.token().await;
        assert_eq!(kid(&fresh), keys.last().unwrap().kid);
        assert!(server.is_active(&fresh).await);
        assert!(!server.is_active(&token).await);
    }
    let store = rusqlite::Connection::open(directory.path().join("data/store.sqlite")).unwrap();
    let secrets: i64 = store
        .query_row(
            "SELECT count(*) FROM records WHERE kind = 'signing-key' AND body NOT LIKE '%\"sealed\":null%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(secrets, 1, "the secrets of the retired keys are deleted");
    let unknown = server.admin.retire_signing_key("ES256/9").await.unwrap_err();
    assert!(matches!(unknown, Error::SigningKeyUnknown { .. }) && unknown.hint().is_some());
    assert!(server.admin.rotate_signing_key(Algorithm::EdDsa).await.is_err(), "not enabled");
    server.stop().await;
}
