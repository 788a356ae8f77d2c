//! Hashes that go along, one at a time, in a state that others leave empty.

use super::{States, Width};
use crate::backend::{Room, inward, outward};

/// Bytes a block of SHAKE256.
const RATE: usize = 136;

/// Bytes of the longest input: a public key of ML-DSA-87.
const INPUT_MAX: usize = 2592;

/// Something to be hashed while others are: there may be several inputs, one after the other.
pub(crate) trait Beside {
    /// The state, with the next block absorbed: it is to be permuted. `None` if there is no block yet, or no more.
    fn next_block(&mut self) -> Option<&mut [u64; 25]>;
}

/// Permutes states, with a guest's in the place of state n, which stays as it is.
pub(super) fn permute_instead<const N: usize>(
    states: &mut States<N>,
    n: usize,
    guest: &mut [u64; 25],
    room: Room,
) where
    States<N>: Width<N>,
{
    change_places(states, n, guest);
    states.permute(room);
    change_places(states, n, guest);
}

fn change_places<const N: usize>(states: &mut States<N>, n: usize, guest: &mut [u64; 25]) {
    for (words, word) in states.0.iter_mut().zip(guest) {
        core::mem::swap(&mut words[n], word);
    }
}

/// SHAKE256 of an input that may come in pieces, permuted among states that belong to somebody else. For public input:
/// nothing is wiped.
pub(crate) struct Guest {
    pub(crate) state: [u64; 25],
    input: [u8; INPUT_MAX],
    /// Bytes of the input that are here, and of these, that were absorbed.
    len: usize,
    absorbed: usize,
    /// No more comes.
    complete: bool,
    padded: bool,
}

impl Guest {
    /// Of an input that is to come.
    pub(crate) fn shake256() -> Self {
        Guest { state: [0; 25], input: [0; _], len: 0, absorbed: 0, complete: false, padded: false }
    }

    /// Of an input that is here. Bounds: at most 2592 bytes.
    pub(crate) fn shake256_of(input: &[u8]) -> Self {
        let mut guest = Self::shake256();
        guest.feed(input);
        guest.complete();
        guest
    }

    /// The next piece. Bounds: at most 2592 bytes in all.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        self.input[self.len..self.len + piece.len()].copy_from_slice(piece);
        self.len += piece.len();
    }

    /// No more comes.
    pub(crate) fn complete(&mut self) {
        self.complete = true;
    }

    /// Forgets its input, and hashes what comes now.
    pub(crate) fn start_again(&mut self) {
        (self.state, self.len, self.absorbed) = ([0; 25], 0, 0);
        (self.complete, self.padded) = (false, false);
    }

    /// How many bytes more it has room for.
    pub(crate) fn room_left(&self) -> usize {
        INPUT_MAX - self.len
    }

    /// The first 64 bytes; what is left of the input is absorbed alone.
    pub(crate) fn finish(mut self, room: Room) -> [u8; 64] {
        self.complete();
        while self.absorb_alone(room) {}
        let mut out = [0; 64];
        self.squeeze(&mut out);
        out
    }

    /// The first bytes, where all of the input was absorbed and permuted. Shapes: out at most 136 bytes, a multiple of 8.
    pub(crate) fn squeeze(&self, out: &mut [u8]) {
        debug_assert!(self.padded && out.len() <= RATE && out.len() & 7 == 0);
        for (bytes, word) in out.chunks_exact_mut(8).zip(self.state) {
            bytes.copy_from_slice(&outward(word).to_le_bytes());
        }
    }

    /// The next block, with its permutation; false if there is none.
    pub(crate) fn absorb_alone(&mut self, room: Room) -> bool {
        let absorbed = self.absorb_block();
        if absorbed {
            let mut alone = States(self.state.map(|word| [word]));
            alone.permute(room);
            self.state = alone.0.map(|[word]| word);
        }
        absorbed
    }

    /// The next block, or the last with its padding (FIPS 202, 5.1 and 6.2); false if there is none yet, or no more.
    pub(crate) fn absorb_block(&mut self) -> bool {
        let mut last = [0; RATE];
        let rest = &self.input[self.absorbed..self.len];
        let block = match rest.first_chunk::<RATE>() {
            Some(block) => block,
            None if !self.complete || self.padded => return false,
            None => {
                last[..rest.len()].copy_from_slice(rest);
                last[rest.len()] = 0x1f;
                last[RATE - 1] |= 0x80;
                self.padded = true;
                &last
            }
        };
        for (word, bytes) in self.state.iter_mut().zip(block.as_chunks::<8>().0) {
            *word ^= inward(u64::from_le_bytes(*bytes));
        }
        self.absorbed = self.len.min(self.absorbed + RATE);
        true
    }
}

impl Beside for Guest {
    fn next_block(&mut self) -> Option<&mut [u64; 25]> {
        self.absorb_block().then_some(&mut self.state)
    }
}
