//! Keys: made, read, written, and what they sign and verify.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::OnceLock;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sealstone_mldsa::{Context, Level, MU_LEN, Mu, OsRandom, PreHash, any};
use zeroize::Zeroizing;

use crate::buffer::{Input, context, small, text};
use crate::failure::{Failure, of_jose};
use crate::forms::{self, Form, Private};
use crate::level::level;
use crate::side_by_side;
use crate::stream::MuHasher;

/// Draws a fresh key from the operating system's randomness. The level is "ML-DSA-44", "ML-DSA-65" or "ML-DSA-87".
///
/// >>> generate("ML-DSA-65").level
/// 'ML-DSA-65'
#[pyfunction]
#[pyo3(signature = (level, /))]
pub(crate) fn generate(py: Python<'_>, level: &str) -> PyResult<SigningKey> {
    SigningKey::generate(py, level)
}

/// A private key, held expanded: 30, 50 or 83 kB, so that each signature costs only the signature. It is wiped when the last
/// reference to it goes. It shows itself without its secret, and cannot be pickled or copied by accident: write it with to_pem,
/// to_der or to_jwk.
#[pyclass(frozen, module = "sealstone")]
pub(crate) struct SigningKey {
    seed: Option<any::SigningKey>,
    expanded: any::ExpandedSigningKey,
    public: VerifyingKey,
    /// For tokens: made when first used.
    whole: OnceLock<sealstone_jose::PrivateKey>,
    kid: Option<String>,
}

impl SigningKey {
    fn of_seed(seed: any::SigningKey) -> Result<Self, Failure> {
        let expanded = seed.expand();
        let public = VerifyingKey::of(expanded.verifying_key())?;
        Ok(Self { seed: Some(seed), expanded, public, whole: OnceLock::new(), kid: None })
    }

    fn of_expanded(expanded: any::ExpandedSigningKey) -> Result<Self, Failure> {
        let public = VerifyingKey::of(expanded.verifying_key())?;
        Ok(Self { seed: None, expanded, public, whole: OnceLock::new(), kid: None })
    }

    fn read(py: Python<'_>, encoded: &[u8], form: Option<Form>) -> PyResult<Self> {
        let read = || -> Result<Self, Failure> {
            match forms::read_private(encoded, form)? {
                Private::Seed(level, seed) => Self::of_seed(any::SigningKey::from_seed(level, &seed)),
                Private::Expanded(level, key) => Self::of_expanded(
                    any::ExpandedSigningKey::decode(level, &key).map_err(forms::Refused::Engine)?,
                ),
                Private::Jwk(level, whole) => {
                    let key = Self::of_seed(any::SigningKey::try_from_seed(level, &whole.secret())?)?;
                    let kid = Some(whole.kid().to_owned());
                    let public = VerifyingKey { jose: whole.public().clone(), ..key.public };
                    Ok(Self { whole: OnceLock::from(whole), public, kid, ..key })
                }
            }
        };
        Ok(py.detach(read)?)
    }

    fn seeded(&self) -> Result<&any::SigningKey, Failure> {
        self.seed.as_ref().ok_or_else(|| forms::Refused::NoSeed.into())
    }

    /// What the key is, for those who expand it themselves.
    pub(crate) fn level_and_seed(&self) -> Result<(Level, &[u8; 32]), Failure> {
        Ok((self.public.key.level(), self.seeded()?.seed()))
    }

    /// The same key for tokens.
    pub(crate) fn whole(&self) -> Result<&sealstone_jose::PrivateKey, Failure> {
        if let Some(whole) = self.whole.get() {
            return Ok(whole);
        }
        let algorithm = forms::algorithm(self.public.key.level());
        let whole = sealstone_jose::PrivateKey::from_secret(algorithm, self.seeded()?.seed())
            .map_err(of_jose("BadKey"))?;
        let whole = match &self.kid {
            Some(kid) => whole.with_kid(kid),
            None => whole,
        };
        Ok(self.whole.get_or_init(|| whole))
    }

    fn signed<'py>(&self, py: Python<'py>, mu: &Mu, deterministic: bool) -> PyResult<Bound<'py, PyBytes>> {
        let sign = || match deterministic {
            true => self.expanded.sign_mu_deterministic(mu),
            false => self.expanded.sign_mu(&mut OsRandom, mu),
        };
        Ok(PyBytes::new(py, py.detach(sign).map_err(Failure::from)?.encode()))
    }
}

#[pymethods]
impl SigningKey {
    /// Draws a fresh key from the operating system's randomness.
    #[staticmethod]
    #[pyo3(signature = (level, /))]
    fn generate(py: Python<'_>, level: &str) -> PyResult<Self> {
        let level = self::level(level)?;
        let made =
            || -> Result<Self, Failure> { Self::of_seed(any::SigningKey::generate(level, &mut OsRandom)?) };
        Ok(py.detach(made)?)
    }

    /// The key of a seed of 32 bytes (FIPS 204, Algorithm 6). Raises WrongLength.
    #[staticmethod]
    #[pyo3(signature = (level, seed, /))]
    fn from_seed(py: Python<'_>, level: &str, seed: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (level, seed) = (self::level(level)?, small("seed", seed)?);
        if seed.len() != 32 {
            return Err(Failure::length("seed", 32, seed.len()).into());
        }
        let made =
            || -> Result<Self, Failure> { Self::of_seed(any::SigningKey::try_from_seed(level, &seed)?) };
        Ok(py.detach(made)?)
    }

    /// Reads an expanded key (FIPS 204, Algorithm 25) and checks all of it. Such a key signs; it cannot be written and signs no
    /// tokens, for these need the seed. Raises WrongLength, BadKey.
    #[staticmethod]
    #[pyo3(signature = (level, expanded, /))]
    fn from_expanded(py: Python<'_>, level: &str, expanded: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (level, expanded) = (self::level(level)?, small("expanded", expanded)?);
        let read = || -> Result<Self, Failure> {
            Self::of_expanded(any::ExpandedSigningKey::decode(level, &expanded)?)
        };
        Ok(py.detach(read)?)
    }

    /// Reads a key in PEM, DER or JWK, whichever it is. What is redundant in it is checked. Raises BadKey, UnknownAlgorithm.
    ///
    /// >>> key = generate("ML-DSA-44")
    /// >>> SigningKey.load(key.to_pem()).seed() == key.seed()
    /// True
    #[staticmethod]
    #[pyo3(signature = (encoded, /))]
    fn load(py: Python<'_>, encoded: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::read(py, &text("encoded", encoded)?, None)
    }

    /// Reads PEM: PKCS#8 in the three forms of RFC 9881. Raises BadKey, UnknownAlgorithm.
    #[staticmethod]
    #[pyo3(signature = (pem, /))]
    fn from_pem(py: Python<'_>, pem: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::read(py, &text("pem", pem)?, Some(Form::Pem))
    }

    /// Reads DER: PKCS#8 in the three forms of RFC 9881. Raises BadKey, UnknownAlgorithm.
    #[staticmethod]
    #[pyo3(signature = (der, /))]
    fn from_der(py: Python<'_>, der: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::read(py, &small("der", der)?, Some(Form::Der))
    }

    /// Reads a private JWK (RFC 9964), key id included. Raises BadKey, UnknownAlgorithm.
    #[staticmethod]
    #[pyo3(signature = (jwk, /))]
    fn from_jwk(py: Python<'_>, jwk: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::read(py, &text("jwk", jwk)?, Some(Form::Jwk))
    }

    /// PKCS#8 with the seed, in PEM. Raises NoSeed.
    fn to_pem(&self) -> PyResult<String> {
        let level = self.public.key.level();
        let pem = forms::write_pkcs8(level, self.seeded()?.seed(), false).map_err(Failure::from)?;
        Ok(String::from_utf8_lossy(&pem).into_owned())
    }

    /// PKCS#8 with the seed, in DER: 54 bytes. Raises NoSeed.
    fn to_der<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let level = self.public.key.level();
        let der = forms::write_pkcs8(level, self.seeded()?.seed(), true).map_err(Failure::from)?;
        Ok(PyBytes::new(py, &der))
    }

    /// A private JWK (RFC 9964), with the key id. Raises NoSeed.
    fn to_jwk(&self) -> PyResult<String> {
        Ok(String::from_utf8_lossy(&forms::write_private_jwk(self.whole()?)).into_owned())
    }

    /// The seed, 32 bytes, which is the whole key. Raises NoSeed.
    fn seed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, self.seeded()?.seed()))
    }

    /// The expanded key (FIPS 204, Algorithm 24).
    fn expanded<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut encoded = Zeroizing::new(vec![0; self.public.key.level().signing_key_len()]);
        self.expanded.encode(&mut encoded).map_err(Failure::from)?;
        Ok(PyBytes::new(py, &encoded))
    }

    /// The pairwise consistency test of FIPS 140-3. Raises NoSeed, FaultDetected.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let seed = self.seeded()?;
        Ok(py.detach(|| seed.check()).map_err(Failure::from)?)
    }

    /// The same key under another key id, for tokens and JWK. Raises NoSeed.
    #[pyo3(signature = (kid, /))]
    fn with_kid(&self, py: Python<'_>, kid: &str) -> PyResult<Self> {
        let seed = self.seeded()?;
        let key = py.detach(|| Self::of_seed(seed.clone()))?;
        let public = VerifyingKey { jose: key.public.jose.clone().with_kid(kid), ..key.public };
        Ok(Self { public, kid: Some(kid.to_owned()), ..key })
    }

    /// "ML-DSA-44", "ML-DSA-65" or "ML-DSA-87".
    #[getter]
    fn level(&self) -> &'static str {
        self.public.level()
    }

    /// The key id: the one it was given, or else the thumbprint.
    #[getter]
    fn kid(&self) -> &str {
        self.public.kid()
    }

    /// The public half.
    #[getter]
    fn verifying_key(&self) -> VerifyingKey {
        self.public.again()
    }

    /// Signs a message, hedged with fresh randomness (FIPS 204, Algorithm 2). The context, at most 255 bytes, separates one use
    /// of the key from another; whoever verifies must give the same. Raises WrongLength for a longer one, RngFailed.
    ///
    /// >>> key = generate("ML-DSA-44")
    /// >>> signature = key.sign(b"I sealed this", context=b"letters")
    /// >>> key.verifying_key.verify(b"I sealed this", signature, context=b"letters")
    #[pyo3(signature = (message, /, *, context = None))]
    fn sign<'py>(
        &self,
        message: &Bound<'py, PyAny>,
        context: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.signed(message.py(), &self.public.mu_of(message, context)?, false)
    }

    /// Signs without randomness: one key, context and message give one signature. For test vectors.
    #[pyo3(signature = (message, /, *, context = None))]
    fn sign_deterministic<'py>(
        &self,
        message: &Bound<'py, PyAny>,
        context: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.signed(message.py(), &self.public.mu_of(message, context)?, true)
    }

    /// Signs a message that is here only as its representative mu, 64 bytes ("external mu"). Raises WrongLength, RngFailed.
    #[pyo3(signature = (mu, /))]
    fn sign_mu<'py>(&self, mu: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        self.signed(mu.py(), &read_mu(mu)?, false)
    }

    /// The same without randomness.
    #[pyo3(signature = (mu, /))]
    fn sign_mu_deterministic<'py>(&self, mu: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        self.signed(mu.py(), &read_mu(mu)?, true)
    }

    fn __repr__(&self) -> String {
        format!("<sealstone.SigningKey {} kid={:?}>", self.level(), self.kid())
    }

    /// Refused: a pickle of a private key is a private key in a file that nobody guards.
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a SigningKey is not pickled: write it with to_pem, to_der or to_jwk"))
    }
}

/// A public key, held expanded. Equal keys are equal whatever their key id.
#[pyclass(frozen, module = "sealstone")]
pub(crate) struct VerifyingKey {
    key: any::VerifyingKey,
    expanded: std::sync::Arc<any::ExpandedVerifyingKey>,
    pub(crate) jose: sealstone_jose::PublicKey,
}

impl VerifyingKey {
    fn of(key: any::VerifyingKey) -> Result<Self, Failure> {
        let jose = sealstone_jose::PublicKey::from_public(forms::algorithm(key.level()), key.encode())
            .map_err(of_jose("BadKey"))?;
        Ok(Self { expanded: std::sync::Arc::new(key.expand()), key, jose })
    }

    /// The same once more, sharing what is large.
    pub(crate) fn again(&self) -> Self {
        Self { key: self.key.clone(), expanded: self.expanded.clone(), jose: self.jose.clone() }
    }

    fn read(py: Python<'_>, encoded: &[u8], form: Option<Form>) -> PyResult<Self> {
        let read = || -> Result<Self, Failure> {
            let jose = forms::read_public(encoded, form)?;
            let found = jose.algorithm().name();
            let level = jose.algorithm().level().ok_or(forms::Refused::NotMlDsa { found })?;
            let key = any::VerifyingKey::decode(level, jose.as_bytes())?;
            Ok(Self { expanded: std::sync::Arc::new(key.expand()), key, jose })
        };
        Ok(py.detach(read)?)
    }

    /// SubjectPublicKeyInfo in DER.
    pub(crate) fn spki(&self) -> Result<Vec<u8>, Failure> {
        Ok(forms::write_public(&self.jose, Form::Der)?.to_vec())
    }

    fn hasher(&self, context: &[u8]) -> Result<sealstone_mldsa::MuHasher, Failure> {
        Ok(self.expanded.message(Context::new(context)?))
    }

    fn mu_of(&self, message: &Bound<'_, PyAny>, context: Option<&Bound<'_, PyAny>>) -> PyResult<Mu> {
        let message_bytes = Input::of("message", message)?;
        let mut hasher = self.hasher(&self::context(context)?)?;
        message_bytes.read(message.py(), |piece| hasher.update(piece))?;
        Ok(hasher.finish())
    }

    /// A signature of any other length is none of this key, as for all forgeries.
    fn decode_signature(&self, signature: &Bound<'_, PyAny>) -> PyResult<any::Signature> {
        let signature = Input::of("signature", signature)?.copy()?;
        let decoded = any::Signature::decode(self.key.level(), &signature);
        Ok(decoded.map_err(|_| Failure::from(sealstone_mldsa::Error::BadSignature))?)
    }
}

#[pymethods]
impl VerifyingKey {
    /// Reads an encoded public key (FIPS 204, Algorithm 23). Raises WrongLength.
    #[staticmethod]
    #[pyo3(signature = (level, encoded, /))]
    fn from_bytes(py: Python<'_>, level: &str, encoded: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (level, encoded) = (self::level(level)?, small("encoded", encoded)?);
        let read = || -> Result<Self, Failure> { Self::of(any::VerifyingKey::decode(level, &encoded)?) };
        Ok(py.detach(read)?)
    }

    /// Reads a key in PEM, DER or JWK, whichever it is. A private key is refused. Raises BadKey, UnknownAlgorithm.
    #[staticmethod]
    #[pyo3(signature = (encoded, /))]
    fn load(py: Python<'_>, encoded: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::read(py, &text("encoded", encoded)?, None)
    }

    /// Reads PEM: SubjectPublicKeyInfo. Raises BadKey, UnknownAlgorithm.
    #[staticmethod]
    #[pyo3(signature = (pem, /))]
    fn from_pem(py: Python<'_>, pem: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::read(py, &text("pem", pem)?, Some(Form::Pem))
    }

    /// Reads DER: SubjectPublicKeyInfo. Raises BadKey, UnknownAlgorithm.
    #[staticmethod]
    #[pyo3(signature = (der, /))]
    fn from_der(py: Python<'_>, der: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::read(py, &small("der", der)?, Some(Form::Der))
    }

    /// Reads a public JWK (RFC 9964), key id included. Raises BadKey, UnknownAlgorithm.
    #[staticmethod]
    #[pyo3(signature = (jwk, /))]
    fn from_jwk(py: Python<'_>, jwk: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::read(py, &text("jwk", jwk)?, Some(Form::Jwk))
    }

    /// SubjectPublicKeyInfo in PEM.
    fn to_pem(&self) -> PyResult<String> {
        let pem = forms::write_public(&self.jose, Form::Pem).map_err(Failure::from)?;
        Ok(String::from_utf8_lossy(&pem).into_owned())
    }

    /// SubjectPublicKeyInfo in DER.
    fn to_der<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &forms::write_public(&self.jose, Form::Der).map_err(Failure::from)?))
    }

    /// A public JWK (RFC 9964), with the key id.
    fn to_jwk(&self) -> PyResult<String> {
        let jwk = forms::write_public(&self.jose, Form::Jwk).map_err(Failure::from)?;
        Ok(String::from_utf8_lossy(&jwk).into_owned())
    }

    /// The encoded public key (FIPS 204, Algorithm 22).
    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.key.encode())
    }

    /// The same key under another key id, for sets and JWK.
    #[pyo3(signature = (kid, /))]
    fn with_kid(&self, kid: &str) -> Self {
        let again = self.again();
        Self { jose: again.jose.with_kid(kid), ..again }
    }

    /// "ML-DSA-44", "ML-DSA-65" or "ML-DSA-87".
    #[getter]
    fn level(&self) -> &'static str {
        self.key.level().name()
    }

    /// The key id: the one it was given, or else the thumbprint.
    #[getter]
    fn kid(&self) -> &str {
        self.jose.kid()
    }

    /// The SHA-256 thumbprint of RFC 7638 and RFC 9964, in base64url.
    #[getter]
    fn thumbprint(&self) -> &str {
        self.jose.thumbprint()
    }

    /// Checks a signature (FIPS 204, Algorithm 3). Returns nothing; raises BadSignature, whatever is wrong with it.
    #[pyo3(signature = (message, signature, /, *, context = None))]
    fn verify(
        &self,
        message: &Bound<'_, PyAny>,
        signature: &Bound<'_, PyAny>,
        context: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let mu = self.mu_of(message, context)?;
        let signature = self.decode_signature(signature)?;
        let py = message.py();
        Ok(py.detach(|| self.expanded.verify_mu(&mu, &signature)).map_err(Failure::from)?)
    }

    /// Checks the signature of a message that is here only as its mu, 64 bytes. Raises BadSignature, WrongLength.
    #[pyo3(signature = (mu, signature, /))]
    fn verify_mu(&self, mu: &Bound<'_, PyAny>, signature: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = mu.py();
        let (mu, signature) = (read_mu(mu)?, self.decode_signature(signature)?);
        Ok(py.detach(|| self.expanded.verify_mu(&mu, &signature)).map_err(Failure::from)?)
    }

    /// The mu of a message for this key and context: FIPS 204, step 6 of Algorithm 7.
    #[pyo3(signature = (message, /, *, context = None))]
    fn mu<'py>(
        &self,
        message: &Bound<'py, PyAny>,
        context: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(message.py(), self.mu_of(message, context)?.as_bytes()))
    }

    /// The mu of a message that was hashed before: HashML-DSA (FIPS 204, 5.4), another scheme than pure ML-DSA. The function is
    /// called as NIST does: "SHA2-512", "SHA3-256", "SHAKE-128". Raises UnknownAlgorithm, WrongLength.
    #[pyo3(signature = (function, digest, /, *, context = None))]
    fn prehashed_mu<'py>(
        &self,
        function: &str,
        digest: &Bound<'py, PyAny>,
        context: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let function: PreHash = function
            .parse()
            .map_err(|unknown| Failure::new("UnknownAlgorithm", format!("{function:?}: {unknown}")))?;
        let context = self::context(context)?;
        let context = Context::new(&context).map_err(Failure::from)?;
        let mu =
            self.expanded.prehashed(context, function, &small("digest", digest)?).map_err(Failure::from)?;
        Ok(PyBytes::new(digest.py(), mu.as_bytes()))
    }

    /// A hasher for a message in pieces.
    #[pyo3(signature = (*, context = None))]
    fn mu_hasher(&self, context: Option<&Bound<'_, PyAny>>) -> PyResult<MuHasher> {
        Ok(MuHasher::of(self.hasher(&self::context(context)?)?))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().key == self.key)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.key.encode().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("<sealstone.VerifyingKey {} kid={:?}>", self.level(), self.kid())
    }

    /// As its JWK, key id included.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("from_jwk")?, (slf.get().to_jwk()?,)))
    }
}

/// Signs many messages, each with its key: those of one level share vector lanes, so that each takes less time than alone from
/// 8 on. Hedged. The signatures are in the order of the jobs.
///
/// >>> key = generate("ML-DSA-44")
/// >>> signatures = sign_batch([(key, b"one"), (key, b"two")])
/// >>> verify_batch([(key.verifying_key, b"one", signatures[0]), (key.verifying_key, b"2", signatures[1])])
/// [True, False]
#[pyfunction]
#[pyo3(signature = (jobs, /, *, context = None))]
pub(crate) fn sign_batch<'py>(
    py: Python<'py>,
    jobs: Vec<(Bound<'py, SigningKey>, Bound<'py, PyAny>)>,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let mut asked = Vec::with_capacity(jobs.len());
    for (key, message) in &jobs {
        let key = key.get();
        asked.push((&key.expanded, key.public.mu_of(message, context)?));
    }
    let answers = py.detach(|| side_by_side::sign(&asked, &mut OsRandom));
    answers.into_iter().map(|answer| Ok(PyBytes::new(py, answer.map_err(Failure::from)?.encode()))).collect()
}

/// Checks many signatures, each with its key and message: for each whether it verifies, in the order of the jobs. See sign_batch.
#[pyfunction]
#[pyo3(signature = (jobs, /, *, context = None))]
pub(crate) fn verify_batch<'py>(
    py: Python<'py>,
    jobs: Vec<(Bound<'py, VerifyingKey>, Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    context: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vec<bool>> {
    let mut asked = Vec::with_capacity(jobs.len());
    let mut places = Vec::with_capacity(jobs.len());
    let mut verdicts = vec![false; jobs.len()];
    for (place, (key, message, signature)) in jobs.iter().enumerate() {
        let key = key.get();
        let mu = key.mu_of(message, context)?;
        let signature = Input::of("signature", signature)?.copy()?;
        // One of another length verifies with no key.
        if let Ok(signature) = any::Signature::decode(key.key.level(), &signature) {
            asked.push((&*key.expanded, mu, signature));
            places.push(place);
        }
    }
    let answers = py.detach(|| side_by_side::verify(&asked));
    places.into_iter().zip(answers).for_each(|(place, answer)| verdicts[place] = answer.is_ok());
    Ok(verdicts)
}

fn read_mu(given: &Bound<'_, PyAny>) -> PyResult<Mu> {
    let input = Input::of("mu", given)?;
    let mu = input.copy()?;
    Ok(Mu::decode(&mu).map_err(|_| Failure::length("mu", MU_LEN, input.len()))?)
}
