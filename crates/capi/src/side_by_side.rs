//! Many signatures in one call: those of one level share vector lanes. Knows no pointers: the Python module takes this file as
//! it is.

use sealstone_mldsa::{
    CpuEngine, Engine as _, Error, ExpandedSigningKey, ExpandedVerifyingKey, MlDsa44, MlDsa65, MlDsa87, Mu,
    ParameterSet, Randomness, SignJob, Signature, VerifyJob, any,
};

/// A key and what it signs.
pub(crate) type ToSign<'a> = (&'a any::ExpandedSigningKey, Mu);

/// A key, a message and a signature of the key's level.
pub(crate) type ToVerify<'a> = (&'a any::ExpandedVerifyingKey, Mu, any::Signature);

/// Hedged signatures (FIPS 204, Algorithm 2) in the order of the jobs. Where there is no randomness for all there are none.
pub(crate) fn sign(jobs: &[ToSign<'_>], rng: &mut impl Randomness) -> Vec<Result<any::Signature, Error>> {
    let mut answers = jobs.iter().map(|_| Err(Error::FaultDetected)).collect::<Vec<_>>();
    sign_level::<MlDsa44>(jobs, rng, &mut answers);
    sign_level::<MlDsa65>(jobs, rng, &mut answers);
    sign_level::<MlDsa87>(jobs, rng, &mut answers);
    answers
}

/// Whether each signature verifies, in the order of the jobs.
pub(crate) fn verify(jobs: &[ToVerify<'_>]) -> Vec<Result<(), Error>> {
    let mut answers = vec![Err(Error::BadSignature); jobs.len()];
    verify_level::<MlDsa44>(jobs, &mut answers);
    verify_level::<MlDsa65>(jobs, &mut answers);
    verify_level::<MlDsa87>(jobs, &mut answers);
    answers
}

fn sign_level<P: OfLevel>(
    all: &[ToSign<'_>],
    rng: &mut impl Randomness,
    answers: &mut [Result<any::Signature, Error>],
) {
    let mut jobs = Vec::with_capacity(all.len());
    let mut places = Vec::with_capacity(all.len());
    for ((key, mu), place) in all.iter().zip(answers) {
        if let Some(key) = P::signing(key) {
            jobs.push(SignJob { key, mu, rnd: [0; 32], signature: None });
            places.push(place);
        }
    }
    let refused = jobs.iter_mut().find_map(|job| rng.fill(&mut job.rnd).err());
    if refused.is_none() {
        CpuEngine::new().sign(&mut jobs);
    }
    for (mut job, place) in jobs.into_iter().zip(places) {
        // Seen from outside, so that the zeros are written.
        job.rnd = core::hint::black_box([0; 32]);
        core::hint::black_box(&job.rnd);
        let made = refused.map_or(job.signature.take(), |error| Some(Err(error)));
        *place = made.unwrap_or(Err(Error::FaultDetected)).map(P::any);
    }
}

fn verify_level<P: OfLevel>(all: &[ToVerify<'_>], answers: &mut [Result<(), Error>]) {
    let mut jobs = Vec::with_capacity(all.len());
    let mut places = Vec::with_capacity(all.len());
    for ((key, mu, signature), place) in all.iter().zip(answers) {
        if let (Some(key), Some(signature)) = (P::verifying(key), P::signature(signature)) {
            jobs.push(VerifyJob { key, mu, signature, verdict: None });
            places.push(place);
        }
    }
    CpuEngine::new().verify(&mut jobs);
    for (job, place) in jobs.into_iter().zip(places) {
        *place = job.verdict.unwrap_or(Err(Error::BadSignature));
    }
}

/// A level as a type, and the way from the values of any level to its own.
trait OfLevel: ParameterSet + Sized {
    fn signing(key: &any::ExpandedSigningKey) -> Option<&ExpandedSigningKey<Self>>;
    fn verifying(key: &any::ExpandedVerifyingKey) -> Option<&ExpandedVerifyingKey<Self>>;
    fn signature(signature: &any::Signature) -> Option<&Signature<Self>>;
    fn any(signature: Signature<Self>) -> any::Signature;
}

macro_rules! of_level {
    ($level:ident) => {
        impl OfLevel for $level {
            fn signing(key: &any::ExpandedSigningKey) -> Option<&ExpandedSigningKey<Self>> {
                if let any::ExpandedSigningKey::$level(key) = key { Some(key) } else { None }
            }
            fn verifying(key: &any::ExpandedVerifyingKey) -> Option<&ExpandedVerifyingKey<Self>> {
                if let any::ExpandedVerifyingKey::$level(key) = key { Some(key) } else { None }
            }
            fn signature(signature: &any::Signature) -> Option<&Signature<Self>> {
                if let any::Signature::$level(signature) = signature { Some(signature) } else { None }
            }
            fn any(signature: Signature<Self>) -> any::Signature {
                any::Signature::$level(signature)
            }
        }
    };
}
of_level!(MlDsa44);
of_level!(MlDsa65);
of_level!(MlDsa87);
