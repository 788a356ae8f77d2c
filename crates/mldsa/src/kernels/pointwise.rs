//! Sums and products, coefficient by coefficient.

use crate::backend::{Coeffs, Lanes, PACKED};
use crate::fips204::params::Q;
use crate::fips204::ring::NttPoly;

/// The products ∑ aᵢ ∘ bᵢ in T_q, times 2^-32, which `inv_ntt` undoes.
/// FIPS 204, Algorithm 45, MultiplyNTT.
/// FIPS 204, Algorithm 46, AddVectorNTT.
///
/// Shapes: a, b: 1 to 8 polynomials each, counted with `more`, one further product.
/// Bounds: in and out [0, q); the sum is below 8q² < 2^31·q.
/// Differs from the standard: multiplied and added in 64 bits and reduced once.
#[inline(always)]
pub(crate) fn dot<V: Lanes>(
    room: V::Room,
    a: &[NttPoly],
    b: &[NttPoly],
    more: Option<(&NttPoly, &NttPoly)>,
    out: &mut Coeffs,
) {
    debug_assert!(a.len() == b.len() && (1..=8).contains(&(a.len() + usize::from(more.is_some()))));
    if let Some(dot) = V::DOT {
        return dot(a, b, more, out);
    }
    let q = V::splat(room, Q);
    for (tile, out) in V::cells_mut(out).chunks_exact_mut(TILE).enumerate() {
        let mut sums = [V::wide_zero(room); TILE];
        for (a, b) in a.iter().zip(b) {
            add_products::<V>(room, &mut sums, a, b, TILE * tile);
        }
        if let Some((a, b)) = more {
            add_products::<V>(room, &mut sums, a, b, TILE * tile);
        }
        for (sum, out) in sums.into_iter().zip(out) {
            V::mont_reduce(room, sum).add_q_if_negative(q).store(out);
        }
    }
}

/// Cells whose sums are kept in registers while the polynomials go by.
const TILE: usize = 4;

/// Adds the products of the cells from `first` on.
#[inline(always)]
fn add_products<V: Lanes>(room: V::Room, sums: &mut [V::Wide; TILE], a: &NttPoly, b: &NttPoly, first: usize) {
    let cells = V::cells(&a.0)[first..].iter().zip(&V::cells(&b.0)[first..]);
    for (sum, (a, b)) in sums.iter_mut().zip(cells) {
        *sum = V::add_wide(*sum, V::load(room, a).mul_wide(V::load(room, b)));
    }
}

/// sum <- sum + a ∘ b in T_q, the product times 2^-32: `dot`, one product at a time.
/// FIPS 204, Algorithm 45, MultiplyNTT.
///
/// Bounds: in and out [0, q).
#[inline(always)]
pub(crate) fn mul_add<V: Lanes>(room: V::Room, a: &Coeffs, b: &Coeffs, sum: &mut Coeffs) {
    let q = V::splat(room, Q);
    for ((a, b), sum) in V::cells(a).iter().zip(V::cells(b)).zip(V::cells_mut(sum)) {
        let product = V::mont_reduce(room, V::load(room, a).mul_wide(V::load(room, b)));
        (V::load(room, sum) - q + product.add_q_if_negative(q)).add_q_if_negative(q).store(sum);
    }
}

/// b <- a ∘ b in T_q, times 2^-32, where a is packed in 24 bits a coefficient.
/// FIPS 204, Algorithm 45, MultiplyNTT.
///
/// Bounds: in and out [0, q).
#[inline(always)]
pub(crate) fn mul_packed<V: Lanes>(room: V::Room, a: &[u8; PACKED], b: &mut Coeffs) {
    let q = V::splat(room, Q);
    let bytes = (V::N * V::GROUP * 24) >> 3;
    for (cells, a) in V::cells_mut(b).chunks_exact_mut(V::GROUP).zip(a.chunks_exact(bytes)) {
        for (a, cell) in V::unpack::<24>(room, a).as_ref().iter().zip(cells) {
            V::mont_reduce(room, a.mul_wide(V::load(room, cell))).add_q_if_negative(q).store(cell);
        }
    }
}

/// a <- a + b.
/// FIPS 204, Algorithm 44, AddNTT.
///
/// Bounds: in and out [0, q).
#[inline(always)]
pub(crate) fn add<V: Lanes>(room: V::Room, a: &mut Coeffs, b: &Coeffs) {
    let q = V::splat(room, Q);
    for (a, b) in V::cells_mut(a).iter_mut().zip(V::cells(b)) {
        (V::load(room, a) + V::load(room, b) - q).add_q_if_negative(q).store(a);
    }
}

/// a <- a - b. Bounds: in and out [0, q).
#[inline(always)]
pub(crate) fn sub<V: Lanes>(room: V::Room, a: &mut Coeffs, b: &Coeffs) {
    let q = V::splat(room, Q);
    for (a, b) in V::cells_mut(a).iter_mut().zip(V::cells(b)) {
        (V::load(room, a) - V::load(room, b)).add_q_if_negative(q).store(a);
    }
}
