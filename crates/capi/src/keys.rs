//! Keys in PEM, DER and JWK, and their thumbprints.

use core::ffi::{c_char, c_int};
use std::sync::OnceLock;

use sealstone_mldsa::any;

use crate::door::{Block, Made, Wiped, bytes, enter, take_back};
use crate::forms::{self, Form, Private, Refused};
use crate::handle::{Handle, PrivateKey, PublicKey, behind};
use crate::status::{Failure, SEALSTONE_BAD_KEY, of_jose};

/// `SEALSTONE_ANY`, `SEALSTONE_PEM` and so on.
fn form(number: c_int) -> Result<Option<Form>, Failure> {
    match number {
        0 => Ok(None),
        1 => Ok(Some(Form::Pem)),
        2 => Ok(Some(Form::Der)),
        3 => Ok(Some(Form::Jwk)),
        other => {
            Err(Failure::argument(format!("format: expected SEALSTONE_PEM, _DER or _JWK, found {other}")))
        }
    }
}

/// The same, where one must be chosen.
fn one_form(number: c_int) -> Result<Form, Failure> {
    form(number)?.ok_or_else(|| Failure::argument("format: SEALSTONE_ANY reads and cannot write"))
}

pub(crate) fn jose_public(key: &any::VerifyingKey) -> Result<sealstone_jose::PublicKey, Failure> {
    sealstone_jose::PublicKey::from_public(forms::algorithm(key.level()), key.encode())
        .map_err(of_jose(SEALSTONE_BAD_KEY))
}

impl PrivateKey {
    fn read(read: Private) -> Result<Self, Failure> {
        match read {
            Private::Expanded(level, key) => Ok(Self::of_expanded(level, &key).map_err(Refused::Engine)?),
            Private::Seed(level, seed) => Ok(Self::of_seed(any::SigningKey::from_seed(level, &seed))),
            Private::Jwk(level, whole) => {
                let seed = any::SigningKey::try_from_seed(level, &whole.secret())?;
                Ok(Self { jose: OnceLock::from(whole), ..Self::of_seed(seed) })
            }
        }
    }

    /// The same key for tokens. Errors: `NoSeed`.
    pub(crate) fn whole(&self) -> Result<&sealstone_jose::PrivateKey, Failure> {
        if let Some(whole) = self.jose.get() {
            return Ok(whole);
        }
        let seed = self.seed.as_ref().ok_or(Refused::NoSeed)?;
        let whole = sealstone_jose::PrivateKey::from_secret(forms::algorithm(self.level()), seed.seed())
            .map_err(of_jose(SEALSTONE_BAD_KEY))?;
        Ok(self.jose.get_or_init(|| whole))
    }
}

impl PublicKey {
    pub(crate) fn read(jose: sealstone_jose::PublicKey) -> Result<Self, Failure> {
        let found = jose.algorithm().name();
        let level = jose.algorithm().level().ok_or(Refused::NotMlDsa { found })?;
        let key = any::VerifyingKey::decode(level, jose.as_bytes())?;
        Ok(Self { expanded: key.expand(), key, jose })
    }
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_private_key_parse(
    format: c_int,
    encoded: *const u8,
    encoded_len: usize,
    key: *mut *mut Handle<PrivateKey>,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Made::new(key) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let encoded = unsafe { bytes("encoded", encoded, encoded_len)? };
        PrivateKey::read(forms::read_private(encoded, form(format)?)?)
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_private_key_write(
    key: *const Handle<PrivateKey>,
    format: c_int,
    encoded: *mut *mut c_char,
    encoded_len: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Block::new("encoded", encoded, encoded_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let key = unsafe { behind(key)? };
        let mut written = match one_form(format)? {
            Form::Jwk => forms::write_private_jwk(key.whole()?),
            form => forms::write_pkcs8(key.level(), key.seed()?.seed(), form == Form::Der)?,
        };
        Ok(Wiped(core::mem::take(&mut *written)))
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_public_key_parse(
    format: c_int,
    encoded: *const u8,
    encoded_len: usize,
    key: *mut *mut Handle<PublicKey>,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Made::new(key) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let encoded = unsafe { bytes("encoded", encoded, encoded_len)? };
        PublicKey::read(forms::read_public(encoded, form(format)?)?)
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_public_key_write(
    key: *const Handle<PublicKey>,
    format: c_int,
    encoded: *mut *mut c_char,
    encoded_len: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Block::new("encoded", encoded, encoded_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let key = unsafe { behind(key)? };
        Ok(Wiped(forms::write_public(&key.jose, one_form(format)?)?))
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_public_key_thumbprint(
    key: *const Handle<PublicKey>,
    thumbprint: *mut *mut c_char,
    thumbprint_len: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Block::new("thumbprint", thumbprint, thumbprint_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let key = unsafe { behind(key)? };
        Ok(key.jose.thumbprint().as_bytes().into())
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_public_key_kid(
    key: *const Handle<PublicKey>,
    kid: *mut *mut c_char,
    kid_len: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Block::new("kid", kid, kid_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let key = unsafe { behind(key)? };
        Ok(key.jose.kid().as_bytes().into())
    })
}

/// See sealstone.h.
///
/// # Safety
/// What this library gave and has not taken back, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_free(block: *mut c_char) {
    // SAFETY: the caller's promise.
    let give = || unsafe { take_back(block.cast()) };
    enter((), || {
        give();
        Ok(())
    });
}
