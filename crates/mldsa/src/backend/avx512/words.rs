//! Keccak states with AVX-512: eight side by side, four in registers of half the width, one in a quarter.

use super::super::Words;
use crate::keccak::{self, States};
use core::arch::x86_64::*;

/// A word of N Keccak states, and their permutation: three-input logic and rotations in one instruction each.
macro_rules! words {
    ($name:ident, $register:ty, $states:literal, $permute:ident, $splat:ident, $xor:ident, $three:ident, $rotate:ident,
        $load:ident, $store:ident) => {
        #[derive(Clone, Copy)]
        struct $name($register);

        impl Words for $name {
            const THREE_INPUTS: bool = true;

            #[inline(always)]
            fn splat(x: u64) -> Self {
                Self(proven!($splat(x as i64)))
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                Self(proven!($xor(self.0, other.0)))
            }
            #[inline(always)]
            fn xor3(self, b: Self, c: Self) -> Self {
                Self(proven!($three::<0b1001_0110>(self.0, b.0, c.0)))
            }
            #[inline(always)]
            fn chi(self, b: Self, c: Self) -> Self {
                Self(proven!($three::<0b1101_0010>(self.0, b.0, c.0)))
            }
            #[inline(always)]
            fn rotl<const R: i32>(self) -> Self {
                Self(proven!($rotate::<R>(self.0)))
            }
        }

        /// Keccak-f\[1600\] on each state.
        #[target_feature(enable = "avx512f,avx512vl")]
        pub(super) fn $permute(states: &mut States<$states>) {
            let mut words = states.0.each_ref().map(|words| $name(proven!($load(words.as_ptr().cast()))));
            keccak::permute(&mut words);
            for (to, from) in states.0.iter_mut().zip(words) {
                proven!($store(to.as_mut_ptr().cast(), from.0))
            }
        }
    };
}
words!(
    U64x8,
    __m512i,
    8,
    permute_x8,
    _mm512_set1_epi64,
    _mm512_xor_si512,
    _mm512_ternarylogic_epi64,
    _mm512_rol_epi64,
    _mm512_loadu_si512,
    _mm512_storeu_si512
);
words!(
    U64x4,
    __m256i,
    4,
    permute_x4,
    _mm256_set1_epi64x,
    _mm256_xor_si256,
    _mm256_ternarylogic_epi64,
    _mm256_rol_epi64,
    _mm256_loadu_si256,
    _mm256_storeu_si256
);
words!(
    U64x1,
    __m128i,
    1,
    permute_x1,
    _mm_set1_epi64x,
    _mm_xor_si128,
    _mm_ternarylogic_epi64,
    _mm_rol_epi64,
    _mm_loadl_epi64,
    _mm_storel_epi64
);

/// Writes the first words of eight states, eight words at a time, by three rounds of exchanges.
#[target_feature(enable = "avx512f")]
pub(super) fn read_x8(states: &States<8>, out: [&mut [u8]; 8]) {
    let words = out[0].len() >> 3;
    for (tile, rows) in states.0.as_chunks::<8>().0.iter().enumerate() {
        let left = words.saturating_sub(8 * tile).min(8);
        if left == 0 {
            return;
        }
        let r = rows.each_ref().map(|row| proven!(_mm512_loadu_si512(row.as_ptr().cast())));
        let twos: [__m512i; 8] = core::array::from_fn(|i| match i & 1 {
            0 => _mm512_unpacklo_epi64(r[i], r[i + 1]),
            _ => _mm512_unpackhi_epi64(r[i - 1], r[i]),
        });
        // Of rows 0 and 1, 2 and 3 (and 4 and 5, 6 and 7): states 0 and 4, 2 and 6 of each.
        let fours = |i: usize, j: usize| {
            let (a, b) = (twos[i], twos[j]);
            (_mm512_shuffle_i64x2::<0b10_00_10_00>(a, b), _mm512_shuffle_i64x2::<0b11_01_11_01>(a, b))
        };
        for parity in 0..2 {
            let (low_04, low_26) = fours(parity, parity + 2);
            let (high_04, high_26) = fours(parity + 4, parity + 6);
            let columns = [
                (0, _mm512_shuffle_i64x2::<0b10_00_10_00>(low_04, high_04)),
                (4, _mm512_shuffle_i64x2::<0b11_01_11_01>(low_04, high_04)),
                (2, _mm512_shuffle_i64x2::<0b10_00_10_00>(low_26, high_26)),
                (6, _mm512_shuffle_i64x2::<0b11_01_11_01>(low_26, high_26)),
            ];
            for (state, column) in columns {
                let bytes = &mut out[state + parity][64 * tile..][..8 * left];
                proven!(_mm512_mask_storeu_epi64(bytes.as_mut_ptr().cast(), 0xff >> (8 - left), column))
            }
        }
    }
    keccak::read_from(states, 24, out)
}
