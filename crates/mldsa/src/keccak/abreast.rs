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
/// Time: shows the lengths.
pub(crate) fn hash_abreast<'a>(room: Room, count: usize, inputs: impl Iterator<Item = Input<'a>>) {
    match room.width().min(count) {
        5.. => hash_with::<8>(room, inputs),
        2..=4 => hash_with::<4>(room, inputs),
        _ => hash_with::<1>(room, inputs),
    }
}

fn hash_with<'a, const N: usize>(room: Room, mut inputs: impl Iterator<Item = Input<'a>>)
where
    States<N>: Width<N>,
{
    let mut states = Wiped::<States<N>>::ZERO;
    let mut blocks = Wiped([[0; RATE]; N]);
    let mut aboard: [Option<Input<'a>>; N] = [const { None }; N];
    loop {
        for (n, seat) in aboard.iter_mut().enumerate() {
            if seat.is_none() {
                *seat = inputs.next();
                states.0.0.iter_mut().for_each(|words| words[n] = 0);
            }
        }
        if aboard.iter().all(Option::is_none) {
            return;
        }
        let mut last = [false; N];
        for ((input, block), last) in aboard.iter_mut().zip(&mut *blocks).zip(&mut last) {
            *last = input.as_mut().is_some_and(|input| input.next_block(block));
        }
        // Where nobody is aboard an old block goes along.
        for (i, words) in states.0.0[..RATE >> 3].iter_mut().enumerate() {
            for (word, block) in words.iter_mut().zip(&*blocks) {
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
}
