//! The infinity norm, and which coefficients are not zero.

use crate::backend::{Coeffs, Lanes, PLACES};
use crate::fips204::params::Q;

/// ‖w‖∞ < bound, where ‖·‖∞ takes representatives mod± q (FIPS 204, 2.3).
///
/// Bounds: in 0 <= w < q, 0 < bound <= (q - 1)/8.
/// Time: independent of w; the answer alone is shown.
#[inline(always)]
pub(crate) fn norm_below<V: Lanes>(room: V::Room, w: &Coeffs, bound: i32) -> bool {
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
    let mut norm = Norm::below(room, bound);
    for cell in V::cells(w) {
        norm.look_at(V::load(room, cell));
    }
    norm.holds(room)
}

/// Whether ‖·‖∞ of what was looked at so far is below a bound.
pub(crate) struct Norm<V> {
    bound: V,
    /// q - bound.
    upper: V,
    /// Negative where it is.
    so_far: V,
}

impl<V: Lanes> Norm<V> {
    /// Of nothing yet. Bounds: 0 < bound <= (q - 1)/8.
    #[inline(always)]
    pub(crate) fn below(room: V::Room, bound: i32) -> Self {
        debug_assert!(0 < bound && bound <= (Q - 1) >> 3);
        Norm { bound: V::splat(room, bound), upper: V::splat(room, Q - bound), so_far: V::splat(room, -1) }
    }

    /// |a mod± q| < bound where a < bound or a > q - bound. Bounds: 0 <= a < q.
    #[inline(always)]
    pub(crate) fn look_at(&mut self, a: V) {
        self.so_far = self.so_far & ((a - self.bound) | (self.upper - a));
    }

    /// The answer.
    #[inline(always)]
    pub(crate) fn holds(self, room: V::Room) -> bool {
        !(self.so_far.sar::<31>() ^ V::splat(room, -1)).any()
    }
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
