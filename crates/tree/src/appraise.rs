//! Whether a record stands for a file, by the rules of Linux 7.2 (security/integrity/digsig_asymmetric.c): the key is found by its
//! id, and ML-DSA is only taken with version 3.
//!
//! The digest comes from outside: nothing here reads a file.

use std::collections::BTreeMap;

use sealstone_mldsa::{
    Context, CpuEngine, Engine as _, ExpandedVerifyingKey, MuJob, ParameterSet, Signature, VerifyJob, any,
};

use crate::classical::Classical;
use crate::error::Error;
use crate::file_id::FileId;
use crate::record::{KeyId, Record, Version};

/// A key that the appraiser trusts.
pub enum Key {
    /// ECDSA or RSA, as older trees have it.
    Classical(Classical),
    /// Held expanded: many files are checked with one key.
    MlDsa(any::ExpandedVerifyingKey),
}

/// Trusted keys, by their ids: what the keyring `.ima` is for the kernel. It can be shared between threads.
///
/// ```
/// use sealstone_tree::{Appraiser, Error, FileId, HashAlgorithm, KeyId, Kind, Record, Signer};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // `signer`: a `Signer` with a key of ML-DSA-44.
/// # let key = sealstone_pki::PrivateKeyInfo::new(
/// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[7; 32], None)?;
/// # let signer = Signer::new(&key, None, 1_800_000_000)?;
/// let mut appraiser = Appraiser::new();
/// signer.public().trusted_by(&mut appraiser)?;
/// assert_eq!(appraiser.shared_ids().count(), 0);
///
/// // Two files, and the attribute of one of them at both.
/// let file = |digest: u8| FileId::new(Kind::File, HashAlgorithm::Sha256, &[digest; 32]);
/// let attribute = signer.sign(&[file(1)?]).remove(0)?;
/// let record = Record::parse(&attribute)?;
/// appraiser.appraise(&record, &file(1)?)?;
/// let verdicts = appraiser.appraise_all(&[(record, file(1)?), (record, file(2)?)]);
/// assert_eq!(verdicts, [Ok(()), Err(Error::BadSignature)]);
///
/// // A signature by nobody who is known is told apart from a bad one.
/// let stranger = Record::of(&file(1)?, KeyId(0x3762_d430), record.signature())?;
/// assert_eq!(appraiser.appraise(&stranger, &file(1)?), Err(Error::UnknownKey { key_id: KeyId(0x3762_d430) }));
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Appraiser {
    keys: BTreeMap<KeyId, Vec<Key>>,
}

impl Appraiser {
    /// Trusts nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a key. Two keys may have one id, which is short: each is tried.
    pub fn trust(&mut self, key_id: KeyId, key: Key) {
        self.keys.entry(key_id).or_default().push(key);
    }

    /// Whether some key has this id.
    pub(crate) fn knows(&self, key_id: KeyId) -> bool {
        self.keys.contains_key(&key_id)
    }

    /// Ids that more than one key has. The kernel takes the first key that it finds by an id, and refuses the files of the
    /// others.
    pub fn shared_ids(&self) -> impl Iterator<Item = KeyId> {
        self.keys.iter().filter(|(_, keys)| keys.len() > 1).map(|(key_id, _)| *key_id)
    }

    /// Checks that `record` is a trusted key's signature over `file`.
    ///
    /// # Errors
    /// [`Error::UnknownKey`], [`Error::Kind`] and [`Error::HashDiffers`] if the record is of something else,
    /// [`Error::ClassicalRules`] for a version that ML-DSA does not have, [`Error::ClassicalUnsupported`] for a digest that
    /// classical keys are not checked with here, and [`Error::BadSignature`].
    pub fn appraise(&self, record: &Record<'_>, file: &FileId) -> Result<(), Error> {
        let mut refusal = Error::BadSignature;
        for key in self.candidates(record, file)? {
            match key.check(record, file) {
                Ok(()) => return Ok(()),
                Err(why) => refusal = why,
            }
        }
        Err(refusal)
    }

    /// The same for many files at once, each with the answer that it would get alone. Signatures of ML-DSA go through the
    /// engine side by side.
    pub fn appraise_all(&self, claims: &[(Record<'_>, FileId)]) -> Vec<Result<(), Error>> {
        let mut verdicts: Vec<Option<Result<(), Error>>> = Vec::with_capacity(claims.len());
        let mut levels = (Lane::default(), Lane::default(), Lane::default());
        for (index, (record, file)) in claims.iter().enumerate() {
            let alone = match self.candidates(record, file) {
                Ok([Key::MlDsa(key)]) if record.version() == Version::V3 => {
                    let taken = match key {
                        any::ExpandedVerifyingKey::MlDsa44(key) => levels.0.take(index, key, record, file),
                        any::ExpandedVerifyingKey::MlDsa65(key) => levels.1.take(index, key, record, file),
                        any::ExpandedVerifyingKey::MlDsa87(key) => levels.2.take(index, key, record, file),
                    };
                    if taken { None } else { Some(Err(Error::BadSignature)) }
                }
                _ => Some(self.appraise(record, file)),
            };
            verdicts.push(alone);
        }
        levels.0.verify(&mut verdicts);
        levels.1.verify(&mut verdicts);
        levels.2.verify(&mut verdicts);
        // Every job is answered; what is not would be no signature.
        verdicts.into_iter().map(|verdict| verdict.unwrap_or(Err(Error::BadSignature))).collect()
    }

    /// The keys that may have made a record over this file.
    fn candidates(&self, record: &Record<'_>, file: &FileId) -> Result<&[Key], Error> {
        let Some(keys) = self.keys.get(&record.key_id()) else {
            return Err(Error::UnknownKey { key_id: record.key_id() });
        };
        if record.kind() != file.kind() {
            return Err(Error::Kind { expected: file.kind(), found: record.kind() });
        }
        if record.hash() != file.hash() {
            return Err(Error::HashDiffers { expected: file.hash(), found: record.hash() });
        }
        Ok(keys)
    }
}

impl Key {
    fn check(&self, record: &Record<'_>, file: &FileId) -> Result<(), Error> {
        match self {
            Self::Classical(key) => key.check(record, file),
            Self::MlDsa(_) if record.version() == Version::V2 => Err(Error::ClassicalRules),
            Self::MlDsa(key) => {
                let signature = any::Signature::decode(key.level(), record.signature());
                let signature = signature.map_err(|_| Error::BadSignature)?;
                key.verify(Context::EMPTY, file.as_bytes(), &signature).map_err(|_| Error::BadSignature)
            }
        }
    }
}

/// The jobs of one level.
struct Lane<'a, P: ParameterSet>(Vec<(usize, &'a ExpandedVerifyingKey<P>, MuJob<'a>, Signature<P>)>);

impl<P: ParameterSet> Default for Lane<'_, P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'a, P: ParameterSet> Lane<'a, P> {
    /// False for a signature that is none of this level.
    fn take(
        &mut self,
        index: usize,
        key: &'a ExpandedVerifyingKey<P>,
        record: &Record<'_>,
        file: &'a FileId,
    ) -> bool {
        let Ok(signature) = Signature::decode(record.signature()) else { return false };
        self.0.push((index, key, key.mu_job(Context::EMPTY, file.as_bytes()), signature));
        true
    }

    fn verify(&mut self, verdicts: &mut [Option<Result<(), Error>>]) {
        let engine = CpuEngine::new();
        engine.hash_messages(self.0.iter_mut().map(|(_, _, message, _)| message));
        let ready = self.0.iter().filter_map(|(index, key, message, signature)| {
            Some((*index, VerifyJob { key, mu: message.mu.as_ref()?, signature, verdict: None }))
        });
        let (places, mut jobs): (Vec<_>, Vec<VerifyJob<'_, P>>) = ready.unzip();
        engine.verify(&mut jobs);
        for (place, job) in places.into_iter().zip(jobs) {
            verdicts[place] = job.verdict.map(|verdict| verdict.map_err(|_| Error::BadSignature));
        }
    }
}
