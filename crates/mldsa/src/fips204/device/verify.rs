//! Algorithm 8 in a small memory. Everything here is public.

use super::memory::{Memory, mul_add_streamed};
use crate::backend::{Coeffs, Room};
use crate::ct::Wipe;
use crate::error::Error;
use crate::fips204::encode::{hint_ends_in_zeros, hint_row, minus_times_2_pow_d, pk_bytes};
use crate::fips204::params::{Params, Set};
use crate::fips204::ring::{NttPolyHere, Packed, PolyHere};
use crate::fips204::sample::{ball_block, sample_in_ball};
use crate::keccak::Shake;
use crate::kernels::round::MARK;
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

    /// The same for any set and any choice of memory.
    pub(crate) fn room_to_work(&mut self) -> Verification<'_> {
        Verification { sums: self.sums.as_mut(), poly: &mut self.poly }
    }
}

/// See [`VerifyMemory`]. Shapes: `sums` for one row at least.
pub(crate) struct Verification<'a> {
    sums: &'a mut [Packed],
    poly: &'a mut Coeffs,
}

impl Verification<'_> {
    pub(crate) fn wipe(&mut self) {
        self.sums.iter_mut().for_each(Packed::wipe);
        self.poly.wipe();
    }
}

/// c̃, z and h.
/// FIPS 204, Algorithm 27, sigDecode, without unpacking.
fn parts<'a>(p: &Set, sigma: &'a [u8]) -> (&'a [u8], &'a [u8], &'a [u8]) {
    let (c_tilde, rest) = sigma.split_at(p.c_tilde_len);
    let (z, h) = rest.split_at(p.z_len() * p.l);
    (c_tilde, z, h)
}

/// Checks one signature.
/// FIPS 204, Algorithm 8, ML-DSA.Verify_internal.
///
/// Shapes: pk and sigma of as many bytes as the set says; mu is asked for where the signature is well-formed.
/// Differs from the standard: μ is computed by the caller (steps 6 and 7); the hint and the norm of z are checked before
/// anything else is computed (steps 3 and 13); w'approx is computed a few rows at a time, and each is hashed at once.
/// Errors: `BadSignature`, whatever is wrong.
#[inline(never)]
pub(crate) fn verify_internal(
    room: Room,
    p: &Set,
    memory: &mut Verification<'_>,
    pk: &[u8],
    mu: impl FnOnce() -> Mu,
    sigma: &[u8],
) -> Result<(), Error> {
    let good = is_well_formed(room, p, memory, sigma) && {
        place_mu(memory, mu);
        c_tilde_agrees(room, p, memory, pk, sigma)
    };
    memory.wipe();
    if good { Ok(()) } else { Err(Error::BadSignature) }
}

/// Step 3, and the first half of step 13.
#[inline(never)]
fn is_well_formed(room: Room, p: &Set, memory: &mut Verification<'_>, sigma: &[u8]) -> bool {
    // 2: (c̃, z, h) ← sigDecode(σ)
    let (_, z, h) = parts(p, sigma);
    // 3: if h = ⊥ then return false
    let hint_is_good = (0..p.k).all(|r| hint_row(p.omega, h, r).is_some()) && hint_ends_in_zeros(p.omega, h);
    // 13, first half: ‖z‖∞ < γ1 − β
    hint_is_good
        && z.chunks_exact(p.z_len()).all(|z| {
            room.bit_unpack(p.z_bits, p.gamma1, z, memory.poly);
            room.norm_below(memory.poly, p.gamma1 - p.beta)
        })
}

/// Steps 5 to 12, and the second half of step 13. Shapes: μ lies at the beginning of the sums.
#[inline(never)]
fn c_tilde_agrees(room: Room, p: &Set, memory: &mut Verification<'_>, pk: &[u8], sigma: &[u8]) -> bool {
    let width = memory.sums.len();
    let mut ctx = Shake::shake256(room);
    ctx.absorb([&memory.sums[0].0[..MU_LEN]]);
    for first in (0..p.k).step_by(width) {
        // 9: ŵ'approx ← Â ∘ NTT(z) − NTT(c) ∘ NTT(t1·2^d)
        for r in first..p.k.min(first + width) {
            minus_ct1(room, p, memory, parts(p, sigma).0, pk, (r, r - first));
        }
        for s in 0..p.l {
            products(room, p, memory, pk, sigma, (first, s));
        }
        // 10, and 12 row by row
        for r in first..p.k.min(first + width) {
            w1_prime(room, p, memory, parts(p, sigma).2, (r, r - first), &mut ctx);
        }
    }
    // 12: c̃' ← H(μ || w1Encode(w1'), λ/4)
    let c_tilde_prime = &mut memory.sums[0].0[..p.c_tilde_len];
    ctx.squeeze([c_tilde_prime]);
    // 13, second half: c̃ = c̃'
    c_tilde_prime == parts(p, sigma).0
}

/// μ to where the sums will be: nothing of it stays on the stack.
#[inline(never)]
fn place_mu(memory: &mut Verification<'_>, mu: impl FnOnce() -> Mu) {
    memory.sums[0].0[..MU_LEN].copy_from_slice(&mu().0);
}

/// Adds to the sums, whose rows begin with `first`, what column s of Â has: Â[r, s] ∘ NTT(z[s]).
fn products(
    room: Room,
    p: &Set,
    memory: &mut Verification<'_>,
    pk: &[u8],
    sigma: &[u8],
    (first, s): (usize, usize),
) {
    let z = &parts(p, sigma).1[p.z_len() * s..p.z_len() * (s + 1)];
    room.bit_unpack(p.z_bits, p.gamma1, z, memory.poly);
    let z_hat = PolyHere(memory.poly).ntt(room);
    for (r, sum) in (first..p.k).zip(&mut *memory.sums) {
        mul_add_streamed::<PIECE>(room, pk_bytes(pk).0, (r, s), &z_hat, sum);
    }
}

/// sum `at` ← −NTT(c) ∘ NTT(t1·2^d), for row r. c is sampled for each row anew, which costs one permutation.
#[inline(never)]
fn minus_ct1(
    room: Room,
    p: &Set,
    memory: &mut Verification<'_>,
    c_tilde: &[u8],
    pk: &[u8],
    (r, at): (usize, usize),
) {
    let Verification { sums, poly } = memory;
    let sum = &mut sums[at];
    // 8: c ← SampleInBall(c̃), while the sum has room for H(c̃)
    if let Some(block) = sum.0.first_chunk_mut() {
        ball_block(room, c_tilde, block);
        sample_in_ball(room, p.tau, c_tilde, block, poly);
    }
    sum.pack(room, PolyHere(poly).ntt(room).0);
    room.simple_bit_unpack(10, &pk_bytes(pk).1[320 * r..320 * (r + 1)], poly);
    minus_times_2_pow_d(poly);
    let NttPolyHere(t1_hat) = PolyHere(poly).ntt(room);
    room.mul_packed(&sum.0, t1_hat);
    sum.pack(room, t1_hat);
}

/// Step 10, and step 12 as far as row r goes: that of w'approx whose transform is sum `at`.
#[inline(never)]
fn w1_prime(
    room: Room,
    p: &Set,
    memory: &mut Verification<'_>,
    h: &[u8],
    (r, at): (usize, usize),
    ctx: &mut Shake,
) {
    // 9: w'approx ← NTT⁻¹(ŵ'approx)
    memory.sums[at].unpack(room, memory.poly);
    let PolyHere(w) = NttPolyHere(memory.poly).inv_ntt(room);
    // 10: w1' ← UseHint(h, w'approx)
    for place in hint_row(p.omega, h, r).unwrap_or_default() {
        // was found well-formed
        w[usize::from(*place)] |= MARK;
    }
    room.use_marked_hint(p.gamma2, w);
    let mut bytes = [0; 192];
    let bytes = &mut bytes[..32 * p.w1_bits as usize];
    room.simple_bit_pack(p.w1_bits, w, bytes);
    ctx.absorb([bytes]);
}
