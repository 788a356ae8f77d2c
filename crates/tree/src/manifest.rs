//! A manifest: the digests of a tree's files in one file with one signature, for file systems that keep none, and a way for
//! signatures to travel. docs/formats/tree-manifest.md has the format.
//!
//! The signature has a context of its own, so that it can never pass for one of a file, and the other way round.
//!
//! ```
//! use std::fs::File;
//! use std::slice::from_ref;
//!
//! use sealstone_tree::manifest::{Header, Line, Writer};
//! use sealstone_tree::{HashAlgorithm, Manifest, Rules, Signer};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // `signer`: a `Signer` with a key of ML-DSA-44.
//! # let key = sealstone_pki::PrivateKeyInfo::new(
//! #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[7; 32], None)?;
//! # let signer = Signer::new(&key, None, 1_800_000_000)?;
//! # let folder = tempfile::tempdir()?;
//! # let place = folder.path().join("tree.manifest");
//! let header = Header {
//!     created: 1_800_000_000,
//!     label: b"tools".to_vec(),
//!     hash: HashAlgorithm::Sha256,
//!     key: None, // the writer fills it in
//!     rules: Rules::default(),
//!     cross_mounts: false,
//! };
//! let mut writer = Writer::new(File::create(&place)?, header, Some(&signer))?;
//! let line = Line { digest: vec![7; 32], size: 12, mode: 0o755, attribute: None, path: b"bin/tool".to_vec() };
//! writer.line(&line)?;
//! writer.finish()?;
//!
//! // Who reads it says whose signature counts.
//! let manifest = Manifest::verified(File::open(&place)?, from_ref(signer.public()))?;
//! assert_eq!(manifest.header.label, b"tools");
//! assert_eq!(manifest.collect::<Result<Vec<_>, _>>()?, [line]);
//! assert!(Manifest::verified(File::open(&place)?, &[]).is_err());
//!
//! // Or that it does not matter: each attribute in it has a signature of its own.
//! let first = Manifest::unverified(File::open(&place)?)?.next().ok_or("one file")??;
//! assert_eq!(first.path, b"bin/tool");
//! # Ok(())
//! # }
//! ```

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sealstone_mldsa::{Context, Mu, MuHasher, any};

use crate::error::Error;
use crate::file_id::HashAlgorithm;
use crate::keys::{Signer, TrustedKey};
use crate::rules::Rules;
use crate::walk::order;

mod text;

use text::{Fields, escaped, hex};

/// What separates signatures of manifests from all others.
pub const CONTEXT: &[u8] = b"sealstone-tree-manifest-v1";
const FIRST: &str = "sealstone-tree-manifest 1";
/// The longest line: an attribute and a path as long as they can be.
const LINE_MAX: u64 = 128 * 1024;

/// What a manifest says of itself.
#[derive(Clone, Debug)]
pub struct Header {
    /// When it was made, seconds since 1970.
    pub created: i64,
    /// What the tree is called. Says nothing about where it lies.
    pub label: Vec<u8>,
    /// The hash function of its digests.
    pub hash: HashAlgorithm,
    /// The key that signs it: its algorithm, and the SHA-256 of its SubjectPublicKeyInfo.
    pub key: Option<(String, [u8; 32])>,
    /// What was left out.
    pub rules: Rules,
    /// Whether other file systems that are mounted in the tree were walked too.
    pub cross_mounts: bool,
}

/// A file of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Digest of its bytes.
    pub digest: Vec<u8>,
    /// Its bytes.
    pub size: u64,
    /// Its permissions, 12 bits.
    pub mode: u32,
    /// The value of its attribute, if it was kept.
    pub attribute: Option<Vec<u8>>,
    /// Relative to the tree.
    pub path: Vec<u8>,
}

/// Writes a manifest line by line; files come in the order of a walk.
pub struct Writer<'k, W: Write> {
    out: W,
    signer: Option<(&'k Signer, MuHasher)>,
    files: u64,
}

impl<'k, W: Write> Writer<'k, W> {
    /// Begins a manifest, to be signed by `signer`, whose key goes into the header.
    ///
    /// # Errors
    /// [`Error::Key`] for a classical key; [`Error::System`].
    pub fn new(out: W, mut header: Header, signer: Option<&'k Signer>) -> Result<Self, Error> {
        let signer = match signer {
            None => None,
            Some(signer) => Some((signer, signer.public().ml_dsa()?.message(context()))),
        };
        header.key = signer
            .as_ref()
            .map(|(signer, _)| (signer.public().algorithm.to_owned(), signer.public().fingerprint()));
        let mut writer = Self { out, signer, files: 0 };
        writer.put(header.to_text().as_bytes())?;
        Ok(writer)
    }

    /// Adds a file.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn line(&mut self, line: &Line) -> Result<(), Error> {
        self.files += 1;
        let attribute = line.attribute.as_ref().map_or_else(|| "-".into(), |value| STANDARD.encode(value));
        let (digest, path) = (hex(&line.digest), escaped(&line.path));
        self.put(format!("{digest} {} {:04o} {attribute} {path}\n", line.size, line.mode).as_bytes())
    }

    /// Signs it, and gives back what it was written to.
    ///
    /// # Errors
    /// [`Error::Engine`]; [`Error::System`].
    pub fn finish(mut self) -> Result<W, Error> {
        let end = format!("end {}\n", self.files);
        self.put(end.as_bytes())?;
        if let Some((signer, message)) = self.signer.take() {
            let signature = signer.sign_mu(&message.finish())?;
            let bytes = match &signature {
                any::Signature::MlDsa44(signature) => signature.encode(),
                any::Signature::MlDsa65(signature) => signature.encode(),
                any::Signature::MlDsa87(signature) => signature.encode(),
            };
            self.put(format!("signature {}\n", STANDARD.encode(bytes)).as_bytes())?;
        }
        self.out.flush().map_err(|cause| trouble("written", &cause))?;
        Ok(self.out)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if let Some((_, message)) = &mut self.signer {
            message.update(bytes);
        }
        self.out.write_all(bytes).map_err(|cause| trouble("written", &cause))
    }
}

impl Header {
    fn to_text(&self) -> String {
        let mut text =
            format!("{FIRST}\ncreated {}\ntree {}\nhash {}\n", self.created, escaped(&self.label), self.hash);
        if let Some((algorithm, fingerprint)) = &self.key {
            text += &format!("key {algorithm} {}\n", hex(fingerprint));
        }
        if self.cross_mounts {
            text += "cross-mounts\n";
        }
        if self.rules.only_executable {
            text += "only-executable\n";
        }
        if self.rules.min_size > 0 {
            text += &format!("min-size {}\n", self.rules.min_size);
        }
        for (word, lines) in [("exclude", self.rules.exclude()), ("include", self.rules.include())] {
            for line in lines {
                text += &format!("{word} {}\n", escaped(line.as_bytes()));
            }
        }
        text + "files\n"
    }
}

/// A manifest whose header was read, and its signature checked if that was asked for.
pub struct Manifest {
    /// What it says of itself.
    pub header: Header,
    lines: Lines,
    /// What the signature is of. The lines must come to the same again.
    mu: Option<Mu>,
    files: u64,
    last: Vec<u8>,
}

impl Manifest {
    /// Reads a manifest that one of these keys signed. It is read twice, once for its signature and once for its lines, and
    /// never held in memory.
    ///
    /// # Errors
    /// [`Error::ManifestUnsigned`]; [`Error::UnknownKey`] if none of the keys is the header's; [`Error::ManifestSignature`];
    /// [`Error::Manifest`]; [`Error::System`].
    pub fn verified(file: File, keys: &[TrustedKey]) -> Result<Self, Error> {
        let mut lines = Lines::new(file, None);
        let header = lines.header()?;
        let Some((_, fingerprint)) = &header.key else { return Err(Error::ManifestUnsigned) };
        let key = keys.iter().find(|key| key.fingerprint() == *fingerprint);
        // Four bytes of a fingerprint that nobody trusts, for whoever looks for the key.
        let key =
            key.ok_or(Error::Key { what: "the manifest is signed by a key that is not given" })?.ml_dsa()?;
        let mut lines = lines.again(Some(key.message(context())))?;
        let header = lines.header()?;
        while lines.line()?.is_some() {}
        let (mu, signature) = lines.ending()?;
        let (Some(mu), Some(signature)) = (mu, signature) else { return Err(Error::ManifestUnsigned) };
        let signature =
            any::Signature::decode(key.level(), &signature).map_err(|_| Error::ManifestSignature)?;
        key.verify_mu(&mu, &signature).map_err(|_| Error::ManifestSignature)?;
        let mut lines = lines.again(Some(key.message(context())))?;
        lines.header()?;
        Ok(Self { header, lines, mu: Some(mu), files: 0, last: Vec::new() })
    }

    /// Reads a manifest without asking who signed it: for the attributes in it, each of which has a signature of its own.
    ///
    /// # Errors
    /// [`Error::Manifest`]; [`Error::System`].
    pub fn unverified(file: File) -> Result<Self, Error> {
        let mut lines = Lines::new(file, None);
        let header = lines.header()?;
        Ok(Self { header, lines, mu: None, files: 0, last: Vec::new() })
    }

    /// The next file; after the last one, whether this was the manifest that was verified.
    fn read(&mut self) -> Result<Option<Line>, Error> {
        let Some(line) = self.lines.line()? else {
            let number = self.lines.number;
            let (mu, _) = self.lines.ending()?;
            if mu != self.mu {
                return Err(Error::ManifestSignature);
            }
            if self.lines.said != self.files {
                return Err(Error::Manifest { line: number, expected: "the number of files that it lists" });
            }
            return Ok(None);
        };
        let refusal = |expected| Error::Manifest { line: self.lines.number, expected };
        let line = text::line(&line, self.header.hash).map_err(refusal)?;
        if self.files > 0 && order(&self.last, &line.path).is_ge() {
            return Err(refusal("paths in their order, each once"));
        }
        self.files += 1;
        self.last.clone_from(&line.path);
        Ok(Some(line))
    }
}

/// Its files, in the order of a walk. An error is the last.
impl Iterator for Manifest {
    type Item = Result<Line, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.lines.over {
            return None;
        }
        let read = self.read().transpose();
        self.lines.over = !matches!(read, Some(Ok(_)));
        read
    }
}

/// The text of a manifest, line by line, and what its signature is of.
struct Lines {
    reader: BufReader<File>,
    message: Option<MuHasher>,
    number: u64,
    /// Files, by the line `end`.
    said: u64,
    over: bool,
}

impl Lines {
    fn new(file: File, message: Option<MuHasher>) -> Self {
        Self { reader: BufReader::new(file), message, number: 0, said: 0, over: false }
    }

    /// From the start.
    fn again(self, message: Option<MuHasher>) -> Result<Self, Error> {
        let mut file = self.reader.into_inner();
        file.rewind().map_err(|cause| trouble("read", &cause))?;
        Ok(Self::new(file, message))
    }

    /// A line without its end; empty at the end of the file.
    fn raw(&mut self) -> Result<Vec<u8>, Error> {
        let mut line = Vec::new();
        let read = self.reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line);
        read.map_err(|cause| trouble("read", &cause))?;
        self.number += 1;
        Ok(line)
    }

    /// A line that the signature is of.
    fn signed(&mut self) -> Result<Vec<u8>, Error> {
        let mut line = self.raw()?;
        if let Some(message) = &mut self.message {
            message.update(&line);
        }
        if line.pop() != Some(b'\n') {
            return Err(self.refusal("the end of the line"));
        }
        Ok(line)
    }

    fn refusal(&self, expected: &'static str) -> Error {
        Error::Manifest { line: self.number, expected }
    }

    fn header(&mut self) -> Result<Header, Error> {
        if self.signed()? != FIRST.as_bytes() {
            return Err(self.refusal("sealstone-tree-manifest 1"));
        }
        let mut fields = Fields::default();
        loop {
            let line = self.signed()?;
            if line == b"files" {
                return fields.header().map_err(|expected| self.refusal(expected));
            }
            fields.take(&line).map_err(|expected| self.refusal(expected))?;
        }
    }

    /// A file's line, or nothing at the line `end`.
    fn line(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let line = self.signed()?;
        let Some(said) = line.strip_prefix(b"end ") else { return Ok(Some(line)) };
        self.said = text::number(said).ok_or(self.refusal("the number of files"))?;
        Ok(None)
    }

    /// The signature behind the line `end`, and nothing behind it.
    fn ending(&mut self) -> Result<(Option<Mu>, Option<Vec<u8>>), Error> {
        let mu = self.message.take().map(MuHasher::finish);
        let line = self.raw()?;
        if line.is_empty() {
            return Ok((mu, None));
        }
        let value = line.strip_prefix(b"signature ").and_then(|line| line.strip_suffix(b"\n"));
        let signature = value.and_then(|value| STANDARD.decode(value).ok());
        let signature = signature.ok_or(self.refusal("signature, and its value in base64"))?;
        if !self.raw()?.is_empty() {
            return Err(self.refusal("the end"));
        }
        Ok((mu, Some(signature)))
    }
}

fn context() -> Context<'static> {
    Context::new(CONTEXT).expect("26 bytes are fewer than 255")
}

fn trouble(action: &'static str, cause: &io::Error) -> Error {
    // Nothing but the system refuses here.
    Error::System { action, errno: cause.raw_os_error().unwrap_or(5) }
}
