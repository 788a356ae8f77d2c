//! The number-theoretic transform and its inverse.

use crate::backend::{Coeffs, Lanes};
use crate::fips204::params::Q;
use crate::kernels::add_q_if_negative;

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

/// ζ = 1753, a 512th root of unity mod q (FIPS 204, 2.3).
const ZETA: i64 = 1753;

/// `ZETAS[m]` = ζ^BitRev8(m) in Montgomery form (FIPS 204, Appendix B).
pub(crate) const ZETAS: Coeffs = {
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

/// The inverse transform's zetas in the order in which it meets them:
/// group g of the layer with distance `len` takes -ζ^BitRev8(256/len - 1 - g), stored at 128/len + g.
const INV_ZETAS: Coeffs = {
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

/// 256^-1·2^32 in Montgomery form: undoes the factor 256 of the eight layers, and the factor 2^-32 that every product
/// made by [`dot`](super::pointwise::dot) carries.
const F: i32 = mont((8347681i64 << 32) % Q as i64);
const _: () = assert!(8347681i64 * 256 % Q as i64 == 1);

/// w -> ŵ = NTT(w), in place.
/// FIPS 204, Algorithm 41, NTT.
///
/// Bounds: in 0 <= w < q; each of the 8 layers adds less than q, so out |ŵ| < 9q < 2^27.
/// Time: independent of w.
/// Differs from the standard: zetas in Montgomery form; sums are not reduced before the end, nor there.
#[inline(always)]
pub(crate) fn ntt<V: Lanes>(room: V::Room, w: &mut Coeffs) {
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
    let mut len = 128;
    while len >= V::N {
        let groups = 128 / len; // len is public
        for g in 0..groups {
            let zeta = V::splat(room, ZETAS[groups + g]);
            let start = 2 * len * g;
            for j in (start..start + len).step_by(V::N) {
                let (a, b) = (V::load(room, w, j), V::load(room, w, j + len));
                let t = b.mont_mul(zeta);
                (a - t).store(w, j + len);
                (a + t).store(w, j);
            }
        }
        len /= 2;
    }
    while len > 0 {
        for j in (0..256).step_by(V::N) {
            let (a, b) = V::load(room, w, j).halves(len);
            let t = b.mont_mul(V::zetas(room, &ZETAS, 128 / len + j / (2 * len), len));
            V::blend(a + t, a - t, len).store(w, j);
        }
        len /= 2;
    }
    debug_assert!(w.iter().all(|x| x.abs() < 9 * Q));
}

/// ŵ -> w = 2^32·NTT^-1(ŵ), in place: the inverse transform of a sum of products as `dot` leaves it.
/// FIPS 204, Algorithm 42, NTT^-1.
///
/// Bounds: in |ŵ| < q; sums double in each of the 8 layers, so |·| < 256q < 2^31 throughout; out 0 <= w < q.
/// Time: independent of ŵ.
/// Differs from the standard: the last factor is 2^32/256 instead of 1/256.
#[inline(always)]
pub(crate) fn inv_ntt<V: Lanes>(room: V::Room, w: &mut Coeffs) {
    debug_assert!(w.iter().all(|x| x.abs() < Q));
    let mut len = 1;
    while len < V::N {
        for j in (0..256).step_by(V::N) {
            let (a, b) = V::load(room, w, j).halves(len);
            let zeta = V::zetas(room, &INV_ZETAS, 128 / len + j / (2 * len), len);
            V::blend(a + b, (a - b).mont_mul(zeta), len).store(w, j);
        }
        len *= 2;
    }
    while len < 256 {
        let groups = 128 / len;
        for g in 0..groups {
            let zeta = V::splat(room, INV_ZETAS[groups + g]);
            let start = 2 * len * g;
            for j in (start..start + len).step_by(V::N) {
                let (a, b) = (V::load(room, w, j), V::load(room, w, j + len));
                (a + b).store(w, j);
                (a - b).mont_mul(zeta).store(w, j + len);
            }
        }
        len *= 2;
    }
    let f = V::splat(room, F);
    for j in (0..256).step_by(V::N) {
        add_q_if_negative(room, V::load(room, w, j).mont_mul(f)).store(w, j);
    }
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
}
