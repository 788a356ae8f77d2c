//! R_q and T_q. Two types, so that a polynomial and its transform cannot be confused.

use crate::backend::{self, Coeffs, Room};
use crate::ct::Wipe;

/// An element of R_q. Coefficients are canonical, in [0, q).
#[derive(Clone)]
#[repr(align(64))]
pub(crate) struct Poly(pub(crate) Coeffs);

/// An element of T_q, in the order of Algorithm 41. Coefficients are canonical, in [0, q); products carry a factor 2^-32.
#[derive(Clone)]
#[repr(align(64))]
pub struct NttPoly(pub(crate) Coeffs);

impl Poly {
    /// The zero polynomial.
    pub(crate) const ZERO: Poly = Poly([0; 256]);

    /// w_hat = NTT(self).
    /// FIPS 204, Algorithm 41, NTT.
    pub(crate) fn ntt(&self, room: Room, w_hat: &mut NttPoly) {
        w_hat.0 = self.0;
        room.ntt(&mut w_hat.0);
    }

    /// self = NTT^-1(a · b): one row of a matrix times a vector, or a single product.
    /// FIPS 204, Algorithm 42, NTT^-1.
    /// FIPS 204, Algorithm 47, ScalarVectorNTT.
    /// FIPS 204, Algorithm 48, MatrixVectorNTT.
    pub(crate) fn product(&mut self, room: Room, a: &[NttPoly], b: &[NttPoly]) {
        room.dot(a, b, None, &mut self.0);
        room.inv_ntt(&mut self.0);
    }

    /// self = NTT^-1(a · b + c ∘ d): one more product in the sum.
    pub(crate) fn product_and_one(
        &mut self,
        room: Room,
        a: &[NttPoly],
        b: &[NttPoly],
        c: &NttPoly,
        d: &NttPoly,
    ) {
        room.dot(a, b, Some((c, d)), &mut self.0);
        room.inv_ntt(&mut self.0);
    }

    /// self = self + other.
    pub(crate) fn add(&mut self, room: Room, other: &Poly) {
        room.add(&mut self.0, &other.0);
    }

    /// self = self - other.
    pub(crate) fn sub(&mut self, room: Room, other: &Poly) {
        room.sub(&mut self.0, &other.0);
    }

    /// ‖self‖∞ < bound.
    pub(crate) fn norm_below(&self, room: Room, bound: i32) -> bool {
        room.norm_below(&self.0, bound)
    }
}

impl NttPoly {
    /// The zero polynomial.
    pub(crate) const ZERO: NttPoly = NttPoly([0; 256]);
    /// One in every place: the factor 2^-32 that a product carries, when nothing else is wanted.
    const ONE: NttPoly = NttPoly([1; 256]);

    /// The polynomial of a transform that is no product.
    pub(crate) fn undo_ntt(&self, room: Room, w: &mut Poly) {
        w.product(room, one(self), one(&NttPoly::ONE))
    }
}

/// A slice of one.
pub(crate) fn one(poly: &NttPoly) -> &[NttPoly] {
    core::slice::from_ref(poly)
}

impl Wipe for Poly {
    fn wipe(&mut self) {
        backend::wipe(&mut self.0)
    }
}

impl Wipe for NttPoly {
    fn wipe(&mut self) {
        backend::wipe(&mut self.0)
    }
}
