//! Six other implementations behind one door.

use aws_lc_rs::signature as aws;
use aws_lc_rs::signature::KeyPair as _;
use fips204::traits::{KeyGen as _, SerDes as _, Verifier as _};
use ml_dsa::{B32, EncodedSignature, EncodedVerifyingKey, MlDsaParams};
use pqcrypto_traits::sign::{DetachedSignature as _, PublicKey as _};
use sealstone_mldsa::Level;

/// A question.
pub struct Case {
    pub level: Level,
    pub seed: [u8; 32],
    pub rnd: [u8; 32],
    pub context: Vec<u8>,
    pub message: Vec<u8>,
}

/// An implementation.
pub trait Peer {
    fn name(&self) -> &'static str;
    /// The public key, and the signature with this rnd where it can be told one.
    fn make(&self, case: &Case) -> (Vec<u8>, Option<Vec<u8>>);
    /// The verdict on another message under the case's context; `None` where it takes no context.
    fn verify(&self, case: &Case, message: &[u8], public: &[u8], signature: &[u8]) -> Option<bool>;
}

/// Asked in every case.
pub const FAST: [&dyn Peer; 2] = [&crate::native::Native, &Libcrux];
/// Asked in one case of 97.
pub const RARE: [&dyn Peer; 4] = [&AwsLc, &Fips204, &RustCrypto, &PqClean];

/// Our verdict on a signature that another made of a case's message, under the context of the first.
fn ours_verifies(context: &Case, case: &Case, public: &[u8], signature: &[u8]) -> bool {
    let (message, public, signature) = (case.message.clone(), public.to_vec(), signature.to_vec());
    crate::ours::verifies(context, &crate::Altered { message, public, signature })
}

struct AwsLc;

impl Peer for AwsLc {
    fn name(&self) -> &'static str {
        "aws-lc-rs 1.19.0"
    }

    /// It draws rnd itself; its signature is good or the case ends here.
    fn make(&self, case: &Case) -> (Vec<u8>, Option<Vec<u8>>) {
        let algorithm = match case.level {
            Level::MlDsa44 => &aws::ML_DSA_44_SIGNING,
            Level::MlDsa65 => &aws::ML_DSA_65_SIGNING,
            Level::MlDsa87 => &aws::ML_DSA_87_SIGNING,
        };
        let pair = aws::PqdsaKeyPair::from_seed(algorithm, &case.seed).expect("a seed of 32 bytes");
        let public = pair.public_key().as_ref().to_vec();
        let mut signature = vec![0; case.level.signature_len()];
        pair.sign(&case.message, &mut signature).expect("signs");
        let empty = Case { context: Vec::new(), message: Vec::new(), ..*case };
        assert!(ours_verifies(&empty, case, &public, &signature), "a signature of aws-lc-rs is refused");
        (public, None)
    }

    fn verify(&self, case: &Case, message: &[u8], public: &[u8], signature: &[u8]) -> Option<bool> {
        let algorithm: &'static dyn aws::VerificationAlgorithm = match case.level {
            Level::MlDsa44 => &aws::ML_DSA_44,
            Level::MlDsa65 => &aws::ML_DSA_65,
            Level::MlDsa87 => &aws::ML_DSA_87,
        };
        let verdict = || aws::UnparsedPublicKey::new(algorithm, public).verify(message, signature).is_ok();
        case.context.is_empty().then(verdict)
    }
}

/// An expression at the module of a level.
macro_rules! at {
    ($level:expr, $crate_:ident, [$a:ident, $b:ident, $c:ident], $module:ident => $value:expr) => {
        match $level {
            Level::MlDsa44 => {
                use $crate_::$a as $module;
                $value
            }
            Level::MlDsa65 => {
                use $crate_::$b as $module;
                $value
            }
            Level::MlDsa87 => {
                use $crate_::$c as $module;
                $value
            }
        }
    };
}

struct Libcrux;

impl Peer for Libcrux {
    fn name(&self) -> &'static str {
        "libcrux-ml-dsa 0.0.11 (AVX2)"
    }

    fn make(&self, case: &Case) -> (Vec<u8>, Option<Vec<u8>>) {
        at!(case.level, libcrux_ml_dsa, [ml_dsa_44, ml_dsa_65, ml_dsa_87], module => {
            let pair = module::generate_key_pair(case.seed);
            let signature = module::sign(&pair.signing_key, &case.message, &case.context, case.rnd).expect("signs");
            (pair.verification_key.as_ref().to_vec(), Some(signature.as_ref().to_vec()))
        })
    }

    fn verify(&self, case: &Case, message: &[u8], public: &[u8], signature: &[u8]) -> Option<bool> {
        macro_rules! with {
            ($module:ident, $key:ident, $signature:ident) => {{
                let key = libcrux_ml_dsa::$module::$key::new(public.try_into().expect("length"));
                let signature =
                    libcrux_ml_dsa::$module::$signature::new(signature.try_into().expect("length"));
                libcrux_ml_dsa::$module::verify(&key, message, &case.context, &signature).is_ok()
            }};
        }
        Some(match case.level {
            Level::MlDsa44 => with!(ml_dsa_44, MLDSA44VerificationKey, MLDSA44Signature),
            Level::MlDsa65 => with!(ml_dsa_65, MLDSA65VerificationKey, MLDSA65Signature),
            Level::MlDsa87 => with!(ml_dsa_87, MLDSA87VerificationKey, MLDSA87Signature),
        })
    }
}

struct Fips204;

impl Peer for Fips204 {
    fn name(&self) -> &'static str {
        "fips204 0.5.0"
    }

    fn make(&self, case: &Case) -> (Vec<u8>, Option<Vec<u8>>) {
        use fips204::traits::Signer as _;
        at!(case.level, fips204, [ml_dsa_44, ml_dsa_65, ml_dsa_87], module => {
            let (public, private) = module::KG::keygen_from_seed(&case.seed);
            let signature = private.try_sign_with_seed(&case.rnd, &case.message, &case.context).expect("signs");
            (public.into_bytes().to_vec(), Some(signature.to_vec()))
        })
    }

    fn verify(&self, case: &Case, message: &[u8], public: &[u8], signature: &[u8]) -> Option<bool> {
        Some(at!(case.level, fips204, [ml_dsa_44, ml_dsa_65, ml_dsa_87], module => {
            let key = module::PublicKey::try_from_bytes(public.try_into().expect("length")).expect("any bytes are a key");
            key.verify(message, &signature.try_into().expect("length"), &case.context)
        }))
    }
}

struct RustCrypto;

/// M' of the external interface, which its internal one takes.
fn formatted(case: &Case, message: &[u8]) -> Vec<u8> {
    [&[0, case.context.len() as u8], &case.context[..], message].concat()
}

impl Peer for RustCrypto {
    fn name(&self) -> &'static str {
        "ml-dsa 0.1.2"
    }

    fn make(&self, case: &Case) -> (Vec<u8>, Option<Vec<u8>>) {
        fn of<P: MlDsaParams>(case: &Case) -> (Vec<u8>, Option<Vec<u8>>) {
            let key = ml_dsa::ExpandedSigningKey::<P>::from_seed(&B32::from(case.seed));
            let signature =
                key.sign_internal(&[&formatted(case, &case.message)], &B32::from(case.rnd)).encode().to_vec();
            (key.verifying_key().encode().to_vec(), Some(signature))
        }
        match case.level {
            Level::MlDsa44 => of::<ml_dsa::MlDsa44>(case),
            Level::MlDsa65 => of::<ml_dsa::MlDsa65>(case),
            Level::MlDsa87 => of::<ml_dsa::MlDsa87>(case),
        }
    }

    fn verify(&self, case: &Case, message: &[u8], public: &[u8], signature: &[u8]) -> Option<bool> {
        fn of<P: MlDsaParams>(case: &Case, message: &[u8], public: &[u8], signature: &[u8]) -> bool {
            let key = EncodedVerifyingKey::<P>::try_from(public).expect("length");
            let signature = EncodedSignature::<P>::try_from(signature).expect("length");
            let key = ml_dsa::VerifyingKey::<P>::decode(&key);
            ml_dsa::Signature::<P>::decode(&signature)
                .is_some_and(|signature| key.verify_internal(&formatted(case, message), &signature))
        }
        Some(match case.level {
            Level::MlDsa44 => of::<ml_dsa::MlDsa44>(case, message, public, signature),
            Level::MlDsa65 => of::<ml_dsa::MlDsa65>(case, message, public, signature),
            Level::MlDsa87 => of::<ml_dsa::MlDsa87>(case, message, public, signature),
        })
    }
}

struct PqClean;

impl Peer for PqClean {
    fn name(&self) -> &'static str {
        "pqcrypto-mldsa 0.1.2"
    }

    /// It takes no seed: its own key signs, and its signature is good or the case ends here.
    fn make(&self, case: &Case) -> (Vec<u8>, Option<Vec<u8>>) {
        at!(case.level, pqcrypto_mldsa, [mldsa44, mldsa65, mldsa87], module => {
            let (public, private) = module::keypair();
            let signature = module::detached_sign_ctx(&case.message, &case.context, &private);
            let good = ours_verifies(case, case, public.as_bytes(), signature.as_bytes());
            assert!(good, "a signature of pqcrypto-mldsa is refused");
        });
        (Vec::new(), None)
    }

    fn verify(&self, case: &Case, message: &[u8], public: &[u8], signature: &[u8]) -> Option<bool> {
        Some(at!(case.level, pqcrypto_mldsa, [mldsa44, mldsa65, mldsa87], module => {
            let key = module::PublicKey::from_bytes(public).expect("length");
            let signature = module::DetachedSignature::from_bytes(signature).expect("length");
            module::verify_detached_signature_ctx(&signature, message, &case.context, &key).is_ok()
        }))
    }
}
