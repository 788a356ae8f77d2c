//! R_q and T_q. Two types, so that a polynomial and its transform cannot be confused.

use crate::backend::{self, CacheLine, Coeffs, PACKED, PLACES, Room};
use crate::ct::Wipe;
use crate::fips204::params::{HALF_Q, Q};

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

    /// self = self + c·s; returns whether ‖self‖∞ < bound then.
    pub(crate) fn add_times_ball(&mut self, room: Room, c: &Ball, s: &Small, bound: i32) -> bool {
        room.add_times_ball(c, s, bound, &mut self.0)
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

/// A polynomial with coefficients in [-η, η], laid out so that each product with ±X^i is a window of 256 bytes.
///
/// Coefficient n of X^i·s is s[n - i] for n >= i, and -s[256 + n - i] below (X^256 = -1): the 256 values of (-s, s, -s)
/// from place 256 - i on. Those of -X^i·s are the 256 from 512 - i on.
#[derive(Clone)]
pub(crate) struct Small {
    /// η - s, η + s, η - s.
    bytes: [u8; 3 * 256],
    eta: i32,
    _line: CacheLine,
}

impl Small {
    /// The zero polynomial.
    pub(crate) const ZERO: Small = Small { bytes: [0; 768], eta: 0, _line: CacheLine };

    /// self = s. Bounds: s canonical, representatives in [-η, η].
    pub(crate) fn take(&mut self, s: &Coeffs, eta: i32) {
        self.eta = eta;
        for (i, x) in s.iter().enumerate() {
            let x = x - (Q & ((HALF_Q - x) >> 31));
            debug_assert!((-eta..=eta).contains(&x));
            let (minus, plus) = ((eta - x) as u8, (eta + x) as u8);
            (self.bytes[i], self.bytes[256 + i], self.bytes[512 + i]) = (minus, plus, minus);
        }
    }

    /// s = self, canonical.
    pub(crate) fn give(&self, s: &mut Poly) {
        for (to, &x) in s.0.iter_mut().zip(&self.bytes[256..512]) {
            let x = i32::from(x) - self.eta;
            *to = x + (Q & (x >> 31));
        }
    }

    /// η.
    pub(crate) fn eta(&self) -> i32 {
        self.eta
    }

    /// How many shifts may be added in bytes: 63·2η < 2^8 for η = 2, 31·2η for η = 4.
    pub(crate) fn sums(&self) -> usize {
        if self.eta == 2 { 63 } else { 31 }
    }

    /// The 256 bytes from a place on. Bounds: start <= 512.
    #[inline(always)]
    pub(crate) fn window(&self, start: u16) -> &[u8; 256] {
        debug_assert!(start <= 512);
        self.bytes[usize::from(start).min(512)..].first_chunk().expect("768 - 512 = 256")
    }
}

impl Wipe for Small {
    const ZERO: Self = Small::ZERO;
    fn wipe(&mut self) {
        backend::wipe(&mut self.bytes)
    }
}

/// The challenge c as the windows of [`Small`] that its coefficients ±X^i take.
pub(crate) struct Ball {
    starts: [u16; 64],
    tau: usize,
}

impl Ball {
    /// The places of the coefficients that are not zero. Bounds: at most 64 of them, ±1.
    pub(crate) fn new(room: Room, c: &Poly) -> Self {
        let mut places = [0; PLACES];
        let tau = room.places(&c.0, &mut places);
        debug_assert!(tau <= 64);
        let mut starts = [0; 64];
        for (start, i) in starts.iter_mut().zip(&places[..tau]) {
            *start = Self::start(*i as usize, c.0[*i as usize & 255]);
        }
        Ball { starts, tau }
    }

    /// Where the window of x·X^i·s begins, x = ±1: that of X^i·s at 256 - i, that of -X^i·s at 512 - i.
    fn start(i: usize, x: i32) -> u16 {
        256 - i as u16 + if x == 1 { 0 } else { 256 }
    }

    /// Nothing, to be written over.
    pub(crate) const EMPTY: Self = Ball { starts: [0; 64], tau: 0 };

    /// self = c: `new` without room for 256 places. Bounds: at most 64 coefficients that are not zero, ±1.
    /// Time: shows c, which is public.
    pub(crate) fn take(&mut self, c: &Coeffs) {
        self.tau = 0;
        let places = c.iter().enumerate().filter(|(_, x)| **x != 0);
        for ((i, x), start) in places.zip(&mut self.starts) {
            *start = Self::start(i, *x);
            self.tau += 1;
        }
    }

    /// c = self.
    pub(crate) fn give(&self, c: &mut Coeffs) {
        *c = [0; 256];
        for &start in self.starts() {
            let (i, x) = if start > 256 { (512 - start, Q - 1) } else { (256 - start, 1) };
            c[usize::from(i) & 255] = x;
        }
    }

    /// self = -self.
    pub(crate) fn negate(&mut self) {
        for start in &mut self.starts[..self.tau] {
            *start = Self::opposite(*start);
        }
    }

    /// The window of X^i·s begins at 256 - i, in 1..=256; that of -X^i·s, 256 later.
    fn opposite(start: u16) -> u16 {
        if start > 256 { start - 256 } else { start + 256 }
    }

    /// -c.
    pub(crate) fn negated(&self) -> Self {
        let mut starts = [0; 64];
        for (minus, start) in starts.iter_mut().zip(self.starts()) {
            *minus = Self::opposite(*start);
        }
        Ball { starts, tau: self.tau }
    }

    /// Where the windows begin.
    pub(crate) fn starts(&self) -> &[u16] {
        &self.starts[..self.tau]
    }
}

/// A polynomial that is transformed where it is: one place in memory that holds an element of R_q now. To transform it
/// uses this name for it up, and gives the other.
pub(crate) struct PolyHere<'a>(pub(crate) &'a mut Coeffs);

/// The same place while it holds an element of T_q.
pub(crate) struct NttPolyHere<'a>(pub(crate) &'a mut Coeffs);

impl<'a> PolyHere<'a> {
    /// FIPS 204, Algorithm 41, NTT.
    pub(crate) fn ntt(self, room: Room) -> NttPolyHere<'a> {
        room.ntt(self.0);
        NttPolyHere(self.0)
    }
}

impl<'a> NttPolyHere<'a> {
    /// Of a sum of products, which carries a factor 2^-32.
    /// FIPS 204, Algorithm 42, NTT^-1.
    pub(crate) fn inv_ntt(self, room: Room) -> PolyHere<'a> {
        room.inv_ntt(self.0);
        PolyHere(self.0)
    }
}

/// A polynomial of either ring in 24 bits a coefficient: three quarters of the memory.
#[derive(Clone)]
pub struct Packed(pub(crate) [u8; PACKED]);

impl Packed {
    /// self = w. Bounds: w in [0, 2^24).
    pub(crate) fn pack(&mut self, room: Room, w: &Coeffs) {
        room.simple_bit_pack(24, w, &mut self.0);
    }

    /// w = self.
    pub(crate) fn unpack(&self, room: Room, w: &mut Coeffs) {
        room.simple_bit_unpack(24, &self.0, w);
    }
}

impl Wipe for Packed {
    const ZERO: Self = Packed([0; PACKED]);
    fn wipe(&mut self) {
        backend::wipe(&mut self.0)
    }
}

/// A slice of one.
pub(crate) fn one(poly: &NttPoly) -> &[NttPoly] {
    core::slice::from_ref(poly)
}

impl Wipe for Poly {
    const ZERO: Self = Poly::ZERO;
    fn wipe(&mut self) {
        backend::wipe(&mut self.0)
    }
}

impl Wipe for NttPoly {
    const ZERO: Self = NttPoly::ZERO;
    fn wipe(&mut self) {
        backend::wipe(&mut self.0)
    }
}
