//! FIPS 202: the sponge and the permutation, written once over 1, 2, 4 or 8 states at a time.

mod permutation;
mod sponge;

pub(crate) use permutation::permute;
pub(crate) use sponge::{Shake, Sponge, Width};

/// N Keccak states side by side: word x + 5y of state n is `states[x + 5y][n]`.
pub(crate) type States<const N: usize> = [[u64; N]; 25];
