//! The infinity norm, and which coefficients are not zero.

use crate::backend::{Coeffs, Lanes, PLACES};
use crate::fips204::params::{HALF_Q, Q};

/// ‖w‖∞ < bound, where ‖·‖∞ takes representatives mod± q (FIPS 204, 2.3).
///
/// Bounds: in 0 <= w < q, 0 < bound <= (q - 1)/8.
/// Time: independent of w; the answer alone is shown.
#[inline(always)]
pub(crate) fn norm_below<V: Lanes>(room: V::Room, w: &Coeffs, bound: i32) -> bool {
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
    let limit = V::splat(room, bound - 1);
    let mut over = V::splat(room, 0);
    for cell in V::cells(w) {
        over = over | beyond(room, V::load(room, cell), limit);
    }
    !over.any()
}

/// -1 where |a mod± q| > limit, 0 elsewhere. Bounds: in 0 <= a < q, 0 <= limit < (q - 1)/8.
#[inline(always)]
pub(crate) fn beyond<V: Lanes>(room: V::Room, a: V, limit: V) -> V {
    let upper = (V::splat(room, HALF_Q) - a).sar::<31>(); // -1 where a > (q - 1)/2: |a| is q - a = !a + q + 1
    let abs = (a ^ upper) + (upper & V::splat(room, Q + 1));
    (limit - abs).sar::<31>()
}

/// The places of the coefficients that are not zero, in order; returns how many there are.
///
/// Bounds: in 0 <= w < q.
#[inline(always)]
pub(crate) fn places<V: Lanes>(room: V::Room, w: &Coeffs, out: &mut [i32; PLACES]) -> usize {
    let (zero, one) = (V::splat(room, 0), V::splat(room, 1));
    let mut found = 0;
    for (i, cell) in V::cells(w).iter().enumerate() {
        let is_zero = (zero - V::load(room, cell)).sar::<31>() + one;
        let place = V::count_from(room, (i * V::N) as i32);
        found += place.keep_below(is_zero, one, &mut out[found..found + V::N]);
    }
    found
}
