//! Batches: arrays of jobs, each with an answer of its own.

use core::ffi::c_int;
use core::slice;

use sealstone_mldsa::{Context, Error};

use crate::door::{Buffer, Output, bytes, enter};
use crate::engine::{System, decode_signature};
use crate::handle::{Handle, PrivateKey, PublicKey, behind};
use crate::side_by_side::{self, ToSign, ToVerify};
use crate::status::{Failure, SEALSTONE_OK, SEALSTONE_PANICKED};

/// One message to be signed. See sealstone.h.
#[repr(C)]
pub struct SealstoneSignJob {
    /// The key.
    pub key: *const Handle<PrivateKey>,
    /// Where its context begins.
    pub context: *const u8,
    /// Bytes of it.
    pub context_len: usize,
    /// Where the message begins.
    pub message: *const u8,
    /// Bytes of it.
    pub message_len: usize,
    /// Where the signature goes.
    pub signature: *mut u8,
    /// Bytes there.
    pub signature_len: usize,
    /// The answer.
    pub status: c_int,
}

/// One signature to be verified. See sealstone.h.
#[repr(C)]
pub struct SealstoneVerifyJob {
    /// The key.
    pub key: *const Handle<PublicKey>,
    /// Where the context begins.
    pub context: *const u8,
    /// Bytes of it.
    pub context_len: usize,
    /// Where the message begins.
    pub message: *const u8,
    /// Bytes of it.
    pub message_len: usize,
    /// Where the signature begins.
    pub signature: *const u8,
    /// Bytes of it.
    pub signature_len: usize,
    /// The answer.
    pub status: c_int,
}

/// So many jobs are taken at a time: enough to keep all lanes full, and a bound for the memory of a call.
const AT_A_TIME: usize = 64;

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`, for the array and for what each job leads to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_sign_batch(jobs: *mut SealstoneSignJob, count: usize) -> c_int {
    enter(Signatures { jobs, count }, || {
        // SAFETY: the caller's promise.
        let jobs = unsafe { array(jobs, count)? };
        for job in jobs.iter_mut() {
            job.status = SEALSTONE_PANICKED; // until it is answered
        }
        let mut first = Ok(());
        for jobs in jobs.chunks_mut(AT_A_TIME) {
            // SAFETY: the caller's promise.
            let asked = jobs.iter().map(|job| unsafe { to_sign(job) }).collect();
            let answers = answered_each(asked, |asked| side_by_side::sign(asked, &mut System));
            for (job, answer) in jobs.iter_mut().zip(answers) {
                // SAFETY: the caller's promise.
                let out = unsafe { Buffer::new("signature", job.signature, job.signature_len) };
                let status = enter(out, || Ok(answer?.encode().into()));
                answered(&mut first, status);
                job.status = status;
            }
        }
        first
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`, for the array and for what each job leads to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_verify_batch(jobs: *mut SealstoneVerifyJob, count: usize) -> c_int {
    enter((), || {
        // SAFETY: the caller's promise.
        let jobs = unsafe { array(jobs, count)? };
        for job in jobs.iter_mut() {
            job.status = SEALSTONE_PANICKED; // until it is answered
        }
        let mut first = Ok(());
        for jobs in jobs.chunks_mut(AT_A_TIME) {
            // SAFETY: the caller's promise.
            let asked = jobs.iter().map(|job| unsafe { to_verify(job) }).collect();
            for (job, answer) in jobs.iter_mut().zip(answered_each(asked, side_by_side::verify)) {
                let status = enter((), || answer);
                answered(&mut first, status);
                job.status = status;
            }
        }
        first
    })
}

/// Where the signatures of a batch go. Each is written when it is made; what is not good when the call ends is zeroed.
struct Signatures {
    jobs: *mut SealstoneSignJob,
    count: usize,
}

impl Output for Signatures {
    type Value = ();
    fn check(&self) -> Result<(), Failure> {
        // SAFETY: the promise of the caller of the batch.
        unsafe { array(self.jobs, self.count).map(|_| ()) }
    }
    fn put(&self, (): ()) -> Result<(), Failure> {
        Ok(())
    }
    fn clear(&self) {
        // SAFETY: the promise of the caller of the batch.
        let jobs = unsafe { array(self.jobs, self.count).unwrap_or_default() };
        for job in jobs.iter().filter(|job| job.status != SEALSTONE_OK) {
            // SAFETY: the promise of the caller of the batch.
            unsafe { Buffer::new("signature", job.signature, job.signature_len) }.clear();
        }
    }
}

/// The caller's jobs. Nobody else looks at them before the call returns.
///
/// # Safety
/// The promise of `door`.
unsafe fn array<'a, T>(jobs: *mut T, count: usize) -> Result<&'a mut [T], Failure> {
    let most = isize::MAX as usize / size_of::<T>();
    match (jobs.is_null(), count) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(Failure::argument(format!("jobs is NULL, their number {count}"))),
        _ if count > most => Err(Failure::argument(format!("{count} jobs are more than fit in memory"))),
        // SAFETY: not NULL, no longer than an object can be, and the caller promises that the jobs are there.
        _ => Ok(unsafe { slice::from_raw_parts_mut(jobs, count) }),
    }
}

/// The first answer that is not good, with the words that `enter` has just kept, becomes the answer of the whole call.
fn answered(first: &mut Result<(), Failure>, status: c_int) {
    if status != 0 && first.is_ok() {
        // SAFETY: what `kept` gives ends with a zero, and this thread alone writes there, which it does not before the copy
        // is made.
        let words = unsafe { core::ffi::CStr::from_ptr(crate::door::kept()) };
        *first = Err(Failure::new(status, words.to_string_lossy()));
    }
}

/// Answers those that can be asked, and leaves each where its job is.
fn answered_each<A, T>(
    asked: Vec<Result<A, Failure>>,
    answer: impl FnOnce(&[A]) -> Vec<Result<T, Error>>,
) -> Vec<Result<T, Failure>> {
    let mut good = Vec::with_capacity(asked.len());
    let mut refused = Vec::with_capacity(asked.len());
    for job in asked {
        refused.push(job.map(|job| good.push(job)).err());
    }
    let mut answers = answer(&good).into_iter();
    let next = |refused: Option<Failure>| match refused {
        Some(failure) => Err(failure),
        None => Ok(answers.next().unwrap_or(Err(Error::FaultDetected))?),
    };
    refused.into_iter().map(next).collect()
}

/// # Safety
/// The promise of `door`.
unsafe fn to_sign<'a>(job: &SealstoneSignJob) -> Result<ToSign<'a>, Failure> {
    // SAFETY: the caller's promise.
    let (key, context, message, out) = unsafe {
        (
            behind(job.key)?,
            bytes("context", job.context, job.context_len)?,
            bytes("message", job.message, job.message_len)?,
            Buffer::new("signature", job.signature, job.signature_len),
        )
    };
    out.check()?;
    out.expect(key.level().signature_len())?;
    let mut mu = key.expanded.message(Context::new(context)?);
    mu.update(message);
    Ok((&key.expanded, mu.finish()))
}

/// # Safety
/// The promise of `door`.
unsafe fn to_verify<'a>(job: &SealstoneVerifyJob) -> Result<ToVerify<'a>, Failure> {
    // SAFETY: the caller's promise.
    let (key, context, message, signature) = unsafe {
        (
            behind(job.key)?,
            bytes("context", job.context, job.context_len)?,
            bytes("message", job.message, job.message_len)?,
            bytes("signature", job.signature, job.signature_len)?,
        )
    };
    let context = Context::new(context)?;
    let signature = decode_signature(key, signature)?;
    let mut mu = key.expanded.message(context);
    mu.update(message);
    Ok((&key.expanded, mu.finish(), signature))
}
