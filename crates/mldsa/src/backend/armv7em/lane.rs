//! One coefficient in a register of 32 bits, with the long products of ARMv7E-M.

use super::{Armv7em, dot, inv_ntt, ntt, sum_windows};
use crate::backend::{Coeffs, Dot, Lanes, SumWindows};
use crate::fips204::params::Q;
use crate::kernels::QINV;
use crate::kernels::pack::{pack_eight, read_compactly, unpack_eight};
use core::arch::asm;
use core::ops::{Add, BitAnd, BitOr, BitXor, Sub};

/// One coefficient.
#[derive(Clone, Copy)]
pub(crate) struct Lane(i32);

macro_rules! lanewise {
    ($($op:ident $method:ident),*) => {$(
        impl $op for Lane {
            type Output = Lane;
            #[inline(always)]
            fn $method(self, other: Lane) -> Lane {
                Lane(self.0.$method(other.0))
            }
        }
    )*};
}
lanewise!(Add add, Sub sub, BitAnd bitand, BitOr bitor, BitXor bitxor);

/// A constant that stays in a register: the compiler would rather make it anew, by two instructions, wherever it is used.
#[inline(always)]
fn kept(x: i32) -> i32 {
    let mut x = x;
    // SAFETY: no instruction.
    unsafe { asm!("/* {0} */", inout(reg) x, options(pure, nomem, nostack, preserves_flags)) }
    x
}

/// x - m·q with m = x·q^-1 mod 2^32, of which the low half is 0: its high half.
///
/// In assembly, because the compiler makes four instructions of a product with a constant.
#[inline(always)]
fn reduced(low: u32, mut high: i32) -> Lane {
    // SAFETY: two products.
    unsafe {
        asm!(
            "mul {m}, {low}, {inverse}",
            "smlal {low}, {high}, {m}, {minus_q}",
            low = inout(reg) low => _,
            high = inout(reg) high,
            m = out(reg) _,
            inverse = in(reg) kept(QINV),
            minus_q = in(reg) kept(-Q),
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    Lane(high)
}

impl Lanes for Lane {
    const N: usize = 1;
    type Cell = i32;
    type Group = [Lane; 8];
    const GROUP: usize = 8;
    type Room = Armv7em;
    type Wide = u64;
    type Bytes = [u32; 2];
    const BYTES: usize = 8;
    const COMPACT: bool = cfg!(compact);
    const TRANSFORMS: Option<[fn(&mut Coeffs); 2]> = if cfg!(compact) { None } else { Some([ntt, inv_ntt]) };
    const DOT: Option<Dot> = Some(dot);
    const SUM_WINDOWS: Option<SumWindows> = Some(sum_windows);

    #[inline(always)]
    fn cells(w: &[i32]) -> &[i32] {
        w
    }
    #[inline(always)]
    fn cells_mut(w: &mut [i32]) -> &mut [i32] {
        w
    }
    #[inline(always)]
    fn load(_: Armv7em, from: &i32) -> Lane {
        Lane(*from)
    }
    #[inline(always)]
    fn store(self, to: &mut i32) {
        *to = self.0
    }
    #[inline(always)]
    fn splat(_: Armv7em, x: i32) -> Lane {
        Lane(if x == Q { kept(x) } else { x })
    }
    #[inline(always)]
    fn count_from(_: Armv7em, first: i32) -> Lane {
        Lane(first)
    }
    #[inline(always)]
    fn mul_low(self, other: Lane) -> Lane {
        Lane(self.0.wrapping_mul(other.0))
    }
    #[inline(always)]
    fn sar<const S: u32>(self) -> Lane {
        Lane(self.0 >> S)
    }
    #[inline(always)]
    fn shl<const S: u32>(self) -> Lane {
        Lane(self.0 << S)
    }
    #[inline(always)]
    fn mul_wide(self, other: Lane) -> u64 {
        u64::from(self.0 as u32) * u64::from(other.0 as u32)
    }
    #[inline(always)]
    fn wide_zero(_: Armv7em) -> u64 {
        0
    }
    #[inline(always)]
    fn add_wide(a: u64, b: u64) -> u64 {
        a + b
    }
    #[inline(always)]
    fn mont_reduce(_: Armv7em, x: u64) -> Lane {
        // x / 2^32 < q/2 and |m·q| / 2^32 <= q/2.
        reduced(x as u32, (x >> 32) as i32)
    }
    #[inline(always)]
    fn mont_mul(self, _: Armv7em, zeta: Lane, _: Lane, _: bool) -> Lane {
        // |self·zeta| / 2^32 < 256q²/2^32 < q/2, and |m·q| / 2^32 <= q/2.
        let product = i64::from(self.0) * i64::from(zeta.0);
        reduced(product as u32, (product >> 32) as i32)
    }
    #[inline(always)]
    fn exchange<const S: usize>(a: Lane, b: Lane) -> (Lane, Lane) {
        debug_assert!(false, "one lane has no layer within it");
        (a, b)
    }
    #[inline(always)]
    fn group(_: Armv7em) -> [Lane; 8] {
        [Lane(0); 8]
    }
    #[inline(always)]
    fn unpack<const BITS: u32>(_: Armv7em, bytes: &[u8]) -> [Lane; 8] {
        if Self::COMPACT {
            let mut eight = [0; 8];
            read_compactly(BITS, (0, 1), bytes, &mut eight);
            return eight.map(Lane);
        }
        unpack_eight::<BITS>(bytes).map(Lane)
    }
    #[inline(always)]
    fn pack<const BITS: u32>(group: [Lane; 8], bytes: &mut [u8]) {
        pack_eight::<BITS>(&group.map(|x| x.0), bytes)
    }
    #[inline(always)]
    fn keep_below(self, key: Lane, limit: Lane, to: &mut [i32]) -> usize {
        to[0] = self.0;
        usize::from(key.0 < limit.0)
    }
    #[inline(always)]
    fn no_bytes(_: Armv7em) -> [u32; 2] {
        [0; 2]
    }
    #[inline(always)]
    fn add_bytes(sum: [u32; 2], from: &[u8]) -> [u32; 2] {
        // No byte passes 255, so none carries into the next.
        let words = from.as_chunks::<4>().0;
        core::array::from_fn(|i| sum[i] + words.get(i).map_or(0, |bytes| u32::from_le_bytes(*bytes)))
    }
    #[inline(always)]
    fn store_bytes(sum: [u32; 2], to: &mut [u8]) {
        for (bytes, word) in to.as_chunks_mut::<4>().0.iter_mut().zip(sum) {
            *bytes = word.to_le_bytes();
        }
    }
    #[inline(always)]
    fn widen(_: Armv7em, from: &[u8]) -> Lane {
        Lane(from[0].into())
    }
    #[inline(always)]
    fn any(self) -> bool {
        self.0 != 0
    }
    #[inline(always)]
    fn sum(self) -> i32 {
        self.0
    }
}
