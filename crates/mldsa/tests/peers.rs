//! Two implementations that share no code with ours, behind the same door.

use fips204::traits::{KeyGen, SerDes};
use fips204::{CryptoRng, RngCore, RngError};
use ml_dsa::{
    B32, EncodedSignature, EncodedVerifyingKey, ExpandedSigningKey, MlDsaParams, Signature, VerifyingKey,
};
use sealstone_mldsa::{Error, Level};

use crate::vectors::oracle;
use crate::vectors::shape::shape;
use crate::vectors::subject::{Input, Secret, Subject, Trouble, whole_mu};

/// The crate fips204 0.5.0.
pub struct Fips204;

macro_rules! fips204_at {
    ($level:expr, $module:ident => $value:expr) => {
        match $level {
            Level::MlDsa44 => {
                use fips204::ml_dsa_44 as $module;
                $value
            }
            Level::MlDsa65 => {
                use fips204::ml_dsa_65 as $module;
                $value
            }
            Level::MlDsa87 => {
                use fips204::ml_dsa_87 as $module;
                $value
            }
        }
    };
}

impl Subject for Fips204 {
    fn name(&self) -> String {
        "fips204 0.5.0".to_owned()
    }

    fn keygen(&self, level: Level, seed: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Trouble> {
        let seed = exact(seed)?;
        fips204_at!(level, module => {
            let (public, private) = module::KG::keygen_from_seed(&seed);
            Ok((public.into_bytes().to_vec(), private.into_bytes().to_vec()))
        })
    }

    fn public_of(&self, _: Level, _: &[u8]) -> Result<Vec<u8>, Trouble> {
        Err(Trouble::NoDoor)
    }

    #[allow(deprecated, reason = "its door for the internal interface")]
    fn sign(
        &self,
        level: Level,
        secret: Secret<'_>,
        input: Input<'_>,
        rnd: &[u8; 32],
    ) -> Result<Vec<u8>, Trouble> {
        let bytes = match secret {
            Secret::Seed(seed) => self.keygen(level, seed)?.1,
            Secret::Expanded(bytes) => bytes.to_vec(),
        };
        fips204_at!(level, module => {
            let key = module::PrivateKey::try_from_bytes(exact(&bytes)?).map_err(|_| Error::BadKey)?;
            let signature = match formatted(input)? {
                Formatted::MPrime(bytes) => key.sign_internal(&mut Given(*rnd), &bytes, true),
                Formatted::Mu(mu) => key.sign_mu(&mut Given(*rnd), &mu, true),
            };
            Ok(signature.map_err(|_| Error::AttemptsExhausted)?.to_vec())
        })
    }

    #[allow(deprecated, reason = "its door for the internal interface")]
    fn verify(&self, level: Level, public: &[u8], input: Input<'_>, signature: &[u8]) -> Result<(), Trouble> {
        fips204_at!(level, module => {
            let key = module::PublicKey::try_from_bytes(exact(public)?).map_err(|_| Error::BadKey)?;
            let good = match formatted(input)? {
                Formatted::MPrime(bytes) => key.verify_internal(&bytes, &exact(signature)?),
                Formatted::Mu(mu) => key.verify_mu(&mu, &exact(signature)?),
            };
            verdict(good)
        })
    }

    fn round(&self, _: Level, _: &[u8; 32]) -> Result<(Vec<u8>, Vec<u8>), Trouble> {
        Err(Trouble::NoDoor)
    }

    fn mu(&self, _: Level, _: &[u8], _: Input<'_>) -> Result<[u8; 64], Trouble> {
        Err(Trouble::NoDoor)
    }

    fn field_lines(&self, _: u32) -> Result<[[i32; 12]; 256], Trouble> {
        Err(Trouble::NoDoor)
    }
}

/// The crate ml-dsa 0.1.2 (RustCrypto).
pub struct RustCrypto;

macro_rules! rust_crypto_at {
    ($level:expr, $function:ident($($argument:expr),*)) => {
        match $level {
            Level::MlDsa44 => $function::<ml_dsa::MlDsa44>($($argument),*),
            Level::MlDsa65 => $function::<ml_dsa::MlDsa65>($($argument),*),
            Level::MlDsa87 => $function::<ml_dsa::MlDsa87>($($argument),*),
        }
    };
}

impl Subject for RustCrypto {
    fn name(&self) -> String {
        "ml-dsa 0.1.2".to_owned()
    }

    fn keygen(&self, level: Level, seed: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Trouble> {
        #[allow(deprecated, reason = "the expanded form is compared")]
        fn at<P: MlDsaParams>(seed: &B32) -> (Vec<u8>, Vec<u8>) {
            let key = ExpandedSigningKey::<P>::from_seed(seed);
            (key.verifying_key().encode().to_vec(), key.to_expanded().to_vec())
        }
        let seed = B32::from(exact::<32>(seed)?);
        Ok(rust_crypto_at!(level, at(&seed)))
    }

    fn public_of(&self, _: Level, _: &[u8]) -> Result<Vec<u8>, Trouble> {
        Err(Trouble::NoDoor)
    }

    fn sign(
        &self,
        level: Level,
        secret: Secret<'_>,
        input: Input<'_>,
        rnd: &[u8; 32],
    ) -> Result<Vec<u8>, Trouble> {
        fn at<P: MlDsaParams>(seed: &B32, formatted: &[u8], rnd: &B32) -> Vec<u8> {
            ExpandedSigningKey::<P>::from_seed(seed).sign_internal(&[formatted], rnd).encode().to_vec()
        }
        let (Secret::Seed(seed), Formatted::MPrime(formatted)) = (secret, formatted(input)?) else {
            return Err(Trouble::NoDoor);
        };
        let (seed, rnd) = (B32::from(exact::<32>(seed)?), B32::from(*rnd));
        Ok(rust_crypto_at!(level, at(&seed, &formatted, &rnd)))
    }

    fn verify(&self, level: Level, public: &[u8], input: Input<'_>, signature: &[u8]) -> Result<(), Trouble> {
        fn at<P: MlDsaParams>(public: &[u8], formatted: &Formatted, signature: &[u8]) -> Result<(), Trouble> {
            let wrong = |_| Error::BadSignature;
            let key = EncodedVerifyingKey::<P>::try_from(public).map_err(wrong)?;
            let key = VerifyingKey::<P>::decode(&key);
            let bytes = EncodedSignature::<P>::try_from(signature).map_err(wrong)?;
            let signature = Signature::<P>::decode(&bytes).ok_or(Error::BadSignature)?;
            verdict(match formatted {
                Formatted::MPrime(bytes) => key.verify_internal(bytes, &signature),
                Formatted::Mu(mu) => key.verify_mu(&(*mu).into(), &signature),
            })
        }
        if public.len() != shape(level).public_key || signature.len() != shape(level).signature {
            return Err(Trouble::Refused(Error::BadSignature));
        }
        let formatted = formatted(input)?;
        rust_crypto_at!(level, at(public, &formatted, signature))
    }

    fn round(&self, _: Level, _: &[u8; 32]) -> Result<(Vec<u8>, Vec<u8>), Trouble> {
        Err(Trouble::NoDoor)
    }

    fn mu(&self, _: Level, _: &[u8], _: Input<'_>) -> Result<[u8; 64], Trouble> {
        Err(Trouble::NoDoor)
    }

    fn field_lines(&self, _: u32) -> Result<[[i32; 12]; 256], Trouble> {
        Err(Trouble::NoDoor)
    }
}

/// What both take: M′ or μ.
enum Formatted {
    MPrime(Vec<u8>),
    Mu([u8; 64]),
}

fn formatted(input: Input<'_>) -> Result<Formatted, Trouble> {
    Ok(match input {
        Input::Pure { context, .. } | Input::PreHash { context, .. } if context.len() > 255 => {
            return Err(Trouble::Refused(Error::ContextTooLong));
        }
        Input::Pure { context, message } => Formatted::MPrime(oracle::formatted(context, None, message)),
        Input::PreHash { context, hash, message } => {
            Formatted::MPrime(oracle::formatted(context, Some(hash), message))
        }
        Input::Internal { formatted } => Formatted::MPrime(formatted.to_vec()),
        Input::Mu { mu } => Formatted::Mu(whole_mu(mu)?),
    })
}

fn verdict(good: bool) -> Result<(), Trouble> {
    if good { Ok(()) } else { Err(Trouble::Refused(Error::BadSignature)) }
}

fn exact<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Error> {
    bytes.try_into().map_err(|_| Error::WrongLength { expected: N, found: bytes.len() })
}

/// A random source that gives what it was given.
struct Given([u8; 32]);

impl RngCore for Given {
    fn next_u32(&mut self) -> u32 {
        unreachable!("signing takes bytes")
    }

    fn next_u64(&mut self) -> u64 {
        unreachable!("signing takes bytes")
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        out.copy_from_slice(&self.0);
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), RngError> {
        self.fill_bytes(out);
        Ok(())
    }
}

impl CryptoRng for Given {}
