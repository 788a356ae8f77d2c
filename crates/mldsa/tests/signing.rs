//! Randomness, hedging and attempts.

use sealstone_mldsa::any::{ExpandedSigningKey, SigningKey};
use sealstone_mldsa::{
    Context, Error, Level, MlDsa44, MlDsa65, MlDsa87, Mu, OsRandom, ParameterSet, Randomness, hazmat,
};

use crate::Dice;
use crate::model::{self, Poly};
use crate::vectors::shape::{LEVELS, shape};
use crate::vectors::subject::{Fixed, Input, Sealstone, Secret, Subject};

/// Counts what is asked of it, and fails from the `good`-th call on.
struct Counting {
    calls: usize,
    bytes: usize,
    good: usize,
}

impl Randomness for Counting {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        if self.calls == self.good {
            // A source that writes before it fails must not be believed either.
            bytes.fill(0xee);
            return Err(Error::RngFailed);
        }
        self.calls += 1;
        self.bytes += bytes.len();
        bytes.fill(0x11);
        Ok(())
    }
}

#[test]
fn failing_randomness_fails_the_call() {
    for level in LEVELS {
        let mut broken = Counting { calls: 0, bytes: 0, good: 0 };
        assert_eq!(SigningKey::generate(level, &mut broken).err(), Some(Error::RngFailed));
        let key = SigningKey::from_seed(level, &[1; 32]);
        let expanded = key.expand();
        let mu = Mu::from_bytes([2; 64]);
        assert_eq!(key.sign(&mut broken, Context::EMPTY, b"").err(), Some(Error::RngFailed));
        assert_eq!(expanded.sign(&mut broken, Context::EMPTY, b"").err(), Some(Error::RngFailed));
        assert_eq!(expanded.sign_mu(&mut broken, &mu).err(), Some(Error::RngFailed));
        let mut enough = Counting { calls: 0, bytes: 0, good: 2 };
        assert!(SigningKey::generate(level, &mut enough).is_ok());
        assert!(expanded.sign(&mut enough, Context::EMPTY, b"").is_ok());
        assert_eq!((enough.calls, enough.bytes), (2, 64));
    }
    fn with_the_level_as_a_type<P: ParameterSet>() {
        let mut broken = Counting { calls: 0, bytes: 0, good: 0 };
        type Key<P> = sealstone_mldsa::SigningKey<P>;
        assert_eq!(Key::<P>::generate(&mut broken).err(), Some(Error::RngFailed));
        assert_eq!(Key::<P>::generate_checked(&mut broken).err(), Some(Error::RngFailed));
        assert_eq!(Key::<P>::generate_boxed(&mut broken).err(), Some(Error::RngFailed));
    }
    with_the_level_as_a_type::<MlDsa44>();
    with_the_level_as_a_type::<MlDsa65>();
    with_the_level_as_a_type::<MlDsa87>();
}

/// Hedged is the default: two signatures of one message differ, and both are good.
#[test]
fn hedged_signatures_differ() {
    for level in LEVELS {
        let key = SigningKey::generate(level, &mut OsRandom).unwrap();
        let one = key.sign(&mut OsRandom, Context::EMPTY, b"twice").unwrap();
        let two = key.sign(&mut OsRandom, Context::EMPTY, b"twice").unwrap();
        assert!(one != two);
        let public = key.verifying_key();
        assert_eq!(public.verify(Context::EMPTY, b"twice", &one), Ok(()));
        assert_eq!(public.verify(Context::EMPTY, b"twice", &two), Ok(()));
        assert!(SigningKey::generate(level, &mut OsRandom).unwrap().seed() != key.seed());
    }
}

#[test]
fn deterministic_is_rnd_of_zeros() {
    for level in LEVELS {
        let key = SigningKey::from_seed(level, &[3; 32]);
        let zeros = key.sign(&mut Fixed([0; 32]), Context::EMPTY, b"still").unwrap();
        assert!(key.sign_deterministic(Context::EMPTY, b"still").unwrap() == zeros);
        assert!(key.expand().sign_deterministic(Context::EMPTY, b"still").unwrap() == zeros);
    }
}

/// The largest difference of two z, over all coefficients. If two signatures share y it is at most 2β.
fn distance(one: &[Poly], other: &[Poly]) -> i32 {
    let pairs = one.iter().flatten().zip(other.iter().flatten());
    pairs.map(|(a, b)| (a - b).abs()).max().unwrap()
}

/// All pairs of these signatures come from different y.
fn all_y_differ(level: Level, what: &str, signatures: &[Vec<u8>]) {
    let shape = shape(level);
    let z: Vec<_> = signatures.iter().map(|signature| model::z_decode(&shape, signature)).collect();
    for (i, one) in z.iter().enumerate() {
        for other in &z[..i] {
            assert!(distance(one, other) > 2 * shape.beta, "{level}: y does not depend on {what}");
        }
    }
}

/// Bernstein, June 2026: a nonce that leaves out one of its three inputs gives the key away in two signatures.
#[test]
fn y_without_the_message() {
    for level in LEVELS {
        let sign = |i: u8| {
            let input = Input::Pure { context: &[], message: &[i] };
            Sealstone.sign(level, Secret::Seed(&[4; 32]), input, &[5; 32]).unwrap()
        };
        all_y_differ(level, "the message", &(0..24).map(sign).collect::<Vec<_>>());
    }
}

#[test]
fn y_without_rnd() {
    for level in LEVELS {
        let sign = |i: u8| {
            let input = Input::Pure { context: &[], message: b"one" };
            Sealstone.sign(level, Secret::Seed(&[4; 32]), input, &[i; 32]).unwrap()
        };
        all_y_differ(level, "rnd", &(0..24).map(sign).collect::<Vec<_>>());
    }
}

/// Keys that differ in K alone: same ρ, s1, s2, t0 and public key.
#[test]
fn y_without_the_secret_k() {
    for level in LEVELS {
        let (_, expanded) = Sealstone.keygen(level, &[4; 32]).unwrap();
        let sign = |i: u8| {
            let mut bytes = expanded.clone();
            bytes[32..64].fill(i);
            let key = ExpandedSigningKey::decode(level, &bytes).unwrap();
            key.sign_deterministic(Context::EMPTY, b"one").unwrap().encode().to_vec()
        };
        all_y_differ(level, "K", &(0..24).map(sign).collect::<Vec<_>>());
    }
}

/// Within one signature too: no polynomial of z, and no half of one, repeats another's.
#[test]
fn y_repeated_within_a_signature() {
    for level in LEVELS {
        let shape = shape(level);
        for i in 0..8 {
            let input = Input::Pure { context: &[], message: &[i] };
            let signature = Sealstone.sign(level, Secret::Seed(&[8; 32]), input, &[0; 32]).unwrap();
            let z = model::z_decode(&shape, &signature);
            for (i, one) in z.iter().enumerate() {
                for other in &z[..i] {
                    assert!(distance(&[*one], &[*other]) > 2 * shape.beta);
                }
                let pairs =
                    one.as_chunks::<2>().0.iter().filter(|pair| (pair[0] - pair[1]).abs() <= 2 * shape.beta);
                assert!(pairs.count() < 16, "coefficients in pairs");
            }
        }
    }
}

/// What the public key and the signature must not depend on, they do not; what is secret stays out of both.
#[test]
fn seed_stays_inside() {
    let mut dice = Dice::new("seeds");
    for level in LEVELS {
        let seed: [u8; 32] = dice.array();
        let (public, expanded) = Sealstone.keygen(level, &seed).unwrap();
        let input = Input::Pure { context: &[], message: b"m" };
        let signature = Sealstone.sign(level, Secret::Seed(&seed), input, &dice.array()).unwrap();
        for secret in [&seed[..16], &expanded[32..48]] {
            for out in [&public, &signature] {
                assert!(!out.windows(16).any(|window| window == secret));
            }
        }
        assert!(!expanded.windows(16).any(|window| window == &seed[..16]));
    }
}

/// The mean number of attempts is the standard's (4.25, 5.1, 3.85), the common checks refuse, and ct0 can
/// refuse at level 44 alone (above it ‖ct0‖ ≤ τ·2^12 < γ2).
#[test]
fn attempts_are_as_many_as_the_standard_says() {
    fn at<P: ParameterSet>(expected: f64, ct0_can_refuse: bool) {
        const SIGNATURES: usize = 400;
        let key = sealstone_mldsa::SigningKey::<P>::from_seed(&[6; 32]).expand();
        let mut refused = std::collections::BTreeMap::new();
        for i in 0..SIGNATURES {
            let mut mu = [0; 64];
            mu[..8].copy_from_slice(&i.to_le_bytes());
            let mu = Mu::from_bytes(mu);
            let watched = hazmat::sign_mu_watched(&key, &mu, &[0; 32], |why| {
                *refused.entry(format!("{why:?}")).or_insert(0_u32) += 1;
            });
            let signature = watched.unwrap();
            assert_eq!(key.verifying_key().verify_mu(&mu, &signature), Ok(()));
        }
        let attempts = f64::from(refused.values().sum::<u32>()) / 400.0 + 1.0;
        // Standard deviation of the mean is about 0.2; five of them.
        assert!((attempts - expected).abs() < 1.0, "{attempts} attempts a signature, {expected} expected");
        assert!(refused["Z"] > 100 && refused["R0"] > 100, "{refused:?}");
        assert!(ct0_can_refuse || !refused.contains_key("Ct0"), "{refused:?}");
    }
    at::<MlDsa44>(4.25, true);
    at::<MlDsa65>(5.1, false);
    at::<MlDsa87>(3.85, false);
}

#[test]
fn caller_supplied_rnd_is_the_same_door() {
    fn at<P: ParameterSet>() {
        let key = sealstone_mldsa::SigningKey::<P>::from_seed(&[7; 32]).expand();
        let mu = Mu::from_bytes([9; 64]);
        let given = hazmat::sign_mu_with_rnd(&key, &mu, &[3; 32]).unwrap();
        assert!(given == key.sign_mu(&mut Fixed([3; 32]), &mu).unwrap());
        assert!(given != key.sign_mu_deterministic(&mu).unwrap());
    }
    at::<MlDsa44>();
    at::<MlDsa65>();
    at::<MlDsa87>();
}
