//! `./dev differential [N] [--seed S]`: N cases, each a key, a signature and its verification, and ten altered
//! verifications; the engine in each of its rooms in turn, three fast implementations in every case, three more in every
//! tenth. A case comes out of the seed and its number alone. Counts are kept beside the build after every 1000 cases, and
//! a run with the same seed goes on from there. Ends with a line for the record; fails at the first disagreement.

mod alter;
mod native;
mod peers;

use peers::{Case, FAST, Peer, SLOW};
use sealstone_mldsa::any::{Signature, SigningKey, VerifyingKey};
use sealstone_mldsa::{Context, Error, Level, Randomness, hazmat};
use std::path::Path;
use std::time::Instant;

const ALTERED: u64 = 10;

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
    /// Questions to others: keys, signatures and verdicts that were compared.
    compared: u64,
    seconds: u64,
}

fn main() {
    let (wanted, seed) = arguments();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target");
    let checkpoint = folder.join(format!("counts-{seed}"));
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
        let room = rooms[(counts.cases / 3) as usize % rooms.len()];
        hazmat::force_room(Some(room)).expect("one of the rooms");
        examine(&mut Dice::new(seed, counts.cases), &mut counts);
        counts.seconds = before + since.elapsed().as_secs();
        if counts.cases % 1000 == 0 || counts.cases == wanted {
            std::fs::write(&checkpoint, write(&counts)).expect("the build folder can be written");
        }
        if counts.cases % 10_000 == 0 {
            eprintln!(
                "differential: {} cases, {} altered, {} s",
                counts.cases, counts.altered, counts.seconds
            );
        }
    }
    let names: Vec<&str> = FAST.iter().chain(&SLOW).map(|peer| peer.name()).collect();
    println!(
        "result,{seed},{},{},{},{},{},{},{}",
        counts.cases,
        counts.altered,
        counts.accepted,
        counts.compared,
        counts.seconds,
        rooms.join(" "),
        names.join(" + ")
    );
}

fn arguments() -> (u64, u64) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |text: &String| text.parse().unwrap_or_else(|_| usage());
    match &arguments[..] {
        [] => (100_000, 1),
        [cases] => (number(cases), 1),
        [flag, seed] if flag == "--seed" => (100_000, number(seed)),
        [cases, flag, seed] if flag == "--seed" => (number(cases), number(seed)),
        _ => usage(),
    }
}

fn usage() -> ! {
    eprintln!("error: not understood\nhint: ./dev differential [N] [--seed S], both numbers");
    std::process::exit(2)
}

fn read(text: &str) -> Counts {
    let mut numbers = text.split_whitespace().map(|n| n.parse().expect("a checkpoint holds numbers"));
    let mut next = || numbers.next().expect("a checkpoint holds five numbers");
    Counts { cases: next(), altered: next(), accepted: next(), compared: next(), seconds: next() }
}

fn write(counts: &Counts) -> String {
    let Counts { cases, altered, accepted, compared, seconds } = counts;
    format!("{cases} {altered} {accepted} {compared} {seconds}\n")
}

struct Given([u8; 32]);

impl Randomness for Given {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.copy_from_slice(&self.0);
        Ok(())
    }
}

/// Our verdict.
pub fn ours_verifies(case: &Case, public: &[u8], signature: &[u8]) -> bool {
    let key = VerifyingKey::decode(case.level, public).expect("length");
    let signature = Signature::decode(case.level, signature).expect("length");
    key.verify(Context::new(&case.context).expect("short"), &case.message, &signature).is_ok()
}

fn examine(dice: &mut Dice, counts: &mut Counts) {
    let number = counts.cases;
    let context_len = if dice.below(2) == 0 { 0 } else { dice.below(256) };
    let message_len = dice.below(400);
    let mut case = Case {
        level: Level::ALL[(number % 3) as usize],
        seed: dice.array(),
        rnd: if dice.below(4) == 0 { [0; 32] } else { dice.array() },
        context: dice.bytes(context_len),
        message: dice.bytes(message_len),
    };
    let mut panel: Vec<&dyn Peer> = FAST.to_vec();
    if number % 10 == 0 {
        panel.extend(SLOW);
    }
    let key = SigningKey::from_seed(case.level, &case.seed);
    let context = Context::new(&case.context).expect("short");
    let signature = key.sign(&mut Given(case.rnd), context, &case.message).expect("signs").encode().to_vec();
    let public = key.verifying_key().encode().to_vec();
    for peer in &panel {
        let (theirs, signed) = peer.make(&case);
        let same = (theirs.is_empty() || theirs == public)
            && signed.as_ref().is_none_or(|signed| *signed == signature);
        assert!(same, "case {number}: {} makes another key or signature, {}", peer.name(), case.level);
        counts.compared += u64::from(!theirs.is_empty()) + u64::from(signed.is_some());
    }
    assert!(
        agree(&panel, &case, &public, &signature, counts),
        "case {number}: everybody refuses a good signature"
    );
    for _ in 0..ALTERED {
        let (mut altered, mut other) = (signature.clone(), public.clone());
        let message = case.message.clone();
        match dice.below(16) {
            0 => alter::bit(dice, &mut other),
            1 if !message.is_empty() => alter::bit(dice, &mut case.message),
            _ => alter::signature(case.level, dice, &mut altered),
        }
        let accepted = agree(&panel, &case, &other, &altered, counts);
        let changed = altered != signature || other != public || case.message != message;
        assert!(!(accepted && changed), "case {number}: everybody accepts an altered signature");
        counts.accepted += u64::from(accepted);
        counts.altered += 1;
        case.message = message;
    }
    counts.cases += 1;
}

/// The verdict that all give.
fn agree(panel: &[&dyn Peer], case: &Case, public: &[u8], signature: &[u8], counts: &mut Counts) -> bool {
    let ours = ours_verifies(case, public, signature);
    for peer in panel {
        let Some(theirs) = peer.verify(case, public, signature) else { continue };
        assert_eq!(ours, theirs, "case {}: {} {} disagrees", counts.cases, peer.name(), case.level);
        counts.compared += 1;
    }
    ours
}
