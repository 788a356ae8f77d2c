//! The number-theoretic transform and its inverse.

use crate::backend::{Coeffs, Lanes};
use crate::fips204::params::Q;
use core::marker::PhantomData;

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

/// Layers whose partners lie in different cells: those with len >= N.
const fn across<V: Lanes>() -> u32 {
    8 - V::N.trailing_zeros()
}

/// w -> ŵ = NTT(w), in place.
/// FIPS 204, Algorithm 41, NTT.
///
/// Bounds: in and out [0, q); each of the 8 layers adds less than q, so |·| < 9q < 2^27 before the end.
/// Time: independent of w.
/// Differs from the standard: several layers a pass over memory; zetas in Montgomery form; sums are reduced once, at
/// the end.
#[inline(always)]
pub(crate) fn ntt<V: Lanes>(room: V::Room, w: &mut Coeffs) {
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
    let mut layer = 0;
    if across::<V>() & 1 == 1 {
        one_layer::<V>(room, w, layer);
        layer += 1;
    }
    while layer + 2 < across::<V>() {
        two_layers::<V>(room, w, layer);
        layer += 2;
    }
    last_layers::<V>(room, w);
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
}

/// ŵ -> w = 2^32·NTT^-1(ŵ), in place: the inverse transform of a sum of products as `dot` leaves it.
/// FIPS 204, Algorithm 42, NTT^-1.
///
/// Bounds: in and out [0, q); sums double in each of the 8 layers, so |·| < 256q < 2^31 before the end.
/// Time: independent of ŵ.
/// Differs from the standard: several layers a pass as in `ntt`; the last factor is 2^32/256 instead of 1/256.
#[inline(always)]
pub(crate) fn inv_ntt<V: Lanes>(room: V::Room, w: &mut Coeffs) {
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
    inv_last_layers::<V>(room, w);
    let mut layer = across::<V>() - 2;
    while layer > 1 {
        layer -= 2;
        inv_two_layers::<V>(room, w, layer);
    }
    if layer == 1 {
        inv_one_layer::<V>(room, w, 0);
    }
    let (f, q) = (V::splat(room, F), V::splat(room, Q));
    for cell in V::cells_mut(w) {
        V::load(room, cell).mont_mul(room, f).add_q_if_negative(q).store(cell);
    }
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
}

/// (a, b) -> (a + ζb, a - ζb): steps 10 to 12 of Algorithm 41.
#[inline(always)]
fn butterfly<V: Lanes>(room: V::Room, a: V, b: V, zeta: V) -> (V, V) {
    let t = b.mont_mul(room, zeta);
    (a + t, a - t)
}

/// (a, b) -> (a + b, -ζ(b - a)): steps 10 to 13 of Algorithm 42, with -ζ in the table.
#[inline(always)]
fn inv_butterfly<V: Lanes>(room: V::Room, a: V, b: V, zeta: V) -> (V, V) {
    (a + b, (a - b).mont_mul(room, zeta))
}

/// One layer.
#[inline(always)]
fn one_layer<V: Lanes>(room: V::Room, w: &mut Coeffs, layer: u32) {
    let half = len(layer) >> V::N.trailing_zeros();
    for (group, zeta) in V::cells_mut(w).chunks_exact_mut(2 * half).zip(&ZETAS[1 << layer..]) {
        let zeta = V::splat(room, *zeta);
        let (low, high) = group.split_at_mut(half);
        for (a, b) in low.iter_mut().zip(high) {
            let (x, y) = butterfly(room, V::load(room, a), V::load(room, b), zeta);
            x.store(a);
            y.store(b);
        }
    }
}

/// One layer of the inverse.
#[inline(always)]
fn inv_one_layer<V: Lanes>(room: V::Room, w: &mut Coeffs, layer: u32) {
    let half = len(layer) >> V::N.trailing_zeros();
    for (group, zeta) in V::cells_mut(w).chunks_exact_mut(2 * half).zip(&INV_ZETAS[1 << layer..]) {
        let zeta = V::splat(room, *zeta);
        let (low, high) = group.split_at_mut(half);
        for (a, b) in low.iter_mut().zip(high) {
            let (x, y) = inv_butterfly(room, V::load(room, a), V::load(room, b), zeta);
            x.store(a);
            y.store(b);
        }
    }
}

/// The four quarters of each group of a layer, with the zeta of the group and the two of its halves in the next layer.
#[inline(always)]
fn quarters<'a, V: Lanes + 'a>(
    w: &'a mut Coeffs,
    layer: u32,
    zetas: &'a Coeffs,
) -> impl Iterator<Item = ([&'a mut [V::Cell]; 4], [i32; 3])> {
    let quarter = len(layer + 1) >> V::N.trailing_zeros();
    let of_groups = &zetas[1 << layer..];
    let of_halves = zetas[2 << layer..].as_chunks().0;
    V::cells_mut(w).chunks_exact_mut(4 * quarter).zip(of_groups.iter().zip(of_halves)).map(
        move |(group, (zeta, [zeta_low, zeta_high]))| {
            let (low, high) = group.split_at_mut(2 * quarter);
            let ((a, b), (c, d)) = (low.split_at_mut(quarter), high.split_at_mut(quarter));
            ([a, b, c, d], [*zeta, *zeta_low, *zeta_high])
        },
    )
}

/// Two layers on four values: partners a, c and b, d; then a, b and c, d.
#[inline(always)]
fn four<V: Lanes>(room: V::Room, [a, b, c, d]: [V; 4], [zeta, zeta_low, zeta_high]: [V; 3]) -> [V; 4] {
    let ((a, c), (b, d)) = (butterfly(room, a, c, zeta), butterfly(room, b, d, zeta));
    let ((a, b), (c, d)) = (butterfly(room, a, b, zeta_low), butterfly(room, c, d, zeta_high));
    [a, b, c, d]
}

/// Two layers of the inverse on four values.
#[inline(always)]
fn inv_four<V: Lanes>(room: V::Room, [a, b, c, d]: [V; 4], [zeta, zeta_low, zeta_high]: [V; 3]) -> [V; 4] {
    let ((a, b), (c, d)) = (inv_butterfly(room, a, b, zeta_low), inv_butterfly(room, c, d, zeta_high));
    let ((a, c), (b, d)) = (inv_butterfly(room, a, c, zeta), inv_butterfly(room, b, d, zeta));
    [a, b, c, d]
}

/// Layers `layer` and `layer + 1` in one pass over memory.
#[inline(always)]
fn two_layers<V: Lanes>(room: V::Room, w: &mut Coeffs, layer: u32) {
    for ([a, b, c, d], [z0, z1, z2]) in quarters::<V>(w, layer, &ZETAS) {
        let zetas = [V::splat(room, z0), V::splat(room, z1), V::splat(room, z2)];
        for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
            let of_cells = [V::load(room, a), V::load(room, b), V::load(room, c), V::load(room, d)];
            let [w, x, y, z] = four(room, of_cells, zetas);
            w.store(a);
            x.store(b);
            y.store(c);
            z.store(d);
        }
    }
}

/// Layers `layer + 1` and `layer` of the inverse in one pass over memory.
#[inline(always)]
fn inv_two_layers<V: Lanes>(room: V::Room, w: &mut Coeffs, layer: u32) {
    for ([a, b, c, d], [z0, z1, z2]) in quarters::<V>(w, layer, &INV_ZETAS) {
        let zetas = [V::splat(room, z0), V::splat(room, z1), V::splat(room, z2)];
        for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
            let of_cells = [V::load(room, a), V::load(room, b), V::load(room, c), V::load(room, d)];
            let [w, x, y, z] = inv_four(room, of_cells, zetas);
            w.store(a);
            x.store(b);
            y.store(c);
            z.store(d);
        }
    }
}

/// The last two layers across cells, those within cells, and the reduction, in one pass over memory.
///
/// Layers within work on a pair of cells that exchange halves before each layer, so that partners always lie in the
/// same lane of the two; at the end the exchanges are undone.
#[inline(always)]
fn last_layers<V: Lanes>(room: V::Room, w: &mut Coeffs) {
    let (half, q) = (V::splat(room, 1 << 22), V::splat(room, Q));
    // x - ⌊x / 2^23⌉·q: for |x| < 9q the rest is below 2^22 + 9·2^13 < q.
    let reduce = |x: V| (x - (x + half).sar::<23>().mul_low(q)).add_q_if_negative(q);
    for (i, ([a, b, c, d], [z0, z1, z2])) in quarters::<V>(w, across::<V>() - 2, &ZETAS).enumerate() {
        let zetas = [V::splat(room, z0), V::splat(room, z1), V::splat(room, z2)];
        for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
            let of_cells = [V::load(room, a), V::load(room, b), V::load(room, c), V::load(room, d)];
            let [w, x, y, z] = four(room, of_cells, zetas);
            let ((w, x), (y, z)) = (within(room, w, x, 2 * i), within(room, y, z, 2 * i + 1));
            reduce(w).store(a);
            reduce(x).store(b);
            reduce(y).store(c);
            reduce(z).store(d);
        }
    }
}

/// The first layers of the inverse: those within cells and two across.
#[inline(always)]
fn inv_last_layers<V: Lanes>(room: V::Room, w: &mut Coeffs) {
    for (i, ([a, b, c, d], [z0, z1, z2])) in quarters::<V>(w, across::<V>() - 2, &INV_ZETAS).enumerate() {
        let zetas = [V::splat(room, z0), V::splat(room, z1), V::splat(room, z2)];
        for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
            let (w, x) = inv_within(room, V::load(room, a), V::load(room, b), 2 * i);
            let (y, z) = inv_within(room, V::load(room, c), V::load(room, d), 2 * i + 1);
            let [w, x, y, z] = inv_four(room, [w, x, y, z], zetas);
            w.store(a);
            x.store(b);
            y.store(c);
            z.store(d);
        }
    }
}

/// The layers with len < N on the cells 2·pair and 2·pair + 1.
#[inline(always)]
fn within<V: Lanes>(room: V::Room, a: V, b: V, pair: usize) -> (V, V) {
    macro_rules! layer {
        ($a:ident, $b:ident, $stride:literal) => {
            if V::N > $stride {
                ($a, $b) = V::exchange::<$stride>($a, $b);
                ($a, $b) = butterfly(room, $a, $b, Within::<V>::zeta::<$stride>(room, Within::<V>::ZETAS, pair));
            }
        };
    }
    let (mut a, mut b) = (a, b);
    layer!(a, b, 8);
    layer!(a, b, 4);
    layer!(a, b, 2);
    layer!(a, b, 1);
    undo(a, b)
}

/// The layers of the inverse with len < N on the cells 2·pair and 2·pair + 1.
#[inline(always)]
fn inv_within<V: Lanes>(room: V::Room, a: V, b: V, pair: usize) -> (V, V) {
    macro_rules! layer {
        ($a:ident, $b:ident, $stride:literal) => {
            if V::N > $stride {
                ($a, $b) =
                    inv_butterfly(room, $a, $b, Within::<V>::zeta::<$stride>(room, Within::<V>::INV_ZETAS, pair));
                ($a, $b) = V::exchange::<$stride>($a, $b);
            }
        };
    }
    let (mut a, mut b) = exchanges(a, b);
    layer!(a, b, 1);
    layer!(a, b, 2);
    layer!(a, b, 4);
    layer!(a, b, 8);
    (a, b)
}

/// The exchanges of all layers within a pair.
#[inline(always)]
fn exchanges<V: Lanes>(mut a: V, mut b: V) -> (V, V) {
    if V::N > 8 {
        (a, b) = V::exchange::<8>(a, b);
    }
    if V::N > 4 {
        (a, b) = V::exchange::<4>(a, b);
    }
    if V::N > 2 {
        (a, b) = V::exchange::<2>(a, b);
    }
    if V::N > 1 {
        (a, b) = V::exchange::<1>(a, b);
    }
    (a, b)
}

/// The same, undone.
#[inline(always)]
fn undo<V: Lanes>(mut a: V, mut b: V) -> (V, V) {
    if V::N > 1 {
        (a, b) = V::exchange::<1>(a, b);
    }
    if V::N > 2 {
        (a, b) = V::exchange::<2>(a, b);
    }
    if V::N > 4 {
        (a, b) = V::exchange::<4>(a, b);
    }
    if V::N > 8 {
        (a, b) = V::exchange::<8>(a, b);
    }
    (a, b)
}

/// The zetas of the layers with len < N, in the order in which the exchanges leave the coefficients.
struct Within<V>(PhantomData<V>);

/// For each stride 1, 2, 4, 8: N zetas for each of the 128 / N pairs of cells.
type Strides = [[i32; 128]; 4];

impl<V: Lanes> Within<V> {
    const ZETAS: &'static Strides = &Self::ordered(&ZETAS);
    const INV_ZETAS: &'static Strides = &Self::ordered(&INV_ZETAS);

    /// The zetas of one pair of cells for len = STRIDE.
    #[inline(always)]
    fn zeta<const STRIDE: usize>(room: V::Room, zetas: &Strides, pair: usize) -> V {
        V::load(room, &V::cells(&zetas[STRIDE.trailing_zeros() as usize])[pair])
    }

    const fn ordered(zetas: &Coeffs) -> Strides {
        let mut ordered = [[0; 128]; 4];
        // Where the coefficients of a pair (numbered from 0) lie after each exchange.
        let (mut a, mut b) = ([0; 16], [0; 16]);
        let mut j = 0;
        while j < V::N {
            (a[j], b[j]) = (j, V::N + j);
            j += 1;
        }
        let mut stride = V::N >> 1;
        while stride > 0 {
            let (old_a, old_b) = (a, b);
            j = 0;
            while j < V::N {
                let lower = j & !stride;
                a[j] = if j & stride == 0 { old_a[lower] } else { old_b[lower] };
                b[j] = if j & stride == 0 { old_a[lower | stride] } else { old_b[lower | stride] };
                j += 1;
            }
            let layer = 7 - stride.trailing_zeros();
            let mut place = 0;
            while place < 128 {
                // Lane place mod N of pair place / N, N a power of two.
                let coefficient = 2 * (place & !(V::N - 1)) + a[place & (V::N - 1)];
                ordered[stride.trailing_zeros() as usize][place] = zetas[(1 << layer) + (coefficient >> (8 - layer))];
                place += 1;
            }
            stride >>= 1;
        }
        ordered
    }
}
