//! Algorithm 7 in a small memory. The steps stand in `commit`, `challenge`, `r0_is_short`, `respond` and `hint`, in this order.

use super::memory::{Entry, Memory, Row};
use crate::backend::{Coeffs, Room};
use crate::ct::{Wipe, Wiped};
use crate::error::Error;
use crate::fips204::encode::{SkBytes, accepted, hint_row_pack, pieces, pieces_mut};
use crate::fips204::params::{D, MAX_ATTEMPTS, Params, Set};
use crate::fips204::ring::{Ball, NttPolyHere, Packed, PolyHere, Small};
use crate::fips204::sample::{ball_block, mask_bytes, sample_in_ball};
use crate::fips204::sign::{Rejection, nonce_seed, passes, show_challenge};
use crate::keccak::Shake;

/// What signing works in. Zeros between calls.
pub(crate) struct SignMemory<P: Params, M: Memory> {
    /// Row by row.
    a_hat: P::KL_<M::Entry>,
    /// w, row by row; see the table in `device`.
    pub(crate) w: P::K_<<M::Entry as Entry>::Row>,
    pub(crate) poly: Coeffs,
    pub(crate) rho_pp: [u8; 64],
}

impl<P: Params, M: Memory> SignMemory<P, M> {
    /// Zeros, to be written over.
    pub(crate) const BLANK: Self =
        SignMemory { a_hat: Wipe::ZERO, w: Wipe::ZERO, poly: [0; 256], rho_pp: [0; 64] };

    /// The same for any set.
    pub(crate) fn room_to_work(&mut self) -> Signing<'_, M::Entry> {
        let SignMemory { a_hat, w, poly, rho_pp } = self;
        Signing { a_hat: a_hat.as_mut(), w: w.as_mut(), poly, rho_pp }
    }

    pub(crate) fn wipe(&mut self) {
        self.room_to_work().wipe();
    }
}

/// See [`SignMemory`].
pub(crate) struct Signing<'a, E: Entry> {
    a_hat: &'a mut [E],
    w: &'a mut [E::Row],
    poly: &'a mut Coeffs,
    rho_pp: &'a mut [u8; 64],
}

impl<E: Entry> Signing<'_, E> {
    pub(crate) fn wipe(&mut self) {
        self.a_hat.iter_mut().for_each(E::wipe);
        self.w.iter_mut().for_each(E::Row::wipe);
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
    fn of(p: &Set, sigma: &'a mut [u8]) -> Self {
        let (c_tilde, rest) = sigma.split_at_mut(p.c_tilde_len);
        let (z, h) = rest.split_at_mut(p.z_len() * p.l);
        Sigma { c_tilde, z, h }
    }
}

/// Signs one message; `on_reject` is told of each refused attempt.
/// FIPS 204, Algorithm 7, ML-DSA.Sign_internal.
///
/// Shapes: sigma of as many bytes as the set says: the signature, or zeros where there is none.
/// Time: as the host's (SECURITY.md, "What may leak").
/// Differs from the standard: μ is computed by the caller (step 6); the order of checks is that of the host's `respond`.
/// Errors: `AttemptsExhausted` after the bound of Appendix C.
pub(crate) fn sign_internal<E: Entry>(
    room: Room,
    p: &Set,
    memory: &mut Signing<'_, E>,
    sk: &SkBytes<'_>,
    (mu, rnd): (&[u8; 64], &[u8; 32]),
    sigma: &mut [u8],
    on_reject: &mut dyn FnMut(Rejection),
) -> Result<(), Error> {
    seed(room, p, memory, sk, mu, rnd);
    let mut made = Err(Error::AttemptsExhausted);
    for n in 0..MAX_ATTEMPTS as u16 {
        // 8 and 32: κ of attempt n is n·ℓ. At most 820·7, which fits 16 bits.
        match attempt(room, p, memory, sk, mu, n * p.l as u16, Sigma::of(p, sigma)) {
            Ok(()) => {
                made = Ok(());
                accepted(sigma);
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
fn seed<E: Entry>(
    room: Room,
    p: &Set,
    memory: &mut Signing<'_, E>,
    sk: &SkBytes<'_>,
    mu: &[u8; 64],
    rnd: &[u8; 32],
) {
    // 7: ρ'' ← H(K || rnd || μ, 64)
    nonce_seed(room, sk.k, mu, rnd, memory.rho_pp);
    // 5: Â ← ExpandA(ρ)
    for (r, row) in pieces_mut(memory.a_hat, p.l).enumerate() {
        for (s, entry) in row.iter_mut().enumerate() {
            entry.sample(room, sk.rho, (r, s));
        }
    }
}

/// Steps 11 to 33: the signature, or which check refuses it.
#[inline(never)]
fn attempt<E: Entry>(
    room: Room,
    p: &Set,
    memory: &mut Signing<'_, E>,
    sk: &SkBytes<'_>,
    mu: &[u8; 64],
    kappa: u16,
    sigma: Sigma<'_>,
) -> Result<(), Rejection> {
    commit(room, p, memory, sk.rho, kappa, sigma.z);
    challenge(room, p, memory, mu, sigma.c_tilde);
    let mut c = Ball::EMPTY;
    ball(room, p, memory, sigma.c_tilde, &mut c);
    c.negate();
    if !r0_is_short(room, p, memory, sk, &c) {
        return Err(Rejection::R0);
    }
    c.negate();
    if !respond(room, p, memory, sk, &c, sigma.z) {
        return Err(Rejection::Z);
    }
    hint(room, p, memory, sk, &c, sigma.h)
}

/// Steps 11 and 12, but for the inverse transform: y, as bytes, and ŵ = Â ∘ NTT(y), column by column of Â.
#[inline(never)]
fn commit<E: Entry>(
    room: Room,
    p: &Set,
    memory: &mut Signing<'_, E>,
    rho: &[u8; 32],
    kappa: u16,
    z: &mut [u8],
) {
    let Signing { a_hat, w, poly, rho_pp } = memory;
    w.iter_mut().for_each(E::Row::clear);
    for (s, y) in pieces_mut(z, p.z_len()).enumerate() {
        // 11: y ← ExpandMask(ρ'', κ)
        mask_bytes(room, rho_pp, kappa + s as u16, y);
        room.bit_unpack(p.z_bits, p.gamma1, y, poly);
        // 12: Â ∘ NTT(y)
        let y_hat = PolyHere(poly).ntt(room);
        for (r, (row, w)) in pieces(a_hat, p.l).zip(&mut **w).enumerate() {
            row[s].mul_add(room, rho, (r, s), &y_hat, w);
        }
    }
}

/// Steps 12, the inverse transform, 13 and 15.
#[inline(never)]
fn challenge<E: Entry>(room: Room, p: &Set, memory: &mut Signing<'_, E>, mu: &[u8; 64], c_tilde: &mut [u8]) {
    let poly = &mut *memory.poly;
    let mut ctx = Shake::shake256(room);
    ctx.absorb([mu]);
    for w in &mut *memory.w {
        // 12: w ← NTT⁻¹(ŵ)
        w.load(room, poly);
        let PolyHere(row) = NttPolyHere(poly).inv_ntt(room);
        w.store(room, row);
        // 13: w1 ← HighBits(w)
        room.high_bits(p.gamma2, row);
        // 15: c̃ ← H(μ || w1Encode(w1), λ/4)
        let mut bytes = Wiped([0; 192]);
        let bytes = &mut bytes[..32 * p.w1_bits as usize];
        room.simple_bit_pack(p.w1_bits, row, bytes);
        ctx.absorb([bytes]);
    }
    ctx.squeeze([c_tilde]);
}

/// Step 16.
#[inline(never)]
fn ball<E: Entry>(room: Room, p: &Set, memory: &mut Signing<'_, E>, c_tilde: &[u8], c: &mut Ball) {
    show_challenge(c_tilde);
    // 16: c ← SampleInBall(c̃)
    let mut block = [0; _];
    ball_block(room, c_tilde, &mut block);
    sample_in_ball(room, p.tau, 1, c_tilde, &block, memory.poly);
    c.take(memory.poly);
}

/// Steps 19, 21 and the second half of 23: w becomes w − ⟨⟨cs2⟩⟩. `minus_c` is −c.
#[inline(never)]
fn r0_is_short<E: Entry>(
    room: Room,
    p: &Set,
    memory: &mut Signing<'_, E>,
    sk: &SkBytes<'_>,
    minus_c: &Ball,
) -> bool {
    let poly = &mut *memory.poly;
    let mut s2 = Wiped(Small::ZERO);
    for (bytes, w) in pieces(sk.s2, p.secret_len()).zip(&mut *memory.w) {
        room.bit_unpack(p.eta_bits, p.eta, bytes, poly);
        s2.take(poly, p.eta);
        // 19: ⟨⟨cs2⟩⟩ ← c·s2
        w.load(room, poly);
        room.add_times_ball(minus_c, &s2, p.gamma2, poly);
        w.store(room, poly);
        // 21: r0 ← LowBits(w − ⟨⟨cs2⟩⟩)
        // 23, second half: if ‖r0‖∞ ≥ γ2 − β then (z, h) ← ⊥
        if !passes(room.low_bits_below(p.gamma2, poly, p.gamma2 - p.beta)) {
            return false;
        }
    }
    true
}

/// Steps 18, 20 and the first half of 23: y becomes z, where it stands.
#[inline(never)]
fn respond<E: Entry>(
    room: Room,
    p: &Set,
    memory: &mut Signing<'_, E>,
    sk: &SkBytes<'_>,
    c: &Ball,
    z: &mut [u8],
) -> bool {
    let poly = &mut *memory.poly;
    let mut s1 = Wiped(Small::ZERO);
    for (bytes, z) in pieces(sk.s1, p.secret_len()).zip(pieces_mut(z, p.z_len())) {
        room.bit_unpack(p.eta_bits, p.eta, bytes, poly);
        s1.take(poly, p.eta);
        // 18: ⟨⟨cs1⟩⟩ ← c·s1
        // 20: z ← y + ⟨⟨cs1⟩⟩
        // 23, first half: if ‖z‖∞ ≥ γ1 − β then (z, h) ← ⊥
        room.bit_unpack(p.z_bits, p.gamma1, z, poly);
        if !passes(room.add_times_ball(c, &s1, p.gamma1 - p.beta, poly)) {
            return false;
        }
        // 33, z: below its bound it fits the bits of y
        room.bit_pack(p.z_bits, p.gamma1, poly, z);
    }
    true
}

/// Steps 17, 25, 26, 28, and of 33 the hint: w becomes h.
#[inline(never)]
fn hint<E: Entry>(
    room: Room,
    p: &Set,
    memory: &mut Signing<'_, E>,
    sk: &SkBytes<'_>,
    c: &Ball,
    y: &mut [u8],
) -> Result<(), Rejection> {
    let Signing { w, poly, .. } = memory;
    // 17: ĉ ← NTT(c)
    let mut c_hat = Packed::ZERO;
    c.give(poly);
    c_hat.pack(room, PolyHere(poly).ntt(room).0);
    let mut ones = 0;
    for (bytes, w) in pieces(sk.t0, 32 * D as usize).zip(&mut **w) {
        // 25: ⟨⟨ct0⟩⟩ ← NTT⁻¹(ĉ ∘ t̂0)
        room.bit_unpack(D, 1 << (D - 1), bytes, poly);
        let NttPolyHere(t0_hat) = PolyHere(poly).ntt(room);
        room.mul_packed(&c_hat.0, t0_hat);
        let PolyHere(ct0) = NttPolyHere(t0_hat).inv_ntt(room);
        // 28: if ‖⟨⟨ct0⟩⟩‖∞ ≥ γ2 then (z, h) ← ⊥
        if !passes(room.norm_below(ct0, p.gamma2)) {
            return Err(Rejection::Ct0);
        }
        // 26: h ← MakeHint(−⟨⟨ct0⟩⟩, w − ⟨⟨cs2⟩⟩ + ⟨⟨ct0⟩⟩)
        ones += w.make_hint(room, p.gamma2, ct0) as usize;
        w.store(room, ct0);
    }
    // 28: if the number of 1's in h is greater than ω then (z, h) ← ⊥
    if !passes(ones <= p.omega) {
        return Err(Rejection::Hint);
    }
    // 33: HintBitPack(h): accepted, so h is part of the signature
    y.fill(0);
    let mut index = 0;
    for (r, h) in w.iter().enumerate() {
        h.load(room, poly);
        let places = (0..=u8::MAX).zip(accepted(&**poly)).filter(|(_, h)| **h != 0);
        hint_row_pack(p.omega, r, places.map(|(place, _)| place), &mut index, y);
    }
    Ok(())
}
