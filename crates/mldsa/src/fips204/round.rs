//! Algorithms 35 to 40 on polynomials.

use super::params::Params;
use super::ring::Poly;
use crate::backend::{Coeffs, Room};
use crate::kernels::round::MARK;

/// FIPS 204, Algorithm 35, Power2Round.
pub(crate) fn power2round(room: Room, r: &Poly, r1: &mut Poly, r0: &mut Poly) {
    room.power2round(&r.0, &mut r1.0, &mut r0.0);
}

/// FIPS 204, Algorithm 36, Decompose.
/// FIPS 204, Algorithm 37, HighBits (r1).
/// FIPS 204, Algorithm 38, LowBits (r0).
pub(crate) fn decompose<P: Params>(room: Room, r: &Poly, r1: &mut Poly, r0: &mut Poly) {
    room.decompose(P::GAMMA2, &r.0, &mut r1.0, &mut r0.0);
}

/// r = r1·2γ2 + r0, which `decompose` took apart.
pub(crate) fn recompose<P: Params>(room: Room, r1: &Poly, r: &mut Poly) {
    room.recompose(P::GAMMA2, &r1.0, &mut r.0);
}

/// The hint, and the number of ones in it.
/// FIPS 204, Algorithm 39, MakeHint.
pub(crate) fn make_hint<P: Params>(room: Room, z: &Poly, r: &Poly, h: &mut Poly) -> usize {
    room.make_hint(P::GAMMA2, &z.0, &r.0, &mut h.0) as usize
}

/// w = UseHint(h, w), where h is given by the places of its ones.
/// FIPS 204, Algorithm 40, UseHint.
pub(crate) fn use_hint(room: Room, gamma2: i32, h: &[u8], w: &mut Coeffs) {
    for place in h {
        w[usize::from(*place)] |= MARK;
    }
    room.use_hint(gamma2, w);
}
