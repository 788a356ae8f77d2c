//! Sums and products, coefficient by coefficient.

use crate::backend::{Coeffs, Lanes};
use crate::fips204::params::Q;
use crate::fips204::ring::NttPoly;
use crate::kernels::add_q_if_negative;

/// The products ∑ aᵢ ∘ bᵢ in T_q, times 2^-32, which `inv_ntt` undoes.
/// FIPS 204, Algorithm 45, MultiplyNTT.
/// FIPS 204, Algorithm 46, AddVectorNTT.
///
/// Shapes: a, b: 1 to 8 polynomials each.
/// Bounds: in |a|, |b| < 9q; the sum is below 8·81·q² < 2^31·q; out |·| < q.
/// Differs from the standard: multiplied and added in 64 bits and reduced once.
#[inline(always)]
pub(crate) fn dot<V: Lanes>(room: V::Room, a: &[NttPoly], b: &[NttPoly], out: &mut Coeffs) {
    debug_assert!(a.len() == b.len() && (1..=8).contains(&a.len()));
    for j in (0..256).step_by(V::N) {
        let mut pairs = a.iter().zip(b).map(|(a, b)| V::load(room, &a.0, j).mul_wide(V::load(room, &b.0, j)));
        let Some(first) = pairs.next() else { return };
        V::mont_reduce(pairs.fold(first, V::add_wide)).store(out, j);
    }
}

/// a <- a - b in T_q.
/// FIPS 204, Algorithm 44, AddNTT (of -b).
///
/// Bounds: in |a|, |b| < q; out |a| < q.
#[inline(always)]
pub(crate) fn sub_ntt<V: Lanes>(room: V::Room, a: &mut Coeffs, b: &Coeffs) {
    for j in (0..256).step_by(V::N) {
        let d = V::load(room, a, j) - V::load(room, b, j);
        // d - round(d / 2^23)·q: |d| < 2q gives a quotient in -2..=2 and a rest |·| <= 2^22 + 2·8191.
        let quotient = (d + V::splat(room, 1 << 22)).sar::<23>();
        (d - quotient.mul_low(V::splat(room, Q))).store(a, j);
    }
}

/// a <- a + b in R_q. Bounds: in and out [0, q).
#[inline(always)]
pub(crate) fn add<V: Lanes>(room: V::Room, a: &mut Coeffs, b: &Coeffs) {
    let q = V::splat(room, Q);
    for j in (0..256).step_by(V::N) {
        add_q_if_negative(room, V::load(room, a, j) + V::load(room, b, j) - q).store(a, j);
    }
}

/// a <- a - b in R_q. Bounds: in and out [0, q).
#[inline(always)]
pub(crate) fn sub<V: Lanes>(room: V::Room, a: &mut Coeffs, b: &Coeffs) {
    for j in (0..256).step_by(V::N) {
        add_q_if_negative(room, V::load(room, a, j) - V::load(room, b, j)).store(a, j);
    }
}
