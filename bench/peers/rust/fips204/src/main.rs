//! fips204 as a rival. Its live keys hold the transformed vectors and not the matrix.

use fips204::traits::{KeyGen, SerDes, Signer, Verifier};
use fips204::{ml_dsa_44, ml_dsa_65, ml_dsa_87};
use line::{Message, Rival};

fn main() {
    line::answer(
        "fips204 0.5.0",
        &[
            ("44", || Box::new(Level44::new())),
            ("65", || Box::new(Level65::new())),
            ("87", || Box::new(Level87::new())),
        ],
    );
}

macro_rules! level {
    ($name:ident, $module:ident) => {
        struct $name {
            public_bytes: [u8; $module::PK_LEN],
            private_bytes: [u8; $module::SK_LEN],
            public: $module::PublicKey,
            private: $module::PrivateKey,
        }

        impl $name {
            fn new() -> Self {
                let (public, private) = $module::KG::keygen_from_seed(&[0; 32]);
                let (public_bytes, private_bytes) =
                    (public.clone().into_bytes(), private.clone().into_bytes());
                Self { public_bytes, private_bytes, public, private }
            }
        }

        impl Rival for $name {
            fn keygen(&self, seed: &[u8; 32]) {
                std::hint::black_box($module::KG::keygen_from_seed(seed));
            }

            fn public_key(&self) -> Vec<u8> {
                self.public_bytes.to_vec()
            }

            fn sign(&self, message: &Message) -> Vec<u8> {
                let private = $module::PrivateKey::try_from_bytes(self.private_bytes).expect("its own key");
                private.try_sign_with_seed(&line::random(), message, &[]).expect("signing").to_vec()
            }

            fn sign_live(&self, message: &Message) -> Option<Vec<u8>> {
                Some(
                    self.private.try_sign_with_seed(&line::random(), message, &[]).expect("signing").to_vec(),
                )
            }

            fn verify(&self, message: &Message, signature: &[u8]) -> bool {
                let public = $module::PublicKey::try_from_bytes(self.public_bytes).expect("its own key");
                public.verify(message, signature.try_into().expect("its own signature"), &[])
            }

            fn verify_live(&self, message: &Message, signature: &[u8]) -> Option<bool> {
                Some(self.public.verify(message, signature.try_into().expect("its own signature"), &[]))
            }
        }
    };
}

level!(Level44, ml_dsa_44);
level!(Level65, ml_dsa_65);
level!(Level87, ml_dsa_87);
