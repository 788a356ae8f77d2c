//! Messages in pieces: each becomes its μ (FIPS 204, step 6 of Algorithm 7), which `sealstone_sign_mu` and
//! `sealstone_verify_mu` take.

use core::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sealstone_mldsa::{Context, MU_LEN};

use crate::door::{Buffer, Made, bytes, enter};
use crate::handle::{Handle, MuHasher, PublicKey, behind, free};
use crate::status::Failure;

impl MuHasher {
    fn lock(&self) -> MutexGuard<'_, Option<sealstone_mldsa::MuHasher>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn spent() -> Failure {
    Failure::argument("the message hasher has given its mu: make another for the next message")
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_mu_new(
    key: *const Handle<PublicKey>,
    context: *const u8,
    context_len: usize,
    hasher: *mut *mut Handle<MuHasher>,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Made::new(hasher) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let (key, context) = unsafe { (behind(key)?, bytes("context", context, context_len)?) };
        Ok(MuHasher(Mutex::new(Some(key.expanded.message(Context::new(context)?)))))
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_mu_update(
    hasher: *mut Handle<MuHasher>,
    piece: *const u8,
    piece_len: usize,
) -> c_int {
    enter((), || {
        // SAFETY: the caller's promise.
        let (hasher, piece) = unsafe { (behind(hasher)?, bytes("piece", piece, piece_len)?) };
        hasher.lock().as_mut().ok_or_else(spent)?.update(piece);
        Ok(())
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_mu_final(
    hasher: *mut Handle<MuHasher>,
    mu: *mut u8,
    mu_len: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Buffer::new("mu", mu, mu_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let hasher = unsafe { behind(hasher)? };
        out.expect(MU_LEN)?;
        let mu = hasher.lock().take().ok_or_else(spent)?.finish();
        Ok(mu.as_bytes().as_slice().into())
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`, and nobody uses the hasher any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_mu_free(hasher: *mut Handle<MuHasher>) {
    // SAFETY: the caller's promise.
    enter((), || unsafe { free(hasher) });
}
