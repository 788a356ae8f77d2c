//! ML-DSA-65 alone.
#![no_std]
#![no_main]

mod life;

use sealstone_board::{entry, exit};
use sealstone_mldsa::MlDsa65;

#[entry]
fn main() -> ! {
    exit(life::life::<MlDsa65>().is_ok())
}
