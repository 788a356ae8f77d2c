//! Algorithms 3, 5 and 8: verification. Everything here is public.

use super::encode::{SigBytes, hint_row, pk_decode, sig_decode, t1_decode, w1_encode};
use super::params::Params;
use super::ring::{NttPoly, Poly, PolyHere};
use super::round::use_hint;
use super::sample::{BallBlock, MINUS_2_POW_D, PASSING, expand_a_beside, h_side_by_side, sample_in_ball};
use super::sign::COMMITMENT_MAX;
use crate::api::{ExpandedVerifyingKey, ParameterSet};
use crate::backend::Room;
use crate::ct::Wipe;
use crate::error::Error;
use crate::keccak::{Beside, Guest, Shake};
use crate::message::{Context, MuHasher};

/// A signature to be checked.
pub(crate) struct Claim<'a, P: ParameterSet> {
    pub(crate) pk: &'a ExpandedVerifyingKey<P>,
    pub(crate) mu: &'a [u8; 64],
    pub(crate) sigma: &'a P::Sig,
}

/// Checks one signature with a key that is kept ready. Algorithms 3 and 5 make μ from a message or its digest (`message.rs`)
/// and call this, or `verify_from_bytes`.
/// FIPS 204, Algorithm 3, ML-DSA.Verify.
/// FIPS 204, Algorithm 5, HashML-DSA.Verify.
/// FIPS 204, Algorithm 8, ML-DSA.Verify_internal.
///
/// Shapes: mu 64 bytes; sigma c̃ || z || h.
/// Differs from the standard: μ is computed by the caller (steps 6 and 7); Â and NTT(t1) come with the key (steps 1 and 5), and
/// c is multiplied by −2^d in place of t1; the norm of z is checked before the rest is computed (step 13).
/// Errors: `BadSignature`, whatever is wrong.
pub(crate) fn verify_internal<P: ParameterSet>(room: Room, claim: &Claim<'_, P>) -> Result<(), Error> {
    let mut verdict = [Err(Error::BadSignature)];
    verify_side_by_side::<P, 1>(room, core::slice::from_ref(claim), &mut verdict);
    verdict[0]
}

/// Checks one signature with the bytes of a public key: each row of Â is used as soon as it is there, and not kept. See
/// [`verify_internal`].
/// FIPS 204, Algorithm 3, ML-DSA.Verify.
/// FIPS 204, Algorithm 8, ML-DSA.Verify_internal.
///
/// Differs from the standard: c is multiplied by −2^d in place of t1; a malformed signature is refused before anything of the key is computed; H(c̃), tr and μ
/// (steps 6 to 8) take turns with the matrix.
pub(crate) fn verify_from_bytes<P: ParameterSet>(
    room: Room,
    pk: &P::Pk,
    sigma: &P::Sig,
    message: Message<'_>,
) -> Result<(), Error> {
    // 2: (c̃, z, h) ← sigDecode(σ)
    // 3: if h = ⊥ then return false
    let sigma = sig_decode::<P>(sigma).ok_or(Error::BadSignature)?;
    let mut opening = Opening::<P>::BLANK;
    if !opening.open(room, &sigma) {
        return Err(Error::BadSignature);
    }
    let mut hashes = Hashes::of(room, sigma.c_tilde, pk.as_ref(), message);
    let mut commitment = [0; COMMITMENT_MAX];
    let (first, rest) = commitment.split_at_mut(64);
    // 1: (ρ, t1) ← pkDecode(pk)
    let (rho, t1) = pk_decode(pk.as_ref());
    let mut rows = t1.zip(rest.chunks_exact_mut(32 * P::W1_BITS as usize)).enumerate();
    let (mut a_hat, mut t1_hat): ([P::L_<NttPoly>; PASSING], _) = (Wipe::ZERO, NttPoly::ZERO);
    // 5: Â ← ExpandA(ρ)
    expand_a_beside::<P, _>(room, rho, &mut a_hat, &mut hashes, |a, hashes| {
        let Some((r, (t1, out))) = rows.next() else { return };
        if r == 0 {
            hashes.go_on_to(Step::Tr);
            opening.challenge(room, &sigma, &hashes.block);
        }
        t1_ntt(room, t1, &mut t1_hat);
        opening.row(room, sigma.h, (r, a, &t1_hat), out);
    });
    hashes.go_on_to(Step::Done);
    first.copy_from_slice(&hashes.mu);
    // 12: c̃' ← H(μ || w1Encode(w1'), λ/4)
    let mut c_tilde_prime = P::CTilde::ZERO;
    let mut ctx = Shake::shake256(room);
    ctx.absorb([&commitment[..64 + P::W1_LEN]]);
    ctx.squeeze([c_tilde_prime.as_mut()]);
    // 13, second half: c̃ = c̃'
    if sigma.c_tilde == c_tilde_prime.as_ref() { Ok(()) } else { Err(Error::BadSignature) }
}

/// NTT(t1) of one polynomial, from its bytes.
pub(crate) fn t1_ntt(room: Room, bytes: &[u8], t1_hat: &mut NttPoly) {
    t1_decode(room, bytes, &mut t1_hat.0);
    PolyHere(&mut t1_hat.0).ntt(room);
}

/// Checks up to A signatures, so that their hashes go side by side. See [`verify_internal`].
///
/// Shapes: as many claims as verdicts, at most A.
pub(crate) fn verify_side_by_side<P: ParameterSet, const A: usize>(
    room: Room,
    claims: &[Claim<'_, P>],
    verdicts: &mut [Result<(), Error>],
) {
    let count = claims.len();
    debug_assert!(count <= A && verdicts.len() == count);
    // 8, first part: H(c̃)
    let mut blocks: [BallBlock; A] = [[0; _]; A];
    let c_tilde: [&[u8]; A] = core::array::from_fn(|i| {
        claims.get(i).map_or(&[][..], |claim| &claim.sigma.as_ref()[..P::C_TILDE_LEN])
    });
    let mut hashes = zip(c_tilde, blocks.each_mut().map(|block| &mut block[..]));
    h_side_by_side(room, &mut hashes[..count]);
    let mut commitments = [[0; COMMITMENT_MAX]; A];
    let mut well_formed = [false; A];
    let mut opening = Opening::<P>::BLANK;
    for (i, claim) in claims.iter().enumerate() {
        well_formed[i] = recommit(room, claim, &blocks[i], &mut opening, &mut commitments[i]).is_some();
    }
    // 12: c̃' ← H(μ || w1Encode(w1'), λ/4)
    let mut c_tilde_prime = [[0; 64]; A];
    let inputs = commitments.each_ref().map(|commitment| &commitment[..64 + P::W1_LEN]);
    let outputs = c_tilde_prime.each_mut().map(|c_tilde| &mut c_tilde[..P::C_TILDE_LEN]);
    h_side_by_side(room, &mut zip(inputs, outputs)[..count]);
    // 13: ‖z‖∞ < γ1 − β and c̃ = c̃'
    for (i, verdict) in verdicts.iter_mut().enumerate() {
        let good = well_formed[i] && c_tilde[i] == &c_tilde_prime[i][..P::C_TILDE_LEN];
        *verdict = if good { Ok(()) } else { Err(Error::BadSignature) };
    }
}

/// Steps 2 to 12 of Algorithm 8 but for the hash: μ || w1Encode(w1'). `None` if the hint is malformed or z too long.
fn recommit<P: ParameterSet>(
    room: Room,
    claim: &Claim<'_, P>,
    block: &BallBlock,
    opening: &mut Opening<P>,
    commitment: &mut [u8; COMMITMENT_MAX],
) -> Option<()> {
    let Claim { pk, mu, sigma } = *claim;
    // 2: (c̃, z, h) ← sigDecode(σ)
    // 3: if h = ⊥ then return false
    let sigma = sig_decode::<P>(sigma)?;
    if !opening.open(room, &sigma) {
        return None;
    }
    opening.challenge(room, &sigma, block);
    let (first, rest) = commitment.split_at_mut(64);
    first.copy_from_slice(mu);
    let rows = pk.a_hat.as_ref().iter().zip(pk.t1_hat.as_ref()).enumerate();
    for ((r, (a, t1_hat)), out) in rows.zip(rest.chunks_exact_mut(32 * P::W1_BITS as usize)) {
        opening.row(room, sigma.h, (r, a.as_ref(), t1_hat), out);
    }
    Some(())
}

/// What a signature says, ready to meet the rows of Â.
struct Opening<P: Params> {
    z_hat: P::L_<NttPoly>,
    /// NTT(-2^d·c).
    c_hat: NttPoly,
    /// A row of w'approx.
    w: Poly,
}

impl<P: Params> Opening<P> {
    /// Zeros, to be written over.
    const BLANK: Self = Opening { z_hat: Wipe::ZERO, c_hat: NttPoly::ZERO, w: Poly::ZERO };

    /// The first half of step 13, and NTT(z) of step 9; false if z is too long.
    fn open(&mut self, room: Room, sigma: &SigBytes<'_>) -> bool {
        for (bytes, z) in sigma.z.chunks_exact(32 * P::Z_BITS as usize).zip(self.z_hat.as_mut()) {
            room.bit_unpack(P::Z_BITS, P::GAMMA1, bytes, &mut z.0);
            // 13, first half: ‖z‖∞ < γ1 − β
            if !room.norm_below(&z.0, P::GAMMA1 - P::BETA) {
                return false;
            }
            PolyHere(&mut z.0).ntt(room);
        }
        true
    }

    /// Step 8, and the transform of c in step 9. Shapes: block the first bytes of H(c̃).
    fn challenge(&mut self, room: Room, sigma: &SigBytes<'_>, block: &BallBlock) {
        // 8: c ← SampleInBall(c̃)
        sample_in_ball(room, P::TAU, MINUS_2_POW_D, sigma.c_tilde, block, &mut self.c_hat.0);
        PolyHere(&mut self.c_hat.0).ntt(room);
    }

    /// Steps 9 to 12 for row r of Â and of NTT(t1): its part of w1Encode(w1'). Shapes: h well-formed.
    fn row(&mut self, room: Room, h: &[u8], (r, a, t1_hat): (usize, &[NttPoly], &NttPoly), out: &mut [u8]) {
        let Opening { z_hat, c_hat, w } = self;
        // 9: w'approx ← NTT⁻¹(Â ∘ NTT(z) − NTT(c) ∘ NTT(t1·2^d))
        w.product_and_one(room, a, z_hat.as_ref(), t1_hat, c_hat);
        // 10: w1' ← UseHint(h, w'approx)
        use_hint(room, P::GAMMA2, hint_row(P::OMEGA, h, r).unwrap_or_default(), &mut w.0);
        w1_encode::<P>(room, w, out);
    }
}

/// What was signed: a message under a context, or what already stands for it.
pub(crate) enum Message<'a> {
    Mu(&'a [u8; 64]),
    Pure(Context<'a>, &'a [u8]),
}

/// The hashes that a verification from bytes needs, one after the other: H(c̃), tr and μ, or H(c̃) alone.
struct Hashes<'a> {
    room: Room,
    step: Step,
    /// That of the step.
    hash: Guest,
    pk: &'a [u8],
    message: Message<'a>,
    /// The first bytes of H(c̃).
    block: BallBlock,
    mu: [u8; 64],
}

/// What is hashed.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Step {
    Challenge,
    Tr,
    Mu,
    Done,
}

impl<'a> Hashes<'a> {
    fn of(room: Room, c_tilde: &[u8], pk: &'a [u8], message: Message<'a>) -> Self {
        let hash = Guest::shake256_of(c_tilde);
        Hashes { room, step: Step::Challenge, hash, pk, message, block: [0; _], mu: [0; _] }
    }

    /// Takes what the step has hashed, and begins with the next.
    fn next_step(&mut self) {
        let Hashes { room, step, hash, pk, block, mu, .. } = self;
        *step = match (*step, &self.message) {
            (Step::Challenge, Message::Mu(given)) => {
                hash.squeeze(block);
                *mu = **given;
                Step::Done
            }
            (Step::Challenge, Message::Pure(..)) => {
                hash.squeeze(block);
                hash.start_again();
                hash.feed(pk);
                hash.complete();
                Step::Tr
            }
            (Step::Tr, Message::Pure(ctx, message)) => {
                // 6: μ ← H(tr || M', 64)
                let mut tr = [0; 64];
                hash.squeeze(&mut tr);
                hash.start_again();
                let (head, context) = ctx.head();
                let parts = [&tr, &head[..], context, message];
                if parts.iter().map(|part| part.len()).sum::<usize>() > hash.room_left() {
                    MuHasher::mu_of(*room, &tr, *ctx, message, mu);
                    Step::Done
                } else {
                    parts.iter().for_each(|part| hash.feed(part));
                    hash.complete();
                    Step::Mu
                }
            }
            (Step::Mu, _) => {
                hash.squeeze(mu);
                Step::Done
            }
            (Step::Tr | Step::Done, _) => Step::Done,
        }
    }

    /// Hashes alone whatever comes before this step.
    fn go_on_to(&mut self, step: Step) {
        while self.step < step {
            while self.hash.absorb_alone(self.room) {}
            self.next_step();
        }
    }
}

impl Beside for Hashes<'_> {
    fn next_block(&mut self) -> Option<&mut [u64; 25]> {
        while !self.hash.absorb_block() {
            if self.step == Step::Done {
                return None;
            }
            self.next_step();
        }
        Some(&mut self.hash.state)
    }
}

/// Pairs of an input and an output.
fn zip<'a, const A: usize>(
    inputs: [&'a [u8]; A],
    outputs: [&'a mut [u8]; A],
) -> [(&'a [u8], &'a mut [u8]); A] {
    let mut inputs = inputs.into_iter();
    outputs.map(|output| (inputs.next().unwrap_or(&[]), output))
}
