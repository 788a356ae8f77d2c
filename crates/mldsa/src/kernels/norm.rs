//! The infinity norm.

use crate::backend::{Coeffs, Lanes};
use crate::fips204::params::{HALF_Q, Q};

/// ‖w‖∞ < bound, where ‖·‖∞ takes representatives mod± q (FIPS 204, 2.3).
///
/// Bounds: in 0 <= w < q, 0 < bound <= (q - 1)/8.
/// Time: independent of w; the answer alone is shown.
#[inline(always)]
pub(crate) fn norm_below<V: Lanes>(room: V::Room, w: &Coeffs, bound: i32) -> bool {
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
    let half = V::splat(room, HALF_Q);
    let q_plus_1 = V::splat(room, Q + 1);
    let limit = V::splat(room, bound - 1);
    let mut over = V::splat(room, 0);
    for cell in V::cells(w) {
        let a = V::load(room, cell);
        let upper = (half - a).sar::<31>(); // -1 where a > (q - 1)/2, whose absolute value is q - a = !a + q + 1
        let abs = (a ^ upper) + (upper & q_plus_1);
        over = over | (limit - abs).sar::<31>();
    }
    !over.any()
}
