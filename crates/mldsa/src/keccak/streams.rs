//! Streams of SHAKE128 of one short seed each, as many at a time as there are states, and a guest among them.

use super::{Guest, States, Width};
use crate::backend::{Room, inward};

/// Bytes in a block of SHAKE128.
const RATE: usize = 168;

/// Bytes of a seed: ρ and two more.
const SEED: usize = 34;

/// Blocks that a stream gives at first, which are nearly always enough; then block by block.
const BLOCKS: usize = 5;

/// A state, and the streams that go through it one after the other: n, n + N, n + 2N, … in state n.
struct Lane {
    /// The present one; `count` or more when there is none left.
    stream: usize,
    /// Blocks that are still to come in this state, as far as one knows.
    left: usize,
    /// Bytes that are wanted before somebody looks at them, and that are there.
    wanted: usize,
    there: usize,
    bytes: [u8; BLOCKS * RATE],
}

/// Squeezes `count` streams. `take` sees the first 840 bytes of each, and then as long as it says that these are not
/// enough, the next 168. It may have something for the guest, who hashes meanwhile whatever there is to be hashed, in the
/// place of a stream that waits: of the one whose state has the least to do yet, so that all states end at the same time.
///
/// For public seeds and public input: nothing is wiped.
pub(crate) fn squeeze_beside<const N: usize>(
    room: Room,
    count: usize,
    seed: impl Fn(usize) -> [u8; SEED],
    guest: &mut Guest,
    mut take: impl FnMut(usize, &[u8], &mut Guest) -> bool,
) where
    States<N>: Width<N>,
{
    let mut states = States([[0; N]; 25]);
    let mut lanes: [Lane; N] = core::array::from_fn(|n| Lane {
        stream: n,
        left: if n < count { BLOCKS * (1 + ((count - 1 - n) >> N.trailing_zeros())) } else { 0 },
        wanted: BLOCKS * RATE,
        there: 0,
        bytes: [0; _],
    });
    for n in 0..N.min(count) {
        states.begin(n, &seed(n));
    }
    while lanes.iter().any(|lane| lane.stream < count) {
        // With one state it would only come and go.
        let guests =
            if N > 1 && guest.absorb_block() { (0..N).rev().min_by_key(|&n| lanes[n].left) } else { None };
        match guests {
            Some(n) => guest.permute_instead(&mut states, n, room),
            None => states.permute(room),
        }
        // What stands where a stream waits, or where none is left, is written over or never looked at.
        let mut places = lanes.iter_mut().map(|lane| &mut lane.bytes[lane.there..lane.there + RATE]);
        states.read(room, core::array::from_fn(|_| places.next().unwrap_or_default()));
        for (n, lane) in lanes.iter_mut().enumerate() {
            if lane.stream >= count || guests == Some(n) {
                continue;
            }
            lane.there += RATE;
            lane.left = lane.left.saturating_sub(1);
            if lane.there < lane.wanted {
                continue;
            }
            let enough = take(lane.stream, &lane.bytes[..lane.wanted], guest);
            (lane.there, lane.wanted) = (0, RATE);
            if enough {
                (lane.stream, lane.wanted) = (lane.stream + N, BLOCKS * RATE);
                if lane.stream < count {
                    states.begin(n, &seed(lane.stream));
                }
            }
        }
    }
}

impl<const N: usize> States<N> {
    /// State n has absorbed a seed, with the padding of SHAKE128 (FIPS 202, 5.1 and 6.2), and waits for its permutation.
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
