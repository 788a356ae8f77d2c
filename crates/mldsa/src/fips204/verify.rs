//! Algorithms 3, 5 and 8: verification. Everything here is public.

use super::encode::{sig_decode, w1_encode};
use super::ring::{NttPoly, Poly};
use super::round::use_hint;
use super::sample::{BallBlock, h_side_by_side, sample_in_ball};
use super::sign::COMMITMENT_MAX;
use crate::api::{ExpandedVerifyingKey, ParameterSet};
use crate::backend::Room;
use crate::ct::Wipe;
use crate::error::Error;

/// A signature to be checked.
pub(crate) struct Claim<'a, P: ParameterSet> {
    pub(crate) pk: &'a ExpandedVerifyingKey<P>,
    pub(crate) mu: &'a [u8; 64],
    pub(crate) sigma: &'a P::Sig,
}

/// Checks one signature. Algorithms 3 and 5 make μ from a message or its digest (`message.rs`) and call this.
/// FIPS 204, Algorithm 3, ML-DSA.Verify.
/// FIPS 204, Algorithm 5, HashML-DSA.Verify.
/// FIPS 204, Algorithm 8, ML-DSA.Verify_internal.
///
/// Shapes: mu 64 bytes; sigma c̃ || z || h.
/// Differs from the standard: μ is computed by the caller (steps 6 and 7); Â and NTT(-t1·2^d) come with the key (steps 1
/// and 5); the norm of z is checked before the rest is computed (step 13).
/// Errors: `BadSignature`, whatever is wrong.
pub(crate) fn verify_internal<P: ParameterSet>(room: Room, claim: &Claim<'_, P>) -> Result<(), Error> {
    let mut verdict = [Err(Error::BadSignature)];
    verify_side_by_side::<P, 1>(room, core::slice::from_ref(claim), &mut verdict);
    verdict[0]
}

/// Checks up to A signatures, so that their hashes go side by side. See [`verify_internal`].
///
/// Shapes: as many claims as verdicts, at most A.
pub(crate) fn verify_side_by_side<P: ParameterSet, const A: usize>(
    room: Room,
    claims: &[Claim<'_, P>],
    verdicts: &mut [Result<(), Error>],
) {
    let count = claims.len();
    debug_assert!(count <= A && verdicts.len() == count);
    // 8, first part: H(c̃)
    let mut blocks: [BallBlock; A] = [[0; _]; A];
    let c_tilde: [&[u8]; A] = core::array::from_fn(|i| {
        claims.get(i).map_or(&[][..], |claim| &claim.sigma.as_ref()[..P::C_TILDE_LEN])
    });
    let mut hashes = zip(c_tilde, blocks.each_mut().map(|block| &mut block[..]));
    h_side_by_side(room, &mut hashes[..count]);
    let mut commitments = [[0; COMMITMENT_MAX]; A];
    let mut well_formed = [false; A];
    for (i, claim) in claims.iter().enumerate() {
        well_formed[i] = recommit(room, claim, &blocks[i], &mut commitments[i]).is_some();
    }
    // 12: c̃' ← H(μ || w1Encode(w1'), λ/4)
    let mut c_tilde_prime = [[0; 64]; A];
    let inputs = commitments.each_ref().map(|commitment| &commitment[..64 + P::W1_LEN]);
    let outputs = c_tilde_prime.each_mut().map(|c_tilde| &mut c_tilde[..P::C_TILDE_LEN]);
    h_side_by_side(room, &mut zip(inputs, outputs)[..count]);
    // 13: ‖z‖∞ < γ1 − β and c̃ = c̃'
    for (i, verdict) in verdicts.iter_mut().enumerate() {
        let good = well_formed[i] && c_tilde[i] == &c_tilde_prime[i][..P::C_TILDE_LEN];
        *verdict = if good { Ok(()) } else { Err(Error::BadSignature) };
    }
}

/// Steps 2 to 12 of Algorithm 8 but for the hash: μ || w1Encode(w1'). `None` if the hint is malformed or z too long.
fn recommit<P: ParameterSet>(
    room: Room,
    claim: &Claim<'_, P>,
    block: &BallBlock,
    commitment: &mut [u8; COMMITMENT_MAX],
) -> Option<()> {
    let Claim { pk, mu, sigma } = *claim;
    // 2: (c̃, z, h) ← sigDecode(σ)
    // 3: if h = ⊥ then return false
    let (mut z, mut h) = (P::L_::<Poly>::ZERO, P::K_::<Poly>::ZERO);
    let c_tilde = sig_decode::<P>(room, sigma, &mut z, &mut h)?;
    // 13, first half: ‖z‖∞ < γ1 − β
    if !z.as_ref().iter().all(|z| z.norm_below(room, P::GAMMA1 - P::BETA)) {
        return None;
    }
    // 8: c ← SampleInBall(c̃)
    let (mut w, mut c_hat) = (Poly::ZERO, NttPoly::ZERO);
    sample_in_ball(room, P::TAU, c_tilde.as_ref(), block, &mut w.0);
    w.ntt(room, &mut c_hat);
    // 9: w'approx ← NTT⁻¹(Â ∘ NTT(z) − NTT(c) ∘ NTT(t1·2^d))
    let mut z_hat = P::L_::<NttPoly>::ZERO;
    for (z, z_hat) in z.as_ref().iter().zip(z_hat.as_mut()) {
        z.ntt(room, z_hat);
    }
    let (first, rest) = commitment.split_at_mut(64);
    first.copy_from_slice(mu);
    let rows = pk.a_hat.as_ref().iter().zip(pk.minus_t1_hat.as_ref()).zip(h.as_ref());
    let mut w1 = Poly::ZERO;
    for (((row, minus_t1_hat), h), out) in rows.zip(rest.chunks_exact_mut(32 * P::W1_BITS as usize)) {
        w.product_and_one(room, row.as_ref(), z_hat.as_ref(), minus_t1_hat, &c_hat);
        // 10: w1' ← UseHint(h, w'approx)
        use_hint::<P>(room, h, &w, &mut w1);
        w1_encode::<P>(room, &w1, out);
    }
    Some(())
}

/// Pairs of an input and an output.
fn zip<'a, const A: usize>(
    inputs: [&'a [u8]; A],
    outputs: [&'a mut [u8]; A],
) -> [(&'a [u8], &'a mut [u8]); A] {
    let mut inputs = inputs.into_iter();
    outputs.map(|output| (inputs.next().unwrap_or(&[]), output))
}
