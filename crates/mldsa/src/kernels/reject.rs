//! Rejection sampling from a hash's output.

use crate::backend::Coeffs;
use crate::fips204::params::Q;

/// Three bytes to a coefficient in [0, 2^23); the caller rejects what is not below q.
/// FIPS 204, Algorithm 14, CoeffFromThreeBytes.
#[inline(always)]
fn coeff_from_three_bytes(b: [u8; 3]) -> i32 {
    i32::from(b[0]) | i32::from(b[1]) << 8 | i32::from(b[2] & 0x7f) << 16
}

/// Half a byte to a coefficient in [-η, η], canonical, and whether it is taken.
/// FIPS 204, Algorithm 15, CoeffFromHalfByte.
///
/// Bounds: in 0 <= b < 16, η in {2, 4}; out [0, q) where taken.
/// Time: independent of b, which is secret; no division (b mod 5 = b - 5·⌊205·b / 2^10⌋ for b < 16).
#[inline(always)]
fn coeff_from_half_byte(eta: i32, b: i32) -> (i32, bool) {
    let (value, taken) = match eta {
        2 => (2 - (b - 5 * ((205 * b) >> 10)), b < 15),
        _ => (4 - b, b < 9),
    };
    (value + ((value >> 31) & Q), taken)
}

/// Takes coefficients uniform in [0, q) from groups of three bytes until the bytes or the places run out.
/// Returns the number of places filled. The body of Algorithm 30's loop.
///
/// Bounds: `filled` <= 256; out [0, q).
#[inline(always)]
pub(crate) fn reject_uniform(bytes: &[u8], out: &mut Coeffs, mut filled: usize) -> usize {
    for three in bytes.as_chunks::<3>().0 {
        if filled >= 256 {
            break;
        }
        let coeff = coeff_from_three_bytes(*three);
        out[filled] = coeff;
        filled += usize::from(coeff < Q);
    }
    filled
}

/// Takes coefficients uniform in [-η, η] from half bytes until the bytes or the places run out.
/// Returns the number of places filled. The body of Algorithm 31's loop.
///
/// Bounds: `filled` <= 256; out canonical, in [0, q).
/// Time: shows which half bytes were rejected, which says nothing of those that were taken.
#[inline(always)]
pub(crate) fn reject_bounded(eta: i32, bytes: &[u8], out: &mut Coeffs, mut filled: usize) -> usize {
    for &byte in bytes {
        for half in [byte & 15, byte >> 4] {
            if filled >= 256 {
                return filled;
            }
            let (value, taken) = coeff_from_half_byte(eta, i32::from(half));
            out[filled] = value;
            filled += usize::from(taken);
        }
    }
    filled
}
