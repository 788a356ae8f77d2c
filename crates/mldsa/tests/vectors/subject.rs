//! What is examined: an implementation of ML-DSA behind a door of bytes, so that the engine in any room, a
//! peer or a device can sit the same exam.

use sealstone_mldsa::any::{ExpandedSigningKey, Signature, SigningKey, VerifyingKey};
use sealstone_mldsa::{
    Context, Error, Level, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, PreHash, Randomness, hazmat,
};

use super::oracle;

/// Why an implementation gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It refused the input, as it may.
    Refused(Error),
    /// It contradicted itself: two ways to the same answer differ. Never right.
    Contradiction(String),
    /// It has no door for this question.
    NoDoor,
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "refused ({error:?})"),
            Self::Contradiction(what) => write!(f, "contradiction: {what}"),
            Self::NoDoor => write!(f, "not offered by this implementation"),
        }
    }
}

/// A private key in one of its two forms.
#[derive(Clone, Copy, Debug)]
pub enum Secret<'a> {
    /// ξ, 32 bytes.
    Seed(&'a [u8]),
    /// The encoding of FIPS 204, Algorithm 24.
    Expanded(&'a [u8]),
}

/// What is signed.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// ML-DSA: a context and a message.
    Pure { context: &'a [u8], message: &'a [u8] },
    /// HashML-DSA: a context and a message that is hashed first.
    PreHash { context: &'a [u8], hash: PreHash, message: &'a [u8] },
    /// The input M′ of the internal functions.
    Internal { formatted: &'a [u8] },
    /// The message representative μ.
    Mu { mu: &'a [u8] },
}

/// An implementation of ML-DSA.
pub trait Subject {
    /// What to call it in a report.
    fn name(&self) -> String;
    /// The public key and the expanded private key of a seed.
    fn keygen(&self, level: Level, seed: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Trouble>;
    /// The public key of an expanded private key.
    fn public_of(&self, level: Level, expanded: &[u8]) -> Result<Vec<u8>, Trouble>;
    /// The signature made with this `rnd`; 32 zero bytes make the deterministic variant.
    fn sign(
        &self,
        level: Level,
        secret: Secret<'_>,
        input: Input<'_>,
        rnd: &[u8; 32],
    ) -> Result<Vec<u8>, Trouble>;
    /// Whether the signature is good.
    fn verify(&self, level: Level, public: &[u8], input: Input<'_>, signature: &[u8]) -> Result<(), Trouble>;
    /// The public key of a seed, and its deterministic signature of the empty message, which must verify: the
    /// shortest way, for long runs.
    fn round(&self, level: Level, seed: &[u8; 32]) -> Result<(Vec<u8>, Vec<u8>), Trouble>;
    /// The message representative μ.
    fn mu(&self, level: Level, public: &[u8], input: Input<'_>) -> Result<[u8; 64], Trouble>;
    /// The twelve numbers of the CCTV field procedure for 256 values from `first` on.
    fn field_lines(&self, first: u32) -> Result<[[i32; 12]; 256], Trouble>;
}

/// The engine, in the room it is told to use.
#[derive(Clone, Copy, Debug)]
pub struct Sealstone;

impl Subject for Sealstone {
    fn name(&self) -> String {
        format!("sealstone, room {}", hazmat::room())
    }

    fn keygen(&self, level: Level, seed: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Trouble> {
        let key = SigningKey::try_from_seed(level, seed)?;
        let expanded = key.expand();
        let public = key.verifying_key().encode().to_vec();
        agree("public keys of the seed and of the expanded key", &public, expanded.verifying_key().encode())?;
        agree("the seed that went in and the one that is kept", seed, key.seed())?;
        let mut bytes = vec![0; level.signing_key_len()];
        expanded.encode(&mut bytes)?;
        Ok((public, bytes))
    }

    fn public_of(&self, level: Level, expanded: &[u8]) -> Result<Vec<u8>, Trouble> {
        let key = ExpandedSigningKey::decode(level, expanded)?;
        let mut again = vec![0; expanded.len()];
        key.encode(&mut again)?;
        agree("an expanded key and the encoding of its decoding", expanded, &again)?;
        Ok(key.verifying_key().encode().to_vec())
    }

    fn sign(
        &self,
        level: Level,
        secret: Secret<'_>,
        input: Input<'_>,
        rnd: &[u8; 32],
    ) -> Result<Vec<u8>, Trouble> {
        let key = match secret {
            Secret::Seed(seed) => SigningKey::try_from_seed(level, seed)?.expand(),
            Secret::Expanded(bytes) => ExpandedSigningKey::decode(level, bytes)?,
        };
        let signature = sign_expanded(&key, input, rnd)?;
        if let (Secret::Seed(seed), Input::Pure { context, message }) = (secret, input) {
            let key = SigningKey::try_from_seed(level, seed)?;
            let other = key.sign(&mut Fixed(*rnd), Context::new(context)?, message)?;
            agree("signatures from the seed and from the expanded key", &signature, other.encode())?;
        }
        Ok(signature)
    }

    /// Every way to the verdict is taken: key bytes, expanded key, streamed message, μ.
    fn verify(&self, level: Level, public: &[u8], input: Input<'_>, signature: &[u8]) -> Result<(), Trouble> {
        let key = VerifyingKey::decode(level, public)?;
        agree("a public key and the encoding of its decoding", public, key.encode())?;
        if let Input::Pure { context, .. } | Input::PreHash { context, .. } = input {
            Context::new(context)?;
        }
        let decoded = Signature::decode(level, signature);
        if let Input::Internal { formatted } = input {
            return Ok(verify_internal(level, public, formatted, signature)?);
        }
        let decoded = decoded?;
        agree("a signature and the encoding of its decoding", signature, decoded.encode())?;
        let expanded = key.expand();
        let mu = Mu::from_bytes(self.mu(level, public, input)?);
        let mut verdicts = vec![key.verify_mu(&mu, &decoded), expanded.verify_mu(&mu, &decoded)];
        if let Input::Pure { context, message } = input {
            verdicts.push(key.verify(Context::new(context)?, message, &decoded));
            verdicts.push(expanded.verify(Context::new(context)?, message, &decoded));
        }
        if verdicts.iter().any(|verdict| *verdict != verdicts[0]) {
            return Err(Trouble::Contradiction(format!("verdicts of one signature: {verdicts:?}")));
        }
        Ok(verdicts[0]?)
    }

    fn round(&self, level: Level, seed: &[u8; 32]) -> Result<(Vec<u8>, Vec<u8>), Trouble> {
        let key = SigningKey::from_seed(level, seed).expand();
        let public = key.verifying_key();
        let signature = key.sign_deterministic(Context::EMPTY, &[])?;
        public.verify(Context::EMPTY, &[], &signature)?;
        Ok((public.encode().to_vec(), signature.encode().to_vec()))
    }

    fn mu(&self, level: Level, public: &[u8], input: Input<'_>) -> Result<[u8; 64], Trouble> {
        let key = VerifyingKey::decode(level, public)?;
        match input {
            Input::Pure { context, message } => {
                let mut whole = key.message(Context::new(context)?);
                whole.update(message);
                let mut pieces = key.expand().message(Context::new(context)?);
                message.chunks(7).for_each(|piece| pieces.update(piece));
                let (whole, pieces) = (*whole.finish().as_bytes(), *pieces.finish().as_bytes());
                agree("μ of a message and of its pieces", &whole, &pieces)?;
                Ok(whole)
            }
            Input::PreHash { context, hash, message } => {
                let digest = oracle::digest(hash, message);
                Ok(*key.prehashed(Context::new(context)?, hash, &digest)?.as_bytes())
            }
            Input::Mu { mu } => whole_mu(mu),
            Input::Internal { .. } => Err(Trouble::NoDoor),
        }
    }

    fn field_lines(&self, first: u32) -> Result<[[i32; 12]; 256], Trouble> {
        Ok(hazmat::field_lines(first))
    }
}

fn sign_expanded(key: &ExpandedSigningKey, input: Input<'_>, rnd: &[u8; 32]) -> Result<Vec<u8>, Trouble> {
    let hedged = rnd != &[0; 32];
    let signature = match input {
        Input::Pure { context, message } if hedged => {
            key.sign(&mut Fixed(*rnd), Context::new(context)?, message)?
        }
        Input::Pure { context, message } => {
            let deterministic = key.sign_deterministic(Context::new(context)?, message)?;
            let zeros = key.sign(&mut Fixed(*rnd), Context::new(context)?, message)?;
            agree("deterministic signing and rnd of zeros", deterministic.encode(), zeros.encode())?;
            deterministic
        }
        Input::PreHash { .. } | Input::Mu { .. } => {
            let mu = Mu::from_bytes(Sealstone.mu(key.level(), key.verifying_key().encode(), input)?);
            if hedged { key.sign_mu(&mut Fixed(*rnd), &mu)? } else { key.sign_mu_deterministic(&mu)? }
        }
        Input::Internal { formatted } => return Ok(sign_internal(key, formatted, rnd)?),
    };
    Ok(signature.encode().to_vec())
}

/// The internal functions are offered for a level known at compile time only.
fn sign_internal(key: &ExpandedSigningKey, formatted: &[u8], rnd: &[u8; 32]) -> Result<Vec<u8>, Error> {
    fn at<P: ParameterSet>(bytes: &[u8], formatted: &[u8], rnd: &[u8; 32]) -> Result<Vec<u8>, Error> {
        let key = sealstone_mldsa::ExpandedSigningKey::<P>::decode(bytes)?;
        Ok(hazmat::sign_internal(&key, formatted, rnd)?.encode().to_vec())
    }
    let mut bytes = vec![0; key.level().signing_key_len()];
    key.encode(&mut bytes)?;
    match key.level() {
        Level::MlDsa44 => at::<MlDsa44>(&bytes, formatted, rnd),
        Level::MlDsa65 => at::<MlDsa65>(&bytes, formatted, rnd),
        Level::MlDsa87 => at::<MlDsa87>(&bytes, formatted, rnd),
    }
}

fn verify_internal(level: Level, public: &[u8], formatted: &[u8], signature: &[u8]) -> Result<(), Error> {
    fn at<P: ParameterSet>(public: &[u8], formatted: &[u8], signature: &[u8]) -> Result<(), Error> {
        let key = sealstone_mldsa::VerifyingKey::<P>::decode(public)?.expand();
        hazmat::verify_internal(&key, formatted, &sealstone_mldsa::Signature::<P>::decode(signature)?)
    }
    match level {
        Level::MlDsa44 => at::<MlDsa44>(public, formatted, signature),
        Level::MlDsa65 => at::<MlDsa65>(public, formatted, signature),
        Level::MlDsa87 => at::<MlDsa87>(public, formatted, signature),
    }
}

/// A random source that always gives the same 32 bytes: how a hedged signature is made again.
pub struct Fixed(pub [u8; 32]);

impl Randomness for Fixed {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        if bytes.len() != self.0.len() {
            return Err(Error::RngFailed);
        }
        bytes.copy_from_slice(&self.0);
        Ok(())
    }
}

/// μ of exactly 64 bytes.
pub fn whole_mu(mu: &[u8]) -> Result<[u8; 64], Trouble> {
    mu.try_into().map_err(|_| Trouble::Refused(Error::WrongLength { expected: 64, found: mu.len() }))
}

fn agree(what: &str, one: &[u8], other: &[u8]) -> Result<(), Trouble> {
    if one == other { Ok(()) } else { Err(Trouble::Contradiction(what.to_owned())) }
}
