//! One life of a key, with everything that a device calls, in the least memory.

use core::hint::black_box;
use sealstone_mldsa::device::{
    EncodedSigningKey, EncodedVerifyingKey, KeygenSpace, SignSpace, Small, VerifySpace,
};
use sealstone_mldsa::{Context, Error, ParameterSet};

/// Keys, signature and verdict; all inputs are unknown to the compiler.
#[inline(never)]
pub(crate) fn life<P: ParameterSet>() -> Result<(), Error> {
    let (mut pk, mut sk, mut sigma) = ([0; 2592], [0; 4896], [0; 4627]);
    let (pk, sk, sigma) = (&mut pk[..P::PK_LEN], &mut sk[..P::SK_LEN], &mut sigma[..P::SIG_LEN]);
    KeygenSpace::<P, Small>::new().keygen(black_box(&[7; 32]), pk, sk)?;
    let key = EncodedSigningKey::<P>::decode(black_box(sk))?;
    SignSpace::<P, Small>::new().sign_deterministic(&key, Context::EMPTY, black_box(b"message"), sigma)?;
    let key = EncodedVerifyingKey::<P>::decode(black_box(pk))?;
    VerifySpace::<P, Small>::new().verify(&key, Context::EMPTY, black_box(b"message"), black_box(sigma))
}
