//! Coefficients to bits and back.
//!
//! FIPS 204 writes packing as strings of single bits (Algorithms 9, 10, 12, 13). The same bytes come out of writing each
//! coefficient little-endian at its bit offset, which is what these loops do, eight or sixteen coefficients at a time.

use crate::backend::{Coeffs, Lanes, ONE_LANE};
use crate::fips204::params::Q;

/// FIPS 204, Algorithm 9, IntegerToBits.
/// FIPS 204, Algorithm 12, BitsToBytes.
#[inline(always)]
fn write<V: Lanes, const BITS: u32>(room: V::Room, w: &Coeffs, map: impl Fn(V) -> V, out: &mut [u8]) {
    debug_assert_eq!(out.len(), 32 * BITS as usize);
    let bytes = (V::N * V::GROUP * BITS as usize) >> 3;
    for (cells, out) in V::cells(w).chunks_exact(V::GROUP).zip(out.chunks_exact_mut(bytes)) {
        let mut group = V::group(room);
        for (x, cell) in group.as_mut().iter_mut().zip(cells) {
            *x = map(V::load(room, cell));
        }
        V::pack::<BITS>(group, out);
    }
}

/// FIPS 204, Algorithm 10, BitsToInteger.
/// FIPS 204, Algorithm 13, BytesToBits.
#[inline(always)]
fn read<V: Lanes, const BITS: u32>(room: V::Room, v: &[u8], map: impl Fn(V) -> V, out: &mut Coeffs) {
    debug_assert_eq!(v.len(), 32 * BITS as usize);
    let bytes = (V::N * V::GROUP * BITS as usize) >> 3;
    for (cells, bytes) in V::cells_mut(out).chunks_exact_mut(V::GROUP).zip(v.chunks_exact(bytes)) {
        let group = V::unpack::<BITS>(room, bytes);
        for (x, cell) in group.as_ref().iter().zip(cells) {
            map(*x).store(cell);
        }
    }
}

/// Writes eight numbers of `BITS` bits as `BITS` bytes, without vector instructions. Bounds: BITS <= 24.
#[inline(always)]
pub(crate) fn pack_eight<const BITS: u32>(numbers: &[i32; 8], bytes: &mut [u8]) {
    let mut words = [0u128; 2]; // of four numbers each, at most 96 bits
    for (word, numbers) in words.iter_mut().zip(numbers.as_chunks::<4>().0) {
        for (i, &x) in numbers.iter().enumerate() {
            debug_assert!(x >> BITS == 0);
            *word |= u128::from(x as u32) << (BITS * i as u32);
        }
    }
    if BITS <= 16 {
        let word = words[0] | words[1] << ((4 * BITS) & 127);
        bytes.copy_from_slice(&word.to_le_bytes()[..BITS as usize]);
    } else {
        let (low, high) = bytes.split_at_mut((BITS >> 1) as usize);
        low.copy_from_slice(&words[0].to_le_bytes()[..(BITS >> 1) as usize]);
        high.copy_from_slice(&words[1].to_le_bytes()[..(BITS >> 1) as usize]);
    }
}

/// Reads eight numbers of `BITS` bits from `BITS` bytes, without vector instructions. Bounds: BITS <= 24.
#[inline(always)]
pub(crate) fn unpack_eight<const BITS: u32>(bytes: &[u8]) -> [i32; 8] {
    let word = |bytes: &[u8]| {
        let mut word = [0; 16];
        word[..bytes.len()].copy_from_slice(bytes);
        u128::from_le_bytes(word)
    };
    let (low, high) = if BITS <= 16 {
        let word = word(&bytes[..BITS as usize]);
        (word, word >> ((4 * BITS) & 127))
    } else {
        let (low, high) = bytes[..BITS as usize].split_at((BITS >> 1) as usize);
        (word(low), word(high))
    };
    core::array::from_fn(|i| {
        let word = if i < 4 { low } else { high };
        (word >> (BITS * (i & 3) as u32)) as i32 & ((1 << BITS) - 1)
    })
}

/// `by_width!(bits, f(arguments), 4, 6)`: f::<V, 4> or f::<V, 6>, whichever bits says.
macro_rules! by_width {
    (@call $f:ident, $width:literal, ($($arg:expr),*)) => {
        $f::<V, $width>($($arg),*)
    };
    ($bits:expr, $f:ident $args:tt, $($width:literal),*) => {
        match $bits {
            $($width => by_width!(@call $f, $width, $args),)*
            _ => debug_assert!(false, "no parameter set packs this many bits"),
        }
    };
}

/// Coefficients in [0, 2^bits) to 32·bits bytes.
/// FIPS 204, Algorithm 16, SimpleBitPack.
///
/// Bounds: bits in {4, 6, 10} (w1 at γ2 = (q-1)/32, at (q-1)/88; t1), and 24 (polynomials that a small memory keeps).
#[inline(always)]
pub(crate) fn simple_bit_pack<V: Lanes>(room: V::Room, bits: u32, w: &Coeffs, out: &mut [u8]) {
    if bits == 24 {
        return write::<i32, 24>(ONE_LANE, w, |x| x, out);
    }
    by_width!(bits, write(room, w, |x| x, out), 4, 6, 10)
}

/// Coefficients in [-a, b] with a + b < 2^bits, as b - w, to 32·bits bytes.
/// FIPS 204, Algorithm 17, BitPack.
///
/// Bounds: bits in {3, 4, 13, 18, 20} (η = 2, η = 4, t0, γ1 = 2^17, γ1 = 2^19); w canonical, in [0, q).
#[inline(always)]
pub(crate) fn bit_pack<V: Lanes>(room: V::Room, bits: u32, b: i32, w: &Coeffs, out: &mut [u8]) {
    let (b, q) = (V::splat(room, b), V::splat(room, Q));
    by_width!(bits, write(room, w, |x| (b - x).add_q_if_negative(q), out), 3, 4, 13, 18, 20)
}

/// 32·bits bytes to coefficients in [0, 2^bits).
/// FIPS 204, Algorithm 18, SimpleBitUnpack.
///
/// Bounds: bits in {4, 6, 10, 24}, as above.
#[inline(always)]
pub(crate) fn simple_bit_unpack<V: Lanes>(room: V::Room, bits: u32, v: &[u8], out: &mut Coeffs) {
    by_width!(bits, read(room, v, |x| x, out), 4, 6, 10, 24)
}

/// 32·bits bytes to coefficients b - x, x in [0, 2^bits), canonical in [0, q).
/// FIPS 204, Algorithm 19, BitUnpack.
///
/// For η = 2 and η = 4 malformed input gives values below -η, which the caller checks (the standard's warning there).
#[inline(always)]
pub(crate) fn bit_unpack<V: Lanes>(room: V::Room, bits: u32, b: i32, v: &[u8], out: &mut Coeffs) {
    let (b, q) = (V::splat(room, b), V::splat(room, Q));
    by_width!(bits, read(room, v, |x| (b - x).add_q_if_negative(q), out), 3, 4, 13, 18, 20)
}
