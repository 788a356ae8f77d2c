//! The outermost door: many jobs in one call, so that wide rooms and devices stay full.

use crate::api::{
    ExpandedSigningKey, ExpandedVerifyingKey, ParameterSet, SEED_LEN, Signature, SigningKey, VerifyingKey,
};
use crate::backend::{Room, active};
use crate::error::Error;
use crate::fips204::flight::{Order, sign_orders};
use crate::fips204::verify::{Claim, verify_side_by_side};
use crate::keccak::{Input, hash_abreast};
use crate::message::{Context, MU_LEN, Mu};
use core::fmt;

/// Makes the public key of a seed.
pub struct KeygenJob<'a, P: ParameterSet> {
    /// ξ.
    pub seed: &'a [u8; SEED_LEN],
    /// Where the answer goes.
    pub verifying_key: Option<VerifyingKey<P>>,
}

/// Hashes one message to its representative μ, for one key: [`ExpandedSigningKey::mu_job`] and
/// [`ExpandedVerifyingKey::mu_job`] make it.
pub struct MuJob<'a> {
    tr: &'a [u8; 64],
    /// What M' begins with, and the context.
    head: ([u8; 2], &'a [u8]),
    message: &'a [u8],
    /// Where the answer goes.
    pub mu: Option<Mu>,
}

impl<'a> MuJob<'a> {
    pub(crate) fn new(tr: &'a [u8; 64], ctx: Context<'a>, message: &'a [u8]) -> Self {
        MuJob { tr, head: ctx.head(), message, mu: None }
    }
}

/// Signs one message representative.
pub struct SignJob<'a, P: ParameterSet> {
    /// The key; any mix of keys of one level.
    pub key: &'a ExpandedSigningKey<P>,
    /// μ.
    pub mu: &'a Mu,
    /// 32 fresh random bytes, or zeros for the deterministic signature. The caller wipes them.
    pub rnd: [u8; 32],
    /// Where the answer goes.
    pub signature: Option<Result<Signature<P>, Error>>,
}

/// Checks one signature.
#[derive(Debug)]
pub struct VerifyJob<'a, P: ParameterSet> {
    /// The key; any mix of keys of one level.
    pub key: &'a ExpandedVerifyingKey<P>,
    /// μ.
    pub mu: &'a Mu,
    /// What came with the message.
    pub signature: &'a Signature<P>,
    /// Where the answer goes.
    pub verdict: Option<Result<(), Error>>,
}

/// Shows the answer and not the seed.
impl<P: ParameterSet> fmt::Debug for KeygenJob<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeygenJob").field("verifying_key", &self.verifying_key).finish_non_exhaustive()
    }
}

/// Shows nothing of the message.
impl fmt::Debug for MuJob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MuJob").field("mu", &self.mu).finish_non_exhaustive()
    }
}

/// Shows the answer and not rnd.
impl<P: ParameterSet> fmt::Debug for SignJob<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignJob").field("signature", &self.signature).finish_non_exhaustive()
    }
}

/// Something that works on batches of one level: each CPU room does; a device implements this door alone. The signatures of
/// a batch share vector lanes when they are made and when they are checked: 8 or more at a time are worth it. Public keys fill
/// the lanes one by one. In a room with eight Keccak states signing takes about 190 kB of stack at level 87.
///
/// Every job is answered, and each gets the answer that it would get alone: for a given rnd, the signature that
/// FIPS 204 gives, byte for byte.
pub trait Engine<P: ParameterSet>: Sync {
    /// Makes public keys.
    fn keygen(&self, jobs: &mut [KeygenJob<'_, P>]);
    /// Signs.
    fn sign(&self, jobs: &mut [SignJob<'_, P>]);
    /// Verifies.
    fn verify(&self, jobs: &mut [VerifyJob<'_, P>]);
}

/// The engine of this CPU's best room.
#[derive(Clone, Copy)]
pub struct CpuEngine(Room);

impl CpuEngine {
    /// Takes the room once for all batches to come.
    pub fn new() -> Self {
        CpuEngine(active())
    }

    /// The engine of a room.
    #[cfg(test)]
    pub(crate) fn in_room(room: Room) -> Self {
        CpuEngine(room)
    }

    /// Makes the representatives of messages, for keys of any levels, as many at a time as there are Keccak states. If the
    /// caller's iterator panics, what stands in the jobs that it has given is no answer.
    ///
    /// ```
    /// use sealstone_mldsa::{Context, CpuEngine, MlDsa44, SigningKey};
    ///
    /// let key = SigningKey::<MlDsa44>::from_seed(&[7; 32]).expand();
    /// let mut jobs = [&b"one"[..], b"two"].map(|message| key.mu_job(Context::EMPTY, message));
    /// CpuEngine::new().hash_messages(&mut jobs);
    /// let mut alone = key.message(Context::EMPTY);
    /// alone.update(b"two");
    /// assert_eq!(jobs[1].mu, Some(alone.finish()));
    /// ```
    pub fn hash_messages<'j, 'm: 'j, J>(&self, jobs: J)
    where
        J: IntoIterator<Item = &'j mut MuJob<'m>, IntoIter: ExactSizeIterator>,
    {
        let jobs = jobs.into_iter();
        let count = jobs.len();
        let mut inputs = jobs.map(|MuJob { tr, head: (head, ctx), message, mu }| Input {
            parts: [&tr[..], head, ctx, message],
            hash: &mut mu.insert(Mu([0; MU_LEN])).0,
        });
        hash_abreast(self.0, count, &mut inputs);
    }

    /// The name of the room.
    pub fn room(&self) -> &'static str {
        self.0.name()
    }
}

impl Default for CpuEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CpuEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuEngine({})", self.room())
    }
}

impl<P: ParameterSet> Engine<P> for CpuEngine {
    fn keygen(&self, jobs: &mut [KeygenJob<'_, P>]) {
        for job in jobs {
            job.verifying_key = Some(SigningKey::from_seed(job.seed).verifying_key_in(self.0));
        }
    }

    fn sign(&self, jobs: &mut [SignJob<'_, P>]) {
        if jobs.is_empty() {
            return;
        }
        match self.0.width() {
            8 => sign_in_flights::<P, 8>(self.0, jobs),
            4 => sign_in_flights::<P, 4>(self.0, jobs),
            _ => sign_in_flights::<P, 1>(self.0, jobs),
        }
        for job in jobs {
            job.signature =
                job.signature.take().map(|made| made.and_then(|made| job.key.release(self.0, job.mu, made)));
        }
    }

    fn verify(&self, jobs: &mut [VerifyJob<'_, P>]) {
        match self.0.width() {
            8 => verify_in_groups::<P, 8>(self.0, jobs),
            4 => verify_in_groups::<P, 4>(self.0, jobs),
            _ => verify_in_groups::<P, 1>(self.0, jobs),
        }
    }
}

/// Signs with A attempts side by side, of different jobs while there are enough.
fn sign_in_flights<P: ParameterSet, const A: usize>(room: Room, jobs: &mut [SignJob<'_, P>]) {
    let orders = jobs.iter_mut().map(|job| Order {
        sk: job.key,
        mu: &job.mu.0,
        rnd: &job.rnd,
        answer: &mut job.signature,
    });
    sign_orders::<P, A>(room, orders, |_| ());
}

/// Verifies A signatures side by side.
fn verify_in_groups<P: ParameterSet, const A: usize>(room: Room, jobs: &mut [VerifyJob<'_, P>]) {
    for group in jobs.chunks_mut(A) {
        let claim = |i: usize| {
            let job = &group[i.min(group.len() - 1)];
            Claim { pk: job.key, mu: &job.mu.0, sigma: &job.signature.sigma }
        };
        let claims: [Claim<'_, P>; A] = core::array::from_fn(claim);
        let mut verdicts = [Err(Error::BadSignature); A];
        let count = group.len();
        verify_side_by_side::<P, A>(room, &claims[..count], &mut verdicts[..count]);
        for (job, verdict) in group.iter_mut().zip(verdicts) {
            job.verdict = Some(verdict);
        }
    }
}
