//! Algorithms 35 to 40 on polynomials.

use super::params::Params;
use super::ring::Poly;
use crate::backend::Room;

/// FIPS 204, Algorithm 35, Power2Round.
pub(crate) fn power2round(room: Room, r: &Poly) -> (Poly, Poly) {
    let (mut r1, mut r0) = (Poly::ZERO, Poly::ZERO);
    room.power2round(&r.0, &mut r1.0, &mut r0.0);
    (r1, r0)
}

/// FIPS 204, Algorithm 36, Decompose.
pub(crate) fn decompose<P: Params>(room: Room, r: &Poly) -> (Poly, Poly) {
    let (mut r1, mut r0) = (Poly::ZERO, Poly::ZERO);
    room.decompose(P::GAMMA2, &r.0, &mut r1.0, &mut r0.0);
    (r1, r0)
}

/// FIPS 204, Algorithm 37, HighBits.
pub(crate) fn high_bits<P: Params>(room: Room, r: &Poly) -> Poly {
    decompose::<P>(room, r).0
}

/// FIPS 204, Algorithm 38, LowBits.
pub(crate) fn low_bits<P: Params>(room: Room, r: &Poly) -> Poly {
    decompose::<P>(room, r).1
}

/// The hint, and the number of ones in it.
/// FIPS 204, Algorithm 39, MakeHint.
pub(crate) fn make_hint<P: Params>(room: Room, z: &Poly, r: &Poly) -> (Poly, usize) {
    let mut h = Poly::ZERO;
    let ones = room.make_hint(P::GAMMA2, &z.0, &r.0, &mut h.0);
    (h, ones as usize)
}

/// FIPS 204, Algorithm 40, UseHint.
pub(crate) fn use_hint<P: Params>(room: Room, h: &Poly, r: &Poly) -> Poly {
    let mut r1 = Poly::ZERO;
    room.use_hint(P::GAMMA2, &h.0, &r.0, &mut r1.0);
    r1
}
