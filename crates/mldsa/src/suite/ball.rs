//! SampleInBall beyond its first block. Fewer than one challenge in 2^30 needs it, so no vector and no random test gets
//! there: the block is made up here, and the rest must be what the hash goes on with.

use sha3::Shake256;
use sha3::digest::{ExtendableOutput, Update, XofReader};
use std::vec::Vec;

use super::each_room;
use crate::fips204::params::{MlDsa44, MlDsa65, MlDsa87, Params, Q};
use crate::fips204::ring::Poly;
use crate::fips204::sample::sample_in_ball;

#[test]
fn ball_goes_on_with_the_second_block() {
    goes_on::<MlDsa44>();
    goes_on::<MlDsa65>();
    goes_on::<MlDsa87>();
}

fn goes_on<P: Params>() {
    let c_tilde: Vec<u8> = (0..P::C_TILDE_LEN as u8).map(|i| i.wrapping_mul(11).wrapping_add(3)).collect();
    let mut whole = [0; 136 + 512];
    let mut shake = Shake256::default();
    shake.update(&c_tilde);
    shake.finalize_xof().read(&mut whole);
    // Signs as they are, then a few positions that hold, then nothing but 255, which holds for the last alone.
    let mut block = *whole.first_chunk().expect("136 bytes");
    block[20..].fill(255);
    let mut expected = [0; 256];
    let mut bytes = block[8..].iter().chain(&whole[136..]).map(|byte| usize::from(*byte));
    let signs = u64::from_le_bytes(*block.first_chunk().expect("8 bytes"));
    for (n, i) in (256 - P::TAU..256).enumerate() {
        let j = bytes.find(|j| *j <= i).expect("512 bytes are enough");
        expected[i] = expected[j];
        expected[j] = if signs >> n & 1 == 0 { 1 } else { Q - 1 };
    }
    each_room(|room| {
        let mut c = Poly([7; 256]);
        sample_in_ball(room, P::TAU, 1, &c_tilde, &block, &mut c.0);
        assert_eq!(c.0, expected, "{}, τ = {}", room.name(), P::TAU);
    });
}
