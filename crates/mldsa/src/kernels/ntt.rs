//! The number-theoretic transform and its inverse.

use crate::backend::{Coeffs, Lanes};
use crate::fips204::params::Q;
use crate::kernels::QINV;
use core::marker::PhantomData;

/// The zetas, computed while compiling. The divisions are the compiler's.
#[allow(clippy::integer_division_remainder_used, reason = "constants")]
pub(crate) mod zetas {
    use super::{Coeffs, Q, QINV};

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

    /// The inverse transform's zetas in the order in which it meets them: group g of a layer of 2^i groups takes
    /// -ζ^BitRev8(2^(i+1) - 1 - g), stored at 2^i + g.
    pub(crate) const INV_ZETAS: Coeffs = {
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

    /// Each zeta times q^-1 mod 2^32: with it, `mont_mul` has both its products at once.
    pub(super) const fn quotients<const N: usize>(zetas: &[i32; N]) -> [i32; N] {
        let mut quotients = [0; N];
        let mut i = 0;
        while i < N {
            quotients[i] = zetas[i].wrapping_mul(QINV);
            i += 1;
        }
        quotients
    }
    pub(super) const ZETA_QUOTIENTS: Coeffs = quotients(&ZETAS);
    pub(super) const INV_ZETA_QUOTIENTS: Coeffs = quotients(&INV_ZETAS);

    /// 256^-1·2^32 in Montgomery form: undoes the factor 256 of the eight layers, and the factor 2^-32 that every
    /// product made by [`dot`](crate::kernels::pointwise::dot) carries.
    pub(crate) const F: i32 = mont((INV_256 << 32) % Q as i64);
    /// F times the zeta of the inverse's last layer.
    pub(crate) const F_ZETA: i32 = ((F as i64 * unmont(INV_ZETAS[1])) % Q as i64) as i32;

    /// The number that a Montgomery form stands for: x·2^-32 mod q, and 2^-32 = (2^32)^(q - 2).
    const fn unmont(x: i32) -> i64 {
        let (mut power, mut base, mut e) = (1i64, (1 << 32) % Q as i64, Q - 2);
        while e > 0 {
            if e & 1 == 1 {
                power = power * base % Q as i64;
            }
            base = base * base % Q as i64;
            e >>= 1;
        }
        x as i64 * power % Q as i64
    }
}
use zetas::{F, F_ZETA, INV_ZETA_QUOTIENTS, INV_ZETAS, ZETA_QUOTIENTS, ZETAS, quotients};

/// A zeta in Montgomery form, and its quotient: itself times q^-1 mod 2^32.
#[derive(Clone, Copy)]
struct Zeta<V> {
    zeta: V,
    quotient: V,
    /// Whether lanes 2i and 2i + 1 have the same zeta.
    in_pairs: bool,
}

impl<V: Lanes> Zeta<V> {
    /// The same zeta in every lane.
    #[inline(always)]
    fn splat(room: V::Room, zeta: i32, quotient: i32) -> Self {
        Zeta { zeta: V::splat(room, zeta), quotient: V::splat(room, quotient), in_pairs: true }
    }

    /// x·zeta·2^-32 mod q.
    #[inline(always)]
    fn times(self, room: V::Room, x: V) -> V {
        x.mont_mul(room, self.zeta, self.quotient, self.in_pairs)
    }
}

/// The zetas of a direction, and their quotients.
type Tables = (&'static Coeffs, &'static Coeffs);
const FORWARD: Tables = (&ZETAS, &ZETA_QUOTIENTS);
const INVERSE: Tables = (&INV_ZETAS, &INV_ZETA_QUOTIENTS);

/// Layer i of 8 has 2^i groups of 2·len coefficients, len = 128 / 2^i.
const fn len(layer: u32) -> usize {
    128 >> layer
}

/// Layers whose partners lie in different cells: those with len >= N. 8, 5 or 4.
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
    if let Some([ntt, _]) = V::TRANSFORMS {
        return ntt(w);
    }
    if V::COMPACT {
        return ntt_compactly::<V>(room, w);
    }
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
/// Differs from the standard: several layers a pass as in `ntt`; the last factor is 2^32/256 instead of 1/256, and is
/// taken with the zeta of the last layer where there is one.
#[inline(always)]
pub(crate) fn inv_ntt<V: Lanes>(room: V::Room, w: &mut Coeffs) {
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
    if let Some([_, inv_ntt]) = V::TRANSFORMS {
        return inv_ntt(w);
    }
    if V::COMPACT {
        return inv_ntt_compactly::<V>(room, w);
    }
    inv_last_layers::<V>(room, w);
    let mut layer = across::<V>() - 2;
    if layer & 1 == 1 {
        layer -= 1;
        inv_one_layer::<V>(room, w, layer);
    }
    while layer > 2 {
        layer -= 2;
        inv_two_layers::<V>(room, w, layer);
    }
    inv_first_layers::<V>(room, w);
    debug_assert!(w.iter().all(|&x| (0..Q).contains(&x)));
}

/// `ntt` one layer a pass, as Algorithm 41 has it.
#[inline(always)]
fn ntt_compactly<V: Lanes>(room: V::Room, w: &mut Coeffs) {
    for layer in 0..8 {
        one_layer::<V>(room, w, layer);
    }
    let (half, q) = (V::splat(room, 1 << 22), V::splat(room, Q));
    for cell in V::cells_mut(w) {
        canonical(V::load(room, cell), half, q).store(cell);
    }
}

/// `inv_ntt` one layer a pass, as Algorithm 42 has it: with the zetas of `ntt`, from the last one back.
#[inline(always)]
fn inv_ntt_compactly<V: Lanes>(room: V::Room, w: &mut Coeffs) {
    for layer in (0..8).rev() {
        for (group, halves) in halves::<V>(w, layer) {
            let m = ((3 << layer) - 1 - group) & 255;
            let zeta = Zeta::splat(room, ZETAS[m], ZETA_QUOTIENTS[m]);
            for (a, b) in halves {
                let (x, y) = (V::load(room, a), V::load(room, b));
                (x + y).store(a);
                zeta.times(room, y - x).store(b);
            }
        }
    }
    let (f, q) = (Zeta::splat(room, F, F.wrapping_mul(QINV)), V::splat(room, Q));
    for cell in V::cells_mut(w) {
        f.times(room, V::load(room, cell)).add_q_if_negative(q).store(cell);
    }
}

/// x - ⌊x / 2^23⌉·q: for |x| < 9q the rest is below 2^22 + 9·2^13 < q; and q more where that is negative. `half` is 2^22.
#[inline(always)]
fn canonical<V: Lanes>(x: V, half: V, q: V) -> V {
    (x - (x + half).sar::<23>().mul_low(q)).add_q_if_negative(q)
}

/// (a, b) -> (a + ζb, a - ζb): steps 10 to 12 of Algorithm 41.
#[inline(always)]
fn butterfly<V: Lanes>(room: V::Room, (a, b): (V, V), zeta: Zeta<V>) -> (V, V) {
    let t = zeta.times(room, b);
    (a + t, a - t)
}

/// (a, b) -> (a + b, -ζ(b - a)): steps 10 to 13 of Algorithm 42, with -ζ in the table.
#[inline(always)]
fn inv_butterfly<V: Lanes>(room: V::Room, (a, b): (V, V), zeta: Zeta<V>) -> (V, V) {
    (a + b, zeta.times(room, a - b))
}

/// The two halves of each group of a layer, with the place of the group's zeta.
#[inline(always)]
fn halves<V: Lanes>(
    w: &mut Coeffs,
    layer: u32,
) -> impl Iterator<Item = (usize, impl Iterator<Item = (&mut V::Cell, &mut V::Cell)>)> {
    let half = len(layer) >> V::N.trailing_zeros();
    V::cells_mut(w).chunks_exact_mut(2 * half).enumerate().map(move |(i, group)| {
        let (low, high) = group.split_at_mut(half);
        ((1 << layer) + i, low.iter_mut().zip(high))
    })
}

/// One layer across cells.
#[inline(always)]
fn one_layer<V: Lanes>(room: V::Room, w: &mut Coeffs, layer: u32) {
    for (group, halves) in halves::<V>(w, layer) {
        let zeta = Zeta::splat(room, ZETAS[group & 255], ZETA_QUOTIENTS[group & 255]);
        for (a, b) in halves {
            let (x, y) = butterfly(room, (V::load(room, a), V::load(room, b)), zeta);
            x.store(a);
            y.store(b);
        }
    }
}

/// One layer of the inverse across cells.
#[inline(always)]
fn inv_one_layer<V: Lanes>(room: V::Room, w: &mut Coeffs, layer: u32) {
    for (group, halves) in halves::<V>(w, layer) {
        let zeta = Zeta::splat(room, INV_ZETAS[group & 255], INV_ZETA_QUOTIENTS[group & 255]);
        for (a, b) in halves {
            let (x, y) = inv_butterfly(room, (V::load(room, a), V::load(room, b)), zeta);
            x.store(a);
            y.store(b);
        }
    }
}

/// The zeta of a group of a layer, and those of its two halves in the next layer.
type Three<V> = [Zeta<V>; 3];

#[inline(always)]
fn three<V: Lanes>(room: V::Room, (zetas, quotients): Tables, group: usize) -> Three<V> {
    let splat = |i: usize| Zeta::splat(room, zetas[i & 255], quotients[i & 255]);
    [splat(group), splat(2 * group), splat(2 * group + 1)]
}

/// The four quarters of each group of a layer, with the place of the group's zeta.
#[inline(always)]
fn quarters<V: Lanes>(
    w: &mut Coeffs,
    layer: u32,
) -> impl Iterator<Item = (usize, impl Iterator<Item = [&mut V::Cell; 4]>)> {
    let quarter = len(layer + 1) >> V::N.trailing_zeros();
    V::cells_mut(w).chunks_exact_mut(4 * quarter).enumerate().map(move |(i, group)| {
        let (low, high) = group.split_at_mut(2 * quarter);
        let ((a, b), (c, d)) = (low.split_at_mut(quarter), high.split_at_mut(quarter));
        ((1 << layer) + i, a.iter_mut().zip(b).zip(c.iter_mut().zip(d)).map(|((a, b), (c, d))| [a, b, c, d]))
    })
}

#[inline(always)]
fn load<V: Lanes>(room: V::Room, [a, b, c, d]: &[&mut V::Cell; 4]) -> [V; 4] {
    [V::load(room, a), V::load(room, b), V::load(room, c), V::load(room, d)]
}

/// Eight cells, without a closure: one that is not inlined would lose the room's target features.
#[inline(always)]
fn load_eight<V: Lanes>(room: V::Room, [a, b, c, d, e, f, g, h]: &[V::Cell; 8]) -> [V; 8] {
    [
        V::load(room, a),
        V::load(room, b),
        V::load(room, c),
        V::load(room, d),
        V::load(room, e),
        V::load(room, f),
        V::load(room, g),
        V::load(room, h),
    ]
}

#[inline(always)]
fn store<V: Lanes>([w, x, y, z]: [V; 4], [a, b, c, d]: [&mut V::Cell; 4]) {
    w.store(a);
    x.store(b);
    y.store(c);
    z.store(d);
}

/// Two layers on four values: partners a, c and b, d; then a, b and c, d.
#[inline(always)]
fn four<V: Lanes>(room: V::Room, [a, b, c, d]: [V; 4], [zeta, low, high]: Three<V>) -> [V; 4] {
    let ((a, c), (b, d)) = (butterfly(room, (a, c), zeta), butterfly(room, (b, d), zeta));
    let ((a, b), (c, d)) = (butterfly(room, (a, b), low), butterfly(room, (c, d), high));
    [a, b, c, d]
}

/// Two layers of the inverse on four values.
#[inline(always)]
fn inv_four<V: Lanes>(room: V::Room, [a, b, c, d]: [V; 4], [zeta, low, high]: Three<V>) -> [V; 4] {
    let ((a, b), (c, d)) = (inv_butterfly(room, (a, b), low), inv_butterfly(room, (c, d), high));
    let ((a, c), (b, d)) = (inv_butterfly(room, (a, c), zeta), inv_butterfly(room, (b, d), zeta));
    [a, b, c, d]
}

/// Layers `layer` and `layer + 1` in one pass over memory.
#[inline(always)]
fn two_layers<V: Lanes>(room: V::Room, w: &mut Coeffs, layer: u32) {
    for (group, quarters) in quarters::<V>(w, layer) {
        let zetas = three::<V>(room, FORWARD, group);
        for cells in quarters {
            store(four(room, load(room, &cells), zetas), cells);
        }
    }
}

/// Layers `layer + 1` and `layer` of the inverse in one pass over memory.
#[inline(always)]
fn inv_two_layers<V: Lanes>(room: V::Room, w: &mut Coeffs, layer: u32) {
    for (group, quarters) in quarters::<V>(w, layer) {
        let zetas = three::<V>(room, INVERSE, group);
        for cells in quarters {
            store(inv_four(room, load(room, &cells), zetas), cells);
        }
    }
}

/// Layers 1 and 0 of the inverse, and the factor F.
#[inline(always)]
fn inv_first_layers<V: Lanes>(room: V::Room, w: &mut Coeffs) {
    let q = V::splat(room, Q);
    for (group, quarters) in quarters::<V>(w, 0) {
        let [_, low, high] = three::<V>(room, INVERSE, group);
        let f = Zeta::splat(room, F, F.wrapping_mul(QINV));
        let f_zeta = Zeta::splat(room, F_ZETA, F_ZETA.wrapping_mul(QINV));
        for cells in quarters {
            let [a, b, c, d] = load(room, &cells);
            let ((a, b), (c, d)) = (inv_butterfly(room, (a, b), low), inv_butterfly(room, (c, d), high));
            let (a, b, c, d) = (
                f.times(room, a + c),
                f.times(room, b + d),
                f_zeta.times(room, a - c),
                f_zeta.times(room, b - d),
            );
            let canonical = [
                a.add_q_if_negative(q),
                b.add_q_if_negative(q),
                c.add_q_if_negative(q),
                d.add_q_if_negative(q),
            ];
            store(canonical, cells);
        }
    }
}

/// The last two layers across cells, those within cells, and the reduction, in one pass over memory.
///
/// Two groups of four cells go together, because the steps of one wait for each other.
#[inline(always)]
fn last_layers<V: Lanes>(room: V::Room, w: &mut Coeffs) {
    let (half, q) = (V::splat(room, 1 << 22), V::splat(room, Q));
    for (i, cells) in V::cells_mut(w).as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let group = (1 << (across::<V>() - 2)) + 2 * i;
        let x = load_eight::<V>(room, cells);
        let [a, b, c, d] = four(room, [x[0], x[1], x[2], x[3]], three(room, FORWARD, group));
        let [e, f, g, h] = four(room, [x[4], x[5], x[6], x[7]], three(room, FORWARD, group + 1));
        let pairs = within(room, [(a, b), (c, d), (e, f), (g, h)], 4 * i);
        for ((a, b), cells) in pairs.into_iter().zip(cells.as_chunks_mut::<2>().0) {
            canonical(a, half, q).store(&mut cells[0]);
            canonical(b, half, q).store(&mut cells[1]);
        }
    }
}

/// The first layers of the inverse: those within cells and two across.
#[inline(always)]
fn inv_last_layers<V: Lanes>(room: V::Room, w: &mut Coeffs) {
    for (i, cells) in V::cells_mut(w).as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let group = (1 << (across::<V>() - 2)) + 2 * i;
        let x = load_eight::<V>(room, cells);
        let pairs = inv_within(room, [(x[0], x[1]), (x[2], x[3]), (x[4], x[5]), (x[6], x[7])], 4 * i);
        let [(a, b), (c, d), (e, f), (g, h)] = pairs;
        let low = inv_four(room, [a, b, c, d], three(room, INVERSE, group));
        let high = inv_four(room, [e, f, g, h], three(room, INVERSE, group + 1));
        for (x, cell) in low.into_iter().chain(high).zip(cells) {
            x.store(cell);
        }
    }
}

/// The layers with len < N on four pairs of cells, the first of which has the number `first`.
///
/// A pair exchanges halves before each layer, so that partners always lie in the same lane of its two cells; at the end
/// the exchanges are undone.
#[inline(always)]
fn within<V: Lanes>(room: V::Room, mut pairs: [(V, V); 4], first: usize) -> [(V, V); 4] {
    macro_rules! layer {
        ($stride:literal) => {
            if V::N > $stride {
                for (i, pair) in pairs.iter_mut().enumerate() {
                    *pair = V::exchange::<$stride>(pair.0, pair.1);
                    let zeta = Within::<V>::zeta::<$stride>(room, Within::<V>::FORWARD, first + i);
                    *pair = butterfly(room, *pair, zeta);
                }
            }
        };
    }
    layer!(8);
    layer!(4);
    layer!(2);
    layer!(1);
    let [a, b, c, d] = pairs;
    let undo = V::undo_exchanges;
    [undo(a.0, a.1), undo(b.0, b.1), undo(c.0, c.1), undo(d.0, d.1)]
}

/// The layers of the inverse with len < N on four pairs of cells.
#[inline(always)]
fn inv_within<V: Lanes>(room: V::Room, pairs: [(V, V); 4], first: usize) -> [(V, V); 4] {
    let [a, b, c, d] = pairs;
    let all = V::exchanges;
    let mut pairs = [all(a.0, a.1), all(b.0, b.1), all(c.0, c.1), all(d.0, d.1)];
    macro_rules! layer {
        ($stride:literal) => {
            if V::N > $stride {
                for (i, pair) in pairs.iter_mut().enumerate() {
                    let zeta = Within::<V>::zeta::<$stride>(room, Within::<V>::INVERSE, first + i);
                    let (a, b) = inv_butterfly(room, *pair, zeta);
                    *pair = V::exchange::<$stride>(a, b);
                }
            }
        };
    }
    layer!(1);
    layer!(2);
    layer!(4);
    layer!(8);
    pairs
}

/// The zetas of the layers with len < N, in the order in which the exchanges leave the coefficients.
struct Within<V>(PhantomData<V>);

/// For each stride 1, 2, 4, 8: N zetas for each of the 128 / N pairs of cells.
type Strides = [[i32; 128]; 4];

impl<V: Lanes> Within<V> {
    const FORWARD: &'static [Strides; 2] = &Self::with_quotients(Self::ordered(&ZETAS));
    const INVERSE: &'static [Strides; 2] = &Self::with_quotients(Self::ordered(&INV_ZETAS));

    /// The zetas of one pair of cells for len = STRIDE.
    #[inline(always)]
    fn zeta<const STRIDE: usize>(room: V::Room, [zetas, quotients]: &[Strides; 2], pair: usize) -> Zeta<V> {
        let of_pair =
            |table: &Strides| V::load(room, &V::cells(&table[STRIDE.trailing_zeros() as usize])[pair]);
        Zeta { zeta: of_pair(zetas), quotient: of_pair(quotients), in_pairs: STRIDE > 1 }
    }

    /// Each table beside that of its quotients.
    const fn with_quotients(zetas: Strides) -> [Strides; 2] {
        let all = [quotients(&zetas[0]), quotients(&zetas[1]), quotients(&zetas[2]), quotients(&zetas[3])];
        [zetas, all]
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
                ordered[stride.trailing_zeros() as usize][place] =
                    zetas[(1 << layer) + (coefficient >> (8 - layer))];
                place += 1;
            }
            stride >>= 1;
        }
        ordered
    }
}

#[cfg(test)]
mod tests {
    use super::{Q, inv_ntt, inv_ntt_compactly, ntt, ntt_compactly};
    use crate::backend::{Coeffs, ONE_LANE};

    fn one_layer_a_pass_agrees(w: Coeffs) {
        let (mut quick, mut compact) = (w, w);
        ntt::<i32>(ONE_LANE, &mut quick);
        ntt_compactly::<i32>(ONE_LANE, &mut compact);
        assert_eq!(quick, compact);
        let (mut quick, mut compact) = (w, w);
        inv_ntt::<i32>(ONE_LANE, &mut quick);
        inv_ntt_compactly::<i32>(ONE_LANE, &mut compact);
        assert_eq!(quick, compact);
    }

    #[test]
    fn one_layer_a_pass_is_the_same_transform() {
        for value in [|_| 0, |_| Q - 1, |i| (Q - 1) * (i as i32 & 1)] {
            one_layer_a_pass_agrees(core::array::from_fn(value));
        }
    }

    /// Few sums come so near to a multiple of q that rounding the wrong way leaves them outside [0, q); in some
    /// polynomials none does.
    #[test]
    fn one_layer_a_pass_is_the_same_transform_of_many_polynomials() {
        let mut numbers = (0..).map(|i: i32| i.wrapping_mul(0x9e37_79b1_u32 as i32).rem_euclid(Q));
        for _ in 0..64 {
            one_layer_a_pass_agrees(core::array::from_fn(|_| numbers.next().unwrap()));
        }
    }
}
