//! Looks for secrets where they must not be. `./dev ct` and `./dev wipe` build this program and read what it prints.
//!
//! | command | looks at |
//! | --- | --- |
//! | `rooms` | nothing: names the rooms of this build on this machine, or under Valgrind those that Valgrind can run |
//! | `taint ROOM SIGNATURES` | branches and addresses, under Valgrind (`taint`) |
//! | `control` | the same for code that does branch on secrets: each kind must be reported (`control`) |
//! | `timing ROOM SAMPLES` | time, by statistics (`timing`) |
//! | `wipe ROOM RUNS` | memory after a secret's life (`wipe`) |

mod control;
#[cfg(feature = "ctgrind")]
mod taint;
mod timing;
mod wipe;

use sealstone_mldsa::hazmat;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    control::keep();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["rooms"] => {
            println!("{}", hazmat::rooms().collect::<Vec<_>>().join(" "));
            ExitCode::SUCCESS
        }
        #[cfg(feature = "ctgrind")]
        ["taint", room, signatures] => in_room(room, signatures, taint::run),
        #[cfg(feature = "ctgrind")]
        ["control"] => verdict(control::run()),
        ["timing", room, samples] => in_room(room, samples, timing::run),
        ["wipe", room, runs] => in_room(room, runs, wipe::run),
        _ => verdict(Err(String::from("no such command; src/main.rs lists them"))),
    }
}

fn in_room(room: &str, number: &str, run: fn(usize) -> Result<(), String>) -> ExitCode {
    verdict(
        hazmat::force_room(Some(room))
            .map_err(|error| error.to_string())
            .and_then(|()| number.parse().map_err(|_| format!("not a number: {number}")))
            .and_then(run),
    )
}

fn verdict(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Numbers that are the same in every run (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next() as u8)
    }
}
