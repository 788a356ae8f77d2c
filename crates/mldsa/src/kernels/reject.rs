//! Rejection sampling from a hash's output.

use crate::backend::{Coeffs, Lanes, ONE_LANE, PACKED, wipe};
use crate::ct::declassify;
use crate::fips204::params::Q;

/// Lanes with which the last numbers are taken together too. For sixteen they are as soon taken one by one.
const EIGHT: usize = 8;

/// Three bytes to a coefficient in [0, 2^23), read as 24 bits; the caller rejects what is not below q.
/// FIPS 204, Algorithm 14, CoeffFromThreeBytes.
#[inline(always)]
fn coeff_from_three_bytes<V: Lanes>(room: V::Room, b: V) -> V {
    b & V::splat(room, 0x7f_ffff)
}

/// Half a byte to a coefficient in [-η, η], canonical; the caller rejects what is not below `half_bytes_below(η)`.
/// FIPS 204, Algorithm 15, CoeffFromHalfByte.
///
/// Bounds: in 0 <= b < 16, η in {2, 4}; out [0, q) where taken.
/// Time: independent of b, which is secret; no division (b mod 5 = b - 5·⌊205·b / 2^10⌋ for b < 16).
#[inline(always)]
fn coeff_from_half_byte<V: Lanes>(room: V::Room, eta: i32, b: V) -> V {
    let value = match eta {
        2 => {
            let fifth = b.mul_low(V::splat(room, 205)).sar::<10>();
            V::splat(room, 2) - (b - fifth.shl::<2>() - fifth)
        }
        _ => V::splat(room, 4) - b,
    };
    value.add_q_if_negative(V::splat(room, Q))
}

/// Half bytes from this one on are rejected (Algorithm 15).
fn half_bytes_below(eta: i32) -> i32 {
    match eta {
        2 => 15,
        _ => 9,
    }
}

/// Takes coefficients uniform in [0, q) from groups of three bytes until the bytes or the places run out.
/// Returns the number of places filled. The body of Algorithm 30's loop.
///
/// Shapes: bytes: a multiple of 24.
/// Bounds: `filled` <= 256; out [0, q).
#[inline(always)]
pub(crate) fn reject_uniform<V: Lanes>(
    room: V::Room,
    bytes: &[u8],
    out: &mut Coeffs,
    filled: usize,
) -> usize {
    reject::<V, 24>(room, 0, bytes, out, filled)
}

/// Takes coefficients uniform in [0, q) as `reject_uniform` does, and keeps none: each is multiplied with the coefficient of
/// b in its place, and the product, times 2^-32, added to the sum. Returns the number of places that are done.
///
/// So an entry of Â needs no memory. Bytes that hold 256 numbers below q are a packed polynomial: all are taken.
///
/// Shapes: bytes: a multiple of 3; sum: 24 bits a coefficient.
/// Bounds: `done` <= 256; b and sum in [0, q), out [0, q).
/// Time: independent of b and of the sum; shows which numbers were rejected, which are public.
/// One lane in every room: wide ones have the memory to do without this.
#[inline(always)]
pub(crate) fn mul_add_uniform<V: Lanes>(
    _: V::Room,
    bytes: &[u8],
    b: &Coeffs,
    sum: &mut [u8; PACKED],
    done: usize,
) -> usize {
    debug_assert!(done <= 256);
    let mut places = b.iter().zip(sum.as_chunks_mut::<3>().0).skip(done);
    let Some(mut place) = places.next() else { return done };
    let mut done = done;
    for [low, middle, high] in bytes.as_chunks::<3>().0 {
        let a = coeff_from_three_bytes::<i32>(ONE_LANE, i32::from_le_bytes([*low, *middle, *high, 0]));
        if a >= Q {
            continue;
        }
        let (b, sum) = place;
        let product = i32::mont_reduce(ONE_LANE, a.mul_wide(*b)).add_q_if_negative(Q);
        let old = i32::from_le_bytes([sum[0], sum[1], sum[2], 0]);
        debug_assert!((0..Q).contains(b) && old < Q);
        [sum[0], sum[1], sum[2], _] = (old - Q + product).add_q_if_negative(Q).to_le_bytes();
        done += 1;
        match places.next() {
            Some(next) => place = next,
            None => return done,
        }
    }
    done
}

/// Takes coefficients uniform in [-η, η] from half bytes until the bytes or the places run out.
/// Returns the number of places filled. The body of Algorithm 31's loop.
///
/// Shapes: bytes: a multiple of 8.
/// Bounds: `filled` <= 256; out canonical, in [0, q).
/// Time: shows which half bytes were rejected, which says nothing of those that were taken.
#[inline(always)]
pub(crate) fn reject_bounded<V: Lanes>(
    room: V::Room,
    eta: i32,
    bytes: &[u8],
    out: &mut Coeffs,
    filled: usize,
) -> usize {
    match eta {
        2 => reject::<V, 4>(room, 2, bytes, out, filled),
        _ => reject::<V, 4>(room, 4, bytes, out, filled),
    }
}

/// Numbers of `BITS` bits, as many at a time as there are lanes; then one by one what does not fill them.
#[inline(always)]
fn reject<V: Lanes, const BITS: u32>(
    room: V::Room,
    eta: i32,
    mut bytes: &[u8],
    out: &mut Coeffs,
    filled: usize,
) -> usize {
    let filled = reject_groups::<V, BITS>(room, eta, &mut bytes, out, filled);
    reject_groups::<i32, BITS>(ONE_LANE, eta, &mut bytes, out, filled)
}

/// Reads numbers of `BITS` bits off `bytes`, group by group, while places are left.
#[inline(always)]
fn reject_groups<V: Lanes, const BITS: u32>(
    room: V::Room,
    eta: i32,
    bytes: &mut &[u8],
    out: &mut Coeffs,
    mut filled: usize,
) -> usize {
    debug_assert!(filled <= 256);
    let limit = V::splat(room, if BITS == 24 { Q } else { half_bytes_below(eta) });
    while let Some((group, rest)) = bytes.split_at_checked((V::N * V::GROUP * BITS as usize) >> 3) {
        for &b in V::unpack::<BITS>(room, group).as_ref() {
            let Some(places) = out.get_mut(filled..filled + V::N) else {
                // The last numbers, of which there is not a place for each.
                let left = &mut out[filled..];
                if left.is_empty() || V::N > EIGHT {
                    return filled;
                }
                let mut last = [0; EIGHT];
                let kept = keep::<V, BITS>(room, eta, b, limit, &mut last[..V::N]);
                for (place, x) in left.iter_mut().zip(&last[..kept]) {
                    *place = *x;
                    filled += 1;
                }
                if BITS != 24 {
                    wipe(&mut last);
                }
                continue;
            };
            filled += keep::<V, BITS>(room, eta, b, limit, places);
        }
        *bytes = rest;
    }
    filled
}

/// The coefficients of those numbers that are not rejected, one after the other; returns how many.
#[inline(always)]
fn keep<V: Lanes, const BITS: u32>(room: V::Room, eta: i32, b: V, limit: V, places: &mut [i32]) -> usize {
    if BITS == 24 {
        let coeff = coeff_from_three_bytes(room, b);
        coeff.keep_below(coeff, limit, places)
    } else {
        // The key is compared and dropped. It shows which half bytes were taken, and that one is taken says nothing
        // of which of those that are taken it is.
        coeff_from_half_byte(room, eta, b).keep_below(declassify(b), limit, places)
    }
}
