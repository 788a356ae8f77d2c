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

/// `b + sign·x` of each coefficient, q more where that is negative, in `bits` bits: `write`, one number after the other and with
/// the width as a value, for rooms that are compact.
///
/// Bounds: bits <= 24; sign 1 or -1; numbers in [0, 2^bits).
/// Time: depends on `bits` alone.
#[inline(never)]
fn write_compactly(bits: u32, (b, sign): (i32, i32), w: &Coeffs, out: &mut [u8]) {
    debug_assert_eq!(out.len(), 32 * bits as usize);
    let mut out = out.iter_mut();
    // Bits that are not yet a byte: fewer than 8, and a number's above them.
    let (mut word, mut held) = (0, 0);
    for x in w {
        word |= (b + sign * x).add_q_if_negative(Q) << held;
        held += bits;
        while held >= 8 {
            if let Some(byte) = out.next() {
                *byte = word as u8;
            }
            word >>= 8;
            held -= 8;
        }
    }
}

/// `b + sign·x` of each number of `bits` bits, q more where that is negative: `read`, in the same way.
///
/// Shapes: v of as many bytes as the numbers take.
/// Bounds: bits <= 24; sign 1 or -1; out canonical, in [0, q), for b < q, but for 24 bits, which are taken as they are.
/// Time: depends on `bits` alone.
#[inline(never)]
pub(crate) fn read_compactly(bits: u32, (b, sign): (i32, i32), v: &[u8], out: &mut [i32]) {
    debug_assert_eq!(8 * v.len(), out.len() * bits as usize);
    let mut bytes = v.iter();
    // Bits that are not yet a number: fewer than `bits`, and a byte's above them.
    let (mut word, mut held) = (0, 0);
    for x in out {
        while held < bits {
            word |= i32::from(*bytes.next().unwrap_or(&0)) << held;
            held += 8;
        }
        *x = (b + sign * (word & ((1 << bits) - 1))).add_q_if_negative(Q);
        word >>= bits;
        held -= bits;
    }
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
    if V::COMPACT {
        return write_compactly(bits, (0, 1), w, out);
    }
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
    if V::COMPACT {
        return write_compactly(bits, (b, -1), w, out);
    }
    let (b, q) = (V::splat(room, b), V::splat(room, Q));
    by_width!(bits, write(room, w, |x| (b - x).add_q_if_negative(q), out), 3, 4, 13, 18, 20)
}

/// 32·bits bytes to coefficients in [0, 2^bits).
/// FIPS 204, Algorithm 18, SimpleBitUnpack.
///
/// Bounds: bits in {4, 6, 10, 24}, as above.
#[inline(always)]
pub(crate) fn simple_bit_unpack<V: Lanes>(room: V::Room, bits: u32, v: &[u8], out: &mut Coeffs) {
    if V::COMPACT {
        return read_compactly(bits, (0, 1), v, out);
    }
    by_width!(bits, read(room, v, |x| x, out), 4, 6, 10, 24)
}

/// 32·bits bytes to coefficients b - x, x in [0, 2^bits), canonical in [0, q).
/// FIPS 204, Algorithm 19, BitUnpack.
///
/// For η = 2 and η = 4 malformed input gives values below -η, which the caller checks (the standard's warning there).
#[inline(always)]
pub(crate) fn bit_unpack<V: Lanes>(room: V::Room, bits: u32, b: i32, v: &[u8], out: &mut Coeffs) {
    if V::COMPACT {
        return read_compactly(bits, (b, -1), v, out);
    }
    let (b, q) = (V::splat(room, b), V::splat(room, Q));
    by_width!(bits, read(room, v, |x| (b - x).add_q_if_negative(q), out), 3, 4, 13, 18, 20)
}

#[cfg(test)]
mod tests {
    use super::{
        ONE_LANE, Q, bit_pack, bit_unpack, read_compactly, simple_bit_pack, simple_bit_unpack,
        write_compactly,
    };

    /// Numbers of so many bits, among them the least and the greatest.
    fn numbers(bits: u32) -> [i32; 256] {
        core::array::from_fn(|i| match i & 7 {
            0 => 0,
            1 => (1 << bits) - 1,
            _ => (i as i32).wrapping_mul(0x9e37_79b1_u32 as i32) >> 7 & ((1 << bits) - 1),
        })
    }

    #[test]
    fn the_compact_way_writes_the_same_bytes() {
        for bits in [4, 6, 10, 24] {
            let (w, len) = (numbers(bits), 32 * bits as usize);
            let (mut quick, mut compact) = ([0; 768], [0; 768]);
            simple_bit_pack::<i32>(ONE_LANE, bits, &w, &mut quick[..len]);
            write_compactly(bits, (0, 1), &w, &mut compact[..len]);
            assert_eq!(quick, compact, "{bits} bits");
            let (mut there, mut back) = ([0; 256], [0; 256]);
            simple_bit_unpack::<i32>(ONE_LANE, bits, &quick[..len], &mut there);
            read_compactly(bits, (0, 1), &quick[..len], &mut back);
            assert_eq!((there, back), (w, w), "{bits} bits");
        }
    }

    #[test]
    fn the_compact_way_writes_the_same_bytes_of_signed_numbers() {
        for (bits, b) in [(3, 2), (4, 4), (13, 1 << 12), (18, 1 << 17), (20, 1 << 19)] {
            let w = numbers(bits).map(|x| (b - x) + (Q & ((b - x) >> 31)));
            let len = 32 * bits as usize;
            let (mut quick, mut compact) = ([0; 768], [0; 768]);
            bit_pack::<i32>(ONE_LANE, bits, b, &w, &mut quick[..len]);
            write_compactly(bits, (b, -1), &w, &mut compact[..len]);
            assert_eq!(quick, compact, "{bits} bits");
            let (mut there, mut back) = ([0; 256], [0; 256]);
            bit_unpack::<i32>(ONE_LANE, bits, b, &quick[..len], &mut there);
            read_compactly(bits, (b, -1), &quick[..len], &mut back);
            assert_eq!((there, back), (w, w), "{bits} bits");
        }
    }
}
