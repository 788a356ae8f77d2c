//! ML-KEM keys (FIPS 203): public ones in SubjectPublicKeyInfo, private ones in PKCS#8, both as RFC 9935 has them.
//!
//! A private key is its seed of 64 bytes, d and then z. It is written so; expanded keys are read too, and where both
//! are there they must agree. What encrypts and decrypts with these keys is [`cms`](crate::cms).
//!
//! The arithmetic is that of the crate `ml-kem`: the house's provider of classical algorithms makes no key from a seed.

use core::fmt;
use core::str::FromStr;

#[allow(deprecated, reason = "RFC 9935 §6: expanded keys are in use, so that they are read")]
use ml_kem::ExpandedKeyEncoding as _;
use ml_kem::array::Array;
use ml_kem::kem::{Decapsulate as _, KeyExport as _};
use ml_kem::{B32, ml_kem_512, ml_kem_768, ml_kem_1024};
use sealstone_mldsa::Randomness;
use zeroize::Zeroizing;

use crate::asymmetric::{self, Forms};
use crate::der::{self, Reader};
use crate::error::Error;
use crate::pem;

/// Bytes of a seed: d and z of FIPS 203, Algorithm 16.
pub const SEED_LEN: usize = 64;
/// Bytes of a shared secret.
pub const SHARED_SECRET_LEN: usize = 32;

/// id-alg-ml-kem, 2.16.840.1.101.3.4.4 (RFC 9935 §3); the last arc follows.
const ID_ML_KEM: [u8; 8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x04];

/// A parameter set of FIPS 203, §8.
///
/// ```
/// use sealstone_pki::ml_kem::MlKem;
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// let set: MlKem = "ML-KEM-768".parse()?;
/// assert_eq!(set, MlKem::MlKem768);
/// assert_eq!(set.name(), "ML-KEM-768");
/// assert_eq!((set.public_len(), set.expanded_len(), set.ciphertext_len()), (1184, 2400, 1088));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MlKem {
    /// ML-KEM-512, security category 1.
    MlKem512,
    /// ML-KEM-768, security category 3.
    MlKem768,
    /// ML-KEM-1024, security category 5.
    MlKem1024,
}

impl MlKem {
    /// Every parameter set, the smallest first.
    pub const ALL: [Self; 3] = [Self::MlKem512, Self::MlKem768, Self::MlKem1024];

    /// The name, such as `ML-KEM-768`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MlKem512 => "ML-KEM-512",
            Self::MlKem768 => "ML-KEM-768",
            Self::MlKem1024 => "ML-KEM-1024",
        }
    }

    /// k of FIPS 203, Table 2.
    const fn k(self) -> usize {
        match self {
            Self::MlKem512 => 2,
            Self::MlKem768 => 3,
            Self::MlKem1024 => 4,
        }
    }

    /// Bytes of a public key: 384k + 32.
    pub const fn public_len(self) -> usize {
        384 * self.k() + 32
    }

    /// Bytes of an expanded private key: 768k + 96.
    pub const fn expanded_len(self) -> usize {
        768 * self.k() + 96
    }

    /// Bytes of a ciphertext: 32(d_u k + d_v).
    pub const fn ciphertext_len(self) -> usize {
        match self {
            Self::MlKem512 => 32 * (10 * 2 + 4),
            Self::MlKem768 => 32 * (10 * 3 + 4),
            Self::MlKem1024 => 32 * (11 * 4 + 5),
        }
    }

    /// The content of its object identifier.
    pub(crate) fn oid(self) -> [u8; 9] {
        let mut oid = [0; 9];
        oid[..8].copy_from_slice(&ID_ML_KEM);
        oid[8] = match self {
            Self::MlKem512 => 1,
            Self::MlKem768 => 2,
            Self::MlKem1024 => 3,
        };
        oid
    }

    /// Whether these bytes of an object identifier name a parameter set.
    pub(crate) fn by_oid(oid: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.oid() == oid)
    }

    /// Reads an AlgorithmIdentifier; parameters must be absent (RFC 9935 §3).
    pub(crate) fn read(outer: &mut Reader<'_>) -> Result<Self, Error> {
        let mut fields = outer.take(der::SEQUENCE)?;
        let oid = fields.take(der::OBJECT_IDENTIFIER)?.rest();
        let set = Self::by_oid(oid).ok_or_else(|| Error::AlgorithmUnknown { oid: der::dotted(oid) })?;
        match fields.peek() {
            None => Ok(set),
            Some(tag) => Err(Error::Parameters {
                offset: fields.offset(),
                expected: "none",
                found: if tag == 0x05 { "NULL".into() } else { format!("tag {tag:#04x}") },
            }),
        }
    }

    pub(crate) fn write(self) -> Zeroizing<Vec<u8>> {
        der::write(der::SEQUENCE, &[&der::write(der::OBJECT_IDENTIFIER, &[&self.oid()])])
    }

    fn check_len(self, part: &'static str, expected: usize, found: usize) -> Result<(), Error> {
        if expected == found {
            Ok(())
        } else {
            Err(Error::KemLength { algorithm: self.name(), part, expected, found })
        }
    }
}

impl fmt::Display for MlKem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Exact, case included.
impl FromStr for MlKem {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let known = Self::ALL.into_iter().find(|set| set.name() == text);
        known.ok_or_else(|| Error::AlgorithmUnknown { oid: text.to_owned() })
    }
}

/// One value for each parameter set.
#[derive(Clone)]
enum Each<A, B, C> {
    MlKem512(A),
    MlKem768(B),
    MlKem1024(C),
}

macro_rules! each {
    ($value:expr, $inner:ident => $body:expr) => {
        match $value {
            Each::MlKem512($inner) => $body,
            Each::MlKem768($inner) => $body,
            Each::MlKem1024($inner) => $body,
        }
    };
}

/// A public key.
///
/// ```
/// use sealstone_mldsa::OsRandom;
/// use sealstone_pki::ml_kem::{DecapsulationKey, EncapsulationKey, MlKem};
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// let key = DecapsulationKey::generate(MlKem::MlKem768, &mut OsRandom)?.encapsulation_key();
/// assert_eq!(key.algorithm(), MlKem::MlKem768);
///
/// // Whoever wants to encrypt gets it in one of three forms.
/// assert_eq!(EncapsulationKey::from_pem(&key.to_pem())?, key);
/// assert_eq!(EncapsulationKey::from_der(&key.to_der())?, key);
/// assert_eq!(EncapsulationKey::new(MlKem::MlKem768, &key.to_bytes())?, key);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct EncapsulationKey {
    set: MlKem,
    key: Each<ml_kem_512::EncapsulationKey, ml_kem_768::EncapsulationKey, ml_kem_1024::EncapsulationKey>,
}

impl EncapsulationKey {
    /// Takes a raw public key.
    ///
    /// # Errors
    /// [`Error::KemLength`], and [`Error::Inconsistent`] for coefficients that are not below 3329 (FIPS 203 §7.2).
    pub fn new(set: MlKem, key: &[u8]) -> Result<Self, Error> {
        set.check_len("public key", set.public_len(), key.len())?;
        macro_rules! made {
            ($module:ident) => {{
                let key = Array::try_from(key).map_err(|_| Error::Provider)?;
                $module::EncapsulationKey::new(&key).map_err(|_| Error::Inconsistent {
                    parts: "coefficients of the public key are out of range",
                })?
            }};
        }
        let key = match set {
            MlKem::MlKem512 => Each::MlKem512(made!(ml_kem_512)),
            MlKem::MlKem768 => Each::MlKem768(made!(ml_kem_768)),
            MlKem::MlKem1024 => Each::MlKem1024(made!(ml_kem_1024)),
        };
        Ok(Self { set, key })
    }

    /// The parameter set.
    pub fn algorithm(&self) -> MlKem {
        self.set
    }

    /// The raw public key.
    pub fn to_bytes(&self) -> Vec<u8> {
        each!(&self.key, key => key.to_bytes().to_vec())
    }

    /// Reads `SEQUENCE { AlgorithmIdentifier, BIT STRING }`.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where; [`Error::AlgorithmUnknown`] for a key of another kind.
    pub fn from_der(bytes: &[u8]) -> Result<Self, Error> {
        let mut whole = Reader::new(bytes)?;
        let mut fields = whole.take(der::SEQUENCE)?;
        whole.end()?;
        let set = MlKem::read(&mut fields)?;
        let key = fields.take_bits(der::BIT_STRING)?;
        fields.end()?;
        Self::new(set, key)
    }

    /// Writes `SEQUENCE { AlgorithmIdentifier, BIT STRING }`.
    pub fn to_der(&self) -> Vec<u8> {
        let key = der::write_bits(der::BIT_STRING, &self.to_bytes());
        der::write(der::SEQUENCE, &[&self.set.write(), &key]).to_vec()
    }

    /// Reads a PEM block `PUBLIC KEY`.
    ///
    /// # Errors
    /// As [`from_der`](Self::from_der), and what is wrong with the PEM.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        Self::from_der(&pem::decode(text, "PUBLIC KEY")?.1)
    }

    /// Writes a PEM block `PUBLIC KEY`.
    pub fn to_pem(&self) -> String {
        pem::encode("PUBLIC KEY", &self.to_der()).to_string()
    }

    /// A ciphertext and the secret that it carries: FIPS 203, Algorithm 20, ML-KEM.Encaps.
    ///
    /// # Errors
    /// [`Error::Provider`] if there is no randomness.
    pub(crate) fn encapsulate(&self, rng: &mut impl Randomness) -> Result<(Vec<u8>, SharedSecret), Error> {
        let mut m = Zeroizing::new([0; 32]);
        rng.fill(&mut *m).map_err(|_| Error::Provider)?;
        let mut m = B32::from(*m);
        let mut secret = Zeroizing::new([0; SHARED_SECRET_LEN]);
        let ciphertext = each!(&self.key, key => {
            let (ciphertext, mut shared) = key.encapsulate_deterministic(&m);
            secret.copy_from_slice(&shared);
            zeroize::Zeroize::zeroize(&mut shared);
            ciphertext.to_vec()
        });
        zeroize::Zeroize::zeroize(&mut m);
        Ok((ciphertext, secret))
    }
}

impl PartialEq for EncapsulationKey {
    fn eq(&self, other: &Self) -> bool {
        self.set == other.set && self.to_bytes() == other.to_bytes()
    }
}

impl Eq for EncapsulationKey {}

impl fmt::Debug for EncapsulationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EncapsulationKey({})", self.set)
    }
}

/// K of FIPS 203, wiped when dropped.
pub(crate) type SharedSecret = Zeroizing<[u8; SHARED_SECRET_LEN]>;

/// A private key. It is wiped when dropped.
///
/// ```
/// use sealstone_pki::ml_kem::{DecapsulationKey, MlKem, SEED_LEN};
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// // A seed that is kept elsewhere; for a new key there is `generate`.
/// let key = DecapsulationKey::from_seed(MlKem::MlKem512, &[7; SEED_LEN]);
/// assert_eq!(key.algorithm(), MlKem::MlKem512);
/// assert!(key.has_seed());
///
/// let file = key.to_pem()?;
/// assert!(file.starts_with("-----BEGIN PRIVATE KEY-----\n"));
/// let again = DecapsulationKey::from_pem(&file)?;
/// assert_eq!(again.encapsulation_key(), key.encapsulation_key());
/// assert_eq!(DecapsulationKey::from_der(&key.to_der()?)?.encapsulation_key(), key.encapsulation_key());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DecapsulationKey {
    set: MlKem,
    key: Each<ml_kem_512::DecapsulationKey, ml_kem_768::DecapsulationKey, ml_kem_1024::DecapsulationKey>,
    seed: Option<Zeroizing<[u8; SEED_LEN]>>,
}

impl DecapsulationKey {
    /// A new key.
    ///
    /// # Errors
    /// [`Error::Provider`] if there is no randomness.
    pub fn generate(set: MlKem, rng: &mut impl Randomness) -> Result<Self, Error> {
        let mut seed = Zeroizing::new([0; SEED_LEN]);
        rng.fill(&mut *seed).map_err(|_| Error::Provider)?;
        Ok(Self::from_seed(set, &seed))
    }

    /// The key of a seed, d and then z: FIPS 203, Algorithm 16.
    pub fn from_seed(set: MlKem, seed: &[u8; SEED_LEN]) -> Self {
        let mut array = ml_kem::Seed::from(*seed);
        let key = match set {
            MlKem::MlKem512 => Each::MlKem512(ml_kem_512::DecapsulationKey::from_seed(array)),
            MlKem::MlKem768 => Each::MlKem768(ml_kem_768::DecapsulationKey::from_seed(array)),
            MlKem::MlKem1024 => Each::MlKem1024(ml_kem_1024::DecapsulationKey::from_seed(array)),
        };
        zeroize::Zeroize::zeroize(&mut array);
        Self { set, key, seed: Some(Zeroizing::new(*seed)) }
    }

    /// Takes an expanded key, dk of FIPS 203, Algorithm 16. It decrypts, and cannot be written again.
    ///
    /// ```
    /// use sealstone_pki::Error;
    /// use sealstone_pki::ml_kem::{DecapsulationKey, MlKem};
    ///
    /// // The parts of such a key are checked against each other: what was made up is none.
    /// let made_up = vec![7; MlKem::MlKem512.expanded_len()];
    /// assert!(matches!(DecapsulationKey::from_expanded(MlKem::MlKem512, &made_up), Err(Error::Inconsistent { .. })));
    /// let cut = DecapsulationKey::from_expanded(MlKem::MlKem512, &made_up[1..]);
    /// assert!(matches!(cut, Err(Error::KemLength { expected: 1632, found: 1631, .. })));
    /// ```
    ///
    /// # Errors
    /// [`Error::KemLength`], and [`Error::Inconsistent`] if the public key in it does not have the hash in it (FIPS
    /// 203 §7.3) or is out of range.
    #[allow(deprecated, reason = "RFC 9935 §6: expanded keys are in use, so that they are read")]
    pub fn from_expanded(set: MlKem, expanded: &[u8]) -> Result<Self, Error> {
        set.check_len("expanded private key", set.expanded_len(), expanded.len())?;
        macro_rules! made {
            ($module:ident) => {{
                let mut array = Array::try_from(expanded).map_err(|_| Error::Provider)?;
                let key = $module::DecapsulationKey::from_expanded(&array);
                zeroize::Zeroize::zeroize(&mut array);
                key.map_err(|_| Error::Inconsistent {
                    parts: "the parts of the expanded key do not belong together",
                })?
            }};
        }
        let key = match set {
            MlKem::MlKem512 => Each::MlKem512(made!(ml_kem_512)),
            MlKem::MlKem768 => Each::MlKem768(made!(ml_kem_768)),
            MlKem::MlKem1024 => Each::MlKem1024(made!(ml_kem_1024)),
        };
        Ok(Self { set, key, seed: None })
    }

    /// The parameter set.
    pub fn algorithm(&self) -> MlKem {
        self.set
    }

    /// Whether the seed is there, so that the key can be written.
    pub fn has_seed(&self) -> bool {
        self.seed.is_some()
    }

    /// The public key.
    pub fn encapsulation_key(&self) -> EncapsulationKey {
        let key = match &self.key {
            Each::MlKem512(key) => Each::MlKem512(key.encapsulation_key().clone()),
            Each::MlKem768(key) => Each::MlKem768(key.encapsulation_key().clone()),
            Each::MlKem1024(key) => Each::MlKem1024(key.encapsulation_key().clone()),
        };
        EncapsulationKey { set: self.set, key }
    }

    /// The expanded key, dk of FIPS 203, Algorithm 16.
    #[allow(deprecated, reason = "RFC 9935 §6: the form `both` is checked")]
    fn expanded(&self) -> Zeroizing<Vec<u8>> {
        each!(&self.key, key => {
            let mut array = key.to_expanded_bytes();
            let bytes = Zeroizing::new(array.to_vec());
            zeroize::Zeroize::zeroize(&mut array);
            bytes
        })
    }

    /// Reads PKCS#8 in any of the three forms of RFC 9935 §6: seed, expandedKey, both.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where; [`Error::AlgorithmUnknown`] for a key of another kind,
    /// [`Error::Inconsistent`] for parts that contradict each other.
    pub fn from_der(bytes: &[u8]) -> Result<Self, Error> {
        let wrapped = asymmetric::read(bytes, MlKem::read)?;
        let key = Self::read_forms(wrapped.algorithm, wrapped.private)?;
        match wrapped.public {
            Some(public) if key.encapsulation_key().to_bytes() != public => {
                Err(Error::Inconsistent { parts: "the public key is not that of the private key" })
            }
            _ => Ok(key),
        }
    }

    fn read_forms(set: MlKem, private: Reader<'_>) -> Result<Self, Error> {
        let from_seed = |content: &[u8]| {
            set.check_len("private seed", SEED_LEN, content.len())?;
            let mut seed = Zeroizing::new([0; SEED_LEN]);
            seed.copy_from_slice(content);
            Ok(Self::from_seed(set, &seed))
        };
        match asymmetric::read_forms(private)? {
            Forms::Seed(seed) => from_seed(seed),
            Forms::Expanded(expanded) => Self::from_expanded(set, expanded),
            Forms::Both { seed, expanded } => {
                let key = from_seed(seed)?;
                set.check_len("expanded private key", set.expanded_len(), expanded.len())?;
                asymmetric::same_key(&key.expanded(), expanded)?;
                Ok(key)
            }
        }
    }

    /// Writes PKCS#8, version 0, with the seed alone (RFC 9935 §6 recommends it).
    ///
    /// # Errors
    /// [`Error::NoSeed`] for a key that came in expanded form.
    pub fn to_der(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let seed = self.seed.as_ref().ok_or(Error::NoSeed)?;
        Ok(asymmetric::write(&self.set.write(), &asymmetric::write_forms(&Forms::Seed(seed.as_slice()))))
    }

    /// Reads a PEM block `PRIVATE KEY`.
    ///
    /// # Errors
    /// As [`from_der`](Self::from_der), and what is wrong with the PEM.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        Self::from_der(&pem::decode(text, "PRIVATE KEY")?.1)
    }

    /// Writes a PEM block `PRIVATE KEY`.
    ///
    /// # Errors
    /// As for [`to_der`](Self::to_der).
    pub fn to_pem(&self) -> Result<Zeroizing<String>, Error> {
        Ok(pem::encode("PRIVATE KEY", &self.to_der()?))
    }

    /// The secret in a ciphertext: FIPS 203, Algorithm 21, ML-KEM.Decaps. A ciphertext that was not made for this key
    /// gives another secret, which is no one's.
    ///
    /// # Errors
    /// [`Error::KemLength`] for a ciphertext of another length.
    pub(crate) fn decapsulate(&self, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        self.set.check_len("ciphertext", self.set.ciphertext_len(), ciphertext.len())?;
        let mut secret = Zeroizing::new([0; SHARED_SECRET_LEN]);
        each!(&self.key, key => {
            let ciphertext = Array::try_from(ciphertext).map_err(|_| Error::Provider)?;
            let mut shared = key.decapsulate(&ciphertext);
            secret.copy_from_slice(&shared);
            zeroize::Zeroize::zeroize(&mut shared);
        });
        Ok(secret)
    }
}

/// The parameter set, never the key.
impl fmt::Debug for DecapsulationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecapsulationKey({})", self.set)
    }
}
