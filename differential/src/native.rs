//! mldsa-native through its C functions, one set for each level.
#![allow(unsafe_code)]

use crate::peers::{Case, Peer};
use sealstone_mldsa::Level;

/// mldsa-native with its AVX2 assembly.
pub struct Native;

macro_rules! level {
    ($name:ident, $keypair:ident, $sign:ident, $verify:ident) => {
        mod $name {
            use std::ffi::c_int;

            unsafe extern "C" {
                pub fn $keypair(pk: *mut u8, sk: *mut u8, seed: *const u8) -> c_int;
                #[allow(clippy::too_many_arguments)]
                pub fn $sign(
                    sig: *mut u8,
                    siglen: *mut usize,
                    m: *const u8,
                    mlen: usize,
                    pre: *const u8,
                    prelen: usize,
                    rnd: *const u8,
                    sk: *const u8,
                    externalmu: c_int,
                ) -> c_int;
                pub fn $verify(
                    sig: *const u8,
                    siglen: usize,
                    m: *const u8,
                    mlen: usize,
                    ctx: *const u8,
                    ctxlen: usize,
                    pk: *const u8,
                ) -> c_int;
            }

            pub fn keygen(pk: &mut [u8], sk: &mut [u8], seed: &[u8; 32]) -> c_int {
                // SAFETY: both have the lengths of the level.
                unsafe { $keypair(pk.as_mut_ptr(), sk.as_mut_ptr(), seed.as_ptr()) }
            }

            pub fn sign(sig: &mut [u8], m: &[u8], pre: &[u8], rnd: &[u8; 32], sk: &[u8]) -> c_int {
                let mut len = 0;
                // SAFETY: sig and sk have the lengths of the level; the other lengths go along.
                unsafe {
                    $sign(
                        sig.as_mut_ptr(),
                        &mut len,
                        m.as_ptr(),
                        m.len(),
                        pre.as_ptr(),
                        pre.len(),
                        rnd.as_ptr(),
                        sk.as_ptr(),
                        0,
                    )
                }
            }

            pub fn verify(sig: &[u8], m: &[u8], ctx: &[u8], pk: &[u8]) -> bool {
                // SAFETY: pk has the length of the level; the other lengths go along.
                unsafe {
                    $verify(
                        sig.as_ptr(),
                        sig.len(),
                        m.as_ptr(),
                        m.len(),
                        ctx.as_ptr(),
                        ctx.len(),
                        pk.as_ptr(),
                    ) == 0
                }
            }
        }
    };
}
level!(l44, mldsa44_keypair_internal, mldsa44_signature_internal, mldsa44_verify);
level!(l65, mldsa65_keypair_internal, mldsa65_signature_internal, mldsa65_verify);
level!(l87, mldsa87_keypair_internal, mldsa87_signature_internal, mldsa87_verify);

macro_rules! at {
    ($level:expr, $function:ident($($arg:expr),*)) => {
        match $level {
            Level::MlDsa44 => l44::$function($($arg),*),
            Level::MlDsa65 => l65::$function($($arg),*),
            Level::MlDsa87 => l87::$function($($arg),*),
        }
    };
}

impl Peer for Native {
    fn name(&self) -> &'static str {
        "mldsa-native 0.0.1-alpha.6 (AVX2)"
    }

    fn make(&self, case: &Case) -> (Vec<u8>, Option<Vec<u8>>) {
        let mut pk = vec![0; case.level.verifying_key_len()];
        let mut sk = vec![0; case.level.signing_key_len()];
        let mut signature = vec![0; case.level.signature_len()];
        let pre = [&[0, case.context.len() as u8], &case.context[..]].concat();
        let done = at!(case.level, keygen(&mut pk, &mut sk, &case.seed))
            | at!(case.level, sign(&mut signature, &case.message, &pre, &case.rnd, &sk));
        assert_eq!(done, 0, "mldsa-native failed");
        (pk, Some(signature))
    }

    fn verify(&self, case: &Case, message: &[u8], public: &[u8], signature: &[u8]) -> Option<bool> {
        Some(at!(case.level, verify(signature, message, &case.context, public)))
    }
}
