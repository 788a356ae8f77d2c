//! aws-lc-rs as a rival: ML-DSA, and the signatures of before: P-256, P-384, Ed25519. Its ML-DSA key objects hold bytes and
//! not the matrix.

use aws_lc_rs::encoding::{AsBigEndian, AsRawBytes, EcPrivateKeyBin};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1,
    ECDSA_P384_SHA384_ASN1_SIGNING, ED25519, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair,
    ML_DSA_44, ML_DSA_44_SIGNING, ML_DSA_65, ML_DSA_65_SIGNING, ML_DSA_87, ML_DSA_87_SIGNING,
    ParsedPublicKey, PqdsaKeyPair, PqdsaSigningAlgorithm, UnparsedPublicKey, VerificationAlgorithm,
};
use line::{Message, Rival};

fn main() {
    line::answer(
        "aws-lc-rs 1.19.0",
        &[
            ("44", || Box::new(MlDsa::new(&ML_DSA_44_SIGNING, &ML_DSA_44))),
            ("65", || Box::new(MlDsa::new(&ML_DSA_65_SIGNING, &ML_DSA_65))),
            ("87", || Box::new(MlDsa::new(&ML_DSA_87_SIGNING, &ML_DSA_87))),
            ("P-256", || Box::new(Ecdsa::new(&ECDSA_P256_SHA256_ASN1_SIGNING, &ECDSA_P256_SHA256_ASN1))),
            ("P-384", || Box::new(Ecdsa::new(&ECDSA_P384_SHA384_ASN1_SIGNING, &ECDSA_P384_SHA384_ASN1))),
            ("Ed25519", || Box::new(Ed25519::new())),
        ],
    );
}

/// A public key in both forms.
struct Public {
    verification: &'static dyn VerificationAlgorithm,
    bytes: Vec<u8>,
    live: ParsedPublicKey,
}

impl Public {
    fn new<A: VerificationAlgorithm>(verification: &'static A, bytes: &[u8]) -> Self {
        let live = ParsedPublicKey::new(verification, bytes).expect("its own key");
        Self { verification, bytes: bytes.to_vec(), live }
    }

    fn verify(&self, message: &Message, signature: &[u8]) -> bool {
        UnparsedPublicKey::new(self.verification, &self.bytes).verify(message, signature).is_ok()
    }

    fn verify_live(&self, message: &Message, signature: &[u8]) -> Option<bool> {
        Some(self.live.verify_sig(message, signature).is_ok())
    }
}

struct MlDsa {
    signing: &'static PqdsaSigningAlgorithm,
    private_key: Vec<u8>,
    pair: PqdsaKeyPair,
    public: Public,
}

impl MlDsa {
    fn new<A: VerificationAlgorithm>(
        signing: &'static PqdsaSigningAlgorithm,
        verification: &'static A,
    ) -> Self {
        let pair = PqdsaKeyPair::from_seed(signing, &[0; 32]).expect("a seed has 32 bytes");
        let private_key = pair.private_key().as_raw_bytes().expect("its own key").as_ref().to_vec();
        let public = Public::new(verification, pair.public_key().as_ref());
        Self { signing, private_key, pair, public }
    }
}

fn sign(pair: &PqdsaKeyPair, message: &Message) -> Vec<u8> {
    let mut signature = vec![0; pair.algorithm().signature_len()];
    pair.sign(message, &mut signature).expect("signing");
    signature
}

impl Rival for MlDsa {
    fn keygen(&self, seed: &[u8; 32]) {
        std::hint::black_box(PqdsaKeyPair::from_seed(self.signing, seed).expect("a seed has 32 bytes"));
    }

    fn public_key(&self) -> Vec<u8> {
        self.public.bytes.clone()
    }

    fn sign(&self, message: &Message) -> Vec<u8> {
        let pair = PqdsaKeyPair::from_raw_private_key(self.signing, &self.private_key);
        sign(&pair.expect("its own key"), message)
    }

    fn sign_live(&self, message: &Message) -> Option<Vec<u8>> {
        Some(sign(&self.pair, message))
    }

    fn verify(&self, message: &Message, signature: &[u8]) -> bool {
        self.public.verify(message, signature)
    }

    fn verify_live(&self, message: &Message, signature: &[u8]) -> Option<bool> {
        self.public.verify_live(message, signature)
    }
}

struct Ecdsa {
    signing: &'static EcdsaSigningAlgorithm,
    private_key: Vec<u8>,
    pair: EcdsaKeyPair,
    public: Public,
    random: SystemRandom,
}

impl Ecdsa {
    fn new<A: VerificationAlgorithm>(
        signing: &'static EcdsaSigningAlgorithm,
        verification: &'static A,
    ) -> Self {
        let pair = EcdsaKeyPair::generate(signing).expect("key generation");
        let bytes: EcPrivateKeyBin<'_> = pair.private_key().as_be_bytes().expect("its own key");
        let private_key = bytes.as_ref().to_vec();
        let public = Public::new(verification, pair.public_key().as_ref());
        Self { signing, private_key, pair, public, random: SystemRandom::new() }
    }
}

impl Rival for Ecdsa {
    fn keygen(&self, _seed: &[u8; 32]) {
        std::hint::black_box(EcdsaKeyPair::generate(self.signing).expect("key generation"));
    }

    fn public_key(&self) -> Vec<u8> {
        self.public.bytes.clone()
    }

    fn sign(&self, message: &Message) -> Vec<u8> {
        let pair = EcdsaKeyPair::from_private_key_and_public_key(
            self.signing,
            &self.private_key,
            &self.public.bytes,
        );
        pair.expect("its own key").sign(&self.random, message).expect("signing").as_ref().to_vec()
    }

    fn sign_live(&self, message: &Message) -> Option<Vec<u8>> {
        Some(self.pair.sign(&self.random, message).expect("signing").as_ref().to_vec())
    }

    fn verify(&self, message: &Message, signature: &[u8]) -> bool {
        self.public.verify(message, signature)
    }

    fn verify_live(&self, message: &Message, signature: &[u8]) -> Option<bool> {
        self.public.verify_live(message, signature)
    }
}

struct Ed25519 {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
    public: Public,
}

impl Ed25519 {
    fn new() -> Self {
        let seed = line::random();
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).expect("a seed has 32 bytes");
        let public = Public::new(&ED25519, pair.public_key().as_ref());
        Self { seed, pair, public }
    }
}

impl Rival for Ed25519 {
    fn keygen(&self, seed: &[u8; 32]) {
        std::hint::black_box(Ed25519KeyPair::from_seed_unchecked(seed).expect("a seed has 32 bytes"));
    }

    fn public_key(&self) -> Vec<u8> {
        self.public.bytes.clone()
    }

    fn sign(&self, message: &Message) -> Vec<u8> {
        let pair = Ed25519KeyPair::from_seed_and_public_key(&self.seed, &self.public.bytes);
        pair.expect("its own key").sign(message).as_ref().to_vec()
    }

    fn sign_live(&self, message: &Message) -> Option<Vec<u8>> {
        Some(self.pair.sign(message).as_ref().to_vec())
    }

    fn verify(&self, message: &Message, signature: &[u8]) -> bool {
        self.public.verify(message, signature)
    }

    fn verify_live(&self, message: &Message, signature: &[u8]) -> Option<bool> {
        self.public.verify_live(message, signature)
    }
}
