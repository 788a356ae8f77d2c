//! The room of x86-64 CPUs with AVX2 (and BMI and POPCNT, which came with it or before): eight lanes, four Keccak states.
#![allow(unsafe_code)]

use super::{Lanes, PLACES, Room, Words, aligned_frame, door};
use crate::backend::Coeffs;
use crate::fips204::params::Q;
use crate::fips204::ring::{Ball, NttPoly, Small};
use crate::keccak::{self, States};
use crate::kernels::QINV;
use crate::kernels::pack::pack_eight;
use core::arch::asm;
use core::arch::x86_64::*;
use core::ops::{Add, BitAnd, BitOr, BitXor, Sub};

/// The proof that this CPU has AVX2, BMI1, BMI2 and POPCNT.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

pub(super) fn detect() -> Option<Room> {
    static ROOM: Avx2 = Avx2(());
    let all = std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("popcnt");
    all.then_some(&ROOM)
}

/// An intrinsic whose features the CPU is known to have.
macro_rules! proven {
    ($call:expr) => {{
        // SAFETY: the room, or a value that only a room makes, is in hand: this CPU has AVX2. Pointers come from
        // references to as many bytes as are read or written.
        #[allow(unused_unsafe, reason = "an intrinsic without pointers is safe where the features are enabled")]
        unsafe {
            $call
        }
    }};
}

/// Eight coefficients.
#[derive(Clone, Copy)]
pub(crate) struct I32x8(__m256i);

/// The 64-bit sums of the even lanes, and of the odd ones.
#[derive(Clone, Copy)]
pub(crate) struct I64x8 {
    even: __m256i,
    odd: __m256i,
}

macro_rules! lanewise {
    ($($op:ident $method:ident $intrinsic:ident),*) => {$(
        impl $op for I32x8 {
            type Output = I32x8;
            #[inline(always)]
            fn $method(self, other: I32x8) -> I32x8 {
                I32x8(proven!($intrinsic(self.0, other.0)))
            }
        }
    )*};
}
lanewise!(
    Add add _mm256_add_epi32,
    Sub sub _mm256_sub_epi32,
    BitAnd bitand _mm256_and_si256,
    BitOr bitor _mm256_or_si256,
    BitXor bitxor _mm256_xor_si256
);

/// The 64-bit products of the even lanes. The compiler may not look inside: where only the low halves are asked for it
/// would take the multiplication of whole 64-bit numbers, which is three times as much work.
#[inline]
#[target_feature(enable = "avx2")]
fn mul_even(a: __m256i, b: __m256i) -> __m256i {
    let product;
    // SAFETY: an instruction on registers, of a feature that the function has.
    unsafe {
        asm!("vpmuldq {product}, {a}, {b}", product = lateout(ymm_reg) product, a = in(ymm_reg) a, b = in(ymm_reg) b,
            options(pure, nomem, nostack, preserves_flags));
    }
    product
}

/// The odd lanes in the even places.
#[inline(always)]
fn odd(a: __m256i) -> __m256i {
    proven!(_mm256_srli_epi64::<32>(a))
}

/// The high halves of the sums, each in its lane.
#[inline(always)]
fn high(x: I64x8) -> I32x8 {
    I32x8(proven!(_mm256_blend_epi32::<0b1010_1010>(odd(x.even), x.odd)))
}

impl Lanes for I32x8 {
    const N: usize = 8;
    type Cell = [i32; 8];
    type Group = [I32x8; 1];
    const GROUP: usize = 1;
    type Room = Avx2;
    type Wide = I64x8;
    type Bytes = __m256i;
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
    fn load(_: Avx2, from: &[i32; 8]) -> Self {
        Self(proven!(_mm256_loadu_si256(from.as_ptr().cast())))
    }
    #[inline(always)]
    fn store(self, to: &mut [i32; 8]) {
        proven!(_mm256_storeu_si256(to.as_mut_ptr().cast(), self.0))
    }
    #[inline(always)]
    fn splat(_: Avx2, x: i32) -> Self {
        Self(proven!(_mm256_set1_epi32(x)))
    }
    #[inline(always)]
    fn count_from(room: Avx2, first: i32) -> Self {
        const COUNT: [i32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
        Self::load(room, &COUNT) + Self::splat(room, first)
    }
    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        Self(proven!(_mm256_mullo_epi32(self.0, other.0)))
    }
    #[inline(always)]
    fn sar<const S: u32>(self) -> Self {
        Self(proven!(_mm256_sra_epi32(self.0, _mm_cvtsi32_si128(S as i32))))
    }
    #[inline(always)]
    fn shl<const S: u32>(self) -> Self {
        Self(proven!(_mm256_sll_epi32(self.0, _mm_cvtsi32_si128(S as i32))))
    }
    #[inline(always)]
    fn add_q_if_negative(self, q: Self) -> Self {
        // As numbers without sign, x is above x + q where x < 0, and below where x >= 0.
        Self(proven!(_mm256_min_epu32(self.0, _mm256_add_epi32(self.0, q.0))))
    }
    #[inline(always)]
    fn mul_wide(self, other: Self) -> I64x8 {
        I64x8 {
            even: proven!(_mm256_mul_epu32(self.0, other.0)),
            odd: proven!(_mm256_mul_epu32(odd(self.0), odd(other.0))),
        }
    }
    #[inline(always)]
    fn wide_zero(_: Avx2) -> I64x8 {
        I64x8 { even: proven!(_mm256_setzero_si256()), odd: proven!(_mm256_setzero_si256()) }
    }
    #[inline(always)]
    fn add_wide(a: I64x8, b: I64x8) -> I64x8 {
        I64x8 {
            even: proven!(_mm256_add_epi64(a.even, b.even)),
            odd: proven!(_mm256_add_epi64(a.odd, b.odd)),
        }
    }
    #[inline(always)]
    fn mont_reduce(room: Avx2, x: I64x8) -> Self {
        let (q, q_inv) = (Self::splat(room, Q).0, Self::splat(room, QINV).0);
        // The low halves of x and of m·q agree, so their difference is 2^32 times the answer.
        let reduce = |x| {
            let m = proven!(mul_even(x, q_inv));
            proven!(_mm256_sub_epi64(x, mul_even(m, q)))
        };
        high(I64x8 { even: reduce(x.even), odd: reduce(x.odd) })
    }
    #[inline(always)]
    fn mont_mul(self, room: Avx2, zeta: Self, quotient: Self, in_pairs: bool) -> Self {
        let q = Self::splat(room, Q).0;
        // The low halves of x and of m·q agree, so their difference is 2^32 times the answer.
        let mul = |a, zeta, quotient| {
            let m = proven!(mul_even(a, quotient));
            proven!(_mm256_sub_epi64(_mm256_mul_epi32(a, zeta), mul_even(m, q)))
        };
        let of_odd = |zeta| if in_pairs { zeta } else { odd(zeta) };
        high(I64x8 {
            even: mul(self.0, zeta.0, quotient.0),
            odd: mul(odd(self.0), of_odd(zeta.0), of_odd(quotient.0)),
        })
    }
    #[inline(always)]
    fn exchange<const S: usize>(a: Self, b: Self) -> (Self, Self) {
        let (a, b) = (a.0, b.0);
        let (lower, upper) = match S {
            4 => proven!((_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b))),
            2 => proven!((_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b))),
            _ => proven!((
                _mm256_blend_epi32::<0b1010_1010>(a, _mm256_slli_epi64::<32>(b)),
                _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64::<32>(a), b)
            )),
        };
        (Self(lower), Self(upper))
    }
    #[inline(always)]
    fn group(room: Avx2) -> [Self; 1] {
        [Self::splat(room, 0)]
    }
    #[inline(always)]
    fn unpack<const BITS: u32>(_: Avx2, bytes: &[u8]) -> [Self; 1] {
        /// For each half register (from its own first byte on): the four bytes that hold a number, and by how many bits
        /// they must be shifted.
        struct Places<const BITS: u32>;
        impl<const BITS: u32> Places<BITS> {
            const TABLES: ([u8; 32], [i32; 8]) = {
                let (mut bytes, mut shifts) = ([0x80; 32], [0; 8]);
                let mut j = 0;
                while j < 8 {
                    let bit = j * BITS as usize - if j >= 4 { 8 * high_start(BITS) } else { 0 };
                    let mut i = 0;
                    while i < 4 && (bit >> 3) + i < 16 {
                        bytes[4 * j + i] = ((bit >> 3) + i) as u8;
                        i += 1;
                    }
                    shifts[j] = (bit & 7) as i32;
                    j += 1;
                }
                (bytes, shifts)
            };
        }
        /// The byte at which the upper half register begins to read.
        const fn high_start(bits: u32) -> usize {
            if bits > 16 { bits as usize - 16 } else { 0 }
        }
        let bytes = &bytes[..BITS as usize];
        let mut halves = [[0; 16]; 2];
        if BITS > 16 {
            halves[0].copy_from_slice(&bytes[..16]);
            halves[1].copy_from_slice(&bytes[high_start(BITS)..]);
        } else {
            halves[0][..BITS as usize].copy_from_slice(bytes);
            halves[1] = halves[0];
        }
        let (places, shifts) = const { &Places::<BITS>::TABLES };
        [Self(proven!({
            let halves = _mm256_loadu_si256(halves.as_ptr().cast());
            let fours = _mm256_shuffle_epi8(halves, _mm256_loadu_si256(places.as_ptr().cast()));
            let shifted = _mm256_srlv_epi32(fours, _mm256_loadu_si256(shifts.as_ptr().cast()));
            _mm256_and_si256(shifted, _mm256_set1_epi32((1 << BITS) - 1))
        }))]
    }
    #[inline(always)]
    fn pack<const BITS: u32>(group: [Self; 1], bytes: &mut [u8]) {
        if BITS & 1 == 1 {
            // Four numbers are no whole number of bytes.
            let mut numbers = [0; 8];
            group[0].store(&mut numbers);
            pack_eight::<BITS>(&numbers, bytes);
            return;
        }
        let shift = |bits: u32| proven!(_mm_cvtsi32_si128(bits as i32));
        let mut quarters = [0; 32];
        proven!({
            // Two numbers in each 64 bits, then four in each 128.
            let numbers = group[0].0;
            let lower = _mm256_set1_epi64x(0xffff_ffff);
            let twos = _mm256_or_si256(
                _mm256_and_si256(numbers, lower),
                _mm256_srl_epi64(_mm256_andnot_si256(lower, numbers), shift(32 - BITS)),
            );
            let swapped = _mm256_shuffle_epi32::<0b01_00_11_10>(twos);
            let low = _mm256_or_si256(twos, _mm256_sll_epi64(swapped, shift(2 * BITS)));
            let high = _mm256_srl_epi64(twos, shift(64 - 2 * BITS));
            _mm256_storeu_si256(quarters.as_mut_ptr().cast(), _mm256_blend_epi32::<0b1100_1100>(low, high));
        });
        let len = (BITS >> 1) as usize;
        for (quarter, bytes) in quarters.chunks_exact(16).zip(bytes.chunks_exact_mut(len)) {
            bytes.copy_from_slice(&quarter[..len]);
        }
    }
    #[inline(always)]
    fn keep_below(self, key: Self, limit: Self, to: &mut [i32]) -> usize {
        /// For each set of lanes: those lanes, in order, and zeros.
        const KEPT: [[u8; 8]; 256] = {
            let mut kept = [[0; 8]; 256];
            let mut set = 0;
            while set < 256 {
                let (mut lane, mut place) = (0, 0);
                while lane < 8 {
                    if set >> lane & 1 == 1 {
                        kept[set][place] = lane;
                        place += 1;
                    }
                    lane += 1;
                }
                set += 1;
            }
            kept
        };
        static TABLE: [[u8; 8]; 256] = KEPT;
        let to: &mut [i32; 8] = to.first_chunk_mut().expect("the caller has eight places");
        proven!({
            let set =
                _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(limit.0, key.0))) as usize & 255;
            let order = _mm256_cvtepu8_epi32(_mm_loadl_epi64(TABLE[set].as_ptr().cast()));
            _mm256_storeu_si256(to.as_mut_ptr().cast(), _mm256_permutevar8x32_epi32(self.0, order));
            set.count_ones() as usize
        })
    }
    #[inline(always)]
    fn no_bytes(_: Avx2) -> __m256i {
        proven!(_mm256_setzero_si256())
    }
    #[inline(always)]
    fn add_bytes(sum: __m256i, from: &[u8]) -> __m256i {
        let from: &[u8; 32] = from.first_chunk().expect("the caller has a register of bytes");
        proven!(_mm256_add_epi8(sum, _mm256_loadu_si256(from.as_ptr().cast())))
    }
    #[inline(always)]
    fn store_bytes(sum: __m256i, to: &mut [u8]) {
        let to: &mut [u8; 32] = to.first_chunk_mut().expect("the caller has a register of bytes");
        proven!(_mm256_storeu_si256(to.as_mut_ptr().cast(), sum))
    }
    #[inline(always)]
    fn widen(_: Avx2, from: &[u8]) -> Self {
        let from: &[u8; 8] = from.first_chunk().expect("the caller has as many bytes as lanes");
        Self(proven!(_mm256_cvtepu8_epi32(_mm_loadl_epi64(from.as_ptr().cast()))))
    }
    #[inline(always)]
    fn any(self) -> bool {
        proven!(_mm256_testz_si256(self.0, self.0)) == 0
    }
    #[inline(always)]
    fn sum(self) -> i32 {
        let mut lanes = [0; 8];
        self.store(&mut lanes);
        lanes.iter().sum()
    }
}

/// A word of four Keccak states.
#[derive(Clone, Copy)]
struct U64x4(__m256i);

impl Words for U64x4 {
    #[inline(always)]
    fn splat(x: u64) -> Self {
        Self(proven!(_mm256_set1_epi64x(x as i64)))
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(proven!(_mm256_xor_si256(self.0, other.0)))
    }
    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        Self(proven!(_mm256_xor_si256(self.0, _mm256_andnot_si256(b.0, c.0))))
    }
    #[inline(always)]
    fn rotl<const R: i32>(self) -> Self {
        match R {
            0 => self,
            8 => Self(proven!(_mm256_shuffle_epi8(self.0, turned_by_bytes(7)))),
            56 => Self(proven!(_mm256_shuffle_epi8(self.0, turned_by_bytes(1)))),
            _ => Self(proven!(_mm256_or_si256(
                _mm256_sll_epi64(self.0, _mm_cvtsi32_si128(R)),
                _mm256_srl_epi64(self.0, _mm_cvtsi32_si128(64 - R))
            ))),
        }
    }
}

/// Byte i of each word comes from byte i + by.
#[inline(always)]
fn turned_by_bytes(by: u8) -> __m256i {
    let places: [u8; 32] = core::array::from_fn(|i| (i as u8 & 8) + ((i as u8 + by) & 7));
    proven!(_mm256_loadu_si256(places.as_ptr().cast()))
}

#[target_feature(enable = "avx2")]
fn permute_x4(states: &mut States<4>) {
    aligned_frame();
    let mut words =
        states.0.each_ref().map(|words| U64x4(proven!(_mm256_loadu_si256(words.as_ptr().cast()))));
    keccak::permute(&mut words);
    for (to, from) in states.0.iter_mut().zip(words) {
        proven!(_mm256_storeu_si256(to.as_mut_ptr().cast(), from.0))
    }
}

/// Writes the first words of four states, four words at a time, by two rounds of exchanges.
#[target_feature(enable = "avx2")]
pub(super) fn read_x4(states: &States<4>, mut out: [&mut [u8]; 4]) {
    let words = out[0].len() >> 3;
    let whole = words & !3;
    for (tile, rows) in states.0.as_chunks::<4>().0.iter().enumerate().take(whole >> 2) {
        let r = rows.each_ref().map(|row| proven!(_mm256_loadu_si256(row.as_ptr().cast())));
        let (low_02, low_13) = (_mm256_unpacklo_epi64(r[0], r[1]), _mm256_unpackhi_epi64(r[0], r[1]));
        let (high_02, high_13) = (_mm256_unpacklo_epi64(r[2], r[3]), _mm256_unpackhi_epi64(r[2], r[3]));
        let columns = [
            _mm256_permute2x128_si256::<0x20>(low_02, high_02),
            _mm256_permute2x128_si256::<0x20>(low_13, high_13),
            _mm256_permute2x128_si256::<0x31>(low_02, high_02),
            _mm256_permute2x128_si256::<0x31>(low_13, high_13),
        ];
        for (column, out) in columns.into_iter().zip(&mut out) {
            let bytes = &mut out[32 * tile..][..32];
            proven!(_mm256_storeu_si256(bytes.as_mut_ptr().cast(), column))
        }
    }
    keccak::read_from(states, whole, out)
}

/// A word of one state, on a CPU that has an instruction for `!b & c`.
#[derive(Clone, Copy)]
struct U64(u64);

impl Words for U64 {
    #[inline(always)]
    fn splat(x: u64) -> Self {
        Self(x)
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        Self(self.0 ^ (!b.0 & c.0))
    }
    #[inline(always)]
    fn rotl<const R: i32>(self) -> Self {
        Self(self.0.rotate_left(R as u32))
    }
}

#[target_feature(enable = "bmi1,bmi2")]
fn permute_x1(states: &mut States<1>) {
    let mut words = states.0.map(|[word]| U64(word));
    keccak::permute(&mut words);
    states.0 = words.map(|word| [word.0]);
}

door!(Avx2, I32x8, ["avx2,popcnt"], {
    fn name(&self) -> &'static str {
        "avx2"
    }
    fn width(&self) -> usize {
        4
    }
    fn keccak_x1(&self, states: &mut States<1>) {
        proven!(permute_x1(states))
    }
    fn keccak_x4(&self, states: &mut States<4>) {
        proven!(permute_x4(states))
    }
    fn read_x4(&self, states: &States<4>, out: [&mut [u8]; 4]) {
        proven!(read_x4(states, out))
    }
    fn keccak_x8(&self, states: &mut States<8>) {
        for half in 0..2 {
            let mut four = States(states.0.map(|words| words.as_chunks::<4>().0[half]));
            proven!(permute_x4(&mut four));
            for (to, from) in states.0.iter_mut().zip(four.0) {
                to.as_chunks_mut::<4>().0[half] = from;
            }
        }
    }
});
