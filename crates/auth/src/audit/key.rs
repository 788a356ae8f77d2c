//! The key that signs the audit log: ML-DSA-65, sealed in the data directory, for nothing else.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_audit::CONTEXT;
use sealstone_jose::{Algorithm, PublicKey, UnixSeconds};
use sealstone_mldsa::any::{ExpandedSigningKey, SigningKey};
use sealstone_mldsa::{Context, Level, Randomness as MlDsaRandomness};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::Error;
use crate::clock::{Randomness, random_id};
use crate::keys::{Sealer, Secret};

const LEVEL: Level = Level::MlDsa65;

/// The private key.
pub struct AuditKey {
    expanded: ExpandedSigningKey,
    public: PublicKey,
    randomness: Arc<dyn Randomness>,
}

impl AuditKey {
    /// The key of an audit directory, which is made where there is none.
    /// Errors: `DataDirectory`; `Sealed` if it was sealed under another `seal.key`.
    pub fn open(
        directory: &Path,
        sealer: &Sealer,
        randomness: Arc<dyn Randomness>,
        now: UnixSeconds,
    ) -> Result<Self, Error> {
        let path = place(directory);
        if !path.exists() {
            create(directory, sealer, &*randomness, now)?;
        }
        let stored = Stored::read(&path)?;
        let public = stored.public(&path)?;
        let sealed = URL_SAFE_NO_PAD.decode(&stored.sealed).map_err(|cause| Error::data(&path, cause))?;
        let seed = sealer.open_sealed(Secret::AuditKey, &stored.kid, &sealed)?;
        let key = SigningKey::try_from_seed(LEVEL, &seed).map_err(|cause| Error::data(&path, cause))?;
        if key.verifying_key().encode() != public.as_bytes() {
            return Err(Error::data(&path, "the sealed key is not the one of `public`"));
        }
        Ok(Self { expanded: key.expand(), public, randomness })
    }

    /// The public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }
}

impl sealstone_audit::Key for AuditKey {
    fn kid(&self) -> &str {
        self.public.kid()
    }

    fn sign(&self, line: &[u8]) -> Result<Vec<u8>, sealstone_audit::Error> {
        let failed = |cause: sealstone_mldsa::Error| sealstone_audit::Error::Key { what: cause.to_string() };
        let context = Context::new(CONTEXT).map_err(failed)?;
        let signed = self.expanded.sign(&mut Chance(&*self.randomness), context, line);
        signed.map(|signature| signature.encode().to_vec()).map_err(failed)
    }
}

impl std::fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuditKey").field("kid", &self.public.kid()).finish_non_exhaustive()
    }
}

/// The public half of the key in an audit directory, which needs no `seal.key`.
/// Errors: `DataDirectory`.
pub fn public(directory: &Path) -> Result<PublicKey, Error> {
    let path = place(directory);
    Stored::read(&path)?.public(&path)
}

fn place(directory: &Path) -> PathBuf {
    directory.join("key.json")
}

/// The file `key.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    alg: String,
    created_at: u64,
    kid: String,
    public: String,
    sealed: String,
}

impl Stored {
    fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read(path).map_err(|cause| match cause.kind() {
            io::ErrorKind::NotFound => {
                Error::data(path, "there is no audit key: the first start of the server makes one")
            }
            _ => Error::data(path, cause),
        })?;
        serde_json::from_slice(&text).map_err(|cause| Error::data(path, cause))
    }

    fn public(&self, path: &Path) -> Result<PublicKey, Error> {
        let bytes = URL_SAFE_NO_PAD.decode(&self.public).map_err(|cause| Error::data(path, cause))?;
        let key = PublicKey::from_public(Algorithm::MlDsa65, &bytes);
        let key = key.map_err(|cause| Error::data(path, cause))?;
        match key.kid() == self.kid {
            true => Ok(key),
            false => Err(Error::data(path, "`kid` is not the thumbprint of `public`")),
        }
    }
}

/// The whole file or none, and one of two that come at once: as with `seal.key`.
fn create(
    directory: &Path,
    sealer: &Sealer,
    randomness: &dyn Randomness,
    now: UnixSeconds,
) -> Result<(), Error> {
    let path = place(directory);
    let mut seed = Zeroizing::new([0; 32]);
    randomness.fill(&mut *seed)?;
    let key = SigningKey::from_seed(LEVEL, &seed).verifying_key();
    let public = PublicKey::from_public(Algorithm::MlDsa65, key.encode());
    let public = public.map_err(|cause| Error::data(&path, cause))?;
    let sealed = sealer.seal(Secret::AuditKey, public.kid(), &*seed, randomness)?;
    let stored = Stored {
        alg: Algorithm::MlDsa65.name().into(),
        created_at: now.0,
        kid: public.kid().to_owned(),
        public: URL_SAFE_NO_PAD.encode(public.as_bytes()),
        sealed: URL_SAFE_NO_PAD.encode(sealed),
    };
    let text = serde_json::to_vec(&stored).map_err(|cause| Error::data(&path, cause))?;
    let draft = directory.join(format!("key.json.{}", random_id(randomness)?));
    let written = || -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(&text)?;
        file.sync_all()?;
        match fs::hard_link(&draft, &path) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            linked => linked?,
        }
        fs::File::open(directory)?.sync_all()
    }();
    let _ = fs::remove_file(&draft);
    written.map_err(|cause| Error::data(&path, cause))
}

/// Chance, as the engine takes it.
struct Chance<'a>(&'a dyn Randomness);

impl MlDsaRandomness for Chance<'_> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), sealstone_mldsa::Error> {
        self.0.fill(bytes).map_err(|_| sealstone_mldsa::Error::RngFailed)
    }
}
