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

    /// FIPS 204, Algorithm 41, NTT.
    pub(crate) fn ntt(&self, room: Room) -> NttPoly {
        let mut w_hat = NttPoly(self.0);
        room.ntt(&mut w_hat.0);
        w_hat
    }

    /// self + other.
    pub(crate) fn add(&self, room: Room, other: &Poly) -> Poly {
        let mut sum = self.clone();
        room.add(&mut sum.0, &other.0);
        sum
    }

    /// self - other.
    pub(crate) fn sub(&self, room: Room, other: &Poly) -> Poly {
        let mut difference = self.clone();
        room.sub(&mut difference.0, &other.0);
        difference
    }

    /// -self.
    pub(crate) fn neg(&self, room: Room) -> Poly {
        Poly::ZERO.sub(room, self)
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

    /// One row of Â times a vector.
    /// FIPS 204, Algorithm 48, MatrixVectorNTT.
    pub(crate) fn dot(room: Room, row: &[NttPoly], v: &[NttPoly]) -> NttPoly {
        let mut sum = NttPoly::ZERO;
        room.dot(row, v, &mut sum.0);
        sum
    }

    /// self ∘ other.
    /// FIPS 204, Algorithm 47, ScalarVectorNTT (one entry of the vector).
    pub(crate) fn mul(&self, room: Room, other: &NttPoly) -> NttPoly {
        Self::dot(room, core::slice::from_ref(self), core::slice::from_ref(other))
    }

    /// The difference of two products.
    pub(crate) fn sub(mut self, room: Room, other: &NttPoly) -> NttPoly {
        room.sub(&mut self.0, &other.0);
        self
    }

    /// The polynomial of a product.
    /// FIPS 204, Algorithm 42, NTT^-1.
    pub(crate) fn inv_ntt(self, room: Room) -> Poly {
        let mut w = Poly(self.0);
        room.inv_ntt(&mut w.0);
        w
    }

    /// The polynomial of a transform that is no product.
    pub(crate) fn undo_ntt(&self, room: Room) -> Poly {
        self.mul(room, &NttPoly::ONE).inv_ntt(room)
    }
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
