//! Secrets at rest: AES-256-GCM under a key file that only the server can read.
//!
//! A sealed secret is `nonce (12 bytes) || ciphertext || tag (16 bytes)`. The associated data binds it to its kind and its
//! record, so that one that is moved to another record, or given out for another kind, does not open.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Prk, Salt};
use aws_lc_rs::hmac;
use zeroize::Zeroizing;

use crate::clock::{Randomness, random_id};
use crate::{Error, data_dir};

const KEY_LEN: usize = 32;

/// What a sealed secret is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secret {
    /// The private key of the audit log. Its record is the key's id.
    AuditKey,
    /// A client's secret, for [`client_secret_jwt`](crate::client::AuthMethod::ClientSecretJwt). Its record is the client.
    Client,
    /// A private key of the server's. Its record is the signing key.
    SigningKey,
}

/// Seals and opens secrets under the key of one data directory, and derives other keys from it.
pub struct Sealer {
    aead: LessSafeKey,
    prk: Prk,
}

impl Sealer {
    /// The sealer of a data directory. Creates `seal.key` if the store has `nothing_sealed` yet; a new key would open
    /// nothing that an old one has sealed.
    /// Errors: `DataDirectory` if the file is not exactly 32 bytes or others may read it; `Sealed` if it is missing.
    pub fn open(data_dir: &Path, nothing_sealed: bool, randomness: &dyn Randomness) -> Result<Self, Error> {
        let path = data_dir::seal_key(data_dir);
        match (path.exists(), nothing_sealed) {
            (true, _) => {}
            (false, true) => create(data_dir, &path, randomness)?,
            (false, false) => {
                return Err(Error::Sealed { what: "seal.key is missing from the data directory" });
            }
        }
        let key = read_key_file(&path)?;
        Self::from_key(&key)
    }

    /// A sealer under a given key.
    pub fn from_key(key: &[u8; KEY_LEN]) -> Result<Self, Error> {
        let aead =
            UnboundKey::new(&AES_256_GCM, key).map_err(|_| Error::Sealed { what: "the key is not one" })?;
        Ok(Self { aead: LessSafeKey::new(aead), prk: Salt::new(HKDF_SHA256, b"sealstone v1").extract(key) })
    }

    /// The HMAC-SHA256 key for one purpose, HKDF of the key file (RFC 5869): the same on every server of one store.
    pub fn mac_key(&self, purpose: &str) -> Result<hmac::Key, Error> {
        let info = [purpose.as_bytes()];
        let okm = self.prk.expand(&info, hmac::HMAC_SHA256);
        okm.map(hmac::Key::from).map_err(|_| Error::Sealed { what: "no key could be derived" })
    }

    /// Seals `secret` for the record `name`.
    pub fn seal(
        &self,
        what: Secret,
        name: &str,
        secret: &[u8],
        randomness: &dyn Randomness,
    ) -> Result<Vec<u8>, Error> {
        let mut nonce = [0; NONCE_LEN];
        randomness.fill(&mut nonce)?;
        // The plaintext is wiped: it is encrypted in place.
        let mut sealed = Vec::with_capacity(NONCE_LEN + secret.len() + AES_256_GCM.tag_len());
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(secret);
        let tag = self
            .aead
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(associated(what, name)),
                &mut sealed[NONCE_LEN..],
            )
            .map_err(|_| Error::Sealed { what: "sealing failed" })?;
        sealed.extend_from_slice(tag.as_ref());
        Ok(sealed)
    }

    /// Opens what was sealed for the record `name`.
    /// Errors: `Sealed`, the same for another key, another kind or record and changed bytes.
    pub fn open_sealed(&self, what: Secret, name: &str, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let forged =
            || Error::Sealed { what: "it was sealed under another key, for another record, or was changed" };
        let (nonce, ciphertext) = sealed.split_first_chunk::<NONCE_LEN>().ok_or_else(forged)?;
        let mut buffer = Zeroizing::new(ciphertext.to_vec());
        let opened = self
            .aead
            .open_in_place(
                Nonce::assume_unique_for_key(*nonce),
                Aad::from(associated(what, name)),
                &mut buffer,
            )
            .map_err(|_| forged())?
            .len();
        buffer.truncate(opened);
        Ok(buffer)
    }
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer(..)")
    }
}

/// No kind has a zero byte in it, so no two pairs have one text.
fn associated(what: Secret, name: &str) -> Vec<u8> {
    let kind: &[u8] = match what {
        Secret::AuditKey => b"sealstone audit key v1\0",
        Secret::Client => b"sealstone client secret v1\0",
        Secret::SigningKey => b"sealstone signing key v1\0",
    };
    [kind, name.as_bytes()].concat()
}

/// Writes the whole key under another name first and links it into place: the name appears once and complete, also if
/// two servers start at the same time or the machine stops half way.
fn create(data_dir: &Path, path: &Path, randomness: &dyn Randomness) -> Result<(), Error> {
    let mut key = Zeroizing::new([0; KEY_LEN]);
    randomness.fill(&mut *key)?;
    let draft = data_dir.join(format!("seal.key.{}", random_id(randomness)?));
    let written = || -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(&*key)?;
        file.sync_all()?;
        match fs::hard_link(&draft, path) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            linked => linked?,
        }
        fs::File::open(data_dir)?.sync_all()
    }();
    let _ = fs::remove_file(&draft);
    written.map_err(|cause| Error::data(path, cause))
}

/// The key of a file that its owner alone can read.
/// Errors: `DataDirectory` if it is not exactly 32 bytes or others may read it.
pub(crate) fn read_key_file(path: &Path) -> Result<Zeroizing<[u8; KEY_LEN]>, Error> {
    let mut file = fs::File::open(path).map_err(|cause| Error::data(path, cause))?;
    let metadata = file.metadata().map_err(|cause| Error::data(path, cause))?;
    if metadata.mode() & 0o077 != 0 {
        let mode = metadata.mode() & 0o7777;
        return Err(Error::data(path, format!("mode {mode:04o} lets others in, 0600 expected")));
    }
    if metadata.len() != KEY_LEN as u64 {
        return Err(Error::data(path, format!("{} bytes, {KEY_LEN} expected", metadata.len())));
    }
    let mut key = Zeroizing::new([0; KEY_LEN]);
    file.read_exact(&mut *key).map_err(|cause| Error::data(path, cause))?;
    Ok(key)
}
