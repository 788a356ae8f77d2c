//! One operation over and over, for a profiler: `turns ROOM OPERATION LEVEL SECONDS`. `./dev profile` runs it under perf.
#![allow(clippy::print_stdout, reason = "a program")]

use sealstone_mldsa::{
    Context, CpuEngine, Engine, MlDsa44, MlDsa65, MlDsa87, ParameterSet, SignJob, SigningKey, VerifyJob,
    VerifyingKey, hazmat,
};
use std::hint::black_box;
use std::time::{Duration, Instant};

const USAGE: &str =
    "turns ROOM keygen|sign|sign-expanded|sign-batch|verify|verify-expanded|verify-batch 44|65|87 SECONDS";

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [room, operation, level, seconds] = &words[..] else { return Err(USAGE.to_owned()) };
    hazmat::force_room(Some(room)).map_err(|why| why.to_string())?;
    let span = Duration::from_secs(seconds.parse().map_err(|_| USAGE)?);
    let (turns, time) = match level.as_str() {
        "44" => repeat::<MlDsa44>(operation, span)?,
        "65" => repeat::<MlDsa65>(operation, span)?,
        "87" => repeat::<MlDsa87>(operation, span)?,
        _ => return Err(USAGE.to_owned()),
    };
    println!(
        "{operation}/{level} in room {room}: {turns} turns, {:.2} us each",
        time.as_secs_f64() * 1e6 / turns as f64
    );
    Ok(())
}

/// Repeats the operation for so long; 64 jobs of a batch are 64 turns.
fn repeat<P: ParameterSet>(operation: &str, span: Duration) -> Result<(u64, Duration), String> {
    let seed = [3; 32];
    let key = SigningKey::<P>::from_seed(&seed).expand();
    let public = key.verifying_key().encode().to_vec();
    let expanded = key.verifying_key().expand();
    let signature = key.sign_deterministic(Context::EMPTY, &[0; 64]).map_err(|why| why.to_string())?;
    let begin = Instant::now();
    let mut turns = 0;
    while begin.elapsed() < span {
        let mut seed = seed;
        seed[..8].copy_from_slice(&u64::to_le_bytes(turns));
        let good = match operation {
            "keygen" => {
                black_box(SigningKey::<P>::from_seed(&seed).verifying_key());
                true
            }
            "sign" => {
                let key = SigningKey::<P>::from_seed(&seed);
                black_box(key.sign_deterministic(Context::EMPTY, &message(turns))).is_ok()
            }
            "sign-expanded" => black_box(key.sign_deterministic(Context::EMPTY, &message(turns))).is_ok(),
            "sign-batch" => {
                let messages: Vec<_> = (turns..turns + 64).map(message).collect();
                let mut hashed: Vec<_> =
                    messages.iter().map(|message| key.mu_job(Context::EMPTY, message)).collect();
                CpuEngine::new().hash_messages(&mut hashed);
                let job = |mu| SignJob { key: &key, mu, rnd: [0; 32], signature: None };
                let mut jobs: Vec<_> = hashed.iter().filter_map(|job| job.mu.as_ref()).map(job).collect();
                CpuEngine::new().sign(&mut jobs);
                turns += 63;
                jobs.len() == 64 && jobs.iter().all(|job| matches!(job.signature, Some(Ok(_))))
            }
            "verify" => VerifyingKey::<P>::decode(&public)
                .and_then(|key| key.verify(Context::EMPTY, &[0; 64], &signature))
                .is_ok(),
            "verify-expanded" => expanded.verify(Context::EMPTY, &[0; 64], &signature).is_ok(),
            "verify-batch" => {
                let mut hashed: Vec<_> = (0..64).map(|_| expanded.mu_job(Context::EMPTY, &[0; 64])).collect();
                CpuEngine::new().hash_messages(&mut hashed);
                let job = |mu| VerifyJob { key: &expanded, mu, signature: &signature, verdict: None };
                let mut jobs: Vec<_> = hashed.iter().filter_map(|job| job.mu.as_ref()).map(job).collect();
                CpuEngine::new().verify(&mut jobs);
                turns += 63;
                jobs.len() == 64 && jobs.iter().all(|job| job.verdict == Some(Ok(())))
            }
            _ => return Err(USAGE.to_owned()),
        };
        if !good {
            return Err(format!("{operation}: an answer was wrong"));
        }
        turns += 1;
    }
    Ok((turns, begin.elapsed()))
}

fn message(number: u64) -> [u8; 64] {
    let mut message = [0; 64];
    message[..8].copy_from_slice(&number.to_le_bytes());
    message
}
