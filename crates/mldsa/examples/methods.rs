//! Nanoseconds of each method of a room's door, one after the other on the same memory: `methods ROOM...`. The least of some
//! rounds: a method here finds its memory in the first cache and its branches foreseen, which it does not everywhere.
#![allow(clippy::print_stdout, reason = "a program")]

use sealstone_mldsa::hazmat::{EDGES, Exam, METHODS, UnknownRoom};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 40;
const CALLS: u32 = 2000;

fn main() -> Result<(), UnknownRoom> {
    let rooms: Vec<String> = std::env::args().skip(1).collect();
    for (name, method) in METHODS {
        print!("{name:24}");
        for room in &rooms {
            let mut exam = Exam::new(room, EDGES)?;
            let round = |_| {
                let begin = Instant::now();
                (0..CALLS).for_each(|_| method(black_box(&mut exam)));
                begin.elapsed().as_nanos() as f64 / f64::from(CALLS)
            };
            print!(" {:9.1}", (0..ROUNDS).map(round).fold(f64::MAX, f64::min));
        }
        println!();
    }
    Ok(())
}
