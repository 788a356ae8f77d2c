//! What must hold for every input. The targets of cargo-fuzz call these functions, and so does the test below, which needs
//! no fuzzer: `cargo test` here.
//!
//! An input's first byte chooses the level. What is missing is filled up, and what is too much is left out, where a target
//! needs a length; every other byte is the fuzzer's.

mod cms;
mod der;
mod ima;
mod jose;
mod mqtt;
pub mod mutate;

pub use cms::cms;
pub use der::{DER_WORDS, der};
pub use ima::ima;
pub use jose::{CBOR_WORDS, JSON_WORDS, cose, jwk, jwks, jws};
pub use mqtt::{mqtt_command, mqtt_downlink, mqtt_envelope, mqtt_packet};

use sealstone_mldsa::hazmat::sign_mu_with_rnd;
use sealstone_mldsa::{
    Context, CpuEngine, Engine, ExpandedSigningKey, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, SignJob,
    Signature, SigningKey, VerifyJob, VerifyingKey,
};

/// Calls `$f::<P>` at the level that the first byte chooses.
macro_rules! at_level {
    ($f:ident, $input:expr) => {
        match $input.split_first() {
            Some((level, rest)) if level % 3 == 0 => $f::<MlDsa44>(rest),
            Some((level, rest)) if level % 3 == 1 => $f::<MlDsa65>(rest),
            Some((_, rest)) => $f::<MlDsa87>(rest),
            None => {}
        }
    };
}

/// Any bytes as a public key, of any length: no panic, and what is read is written again.
pub fn public_key(input: &[u8]) {
    fn at<P: ParameterSet>(bytes: &[u8]) {
        let of_any_length = VerifyingKey::<P>::decode(bytes);
        assert_eq!(of_any_length.is_ok(), bytes.len() == P::PK_LEN);
        let bytes = fitted(bytes, P::PK_LEN);
        let key = VerifyingKey::<P>::decode(&bytes).expect("the length is right");
        assert_eq!(key.encode(), bytes);
        let signature = Signature::<P>::decode(&vec![0; P::SIG_LEN]).expect("the length is right");
        assert!(key.expand().verify(Context::EMPTY, b"", &signature).is_err());
    }
    at_level!(at, input);
}

/// Any bytes as an expanded private key: no panic; what is accepted is canonical, and its signatures verify.
pub fn private_key(input: &[u8]) {
    fn check<P: ParameterSet>(bytes: &[u8]) -> bool {
        let Ok(key) = ExpandedSigningKey::<P>::decode(bytes) else { return false };
        let mut again = vec![0; P::SK_LEN];
        key.encode(&mut again).expect("the length is right");
        assert_eq!(again, bytes);
        let signature = key.sign_deterministic(Context::EMPTY, b"fuzz").expect("a key signs");
        key.verifying_key().verify(Context::EMPTY, b"fuzz", &signature).expect("its own signature");
        true
    }
    fn at<P: ParameterSet>(bytes: &[u8]) {
        check::<P>(bytes);
        // A good key, with the fuzzer's bytes laid over it by exclusive or.
        let mut good = vec![0; P::SK_LEN];
        SigningKey::<P>::from_seed(&[7; 32]).expand().encode(&mut good).expect("the length is right");
        let mut changed = good.clone();
        lay_over(&mut changed, bytes);
        let accepted = check::<P>(&changed);
        // K alone is bound to nothing.
        let same = [&good[..32], &good[64..]] == [&changed[..32], &changed[64..]];
        assert_eq!(accepted, same, "a key that contradicts itself is refused");
    }
    at_level!(at, input);
}

/// A good signature with the fuzzer's bytes laid over it: refused, unless nothing changed.
pub fn signature(input: &[u8]) {
    fn at<P: ParameterSet>(bytes: &[u8]) {
        let _ = Signature::<P>::decode(bytes);
        let key = SigningKey::<P>::from_seed(&[7; 32]).expand();
        let good = key.sign_deterministic(Context::EMPTY, b"fuzz").expect("a key signs");
        let mut changed = good.encode().to_vec();
        lay_over(&mut changed, bytes);
        verdicts::<P>(key.verifying_key(), &changed, changed == good.encode());
    }
    at_level!(at, input);
}

/// The fuzzer's bytes as the hint of a signature: no panic, and never good unless the hint is the one that was there.
pub fn hint(input: &[u8]) {
    fn at<P: ParameterSet>(bytes: &[u8]) {
        let key = SigningKey::<P>::from_seed(&[7; 32]).expand();
        let good = key.sign_deterministic(Context::EMPTY, b"fuzz").expect("a key signs");
        let hint_len = P::OMEGA as usize + P::K;
        let mut changed = good.encode().to_vec();
        changed[P::SIG_LEN - hint_len..].copy_from_slice(&fitted(bytes, hint_len));
        verdicts::<P>(key.verifying_key(), &changed, changed == good.encode());
        // The same by small changes of the hint that was there.
        let mut changed = good.encode().to_vec();
        lay_over(&mut changed[P::SIG_LEN - hint_len..], bytes);
        verdicts::<P>(key.verifying_key(), &changed, changed == good.encode());
    }
    at_level!(at, input);
}

/// Seed, message and rnd from the fuzzer: our keys are theirs, our signatures are good there, and theirs here.
pub fn differential(input: &[u8]) {
    match input.split_first() {
        Some((level, rest)) if level % 3 == 0 => theirs::ml_dsa_44(rest),
        Some((level, rest)) if level % 3 == 1 => theirs::ml_dsa_65(rest),
        Some((_, rest)) => theirs::ml_dsa_87(rest),
        None => {}
    }
}

/// A batch gives what each job would get alone.
pub fn batch(input: &[u8]) {
    fn at<P: ParameterSet>(bytes: &[u8]) {
        let keys = [1, 2].map(|seed| SigningKey::<P>::from_seed(&[seed; 32]).expand_boxed());
        let count = bytes.first().map_or(0, |byte| usize::from(byte % 20));
        let orders: Vec<(&[u8], [u8; 32], usize)> = (0..count)
            .map(|n| {
                let at = |offset: usize| bytes[(n * 7 + offset) % bytes.len()] ^ n as u8;
                let from = usize::from(at(0)).min(bytes.len());
                (&bytes[from..], std::array::from_fn(|i| at(i + 64)), usize::from(at(96) & 1))
            })
            .collect();
        let mut hashed: Vec<_> =
            orders.iter().map(|(message, _, key)| keys[*key].mu_job(Context::EMPTY, message)).collect();
        CpuEngine::new().hash_messages(&mut hashed);
        let mus: Vec<Mu> = hashed.into_iter().map(|job| job.mu.expect("every message is answered")).collect();
        for ((message, _, key), mu) in orders.iter().zip(&mus) {
            let mut alone = keys[*key].message(Context::EMPTY);
            alone.update(message);
            assert!(*mu == alone.finish());
        }
        let mut jobs: Vec<SignJob<'_, P>> = orders
            .iter()
            .zip(&mus)
            .map(|((_, rnd, key), mu)| SignJob { key: &keys[*key], mu, rnd: *rnd, signature: None })
            .collect();
        CpuEngine::new().sign(&mut jobs);
        let answers: Vec<Signature<P>> = jobs
            .into_iter()
            .map(|job| job.signature.expect("every job is answered").expect("a key signs"))
            .collect();
        for (((_, rnd, key), mu), answer) in orders.iter().zip(&mus).zip(&answers) {
            let alone = sign_mu_with_rnd(&keys[*key], mu, rnd).expect("a key signs");
            assert_eq!(alone.encode(), answer.encode());
        }
        let public = keys.each_ref().map(|key| key.verifying_key().expand_boxed());
        let wrong = bytes.last().map_or(0, |byte| usize::from(*byte));
        let mut jobs: Vec<VerifyJob<'_, P>> = (0..count)
            .map(|n| {
                let key = orders[n].2 ^ usize::from(n == wrong % count);
                VerifyJob { key: &public[key], mu: &mus[n], signature: &answers[n], verdict: None }
            })
            .collect();
        CpuEngine::new().verify(&mut jobs);
        for (n, job) in jobs.iter().enumerate() {
            assert_eq!(job.verdict, Some(job.key.verify_mu(job.mu, job.signature)));
            assert_eq!(job.verdict.as_ref().is_some_and(Result::is_ok), n != wrong % count);
        }
    }
    at_level!(at, input);
}

/// Ours and theirs on a signature that ought to be good, or not.
fn verdicts<P: ParameterSet>(key: &VerifyingKey<P>, bytes: &[u8], good: bool) {
    let signature = Signature::<P>::decode(bytes).expect("the length is right");
    let ours = key.verify(Context::EMPTY, b"fuzz", &signature).is_ok();
    assert_eq!(ours, good);
    assert_eq!(ours, theirs::verify(key.encode(), b"fuzz", bytes));
}

mod theirs {
    use super::*;
    use fips204::traits::{KeyGen, SerDes, Signer, Verifier};

    macro_rules! level {
        ($name:ident, $p:ty) => {
            pub fn $name(bytes: &[u8]) {
                let (seed, rest) = bytes.split_at(bytes.len().min(32));
                let (rnd, message) = rest.split_at(rest.len().min(32));
                let [seed, rnd] =
                    [seed, rnd].map(|part| <[u8; 32]>::try_from(fitted(part, 32)).expect("32 bytes"));
                let ours = SigningKey::<$p>::from_seed(&seed).expand();
                let (public, private) = fips204::$name::KG::keygen_from_seed(&seed);
                assert_eq!(ours.verifying_key().encode(), public.clone().into_bytes());
                let mut sk = vec![0; fips204::$name::SK_LEN];
                ours.encode(&mut sk).expect("the length is right");
                assert_eq!(sk, private.clone().into_bytes());

                let mut mu = ours.message(Context::EMPTY);
                mu.update(message);
                let signature = sign_mu_with_rnd(&ours, &mu.finish(), &rnd).expect("a key signs");
                assert!(public.verify(message, &signature.encode().try_into().expect("its length"), b""));
                let theirs = private.try_sign_with_seed(&rnd, message, b"").expect("a key signs");
                assert_eq!(signature.encode(), theirs, "one rnd, one signature");
            }
        };
    }
    level!(ml_dsa_44, MlDsa44);
    level!(ml_dsa_65, MlDsa65);
    level!(ml_dsa_87, MlDsa87);

    /// Their verdict; the length of the key tells the level.
    pub fn verify(pk: &[u8], message: &[u8], signature: &[u8]) -> bool {
        macro_rules! of {
            ($name:ident) => {{
                let key = fips204::$name::PublicKey::try_from_bytes(pk.try_into().expect("its length"));
                key.expect("every string is a key").verify(
                    message,
                    &signature.try_into().expect("its length"),
                    b"",
                )
            }};
        }
        match pk.len() {
            fips204::ml_dsa_44::PK_LEN => of!(ml_dsa_44),
            fips204::ml_dsa_65::PK_LEN => of!(ml_dsa_65),
            _ => of!(ml_dsa_87),
        }
    }
}

/// Exclusive or, from a place that the first two bytes name.
fn lay_over(bytes: &mut [u8], over: &[u8]) {
    let Some((place, over)) = over.split_first_chunk() else { return };
    let place = usize::from(u16::from_le_bytes(*place)) % bytes.len();
    bytes[place..].iter_mut().zip(over).for_each(|(byte, over)| *byte ^= over);
}

/// The bytes cut or filled up with zeros.
fn fitted(bytes: &[u8], len: usize) -> Vec<u8> {
    bytes.iter().copied().chain(std::iter::repeat(0)).take(len).collect()
}

#[cfg(test)]
mod smoke {
    /// Every target on the committed corpus and on numbers of every length, without a fuzzer.
    #[test]
    fn targets_hold() {
        let targets: [(&str, fn(&[u8])); 17] = [
            ("public_key", super::public_key),
            ("private_key", super::private_key),
            ("signature", super::signature),
            ("hint", super::hint),
            ("differential", super::differential),
            ("batch", super::batch),
            ("cms", super::cms),
            ("der", super::der),
            ("ima", super::ima),
            ("jws", super::jws),
            ("jwk", super::jwk),
            ("jwks", super::jwks),
            ("cose", super::cose),
            ("mqtt_command", super::mqtt_command),
            ("mqtt_downlink", super::mqtt_downlink),
            ("mqtt_envelope", super::mqtt_envelope),
            ("mqtt_packet", super::mqtt_packet),
        ];
        let mut state = 1_u64;
        for (name, target) in targets {
            let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
            let files = std::fs::read_dir(&corpus).expect("each target has a corpus");
            let inputs: Vec<_> = files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
            assert!(!inputs.is_empty(), "{name}");
            inputs.iter().for_each(|input| target(input));
            for len in [0, 1, 2, 3, 4, 5, 16, 33, 65, 90, 100, 400, 2421, 3310, 4628, 4897] {
                let input: Vec<u8> = (0..len)
                    .map(|_| {
                        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        (state >> 56) as u8
                    })
                    .collect();
                target(&input);
            }
        }
    }
}
