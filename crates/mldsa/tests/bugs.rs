//! Real bugs of ML-DSA implementations, each under the name of what went wrong and where. Most verify signatures
//! that are forged to be right for an implementation with exactly that bug.

use sealstone_mldsa::any::{ExpandedSigningKey, SigningKey, VerifyingKey};
use sealstone_mldsa::{Context, Level};

use crate::Dice;
use crate::forge::{Forge, MESSAGE};
use crate::model::{self, Poly};
use crate::vectors::oracle;
use crate::vectors::shape::LEVELS;
use crate::vectors::subject::{Fixed, Input, Sealstone, Secret, Subject, Trouble};

fn forges() -> impl Iterator<Item = Forge> {
    LEVELS.into_iter().map(Forge::new)
}

/// z with one coefficient set.
fn z_with(forge: &Forge, poly: usize, index: usize, value: i32) -> Vec<Poly> {
    let mut z = forge.z(2);
    z[poly][index] = value;
    z
}

/// libcrux (RUSTSEC-2026-0077) checked z against 2γ1 - β, pq-crystals' AVX2 code (issue 113) not at all.
#[test]
fn z_bound_missing_or_doubled() {
    for forge in forges() {
        let (gamma1, beta) = (forge.shape.gamma1, forge.shape.beta);
        let none = forge.no_places();
        let bytes = forge.hint_bytes(&none);
        for (poly, index) in [(0, 0), (0, 255), (forge.shape.l - 1, 0), (forge.shape.l - 1, 255), (1, 128)] {
            for value in [gamma1 - beta, gamma1 - beta + 1, gamma1 - 1, gamma1, beta - gamma1, 1 - gamma1] {
                let z = z_with(&forge, poly, index, value);
                forge.refused(&format!("z[{poly}][{index}] = {value}"), &forge.sign(&z, &none, &bytes));
            }
        }
    }
}

/// The bound is exact: γ1 - β - 1 is good, on both sides, at every place of z.
#[test]
fn z_bound_one_too_tight() {
    for forge in forges() {
        let largest = forge.shape.gamma1 - forge.shape.beta - 1;
        let none = forge.no_places();
        let bytes = forge.hint_bytes(&none);
        for (poly, index) in [(0, 0), (0, 255), (forge.shape.l - 1, 0), (forge.shape.l - 1, 255), (1, 128)] {
            for value in [largest, -largest] {
                let z = z_with(&forge, poly, index, value);
                forge.accepted(&format!("z[{poly}][{index}] = {value}"), &forge.sign(&z, &none, &bytes));
            }
        }
        let all = vec![[largest; 256]; forge.shape.l];
        forge.accepted("every coefficient of z at its bound", &forge.sign(&all, &none, &bytes));
        let all = vec![[-largest; 256]; forge.shape.l];
        forge.accepted("every coefficient of z at its lower bound", &forge.sign(&all, &none, &bytes));
    }
}

/// RustCrypto ml-dsa (CVE-2026-24850): `<=` where `<` must stand let an index be repeated.
#[test]
fn hint_index_repeated() {
    for forge in forges() {
        let mut honest = forge.no_places();
        honest[0] = vec![3, 9, 200];
        honest[forge.shape.k - 1] = vec![0, 255];
        forge.accepted_places("rising indices", &honest);
        for poly in [0, forge.shape.k - 1] {
            let mut written = honest.clone();
            let last = *written[poly].last().unwrap();
            written[poly].push(last);
            forge.refused_bytes("last index repeated", &honest, &forge.hint_bytes(&written));
            let mut written = honest.clone();
            let first = written[poly][0];
            written[poly].insert(0, first);
            forge.refused_bytes("first index repeated", &honest, &forge.hint_bytes(&written));
        }
    }
}

/// Indices that fall: the same hint in another order would be a second signature.
#[test]
fn hint_order_unchecked() {
    for forge in forges() {
        let mut honest = forge.no_places();
        honest[0] = vec![3, 9, 200];
        honest[forge.shape.k - 1] = vec![0, 255];
        for (poly, swap) in [(0, (0, 1)), (0, (1, 2)), (forge.shape.k - 1, (0, 1))] {
            let mut written = honest.clone();
            written[poly].swap(swap.0, swap.1);
            forge.refused_bytes("indices exchanged", &honest, &forge.hint_bytes(&written));
        }
    }
}

/// libcrux (RUSTSEC-2026-0076): the last count was not checked against ω, and the decoder read beyond the places.
#[test]
fn hint_weight_over_omega() {
    for forge in forges() {
        let (k, omega) = (forge.shape.k, forge.shape.omega);
        let count = |n: usize| u8::try_from(n).unwrap();
        // The place after the last one is the first count, ω - 1: rising after the places of the last polynomial.
        let mut honest = forge.no_places();
        honest[0] = (0..count(omega - 1)).collect();
        honest[k - 1] = vec![0];
        forge.accepted_places("exactly ω ones", &honest);
        let mut bytes = forge.hint_bytes(&honest);
        bytes[omega + k - 1] = count(omega + 1);
        let mut seen = honest.clone();
        seen[k - 1].push(count(omega - 1));
        forge.refused_bytes("last count ω + 1", &seen, &bytes);
        forge.refused_bytes("last count ω + 1, taken for ω", &honest, &bytes);
        for last in [omega + 2, omega + k, omega + k + 1, 255] {
            bytes[omega + k - 1] = count(last);
            forge.refused_bytes("last count far over ω", &seen, &bytes);
            forge.refused_bytes("last count far over ω, taken for ω", &honest, &bytes);
        }
        let mut bytes = forge.hint_bytes(&honest);
        bytes[omega..].fill(count(omega + 1));
        forge.refused_bytes("every count ω + 1", &honest, &bytes);
    }
}

/// Bytes after the last place must be zero, or there are many signatures for one.
#[test]
fn hint_padding_unchecked() {
    for forge in forges() {
        let omega = forge.shape.omega;
        let mut honest = forge.no_places();
        honest[1] = vec![7, 8];
        for (at, value) in [(2, 9), (2, 1), (omega - 1, 1), (omega - 1, 255)] {
            let mut bytes = forge.hint_bytes(&honest);
            bytes[at] = value;
            forge.refused_bytes("padding byte not zero", &honest, &bytes);
        }
        let none = forge.no_places();
        let mut bytes = forge.hint_bytes(&none);
        bytes[0] = 1;
        forge.refused_bytes("no ones, first padding byte not zero", &none, &bytes);
    }
}

/// Counts that fall: killed by no public vector but one or two.
#[test]
fn hint_counts_decrease() {
    for forge in forges() {
        let (k, omega) = (forge.shape.k, forge.shape.omega);
        // A decoder without the check sees no ones where the count falls, and goes on after the higher count.
        let mut seen = forge.no_places();
        seen[0] = vec![3, 9, 200];
        seen[2] = vec![1, 2];
        forge.accepted_places("the same with counts that do not fall", &seen);
        let mut bytes = forge.hint_bytes(&seen);
        for second in [0, 1, 2] {
            bytes[omega + 1] = second;
            forge.refused_bytes("second count below the first", &seen, &bytes);
        }
        let mut seen = forge.no_places();
        seen[k - 2] = vec![3, 9, 200];
        let mut bytes = forge.hint_bytes(&seen);
        for last in [0, 2] {
            bytes[omega + k - 1] = last;
            forge.refused_bytes("last count below the one before", &seen, &bytes);
        }
        // A decoder that takes the lower count for its next start sees the places behind it twice, and no padding.
        let mut seen = forge.no_places();
        seen[0] = vec![3, 9, 200];
        seen[2] = vec![9, 200];
        let mut bytes = forge.hint_bytes(&seen);
        bytes[..omega].fill(0);
        bytes[..3].copy_from_slice(&[3, 9, 200]);
        bytes[omega..].fill(3);
        bytes[omega + 1] = 1;
        forge.refused_bytes("second count below the first, read again", &seen, &bytes);
    }
}

/// NIST ACVP-Server issue 436 and OpenTitan PR 30947: a polynomial without ones, and no ones at all, are good.
#[test]
fn empty_hint_polynomial_refused() {
    for forge in forges() {
        forge.accepted_places("no ones at all", &forge.no_places());
        for empty in 0..forge.shape.k {
            let mut places = vec![vec![17_u8, 90]; forge.shape.k];
            places[empty].clear();
            forge.accepted_places("one polynomial empty", &places);
        }
        let mut places = forge.no_places();
        places[0] = (0..u8::try_from(forge.shape.omega).unwrap()).collect();
        forge.accepted_places("ω ones, all in the first polynomial", &places);
        let mut places = forge.no_places();
        places[forge.shape.k - 1] = (0..u8::try_from(forge.shape.omega).unwrap()).map(|i| i + 100).collect();
        forge.accepted_places("ω ones, all in the last polynomial", &places);
        forge.accepted_places("0 and 255 in every polynomial", &vec![vec![0, 255]; forge.shape.k]);
        forge.accepted_places("the same index in every polynomial", &vec![vec![77]; forge.shape.k]);
    }
}

/// RustCrypto ml-dsa (GHSA-h37v-hp6w-2pp8), libcrux AVX2 (RUSTSEC-2026-0125), pq-crystals AVX2 and tink-go: a
/// hint where r0 = 0 must lower r1.
#[test]
fn use_hint_raises_at_r0_zero() {
    for forge in forges() {
        let (z, w, poly, index) = (0..)
            .find_map(|salt| {
                let z = forge.z(salt);
                let w = model::product(&forge.a_hat, &z);
                let zero = |poly: &Poly| poly.iter().position(|&r| model::decompose(&forge.shape, r).1 == 0);
                let found = w.iter().enumerate().find_map(|(i, poly)| zero(poly).map(|at| (i, at)))?;
                Some((z, w, found.0, found.1))
            })
            .unwrap();
        let mut places = forge.no_places();
        places[poly].push(u8::try_from(index).unwrap());
        let bytes = forge.hint_bytes(&places);
        forge.accepted("lowered", &forge.sign(&z, &places, &bytes));
        let m = (8_380_417 - 1) / (2 * forge.shape.gamma2);
        let mut w1: Vec<Poly> =
            w.iter().map(|w| w.map(|r| model::use_hint(&forge.shape, false, r))).collect();
        w1[poly][index] = (w1[poly][index] + 1) % m;
        let raised = forge.assemble(&model::commitment_of(&forge.shape, &forge.mu, &w1), &z, &bytes);
        forge.refused("raised", &raised);
    }
}

/// Without the case r - r0 = q - 1 of Decompose, r1 comes out as m where it must be 0.
#[test]
fn decompose_lacks_the_case_of_q_minus_one() {
    for forge in forges() {
        let z = forge.z(3);
        let w = model::product(&forge.a_hat, &z);
        let at_the_top = |r: &i32| *r > 8_380_416 - forge.shape.gamma2;
        let tops: Vec<_> = w.iter().map(|poly| poly.iter().position(at_the_top)).collect();
        assert!(tops.iter().any(Option::is_some));
        let none = forge.no_places();
        forge.accepted("without hints", &forge.sign(&z, &none, &forge.hint_bytes(&none)));
        let place = |at: &Option<usize>| at.iter().map(|&at| u8::try_from(at).unwrap()).collect();
        let hinted = tops.iter().map(place).collect();
        forge.accepted("with hints there", &forge.sign(&z, &hinted, &forge.hint_bytes(&hinted)));
    }
}

/// infernode PR 237: Decompose fixed r0 at -1 for r = q - 1. No verdict changes, but signing does; the digest
/// over every r sees it.
#[test]
fn decompose_pins_r0_at_q_minus_one() {
    crate::registry::field_digest();
}

/// The commitment hash has 32, 48 or 64 bytes and all of them count.
#[test]
fn commitment_hash_compared_in_part() {
    for forge in forges() {
        let none = forge.no_places();
        let good = forge.sign(&forge.z(4), &none, &forge.hint_bytes(&none));
        forge.accepted("whole", &good);
        for at in 0..forge.shape.c_tilde {
            let mut bad = good.clone();
            bad[at] ^= 1;
            forge.refused(&format!("byte {at} altered"), &bad);
        }
    }
}

/// Drafts took the challenge from the first 32 bytes of the hash. With t1 ≠ 0 the rest must change it.
#[test]
fn challenge_from_the_first_32_bytes() {
    // Signer and verifier could agree on the draft; two other implementations do not.
    let peers: [&dyn Subject; 2] = [&crate::peers::Fips204, &crate::peers::RustCrypto];
    let input = Input::Pure { context: &[], message: b"challenge" };
    for level in LEVELS {
        let ours = Sealstone.sign(level, Secret::Seed(&[0; 32]), input, &[0; 32]).unwrap();
        for peer in peers {
            assert_eq!(
                ours,
                peer.sign(level, Secret::Seed(&[0; 32]), input, &[0; 32]).unwrap(),
                "{}",
                peer.name()
            );
        }
    }
}

/// Wycheproof IncorrectSignatureLength and IncorrectPublicKeyLength: bytes after the end of a signature or of a key,
/// with everything signed over the longer one.
#[test]
fn trailing_bytes_accepted() {
    for forge in forges() {
        let none = forge.no_places();
        let good = forge.sign(&forge.z(5), &none, &forge.hint_bytes(&none));
        forge.accepted("as it is", &good);
        forge.refused("with a byte more", &[&good[..], &[0]].concat());
        forge.refused("with a byte less", &good[..good.len() - 1]);
        let long = [&forge.public[..], &[0]].concat();
        let mu = oracle::mu(&long, &oracle::formatted(&[], None, MESSAGE));
        let w = model::product(&forge.a_hat, &forge.z(5));
        let hints = vec![vec![false; 256]; forge.shape.k];
        let signature = forge.assemble(
            &model::commitment(&forge.shape, &mu, &w, &hints),
            &forge.z(5),
            &forge.hint_bytes(&none),
        );
        let input = Input::Pure { context: &[], message: MESSAGE };
        assert!(matches!(Sealstone.verify(forge.level, &long, input, &signature), Err(Trouble::Refused(_))));
    }
}

/// A context of 256 bytes whose length wraps to 0 (AWS-LC PR 3538 wrote beyond a buffer).
#[test]
fn context_over_255_wraps() {
    for level in LEVELS {
        let (public, expanded) = Sealstone.keygen(level, &[1; 32]).unwrap();
        for len in [256_usize, 257, 511, 512] {
            let context = vec![0x77; len];
            assert!(Context::new(&context).is_err());
            for written in [vec![0, u8::try_from(len % 256).unwrap()], vec![0, 255], vec![0, 1, 0]] {
                let formatted = [&written[..], &context, MESSAGE].concat();
                let input = Input::Internal { formatted: &formatted };
                let signature = Sealstone.sign(level, Secret::Expanded(&expanded), input, &[0; 32]).unwrap();
                let input = Input::Pure { context: &context, message: MESSAGE };
                let verdict = Sealstone.verify(level, &public, input, &signature);
                assert!(matches!(verdict, Err(Trouble::Refused(_))), "context of {len}: {verdict:?}");
            }
        }
    }
}

/// AWS-LC PR 2874, mldsa-native 1216, wolfSSL PR 10254, liboqs 2517, bc-rust 10: an expanded key with a
/// coefficient of s1 or s2 outside [-η, η].
#[test]
fn expanded_key_with_secrets_out_of_range() {
    for forge in forges() {
        let shape = forge.shape;
        let (_, good) = Sealstone.keygen(forge.level, &[2; 32]).unwrap();
        let bits = if shape.eta == 2 { 3 } else { 4 };
        for poly in [0, shape.l - 1, shape.l, shape.l + shape.k - 1] {
            for index in [0, 131, 255] {
                let bit = bits * index;
                for value in 2 * shape.eta + 1..1 << bits {
                    let mut bad = good.clone();
                    for j in 0..bits {
                        let at = 128 + poly * 32 * bits + (bit + j) / 8;
                        let mask = 1 << ((bit + j) % 8);
                        bad[at] = if value >> j & 1 == 1 { bad[at] | mask } else { bad[at] & !mask };
                    }
                    assert!(ExpandedSigningKey::decode(forge.level, &bad).is_err(), "{poly} {index} {value}");
                }
            }
        }
        assert!(ExpandedSigningKey::decode(forge.level, &good).is_ok());
    }
}

/// The same with everything else computed anew from the wrong coefficient, so that nothing but its range is at fault.
#[test]
fn expanded_key_out_of_range_that_agrees_with_itself() {
    for level in LEVELS {
        let shape = crate::vectors::shape::shape(level);
        let mut dice = Dice::new(&format!("secrets {level}"));
        let bits = if shape.eta == 2 { 3 } else { 4 };
        let mut small = |count: usize| -> Vec<Poly> {
            let width = usize::try_from(2 * shape.eta + 1).unwrap();
            (0..count)
                .map(|_| std::array::from_fn(|_| i32::try_from(dice.below(width)).unwrap() - shape.eta))
                .collect()
        };
        let (s1, s2) = (small(shape.l), small(shape.k));
        let decoded = |s1: &[Poly], s2: &[Poly]| {
            let (public, private) = model::keys_of(&shape, &[1; 32], &[2; 32], s1, s2);
            (Sealstone.public_of(level, &private), public)
        };
        let (found, public) = decoded(&s1, &s2);
        assert_eq!(found, Ok(public), "{level}: all in range");
        for wrong in [-shape.eta - 1, shape.eta + 1 - (1 << bits)] {
            let mut bad = s1.clone();
            bad[shape.l - 1][255] = wrong;
            assert!(matches!(decoded(&bad, &s2).0, Err(Trouble::Refused(_))), "{level}: s1 with {wrong}");
            let mut bad = s2.clone();
            bad[0][0] = wrong;
            assert!(matches!(decoded(&s1, &bad).0, Err(Trouble::Refused(_))), "{level}: s2 with {wrong}");
        }
    }
}

/// AWS-LC PR 2425: t0 and tr of an expanded key were not compared with what the rest of it gives.
#[test]
fn expanded_key_that_contradicts_itself() {
    for level in LEVELS {
        let (_, good) = Sealstone.keygen(level, &[3; 32]).unwrap();
        let len = good.len();
        // ρ, tr, each polynomial of t0 (first and last byte): each contradicts the rest.
        let k = (level.verifying_key_len() - 32) / 320;
        let rows = (len - 416 * k..len).step_by(416).flat_map(|row| [row, row + 415]);
        for at in [0, 31, 64, 127].into_iter().chain(rows) {
            for bit in [0, 7] {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                assert!(ExpandedSigningKey::decode(level, &bad).is_err(), "{level}: byte {at}, bit {bit}");
            }
        }
        // K stands for itself alone: no check can see it.
        let mut other = good.clone();
        other[32] ^= 1;
        assert!(ExpandedSigningKey::decode(level, &other).is_ok());
        assert!(ExpandedSigningKey::decode(level, &good).is_ok());
    }
}

/// Botan 3302, 3304, 3368: after a refused signature the state was dirty, and good ones failed.
#[test]
fn good_signature_refused_after_a_bad_one() {
    for level in LEVELS {
        let key = SigningKey::from_seed(level, &[4; 32]);
        let expanded = key.expand();
        let verifying = key.verifying_key().expand();
        let good = expanded.sign_deterministic(Context::EMPTY, MESSAGE).unwrap();
        for at in (0..good.encode().len()).step_by(97) {
            let mut bad = good.encode().to_vec();
            bad[at] ^= 0x10;
            let bad = sealstone_mldsa::any::Signature::decode(level, &bad).unwrap();
            assert!(verifying.verify(Context::EMPTY, MESSAGE, &bad).is_err(), "{level}: byte {at}");
            assert!(verifying.verify(Context::EMPTY, MESSAGE, &good).is_ok(), "{level}: after byte {at}");
        }
        assert!(expanded.sign(&mut Failing, Context::EMPTY, MESSAGE).is_err());
        assert!(expanded.sign(&mut Fixed([0; 32]), Context::EMPTY, MESSAGE).unwrap() == good);
    }
}

/// A random source that has failed.
struct Failing;

impl sealstone_mldsa::Randomness for Failing {
    fn fill(&mut self, _: &mut [u8]) -> Result<(), sealstone_mldsa::Error> {
        Err(sealstone_mldsa::Error::RngFailed)
    }
}

/// Caliptra PR 1849 and 2042: all-zero signatures, and other things of one byte only.
#[test]
fn all_zero_and_all_one_inputs() {
    for level in LEVELS {
        for fill in [0, 0xff] {
            let shape = crate::vectors::shape::shape(level);
            let signature = vec![fill; shape.signature];
            for public in [vec![0; shape.public_key], vec![0xff; shape.public_key]] {
                for message in [vec![], vec![0; 32], vec![0xff; 32]] {
                    let input = Input::Pure { context: &[], message: &message };
                    let verdict = Sealstone.verify(level, &public, input, &signature);
                    assert!(matches!(verdict, Err(Trouble::Refused(_))), "{level}, {fill}: {verdict:?}");
                }
            }
            let verdict = Sealstone.public_of(level, &vec![fill; shape.private_key]);
            assert!(matches!(verdict, Err(Trouble::Refused(_))), "{level}, {fill}: {verdict:?}");
            let (public, expanded) = Sealstone.keygen(level, &[fill; 32]).unwrap();
            let input = Input::Pure { context: &[fill; 255], message: &[fill; 64] };
            let signature = Sealstone.sign(level, Secret::Expanded(&expanded), input, &[fill; 32]).unwrap();
            assert_eq!(Sealstone.verify(level, &public, input, &signature), Ok(()));
        }
    }
}

/// noble's wrappers took the arguments of sign and verify in either order; here a signature, key or message of
/// another level or key is never good.
#[test]
fn signature_of_another_level_or_key() {
    let keys = LEVELS.map(|level| SigningKey::from_seed(level, &[5; 32]));
    let signatures = keys.each_ref().map(|key| key.sign_deterministic(Context::EMPTY, MESSAGE).unwrap());
    for (i, key) in keys.iter().enumerate() {
        for (j, signature) in signatures.iter().enumerate() {
            let verdict = key.verifying_key().verify(Context::EMPTY, MESSAGE, signature);
            assert_eq!(verdict.is_ok(), i == j, "{} and {}", key.level(), LEVELS[j]);
        }
        let other = SigningKey::from_seed(key.level(), &[6; 32]).verifying_key();
        assert!(other.verify(Context::EMPTY, MESSAGE, &signatures[i]).is_err());
        let own = key.verifying_key();
        assert!(own.verify(Context::new(b"other").unwrap(), MESSAGE, &signatures[i]).is_err());
        assert!(own.verify(Context::EMPTY, b"other", &signatures[i]).is_err());
    }
}

/// ML-DSA-87 verifiers that left out a reduction accepted forgeries (Wycheproof PR 255), and libcrux's AVX2 inverse
/// NTT took unreduced input (RUSTSEC-2026-0126): extreme coefficients must come out as the naive model says.
#[test]
fn reduction_left_out_in_the_transforms() {
    let mut dice = Dice::new("extreme coefficients");
    for forge in forges() {
        let largest = forge.shape.gamma1 - forge.shape.beta - 1;
        let none = forge.no_places();
        let bytes = forge.hint_bytes(&none);
        for _ in 0..12 {
            let signs: Vec<[u8; 256]> = (0..forge.shape.l).map(|_| dice.array()).collect();
            let z: Vec<Poly> = signs
                .iter()
                .map(|signs| signs.map(|x| if x & 1 == 1 { largest } else { -largest }))
                .collect();
            forge.accepted("z of extremes", &forge.sign(&z, &none, &bytes));
        }
    }
    // t1 = 2^10 - 1 everywhere: t1·2^13 = q - 1 = -1. No verdict to compare here but the one of two other hands.
    for level in LEVELS {
        let shape = crate::vectors::shape::shape(level);
        let mut public = dice.bytes(32);
        public.resize(shape.public_key, 0xff);
        let key = VerifyingKey::decode(level, &public).unwrap();
        assert_eq!(key.encode(), public);
        for _ in 0..4 {
            let mut signature = dice.bytes(shape.c_tilde);
            let z: Vec<Poly> = (0..shape.l).map(|_| [shape.gamma1 - shape.beta - 1; 256]).collect();
            signature.extend(model::z_encode(&shape, &z));
            signature.resize(shape.signature, 0);
            let input = Input::Pure { context: &[], message: MESSAGE };
            let ours = Sealstone.verify(level, &public, input, &signature).is_ok();
            assert_eq!(ours, crate::peers::Fips204.verify(level, &public, input, &signature).is_ok());
        }
    }
}

/// The levels are told apart in key generation: k and ℓ are hashed with the seed (drafts did not).
#[test]
fn seed_without_domain_separation() {
    let rho = |level: Level| Sealstone.keygen(level, &[9; 32]).unwrap().0[..32].to_vec();
    assert_ne!(rho(Level::MlDsa44), rho(Level::MlDsa65));
    assert_ne!(rho(Level::MlDsa65), rho(Level::MlDsa87));
    assert_ne!(rho(Level::MlDsa44), rho(Level::MlDsa87));
    let expected = oracle::shake256::<128>(&[&[9; 32], &[6, 5]]);
    assert_eq!(rho(Level::MlDsa65), expected[..32]);
}
