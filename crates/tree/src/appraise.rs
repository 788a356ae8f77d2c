//! Whether a record stands for a file, by the rules of Linux 7.2 (security/integrity/digsig_asymmetric.c): the key is found by its
//! id, and ML-DSA is only taken with version 3.
//!
//! The digest comes from outside: nothing here reads a file.

use std::collections::BTreeMap;

use sealstone_mldsa::{Context, any};

use crate::error::Error;
use crate::file_id::FileId;
use crate::record::{KeyId, Record, Version};

/// A key that the appraiser trusts.
pub enum Key {
    /// Held expanded: many files are checked with one key.
    MlDsa(any::ExpandedVerifyingKey),
}

/// Trusted keys, by their ids: what the keyring `.ima` is for the kernel. It can be shared between threads.
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

    /// Checks that `record` is a trusted key's signature over `file`.
    ///
    /// # Errors
    /// [`Error::UnknownKey`], [`Error::Kind`] and [`Error::HashDiffers`] if the record is of something else,
    /// [`Error::ClassicalRules`] for a version that ML-DSA does not have, and [`Error::BadSignature`].
    pub fn appraise(&self, record: &Record<'_>, file: &FileId) -> Result<(), Error> {
        let Some(keys) = self.keys.get(&record.key_id()) else {
            return Err(Error::UnknownKey { key_id: record.key_id() });
        };
        if record.kind() != file.kind() {
            return Err(Error::Kind { expected: file.kind(), found: record.kind() });
        }
        if record.hash() != file.hash() {
            return Err(Error::HashDiffers { expected: file.hash(), found: record.hash() });
        }
        let mut refusal = Error::BadSignature;
        for key in keys {
            match key.check(record, file) {
                Ok(()) => return Ok(()),
                Err(why) => refusal = why,
            }
        }
        Err(refusal)
    }
}

impl Key {
    fn check(&self, record: &Record<'_>, file: &FileId) -> Result<(), Error> {
        match self {
            Self::MlDsa(_) if record.version() == Version::V2 => Err(Error::ClassicalRules),
            Self::MlDsa(key) => {
                let signature = any::Signature::decode(key.level(), record.signature());
                let signature = signature.map_err(|_| Error::BadSignature)?;
                key.verify(Context::EMPTY, file.as_bytes(), &signature).map_err(|_| Error::BadSignature)
            }
        }
    }
}
