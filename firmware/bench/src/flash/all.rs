//! All levels.
#![no_std]
#![no_main]

mod life;

use life::life;
use sealstone_board::{entry, exit};
use sealstone_mldsa::{MlDsa44, MlDsa65, MlDsa87};

#[entry]
fn main() -> ! {
    exit(life::<MlDsa44>().is_ok() && life::<MlDsa65>().is_ok() && life::<MlDsa87>().is_ok())
}
