//! One hash that goes along in a state that others leave empty.

use super::{States, Width};
use crate::backend::Room;

/// Bytes a block of SHAKE256.
const RATE: usize = 136;

/// SHAKE256 of an input, permuted in the last of eight states beside seven that belong to somebody else.
pub(crate) struct Guest<'a> {
    state: [u64; 25],
    /// What was not absorbed yet.
    input: &'a [u8],
    padded: bool,
}

impl<'a> Guest<'a> {
    pub(crate) fn shake256(input: &'a [u8]) -> Self {
        Guest { state: [0; 25], input, padded: false }
    }

    /// Permutes eight states, the last of which is the guest's for as long as it has blocks to absorb.
    pub(crate) fn permute_beside(&mut self, states: &mut States<8>, room: Room) {
        let enters = self.absorb_block();
        if enters {
            for (words, word) in states.0.iter_mut().zip(self.state) {
                words[7] = word;
            }
        }
        states.permute(room);
        if enters {
            self.state = states.0.each_ref().map(|words| words[7]);
        }
    }

    /// The first 64 bytes; what is left of the input is absorbed alone.
    pub(crate) fn finish(mut self, room: Room) -> [u8; 64] {
        while self.absorb_block() {
            let mut alone = States(self.state.map(|word| [word]));
            alone.permute(room);
            self.state = alone.0.map(|[word]| word);
        }
        let mut out = [0; 64];
        for (bytes, word) in out.chunks_exact_mut(8).zip(self.state) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        out
    }

    /// The next block, or the last with its padding (FIPS 202, 5.1 and 6.2); false if there is none.
    fn absorb_block(&mut self) -> bool {
        let mut last = [0; RATE];
        let block = match self.input.split_first_chunk::<RATE>() {
            _ if self.padded => return false,
            Some((block, rest)) => {
                self.input = rest;
                block
            }
            None => {
                last[..self.input.len()].copy_from_slice(self.input);
                last[self.input.len()] = 0x1f;
                last[RATE - 1] |= 0x80;
                self.padded = true;
                &last
            }
        };
        for (word, bytes) in self.state.iter_mut().zip(block.as_chunks::<8>().0) {
            *word ^= u64::from_le_bytes(*bytes);
        }
        true
    }
}
