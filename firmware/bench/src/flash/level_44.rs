//! ML-DSA-44 alone.
#![no_std]
#![no_main]

mod life;

use sealstone_board::{entry, exit};
use sealstone_mldsa::MlDsa44;

#[entry]
fn main() -> ! {
    exit(life::life::<MlDsa44>().is_ok())
}
