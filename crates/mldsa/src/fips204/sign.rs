//! Algorithms 2, 4 and 7: signing. Put the standard beside this file and follow with a finger: the steps of Algorithm 7
//! stand in `nonce_seed`, `transform`, `commit`, `challenge` and `respond`, in this order. Its loop (steps 8, 10 and 32) is in
//! `flight.rs`, because it runs for many attempts at a time.

use super::encode::{sig_encode, w1_encode};
use super::flight::Order;
use super::params::{Array, Params};
use super::ring::{Ball, NttPoly, Poly, one};
use super::round::{decompose, make_hint};
use super::sample::{BallBlock, h_side_by_side, sample_in_ball};
use crate::api::{ExpandedSigningKey, ParameterSet};
use crate::backend::Room;
use crate::ct::{Wipe, declassify, declassify_all};
use crate::keccak::Shake;

/// Which check refused an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(unreachable_pub, reason = "public under the feature hazmat")]
pub enum Rejection {
    /// Step 23: ‖z‖∞ >= γ1 - β, and ‖r0‖∞ < γ2 - β.
    Z,
    /// Step 23: ‖r0‖∞ >= γ2 - β.
    R0,
    /// Step 28: ‖ct0‖∞ >= γ2.
    Ct0,
    /// Step 28: more than ω ones in h.
    Hint,
}

/// Bytes of μ || w1Encode(w1), at most.
pub(crate) const COMMITMENT_MAX: usize = 64 + 1024;

/// Step 7 of Algorithm 7: what the masks of all attempts are sampled from.
///
/// Algorithms 2 and 4 make μ from a message or its digest (`message.rs`), draw rnd, and come here.
/// FIPS 204, Algorithm 2, ML-DSA.Sign.
/// FIPS 204, Algorithm 4, HashML-DSA.Sign.
/// FIPS 204, Algorithm 7, ML-DSA.Sign_internal.
///
/// Shapes: mu 64 bytes; rnd 32 bytes, zeros for the deterministic variant.
/// Differs from the standard: μ is computed by the caller (step 6); s1, s2, t̂0 and Â come with the key (steps 1 to 5).
pub(crate) fn nonce_seed<P: ParameterSet>(
    room: Room,
    sk: &ExpandedSigningKey<P>,
    mu: &[u8; 64],
    rnd: &[u8; 32],
    rho_pp: &mut [u8; 64],
) {
    // 7: ρ'' ← H(K || rnd || μ, 64)
    let mut ctx = Shake::shake256(room);
    ctx.absorb([&*sk.k]);
    ctx.absorb([rnd]);
    ctx.absorb([mu]);
    ctx.squeeze([rho_pp]);
}

/// Room for one attempt at a time; wiped on drop.
pub(crate) struct Scratch<P: Params> {
    z: P::L_<Poly>,
    r: P::K_<Poly>,
    h: P::K_<Poly>,
    w1: Poly,
    r0: Poly,
    product: Poly,
}

impl<P: Params> Scratch<P> {
    /// Zeros, to be written over.
    pub(crate) fn blank() -> Self {
        Scratch {
            z: P::L_::from_fn(|_| Poly::ZERO),
            r: P::K_::from_fn(|_| Poly::ZERO),
            h: P::K_::from_fn(|_| Poly::ZERO),
            w1: Poly::ZERO,
            r0: Poly::ZERO,
            product: Poly::ZERO,
        }
    }
}

impl<P: Params> Drop for Scratch<P> {
    fn drop(&mut self) {
        self.z.wipe();
        self.r.wipe();
        self.h.wipe();
        [&mut self.w1, &mut self.r0, &mut self.product].into_iter().for_each(Poly::wipe);
    }
}

/// Step 12 of Algorithm 7, first part: NTT(y). Shapes: y from ExpandMask (step 11).
pub(crate) fn transform<P: Params>(room: Room, y: &P::L_<Poly>, y_hat: &mut P::L_<NttPoly>) {
    for (y, y_hat) in y.as_ref().iter().zip(y_hat.as_mut()) {
        y.ntt(room, y_hat);
    }
}

/// Steps 12 and 13 of Algorithm 7 for one row of Â: its polynomial of w, and its part of μ || w1Encode(HighBits(w)),
/// which step 15 hashes.
///
/// Shapes: row below k; commitment of `COMMITMENT_MAX` bytes, of which 64 + `W1_LEN` are written by all rows.
/// Time: independent of everything.
pub(crate) fn commit<P: ParameterSet>(
    room: Room,
    order: &Order<'_, P>,
    row: usize,
    y_hat: &P::L_<NttPoly>,
    scratch: &mut Scratch<P>,
    w: &mut P::K_<Poly>,
    commitment: &mut [u8; COMMITMENT_MAX],
) {
    let Scratch { w1, r0, .. } = scratch;
    let w = &mut w.as_mut()[row];
    // 12: w ← NTT⁻¹(Â ∘ NTT(y))
    w.product(room, order.sk.a_hat.as_ref()[row].as_ref(), y_hat.as_ref());
    // 13: w1 ← HighBits(w)
    decompose::<P>(room, w, w1, r0);
    let (first, rest) = commitment.split_at_mut(64);
    first.copy_from_slice(order.mu);
    let len = 32 * P::W1_BITS as usize;
    w1_encode::<P>(room, w1, &mut rest[len * row..][..len]);
}

/// Step 15 of Algorithm 7, and the first block of step 16's hash, for attempts side by side.
///
/// Shapes: as many of each; commitments as `commit` leaves them.
pub(crate) fn challenge<P: Params, const A: usize>(
    room: Room,
    attempts: usize,
    commitments: &[[u8; COMMITMENT_MAX]; A],
    c_tilde: &mut [P::CTilde; A],
    blocks: &mut [BallBlock; A],
) {
    // 15: c̃ ← H(μ || w1Encode(w1), λ/4)
    let inputs = commitments.each_ref().map(|commitment| &commitment[..64 + P::W1_LEN]);
    let mut outputs = c_tilde.each_mut().map(|c_tilde| c_tilde.as_mut());
    h_side_by_side(room, &inputs[..attempts], &mut outputs[..attempts]);
    // 16, first part: H(c̃)
    let inputs = c_tilde.each_ref().map(|c_tilde| c_tilde.as_ref());
    let mut outputs = blocks.each_mut().map(|block| &mut block[..]);
    h_side_by_side(room, &inputs[..attempts], &mut outputs[..attempts]);
}

/// Steps 16 to 33 of Algorithm 7: the signature, or which check refuses the attempt.
///
/// Bounds: out ‖z‖∞ < γ1 - β, at most ω ones in h.
/// Time: independent of the key and of y; shows c̃, which check refuses, and at which polynomial (SECURITY.md, "What may
/// leak").
/// Differs from the standard: the order of steps is 16, 19, 21, 23 (r0), 18, 20, 23 (z), 17, 25, 28 (ct0), 26, 28 (h),
/// 33. r0 is checked before z, and each polynomial as soon as it is there, because most attempts
/// are refused and by r0 at that; c·s1 and c·s2 are computed without transforms, so ĉ (step 17) waits until c·t0 needs it.
pub(crate) fn respond<P: ParameterSet>(
    room: Room,
    sk: &ExpandedSigningKey<P>,
    y: &P::L_<Poly>,
    w: &P::K_<Poly>,
    c_tilde: &P::CTilde,
    block: &BallBlock,
    scratch: &mut Scratch<P>,
) -> Result<P::Sig, Rejection> {
    let Scratch { z, r, h, w1, r0, product, .. } = scratch;
    // c̃ of the accepted attempt is the signature's first part. Of a refused one it is a hash of a w1 that is never
    // shown; the argument that it says nothing of the key is in SECURITY.md.
    let (c_tilde, block) = declassify((c_tilde.clone(), *block));
    // 16: c ← SampleInBall(c̃)
    let mut c = Poly::ZERO;
    sample_in_ball::<P>(room, c_tilde.as_ref(), &block, &mut c);
    let ball = Ball::new(room, &c);
    for ((s2, w), r) in sk.s2.as_ref().iter().zip(w.as_ref()).zip(r.as_mut()) {
        // 19: ⟨⟨cs2⟩⟩ ← c·s2, and w − ⟨⟨cs2⟩⟩, which steps 21 and 26 both take
        product.times_ball(room, &ball, s2);
        r.0 = w.0;
        r.sub(room, product);
        // 21: r0 ← LowBits(w − ⟨⟨cs2⟩⟩)
        decompose::<P>(room, r, w1, r0);
        // 23, second half: if ‖r0‖∞ ≥ γ2 − β then (z, h) ← ⊥
        if !passes(r0.norm_below(room, P::GAMMA2 - P::BETA)) {
            return Err(Rejection::R0);
        }
    }
    for ((s1, y), z) in sk.s1.as_ref().iter().zip(y.as_ref()).zip(z.as_mut()) {
        // 18: ⟨⟨cs1⟩⟩ ← c·s1
        // 20: z ← y + ⟨⟨cs1⟩⟩
        z.times_ball(room, &ball, s1);
        z.add(room, y);
        // 23, first half: if ‖z‖∞ ≥ γ1 − β then (z, h) ← ⊥
        if !passes(z.norm_below(room, P::GAMMA1 - P::BETA)) {
            return Err(Rejection::Z);
        }
    }
    // 17: ĉ ← NTT(c)
    let mut c_hat = NttPoly::ZERO;
    c.ntt(room, &mut c_hat);
    let mut ones = 0;
    for ((t0_hat, r), h) in sk.t0_hat.as_ref().iter().zip(r.as_mut()).zip(h.as_mut()) {
        // 25: ⟨⟨ct0⟩⟩ ← NTT⁻¹(ĉ ∘ t̂0)
        product.product(room, one(&c_hat), one(t0_hat));
        // 28: if ‖⟨⟨ct0⟩⟩‖∞ ≥ γ2 then (z, h) ← ⊥
        if !passes(product.norm_below(room, P::GAMMA2)) {
            return Err(Rejection::Ct0);
        }
        // 26: h ← MakeHint(−⟨⟨ct0⟩⟩, w − ⟨⟨cs2⟩⟩ + ⟨⟨ct0⟩⟩)
        r.add(room, product);
        r0.0 = [0; 256];
        r0.sub(room, product);
        ones += make_hint::<P>(room, r0, r, h);
    }
    // 28: if the number of 1's in h is greater than ω then (z, h) ← ⊥
    if !passes(ones <= P::OMEGA) {
        return Err(Rejection::Hint);
    }
    // 33: σ ← sigEncode(c̃, z mod± q, h): accepted, so z and h are the signature
    Ok(sig_encode::<P>(room, &c_tilde, declassify_all(z.as_ref()), declassify_all(h.as_ref())))
}

/// Whether an attempt passes a check. Which check refuses may be shown, and at which polynomial: a refused attempt is
/// independent of the next (section 3.2), and what its polynomials would have been is wiped.
fn passes(check: bool) -> bool {
    declassify(check)
}
