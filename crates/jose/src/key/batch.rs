//! Many signatures at once: those of one ML-DSA level side by side, the rest one after the other. Each gets what it would get
//! alone.

use sealstone_mldsa::{
    Context, CpuEngine, Engine as _, ExpandedSigningKey, ExpandedVerifyingKey, MuJob, OsRandom, ParameterSet,
    Randomness as _, SignJob, Signature, VerifyJob, any,
};
use zeroize::{Zeroize as _, Zeroizing};

use super::{PrivateKey, PublicKey, Signer, Verifier};
use crate::error::Error;

impl PrivateKey {
    /// Signs each message with its key, as [`PrivateKey::sign`] does; those of one ML-DSA level side by side.
    pub(crate) fn sign_all(jobs: &[(&PrivateKey, &[u8])]) -> Vec<Result<Vec<u8>, Error>> {
        let mut signatures: Vec<Option<Result<Vec<u8>, Error>>> = jobs.iter().map(|_| None).collect();
        macro_rules! side_by_side {
            ($level:ident) => {
                let mut due = Vec::new();
                for ((key, message), signature) in jobs.iter().zip(&mut signatures) {
                    if let Signer::MlDsa(key) = &key.core.signer
                        && let any::ExpandedSigningKey::$level(key) = key
                    {
                        due.push(Due { key, message: key.mu_job(Context::EMPTY, message), signature });
                    }
                }
                sign_side_by_side(due);
            };
        }
        side_by_side!(MlDsa44);
        side_by_side!(MlDsa65);
        side_by_side!(MlDsa87);
        let rest = |(signature, (key, message)): (Option<_>, &(&PrivateKey, &[u8]))| {
            signature.unwrap_or_else(|| key.sign(message))
        };
        signatures.into_iter().zip(jobs).map(rest).collect()
    }
}

impl PublicKey {
    /// Checks each signature over its message with its key, as [`PublicKey::verify`] does; those of one ML-DSA level side by
    /// side.
    ///
    /// ```
    /// use sealstone_jose::{Algorithm, PrivateKey, PublicKey};
    ///
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// let key = PrivateKey::generate(Algorithm::MlDsa44)?;
    /// let signature = key.sign(b"one")?;
    /// let verdicts = PublicKey::verify_all(&[(key.public(), b"one", &signature), (key.public(), b"two", &signature)]);
    /// assert!(verdicts[0].is_ok() && verdicts[1].is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn verify_all(jobs: &[(&PublicKey, &[u8], &[u8])]) -> Vec<Result<(), Error>> {
        let mut verdicts: Vec<Option<Result<(), Error>>> = jobs.iter().map(|_| None).collect();
        macro_rules! side_by_side {
            ($level:ident) => {
                let mut due = Vec::new();
                for ((key, message, signature), verdict) in jobs.iter().zip(&mut verdicts) {
                    if let Verifier::MlDsa { key, expanded } = &key.core.verifier
                        && let any::ExpandedVerifyingKey::$level(key) = expanded.get_or_init(|| key.expand())
                    {
                        match Signature::decode(signature) {
                            Ok(signature) => {
                                let message = key.mu_job(Context::EMPTY, message);
                                due.push(Claim { key, message, signature, verdict });
                            }
                            Err(_) => *verdict = Some(Err(Error::BadSignature)),
                        }
                    }
                }
                verify_side_by_side(due);
            };
        }
        side_by_side!(MlDsa44);
        side_by_side!(MlDsa65);
        side_by_side!(MlDsa87);
        let rest = |(verdict, (key, message, signature)): (Option<_>, &(&PublicKey, &[u8], &[u8]))| {
            verdict.unwrap_or_else(|| key.verify(message, signature))
        };
        verdicts.into_iter().zip(jobs).map(rest).collect()
    }
}

/// A signature that is to be made, and where it goes.
struct Due<'a, P: ParameterSet> {
    key: &'a ExpandedSigningKey<P>,
    message: MuJob<'a>,
    signature: &'a mut Option<Result<Vec<u8>, Error>>,
}

/// Hedged signatures, FIPS 204 algorithm 2.
fn sign_side_by_side<P: ParameterSet>(mut due: Vec<Due<'_, P>>) {
    let mut rnd = Zeroizing::new(vec![[0; 32]; due.len()]);
    // One alone is quicker alone. Without randomness nothing is signed here, and each is refused when it is tried alone.
    if due.len() < 2 || OsRandom.fill(rnd.as_flattened_mut()).is_err() {
        return;
    }
    let engine = CpuEngine::new();
    engine.hash_messages(due.iter_mut().map(|due| &mut due.message));
    let mut jobs = Vec::with_capacity(due.len());
    for (due, rnd) in due.iter().zip(rnd.iter()) {
        let Some(mu) = &due.message.mu else { return };
        jobs.push(SignJob { key: due.key, mu, rnd: *rnd, signature: None });
    }
    engine.sign(&mut jobs);
    let mut made = Vec::with_capacity(due.len());
    for mut job in jobs {
        job.rnd.zeroize();
        made.push(job.signature.and_then(Result::ok).map(|signature| signature.encode().to_vec()));
    }
    for (due, made) in due.into_iter().zip(made) {
        *due.signature = Some(made.ok_or(Error::Provider));
    }
}

/// A signature that is to be checked, and where the verdict goes.
struct Claim<'a, P: ParameterSet> {
    key: &'a ExpandedVerifyingKey<P>,
    message: MuJob<'a>,
    signature: Signature<P>,
    verdict: &'a mut Option<Result<(), Error>>,
}

/// FIPS 204 algorithm 3, of each.
fn verify_side_by_side<P: ParameterSet>(mut due: Vec<Claim<'_, P>>) {
    // One alone is quicker alone.
    if due.len() < 2 {
        return;
    }
    let engine = CpuEngine::new();
    engine.hash_messages(due.iter_mut().map(|claim| &mut claim.message));
    let mut jobs = Vec::with_capacity(due.len());
    for claim in &due {
        let Some(mu) = &claim.message.mu else { return };
        jobs.push(VerifyJob { key: claim.key, mu, signature: &claim.signature, verdict: None });
    }
    engine.verify(&mut jobs);
    let verdicts: Vec<_> = jobs.into_iter().map(|job| job.verdict).collect();
    for (claim, verdict) in due.into_iter().zip(verdicts) {
        let good = verdict.is_some_and(|verdict| verdict.is_ok());
        *claim.verdict = Some(if good { Ok(()) } else { Err(Error::BadSignature) });
    }
}
