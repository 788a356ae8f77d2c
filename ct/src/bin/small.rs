//! One life of a key at each level in each room, small enough for an interpreter (`small LEVELS ROOM...`): `./dev miri` runs it on machines of other
//! word lengths and byte orders, `./dev asan` under AddressSanitizer. What it prints must be the same everywhere.

use sealstone_mldsa::hazmat::{self, sign_mu_watched};
use sealstone_mldsa::{
    Context, CpuEngine, Engine, Error, ExpandedSigningKey, KeygenJob, MlDsa44, MlDsa65, MlDsa87, MuHasher,
    ParameterSet, SignJob, Signature, SigningKey, VerifyJob, VerifyingKey,
};

fn main() -> Result<(), Error> {
    let levels = std::env::args().nth(1).unwrap_or_else(|| String::from("44,65,87"));
    let only: Vec<String> = std::env::args().skip(2).collect();
    for room in hazmat::rooms().filter(|room| only.is_empty() || only.iter().any(|name| name == room)) {
        hazmat::force_room(Some(room)).expect("it was listed");
        eprintln!("small: {room}");
        for level in levels.split(',') {
            let digest = match level {
                "44" => life::<MlDsa44>(4)?,
                "65" => life::<MlDsa65>(3)?,
                _ => life::<MlDsa87>(12)?,
            };
            println!("{level}: {digest:016x}");
        }
    }
    Ok(())
}

/// `quick`: 32 of these as rnd have the first attempt accepted.
/// Makes, exports, imports, signs alone and in a batch, verifies, refuses; a digest of all bytes that came out.
fn life<P: ParameterSet>(quick: u8) -> Result<u64, Error> {
    let xi = std::array::from_fn(|i| i as u8);
    let mut digest = Fnv(0xcbf2_9ce4_8422_2325);
    let key = SigningKey::<P>::from_seed(&xi).expand();
    let mut sk = vec![0; P::SK_LEN];
    key.encode(&mut sk)?;
    digest.take(&sk);
    digest.take(key.verifying_key().encode());
    let imported = ExpandedSigningKey::<P>::decode(&sk)?;
    sk[P::SK_LEN - 1] ^= 1;
    assert_eq!(ExpandedSigningKey::<P>::decode(&sk).err(), Some(Error::BadKey));

    let mut hasher: MuHasher = key.message(Context::new(b"small")?);
    hasher.update(b"one life");
    let mu = hasher.finish();
    let rnd = [quick; 32];
    let signature = sign_mu_watched(&imported, &mu, &rnd, |_| unreachable!("rnd was chosen for it"))?;
    digest.take(signature.encode());
    let engine = CpuEngine::new();
    let mut jobs = [SignJob { key: &key, mu: &mu, rnd, signature: None }];
    engine.sign(&mut jobs);
    for job in jobs {
        digest.take(job.signature.ok_or(Error::AttemptsExhausted)??.encode());
    }
    let mut jobs = [KeygenJob::<P> { seed: &xi, verifying_key: None }];
    engine.keygen(&mut jobs);
    assert_eq!(jobs[0].verifying_key.as_ref(), Some(key.verifying_key()));

    let public = VerifyingKey::<P>::decode(key.verifying_key().encode())?.expand();
    let mut bytes = signature.encode().to_vec();
    bytes[P::SIG_LEN / 2] ^= 1;
    let forged = Signature::decode(&bytes)?;
    let mut jobs =
        [&signature, &forged].map(|s| VerifyJob { key: &public, mu: &mu, signature: s, verdict: None });
    engine.verify(&mut jobs);
    assert_eq!(jobs.map(|job| job.verdict), [Some(Ok(())), Some(Err(Error::BadSignature))]);
    Ok(digest.0)
}

/// A digest (FNV-1a) that an interpreter has time for.
struct Fnv(u64);

impl Fnv {
    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
