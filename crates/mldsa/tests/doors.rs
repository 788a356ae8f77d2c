//! Streaming, pre-hashing, batches, rooms, `Debug`.

use sealstone_mldsa::any;
use sealstone_mldsa::{
    Context, CpuEngine, Engine, Error, KeygenJob, Level, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet,
    PreHash, PreHasher, SignJob, SigningKey, VerifyJob, hazmat,
};

use crate::Dice;
use crate::vectors::oracle;
use crate::vectors::shape::LEVELS;

/// libcrux-sha3 (RUSTSEC-2026-0074, -0207) lost bytes at the edges of blocks.
#[test]
fn message_in_any_pieces() {
    let mut dice = Dice::new("pieces");
    let message = dice.bytes(700);
    for level in LEVELS {
        let public = any::SigningKey::from_seed(level, &[1; 32]).verifying_key();
        for len in (0..=300).chain([400, 543, 544, 545, 679, 680, 681, 700]) {
            let expected = oracle::mu(public.encode(), &oracle::formatted(b"c", None, &message[..len]));
            let mut hasher = public.message(Context::new(b"c").unwrap());
            let mut rest = &message[..len];
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(dice.below(rest.len().min(140)) + 1);
                hasher.update(piece);
                hasher.update(&[]);
                rest = after;
            }
            assert_eq!(hasher.finish().as_bytes(), &expected, "{level}: {len} bytes");
        }
    }
}

#[test]
fn twelve_prehash_functions() {
    let mut dice = Dice::new("digests");
    let message = dice.bytes(600);
    let public = any::SigningKey::from_seed(Level::MlDsa44, &[1; 32]).verifying_key();
    for hash in PreHash::ALL {
        for len in (0..=290).chain([600]) {
            let mut hasher = PreHasher::new(hash);
            let cut = dice.below(len + 1);
            hasher.update(&message[..cut]);
            hasher.update(&message[cut..len]);
            let digest = hasher.finish();
            let expected = oracle::digest(hash, &message[..len]);
            assert_eq!(digest.as_ref(), expected, "{}: {len} bytes", hash.name());
            assert_eq!(hash.digest_len(), expected.len());
        }
        assert_eq!(*hash.oid_der().last().unwrap(), oracle::oid_arc(hash));
        let formatted = oracle::formatted(b"ctx", Some(hash), &message);
        let mu =
            public.prehashed(Context::new(b"ctx").unwrap(), hash, &oracle::digest(hash, &message)).unwrap();
        assert_eq!(mu.as_bytes(), &oracle::mu(public.encode(), &formatted), "{}", hash.name());
        assert_eq!(hash.name().parse(), Ok(hash));
    }
}

/// A hash's digest signed as a message, or under another hash of the same length, is something else.
#[test]
fn prehash_confused_with_pure_or_another_hash() {
    for level in LEVELS {
        let key = any::SigningKey::from_seed(level, &[2; 32]).expand();
        let public = key.verifying_key();
        let digest = [0x42; 32];
        let mu = key.prehashed(Context::EMPTY, PreHash::Sha2_256, &digest).unwrap();
        let signature = key.sign_mu_deterministic(&mu).unwrap();
        assert_eq!(public.verify_mu(&mu, &signature), Ok(()));
        assert_eq!(public.verify(Context::EMPTY, &digest, &signature), Err(Error::BadSignature));
        for other in [PreHash::Sha3_256, PreHash::Sha2_512_256, PreHash::Shake128] {
            let mu = public.prehashed(Context::EMPTY, other, &digest).unwrap();
            assert_eq!(public.verify_mu(&mu, &signature), Err(Error::BadSignature), "{}", other.name());
        }
    }
}

/// Keys of run-time level give the same jobs, context included.
#[test]
fn messages_of_keys_of_any_level_are_hashed_as_alone() {
    let keys = LEVELS.map(|level| any::SigningKey::from_seed(level, &[2; 32]).expand());
    let public = keys.each_ref().map(|key| key.verifying_key().expand());
    let ctx = Context::new(b"context").unwrap();
    let mut jobs: Vec<_> = keys.iter().map(|key| key.mu_job(ctx, b"message")).collect();
    jobs.extend(public.iter().map(|key| key.mu_job(ctx, b"message")));
    assert_eq!(format!("{:?}", jobs[0]), "MuJob { mu: None, .. }");
    CpuEngine::new().hash_messages(&mut jobs);
    for (i, job) in jobs.iter().enumerate() {
        let mut alone = public[i % 3].message(ctx);
        alone.update(b"message");
        assert!(job.mu == Some(alone.finish()), "job {i}");
    }
}

/// A batch answers each job as it would be answered alone, good ones beside bad ones.
#[test]
fn batch_answers_as_alone() {
    fn at<P: ParameterSet>() {
        let engine: &dyn Engine<P> = &CpuEngine::new();
        let seeds: Vec<[u8; 32]> = (0..11).map(|i| [i; 32]).collect();
        let mut jobs: Vec<_> = seeds.iter().map(|seed| KeygenJob { seed, verifying_key: None }).collect();
        engine.keygen(&mut jobs);
        let keys: Vec<_> =
            seeds.iter().map(|seed| Box::new(SigningKey::<P>::from_seed(seed).expand())).collect();
        for (job, key) in jobs.iter().zip(&keys) {
            assert!(job.verifying_key.as_ref() == Some(key.verifying_key()));
        }
        let messages: Vec<_> = (0..11).map(|i| Mu::from_bytes([i; 64])).collect();
        let mut jobs: Vec<_> = keys
            .iter()
            .zip(&messages)
            .zip(&seeds)
            .map(|((key, mu), rnd)| SignJob { key, mu, rnd: *rnd, signature: None })
            .collect();
        engine.sign(&mut jobs);
        let signatures: Vec<_> = jobs.into_iter().map(|job| job.signature.unwrap().unwrap()).collect();
        for (i, signature) in signatures.iter().enumerate() {
            assert!(*signature == hazmat::sign_mu_with_rnd(&keys[i], &messages[i], &seeds[i]).unwrap());
        }
        let verifying: Vec<_> = keys.iter().map(|key| Box::new(key.verifying_key().expand())).collect();
        let mut jobs: Vec<_> = (0..11)
            .map(|i| {
                let key = &verifying[if i % 3 == 0 { 10 - i } else { i }];
                VerifyJob { key, mu: &messages[i], signature: &signatures[i], verdict: None }
            })
            .collect();
        engine.verify(&mut jobs);
        for (i, job) in jobs.iter().enumerate() {
            let alone = job.key.verify_mu(&messages[i], &signatures[i]);
            assert_eq!(job.verdict, Some(alone));
            assert_eq!(alone.is_ok(), i % 3 != 0);
        }
        engine.verify(&mut []);
    }
    at::<MlDsa44>();
    at::<MlDsa65>();
    at::<MlDsa87>();
}

#[test]
fn unknown_rooms_are_refused() {
    for name in ["", "portable ", "PORTABLE", "avx1024"] {
        assert!(hazmat::force_room(Some(name)).is_err(), "{name:?}");
    }
    let rooms: Vec<_> = hazmat::rooms().collect();
    assert!(rooms.contains(&"portable") && rooms.len() >= 2, "{rooms:?}");
    assert!(rooms.contains(&hazmat::room()));
}

/// When a room is forced by the environment, it is the one in use: a forced run that is not would prove nothing.
#[test]
fn forced_room_is_in_use() {
    if let Ok(room) = std::env::var("SEALSTONE_BACKEND")
        && cfg!(debug_assertions)
    {
        assert_eq!(hazmat::room(), room);
    }
}

/// `Debug` shows the type and the level: two different keys look the same, and no byte comes out.
#[test]
fn debug_shows_no_secret() {
    for level in LEVELS {
        let shown = |seed: [u8; 32]| {
            let key = any::SigningKey::from_seed(level, &seed);
            let expanded = key.expand();
            let signature = expanded.sign_deterministic(Context::EMPTY, b"m").unwrap();
            let public = key.verifying_key();
            let mu = public.message(Context::EMPTY).finish();
            format!("{key:?} {expanded:?} {:?} {signature:?} {mu:?}", public.message(Context::EMPTY))
        };
        assert_eq!(shown([1; 32]), shown([2; 32]));
        assert!(shown([0xab; 32]).len() < 400);
    }
    let error = format!("{:?} {}", Error::BadKey, Error::WrongLength { expected: 32, found: 31 });
    assert!(error.contains("31"));
}

/// The level survives its name.
#[test]
fn levels_by_name() {
    for level in LEVELS {
        assert_eq!(level.to_string().parse(), Ok(level));
    }
    for name in ["", "ML-DSA-43", "ml-dsa-44", "ML-DSA-44 ", "MLDSA44", "Dilithium2"] {
        assert!(name.parse::<Level>().is_err(), "{name:?}");
    }
}
