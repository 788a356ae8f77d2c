//! Algorithms 3, 5 and 8: verification. Everything here is public.

use super::encode::{sig_decode, w1_encode};
use super::params::Array;
use super::ring::NttPoly;
use super::round::use_hint;
use super::sample::sample_in_ball;
use crate::api::{ExpandedVerifyingKey, ParameterSet};
use crate::backend::Room;
use crate::error::Error;
use crate::keccak::Shake;

/// Checks a signature for the message representative μ. Algorithms 3 and 5 make μ from a message or its digest
/// (`message.rs`) and call this.
/// FIPS 204, Algorithm 3, ML-DSA.Verify.
/// FIPS 204, Algorithm 5, HashML-DSA.Verify.
/// FIPS 204, Algorithm 8, ML-DSA.Verify_internal.
///
/// Shapes: mu 64 bytes; sigma c̃ || z || h.
/// Differs from the standard: μ is computed by the caller (steps 6 and 7); Â and NTT(t1·2^d) come with the key (steps 1
/// and 5); the norm of z is checked before the rest is computed (step 13).
/// Errors: `BadSignature`, whatever is wrong.
pub(crate) fn verify_internal<P: ParameterSet>(
    room: Room,
    pk: &ExpandedVerifyingKey<P>,
    mu: &[u8; 64],
    sigma: &P::Sig,
) -> Result<(), Error> {
    // 2: (c̃, z, h) ← sigDecode(σ)
    // 3: if h = ⊥ then return false
    let (c_tilde, z, h) = sig_decode::<P>(room, sigma).ok_or(Error::BadSignature)?;
    // 13, first half: ‖z‖∞ < γ1 − β
    if !z.as_ref().iter().all(|z| z.norm_below(room, P::GAMMA1 - P::BETA)) {
        return Err(Error::BadSignature);
    }
    // 8: c ← SampleInBall(c̃)
    let c_hat = sample_in_ball::<P>(room, c_tilde.as_ref()).ntt(room);
    // 9: w'approx ← NTT⁻¹(Â ∘ NTT(z) − NTT(c) ∘ NTT(t1·2^d))
    let z_hat = P::L_::from_fn(|i| z.as_ref()[i].ntt(room));
    let mut ctx = Shake::shake256(room);
    ctx.absorb([mu]);
    for ((row, t1_hat), h) in pk.a_hat.as_ref().iter().zip(pk.t1_hat.as_ref()).zip(h.as_ref()) {
        let az = NttPoly::dot(room, row.as_ref(), z_hat.as_ref());
        let w_approx = az.sub(room, &c_hat.mul(room, t1_hat)).inv_ntt(room);
        // 10: w1' ← UseHint(h, w'approx)
        // 12: c̃' ← H(μ || w1Encode(w1'), λ/4)
        let (w1, len) = w1_encode::<P>(room, &use_hint::<P>(room, h, &w_approx));
        ctx.absorb([&w1[..len]]);
    }
    let mut c_tilde_prime = P::CTilde::from_fn(|_| 0);
    ctx.squeeze([c_tilde_prime.as_mut()]);
    // 13, second half: c̃ = c̃'
    if c_tilde.as_ref() == c_tilde_prime.as_ref() { Ok(()) } else { Err(Error::BadSignature) }
}
