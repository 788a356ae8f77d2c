//! FIPS 202: the sponge and the permutation, written once over 1, 4 or 8 states at a time.

use crate::backend::wipe;
use crate::ct::Wipe;

mod abreast;
mod guest;
mod permutation;
mod queue;
mod sponge;
mod streams;

pub(crate) use abreast::{Input, hash_abreast};
pub(crate) use guest::{Beside, Guest};
#[cfg(armv7em)]
pub(crate) use permutation::RC;
pub(crate) use permutation::permute;
pub(crate) use queue::{Queue, STREAM, Span, Task};
#[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
pub(crate) use sponge::read_from;
pub(crate) use sponge::{Shake, Sponge, Width, read};
pub(crate) use streams::{Streams, squeeze_beside};

/// N Keccak states side by side: word x + 5y of state n is `.0[x + 5y][n]`, in the form that
/// [`inward`](crate::backend::inward) gives it.
#[derive(Clone)]
#[cfg_attr(target_pointer_width = "64", repr(align(64)))] // memory for nothing where there are no vector registers
pub(crate) struct States<const N: usize>(pub(crate) [[u64; N]; 25]);

impl<const N: usize> Wipe for States<N> {
    const ZERO: Self = States([[0; N]; 25]);
    fn wipe(&mut self) {
        wipe(&mut self.0)
    }
}
