//! Algorithms 2, 4 and 7: signing. Put the standard beside `sign_internal` and follow with a finger.

use super::encode::{sig_encode, w1_encode};
use super::params::{Array, MAX_ATTEMPTS};
use super::ring::{NttPoly, Poly};
use super::round::{high_bits, low_bits, make_hint};
use super::sample::{expand_mask, sample_in_ball};
use crate::api::{ExpandedSigningKey, ParameterSet};
use crate::backend::Room;
use crate::ct::{Wiped, declassify, declassify_all};
use crate::error::Error;
use crate::keccak::Shake;

/// Which check refused an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(unreachable_pub, reason = "public under the feature hazmat")]
pub enum Rejection {
    /// Step 23: ‖z‖∞ >= γ1 - β.
    Z,
    /// Step 23: ‖r0‖∞ >= γ2 - β.
    R0,
    /// Step 28: ‖ct0‖∞ >= γ2.
    Ct0,
    /// Step 28: more than ω ones in h.
    Hint,
}

/// Finds a signature for the message representative μ. Algorithms 2 and 4 make μ from a message or its digest
/// (`message.rs`), draw rnd, and call this.
/// FIPS 204, Algorithm 2, ML-DSA.Sign.
/// FIPS 204, Algorithm 4, HashML-DSA.Sign.
/// FIPS 204, Algorithm 7, ML-DSA.Sign_internal.
///
/// Shapes: mu 64 bytes; rnd 32 bytes, zeros for the deterministic variant; `on_reject` is told of each refused attempt.
/// Bounds: out ‖z‖∞ < γ1 - β, at most ω ones in h.
/// Time: independent of the key and of y; shows the number of refused attempts, which check refused, and c̃
/// (SECURITY.md, "What may leak").
/// Differs from the standard: μ is computed by the caller (step 6); ŝ1, ŝ2, t̂0 and Â come with the key (steps 1 to 5).
/// Errors: `AttemptsExhausted` after the bound of Appendix C.
pub(crate) fn sign_internal<P: ParameterSet>(
    room: Room,
    sk: &ExpandedSigningKey<P>,
    mu: &[u8; 64],
    rnd: &[u8; 32],
    mut on_reject: impl FnMut(Rejection),
) -> Result<P::Sig, Error> {
    let (a_hat, s1_hat, s2_hat, t0_hat) =
        (sk.a_hat.as_ref(), sk.s1_hat.as_ref(), sk.s2_hat.as_ref(), sk.t0_hat.as_ref());
    // 7: ρ'' ← H(K || rnd || μ, 64)
    let rho_pp = Wiped(Shake::h::<64>(room, &[&*sk.k, rnd, mu]));
    let mut y = Wiped(P::L_::from_fn(|_| Poly::ZERO));
    // 8, 10 and 32: κ ← 0; κ ← κ + ℓ for each further attempt. At most 821·7, which fits 16 bits.
    for kappa in (0..MAX_ATTEMPTS as u16).map(|attempt| attempt * P::L as u16) {
        // 11: y ← ExpandMask(ρ'', κ)
        expand_mask::<P>(room, &rho_pp, kappa, &mut y);
        // 12: w ← NTT⁻¹(Â ∘ NTT(y))
        let y_hat = Wiped(P::L_::from_fn(|i| y.as_ref()[i].ntt(room)));
        let w =
            Wiped(P::K_::from_fn(|i| NttPoly::dot(room, a_hat[i].as_ref(), y_hat.as_ref()).inv_ntt(room)));
        // 13: w1 ← HighBits(w)
        // 15: c̃ ← H(μ || w1Encode(w1), λ/4)
        let mut ctx = Shake::shake256(room);
        ctx.absorb([mu]);
        for w in w.as_ref() {
            let (w1, len) = w1_encode::<P>(room, &high_bits::<P>(room, w));
            ctx.absorb([&w1[..len]]);
        }
        let mut c_tilde = P::CTilde::from_fn(|_| 0);
        ctx.squeeze([c_tilde.as_mut()]);
        // c̃ of the accepted attempt is the signature's first part. Of a refused one it is a hash of a w1 that is never
        // shown; the argument that it says nothing of the key is in SECURITY.md.
        let c_tilde = declassify(c_tilde);
        // 16: c ← SampleInBall(c̃)
        // 17: ĉ ← NTT(c)
        let c_hat = sample_in_ball::<P>(room, c_tilde.as_ref()).ntt(room);
        // 18: ⟨⟨cs1⟩⟩ ← NTT⁻¹(ĉ ∘ ŝ1)
        // 20: z ← y + ⟨⟨cs1⟩⟩
        let z = Wiped(P::L_::from_fn(|i| {
            let cs1 = Wiped(c_hat.mul(room, &s1_hat[i]).inv_ntt(room));
            y.as_ref()[i].add(room, &cs1)
        }));
        // 23: if ‖z‖∞ ≥ γ1 − β then (z, h) ← ⊥
        if !passes(all_below(room, z.as_ref(), P::GAMMA1 - P::BETA)) {
            on_reject(Rejection::Z);
            continue;
        }
        // 19: ⟨⟨cs2⟩⟩ ← NTT⁻¹(ĉ ∘ ŝ2), and w − ⟨⟨cs2⟩⟩, which steps 21 and 26 both take
        let r = Wiped(P::K_::from_fn(|i| {
            let cs2 = Wiped(c_hat.mul(room, &s2_hat[i]).inv_ntt(room));
            w.as_ref()[i].sub(room, &cs2)
        }));
        // 21: r0 ← LowBits(w − ⟨⟨cs2⟩⟩)
        let r0 = Wiped(P::K_::from_fn(|i| low_bits::<P>(room, &r.as_ref()[i])));
        // 23: if ‖r0‖∞ ≥ γ2 − β then (z, h) ← ⊥
        if !passes(all_below(room, r0.as_ref(), P::GAMMA2 - P::BETA)) {
            on_reject(Rejection::R0);
            continue;
        }
        // 25: ⟨⟨ct0⟩⟩ ← NTT⁻¹(ĉ ∘ t̂0)
        let ct0 = Wiped(P::K_::from_fn(|i| c_hat.mul(room, &t0_hat[i]).inv_ntt(room)));
        // 28: if ‖⟨⟨ct0⟩⟩‖∞ ≥ γ2 then (z, h) ← ⊥
        if !passes(all_below(room, ct0.as_ref(), P::GAMMA2)) {
            on_reject(Rejection::Ct0);
            continue;
        }
        // 26: h ← MakeHint(−⟨⟨ct0⟩⟩, w − ⟨⟨cs2⟩⟩ + ⟨⟨ct0⟩⟩)
        let mut ones = 0;
        let h = Wiped(P::K_::from_fn(|i| {
            let ct0 = &ct0.as_ref()[i];
            let (h, ones_here) = make_hint::<P>(room, &ct0.neg(room), &r.as_ref()[i].add(room, ct0));
            ones += ones_here;
            h
        }));
        // 28: if the number of 1's in h is greater than ω then (z, h) ← ⊥
        if !passes(ones <= P::OMEGA) {
            on_reject(Rejection::Hint);
            continue;
        }
        // 33: σ ← sigEncode(c̃, z mod± q, h): accepted, so z and h are the signature
        return Ok(sig_encode::<P>(room, &c_tilde, declassify_all(z.as_ref()), declassify_all(h.as_ref())));
    }
    Err(Error::AttemptsExhausted)
}

/// Whether an attempt passes a check. Which check refuses may be shown: refused attempts are independent of each other
/// and of the next (section 3.2).
fn passes(check: bool) -> bool {
    declassify(check)
}

/// Whether every polynomial is below the bound; looks at all of them, whatever it finds.
fn all_below(room: Room, polys: &[Poly], bound: i32) -> bool {
    polys.iter().fold(true, |below, poly| poly.norm_below(room, bound) & below)
}
