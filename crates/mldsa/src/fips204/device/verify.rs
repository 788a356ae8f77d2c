//! Algorithm 8 in a small memory. Everything here is public.

use super::memory::{Memory, mul_add_streamed};
use crate::backend::{Coeffs, Room};
use crate::ct::Wipe;
use crate::error::Error;
use crate::fips204::encode::{hint_is_well_formed, hint_row, pieces, pk_bytes, t1_decode};
use crate::fips204::params::{Params, Set};
use crate::fips204::ring::{NttPolyHere, Packed, PolyHere};
use crate::fips204::round::use_hint;
use crate::fips204::sample::{MINUS_2_POW_D, ball_block, sample_in_ball};
use crate::keccak::Shake;
use crate::message::{MU_LEN, Mu};

/// Bytes of an entry of Â that are on the stack: as few as may be, beside the hash of w1'.
const PIECE: usize = 24;

/// What verification works in. Zeros between calls.
pub(crate) struct VerifyMemory<P: Params, M: Memory> {
    /// Rows of ŵ'approx.
    pub(crate) sums: M::Rows<P>,
    pub(crate) poly: Coeffs,
}

impl<P: Params, M: Memory> VerifyMemory<P, M> {
    /// Zeros, to be written over.
    pub(crate) const BLANK: Self = VerifyMemory { sums: <M::Rows<P> as Wipe>::ZERO, poly: [0; 256] };

    /// The same for any set and any choice of memory, with what is checked. Shapes: pk and sigma of as many bytes as the set says.
    /// FIPS 204, Algorithm 27, sigDecode, without unpacking.
    pub(crate) fn of<'a>(&'a mut self, pk: &'a [u8], sigma: &'a [u8]) -> Verification<'a> {
        let p = Set::of::<P>();
        let (c_tilde, rest) = sigma.split_at(p.c_tilde_len);
        let (z, h) = rest.split_at(p.z_len() * p.l);
        Verification { p, pk, c_tilde, z, h, sums: self.sums.as_mut(), poly: &mut self.poly }
    }

    pub(crate) fn wipe(&mut self) {
        self.sums.as_mut().iter_mut().for_each(Packed::wipe);
        self.poly.wipe();
    }
}

/// See [`VerifyMemory`]. One place for everything: what a step needs again lies here, and not on its stack.
/// Shapes: `sums` for one row at least.
pub(crate) struct Verification<'a> {
    p: &'static Set,
    pk: &'a [u8],
    c_tilde: &'a [u8],
    z: &'a [u8],
    h: &'a [u8],
    sums: &'a mut [Packed],
    poly: &'a mut Coeffs,
}

/// Checks one signature.
/// FIPS 204, Algorithm 8, ML-DSA.Verify_internal.
///
/// `mu` is asked for where the signature is well-formed.
/// Differs from the standard: μ is computed by the caller (steps 6 and 7); the hint and the norm of z are checked before
/// anything else is computed (steps 3 and 13); w'approx is computed a few rows at a time, and each is hashed at once.
/// Errors: `BadSignature`, whatever is wrong.
#[inline(never)]
pub(crate) fn verify_internal(
    room: Room,
    memory: &mut Verification<'_>,
    mu: impl FnOnce() -> Mu,
) -> Result<(), Error> {
    let good = is_well_formed(room, memory) && {
        place_mu(memory, mu);
        c_tilde_agrees(room, memory)
    };
    memory.sums.iter_mut().for_each(Packed::wipe);
    memory.poly.wipe();
    if good { Ok(()) } else { Err(Error::BadSignature) }
}

/// Step 3, and the first half of step 13.
#[inline(never)]
fn is_well_formed(room: Room, memory: &mut Verification<'_>) -> bool {
    let Verification { p, z, h, poly, .. } = memory;
    // 3: if h = ⊥ then return false
    // 13, first half: ‖z‖∞ < γ1 − β
    hint_is_well_formed(p.omega, p.k, h)
        && pieces(z, p.z_len()).all(|z| {
            room.bit_unpack(p.z_bits, p.gamma1, z, poly);
            room.norm_below(poly, p.gamma1 - p.beta)
        })
}

/// Steps 5 to 12, and the second half of step 13. Shapes: μ lies at the beginning of the sums.
#[inline(never)]
fn c_tilde_agrees(room: Room, memory: &mut Verification<'_>) -> bool {
    let mut ctx = Shake::shake256(room);
    ctx.absorb([&memory.sums[0].0[..MU_LEN]]);
    let mut first = 0;
    while first < memory.p.k {
        // 9: ŵ'approx ← Â ∘ NTT(z) − NTT(c) ∘ NTT(t1·2^d)
        for r in first..memory.p.k.min(first + memory.sums.len()) {
            minus_ct1(room, memory, (r, r - first));
        }
        for s in 0..memory.p.l {
            products(room, memory, (first, s));
        }
        // 10, and 12 row by row
        for r in first..memory.p.k.min(first + memory.sums.len()) {
            w1_prime(room, memory, (r, r - first), &mut ctx);
        }
        first += memory.sums.len();
    }
    // 12: c̃' ← H(μ || w1Encode(w1'), λ/4)
    let c_tilde_prime = &mut memory.sums[0].0[..memory.p.c_tilde_len];
    ctx.squeeze([c_tilde_prime]);
    // 13, second half: c̃ = c̃'
    c_tilde_prime == memory.c_tilde
}

/// μ to where the sums will be: nothing of it stays on the stack.
#[inline(never)]
fn place_mu(memory: &mut Verification<'_>, mu: impl FnOnce() -> Mu) {
    memory.sums[0].0[..MU_LEN].copy_from_slice(&mu().0);
}

/// Adds to the sums, whose rows begin with `first`, what column s of Â has: Â[r, s] ∘ NTT(z[s]).
#[inline(never)]
fn products(room: Room, memory: &mut Verification<'_>, (first, s): (usize, usize)) {
    let Verification { p, pk, z, sums, poly, .. } = memory;
    room.bit_unpack(p.z_bits, p.gamma1, &z[p.z_len() * s..p.z_len() * (s + 1)], poly);
    let z_hat = PolyHere(poly).ntt(room);
    for (r, sum) in (first..p.k).zip(&mut **sums) {
        mul_add_streamed::<PIECE>(room, pk_bytes(pk).0, (r, s), &z_hat, sum);
    }
}

/// sum `at` ← −NTT(c) ∘ NTT(t1·2^d), for row r. c is sampled for each row anew, which costs one permutation.
#[inline(never)]
fn minus_ct1(room: Room, memory: &mut Verification<'_>, (r, at): (usize, usize)) {
    let Verification { p, pk, c_tilde, sums, poly, .. } = memory;
    let sum = &mut sums[at];
    // 8: c ← SampleInBall(c̃), times −2^d, while the sum has room for H(c̃)
    if let Some(block) = sum.0.first_chunk_mut() {
        ball_block(room, c_tilde, block);
        sample_in_ball(room, p.tau, MINUS_2_POW_D, c_tilde, block, poly);
    }
    sum.pack(room, PolyHere(poly).ntt(room).0);
    t1_decode(room, &pk_bytes(pk).1[320 * r..320 * (r + 1)], poly);
    let NttPolyHere(t1_hat) = PolyHere(poly).ntt(room);
    room.mul_packed(&sum.0, t1_hat);
    sum.pack(room, t1_hat);
}

/// Step 10, and step 12 as far as row r goes: that of w'approx whose transform is sum `at`.
#[inline(never)]
fn w1_prime(room: Room, memory: &mut Verification<'_>, (r, at): (usize, usize), ctx: &mut Shake) {
    let Verification { p, h, sums, poly, .. } = memory;
    // 9: w'approx ← NTT⁻¹(ŵ'approx)
    sums[at].unpack(room, poly);
    let PolyHere(w) = NttPolyHere(poly).inv_ntt(room);
    // 10: w1' ← UseHint(h, w'approx)
    use_hint(room, p.gamma2, hint_row(p.omega, h, r).unwrap_or_default(), w); // was found well-formed
    let mut bytes = [0; 192];
    let bytes = &mut bytes[..32 * p.w1_bits as usize];
    room.simple_bit_pack(p.w1_bits, w, bytes);
    ctx.absorb([bytes]);
}
