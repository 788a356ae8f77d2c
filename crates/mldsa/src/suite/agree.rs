//! Batches against single calls: the same signatures, byte for byte, whatever is signed together.
//!
//! Long, so left out of `cargo test`; `./dev agree` runs it.

use super::Chance;
use crate::backend::{Room, all};
use crate::fips204::params::{MlDsa44, MlDsa65, MlDsa87};
use crate::{CpuEngine, Engine, ExpandedSigningKey, Mu, ParameterSet, SignJob, SigningKey, VerifyJob};
use std::println;
use std::time::Instant;
use std::vec::Vec;

/// Keys that the jobs of a batch are drawn from.
const KEYS: usize = 16;
/// Jobs in the largest batch.
const LARGEST: u64 = 80;

/// Signs `jobs` messages in batches of 1 to 80 in each room in turn, with any mix of 16 keys, half of them
/// deterministically; compares each signature with the one that a single call in the best room gives, and verifies
/// them in batches with one in seven spoilt.
fn agree<P: ParameterSet>(jobs: u64) {
    let mut chance = Chance::new(0xa9_ee);
    let keys: Vec<ExpandedSigningKey<P>> =
        (0..KEYS).map(|i| SigningKey::from_seed(&[i as u8; 32]).expand()).collect();
    let checking: Vec<_> = keys.iter().map(|key| key.verifying_key().expand()).collect();
    let rooms: Vec<Room> = all().into_iter().filter(|room| room.name() != "plain8").collect();
    let begin = Instant::now();
    let (mut done, mut batches) = (0, 0);
    while done < jobs {
        let size = (1 + chance.next() % LARGEST) as usize;
        let room = rooms[batches % rooms.len()];
        let engine = CpuEngine::in_room(room);
        let mus: Vec<Mu> =
            (0..size).map(|_| Mu::from_bytes(core::array::from_fn(|_| chance.next() as u8))).collect();
        let mut draws: Vec<(usize, [u8; 32])> = Vec::new();
        for _ in 0..size {
            let hedged = chance.next() & 1 == 1;
            let rnd = core::array::from_fn(|_| if hedged { chance.next() as u8 } else { 0 });
            draws.push((chance.next() as usize % KEYS, rnd));
        }
        let mut signing: Vec<SignJob<'_, P>> = mus
            .iter()
            .zip(&draws)
            .map(|(mu, &(key, rnd))| SignJob { key: &keys[key], mu, rnd, signature: None })
            .collect();
        engine.sign(&mut signing);
        let mut signatures = Vec::new();
        for (job, (mu, (key, rnd))) in signing.into_iter().zip(mus.iter().zip(&draws)) {
            let alone = keys[*key].sign_in(rooms[0], mu, rnd).expect("signs");
            let signature = job.signature.expect("answered").expect("signs");
            assert_eq!(signature.encode(), alone.encode(), "{} {} batch {batches}", P::LEVEL, room.name());
            signatures.push(signature);
        }
        let spoilt = |i: usize| i % 7 == 3;
        for (i, signature) in signatures.iter_mut().enumerate().filter(|(i, _)| spoilt(*i)) {
            let bytes = signature.sigma.as_mut();
            bytes[(i * 131) % bytes.len()] ^= 1 << (i % 8);
        }
        let mut verifying: Vec<VerifyJob<'_, P>> = signatures
            .iter()
            .zip(mus.iter().zip(&draws))
            .map(|(signature, (mu, (key, _)))| VerifyJob {
                key: &checking[*key],
                mu,
                signature,
                verdict: None,
            })
            .collect();
        engine.verify(&mut verifying);
        for (i, job) in verifying.iter().enumerate() {
            let verdict = job.verdict.expect("answered");
            assert_eq!(verdict.is_ok(), !spoilt(i), "{} {} batch {batches} job {i}", P::LEVEL, room.name());
        }
        done += size as u64;
        batches += 1;
    }
    let names: Vec<_> = rooms.iter().map(|room| room.name()).collect();
    println!(
        "agree [{}] {done} jobs in {batches} batches over rooms {}: as single calls, {:.0} s",
        P::LEVEL,
        names.join(", "),
        begin.elapsed().as_secs_f64()
    );
}

#[test]
#[ignore = "minutes; ./dev agree"]
#[allow(clippy::disallowed_methods, reason = "the number of jobs comes from ./dev")]
fn batches_sign_as_single_calls_do() {
    let jobs = std::env::var("SEALSTONE_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(30_000);
    agree::<MlDsa44>(jobs / 3);
    agree::<MlDsa65>(jobs / 3);
    agree::<MlDsa87>(jobs / 3);
}
