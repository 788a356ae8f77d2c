//! Algorithm 6 in a small memory.

use super::memory::{Memory, Row, mul_add_streamed};
use crate::backend::{Coeffs, Room};
use crate::ct::{Wipe, Wiped};
use crate::fips204::encode::{SkBytesMut, pieces, pk_encode, t1_encode};
use crate::fips204::keygen::expand_seed;
use crate::fips204::params::{D, Params, Set};
use crate::fips204::ring::{NttPolyHere, Packed, PolyHere};
use crate::fips204::sample::{G_BLOCK, rej_bounded_poly};
use crate::keccak::Shake;

/// What key generation works in. Zeros between calls.
pub(crate) struct KeygenMemory<P: Params, M: Memory> {
    /// Rows of Â·s1.
    pub(crate) sums: M::Rows<P>,
    pub(crate) poly: Coeffs,
    pub(crate) rho_prime: [u8; 64],
}

impl<P: Params, M: Memory> KeygenMemory<P, M> {
    /// Zeros, to be written over.
    pub(crate) const BLANK: Self =
        KeygenMemory { sums: <M::Rows<P> as Wipe>::ZERO, poly: [0; 256], rho_prime: [0; 64] };

    /// The same for any set and any choice of memory.
    pub(crate) fn room_to_work(&mut self) -> Keygen<'_> {
        Keygen { sums: self.sums.as_mut(), poly: &mut self.poly, rho_prime: &mut self.rho_prime }
    }

    pub(crate) fn wipe(&mut self) {
        self.room_to_work().wipe();
    }
}

/// See [`KeygenMemory`]. Shapes: `sums` for one row at least.
pub(crate) struct Keygen<'a> {
    sums: &'a mut [Packed],
    poly: &'a mut Coeffs,
    rho_prime: &'a mut [u8; 64],
}

impl Keygen<'_> {
    pub(crate) fn wipe(&mut self) {
        self.sums.iter_mut().for_each(Packed::wipe);
        self.poly.wipe();
        self.rho_prime.wipe();
    }
}

/// The encoded keys of the seed ξ.
/// FIPS 204, Algorithm 6, ML-DSA.KeyGen_internal.
///
/// Shapes: pk and sk of as many bytes as the set's keys have.
/// Time: independent of ξ, but for the rejections in ExpandA (public) and ExpandS (which say nothing of what is taken).
/// Differs from the standard: s1 and s2 are packed as soon as they are sampled, and unpacked where they are needed; each
/// entry of Â is used once, and never stored.
pub(crate) fn keygen_internal(
    room: Room,
    p: &Set,
    memory: &mut Keygen<'_>,
    xi: &[u8; 32],
    pk: &mut [u8],
    sk: &mut [u8],
) {
    let mut sk = SkBytesMut::of(p, sk);
    // 1: (ρ, ρ', K) ← H(ξ || IntegerToBytes(k, 1) || IntegerToBytes(ℓ, 1), 128)
    expand_seed(room, p, xi, sk.rho, memory.rho_prime, sk.k);
    // 4: (s1, s2) ← ExpandS(ρ')
    secrets(room, p, memory, &mut sk);
    let mut t1 = pk_encode(sk.rho, &mut *pk);
    let width = memory.sums.len();
    let mut first = 0;
    while first < p.k {
        // 5, but for s2: Â ∘ NTT(s1)
        products(room, p, memory, &sk, first);
        for (r, t1) in (first..p.k.min(first + width)).zip(&mut t1) {
            // 5 to 8
            halves(room, p, memory, &mut sk, (r, r - first), t1);
        }
        first += width;
    }
    drop(t1);
    // 9: tr ← H(pk, 64)
    *sk.tr = Shake::h(room, &[pk]);
    memory.wipe();
}

/// FIPS 204, Algorithm 33, ExpandS: polynomial by polynomial into the private key.
#[inline(never)]
fn secrets(room: Room, p: &Set, memory: &mut Keygen<'_>, sk: &mut SkBytesMut<'_>) {
    for (r, bytes) in sk.s1_s2(p).enumerate() {
        let poly = &mut *memory.poly;
        rej_bounded_poly::<1>(room, p.eta, memory.rho_prime, r, &mut core::iter::once(&mut *poly));
        room.bit_pack(p.eta_bits, p.eta, poly, bytes);
    }
}

/// The rows of Â ∘ NTT(s1) from `first` on, as many as there are sums.
#[inline(never)]
fn products(room: Room, p: &Set, memory: &mut Keygen<'_>, sk: &SkBytesMut<'_>, first: usize) {
    memory.sums.iter_mut().for_each(Row::clear);
    for (s, bytes) in pieces(sk.s1, p.secret_len()).enumerate() {
        room.bit_unpack(p.eta_bits, p.eta, bytes, memory.poly);
        let s1_hat = PolyHere(memory.poly).ntt(room);
        for (r, sum) in (first..p.k).zip(&mut *memory.sums) {
            mul_add_streamed::<G_BLOCK>(room, sk.rho, (r, s), &s1_hat, sum);
        }
    }
}

/// Row r of t, whose product is sum `at`, and its two halves as bytes.
#[inline(never)]
fn halves(
    room: Room,
    p: &Set,
    memory: &mut Keygen<'_>,
    sk: &mut SkBytesMut<'_>,
    (r, at): (usize, usize),
    t1_bytes: &mut [u8],
) {
    // 5: t ← NTT⁻¹(Â ∘ NTT(s1)) + s2
    memory.sums[at].unpack(room, memory.poly);
    let PolyHere(t) = NttPolyHere(memory.poly).inv_ntt(room);
    let (mut t1, mut t0) = (Wiped([0; 256]), Wiped([0; 256]));
    let s2 = &mut t0;
    let len = p.secret_len();
    room.bit_unpack(p.eta_bits, p.eta, &sk.s2[len * r..len * (r + 1)], s2);
    room.add(t, s2);
    // 6: (t1, t0) ← Power2Round(t)
    room.power2round(t, &mut t1, &mut t0);
    // 8: pk ← pkEncode(ρ, t1)
    t1_encode(room, &t1, t1_bytes);
    // 10: sk ← skEncode(ρ, K, tr, s1, s2, t0)
    let len = 32 * D as usize;
    room.bit_pack(D, 1 << (D - 1), &t0, &mut sk.t0[len * r..len * (r + 1)]);
}
