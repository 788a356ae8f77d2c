//! A room of eight plain lanes without intrinsics. It is here for the tests: it shows that kernels, Keccak and doors fit
//! more than one lane, and it takes the paths inside a register that one lane never takes.

use super::{Coeffs, Lanes, Words, door};
use crate::fips204::ring::NttPoly;
use crate::keccak::{self, States};
use crate::kernels;
use core::array::from_fn;
use core::ops::{Add, BitAnd, BitOr, BitXor, Sub};

/// Any CPU can run this room.
#[derive(Clone, Copy)]
pub(crate) struct Plain8(());

pub(super) static ROOM: Plain8 = Plain8(());

/// Eight coefficients.
#[derive(Clone, Copy)]
pub(crate) struct I32x8([i32; 8]);

macro_rules! lanewise {
    ($($op:ident $method:ident),*) => {$(
        impl $op for I32x8 {
            type Output = I32x8;
            #[inline(always)]
            fn $method(self, other: I32x8) -> I32x8 {
                I32x8(from_fn(|j| self.0[j].$method(other.0[j])))
            }
        }
    )*};
}
lanewise!(Add add, Sub sub, BitAnd bitand, BitOr bitor, BitXor bitxor);

impl Lanes for I32x8 {
    const N: usize = 8;
    type Cell = [i32; 8];
    type Room = Plain8;
    type Wide = [u64; 8];

    #[inline(always)]
    fn cells(w: &Coeffs) -> &[[i32; 8]] {
        w.as_chunks().0
    }
    #[inline(always)]
    fn cells_mut(w: &mut Coeffs) -> &mut [[i32; 8]] {
        w.as_chunks_mut().0
    }
    #[inline(always)]
    fn load(_: Plain8, from: &[i32; 8]) -> Self {
        Self(*from)
    }
    #[inline(always)]
    fn store(self, to: &mut [i32; 8]) {
        *to = self.0
    }
    #[inline(always)]
    fn splat(_: Plain8, x: i32) -> Self {
        Self([x; 8])
    }
    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        Self(from_fn(|j| self.0[j].wrapping_mul(other.0[j])))
    }
    #[inline(always)]
    fn sar<const S: u32>(self) -> Self {
        Self(self.0.map(|x| x >> S))
    }
    #[inline(always)]
    fn shl<const S: u32>(self) -> Self {
        Self(self.0.map(|x| x << S))
    }
    #[inline(always)]
    fn mul_wide(self, other: Self) -> [u64; 8] {
        from_fn(|j| self.0[j].mul_wide(other.0[j]))
    }
    #[inline(always)]
    fn wide_zero(_: Plain8) -> [u64; 8] {
        [0; 8]
    }
    #[inline(always)]
    fn add_wide(a: [u64; 8], b: [u64; 8]) -> [u64; 8] {
        from_fn(|j| a[j] + b[j])
    }
    #[inline(always)]
    fn mont_reduce(x: [u64; 8]) -> Self {
        Self(x.map(i32::mont_reduce))
    }
    #[inline(always)]
    fn mont_mul(self, zeta: Self) -> Self {
        Self(from_fn(|j| self.0[j].mont_mul(zeta.0[j])))
    }
    #[inline(always)]
    fn halves(self, stride: usize) -> (Self, Self) {
        (Self(from_fn(|j| self.0[j & !stride & 7])), Self(from_fn(|j| self.0[(j | stride) & 7])))
    }
    #[inline(always)]
    fn blend(lower: Self, upper: Self, stride: usize) -> Self {
        Self(from_fn(|j| if j & stride == 0 { lower.0[j] } else { upper.0[j] }))
    }
    #[inline(always)]
    fn zetas(_: Plain8, table: &Coeffs, first: usize, stride: usize) -> Self {
        let groups_per_lane = stride.trailing_zeros() + 1; // j / (2·stride), stride a power of two
        Self(from_fn(|j| table[(first + (j >> groups_per_lane)) & 255]))
    }
    #[inline(always)]
    fn any(self) -> bool {
        self.0.iter().fold(0, |a, x| a | x) != 0
    }
    #[inline(always)]
    fn sum(self) -> i32 {
        self.0.iter().sum()
    }
}

impl<const N: usize> Words for [u64; N] {
    #[inline(always)]
    fn splat(x: u64) -> Self {
        [x; N]
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        from_fn(|n| self[n] ^ other[n])
    }
    #[inline(always)]
    fn and_not(self, other: Self) -> Self {
        from_fn(|n| !self[n] & other[n])
    }
    #[inline(always)]
    fn rotl<const R: u32>(self) -> Self {
        self.map(|x| x.rotate_left(R))
    }
}

door!(Plain8, I32x8, {
    fn name(&self) -> &'static str {
        "plain8"
    }
    fn width(&self) -> usize {
        8
    }
    fn keccak_x1(&self, state: &mut States<1>) {
        keccak::permute(state)
    }
    fn keccak_x2(&self, state: &mut States<2>) {
        keccak::permute(state)
    }
    fn keccak_x4(&self, state: &mut States<4>) {
        keccak::permute(state)
    }
    fn keccak_x8(&self, state: &mut States<8>) {
        keccak::permute(state)
    }
});
