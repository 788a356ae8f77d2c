//! High-order and low-order bits, and hints.

use crate::backend::{Coeffs, Lanes, PACKED};
use crate::fips204::params::{D, GAMMA2_32, GAMMA2_88, HALF_Q, Q};

/// r -> (r1, r0) with r = r1·2^d + r0 mod q and r0 in (-2^(d-1), 2^(d-1)], stored in [0, q).
/// FIPS 204, Algorithm 35, Power2Round.
///
/// Bounds: in 0 <= r < q; out 0 <= r1 < 2^10, 0 <= r0 < q.
#[inline(always)]
pub(crate) fn power2round<V: Lanes>(room: V::Room, r: &Coeffs, r1: &mut Coeffs, r0: &mut Coeffs) {
    let q = V::splat(room, Q);
    let round = V::splat(room, (1 << (D - 1)) - 1);
    for ((r, r1), r0) in V::cells(r).iter().zip(V::cells_mut(r1)).zip(V::cells_mut(r0)) {
        let a = V::load(room, r);
        let high = (a + round).sar::<D>();
        (a - high.shl::<D>()).add_q_if_negative(q).store(r0);
        high.store(r1);
    }
}

/// ⌈(r - γ2)/(2γ2)⌉: r1 of Decompose before its step 3, in [0, m] for m = (q-1)/(2γ2), where m stands for 0.
///
/// It is ⌊(⌈r/2^7⌉·c + 2^(s-1)) / 2^s⌋ with c ≈ 2^(s+7)/(2γ2), right for all r in [0, q): shown by trying them all
/// (`tests/it.rs`, field digest). No division: r is secret while signing.
#[inline(always)]
fn quotient<V: Lanes, const G: i32>(room: V::Room, r: V) -> V {
    let up = (r + V::splat(room, 127)).sar::<7>();
    if G == GAMMA2_32 {
        (up.mul_low(V::splat(room, 1025)) + V::splat(room, 1 << 21)).sar::<22>()
    } else {
        (up.mul_low(V::splat(room, 11275)) + V::splat(room, 1 << 23)).sar::<24>()
    }
}

/// ⌈r/γ2⌉, in [0, 2m]. The same multiplication, and rounded up: shown by UseHint of all r.
#[inline(always)]
fn steps<V: Lanes, const G: i32>(room: V::Room, r: V) -> V {
    let up = (r + V::splat(room, 127)).sar::<7>();
    if G == GAMMA2_32 {
        (up.mul_low(V::splat(room, 1025)) + V::splat(room, (1 << 21) - 1)).sar::<21>()
    } else {
        (up.mul_low(V::splat(room, 11275)) + V::splat(room, (1 << 23) - 1)).sar::<23>()
    }
}

/// One vector of Decompose: r1 in [0, (q-1)/(2γ2)), r0 in [-γ2, γ2] as a signed number.
#[inline(always)]
fn split<V: Lanes, const G: i32>(room: V::Room, r: V) -> (V, V) {
    let r1 = quotient::<V, G>(room, r);
    let r1 = if G == GAMMA2_32 {
        r1 & V::splat(room, 15) // 16, met at r > q - 1 - γ2, is 0 (step 3)
    } else {
        // 44 is 0 (step 3). 44 + 20 = 2^6, so the mask is 0 there and -1 below. A mask that compares with 43 is one
        // that compilers recognise, and turn into a branch on r1 at some levels of optimisation (`./dev ct`).
        r1 & ((r1 + V::splat(room, 20)).sar::<6>() - V::splat(room, 1))
    };
    let r0 = r - r1.mul_low(V::splat(room, 2 * G));
    // For r1 set to 0 by step 3, r0 is still near q: subtract q, which also makes the 1 less of step 5.
    (r1, r0 - ((V::splat(room, HALF_Q) - r0).sar::<31>() & V::splat(room, Q)))
}

/// r -> (r1, r0) with r = r1·2γ2 + r0 mod q, r0 stored in [0, q).
/// FIPS 204, Algorithm 36, Decompose.
///
/// Bounds: in 0 <= r < q; out 0 <= r1 < (q-1)/(2γ2), 0 <= r0 < q.
/// Time: independent of r.
#[inline(always)]
pub(crate) fn decompose<V: Lanes>(room: V::Room, gamma2: i32, r: &Coeffs, r1: &mut Coeffs, r0: &mut Coeffs) {
    #[inline(always)]
    fn inner<V: Lanes, const G: i32>(room: V::Room, r: &Coeffs, r1: &mut Coeffs, r0: &mut Coeffs) {
        let q = V::splat(room, Q);
        for ((r, r1), r0) in V::cells(r).iter().zip(V::cells_mut(r1)).zip(V::cells_mut(r0)) {
            let (high, low) = split::<V, G>(room, V::load(room, r));
            high.store(r1);
            low.add_q_if_negative(q).store(r0);
        }
    }
    debug_assert!(r.iter().all(|&x| (0..Q).contains(&x)));
    match gamma2 {
        GAMMA2_32 => inner::<V, GAMMA2_32>(room, r, r1, r0),
        _ => inner::<V, GAMMA2_88>(room, r, r1, r0),
    }
}

/// r -> HighBits(r), in place.
/// FIPS 204, Algorithm 37, HighBits.
///
/// Bounds: in 0 <= r < q; out 0 <= r1 < (q-1)/(2γ2).
/// Time: independent of r.
#[inline(always)]
pub(crate) fn high_bits<V: Lanes>(room: V::Room, gamma2: i32, r: &mut Coeffs) {
    #[inline(always)]
    fn inner<V: Lanes, const G: i32>(room: V::Room, r: &mut Coeffs) {
        for r in V::cells_mut(r) {
            split::<V, G>(room, V::load(room, r)).0.store(r);
        }
    }
    match gamma2 {
        GAMMA2_32 => inner::<V, GAMMA2_32>(room, r),
        _ => inner::<V, GAMMA2_88>(room, r),
    }
}

/// ‖LowBits(r)‖∞ < bound.
/// FIPS 204, Algorithm 38, LowBits.
///
/// Bounds: in 0 <= r < q, 0 < bound <= γ2.
/// Time: independent of r; the answer alone is shown.
#[inline(always)]
pub(crate) fn low_bits_below<V: Lanes>(room: V::Room, gamma2: i32, r: &Coeffs, bound: i32) -> bool {
    #[inline(always)]
    fn inner<V: Lanes, const G: i32>(room: V::Room, r: &Coeffs, bound: i32) -> bool {
        let limit = V::splat(room, bound - 1);
        let mut over = V::splat(room, 0);
        for r in V::cells(r) {
            let (_, r0) = split::<V, G>(room, V::load(room, r));
            let negative = r0.sar::<31>();
            over = over | (limit - ((r0 ^ negative) - negative)).sar::<31>();
        }
        !over.any()
    }
    match gamma2 {
        GAMMA2_32 => inner::<V, GAMMA2_32>(room, r, bound),
        _ => inner::<V, GAMMA2_88>(room, r, bound),
    }
}

/// r0 -> r1·2γ2 + r0 mod q: what Decompose took apart.
///
/// Bounds: in 0 <= r1 < (q-1)/(2γ2), 0 <= r0 < q; out [0, q).
#[inline(always)]
pub(crate) fn recompose<V: Lanes>(room: V::Room, gamma2: i32, r1: &Coeffs, r: &mut Coeffs) {
    let (q, step) = (V::splat(room, Q), V::splat(room, 2 * gamma2));
    for (r1, r) in V::cells(r1).iter().zip(V::cells_mut(r)) {
        (V::load(room, r) + V::load(room, r1).mul_low(step) - q).add_q_if_negative(q).store(r);
    }
}

/// h = 1 where adding z to r changes the high bits of r; returns the number of ones.
/// FIPS 204, Algorithm 39, MakeHint.
///
/// Bounds: in 0 <= z, r < q; out h in {0, 1}.
#[inline(always)]
pub(crate) fn make_hint<V: Lanes>(room: V::Room, gamma2: i32, z: &Coeffs, r: &Coeffs, h: &mut Coeffs) -> i32 {
    #[inline(always)]
    fn inner<V: Lanes, const G: i32>(room: V::Room, z: &Coeffs, r: &Coeffs, h: &mut Coeffs) -> i32 {
        let q = V::splat(room, Q);
        let mut weight = V::splat(room, 0);
        for ((z, r), h) in V::cells(z).iter().zip(V::cells(r)).zip(V::cells_mut(h)) {
            let r = V::load(room, r);
            let sum = (r + V::load(room, z) - q).add_q_if_negative(q);
            let hint = differ::<V, G>(room, r, sum);
            weight = weight + hint;
            hint.store(h);
        }
        weight.sum()
    }
    match gamma2 {
        GAMMA2_32 => inner::<V, GAMMA2_32>(room, z, r, h),
        _ => inner::<V, GAMMA2_88>(room, z, r, h),
    }
}

/// 1 where r and s have different high bits, 0 elsewhere.
#[inline(always)]
fn differ<V: Lanes, const G: i32>(room: V::Room, r: V, s: V) -> V {
    let differ = split::<V, G>(room, r).0 ^ split::<V, G>(room, s).0;
    (V::splat(room, 0) - differ).sar::<31>() & V::splat(room, 1)
}

/// z -> h = MakeHint(-z, r + z), in place: 1 where adding z to r changes the high bits. Returns the number of ones.
/// FIPS 204, Algorithm 39, MakeHint.
///
/// Shapes: r packed in 24 bits a coefficient.
/// Bounds: in 0 <= z, r < q; out h in {0, 1}.
#[inline(always)]
pub(crate) fn make_hint_packed<V: Lanes>(
    room: V::Room,
    gamma2: i32,
    r: &[u8; PACKED],
    z: &mut Coeffs,
) -> i32 {
    #[inline(always)]
    fn inner<V: Lanes, const G: i32>(room: V::Room, r: &[u8; PACKED], z: &mut Coeffs) -> i32 {
        let q = V::splat(room, Q);
        let mut weight = V::splat(room, 0);
        let bytes = (V::N * V::GROUP * 24) >> 3;
        for (cells, r) in V::cells_mut(z).chunks_exact_mut(V::GROUP).zip(r.chunks_exact(bytes)) {
            for (r, z) in V::unpack::<24>(room, r).as_ref().iter().zip(cells) {
                let sum = (*r + V::load(room, z) - q).add_q_if_negative(q);
                let hint = differ::<V, G>(room, *r, sum);
                weight = weight + hint;
                hint.store(z);
            }
        }
        weight.sum()
    }
    match gamma2 {
        GAMMA2_32 => inner::<V, GAMMA2_32>(room, r, z),
        _ => inner::<V, GAMMA2_88>(room, r, z),
    }
}

/// The bit above a coefficient where its hint goes along: that of the sign.
pub(crate) const MARK: i32 = i32::MIN;

/// w -> UseHint(h, r), in place, where w is r with its bit [`MARK`] where h is 1: the high bits of r, moved by one there, up
/// if r0 > 0, down otherwise, modulo m = (q-1)/(2γ2).
/// FIPS 204, Algorithm 40, UseHint.
///
/// Bounds: in 0 <= r < q; out [0, m).
#[inline(always)]
pub(crate) fn use_hint<V: Lanes>(room: V::Room, gamma2: i32, w: &mut Coeffs) {
    #[inline(always)]
    fn inner<V: Lanes, const G: i32>(room: V::Room, w: &mut Coeffs) {
        for w in V::cells_mut(w) {
            let marked = V::load(room, w);
            moved::<V, G>(room, marked.sar::<31>(), marked & V::splat(room, !MARK)).store(w);
        }
    }
    match gamma2 {
        GAMMA2_32 => inner::<V, GAMMA2_32>(room, w),
        _ => inner::<V, GAMMA2_88>(room, w),
    }
}

/// `use_hint` of one vector. Bounds: h 0 or -1.
///
/// In steps of γ2, rounded up, r is at 2·r1 where r0 <= 0 and at 2·r1 + 1 where r0 > 0: an odd step that goes one up and an even
/// one that goes one down lie in the next r1 and in the one before. r1 may be m where it stands for 0, and r0 is then not above 0.
#[inline(always)]
fn moved<V: Lanes, const G: i32>(room: V::Room, h: V, r: V) -> V {
    let step = steps::<V, G>(room, r);
    let aside = step - (step ^ V::splat(room, 1)); // 1 where it is odd, -1 where it is even
    let moved = (step + (aside & h)).sar::<1>(); // in -1..=m
    if G == GAMMA2_32 {
        return moved & V::splat(room, 15);
    }
    let m = V::splat(room, 44);
    (moved.add_q_if_negative(m) - m).add_q_if_negative(m)
}
