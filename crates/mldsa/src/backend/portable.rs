//! The room that every CPU has: one lane, one Keccak state.

#![allow(unsafe_code, reason = "the door is stamped the same way for every room; nothing here needs it")]

use super::{Coeffs, Lanes, PLACES, Words, door, inward, outward};
use crate::fips204::params::Q;
use crate::fips204::ring::{Ball, NttPoly, Small};
use crate::keccak::{self, States};
use crate::kernels::QINV;
use crate::kernels::pack::{pack_eight, unpack_eight};

/// Any CPU can run this room; the field is private so that all rooms are had the same way.
#[derive(Clone, Copy)]
pub(crate) struct Portable(());

#[cfg(not(one_room))]
pub(super) static ROOM: Portable = Portable(());

#[cfg(not(one_room))]
pub(super) fn detect() -> Option<super::Room> {
    Some(&ROOM)
}

/// The proof of one lane, which every room has besides its own: for what is left over.
pub(crate) const ONE_LANE: Portable = Portable(());

impl Lanes for i32 {
    const N: usize = 1;
    type Cell = i32;
    type Group = [i32; 8];
    const GROUP: usize = 8;
    type Room = Portable;
    type Wide = u64;
    type Bytes = u64;
    const BYTES: usize = 8;

    #[inline(always)]
    fn cells(w: &[i32]) -> &[i32] {
        w
    }
    #[inline(always)]
    fn cells_mut(w: &mut [i32]) -> &mut [i32] {
        w
    }
    #[inline(always)]
    fn load(_: Portable, from: &i32) -> i32 {
        *from
    }
    #[inline(always)]
    fn store(self, to: &mut i32) {
        *to = self
    }
    #[inline(always)]
    fn splat(_: Portable, x: i32) -> i32 {
        x
    }
    #[inline(always)]
    fn count_from(_: Portable, first: i32) -> i32 {
        first
    }
    #[inline(always)]
    fn mul_low(self, other: i32) -> i32 {
        self.wrapping_mul(other)
    }
    #[inline(always)]
    fn sar<const S: u32>(self) -> i32 {
        self >> S
    }
    #[inline(always)]
    fn shl<const S: u32>(self) -> i32 {
        self << S
    }
    #[inline(always)]
    fn mul_wide(self, other: i32) -> u64 {
        u64::from(self as u32) * u64::from(other as u32)
    }
    #[inline(always)]
    fn wide_zero(_: Portable) -> u64 {
        0
    }
    #[inline(always)]
    fn add_wide(a: u64, b: u64) -> u64 {
        a + b
    }
    #[inline(always)]
    fn mont_reduce(_: Portable, x: u64) -> i32 {
        // The low halves of x and of m·q agree, so their difference is 2^32 times that of the high halves.
        let m = (x as u32).wrapping_mul(QINV as u32);
        (x >> 32) as i32 - ((u64::from(m) * Q as u64) >> 32) as i32
    }
    #[inline(always)]
    fn mont_mul(self, _: Portable, zeta: i32, quotient: i32, _: bool) -> i32 {
        // 256q makes the factor positive: unsigned products are what a CPU without wide signed lanes is quick at.
        // The product is below 512q·q < 2^32·q, so its high half is below q, and of two numbers in [0, q) the difference
        // is in (-q, q). The low halves of the product and of m·q agree.
        let a = (self as u32).wrapping_add(256 * Q as u32);
        let m = a.wrapping_mul(quotient as u32);
        ((u64::from(a) * u64::from(zeta as u32)) >> 32) as i32 - ((u64::from(m) * Q as u64) >> 32) as i32
    }
    #[inline(always)]
    fn exchange<const S: usize>(a: i32, b: i32) -> (i32, i32) {
        debug_assert!(false, "one lane has no layer within it");
        (a, b)
    }
    #[inline(always)]
    fn group(_: Portable) -> [i32; 8] {
        [0; 8]
    }
    #[inline(always)]
    fn unpack<const BITS: u32>(_: Portable, bytes: &[u8]) -> [i32; 8] {
        unpack_eight::<BITS>(bytes)
    }
    #[inline(always)]
    fn pack<const BITS: u32>(group: [i32; 8], bytes: &mut [u8]) {
        pack_eight::<BITS>(&group, bytes)
    }
    #[inline(always)]
    fn keep_below(self, key: i32, limit: i32, to: &mut [i32]) -> usize {
        to[0] = self;
        usize::from(key < limit)
    }
    #[inline(always)]
    fn no_bytes(_: Portable) -> u64 {
        0
    }
    #[inline(always)]
    fn add_bytes(sum: u64, from: &[u8]) -> u64 {
        // No byte passes 255, so none carries into the next.
        sum + from.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
    #[inline(always)]
    fn store_bytes(sum: u64, to: &mut [u8]) {
        to.copy_from_slice(&sum.to_le_bytes())
    }
    #[inline(always)]
    fn widen(_: Portable, from: &[u8]) -> i32 {
        from[0].into()
    }
    #[inline(always)]
    fn any(self) -> bool {
        self != 0
    }
    #[inline(always)]
    fn sum(self) -> i32 {
        self
    }
}

/// Between rounds six of the words are kept complemented, which leaves 8 of the 25 negations of χ. For a CPU that has no
/// instruction for `!b & c`. (Bertoni et al., Keccak implementation overview, 2.2.)
impl Words for u64 {
    #[inline(always)]
    fn splat(x: u64) -> u64 {
        x
    }
    #[inline(always)]
    fn xor(self, other: u64) -> u64 {
        self ^ other
    }
    #[inline(always)]
    fn chi(self, b: u64, c: u64) -> u64 {
        self ^ (!b & c)
    }
    #[inline(always)]
    fn rotl<const R: i32>(self) -> u64 {
        self.rotate_left(R as u32)
    }
    #[inline(always)]
    fn chi_row<const Y: usize>([a, e, i, o, u]: [u64; 5]) -> [u64; 5] {
        match Y {
            0 => [a ^ (e | i), e ^ (!i | o), i ^ (o & u), o ^ (u | a), u ^ (a & e)],
            1 => [a ^ (e | i), e ^ (i & o), i ^ (o | !u), o ^ (u | a), u ^ (a & e)],
            2 => [a ^ (e | i), e ^ (i & o), i ^ (!o & u), !o ^ (u | a), u ^ (a & e)],
            3 => [a ^ (e & i), e ^ (i | o), i ^ (!o | u), !o ^ (u & a), u ^ (a | e)],
            _ => [a ^ (!e & i), !e ^ (i | o), i ^ (o & u), o ^ (u | a), u ^ (a & e)],
        }
    }
    #[inline(always)]
    fn complemented(mut state: [u64; 25]) -> [u64; 25] {
        for word in [1, 2, 8, 12, 17, 20] {
            state[word] = !state[word];
        }
        state
    }
}

/// N states one after the other.
fn one_by_one<const N: usize>(states: &mut States<N>) {
    for n in 0..N {
        let mut one = core::array::from_fn(|i| outward(states.0[i][n]));
        keccak::permute::<u64>(&mut one);
        for (word, of_one) in states.0.iter_mut().zip(one) {
            word[n] = inward(of_one);
        }
    }
}

door!(Portable, i32, [], {
    fn name(&self) -> &'static str {
        "portable"
    }
    fn width(&self) -> usize {
        1
    }
    fn keccak_x1(&self, state: &mut States<1>) {
        one_by_one(state)
    }
    fn keccak_x4(&self, state: &mut States<4>) {
        one_by_one(state)
    }
    fn keccak_x8(&self, state: &mut States<8>) {
        one_by_one(state)
    }
});
