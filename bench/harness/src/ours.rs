//! Our side: the same operations as the rivals', 64-byte messages, empty context, hedged with the system's randomness.

use std::hint::black_box;
use std::time::Duration;

use sealstone_mldsa::{
    Context, CpuEngine, Engine, Error, ExpandedSigningKey, ExpandedVerifyingKey, Level, MlDsa44, MlDsa65,
    MlDsa87, Mu, MuJob, OsRandom, ParameterSet, Randomness, SignJob, Signature, SigningKey, VerifyJob,
    VerifyingKey,
};

use crate::clock;

/// Everything that is measured, in the order of the tables.
pub(crate) const OPERATIONS: [&str; 8] = [
    "keygen",
    "sign",
    "sign-bytes",
    "sign-expanded",
    "sign-batch",
    "verify",
    "verify-expanded",
    "verify-batch",
];

/// How many jobs a batch has.
pub(crate) const JOBS: u64 = 64;

/// How many signatures are made beforehand, to be verified in turn.
const SIGNED: u64 = JOBS;

/// Nanoseconds an operation of ours, over about `runs` of them.
pub(crate) fn time(operation: &str, level: &str, runs: u64) -> Result<f64, String> {
    let runs = if operation.ends_with("batch") { runs.next_multiple_of(JOBS) } else { runs };
    let total = match level {
        "44" => time_at::<MlDsa44>(operation, runs, Level::MlDsa44),
        "65" => time_at::<MlDsa65>(operation, runs, Level::MlDsa65),
        "87" => time_at::<MlDsa87>(operation, runs, Level::MlDsa87),
        _ => return Err(format!("no level {level}")),
    };
    Ok(total.map_err(|why| why.to_string())?.as_nanos() as f64 / runs as f64)
}

/// One key in every form, and signatures of it.
struct Keys<P: ParameterSet> {
    private: Box<ExpandedSigningKey<P>>,
    private_bytes: Vec<u8>,
    public: Box<ExpandedVerifyingKey<P>>,
    public_bytes: Vec<u8>,
    signed: Vec<Vec<u8>>,
}

impl<P: ParameterSet> Keys<P> {
    fn new(operation: &str, level: Level) -> Result<Self, Error> {
        let private = SigningKey::<P>::from_seed(&seed(0)).expand_boxed();
        let mut private_bytes = vec![0; level.signing_key_len()];
        private.encode(&mut private_bytes)?;
        let public_bytes = private.verifying_key().encode().to_vec();
        let public = VerifyingKey::<P>::decode(&public_bytes)?.expand_boxed();
        let mut signed = Vec::new();
        for number in 0..if operation.starts_with("verify") { SIGNED } else { 0 } {
            signed.push(private.sign(&mut OsRandom, Context::EMPTY, &message(number))?.encode().to_vec());
        }
        Ok(Self { private, private_bytes, public, public_bytes, signed })
    }
}

fn time_at<P: ParameterSet>(operation: &str, runs: u64, level: Level) -> Result<Duration, Error> {
    let keys = Keys::<P>::new(operation, level)?;
    let start = clock::now();
    match operation {
        "sign-batch" => (0..runs).step_by(JOBS as usize).try_for_each(|first| sign_batch(&keys, first))?,
        "verify-batch" => (0..runs).step_by(JOBS as usize).try_for_each(|_| verify_batch(&keys))?,
        _ => (0..runs).try_for_each(|run| single(operation, &keys, run))?,
    }
    Ok(clock::now() - start)
}

fn single<P: ParameterSet>(operation: &str, keys: &Keys<P>, run: u64) -> Result<(), Error> {
    let number = if operation.starts_with("verify") { run % SIGNED } else { run };
    let message = message(number);
    match operation {
        "keygen" => {
            black_box(SigningKey::<P>::from_seed(&seed(run)).verifying_key());
        }
        "sign" => {
            let key = SigningKey::<P>::from_seed(&seed(run));
            black_box(key.sign(&mut OsRandom, Context::EMPTY, &message)?);
        }
        "sign-bytes" => {
            let key = ExpandedSigningKey::<P>::decode(black_box(&keys.private_bytes))?;
            black_box(key.sign(&mut OsRandom, Context::EMPTY, &message)?);
        }
        "sign-expanded" => {
            black_box(keys.private.sign(&mut OsRandom, Context::EMPTY, &message)?);
        }
        "verify" => {
            let signature = Signature::decode(&keys.signed[number as usize])?;
            let key = VerifyingKey::<P>::decode(black_box(&keys.public_bytes))?;
            key.verify(Context::EMPTY, &message, &signature)?;
        }
        _ => {
            let signature = Signature::decode(&keys.signed[number as usize])?;
            keys.public.verify(Context::EMPTY, &message, black_box(&signature))?;
        }
    }
    Ok(())
}

/// One batch with fresh messages: from the messages to the signatures, randomness included.
fn sign_batch<P: ParameterSet>(keys: &Keys<P>, first: u64) -> Result<(), Error> {
    let mut rnd = [0; 32 * JOBS as usize];
    OsRandom.fill(&mut rnd)?;
    let messages: Vec<_> = (first..first + JOBS).map(message).collect();
    let mut hashed: Vec<_> =
        messages.iter().map(|message| keys.private.mu_job(Context::EMPTY, message)).collect();
    CpuEngine::new().hash_messages(&mut hashed);
    let job = |(hashed, rnd): (_, &[u8])| {
        let rnd = rnd.try_into().map_err(|_| Error::RngFailed)?;
        Ok(SignJob { key: &*keys.private, mu: mu_of(hashed)?, rnd, signature: None })
    };
    let mut jobs = hashed.iter().zip(rnd.chunks(32)).map(job).collect::<Result<Vec<_>, Error>>()?;
    CpuEngine::new().sign(&mut jobs);
    // A job without an answer or with an error fails the measurement.
    jobs.into_iter().try_for_each(|job| match job.signature {
        Some(signature) => signature.map(|signature| drop(black_box(signature))),
        None => Err(Error::BadSignature),
    })
}

/// One batch of signatures by one key, from their bytes.
fn verify_batch<P: ParameterSet>(keys: &Keys<P>) -> Result<(), Error> {
    let messages: Vec<_> = (0..JOBS).map(message).collect();
    let mut hashed: Vec<_> =
        messages.iter().map(|message| keys.public.mu_job(Context::EMPTY, message)).collect();
    CpuEngine::new().hash_messages(&mut hashed);
    let signatures =
        keys.signed.iter().map(|signed| Signature::decode(signed)).collect::<Result<Vec<_>, _>>()?;
    let job = |(hashed, signature)| {
        Ok(VerifyJob { key: &*keys.public, mu: mu_of(hashed)?, signature, verdict: None })
    };
    let mut jobs = hashed.iter().zip(&signatures).map(job).collect::<Result<Vec<_>, Error>>()?;
    CpuEngine::new().verify(&mut jobs);
    jobs.iter().try_for_each(|job| job.verdict.unwrap_or(Err(Error::BadSignature)))
}

/// What a hashed message has; one that was not hashed fails the measurement.
fn mu_of<'a>(hashed: &'a MuJob<'_>) -> Result<&'a Mu, Error> {
    hashed.mu.as_ref().ok_or(Error::FaultDetected)
}

fn seed(number: u64) -> [u8; 32] {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    seed
}

fn message(number: u64) -> [u8; 64] {
    let mut message = [0x5a; 64];
    message[..8].copy_from_slice(&number.to_le_bytes());
    message
}
