//! A room of eight plain lanes without intrinsics. It is here for the tests: it shows that kernels, Keccak and doors fit
//! more than one lane, and it takes the paths inside a register that one lane never takes.

#![allow(unsafe_code, reason = "the door is stamped the same way for every room; nothing here needs it")]

use super::{Coeffs, Lanes, ONE_LANE, PLACES, Room, Words, door};
use crate::fips204::ring::{Ball, NttPoly, Small};
use crate::keccak::{self, States};
use crate::kernels::pack::{pack_eight, unpack_eight};
use core::array::from_fn;
use core::ops::{Add, BitAnd, BitOr, BitXor, Sub};

/// Any CPU can run this room.
#[derive(Clone, Copy)]
pub(crate) struct Plain8(());

pub(super) fn detect() -> Option<Room> {
    static ROOM: Plain8 = Plain8(());
    Some(&ROOM)
}

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
    type Group = [I32x8; 1];
    const GROUP: usize = 1;
    type Room = Plain8;
    type Wide = [u64; 8];
    type Bytes = [u8; 32];
    const BYTES: usize = 32;

    #[inline(always)]
    fn cells(w: &[i32]) -> &[[i32; 8]] {
        w.as_chunks().0
    }
    #[inline(always)]
    fn cells_mut(w: &mut [i32]) -> &mut [[i32; 8]] {
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
    fn count_from(_: Plain8, first: i32) -> Self {
        Self(from_fn(|j| first + j as i32))
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
    fn mont_reduce(_: Plain8, x: [u64; 8]) -> Self {
        Self(x.map(|x| i32::mont_reduce(ONE_LANE, x)))
    }
    #[inline(always)]
    fn mont_mul(self, _: Plain8, zeta: Self, quotient: Self, in_pairs: bool) -> Self {
        debug_assert!(!in_pairs || (0..8).all(|j| zeta.0[j] == zeta.0[j ^ 1]));
        Self(from_fn(|j| self.0[j].mont_mul(ONE_LANE, zeta.0[j], quotient.0[j], in_pairs)))
    }
    #[inline(always)]
    fn exchange<const S: usize>(a: Self, b: Self) -> (Self, Self) {
        let exchanged =
            |upper| Self(from_fn(|j| if j & S == 0 { a.0[j | upper] } else { b.0[(j & !S) | upper] }));
        (exchanged(0), exchanged(S))
    }
    #[inline(always)]
    fn group(_: Plain8) -> [Self; 1] {
        [Self([0; 8])]
    }
    #[inline(always)]
    fn unpack<const BITS: u32>(_: Plain8, bytes: &[u8]) -> [Self; 1] {
        [Self(unpack_eight::<BITS>(bytes))]
    }
    #[inline(always)]
    fn pack<const BITS: u32>(group: [Self; 1], bytes: &mut [u8]) {
        pack_eight::<BITS>(&group[0].0, bytes)
    }
    #[inline(always)]
    fn keep_below(self, key: Self, limit: Self, to: &mut [i32]) -> usize {
        let mut kept = 0;
        for j in 0..8 {
            to[kept & 7] = self.0[j];
            kept += usize::from(key.0[j] < limit.0[j]);
        }
        kept
    }
    #[inline(always)]
    fn no_bytes(_: Plain8) -> [u8; 32] {
        [0; 32]
    }
    #[inline(always)]
    fn add_bytes(sum: [u8; 32], from: &[u8]) -> [u8; 32] {
        from_fn(|i| sum[i] + from[i])
    }
    #[inline(always)]
    fn store_bytes(sum: [u8; 32], to: &mut [u8]) {
        to[..32].copy_from_slice(&sum)
    }
    #[inline(always)]
    fn widen(_: Plain8, from: &[u8]) -> Self {
        Self(from_fn(|i| from[i].into()))
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
    fn chi(self, b: Self, c: Self) -> Self {
        from_fn(|n| self[n] ^ (!b[n] & c[n]))
    }
    #[inline(always)]
    fn rotl<const R: i32>(self) -> Self {
        self.map(|x| x.rotate_left(R as u32))
    }
}

door!(Plain8, I32x8, [], {
    fn name(&self) -> &'static str {
        "plain8"
    }
    fn width(&self) -> usize {
        8
    }
    fn keccak_x1(&self, state: &mut States<1>) {
        keccak::permute(&mut state.0)
    }
    fn keccak_x4(&self, state: &mut States<4>) {
        keccak::permute(&mut state.0)
    }
    fn keccak_x8(&self, state: &mut States<8>) {
        keccak::permute(&mut state.0)
    }
});
