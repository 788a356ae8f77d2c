//! Keys of trees: what signs, what is trusted, and the id by which the kernel finds a key.

use core::fmt;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair};
use sealstone_mldsa::{
    Context, CpuEngine, Engine as _, ExpandedSigningKey, Level, Mu, MuJob, OsRandom, ParameterSet,
    Randomness as _, SignJob, any,
};
use sealstone_pki::der::{self, Reader};
use sealstone_pki::x509::KeyUsage;
use sealstone_pki::{Certificate, KeyAlgorithm, PrivateKeyInfo, PublicKeyInfo, Secret, spki};
use zeroize::Zeroizing;

use crate::appraise::{Appraiser, Key};
use crate::classical::Classical;
use crate::digest;
use crate::error::Error;
use crate::file_id::{FileId, HashAlgorithm, Kind};
use crate::record::{KeyId, Record, Version};
use crate::verity;

/// A public key with its id.
///
/// ```
/// use sealstone_mldsa::OsRandom;
/// use sealstone_tree::{Appraiser, KeyId, Signer, TrustedKey};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // `signer`: a `Signer` with a key of ML-DSA-44.
/// # let key = sealstone_pki::PrivateKeyInfo::new(
/// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[7; 32], None)?;
/// # let signer = Signer::new(&key, None, 1_800_000_000)?;
/// # let signing = sealstone_pki::sign::SigningKey::from_info(&key)?;
/// # let certificate = sealstone_pki::x509::CertificateBuilder {
/// #     not_after: 1_900_000_000,
/// #     not_before: 1_700_000_000,
/// #     profile: sealstone_pki::x509::Profile::end_entity(),
/// #     serial: sealstone_pki::x509::Serial::random(&mut OsRandom)?,
/// #     subject: "CN=files".parse()?,
/// # }.self_sign(&signing)?;
/// // The kernel knows a key by the end of its certificate's identifier.
/// let trusted = TrustedKey::of_certificate(&certificate, 1_800_000_000)?;
/// assert_eq!(trusted.algorithm, "ML-DSA-44");
/// assert_eq!(trusted.key_id, KeyId::of(certificate.subject_key_id().ok_or("it has one")?)?);
///
/// // The same key without a certificate gets an id from its bits, by another rule; its fingerprint is the same.
/// let bare = TrustedKey::of_spki(certificate.public_key())?;
/// assert_ne!(bare.key_id, trusted.key_id);
/// assert_eq!(bare.fingerprint(), trusted.fingerprint());
/// assert_eq!(bare.ml_dsa()?.level().name(), "ML-DSA-44");
///
/// let mut appraiser = Appraiser::new();
/// trusted.trusted_by(&mut appraiser)?;
/// # Ok(())
/// # }
/// ```
pub struct TrustedKey {
    /// By which records name it.
    pub key_id: KeyId,
    /// SubjectPublicKeyInfo in DER.
    pub spki: Vec<u8>,
    /// Such as `ML-DSA-65`.
    pub algorithm: &'static str,
}

impl TrustedKey {
    /// The key of a certificate, by the certificate's subject key identifier. The signature of the certificate is not
    /// checked: the caller names it as trusted.
    ///
    /// # Errors
    /// [`Error::Certificate`] without an identifier, or for a use that is not that of signing files at `now`, seconds
    /// since 1970; errors of the key.
    pub fn of_certificate(certificate: &Certificate, now: i64) -> Result<Self, Error> {
        let refused = |what: &'static str| Error::Certificate { what };
        let identifier = certificate
            .subject_key_id()
            .ok_or(refused("it has no subject key identifier, by which the kernel finds a key"))?;
        if certificate.key_usage().is_some_and(|usage| !usage.has(KeyUsage::DIGITAL_SIGNATURE)) {
            return Err(refused("its keyUsage is without digitalSignature"));
        }
        if now < certificate.not_before() {
            return Err(refused("it is not valid yet"));
        }
        if now > certificate.not_after() {
            return Err(refused("it is not valid any more"));
        }
        let mut key = Self::of_spki(certificate.public_key())?;
        key.key_id = KeyId::of(identifier)?;
        Ok(key)
    }

    /// A key alone, by the SHA-1 of its bits (RFC 5280 §4.2.1.2, method 1), as evmctl does. A certificate of the same key
    /// may say otherwise.
    ///
    /// # Errors
    /// [`Error::Key`].
    pub fn of_spki(spki: &[u8]) -> Result<Self, Error> {
        let (_, algorithm) = verifying(spki)?;
        Ok(Self { key_id: id_by_sha1(spki)?, spki: spki.to_vec(), algorithm })
    }

    /// Lets an appraiser trust it.
    ///
    /// # Errors
    /// [`Error::Key`].
    pub fn trusted_by(&self, appraiser: &mut Appraiser) -> Result<(), Error> {
        appraiser.trust(self.key_id, verifying(&self.spki)?.0);
        Ok(())
    }

    /// SHA-256 of the SubjectPublicKeyInfo: the key's name where four bytes are too few.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut fingerprint = [0; 32];
        fingerprint.copy_from_slice(digest::of(HashAlgorithm::Sha256, &self.spki).as_ref());
        fingerprint
    }

    /// The ML-DSA key, which alone signs manifests.
    ///
    /// # Errors
    /// [`Error::Key`] for a classical key.
    pub fn ml_dsa(&self) -> Result<any::ExpandedVerifyingKey, Error> {
        match verifying(&self.spki)?.0 {
            Key::MlDsa(key) => Ok(key),
            Key::Classical(_) => Err(Error::Key { what: "manifests are signed with ML-DSA alone" }),
        }
    }
}

/// Shows the id and the algorithm.
impl fmt::Debug for TrustedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TrustedKey({}, {})", self.key_id, self.algorithm)
    }
}

/// The key that a SubjectPublicKeyInfo holds, and what it is called.
fn verifying(spki: &[u8]) -> Result<(Key, &'static str), Error> {
    if spki::rsa_is_for_pss_alone(spki) {
        return Err(Error::Key { what: "it is for RSASSA-PSS alone, and IMA checks RSA by PKCS #1 v1.5" });
    }
    if spki::rsa_from_der(spki).is_ok() {
        return Ok((Key::Classical(Classical::rsa(bits(spki)?)), "RSA"));
    }
    let info = spki::from_der(spki).map_err(|_| Error::Key { what: "not an ML-DSA, ECDSA or RSA key" })?;
    let name = info.algorithm().name();
    if let KeyAlgorithm::MlDsa(level) = info.algorithm() {
        let key = any::VerifyingKey::decode(level, info.key())
            .map_err(|_| Error::Key { what: "not a public key" })?;
        return Ok((Key::MlDsa(key.expand()), name));
    }
    let key = Classical::elliptic(info.algorithm(), info.key());
    let key = key.ok_or(Error::Key { what: "IMA takes ML-DSA, RSA, and ECDSA on P-256 and P-384" })?;
    Ok((Key::Classical(key), name))
}

/// The content of the BIT STRING.
fn bits(spki: &[u8]) -> Result<&[u8], Error> {
    let read = || {
        let mut whole = Reader::new(spki)?;
        let mut fields = whole.take(der::SEQUENCE)?;
        fields.take(der::SEQUENCE)?;
        fields.take_bits(der::BIT_STRING)
    };
    read().map_err(|_: sealstone_pki::Error| Error::Key { what: "not a SubjectPublicKeyInfo" })
}

fn id_by_sha1(spki: &[u8]) -> Result<KeyId, Error> {
    KeyId::of(digest::of(HashAlgorithm::Sha1, bits(spki)?).as_ref())
}

/// A private key that signs files. Wiped when dropped.
///
/// ```
/// use sealstone_mldsa::Level;
/// use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo};
/// use sealstone_tree::{Error, FileId, HashAlgorithm, Kind, Record, Signer, Version};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let key = PrivateKeyInfo::new(KeyAlgorithm::MlDsa(Level::MlDsa65), &[7; 32], None)?;
/// let mut signer = Signer::new(&key, None, 1_800_000_000)?;
/// assert!(signer.is_ml_dsa());
/// assert!(signer.id_is_derived(), "a certificate may name the key otherwise");
/// assert_eq!(signer.attribute_len(), 3318);
/// signer.set_hash(HashAlgorithm::Sha512)?;
/// assert_eq!(signer.hash(), HashAlgorithm::Sha512);
///
/// // The kernel takes ML-DSA with version 3 alone.
/// assert_eq!(signer.set_version(Version::V2), Err(Error::ClassicalRules));
///
/// let file = FileId::new(Kind::File, HashAlgorithm::Sha512, &[1; 64])?;
/// for attribute in signer.sign(&[file]) {
///     assert_eq!(Record::parse(&attribute?)?.key_id(), signer.public().key_id);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Signer {
    key: Private,
    /// The public half.
    public: TrustedKey,
    /// Trusts this key alone: what is signed already is kept.
    own: Appraiser,
    hash: HashAlgorithm,
    version: Version,
    subject: Subject,
    id_is_derived: bool,
}

/// What of a file is signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subject {
    /// The digest of its bytes: type 3 of the attribute.
    #[default]
    Bytes,
    /// The digest to which fs-verity will hold it once it is enabled with this hash function, blocks of 4 KiB and no salt: type 6.
    FutureVerity,
    /// The digest to which fs-verity holds it, where it is enabled: type 6.
    Verity,
}

impl Subject {
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::Bytes => Kind::File,
            Self::FutureVerity | Self::Verity => Kind::Verity,
        }
    }
}

enum Private {
    Ecdsa(Box<EcdsaKeyPair>),
    MlDsa(any::ExpandedSigningKey),
}

impl Signer {
    /// Takes a private key, and its certificate, which names it. Without one the id is derived from the key.
    ///
    /// # Errors
    /// As [`TrustedKey::of_certificate`]; [`Error::Certificate`] for another key's certificate; [`Error::Key`] for a key
    /// that IMA does not know.
    pub fn new(info: &PrivateKeyInfo, certificate: Option<&Certificate>, now: i64) -> Result<Self, Error> {
        let signing = sealstone_pki::sign::SigningKey::from_info(info)
            .map_err(|_| Error::Key { what: "not a private key that belongs together" })?;
        let public: &PublicKeyInfo = signing.public();
        let spki = spki::to_der(public);
        let key = match (info.algorithm(), info.secret()) {
            (KeyAlgorithm::MlDsa(level), secret) => Private::MlDsa(ml_dsa(level, secret)?),
            (algorithm @ (KeyAlgorithm::EcP256 | KeyAlgorithm::EcP384), Secret::EcScalar(scalar)) => {
                let by = match algorithm {
                    KeyAlgorithm::EcP256 => &ECDSA_P256_SHA256_ASN1_SIGNING,
                    _ => &ECDSA_P384_SHA384_ASN1_SIGNING,
                };
                let pair = EcdsaKeyPair::from_private_key_and_public_key(by, scalar, public.key());
                Private::Ecdsa(Box::new(pair.map_err(|_| Error::Key { what: "not a private key" })?))
            }
            _ => return Err(Error::Key { what: "IMA takes ML-DSA, and ECDSA on P-256 and P-384" }),
        };
        let public = match certificate {
            None => TrustedKey::of_spki(&spki)?,
            Some(certificate) if certificate.public_key() != spki => {
                return Err(Error::Certificate { what: "it is of another key" });
            }
            Some(certificate) => TrustedKey::of_certificate(certificate, now)?,
        };
        let mut own = Appraiser::new();
        public.trusted_by(&mut own)?;
        let hash = match &key {
            Private::Ecdsa(_) if info.algorithm() == KeyAlgorithm::EcP384 => HashAlgorithm::Sha384,
            _ => HashAlgorithm::Sha256,
        };
        let id_is_derived = certificate.is_none();
        Ok(Self { key, public, own, hash, version: Version::V3, subject: Subject::Bytes, id_is_derived })
    }

    /// Takes another hash function than SHA-256. ECDSA signs with the one of its curve's size, and no other.
    ///
    /// # Errors
    /// [`Error::Key`].
    pub fn set_hash(&mut self, hash: HashAlgorithm) -> Result<(), Error> {
        use HashAlgorithm::{Sha256, Sha384, Sha512};
        if self.subject != Subject::Bytes && verity::number(hash).is_none() {
            return Err(Error::VerityHash { hash });
        }
        match self.key {
            Private::MlDsa(_) if matches!(hash, Sha256 | Sha384 | Sha512) => self.hash = hash,
            Private::Ecdsa(_) if hash == self.hash => {}
            Private::Ecdsa(_) => {
                return Err(Error::Key { what: "P-256 signs with sha256, P-384 with sha384" });
            }
            Private::MlDsa(_) => {
                return Err(Error::Key { what: "files are signed with sha256, sha384 or sha512" });
            }
        }
        Ok(())
    }

    /// Signs another thing of each file than its bytes. Merkle trees are signed in version 3, by the hash functions of fs-verity.
    ///
    /// ```
    /// use sealstone_tree::{Error, HashAlgorithm, Rules, SignOptions, Signer, Signing, Subject, Tree, USER_IMA};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // `signer`: a `Signer` with a key of ML-DSA-44, for an image that is not made yet.
    /// # let key = sealstone_pki::PrivateKeyInfo::new(
    /// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[7; 32], None)?;
    /// # let mut signer = Signer::new(&key, None, 1_800_000_000)?;
    /// # let folder = tempfile::tempdir()?;
    /// # std::fs::write(folder.path().join("tool"), "what it does")?;
    /// assert_eq!(signer.subject(), Subject::Bytes);
    /// signer.set_subject(Subject::FutureVerity)?;
    /// let refused = signer.set_hash(HashAlgorithm::Sha384);
    /// assert_eq!(refused, Err(Error::VerityHash { hash: HashAlgorithm::Sha384 }), "fs-verity has no such trees");
    ///
    /// // Where it is enabled by now, the kernel is asked: it is not for a file that was just written.
    /// signer.set_subject(Subject::Verity)?;
    /// let tree = Tree::open(folder.path(), Rules::default(), false, 2)?;
    /// tree.sign(&signer, SignOptions { attribute: Some(USER_IMA), ..SignOptions::default() }, |entry| {
    ///     assert_eq!(entry.outcome, Signing::Failed(Error::NoVerity));
    ///     Ok::<(), Error>(())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Key`]; [`Error::VerityHash`].
    pub fn set_subject(&mut self, subject: Subject) -> Result<(), Error> {
        if subject != Subject::Bytes && self.version == Version::V2 {
            return Err(Error::Key { what: "version 2 does not say that it is of a Merkle tree" });
        }
        if subject != Subject::Bytes && verity::number(self.hash).is_none() {
            return Err(Error::VerityHash { hash: self.hash });
        }
        self.subject = subject;
        Ok(())
    }

    /// What of each file is signed.
    pub fn subject(&self) -> Subject {
        self.subject
    }

    /// Signs by version 2, which kernels before 7.1 read. ML-DSA has none.
    ///
    /// # Errors
    /// [`Error::ClassicalRules`].
    pub fn set_version(&mut self, version: Version) -> Result<(), Error> {
        if matches!((&self.key, version), (Private::MlDsa(_), Version::V2)) {
            return Err(Error::ClassicalRules);
        }
        if self.subject != Subject::Bytes && version == Version::V2 {
            return Err(Error::Key { what: "version 2 does not say that it is of a Merkle tree" });
        }
        self.version = version;
        Ok(())
    }

    /// The public half.
    pub fn public(&self) -> &TrustedKey {
        &self.public
    }

    /// Whether the id was derived from the key, and a certificate may say otherwise.
    pub fn id_is_derived(&self) -> bool {
        self.id_is_derived
    }

    /// The hash function of files.
    pub fn hash(&self) -> HashAlgorithm {
        self.hash
    }

    /// Whether Linux needs ML-DSA to check what this signs.
    pub fn is_ml_dsa(&self) -> bool {
        matches!(self.key, Private::MlDsa(_))
    }

    /// Bytes of the attribute that it writes, at most.
    pub fn attribute_len(&self) -> usize {
        Record::len_for(match &self.key {
            Private::Ecdsa(_) if self.hash == HashAlgorithm::Sha384 => 104,
            Private::Ecdsa(_) => 72,
            Private::MlDsa(key) => key.level().signature_len(),
        })
    }

    /// An appraiser that trusts this key alone.
    pub(crate) fn own(&self) -> &Appraiser {
        &self.own
    }

    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// The attribute of each file. ML-DSA goes through the engine side by side.
    pub fn sign(&self, files: &[FileId]) -> Vec<Result<Vec<u8>, Error>> {
        match &self.key {
            Private::Ecdsa(pair) => files.iter().map(|file| self.sign_classical(pair, file)).collect(),
            Private::MlDsa(key) => match key {
                any::ExpandedSigningKey::MlDsa44(key) => self.sign_ml_dsa(key, files),
                any::ExpandedSigningKey::MlDsa65(key) => self.sign_ml_dsa(key, files),
                any::ExpandedSigningKey::MlDsa87(key) => self.sign_ml_dsa(key, files),
            },
        }
    }

    fn sign_classical(&self, pair: &EcdsaKeyPair, file: &FileId) -> Result<Vec<u8>, Error> {
        let signature = match self.version {
            Version::V2 => pair.sign_digest(&Classical::message(Version::V2, file)?),
            Version::V3 => pair.sign(&SystemRandom::new(), file.as_bytes()),
        };
        let signature = signature.map_err(|_| Error::Engine(sealstone_mldsa::Error::RngFailed))?;
        Ok(Record::by(self.version, file, self.public.key_id, signature.as_ref())?.to_bytes())
    }

    fn sign_ml_dsa<P: ParameterSet>(
        &self,
        key: &ExpandedSigningKey<P>,
        files: &[FileId],
    ) -> Vec<Result<Vec<u8>, Error>> {
        let engine = CpuEngine::new();
        let mut messages: Vec<_> =
            files.iter().map(|file| key.mu_job(Context::EMPTY, file.as_bytes())).collect();
        engine.hash_messages(&mut messages);
        // Every message is answered.
        let of = |message: &'_ MuJob<'_>| message.mu.clone().ok_or(sealstone_mldsa::Error::FaultDetected);
        let mus = messages.iter().map(of).collect::<Result<Vec<_>, _>>();
        let mut chance = Zeroizing::new(vec![0; 32 * files.len()]);
        let mus = match OsRandom.fill(&mut chance).and(mus) {
            Ok(mus) => mus,
            Err(cause) => return files.iter().map(|_| Err(Error::Engine(cause))).collect(),
        };
        let mut jobs = Vec::with_capacity(files.len());
        for (mu, fresh) in mus.iter().zip(chance.chunks_exact(32)) {
            let mut rnd = [0; 32];
            rnd.copy_from_slice(fresh);
            jobs.push(SignJob { key, mu, rnd, signature: None });
        }
        engine.sign(&mut jobs);
        let made = jobs.iter_mut().zip(files).map(|(job, file)| {
            zeroize::Zeroize::zeroize(&mut job.rnd);
            // Every job is answered.
            let signature = job.signature.take().unwrap_or(Err(sealstone_mldsa::Error::AttemptsExhausted));
            let signature = signature.map_err(Error::Engine)?;
            Ok(Record::of(file, self.public.key_id, signature.encode())?.to_bytes())
        });
        made.collect()
    }

    /// Signs a manifest's representative.
    pub(crate) fn sign_mu(&self, mu: &Mu) -> Result<any::Signature, Error> {
        match &self.key {
            Private::Ecdsa(_) => Err(Error::Key { what: "manifests are signed with ML-DSA alone" }),
            Private::MlDsa(key) => key.sign_mu(&mut OsRandom, mu).map_err(Error::Engine),
        }
    }
}

/// Never the key.
impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({:?})", self.public)
    }
}

fn ml_dsa(level: Level, secret: &Secret) -> Result<any::ExpandedSigningKey, Error> {
    match secret {
        Secret::MlDsaSeed(seed) | Secret::MlDsaBoth { seed, .. } => {
            Ok(any::SigningKey::from_seed(level, seed).expand())
        }
        Secret::MlDsaExpanded(expanded) => {
            any::ExpandedSigningKey::decode(level, expanded).map_err(Error::Engine)
        }
        _ => Err(Error::Key { what: "the secret is none of its algorithm" }),
    }
}
