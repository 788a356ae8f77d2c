//! The same questions to the engine and to two other implementations, on random and mutated inputs. The
//! numbers come out of a fixed name, so a disagreement can be looked at again.

use sealstone_mldsa::{Level, PreHash};

use crate::Dice;
use crate::peers::{Fips204, RustCrypto};
use crate::vectors::shape::{LEVELS, shape};
use crate::vectors::subject::{Input, Sealstone, Secret, Subject, Trouble};

const PEERS: [&dyn Subject; 2] = [&Fips204, &RustCrypto];
const KEYS: usize = 6;
const MUTANTS: usize = 60;

#[test]
fn keys_and_signatures() {
    for level in LEVELS {
        let mut dice = Dice::new(&format!("keys and signatures {level}"));
        for _ in 0..KEYS {
            let seed: [u8; 32] = dice.array();
            let rnd = if dice.below(3) == 0 { [0; 32] } else { dice.array() };
            let (context, message) = (bytes_up_to(&mut dice, 255), bytes_up_to(&mut dice, 400));
            let hash = PreHash::ALL[dice.below(12)];
            let (public, expanded) = Sealstone.keygen(level, &seed).unwrap();
            for input in [
                Input::Pure { context: &context, message: &message },
                Input::PreHash { context: &context, hash, message: &message },
                Input::Internal { formatted: &message },
            ] {
                let ours = Sealstone.sign(level, Secret::Seed(&seed), input, &rnd).unwrap();
                assert_eq!(Sealstone.verify(level, &public, input, &ours), Ok(()));
                for peer in PEERS {
                    assert_eq!(
                        peer.keygen(level, &seed).unwrap(),
                        (public.clone(), expanded.clone()),
                        "{}",
                        peer.name()
                    );
                    let theirs = peer.sign(level, Secret::Seed(&seed), input, &rnd).unwrap();
                    assert!(ours == theirs, "{}: {input:?}", peer.name());
                }
            }
            let mu: [u8; 64] = dice.array();
            let input = Input::Mu { mu: &mu };
            let ours = Sealstone.sign(level, Secret::Expanded(&expanded), input, &rnd).unwrap();
            assert!(ours == Fips204.sign(level, Secret::Expanded(&expanded), input, &rnd).unwrap());
            agree(level, &public, input, &ours);
        }
    }
}

#[test]
fn verdicts_on_mutated_signatures() {
    let mut accepted = 0;
    for level in LEVELS {
        let mut dice = Dice::new(&format!("mutants {level}"));
        let (public, signature, input) = signed(level, &mut dice);
        for _ in 0..MUTANTS {
            let mut mutant = signature.clone();
            mutate(level, &mut dice, &mut mutant);
            accepted += usize::from(agree(level, &public, input, &mutant) && mutant != signature);
        }
    }
    assert_eq!(accepted, 0, "an altered signature was good for everybody");
}

#[test]
fn verdicts_on_mutated_keys() {
    for level in LEVELS {
        let mut dice = Dice::new(&format!("mutated keys {level}"));
        let (public, signature, input) = signed(level, &mut dice);
        for _ in 0..MUTANTS / 3 {
            let mut mutant = public.clone();
            let at = dice.below(mutant.len());
            mutant[at] ^= 1 << dice.below(8);
            agree(level, &mutant, input, &signature);
        }
    }
}

/// Not even the shape of a signature: random bytes, with hints that are sometimes well formed.
#[test]
fn verdicts_on_noise() {
    for level in LEVELS {
        let mut dice = Dice::new(&format!("noise {level}"));
        let shape = shape(level);
        let (public, _, input) = signed(level, &mut dice);
        for round in 0..MUTANTS / 3 {
            let mut noise = dice.bytes(shape.signature);
            if round % 2 == 0 {
                noise[shape.signature - shape.omega - shape.k..].fill(0);
            }
            let public = if round % 3 == 0 { dice.bytes(shape.public_key) } else { public.clone() };
            agree(level, &public, input, &noise);
        }
    }
}

/// Everybody gives the same verdict; it.
#[track_caller]
fn agree(level: Level, public: &[u8], input: Input<'_>, signature: &[u8]) -> bool {
    let ours = Sealstone.verify(level, public, input, signature);
    assert!(!matches!(ours, Err(Trouble::Contradiction(_) | Trouble::NoDoor)), "{ours:?}");
    for peer in PEERS {
        let theirs = peer.verify(level, public, input, signature);
        assert_eq!(ours.is_ok(), theirs.is_ok(), "{}: {level} {input:?}", peer.name());
    }
    ours.is_ok()
}

fn signed(level: Level, dice: &mut Dice) -> (Vec<u8>, Vec<u8>, Input<'static>) {
    let input = Input::Pure { context: b"differential", message: b"the same question to three" };
    let seed: [u8; 32] = dice.array();
    let (public, expanded) = Sealstone.keygen(level, &seed).unwrap();
    let signature = Sealstone.sign(level, Secret::Expanded(&expanded), input, &dice.array()).unwrap();
    (public, signature, input)
}

/// One of the alterations that decoders get wrong: bits anywhere, bytes of z at their ends, and the hint.
fn mutate(level: Level, dice: &mut Dice, signature: &mut [u8]) {
    let shape = shape(level);
    let len = signature.len();
    let hint = len - shape.omega - shape.k;
    match dice.below(8) {
        0 => signature[dice.below(shape.c_tilde)] ^= 1 << dice.below(8),
        1 => {
            let at = shape.c_tilde + dice.below(hint - shape.c_tilde - 3);
            let value = [0, 0xff][dice.below(2)];
            signature[at..at + 3].fill(value);
        }
        2 => signature[shape.c_tilde + dice.below(hint - shape.c_tilde)] ^= 1 << dice.below(8),
        3 => signature[hint + dice.below(shape.omega)] ^= 1 << dice.below(8),
        4 => {
            let at = hint + dice.below(shape.omega - 1);
            signature.swap(at, at + 1);
            signature[at] ^= u8::from(dice.below(4) == 0);
        }
        5 => {
            let at = hint + dice.below(shape.omega - 1);
            signature[at + 1] = signature[at];
        }
        6 => {
            let at = hint + shape.omega + dice.below(shape.k);
            signature[at] = dice.array::<1>()[0];
        }
        _ => {
            let at = hint + shape.omega + dice.below(shape.k);
            signature[at] = signature[at].wrapping_add([1, 255][dice.below(2)]);
        }
    }
}

fn bytes_up_to(dice: &mut Dice, most: usize) -> Vec<u8> {
    let len = dice.below(most + 1);
    dice.bytes(len)
}
