//! A look at one operation of the lanes, for the exhaustive tests.

use crate::backend::{Coeffs, Lanes};
use crate::kernels::QINV;

/// w·zeta·2^-32 mod q, coefficient by coefficient, as `mont_mul` leaves it; told or not told that the zetas are the same
/// in pairs of lanes, which they are.
///
/// Bounds: in |w| <= 256q, 0 <= zeta < q; out |w| < q.
#[inline(always)]
pub(crate) fn mont_mul<V: Lanes>(room: V::Room, w: &mut Coeffs, zeta: i32, told: bool) {
    let (zeta, quotient) = (V::splat(room, zeta), V::splat(room, zeta.wrapping_mul(QINV)));
    for cell in V::cells_mut(w) {
        let x = V::load(room, cell);
        let product = if told {
            x.mont_mul(room, zeta, quotient, true)
        } else {
            x.mont_mul(room, zeta, quotient, false)
        };
        product.store(cell);
    }
}
