//! Algorithm 7 in a small memory. The steps stand in `commit`, `challenge`, `r0_is_short`, `respond` and `hint`, in this order.

use super::memory::{Matrix, Memory, Row};
use crate::backend::{Coeffs, Room};
use crate::ct::{Wipe, Wiped, declassify_all};
use crate::error::Error;
use crate::fips204::encode::{SkBytes, hint_row_pack, secret_len, z_len};
use crate::fips204::params::{D, MAX_ATTEMPTS, Params};
use crate::fips204::ring::{Ball, NttPolyHere, Packed, PolyHere, Small};
use crate::fips204::sample::{ball_block, mask_bytes, sample_in_ball};
use crate::fips204::sign::{Rejection, nonce_seed, passes};
use crate::keccak::Shake;

/// What signing works in. Zeros between calls.
pub(crate) struct SignMemory<P: Params, M: Memory> {
    a_hat: M::Matrix<P>,
    /// w, row by row; see the table in `device`.
    pub(crate) w: P::K_<<M::Matrix<P> as Matrix<P>>::Row>,
    pub(crate) poly: Coeffs,
    pub(crate) rho_pp: [u8; 64],
}

impl<P: Params, M: Memory> SignMemory<P, M> {
    /// Zeros, to be written over.
    pub(crate) const BLANK: Self =
        SignMemory { a_hat: Wipe::ZERO, w: Wipe::ZERO, poly: [0; 256], rho_pp: [0; 64] };

    pub(crate) fn wipe(&mut self) {
        self.a_hat.wipe();
        self.w.wipe();
        self.poly.wipe();
        self.rho_pp.wipe();
    }
}

/// A signature in the making: c̃, then z, where y stands before it, then h.
struct Sigma<'a> {
    c_tilde: &'a mut [u8],
    z: &'a mut [u8],
    h: &'a mut [u8],
}

impl<'a> Sigma<'a> {
    fn of<P: Params>(sigma: &'a mut [u8]) -> Self {
        let (c_tilde, rest) = sigma.split_at_mut(P::C_TILDE_LEN);
        let (z, h) = rest.split_at_mut(z_len::<P>() * P::L);
        Sigma { c_tilde, z, h }
    }
}

/// Signs one message; `on_reject` is told of each refused attempt.
/// FIPS 204, Algorithm 7, ML-DSA.Sign_internal.
///
/// Shapes: sigma of `SIG_LEN` bytes: the signature, or zeros where there is none.
/// Time: as the host's (SECURITY.md, "What may leak").
/// Differs from the standard: μ is computed by the caller (step 6); the order of checks is that of the host's `respond`.
/// Errors: `AttemptsExhausted` after the bound of Appendix C.
pub(crate) fn sign_internal<P: Params, M: Memory>(
    room: Room,
    memory: &mut SignMemory<P, M>,
    sk: &SkBytes<'_>,
    mu: &[u8; 64],
    rnd: &[u8; 32],
    sigma: &mut [u8],
    on_reject: &mut dyn FnMut(Rejection),
) -> Result<(), Error> {
    seed(room, memory, sk, mu, rnd);
    let mut made = Err(Error::AttemptsExhausted);
    for n in 0..MAX_ATTEMPTS as u16 {
        // 8 and 32: κ of attempt n is n·ℓ. At most 820·7, which fits 16 bits.
        match attempt(room, memory, sk, mu, n * P::L as u16, Sigma::of::<P>(sigma)) {
            Ok(()) => {
                made = Ok(());
                declassify_all(sigma); // accepted: z is the signature's
                break;
            }
            Err(why) => on_reject(why),
        }
    }
    memory.wipe();
    if made.is_err() {
        sigma.fill(0); // z of the last attempt
    }
    made
}

/// Step 7, and step 5 where Â is kept.
#[inline(never)]
fn seed<P: Params, M: Memory>(
    room: Room,
    memory: &mut SignMemory<P, M>,
    sk: &SkBytes<'_>,
    mu: &[u8; 64],
    rnd: &[u8; 32],
) {
    // 7: ρ'' ← H(K || rnd || μ, 64)
    nonce_seed(room, sk.k, mu, rnd, &mut memory.rho_pp);
    // 5: Â ← ExpandA(ρ)
    memory.a_hat.expand(room, sk.rho);
}

/// Steps 11 to 33: the signature, or which check refuses it.
#[inline(never)]
fn attempt<P: Params, M: Memory>(
    room: Room,
    memory: &mut SignMemory<P, M>,
    sk: &SkBytes<'_>,
    mu: &[u8; 64],
    kappa: u16,
    sigma: Sigma<'_>,
) -> Result<(), Rejection> {
    commit(room, memory, sk.rho, kappa, sigma.z);
    challenge(room, memory, mu, sigma.c_tilde);
    let mut c = Ball::EMPTY;
    ball(room, memory, sigma.c_tilde, &mut c);
    c.negate();
    if !r0_is_short(room, memory, sk, &c) {
        return Err(Rejection::R0);
    }
    c.negate();
    if !respond(room, memory, sk, &c, sigma.z) {
        return Err(Rejection::Z);
    }
    hint(room, memory, sk, &c, sigma.h)
}

/// Steps 11 and 12, but for the inverse transform: y, as bytes, and ŵ = Â ∘ NTT(y), column by column of Â.
#[inline(never)]
fn commit<P: Params, M: Memory>(
    room: Room,
    memory: &mut SignMemory<P, M>,
    rho: &[u8; 32],
    kappa: u16,
    z: &mut [u8],
) {
    let SignMemory { a_hat, w, poly, rho_pp } = memory;
    w.wipe();
    for (s, y) in z.chunks_exact_mut(z_len::<P>()).enumerate() {
        // 11: y ← ExpandMask(ρ'', κ)
        mask_bytes(room, rho_pp, kappa + s as u16, y);
        room.bit_unpack(P::Z_BITS, P::GAMMA1, y, poly);
        // 12: Â ∘ NTT(y)
        let y_hat = PolyHere(poly).ntt(room);
        for (r, w) in w.as_mut().iter_mut().enumerate() {
            a_hat.mul_add(room, rho, (r, s), &y_hat, w);
        }
    }
}

/// Steps 12, the inverse transform, 13 and 15.
#[inline(never)]
fn challenge<P: Params, M: Memory>(
    room: Room,
    memory: &mut SignMemory<P, M>,
    mu: &[u8; 64],
    c_tilde: &mut [u8],
) {
    let poly = &mut memory.poly;
    let mut ctx = Shake::shake256(room);
    ctx.absorb([mu]);
    for w in memory.w.as_mut() {
        // 12: w ← NTT⁻¹(ŵ)
        w.load(room, poly);
        let PolyHere(row) = NttPolyHere(poly).inv_ntt(room);
        w.store(room, row);
        // 13: w1 ← HighBits(w)
        room.high_bits(P::GAMMA2, row);
        // 15: c̃ ← H(μ || w1Encode(w1), λ/4)
        let mut bytes = Wiped([0; 192]);
        let bytes = &mut bytes[..32 * P::W1_BITS as usize];
        room.simple_bit_pack(P::W1_BITS, row, bytes);
        ctx.absorb([bytes]);
    }
    ctx.squeeze([c_tilde]);
}

/// Step 16.
#[inline(never)]
fn ball<P: Params, M: Memory>(room: Room, memory: &mut SignMemory<P, M>, c_tilde: &[u8], c: &mut Ball) {
    // c̃ of the accepted attempt is the signature's first part. Of a refused one it is a hash of a w1 that is never
    // shown; the argument that it says nothing of the key is in SECURITY.md.
    declassify_all(c_tilde);
    // 16: c ← SampleInBall(c̃)
    let mut block = [0; _];
    ball_block(room, c_tilde, &mut block);
    sample_in_ball::<P>(room, c_tilde, &block, &mut memory.poly);
    c.take(&memory.poly);
}

/// Steps 19, 21 and the second half of 23: w becomes w − ⟨⟨cs2⟩⟩. `minus_c` is −c.
#[inline(never)]
fn r0_is_short<P: Params, M: Memory>(
    room: Room,
    memory: &mut SignMemory<P, M>,
    sk: &SkBytes<'_>,
    minus_c: &Ball,
) -> bool {
    let poly = &mut memory.poly;
    let mut s2 = Wiped(Small::ZERO);
    for (bytes, w) in sk.s2.chunks_exact(secret_len::<P>()).zip(memory.w.as_mut()) {
        room.bit_unpack(P::ETA_BITS, P::ETA, bytes, poly);
        s2.take(poly, P::ETA);
        // 19: ⟨⟨cs2⟩⟩ ← c·s2
        w.load(room, poly);
        room.add_times_ball(minus_c, &s2, P::GAMMA2, poly);
        w.store(room, poly);
        // 21: r0 ← LowBits(w − ⟨⟨cs2⟩⟩)
        // 23, second half: if ‖r0‖∞ ≥ γ2 − β then (z, h) ← ⊥
        if !passes(room.low_bits_below(P::GAMMA2, poly, P::GAMMA2 - P::BETA)) {
            return false;
        }
    }
    true
}

/// Steps 18, 20 and the first half of 23: y becomes z, where it stands.
#[inline(never)]
fn respond<P: Params, M: Memory>(
    room: Room,
    memory: &mut SignMemory<P, M>,
    sk: &SkBytes<'_>,
    c: &Ball,
    z: &mut [u8],
) -> bool {
    let poly = &mut memory.poly;
    let mut s1 = Wiped(Small::ZERO);
    for (bytes, z) in sk.s1.chunks_exact(secret_len::<P>()).zip(z.chunks_exact_mut(z_len::<P>())) {
        room.bit_unpack(P::ETA_BITS, P::ETA, bytes, poly);
        s1.take(poly, P::ETA);
        // 18: ⟨⟨cs1⟩⟩ ← c·s1
        // 20: z ← y + ⟨⟨cs1⟩⟩
        // 23, first half: if ‖z‖∞ ≥ γ1 − β then (z, h) ← ⊥
        room.bit_unpack(P::Z_BITS, P::GAMMA1, z, poly);
        if !passes(room.add_times_ball(c, &s1, P::GAMMA1 - P::BETA, poly)) {
            return false;
        }
        // 33, z: below its bound it fits the bits of y
        room.bit_pack(P::Z_BITS, P::GAMMA1, poly, z);
    }
    true
}

/// Steps 17, 25, 26, 28, and of 33 the hint: w becomes h.
#[inline(never)]
fn hint<P: Params, M: Memory>(
    room: Room,
    memory: &mut SignMemory<P, M>,
    sk: &SkBytes<'_>,
    c: &Ball,
    y: &mut [u8],
) -> Result<(), Rejection> {
    let SignMemory { w, poly, .. } = memory;
    // 17: ĉ ← NTT(c)
    let mut c_hat = Packed::ZERO;
    c.give(poly);
    c_hat.pack(room, PolyHere(poly).ntt(room).0);
    let mut ones = 0;
    for (bytes, w) in sk.t0.chunks_exact(32 * D as usize).zip(w.as_mut()) {
        // 25: ⟨⟨ct0⟩⟩ ← NTT⁻¹(ĉ ∘ t̂0)
        room.bit_unpack(D, 1 << (D - 1), bytes, poly);
        let NttPolyHere(t0_hat) = PolyHere(poly).ntt(room);
        room.mul_packed(&c_hat.0, t0_hat);
        let PolyHere(ct0) = NttPolyHere(t0_hat).inv_ntt(room);
        // 28: if ‖⟨⟨ct0⟩⟩‖∞ ≥ γ2 then (z, h) ← ⊥
        if !passes(room.norm_below(ct0, P::GAMMA2)) {
            return Err(Rejection::Ct0);
        }
        // 26: h ← MakeHint(−⟨⟨ct0⟩⟩, w − ⟨⟨cs2⟩⟩ + ⟨⟨ct0⟩⟩)
        ones += w.make_hint(room, P::GAMMA2, ct0) as usize;
        w.store(room, ct0);
    }
    // 28: if the number of 1's in h is greater than ω then (z, h) ← ⊥
    if !passes(ones <= P::OMEGA) {
        return Err(Rejection::Hint);
    }
    // 33: HintBitPack(h): accepted, so h is part of the signature
    y.fill(0);
    let mut index = 0;
    for (r, h) in w.as_ref().iter().enumerate() {
        h.load(room, poly);
        let places = (0..=u8::MAX).zip(declassify_all(&*poly)).filter(|(_, h)| **h != 0);
        hint_row_pack(P::OMEGA, r, places.map(|(place, _)| place), &mut index, y);
    }
    Ok(())
}
