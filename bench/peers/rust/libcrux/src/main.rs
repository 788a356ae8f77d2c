//! libcrux as a rival: keys and signatures as bytes, AVX2 where the processor has it. It has no live keys.

use libcrux_ml_dsa::{ml_dsa_44, ml_dsa_65, ml_dsa_87};
use line::{Message, Rival};

fn main() {
    line::answer(
        "libcrux-ml-dsa 0.0.11, simd256",
        &[
            ("44", || Box::new(Level44(ml_dsa_44::generate_key_pair([0; 32])))),
            ("65", || Box::new(Level65(ml_dsa_65::generate_key_pair([0; 32])))),
            ("87", || Box::new(Level87(ml_dsa_87::generate_key_pair([0; 32])))),
        ],
    );
}

macro_rules! level {
    ($name:ident, $module:ident, $pair:ident, $signature:ident) => {
        struct $name($module::$pair);

        impl Rival for $name {
            fn keygen(&self, seed: &[u8; 32]) {
                std::hint::black_box($module::generate_key_pair(*seed));
            }

            fn public_key(&self) -> Vec<u8> {
                self.0.verification_key.as_ref().to_vec()
            }

            fn sign(&self, message: &Message) -> Vec<u8> {
                let signature = $module::sign(&self.0.signing_key, message, b"", line::random());
                signature.expect("signing").as_ref().to_vec()
            }

            fn verify(&self, message: &Message, signature: &[u8]) -> bool {
                let signature = $module::$signature::new(signature.try_into().expect("its own signature"));
                $module::verify(&self.0.verification_key, message, b"", &signature).is_ok()
            }
        }
    };
}

level!(Level44, ml_dsa_44, MLDSA44KeyPair, MLDSA44Signature);
level!(Level65, ml_dsa_65, MLDSA65KeyPair, MLDSA65Signature);
level!(Level87, ml_dsa_87, MLDSA87KeyPair, MLDSA87Signature);
