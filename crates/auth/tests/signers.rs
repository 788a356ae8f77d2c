//! Tokens that are signed side by side.

use std::collections::HashSet;
use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use sealstone_auth::signers::Signers;
use sealstone_jose::jws::{Header, Unsigned, Unverified};
use sealstone_jose::{Algorithm, PrivateKey};

const ALGORITHMS: [Algorithm; 4] =
    [Algorithm::MlDsa44, Algorithm::MlDsa65, Algorithm::MlDsa87, Algorithm::Es256];

fn signers(most: usize) -> Arc<Signers> {
    Arc::new(Signers::new(NonZeroUsize::new(most).unwrap()))
}

fn key(algorithm: Algorithm) -> PrivateKey {
    PrivateKey::generate(algorithm).unwrap()
}

fn token(key: &PrivateKey, payload: &str) -> Unsigned {
    Unsigned::new(key, &Header::new(), payload.as_bytes()).unwrap()
}

fn poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Everybody gets what they brought, with the key that they named, whoever signed it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn everybody_gets_their_own() {
    for most in [1, 2, 7, 32] {
        let signers = signers(most);
        let keys: Arc<Vec<PrivateKey>> =
            Arc::new(ALGORITHMS.into_iter().chain(ALGORITHMS).map(key).collect());
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..240 {
            let (signers, keys) = (Arc::clone(&signers), Arc::clone(&keys));
            tasks.spawn(async move {
                let key = &keys[n % keys.len()];
                let text = signers.sign(token(key, &format!("payload {n}"))).await.unwrap();
                let verified = Unverified::parse(&text).unwrap().verify(key.public()).unwrap();
                assert_eq!(verified.payload(), format!("payload {n}").as_bytes());
                n
            });
        }
        let done: HashSet<usize> = tasks.join_all().await.into_iter().collect();
        assert_eq!(done.len(), 240);
        assert_eq!(signers.together() > 0, most > 1, "most {most}");
    }
}

/// Who comes back first signs for those that have put theirs down.
#[tokio::test]
async fn the_first_signs_for_all() {
    let (signers, key) = (signers(32), key(Algorithm::MlDsa65));
    let mut first = pin!(signers.sign(token(&key, "first")));
    let mut second = pin!(signers.sign(token(&key, "second")));
    let mut third = pin!(signers.sign(token(&key, "third")));
    assert!(poll(first.as_mut()).is_pending());
    assert!(poll(second.as_mut()).is_pending());
    assert!(poll(third.as_mut()).is_pending());
    assert_eq!(signers.together(), 0);
    assert!(poll(second.as_mut()).is_ready());
    assert_eq!(signers.together(), 1, "all three at once");
    for mut other in [first, third] {
        assert!(poll(other.as_mut()).is_ready(), "signed already");
    }
    assert_eq!(signers.together(), 1);
}

/// A request that is given up takes nobody with it: neither those that lie beside it nor those that come later.
#[tokio::test]
async fn who_leaves_takes_nobody_along() {
    let (signers, key) = (signers(2), key(Algorithm::MlDsa44));
    let mut stays = pin!(signers.sign(token(&key, "stays")));
    {
        let mut gone: Vec<_> = (0..5).map(|_| Box::pin(signers.sign(token(&key, "gone")))).collect();
        assert!(gone.iter_mut().all(|one| poll(one.as_mut()).is_pending()));
    }
    assert!(poll(stays.as_mut()).is_pending());
    let signed = stays.await.unwrap();
    assert_eq!(Unverified::parse(&signed).unwrap().verify(key.public()).unwrap().payload(), b"stays");
    assert_eq!(signers.together(), 0, "what nobody waits for is not signed");
    signers.sign(token(&key, "next")).await.unwrap();
}

/// Alone, and where no lanes are to be shared, nobody waits.
#[tokio::test]
async fn no_wait_without_need() {
    let (alone, together) = (signers(1), signers(32));
    let (classical, lattice) = (key(Algorithm::Es256), key(Algorithm::MlDsa87));
    assert!(poll(pin!(alone.sign(token(&lattice, "x")))).is_ready());
    assert!(poll(pin!(together.sign(token(&classical, "x")))).is_ready());
    assert!(poll(pin!(together.sign(token(&lattice, "x")))).is_pending());
}
