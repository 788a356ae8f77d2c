//! ml-dsa (RustCrypto) as a rival. Its live keys hold the matrix; encoding and decoding of signatures are timed with it.

use line::{Message, Rival};
use ml_dsa::{
    EncodedVerifyingKey, ExpandedSigningKey, ExpandedSigningKeyBytes, MlDsa44, MlDsa65, MlDsa87, MlDsaParams,
    Signature, SigningKey, VerifyingKey,
};

fn main() {
    line::answer(
        "ml-dsa 0.1.2",
        &[
            ("44", || Box::new(Level::<MlDsa44>::new())),
            ("65", || Box::new(Level::<MlDsa65>::new())),
            ("87", || Box::new(Level::<MlDsa87>::new())),
        ],
    );
}

struct Level<P: MlDsaParams> {
    public_bytes: EncodedVerifyingKey<P>,
    private_bytes: ExpandedSigningKeyBytes<P>,
    public: VerifyingKey<P>,
    private: ExpandedSigningKey<P>,
}

impl<P: MlDsaParams> Level<P> {
    #[allow(deprecated, reason = "the private key's bytes are what the other rivals read, too")]
    fn new() -> Self {
        let private = ExpandedSigningKey::from_seed(&[0; 32].into());
        let public = private.verifying_key();
        Self { public_bytes: public.encode(), private_bytes: private.to_expanded(), public, private }
    }
}

fn sign<P: MlDsaParams>(private: &ExpandedSigningKey<P>, message: &Message) -> Vec<u8> {
    // M' of an empty context: two zero bytes, then the message.
    private.sign_internal(&[&[0, 0], message], &line::random().into()).encode().to_vec()
}

fn verify<P: MlDsaParams>(public: &VerifyingKey<P>, message: &Message, signature: &[u8]) -> bool {
    let signature = signature.try_into().ok().and_then(|bytes| Signature::<P>::decode(bytes));
    signature.is_some_and(|signature| public.verify_with_context(message, &[], &signature))
}

impl<P: MlDsaParams> Rival for Level<P> {
    fn keygen(&self, seed: &[u8; 32]) {
        std::hint::black_box(SigningKey::<P>::from_seed(&(*seed).into()));
    }

    fn public_key(&self) -> Vec<u8> {
        self.public_bytes.to_vec()
    }

    #[allow(deprecated, reason = "as above")]
    fn sign(&self, message: &Message) -> Vec<u8> {
        sign(&ExpandedSigningKey::<P>::from_expanded(&self.private_bytes), message)
    }

    fn sign_live(&self, message: &Message) -> Option<Vec<u8>> {
        Some(sign(&self.private, message))
    }

    fn verify(&self, message: &Message, signature: &[u8]) -> bool {
        verify(&VerifyingKey::<P>::decode(&self.public_bytes), message, signature)
    }

    fn verify_live(&self, message: &Message, signature: &[u8]) -> Option<bool> {
        Some(verify(&self.public, message, signature))
    }
}
