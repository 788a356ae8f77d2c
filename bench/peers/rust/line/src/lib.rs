//! The line protocol of a rival. A line `OP LEVEL RUNS` is answered with the nanoseconds of its own time that RUNS took, or
//! `none` if the rival has no such form:
//!
//! | operation | times |
//! | --- | --- |
//! | `keygen` | a key pair, from a seed where the rival takes one |
//! | `sign` | a hedged signature of a fresh message with a key from its bytes |
//! | `sign-expanded` | the same with a live private key |
//! | `verify` | one signature verified with a public key from its bytes |
//! | `verify-expanded` | the same with a live public key |
//!
//! Messages have 64 bytes, the context is empty. `check LEVEL` is answered with a public key, a message and a signature in
//! hexadecimal, for somebody else to verify. The first line written is the rival's name and version.

use std::io::{BufRead, Write};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A message.
pub type Message = [u8; 64];

/// A rival at one level, holding one key pair: the one of the seed of zeros where it takes a seed.
pub trait Rival {
    /// Makes another key pair.
    fn keygen(&self, seed: &[u8; 32]);
    /// The bytes of the public key that is held.
    fn public_key(&self) -> Vec<u8>;
    /// Signs with the private key, from its bytes.
    fn sign(&self, message: &Message) -> Vec<u8>;
    /// Signs with the live private key.
    fn sign_live(&self, _message: &Message) -> Option<Vec<u8>> {
        None
    }
    /// Verifies with the public key, from its bytes.
    fn verify(&self, message: &Message, signature: &[u8]) -> bool;
    /// Verifies with the live public key.
    fn verify_live(&self, _message: &Message, _signature: &[u8]) -> Option<bool> {
        None
    }
}

/// Fills an array from the operating system.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    bytes
}

/// A rival at one level, made when it is first asked for.
pub type Make = fn() -> Box<dyn Rival>;

/// Answers lines until there are no more.
pub fn answer(version: &str, levels: &[(&str, Make)]) {
    let mut prepared: Vec<_> = levels.iter().map(|(name, make)| (*name, *make, None)).collect();
    println!("{version}");
    std::io::stdout().flush().expect("somebody reads");
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("lines are text");
        let mut words = line.split_whitespace();
        let (operation, level) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let runs = words.next().and_then(|runs| runs.parse().ok()).unwrap_or(1);
        let found = prepared.iter_mut().find(|(name, ..)| *name == level);
        let answer = found.and_then(|(_, make, prepared)| {
            let prepared = prepared.get_or_insert_with(|| Prepared::new(make()));
            if operation == "check" { Some(prepared.check()) } else { prepared.time(operation, runs) }
        });
        println!("{}", answer.as_deref().unwrap_or("none"));
        std::io::stdout().flush().expect("somebody reads");
    }
}

struct Prepared {
    rival: Box<dyn Rival>,
    signed: Vec<(Message, Vec<u8>)>,
}

impl Prepared {
    fn new(rival: Box<dyn Rival>) -> Self {
        let signed: Vec<_> = (0..32).map(message).map(|message| (message, rival.sign(&message))).collect();
        for (message, signature) in &signed {
            assert!(rival.verify(message, signature), "its own signature");
            let mut altered = signature.clone();
            altered[40] ^= 1;
            assert!(!rival.verify(message, &altered), "an altered signature");
        }
        Self { rival, signed }
    }

    fn check(&self) -> String {
        let message = random();
        let signature = self.rival.sign_live(&message).unwrap_or_else(|| self.rival.sign(&message));
        format!("{} {} {}", hex(&self.rival.public_key()), hex(&message), hex(&signature))
    }

    fn time(&self, operation: &str, runs: u64) -> Option<String> {
        let rival = self.rival.as_ref();
        let start = now();
        for (run, (signed, signature)) in (0..runs).zip(self.signed.iter().cycle()) {
            match operation {
                "keygen" => rival.keygen(&seed(run)),
                "sign" => drop(std::hint::black_box(rival.sign(&message(run)))),
                "sign-expanded" => drop(std::hint::black_box(rival.sign_live(&message(run))?)),
                "verify" => assert!(rival.verify(signed, signature)),
                "verify-expanded" => assert!(rival.verify_live(signed, signature)?),
                _ => return None,
            }
        }
        Some((now() - start).as_nanos().to_string())
    }
}

fn seed(number: u64) -> [u8; 32] {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    seed
}

fn message(number: u64) -> Message {
    let mut message = [0x5a; 64];
    message[..8].copy_from_slice(&number.to_le_bytes());
    message
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Time that this thread has spent computing.
fn now() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}
