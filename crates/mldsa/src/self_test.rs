//! Known answers, before work or on demand: what FIPS 140-3 calls a cryptographic algorithm self-test.

use crate::api::{ExpandedVerifyingKey, ParameterSet, SEED_LEN, Signature, SigningKey};
use crate::backend::{Room, rooms};
use crate::error::Error;
use crate::fips204::flight::sign_internal;
use crate::fips204::params::{MlDsa44, MlDsa65, MlDsa87};
use crate::fips204::sign::Rejection;
use crate::keccak::Shake;
use crate::message::{Context, MuHasher};

/// Signs one message and verifies it at each level, in every room of this build that this CPU can run, and compares with
/// known answers. The messages are such that signing refuses attempts in every way there is: for z, for r0 and for the
/// number of hints, at level 44 also for ct0, which the other levels cannot meet.
///
/// Takes about a millisecond a room. Errors: `FaultDetected`.
pub fn self_test() -> Result<(), Error> {
    rooms().try_for_each(self_test_in)
}

/// The same in one room.
pub(crate) fn self_test_in(room: Room) -> Result<(), Error> {
    known_answer::<MlDsa44>(room, &ANSWER_44)?;
    known_answer::<MlDsa65>(room, &ANSWER_65)?;
    known_answer::<MlDsa87>(room, &ANSWER_87)
}

/// A signature of ML-DSA, deterministic, without context.
struct Answer {
    seed: &'static str,
    message: &'static str,
    /// The first 32 bytes of SHAKE256 of the signature.
    signature: &'static str,
    /// How often attempts are refused for z, r0, ct0 and the hints.
    refused: [u32; 4],
}

/// leancrypto's table of rejection paths, ML-DSA-44, external interface, entry 0.
const ANSWER_44: Answer = Answer {
    seed: "51838e29e8fe1f357a656ac106254856d8f0de83d39dd9c431334cfa6ac040b0",
    message: "6db38e80af5f19d9b0cfad58c727ae124e7da31ae385c6aaf6a19ab1e9e0fe89\
              1ec56f101824aba86d03d03dc3ff67e73a9594c849518fa065cb20292a6df7f2",
    signature: "f9d382cba9a5e5819090197c626c48dba456da37671b70196d15bfc97694eafd",
    refused: [3, 4, 1, 1],
};
/// leancrypto's table of rejection paths, ML-DSA-65, external interface, entry 1.
const ANSWER_65: Answer = Answer {
    seed: "b5952a6bc7422c883955247fd852b08f49a6315b1eeb7ca9d610959b3f6b353c",
    message: "679b88b9c33050563f8c56fc3a659e59c8ccb2e7a91b5bf6bcefeeac24ca97a4\
              b4fecd0a7e903d73c8fad6c7aa94972b0c7f38d328ea7cf630558a37c33d382e",
    signature: "cb720e2992240b847260f01fc9456caacd5a3e8889328ec2abc3a817065b7f97",
    refused: [2, 4, 0, 1],
};
/// leancrypto's table of rejection paths, ML-DSA-87, external interface, entry 6.
const ANSWER_87: Answer = Answer {
    seed: "7c1f513c59ba8671cc8a7ca642aaa9d917f9cf0886a4330ae8488e6f05a65d58",
    message: "a2ec180652378a9170ea9379ad555f11e64ac780051836fd12a68b615cf8eab0\
              3402c25a1b226178b297b8d55a9b6d09b6af840bb2516e9f9e30ec8079da1422",
    signature: "368bc8ee71b0bbcbc2df062d44658d627e3d19931714e6eecf2006bfc1ef067d",
    refused: [1, 2, 0, 1],
};

fn known_answer<P: ParameterSet>(room: Room, answer: &Answer) -> Result<(), Error> {
    let key = SigningKey::<P>::from_seed(&bytes::<SEED_LEN>(answer.seed)).expand_in(room);
    let message = bytes::<64>(answer.message);
    let mu = |tr| {
        let mut hasher = MuHasher::pure(room, tr, Context::EMPTY);
        hasher.update(&message);
        hasher.finish()
    };
    let mut refused = [0; 4];
    let signature = sign_internal(room, &key, &mu(&key.tr).0, &[0; 32], |why| {
        refused[match why {
            Rejection::Z => 0,
            Rejection::R0 => 1,
            Rejection::Ct0 => 2,
            Rejection::Hint => 3,
        }] += 1;
    })?;
    let digest = Shake::h::<32>(room, &[signature.encode()]);
    let public = ExpandedVerifyingKey::expand_in(room, key.verifying_key());
    let verifies = |signature: &Signature<P>| public.verify_in(room, &mu(&public.tr), signature).is_ok();
    let mut altered = signature.clone();
    altered.sigma.as_mut()[100] ^= 1;
    let good = digest == bytes::<32>(answer.signature) && refused == answer.refused;
    if good && verifies(&signature) && !verifies(&altered) { Ok(()) } else { Err(Error::FaultDetected) }
}

/// The seed and the message of a signature that refuses an attempt for ct0.
#[cfg(test)]
pub(crate) fn refused_for_ct0() -> ([u8; 32], [u8; 64]) {
    (bytes(ANSWER_44.seed), bytes(ANSWER_44.message))
}

/// The bytes of hexadecimal digits.
fn bytes<const N: usize>(digits: &str) -> [u8; N] {
    let digit =
        |at: usize| digits.as_bytes().get(at).map_or(0, |d| if *d > b'9' { d - b'a' + 10 } else { d - b'0' });
    core::array::from_fn(|i| digit(2 * i) << 4 | digit(2 * i + 1))
}
