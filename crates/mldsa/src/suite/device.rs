//! The engine in a small memory against the engine on the host: keys, signatures, verdicts, refused attempts, byte for
//! byte, in every room and with every profile; and what is left in a workspace.

use super::faults::asked;
use super::faulty::{Fault, Plan, under};
use super::{Chance, GAMMAS, each_room, field, model};
use crate::backend::{Coeffs, PACKED, active, all};
use crate::device::{
    Balanced, EncodedSigningKey, EncodedVerifyingKey, Fast, KeygenSpace, Profile, SignSpace, Small,
    VerifySpace,
};
use crate::fips204::device::memory::Row;
use crate::fips204::flight::sign_internal;
use crate::fips204::params::{MAX_ATTEMPTS, MlDsa44, MlDsa65, MlDsa87, Q};
use crate::fips204::ring::{Ball, Packed, Poly};
use crate::fips204::sign::Rejection;
use crate::{Context, Error, Mu, ParameterSet, SigningKey};
use std::boxed::Box;
use std::vec;
use std::vec::Vec;

/// Calls `$test::<level, profile>` for all nine.
macro_rules! each_profile {
    ($test:ident($($arg:expr),*)) => {
        each_profile! { @levels $test ($($arg),*) [MlDsa44, MlDsa65, MlDsa87] }
    };
    (@levels $test:ident $args:tt [$($level:ident),*]) => {
        $(
            each_profile! { @one $test $args $level Fast }
            each_profile! { @one $test $args $level Balanced }
            each_profile! { @one $test $args $level Small }
        )*
    };
    (@one $test:ident ($($arg:expr),*) $level:ident $profile:ident) => {
        $test::<$level, $profile>($($arg),*);
    };
}

/// Whether nothing is left of the last call. Of Â, which is public, nothing is asked, and nothing
/// where wiping is left out.
trait Blank {
    fn is_blank(&self) -> bool;
}

impl<P: ParameterSet, M: Profile> Blank for KeygenSpace<P, M> {
    fn is_blank(&self) -> bool {
        let sums = self.0.sums.as_ref().iter().all(|sum| sum.0 == [0; PACKED]);
        cfg!(feature = "leaky") || sums && self.0.poly == [0; 256] && self.0.rho_prime == [0; 64]
    }
}

impl<P: ParameterSet, M: Profile> Blank for SignSpace<P, M> {
    fn is_blank(&self) -> bool {
        let rows = self.0.w.as_ref().iter().all(|w| {
            let mut row = [1; 256];
            w.load(active(), &mut row);
            row == [0; 256]
        });
        cfg!(feature = "leaky") || rows && self.0.poly == [0; 256] && self.0.rho_pp == [0; 64]
    }
}

impl<P: ParameterSet, M: Profile> Blank for VerifySpace<P, M> {
    fn is_blank(&self) -> bool {
        let sums = self.0.sums.as_ref().iter().all(|sum| sum.0 == [0; PACKED]);
        cfg!(feature = "leaky") || sums && self.0.poly == [0; 256]
    }
}

/// The keys of a seed, made with this profile.
fn keys<P: ParameterSet, M: Profile>(seed: &[u8; 32]) -> (Vec<u8>, Vec<u8>) {
    let (mut pk, mut sk) = (vec![1; P::PK_LEN], vec![1; P::SK_LEN]);
    let mut space = Box::new(KeygenSpace::<P, M>::new());
    assert_eq!(space.keygen(seed, &mut pk, &mut sk), Ok(()));
    assert!(space.is_blank());
    (pk, sk)
}

/// Keys, deterministic and hedged signatures, the refused attempts in their order, and verdicts.
fn is_the_host<P: ParameterSet, M: Profile>(count: u64, chance: &mut Chance) {
    for _ in 0..count {
        let seed: [u8; 32] = core::array::from_fn(|_| chance.next() as u8);
        let rnd = core::array::from_fn(|_| if chance.next() & 1 == 0 { 0 } else { chance.next() as u8 });
        let message: Vec<u8> = (0..chance.next() % 300).map(|_| chance.next() as u8).collect();
        let host = SigningKey::<P>::from_seed(&seed).expand();
        let (pk, sk) = keys::<P, M>(&seed);
        let mut expected = vec![0; P::SK_LEN];
        host.encode(&mut expected).expect("encodes");
        assert!(pk == host.verifying_key().encode() && sk == expected, "{} {}", P::LEVEL, M::NAME);

        let key = EncodedSigningKey::<P>::decode(&sk).expect("in range");
        let public = EncodedVerifyingKey::<P>::decode(&pk).expect("is as long");
        let of = |mut hasher: crate::MuHasher| {
            message.chunks(50).for_each(|piece| hasher.update(piece));
            hasher.finish()
        };
        let context = Context::new(&seed[..5]).expect("is short");
        let mu = of(key.message(context));
        assert!(mu == of(host.message(context)) && mu == of(public.message(context)));
        let mut space = Box::new(SignSpace::<P, M>::new());
        let mut checker = Box::new(VerifySpace::<P, M>::new());
        for room in all() {
            let (mut why, mut host_why) = (Vec::new(), Vec::new());
            let mut sigma = vec![1; P::SIG_LEN];
            let made = space.sign_in(room, &key, &mu, &rnd, &mut sigma, &mut |reason| why.push(reason));
            let expected =
                sign_internal(room, &host, &mu.0, &rnd, |reason| host_why.push(reason)).expect("signs");
            assert_eq!(made, Ok(()));
            assert!(sigma == expected.encode(), "{} {} {}", P::LEVEL, M::NAME, room.name());
            assert_eq!(why, host_why, "{} {} {}", P::LEVEL, M::NAME, room.name());
        }
        let mut sigma = vec![1; P::SIG_LEN];
        space.sign_deterministic(&key, context, &message, &mut sigma).expect("signs");
        assert!(sigma == host.sign_deterministic(context, &message).expect("signs").encode());
        assert!(space.is_blank());
        assert_eq!(checker.verify(&public, context, &message, &sigma), Ok(()));
        assert_eq!(checker.verify_mu(&public, &mu, &sigma), Ok(()));
        let other = Mu([0; 64]);
        assert_eq!(checker.verify_mu(&public, &other, &sigma), Err(Error::BadSignature));
        assert!(checker.is_blank());
    }
}

/// Some at every commit, more by `SEALSTONE_DEVICE=N`.
#[test]
fn device_is_the_host_for_random_keys_and_messages() {
    let count = asked("SEALSTONE_DEVICE", 12);
    each_profile!(is_the_host(count, &mut Chance::new(20)));
}

/// Every check refuses some attempt on the way, in the host's order: the entries of leancrypto's tables that the self-test
/// uses, and 821 refusals.
#[test]
fn device_refuses_attempts_for_every_reason() {
    fn at<P: ParameterSet, M: Profile>() {
        let (_, sk) = keys::<P, M>(&[7; 32]);
        let key = EncodedSigningKey::<P>::decode(&sk).expect("in range");
        let mut space = Box::new(SignSpace::<P, M>::new());
        let mut refused = Vec::new();
        let mut sigma = vec![0; P::SIG_LEN];
        for message in 0..400u16 {
            let mut mu = [0; 64];
            mu[..2].copy_from_slice(&message.to_le_bytes());
            let watch = &mut |why| refused.push(why);
            space.sign_in(active(), &key, &Mu(mu), &[0; 32], &mut sigma, watch).expect("signs");
            if refused.contains(&Rejection::Hint) && refused.contains(&Rejection::Z) {
                break;
            }
        }
        for why in [Rejection::Z, Rejection::R0, Rejection::Hint] {
            assert!(refused.contains(&why), "{} {} never refused for {why:?}", P::LEVEL, M::NAME);
        }
    }
    each_profile!(at());
}

/// A signature that is refused for ‖ct0‖∞ on its way: leancrypto's table of rejection paths, ML-DSA-44, entry 0.
#[test]
fn device_refuses_ct0() {
    fn at<M: Profile>() {
        let (seed, message) = crate::self_test::refused_for_ct0();
        let (_, sk) = keys::<MlDsa44, M>(&seed);
        let key = EncodedSigningKey::<MlDsa44>::decode(&sk).expect("in range");
        let mut hasher = key.message(Context::EMPTY);
        hasher.update(&message);
        let (mut refused, mut sigma) = (Vec::new(), vec![0; 2420]);
        let mut space = Box::new(SignSpace::<MlDsa44, M>::new());
        let watch = &mut |why| refused.push(why);
        space.sign_in(active(), &key, &hasher.finish(), &[0; 32], &mut sigma, watch).expect("signs");
        let count = |why| refused.iter().filter(|one| **one == why).count();
        let counts = [Rejection::Z, Rejection::R0, Rejection::Ct0, Rejection::Hint].map(count);
        assert_eq!(counts, [3, 4, 1, 1], "{}", M::NAME);
        let host = SigningKey::<MlDsa44>::from_seed(&seed);
        assert!(sigma == host.sign_deterministic(Context::EMPTY, &message).expect("signs").encode());
    }
    at::<Fast>();
    at::<Balanced>();
    at::<Small>();
}

/// Where there is no signature there are zeros: after 821 refusals, a bad length, a failing random source, a fault.
#[test]
fn device_leaves_zeros_where_it_fails() {
    struct Broken;
    impl crate::Randomness for Broken {
        fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
            bytes.fill(0xee);
            Err(Error::RngFailed)
        }
    }
    struct Fixed;
    impl crate::Randomness for Fixed {
        fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
            bytes.fill(0x11);
            Ok(())
        }
    }
    fn at<P: ParameterSet, M: Profile>() {
        let (pk, sk) = keys::<P, M>(&[8; 32]);
        let key = EncodedSigningKey::<P>::decode(&sk).expect("in range");
        let public = EncodedVerifyingKey::<P>::decode(&pk).expect("is as long");
        let mut space = Box::new(SignSpace::<P, M>::new());
        let mut checker = Box::new(VerifySpace::<P, M>::new());
        let mut sigma = vec![1; P::SIG_LEN];
        let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);

        let plan = |refusals| Plan { refusals, ..Plan::of(active()) };
        let mu = Mu([3; 64]);
        let (made, _) = under(plan(u64::MAX), || space.sign_mu_deterministic(&key, &mu, &mut sigma));
        assert_eq!(made.expect("does not panic"), Err(Error::AttemptsExhausted));
        assert!(is_zero(&sigma) && space.is_blank(), "{} {}", P::LEVEL, M::NAME);
        // The attempt of κ = 820·ℓ is the last: made, if no check refuses it, and none after it.
        let mut attempts = 0;
        let last = 2 * (u64::from(MAX_ATTEMPTS) - 1); // two norms are asked for in each: that of w − cs2 is not looked at
        let (made, _) = under(plan(last), || {
            space.sign_in(active(), &key, &mu, &[0; 32], &mut sigma, &mut |_| attempts += 1)
        });
        assert!(made.expect("does not panic").is_err() || attempts == MAX_ATTEMPTS - 1);

        sigma.fill(1);
        assert_eq!(space.sign(&key, &mut Broken, Context::EMPTY, b"", &mut sigma), Err(Error::RngFailed));
        assert!(is_zero(&sigma));
        let mut long = vec![1; P::SIG_LEN + 1];
        let wrong = |found, expected| Err(Error::WrongLength { expected, found });
        assert_eq!(
            space.sign(&key, &mut Fixed, Context::EMPTY, b"", &mut long),
            wrong(P::SIG_LEN + 1, P::SIG_LEN)
        );
        assert!(is_zero(&long));
        let (mut short_pk, mut whole_sk) = (vec![1; P::PK_LEN - 1], vec![1; P::SK_LEN]);
        let mut maker = Box::new(KeygenSpace::<P, M>::new());
        assert_eq!(maker.keygen(&[0; 32], &mut short_pk, &mut whole_sk), wrong(P::PK_LEN - 1, P::PK_LEN));
        assert!(is_zero(&short_pk) && is_zero(&whole_sk));
        let mut whole_pk = vec![1; P::PK_LEN];
        whole_sk.fill(1);
        assert_eq!(maker.generate(&mut Broken, &mut whole_pk, &mut whole_sk), Err(Error::RngFailed));
        assert!(is_zero(&whole_pk) && is_zero(&whole_sk));

        let mut checked = |public: &EncodedVerifyingKey<'_, P>, sigma: &mut [u8]| {
            space.sign_checked(&key, (public, &mut checker), &mut Fixed, Context::EMPTY, b"x", sigma)
        };
        assert_eq!(checked(&public, &mut sigma), Ok(()));
        let mut other = pk.clone();
        other[40] ^= 1;
        let other = EncodedVerifyingKey::<P>::decode(&other).expect("is as long");
        assert_eq!(checked(&other, &mut sigma), Err(Error::FaultDetected));
        assert!(is_zero(&sigma));
        // One wrong call: a signature that leaves is good.
        let expected = SigningKey::<P>::from_seed(&[8; 32]).verifying_key();
        let mut chance = Chance::new(21);
        let (_, calls) = under(plan(0), || checked(&public, &mut sigma));
        let mut found = 0;
        for call in (0..calls).step_by(1 + calls as usize / 40) {
            let fault = Some((call, Fault::Flip(chance.next() | 7)));
            let (made, _) = under(Plan { fault, ..Plan::of(active()) }, || checked(&public, &mut sigma));
            match made {
                Ok(Ok(())) => {
                    let sigma = crate::Signature::<P>::decode(&sigma).expect("is as long");
                    assert_eq!(expected.verify(Context::EMPTY, b"x", &sigma), Ok(()));
                }
                Ok(Err(error)) => {
                    assert!(is_zero(&sigma), "{error}");
                    found += 1;
                }
                Err(_) => found += 1,
            }
        }
        assert!(found > 0, "faults that harm nothing prove nothing");
    }
    each_profile!(at());
}

/// Signatures and public keys with one wrong byte anywhere are refused by both, and private keys out of range by the device
/// too; no key makes it panic.
#[test]
fn device_refuses_what_is_damaged() {
    fn at<P: ParameterSet, M: Profile>() {
        let (pk, sk) = keys::<P, M>(&[9; 32]);
        let host = SigningKey::<P>::from_seed(&[9; 32]).expand();
        let sigma = host.sign_deterministic(Context::EMPTY, b"whole").expect("signs").encode().to_vec();
        let mut checker = Box::new(VerifySpace::<P, M>::new());
        let mut verify = |pk: &[u8], sigma: &[u8]| {
            let key = EncodedVerifyingKey::<P>::decode(pk)?;
            checker.verify(&key, Context::EMPTY, b"whole", sigma)
        };
        assert_eq!(verify(&pk, &sigma), Ok(()));
        let step = 61; // and all of the hint
        let hint = P::SIG_LEN - P::OMEGA - P::K;
        for at in (0..hint).step_by(step).chain(hint..P::SIG_LEN) {
            let mut sigma = sigma.clone();
            sigma[at] ^= 1;
            let key = host.verifying_key();
            let decoded = crate::Signature::decode(&sigma).expect("is as long");
            assert_eq!(verify(&pk, &sigma), Err(Error::BadSignature), "{} {} byte {at}", P::LEVEL, M::NAME);
            assert_eq!(key.verify(Context::EMPTY, b"whole", &decoded), Err(Error::BadSignature));
        }
        for at in (0..P::PK_LEN).step_by(397) {
            let mut pk = pk.clone();
            pk[at] ^= 0x80;
            assert_eq!(verify(&pk, &sigma), Err(Error::BadSignature));
        }
        assert!(verify(&pk[1..], &sigma).is_err() && verify(&pk, &sigma[1..]).is_err());
        assert!(EncodedSigningKey::<P>::decode(&sk[1..]).is_err());
        let mut space = Box::new(SignSpace::<P, M>::new());
        let mut made = vec![0; P::SIG_LEN];
        for at in (128..P::SK_LEN).step_by(step) {
            let mut sk = sk.clone();
            sk[at] = 0xff; // no coefficient of s1 or s2
            match EncodedSigningKey::<P>::decode(&sk) {
                Err(error) => assert!(error == Error::BadKey && at < P::SK_LEN - 32 * 13 * P::K),
                Ok(key) => {
                    assert!(at + 1 >= P::SK_LEN - 32 * 13 * P::K, "{} byte {at}", P::LEVEL);
                    let _ = space.sign_deterministic(&key, Context::EMPTY, b"whole", &mut made);
                }
            }
        }
    }
    each_profile!(at());
}

/// The kernels that only the device uses, against the model.
#[test]
fn device_kernels_are_the_model() {
    let mut chance = Chance::new(22);
    let montgomery = |a: i32, b: i32| {
        // a·b·2^-32: 2^-32 = (2^-1)^32, and 2^-1 = (q + 1)/2.
        (0..32).fold(i64::from(a) * i64::from(b) % i64::from(Q), |x, _| {
            x * i64::from((Q + 1) / 2) % i64::from(Q)
        })
    };
    let mut polys = super::polys();
    polys.truncate(10);
    each_room(|room| {
        for (a, b) in polys.iter().zip(polys.iter().rev()) {
            let sums = [[0; 256], [Q - 1; 256], *a];
            for sum in sums {
                let expected: Coeffs =
                    core::array::from_fn(|i| model::mod_q(i64::from(sum[i]) + montgomery(a[i], b[i])));
                let mut found = sum;
                room.mul_add(a, b, &mut found);
                assert_eq!(found, expected, "{}", room.name());
                let (mut packed, mut packed_a) = (Packed([0; PACKED]), Packed([0; PACKED]));
                packed.pack(room, &sum);
                packed_a.pack(room, a);
                assert_eq!(room.mul_add_uniform(&packed_a.0, b, &mut packed.0, 0), 256);
                packed.unpack(room, &mut found);
                assert_eq!(found, expected, "{}", room.name());
                found = *b;
                room.mul_packed(&packed_a.0, &mut found);
                let product = core::array::from_fn(|i| model::mod_q(montgomery(a[i], b[i])));
                assert_eq!(found, product, "{}", room.name());
                packed_a.unpack(room, &mut found);
                assert_eq!(found, *a);
            }
        }
        // q and more are rejected, wherever they stand; bit 23 does not count.
        let mut bytes = [0; 21];
        for (three, x) in
            bytes.as_chunks_mut::<3>().0.iter_mut().zip([Q, 5, Q + 1, 0xff_ffff, 0x80_0006, Q - 1, 7])
        {
            three.copy_from_slice(&x.to_le_bytes()[..3]);
        }
        let mut sum = [0; PACKED];
        assert_eq!(room.mul_add_uniform(&bytes, &[1; 256], &mut sum, 3), 7);
        let mut found = [0; 256];
        room.simple_bit_unpack(24, &sum, &mut found);
        let expected = [0, 0, 0, 5, 6, Q - 1, 7].map(|x| montgomery(x, 1) as i32);
        assert_eq!((&found[..7], &found[7..]), (&expected[..], &[0; 249][..]));
        assert_eq!(room.mul_add_uniform(&bytes, &[1; 256], &mut sum, 255), 256);
        assert_eq!(room.mul_add_uniform(&bytes, &[1; 256], &mut sum, 256), 256);
    });
    each_room(|room| {
        for gamma2 in GAMMAS {
            for r in field() {
                let mut r1 = r;
                room.high_bits(gamma2, &mut r1);
                for i in 0..256 {
                    assert_eq!(r1[i], model::decompose(gamma2, r[i]).0, "{} r = {}", room.name(), r[i]);
                }
            }
            for (bound, place) in [(1, 0), (gamma2 - 78, 255), (gamma2 - 196, 100), (gamma2, 7)] {
                for high in [0, 1, 15] {
                    for low in [bound - 1, bound, 1 - bound, -bound] {
                        let mut r = [0; 256];
                        r[place] = model::mod_q(i64::from(high) * 2 * i64::from(gamma2) + i64::from(low));
                        let r0 = model::decompose(gamma2, r[place]).1;
                        assert_eq!(
                            room.low_bits_below(gamma2, &r, bound),
                            r0.abs() < bound,
                            "{}",
                            room.name()
                        );
                    }
                }
            }
            for _ in 0..50 {
                let (r, z) = (chance_poly(gamma2), chance_poly(gamma2 + 1));
                let mut packed = Packed([0; PACKED]);
                packed.pack(room, &r);
                let mut h = z;
                let ones = room.make_hint_packed(gamma2, &packed.0, &mut h);
                let expected: Coeffs = core::array::from_fn(|i| {
                    let sum = model::mod_q(i64::from(r[i]) + i64::from(z[i]));
                    model::make_hint(gamma2, model::mod_q(-i64::from(z[i])), sum)
                });
                assert_eq!((ones, h), (expected.iter().sum(), expected), "{}", room.name());
            }
        }
    });
    let _ = chance.next();
}

/// Some polynomial.
fn chance_poly(label: i32) -> Coeffs {
    Chance::new(label as u64).poly()
}

/// A challenge read place by place is the one that lanes read.
#[test]
fn balls_are_read_alike() {
    let mut c = [0; 256];
    for (i, x) in [(0, 1), (1, Q - 1), (77, 1), (255, Q - 1)] {
        c[i] = x;
    }
    let (mut one, other) = (Ball::EMPTY, Ball::new(active(), &Poly(c)));
    one.take(&c);
    assert_eq!(one.starts(), other.starts());
    let mut back = [1; 256];
    one.give(&mut back);
    assert_eq!(back, c);
    one.negate();
    assert_eq!(one.starts(), other.negated().starts());
    one.take(&[0; 256]);
    assert!(one.starts().is_empty());
}

/// The table in the documentation of `SignSpace`, and that nothing is padded.
#[test]
fn workspaces_are_as_large_as_documented() {
    fn at<P: ParameterSet, M: Profile>(matrix: usize, row: usize, rows: usize) -> [usize; 3] {
        let sign = matrix * P::K * P::L + row * P::K + 1024 + 64;
        assert!((sign..sign + 64).contains(&SignSpace::<P, M>::SIZE), "{} {}", P::LEVEL, M::NAME);
        assert_eq!(SignSpace::<P, M>::SIZE, size_of::<SignSpace<P, M>>());
        assert_eq!(VerifySpace::<P, M>::SIZE, rows * 768 + 1024);
        assert_eq!(KeygenSpace::<P, M>::SIZE, rows * 768 + 1024 + 64);
        [SignSpace::<P, M>::SIZE, VerifySpace::<P, M>::SIZE, KeygenSpace::<P, M>::SIZE]
    }
    let text = include_str!("../device.rs");
    let thousands = |n: usize| std::format!("{} {:03}", n / 1000, n % 1000);
    let row = |name: &str, stack: usize, sizes: [[usize; 3]; 3]| {
        let line =
            text.lines().find(|line| line.starts_with(&std::format!("/// | [`{name}`] |"))).expect("a row");
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        assert_eq!(cells[2..5], sizes.map(|all| thousands(all[0])), "{name}");
        assert_eq!(cells[5], thousands(stack), "{name}");
    };
    row(
        "Fast",
        SignSpace::<MlDsa44, Fast>::STACK,
        [
            at::<MlDsa44, Fast>(1024, 1024, 4),
            at::<MlDsa65, Fast>(1024, 1024, 6),
            at::<MlDsa87, Fast>(1024, 1024, 8),
        ],
    );
    row(
        "Balanced",
        SignSpace::<MlDsa44, Balanced>::STACK,
        [
            at::<MlDsa44, Balanced>(768, 768, 4),
            at::<MlDsa65, Balanced>(768, 768, 6),
            at::<MlDsa87, Balanced>(768, 768, 8),
        ],
    );
    row(
        "Small",
        SignSpace::<MlDsa44, Small>::STACK,
        [at::<MlDsa44, Small>(0, 768, 1), at::<MlDsa65, Small>(0, 768, 1), at::<MlDsa87, Small>(0, 768, 1)],
    );
}
