//! Algorithms 20 to 28: keys, signatures and w1 as bytes.

use super::params::{D, Params, Set};
use super::ring::Poly;
use crate::backend::{Coeffs, PLACES, Room};
use crate::ct::{Wipe, Wiped, declassify, declassify_all};

/// pk = ρ || t1, ten bits a coefficient: writes ρ, and gives the places of t1 for `t1_encode`.
/// FIPS 204, Algorithm 22, pkEncode.
pub(crate) fn pk_encode<'a>(
    rho: &[u8; 32],
    pk: &'a mut [u8],
) -> impl Iterator<Item = &'a mut [u8]> + use<'a> {
    let (first, rest) = pk.split_at_mut(32);
    first.copy_from_slice(rho);
    rest.chunks_exact_mut(32 * 10)
}

/// One polynomial of t1. Shapes: out 320 bytes.
pub(crate) fn t1_encode(room: Room, t1: &Coeffs, out: &mut [u8]) {
    room.simple_bit_pack(10, t1, out);
    declassify_all(out); // the public key
}

/// ρ, and the places of t1 for `t1_decode`. Every string of the right length is a public key.
/// FIPS 204, Algorithm 23, pkDecode.
pub(crate) fn pk_decode(pk: &[u8]) -> (&[u8; 32], impl Iterator<Item = &[u8]>) {
    let (rho, rest) = split::<32>(pk);
    (rho, rest.chunks_exact(32 * 10))
}

/// One polynomial of t1. Shapes: bytes 320.
pub(crate) fn t1_decode(room: Room, bytes: &[u8], t1: &mut Coeffs) {
    room.simple_bit_unpack(10, bytes, t1)
}

/// sk = ρ || K || tr || s1 || s2 || t0.
/// FIPS 204, Algorithm 24, skEncode.
///
/// Shapes: sk of `SK_LEN` bytes.
pub(crate) fn sk_encode<P: Params>(room: Room, parts: &SkParts<P>, t0: &P::K_<Poly>, sk: &mut [u8]) {
    let (rho, rest) = sk.split_at_mut(32);
    let (k, rest) = rest.split_at_mut(32);
    let (tr, mut rest) = rest.split_at_mut(64);
    rho.copy_from_slice(&parts.rho);
    k.copy_from_slice(&*parts.k);
    tr.copy_from_slice(&parts.tr);
    let secrets = parts.s1.as_ref().iter().chain(parts.s2.as_ref()).map(|s| (P::ETA_BITS, P::ETA, s));
    for (bits, b, poly) in secrets.chain(t0.as_ref().iter().map(|t0| (D, 1 << (D - 1), t0))) {
        let (bytes, after) = rest.split_at_mut(32 * bits as usize);
        room.bit_pack(bits, b, &poly.0, bytes);
        rest = after;
    }
}

/// The parts of an expanded private key, and whether all coefficients of s1 and s2 are in [-η, η].
/// FIPS 204, Algorithm 25, skDecode.
///
/// Shapes: sk of `SK_LEN` bytes; parts written in place, which leaves no copies.
pub(crate) fn sk_decode<P: Params>(
    room: Room,
    sk: &[u8],
    parts: &mut SkParts<P>,
    t0: &mut P::K_<Poly>,
) -> bool {
    let (rho, rest) = split::<32>(sk);
    let (k, rest) = split::<32>(rest);
    let (tr, mut rest) = split::<64>(rest);
    parts.rho = *rho;
    parts.k.copy_from_slice(k);
    parts.tr = *tr;
    let secrets = parts.s1.as_mut().iter_mut().chain(parts.s2.as_mut()).map(|s| (P::ETA_BITS, P::ETA, s));
    for (bits, b, poly) in secrets.chain(t0.as_mut().iter_mut().map(|t0| (D, 1 << (D - 1), t0))) {
        let (bytes, after) = rest.split_at(32 * bits as usize);
        room.bit_unpack(bits, b, bytes, &mut poly.0);
        rest = after;
    }
    let secrets = parts.s1.as_ref().iter().chain(parts.s2.as_ref());
    secrets.fold(true, |ok, s: &Poly| s.norm_below(room, P::ETA + 1) & ok)
}

/// Whether a private key is taken, after all checks: it is refused or not, and nobody is told by which check, nor by which
/// coefficient.
pub(crate) fn is_taken(checks: bool) -> bool {
    declassify(checks)
}

/// What an expanded private key holds, but for t0.
pub(crate) struct SkParts<P: Params> {
    pub(crate) rho: [u8; 32],
    pub(crate) k: Wiped<[u8; 32]>,
    pub(crate) tr: [u8; 64],
    pub(crate) s1: Wiped<P::L_<Poly>>,
    pub(crate) s2: Wiped<P::K_<Poly>>,
}

/// An encoded private key in its parts, not unpacked: the places of Algorithm 25.
#[derive(Clone, Copy)]
pub(crate) struct SkBytes<'a> {
    pub(crate) rho: &'a [u8; 32],
    pub(crate) k: &'a [u8; 32],
    pub(crate) tr: &'a [u8; 64],
    pub(crate) s1: &'a [u8],
    pub(crate) s2: &'a [u8],
    pub(crate) t0: &'a [u8],
}

impl<'a> SkBytes<'a> {
    /// Shapes: sk of as many bytes as the set's keys have.
    pub(crate) fn of(p: &Set, sk: &'a [u8]) -> Self {
        let (rho, rest) = split::<32>(sk);
        let (k, rest) = split::<32>(rest);
        let (tr, rest) = split::<64>(rest);
        let (s1, rest) = rest.split_at(p.secret_len() * p.l);
        let (s2, t0) = rest.split_at(p.secret_len() * p.k);
        SkBytes { rho, k, tr, s1, s2, t0 }
    }

    /// Whether all coefficients of s1 and s2 are in [-η, η]: what Algorithm 25 leaves to its caller. `poly` is left as it
    /// then is.
    pub(crate) fn is_in_range(&self, room: Room, p: &Set, poly: &mut Coeffs) -> bool {
        let secrets = pieces(self.s1, p.secret_len()).chain(pieces(self.s2, p.secret_len()));
        secrets.fold(true, |ok, bytes| {
            room.bit_unpack(p.eta_bits, p.eta, bytes, poly);
            room.norm_below(poly, p.eta + 1) & ok
        })
    }
}

/// The same, to be written: the places of Algorithm 24.
pub(crate) struct SkBytesMut<'a> {
    pub(crate) rho: &'a mut [u8; 32],
    pub(crate) k: &'a mut [u8; 32],
    pub(crate) tr: &'a mut [u8; 64],
    pub(crate) s1: &'a mut [u8],
    pub(crate) s2: &'a mut [u8],
    pub(crate) t0: &'a mut [u8],
}

impl<'a> SkBytesMut<'a> {
    /// Shapes: sk of as many bytes as the set's keys have.
    pub(crate) fn of(p: &Set, sk: &'a mut [u8]) -> Self {
        let (rho, rest) = split_mut::<32>(sk);
        let (k, rest) = split_mut::<32>(rest);
        let (tr, rest) = split_mut::<64>(rest);
        let (s1, rest) = rest.split_at_mut(p.secret_len() * p.l);
        let (s2, t0) = rest.split_at_mut(p.secret_len() * p.k);
        SkBytesMut { rho, k, tr, s1, s2, t0 }
    }

    /// The places of the polynomials of s1, then of s2.
    pub(crate) fn s1_s2(&mut self, p: &Set) -> impl Iterator<Item = &mut [u8]> {
        let len = p.secret_len();
        pieces_mut(self.s1, len).chain(pieces_mut(self.s2, len))
    }
}

/// ρ, and t1, 320 bytes a polynomial: Algorithm 23 without unpacking. Shapes: pk of `PK_LEN` bytes.
pub(crate) fn pk_bytes(pk: &[u8]) -> (&[u8; 32], &[u8]) {
    split(pk)
}

/// σ = c̃ || z || h. Shapes: z and h of an attempt that is accepted.
/// FIPS 204, Algorithm 26, sigEncode.
pub(crate) fn sig_encode<P: Params>(room: Room, c_tilde: &P::CTilde, z: &[Poly], h: &[Poly]) -> P::Sig {
    let mut sigma = P::Sig::ZERO;
    let (first, rest) = sigma.as_mut().split_at_mut(P::C_TILDE_LEN);
    let (middle, last) = rest.split_at_mut(32 * P::Z_BITS as usize * P::L);
    first.copy_from_slice(c_tilde.as_ref());
    for (z, bytes) in z.iter().zip(middle.chunks_exact_mut(32 * P::Z_BITS as usize)) {
        room.bit_pack(P::Z_BITS, P::GAMMA1, &z.0, bytes);
    }
    accepted(middle);
    hint_bit_pack(room, P::OMEGA, h, last);
    sigma
}

/// z and h of an attempt that is accepted: they are the signature.
pub(crate) fn accepted<T>(z_or_h: &[T]) -> &[T] {
    declassify_all(z_or_h)
}

/// A signature in its parts, not unpacked.
pub(crate) struct SigBytes<'a> {
    pub(crate) c_tilde: &'a [u8],
    pub(crate) z: &'a [u8],
    pub(crate) h: &'a [u8],
}

/// c̃, z and h, not unpacked; `None` if the hint is malformed.
/// FIPS 204, Algorithm 27, sigDecode, without unpacking.
pub(crate) fn sig_decode<P: Params>(sigma: &P::Sig) -> Option<SigBytes<'_>> {
    let (c_tilde, rest) = sigma.as_ref().split_at(P::C_TILDE_LEN);
    let (z, h) = rest.split_at(32 * P::Z_BITS as usize * P::L);
    hint_is_well_formed(P::OMEGA, P::K, h).then_some(SigBytes { c_tilde, z, h })
}

/// The places of the ones, polynomial by polynomial, then the running count after each polynomial.
/// FIPS 204, Algorithm 20, HintBitPack.
///
/// Shapes: h: k polynomials of zeros and at most ω ones; y: ω + k bytes of zeros.
fn hint_bit_pack(room: Room, omega: usize, h: &[Poly], y: &mut [u8]) {
    let mut index = 0;
    let mut places = [0; PLACES];
    for (i, h) in h.iter().enumerate() {
        accepted(&h.0);
        let ones = room.places(&h.0, &mut places);
        hint_row_pack(omega, i, places[..ones].iter().map(|place| *place as u8), &mut index, y);
    }
}

/// Row i of Algorithm 20: its places from `index` on, which then counts them too. Bounds: at most ω in all.
pub(crate) fn hint_row_pack(
    omega: usize,
    i: usize,
    places: impl Iterator<Item = u8>,
    index: &mut usize,
    y: &mut [u8],
) {
    for (y, place) in y[*index..omega].iter_mut().zip(places) {
        *y = place;
        *index += 1;
    }
    y[omega + i] = *index as u8;
}

/// Whether the bytes are what Algorithm 20 writes: no count falls or passes ω, the places of each polynomial rise, and nothing
/// but zeros follows the last.
/// FIPS 204, Algorithm 21, HintBitUnpack, without unpacking: [`hint_row`] has the places.
pub(crate) fn hint_is_well_formed(omega: usize, k: usize, y: &[u8]) -> bool {
    let rises = |row: &[u8]| row.is_sorted_by(|one, next| one < next);
    (0..k).all(|i| hint_row(omega, y, i).is_some_and(rises)) && hint_ends_in_zeros(omega, y)
}

/// The places of row i; `None` where its counts are malformed.
pub(crate) fn hint_row(omega: usize, y: &[u8], i: usize) -> Option<&[u8]> {
    let (places, counts) = y.split_at_checked(omega)?;
    let first = if i == 0 { 0 } else { *counts.get(i - 1)? };
    places.get(usize::from(first)..usize::from(*counts.get(i)?))
}

/// Whether nothing but zeros follows the last place.
fn hint_ends_in_zeros(omega: usize, y: &[u8]) -> bool {
    let (places, counts) = y.split_at(omega);
    let last = counts.last().map_or(0, |count| usize::from(*count));
    places.get(last..).is_some_and(|rest| rest.iter().all(|place| *place == 0))
}

/// One polynomial of w1, packed for hashing. Shapes: out 32·W1_BITS bytes.
/// FIPS 204, Algorithm 28, w1Encode.
pub(crate) fn w1_encode<P: Params>(room: Room, w1: &Poly, out: &mut [u8]) {
    room.simple_bit_pack(P::W1_BITS, &w1.0, out)
}

/// What `w1_encode` packed.
pub(crate) fn w1_decode<P: Params>(room: Room, bytes: &[u8], w1: &mut Poly) {
    room.simple_bit_unpack(P::W1_BITS, bytes, &mut w1.0)
}

/// Slices of `len`, one after the other; what is too short for one is left out. Bounds: len > 0.
///
/// Not `chunks_exact`: where the length is no constant that divides. No secret comes near, but `./dev ct` finds every division
/// in the machine code.
pub(crate) fn pieces<T>(mut whole: &[T], len: usize) -> impl Iterator<Item = &[T]> {
    debug_assert!(len > 0);
    core::iter::from_fn(move || {
        let (piece, rest) = whole.split_at_checked(len)?;
        whole = rest;
        Some(piece)
    })
}

/// The same, to be written.
pub(crate) fn pieces_mut<T>(mut whole: &mut [T], len: usize) -> impl Iterator<Item = &mut [T]> {
    debug_assert!(len > 0);
    core::iter::from_fn(move || {
        let (piece, rest) = core::mem::take(&mut whole).split_at_mut_checked(len)?;
        whole = rest;
        Some(piece)
    })
}

/// The first N bytes and the rest; the caller's types make the slice long enough.
fn split<const N: usize>(bytes: &[u8]) -> (&[u8; N], &[u8]) {
    bytes.split_first_chunk().expect("key encodings are longer than their fixed parts")
}

/// The same, to be written.
fn split_mut<const N: usize>(bytes: &mut [u8]) -> (&mut [u8; N], &mut [u8]) {
    bytes.split_first_chunk_mut().expect("key encodings are longer than their fixed parts")
}
