//! The room that every CPU has: one lane, one Keccak state.

use super::{Coeffs, Lanes, Words, door};
use crate::fips204::params::Q;
use crate::fips204::ring::NttPoly;
use crate::keccak::{self, States};
use crate::kernels::{self, QINV};

/// Any CPU can run this room; the field is private so that all rooms are had the same way.
#[derive(Clone, Copy)]
pub(crate) struct Portable(());

pub(super) static ROOM: Portable = Portable(());

impl Lanes for i32 {
    const N: usize = 1;
    type Room = Portable;
    type Wide = i64;

    #[inline(always)]
    fn load(_: Portable, from: &Coeffs, i: usize) -> i32 {
        from[i & 255]
    }
    #[inline(always)]
    fn store(self, to: &mut Coeffs, i: usize) {
        to[i & 255] = self
    }
    #[inline(always)]
    fn splat(_: Portable, x: i32) -> i32 {
        x
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
    fn mul_wide(self, other: i32) -> i64 {
        i64::from(self) * i64::from(other)
    }
    #[inline(always)]
    fn add_wide(a: i64, b: i64) -> i64 {
        a + b
    }
    #[inline(always)]
    fn mont_reduce(x: i64) -> i32 {
        let t = (x as i32).wrapping_mul(QINV);
        ((x - i64::from(t) * i64::from(Q)) >> 32) as i32
    }
    #[inline(always)]
    fn halves(self, _: usize) -> (i32, i32) {
        (self, self)
    }
    #[inline(always)]
    fn blend(lower: i32, _: i32, _: usize) -> i32 {
        lower
    }
    #[inline(always)]
    fn zetas(_: Portable, table: &Coeffs, first: usize, _: usize) -> i32 {
        table[first & 255]
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
    fn and_not(self, other: u64) -> u64 {
        !self & other
    }
    #[inline(always)]
    fn rotl<const R: u32>(self) -> u64 {
        self.rotate_left(R)
    }
}

/// N states one after the other.
fn one_by_one<const N: usize>(states: &mut States<N>) {
    for n in 0..N {
        let mut one = core::array::from_fn(|i| states[i][n]);
        keccak::permute::<u64>(&mut one);
        for (word, of_one) in states.iter_mut().zip(one) {
            word[n] = of_one;
        }
    }
}

door!(Portable, i32, {
    fn name(&self) -> &'static str {
        "portable"
    }
    fn width(&self) -> usize {
        1
    }
    fn keccak_x1(&self, state: &mut States<1>) {
        one_by_one(state)
    }
    fn keccak_x2(&self, state: &mut States<2>) {
        one_by_one(state)
    }
    fn keccak_x4(&self, state: &mut States<4>) {
        one_by_one(state)
    }
    fn keccak_x8(&self, state: &mut States<8>) {
        one_by_one(state)
    }
});
