//! Many tokens at once, and one object for many threads: the same verdicts as one by one.

use std::sync::Arc;
use std::thread;

use proptest::prelude::*;
use sealstone_jose::jws::{self, Header, Unverified};
use sealstone_jose::jwt::{self, Claims, Rules, Verifier};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey, PublicKey, UnixSeconds};

use crate::{assert_refused, b64, unb64};

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);

fn keys() -> Vec<PrivateKey> {
    Algorithm::ALL.into_iter().chain(Algorithm::ALL).map(|one| PrivateKey::generate(one).unwrap()).collect()
}

fn rules() -> Rules {
    Rules::new().issuer("https://id.example").audience("orders").typ("at+jwt")
}

fn claims(n: usize) -> Claims {
    // Some are over, some are for others.
    let aud = if n % 7 == 3 { "stock" } else { "orders" };
    let exp = if n % 11 == 5 { NOW.0 } else { NOW.0 + 300 };
    Claims::new().with("iss", "https://id.example").with("aud", aud).with("exp", exp).with("n", n)
}

/// The token with some fault, or none.
fn with_fault(token: &str, fault: u8) -> String {
    let (input, signature) = token.rsplit_once('.').unwrap();
    let mut bytes = unb64(signature);
    let middle = bytes.len() / 2;
    match fault {
        0 => bytes[0] ^= 1,
        1 => bytes[middle] ^= 0x80,
        2 => bytes.fill(0),
        3 => bytes.fill(0xff),
        4 => bytes.truncate(middle),
        5 => return input.to_owned(),
        6 => return format!("{token}A"),
        7 => *bytes.last_mut().unwrap() ^= 1,
        _ => return token.to_owned(),
    }
    format!("{input}.{}", b64(bytes))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 24, ..ProptestConfig::default() })]

    /// Tokens of any keys, with any faults, in any number and order.
    #[test]
    fn a_batch_says_what_each_alone_would(picks in prop::collection::vec((0_usize..24, 0_u8..16, 0_usize..24), 0..40)) {
        thread_local!(static KEYS: Vec<PrivateKey> = keys());
        KEYS.with(|keys| {
            // Four of twenty-four are keys that the verifier does not know.
            let known: Vec<PublicKey> = keys.iter().map(|key| key.public().clone()).collect();
            let strangers: Vec<PrivateKey> = (0..4).map(|n| {
                let algorithm = [Algorithm::MlDsa44, Algorithm::MlDsa65, Algorithm::MlDsa87, Algorithm::Ed25519][n];
                PrivateKey::from_secret(algorithm, &[n as u8; 32]).unwrap()
            }).collect();
            let verifier = Verifier::new(JwkSet::new(known).unwrap_or_else(|_| unreachable!()), rules());
            let tokens: Vec<String> = picks.iter().enumerate().map(|(n, (key, fault, under))| {
                let signer = keys.get(*key).or_else(|| strangers.get(key - 20)).unwrap();
                // Some are signed under the name of another key.
                let signer = match keys.get(*under).filter(|_| n % 5 == 4) {
                    Some(other) => signer.clone().with_kid(other.kid()),
                    None => signer.clone(),
                };
                with_fault(&jwt::sign(&signer, "at+jwt", &claims(n)).unwrap(), *fault)
            }).collect();
            let texts: Vec<&str> = tokens.iter().map(String::as_str).collect();
            let together = verifier.verify_all(&texts, NOW);
            prop_assert_eq!(together.len(), tokens.len());
            for (text, together) in texts.iter().zip(together) {
                prop_assert_eq!(verifier.verify(text, NOW), together);
            }
            Ok(())
        })?;
    }

    #[test]
    fn raw_signatures_too(picks in prop::collection::vec((0_usize..20, 0_usize..20, any::<bool>(), 0_usize..5_000), 0..24)) {
        thread_local!(static KEYS: Vec<(PrivateKey, Vec<u8>)> = keys().into_iter().map(|key| {
            let signature = key.sign(b"message").unwrap();
            (key, signature)
        }).collect());
        KEYS.with(|keys| {
            let jobs: Vec<(&PublicKey, &[u8], &[u8])> = picks.iter().map(|(key, signer, whole, len)| {
                let signature = &keys[*signer].1;
                let len = if *whole { signature.len() } else { signature.len().min(*len) };
                (keys[*key].0.public(), &b"message"[..], &signature[..len])
            }).collect();
            let alone: Vec<_> = jobs.iter().map(|(key, message, signature)| key.verify(message, signature)).collect();
            prop_assert_eq!(PublicKey::verify_all(&jobs), alone);
            Ok(())
        })?;
    }
}

/// One bad token among many is the only one refused, wherever it stands.
#[test]
fn one_bad_among_many() {
    for algorithm in [Algorithm::MlDsa44, Algorithm::MlDsa65, Algorithm::MlDsa87] {
        let key = PrivateKey::generate(algorithm).unwrap();
        let token = jws::encode(&key, &Header::new(), b"x").unwrap();
        let bad = with_fault(&token, 0);
        for count in [1, 2, 7, 8, 9, 17] {
            for at in 0..count {
                let texts: Vec<&str> =
                    (0..count).map(|n| if n == at { &bad } else { &token }).map(String::as_str).collect();
                let parsed =
                    texts.iter().map(|text| (Unverified::parse(text).unwrap(), key.public())).collect();
                let verdicts = Unverified::verify_all(parsed);
                for (n, verdict) in verdicts.into_iter().enumerate() {
                    match n == at {
                        true => assert_refused("bad", verdict, "signature"),
                        false => assert_eq!(verdict.unwrap().payload(), b"x"),
                    }
                }
            }
        }
    }
    assert!(Unverified::verify_all(Vec::new()).is_empty());
}

/// One verifier, thirty-two threads, keys of all kinds, clones beside it.
#[test]
fn one_verifier_for_many_threads() {
    fn is_shareable<T: Send + Sync + Clone + 'static>(_: &T) {}
    let keys = keys();
    let set = JwkSet::new(keys.iter().map(|key| key.public().clone())).unwrap();
    let verifier = Arc::new(Verifier::new(set, rules()));
    is_shareable(&*verifier);
    let tokens: Arc<Vec<String>> =
        Arc::new((0..44).map(|n| jwt::sign(&keys[n % keys.len()], "at+jwt", &claims(n)).unwrap()).collect());
    let due: Arc<Vec<_>> = Arc::new(tokens.iter().map(|token| verifier.verify(token, NOW)).collect());
    assert!(due.iter().any(Result::is_ok) && due.iter().any(Result::is_err));
    let threads: Vec<_> = (0..32)
        .map(|seed| {
            let (verifier, tokens, due) = (Arc::clone(&verifier), Arc::clone(&tokens), Arc::clone(&due));
            thread::spawn(move || {
                let own = Verifier::clone(&verifier);
                for n in 0..tokens.len() {
                    let n = (n * 7 + seed) % tokens.len();
                    assert_eq!(own.verify(&tokens[n], NOW), due[n]);
                }
                let texts: Vec<&str> = tokens.iter().map(String::as_str).collect();
                assert_eq!(verifier.verify_all(&texts, NOW), *due);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_verifier_of_one_key_takes_any_kid() {
    let key = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let verifier = Verifier::of_key(key.public().clone(), rules());
    let token = jwt::sign(&key.clone().with_kid("any"), "at+jwt", &claims(0)).unwrap();
    assert!(verifier.verify(&token, NOW).is_ok());
    let set = Verifier::new(JwkSet::new([key.public().clone()]).unwrap(), rules());
    assert_refused("of a set", set.verify(&token, NOW), "unknown kid");
    // A key of the set that is called otherwise is found by its thumbprint.
    let named = key.public().clone().with_kid("2026");
    let set = Verifier::new(JwkSet::new([named]).unwrap(), rules());
    assert!(set.verify(&jwt::sign(&key, "at+jwt", &claims(0)).unwrap(), NOW).is_ok());
    assert_refused("forged", verifier.verify(&with_fault(&token, 0), NOW), "signature");
}
