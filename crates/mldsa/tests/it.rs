//! The engine under examination, from outside.
//!
//! | module | asks |
//! | --- | --- |
//! | `registry` | do all published vectors agree: those of the registry, and a folder of more where there is one |
//! | `bugs` | is each bug that other implementations had caught here, by its name |
//! | `lengths` | is every wrong length refused at every door |
//! | `differential` | do two other implementations say the same on random and mutated inputs |
//! | `runner` | does the vector runner notice what is wrong with a file |
//! | `signing` | randomness, hedging, attempts, import of expanded keys |
//! | `doors` | streaming, pre-hashing, batches, rooms, `Debug` |
//! | `texts` | what `Debug` and errors say |
//! | `model`, `forge` | a naive second reading of the standard, and signatures forged with it under t1 = 0 |
//! | `peers` | the two other implementations |
//! | `vectors` | the runner, which the example `vectors` shares |
#![allow(clippy::unwrap_used, clippy::integer_division_remainder_used, reason = "tests")]
#![allow(unreachable_pub, reason = "one binary")]

mod bugs;
mod differential;
mod doors;
mod forge;
mod kmac;
mod lengths;
mod model;
mod peers;
mod registry;
mod runner;
mod signing;
mod texts;
#[allow(dead_code, reason = "shared with the example, which uses more of it")]
mod vectors;

/// Numbers for tests: SHAKE256 of a name, so that a run can be repeated.
pub struct Dice(Box<dyn sha3::digest::XofReader>);

impl Dice {
    /// The numbers of this name.
    pub fn new(name: &str) -> Self {
        use sha3::digest::{ExtendableOutput, Update};
        Self(Box::new(sha3::Shake256::default().chain(name).finalize_xof()))
    }

    /// The next bytes.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.read(&mut bytes);
        bytes
    }

    /// The next bytes, as many as asked.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.0.read(&mut bytes);
        bytes
    }

    /// A number below `bound`; the bias is of no matter here.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(u64::from_le_bytes(self.array()) % u64::try_from(bound).unwrap()).unwrap()
    }
}
