//! Signed file trees. The work is done by threads of its own, which hand over file by file what became of it; `tree.py` gathers
//! that, says what is wrong, and puts manifests into their place.

use std::fs::File;
use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use sealstone_pki::{Certificate, KeyAlgorithm, PrivateKeyInfo};
use sealstone_tree::manifest::{Header, Writer};
use sealstone_tree::{
    Appraiser, Error, HashAlgorithm, Kernel, Manifest, Patterns, SignOptions, Signer, Signing, Tree,
    TrustedKey, Verification,
};

use crate::buffer::text;
use crate::entries::{Entries, Entry, Left};
use crate::failure::Failure;
use crate::keys::{SigningKey, VerifyingKey};

/// Which files of a tree, and by how many threads.
#[derive(FromPyObject)]
pub(crate) struct Selection {
    exclude: Vec<String>,
    include: Vec<String>,
    only_executable: bool,
    min_size: u64,
    cross_mounts: bool,
    jobs: Option<usize>,
}

impl Selection {
    fn rules(&self) -> PyResult<sealstone_tree::Rules> {
        let rules = sealstone_tree::Rules::new(self.exclude.clone(), self.include.clone());
        let mut rules = rules.map_err(|cause| raised(&cause, Path::new("")))?;
        rules.only_executable = self.only_executable;
        rules.min_size = self.min_size;
        Ok(rules)
    }

    fn open(&self, directory: &Path) -> PyResult<Tree> {
        open(directory, self.rules()?, self.cross_mounts, self.jobs)
    }
}

fn open(
    directory: &Path,
    rules: sealstone_tree::Rules,
    cross_mounts: bool,
    jobs: Option<usize>,
) -> PyResult<Tree> {
    let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Tree::open(directory, rules, cross_mounts, jobs.unwrap_or_else(processors))
        .map_err(|cause| raised(&cause, directory))
}

/// How a tree is signed.
#[derive(FromPyObject)]
pub(crate) struct How {
    attribute: Option<String>,
    manifest: Option<PathBuf>,
    label: Vec<u8>,
    keep_signatures: bool,
    hash: String,
    replace: bool,
    dry_run: bool,
    tested: bool,
}

/// Begins to sign a tree. See sealstone.tree.sign.
#[pyfunction]
#[pyo3(signature = (directory, key, certificate, now, selection, how, /))]
pub(crate) fn tree_sign(
    directory: PathBuf,
    key: &Bound<'_, SigningKey>,
    certificate: Option<&Bound<'_, PyAny>>,
    now: i64,
    selection: Selection,
    how: How,
) -> PyResult<Entries> {
    let py = key.py();
    let mut signer = signer(key, certificate, now)?;
    let hash = match how.hash.as_str() {
        "sha256" => HashAlgorithm::Sha256,
        "sha384" => HashAlgorithm::Sha384,
        "sha512" => HashAlgorithm::Sha512,
        other => {
            let words = format!("hash: expected sha256, sha384 or sha512, found {other:?}");
            return Err(PyValueError::new_err(words));
        }
    };
    signer.set_hash(hash).map_err(|cause| raised(&cause, &directory))?;
    let tree = selection.open(&directory)?;
    py.detach(|| preflight(&tree, &signer, &how, &directory))?;
    let manifest = match &how.manifest {
        Some(path) => {
            let rules = selection.rules()?;
            let header = Header {
                created: now,
                label: how.label.clone(),
                hash,
                key: None,
                rules,
                cross_mounts: selection.cross_mounts,
            };
            Some((File::create(path)?, path.clone(), header))
        }
        None => None,
    };
    Ok(Entries::begin(move |taker| {
        let mut writer = match manifest {
            Some((file, path, header)) => {
                let writer = Writer::new(std::io::BufWriter::new(file), header, Some(&signer));
                Some((writer.map_err(|cause| failure(&cause))?, path))
            }
            None => None,
        };
        let options = SignOptions {
            attribute: how.attribute.as_deref(),
            lines: writer.is_some(),
            keep_signatures: how.keep_signatures,
            replace: how.replace,
            dry_run: how.dry_run,
        };
        let mut trouble = None;
        let done = tree.sign(&signer, options, |entry| {
            if let (Some((writer, _)), Some(line)) = (&mut writer, &entry.line)
                && let Err(cause) = writer.line(line)
            {
                trouble = Some(failure(&cause));
                return Err(Left);
            }
            let status = match entry.outcome {
                Signing::Failed(why) => return taker.take(Entry::failed(entry.path, &why)),
                Signing::Left(why) => return taker.take(Entry::left(entry.path, why.name())),
                Signing::Kept => "kept",
                Signing::Listed => "listed",
                Signing::Signed => "signed",
                Signing::WouldSign => "would-sign",
                // Kinds that later versions of the crate may have are not known to be signed.
                _ => return taker.take(Entry::failed(entry.path, &Error::Unsigned)),
            };
            taker.take(Entry::new(entry.path, status, entry.bytes, None))
        });
        match (done, trouble, writer) {
            (_, Some(trouble), _) => Err(trouble),
            (Ok(()), None, Some((writer, _))) => writer.finish().map(drop).map_err(|cause| failure(&cause)),
            _ => Ok(()),
        }
    }))
}

fn preflight(tree: &Tree, signer: &Signer, how: &How, directory: &Path) -> PyResult<()> {
    let options =
        SignOptions { attribute: how.attribute.as_deref(), dry_run: how.dry_run, ..SignOptions::default() };
    let kernel = (!how.tested).then(|| Kernel::read(Path::new("/")));
    let found = tree.preflight(directory, signer, &options, kernel.as_ref());
    found.map(drop).map_err(|why| refused(&why, directory))
}

/// By what a tree is verified.
#[derive(FromPyObject)]
pub(crate) struct By {
    attribute: String,
    manifest: Option<PathBuf>,
    allow_unsigned: Vec<String>,
}

/// Begins to verify a tree by an attribute, or by a manifest, whose rules are then the tree's. See sealstone.tree.verify.
#[pyfunction]
#[pyo3(signature = (directory, trusted, now, selection, by, /))]
pub(crate) fn tree_verify(
    py: Python<'_>,
    directory: PathBuf,
    trusted: Vec<Bound<'_, PyAny>>,
    now: i64,
    selection: Selection,
    by: By,
) -> PyResult<Entries> {
    let (appraiser, keys) = trust(&trusted, now)?;
    let allowed = Patterns::new(&by.allow_unsigned).map_err(|cause| raised(&cause, &directory))?;
    let manifest = match by.manifest {
        None => None,
        Some(path) => {
            let file = File::open(&path)?;
            let read = py.detach(|| Manifest::verified(file, &keys));
            Some(read.map_err(|cause| match cause {
                Error::Key { .. } => Failure::new("UnknownKey", cause.to_string()).into(),
                cause => raised(&cause, &path),
            })?)
        }
    };
    let tree = match &manifest {
        None => selection.open(&directory)?,
        Some(manifest) => {
            open(&directory, manifest.header.rules.clone(), manifest.header.cross_mounts, selection.jobs)?
        }
    };
    Ok(Entries::begin(move |taker| {
        let take = |entry: sealstone_tree::Entry<Verification>| match entry.outcome {
            Verification::Bad(Error::Unsigned | Error::Unlisted) if allowed.matches(&entry.path) => {
                taker.take(Entry::new(entry.path, "allowed-unsigned", 0, None))
            }
            outcome => taker.take(Entry::of(entry.path, entry.bytes, outcome, "good")),
        };
        // Whoever left wants no more.
        let _ = match manifest {
            None => tree.verify(&appraiser, &by.attribute, take),
            Some(manifest) => tree.verify_manifest(manifest, take),
        };
        Ok(())
    }))
}

/// Begins to copy a tree's signatures into a manifest. See sealstone.tree.extract.
#[pyfunction]
#[pyo3(signature = (directory, manifest, label, now, selection, attribute, skip_unsigned, /))]
pub(crate) fn tree_extract(
    directory: PathBuf,
    manifest: PathBuf,
    label: Vec<u8>,
    now: i64,
    selection: Selection,
    attribute: String,
    skip_unsigned: bool,
) -> PyResult<Entries> {
    let tree = selection.open(&directory)?;
    let (rules, hash) = (selection.rules()?, HashAlgorithm::Sha256);
    let header = Header { created: now, label, hash, key: None, rules, cross_mounts: selection.cross_mounts };
    let file = File::create(&manifest)?;
    Ok(Entries::begin(move |taker| {
        let mut writer =
            Writer::new(std::io::BufWriter::new(file), header, None).map_err(|cause| failure(&cause))?;
        let mut trouble = None;
        let done = tree.extract(&attribute, hash, |entry| {
            if let Some(line) = &entry.line
                && let Err(cause) = writer.line(line)
            {
                trouble = Some(failure(&cause));
                return Err(Left);
            }
            match entry.outcome {
                Verification::Bad(Error::Unsigned) if skip_unsigned => {
                    taker.take(Entry::new(entry.path, "unsigned", 0, None))
                }
                outcome => taker.take(Entry::of(entry.path, entry.bytes, outcome, "extracted")),
            }
        });
        match (done, trouble) {
            (_, Some(trouble)) => Err(trouble),
            (Ok(()), None) => writer.finish().map(drop).map_err(|cause| failure(&cause)),
            (Err(Left), None) => Ok(()),
        }
    }))
}

/// Begins to write a manifest's signatures to the files of a tree. See sealstone.tree.apply.
#[pyfunction]
#[pyo3(signature = (manifest, directory, trusted, now, selection, attribute, replace, /))]
pub(crate) fn tree_apply(
    manifest: PathBuf,
    directory: PathBuf,
    trusted: Vec<Bound<'_, PyAny>>,
    now: i64,
    selection: Selection,
    attribute: String,
    replace: bool,
) -> PyResult<Entries> {
    let (appraiser, _) = trust(&trusted, now)?;
    let tree = selection.open(&directory)?;
    let read = Manifest::unverified(File::open(&manifest)?).map_err(|cause| raised(&cause, &manifest))?;
    Ok(Entries::begin(move |taker| {
        // Whoever left wants no more.
        let _ = tree.apply(read, &appraiser, &attribute, replace, |entry| {
            taker.take(Entry::applied(entry.path, entry.bytes, entry.outcome))
        });
        Ok(())
    }))
}

fn signer(key: &Bound<'_, SigningKey>, certificate: Option<&Bound<'_, PyAny>>, now: i64) -> PyResult<Signer> {
    let certificate = match certificate {
        None => None,
        Some(given) => {
            let mut found = certificates("certificate", given)?;
            match (found.pop(), found.is_empty()) {
                (Some(one), true) => Some(one),
                _ => {
                    let words = "certificate: several certificates, expected that of the key";
                    return Err(Failure::new("BadCertificate", words).into());
                }
            }
        }
    };
    let (level, seed) = key.get().level_and_seed()?;
    let info = PrivateKeyInfo::new(KeyAlgorithm::MlDsa(level), seed, None);
    let info = info.map_err(|cause| Failure::new("BadKey", cause.to_string()))?;
    let made = key.py().detach(|| Signer::new(&info, certificate.as_ref(), now));
    made.map_err(|cause| raised(&cause, Path::new("")))
}

/// Certificates and public keys, as one trusts them.
fn trust(given: &[Bound<'_, PyAny>], now: i64) -> PyResult<(Appraiser, Vec<TrustedKey>)> {
    let (mut appraiser, mut keys) = (Appraiser::new(), Vec::new());
    let refused = |cause: Error| raised(&cause, Path::new(""));
    for one in given {
        if let Ok(key) = one.cast::<VerifyingKey>() {
            keys.push(TrustedKey::of_spki(&key.get().spki()?).map_err(refused)?);
            continue;
        }
        for certificate in certificates("trusted", one)? {
            keys.push(TrustedKey::of_certificate(&certificate, now).map_err(refused)?);
        }
    }
    for key in &keys {
        key.trusted_by(&mut appraiser).map_err(refused)?;
    }
    Ok((appraiser, keys))
}

/// One certificate in DER, or all in PEM.
fn certificates(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<Certificate>> {
    let bytes = text(name, given)?;
    let read = match std::str::from_utf8(&bytes) {
        Ok(text) if text.contains("-----BEGIN") => Certificate::all_from_pem(text),
        _ => Certificate::from_der(&bytes).map(|certificate| vec![certificate]),
    };
    Ok(read.map_err(|cause| Failure::new("BadCertificate", format!("{name}: {cause}")))?)
}

/// What stops all of the work, as Python has it; `path` is the place for what the system refused.
fn raised(cause: &Error, path: &Path) -> PyErr {
    match cause {
        Error::System { errno, .. } => {
            PyOSError::new_err((*errno, cause.to_string(), path.as_os_str().to_owned()))
        }
        Error::Rule { .. } => PyValueError::new_err(cause.to_string()),
        _ => failure(cause).into(),
    }
}

fn failure(cause: &Error) -> Failure {
    let class = match cause {
        Error::Certificate { .. } => "BadCertificate",
        Error::Engine(_) => "RngFailed",
        Error::Key { .. } | Error::KeyIdentifier { .. } => "BadKey",
        Error::ManifestSignature => "BadSignature",
        Error::Manifest { .. } | Error::ManifestUnsigned => "BadManifest",
        _ => "RefusedTree",
    };
    Failure::new(class, cause.to_string())
}

/// Nothing was begun, and what to do about it.
fn refused(cause: &Error, directory: &Path) -> PyErr {
    let hint = match cause {
        Error::KernelCannotCheck { .. } => Some("tested=True signs for another machine"),
        cause => cause.remedy(),
    };
    let hint = hint.map_or(String::new(), |hint| format!("; hint: {hint}"));
    Failure::new("RefusedTree", format!("{}: {cause}{hint}", directory.display())).into()
}
