//! ML-DSA (FIPS 204): keys, signatures, sizes, and what the library says of itself.

use core::ffi::{CStr, c_char, c_int};
#[cfg(feature = "jose")]
use std::sync::OnceLock;

use sealstone_mldsa::{Context, Error, Level, Mu, Randomness, SEED_LEN, any};

use crate::door::{Buffer, Made, Wiped, bytes, enter, kept, wipe};
use crate::handle::{Handle, PrivateKey, PublicKey, behind, free};
use crate::status::{Failure, NAMES, SEALSTONE_NO_SEED};

/// `SEALSTONE_ML_DSA_44` and so on: the numbers of FIPS 204.
pub(crate) fn level(number: c_int) -> Result<Level, Failure> {
    Level::ALL
        .into_iter()
        .find(|level| number_of(*level) == number)
        .ok_or_else(|| Failure::argument(format!("level: expected 44, 65 or 87, found {number}")))
}

const fn number_of(level: Level) -> c_int {
    match level {
        Level::MlDsa44 => 44,
        Level::MlDsa65 => 65,
        Level::MlDsa87 => 87,
    }
}

/// The operating system's random source, by the door that every libc has: no package is needed for it.
pub(crate) struct System;

unsafe extern "C" {
    // POSIX.1-2024; glibc 2.25, musl 1.1.20, macOS 10.12, the BSDs. At most 256 bytes a call; 0 if all were written.
    fn getentropy(buffer: *mut core::ffi::c_void, len: usize) -> c_int;
}

impl Randomness for System {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        for piece in bytes.chunks_mut(256) {
            // SAFETY: the piece is ours and as long as we say, and not longer than a call may ask for.
            if unsafe { getentropy(piece.as_mut_ptr().cast(), piece.len()) } != 0 {
                wipe(bytes);
                return Err(Error::RngFailed);
            }
        }
        Ok(())
    }
}

impl PrivateKey {
    pub(crate) fn of_seed(seed: any::SigningKey) -> Self {
        Self {
            expanded: seed.expand(),
            seed: Some(seed),
            #[cfg(feature = "jose")]
            jose: OnceLock::new(),
        }
    }

    pub(crate) fn of_expanded(level: Level, key: &[u8]) -> Result<Self, Error> {
        Ok(Self {
            expanded: any::ExpandedSigningKey::decode(level, key)?,
            seed: None,
            #[cfg(feature = "jose")]
            jose: OnceLock::new(),
        })
    }

    pub(crate) fn level(&self) -> Level {
        self.expanded.verifying_key().level()
    }

    pub(crate) fn seed(&self) -> Result<&any::SigningKey, Failure> {
        self.seed.as_ref().ok_or_else(|| {
            Failure::new(SEALSTONE_NO_SEED, "the key is there only in expanded form, without its seed")
        })
    }
}

impl PublicKey {
    pub(crate) fn of(key: any::VerifyingKey) -> Result<Self, Failure> {
        Ok(Self {
            expanded: key.expand(),
            #[cfg(feature = "jose")]
            jose: crate::keys::jose_public(&key)?,
            key,
        })
    }
}

/// See sealstone.h.
#[unsafe(no_mangle)]
pub extern "C" fn sealstone_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("a version has no zero byte"),
        };
    VERSION.as_ptr()
}

/// See sealstone.h.
#[unsafe(no_mangle)]
pub extern "C" fn sealstone_status_name(status: c_int) -> *const c_char {
    NAMES.iter().find(|(number, _)| *number == status).map_or(c"unknown status", |(_, name)| *name).as_ptr()
}

/// See sealstone.h.
#[unsafe(no_mangle)]
pub extern "C" fn sealstone_last_error() -> *const c_char {
    kept()
}

/// See sealstone.h.
#[unsafe(no_mangle)]
pub extern "C" fn sealstone_self_test() -> c_int {
    enter((), || Ok(sealstone_mldsa::self_test()?))
}

/// See sealstone.h.
#[unsafe(no_mangle)]
pub extern "C" fn sealstone_public_key_len(level: c_int) -> usize {
    self::level(level).map_or(0, Level::verifying_key_len)
}

/// See sealstone.h.
#[unsafe(no_mangle)]
pub extern "C" fn sealstone_expanded_key_len(level: c_int) -> usize {
    self::level(level).map_or(0, Level::signing_key_len)
}

/// See sealstone.h.
#[unsafe(no_mangle)]
pub extern "C" fn sealstone_signature_len(level: c_int) -> usize {
    self::level(level).map_or(0, Level::signature_len)
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_private_key_generate(
    level: c_int,
    key: *mut *mut Handle<PrivateKey>,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Made::new(key) };
    enter(out, || Ok(PrivateKey::of_seed(any::SigningKey::generate(self::level(level)?, &mut System)?)))
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_private_key_from_seed(
    level: c_int,
    seed: *const u8,
    seed_len: usize,
    key: *mut *mut Handle<PrivateKey>,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Made::new(key) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let seed = unsafe { bytes("seed", seed, seed_len)? };
        let level = self::level(level)?;
        if seed.len() != SEED_LEN {
            return Err(Failure::length("seed", SEED_LEN, seed.len()));
        }
        Ok(PrivateKey::of_seed(any::SigningKey::try_from_seed(level, seed)?))
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_private_key_from_expanded(
    level: c_int,
    expanded: *const u8,
    expanded_len: usize,
    key: *mut *mut Handle<PrivateKey>,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Made::new(key) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let expanded = unsafe { bytes("expanded", expanded, expanded_len)? };
        Ok(PrivateKey::of_expanded(self::level(level)?, expanded)?)
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_private_key_seed(
    key: *const Handle<PrivateKey>,
    seed: *mut u8,
    seed_len: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Buffer::new("seed", seed, seed_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let key = unsafe { behind(key)? };
        Ok(Wiped::from(key.seed()?.seed().as_slice()))
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_private_key_expanded(
    key: *const Handle<PrivateKey>,
    expanded: *mut u8,
    expanded_len: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Buffer::new("expanded", expanded, expanded_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let key = unsafe { behind(key)? };
        let mut encoded = Wiped(vec![0; key.level().signing_key_len()]);
        key.expanded.encode(&mut encoded.0)?;
        Ok(encoded)
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_private_key_public(
    key: *const Handle<PrivateKey>,
    public_key: *mut *mut Handle<PublicKey>,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Made::new(public_key) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let key = unsafe { behind(key)? };
        let public = PublicKey::of(key.expanded.verifying_key())?;
        #[cfg(feature = "jose")]
        let public = match key.jose.get() {
            Some(whole) => PublicKey { jose: whole.public().clone(), ..public },
            None => public,
        };
        Ok(public)
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_private_key_level(key: *const Handle<PrivateKey>) -> c_int {
    // SAFETY: the caller's promise.
    let level = || Ok(number_of(unsafe { behind(key)? }.level()));
    number(level)
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_private_key_check(key: *const Handle<PrivateKey>) -> c_int {
    enter((), || {
        // SAFETY: the caller's promise.
        let key = unsafe { behind(key)? };
        Ok(key.seed()?.check()?)
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`, and nobody uses the key any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_private_key_free(key: *mut Handle<PrivateKey>) {
    // SAFETY: the caller's promise.
    enter((), || unsafe { free(key) });
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_public_key_from_bytes(
    level: c_int,
    encoded: *const u8,
    encoded_len: usize,
    key: *mut *mut Handle<PublicKey>,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Made::new(key) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let encoded = unsafe { bytes("encoded", encoded, encoded_len)? };
        PublicKey::of(any::VerifyingKey::decode(self::level(level)?, encoded)?)
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_public_key_bytes(
    key: *const Handle<PublicKey>,
    encoded: *mut u8,
    encoded_len: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Buffer::new("encoded", encoded, encoded_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let key = unsafe { behind(key)? };
        Ok(key.key.encode().into())
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_public_key_level(key: *const Handle<PublicKey>) -> c_int {
    // SAFETY: the caller's promise.
    let level = || Ok(number_of(unsafe { behind(key)? }.key.level()));
    number(level)
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`, and nobody uses the key any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_public_key_free(key: *mut Handle<PublicKey>) {
    // SAFETY: the caller's promise.
    enter((), || unsafe { free(key) });
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_sign(
    key: *const Handle<PrivateKey>,
    context: *const u8,
    context_len: usize,
    message: *const u8,
    message_len: usize,
    signature: *mut u8,
    signature_len: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Buffer::new("signature", signature, signature_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let (key, context, message) = unsafe {
            (behind(key)?, bytes("context", context, context_len)?, bytes("message", message, message_len)?)
        };
        out.expect(key.level().signature_len())?;
        let signature = key.expanded.sign(&mut System, Context::new(context)?, message)?;
        Ok(signature.encode().into())
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_sign_deterministic(
    key: *const Handle<PrivateKey>,
    context: *const u8,
    context_len: usize,
    message: *const u8,
    message_len: usize,
    signature: *mut u8,
    signature_len: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Buffer::new("signature", signature, signature_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let (key, context, message) = unsafe {
            (behind(key)?, bytes("context", context, context_len)?, bytes("message", message, message_len)?)
        };
        out.expect(key.level().signature_len())?;
        Ok(key.expanded.sign_deterministic(Context::new(context)?, message)?.encode().into())
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_verify(
    key: *const Handle<PublicKey>,
    context: *const u8,
    context_len: usize,
    message: *const u8,
    message_len: usize,
    signature: *const u8,
    signature_len: usize,
) -> c_int {
    enter((), || {
        // SAFETY: the caller's promise.
        let (key, context, message, signature) = unsafe {
            (
                behind(key)?,
                bytes("context", context, context_len)?,
                bytes("message", message, message_len)?,
                bytes("signature", signature, signature_len)?,
            )
        };
        let context = Context::new(context)?;
        Ok(key.expanded.verify(context, message, &decode_signature(key, signature)?)?)
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_sign_mu(
    key: *const Handle<PrivateKey>,
    mu: *const u8,
    mu_len: usize,
    signature: *mut u8,
    signature_len: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Buffer::new("signature", signature, signature_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let (key, mu) = unsafe { (behind(key)?, bytes("mu", mu, mu_len)?) };
        out.expect(key.level().signature_len())?;
        Ok(key.expanded.sign_mu(&mut System, &decode_mu(mu)?)?.encode().into())
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_sign_mu_deterministic(
    key: *const Handle<PrivateKey>,
    mu: *const u8,
    mu_len: usize,
    signature: *mut u8,
    signature_len: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Buffer::new("signature", signature, signature_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let (key, mu) = unsafe { (behind(key)?, bytes("mu", mu, mu_len)?) };
        out.expect(key.level().signature_len())?;
        Ok(key.expanded.sign_mu_deterministic(&decode_mu(mu)?)?.encode().into())
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_verify_mu(
    key: *const Handle<PublicKey>,
    mu: *const u8,
    mu_len: usize,
    signature: *const u8,
    signature_len: usize,
) -> c_int {
    enter((), || {
        // SAFETY: the caller's promise.
        let (key, mu, signature) = unsafe {
            (behind(key)?, bytes("mu", mu, mu_len)?, bytes("signature", signature, signature_len)?)
        };
        Ok(key.expanded.verify_mu(&decode_mu(mu)?, &decode_signature(key, signature)?)?)
    })
}

/// Panics, so that a C program sees what becomes of it.
///
/// # Safety
/// The promise of `door`.
#[cfg(feature = "panic-for-test")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_panic_for_test(
    buffer: *mut u8,
    buffer_len: usize,
    key: *mut *mut Handle<PrivateKey>,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { (Buffer::new("buffer", buffer, buffer_len), Made::new(key)) };
    enter(out, || panic!("as the test wants it"))
}

/// A signature of any other length is none of this key: `BadSignature`, as for all forgeries.
pub(crate) fn decode_signature(key: &PublicKey, signature: &[u8]) -> Result<any::Signature, Error> {
    any::Signature::decode(key.key.level(), signature).map_err(|_| Error::BadSignature)
}

fn decode_mu(mu: &[u8]) -> Result<Mu, Failure> {
    Mu::decode(mu).map_err(|_| Failure::length("mu", sealstone_mldsa::MU_LEN, mu.len()))
}

/// A call whose answer is itself a number that is not negative.
pub(crate) fn number(body: impl FnOnce() -> Result<c_int, Failure>) -> c_int {
    let mut answer = 0;
    let status = enter((), || {
        answer = body()?;
        Ok(())
    });
    if status == 0 { answer } else { status }
}
