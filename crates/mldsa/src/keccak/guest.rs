//! One hash that goes along in a state that others leave empty.

use super::{States, Width};
use crate::backend::{Room, inward, outward};

/// Bytes a block of SHAKE256.
const RATE: usize = 136;

/// Bytes of the longest input: a public key of ML-DSA-87.
const INPUT_MAX: usize = 2592;

/// SHAKE256 of an input that may come in pieces, permuted among states that belong to somebody else. For public input:
/// nothing is wiped.
pub(crate) struct Guest {
    state: [u64; 25],
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
        guest.complete = true;
        guest
    }

    /// The next piece. Bounds: at most 2592 bytes in all.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        self.input[self.len..self.len + piece.len()].copy_from_slice(piece);
        self.len += piece.len();
    }

    /// Permutes states, with the guest's in the place of state n, which stays as it is.
    pub(crate) fn permute_instead<const N: usize>(&mut self, states: &mut States<N>, n: usize, room: Room)
    where
        States<N>: Width<N>,
    {
        self.change_places(states, n);
        states.permute(room);
        self.change_places(states, n);
    }

    fn change_places<const N: usize>(&mut self, states: &mut States<N>, n: usize) {
        for (words, word) in states.0.iter_mut().zip(&mut self.state) {
            core::mem::swap(&mut words[n], word);
        }
    }

    /// The first 64 bytes; what is left of the input is absorbed alone.
    pub(crate) fn finish(mut self, room: Room) -> [u8; 64] {
        self.complete = true;
        while self.absorb_block() {
            let mut alone = States(self.state.map(|word| [word]));
            alone.permute(room);
            self.state = alone.0.map(|[word]| word);
        }
        let mut out = [0; 64];
        for (bytes, word) in out.chunks_exact_mut(8).zip(self.state) {
            bytes.copy_from_slice(&outward(word).to_le_bytes());
        }
        out
    }

    /// The next block, or the last with its padding (FIPS 202, 5.1 and 6.2); false if there is none yet, or no more.
    pub(super) fn absorb_block(&mut self) -> bool {
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
