//! One suite for every room: whatever a room computes equals the model, on every input where all can be tried, and on
//! edges and random ones elsewhere.
#![allow(clippy::integer_division_remainder_used, reason = "tests")]

mod agree;
mod attempts;
mod ball;
mod batch;
mod device;
mod exhaustive;
mod faults;
pub(crate) mod faulty;
mod interval;
mod model;
mod wipes;

use crate::backend::{Coeffs, Room, Words, all};
use crate::fips204::flight::sign_internal;
use crate::fips204::params::{GAMMA2_32, GAMMA2_88, HALF_Q, MlDsa44, MlDsa65, MlDsa87, Q};
use crate::fips204::ring::{Ball, NttPoly, Poly, Small, one};
use crate::fips204::sign::Rejection;
use crate::keccak::{Shake, Sponge, States, Width, permute};
use crate::kernels::round::MARK;
use std::vec;
use std::vec::Vec;

const GAMMAS: [i32; 2] = [GAMMA2_88, GAMMA2_32];

/// Random numbers that are the same every time (SHAKE128 of a label, through the model's permutation).
struct Chance {
    state: [u64; 25],
    at: usize,
}

impl Chance {
    fn new(label: u64) -> Self {
        Chance { state: core::array::from_fn(|i| if i == 0 { label } else { 0 }), at: 21 }
    }

    fn next(&mut self) -> u64 {
        if self.at == 21 {
            model::keccak_f(&mut self.state);
            self.at = 0;
        }
        self.at += 1;
        self.state[self.at - 1]
    }

    fn poly(&mut self) -> Coeffs {
        core::array::from_fn(|_| (self.next() % Q as u64) as i32)
    }
}

/// Polynomials at the edges, and random ones.
fn polys() -> Vec<Coeffs> {
    let mut chance = Chance::new(1);
    let mut polys: Vec<Coeffs> = [0, 1, HALF_Q, HALF_Q + 1, Q - 2, Q - 1].map(|x| [x; 256]).into();
    polys.push(core::array::from_fn(|i| if i % 2 == 0 { 0 } else { Q - 1 }));
    polys.push(core::array::from_fn(|i| if i == 255 { Q - 1 } else { 0 }));
    polys.extend((0..8).map(|_| chance.poly()));
    polys
}

/// Every field element, 256 at a time.
fn field() -> impl Iterator<Item = Coeffs> {
    (0..Q).step_by(256).map(|first| core::array::from_fn(|i| (first + i as i32) % Q))
}

fn each_room(test: impl Fn(Room)) {
    assert!(!all().is_empty());
    all().iter().for_each(|room| test(*room));
}

#[test]
fn power2round_of_every_field_element() {
    each_room(|room| {
        let (mut r1, mut r0) = ([0; 256], [0; 256]);
        for r in field() {
            room.power2round(&r, &mut r1, &mut r0);
            (0..256).for_each(|i| {
                assert_eq!((r1[i], r0[i]), model::power2round(r[i]), "{} r = {}", room.name(), r[i])
            });
        }
    });
}

#[test]
fn decompose_and_use_hint_of_every_field_element() {
    each_room(|room| {
        let [mut r1, mut r0] = [[0; 256]; 2];
        for gamma2 in GAMMAS {
            for r in field() {
                room.decompose(gamma2, &r, &mut r1, &mut r0);
                let (mut kept, mut moved) = (r, r.map(|r| r | MARK));
                room.use_hint(gamma2, &mut kept);
                room.use_hint(gamma2, &mut moved);
                for i in 0..256 {
                    let (high, low) = model::decompose(gamma2, r[i]);
                    assert_eq!(
                        (r1[i], r0[i]),
                        (high, model::mod_q(low.into())),
                        "{} r = {}",
                        room.name(),
                        r[i]
                    );
                    assert_eq!(kept[i], high);
                    assert_eq!(moved[i], model::use_hint(gamma2, 1, r[i]), "{} r = {}", room.name(), r[i]);
                }
            }
        }
    });
}

/// infernode PR 237: near q - 1, where r1 wraps to 0, r0 is r - q and not pinned to -1.
#[test]
fn decompose_infernode_r0_where_r1_wraps() {
    each_room(|room| {
        let (mut r1, mut r0) = ([7; 256], [7; 256]);
        for gamma2 in GAMMAS {
            for r in [Q - gamma2, Q - gamma2 + 1, Q - 2, Q - 1] {
                room.decompose(gamma2, &[r; 256], &mut r1, &mut r0);
                assert_eq!((r1, r0), ([0; 256], [r; 256]), "{} γ2 = {gamma2}, r = {r}", room.name());
            }
        }
    });
}

#[test]
fn make_hint_at_edges_and_at_random() {
    let mut chance = Chance::new(2);
    let edges = [0, 1, HALF_Q, Q - 1, GAMMA2_88, 2 * GAMMA2_88, GAMMA2_32, 2 * GAMMA2_32, Q - 1 - GAMMA2_88];
    let edges: Vec<i32> =
        edges.iter().flat_map(|x| [x - 1, *x, x + 1]).map(|x| model::mod_q(x.into())).collect();
    each_room(|room| {
        let mut h = [0; 256];
        for gamma2 in GAMMAS {
            for z in &edges {
                for r in &edges {
                    let ones = room.make_hint(gamma2, &[*z; 256], &[*r; 256], &mut h);
                    let expected = model::make_hint(gamma2, *z, *r);
                    assert_eq!(
                        (ones, h),
                        (256 * expected, [expected; 256]),
                        "{} z = {z}, r = {r}",
                        room.name()
                    );
                }
            }
        }
    });
    for _ in 0..200 {
        let (z, r) = (chance.poly(), chance.poly());
        for gamma2 in GAMMAS {
            let expected: Coeffs = core::array::from_fn(|i| model::make_hint(gamma2, z[i], r[i]));
            each_room(|room| {
                let mut h = [0; 256];
                assert_eq!(room.make_hint(gamma2, &z, &r, &mut h), expected.iter().sum::<i32>());
                assert_eq!(h, expected);
            });
        }
    }
}

#[test]
fn norm_below_at_each_bound_in_each_place() {
    each_room(|room| {
        for bound in [1, 2, 78, 95232, 261888, (1 << 17) - 78, (1 << 19) - 196] {
            for place in 0..256 {
                for (x, below) in
                    [(bound - 1, true), (bound, false), (Q - bound + 1, true), (Q - bound, false)]
                {
                    let mut w = [0; 256];
                    w[place] = x % Q;
                    assert_eq!(
                        room.norm_below(&w, bound),
                        below,
                        "{} bound {bound}, {x} at {place}",
                        room.name()
                    );
                }
            }
            assert!(!room.norm_below(&[HALF_Q; 256], bound) && !room.norm_below(&[HALF_Q + 1; 256], bound));
        }
    });
}

#[test]
fn sums_and_differences_stay_canonical() {
    each_room(|room| {
        for a in polys() {
            for b in polys() {
                let (mut sum, mut difference) = (a, a);
                room.add(&mut sum, &b);
                room.sub(&mut difference, &b);
                for i in 0..256 {
                    assert_eq!(sum[i], (a[i] + b[i]) % Q);
                    assert_eq!(difference[i], (a[i] - b[i]).rem_euclid(Q));
                }
            }
        }
    });
}

#[test]
fn ntt_is_evaluation_at_the_roots() {
    each_room(|room| {
        for w in polys() {
            let mut w_hat = w;
            room.ntt(&mut w_hat);
            assert_eq!(w_hat, model::ntt(&w), "{}", room.name());
        }
    });
}

#[test]
fn products_are_those_of_the_schoolbook() {
    each_room(|room| {
        for (a, b) in polys().into_iter().zip(polys().into_iter().rev()) {
            let [mut a_hat, mut b_hat] = [NttPoly::ZERO, NttPoly::ZERO];
            Poly(a).ntt(room, &mut a_hat);
            Poly(b).ntt(room, &mut b_hat);
            let mut found = Poly::ZERO;
            found.product(room, one(&a_hat), one(&b_hat));
            assert_eq!(found.0, model::product(&a, &b), "{}", room.name());
            a_hat.undo_ntt(room, &mut found);
            assert_eq!(found.0, a, "{}", room.name());
        }
    });
}

/// c·s without transforms: each single ±X^i, and challenges of τ coefficients, on secrets at their bounds.
#[test]
fn products_with_the_challenge_are_those_of_the_schoolbook() {
    let mut chance = Chance::new(5);
    let mut challenges: Vec<Coeffs> = vec![[0; 256]];
    for place in [0, 1, 63, 64, 127, 200, 255] {
        challenges.extend([1, Q - 1].map(|x| core::array::from_fn(|i| if i == place { x } else { 0 })));
    }
    for tau in [39, 49, 60, 60] {
        let mut c = [0; 256];
        while c.iter().filter(|x| **x != 0).count() < tau {
            c[chance.next() as usize % 256] = if chance.next() & 1 == 0 { 1 } else { Q - 1 };
        }
        challenges.push(c);
    }
    // All of one sign: sums of bytes reach τ·η.
    challenges.push(core::array::from_fn(|i| i32::from(i % 4 == 0 && i < 240)));
    for eta in [2, 4] {
        let any = core::array::from_fn(|_| model::mod_q((chance.next() % (2 * eta + 1)) as i64 - eta as i64));
        for s in [[eta as i32; 256], [Q - eta as i32; 256], any] {
            let mut small = Small::ZERO;
            small.take(&s, eta as i32);
            let mut back = Poly::ZERO;
            small.give(&mut back);
            assert_eq!(back.0, s);
            for c in &challenges {
                let expected = model::product(c, &s);
                each_room(|room| {
                    for w in [[0; 256], [Q - 1; 256], core::array::from_fn(|i| (i as i32 * 32_749) % Q)] {
                        let sum =
                            core::array::from_fn(|i| model::mod_q(i64::from(w[i]) + i64::from(expected[i])));
                        let norm = sum.iter().map(|x: &i32| (*x).min(Q - x)).max().unwrap_or(0);
                        let ball = Ball::new(room, &Poly(*c));
                        for bound in [1, norm, norm + 1, (1 << 19) - 196] {
                            let bound = bound.clamp(1, (Q - 1) / 8);
                            let mut found = Poly(w);
                            let below = found.add_times_ball(room, &ball, &small, bound);
                            assert_eq!(found.0, sum, "{} η = {eta}", room.name());
                            assert_eq!(
                                below,
                                norm < bound,
                                "{} η = {eta}: {norm} below {bound}",
                                room.name()
                            );
                            found.add_times_ball(room, &ball.negated(), &small, bound);
                            assert_eq!(found.0, w, "{} η = {eta}, there and back", room.name());
                        }
                    }
                });
            }
        }
    }
}

/// Sums of 1 to 8 products with every coefficient at a bound, and what the inverse transform makes of them
/// (libcrux RUSTSEC-2026-0126: its input was not reduced far enough).
#[test]
fn dot_libcrux_bounds_hold_up_to_the_inverse_transform() {
    each_room(|room| {
        for (a, b) in [(Q - 1, Q - 1), (Q - 1, HALF_Q), (HALF_Q, HALF_Q + 1), (0, Q - 1), (1, 1)] {
            for n in 1..=8 {
                let [all_a, all_b] = [a, b].map(|x| vec![NttPoly([x; 256]); n]);
                let (mut sum, mut same) = ([0; 256], [0; 256]);
                room.dot(&all_a, &all_b, None, &mut sum);
                room.dot(&all_a[1..], &all_b[1..], Some((&all_a[0], &all_b[0])), &mut same);
                assert_eq!(sum, same);
                let expected = model::mod_q(i64::from(a) * i64::from(b) % i64::from(Q) * n as i64);
                assert_eq!(model::mod_q(i64::from(sum[0]) << 32), expected, "{} {n} of {a}·{b}", room.name());
                assert!(sum.iter().all(|x| *x == sum[0] && (0..Q).contains(x)));
                room.inv_ntt(&mut sum);
                assert_eq!((sum[0], &sum[1..]), (expected, &[0; 255][..]), "{}", room.name());
            }
        }
    });
}

#[test]
fn packing_is_that_of_single_bits() {
    let mut chance = Chance::new(3);
    for (bits, b) in [
        (4, None),
        (6, None),
        (10, None),
        (3, Some(2)),
        (4, Some(4)),
        (13, Some(1 << 12)),
        (18, Some(1 << 17)),
        (20, Some(1 << 19)),
    ] {
        for fill in [Some(0), Some((1 << bits) - 1), None, None] {
            let stored: Coeffs =
                core::array::from_fn(|_| fill.unwrap_or((chance.next() % (1 << bits)) as i32));
            let bytes = model::pack(bits, stored.into_iter());
            each_room(|room| {
                let (mut packed, mut unpacked) = (vec![0; bytes.len()], [0; 256]);
                match b {
                    None => {
                        room.simple_bit_pack(bits, &stored, &mut packed);
                        if bits == 10 {
                            room.simple_bit_unpack(bits, &bytes, &mut unpacked);
                            assert_eq!(unpacked, stored);
                        }
                    }
                    Some(b) => {
                        let w = stored.map(|x| model::mod_q((b - x).into()));
                        room.bit_pack(bits, b, &w, &mut packed);
                        room.bit_unpack(bits, b, &bytes, &mut unpacked);
                        assert_eq!(unpacked, w);
                    }
                }
                assert_eq!(packed, bytes, "{} {bits} bits", room.name());
            });
        }
    }
}

#[test]
fn rejection_sampling_takes_what_the_standard_takes() {
    let bytes: Vec<u8> = (0..=255u8)
        .flat_map(|a| [a, a.wrapping_mul(7), a | 0x70])
        .chain([0xff, 0xdf, 0x7f, 0, 0xe0, 0x7f, 1, 0xe0, 0x7f])
        .chain([0; 15]) // to a multiple of 24
        .collect();
    assert!(bytes.len().is_multiple_of(24));
    let uniform: Vec<i32> = bytes
        .chunks_exact(3)
        .map(|b| i32::from(b[0]) + 256 * i32::from(b[1]) + 65536 * i32::from(b[2] % 128))
        .filter(|x| *x < Q)
        .collect();
    let halves = || bytes.iter().flat_map(|b| [i32::from(b % 16), i32::from(b / 16)]);
    let bounded = |eta: i32| -> Vec<i32> {
        match eta {
            2 => halves().filter(|b| *b < 15).map(|b| model::mod_q((2 - b % 5).into())).collect(),
            _ => halves().filter(|b| *b < 9).map(|b| model::mod_q((4 - b).into())).collect(),
        }
    };
    each_room(|room| {
        for start in [0, 1, 200, 255, 256] {
            let mut out = [0; 256];
            let filled = room.reject_uniform(&bytes, &mut out, start);
            assert_eq!(filled, 256.min(start + uniform.len()));
            assert_eq!(out[start..filled], uniform[..filled - start]);
            for eta in [2, 4] {
                let expected = bounded(eta);
                let filled = room.reject_bounded(eta, &bytes, &mut out, start);
                assert_eq!(filled, 256.min(start + expected.len()));
                assert_eq!(out[start..filled], expected[..filled - start], "{} η = {eta}", room.name());
            }
        }
    });
}

/// The rounds of three inputs, which among the rooms only AVX-512's has, on plain words, so that every machine tries them.
#[test]
fn rounds_of_three_inputs_permute_as_well() {
    #[derive(Clone, Copy)]
    struct Word(u64);
    impl Words for Word {
        const THREE_INPUTS: bool = true;
        fn splat(x: u64) -> Self {
            Word(x)
        }
        fn xor(self, other: Self) -> Self {
            Word(self.0 ^ other.0)
        }
        fn chi(self, b: Self, c: Self) -> Self {
            Word(self.0.chi(b.0, c.0))
        }
        fn rotl<const R: i32>(self) -> Self {
            Word(self.0.rotl::<R>())
        }
    }
    let mut chance = Chance::new(14);
    for _ in 0..20 {
        let mut expected: [u64; 25] = core::array::from_fn(|_| chance.next());
        let mut words = expected.map(Word);
        permute(&mut words);
        model::keccak_f(&mut expected);
        assert_eq!(words.map(|word| word.0), expected);
    }
}

#[test]
fn keccak_permutes_one_four_and_eight_states_alike() {
    fn check<const N: usize>(room: Room, chance: &mut Chance)
    where
        States<N>: Width<N>,
    {
        let mut states: States<N> = States(core::array::from_fn(|_| core::array::from_fn(|_| chance.next())));
        let before = states.clone();
        states.permute(room);
        for n in 0..N {
            let mut one: [u64; 25] = before.0.map(|word| word[n]);
            model::keccak_f(&mut one);
            assert_eq!(states.0.map(|word| word[n]), one, "{} state {n} of {N}", room.name());
        }
        for words in [1, 7, 8, 9, 17, 21, 25] {
            let mut out = [[0; 200]; N];
            states.read(room, out.each_mut().map(|out| &mut out[..8 * words]));
            for (n, out) in out.iter().enumerate() {
                let expected: Vec<u8> = states.0.iter().flat_map(|word| word[n].to_le_bytes()).collect();
                assert_eq!(out[..8 * words], expected[..8 * words], "{} state {n} of {N}", room.name());
                assert!(out[8 * words..].iter().all(|byte| *byte == 0));
            }
        }
    }
    each_room(|room| {
        let mut chance = Chance::new(4);
        for _ in 0..20 {
            check::<1>(room, &mut chance);
            check::<4>(room, &mut chance);
            check::<8>(room, &mut chance);
        }
    });
}

/// FIPS 202's examples for the empty message.
#[test]
fn shake_of_nothing() {
    each_room(|room| {
        let (mut a, mut b) = ([0; 8], [0; 8]);
        Shake::shake128(room).squeeze([&mut a]);
        Shake::shake256(room).squeeze([&mut b]);
        assert_eq!(a, [0x7f, 0x9c, 0x2b, 0xa4, 0xe8, 0x8f, 0x82, 0x7d]);
        assert_eq!(b, [0x46, 0xb9, 0xdd, 0x2b, 0x0b, 0xa8, 0x8d, 0x13]);
    });
}

/// libcrux-sha3 RUSTSEC-2026-0074 and -0207: a squeeze in two parts gives the bytes of one, and so does absorbing.
#[test]
fn sponge_libcrux_parts_are_the_whole() {
    let input: Vec<u8> = (0..410).map(|i| (i * 31) as u8).collect();
    let room = crate::backend::active();
    let mut whole = [0; 3 * 136 + 10];
    let mut sponge = Shake::shake256(room);
    sponge.absorb([&input]);
    sponge.squeeze([&mut whole]);
    for split in 0..input.len() {
        let mut sponge = Shake::shake256(room);
        sponge.absorb([&input[..split]]);
        sponge.absorb([&input[split..]]);
        let mut parts = [0; 3 * 136 + 10];
        let (first, second) = parts.split_at_mut(split);
        sponge.squeeze([first]);
        sponge.squeeze([second]);
        assert_eq!(parts, whole, "split at {split}");
    }
}

/// States that go in step give what each gives alone, whatever the room's width.
#[test]
fn sponges_in_step_are_sponges_alone() {
    each_room(|room| {
        let inputs: [[u8; 66]; 8] = core::array::from_fn(|n| [n as u8; 66]);
        let mut outputs = [[0; 500]; 8];
        let mut sponge = Sponge::<8>::shake256(room);
        sponge.absorb(inputs.each_ref().map(|input| &input[..]));
        sponge.squeeze(outputs.each_mut().map(|output| &mut output[..]));
        for (input, output) in inputs.iter().zip(&outputs) {
            assert_eq!(Shake::h::<500>(room, &[input]), *output);
        }
    });
}

/// Every check refuses some attempt, every room refuses the same ones, and the mean number of attempts is the
/// standard's (Table 1) within a quarter, over 400 signatures, of which 12, 308 and 388 meet the hint limit.
/// ‖ct0‖∞ is too rare to be met here; the rejection-path vectors meet it.
#[test]
fn attempts_are_refused_for_every_reason_alike_in_every_room() {
    fn watch<P: crate::ParameterSet>(mean: f64) {
        let key = crate::SigningKey::<P>::from_seed(&[7; 32]).expand();
        let mut refused = Vec::new();
        for message in 0..400u16 {
            let mut mu = [0; 64];
            mu[..2].copy_from_slice(&message.to_le_bytes());
            let by_room: Vec<(Vec<Rejection>, Vec<u8>)> = all()
                .iter()
                .map(|room| {
                    let mut refused = Vec::new();
                    let sigma =
                        sign_internal(*room, &key, &mu, &[0; 32], |why| refused.push(why)).expect("signs");
                    (refused, sigma.encode().to_vec())
                })
                .collect();
            assert!(by_room.iter().all(|one| *one == by_room[0]), "{} message {message}", P::LEVEL);
            refused.extend(by_room.into_iter().next().expect("a room").0);
        }
        for why in [Rejection::Z, Rejection::R0, Rejection::Hint] {
            assert!(refused.contains(&why), "{} never refused for {why:?}", P::LEVEL);
        }
        let attempts = 1.0 + refused.len() as f64 / 400.0;
        assert!((attempts / mean - 1.0).abs() < 0.25, "{}: {attempts} attempts", P::LEVEL);
    }
    watch::<MlDsa44>(4.25);
    watch::<MlDsa65>(5.1);
    watch::<MlDsa87>(3.85);
}

/// The jobs' `Debug` was derived: it showed the seed, which is the whole key, and rnd.
#[test]
fn jobs_show_no_secret() {
    let key = crate::SigningKey::<MlDsa44>::from_seed(&[171; 32]).expand();
    let mu = crate::Mu::from_bytes([0; 64]);
    let keygen = crate::KeygenJob::<MlDsa44> { seed: &[171; 32], verifying_key: None };
    let sign = crate::SignJob { key: &key, mu: &mu, rnd: [171; 32], signature: None };
    let shown = std::format!("{keygen:?} {sign:?}");
    assert!(!shown.contains("171"), "{shown}");
}
