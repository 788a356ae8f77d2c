//! The classical halves: keys in the encoding of the drafts, and signatures of M'.

use aws_lc_rs::agreement;
use aws_lc_rs::encoding::{AsBigEndian as _, AsDer as _};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, ParsedPublicKey, RsaEncoding,
    RsaKeyPair, RsaParameters, VerificationAlgorithm,
};
use ed448_goldilocks as ed448;
use sealstone_mldsa::{OsRandom, Randomness as _};
use zeroize::Zeroizing;

use crate::algorithm::{Classical, Curve, Modulus, Padding};

/// A half that signs. The library wipes what it holds.
pub(crate) enum Signer {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Ed448(Box<ed448::SigningKey>),
    Rsa(Box<RsaKeyPair>, Modulus, Padding),
}

/// A half that verifies.
pub(crate) enum Verifier {
    Library(ParsedPublicKey),
    Ed448(Box<ed448::VerifyingKey>),
}

/// A new private key, encoded. `None` without randomness.
pub(crate) fn generate(classical: Classical) -> Option<Zeroizing<Vec<u8>>> {
    let curve = match classical {
        Classical::Ec(curve) => curve,
        Classical::Ed25519 => return random(32),
        Classical::Ed448 => return random(57),
        Classical::Rsa(modulus, _) => return rsa(&RsaKeyPair::generate(modulus.size()).ok()?),
    };
    let pair = EcdsaKeyPair::generate(curve.signing()).ok()?;
    let scalar = pair.private_key().as_be_bytes().ok()?;
    let (before, behind) = curve.around_secret();
    Some(Zeroizing::new([before, scalar.as_ref(), behind].concat()))
}

/// The RSAPrivateKey (RFC 8017 §A.1.2) of a key, out of the PKCS#8 that the library makes.
fn rsa(pair: &RsaKeyPair) -> Option<Zeroizing<Vec<u8>>> {
    let pkcs8 = pair.as_der().ok()?;
    // SEQUENCE with a length of two bytes, version, rsaEncryption with NULL, OCTET STRING with a length of two bytes.
    let (head, key) = pkcs8.as_ref().split_at_checked(26)?;
    (head.get(22..24)? == [0x04, 0x82]).then(|| Zeroizing::new(key.to_vec()))
}

fn random(len: usize) -> Option<Zeroizing<Vec<u8>>> {
    let mut secret = Zeroizing::new(vec![0; len]);
    OsRandom.fill(&mut secret).ok()?;
    Some(secret)
}

impl Signer {
    /// Of a private key of the right length; the public half, encoded, beside it. `None` for what is no key.
    pub(crate) fn new(classical: Classical, secret: &[u8]) -> Option<(Self, Vec<u8>)> {
        match classical {
            Classical::Ec(curve) => {
                let (before, behind) = curve.around_secret();
                let scalar = secret.strip_prefix(before)?.strip_suffix(behind)?;
                let private = agreement::PrivateKey::from_private_key(curve.agreement(), scalar).ok()?;
                let point = private.compute_public_key().ok()?.as_ref().to_vec();
                let pair =
                    EcdsaKeyPair::from_private_key_and_public_key(curve.signing(), scalar, &point).ok()?;
                Some((Self::Ecdsa(pair), point))
            }
            Classical::Ed25519 => {
                let pair = Ed25519KeyPair::from_seed_unchecked(secret).ok()?;
                let public = pair.public_key().as_ref().to_vec();
                Some((Self::Ed25519(pair), public))
            }
            Classical::Ed448 => {
                let key = Box::new(ed448::SigningKey::try_from(secret).ok()?);
                let public = key.verifying_key().to_bytes().to_vec();
                Some((Self::Ed448(key), public))
            }
            // The library checks that the numbers belong together, and takes what stands behind them: a key is written in one way.
            // The public key's shape is checked by who reads it.
            Classical::Rsa(modulus, padding) => {
                let pair = Box::new(RsaKeyPair::from_der(secret).ok()?);
                if rsa(&pair)?.as_slice() != secret {
                    return None;
                }
                let public = pair.public_key().as_ref().to_vec();
                Some((Self::Rsa(pair, modulus, padding), public))
            }
        }
    }

    /// ECDSA: DER. `None` without randomness.
    pub(crate) fn sign(&self, m: &[u8]) -> Option<Vec<u8>> {
        Some(match self {
            Self::Ecdsa(pair) => pair.sign(&SystemRandom::new(), m).ok()?.as_ref().to_vec(),
            Self::Ed25519(pair) => pair.try_sign(m).ok()?.as_ref().to_vec(),
            Self::Ed448(key) => key.sign_raw(m).to_bytes().to_vec(),
            Self::Rsa(pair, modulus, padding) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(modulus.signing(*padding), &SystemRandom::new(), m, &mut signature).ok()?;
                signature
            }
        })
    }
}

impl Verifier {
    /// Of a public key of the right length. `None` for what is no key.
    pub(crate) fn new(classical: Classical, public: &[u8]) -> Option<Self> {
        let parsed = |algorithm: &'static dyn VerificationAlgorithm| {
            ParsedPublicKey::new(algorithm, public).ok().map(Self::Library)
        };
        match classical {
            // The length leaves two readings of the first byte: 04, and the hybrid form 06 or 07.
            Classical::Ec(_) if public.first() != Some(&0x04) => None,
            Classical::Ec(curve) => parsed(curve.verifying()),
            Classical::Ed25519 => parsed(&signature::ED25519),
            Classical::Ed448 => {
                let key = ed448::VerifyingKey::from_bytes(public.try_into().ok()?).ok()?;
                Some(Self::Ed448(Box::new(key)))
            }
            // One exponent, and a modulus of all its bits: so a key is written in one way.
            Classical::Rsa(modulus, padding) => {
                let (before, behind) = modulus.around_public();
                let number = public.strip_prefix(before)?.strip_suffix(behind)?;
                if number.len() != modulus.len() || number.first().is_none_or(|first| *first < 0x80) {
                    return None;
                }
                parsed(modulus.verifying(padding))
            }
        }
    }

    pub(crate) fn verifies(&self, m: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Library(key) => key.verify_sig(m, signature).is_ok(),
            Self::Ed448(key) => ed448::Signature::try_from(signature)
                .is_ok_and(|signature| key.verify_raw(&signature, m).is_ok()),
        }
    }
}

/// The curve's algorithms in the library: signatures in DER, RFC 3279, 2.2.3.
impl Curve {
    const fn signing(self) -> &'static EcdsaSigningAlgorithm {
        match self {
            Self::P256 => &signature::ECDSA_P256_SHA256_ASN1_SIGNING,
            Self::P384 => &signature::ECDSA_P384_SHA384_ASN1_SIGNING,
            Self::P521 => &signature::ECDSA_P521_SHA512_ASN1_SIGNING,
        }
    }

    fn verifying(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Self::P256 => &signature::ECDSA_P256_SHA256_ASN1,
            Self::P384 => &signature::ECDSA_P384_SHA384_ASN1,
            Self::P521 => &signature::ECDSA_P521_SHA512_ASN1,
        }
    }

    /// Only to compute the public point of a scalar.
    const fn agreement(self) -> &'static agreement::Algorithm {
        match self {
            Self::P256 => &agreement::ECDH_P256,
            Self::P384 => &agreement::ECDH_P384,
            Self::P521 => &agreement::ECDH_P521,
        }
    }
}

/// What signs and checks with a modulus of this size: SHA-256, and SHA-384 with 4096 bits.
impl Modulus {
    const fn size(self) -> KeySize {
        match self {
            Self::Rsa2048 => KeySize::Rsa2048,
            Self::Rsa3072 => KeySize::Rsa3072,
            Self::Rsa4096 => KeySize::Rsa4096,
        }
    }

    fn signing(self, padding: Padding) -> &'static dyn RsaEncoding {
        match (self, padding) {
            (Self::Rsa2048 | Self::Rsa3072, Padding::Pss) => &signature::RSA_PSS_SHA256,
            (Self::Rsa2048 | Self::Rsa3072, Padding::Pkcs15) => &signature::RSA_PKCS1_SHA256,
            (Self::Rsa4096, Padding::Pss) => &signature::RSA_PSS_SHA384,
            (Self::Rsa4096, Padding::Pkcs15) => &signature::RSA_PKCS1_SHA384,
        }
    }

    const fn verifying(self, padding: Padding) -> &'static RsaParameters {
        match (self, padding) {
            (Self::Rsa2048 | Self::Rsa3072, Padding::Pss) => &signature::RSA_PSS_2048_8192_SHA256,
            (Self::Rsa2048 | Self::Rsa3072, Padding::Pkcs15) => &signature::RSA_PKCS1_2048_8192_SHA256,
            (Self::Rsa4096, Padding::Pss) => &signature::RSA_PSS_2048_8192_SHA384,
            (Self::Rsa4096, Padding::Pkcs15) => &signature::RSA_PKCS1_2048_8192_SHA384,
        }
    }
}
