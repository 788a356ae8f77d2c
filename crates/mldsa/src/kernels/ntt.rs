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

    /// x·2^32 mod q for 0 <= x < q: x in Montgomery form.
    const fn mont(x: i64) -> i32 {
        ((x << 32) % Q as i64) as i32
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
                inverse[groups + g] = Q - ZETAS[2 * groups - 1 - g];
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
/// Bounds: in and out [0, q); each of the 8 layers adds less than q, so |·| < 9q < 2^27 before the end.
/// Time: independent of w.
/// Differs from the standard: two layers a pass while both lie across registers; zetas in Montgomery form; sums are
/// reduced once, at the end.
#[inline(always)]
pub(crate) fn ntt<V: Lanes>(room: V::Room, w: &mut Coeffs) {
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
    let mut layer = 0;
    while layer < 7 && len(layer + 1) >= V::N {
        two_layers::<V>(room, w, layer);
        layer += 2;
    }
    if layer < 8 && len(layer) >= V::N {
        one_layer::<V>(room, w, layer, &ZETAS, butterfly);
        layer += 1;
    }
    while layer < 8 {
        layer_within::<V>(room, w, layer, &ZETAS, butterfly);
        layer += 1;
    }
    for cell in V::cells_mut(w) {
        // x - ⌊x / 2^23⌉·q: for |x| < 9q the rest is below 2^22 + 9·2^13 < q.
        let x = V::load(room, cell);
        let quotient = (x + V::splat(room, 1 << 22)).sar::<23>();
        add_q_if_negative(room, x - quotient.mul_low(V::splat(room, Q))).store(cell);
    }
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
}

/// ŵ -> w = 2^32·NTT^-1(ŵ), in place: the inverse transform of a sum of products as `dot` leaves it.
/// FIPS 204, Algorithm 42, NTT^-1.
///
/// Bounds: in and out [0, q); sums double in each of the 8 layers, so |·| < 256q < 2^31 before the end.
/// Time: independent of ŵ.
/// Differs from the standard: two layers a pass as in `ntt`; the last factor is 2^32/256 instead of 1/256.
#[inline(always)]
pub(crate) fn inv_ntt<V: Lanes>(room: V::Room, w: &mut Coeffs) {
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
    let mut layer = 8;
    while layer > 0 && len(layer - 1) < V::N {
        layer -= 1;
        layer_within::<V>(room, w, layer, &INV_ZETAS, inv_butterfly);
    }
    if layer & 1 == 1 {
        layer -= 1;
        one_layer::<V>(room, w, layer, &INV_ZETAS, inv_butterfly);
    }
    while layer > 0 {
        layer -= 2;
        inv_two_layers::<V>(room, w, layer);
    }
    let f = V::splat(room, F);
    for cell in V::cells_mut(w) {
        add_q_if_negative(room, V::load(room, cell).mont_mul(f)).store(cell);
    }
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
}

/// (a, b) -> (a + ζb, a - ζb): steps 10 to 12 of Algorithm 41.
#[inline(always)]
fn butterfly<V: Lanes>(a: V, b: V, zeta: V) -> (V, V) {
    let t = b.mont_mul(zeta);
    (a + t, a - t)
}

/// (a, b) -> (a + b, -ζ(b - a)): steps 10 to 13 of Algorithm 42, with -ζ in the table.
#[inline(always)]
fn inv_butterfly<V: Lanes>(a: V, b: V, zeta: V) -> (V, V) {
    (a + b, (a - b).mont_mul(zeta))
}

/// A layer whose partners lie in different registers.
#[inline(always)]
fn one_layer<V: Lanes>(
    room: V::Room,
    w: &mut Coeffs,
    layer: u32,
    zetas: &Coeffs,
    step: impl Fn(V, V, V) -> (V, V),
) {
    let half = len(layer) >> V::N.trailing_zeros();
    for (group, zeta) in V::cells_mut(w).chunks_exact_mut(2 * half).zip(&zetas[1 << layer..]) {
        let zeta = V::splat(room, *zeta);
        let (low, high) = group.split_at_mut(half);
        for (a, b) in low.iter_mut().zip(high) {
            let (x, y) = step(V::load(room, a), V::load(room, b), zeta);
            x.store(a);
            y.store(b);
        }
    }
}

/// A layer whose partners lie in one register.
#[inline(always)]
fn layer_within<V: Lanes>(
    room: V::Room,
    w: &mut Coeffs,
    layer: u32,
    zetas: &Coeffs,
    step: impl Fn(V, V, V) -> (V, V),
) {
    for (i, cell) in V::cells_mut(w).iter_mut().enumerate() {
        let zeta = V::zetas(room, zetas, (1 << layer) + ((i * V::N) >> (8 - layer)), len(layer));
        let (a, b) = V::load(room, cell).halves(len(layer));
        let (a, b) = step(a, b, zeta);
        V::blend(a, b, len(layer)).store(cell);
    }
}

/// The four quarters of each group of a layer, with the zeta of the group and the two of its halves in the next layer.
#[inline(always)]
fn quarters<'a, V: Lanes + 'a>(
    w: &'a mut Coeffs,
    layer: u32,
    zetas: &'a Coeffs,
) -> impl Iterator<Item = ([&'a mut [V::Cell]; 4], i32, &'a [i32; 2])> {
    let quarter = len(layer + 1) >> V::N.trailing_zeros();
    let of_groups = &zetas[1 << layer..];
    let of_halves = zetas[2 << layer..].as_chunks().0;
    V::cells_mut(w).chunks_exact_mut(4 * quarter).zip(of_groups.iter().zip(of_halves)).map(
        move |(group, (zeta, zetas))| {
            let (low, high) = group.split_at_mut(2 * quarter);
            let ((a, b), (c, d)) = (low.split_at_mut(quarter), high.split_at_mut(quarter));
            ([a, b, c, d], *zeta, zetas)
        },
    )
}

/// Layers `layer` and `layer + 1` in one pass over memory.
#[inline(always)]
fn two_layers<V: Lanes>(room: V::Room, w: &mut Coeffs, layer: u32) {
    for ([a, b, c, d], zeta, zetas) in quarters::<V>(w, layer, &ZETAS) {
        let [zeta, zeta_low, zeta_high] = [zeta, zetas[0], zetas[1]].map(|zeta| V::splat(room, zeta));
        for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
            let (x0, x2) = butterfly(V::load(room, a), V::load(room, c), zeta);
            let (x1, x3) = butterfly(V::load(room, b), V::load(room, d), zeta);
            let ((x0, x1), (x2, x3)) = (butterfly(x0, x1, zeta_low), butterfly(x2, x3, zeta_high));
            x0.store(a);
            x1.store(b);
            x2.store(c);
            x3.store(d);
        }
    }
}

/// Layers `layer + 1` and `layer` of the inverse in one pass over memory.
#[inline(always)]
fn inv_two_layers<V: Lanes>(room: V::Room, w: &mut Coeffs, layer: u32) {
    for ([a, b, c, d], zeta, zetas) in quarters::<V>(w, layer, &INV_ZETAS) {
        let [zeta, zeta_low, zeta_high] = [zeta, zetas[0], zetas[1]].map(|zeta| V::splat(room, zeta));
        for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
            let (x0, x1) = inv_butterfly(V::load(room, a), V::load(room, b), zeta_low);
            let (x2, x3) = inv_butterfly(V::load(room, c), V::load(room, d), zeta_high);
            let ((x0, x2), (x1, x3)) = (inv_butterfly(x0, x2, zeta), inv_butterfly(x1, x3, zeta));
            x0.store(a);
            x1.store(b);
            x2.store(c);
            x3.store(d);
        }
    }
}
