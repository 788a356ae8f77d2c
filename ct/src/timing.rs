//! Does time depend on a secret? Statistics after dudect (Reparaz, Balasch, Verbauwhede 2017): two classes of secrets, one
//! always the same and one random, in random order through the same memory; Welch's t of the two times. |t| above 4.5 says
//! that the classes differ. Below it says only that so many samples did not show it.
//!
//! Another program on the machine can carry t above the limit once. So an operation that is above it is measured again, and
//! fails if it is above it every time.

use crate::Dice;
use sealstone_mldsa::hazmat::{self, sign_mu_watched};
use sealstone_mldsa::{
    CpuEngine, Engine, ExpandedSigningKey, Level, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, SignJob,
    SigningKey,
};
use std::hint::black_box;
use std::rc::Rc;

type Coeffs = [i32; 256];

const Q: u64 = 8_380_417;
/// Secrets of each class, each with memory of its own, so that neither class is warmer than the other.
const POOL: usize = 64;
/// Secrets that are dealt out at a time.
const BATCH: usize = 256;
/// The two classes.
const FIXED: usize = 0;
const CLASSES: [usize; 2] = [FIXED, 1];

/// Where |t| says that the classes differ.
const LIMIT: f64 = 4.5;
/// How often an operation is measured before it fails.
const TRIES: usize = 3;
/// Signatures of a batch.
const TOGETHER: usize = 8;

/// Prints t for each operation. Fails if one shows its secret, or if the control, whose time does depend on the secret, is
/// not seen.
pub fn run(samples: usize) -> Result<(), String> {
    let mut shown = Vec::new();
    polynomials(samples, &mut shown);
    keys::<MlDsa44>(samples, &mut shown);
    keys::<MlDsa65>(samples, &mut shown);
    keys::<MlDsa87>(samples, &mut shown);
    if !control(samples) {
        return Err(String::from("the control is not seen"));
    }
    if shown.is_empty() { Ok(()) } else { Err(format!("time shows a secret: {}", shown.join("; "))) }
}

/// A comparison that stops at the first difference: is it seen?
fn control(samples: usize) -> bool {
    let pool = polys();
    let same = pool[FIXED][0];
    let mut shown = Vec::new();
    report("control: early exit", samples, &pool, &mut shown, |secret| {
        let time = Stopwatch::start();
        black_box(secret.iter().zip(&same).position(|(a, b)| black_box(a) != b));
        Some(time.stop())
    });
    !shown.is_empty()
}

fn polynomials(samples: usize, shown: &mut Vec<String>) {
    let pool = polys();
    let ntt = |w: &mut Coeffs| {
        let time = Stopwatch::start();
        hazmat::ntt(black_box(w));
        Some(time.stop())
    };
    // Twice the same class: what t is where there is nothing to see.
    report("placebo: NTT", samples, &[pool[1].clone(), pool[1].clone()], shown, ntt);
    report("NTT", samples, &pool, shown, ntt);
    let [mut r1, mut r0] = [[0; 256]; 2];
    report("Decompose, 2γ2 = (q-1)/44", samples, &pool, shown, |w| {
        let time = Stopwatch::start();
        hazmat::decompose::<MlDsa44>(black_box(w), &mut r1, &mut r0);
        Some(time.stop())
    });
    report("Decompose, 2γ2 = (q-1)/16", samples, &pool, shown, |w| {
        let time = Stopwatch::start();
        hazmat::decompose::<MlDsa87>(black_box(w), &mut r1, &mut r0);
        Some(time.stop())
    });
}

fn keys<P: ParameterSet>(samples: usize, shown: &mut Vec<String>) {
    let mut dice = Dice(1);
    let seed = dice.array();
    let seeds = CLASSES.map(|class| seeds(class, seed, &mut dice));
    let expand = |seeds: &[[u8; 32]]| -> Vec<_> {
        seeds.iter().map(|seed| Rc::new(SigningKey::<P>::from_seed(seed).expand())).collect()
    };
    let keys = seeds.each_ref().map(|seeds| expand(seeds));
    // One ρ for all, because ExpandA's time depends on it, and it is public.
    let rho: [u8; 32] = dice.array();
    let encodings =
        keys.each_ref().map(|keys| keys.iter().map(|key| encoding(key, &rho)).collect::<Vec<_>>());
    let few = samples / 10;
    report(&format!("decode, {}", P::LEVEL), few, &encodings, shown, |sk| {
        let time = Stopwatch::start();
        black_box(ExpandedSigningKey::<P>::decode(black_box(sk)).is_ok());
        Some(time.stop())
    });
    report(&format!("keygen, {}", P::LEVEL), few, &by_signs::<P>(few, &mut dice), shown, |xi| {
        let time = Stopwatch::start();
        black_box(SigningKey::<P>::from_seed(black_box(xi)).verifying_key());
        Some(time.stop())
    });
    report(&format!("sign at the first attempt, {}", P::LEVEL), few, &keys, shown, |key| {
        let mu = Mu::from_bytes(dice.array());
        let rnd = dice.array();
        let mut refused = 0;
        let time = Stopwatch::start();
        let signature = sign_mu_watched(key, &mu, &rnd, |_| refused += 1);
        let time = time.stop();
        black_box(signature.is_ok());
        (refused == 0).then_some(time)
    });
    // As many as there are samples: messages of which a few come again and again would look like a secret.
    let batches = keys.map(|keys| {
        (0..few).map(|n| Accepted::of(Rc::clone(&keys[n % POOL]), &mut dice)).collect::<Vec<_>>()
    });
    report(&format!("sign {TOGETHER} at the first attempt, {}", P::LEVEL), few, &batches, shown, |batch| {
        let mut jobs = batch.jobs();
        let time = Stopwatch::start();
        CpuEngine::new().sign(black_box(&mut jobs));
        let time = time.stop();
        black_box(jobs.iter().all(|job| matches!(job.signature, Some(Ok(_)))));
        Some(time)
    });
}

/// A key, and what it signs at the first attempt.
struct Accepted<P: ParameterSet> {
    key: Rc<ExpandedSigningKey<P>>,
    messages: Rc<[(Mu, [u8; 32]); TOGETHER]>,
}

impl<P: ParameterSet> Accepted<P> {
    fn of(key: Rc<ExpandedSigningKey<P>>, dice: &mut Dice) -> Self {
        let messages = Rc::new(std::array::from_fn(|_| {
            loop {
                let (mu, rnd) = (Mu::from_bytes(dice.array()), dice.array());
                let mut refused = 0;
                let signature = sign_mu_watched(&key, &mu, &rnd, |_| refused += 1);
                if signature.is_ok() && refused == 0 {
                    break (mu, rnd);
                }
            }
        }));
        Accepted { key, messages }
    }

    fn jobs(&self) -> [SignJob<'_, P>; TOGETHER] {
        self.messages.each_ref().map(|(mu, rnd)| SignJob { key: &self.key, mu, rnd: *rnd, signature: None })
    }
}

impl<P: ParameterSet> Clone for Accepted<P> {
    fn clone(&self) -> Self {
        Accepted { key: Rc::clone(&self.key), messages: Rc::clone(&self.messages) }
    }
}

/// The encoded key, with a ρ and a tr that are not its own: import refuses it, but at its end.
fn encoding<P: ParameterSet>(key: &ExpandedSigningKey<P>, rho: &[u8; 32]) -> Vec<u8> {
    let mut sk = vec![0; P::SK_LEN];
    key.encode(&mut sk).expect("the length is right");
    sk[..32].copy_from_slice(rho);
    sk[64..128].fill(0);
    sk
}

/// Seeds whose s1 and s2 have more, or fewer, negative coefficients than not, `count` of each class. A fixed seed would have a
/// fixed ρ, and time may depend on ρ: here it is random in both classes, and no seed is likely to come again.
fn by_signs<P: ParameterSet>(count: usize, dice: &mut Dice) -> [Vec<[u8; 32]>; 2] {
    let (polynomials, bits, eta) = match P::LEVEL {
        Level::MlDsa44 => (8, 3, 2),
        Level::MlDsa65 => (11, 4, 4),
        Level::MlDsa87 => (15, 3, 2),
    };
    let mut pool = [Vec::new(), Vec::new()];
    let mut sk = vec![0; P::SK_LEN];
    while pool.iter().any(|seeds| seeds.len() < count) {
        let xi = dice.array();
        SigningKey::<P>::from_seed(&xi).expand().encode(&mut sk).expect("the length is right");
        // Stored is η - s, from byte 128 on.
        let stored = |n: usize| {
            let bit = 128 * 8 + n * bits;
            (u16::from_le_bytes([sk[bit / 8], sk[bit / 8 + 1]]) >> (bit % 8)) & ((1 << bits) - 1)
        };
        let balance: i32 = (0..256 * polynomials).map(|n| (i32::from(stored(n)) - eta).signum()).sum();
        if balance != 0 {
            pool[usize::from(balance > 0)].push(xi);
        }
    }
    pool.map(|seeds| seeds[..count].to_vec())
}

fn seeds(class: usize, fixed: [u8; 32], dice: &mut Dice) -> [[u8; 32]; POOL] {
    std::array::from_fn(|_| if class == FIXED { fixed } else { dice.array() })
}

/// Polynomials of both classes.
fn polys() -> [Vec<Coeffs>; 2] {
    let mut dice = Dice(2);
    let mut random = || std::array::from_fn(|_| (dice.next() % Q) as i32);
    let fixed: Coeffs = random();
    CLASSES.map(|class| (0..POOL).map(|_| if class == FIXED { fixed } else { random() }).collect())
}

/// Measures an operation, again while |t| is above the limit, and notes it in `shown` if it always is.
fn report<T: Clone>(
    what: &str,
    samples: usize,
    pool: &[Vec<T>; 2],
    shown: &mut Vec<String>,
    mut measure: impl FnMut(&mut T) -> Option<u64>,
) {
    let mut dice = Dice(3);
    if !(0..TRIES).any(|_| statistic(what, samples, pool, &mut dice, &mut measure).abs() < LIMIT) {
        shown.push(String::from(what));
    }
}

/// Measures until there are so many samples, prints t and returns it. `measure` may decline a sample.
///
/// Secrets are dealt out a batch at a time, and only then measured one after the other: what is measured comes after
/// nothing that knows the class.
fn statistic<T: Clone>(
    what: &str,
    samples: usize,
    pool: &[Vec<T>; 2],
    dice: &mut Dice,
    mut measure: impl FnMut(&mut T) -> Option<u64>,
) -> f64 {
    let mut times: Vec<(u64, usize)> = Vec::with_capacity(samples + BATCH);
    let mut seen = 0;
    while times.len() < samples {
        let classes: Vec<usize> = (0..BATCH).map(|_| usize::from(dice.next() & 1 == 1)).collect();
        let mut batch: Vec<T> = classes
            .iter()
            .map(|class| pool[*class][dice.next() as usize % pool[*class].len()].clone())
            .collect();
        let measured: Vec<Option<u64>> = batch.iter_mut().map(&mut measure).collect();
        seen += 1;
        if seen > 2 {
            times.extend(measured.into_iter().zip(classes).filter_map(|(time, class)| Some((time?, class))));
        }
    }
    times.truncate(samples);
    // Interrupts make some samples long: t of all, and of those not above some thresholds; the largest counts. Samples
    // that took the same time stay together, or the order in which they lie would be taken for a difference.
    times.sort_unstable();
    let below = |part: usize| {
        let threshold = times[(samples * part / 1000).min(samples - 1)].0;
        &times[..times.partition_point(|(time, _)| *time <= threshold)]
    };
    let t = [1000, 999, 990, 950, 900, 750, 500].map(|part| welch(below(part)));
    let largest = t.iter().copied().fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
    let median = times[samples / 2].0;
    println!(
        "timing, {}: {what}: {samples} samples, median {median} ticks, t = {largest:.1}",
        hazmat::room()
    );
    largest
}

/// Welch's t of the two classes.
fn welch(times: &[(u64, usize)]) -> f64 {
    let [a, b] = CLASSES.map(|class| {
        let of_class = || times.iter().filter(|(_, c)| *c == class).map(|(time, _)| *time as f64);
        let n = of_class().count() as f64;
        let mean = of_class().sum::<f64>() / n;
        (mean, of_class().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0) / n)
    });
    let spread = (a.1 + b.1).sqrt();
    if spread > 0.0 { (a.0 - b.0) / spread } else { 0.0 }
}

/// Ticks of the CPU's clock.
struct Stopwatch(u64);

impl Stopwatch {
    fn start() -> Self {
        Stopwatch(ticks())
    }

    fn stop(self) -> u64 {
        ticks().wrapping_sub(self.0)
    }
}

#[cfg(target_arch = "x86_64")]
fn ticks() -> u64 {
    // SAFETY: every x86-64 CPU has these instructions; the fences keep what is measured between them.
    unsafe {
        core::arch::x86_64::_mm_mfence();
        core::arch::x86_64::_mm_lfence();
        let ticks = core::arch::x86_64::_rdtsc();
        core::arch::x86_64::_mm_lfence();
        ticks
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    static BEGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    BEGIN.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64
}
