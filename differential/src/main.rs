//! `./dev differential [N] [--seed S]`: N cases, each a key, a signature and its verification, and ten altered
//! verifications; two fast implementations answer all of them, four more answer one case of 97 with three of its altered
//! verifications. A case comes out of the seed and its number alone. Counts are kept beside the build after every 1000
//! cases, and a run with the same seed goes on from there. Ends with a line for the record, also when a file called
//! `stop` appears beside the counts; fails at the first disagreement.
//!
//! `./dev accumulated [N]` is in `accumulated`.

mod accumulated;
mod alter;
mod native;
mod ours;
mod peers;

use ours::Ours;
use peers::{Case, FAST, Peer, RARE};
use sealstone_mldsa::{Level, MlDsa44, MlDsa65, MlDsa87, ParameterSet, hazmat};
use std::path::Path;
use std::time::Instant;

/// One case of so many is asked of all: a prime, so that it meets every level in every room.
const RARE_EVERY: u64 = 97;

/// Altered verifications of a case, and how many of them those that are asked rarely get.
const ALTERED: usize = 10;
const RARE_ALTERED: usize = 3;

/// Numbers out of a seed and a case: splitmix64.
pub struct Dice(u64);

impl Dice {
    fn new(seed: u64, case: u64) -> Self {
        let mut dice = Dice(seed);
        dice.0 = dice.next() ^ case.wrapping_mul(0xd134_2543_de82_ef95);
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }

    fn array(&mut self) -> [u8; 32] {
        core::array::from_fn(|_| self.next() as u8)
    }
}

/// What was done so far.
#[derive(Clone, Copy, Default)]
struct Counts {
    cases: u64,
    altered: u64,
    /// Altered verifications that everybody accepts: the alteration changed nothing.
    accepted: u64,
    /// Answers of others: keys, signatures and verdicts that were compared.
    compared: u64,
    /// Cases that all six answered.
    rare: u64,
    seconds: u64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().unwrap_or_else(|_| usage());
    match words[..] {
        ["accumulated", count] => accumulated::run(number(count)),
        [] => compare(100_000, 1),
        [cases] => compare(number(cases), 1),
        ["--seed", seed] => compare(100_000, number(seed)),
        [cases, "--seed", seed] => compare(number(cases), number(seed)),
        _ => usage(),
    }
}

fn usage() -> ! {
    eprintln!("error: not understood\nhint: ./dev differential [N] [--seed S], both numbers");
    std::process::exit(2)
}

fn compare(wanted: u64, seed: u64) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target");
    let checkpoint = folder.join(format!("counts-{seed}"));
    let stop = folder.join("stop");
    let _ = std::fs::remove_file(&stop);
    let mut counts =
        std::fs::read_to_string(&checkpoint).map_or_else(|_| Counts::default(), |text| read(&text));
    let rooms: Vec<&str> = hazmat::rooms().collect();
    println!(
        "differential: seed {seed}, {wanted} cases, from case {} on, rooms {}",
        counts.cases,
        rooms.join(" ")
    );
    let (since, before) = (Instant::now(), counts.seconds);
    while counts.cases < wanted {
        hazmat::force_room(Some(room_of(counts.cases, &rooms))).expect("one of the rooms");
        let mut dice = Dice::new(seed, counts.cases);
        match counts.cases % 3 {
            0 => examine::<MlDsa44>(Level::MlDsa44, &mut dice, &mut counts),
            1 => examine::<MlDsa65>(Level::MlDsa65, &mut dice, &mut counts),
            _ => examine::<MlDsa87>(Level::MlDsa87, &mut dice, &mut counts),
        }
        counts.seconds = before + since.elapsed().as_secs();
        if counts.cases % 1000 == 0 || counts.cases == wanted {
            std::fs::write(&checkpoint, write(&counts)).expect("the build folder can be written");
            if stop.exists() {
                break;
            }
        }
        if counts.cases % 10_000 == 0 {
            eprintln!(
                "differential: {} cases, {} altered, {} s",
                counts.cases, counts.altered, counts.seconds
            );
        }
    }
    let names = |peers: &[&dyn Peer]| peers.iter().map(|peer| peer.name()).collect::<Vec<_>>().join(" + ");
    println!(
        "result,{seed},{},{},{},{},{},{},{},{},{}",
        counts.cases,
        counts.altered,
        counts.accepted,
        counts.compared,
        counts.rare,
        counts.seconds,
        rooms.join(" "),
        names(&FAST),
        names(&RARE)
    );
}

/// The portable room, which is slow and the last, in one case of ten; the others in turn. Thirty cases at a time.
fn room_of<'a>(case: u64, rooms: &[&'a str]) -> &'a str {
    let turn = (case / 30) as usize;
    let (slow, fast) = rooms.split_last().expect("every machine has a room");
    if fast.is_empty() || turn.is_multiple_of(10) { slow } else { fast[turn % fast.len()] }
}

fn read(text: &str) -> Counts {
    let mut numbers = text.split_whitespace().map(|n| n.parse().expect("a checkpoint holds numbers"));
    let mut next = || numbers.next().expect("a checkpoint holds six numbers");
    Counts {
        cases: next(),
        altered: next(),
        accepted: next(),
        compared: next(),
        rare: next(),
        seconds: next(),
    }
}

fn write(counts: &Counts) -> String {
    let Counts { cases, altered, accepted, compared, rare, seconds } = counts;
    format!("{cases} {altered} {accepted} {compared} {rare} {seconds}\n")
}

/// A signature as it was altered, or the message or the public key instead.
pub struct Altered {
    message: Vec<u8>,
    public: Vec<u8>,
    signature: Vec<u8>,
}

fn examine<P: ParameterSet>(level: Level, dice: &mut Dice, counts: &mut Counts) {
    let number = counts.cases;
    let context_len = if dice.below(2) == 0 { 0 } else { dice.below(256) };
    let message_len = dice.below(400);
    let case = Case {
        level,
        seed: dice.array(),
        rnd: if dice.below(4) == 0 { [0; 32] } else { dice.array() },
        context: dice.bytes(context_len),
        message: dice.bytes(message_len),
    };
    let rare = number.is_multiple_of(RARE_EVERY);
    let ours = Ours::<P>::new(&case, rare);
    let good = Altered {
        message: case.message.clone(),
        public: ours.public().to_vec(),
        signature: ours.signature().to_vec(),
    };
    let altered: Vec<Altered> = (0..ALTERED).map(|_| alter(dice, &case, &good)).collect();
    let verdicts = ours.verdicts(&case, &altered, number);
    for (n, (one, accepted)) in altered.iter().zip(&verdicts).enumerate() {
        let changed =
            one.signature != good.signature || one.public != good.public || one.message != good.message;
        assert!(*accepted != changed, "case {number}: altered signature {n}: we say {accepted}");
        counts.accepted += u64::from(*accepted);
    }
    let mut ask = |peer: &dyn Peer, part: usize| {
        let name = peer.name();
        let (theirs, signed) = peer.make(&case);
        let same = (theirs.is_empty() || theirs == good.public)
            && signed.as_ref().is_none_or(|signed| *signed == good.signature);
        assert!(same, "case {number}: {name} makes another key or signature, {level}");
        counts.compared += u64::from(!theirs.is_empty()) + u64::from(signed.is_some());
        let questions = std::iter::once((&good, true)).chain(altered.iter().zip(verdicts.iter().copied()));
        for (n, (one, ours)) in questions.take(1 + part).enumerate() {
            let Some(theirs) = peer.verify(&case, &one.message, &one.public, &one.signature) else {
                continue;
            };
            assert_eq!(ours, theirs, "case {number}, verification {n}: {name} {level} disagrees");
            counts.compared += 1;
        }
    };
    FAST.iter().for_each(|peer| ask(*peer, ALTERED));
    if rare {
        RARE.iter().for_each(|peer| ask(*peer, RARE_ALTERED));
        counts.rare += 1;
    }
    counts.altered += ALTERED as u64;
    counts.cases += 1;
}

fn alter(dice: &mut Dice, case: &Case, good: &Altered) -> Altered {
    let Altered { mut message, mut public, mut signature } = Altered {
        message: good.message.clone(),
        public: good.public.clone(),
        signature: good.signature.clone(),
    };
    match dice.below(16) {
        0 => alter::bit(dice, &mut public),
        1 if !message.is_empty() => alter::bit(dice, &mut message),
        _ => alter::signature(case.level, dice, &mut signature),
    }
    Altered { message, public, signature }
}
