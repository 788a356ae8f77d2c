//! One life of a key, with everything that a device calls.

use core::hint::black_box;
use sealstone_mldsa::{Context, Error, ParameterSet, Signature, SigningKey, VerifyingKey};

/// Public key, signature and verdict; all inputs are unknown to the compiler.
#[inline(never)]
pub(crate) fn life<P: ParameterSet>() -> Result<(), Error> {
    let key = SigningKey::<P>::from_seed(black_box(&[7; 32]));
    let public = key.verifying_key();
    let signature = key.sign_deterministic(Context::EMPTY, black_box(b"message"))?;
    let public = VerifyingKey::<P>::decode(black_box(public.encode()))?;
    public.verify(Context::EMPTY, black_box(b"message"), &Signature::decode(black_box(signature.encode()))?)
}
