//! Faults: key generation and signing with one wrong call, at every call in turn, with and without check-after-sign.
//! `./dev faults [N]` runs N of them with, and at least N/4 without. And the bound of the signing loop, by refusals.
#![allow(clippy::print_stdout, reason = "the counts are what is asked for")]

use super::faulty::{Fault, Plan, under};
use super::{Chance, each_room};
use crate::backend::{Room, active, all};
use crate::fips204::flight::sign_internal;
use crate::fips204::params::{MAX_ATTEMPTS, MlDsa44, MlDsa65, MlDsa87};
use crate::fips204::sign::Rejection;
use crate::self_test::self_test_in;
use crate::{
    Context, CpuEngine, Engine, Error, Mu, ParameterSet, Randomness, SignJob, Signature, SigningKey,
    VerifyingKey,
};
use std::println;
use std::string::String;
use std::time::Instant;
use std::vec::Vec;

/// What became of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    /// The signature of a machine without fault, byte for byte.
    same: u64,
    /// Another signature, which verifies under the true public key.
    other: u64,
    /// A signature that verifies under the public key that this key shows, which is not the seed's.
    other_key: u64,
    /// No signature: an error.
    error: u64,
    /// No signature: a panic.
    panic: u64,
    /// A signature that does not verify under the public key that this key shows.
    faulty: u64,
}

impl Count {
    fn all(&self) -> u64 {
        self.same + self.other + self.other_key + self.error + self.panic + self.faulty
    }
}

/// One seed, one message, one rnd.
struct Case<P: ParameterSet> {
    seed: [u8; 32],
    message: [u8; 16],
    rnd: [u8; 32],
    public: VerifyingKey<P>,
    signature: Signature<P>,
}

struct Fixed([u8; 32]);

impl Randomness for Fixed {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.copy_from_slice(&self.0);
        Ok(())
    }
}

/// From the seed to the signature, by the doors that users have.
fn sign<P: ParameterSet>(
    seed: &[u8; 32],
    message: &[u8],
    rnd: &[u8; 32],
    checked: bool,
) -> Result<(VerifyingKey<P>, Signature<P>), Error> {
    let mut key = SigningKey::<P>::from_seed(seed).expand();
    key.set_checked(checked);
    let signature = key.sign(&mut Fixed(*rnd), Context::EMPTY, message)?;
    Ok((key.verifying_key().clone(), signature))
}

impl<P: ParameterSet> Case<P> {
    fn new(chance: &mut Chance) -> Self {
        let mut bytes = || core::array::from_fn(|_| chance.next() as u8);
        let (seed, rnd) = (bytes(), bytes());
        let message = core::array::from_fn(|_| chance.next() as u8);
        let (public, signature) = sign::<P>(&seed, &message, &rnd, true).expect("signs");
        Case { seed, message, rnd, public, signature }
    }

    fn sign(&self, checked: bool) -> Result<(VerifyingKey<P>, Signature<P>), Error> {
        sign(&self.seed, &self.message, &self.rnd, checked)
    }

    /// The number of calls from the seed to the signature.
    fn calls(&self, inner: Room, checked: bool) -> u64 {
        let (done, calls) = under(Plan::of(inner), || self.sign(checked));
        assert!(matches!(done, Ok(Ok((_, signature))) if signature == self.signature));
        calls
    }

    fn try_fault(&self, plan: Plan, checked: bool, count: &mut Count) {
        *match under(plan, || self.sign(checked)).0 {
            Err(_) => &mut count.panic,
            Ok(Err(_)) => &mut count.error,
            Ok(Ok((_, signature))) if signature == self.signature => &mut count.same,
            Ok(Ok((shown, signature))) => {
                let good =
                    |key: &VerifyingKey<P>| key.verify(Context::EMPTY, &self.message, &signature).is_ok();
                match (good(&self.public), good(&shown)) {
                    (true, _) => &mut count.other,
                    (_, true) => &mut count.other_key,
                    _ => &mut count.faulty,
                }
            }
        } += 1;
    }
}

/// So many faults, at each call in turn: left out once, then a bit flipped a few times; then the next case.
fn campaign<P: ParameterSet>(inner: Room, wanted: u64, checked: bool, chance: &mut Chance) -> (Count, u64) {
    let (mut count, mut cases) = (Count::default(), 0);
    while count.all() < wanted {
        let case = Case::<P>::new(chance);
        cases += 1;
        for call in 0..case.calls(inner, checked) {
            case.try_fault(Plan { fault: Some((call, Fault::Skip)), ..Plan::of(inner) }, checked, &mut count);
            for _ in 0..4 {
                let fault = Some((call, Fault::Flip(chance.next())));
                case.try_fault(Plan { fault, ..Plan::of(inner) }, checked, &mut count);
            }
        }
    }
    (count, cases)
}

/// The number in an environment variable, for the long runs.
pub(super) fn asked(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
#[ignore = "long: ./dev faults"]
fn faults_at_every_call() {
    let wanted = asked("SEALSTONE_FAULTS", 100_000);
    std::panic::set_hook(std::boxed::Box::new(|_| ())); // a fault may panic, and does not need to say so
    let mut faulty = [0, 0];
    for checked in [false, true] {
        for room in all() {
            // Without the check a quarter as many show that the faults do harm.
            let share = wanted.div_ceil(3 * all().len() as u64) / if checked { 1 } else { 4 };
            let mut chance = Chance::new(6);
            let since = Instant::now();
            let runs = [
                ("ML-DSA-44", campaign::<MlDsa44>(room, share, checked, &mut chance)),
                ("ML-DSA-65", campaign::<MlDsa65>(room, share, checked, &mut chance)),
                ("ML-DSA-87", campaign::<MlDsa87>(room, share, checked, &mut chance)),
            ];
            for (level, (count, cases)) in runs {
                println!(
                    "faults: {level} {} {}: {} in {cases} cases: {count:?}",
                    room.name(),
                    if checked { "checked" } else { "unchecked" },
                    count.all()
                );
                faulty[usize::from(checked)] += count.faulty;
            }
            println!("faults: {:.1} s", since.elapsed().as_secs_f32());
        }
    }
    let _ = std::panic::take_hook();
    println!("faults: faulty signatures that left: {} unchecked, {} checked", faulty[0], faulty[1]);
    assert!(faulty[0] > 0, "faults that harm nothing prove nothing");
    assert_eq!(faulty[1], 0);
}

/// The same, a few, at every commit: the hash of the commitment, which is the fault that gives a key away.
#[test]
fn faults_leave_as_errors_where_the_key_is_checked() {
    let inner = active();
    let mut chance = Chance::new(7);
    let case = Case::<MlDsa44>::new(&mut chance);
    let mut counts = [Count::default(); 2];
    for (checked, count) in [false, true].into_iter().zip(&mut counts) {
        let last = case.calls(inner, false);
        for call in (0..last).step_by(3) {
            let fault = Some((call, Fault::Flip(chance.next() | 7)));
            case.try_fault(Plan { fault, ..Plan::of(inner) }, checked, count);
        }
    }
    assert!(counts[0].faulty > 0 && counts[1].faulty == 0, "{counts:?}");
    assert!(counts[1].error > counts[0].error, "{counts:?}");
}

/// The same of a batch, each of whose signatures is checked with its own key and μ.
#[test]
fn faults_in_a_batch_leave_as_errors_where_the_keys_are_checked() {
    let inner = active();
    let mut chance = Chance::new(8);
    let mut keys = [1, 2].map(|n| SigningKey::<MlDsa44>::from_seed(&[n; 32]).expand());
    let mus = [Mu([3; 64]), Mu([4; 64]), Mu([5; 64])];
    let mut counts = [Count::default(); 2];
    for (checked, count) in [false, true].into_iter().zip(&mut counts) {
        keys.iter_mut().for_each(|key| key.set_checked(checked));
        let sign = || {
            let jobs = keys.iter().cycle().zip(&mus);
            let jobs = jobs.map(|(key, mu)| SignJob { key, mu, rnd: [0; 32], signature: None });
            let mut jobs: Vec<_> = jobs.collect();
            CpuEngine::new().sign(&mut jobs);
            jobs.into_iter().map(|job| job.signature).collect::<Vec<_>>()
        };
        let (right, calls) = under(Plan::of(inner), sign);
        let right = right.expect("does not panic");
        assert!(right.iter().all(|made| matches!(made, Some(Ok(_)))));
        for call in (0..calls).step_by(5) {
            let fault = Some((call, Fault::Flip(chance.next() | 7)));
            let Ok(made) = under(Plan { fault, ..Plan::of(inner) }, sign).0 else {
                count.panic += 1;
                continue;
            };
            for (n, (made, right)) in made.iter().zip(&right).enumerate() {
                *match made {
                    _ if made == right => &mut count.same,
                    Some(Ok(signature)) => match keys[n % 2].verifying_key().verify_mu(&mus[n], signature) {
                        Ok(()) => &mut count.other,
                        Err(_) => &mut count.faulty,
                    },
                    _ => &mut count.error,
                } += 1;
            }
        }
    }
    assert!(counts[0].faulty > 0 && counts[1].faulty == 0, "{counts:?}");
    assert!(counts[1].error > counts[0].error, "{counts:?}");
}

/// Refused 820 times, the attempt of κ = 820·ℓ is the last: it gives its signature, the same in every room, or there is
/// none; always refused, there is none.
#[test]
fn attempts_end_at_821_and_not_before() {
    fn check<P: ParameterSet>() {
        let key = SigningKey::<P>::from_seed(&[8; 32]).expand();
        let refused = |inner: Room, refusals: u64, mu: &Mu| {
            let mut why: Vec<Rejection> = Vec::new();
            let plan = Plan { refusals, ..Plan::of(inner) };
            let work = || sign_internal(active(), &key, &mu.0, &[0; 32], |reason| why.push(reason));
            (under(plan, work).0.expect("does not panic"), why)
        };
        let (mut signed, mut message) = (0, 0);
        while signed < 1 {
            let mu = Mu([message; 64]);
            let last = all().into_iter().map(|room| refused(room, u64::from(MAX_ATTEMPTS) - 1, &mu));
            let last: Vec<_> = last.collect();
            assert!(last.iter().all(|one| *one == last[0]), "{} message {message}: rooms differ", P::LEVEL);
            match &last[0] {
                (Ok(signature), why) => {
                    assert_eq!(why.len(), MAX_ATTEMPTS as usize - 1);
                    assert_eq!(key.verifying_key().verify_mu(&mu, signature), Ok(()));
                    signed += 1;
                }
                (error, why) => {
                    assert_eq!(*error, Err(Error::AttemptsExhausted));
                    assert_eq!(why.len(), MAX_ATTEMPTS as usize);
                }
            }
            message += 1; // and an overflow after 256, which is as good as never
        }
        each_room(|room| {
            let (answer, why) = refused(room, u64::MAX, &Mu([0; 64]));
            assert_eq!((answer, why.len()), (Err(Error::AttemptsExhausted), MAX_ATTEMPTS as usize));
        });
    }
    assert_eq!(MAX_ATTEMPTS, 821);
    check::<MlDsa44>();
    check::<MlDsa65>();
    check::<MlDsa87>();
}

/// A key whose check is on gives the signatures of one whose check is off.
#[test]
fn checked_keys_sign_alike() {
    let case = Case::<MlDsa65>::new(&mut Chance::new(9));
    assert!(case.sign(false).expect("signs").1 == case.signature);
    assert_eq!(
        SigningKey::<MlDsa65>::generate_checked(&mut Fixed([1; 32])).map(|key| *key.seed()),
        Ok([1; 32])
    );
}

/// What the pairwise consistency test and check-after-sign cost: medians of 201 runs each, in the room in use.
#[test]
#[ignore = "long: ./dev faults"]
fn cost_of_the_checks() {
    fn median(mut work: impl FnMut()) -> f64 {
        let mut times: Vec<f64> = (0..201)
            .map(|_| {
                let since = Instant::now();
                work();
                since.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[100]
    }
    fn at<P: ParameterSet>() {
        let seed = [10; 32];
        let mut key = SigningKey::<P>::from_seed(&seed).expand();
        let mut costs = [0.0; 2];
        for checked in [false, true] {
            key.set_checked(checked);
            let mut n = 0u64;
            costs[usize::from(checked)] = median(|| {
                // The same messages with and without, so that the numbers of attempts are the same.
                n += 1;
                assert!(key.sign_deterministic(Context::EMPTY, &n.to_le_bytes()).is_ok());
            });
        }
        let generate =
            median(|| drop(SigningKey::<P>::generate(&mut Fixed(seed)).map(|key| key.verifying_key())));
        let pair = median(|| {
            drop(SigningKey::<P>::generate_checked(&mut Fixed(seed)).map(|key| key.verifying_key()))
        });
        let tests: String = std::format!("generate {generate:.1} us, generate_checked {pair:.1} us");
        println!(
            "cost: {} {}: sign {:.1} us, checked {:.1} us; {tests}",
            P::LEVEL,
            active().name(),
            costs[0],
            costs[1]
        );
    }
    at::<MlDsa44>();
    at::<MlDsa65>();
    at::<MlDsa87>();
}

/// The known answers hold in every room, and in a room that computes wrongly once they do not, but for faults in what
/// is thrown away: attempts ahead of the accepted one.
#[test]
fn self_test_finds_faults() {
    assert_eq!(crate::self_test(), Ok(()));
    each_room(|inner| {
        let run = |fault| {
            let plan = Plan { fault, ..Plan::of(inner) };
            under(plan, || self_test_in(active()))
        };
        let (done, calls) = run(None);
        assert_eq!(done.ok(), Some(Ok(())));
        let mut chance = Chance::new(11);
        let (mut tried, mut found) = (0, 0);
        for call in (0..calls).step_by(29) {
            tried += 1;
            found += u32::from(!matches!(run(Some((call, Fault::Flip(chance.next() | 7)))).0, Ok(Ok(()))));
        }
        assert!(tried > 40 && 10 * found > 4 * tried, "{}: {found} of {tried} found", inner.name());
    });
}
