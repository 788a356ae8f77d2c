//! Streams of SHAKE128 of one short seed each, as many at a time as there are states, and a guest among them.

use super::guest::permute_instead;
use super::{Beside, States, Width};
use crate::backend::{Room, inward};

/// Bytes in a block of SHAKE128.
const RATE: usize = 168;

/// Bytes of a seed: ρ and two more.
const SEED: usize = 34;

/// Blocks that a stream gives at first, which are nearly always enough; then block by block.
const BLOCKS: usize = 5;

/// A state, and the streams that go through it one after the other: n, n + N, n + 2N, … in state n.
struct Lane {
    /// The present one, or the next that waits for its beginning; `count` or more when there is none left.
    stream: usize,
    begun: bool,
    /// Blocks that are still to come in this state, as far as one knows.
    left: usize,
    /// Bytes that are wanted before somebody looks at them, and that are there.
    wanted: usize,
    there: usize,
}

/// Whose streams they are. They have numbers from 0 on.
pub(crate) trait Streams {
    /// Who hashes beside them.
    type Guest: Beside;
    /// What a stream is of.
    fn seed(&self, stream: usize) -> [u8; SEED];
    /// Whether there is a place for it already; there is, at the latest when all before it were taken whole.
    fn may_begin(&self, stream: usize) -> bool;
    /// Sees the first 840 bytes of a stream, then the next 168; true where these are enough. May have something for the
    /// guest.
    fn take(&mut self, stream: usize, bytes: &[u8], guest: &mut Self::Guest) -> bool;
}

/// Squeezes `count` streams. The guest hashes meanwhile whatever there is to be hashed, in the place of a stream that
/// waits: of the one whose state has the least to do yet, so that all states end at the same time.
///
/// For public seeds and public input: nothing is wiped.
pub(crate) fn squeeze_beside<const N: usize, S: Streams>(
    room: Room,
    count: usize,
    streams: &mut S,
    guest: &mut S::Guest,
) where
    States<N>: Width<N>,
{
    let mut states = States([[0; N]; 25]);
    let mut lanes: [Lane; N] = core::array::from_fn(|n| Lane {
        stream: n,
        begun: false,
        left: if n < count { BLOCKS * (1 + ((count - 1 - n) >> N.trailing_zeros())) } else { 0 },
        wanted: BLOCKS * RATE,
        there: 0,
    });
    let mut bytes = [[0; BLOCKS * RATE]; N];
    let begin = |states: &mut States<N>, n: usize, lane: &mut Lane, streams: &S| {
        if !lane.begun && lane.stream < count && streams.may_begin(lane.stream) {
            states.begin(n, &streams.seed(lane.stream));
            lane.begun = true;
        }
    };
    for (n, lane) in lanes.iter_mut().enumerate() {
        begin(&mut states, n, lane, streams);
    }
    while lanes.iter().any(|lane| lane.stream < count) {
        // With one state it would only come and go.
        let block = if N > 1 { guest.next_block() } else { None };
        let guests = block.and_then(|guest| {
            let n = (0..N).rev().min_by_key(|&n| lanes[n].left)?;
            permute_instead(&mut states, n, guest, room);
            Some(n)
        });
        if guests.is_none() {
            states.permute(room);
        }
        // What stands where a stream waits, or where none is left, is written over or never looked at.
        let mut places =
            bytes.iter_mut().zip(&lanes).map(|(bytes, lane)| &mut bytes[lane.there..lane.there + RATE]);
        states.read(room, core::array::from_fn(|_| places.next().unwrap_or_default()));
        for (n, (lane, bytes)) in lanes.iter_mut().zip(&bytes).enumerate() {
            if lane.begun && guests != Some(n) {
                lane.there += RATE;
                lane.left = lane.left.saturating_sub(1);
                if lane.there < lane.wanted {
                    continue;
                }
                let enough = streams.take(lane.stream, &bytes[..lane.wanted], guest);
                (lane.there, lane.wanted) = (0, RATE);
                if enough {
                    (lane.stream, lane.begun, lane.wanted) = (lane.stream + N, false, BLOCKS * RATE);
                }
            }
            begin(&mut states, n, lane, streams);
        }
    }
}

impl<const N: usize> States<N> {
    /// State n has absorbed a seed, with the padding of SHAKE128 (FIPS 202, 5.1 and 6.2), and waits for its permutation.
    #[inline(never)] // it stands in two places
    fn begin(&mut self, n: usize, seed: &[u8; SEED]) {
        let mut block = [0; 40];
        block[..SEED].copy_from_slice(seed);
        block[SEED] = 0x1f;
        let words = block.as_chunks::<8>().0.iter().map(|bytes| inward(u64::from_le_bytes(*bytes)));
        for (place, word) in self.0.iter_mut().zip(words.chain(core::iter::repeat(0))) {
            place[n] = word;
        }
        self.0[(RATE >> 3) - 1][n] = inward(1 << 63);
    }
}
