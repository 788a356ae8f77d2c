//! Each method of the door in each room of the build, on edges and random inputs: all rooms must answer alike. And what each method
//! costs.
#![no_std]
#![no_main]

use sealstone_board::{Counter, entry, exit, line};
use sealstone_mldsa::hazmat::{EDGES, Exam, METHODS, rooms};

/// Random inputs for each method.
const RANDOM: u32 = 40;

#[entry]
fn main() -> ! {
    let mut counter = Counter::start();
    for &(name, method) in METHODS {
        let mut compared = 0;
        for kind in 0..EDGES + RANDOM {
            let mut expected: Option<Exam> = None;
            for room in rooms() {
                let Ok(mut exam) = Exam::new(room, kind) else { exit(false) };
                let (instructions, ()) = counter.count(|| method(&mut exam));
                if kind == EDGES {
                    line!("method/{}/{},{}", room, name, instructions);
                }
                match &expected {
                    Some(expected) if *expected != exam => {
                        line!("differs/{}/{},{}", room, name, kind);
                        exit(false)
                    }
                    Some(_) => compared += 1,
                    None => expected = Some(exam),
                }
            }
        }
        line!("compared/{},{}", name, compared);
    }
    exit(true)
}
