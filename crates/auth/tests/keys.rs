//! The life of signing keys, and how they are kept.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use sealstone_auth::Clock;
use sealstone_auth::clock::OsRandomness;
use sealstone_auth::keys::{
    Policy, Sealer, Secret, Stage, State, Step, plan, retire_at_once, successor, withdraw,
};
use sealstone_auth::snapshot::Live;
use sealstone_auth::store::{Kind, Sqlite, Store, Version};
use sealstone_jose::{Algorithm, UnixSeconds};

use crate::support::{House, START, policy};

fn stage(sequence: u64, state: State, age: u64) -> Stage {
    Stage { algorithm: Algorithm::Es256, sequence, since: UnixSeconds(START - age), state }
}

fn shift(sequence: u64, state: State) -> Step {
    Step::Move { algorithm: Algorithm::Es256, sequence, state }
}

fn create(sequence: u64, state: State) -> Step {
    Step::Create { algorithm: Algorithm::Es256, sequence, state }
}

#[test]
fn a_state_lasts_its_time() {
    let policy = policy();
    let at = |state, age| stage(1, state, age).next_state(UnixSeconds(START), &policy);
    assert_eq!(at(State::PrePublished, 999), State::PrePublished);
    assert_eq!(at(State::PrePublished, 1_000), State::Active);
    assert_eq!(at(State::Active, 9_999), State::Active);
    assert_eq!(at(State::Active, 10_000), State::Retiring);
    assert_eq!(at(State::Retiring, 1_999), State::Retiring);
    assert_eq!(at(State::Retiring, 2_000), State::Retired);
    assert_eq!(at(State::Retired, START), State::Retired);
    let future = Stage { since: UnixSeconds(START + 5), ..stage(1, State::Active, 0) };
    assert_eq!(
        future.next_state(UnixSeconds(START), &policy),
        State::Active,
        "a clock set back moves nothing"
    );
}

#[test]
fn the_plan_in_each_situation() {
    use State::{Active, PrePublished, Retired, Retiring};
    let es256 = &[Algorithm::Es256][..];
    let situations: &[(&[Stage], &[Algorithm], &[Step])] = &[
        (&[], es256, &[create(1, Active)]),
        (&[stage(1, Active, 8_999)], es256, &[]),
        (&[stage(1, Active, 9_000)], es256, &[create(2, PrePublished)]),
        (&[stage(1, Active, 9_999), stage(2, PrePublished, 999)], es256, &[]),
        (&[stage(1, Active, 10_500), stage(2, PrePublished, 999)], es256, &[]),
        (
            &[stage(1, Active, 10_000), stage(2, PrePublished, 1_000)],
            es256,
            &[shift(2, Active), shift(1, Retiring)],
        ),
        (&[stage(1, Active, 10_000), stage(2, Active, 0)], es256, &[shift(1, Retiring)]),
        (&[stage(1, Retiring, 2_000), stage(2, Active, 2_000)], es256, &[shift(1, Retired)]),
        (&[stage(1, Retired, 0), stage(2, Retiring, 0)], es256, &[create(3, Active)]),
        (&[stage(1, Retiring, 0), stage(2, PrePublished, 0)], es256, &[shift(2, Active)]),
        (&[stage(1, Active, 20_000), stage(2, PrePublished, 20_000)], &[], &[]),
        (&[stage(1, Retiring, 2_000)], &[], &[shift(1, Retired)]),
    ];
    for (keys, enabled, steps) in situations {
        assert_eq!(plan(keys, enabled, UnixSeconds(START), &policy()), *steps, "{keys:?}");
    }
}

#[test]
fn what_is_no_longer_enabled_is_withdrawn() {
    use State::{Active, PrePublished, Retired, Retiring};
    let keys = [stage(1, Retired, 0), stage(2, Retiring, 0), stage(3, Active, 0), stage(4, PrePublished, 0)];
    assert_eq!(withdraw(&keys, &[Algorithm::Es256]), []);
    assert_eq!(withdraw(&keys, &[Algorithm::Es384]), [shift(3, Retiring), shift(4, Retiring)]);
}

#[test]
fn an_heir_that_was_asked_for_takes_over_before_the_time() {
    use State::{Active, PrePublished, Retired, Retiring};
    assert_eq!(successor(&[], Algorithm::Es256), Some(create(1, Active)));
    let one = [stage(1, Active, 10)];
    assert_eq!(successor(&one, Algorithm::Es256), Some(create(2, PrePublished)));
    assert_eq!(successor(&one, Algorithm::Es384).map(|_| ()), Some(()));
    let two = [stage(1, Active, 1_010), stage(2, PrePublished, 999)];
    assert_eq!(successor(&two, Algorithm::Es256), None);
    let es256 = &[Algorithm::Es256];
    assert_eq!(plan(&two, es256, UnixSeconds(START), &policy()), []);
    let ready = [stage(1, Active, 1_011), stage(2, PrePublished, 1_000)];
    assert_eq!(plan(&ready, es256, UnixSeconds(START), &policy()), [shift(2, Active), shift(1, Retiring)]);
    // At once: who signs next comes first.
    assert_eq!(retire_at_once(&one, &one[0], es256), [create(2, Active), shift(1, Retired)]);
    assert_eq!(retire_at_once(&two, &two[0], es256), [shift(2, Active), shift(1, Retired)]);
    assert_eq!(retire_at_once(&two, &two[1], es256), [shift(2, Retired)]);
    assert_eq!(retire_at_once(&one, &one[0], &[]), [shift(1, Retired)]);
    let after = [stage(1, Retiring, 0), stage(2, Active, 0)];
    assert_eq!(retire_at_once(&after, &after[0], es256), [shift(1, Retired)]);
}

/// Two servers with different configurations on one store: each start may change keys, but looking at them never does.
#[tokio::test]
async fn servers_that_disagree_on_algorithms_do_not_fight() {
    let store: Arc<dyn Store> = Arc::new(Sqlite::in_memory().unwrap());
    let now = UnixSeconds(START);
    let open = async |algorithms: &[Algorithm]| {
        let sealer = Sealer::from_key(&[7; 32]).unwrap();
        Live::open(store.clone(), sealer, algorithms.to_vec(), policy(), Arc::new(OsRandomness), now)
            .await
            .unwrap()
    };
    let both = open(&[Algorithm::Es256, Algorithm::Es384]).await;
    let one = open(&[Algorithm::Es256]).await;
    for _ in 0..5 {
        for live in [&both, &one] {
            live.refresh(now).await.unwrap();
            live.rotate(now).await.unwrap();
        }
    }
    let records = store.list(Kind::SigningKey, Version::ZERO, now).await.unwrap();
    let mut ids: Vec<_> = records.iter().map(|record| record.id.as_str()).collect();
    ids.sort();
    assert_eq!(ids, ["ES256/1", "ES384/1", "ES384/2"]);
    assert!(both.snapshot().keys.active(Algorithm::Es384).is_some());
}

/// Three lives of a key in small steps of time: at each moment one key signs, it has been published long enough, and
/// every key that may have signed a living token is published.
#[test]
fn no_verifier_ever_meets_an_unknown_key() {
    let policy = Policy { active_seconds: 1_000, publish_seconds: 100, retire_seconds: 200 };
    let mut keys: Vec<Stage> = Vec::new();
    let mut published_since = std::collections::HashMap::new();
    let mut last_signed = std::collections::HashMap::new();
    for second in 0..3_500 {
        let now = UnixSeconds(START + second);
        for step in plan(&keys, &[Algorithm::Es256], now, &policy) {
            match step {
                Step::Create { algorithm, sequence, state } => {
                    keys.push(Stage { algorithm, sequence, since: now, state });
                    published_since.insert(sequence, second);
                }
                Step::Move { sequence, state, .. } => {
                    let key = keys.iter_mut().find(|key| key.sequence == sequence).unwrap();
                    (key.state, key.since) = (state, now);
                }
            }
        }
        let active: Vec<_> = keys.iter().filter(|key| key.state == State::Active).collect();
        assert_eq!(active.len(), 1, "second {second}");
        let sequence = active[0].sequence;
        assert!(sequence == 1 || second - published_since[&sequence] >= 100, "second {second}");
        last_signed.insert(sequence, second);
        for key in &keys {
            let may_live = last_signed.get(&key.sequence).is_some_and(|last| second - last < 200);
            assert!(!may_live || key.state.is_published(), "second {second}");
        }
        assert!(keys.iter().filter(|key| key.state.is_published()).count() <= 2, "second {second}");
    }
    assert_eq!(keys.len(), 4);
}

#[tokio::test]
async fn a_rotation_in_the_store() {
    let house = House::with(Arc::new(Sqlite::in_memory().unwrap()), &[Algorithm::Es256]).await;
    let who = house.es256().await;
    let (states, old) = (states(&house), house.token(&who));
    assert_eq!(states, [(1, State::Active)]);
    let published = |house: &House| house.live.snapshot().keys.jwks().matches("\"kid\"").count();

    house.clock.advance(9_000);
    house.live.rotate(house.clock.now()).await.unwrap();
    assert_eq!(self::states(&house), [(1, State::Active), (2, State::PrePublished)]);
    assert_eq!(published(&house), 2, "published before it signs");

    house.clock.advance(1_000);
    house.live.rotate(house.clock.now()).await.unwrap();
    assert_eq!(self::states(&house), [(1, State::Retiring), (2, State::Active)]);
    let new = house.token(&who);
    assert_ne!(kid(&old), kid(&new));
    assert!(house.check(&new).is_some());

    house.clock.advance(2_000);
    house.live.rotate(house.clock.now()).await.unwrap();
    assert_eq!(self::states(&house), [(1, State::Retired), (2, State::Active)]);
    assert_eq!(published(&house), 1);
    let retired = house.store.read(Kind::SigningKey, "ES256/1", house.clock.now()).await.unwrap().unwrap();
    assert!(String::from_utf8(retired.body).unwrap().contains("\"sealed\":null"), "its secret is deleted");
}

#[tokio::test]
async fn a_key_still_verifies_while_it_retires() {
    let house = House::with(Arc::new(Sqlite::in_memory().unwrap()), &[Algorithm::Es256]).await;
    let who = house.es256().await;
    house.clock.advance(9_000);
    house.live.rotate(house.clock.now()).await.unwrap();
    house.clock.advance(999);
    let old = house.token(&who);
    house.clock.advance(1);
    house.live.rotate(house.clock.now()).await.unwrap();
    assert_ne!(kid(&old), kid(&house.token(&who)));
    assert_eq!(house.introspect(&who, &old)["active"], true);
}

fn states(house: &House) -> Vec<(u64, State)> {
    let snapshot = house.live.snapshot();
    let mut states: Vec<_> =
        snapshot.keys.stages().iter().map(|stage| (stage.sequence, stage.state)).collect();
    states.sort();
    states
}

fn kid(token: &str) -> String {
    sealstone_jose::jws::Unverified::parse(token).unwrap().header().kid().unwrap().to_owned()
}

/// Servers that start at once on one store end up with one and the same key per algorithm.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_start_together_share_their_keys() {
    let store: Arc<dyn Store> = Arc::new(Sqlite::in_memory().unwrap());
    let algorithms = vec![Algorithm::Es256, Algorithm::EdDsa, Algorithm::MlDsa44];
    let starts: Vec<_> = (0..8)
        .map(|_| {
            let (store, algorithms) = (store.clone(), algorithms.clone());
            tokio::spawn(async move {
                let sealer = Sealer::from_key(&[7; 32]).unwrap();
                let now = UnixSeconds(START);
                let live = Live::open(store, sealer, algorithms, policy(), Arc::new(OsRandomness), now)
                    .await
                    .unwrap();
                live.snapshot().keys.jwks().to_owned()
            })
        })
        .collect();
    let mut sets = std::collections::HashSet::new();
    for start in starts {
        sets.insert(start.await.unwrap());
    }
    assert_eq!(sets.len(), 1);
    let records = store.list(Kind::SigningKey, Version::ZERO, UnixSeconds(START)).await.unwrap();
    assert_eq!(records.len(), 3);
}

#[test]
fn a_sealed_key_opens_only_in_its_place() {
    let sealer = Sealer::from_key(&[7; 32]).unwrap();
    let sealed = sealer.seal(Secret::SigningKey, "ES256/1", b"secret", &OsRandomness).unwrap();
    assert_eq!(sealed.len(), 12 + 6 + 16);
    assert!(!sealed.windows(6).any(|window| window == b"secret"));
    assert_eq!(*sealer.open_sealed(Secret::SigningKey, "ES256/1", &sealed).unwrap(), b"secret");
    assert!(sealer.open_sealed(Secret::SigningKey, "ES256/2", &sealed).is_err(), "another record");
    assert!(
        Sealer::from_key(&[8; 32]).unwrap().open_sealed(Secret::SigningKey, "ES256/1", &sealed).is_err(),
        "another key"
    );
    for length in 0..sealed.len() {
        assert!(
            sealer.open_sealed(Secret::SigningKey, "ES256/1", &sealed[..length]).is_err(),
            "cut to {length}"
        );
    }
    for position in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[position] ^= 1;
        assert!(
            sealer.open_sealed(Secret::SigningKey, "ES256/1", &changed).is_err(),
            "changed at {position}"
        );
    }
    assert_ne!(
        sealed,
        sealer.seal(Secret::SigningKey, "ES256/1", b"secret", &OsRandomness).unwrap(),
        "a nonce is drawn each time"
    );
}

#[test]
fn the_key_file_is_made_once_and_kept_private() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("seal.key");
    let sealed = Sealer::open(directory.path(), true, &OsRandomness)
        .unwrap()
        .seal(Secret::SigningKey, "a", b"s", &OsRandomness)
        .unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "no draft is left");
    let again = Sealer::open(directory.path(), true, &OsRandomness).unwrap();
    assert_eq!(*again.open_sealed(Secret::SigningKey, "a", &sealed).unwrap(), b"s");

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(Sealer::open(directory.path(), true, &OsRandomness).unwrap_err().to_string().contains("0640"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&path, [0; 31]).unwrap();
    assert!(
        Sealer::open(directory.path(), true, &OsRandomness).unwrap_err().to_string().contains("31 bytes")
    );
}

#[tokio::test]
async fn a_lost_key_file_is_said_and_nothing_is_replaced() {
    let store: Arc<dyn Store> = Arc::new(Sqlite::in_memory().unwrap());
    let open = async |key: u8| {
        let (sealer, now) = (Sealer::from_key(&[key; 32]).unwrap(), UnixSeconds(START));
        Live::open(store.clone(), sealer, vec![Algorithm::Es256], policy(), Arc::new(OsRandomness), now).await
    };
    let jwks = open(7).await.unwrap().snapshot().keys.jwks().to_owned();
    let refused = open(8).await.unwrap_err();
    assert!(matches!(refused, sealstone_auth::Error::Sealed { .. }), "{refused}");
    assert!(refused.hint().unwrap().contains("seal.key"));
    assert_eq!(open(7).await.unwrap().snapshot().keys.jwks(), jwks);
}
