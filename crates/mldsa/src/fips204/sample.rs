//! Algorithms 29 to 34: pseudorandom polynomials. Matrices, secrets and masks are sampled as many at a time as the room
//! has Keccak states side by side.

use super::params::{D, Params, Q};
use super::ring::{NttPoly, Poly};
use crate::backend::{Coeffs, Room};
use crate::ct::Wiped;
use crate::keccak::{Beside, STREAM, Shake, Sponge, States, Streams, Width, squeeze_beside};
use core::marker::PhantomData;

/// Bytes in a block of SHAKE128, which G is.
pub(crate) const G_BLOCK: usize = 168;
/// Bytes in a block of SHAKE256, which H is.
const H_BLOCK: usize = 136;

/// Entries of Â, at most.
const ENTRIES_MAX: usize = 56;
/// Bytes of a polynomial of y, at most.
const MASK_MAX: usize = 640;
/// Blocks that hold one.
const MASK_BLOCKS: usize = 5;

/// Calls `$f::<N>` with the least N of 1, 4, 8 that the room has and that takes all of `$left`, or with the greatest;
/// gives N. States that nobody needs go along for nothing.
macro_rules! as_wide_as_fits {
    ($room:expr, $left:expr, $f:ident$(::<$p:ident>)?($($arg:expr),*)) => {
        match $room.width().min($left) {
            5.. => { $f::<$($p,)? 8>($($arg),*); 8 }
            2..=4 => { $f::<$($p,)? 4>($($arg),*); 4 }
            _ => { $f::<$($p,)? 1>($($arg),*); 1 }
        }
    };
}

/// The first bytes of H(c̃), which are nearly always enough for `sample_in_ball`.
pub(crate) type BallBlock = [u8; H_BLOCK];

/// -2^d, which verification multiplies c with, and not t1: only the product is asked for.
pub(crate) const MINUS_2_POW_D: i32 = Q - (1 << D);

/// c with τ coefficients ±1 and the rest 0, times `one`.
/// FIPS 204, Algorithm 29, SampleInBall.
///
/// Shapes: c_tilde λ/4 bytes; block the first bytes of H(c_tilde); c in R_q.
/// Bounds: 0 < one < q.
/// Time: shows c_tilde, which the signature shows; see SECURITY.md for attempts that are rejected.
pub(crate) fn sample_in_ball(
    room: Room,
    tau: usize,
    one: i32,
    c_tilde: &[u8],
    block: &BallBlock,
    c: &mut Coeffs,
) {
    let (s, first) = block.split_at(8);
    let mut signs = s.first_chunk().map_or(0, |s| u64::from_le_bytes(*s));
    let mut first = first.iter().copied();
    let mut beyond = H_BLOCK;
    let mut next = || {
        first.next().unwrap_or_else(|| {
            beyond += 1;
            ball_byte(room, c_tilde, beyond)
        })
    };
    *c = [0; 256];
    for i in 256 - tau..256 {
        let j = loop {
            let j = usize::from(next());
            if j <= i {
                break j;
            }
        };
        c[i] = c[j];
        c[j] = if signs & 1 == 0 { one } else { Q - one };
        signs >>= 1;
    }
}

/// Byte `n` of H(c̃), counted from 1: beyond the block the hash is asked again from its beginning, less than once in 2^30
/// challenges at level 87.
#[cold]
#[inline(never)]
fn ball_byte(room: Room, c_tilde: &[u8], n: usize) -> u8 {
    let mut ctx = Shake::shake256(room);
    ctx.absorb([c_tilde]);
    let mut byte = [0];
    for _ in 0..n {
        ctx.squeeze([&mut byte]);
    }
    byte[0]
}

/// The first block of H(c̃).
#[inline(never)]
pub(crate) fn ball_block(room: Room, c_tilde: &[u8], block: &mut BallBlock) {
    let mut ctx = Shake::shake256(room);
    ctx.absorb([c_tilde]);
    ctx.squeeze([block]);
}

/// Rows of Â that are held where each is used as soon as it is there: with four, no state of eight waits for a row; one state
/// alone, as where words are short, needs one.
pub(crate) const PASSING: usize = if cfg!(target_pointer_width = "64") { 4 } else { 1 };

/// Â, row by row, and a hash beside it: where states go side by side, one is the hash's now and then. `each_row` sees each
/// row as soon as it is there, and may have something for the hash.
/// FIPS 204, Algorithm 32, ExpandA.
///
/// Shapes: k rows of l polynomials in T_q, or n >= 1 rows, where row n + r takes the place of row r when that was
/// seen. Entry (r, s) is sampled from ρ || s || r.
pub(crate) fn expand_a_beside<P: Params, G: Beside>(
    room: Room,
    rho: &[u8; 32],
    rows: &mut [P::L_<NttPoly>],
    hash: &mut G,
    each_row: impl FnMut(&[NttPoly], &mut G),
) {
    debug_assert!((1..=P::K.max(PASSING)).contains(&rows.len()));
    let mut entries =
        Entries::<P, G, _> { room, rho, rows, filled: [0; _], row: 0, each_row, hash: PhantomData };
    match room.width() {
        8 => squeeze_beside::<8, _>(room, P::K * P::L, &mut entries, hash),
        4 => squeeze_beside::<4, _>(room, P::K * P::L, &mut entries, hash),
        _ => squeeze_beside::<1, _>(room, P::K * P::L, &mut entries, hash),
    }
}

/// The entries of Â as they come: (r, s) has the number r·ℓ + s.
struct Entries<'a, P: Params, G, F> {
    room: Room,
    rho: &'a [u8; 32],
    rows: &'a mut [P::L_<NttPoly>],
    /// Coefficients that each entry has.
    filled: [u16; ENTRIES_MAX],
    /// The first row that is not complete.
    row: usize,
    each_row: F,
    hash: PhantomData<G>,
}

#[allow(clippy::integer_division_remainder_used, reason = "public indices")]
fn place<P: Params>(entry: usize) -> (usize, usize) {
    (entry / P::L, entry % P::L)
}

/// Where row r is held: r mod held, without a division (`./dev ct` finds each). Bounds: held > 0.
fn slot(mut r: usize, held: usize) -> usize {
    while r >= held {
        r -= held;
    }
    r
}

impl<P: Params, G: Beside, F: FnMut(&[NttPoly], &mut G)> Streams for Entries<'_, P, G, F> {
    type Guest = G;

    fn seed(&self, entry: usize) -> [u8; 34] {
        let (r, s) = place::<P>(entry);
        let mut seed = [0; 34];
        seed[..32].copy_from_slice(self.rho);
        seed[32..].copy_from_slice(&[s as u8, r as u8]);
        seed
    }

    /// Whether its row has a place.
    fn may_begin(&self, entry: usize) -> bool {
        place::<P>(entry).0 < self.row + self.rows.len()
    }

    /// FIPS 204, Algorithm 30, RejNTTPoly.
    fn take(&mut self, entry: usize, bytes: &[u8], hash: &mut G) -> bool {
        let Entries { room, rows, filled, row, each_row, .. } = self;
        let held = rows.len();
        let (r, s) = place::<P>(entry);
        let out = &mut rows[slot(r, held)].as_mut()[s].0;
        filled[entry] = room.reject_uniform(bytes, out, filled[entry].into()) as u16;
        while *row < P::K && filled[P::L * *row..P::L * (*row + 1)].iter().all(|&filled| filled == 256) {
            each_row(rows[slot(*row, held)].as_ref(), hash);
            *row += 1;
        }
        filled[entry] == 256
    }
}

/// s1 and s2, with coefficients in [-η, η].
/// FIPS 204, Algorithm 33, ExpandS.
///
/// Shapes: rho_prime 64 bytes; s1 in R_q^l from counters 0 .. l, s2 in R_q^k from counters l .. l + k. Both are written
/// where they will be wiped: to return them would leave copies. In a frame of its own, which the caller wipes.
#[inline(never)]
pub(crate) fn expand_s<P: Params>(
    room: Room,
    rho_prime: &[u8; 64],
    s1: &mut P::L_<Poly>,
    s2: &mut P::K_<Poly>,
) {
    let mut all = s1.as_mut().iter_mut().chain(s2.as_mut()).map(|poly| &mut poly.0);
    let mut r = 0;
    while r < P::L + P::K {
        r += as_wide_as_fits!(room, P::L + P::K - r, rej_bounded_poly(room, P::ETA, rho_prime, r, &mut all));
    }
}

/// The next N polynomials, sampled from ρ' || r, ρ' || r + 1, …; those past the last are left out.
/// FIPS 204, Algorithm 11, IntegerToBytes (the counters).
/// FIPS 204, Algorithm 31, RejBoundedPoly.
pub(crate) fn rej_bounded_poly<'a, const N: usize>(
    room: Room,
    eta: i32,
    rho_prime: &[u8; 64],
    r: usize,
    polys: &mut impl Iterator<Item = &'a mut Coeffs>,
) where
    States<N>: Width<N>,
{
    let mut ctx = Sponge::<N>::shake256(room);
    ctx.absorb([&rho_prime[..]; N]);
    let counters: [[u8; 2]; N] = core::array::from_fn(|n| (r as u16 + n as u16).to_le_bytes());
    ctx.absorb(counters.each_ref().map(|counter| &counter[..]));
    let mut polys: [Option<&mut Coeffs>; N] = core::array::from_fn(|_| polys.next());
    let mut filled = polys.each_ref().map(|poly| if poly.is_some() { 0 } else { 256 });
    let mut blocks = Wiped([[0; H_BLOCK]; N]);
    while filled.iter().any(|&f| f < 256) {
        ctx.squeeze(blocks.each_mut().map(|block| &mut block[..]));
        for ((poly, block), filled) in polys.iter_mut().zip(blocks.iter()).zip(&mut filled) {
            if let Some(poly) = poly {
                *filled = room.reject_bounded(eta, block, poly, *filled);
            }
        }
    }
}

/// One polynomial of a mask to be sampled: y[r] of the attempt κ is sampled from ρ'' || κ + r.
pub(crate) struct Mask<'a> {
    /// ρ''.
    pub(crate) rho_pp: &'a [u8; 64],
    /// κ + r.
    pub(crate) counter: u16,
    /// Where it goes.
    pub(crate) y: &'a mut Poly,
}

/// Polynomials with coefficients in (-γ1, γ1]: y of one attempt, or of several side by side.
/// FIPS 204, Algorithm 34, ExpandMask.
///
/// Shapes: `count` masks.
pub(crate) fn expand_mask<'a, P: Params>(
    room: Room,
    count: usize,
    mut masks: impl Iterator<Item = Mask<'a>>,
) {
    let mut done = 0;
    while done < count {
        done += as_wide_as_fits!(room, count - done, mask_polys::<P>(room, &mut masks));
    }
}

/// The next N polynomials, or those that are left.
fn mask_polys<'a, P: Params, const N: usize>(room: Room, masks: &mut impl Iterator<Item = Mask<'a>>)
where
    States<N>: Width<N>,
{
    let masks: [Option<Mask<'a>>; N] = core::array::from_fn(|_| masks.next());
    let mut seeds = Wiped([[0; 66]; N]);
    for (seed, mask) in seeds.iter_mut().zip(masks.iter().flatten()) {
        mask_seed(mask.rho_pp, mask.counter, seed);
    }
    let mut ctx = Sponge::<N>::shake256(room);
    ctx.absorb(seeds.each_ref().map(|seed| &seed[..]));
    let mut v = Wiped([[0; MASK_BLOCKS * H_BLOCK]; N]);
    ctx.squeeze(v.each_mut().map(|v| &mut v[..]));
    for (v, mask) in v.iter().zip(masks.into_iter().flatten()) {
        room.bit_unpack(P::Z_BITS, P::GAMMA1, &v[..32 * P::Z_BITS as usize], &mut mask.y.0);
    }
}

/// The bytes of one polynomial of a mask before they are unpacked: BitUnpack(v, γ1 - 1, γ1) is y[r] where the counter is κ + r.
/// FIPS 204, Algorithm 34, ExpandMask.
///
/// Shapes: v of 32·`Z_BITS` bytes.
pub(crate) fn mask_bytes(room: Room, rho_pp: &[u8; 64], counter: u16, v: &mut [u8]) {
    let mut ctx = Shake::shake256(room);
    ctx.absorb([rho_pp]);
    ctx.absorb([&counter.to_le_bytes()]);
    ctx.squeeze([v]);
}

/// One entry of Â while it goes by: `each_piece` sees the hash's bytes, and says how many coefficients it has.
/// FIPS 204, Algorithm 30, RejNTTPoly.
/// FIPS 204, Algorithm 32, ExpandA (which entry).
///
/// Shapes: entry (r, s), sampled from ρ || s || r; pieces of PIECE bytes, a multiple of 24.
pub(crate) fn entry_by_pieces<const PIECE: usize>(
    room: Room,
    rho: &[u8; 32],
    (r, s): (usize, usize),
    mut each_piece: impl FnMut(&[u8], usize) -> usize,
) {
    let mut ctx = Shake::shake128(room);
    ctx.absorb([rho]);
    ctx.absorb([&[s as u8, r as u8]]);
    let (mut piece, mut filled) = ([0; PIECE], 0);
    while filled < 256 {
        ctx.squeeze([&mut piece]);
        filled = each_piece(&piece, filled);
    }
}

/// One entry of Â. See [`entry_by_pieces`].
pub(crate) fn rej_ntt_entry(room: Room, rho: &[u8; 32], entry: (usize, usize), out: &mut Coeffs) {
    entry_by_pieces::<G_BLOCK>(room, rho, entry, |piece, filled| room.reject_uniform(piece, out, filled));
}

/// ρ'' || counter.
fn mask_seed(rho_pp: &[u8; 64], counter: u16, seed: &mut [u8; 66]) {
    seed[..64].copy_from_slice(rho_pp);
    seed[64..].copy_from_slice(&counter.to_le_bytes());
}

/// y of an attempt to come: its bytes before they are unpacked. Wiped on drop.
pub(crate) struct MaskAhead<P: Params>(Wiped<P::L_<[u8; MASK_MAX]>>);

impl<P: Params> MaskAhead<P> {
    /// Zeros, to be written over.
    pub(crate) const BLANK: Self = MaskAhead(Wiped::ZERO);

    /// Takes the bytes of y[r]: SHAKE256 of ρ'' || κ + r.
    /// FIPS 204, Algorithm 34, ExpandMask.
    pub(crate) fn take(&mut self, r: usize, v: &[u8; STREAM]) {
        self.0.as_mut()[r].copy_from_slice(&v[..MASK_MAX]);
    }

    /// y, when all of its bytes are there.
    pub(crate) fn unpack(&self, room: Room, y: &mut P::L_<Poly>) {
        for (v, y) in self.0.as_ref().iter().zip(y.as_mut()) {
            room.bit_unpack(P::Z_BITS, P::GAMMA1, &v[..32 * P::Z_BITS as usize], &mut y.0);
        }
    }
}

/// H of inputs of equal length, as many at a time as the room has states side by side.
///
/// Shapes: pairs of an input and an output; outputs of equal length, at most one block.
pub(crate) fn h_side_by_side(room: Room, pairs: &mut [(&[u8], &mut [u8])]) {
    let mut done = 0;
    while done < pairs.len() {
        let pairs = &mut pairs[done..];
        done += as_wide_as_fits!(room, pairs.len(), h_group(room, pairs));
    }
}

/// The first N of them.
fn h_group<const N: usize>(room: Room, pairs: &mut [(&[u8], &mut [u8])])
where
    States<N>: Width<N>,
{
    let mut ctx = Sponge::<N>::shake256(room);
    ctx.absorb(core::array::from_fn(|n| pairs[n.min(pairs.len() - 1)].0));
    let mut blocks = Wiped([[0; H_BLOCK]; N]);
    ctx.squeeze(blocks.each_mut().map(|block| &mut block[..]));
    for (block, (_, output)) in blocks.iter().zip(pairs) {
        output.copy_from_slice(&block[..output.len()]);
    }
}
