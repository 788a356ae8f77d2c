//! Algorithms 2, 4 and 7: signing. Put the standard beside this file and follow with a finger: the steps of Algorithm 7
//! stand in `nonce_seed`, `transform`, `commit`, `challenge` and `respond`, in this order. Its loop (steps 8, 10 and 32) is in
//! `flight.rs`, because it runs for many attempts at a time.

use super::encode::{sig_encode, w1_decode, w1_encode};
use super::params::Params;
use super::ring::{Ball, NttPoly, Poly, one};
use super::round::{decompose, make_hint, recompose};
use super::sample::{BallBlock, h_side_by_side, sample_in_ball};
use crate::api::{ExpandedSigningKey, ParameterSet};
use crate::backend::Room;
use crate::ct::{Wipe, declassify, declassify_all};
use crate::keccak::{Shake, Task};

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
pub(crate) fn nonce_seed(room: Room, k: &[u8; 32], mu: &[u8; 64], rnd: &[u8; 32], rho_pp: &mut [u8; 64]) {
    // 7: ρ'' ← H(K || rnd || μ, 64)
    let mut ctx = Shake::shake256(room);
    ctx.absorb([k]);
    ctx.absorb([rnd]);
    ctx.absorb([mu]);
    ctx.squeeze([rho_pp]);
}

/// What one attempt holds; wiped on drop.
pub(crate) struct Attempt<P: Params> {
    /// y, and z when that is made.
    pub(crate) y: P::L_<Poly>,
    y_hat: P::L_<NttPoly>,
    /// LowBits(w), and r0 when that is made.
    w0: P::K_<Poly>,
    /// μ || w1Encode(w1).
    commitment: [u8; COMMITMENT_MAX],
    c_tilde: P::CTilde,
    /// The first bytes of H(c̃).
    block: BallBlock,
}

impl<P: Params> Attempt<P> {
    /// Zeros, to be written over.
    pub(crate) const BLANK: Self = {
        Attempt {
            y: Wipe::ZERO,
            y_hat: Wipe::ZERO,
            w0: Wipe::ZERO,
            commitment: Wipe::ZERO,
            c_tilde: Wipe::ZERO,
            block: Wipe::ZERO,
        }
    };

    /// Steps 15 and 16, the hashes: c̃ ← H(μ || w1Encode(w1), λ/4), and the first block of H(c̃).
    pub(crate) fn challenge(&mut self) -> Task<'_> {
        Task { input: &self.commitment[..64 + P::W1_LEN], out: self.c_tilde.as_mut(), again: &mut self.block }
    }
}

impl<P: Params> Drop for Attempt<P> {
    fn drop(&mut self) {
        self.y.wipe();
        self.y_hat.wipe();
        self.w0.wipe();
        self.commitment.wipe();
        self.c_tilde.wipe();
        self.block.wipe();
    }
}

/// Room for one attempt at a time; wiped on drop.
pub(crate) struct Scratch<P: Params> {
    w: Poly,
    w1: Poly,
    ct0: Poly,
    h: P::K_<Poly>,
}

impl<P: Params> Scratch<P> {
    /// Zeros, to be written over.
    pub(crate) const BLANK: Self = Scratch { w: Poly::ZERO, w1: Poly::ZERO, ct0: Poly::ZERO, h: Wipe::ZERO };
}

impl<P: Params> Drop for Scratch<P> {
    fn drop(&mut self) {
        self.h.wipe();
        [&mut self.w, &mut self.w1, &mut self.ct0].into_iter().for_each(Poly::wipe);
    }
}

/// Step 12 of Algorithm 7, first part: NTT(y). Shapes: y from ExpandMask (step 11).
pub(crate) fn transform<P: Params>(room: Room, attempt: &mut Attempt<P>) {
    for (y, y_hat) in attempt.y.as_ref().iter().zip(attempt.y_hat.as_mut()) {
        y.ntt(room, y_hat);
    }
}

/// Steps 12 and 13 of Algorithm 7 for one row of Â: its polynomial of w, taken apart into w0 = LowBits(w) and its part of
/// μ || w1Encode(HighBits(w)), which step 15 hashes.
///
/// Shapes: row below k; commitment of `COMMITMENT_MAX` bytes, of which 64 + `W1_LEN` are written by all rows.
/// Time: independent of everything.
pub(crate) fn commit<P: ParameterSet>(
    room: Room,
    sk: &ExpandedSigningKey<P>,
    mu: &[u8; 64],
    row: usize,
    attempt: &mut Attempt<P>,
    scratch: &mut Scratch<P>,
) {
    let Attempt { y_hat, w0, commitment, .. } = attempt;
    let Scratch { w, w1, .. } = scratch;
    // 12: w ← NTT⁻¹(Â ∘ NTT(y))
    w.product(room, sk.a_hat.as_ref()[row].as_ref(), y_hat.as_ref());
    // 13: w1 ← HighBits(w)
    decompose::<P>(room, w, w1, &mut w0.as_mut()[row]);
    let (first, rest) = commitment.split_at_mut(64);
    first.copy_from_slice(mu);
    w1_encode::<P>(room, w1, &mut rest[row_of_w1::<P>(row)]);
}

/// The bytes of one polynomial in w1Encode(w1).
fn row_of_w1<P: Params>(row: usize) -> core::ops::Range<usize> {
    let len = 32 * P::W1_BITS as usize;
    len * row..len * (row + 1)
}

/// Steps 15 and 16 of Algorithm 7, the hashes, for attempts side by side: what [`Attempt::challenge`] does for one.
pub(crate) fn challenge<P: Params, const A: usize>(room: Room, attempts: &mut [Attempt<P>; A], count: usize) {
    // 15: c̃ ← H(μ || w1Encode(w1), λ/4)
    let mut hashes = attempts
        .each_mut()
        .map(|Attempt { commitment, c_tilde, .. }| (&commitment[..64 + P::W1_LEN], c_tilde.as_mut()));
    h_side_by_side(room, &mut hashes[..count]);
    // 16, first part: H(c̃)
    let mut hashes = attempts.each_mut().map(|Attempt { c_tilde, block, .. }| {
        let c_tilde: &P::CTilde = c_tilde;
        (c_tilde.as_ref(), &mut block[..])
    });
    h_side_by_side(room, &mut hashes[..count]);
}

/// Steps 16 to 33 of Algorithm 7: the signature, or which check refuses the attempt.
///
/// Shapes: the attempt as `commit` and `challenge` leave it; y becomes z, and w0 becomes r0.
/// Bounds: out ‖z‖∞ < γ1 - β, at most ω ones in h.
/// Time: independent of the key and of y; shows c̃, which check refuses, and at which polynomial (SECURITY.md, "What may
/// leak").
/// Differs from the standard: the order of steps is 16, 19, 21, 23 (r0), 18, 20, 23 (z), 17, 25, 28 (ct0), 26, 28 (h),
/// 33. r0 is checked before z, and each polynomial as soon as it is there, because most attempts
/// are refused and by r0 at that; c·s1 and c·s2 are computed without transforms, so ĉ (step 17) waits until c·t0 needs it.
/// r0 is w0 − ⟨⟨cs2⟩⟩: below γ2 − β it is LowBits(w − ⟨⟨cs2⟩⟩), whose HighBits are w1 then, and one is below just when the
/// other is, because ‖⟨⟨cs2⟩⟩‖∞ ≤ β and a number below γ2 decomposes in one way.
pub(crate) fn respond<P: ParameterSet>(
    room: Room,
    sk: &ExpandedSigningKey<P>,
    attempt: &mut Attempt<P>,
    scratch: &mut Scratch<P>,
) -> Result<P::Sig, Rejection> {
    let Attempt { y, w0, commitment, c_tilde, block, .. } = attempt;
    let Scratch { w, w1, ct0, h } = scratch;
    let (c_tilde, block) = (&*c_tilde, &*block);
    show_challenge(c_tilde.as_ref());
    show_challenge(block); // H(c̃)
    // 16: c ← SampleInBall(c̃)
    let mut c = Poly::ZERO;
    sample_in_ball(room, P::TAU, 1, c_tilde.as_ref(), block, &mut c.0);
    let ball = Ball::new(room, &c);
    let minus_ball = ball.negated();
    for (s2, w0) in sk.s2.as_ref().iter().zip(w0.as_mut()) {
        // 19: ⟨⟨cs2⟩⟩ ← c·s2
        // 21: r0 ← LowBits(w − ⟨⟨cs2⟩⟩)
        // 23, second half: if ‖r0‖∞ ≥ γ2 − β then (z, h) ← ⊥
        if !passes(w0.add_times_ball(room, &minus_ball, s2, P::GAMMA2 - P::BETA)) {
            return Err(Rejection::R0);
        }
    }
    for (s1, y) in sk.s1.as_ref().iter().zip(y.as_mut()) {
        // 18: ⟨⟨cs1⟩⟩ ← c·s1
        // 20: z ← y + ⟨⟨cs1⟩⟩
        // 23, first half: if ‖z‖∞ ≥ γ1 − β then (z, h) ← ⊥
        if !passes(y.add_times_ball(room, &ball, s1, P::GAMMA1 - P::BETA)) {
            return Err(Rejection::Z);
        }
    }
    let (z, r0) = (y, w0);
    // 17: ĉ ← NTT(c)
    let mut c_hat = NttPoly::ZERO;
    c.ntt(room, &mut c_hat);
    let mut ones = 0;
    for (row, ((t0_hat, r0), h)) in sk.t0_hat.as_ref().iter().zip(r0.as_mut()).zip(h.as_mut()).enumerate() {
        // 25: ⟨⟨ct0⟩⟩ ← NTT⁻¹(ĉ ∘ t̂0)
        ct0.product(room, one(&c_hat), one(t0_hat));
        // 28: if ‖⟨⟨ct0⟩⟩‖∞ ≥ γ2 then (z, h) ← ⊥
        if !passes(ct0.norm_below(room, P::GAMMA2)) {
            return Err(Rejection::Ct0);
        }
        // 26: h ← MakeHint(−⟨⟨ct0⟩⟩, w − ⟨⟨cs2⟩⟩ + ⟨⟨ct0⟩⟩)
        w1_decode::<P>(room, &commitment[64..][row_of_w1::<P>(row)], w1);
        recompose::<P>(room, w1, r0); // w − ⟨⟨cs2⟩⟩
        r0.add(room, ct0);
        w.0 = [0; 256];
        w.sub(room, ct0);
        ones += make_hint::<P>(room, w, r0, h);
    }
    // 28: if the number of 1's in h is greater than ω then (z, h) ← ⊥
    if !passes(ones <= P::OMEGA) {
        return Err(Rejection::Hint);
    }
    // 33: σ ← sigEncode(c̃, z mod± q, h): accepted, so z and h are the signature
    Ok(sig_encode::<P>(room, c_tilde, z.as_ref(), h.as_ref()))
}

/// c̃ of the accepted attempt is the signature's first part. Of a refused one it is a hash of a w1 that is never shown; the
/// argument that it says nothing of the key is in SECURITY.md.
pub(crate) fn show_challenge(bytes: &[u8]) {
    declassify_all(bytes);
}

/// Whether an attempt passes a check. Which check refuses may be shown, and at which polynomial: a refused attempt is
/// independent of the next (section 3.2), and what its polynomials would have been is wiped.
pub(crate) fn passes(check: bool) -> bool {
    declassify(check)
}
