//! Every value of a whole domain, in every room: `./dev exhaustive` runs these, built for release. Each prints what it
//! tried. Expected values come from the model, or from counting on by the model's constant step.
#![allow(clippy::print_stdout, reason = "the counts are what is asked for")]

use super::{Chance, GAMMAS, each_room, field, model};
use crate::backend::{Coeffs, all};
use crate::fips204::params::{D, GAMMA2_32, GAMMA2_88, HALF_Q, MlDsa44, MlDsa65, MlDsa87, Params, Q};
use crate::fips204::ring::NttPoly;
use crate::kernels::round::MARK;
use std::collections::BTreeSet;
use std::println;
use std::string::String;
use std::time::Instant;
use std::vec;
use std::vec::Vec;

const Q64: i64 = Q as i64;
/// 2^-32 mod q: 2^32 times it is 1.
const R_INV: i64 = 8_265_825;

/// Says what was tried, in how many rooms, and how long it took.
fn tried(what: &str, values: u64, since: Instant) {
    let rooms: Vec<&str> = all().iter().map(|room| room.name()).collect();
    println!(
        "exhaustive: {what}: {values} values in each of {} ({:.1} s)",
        rooms.join(", "),
        since.elapsed().as_secs_f32()
    );
}

/// 256 expected values in [0, q) that all move on by the same step.
struct Expected {
    now: Coeffs,
    step: i32,
}

impl Expected {
    /// factor·(first + i) mod q for i in 0..256.
    fn new(first: i64, factor: i64) -> Self {
        let now = core::array::from_fn(|i| model::mod_q((first + i as i64).rem_euclid(Q64) * factor));
        Expected { now, step: model::mod_q(256 * factor) }
    }

    fn next(&mut self) {
        for x in &mut self.now {
            let sum = *x + self.step;
            *x = if sum >= Q { sum - Q } else { sum };
        }
    }
}

/// Montgomery reduction of all 2^32 low words, below nothing and below the greatest high word that `dot` makes: the door
/// gives x = a·2^12 + b + 6·c·d, and a·2^12 + b runs through the low words.
#[test]
#[ignore = "long: ./dev exhaustive"]
fn montgomery_reduction_of_every_low_word() {
    assert_eq!((R_INV << 32).rem_euclid(Q64), 1);
    let since = Instant::now();
    let constant = |x| NttPoly([x; 256]);
    each_room(|room| {
        for high in [0, Q - 1] {
            let mut a: [NttPoly; 8] = core::array::from_fn(|_| constant(high));
            let mut b: [NttPoly; 8] = core::array::from_fn(|_| constant(high));
            (b[0], b[1]) = (constant(1 << 12), constant(1));
            let offset = 6 * i64::from(high) * i64::from(high) % Q64;
            let mut expected = Expected::new(offset, R_INV);
            let mut out = [0; 256];
            a[1] = NttPoly([0; 256]);
            for block in 0..1i32 << 24 {
                // 256 numbers share all but their last 8 bits.
                a[0].0 = [block >> 4; 256];
                a[1].0 = core::array::from_fn(|i| (block & 15) << 8 | i as i32);
                room.dot(&a, &b, None, &mut out);
                assert!(out == expected.now, "{} block {block}, high {high}", room.name());
                expected.next();
            }
        }
    });
    tried("Montgomery reduction, all 2^32 low words under 2 high words", 2 << 32, since);
}

/// The factor runs through all |a| <= 256q, which is all that the transforms may hand over; each zeta is one of the
/// edges 1, q - 1, one in Montgomery form, and the zeta of the first layer; told and not told that lanes share it.
#[test]
#[ignore = "long: ./dev exhaustive"]
fn product_with_a_zeta_of_every_factor() {
    let since = Instant::now();
    let first_zeta = (0..128).fold(1 << 32, |x, _| (x % Q64) * 1753) % Q64;
    let zetas = [1, Q64 - 1, (1 << 32) % Q64, first_zeta];
    let bound = 256 * Q64;
    each_room(|room| {
        for (zeta, told) in zetas.into_iter().flat_map(|zeta| [(zeta, true), (zeta, false)]) {
            let factor = zeta * R_INV % Q64;
            let mut expected = Expected::new(-bound, factor);
            let mut a = -bound;
            while a <= bound {
                // The last block goes no further than the bound.
                let (first, last) = (a as i32, (bound - a).min(255) as i32);
                let mut w: Coeffs = core::array::from_fn(|i| first + (i as i32).min(last));
                room.mont_mul(&mut w, zeta as i32, told);
                if last == 255 {
                    let canonical = w.map(|x| x + ((x >> 31) & Q));
                    assert!(canonical == expected.now, "{} zeta {zeta}, from {a} on", room.name());
                    let beyond =
                        w.iter().fold(0, |beyond, x| beyond | i32::from(*x <= -Q) | i32::from(*x >= Q));
                    assert_eq!(beyond, 0, "{} zeta {zeta}, from {a} on", room.name());
                } else {
                    for (x, expected) in w.iter().zip(&expected.now).take(last as usize + 1) {
                        assert_eq!(model::mod_q(i64::from(*x)), *expected, "{} zeta {zeta}", room.name());
                    }
                }
                expected.next();
                a += 256;
            }
        }
    });
    tried("product with a zeta, all |a| <= 256q for 4 zetas in 2 ways", 8 * (512 * Q64 as u64 + 1), since);
}

#[test]
#[ignore = "long: ./dev exhaustive"]
fn power2round_decompose_and_use_hint_of_every_field_element() {
    let since = Instant::now();
    let [mut r1, mut r0] = [[0; 256]; 2];
    for r in field() {
        let split = r.map(model::power2round);
        let (high, low) = (split.map(|x| x.0), split.map(|x| x.1));
        for room in all() {
            room.power2round(&r, &mut r1, &mut r0);
            assert!((r1, r0) == (high, low), "{} Power2Round from {} on", room.name(), r[0]);
        }
        for gamma2 in GAMMAS {
            let split = r.map(|r| model::decompose(gamma2, r));
            let (high, low) = (split.map(|x| x.0), split.map(|x| model::mod_q(x.1.into())));
            let hinted = r.map(|r| model::use_hint(gamma2, 1, r));
            for room in all() {
                room.decompose(gamma2, &r, &mut r1, &mut r0);
                let (mut kept, mut moved) = (r, r.map(|r| r | MARK));
                room.use_hint(gamma2, &mut kept);
                room.use_hint(gamma2, &mut moved);
                assert!(
                    (r1, r0) == (high, low),
                    "{} Decompose, γ2 = {gamma2}, from {} on",
                    room.name(),
                    r[0]
                );
                assert!(
                    (kept, moved) == (high, hinted),
                    "{} UseHint, γ2 = {gamma2}, from {} on",
                    room.name(),
                    r[0]
                );
            }
        }
    }
    tried("Power2Round, Decompose (2 γ2), UseHint (2 γ2, h = 0 and 1)", 7 * Q as u64, since);
}

/// For all r, z: 0, ±1, ±2, ±γ2 and ±2γ2 with their neighbours, (q ± 1)/2, the greatest |ct0| + 1 of each level, and 8 at
/// random.
#[test]
#[ignore = "long: ./dev exhaustive"]
fn make_hint_of_every_field_element() {
    let since = Instant::now();
    let mut chance = Chance::new(5);
    let mut z: BTreeSet<i32> = [0, 1, 2, HALF_Q, 39 << (D - 1), 49 << (D - 1), 60 << (D - 1)].into();
    z.extend([GAMMA2_88, GAMMA2_32].iter().flat_map(|g| [g - 1, *g, g + 1, 2 * g - 1, 2 * g, 2 * g + 1]));
    z.extend((0..8).map(|_| (chance.next() % Q as u64) as i32));
    let z: BTreeSet<i32> = z.into_iter().flat_map(|z| [z, model::mod_q((-z).into())]).collect();
    let mut h = [0; 256];
    for gamma2 in GAMMAS {
        let high: Vec<u8> = (0..Q).map(|r| model::decompose(gamma2, r).0 as u8).collect();
        for &z in &z {
            for r in field() {
                let high_of = |r: i32| high[r as usize];
                let sum = |r: i32| if r + z >= Q { r + z - Q } else { r + z };
                let expected = r.map(|r| i32::from(high_of(r) != high_of(sum(r))));
                for room in all() {
                    let ones = room.make_hint(gamma2, &[z; 256], &r, &mut h);
                    let name = room.name();
                    assert!(h == expected, "{name} MakeHint, γ2 = {gamma2}, z = {z}, from {} on", r[0]);
                    assert_eq!(ones, expected.iter().sum::<i32>(), "{name}");
                }
            }
        }
    }
    tried(&std::format!("MakeHint (2 γ2), {} z", z.len()), 2 * z.len() as u64 * Q as u64, since);
}

/// Each field element alone among zeros, under every bound that a parameter set asks for.
#[test]
#[ignore = "long: ./dev exhaustive"]
fn norm_of_every_field_element() {
    fn bounds<P: Params>() -> [i32; 5] {
        [1, P::ETA + 1, P::GAMMA2, P::GAMMA2 - P::BETA, P::GAMMA1 - P::BETA]
    }
    let since = Instant::now();
    let bounds: BTreeSet<i32> =
        [bounds::<MlDsa44>(), bounds::<MlDsa65>(), bounds::<MlDsa87>()].into_iter().flatten().collect();
    each_room(|room| {
        let mut w = [0; 256];
        for x in 0..Q {
            let place = x as usize & 255;
            w[place] = x;
            let norm = x.min(Q - x);
            for &bound in &bounds {
                assert_eq!(room.norm_below(&w, bound), norm < bound, "{} {x} below {bound}", room.name());
            }
            w[place] = 0;
        }
    });
    tried(&std::format!("norm under {} bounds", bounds.len()), bounds.len() as u64 * Q as u64, since);
}

/// Every value of every width in each of 16 places of a group: the bytes are the model's, and come back.
#[test]
#[ignore = "long: ./dev exhaustive"]
fn packing_of_every_value() {
    let since = Instant::now();
    let mut values = 0;
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
        let mask = (1 << bits) - 1;
        for first in (0..1i32 << bits).step_by(256) {
            for shift in 0..16 {
                let stored: Coeffs = core::array::from_fn(|i| (first + i as i32 + shift) & mask);
                let bytes = model::pack(bits, stored.into_iter());
                let w = stored.map(|x| b.map_or(x, |b: i32| model::mod_q((b - x).into())));
                for room in all() {
                    let (mut packed, mut unpacked) = (vec![0; bytes.len()], w);
                    match b {
                        None => room.simple_bit_pack(bits, &w, &mut packed),
                        Some(b) => room.bit_pack(bits, b, &w, &mut packed),
                    }
                    match b {
                        None if bits == 10 => room.simple_bit_unpack(bits, &bytes, &mut unpacked),
                        None => (), // w1 is never read
                        Some(b) => room.bit_unpack(bits, b, &bytes, &mut unpacked),
                    }
                    assert!(
                        packed == bytes && unpacked == w,
                        "{} {bits} bits, {first} + {shift}",
                        room.name()
                    );
                }
                values += 256;
            }
        }
    }
    tried("packing and unpacking, 8 widths, every value in 16 places", values, since);
}

/// All 2^24 groups of three bytes, and all 2^16 pairs of bytes for both η.
#[test]
#[ignore = "long: ./dev exhaustive"]
fn rejection_of_every_group_of_bytes() {
    let since = Instant::now();
    each_room(|room| {
        let mut out = [0; 256];
        for first in (0..1u32 << 24).step_by(256) {
            let bytes: Vec<u8> =
                (first..first + 256).flat_map(|x| [x as u8, (x >> 8) as u8, (x >> 16) as u8]).collect();
            let expected: Vec<i32> =
                (first..first + 256).map(|x| (x & 0x7f_ffff) as i32).filter(|x| *x < Q).collect();
            let filled = room.reject_uniform(&bytes, &mut out, 0);
            assert!(out[..filled] == expected, "{} from {first:06x} on", room.name());
        }
        for first in (0..1u32 << 16).step_by(64) {
            let bytes: Vec<u8> = (first..first + 64).flat_map(|x| [x as u8, (x >> 8) as u8]).collect();
            let halves = || bytes.iter().flat_map(|b| [i32::from(b % 16), i32::from(b / 16)]);
            for eta in [2, 4] {
                let expected: Vec<i32> = match eta {
                    2 => halves().filter(|b| *b < 15).map(|b| model::mod_q((2 - b % 5).into())).collect(),
                    _ => halves().filter(|b| *b < 9).map(|b| model::mod_q((4 - b).into())).collect(),
                };
                let filled = room.reject_bounded(eta, &bytes, &mut out, 0);
                assert!(out[..filled] == expected, "{} η = {eta} from {first:04x} on", room.name());
            }
        }
    });
    let what = String::from("rejection sampling, all groups of three bytes, all pairs of bytes for 2 η");
    tried(&what, (1 << 24) + (2 << 16), since);
}
