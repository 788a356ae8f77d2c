//! What a running server does by itself as time passes.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use sealstone_auth::store::{Kind, Sqlite, Store, Version};
use sealstone_auth::{Clock, World};
use sealstone_jose::jws::Unverified;

use crate::support::{ManualClock, Running, config};

async fn until(mut done: impl AsyncFnMut() -> bool) {
    let looking = async {
        while !done().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), looking).await.unwrap();
}

#[tokio::test]
async fn keys_rotate_and_no_token_in_its_time_is_refused() {
    let (directory, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let mut config = config(directory.path());
    config.keys.active_seconds = NonZeroU64::new(1_300).unwrap();
    config.keys.publish_seconds = NonZeroU64::new(600).unwrap();
    config.tokens.algorithms = vec![sealstone_jose::Algorithm::Es256];
    let world = World { clock: clock.clone(), ..World::default() };
    let server = Running::start_in(config, world).await;
    let published = async || server.get("/jwks").await.json()["keys"].as_array().unwrap().len();
    let kid = |token: &str| Unverified::parse(token).unwrap().header().kid().unwrap().to_owned();
    assert_eq!(published().await, 1);

    clock.advance(700);
    until(async || published().await == 2).await;
    let old = server.token().await;
    clock.advance(600);
    until(async || kid(&server.token().await) != kid(&old)).await;
    assert!(server.is_active(&old).await, "600 of its 900 seconds have passed");
    clock.advance(299);
    assert!(server.is_active(&old).await);
    assert_eq!(published().await, 2);
    server.stop().await;
}

#[tokio::test]
async fn what_has_ended_is_deleted() {
    let (directory, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let store: Arc<dyn Store> = Arc::new(Sqlite::in_memory().unwrap());
    let world = World { clock: clock.clone(), store: Some(store.clone()), ..World::default() };
    let server = Running::start_in(config(directory.path()), world).await;
    let token = server.token().await;
    server.post("/revoke", &format!("token={token}")).await;
    let start = clock.now();
    // Asked as of the start, so that only a deletion can empty the list.
    let marks = async || store.list(Kind::Revocation, Version::ZERO, start).await.unwrap().len();
    assert_eq!(marks().await, 1);
    clock.advance(900 + 299);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(marks().await, 1);
    clock.advance(61);
    until(async || marks().await == 0).await;
    server.stop().await;
}
