//! pqcrypto as a rival: PQClean's code, with AVX2 where the processor has it. Keys and signatures are bytes; it takes no
//! seed, and has no live keys.

use line::{Message, Rival};
use pqcrypto_mldsa::{mldsa44, mldsa65, mldsa87};
use pqcrypto_traits::sign::{DetachedSignature as _, PublicKey as _};

fn main() {
    line::answer(
        "pqcrypto-mldsa 0.1.2",
        &[
            ("44", || Box::new(Level44(mldsa44::keypair()))),
            ("65", || Box::new(Level65(mldsa65::keypair()))),
            ("87", || Box::new(Level87(mldsa87::keypair()))),
        ],
    );
}

macro_rules! level {
    ($name:ident, $module:ident) => {
        struct $name(($module::PublicKey, $module::SecretKey));

        impl Rival for $name {
            fn keygen(&self, _seed: &[u8; 32]) {
                std::hint::black_box($module::keypair());
            }

            fn public_key(&self) -> Vec<u8> {
                self.0.0.as_bytes().to_vec()
            }

            fn sign(&self, message: &Message) -> Vec<u8> {
                $module::detached_sign(message, &self.0.1).as_bytes().to_vec()
            }

            fn verify(&self, message: &Message, signature: &[u8]) -> bool {
                let signature = $module::DetachedSignature::from_bytes(signature).expect("its own signature");
                $module::verify_detached_signature(&signature, message, &self.0.0).is_ok()
            }
        }
    };
}

level!(Level44, mldsa44);
level!(Level65, mldsa65);
level!(Level87, mldsa87);
