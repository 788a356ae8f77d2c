//! Where the matrix and the sums of its rows live.
#![allow(
    private_interfaces,
    reason = "the traits are reachable by a sealed one alone, whose methods nobody outside can name"
)]

use crate::backend::{Coeffs, Room, wipe_below};
use crate::ct::{Wipe, Wiped};
use crate::fips204::params::{Array, Element, Params};
use crate::fips204::ring::{NttPoly, NttPolyHere, Packed};
use crate::fips204::sample::{G_BLOCK, entry_by_pieces, rej_ntt_entry};

/// A choice of memory. Reachable by the public trait `Profile` only, so that nobody adds a fourth.
pub trait Memory: Copy + Send + Sync + 'static {
    /// How an entry of Â is kept while signing.
    type Entry: Entry;
    /// The sums of those rows of Â that keygen and verification work at side by side, packed.
    type Rows<P: Params>: Array<Packed> + Element;
    /// The name, for `Debug`.
    const NAME: &'static str;
    /// Bytes of stack on thumbv7em, at most, at any level.
    const KEYGEN_STACK: usize;
    /// The same of signing.
    const SIGN_STACK: usize;
    /// The same of verification.
    const VERIFY_STACK: usize;
    /// Overwrites what signing has left on the stack below the caller.
    fn wipe_below_signing();
}

/// Overwrites what key generation has left on the stack below the caller.
pub(crate) fn wipe_below_keygen() {
    wipe_below::<{ used(2464) }>()
}

/// Bytes of stack that a call uses: on thumbv7em as measured, built for speed and for flash, by the rows `m4-stack` and `m4-s-stack` of
/// `./dev bench m4`, less what is above the call. Elsewhere it is more than any call needs.
const fn used(thumbv7em: usize) -> usize {
    if cfg!(armv7em) { thumbv7em } else { 16384 }
}

/// Signing at full speed: Â in whole words.
#[derive(Clone, Copy, Debug)]
pub struct Fast;
/// Signing at nearly full speed in a half to three quarters of the memory: Â packed.
#[derive(Clone, Copy, Debug)]
pub struct Balanced;
/// The least memory: Â is never stored.
#[derive(Clone, Copy, Debug)]
pub struct Small;

impl Memory for Fast {
    type Entry = NttPoly;
    type Rows<P: Params> = P::K_<Packed>;
    const NAME: &'static str = "Fast";
    const KEYGEN_STACK: usize = 2816;
    const SIGN_STACK: usize = 3072;
    const VERIFY_STACK: usize = 1280;

    fn wipe_below_signing() {
        wipe_below::<{ used(2112) }>()
    }
}

impl Memory for Balanced {
    type Entry = Packed;
    type Rows<P: Params> = P::K_<Packed>;
    const NAME: &'static str = "Balanced";
    const KEYGEN_STACK: usize = 2816;
    const SIGN_STACK: usize = 2304;
    const VERIFY_STACK: usize = 1280;

    fn wipe_below_signing() {
        wipe_below::<{ used(1984) }>()
    }
}

impl Memory for Small {
    type Entry = Streamed;
    type Rows<P: Params> = [Packed; 1];
    const NAME: &'static str = "Small";
    const KEYGEN_STACK: usize = 2816;
    const SIGN_STACK: usize = 1856;
    const VERIFY_STACK: usize = 1280;

    fn wipe_below_signing() {
        wipe_below::<{ used(1504) }>()
    }
}

/// One entry of Â, for products. Public, like ρ.
pub trait Entry: Element {
    /// How the sum of a row is kept.
    type Row: Row;
    /// Makes entry (r, s), where it is kept.
    /// FIPS 204, Algorithm 32, ExpandA.
    fn sample(&mut self, room: Room, rho: &[u8; 32], entry: (usize, usize));
    /// sum <- sum + Â[r, s] ∘ b, times 2^-32. Not inlined: beside the loops over rows and columns this one gets two more
    /// instructions a coefficient on a Cortex-M4, or two fewer, by how those are written.
    fn mul_add(
        &self,
        room: Room,
        rho: &[u8; 32],
        entry: (usize, usize),
        b: &NttPolyHere<'_>,
        sum: &mut Self::Row,
    );
}

/// One polynomial of a vector, in R_q or in T_q.
pub trait Row: Element {
    /// self = 0, for a sum to begin with. Not `wipe`: that is for what leaves, and does nothing under the feature `leaky`.
    fn clear(&mut self);
    /// w = self.
    fn load(&self, room: Room, w: &mut Coeffs);
    /// self = w.
    fn store(&mut self, room: Room, w: &Coeffs);
    /// See [`crate::kernels::round::make_hint_packed`], r being this row.
    fn make_hint(&self, room: Room, gamma2: i32, z: &mut Coeffs) -> i32;
}

/// No entry: each is sampled when it is needed, and multiplied while it is sampled.
#[derive(Clone)]
pub struct Streamed;

/// A row in whole words.
#[derive(Clone)]
pub struct Words(Coeffs);

/// As it is.
impl Entry for NttPoly {
    type Row = Words;

    fn sample(&mut self, room: Room, rho: &[u8; 32], entry: (usize, usize)) {
        rej_ntt_entry(room, rho, entry, &mut self.0);
    }

    #[inline(never)]
    fn mul_add(&self, room: Room, _: &[u8; 32], _: (usize, usize), b: &NttPolyHere<'_>, sum: &mut Words) {
        room.mul_add(&self.0, b.0, &mut sum.0);
    }
}

/// In 24 bits a coefficient.
impl Entry for Packed {
    type Row = Packed;

    fn sample(&mut self, room: Room, rho: &[u8; 32], entry: (usize, usize)) {
        let mut one = [0; 256];
        rej_ntt_entry(room, rho, entry, &mut one);
        self.pack(room, &one);
    }

    #[inline(never)]
    fn mul_add(&self, room: Room, _: &[u8; 32], _: (usize, usize), b: &NttPolyHere<'_>, sum: &mut Packed) {
        // Three bytes a coefficient, and all are taken.
        room.mul_add_uniform(&self.0, b.0, &mut sum.0, 0);
    }
}

impl Entry for Streamed {
    type Row = Packed;

    fn sample(&mut self, _: Room, _: &[u8; 32], _: (usize, usize)) {}

    fn mul_add(
        &self,
        room: Room,
        rho: &[u8; 32],
        entry: (usize, usize),
        b: &NttPolyHere<'_>,
        sum: &mut Packed,
    ) {
        mul_add_streamed::<G_BLOCK>(room, rho, entry, b, sum);
    }
}

/// sum <- sum + Â[r, s] ∘ b, times 2^-32, where Â[r, s] goes by, PIECE bytes at a time.
#[inline(never)]
pub(crate) fn mul_add_streamed<const PIECE: usize>(
    room: Room,
    rho: &[u8; 32],
    entry: (usize, usize),
    b: &NttPolyHere<'_>,
    sum: &mut Packed,
) {
    let mul_add = |piece: &[u8], done| room.mul_add_uniform(piece, b.0, &mut sum.0, done);
    entry_by_pieces::<PIECE>(room, rho, entry, mul_add);
}

impl Row for Words {
    fn clear(&mut self) {
        self.0.fill(0);
    }
    fn load(&self, _: Room, w: &mut Coeffs) {
        *w = self.0;
    }
    fn store(&mut self, _: Room, w: &Coeffs) {
        self.0 = *w;
    }
    fn make_hint(&self, room: Room, gamma2: i32, z: &mut Coeffs) -> i32 {
        let mut r = Wiped(Packed::ZERO);
        r.pack(room, &self.0);
        room.make_hint_packed(gamma2, &r.0.0, z)
    }
}

impl Row for Packed {
    fn clear(&mut self) {
        self.0.fill(0);
    }
    fn load(&self, room: Room, w: &mut Coeffs) {
        self.unpack(room, w);
    }
    fn store(&mut self, room: Room, w: &Coeffs) {
        self.pack(room, w);
    }
    fn make_hint(&self, room: Room, gamma2: i32, z: &mut Coeffs) -> i32 {
        room.make_hint_packed(gamma2, &self.0, z)
    }
}

impl Wipe for Words {
    const ZERO: Self = Words([0; 256]);
    fn wipe(&mut self) {
        self.0.wipe();
    }
}

impl Wipe for Streamed {
    const ZERO: Self = Streamed;
    fn wipe(&mut self) {}
}
