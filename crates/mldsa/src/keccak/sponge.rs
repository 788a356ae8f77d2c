//! The sponge (FIPS 202, 4) over N states that take inputs of equal length.

use super::States;
use crate::backend::{Room, inward, outward, wipe};

/// A number of states for which rooms have a permutation: 1, 4 or 8.
pub(crate) trait Width<const N: usize> {
    /// Permutes these states in this room.
    fn permute(&mut self, room: Room);
    /// Writes the first words of each state as bytes.
    fn read(&self, room: Room, out: [&mut [u8]; N]);
}

/// Writes the first words of each state as bytes, one word after the other.
///
/// Shapes: outputs of equal length, at most 200 bytes, a multiple of 8.
pub(crate) fn read<const N: usize>(states: &States<N>, out: [&mut [u8]; N]) {
    read_from(states, 0, out)
}

/// The same, from a word on.
pub(crate) fn read_from<const N: usize>(states: &States<N>, first: usize, mut out: [&mut [u8]; N]) {
    let words = out[0].len() >> 3;
    for (i, words) in states.0.iter().enumerate().take(words).skip(first) {
        for (word, out) in words.iter().zip(&mut out) {
            out[8 * i..8 * i + 8].copy_from_slice(&outward(*word).to_le_bytes());
        }
    }
}

impl Width<1> for States<1> {
    fn permute(&mut self, room: Room) {
        room.keccak_x1(self)
    }
    fn read(&self, room: Room, [out]: [&mut [u8]; 1]) {
        let _ = room;
        for ([word], bytes) in self.0.iter().zip(out.as_chunks_mut().0) {
            *bytes = outward(*word).to_le_bytes();
        }
    }
}
impl Width<4> for States<4> {
    fn permute(&mut self, room: Room) {
        room.keccak_x4(self)
    }
    fn read(&self, room: Room, out: [&mut [u8]; 4]) {
        room.read_x4(self, out)
    }
}
impl Width<8> for States<8> {
    fn permute(&mut self, room: Room) {
        room.keccak_x8(self)
    }
    fn read(&self, room: Room, out: [&mut [u8]; 8]) {
        room.read_x8(self, out)
    }
}

/// One SHAKE or SHA-3 state.
pub(crate) type Shake = Sponge<1>;

/// N sponges that absorb and squeeze in step. Wiped on drop.
#[derive(Clone)]
pub(crate) struct Sponge<const N: usize>
where
    States<N>: Width<N>,
{
    states: States<N>,
    /// Bytes a block; a multiple of 8.
    rate: usize,
    /// Bytes of the present block that were absorbed or squeezed.
    position: usize,
    /// Domain separation bits and the first bit of the padding.
    suffix: u8,
    squeezing: bool,
    room: Room,
}

impl<const N: usize> Sponge<N>
where
    States<N>: Width<N>,
{
    /// SHAKE128 (FIPS 202, 6.2): rate 168.
    pub(crate) fn shake128(room: Room) -> Self {
        Self::with(room, 168, 0x1f)
    }

    /// SHAKE256 (FIPS 202, 6.2): rate 136.
    pub(crate) fn shake256(room: Room) -> Self {
        Self::with(room, 136, 0x1f)
    }

    /// SHA3-n (FIPS 202, 6.1), n bits of output to be squeezed once.
    #[cfg(feature = "sha2")]
    pub(crate) fn sha3(room: Room, n: usize) -> Self {
        Self::with(room, 200 - (n >> 2), 0x06)
    }

    /// A sponge of its own domain: what comes after the input before the padding (SP 800-185, 3.3).
    #[cfg(feature = "kmac")]
    pub(crate) fn padded_by(room: Room, rate: usize, suffix: u8) -> Self {
        Self::with(room, rate, suffix)
    }

    fn with(room: Room, rate: usize, suffix: u8) -> Self {
        Self { states: States([[0; N]; 25]), rate, position: 0, suffix, squeezing: false, room }
    }

    /// Absorbs one input into each state.
    ///
    /// Bounds: inputs of equal length; no squeeze before.
    pub(crate) fn absorb(&mut self, inputs: [&[u8]; N]) {
        let len = inputs[0].len();
        debug_assert!(!self.squeezing && inputs.iter().all(|input| input.len() == len));
        let mut at = 0;
        while self.position == 0 && len - at >= self.rate {
            for (i, words) in self.states.0[..self.rate >> 3].iter_mut().enumerate() {
                for (word, input) in words.iter_mut().zip(inputs) {
                    *word ^= input[at + 8 * i..]
                        .first_chunk()
                        .map_or(0, |bytes| inward(u64::from_le_bytes(*bytes)));
                }
            }
            self.states.permute(self.room);
            at += self.rate;
        }
        while at < len {
            if self.position & 7 == 0 && len - at >= 8 {
                for (word, input) in self.states.0[self.position >> 3].iter_mut().zip(inputs) {
                    *word ^= input[at..].first_chunk().map_or(0, |bytes| inward(u64::from_le_bytes(*bytes)));
                }
                at += 8;
                self.position += 8;
            } else {
                for (word, input) in self.states.0[self.position >> 3].iter_mut().zip(inputs) {
                    *word ^= inward(u64::from(input[at]) << (8 * (self.position & 7)));
                }
                at += 1;
                self.position += 1;
            }
            if self.position == self.rate {
                self.states.permute(self.room);
                self.position = 0;
            }
        }
    }

    /// Squeezes the next bytes of each state. Any split into calls gives the same bytes.
    ///
    /// Bounds: outputs of equal length.
    pub(crate) fn squeeze(&mut self, mut outputs: [&mut [u8]; N]) {
        if !self.squeezing {
            self.pad();
            self.states.permute(self.room);
        }
        let len = outputs[0].len();
        debug_assert!(outputs.iter().all(|output| output.len() == len));
        let mut at = 0;
        while at < len {
            if self.position == self.rate {
                self.states.permute(self.room);
                self.position = 0;
            }
            if self.position == 0 && len - at >= self.rate {
                self.states.read(self.room, outputs.each_mut().map(|output| &mut output[at..at + self.rate]));
                at += self.rate;
                self.position = self.rate;
                continue;
            }
            let words = &self.states.0[self.position >> 3];
            if self.position & 7 == 0 && len - at >= 8 {
                for (word, output) in words.iter().zip(&mut outputs) {
                    output[at..at + 8].copy_from_slice(&outward(*word).to_le_bytes());
                }
                at += 8;
                self.position += 8;
            } else {
                for (word, output) in words.iter().zip(&mut outputs) {
                    output[at] = (outward(*word) >> (8 * (self.position & 7))) as u8;
                }
                at += 1;
                self.position += 1;
            }
        }
    }

    /// pad10*1 (FIPS 202, 5.1); the permutation after the last block is the caller's.
    fn pad(&mut self) {
        for word in &mut self.states.0[self.position >> 3] {
            *word ^= inward(u64::from(self.suffix) << (8 * (self.position & 7)));
        }
        for word in &mut self.states.0[(self.rate >> 3) - 1] {
            *word ^= inward(1 << 63);
        }
        self.position = 0;
        self.squeezing = true;
    }
}

impl Sponge<1> {
    /// Whether absorbing so many bytes more makes a block full.
    #[cfg(feature = "kmac")]
    pub(crate) fn permutes_in(&self, bytes: usize) -> bool {
        bytes >= self.rate - self.position
    }

    /// H(inputs one after the other), `LEN` bytes of SHAKE256.
    pub(crate) fn h<const LEN: usize>(room: Room, inputs: &[&[u8]]) -> [u8; LEN] {
        let mut out = [0; LEN];
        let mut sponge = Self::shake256(room);
        for input in inputs {
            sponge.absorb([input]);
        }
        sponge.squeeze([&mut out]);
        out
    }
}

impl<const N: usize> Drop for Sponge<N>
where
    States<N>: Width<N>,
{
    fn drop(&mut self) {
        wipe(&mut self.states.0)
    }
}
