//! Key generation, signing, and the import and export of expanded keys, on secrets that Valgrind watches.

use crate::Dice;
use sealstone_mldsa::device::{Balanced, EncodedSigningKey, Fast, KeygenSpace, Profile, SignSpace, Small};
use sealstone_mldsa::hazmat::{classify, sign_mu_with_rnd, taint_reports};
use sealstone_mldsa::{
    Context, CpuEngine, Engine, Error, ExpandedSigningKey, KeygenJob, MlDsa44, MlDsa65, MlDsa87, Mu,
    ParameterSet, Randomness, SignJob, Signature, SigningKey,
};
use std::hint::black_box;

/// Signatures with one key.
const PER_KEY: usize = 20;

/// `signatures` of each level, and a twentieth as many keys. Fails if Valgrind reports anything, or is not there.
pub fn run(signatures: usize) -> Result<(), String> {
    taint_reports().ok_or("not under Valgrind: ./dev ct starts it")?;
    one::<MlDsa44>(signatures)?;
    one::<MlDsa65>(signatures)?;
    one::<MlDsa87>(signatures)
}

fn one<P: ParameterSet>(signatures: usize) -> Result<(), String> {
    let before = taint_reports();
    let mut dice = Dice(P::LEVEL.name().bytes().map(u64::from).sum());
    let mut refused = 0;
    for n in 0..signatures.div_ceil(PER_KEY) {
        let count = PER_KEY.min(signatures - n * PER_KEY);
        refused += usize::from(key_life::<P>(&mut dice, count).map_err(|error| error.to_string())?);
    }
    let reports = taint_reports().unwrap_or(0) - before.unwrap_or(0);
    println!("{}: {signatures} signatures, {refused} bad imports, {reports} reports", P::LEVEL);
    if reports == 0 { Ok(()) } else { Err(format!("Valgrind reports {reports} times at {}", P::LEVEL)) }
}

/// Makes two keys, alone and in a batch, exports and imports one, signs with the three, also in a small memory, and tries
/// to import it damaged.
fn key_life<P: ParameterSet>(dice: &mut Dice, signatures: usize) -> Result<bool, Error> {
    let seeds = [secret(dice), secret(dice)];
    let [key, other] = seeds.each_ref().map(|xi| Box::new(SigningKey::<P>::from_seed(xi).expand()));
    let mut jobs = seeds.each_ref().map(|seed| KeygenJob::<P> { seed, verifying_key: None });
    CpuEngine::new().keygen(&mut jobs);
    if jobs
        .iter()
        .zip([&key, &other])
        .any(|(job, key)| job.verifying_key.as_ref() != Some(key.verifying_key()))
    {
        return Err(Error::BadKey);
    }

    let mut sk = vec![0; P::SK_LEN];
    key.encode(&mut sk)?;
    // ρ and tr are public; whatever else the key holds came from ξ, and is secret already.
    let imported = ExpandedSigningKey::<P>::decode(&sk)?;
    sign(dice, &[&key, &imported, &other], signatures)?;

    on_device::<P, Small>(dice, &seeds[0])?;
    on_device::<P, Balanced>(dice, &seeds[0])?;
    on_device::<P, Fast>(dice, &seeds[1])?;

    sk[P::SK_LEN - 1] ^= 1; // in t0
    Ok(ExpandedSigningKey::<P>::decode(&sk).is_err())
}

/// Signs half of them one by one, and half in one batch; the keys in turn. One deterministic signature in four, the others
/// with a secret rnd.
fn sign<P: ParameterSet>(
    dice: &mut Dice,
    keys: &[&ExpandedSigningKey<P>; 3],
    count: usize,
) -> Result<(), Error> {
    let keys = keys.iter().copied().cycle().take(count);
    let works: Vec<(&ExpandedSigningKey<P>, Mu, [u8; 32])> = keys
        .enumerate()
        .map(|(n, key)| {
            let mut message = key.message(Context::EMPTY);
            message.update(&dice.array::<32>());
            (key, message.finish(), if n & 3 == 0 { [0; 32] } else { secret(dice) })
        })
        .collect();
    let (alone, together) = works.split_at(count / 2);
    for (key, mu, rnd) in alone {
        show(&sign_mu_with_rnd(key, mu, rnd)?);
    }
    let jobs = together.iter().map(|(key, mu, rnd)| SignJob { key, mu, rnd: *rnd, signature: None });
    let mut jobs: Vec<SignJob<'_, P>> = jobs.collect();
    CpuEngine::new().sign(&mut jobs);
    for job in jobs {
        show(&job.signature.unwrap_or(Err(Error::AttemptsExhausted))?);
    }
    Ok(())
}

/// Makes a key in a small memory, and signs twice.
fn on_device<P: ParameterSet, M: Profile>(dice: &mut Dice, seed: &[u8; 32]) -> Result<(), Error> {
    let (mut pk, mut sk, mut signature) = (vec![0; P::PK_LEN], vec![0; P::SK_LEN], vec![0; P::SIG_LEN]);
    KeygenSpace::<P, M>::new().keygen(seed, &mut pk, &mut sk)?;
    let key = EncodedSigningKey::<P>::decode(&sk)?;
    let mut space = Box::new(SignSpace::<P, M>::new());
    space.sign_deterministic(&key, Context::EMPTY, &dice.array::<32>(), &mut signature)?;
    space.sign(&key, &mut Secret(secret(dice)), Context::EMPTY, &dice.array::<32>(), &mut signature)?;
    black_box(signature.iter().chain(&pk).filter(|byte| **byte != 0).count());
    Ok(())
}

/// A random source of one secret.
struct Secret([u8; 32]);

impl Randomness for Secret {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.copy_from_slice(&self.0);
        Ok(())
    }
}

fn secret(dice: &mut Dice) -> [u8; 32] {
    let mut bytes = dice.array();
    classify(&mut bytes);
    bytes
}

/// A signature is public: Valgrind must let us branch on every byte of it.
fn show<P: ParameterSet>(signature: &Signature<P>) {
    black_box(signature.encode().iter().filter(|byte| **byte != 0).count());
}
