//! ML-DSA-87 alone.
#![no_std]
#![no_main]

mod life;

use sealstone_board::{entry, exit};
use sealstone_mldsa::MlDsa87;

#[entry]
fn main() -> ! {
    exit(life::life::<MlDsa87>().is_ok())
}
