//! Hashes that are waited for, and beside them streams that will be wanted later: those go on from call to call, so that no
//! state is ever idle.

use super::{States, Width};
use crate::backend::{Room, inward};
use crate::ct::Wiped;

/// Bytes in a block of SHAKE256.
const RATE: usize = 136;

/// Bytes of a stream: five blocks, which hold a polynomial of a mask.
pub(crate) const STREAM: usize = 5 * RATE;

/// SHAKE256 of `input` to `out`; then of `out` to `again`, unless that is empty.
#[derive(Default)]
pub(crate) struct Task<'a> {
    pub(crate) input: &'a [u8],
    pub(crate) out: &'a mut [u8],
    pub(crate) again: &'a mut [u8],
}

/// N states, and the streams in them. Wiped on drop.
pub(crate) struct Queue<const N: usize> {
    states: Wiped<States<N>>,
    /// Of each state: the bytes of its stream. Where a task sits, room for a block of it.
    bytes: Wiped<[[u8; STREAM]; N]>,
    /// Of each state: its stream, and how many of its bytes are there.
    streams: [Option<(usize, usize)>; N],
    /// The next stream to begin.
    next: usize,
}

/// Which streams a call is about.
pub(crate) struct Span {
    /// All below this one are needed when the call ends.
    pub(crate) needed: usize,
    /// All below this one may begin.
    pub(crate) allowed: usize,
}

impl<const N: usize> Queue<N>
where
    States<N>: Width<N>,
{
    /// Nothing begun.
    pub(crate) const EMPTY: Self =
        Queue { states: Wiped::ZERO, bytes: Wiped::ZERO, streams: [None; N], next: 0 };

    /// Does the tasks, which sit in the first A states, and the streams that are needed; in the states that are left, and
    /// while there are any, streams go on that are allowed. A call without tasks has all states for what is needed.
    ///
    /// Stream i is SHAKE256(prefix || i), i in two bytes; `take` sees it when it is whole. Streams are counted from the
    /// first call on.
    pub(crate) fn run<'a, const A: usize>(
        &mut self,
        room: Room,
        tasks: Option<[Task<'a>; A]>,
        prefix: &[u8; 64],
        span: Span,
        mut take: impl FnMut(usize, &[u8; STREAM]),
    ) {
        let mut seats: Option<[Seat<'a>; A]> = tasks.map(|tasks| tasks.map(Seat::of));
        for n in 0..if seats.is_some() { A } else { 0 } {
            debug_assert!(self.streams[n].is_none(), "streams in these states end with what is needed");
            self.states.clear(n);
        }
        loop {
            let mut waited_for = self.next < span.needed;
            for (n, stream) in self.streams.iter_mut().enumerate() {
                if let Some(seat) = seats.as_mut().and_then(|seats| seats.get_mut(n)) {
                    waited_for |= !seat.is_empty();
                    seat.input = seat.input.and_then(|input| self.states.absorb(n, input));
                    continue;
                }
                let end = if n < A { span.needed } else { span.allowed };
                if stream.is_none() && self.next < end {
                    self.states.begin_stream(n, prefix, self.next);
                    *stream = Some((self.next, 0));
                    self.next += 1;
                }
                waited_for |= stream.is_some_and(|(i, _)| i < span.needed);
            }
            if !waited_for {
                return;
            }
            self.states.permute(room);
            let mut seated = seats.iter_mut().flatten();
            let mut places = self.bytes.iter_mut().zip(&self.streams).map(|(bytes, stream)| {
                let there = stream.map_or(0, |(_, there)| there);
                let block =
                    bytes[there..].first_chunk_mut().expect("a stream that is whole leaves its state");
                match seated.next() {
                    Some(seat) => seat.place(block),
                    None => &mut block[..],
                }
            });
            self.states.read(room, core::array::from_fn(|_| places.next().unwrap_or_default()));
            for (n, (stream, bytes)) in self.streams.iter_mut().zip(self.bytes.iter()).enumerate() {
                if let Some(seat) = seats.as_mut().and_then(|seats| seats.get_mut(n)) {
                    let block = bytes.first_chunk().expect("a stream is longer than a block");
                    if seat.input.is_none() && !seat.is_empty() && seat.advance(block) {
                        self.states.clear(n);
                    }
                } else if let Some((i, there)) = stream {
                    *there += RATE;
                    if *there == STREAM {
                        take(*i, bytes);
                        *stream = None;
                    }
                }
            }
        }
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

impl<const N: usize> States<N> {
    /// State n is 0.
    fn clear(&mut self, n: usize) {
        for words in &mut self.0 {
            words[n] = 0;
        }
    }

    /// State n has absorbed prefix || i with its padding.
    ///
    /// A call of its own: within the loop of its caller the prefix, which is secret, was loaded once before the loop and a part of it
    /// left in a slot of the stack. `./dev wipe` finds it there.
    #[inline(never)]
    fn begin_stream(&mut self, n: usize, prefix: &[u8; 64], i: usize) {
        self.clear(n);
        for (words, bytes) in self.0.iter_mut().zip(prefix.as_chunks::<8>().0) {
            words[n] = inward(u64::from_le_bytes(*bytes));
        }
        self.0[prefix.len() >> 3][n] = inward(i as u64 | 0x1f << 16);
        self.0[(RATE >> 3) - 1][n] = inward(1 << 63);
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

impl<'a> Seat<'a> {
    fn of(Task { input, out, again }: Task<'a>) -> Self {
        Seat { input: Some(input), out, squeezed: 0, again }
    }

    /// Whether the task is done.
    fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

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
