//! `./dev accumulated [N]`: C2SP CCTV's accumulated digest over the keys and deterministic signatures of N seeds at each
//! level. There are published digests of 100, 10 000 and 60 000 000 seeds, which are compared on the way. For other numbers
//! there is none: mldsa-native makes the first 10 000 keys and signatures too, and then every tenth.

use crate::native::Native;
use crate::peers::{Case, Peer};
use sealstone_mldsa::{
    Context, CpuEngine, Engine, ExpandedSigningKey, Level, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet,
    SignJob, SigningKey,
};
use sha3::Shake128;
use sha3::digest::{ExtendableOutput, Update, XofReader};
use std::time::Instant;

/// Keys whose signatures are made in one batch.
const BATCH: u64 = 64;

/// So many seeds are given to mldsa-native, and after them one in ten.
const BOTH: u64 = 10_000;

/// What CCTV publishes for each level.
const PUBLISHED: [(u64, [&str; 3]); 3] = [
    (
        100,
        [
            "d51148e1f9f4fa1a723a6cf42e25f2a99eb5c1b378b3d2dbbd561b1203beeae4",
            "8358a1843220194417cadbc2651295cd8fc65125b5a5c1a239a16dc8b57ca199",
            "8c3ad714777622b8f21ce31bb35f71394f23bc0fcf3c78ace5d608990f3b061b",
        ],
    ),
    (
        10_000,
        [
            "e7fd21f6a59bcba60d65adc44404bb29a7c00e5d8d3ec06a732c00a306a7d143",
            "5ff5e196f0b830c3b10a9eb5358e7c98a3a20136cb677f3ae3b90175c3ace329",
            "80a8cf39317f7d0be0e24972c51ac152bd2a3e09bc0c32ce29dd82c4e7385e60",
        ],
    ),
    (
        60_000_000,
        [
            "080b48049257f5cd30dee17d6aa393d6c42fe52a29099df84a460ebaf4b02330",
            "0af0165db2b180f7a83dbecad1ccb758b9c2d834b7f801fc49dd572a9d4b1e83",
            "011166e9d5032c9bdc5c9bbb5dbb6c86df1c3d9bf3570b65ebae942dd9830057",
        ],
    ),
];

/// All three levels; fails at the first difference.
pub fn run(count: u64) {
    one::<MlDsa44>(Level::MlDsa44, 0, count);
    one::<MlDsa65>(Level::MlDsa65, 1, count);
    one::<MlDsa87>(Level::MlDsa87, 2, count);
}

fn one<P: ParameterSet>(level: Level, column: usize, count: u64) {
    let since = Instant::now();
    let mut seeds = Shake128::default().finalize_xof();
    let mut all = Shake128::default();
    let (mut done, mut compared) = (0, 0);
    while done < count {
        let batch = BATCH.min(count - done);
        let drawn = (0..batch).map(|_| {
            let mut seed = [0; 32];
            seeds.read(&mut seed);
            seed
        });
        let drawn: Vec<[u8; 32]> = drawn.collect();
        for (seed, (public, signature)) in drawn.iter().zip(keys_and_signatures::<P>(&drawn)) {
            if done < BOTH || done.is_multiple_of(10) {
                let (context, message) = (Vec::new(), Vec::new());
                let theirs = Native.make(&Case { level, seed: *seed, rnd: [0; 32], context, message });
                assert!(
                    theirs.0 == public && theirs.1.as_deref() == Some(&signature[..]),
                    "{level}: mldsa-native makes another key or signature of seed {done}"
                );
                compared += 1;
            }
            all.update(&public);
            all.update(&signature);
            done += 1;
            if let Some((_, expected)) = PUBLISHED.iter().find(|(count, _)| *count == done) {
                let found = digest(&all);
                assert_eq!(found, expected[column], "{level}: {done} seeds");
                println!("accumulated: {level}, {done} seeds: {found}, as published");
            }
        }
    }
    println!(
        "accumulated: {level}, {done} seeds: {}, {compared} keys and signatures as mldsa-native's, room {}, {} s",
        digest(&all),
        CpuEngine::new().room(),
        since.elapsed().as_secs()
    );
}

/// Public keys and deterministic signatures of the empty message, each verified.
fn keys_and_signatures<P: ParameterSet>(seeds: &[[u8; 32]]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let keys: Vec<ExpandedSigningKey<P>> =
        seeds.iter().map(|seed| SigningKey::<P>::from_seed(seed).expand()).collect();
    let mus: Vec<Mu> = keys.iter().map(|key| key.message(Context::EMPTY).finish()).collect();
    let jobs = keys.iter().zip(&mus).map(|(key, mu)| SignJob { key, mu, rnd: [0; 32], signature: None });
    let mut jobs: Vec<SignJob<'_, P>> = jobs.collect();
    CpuEngine::new().sign(&mut jobs);
    let made = jobs.into_iter().map(|job| {
        let signature = job.signature.expect("every job is answered").expect("signs");
        let public = job.key.verifying_key();
        assert_eq!(public.verify_mu(job.mu, &signature), Ok(()), "we refuse our signature");
        (public.encode().to_vec(), signature.encode().to_vec())
    });
    made.collect()
}

fn digest(all: &Shake128) -> String {
    let mut out = [0; 32];
    all.clone().finalize_xof().read(&mut out);
    out.iter().map(|byte| format!("{byte:02x}")).collect()
}
