//! The number-theoretic transform and its inverse.

use crate::backend::{Coeffs, Lanes};
use crate::fips204::params::Q;
use crate::kernels::add_q_if_negative;

/// The zetas, computed while compiling. The divisions are the compiler's.
#[allow(clippy::integer_division_remainder_used, reason = "constants")]
mod zetas {
    use super::{Coeffs, Q};

    /// ζ = 1753, a 512th root of unity mod q (FIPS 204, 2.3).
    const ZETA: i64 = 1753;
    /// 256^-1 mod q, the last factor of Algorithm 42.
    const INV_256: i64 = 8347681;
    const _: () = assert!(INV_256 * 256 % Q as i64 == 1);

    /// x·2^32 mod± q for 0 <= x < q: x in Montgomery form, as near to zero as it can be.
    const fn mont(x: i64) -> i32 {
        let r = (x << 32) % Q as i64;
        (if r > Q as i64 / 2 { r - Q as i64 } else { r }) as i32
    }

    /// The 8 bits of m in reverse order.
    /// FIPS 204, Algorithm 43, BitRev8.
    const fn bit_rev_8(m: u8) -> u8 {
        m.reverse_bits()
    }

    /// `ZETAS[m]` = ζ^BitRev8(m) in Montgomery form (FIPS 204, Appendix B).
    pub(super) const ZETAS: Coeffs = {
        let mut powers = [1i64; 256];
        let mut i = 1;
        while i < 256 {
            powers[i] = powers[i - 1] * ZETA % Q as i64;
            i += 1;
        }
        let mut zetas = [0; 256];
        let mut m = 0;
        while m < 256 {
            zetas[m] = mont(powers[bit_rev_8(m as u8) as usize]);
            m += 1;
        }
        zetas
    };

    /// The inverse transform's zetas in the order in which it meets them: group g of a layer of 2^i groups takes
    /// -ζ^BitRev8(2^(i+1) - 1 - g), stored at 2^i + g.
    pub(super) const INV_ZETAS: Coeffs = {
        let mut inverse = [0; 256];
        let mut groups = 1;
        while groups < 256 {
            let mut g = 0;
            while g < groups {
                inverse[groups + g] = -ZETAS[2 * groups - 1 - g];
                g += 1;
            }
            groups *= 2;
        }
        inverse
    };

    /// 256^-1·2^32 in Montgomery form: undoes the factor 256 of the eight layers, and the factor 2^-32 that every
    /// product made by [`dot`](crate::kernels::pointwise::dot) carries.
    pub(super) const F: i32 = mont((INV_256 << 32) % Q as i64);
}
use zetas::{F, INV_ZETAS, ZETAS};

/// Layer i of 8 has 2^i groups of 2·len coefficients, len = 128 / 2^i.
const fn len(layer: u32) -> usize {
    128 >> layer
}

/// w -> ŵ = NTT(w), in place.
/// FIPS 204, Algorithm 41, NTT.
///
/// Bounds: in 0 <= w < q; each of the 8 layers adds less than q, so out |ŵ| < 9q < 2^27.
/// Time: independent of w.
/// Differs from the standard: two layers a pass while both lie across registers; zetas in Montgomery form; sums are not
/// reduced.
#[inline(always)]
pub(crate) fn ntt<V: Lanes>(room: V::Room, w: &mut Coeffs) {
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
    let butterfly = |a: V, b: V, zeta: V| {
        let t = b.mont_mul(zeta);
        (a + t, a - t)
    };
    let mut layer = 0;
    while layer < 7 && len(layer + 1) >= V::N {
        let (groups, half) = (1 << layer, len(layer + 1));
        for g in 0..groups {
            let zeta = V::splat(room, ZETAS[groups + g]);
            let (zeta_low, zeta_high) =
                (V::splat(room, ZETAS[2 * (groups + g)]), V::splat(room, ZETAS[2 * (groups + g) + 1]));
            let start = 4 * half * g;
            for j in (start..start + half).step_by(V::N) {
                let [a, b, c, d] = [0, 1, 2, 3].map(|i| V::load(room, w, j + i * half));
                let ((a, c), (b, d)) = (butterfly(a, c, zeta), butterfly(b, d, zeta));
                let ((a, b), (c, d)) = (butterfly(a, b, zeta_low), butterfly(c, d, zeta_high));
                [a, b, c, d].into_iter().zip(0..).for_each(|(x, i)| x.store(w, j + i * half));
            }
        }
        layer += 2;
    }
    while layer < 8 && len(layer) >= V::N {
        let (groups, len) = (1 << layer, len(layer));
        for g in 0..groups {
            let zeta = V::splat(room, ZETAS[groups + g]);
            let start = 2 * len * g;
            for j in (start..start + len).step_by(V::N) {
                let (a, b) = butterfly(V::load(room, w, j), V::load(room, w, j + len), zeta);
                a.store(w, j);
                b.store(w, j + len);
            }
        }
        layer += 1;
    }
    while layer < 8 {
        for j in (0..256).step_by(V::N) {
            let zeta = V::zetas(room, &ZETAS, (1 << layer) + (j >> (8 - layer)), len(layer));
            let (a, b) = V::load(room, w, j).halves(len(layer));
            let (a, b) = butterfly(a, b, zeta);
            V::blend(a, b, len(layer)).store(w, j);
        }
        layer += 1;
    }
    debug_assert!(w.iter().all(|x| x.abs() < 9 * Q));
}

/// ŵ -> w = 2^32·NTT^-1(ŵ), in place: the inverse transform of a sum of products as `dot` leaves it.
/// FIPS 204, Algorithm 42, NTT^-1.
///
/// Bounds: in |ŵ| < q; sums double in each of the 8 layers, so |·| < 256q < 2^31 throughout; out 0 <= w < q.
/// Time: independent of ŵ.
/// Differs from the standard: two layers a pass as in `ntt`; the last factor is 2^32/256 instead of 1/256.
#[inline(always)]
pub(crate) fn inv_ntt<V: Lanes>(room: V::Room, w: &mut Coeffs) {
    debug_assert!(w.iter().all(|x| x.abs() < Q));
    let butterfly = |a: V, b: V, zeta: V| (a + b, (a - b).mont_mul(zeta));
    let mut layer = 8;
    while layer > 0 && len(layer - 1) < V::N {
        layer -= 1;
        for j in (0..256).step_by(V::N) {
            let zeta = V::zetas(room, &INV_ZETAS, (1 << layer) + (j >> (8 - layer)), len(layer));
            let (a, b) = V::load(room, w, j).halves(len(layer));
            let (a, b) = butterfly(a, b, zeta);
            V::blend(a, b, len(layer)).store(w, j);
        }
    }
    if layer & 1 == 1 {
        layer -= 1;
        let (groups, len) = (1 << layer, len(layer));
        for g in 0..groups {
            let zeta = V::splat(room, INV_ZETAS[groups + g]);
            let start = 2 * len * g;
            for j in (start..start + len).step_by(V::N) {
                let (a, b) = butterfly(V::load(room, w, j), V::load(room, w, j + len), zeta);
                a.store(w, j);
                b.store(w, j + len);
            }
        }
    }
    while layer > 0 {
        layer -= 2;
        let (groups, half) = (1 << layer, len(layer + 1));
        for g in 0..groups {
            let zeta = V::splat(room, INV_ZETAS[groups + g]);
            let (zeta_low, zeta_high) = (
                V::splat(room, INV_ZETAS[2 * (groups + g)]),
                V::splat(room, INV_ZETAS[2 * (groups + g) + 1]),
            );
            let start = 4 * half * g;
            for j in (start..start + half).step_by(V::N) {
                let [a, b, c, d] = [0, 1, 2, 3].map(|i| V::load(room, w, j + i * half));
                let ((a, b), (c, d)) = (butterfly(a, b, zeta_low), butterfly(c, d, zeta_high));
                let ((a, c), (b, d)) = (butterfly(a, c, zeta), butterfly(b, d, zeta));
                [a, b, c, d].into_iter().zip(0..).for_each(|(x, i)| x.store(w, j + i * half));
            }
        }
    }
    let f = V::splat(room, F);
    for j in (0..256).step_by(V::N) {
        add_q_if_negative(room, V::load(room, w, j).mont_mul(f)).store(w, j);
    }
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
}
