//! A DPoP proof is used once: by the node that made its nonce, or by the store for all nodes.

use std::num::NonZeroU64;
use std::sync::Arc;

use sealstone_auth::config::{Dpop as DpopConfig, Replay};
use sealstone_auth::protocol::Code;
use sealstone_auth::protocol::dpop::{Dpop, Request};
use sealstone_auth::{Clock, clock::OsRandomness};
use sealstone_jose::Algorithm;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::dpop::{Node, TOKEN_ENDPOINT, but, key, proof};
use crate::support::{Guarded, House, Mood};

const SHARED: DpopConfig = DpopConfig { max_proofs: NonZeroU64::MIN, nonces: true, replay: Replay::Shared };

fn small(max_proofs: u64) -> DpopConfig {
    DpopConfig { max_proofs: NonZeroU64::new(max_proofs).unwrap(), ..DpopConfig::default() }
}

async fn code(node: &Node, claims: &Value, key: &sealstone_jose::PrivateKey) -> Result<(), Code> {
    node.ask(&[&proof(key, claims)]).await.map(drop).map_err(|error| error.code)
}

#[tokio::test]
async fn rfc9449_s11_1_a_second_use_is_refused() {
    for config in [DpopConfig::default(), SHARED] {
        let (node, key, other) = (Node::with(config).await, key(), key());
        let claims = node.claims("once");
        assert_eq!(code(&node, &claims, &key).await, Ok(()));
        assert_eq!(code(&node, &claims, &key).await, Err(Code::InvalidDpopProof), "the same");
        // Signed anew, and in the next minute with the next nonce: the id was used.
        node.house.clock.advance(60);
        assert_eq!(code(&node, &claims, &key).await, Err(Code::InvalidDpopProof), "a minute later");
        assert_eq!(
            code(&node, &node.claims("once"), &key).await,
            Err(Code::InvalidDpopProof),
            "another nonce"
        );
        assert_eq!(code(&node, &node.claims("once"), &other).await, Ok(()), "another's id is another id");
        assert_eq!(code(&node, &node.claims("twice"), &key).await, Ok(()));
    }
}

/// 1000 at once on two threads: one winner, whoever remembers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rfc9449_s11_1_a_thousand_at_once_have_one_winner() {
    for config in [DpopConfig::default(), SHARED] {
        let (node, key) = (Arc::new(Node::with(config).await), key());
        let proof: Arc<str> = proof(&key, &node.claims("raced")).into();
        let mut race = JoinSet::new();
        for n in 0..1000 {
            let (node, proof) = (Arc::clone(&node), Arc::clone(&proof));
            race.spawn(async move { node.ask_as(&format!("client {}", n % 7), &[&proof]).await.is_ok() });
        }
        let won = race.join_all().await.into_iter().filter(|won| *won).count();
        assert_eq!(won, 1);
    }
}

/// A proof that one node has accepted is good at no other: not beside it, not after a restart.
#[tokio::test]
async fn a_node_accepts_only_its_own_nonces() {
    let (node, key) = (Node::build().await, key());
    let beside = Node { dpop: node.beside(&DpopConfig::default()), house: node.house };
    let node = Node {
        dpop: node.dpop,
        house: House::with(beside.house.store.clone(), &[Algorithm::Es256, Algorithm::MlDsa65]).await,
    };
    let claims = node.claims("1");
    assert_eq!(code(&beside, &claims, &key).await, Err(Code::UseDpopNonce), "before its use");
    assert_eq!(code(&node, &claims, &key).await, Ok(()));
    assert_eq!(code(&beside, &claims, &key).await, Err(Code::UseDpopNonce), "after its use");
}

/// With a shared memory a nonce is good everywhere, and a proof still once.
#[tokio::test]
async fn shared_a_proof_is_used_once_among_all_nodes() {
    let (node, key) = (Node::with(SHARED).await, key());
    let claims = node.claims("1");
    let (store, now) = (node.house.store.clone(), node.house.clock.now());
    let mut won = 0;
    for _ in 0..5 {
        let beside = node.beside(&SHARED);
        let proof = proof(&key, &claims);
        let proofs = [proof.as_bytes()];
        let request =
            Request { client: "c", method: "POST", proofs: &proofs, token: None, url: TOKEN_ENDPOINT };
        won += u32::from(beside.check(request, &*store, &OsRandomness, now).await.is_ok());
    }
    assert_eq!(won, 1);
    assert_eq!(code(&node, &claims, &key).await, Err(Code::InvalidDpopProof));
    // A node whose clock is behind takes the nonce of one that is ahead, and the mark outlives the proof.
    node.house.clock.advance(60);
    let ahead = node.claims("2");
    node.house.clock.set_back(60);
    assert_eq!(code(&node, &but(&ahead, "iat", now.0), &key).await, Ok(()));
    node.house.clock.advance(550);
    node.house.store.prune(node.house.clock.now()).await.unwrap();
    node.house.clock.set_back(540);
    assert_eq!(
        code(&node, &ahead, &key).await,
        Err(Code::InvalidDpopProof),
        "the clock was ahead for a while"
    );
}

/// Only where the store remembers can nonces be left away. Then `iat` bounds a proof's life.
#[tokio::test]
async fn shared_without_nonces() {
    let config = DpopConfig { nonces: false, ..SHARED };
    let (node, key) = (Node::with(config).await, key());
    assert_eq!(node.dpop.nonce(node.house.clock.now(), &OsRandomness).unwrap(), None);
    let now = node.house.clock.now().0;
    let claims = json!({"htm": "POST", "htu": TOKEN_ENDPOINT, "iat": now, "jti": "1"});
    assert_eq!(code(&node, &claims, &key).await, Ok(()));
    for seconds in [0, 299, 1] {
        node.house.clock.advance(seconds);
        node.house.store.prune(node.house.clock.now()).await.unwrap();
        assert_eq!(code(&node, &claims, &key).await, Err(Code::InvalidDpopProof), "to its last second");
    }
    let foreign = but(&but(&claims, "nonce", "of somebody else"), "jti", "2");
    assert_eq!(code(&node, &foreign, &key).await, Ok(()), "nobody gave it a nonce to check");
    assert_eq!(
        code(&node, &but(&claims, "iat", now - 1), &key).await,
        Err(Code::InvalidDpopProof),
        "too old"
    );
}

/// What is forgotten is not good again when the clock is set back.
#[tokio::test]
async fn the_clock_is_set_back() {
    let (node, key) = (Node::build().await, key());
    let claims = node.claims("1");
    assert_eq!(code(&node, &claims, &key).await, Ok(()));
    node.house.clock.advance(200);
    let later = node.claims("2");
    assert_eq!(code(&node, &later, &key).await, Ok(()), "the memory has moved on");
    node.house.clock.set_back(200);
    for used in [&claims, &later, &but(&claims, "jti", "3")] {
        assert_eq!(code(&node, used, &key).await, Err(Code::UseDpopNonce));
    }
    assert_eq!(code(&node, &node.claims("4"), &key).await, Ok(()), "the server goes on");
    // A clock that trembles costs nobody a nonce.
    node.house.clock.advance(60);
    let ahead = node.claims("5");
    node.house.clock.set_back(1);
    assert_eq!(node.nonce(), ahead["nonce"], "no nonce is handed out again that is about to end");
    assert_eq!(code(&node, &ahead, &key).await, Ok(()));
    assert_eq!(code(&node, &ahead, &key).await, Err(Code::InvalidDpopProof));
    assert_eq!(code(&node, &node.claims("4"), &key).await, Err(Code::InvalidDpopProof));
}

/// Full is an answer, not a reason to forget.
#[tokio::test]
async fn when_the_memory_is_full_nothing_is_forgotten() {
    let (node, key) = (Node::with(small(32)).await, key());
    let ask = async |client: &str, jti: u64| {
        let proof = proof(&key, &node.claims(&jti.to_string()));
        node.ask_as(client, &[&proof]).await.map(drop).map_err(|error| error.code)
    };
    let full = Err(Code::TemporarilyUnavailable);
    // Alone a client may use half of it, and then no more; each other one a sixteenth.
    for jti in 0..16 {
        assert_eq!(ask("greedy", jti).await, Ok(()));
    }
    assert_eq!(ask("greedy", 16).await, full);
    for client in 0..8 {
        for jti in [100, 200] {
            assert_eq!(ask(&format!("client {client}"), jti + client).await, Ok(()), "client {client}");
        }
        if client < 7 {
            assert_eq!(ask(&format!("client {client}"), 300).await, full);
        }
    }
    assert_eq!(ask("one more", 400).await, full);
    for jti in 0..16 {
        assert_eq!(ask("greedy", jti).await, Err(Code::InvalidDpopProof), "{jti} is remembered");
    }
    // A minute later they still count, two minutes later their nonces are over.
    node.house.clock.advance(60);
    assert_eq!(ask("one more", 400).await, full);
    assert_eq!(ask("greedy", 3).await, Err(Code::InvalidDpopProof));
    node.house.clock.advance(60);
    assert_eq!(ask("greedy", 500).await, Ok(()));
    // And after a pause the whole memory is free.
    for jti in 600..615 {
        assert_eq!(ask("greedy", jti).await, Ok(()));
    }
    assert_eq!(ask("greedy", 700).await, full);
    node.house.clock.advance(3600);
    assert_eq!(ask("greedy", 700).await, Ok(()));
}

/// What is refused is not remembered, and asks no store.
#[tokio::test]
async fn the_memory_is_asked_last() {
    let key = key();
    let mut node = Node::with(small(1)).await;
    let good = node.claims("good");
    for jti in 0..20 {
        let forged = proof(&key, &node.claims(&jti.to_string()));
        let forged = format!("{}AAAA", &forged[..forged.len() - 4]);
        assert_eq!(node.ask(&[&forged]).await.unwrap_err().code, Code::InvalidDpopProof);
    }
    assert_eq!(code(&node, &good, &key).await, Ok(()));

    let store = Guarded::new();
    node.house.store = store.clone();
    node.dpop = node.beside(&SHARED);
    let good = node.claims("good");
    store.set(Mood::Panic);
    let forged = proof(&key, &good);
    assert!(node.ask(&[&format!("{}AAAA", &forged[..forged.len() - 4])]).await.is_err());
    assert_eq!(code(&node, &but(&good, "htm", "GET"), &key).await, Err(Code::InvalidDpopProof));
    store.set(Mood::Serve);
    let before = store.calls();
    assert_eq!(code(&node, &good, &key).await, Ok(()));
    assert_eq!(store.calls(), before + 1, "one question");
}

/// Requests that look at the clock in one order and come to the memory in another, while it moves.
#[test]
fn many_threads_and_a_moving_clock_have_one_winner_each() {
    let house = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(House::build());
    let dpop = Arc::new(Dpop::new(&DpopConfig::default(), house.live.sealer(), &OsRandomness).unwrap());
    let (key, start) = (key(), house.clock.now());
    let nonce = dpop.nonce(start, &OsRandomness).unwrap().unwrap();
    let proofs: Arc<Vec<String>> = Arc::new(
        (0..40)
            .map(|jti| {
                let claims = json!({"htm": "POST", "htu": TOKEN_ENDPOINT, "iat": start.0, "jti": jti.to_string(), "nonce": nonce});
                proof(&key, &claims)
            })
            .collect(),
    );
    let store = house.store.clone();
    let threads: Vec<_> = (0..4u64)
        .map(|thread| {
            let (dpop, proofs, store) = (Arc::clone(&dpop), Arc::clone(&proofs), store.clone());
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                let mut won = Vec::new();
                for (n, proof) in proofs.iter().enumerate() {
                    // Between the minute of the nonce and the next, forwards and backwards.
                    let now = sealstone_jose::UnixSeconds(start.0 + 60 * ((n as u64 + thread) % 2));
                    let proofs = [proof.as_bytes()];
                    let request = Request {
                        client: "c",
                        method: "POST",
                        proofs: &proofs,
                        token: None,
                        url: TOKEN_ENDPOINT,
                    };
                    won.push(runtime.block_on(dpop.check(request, &*store, &OsRandomness, now)).is_ok());
                }
                won
            })
        })
        .collect();
    let won: Vec<Vec<bool>> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    for jti in 0..40 {
        assert_eq!(won.iter().filter(|won| won[jti]).count(), 1, "{jti}");
    }
}
