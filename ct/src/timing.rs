//! Does time depend on a secret? Statistics after dudect (Reparaz, Balasch, Verbauwhede 2017): two classes of secrets, one
//! always the same and one random, in random order through the same memory; Welch's t of the two times. |t| above 4.5 says
//! that the classes differ. Below it says only that so many samples did not show it.

use crate::Dice;
use sealstone_mldsa::hazmat::{self, sign_mu_watched};
use sealstone_mldsa::{ExpandedSigningKey, Level, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, SigningKey};
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

/// Prints t for each operation. Fails if the control, whose time does depend on the secret, is not seen.
pub fn run(samples: usize) -> Result<(), String> {
    let control = control(samples);
    polynomials(samples);
    keys::<MlDsa44>(samples);
    keys::<MlDsa65>(samples);
    keys::<MlDsa87>(samples);
    if control.abs() < 4.5 { Err(format!("the control is not seen: t = {control:.1}")) } else { Ok(()) }
}

/// A comparison that stops at the first difference.
fn control(samples: usize) -> f64 {
    let pool = polys();
    let same = pool[FIXED][0];
    report("control: early exit", samples, &pool, |secret| {
        let time = Stopwatch::start();
        black_box(secret.iter().zip(&same).position(|(a, b)| black_box(a) != b));
        Some(time.stop())
    })
}

fn polynomials(samples: usize) {
    let pool = polys();
    let ntt = |w: &mut Coeffs| {
        let time = Stopwatch::start();
        hazmat::ntt(black_box(w));
        Some(time.stop())
    };
    // Twice the same class: what t is where there is nothing to see.
    report("placebo: NTT", samples, &[pool[1].clone(), pool[1].clone()], ntt);
    report("NTT", samples, &pool, ntt);
    let [mut r1, mut r0] = [[0; 256]; 2];
    report("Decompose, 2γ2 = (q-1)/44", samples, &pool, |w| {
        let time = Stopwatch::start();
        hazmat::decompose::<MlDsa44>(black_box(w), &mut r1, &mut r0);
        Some(time.stop())
    });
    report("Decompose, 2γ2 = (q-1)/16", samples, &pool, |w| {
        let time = Stopwatch::start();
        hazmat::decompose::<MlDsa87>(black_box(w), &mut r1, &mut r0);
        Some(time.stop())
    });
}

fn keys<P: ParameterSet>(samples: usize) {
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
    report(&format!("decode, {}", P::LEVEL), few, &encodings, |sk| {
        let time = Stopwatch::start();
        black_box(ExpandedSigningKey::<P>::decode(black_box(sk)).is_ok());
        Some(time.stop())
    });
    report(&format!("keygen, {}", P::LEVEL), few, &by_signs::<P>(few, &mut dice), |xi| {
        let time = Stopwatch::start();
        black_box(SigningKey::<P>::from_seed(black_box(xi)).verifying_key());
        Some(time.stop())
    });
    report(&format!("sign at the first attempt, {}", P::LEVEL), few, &keys, |key| {
        let mu = Mu::from_bytes(dice.array());
        let rnd = dice.array();
        let mut refused = 0;
        let time = Stopwatch::start();
        let signature = sign_mu_watched(key, &mu, &rnd, |_| refused += 1);
        let time = time.stop();
        black_box(signature.is_ok());
        (refused == 0).then_some(time)
    });
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

/// Measures until there are so many samples, prints t and returns it. `measure` may decline a sample.
///
/// Secrets are dealt out a batch at a time, and only then measured one after the other: what is measured comes after
/// nothing that knows the class.
fn report<T: Clone>(
    what: &str,
    samples: usize,
    pool: &[Vec<T>; 2],
    mut measure: impl FnMut(&mut T) -> Option<u64>,
) -> f64 {
    let mut dice = Dice(3);
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
