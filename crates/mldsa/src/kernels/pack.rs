//! Coefficients to bits and back.
//!
//! FIPS 204 writes packing as strings of single bits (Algorithms 9, 10, 12, 13). The same bytes come out of writing each
//! coefficient little-endian at its bit offset, which is what these loops do, four or eight coefficients at a time.

use crate::backend::Coeffs;
use crate::fips204::params::Q;

/// w mod q made canonical again after a subtraction. Bounds: in (-q, q); out [0, q).
#[inline(always)]
fn canonical(x: i32) -> i32 {
    x + ((x >> 31) & Q)
}

/// Coefficients handled together: as many as fit a whole number of bytes and 128 bits.
const fn group(bits: u32) -> usize {
    if bits * 8 <= 128 { 8 } else { 4 }
}

/// FIPS 204, Algorithm 9, IntegerToBits.
/// FIPS 204, Algorithm 12, BitsToBytes.
#[inline(always)]
fn write<const BITS: u32>(w: &Coeffs, map: impl Fn(i32) -> i32, out: &mut [u8]) {
    debug_assert_eq!(out.len(), 32 * BITS as usize);
    let n = group(BITS);
    for (coeffs, bytes) in w.chunks_exact(n).zip(out.chunks_exact_mut((n * BITS as usize) >> 3)) {
        let mut word = 0u128;
        for (i, &x) in coeffs.iter().enumerate() {
            let x = map(x);
            debug_assert!(x >> BITS == 0);
            word |= u128::from(x as u32) << (BITS * i as u32);
        }
        bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
    }
}

/// FIPS 204, Algorithm 10, BitsToInteger.
/// FIPS 204, Algorithm 13, BytesToBits.
#[inline(always)]
fn read<const BITS: u32>(v: &[u8], map: impl Fn(i32) -> i32, out: &mut Coeffs) {
    debug_assert_eq!(v.len(), 32 * BITS as usize);
    let n = group(BITS);
    for (coeffs, bytes) in out.chunks_exact_mut(n).zip(v.chunks_exact((n * BITS as usize) >> 3)) {
        let mut word = [0; 16];
        word[..bytes.len()].copy_from_slice(bytes);
        let word = u128::from_le_bytes(word);
        for (i, x) in coeffs.iter_mut().enumerate() {
            *x = map((word >> (BITS * i as u32)) as i32 & ((1 << BITS) - 1));
        }
    }
}

/// `by_width!(bits, f(arguments), 4, 6)`: f::<4> or f::<6>, whichever bits says.
macro_rules! by_width {
    (@call $f:ident, $width:literal, ($($arg:expr),*)) => {
        $f::<$width>($($arg),*)
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
/// Bounds: bits in {4, 6, 10} (w1 at γ2 = (q-1)/32, at (q-1)/88; t1).
#[inline(always)]
pub(crate) fn simple_bit_pack(bits: u32, w: &Coeffs, out: &mut [u8]) {
    by_width!(bits, write(w, |x| x, out), 4, 6, 10)
}

/// Coefficients in [-a, b] with a + b < 2^bits, as b - w, to 32·bits bytes.
/// FIPS 204, Algorithm 17, BitPack.
///
/// Bounds: bits in {3, 4, 13, 18, 20} (η = 2, η = 4, t0, γ1 = 2^17, γ1 = 2^19); w canonical, in [0, q).
#[inline(always)]
pub(crate) fn bit_pack(bits: u32, b: i32, w: &Coeffs, out: &mut [u8]) {
    by_width!(bits, write(w, |x| canonical(b - x), out), 3, 4, 13, 18, 20)
}

/// 32·bits bytes to coefficients in [0, 2^bits).
/// FIPS 204, Algorithm 18, SimpleBitUnpack.
#[inline(always)]
pub(crate) fn simple_bit_unpack(bits: u32, v: &[u8], out: &mut Coeffs) {
    by_width!(bits, read(v, |x| x, out), 10)
}

/// 32·bits bytes to coefficients b - x, x in [0, 2^bits), canonical in [0, q).
/// FIPS 204, Algorithm 19, BitUnpack.
///
/// For η = 2 and η = 4 malformed input gives values below -η, which the caller checks (the standard's warning there).
#[inline(always)]
pub(crate) fn bit_unpack(bits: u32, b: i32, v: &[u8], out: &mut Coeffs) {
    by_width!(bits, read(v, |x| canonical(b - x), out), 3, 4, 13, 18, 20)
}
