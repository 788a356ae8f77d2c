//! SHAKE256 of inputs of any lengths, one in each state: a state that has its hash takes the next input.

use super::{States, Width};
use crate::backend::{Room, inward, outward};
use crate::ct::Wiped;

/// Bytes of a block of SHAKE256.
const RATE: usize = 136;

/// An input in parts, one after the other, and where its hash goes.
pub(crate) struct Input<'a> {
    pub(crate) parts: [&'a [u8]; 4],
    pub(crate) hash: &'a mut [u8; 64],
}

impl Input<'_> {
    /// Moves the next bytes into a block; true if it is the last, which ends with the padding (FIPS 202, 5.1 and 6.2).
    fn next_block(&mut self, block: &mut [u8; RATE]) -> bool {
        let mut len = 0;
        for part in &mut self.parts {
            let (now, later) = part.split_at(part.len().min(RATE - len));
            block[len..len + now.len()].copy_from_slice(now);
            len += now.len();
            *part = later;
        }
        let Some((first, rest)) = block[len..].split_first_mut() else { return false };
        *first = 0x1f;
        rest.fill(0);
        block[RATE - 1] |= 0x80;
        true
    }
}

/// H(input, 64) of each, as many at a time as the room has states. Wiped, because a message may be a secret.
///
/// Shapes: about `count` inputs. No type of the caller's is in here, so that it is compiled with the engine.
/// Time: shows the lengths.
pub(crate) fn hash_abreast<'a>(room: Room, count: usize, inputs: &mut dyn Iterator<Item = Input<'a>>) {
    match room.width().min(count) {
        5.. => Abreast::<'_, 8>::EMPTY.run(room, inputs),
        2..=4 => Abreast::<'_, 4>::EMPTY.run(room, inputs),
        _ => Abreast::<'_, 1>::EMPTY.run(room, inputs),
    }
}

/// The states, their next blocks, and whose they are.
struct Abreast<'a, const N: usize> {
    states: Wiped<States<N>>,
    blocks: Wiped<[[u8; RATE]; N]>,
    aboard: [Option<Input<'a>>; N],
}

impl<'a, const N: usize> Abreast<'a, N>
where
    States<N>: Width<N>,
{
    const EMPTY: Self = Abreast { states: Wiped::ZERO, blocks: Wiped::ZERO, aboard: [const { None }; N] };

    fn run(mut self, room: Room, inputs: &mut dyn Iterator<Item = Input<'a>>) {
        loop {
            for (n, seat) in self.aboard.iter_mut().enumerate().filter(|(_, seat)| seat.is_none()) {
                let Some(input) = inputs.next() else { break };
                *seat = Some(input);
                self.states.0.0.iter_mut().for_each(|words| words[n] = 0);
            }
            match self.aboard.iter().flatten().count() {
                0 => return,
                1 if N > 1 => return self.last_alone(room),
                _ => self.step(room),
            }
        }
    }

    /// The next block of each. Where nobody is aboard an old one goes along.
    fn step(&mut self, room: Room) {
        let Abreast { states, blocks, aboard } = self;
        let mut last = [false; N];
        for ((input, block), last) in aboard.iter_mut().zip(blocks.iter_mut()).zip(&mut last) {
            *last = input.as_mut().is_some_and(|input| input.next_block(block));
        }
        for (i, words) in states.0.0[..RATE >> 3].iter_mut().enumerate() {
            for (word, block) in words.iter_mut().zip(blocks.iter()) {
                *word ^= inward(u64::from_le_bytes(block.as_chunks().0[i]));
            }
        }
        states.permute(room);
        for (n, (seat, _)) in aboard.iter_mut().zip(last).enumerate().filter(|(_, (_, last))| *last) {
            if let Some(Input { hash, .. }) = seat.take() {
                for (bytes, words) in hash.as_chunks_mut::<8>().0.iter_mut().zip(&states.0.0) {
                    *bytes = outward(words[n]).to_le_bytes();
                }
            }
        }
    }

    /// One that is longer than all others goes on in a state of its own: a permutation of many takes longer.
    fn last_alone(&mut self, room: Room) {
        let mut alone = Abreast::<'_, 1>::EMPTY;
        for (n, seat) in self.aboard.iter_mut().enumerate() {
            if let Some(input) = seat.take() {
                for ([word], words) in alone.states.0.0.iter_mut().zip(&self.states.0.0) {
                    *word = words[n];
                }
                alone.aboard = [Some(input)];
            }
        }
        while alone.aboard[0].is_some() {
            alone.step(room);
        }
    }
}
