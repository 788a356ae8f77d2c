//! The scheduler against one attempt after the other: whatever flies together, each message gets what it gets alone.
//! Mixes that no good key ever meets are here too: a message that uses up its attempts beside others.

use super::faulty::{self, Plan, under};
use super::{Chance, each_room};
use crate::backend::{Room, all};
use crate::ct::Wipe;
use crate::error::Error;
use crate::fips204::flight::{Order, sign_orders};
use crate::fips204::params::{HALF_Q, MAX_ATTEMPTS, MlDsa44, MlDsa65, MlDsa87, Q};
use crate::fips204::ring::{NttPoly, Poly};
use crate::fips204::sample::expand_a_beside;
use crate::fips204::verify::{Message, verify_from_bytes};
use crate::keccak::{self, Guest, Queue, STREAM, Shake, Span, Sponge, States, Width};
use crate::{
    Context, CpuEngine, Engine, ExpandedSigningKey, ExpandedVerifyingKey, KeygenJob, Mu, ParameterSet,
    SignJob, Signature, SigningKey, VerifyJob,
};
use std::vec::Vec;

/// An answer, in a form that can be compared.
type Answer = Result<Vec<u8>, Error>;

/// A message to be signed.
struct Task<'a, P: ParameterSet> {
    key: &'a ExpandedSigningKey<P>,
    mu: Mu,
    rnd: [u8; 32],
}

/// `count` tasks, with keys in any order, half of them deterministic.
fn tasks<'a, P: ParameterSet>(
    chance: &mut Chance,
    keys: &'a [ExpandedSigningKey<P>],
    count: usize,
) -> Vec<Task<'a, P>> {
    let mut bytes = [0; 32];
    (0..count)
        .map(|_| {
            let key = &keys[chance.next() as usize % keys.len()];
            let mu = Mu::from_bytes(core::array::from_fn(|_| chance.next() as u8));
            bytes = if chance.next() & 1 == 1 { bytes.map(|_| chance.next() as u8) } else { [0; 32] };
            Task { key, mu, rnd: bytes }
        })
        .collect()
}

/// What A attempts side by side make of the tasks, and how many attempts they refuse.
fn fly<P: ParameterSet, const A: usize>(room: Room, tasks: &[Task<'_, P>]) -> (Vec<Answer>, u32) {
    let mut answers: Vec<Option<Result<Signature<P>, Error>>> = tasks.iter().map(|_| None).collect();
    let mut refused = 0;
    let orders = tasks.iter().zip(&mut answers).map(|(task, answer)| Order {
        sk: task.key,
        mu: task.mu.as_bytes(),
        rnd: &task.rnd,
        answer,
    });
    sign_orders::<P, A>(room, orders, |_| refused += 1);
    let bytes = |sigma: Signature<P>| sigma.encode().to_vec();
    (answers.into_iter().map(|answer| answer.expect("each order is answered").map(bytes)).collect(), refused)
}

/// One message at a time, one attempt at a time, in the plain room: Algorithm 7 as it stands.
fn in_order<P: ParameterSet>(tasks: &[Task<'_, P>]) -> (Vec<Answer>, u32) {
    let portable = *all().iter().find(|room| room.name() == "portable").expect("every build has it");
    tasks.chunks(1).fold((Vec::new(), 0), |(mut answers, refused), task| {
        let (answer, more) = fly::<P, 1>(portable, task);
        answers.extend(answer);
        (answers, refused + more)
    })
}

/// The same from every number of seats in every room.
fn agree<P: ParameterSet>(tasks: &[Task<'_, P>]) {
    let expected = in_order(tasks);
    each_room(|room| {
        let found = [
            fly::<P, 1>(room, tasks),
            fly::<P, 2>(room, tasks),
            fly::<P, 3>(room, tasks),
            fly::<P, 4>(room, tasks),
            fly::<P, 5>(room, tasks),
            fly::<P, 8>(room, tasks),
        ];
        for (i, found) in found.iter().enumerate() {
            assert!(*found == expected, "{} {} {} tasks, case {i}", P::LEVEL, room.name(), tasks.len());
        }
    });
}

#[test]
fn any_number_of_seats_takes_the_attempt_that_one_takes() {
    fn level<P: ParameterSet>(chance: &mut Chance) {
        let keys: Vec<_> = (0..3).map(|i| SigningKey::<P>::from_seed(&[i; 32]).expand()).collect();
        for count in [0, 1, 2, 3, 7, 8, 9, 17] {
            agree(&tasks(chance, &keys, count));
        }
    }
    let mut chance = Chance::new(6);
    level::<MlDsa44>(&mut chance);
    level::<MlDsa65>(&mut chance);
    level::<MlDsa87>(&mut chance);
}

/// Lengths at which a block ends with the message, with the byte after it, and with a part of it; inputs of one block beside
/// such of eight, so that states take up new inputs at different times; keys of different levels.
#[test]
fn messages_hashed_side_by_side_are_hashed_as_alone() {
    let mut chance = Chance::new(11);
    let low = SigningKey::<MlDsa44>::from_seed(&[1; 32]).expand();
    let high = SigningKey::<MlDsa87>::from_seed(&[2; 32]).expand();
    let high = high.verifying_key().expand();
    let bytes: Vec<u8> = (0..1100).map(|_| chance.next() as u8).collect();
    let contexts = [&[][..], &bytes[..4], &bytes[..255]].map(|ctx| Context::new(ctx).expect("short enough"));
    let lengths =
        [0, 1, 7, 8, 65, 66, 69, 70, 71, 72, 134, 135, 136, 137, 205, 206, 207, 343, 1024, 1086, 1100];
    for count in [0, 1, 2, 3, 4, 5, 7, 8, 9, 17, 40] {
        let chosen: Vec<_> = (0..count)
            .map(|_| {
                let [key, ctx, length] = [(); 3].map(|()| chance.next() as usize >> 3);
                (key % 2 == 0, contexts[ctx % 3], &bytes[..lengths[length % lengths.len()]])
            })
            .collect();
        each_room(|room| {
            let mut jobs: Vec<_> = chosen
                .iter()
                .map(
                    |&(at_44, ctx, message)| {
                        if at_44 { low.mu_job(ctx, message) } else { high.mu_job(ctx, message) }
                    },
                )
                .collect();
            CpuEngine::in_room(room).hash_messages(&mut jobs);
            for (job, &(at_44, ctx, message)) in jobs.iter().zip(&chosen) {
                let mut alone = if at_44 { low.message(ctx) } else { high.message(ctx) };
                alone.update(message);
                assert!(job.mu == Some(alone.finish()), "{} {} bytes of {count}", room.name(), message.len());
            }
        });
    }
}

/// t0 of (q - 1)/2 = -1/2 everywhere: 39 of them, with any signs, add up to about q/2, so ‖ct0‖∞ >= γ2 each time.
fn doomed() -> ExpandedSigningKey<MlDsa44> {
    let mut key = SigningKey::<MlDsa44>::from_seed(&[9; 32]).expand();
    for t0_hat in key.t0_hat.iter_mut() {
        Poly([HALF_Q; 256]).ntt(all()[0], t0_hat);
    }
    key
}

#[test]
fn a_message_without_a_signature_makes_all_its_attempts_and_no_more() {
    let keys = [doomed()];
    let tasks = tasks(&mut Chance::new(7), &keys, 1);
    assert_eq!(in_order(&tasks), (Vec::from([Err(Error::AttemptsExhausted)]), MAX_ATTEMPTS));
    agree(&tasks);
}

#[test]
fn a_message_without_a_signature_leaves_the_others_theirs() {
    let mut chance = Chance::new(8);
    let (good, bad) = ([SigningKey::from_seed(&[1; 32]).expand()], [doomed()]);
    let mut mixed = tasks(&mut chance, &good, 12);
    for at in [0, 5, 13] {
        mixed.insert(at, tasks(&mut chance, &bad, 1).remove(0));
    }
    let lost = |task: &Task<'_, MlDsa44>| core::ptr::eq(task.key, &bad[0]);
    let (expected, _) = in_order(&mixed);
    for (answer, task) in expected.iter().zip(&mixed) {
        assert_eq!(answer.is_err(), lost(task));
    }
    agree(&mixed);
}

/// Signatures spoilt in every part, beside good ones, in groups that are full and that are not.
#[test]
fn spoilt_signatures_do_not_change_the_verdict_of_their_neighbours() {
    fn level<P: ParameterSet>() {
        let mut chance = Chance::new(10);
        let keys: Vec<_> = (0..3).map(|i| SigningKey::<P>::from_seed(&[i; 32]).expand()).collect();
        let public: Vec<_> = keys.iter().map(|key| key.verifying_key().expand()).collect();
        let mu = Mu::from_bytes([5; 64]);
        let good: Vec<_> = keys.iter().map(|key| key.sign_mu_deterministic(&mu).expect("signs")).collect();
        let hint = P::SIG_LEN - P::OMEGA - P::K;
        let spoil = |key: usize, how: u64| {
            let mut sigma = good[key].clone();
            let bytes = sigma.sigma.as_mut();
            match how {
                1 => bytes[0] ^= 1,
                2 => bytes[P::C_TILDE_LEN..hint].fill(0), // z = γ1 everywhere
                3 => bytes[hint..].fill(0xff),
                4 => bytes[P::SIG_LEN - 1] = P::OMEGA as u8 + 1,
                5 => bytes[hint - 1] ^= 0x80,
                6 => bytes.fill(0),
                7 => bytes.fill(0xff),
                _ => (),
            }
            sigma
        };
        for count in [0, 1, 3, 7, 8, 9, 17, 64] {
            let drawn: Vec<(usize, usize, u64)> = (0..count)
                .map(|_| (chance.next() as usize % 3, chance.next() as usize % 3, chance.next() % 10))
                .collect();
            let signatures: Vec<_> = drawn.iter().map(|&(signer, _, how)| spoil(signer, how)).collect();
            each_room(|room| {
                let mut jobs: Vec<_> = drawn
                    .iter()
                    .zip(&signatures)
                    .map(|((_, key, _), signature)| VerifyJob {
                        key: &public[*key],
                        mu: &mu,
                        signature,
                        verdict: None,
                    })
                    .collect();
                CpuEngine::in_room(room).verify(&mut jobs);
                for (job, (signer, key, how)) in jobs.iter().zip(&drawn) {
                    let right = signer == key && !(1..8).contains(how);
                    let expected = if right { Ok(()) } else { Err(Error::BadSignature) };
                    assert_eq!(job.verdict, Some(expected), "{} {} {how}", P::LEVEL, room.name());
                    assert_eq!(job.key.verify_in(room, &mu, job.signature), expected);
                }
            });
        }
    }
    level::<MlDsa44>();
    level::<MlDsa65>();
    level::<MlDsa87>();
}

/// The engine's doors: no jobs at all, and answers of an earlier batch, which are written over.
#[test]
fn batches_of_nothing_and_of_answered_jobs() {
    let key = SigningKey::<MlDsa44>::from_seed(&[3; 32]).expand();
    let (mu, other) = (Mu::from_bytes([6; 64]), Mu::from_bytes([7; 64]));
    each_room(|room| {
        let engine = CpuEngine::in_room(room);
        Engine::<MlDsa44>::keygen(&engine, &mut []);
        Engine::<MlDsa44>::sign(&engine, &mut []);
        Engine::<MlDsa44>::verify(&engine, &mut []);
        let stale = key.sign_in(room, &other, &[0; 32]);
        let mut signing = [SignJob { key: &key, mu: &mu, rnd: [0; 32], signature: Some(stale) }];
        engine.sign(&mut signing);
        let found = signing[0].signature.as_ref().expect("answered").as_ref().expect("signs");
        assert!(*found == key.sign_in(room, &mu, &[0; 32]).expect("signs"));
        let public = key.verifying_key().expand();
        let mut verifying = [VerifyJob { key: &public, mu: &other, signature: found, verdict: Some(Ok(())) }];
        engine.verify(&mut verifying);
        assert_eq!(verifying[0].verdict, Some(Err(Error::BadSignature)));
        let mut making = [KeygenJob {
            seed: &[3; 32],
            verifying_key: Some(SigningKey::from_seed(&[4; 32]).verifying_key()),
        }];
        engine.keygen(&mut making);
        assert!(making[0].verifying_key.as_ref() == Some(key.verifying_key()));
    });
}

/// The public key is hashed beside the matrix where states go side by side, and alone elsewhere: the same hash, whether it
/// is there from the beginning or comes in pieces. And the matrix is what a naive sampler gives.
#[test]
fn the_public_key_is_hashed_beside_the_matrix_as_it_is_alone() {
    fn level<P: ParameterSet>() {
        for seed in 0..4 {
            let public = SigningKey::<P>::from_seed(&[seed; 32]).verifying_key();
            each_room(|room| {
                let rho = public.encode().first_chunk().expect("ρ comes first");
                let mut a_hat: P::K_<P::L_<NttPoly>> = Wipe::ZERO;
                // Inputs that end at every place of a block, and the whole.
                for len in (0..=2 * 136 + 1).chain([public.encode().len()]) {
                    let input = &public.encode()[..len];
                    let expected: [u8; 64] = Shake::h(room, &[input]);
                    let mut hash = Guest::shake256_of(input);
                    expand_a_beside::<P, _>(room, rho, a_hat.as_mut(), &mut hash, |_, _| ());
                    assert_eq!(hash.finish(room), expected, "{} {} {len} bytes", P::LEVEL, room.name());
                    let (mut hash, mut pieces) = (Guest::shake256(), input.chunks(len / P::K + 1));
                    expand_a_beside::<P, _>(room, rho, a_hat.as_mut(), &mut hash, |_, hash| {
                        hash.feed(pieces.next().unwrap_or(&[]));
                    });
                    assert_eq!(hash.finish(room), expected, "{} {} {len} bytes fed", P::LEVEL, room.name());
                }
                for (r, row) in a_hat.as_ref().iter().enumerate() {
                    for (s, entry) in row.as_ref().iter().enumerate() {
                        assert_eq!(entry.0, naive_entry(room, rho, r, s), "{} {}", P::LEVEL, room.name());
                    }
                }
            });
        }
    }
    /// Algorithm 30, byte by byte.
    fn naive_entry(room: Room, rho: &[u8; 32], r: usize, s: usize) -> [i32; 256] {
        let mut ctx = Sponge::<1>::shake128(room);
        ctx.absorb([rho]);
        ctx.absorb([&[s as u8, r as u8]]);
        core::array::from_fn(|_| {
            loop {
                let mut bytes = [0; 3];
                ctx.squeeze([&mut bytes]);
                let z = i32::from_le_bytes([bytes[0], bytes[1], bytes[2] & 127, 0]);
                if z < Q {
                    break z;
                }
            }
        })
    }
    level::<MlDsa44>();
    level::<MlDsa87>();
}

/// Where fewer rows of the matrix are held than it has, each is seen once, in order, and whole: also where some entries take
/// many times as long as others, so that states must wait for a place.
#[test]
fn rows_that_pass_are_those_of_the_matrix() {
    fn level<P: ParameterSet>() {
        for seed in 0..6 {
            let public = SigningKey::<P>::from_seed(&[seed; 32]).verifying_key();
            let rho = public.encode().first_chunk().expect("ρ comes first");
            each_room(|inner| {
                for reluctant in [false, true] {
                    let (done, _) = under(Plan { reluctant, ..Plan::of(inner) }, || {
                        let room = faulty::in_use().expect("there is a plan");
                        let mut a_hat: P::K_<P::L_<NttPoly>> = Wipe::ZERO;
                        let mut hash = Guest::shake256();
                        expand_a_beside::<P, _>(room, rho, a_hat.as_mut(), &mut hash, |_, _| ());
                        for held in 1..P::K {
                            let mut places: P::K_<P::L_<NttPoly>> = Wipe::ZERO;
                            let mut expected = a_hat.as_ref().iter();
                            let mut hash = Guest::shake256_of(public.encode());
                            let rows = &mut places.as_mut()[..held];
                            expand_a_beside::<P, _>(room, rho, rows, &mut hash, |row, _| {
                                let expected = expected.next().expect("k rows").as_ref();
                                assert!(row.iter().zip(expected).all(|(entry, of)| entry.0 == of.0));
                            });
                            assert!(expected.next().is_none());
                            assert_eq!(hash.finish(room), Shake::h(room, &[public.encode()]));
                        }
                    });
                    assert!(done.is_ok(), "{} {}, {reluctant}", P::LEVEL, inner.name());
                }
            });
        }
    }
    level::<MlDsa44>();
    level::<MlDsa65>();
    level::<MlDsa87>();
}

/// With the bytes of the key, H(c̃), tr and μ are hashed beside the matrix, as far as they fit: the verdict is that of the
/// expanded key, for messages that end at every place that matters, and for μ alone.
#[test]
fn verification_from_bytes_says_what_the_expanded_key_says() {
    fn level<P: ParameterSet>() {
        let key = SigningKey::<P>::from_seed(&[7; 32]).expand();
        let public = key.verifying_key();
        // tr || M' has 66 bytes more than the message and the context, a block 136, a guest 2592.
        for (len, context) in [
            (0, 0),
            (1, 3),
            (68, 1),
            (69, 0),
            (70, 0),
            (71, 0),
            (205, 0),
            (206, 0),
            (2526, 0),
            (2527, 0),
            (2271, 255),
            (2272, 255),
            (9000, 2),
        ] {
            let message: Vec<u8> = (0..len).map(|i: u32| i as u8).collect();
            let context = &[9; 255][..context];
            let context = Context::new(context).expect("short");
            let good = key.sign_deterministic(context, &message).expect("signs");
            let mut bad = good.clone();
            bad.sigma.as_mut()[0] ^= 1;
            let (mut long, mut malformed) = (good.clone(), good.clone());
            long.sigma.as_mut()[P::C_TILDE_LEN..P::C_TILDE_LEN + 3].fill(0); // z = γ1
            malformed.sigma.as_mut()[P::SIG_LEN - 1] = 255; // more ones than ω
            let mut mu = key.message(context);
            mu.update(&message);
            let mu = mu.finish();
            each_room(|room| {
                let verdict = |sigma: &Signature<P>, message| {
                    verify_from_bytes::<P>(room, &public.pk, &sigma.sigma, message)
                };
                let place = std::format!("{} {} {len} bytes", P::LEVEL, room.name());
                assert_eq!(verdict(&good, Message::Pure(context, &message)), Ok(()), "{place}");
                assert_eq!(verdict(&good, Message::Mu(&mu.0)), Ok(()), "{place}");
                let expanded = ExpandedVerifyingKey::expand_in(room, public);
                assert_eq!(expanded.verify_in(room, &mu, &good), Ok(()), "{place}");
                let other = [&message[..], &[0]].concat();
                for refused in [
                    verdict(&bad, Message::Pure(context, &message)),
                    verdict(&bad, Message::Mu(&mu.0)),
                    verdict(&good, Message::Pure(context, &other)),
                    verdict(&good, Message::Mu(&[1; 64])),
                    verdict(&long, Message::Pure(context, &message)),
                    verdict(&malformed, Message::Mu(&mu.0)),
                    expanded.verify_in(room, &mu, &bad),
                ] {
                    assert_eq!(refused, Err(Error::BadSignature), "{place}");
                }
            });
        }
    }
    level::<MlDsa44>();
    level::<MlDsa65>();
    level::<MlDsa87>();
}

/// Tasks of every length side by side, with and without a second hash of the first's output, and streams that go on beside
/// them from call to call: all are what they are alone, and there when they are needed.
#[test]
fn hashes_of_different_lengths_side_by_side_are_those_alone() {
    each_room(|room| {
        for seed in 0..40 {
            match room.width() {
                8 => calls::<2, 8>(room, seed),
                4 => calls::<1, 4>(room, seed),
                _ => calls::<1, 1>(room, seed),
            }
        }
    });

    fn calls<const A: usize, const N: usize>(room: Room, seed: u64)
    where
        States<N>: Width<N>,
    {
        let input: Vec<u8> = (0..600u32).map(|i| (i * 7 + i / 9) as u8).collect();
        let lengths = [0, 1, 7, 8, 66, 127, 128, 135, 136, 137, 143, 144, 271, 272, 273, 599];
        let outputs = [1, 32, 48, 64, 135, 136, 137, 272, 576, 640];
        let prefix: &[u8; 64] = input.first_chunk().expect("600 bytes");
        let alone = |inputs: &[&[u8]], len: usize| {
            let mut ctx = Shake::shake256(room);
            inputs.iter().for_each(|input| ctx.absorb([input]));
            let mut out = std::vec![0; len];
            ctx.squeeze([&mut out]);
            out
        };
        let mut chance = Chance::new(seed);
        let mut pick = |from: &[usize]| from[chance.next() as usize % from.len()];
        let (mut queue, mut needed, mut allowed) = (Queue::<N>::EMPTY, 0, 0);
        let mut taken = Vec::new();
        for call in 0..12 {
            // In a room of one state either tasks or streams.
            let tasks = pick(&[0, 1, 1]) == 1;
            needed += if tasks && N == A { 0 } else { pick(&[0, 1, 5, 10, 14]) };
            // One that was allowed once goes on.
            allowed = allowed.max(needed + if N == A { 0 } else { pick(&[0, 1, 5, 10, 14]) });
            let shapes: [_; A] =
                core::array::from_fn(|_| (pick(&lengths), pick(&outputs), pick(&[0, 0, 0, 1, 136, 300])));
            let mut made = shapes.map(|(_, out, again)| (std::vec![0; out], std::vec![0; again]));
            let mut places = made.iter_mut().zip(shapes);
            let tasks = tasks.then(|| {
                core::array::from_fn::<_, A, _>(|_| {
                    let ((out, again), (len, ..)) = places.next().expect("A of them");
                    keccak::Task { input: &input[600 - len..], out, again }
                })
            });
            let with_tasks = tasks.is_some();
            queue.run(room, tasks, prefix, Span { needed, allowed }, |i, v| {
                assert!(i < allowed, "{} call {call}: stream {i}", room.name());
                taken.push((i, v.to_vec()));
            });
            for ((len, out, again), made) in shapes.iter().zip(&made).filter(|_| with_tasks) {
                let input = &input[600 - len..];
                assert_eq!(made.0, alone(&[input], *out), "{} {len} to {out}", room.name());
                assert_eq!(
                    made.1,
                    alone(&[&made.0], *again),
                    "{} {len} to {out}, again {again}",
                    room.name()
                );
            }
            for i in 0..needed {
                let times = taken.iter().filter(|(taken, _)| *taken == i).count();
                assert_eq!(times, 1, "{} call {call}: stream {i}", room.name());
            }
        }
        for (i, v) in taken {
            assert_eq!(v, alone(&[prefix, &(i as u16).to_le_bytes()], STREAM), "{} stream {i}", room.name());
        }
    }
}
