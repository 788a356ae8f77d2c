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

use crate::fips204::ring::{Ball, NttPoly, Small};
use crate::keccak::{self, States};

#[cfg(armv7em)]
mod armv7em;
#[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
mod avx2;
#[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
mod avx512;
#[cfg(any(armv7em, test))]
mod interleaved;
#[cfg(all(feature = "plain-lanes", not(armv7em)))]
mod plain8;
mod portable;
#[cfg(one_room)]
mod sole;
#[cfg(feature = "ctgrind")]
pub(crate) mod taint;
mod wipe;

#[cfg(armv7em)]
pub(crate) use interleaved::{inward, outward};
#[cfg(not(armv7em))]
pub(crate) use plain_words::{inward, outward};
pub(crate) use portable::ONE_LANE;
#[cfg(one_room)]
pub(crate) use sole::{Room, active, rooms};
pub(crate) use wipe::{filled, try_filled, wipe, wipe_below};

/// The form in which this build keeps the words of Keccak states: as they are, but for [`interleaved`] words on ARMv7E-M.
/// Every room of a build keeps them alike. Bits move and none is lost: inward(a ^ b) = inward(a) ^ inward(b).
#[cfg(not(armv7em))]
mod plain_words {
    /// A word to be kept.
    #[inline(always)]
    pub(crate) fn inward(word: u64) -> u64 {
        word
    }
    /// A word that was kept.
    #[inline(always)]
    pub(crate) fn outward(word: u64) -> u64 {
        word
    }
}

/// 256 coefficients of a polynomial.
pub(crate) type Coeffs = [i32; 256];

/// Bytes of 256 coefficients packed in 24 bits each.
pub(crate) const PACKED: usize = 768;

/// As a field, aligns a value to a cache line where there are vector registers; elsewhere that would be memory for nothing.
#[derive(Clone, Copy)]
#[cfg_attr(target_pointer_width = "64", repr(align(64)))]
pub(crate) struct CacheLine;

/// See [`crate::kernels::pointwise::dot`].
pub(crate) type Dot = fn(&[NttPoly], &[NttPoly], Option<(&NttPoly, &NttPoly)>, &mut Coeffs);

/// The sums of [`crate::kernels::ball::add_times_ball`]: windows of a small polynomial, where they begin, and the sums.
pub(crate) type SumWindows = fn(&Small, &[u16], &mut [u8; 256]);

/// Places for the numbers of all coefficients, and for what a register may write beyond them.
pub(crate) const PLACES: usize = 256 + 16;

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
    /// Coefficients side by side: 1, 8 or 16.
    const N: usize;
    /// N coefficients in memory.
    type Cell: 'static;
    /// Enough lanes for a whole number of bytes of any width: one value of 8 or 16 lanes, eight values of one lane.
    type Group: AsRef<[Self]> + AsMut<[Self]> + Copy;
    /// Values in a `Group`.
    const GROUP: usize;
    /// The proof that this CPU has these lanes.
    type Room: Copy;
    /// N 64-bit sums.
    type Wide: Copy;
    /// `BYTES` bytes side by side, in a register.
    type Bytes: Copy;
    /// 8, 16, 32 or 64.
    const BYTES: usize;
    /// `ntt` and `inv_ntt` where the room has them written by hand.
    const TRANSFORMS: Option<[fn(&mut Coeffs); 2]> = None;
    /// `dot`, likewise.
    const DOT: Option<Dot> = None;
    /// The sums of `add_times_ball`, likewise.
    const SUM_WINDOWS: Option<SumWindows> = None;
    /// Whether the room's code shall be short rather than quick: numbers are packed one by one with their width as a value, and
    /// transforms go one layer a pass. For one lane.
    const COMPACT: bool = false;

    /// The coefficients as cells of N.
    fn cells(w: &[i32]) -> &[Self::Cell];
    /// The same, to be written.
    fn cells_mut(w: &mut [i32]) -> &mut [Self::Cell];
    /// From memory.
    fn load(room: Self::Room, from: &Self::Cell) -> Self;
    /// To memory.
    fn store(self, to: &mut Self::Cell);
    /// The same value in every lane.
    fn splat(room: Self::Room, x: i32) -> Self;
    /// first, first + 1, …, first + N - 1.
    fn count_from(room: Self::Room, first: i32) -> Self;
    /// The low 32 bits of the products.
    fn mul_low(self, other: Self) -> Self;
    /// Arithmetic shift right.
    fn sar<const S: u32>(self) -> Self;
    /// Shift left; no bit but copies of the sign may be lost.
    fn shl<const S: u32>(self) -> Self;
    /// self + q where self is negative. Bounds: in -q <= self < 2q; out [0, q), or self if it is not below q. `q` is q in
    /// every lane.
    #[inline(always)]
    fn add_q_if_negative(self, q: Self) -> Self {
        self + (self.sar::<31>() & q)
    }
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
    fn mont_reduce(room: Self::Room, x: Self::Wide) -> Self;
    /// self·zeta·2^-32 mod q. Bounds: in |self| <= 256q, 0 <= zeta < q, quotient = zeta·q^-1 mod 2^32; out |r| < q.
    /// `in_pairs`, known while compiling: lanes 2i and 2i + 1 have the same zeta.
    fn mont_mul(self, room: Self::Room, zeta: Self, quotient: Self, in_pairs: bool) -> Self;
    /// In each group of 2·S lanes: the lower halves of a and of b, and the upper halves of a and of b. Its own inverse.
    /// S in {1, 2, 4, 8}, below N.
    fn exchange<const S: usize>(a: Self, b: Self) -> (Self, Self);
    /// The exchanges for S = 8, 4, 2 and 1, as far as they are below N, one after the other.
    #[inline(always)]
    fn exchanges(a: Self, b: Self) -> (Self, Self) {
        let (a, b) = if Self::N > 8 { Self::exchange::<8>(a, b) } else { (a, b) };
        let (a, b) = if Self::N > 4 { Self::exchange::<4>(a, b) } else { (a, b) };
        let (a, b) = if Self::N > 2 { Self::exchange::<2>(a, b) } else { (a, b) };
        if Self::N > 1 { Self::exchange::<1>(a, b) } else { (a, b) }
    }
    /// The same, undone.
    #[inline(always)]
    fn undo_exchanges(a: Self, b: Self) -> (Self, Self) {
        let (a, b) = if Self::N > 1 { Self::exchange::<1>(a, b) } else { (a, b) };
        let (a, b) = if Self::N > 2 { Self::exchange::<2>(a, b) } else { (a, b) };
        let (a, b) = if Self::N > 4 { Self::exchange::<4>(a, b) } else { (a, b) };
        if Self::N > 8 { Self::exchange::<8>(a, b) } else { (a, b) }
    }
    /// A group of zeros.
    fn group(room: Self::Room) -> Self::Group;
    /// The next `GROUP`·N numbers of `BITS` bits, from as many bytes as they take.
    /// Bounds: BITS in {3, 4, 6, 10, 13, 18, 20, 24}; out [0, 2^BITS).
    fn unpack<const BITS: u32>(room: Self::Room, bytes: &[u8]) -> Self::Group;
    /// The reverse. Bounds: BITS in {3, 4, 6, 10, 13, 18, 20}; in [0, 2^BITS).
    fn pack<const BITS: u32>(group: Self::Group, bytes: &mut [u8]);
    /// Stores the lanes whose lane of `key` is below `limit`, one after the other; returns how many.
    /// All N places of `to` may be overwritten.
    /// Bounds: `key` and `limit` in [0, 2^24); `to` has N places.
    fn keep_below(self, key: Self, limit: Self, to: &mut [i32]) -> usize;
    /// `BYTES` zeros.
    fn no_bytes(room: Self::Room) -> Self::Bytes;
    /// Adds the first `BYTES` bytes of `from`. Bounds: sums below 2^8.
    fn add_bytes(sum: Self::Bytes, from: &[u8]) -> Self::Bytes;
    /// Writes the bytes to the first `BYTES` places of `to`.
    fn store_bytes(sum: Self::Bytes, to: &mut [u8]);
    /// N numbers of 8 bits. Shapes: `from` has N places.
    fn widen(room: Self::Room, from: &[u8]) -> Self;
    /// True if some lane is not zero.
    fn any(self) -> bool;
    /// Sum of the lanes.
    fn sum(self) -> i32;
}

/// The same 64-bit word of N Keccak states side by side.
pub(crate) trait Words: Copy {
    /// Whether `xor3` and `chi` are one instruction each: rounds go step by step then, and row by row elsewhere.
    const THREE_INPUTS: bool = false;
    /// The same value in every state.
    fn splat(x: u64) -> Self;
    /// Exclusive or.
    fn xor(self, other: Self) -> Self;
    /// Exclusive or of three.
    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        self.xor(b.xor(c))
    }
    /// self ^ (!b & c): χ on one word (FIPS 202, 3.2.4).
    fn chi(self, b: Self, c: Self) -> Self;
    /// Rotation to the left, R in 0..64.
    fn rotl<const R: i32>(self) -> Self;
    /// χ on row Y of a state (FIPS 202, 3.2.4).
    #[inline(always)]
    fn chi_row<const Y: usize>([a, b, c, d, e]: [Self; 5]) -> [Self; 5] {
        [a.chi(b, c), b.chi(c, d), c.chi(d, e), d.chi(e, a), e.chi(a, b)]
    }
    /// Before the first round and after the last: the form in which `chi_row` wants the state between rounds.
    #[inline(always)]
    fn complemented(state: [Self; 25]) -> [Self; 25] {
        state
    }
}

/// A room's door: whole polynomials, and groups of Keccak states.
///
/// Representation, the same in every room: coefficients are canonical, in [0, q), between any two calls, and those of
/// T_q are in the order of Algorithm 41. So rooms can be compared, and exchanged, at any call.
pub(crate) trait Backend: Sync {
    /// The name under which a room can be forced.
    fn name(&self) -> &'static str;
    /// The number of Keccak states that fill this room's registers: 1, 4 or 8.
    fn width(&self) -> usize;
    /// Keccak-f\[1600\] on one state.
    fn keccak_x1(&self, state: &mut States<1>);
    /// Keccak-f\[1600\] on four states.
    fn keccak_x4(&self, state: &mut States<4>);
    /// Keccak-f\[1600\] on eight states.
    fn keccak_x8(&self, state: &mut States<8>);
    /// Writes the first words of four states as bytes, `out[n]` from state n. Shapes: outputs of equal length, 8 to 200
    /// bytes, a multiple of 8.
    fn read_x4(&self, state: &States<4>, out: [&mut [u8]; 4]) {
        keccak::read(state, out)
    }
    /// The same of eight states.
    fn read_x8(&self, state: &States<8>, out: [&mut [u8]; 8]) {
        keccak::read(state, out)
    }
    /// See [`crate::kernels::ntt::ntt`].
    fn ntt(&self, w: &mut Coeffs);
    /// See [`crate::kernels::ntt::inv_ntt`].
    fn inv_ntt(&self, w: &mut Coeffs);
    /// See [`crate::kernels::pointwise::dot`].
    fn dot(&self, a: &[NttPoly], b: &[NttPoly], more: Option<(&NttPoly, &NttPoly)>, out: &mut Coeffs);
    /// See [`crate::kernels::ball::add_times_ball`].
    fn add_times_ball(&self, c: &Ball, s: &Small, bound: i32, w: &mut Coeffs) -> bool;
    /// See [`crate::kernels::pointwise::mul_add`].
    fn mul_add(&self, a: &Coeffs, b: &Coeffs, sum: &mut Coeffs);
    /// See [`crate::kernels::pointwise::mul_packed`].
    fn mul_packed(&self, a: &[u8; PACKED], b: &mut Coeffs);
    /// See [`crate::kernels::pointwise::add`].
    fn add(&self, a: &mut Coeffs, b: &Coeffs);
    /// See [`crate::kernels::pointwise::sub`].
    fn sub(&self, a: &mut Coeffs, b: &Coeffs);
    /// See [`crate::kernels::round::power2round`].
    fn power2round(&self, r: &Coeffs, r1: &mut Coeffs, r0: &mut Coeffs);
    /// See [`crate::kernels::round::decompose`].
    fn decompose(&self, gamma2: i32, r: &Coeffs, r1: &mut Coeffs, r0: &mut Coeffs);
    /// See [`crate::kernels::round::high_bits`].
    fn high_bits(&self, gamma2: i32, r: &mut Coeffs);
    /// See [`crate::kernels::round::low_bits_below`].
    fn low_bits_below(&self, gamma2: i32, r: &Coeffs, bound: i32) -> bool;
    /// See [`crate::kernels::round::recompose`].
    fn recompose(&self, gamma2: i32, r1: &Coeffs, r: &mut Coeffs);
    /// See [`crate::kernels::round::make_hint`].
    fn make_hint(&self, gamma2: i32, z: &Coeffs, r: &Coeffs, h: &mut Coeffs) -> i32;
    /// See [`crate::kernels::round::make_hint_packed`].
    fn make_hint_packed(&self, gamma2: i32, r: &[u8; PACKED], z: &mut Coeffs) -> i32;
    /// See [`crate::kernels::round::use_hint`].
    fn use_hint(&self, gamma2: i32, w: &mut Coeffs);
    /// See [`crate::kernels::norm::places`].
    fn places(&self, w: &Coeffs, out: &mut [i32; PLACES]) -> usize;
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
    /// See [`crate::kernels::reject::mul_add_uniform`].
    fn mul_add_uniform(&self, bytes: &[u8], b: &Coeffs, sum: &mut [u8; PACKED], done: usize) -> usize;
    /// See [`crate::kernels::reject::reject_bounded`].
    fn reject_bounded(&self, eta: i32, bytes: &[u8], out: &mut Coeffs, filled: usize) -> usize;
    /// [`Lanes::mont_mul`] of each coefficient: a door for the exhaustive tests alone.
    #[cfg(test)]
    fn mont_mul(&self, w: &mut Coeffs, zeta: i32, told: bool);
}

/// Stamps [`Backend`] for a room from the kernels, over the room's lanes: each method is the kernel, compiled with the
/// target features that the room proves. What a room does in its own way (its name and its Keccak) stands in the block.
macro_rules! door {
    ($room:ty, $lanes:ty, [$($feature:literal)?], { $($own:tt)* }) => {
        impl $crate::backend::Backend for $room {
            $($own)*
            $crate::backend::door! { @stamp $room, $lanes, [$($feature)?],
                ntt::ntt => fn ntt(w: &mut Coeffs);
                ntt::inv_ntt => fn inv_ntt(w: &mut Coeffs);
                pointwise::dot => fn dot(a: &[NttPoly], b: &[NttPoly], more: Option<(&NttPoly, &NttPoly)>, out: &mut Coeffs);
                ball::add_times_ball => fn add_times_ball(c: &Ball, s: &Small, bound: i32, w: &mut Coeffs) -> bool;
                pointwise::mul_add => fn mul_add(a: &Coeffs, b: &Coeffs, sum: &mut Coeffs);
                pointwise::mul_packed => fn mul_packed(a: &[u8; $crate::backend::PACKED], b: &mut Coeffs);
                pointwise::add => fn add(a: &mut Coeffs, b: &Coeffs);
                pointwise::sub => fn sub(a: &mut Coeffs, b: &Coeffs);
                round::power2round => fn power2round(r: &Coeffs, r1: &mut Coeffs, r0: &mut Coeffs);
                round::decompose => fn decompose(gamma2: i32, r: &Coeffs, r1: &mut Coeffs, r0: &mut Coeffs);
                round::high_bits => fn high_bits(gamma2: i32, r: &mut Coeffs);
                round::low_bits_below => fn low_bits_below(gamma2: i32, r: &Coeffs, bound: i32) -> bool;
                round::recompose => fn recompose(gamma2: i32, r1: &Coeffs, r: &mut Coeffs);
                round::make_hint => fn make_hint(gamma2: i32, z: &Coeffs, r: &Coeffs, h: &mut Coeffs) -> i32;
                round::make_hint_packed => fn make_hint_packed(gamma2: i32, r: &[u8; $crate::backend::PACKED], z: &mut Coeffs) -> i32;
                round::use_hint => fn use_hint(gamma2: i32, w: &mut Coeffs);
                norm::places => fn places(w: &Coeffs, out: &mut [i32; PLACES]) -> usize;
                norm::norm_below => fn norm_below(w: &Coeffs, bound: i32) -> bool;
                pack::simple_bit_pack => fn simple_bit_pack(bits: u32, w: &Coeffs, out: &mut [u8]);
                pack::bit_pack => fn bit_pack(bits: u32, b: i32, w: &Coeffs, out: &mut [u8]);
                pack::simple_bit_unpack => fn simple_bit_unpack(bits: u32, v: &[u8], out: &mut Coeffs);
                pack::bit_unpack => fn bit_unpack(bits: u32, b: i32, v: &[u8], out: &mut Coeffs);
                reject::reject_uniform => fn reject_uniform(bytes: &[u8], out: &mut Coeffs, filled: usize) -> usize;
                reject::mul_add_uniform => fn mul_add_uniform(bytes: &[u8], b: &Coeffs, sum: &mut [u8; $crate::backend::PACKED], done: usize) -> usize;
                reject::reject_bounded => fn reject_bounded(eta: i32, bytes: &[u8], out: &mut Coeffs, filled: usize) -> usize;
                #[cfg(test)] probe::mont_mul => fn mont_mul(w: &mut Coeffs, zeta: i32, told: bool);
            }
        }
    };
    (@stamp $room:ty, $lanes:ty, $feature:tt,
        $($(#[$when:meta])? $module:ident::$kernel:ident => fn $name:ident($($arg:ident: $type:ty),*) $(-> $answer:ty)?;)*) => {$(
        $(#[$when])?
        $crate::backend::door! { @one $room, $lanes, $feature, $module::$kernel, $name, ($($arg: $type),*), ($($answer)?) }
    )*};
    (@one $room:ty, $lanes:ty, [$($feature:literal)?], $module:ident::$kernel:ident, $name:ident,
        ($($arg:ident: $type:ty),*), ($($answer:ty)?)) => {
        fn $name(&self, $($arg: $type),*) $(-> $answer)? {
            $(#[target_feature(enable = $feature)])?
            fn stamped(room: $room, $($arg: $type),*) $(-> $answer)? {
                $crate::kernels::$module::$kernel::<$lanes>(room, $($arg),*)
            }
            // SAFETY: the room in hand proves that this CPU has the features.
            #[allow(unused_unsafe, reason = "a room without features has a safe function here")]
            unsafe { stamped(*self, $($arg),*) }
        }
    };
}
use door;

/// Aligns the caller's stack frame to a cache line. The compiler does not, for the registers that it has no room for, and
/// one that lies across two lines costs several times as much: then it depends on the caller how fast a function is.
#[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
#[inline(always)]
fn aligned_frame() {
    #[repr(align(64))]
    struct Line(#[allow(dead_code, reason = "its place counts")] u8);
    let line = Line(0);
    core::hint::black_box(&line);
}

/// A room in hand: the proof that this CPU can run it.
#[cfg(not(one_room))]
pub(crate) type Room = &'static dyn Backend;

/// How each room of this build is had, the best one first; `None` where this CPU cannot run it.
#[cfg(not(one_room))]
static DETECT: &[fn() -> Option<Room>] = &[
    #[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
    avx512::detect,
    #[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
    avx2::detect,
    #[cfg(armv7em)]
    armv7em::detect,
    portable::detect,
    #[cfg(all(feature = "plain-lanes", not(armv7em)))]
    plain8::detect,
];

/// The rooms of this build that this CPU can run, the best one first.
#[cfg(not(one_room))]
pub(crate) fn rooms() -> impl Iterator<Item = Room> {
    DETECT.iter().filter_map(|detect| detect())
}

/// The room that the next public call uses: the best one, or the forced one.
///
/// A room is forced by `SEALSTONE_BACKEND=name` in debug builds, or by [`crate::hazmat::force_room`].
/// Panics, in debug builds only, if the variable names no room: a test that runs elsewhere than it says proves nothing.
#[cfg(not(one_room))]
pub(crate) fn active() -> Room {
    forced().or_else(|| rooms().next()).unwrap_or(&portable::ROOM)
}

#[cfg(not(one_room))]
fn forced() -> Option<Room> {
    #[cfg(test)]
    if let Some(room) = crate::suite::faulty::in_use() {
        return Some(room);
    }
    #[cfg(feature = "hazmat")]
    if let Some(room) = force::chosen() {
        return Some(room);
    }
    #[cfg(all(debug_assertions, feature = "std"))]
    {
        static ASKED: std::sync::OnceLock<Option<Room>> = std::sync::OnceLock::new();
        *ASKED.get_or_init(|| {
            let name = std::env::var_os("SEALSTONE_BACKEND")?;
            let room = rooms().find(|room| name == room.name());
            Some(room.expect("SEALSTONE_BACKEND must name a room of this build that this CPU can run"))
        })
    }
    #[cfg(not(all(debug_assertions, feature = "std")))]
    None
}

#[cfg(feature = "hazmat")]
pub(crate) mod force {
    use super::{DETECT, Room, rooms};
    use core::sync::atomic::{AtomicUsize, Ordering};

    /// One more than the index in `DETECT` of the forced room; 0 for none.
    static FORCED: AtomicUsize = AtomicUsize::new(0);

    pub(super) fn chosen() -> Option<Room> {
        FORCED.load(Ordering::Relaxed).checked_sub(1).and_then(|i| DETECT[i]())
    }

    /// The rooms of this build on this CPU.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        rooms().map(|room| room.name())
    }

    /// Forces a room by name; `None` frees the choice again. False if no room has that name.
    pub(crate) fn force(name: Option<&str>) -> bool {
        let named = |detect: &fn() -> Option<Room>| detect().is_some_and(|room| Some(room.name()) == name);
        let index = match name {
            None => Some(0),
            Some(_) => DETECT.iter().position(named).map(|i| i + 1),
        };
        index.map(|i| FORCED.store(i, Ordering::Relaxed)).is_some()
    }
}

/// The rooms, for the suite that compares each with the model.
#[cfg(test)]
pub(crate) fn all() -> std::vec::Vec<Room> {
    rooms().collect()
}
