//! Checks chains: which line was changed, removed, put in, moved or cut off.
//!
//! This file reads lines and has the verdict's types; `links` holds the lines against each other. One file is in memory at
//! a time, with some 200 bytes a line.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::PublicKey;
use sealstone_mldsa::Context;
use sealstone_mldsa::any::{Signature, VerifyingKey};
use serde::Serialize;
use serde_json::Value;

use crate::CONTEXT;
use crate::chain::{Head, SIGNATURE, files, hash, is_held};
use crate::error::Error;
use crate::event::{OPENED, SEAL};
use crate::links::Check;

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Its bytes are not those that were written.
    Changed,
    /// It was put in.
    Inserted,
    /// Lines before it were taken out.
    Removed,
    /// It stands elsewhere than where it was written.
    Reordered,
    /// A seal's signature is not one of the key over its line: the block was rewritten, or another key signed it.
    Signature,
    /// The file ends within a line.
    Torn,
    /// Lines at the end were cut off.
    Truncated,
    /// The chain ends without a seal, and nobody writes it now: the writer was killed, or the end was cut off.
    Unsealed,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub fault: Fault,
    /// In which file.
    pub file: PathBuf,
    /// In which line of the file, from 1.
    pub line: u64,
    /// The number that the line has in its chain, as far as that can be told.
    pub n: Option<u64>,
    /// The same in words.
    pub what: String,
}

/// What was found of one chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// What is wrong; nothing if the chain holds.
    pub findings: Vec<Finding>,
    /// The number of the first line that was looked at.
    pub first: Option<u64>,
    /// The number of the last one.
    pub last: Option<u64>,
    /// How many lines were looked at.
    pub lines: u64,
    /// What is worth knowing and not wrong.
    pub notes: Vec<String>,
    /// The last line that a good signature vouches for.
    pub sealed_to: Option<u64>,
    /// How many seals have a good signature.
    pub seals: u64,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.findings.is_empty()
    }
}

/// The files of one chain.
#[derive(Clone, Debug)]
pub struct ChainFiles {
    /// Oldest first.
    pub files: Vec<PathBuf>,
    /// How far it must reach.
    pub head: Option<Head>,
    /// Whether somebody writes it now, so that its end may be on its way.
    pub held: bool,
    /// Its name: `server`, `admin`.
    pub name: String,
}

impl ChainFiles {
    /// The chain in a directory; `None` if there is none.
    /// Errors: `File`.
    pub fn of(directory: &Path) -> Result<Option<Self>, Error> {
        let found = files(directory).map_err(|cause| Error::file(directory, cause))?;
        if found.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            files: found.into_iter().map(|(_, path)| path).collect(),
            head: Head::read(&directory.join("head.json"))?,
            held: is_held(directory),
            name: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        }))
    }

    /// Every chain of an audit directory, by name.
    /// Errors: `File`.
    ///
    /// ```
    /// use sealstone_audit::{Chain, ChainFiles, Event, Fault, Kind, Manner};
    /// use sealstone_jose::UnixSeconds;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // `key`: a `Key` as the example of the crate has one, and `public`, its public half; `place`: a directory.
    /// # struct InMemory(sealstone_mldsa::any::SigningKey, sealstone_jose::PublicKey);
    /// # impl sealstone_audit::Key for InMemory {
    /// #     fn kid(&self) -> &str {
    /// #         self.1.kid()
    /// #     }
    /// #     fn sign(&self, line: &[u8]) -> Result<Vec<u8>, sealstone_audit::Error> {
    /// #         let failed = |cause: sealstone_mldsa::Error| sealstone_audit::Error::Key { what: cause.to_string() };
    /// #         let context = sealstone_mldsa::Context::new(sealstone_audit::CONTEXT).map_err(failed)?;
    /// #         Ok(self.0.sign_deterministic(context, line).map_err(failed)?.encode().to_vec())
    /// #     }
    /// # }
    /// # let key = sealstone_mldsa::any::SigningKey::from_seed(sealstone_mldsa::Level::MlDsa44, &[7; 32]);
    /// # let public = sealstone_jose::PublicKey::from_public(sealstone_jose::Algorithm::MlDsa44, key.verifying_key().encode())?;
    /// # let key = std::sync::Arc::new(InMemory(key, public.clone()));
    /// # let place = &std::env::temp_dir().join(format!("sealstone-audit-4-{}", std::process::id()));
    /// # let now = UnixSeconds(1_800_000_000);
    /// # let (mut chain, _) = Chain::open(place, &["doors".to_owned()], key, 1 << 20, Manner::Lasting, now)?.ok_or("held")?;
    /// chain.append(&Event::new(Kind { name: "door.opened", warning: false }, now).with("door", "north"));
    /// chain.seal("command", now)?;
    /// chain.settle()?;
    /// drop(chain);
    ///
    /// let chains = ChainFiles::all(place)?;
    /// assert_eq!(chains.len(), 1);
    /// for chain in chains {
    ///     assert_eq!(chain.name, "doors");
    ///     assert!(chain.verify(&public)?.is_good());
    ///
    ///     // It was another door? That shows, and in which line.
    ///     let text = std::fs::read_to_string(&chain.files[0])?;
    ///     std::fs::write(&chain.files[0], text.replace("north", "south"))?;
    ///     let report = chain.verify(&public)?;
    ///     assert_eq!((report.findings[0].fault, report.findings[0].line), (Fault::Changed, 2));
    /// }
    /// # std::fs::remove_dir_all(place)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn all(audit: &Path) -> Result<Vec<Self>, Error> {
        let failed = |cause: std::io::Error| Error::file(audit, cause);
        let mut chains = Vec::new();
        for entry in fs::read_dir(audit).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() {
                chains.extend(Self::of(&path)?);
            }
        }
        chains.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(chains)
    }

    /// Checks every line and every signature.
    /// Errors: `File` if a file cannot be read. What is wrong with the lines is no error: see [`Report`].
    pub fn verify(&self, key: &PublicKey) -> Result<Report, Error> {
        let mut check = Check::new(self);
        for path in &self.files {
            let (lines, torn) = read(path, key)?;
            check.file(path, lines, torn);
        }
        Ok(check.end())
    }
}

/// Reads a file: its lines, and the hash of what stands behind the last end of a line.
fn read(path: &Path, key: &PublicKey) -> Result<(Vec<Line>, Option<String>), Error> {
    let failed = |cause: std::io::Error| Error::file(path, cause);
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(failed)?);
    let (mut lines, mut bytes) = (Vec::new(), Vec::new());
    loop {
        bytes.clear();
        if reader.read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
            return Ok((lines, None));
        }
        if bytes.pop_if(|end| *end == b'\n').is_none() {
            return Ok((lines, Some(hash(&bytes))));
        }
        lines.push(Line::read(&bytes, key));
    }
}

/// A line, as far as checking it needs.
pub(crate) struct Line {
    pub(crate) hash: String,
    pub(crate) n: Option<u64>,
    /// What it says of how the chain was found, in the first line of a writer.
    pub(crate) opened: Option<Opened>,
    pub(crate) prev: Option<String>,
    /// Whether its signature is good, for a seal.
    pub(crate) seal: Option<bool>,
}

pub(crate) struct Opened {
    pub(crate) missing_to: Option<u64>,
    pub(crate) torn_sha256: Option<String>,
    pub(crate) unsealed: u64,
}

/// No line of ours is longer.
pub const MAX_LINE: usize = 64 * 1024;

impl Line {
    fn read(bytes: &[u8], key: &PublicKey) -> Self {
        let hash = hash(bytes);
        let mut line = Self { hash, n: None, opened: None, prev: None, seal: None };
        if bytes.len() > MAX_LINE {
            return line;
        }
        let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return line };
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        (line.n, line.prev) = (value["n"].as_u64(), text("prev"));
        match value["event"].as_str() {
            Some(event) if event == SEAL.name => line.seal = Some(is_signed(bytes, key)),
            Some(event) if event == OPENED.name => {
                line.opened = Some(Opened {
                    missing_to: value["missing_to"].as_u64(),
                    torn_sha256: text("torn_sha256"),
                    unsealed: value["unsealed"].as_u64().unwrap_or(0),
                });
            }
            _ => {}
        }
        line
    }
}

/// Whether a line is `SIGNED,"sig":"SIGNATURE"}` with a good signature of `key` over `SIGNED`.
fn is_signed(line: &[u8], key: &PublicKey) -> bool {
    let signed = || {
        let text = std::str::from_utf8(line).ok()?;
        let (signed, rest) = text.rsplit_once(SIGNATURE)?;
        let signature = URL_SAFE_NO_PAD.decode(rest.strip_suffix("\"}")?).ok()?;
        verifies(key, signed.as_bytes(), &signature).then_some(())
    };
    signed().is_some()
}

/// Whether `signature` is one of `key` over what stands before it in a line.
fn verifies(key: &PublicKey, line: &[u8], signature: &[u8]) -> bool {
    let verified = || {
        let key = VerifyingKey::decode(key.algorithm().level()?, key.as_bytes()).ok()?;
        let signature = Signature::decode(key.level(), signature).ok()?;
        key.verify(Context::new(CONTEXT).ok()?, line, &signature).ok()
    };
    verified().is_some()
}
