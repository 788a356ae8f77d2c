//! The room of x86-64 CPUs with AVX-512 (F, BW, DQ and VL): sixteen lanes, eight Keccak states, or four in registers of
//! half the width.
#![allow(unsafe_code)]

use super::avx2;
use super::{Lanes, PLACES, Room, door};
use crate::backend::Coeffs;
use crate::fips204::params::Q;
use crate::fips204::ring::{Ball, NttPoly, Small};
use crate::keccak::States;
use crate::kernels::QINV;
use crate::kernels::pack::pack_eight;
use core::arch::asm;
use core::arch::x86_64::*;
use core::ops::{Add, BitAnd, BitOr, BitXor, Sub};

/// The proof that this CPU has AVX-512 F, BW, DQ and VL, and AVX2.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

pub(super) fn detect() -> Option<Room> {
    static ROOM: Avx512 = Avx512(());
    let all = std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512dq")
        && std::arch::is_x86_feature_detected!("avx512vl")
        && std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("popcnt")
        // The compiler takes these two for part of AVX-512 F.
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("f16c");
    all.then_some(&ROOM)
}

/// An intrinsic whose features the CPU is known to have.
macro_rules! proven {
    ($call:expr) => {{
        // SAFETY: the room, or a value that only a room makes, is in hand: this CPU has the features. Pointers come from
        // references to as many bytes as are read or written.
        #[allow(unused_unsafe, reason = "an intrinsic without pointers is safe where the features are enabled")]
        unsafe {
            $call
        }
    }};
}

mod words;

/// Sixteen coefficients.
#[derive(Clone, Copy)]
pub(crate) struct I32x16(__m512i);

/// The 64-bit sums of the even lanes, and of the odd ones.
#[derive(Clone, Copy)]
pub(crate) struct I64x16 {
    even: __m512i,
    odd: __m512i,
}

macro_rules! lanewise {
    ($($op:ident $method:ident $intrinsic:ident),*) => {$(
        impl $op for I32x16 {
            type Output = I32x16;
            #[inline(always)]
            fn $method(self, other: I32x16) -> I32x16 {
                I32x16(proven!($intrinsic(self.0, other.0)))
            }
        }
    )*};
}
lanewise!(
    Add add _mm512_add_epi32,
    Sub sub _mm512_sub_epi32,
    BitAnd bitand _mm512_and_si512,
    BitOr bitor _mm512_or_si512,
    BitXor bitxor _mm512_xor_si512
);

/// The 64-bit products of the even lanes. The compiler may not look inside: where only the low halves are asked for it
/// would take the multiplication of whole 64-bit numbers, which is three times as much work.
#[inline]
#[target_feature(enable = "avx512f")]
fn mul_even(a: __m512i, b: __m512i) -> __m512i {
    let product;
    // SAFETY: an instruction on registers, of a feature that the function has.
    unsafe {
        asm!("vpmuldq {product}, {a}, {b}", product = lateout(zmm_reg) product, a = in(zmm_reg) a, b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags));
    }
    product
}

/// The odd lanes in the even places.
#[inline(always)]
fn odd(a: __m512i) -> __m512i {
    proven!(_mm512_srli_epi64::<32>(a))
}

/// The high halves of the sums, each in its lane.
#[inline(always)]
fn high(x: I64x16) -> I32x16 {
    I32x16(proven!(_mm512_mask_shuffle_epi32::<0b11_11_01_01>(x.odd, 0x5555, x.even)))
}

/// Which of the 32 lanes of a pair come to stand in each of its lanes by all exchanges, those for 8 first.
const EXCHANGED: [i32; 32] = {
    let mut lanes = [0; 32];
    let mut i = 0;
    while i < 32 {
        lanes[i] = i as i32;
        i += 1;
    }
    let mut stride = 8;
    while stride > 0 {
        let old = lanes;
        i = 0;
        while i < 16 {
            // The lower halves of both, then the upper halves of both.
            let (lower, upper) = (i & !stride, i | stride);
            let from = if i & stride == 0 { 0 } else { 16 };
            lanes[i] = old[from + lower];
            lanes[16 + i] = old[from + upper];
            i += 1;
        }
        stride >>= 1;
    }
    lanes
};

/// The permutation that undoes one.
const fn inverse(lanes: &[i32; 32]) -> [i32; 32] {
    let mut inverse = [0; 32];
    let mut i = 0;
    while i < 32 {
        inverse[lanes[i] as usize & 31] = i as i32;
        i += 1;
    }
    inverse
}

/// The 32 lanes of a pair in another order.
#[inline(always)]
fn take_pair(a: I32x16, b: I32x16, lanes: &[i32; 32]) -> (I32x16, I32x16) {
    let [low, high] = [&lanes[..16], &lanes[16..]];
    let take = |lanes: &[i32]| {
        I32x16(proven!(_mm512_permutex2var_epi32(a.0, _mm512_loadu_si512(lanes.as_ptr().cast()), b.0)))
    };
    (take(low), take(high))
}

impl Lanes for I32x16 {
    const N: usize = 16;
    type Cell = [i32; 16];
    type Group = [I32x16; 1];
    const GROUP: usize = 1;
    type Room = Avx512;
    type Wide = I64x16;
    type Bytes = __m512i;
    const BYTES: usize = 64;

    #[inline(always)]
    fn cells(w: &[i32]) -> &[[i32; 16]] {
        w.as_chunks().0
    }
    #[inline(always)]
    fn cells_mut(w: &mut [i32]) -> &mut [[i32; 16]] {
        w.as_chunks_mut().0
    }
    #[inline(always)]
    fn load(_: Avx512, from: &[i32; 16]) -> Self {
        Self(proven!(_mm512_loadu_si512(from.as_ptr().cast())))
    }
    #[inline(always)]
    fn store(self, to: &mut [i32; 16]) {
        proven!(_mm512_storeu_si512(to.as_mut_ptr().cast(), self.0))
    }
    #[inline(always)]
    fn splat(_: Avx512, x: i32) -> Self {
        Self(proven!(_mm512_set1_epi32(x)))
    }
    #[inline(always)]
    fn count_from(room: Avx512, first: i32) -> Self {
        const COUNT: [i32; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        Self::load(room, &COUNT) + Self::splat(room, first)
    }
    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        Self(proven!(_mm512_mullo_epi32(self.0, other.0)))
    }
    #[inline(always)]
    fn sar<const S: u32>(self) -> Self {
        Self(proven!(_mm512_srai_epi32::<S>(self.0)))
    }
    #[inline(always)]
    fn shl<const S: u32>(self) -> Self {
        Self(proven!(_mm512_slli_epi32::<S>(self.0)))
    }
    #[inline(always)]
    fn add_q_if_negative(self, q: Self) -> Self {
        // As numbers without sign, x is above x + q where x < 0, and below where x >= 0.
        Self(proven!(_mm512_min_epu32(self.0, _mm512_add_epi32(self.0, q.0))))
    }
    #[inline(always)]
    fn mul_wide(self, other: Self) -> I64x16 {
        I64x16 {
            even: proven!(_mm512_mul_epu32(self.0, other.0)),
            odd: proven!(_mm512_mul_epu32(odd(self.0), odd(other.0))),
        }
    }
    #[inline(always)]
    fn wide_zero(_: Avx512) -> I64x16 {
        I64x16 { even: proven!(_mm512_setzero_si512()), odd: proven!(_mm512_setzero_si512()) }
    }
    #[inline(always)]
    fn add_wide(a: I64x16, b: I64x16) -> I64x16 {
        I64x16 {
            even: proven!(_mm512_add_epi64(a.even, b.even)),
            odd: proven!(_mm512_add_epi64(a.odd, b.odd)),
        }
    }
    #[inline(always)]
    fn mont_reduce(room: Avx512, x: I64x16) -> Self {
        let (q, q_inv) = (Self::splat(room, Q).0, Self::splat(room, QINV).0);
        // The low halves of x and of m·q agree, so their difference is 2^32 times the answer.
        let reduce = |x| {
            let m = proven!(mul_even(x, q_inv));
            proven!(_mm512_sub_epi64(x, mul_even(m, q)))
        };
        high(I64x16 { even: reduce(x.even), odd: reduce(x.odd) })
    }
    #[inline(always)]
    fn mont_mul(self, room: Avx512, zeta: Self, quotient: Self, in_pairs: bool) -> Self {
        let q = Self::splat(room, Q).0;
        // The low halves of x and of m·q agree, so their difference is 2^32 times the answer.
        let mul = |a, zeta, quotient| {
            let m = proven!(mul_even(a, quotient));
            proven!(_mm512_sub_epi64(_mm512_mul_epi32(a, zeta), mul_even(m, q)))
        };
        let of_odd = |zeta| if in_pairs { zeta } else { odd(zeta) };
        high(I64x16 {
            even: mul(self.0, zeta.0, quotient.0),
            odd: mul(odd(self.0), of_odd(zeta.0), of_odd(quotient.0)),
        })
    }
    #[inline(always)]
    fn exchange<const S: usize>(a: Self, b: Self) -> (Self, Self) {
        let (a, b) = (a.0, b.0);
        let (lower, upper) = match S {
            8 => proven!((
                _mm512_shuffle_i64x2::<0b01_00_01_00>(a, b),
                _mm512_shuffle_i64x2::<0b11_10_11_10>(a, b)
            )),
            4 => proven!((
                _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), b),
                _mm512_permutex2var_epi64(a, _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), b)
            )),
            2 => proven!((_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b))),
            _ => proven!((
                _mm512_mask_shuffle_epi32::<0b10_10_00_00>(a, 0xaaaa, b),
                _mm512_mask_shuffle_epi32::<0b11_11_01_01>(b, 0x5555, a)
            )),
        };
        (Self(lower), Self(upper))
    }
    #[inline(always)]
    fn exchanges(a: Self, b: Self) -> (Self, Self) {
        take_pair(a, b, const { &EXCHANGED })
    }
    #[inline(always)]
    fn undo_exchanges(a: Self, b: Self) -> (Self, Self) {
        take_pair(a, b, const { &inverse(&EXCHANGED) })
    }
    #[inline(always)]
    fn group(room: Avx512) -> [Self; 1] {
        [Self::splat(room, 0)]
    }
    #[inline(always)]
    fn unpack<const BITS: u32>(_: Avx512, bytes: &[u8]) -> [Self; 1] {
        /// For each quarter register: the 16-bit words that hold its four numbers, then the four bytes of each number
        /// among them, then by how many bits they must be shifted.
        struct Places<const BITS: u32>;
        impl<const BITS: u32> Places<BITS> {
            const TABLES: ([u16; 32], [u8; 64], [u32; 16]) = {
                let (mut words, mut bytes, mut shifts) = ([0; 32], [0; 64], [0; 16]);
                let mut quarter = 0;
                while quarter < 4 {
                    let first_word = (4 * quarter * BITS as usize) >> 4;
                    let mut i = 0;
                    while i < 8 {
                        words[8 * quarter + i] = ((first_word + i) & 31) as u16;
                        i += 1;
                    }
                    let mut j = 4 * quarter;
                    while j < 4 * quarter + 4 {
                        let bit = j * BITS as usize - 16 * first_word;
                        i = 0;
                        while i < 4 {
                            bytes[4 * j + i] = ((bit >> 3) + i) as u8;
                            i += 1;
                        }
                        shifts[j] = (bit & 7) as u32;
                        j += 1;
                    }
                    quarter += 1;
                }
                (words, bytes, shifts)
            };
        }
        let bytes = &bytes[..2 * BITS as usize];
        let (words, places, shifts) = const { &Places::<BITS>::TABLES };
        [Self(proven!({
            let bytes = _mm512_maskz_loadu_epi8((1 << (2 * BITS)) - 1, bytes.as_ptr().cast());
            let quarters = _mm512_permutexvar_epi16(_mm512_loadu_si512(words.as_ptr().cast()), bytes);
            let fours = _mm512_shuffle_epi8(quarters, _mm512_loadu_si512(places.as_ptr().cast()));
            let shifted = _mm512_srlv_epi32(fours, _mm512_loadu_si512(shifts.as_ptr().cast()));
            _mm512_and_si512(shifted, _mm512_set1_epi32((1 << BITS) - 1))
        }))]
    }
    #[inline(always)]
    fn pack<const BITS: u32>(group: [Self; 1], bytes: &mut [u8]) {
        if BITS <= 6 && BITS & 1 == 0 {
            // Pairs of bytes, then pairs of pairs, then the bytes that hold four numbers.
            let mut packed = [0; 16];
            proven!({
                let bytes = _mm512_cvtepi32_epi8(group[0].0);
                let twos = _mm_maddubs_epi16(bytes, _mm_set1_epi16(1 | 1 << (BITS + 8)));
                let fours = _mm_madd_epi16(twos, _mm_set1_epi32(1 | 1 << (2 * BITS + 16)));
                let places = match BITS {
                    4 => _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1),
                    _ => _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1),
                };
                _mm_storeu_si128(packed.as_mut_ptr().cast(), _mm_shuffle_epi8(fours, places));
            });
            bytes.copy_from_slice(&packed[..2 * BITS as usize]);
            return;
        }
        if BITS & 1 == 1 {
            // Four numbers are no whole number of bytes.
            let mut numbers = [0; 16];
            group[0].store(&mut numbers);
            for (numbers, bytes) in
                numbers.as_chunks::<8>().0.iter().zip(bytes.chunks_exact_mut(BITS as usize))
            {
                pack_eight::<BITS>(numbers, bytes)
            }
            return;
        }
        let shift = |bits: u32| proven!(_mm_cvtsi32_si128(bits as i32));
        // The bytes of four numbers lie at the beginning of each quarter, and are stored from there: what goes through memory
        // to be moved waits until it has arrived.
        let len = (BITS >> 1) as usize;
        let bytes = &mut bytes[..4 * len];
        let stored = (1 << len) - 1;
        proven!({
            // Two numbers in each 64 bits, then four in each 128.
            let numbers = group[0].0;
            let lower = _mm512_set1_epi64(0xffff_ffff);
            let twos = _mm512_or_si512(
                _mm512_and_si512(numbers, lower),
                _mm512_srl_epi64(_mm512_andnot_si512(lower, numbers), shift(32 - BITS)),
            );
            let swapped = _mm512_shuffle_epi32::<0b01_00_11_10>(twos);
            let low = _mm512_or_si512(twos, _mm512_sll_epi64(swapped, shift(2 * BITS)));
            let high = _mm512_srl_epi64(twos, shift(64 - 2 * BITS));
            let fours = _mm512_mask_blend_epi64(0b1010_1010, low, high);
            let to = bytes.as_mut_ptr().cast::<i8>();
            _mm_mask_storeu_epi8(to, stored, _mm512_castsi512_si128(fours));
            _mm_mask_storeu_epi8(to.add(len), stored, _mm512_extracti32x4_epi32::<1>(fours));
            _mm_mask_storeu_epi8(to.add(2 * len), stored, _mm512_extracti32x4_epi32::<2>(fours));
            _mm_mask_storeu_epi8(to.add(3 * len), stored, _mm512_extracti32x4_epi32::<3>(fours));
        });
    }
    #[inline(always)]
    fn keep_below(self, key: Self, limit: Self, to: &mut [i32]) -> usize {
        let to: &mut [i32; 16] = to.first_chunk_mut().expect("the caller has sixteen places");
        proven!({
            let set = _mm512_cmplt_epi32_mask(key.0, limit.0);
            _mm512_storeu_si512(to.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(set, self.0));
            set.count_ones() as usize
        })
    }
    #[inline(always)]
    fn no_bytes(_: Avx512) -> __m512i {
        proven!(_mm512_setzero_si512())
    }
    #[inline(always)]
    fn add_bytes(sum: __m512i, from: &[u8]) -> __m512i {
        let from: &[u8; 64] = from.first_chunk().expect("the caller has a register of bytes");
        proven!(_mm512_add_epi8(sum, _mm512_loadu_si512(from.as_ptr().cast())))
    }
    #[inline(always)]
    fn store_bytes(sum: __m512i, to: &mut [u8]) {
        let to: &mut [u8; 64] = to.first_chunk_mut().expect("the caller has a register of bytes");
        proven!(_mm512_storeu_si512(to.as_mut_ptr().cast(), sum))
    }
    #[inline(always)]
    fn widen(_: Avx512, from: &[u8]) -> Self {
        let from: &[u8; 16] = from.first_chunk().expect("the caller has as many bytes as lanes");
        Self(proven!(_mm512_cvtepu8_epi32(_mm_loadu_si128(from.as_ptr().cast()))))
    }
    #[inline(always)]
    fn any(self) -> bool {
        proven!(_mm512_test_epi32_mask(self.0, self.0)) != 0
    }
    #[inline(always)]
    fn sum(self) -> i32 {
        proven!(_mm512_reduce_add_epi32(self.0))
    }
}

door!(Avx512, I32x16, ["avx512f,avx512bw,avx512dq,avx512vl,popcnt"], {
    fn name(&self) -> &'static str {
        "avx512"
    }
    fn width(&self) -> usize {
        8
    }
    fn keccak_x1(&self, states: &mut States<1>) {
        proven!(words::permute_x1(states))
    }
    fn keccak_x4(&self, states: &mut States<4>) {
        proven!(words::permute_x4(states))
    }
    fn keccak_x8(&self, states: &mut States<8>) {
        proven!(words::permute_x8(states))
    }
    fn read_x4(&self, states: &States<4>, out: [&mut [u8]; 4]) {
        proven!(avx2::read_x4(states, out))
    }
    fn read_x8(&self, states: &States<8>, out: [&mut [u8]; 8]) {
        proven!(words::read_x8(states, out))
    }
});
