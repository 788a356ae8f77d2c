//! The rooms: one per kind of CPU, behind one door. The only folder that may hold `unsafe`, target features and intrinsics.
//!
//! Three doors, one shape:
//! - [`Lanes`] and [`Words`] (innermost): a handful of operations on N coefficients, or on N Keccak states. The loops of
//!   `kernels/` and `keccak/` are written once over them.
//! - [`Backend`] (one polynomial, or one group of Keccak states, a call): what `fips204/` asks for. The `door!` macro
//!   stamps it from the kernels for each room; a room may write one method by hand where measurement shows that it pays.
//! - [`crate::Engine`] (outermost): batches. Every room has it; a device that is no CPU room implements that door alone.
//!
//! A room is a value with a private field that only this folder makes, so whoever holds one holds the proof that
//! this CPU can run it.

use crate::fips204::ring::NttPoly;
use crate::keccak::States;

#[cfg(feature = "plain-lanes")]
mod plain8;
mod portable;
mod wipe;

pub(crate) use wipe::wipe;

/// 256 coefficients of a polynomial.
pub(crate) type Coeffs = [i32; 256];

/// N coefficients side by side. `i32` itself is a legal `Lanes` with N = 1.
///
/// Bounds: additions and subtractions must not overflow 32 bits; every caller states why they do not.
pub(crate) trait Lanes:
    Copy
    + core::ops::Add<Output = Self>
    + core::ops::Sub<Output = Self>
    + core::ops::BitAnd<Output = Self>
    + core::ops::BitOr<Output = Self>
    + core::ops::BitXor<Output = Self>
{
    /// Coefficients side by side: 1, 4, 8 or 16.
    const N: usize;
    /// N coefficients in memory.
    type Cell;
    /// The proof that this CPU has these lanes.
    type Room: Copy;
    /// N 64-bit sums.
    type Wide: Copy;

    /// The 256 / N cells of a polynomial.
    fn cells(w: &Coeffs) -> &[Self::Cell];
    /// The same, to be written.
    fn cells_mut(w: &mut Coeffs) -> &mut [Self::Cell];
    /// From memory.
    fn load(room: Self::Room, from: &Self::Cell) -> Self;
    /// To memory.
    fn store(self, to: &mut Self::Cell);
    /// The same value in every lane.
    fn splat(room: Self::Room, x: i32) -> Self;
    /// The low 32 bits of the products.
    fn mul_low(self, other: Self) -> Self;
    /// Arithmetic shift right.
    fn sar<const S: u32>(self) -> Self;
    /// Shift left; no bit but copies of the sign may be lost.
    fn shl<const S: u32>(self) -> Self;
    /// The 64-bit products. Bounds: in [0, q).
    fn mul_wide(self, other: Self) -> Self::Wide;
    /// N wide zeros.
    fn wide_zero(room: Self::Room) -> Self::Wide;
    /// Sum of two wide values.
    fn add_wide(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    /// Montgomery reduction: x·2^-32 mod q.
    /// FIPS 204, Algorithm 49, MontgomeryReduce.
    ///
    /// Bounds: in 0 <= x < 2^31·q; out |r| < q.
    /// Differs from the standard: a signed result, as Appendix A allows.
    fn mont_reduce(x: Self::Wide) -> Self;
    /// self·zeta·2^-32 mod q. Bounds: in |self| <= 256q, 0 <= zeta < q; out |r| < q.
    fn mont_mul(self, zeta: Self) -> Self;
    /// For each pair of lanes (j, j + stride) of a 2·stride group: the lower lanes in both places, and the upper in both.
    fn halves(self, stride: usize) -> (Self, Self);
    /// The lower places of each 2·stride group from `lower`, the upper places from `upper`.
    fn blend(lower: Self, upper: Self, stride: usize) -> Self;
    /// Lane j takes `table[first + j / (2·stride)]`: the zetas of the groups of 2·stride lanes.
    fn zetas(room: Self::Room, table: &Coeffs, first: usize, stride: usize) -> Self;
    /// True if some lane is not zero.
    fn any(self) -> bool;
    /// Sum of the lanes.
    fn sum(self) -> i32;
}

/// The same 64-bit word of N Keccak states side by side.
pub(crate) trait Words: Copy {
    /// The same value in every state.
    fn splat(x: u64) -> Self;
    /// Exclusive or.
    fn xor(self, other: Self) -> Self;
    /// `!self & other`.
    fn and_not(self, other: Self) -> Self;
    /// Rotation to the left, R in 0..64.
    fn rotl<const R: u32>(self) -> Self;
}

/// A room's door: whole polynomials, and groups of Keccak states.
///
/// Representation, the same in every room: coefficients are canonical, in [0, q), between any two calls, and those of
/// T_q are in the order of Algorithm 41. So rooms can be compared, and exchanged, at any call.
pub(crate) trait Backend: Sync {
    /// The name under which a room can be forced.
    fn name(&self) -> &'static str;
    /// The number of Keccak states that fill this room's registers: 1, 2, 4 or 8.
    fn width(&self) -> usize;
    /// Keccak-f\[1600\] on one state.
    fn keccak_x1(&self, state: &mut States<1>);
    /// Keccak-f\[1600\] on two states.
    fn keccak_x2(&self, state: &mut States<2>);
    /// Keccak-f\[1600\] on four states.
    fn keccak_x4(&self, state: &mut States<4>);
    /// Keccak-f\[1600\] on eight states.
    fn keccak_x8(&self, state: &mut States<8>);
    /// See [`crate::kernels::ntt::ntt`].
    fn ntt(&self, w: &mut Coeffs);
    /// See [`crate::kernels::ntt::inv_ntt`].
    fn inv_ntt(&self, w: &mut Coeffs);
    /// See [`crate::kernels::pointwise::dot`].
    fn dot(&self, a: &[NttPoly], b: &[NttPoly], out: &mut Coeffs);
    /// See [`crate::kernels::pointwise::add`].
    fn add(&self, a: &mut Coeffs, b: &Coeffs);
    /// See [`crate::kernels::pointwise::sub`].
    fn sub(&self, a: &mut Coeffs, b: &Coeffs);
    /// See [`crate::kernels::round::power2round`].
    fn power2round(&self, r: &Coeffs, r1: &mut Coeffs, r0: &mut Coeffs);
    /// See [`crate::kernels::round::decompose`].
    fn decompose(&self, gamma2: i32, r: &Coeffs, r1: &mut Coeffs, r0: &mut Coeffs);
    /// See [`crate::kernels::round::make_hint`].
    fn make_hint(&self, gamma2: i32, z: &Coeffs, r: &Coeffs, h: &mut Coeffs) -> i32;
    /// See [`crate::kernels::round::use_hint`].
    fn use_hint(&self, gamma2: i32, h: &Coeffs, r: &Coeffs, out: &mut Coeffs);
    /// See [`crate::kernels::norm::norm_below`].
    fn norm_below(&self, w: &Coeffs, bound: i32) -> bool;
    /// See [`crate::kernels::pack::simple_bit_pack`].
    fn simple_bit_pack(&self, bits: u32, w: &Coeffs, out: &mut [u8]);
    /// See [`crate::kernels::pack::bit_pack`].
    fn bit_pack(&self, bits: u32, b: i32, w: &Coeffs, out: &mut [u8]);
    /// See [`crate::kernels::pack::simple_bit_unpack`].
    fn simple_bit_unpack(&self, bits: u32, v: &[u8], out: &mut Coeffs);
    /// See [`crate::kernels::pack::bit_unpack`].
    fn bit_unpack(&self, bits: u32, b: i32, v: &[u8], out: &mut Coeffs);
    /// See [`crate::kernels::reject::reject_uniform`].
    fn reject_uniform(&self, bytes: &[u8], out: &mut Coeffs, filled: usize) -> usize;
    /// See [`crate::kernels::reject::reject_bounded`].
    fn reject_bounded(&self, eta: i32, bytes: &[u8], out: &mut Coeffs, filled: usize) -> usize;
}

/// Stamps [`Backend`] for a room from the kernels, over the room's lanes.
/// What a room does in its own way (its name and its Keccak) stands in the block.
macro_rules! door {
    ($room:ty, $lanes:ty, { $($own:tt)* }) => {
        impl $crate::backend::Backend for $room {
            $($own)*
            fn ntt(&self, w: &mut Coeffs) {
                kernels::ntt::ntt::<$lanes>(*self, w)
            }
            fn inv_ntt(&self, w: &mut Coeffs) {
                kernels::ntt::inv_ntt::<$lanes>(*self, w)
            }
            fn dot(&self, a: &[NttPoly], b: &[NttPoly], out: &mut Coeffs) {
                kernels::pointwise::dot::<$lanes>(*self, a, b, out)
            }
            fn add(&self, a: &mut Coeffs, b: &Coeffs) {
                kernels::pointwise::add::<$lanes>(*self, a, b)
            }
            fn sub(&self, a: &mut Coeffs, b: &Coeffs) {
                kernels::pointwise::sub::<$lanes>(*self, a, b)
            }
            fn power2round(&self, r: &Coeffs, r1: &mut Coeffs, r0: &mut Coeffs) {
                kernels::round::power2round::<$lanes>(*self, r, r1, r0)
            }
            fn decompose(&self, gamma2: i32, r: &Coeffs, r1: &mut Coeffs, r0: &mut Coeffs) {
                kernels::round::decompose::<$lanes>(*self, gamma2, r, r1, r0)
            }
            fn make_hint(&self, gamma2: i32, z: &Coeffs, r: &Coeffs, h: &mut Coeffs) -> i32 {
                kernels::round::make_hint::<$lanes>(*self, gamma2, z, r, h)
            }
            fn use_hint(&self, gamma2: i32, h: &Coeffs, r: &Coeffs, out: &mut Coeffs) {
                kernels::round::use_hint::<$lanes>(*self, gamma2, h, r, out)
            }
            fn norm_below(&self, w: &Coeffs, bound: i32) -> bool {
                kernels::norm::norm_below::<$lanes>(*self, w, bound)
            }
            fn simple_bit_pack(&self, bits: u32, w: &Coeffs, out: &mut [u8]) {
                kernels::pack::simple_bit_pack(bits, w, out)
            }
            fn bit_pack(&self, bits: u32, b: i32, w: &Coeffs, out: &mut [u8]) {
                kernels::pack::bit_pack(bits, b, w, out)
            }
            fn simple_bit_unpack(&self, bits: u32, v: &[u8], out: &mut Coeffs) {
                kernels::pack::simple_bit_unpack(bits, v, out)
            }
            fn bit_unpack(&self, bits: u32, b: i32, v: &[u8], out: &mut Coeffs) {
                kernels::pack::bit_unpack(bits, b, v, out)
            }
            fn reject_uniform(&self, bytes: &[u8], out: &mut Coeffs, filled: usize) -> usize {
                kernels::reject::reject_uniform(bytes, out, filled)
            }
            fn reject_bounded(&self, eta: i32, bytes: &[u8], out: &mut Coeffs, filled: usize) -> usize {
                kernels::reject::reject_bounded(eta, bytes, out, filled)
            }
        }
    };
}
use door;

/// A room in hand: the proof that this CPU can run it.
pub(crate) type Room = &'static dyn Backend;

/// Every room that this build has and this CPU can run, the best one last.
static ROOMS: &[Room] = &[
    #[cfg(feature = "plain-lanes")]
    &plain8::ROOM,
    &portable::ROOM,
];

/// The room that the next public call uses: the best one, or the forced one.
///
/// A room is forced by `SEALSTONE_BACKEND=name` in debug builds, or by [`crate::hazmat::force_room`].
/// Panics, in debug builds only, if the variable names no room: a test that runs elsewhere than it says proves nothing.
pub(crate) fn active() -> Room {
    forced().unwrap_or(ROOMS[ROOMS.len() - 1])
}

fn forced() -> Option<Room> {
    #[cfg(feature = "hazmat")]
    if let Some(room) = force::chosen() {
        return Some(room);
    }
    #[cfg(all(debug_assertions, feature = "std"))]
    {
        static ASKED: std::sync::OnceLock<Option<Room>> = std::sync::OnceLock::new();
        *ASKED.get_or_init(|| {
            let name = std::env::var("SEALSTONE_BACKEND").ok()?;
            let room = ROOMS.iter().copied().find(|room| room.name() == name);
            Some(room.expect("SEALSTONE_BACKEND must name a room of this build that this CPU can run"))
        })
    }
    #[cfg(not(all(debug_assertions, feature = "std")))]
    None
}

#[cfg(feature = "hazmat")]
pub(crate) mod force {
    use super::{ROOMS, Room};
    use core::sync::atomic::{AtomicUsize, Ordering};

    /// One more than the index of the forced room; 0 for none.
    static FORCED: AtomicUsize = AtomicUsize::new(0);

    pub(super) fn chosen() -> Option<Room> {
        FORCED.load(Ordering::Relaxed).checked_sub(1).map(|i| ROOMS[i])
    }

    /// The rooms of this build on this CPU.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        ROOMS.iter().map(|room| room.name())
    }

    /// Forces a room by name; `None` frees the choice again. False if no room has that name.
    pub(crate) fn force(name: Option<&str>) -> bool {
        let index = match name {
            None => Some(0),
            Some(name) => ROOMS.iter().position(|room| room.name() == name).map(|i| i + 1),
        };
        index.map(|i| FORCED.store(i, Ordering::Relaxed)).is_some()
    }
}

/// The rooms, for the suite that compares each with the model.
#[cfg(test)]
pub(crate) fn all() -> &'static [Room] {
    ROOMS
}
