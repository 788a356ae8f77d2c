//! Hashes that begin and end at different times, side by side: each state has a task of its own, and the next one when
//! that is done.

use super::{States, Width};
use crate::backend::{Room, inward};
use crate::ct::Wiped;

/// Bytes in a block of SHAKE256.
const RATE: usize = 136;

/// SHAKE256 of `input` to `out`; then of `out` to `again`, unless that is empty.
#[derive(Default)]
pub(crate) struct Task<'a> {
    pub(crate) input: &'a [u8],
    pub(crate) out: &'a mut [u8],
    pub(crate) again: &'a mut [u8],
}

/// Does all tasks, as many at a time as the room has states. Those that take longest come first.
pub(crate) fn hash_all<'a>(room: Room, tasks: impl Iterator<Item = Task<'a>>) {
    match room.width() {
        8 => hash_in::<8>(room, tasks),
        4 => hash_in::<4>(room, tasks),
        _ => hash_in::<1>(room, tasks),
    }
}

/// A task in its state.
#[derive(Default)]
struct Seat<'a> {
    /// What was not absorbed yet; nothing after the padding.
    input: Option<&'a [u8]>,
    /// Empty in a seat that nobody has.
    out: &'a mut [u8],
    squeezed: usize,
    again: &'a mut [u8],
}

fn hash_in<'a, const N: usize>(room: Room, mut tasks: impl Iterator<Item = Task<'a>>)
where
    States<N>: Width<N>,
{
    let mut states = Wiped::<States<N>>::ZERO;
    let mut blocks = Wiped::<[[u8; RATE]; N]>::ZERO;
    let mut seats: [Seat<'a>; N] = core::array::from_fn(|_| Seat::default());
    loop {
        let (mut taken, mut squeezing) = (false, false);
        for (n, seat) in seats.iter_mut().enumerate() {
            if seat.out.is_empty() {
                let Some(Task { input, out, again }) = tasks.next() else { continue };
                *seat = Seat { input: Some(input), out, squeezed: 0, again };
                states.clear(n);
            }
            taken = true;
            seat.input = seat.input.and_then(|input| states.absorb(n, input));
            squeezing |= seat.input.is_none();
        }
        if !taken {
            return;
        }
        states.permute(room);
        if squeezing {
            // A whole block goes where it is wanted; what is left of an output is taken from a block aside.
            let mut places = seats.iter_mut().zip(blocks.iter_mut()).map(|(seat, block)| seat.place(block));
            states.read(room, core::array::from_fn(|_| places.next().unwrap_or_default()));
        }
        for (n, (seat, block)) in seats.iter_mut().zip(blocks.iter()).enumerate() {
            if seat.input.is_none() && seat.advance(block) {
                states.clear(n);
            }
        }
    }
}

impl<const N: usize> States<N> {
    /// State n is 0.
    fn clear(&mut self, n: usize) {
        for words in &mut self.0 {
            words[n] = 0;
        }
    }

    /// Absorbs the next block into state n, or the last with its padding (FIPS 202, 5.1 and 6.2); returns what is left.
    fn absorb<'a>(&mut self, n: usize, input: &'a [u8]) -> Option<&'a [u8]> {
        if let Some((block, rest)) = input.split_first_chunk::<RATE>() {
            for (words, bytes) in self.0.iter_mut().zip(block.as_chunks::<8>().0) {
                words[n] ^= inward(u64::from_le_bytes(*bytes));
            }
            return Some(rest);
        }
        let (whole, part) = input.as_chunks::<8>();
        for (words, bytes) in self.0.iter_mut().zip(whole) {
            words[n] ^= inward(u64::from_le_bytes(*bytes));
        }
        let mut last = 0x1f << (8 * part.len());
        for (i, byte) in part.iter().enumerate() {
            last |= u64::from(*byte) << (8 * i);
        }
        self.0[whole.len()][n] ^= inward(last);
        self.0[(RATE >> 3) - 1][n] ^= inward(1 << 63);
        None
    }
}

impl Seat<'_> {
    /// Where the next block goes.
    #[inline(always)]
    fn place<'b>(&'b mut self, aside: &'b mut [u8; RATE]) -> &'b mut [u8] {
        match self.out[self.squeezed..].first_chunk_mut::<RATE>() {
            Some(out) if self.input.is_none() => out,
            _ => aside,
        }
    }

    /// Counts a block that was read. If it was the last, the seat is free, or hashes what came out; true in that case.
    #[inline(always)]
    fn advance(&mut self, aside: &[u8; RATE]) -> bool {
        let out = &mut self.out[self.squeezed..];
        if out.len() < RATE {
            out.copy_from_slice(&aside[..out.len()]);
        }
        self.squeezed += RATE;
        if self.squeezed < self.out.len() {
            return false;
        }
        let (made, again) = (core::mem::take(&mut self.out), core::mem::take(&mut self.again));
        let more = !again.is_empty();
        *self = Seat { input: more.then_some(made), out: again, squeezed: 0, again: &mut [] };
        more
    }
}
