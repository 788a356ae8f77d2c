//! Verifying a tree: by the attributes of its files, or by a manifest.

use core::cmp::Ordering;
use std::iter::Peekable;

use crate::appraise::Appraiser;
use crate::error::Error;
use crate::file_id::{FileId, HashAlgorithm, Kind};
use crate::manifest::{Line, Manifest};
use crate::pipeline;
use crate::record::{KeyId, Record};
use crate::tree::{Entry, Seen, Tree, WINDOW, WINDOW_WITH_LINES};
use crate::walk::{Found, Left, Walk, order};

/// What became of a file that was to be verified.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verification {
    /// It is not what a trusted key signed, and why.
    Bad(Error),
    /// A trusted key signed it.
    Good(Option<KeyId>),
    /// A trusted key signed the digest that fs-verity would have of it, and fs-verity is not enabled for it: the file is what was
    /// signed, and no kernel takes that signature before fs-verity is enabled.
    GoodWithoutVerity(KeyId),
    /// Not a file that is meant.
    Left(Left),
}

/// What became of a signature of a manifest that was to be written to its file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Applying {
    /// It is written.
    Applied(KeyId),
    /// It is not written, and why.
    Failed(Error),
    /// The file has a signature by the same key over its content, and has it still.
    Kept(KeyId),
}

impl Tree {
    /// Verifies every file that the rules take by its attribute, and hands over what became of each, in the order of the
    /// walk.
    ///
    /// # Errors
    /// Those of `take`, which ends the work.
    pub fn verify<E>(
        &self,
        appraiser: &Appraiser,
        attribute: &str,
        take: impl FnMut(Entry<Verification>) -> Result<(), E>,
    ) -> Result<(), E> {
        let seen = Seen::default();
        let walk = Walk::new(&self.root, &self.rules);
        let work = |buffer: &mut Vec<u8>, batch| {
            Batch { tree: self, appraiser, attribute, buffer, seen: &seen }.run(batch)
        };
        pipeline::run(self.jobs, WINDOW, walk, Vec::new, work, take)
    }

    /// Verifies the tree by a manifest: the content and the mode of every file that it lists, and that the rules take no
    /// other. The rules are those of the tree; give it those of the manifest.
    ///
    /// ```
    /// use std::fs::File;
    /// use std::slice::from_ref;
    ///
    /// use sealstone_tree::manifest::{Header, Writer};
    /// use sealstone_tree::{Error, Manifest, Rules, SignOptions, Signer, Tree, Verification};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // `signer`: a `Signer` with a key of ML-DSA-44.
    /// # let key = sealstone_pki::PrivateKeyInfo::new(
    /// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[7; 32], None)?;
    /// # let signer = Signer::new(&key, None, 1_800_000_000)?;
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// # std::fs::write(folder.join("tool"), "what it does")?;
    /// # std::fs::write(folder.join("notes.txt"), "what it means")?;
    /// # let elsewhere = tempfile::tempdir()?;
    /// # let place = elsewhere.path().join("tree.manifest");
    /// // Of `folder`, with the files `tool` and `notes.txt`: a list, signed as a whole. Nothing is written to the files.
    /// let tree = Tree::open(folder, Rules::default(), false, 2)?;
    /// let header = Header {
    ///     created: 1_800_000_000,
    ///     label: b"tools".to_vec(),
    ///     hash: signer.hash(),
    ///     key: None,
    ///     rules: Rules::default(),
    ///     cross_mounts: false,
    /// };
    /// let mut writer = Writer::new(File::create(&place)?, header, Some(&signer))?;
    /// tree.sign(&signer, SignOptions { lines: true, ..SignOptions::default() }, |entry| {
    ///     entry.line.iter().try_for_each(|line| writer.line(line))
    /// })?;
    /// writer.finish()?;
    ///
    /// // Later, somewhere else: a file is gone, and one came.
    /// std::fs::rename(folder.join("notes.txt"), folder.join("more.txt"))?;
    /// let manifest = Manifest::verified(File::open(&place)?, from_ref(signer.public()))?;
    /// let mut bad = Vec::new();
    /// tree.verify_manifest(manifest, |entry| {
    ///     if let Verification::Bad(why) = entry.outcome {
    ///         bad.push((entry.path, why));
    ///     }
    ///     Ok::<(), Error>(())
    /// })?;
    /// assert_eq!(bad, [(b"more.txt".to_vec(), Error::Unlisted), (b"notes.txt".to_vec(), Error::Missing)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of `take`, which ends the work. A manifest that cannot be read to its end is an entry that is bad, of the tree
    /// itself.
    pub fn verify_manifest<E>(
        &self,
        manifest: Manifest,
        take: impl FnMut(Entry<Verification>) -> Result<(), E>,
    ) -> Result<(), E> {
        let hash = manifest.header.hash;
        let pairs =
            SideBySide { walk: Walk::new(&self.root, &self.rules).peekable(), lines: manifest.peekable() };
        let work = |buffer: &mut Vec<u8>, batch: Vec<Pair>| {
            batch.into_iter().map(|pair| self.compare(pair, hash, buffer)).collect()
        };
        pipeline::run(self.jobs, WINDOW, pairs, Vec::new, work, take)
    }

    fn compare(&self, pair: Pair, hash: HashAlgorithm, buffer: &mut Vec<u8>) -> Entry<Verification> {
        let (path, bad) = match pair {
            Pair::Broken(why) => (Vec::new(), why),
            Pair::Listed(line) => (line.path, Error::Missing),
            Pair::Both(line, Found::File) => return self.compare_file(line, hash, buffer),
            Pair::Both(line, _) => (line.path, Error::NotRegular),
            Pair::Found(path, Found::Left(why)) => return Entry::new(path, Verification::Left(why)),
            Pair::Found(path, Found::Unreadable(errno)) => (path, Error::system("listed", errno)),
            Pair::Found(path, Found::File) => match self.take(&path, None) {
                Ok(Err(why)) => return Entry::new(path, Verification::Left(why)),
                _ => (path, Error::Unlisted),
            },
        };
        Entry::new(path, Verification::Bad(bad))
    }

    fn compare_file(&self, line: Line, hash: HashAlgorithm, buffer: &mut Vec<u8>) -> Entry<Verification> {
        let mut bytes = 0;
        let mut compare = || {
            let mut file = match self.take(&line.path, None)? {
                Ok(file) => file,
                // It was taken when it was listed.
                Err(_) => return Err(Error::DigestDiffers),
            };
            if file.state.size != line.size {
                return Err(Error::DigestDiffers);
            }
            let id = file.digest(hash, buffer)?;
            bytes = file.state.size;
            if id.digest() != line.digest {
                return Err(Error::DigestDiffers);
            }
            if file.mode != line.mode {
                return Err(Error::ModeDiffers { expected: line.mode, found: file.mode });
            }
            Ok(())
        };
        let outcome = match compare() {
            Ok(()) => Verification::Good(None),
            Err(why) => Verification::Bad(why),
        };
        Entry { path: line.path, bytes, outcome, line: None }
    }

    /// Reads the attributes of a tree into the lines of a manifest. Files without one are said to be unsigned; a value that is no
    /// signature is not taken.
    ///
    /// # Errors
    /// Those of `take`, which ends the work.
    pub fn extract<E>(
        &self,
        attribute: &str,
        hash: HashAlgorithm,
        take: impl FnMut(Entry<Verification>) -> Result<(), E>,
    ) -> Result<(), E> {
        let work = |buffer: &mut Vec<u8>, batch: Vec<(Vec<u8>, Found)>| {
            batch
                .into_iter()
                .map(|(path, found)| self.extract_file(path, found, attribute, hash, buffer))
                .collect()
        };
        pipeline::run(self.jobs, WINDOW_WITH_LINES, Walk::new(&self.root, &self.rules), Vec::new, work, take)
    }

    fn extract_file(
        &self,
        path: Vec<u8>,
        found: Found,
        attribute: &str,
        hash: HashAlgorithm,
        buffer: &mut Vec<u8>,
    ) -> Entry<Verification> {
        let mut read = || -> Result<Result<(Line, KeyId), Left>, Error> {
            match found {
                Found::Left(why) => return Ok(Err(why)),
                Found::Unreadable(errno) => return Err(Error::system("listed", errno)),
                Found::File => {}
            }
            let mut file = match self.take(&path, None)? {
                Ok(file) => file,
                Err(why) => return Ok(Err(why)),
            };
            let value = file.attribute(attribute)?.ok_or(Error::Unsigned)?;
            let key_id = Record::parse(&value)?.key_id();
            let digest = file.digest(hash, buffer)?.digest().to_vec();
            let (size, mode) = (file.state.size, file.mode);
            Ok(Ok((Line { digest, size, mode, attribute: Some(value), path: path.clone() }, key_id)))
        };
        match read() {
            Ok(Ok((line, key_id))) => Entry {
                path: line.path.clone(),
                bytes: line.size,
                outcome: Verification::Good(Some(key_id)),
                line: Some(line),
            },
            Ok(Err(why)) => Entry::new(path, Verification::Left(why)),
            Err(why) => Entry::new(path, Verification::Bad(why)),
        }
    }

    /// Writes the attributes of a manifest to the files of the tree: each only where a trusted key's signature in it stands for
    /// the file as it is. What a file has already is treated as [`sign`](Self::sign) treats it: a signature by the same key that
    /// stands for the file is kept, one that does not is overwritten, and so is a bare digest of IMA; another key's signature, and
    /// what nobody can read, only with `replace`.
    ///
    /// ```
    /// use std::fs::File;
    ///
    /// use sealstone_tree::manifest::{Header, Writer};
    /// use sealstone_tree::{
    ///     Applying, Appraiser, Error, Manifest, Rules, SignOptions, Signer, Tree, USER_IMA, Verification,
    /// };
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // `signer`: a `Signer` with a key of ML-DSA-44.
    /// # let key = sealstone_pki::PrivateKeyInfo::new(
    /// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[7; 32], None)?;
    /// # let signer = Signer::new(&key, None, 1_800_000_000)?;
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// # std::fs::write(folder.join("tool"), "what it does")?;
    /// # std::fs::write(folder.join("notes.txt"), "what it means")?;
    /// # let (copy, beside) = (tempfile::tempdir()?, tempfile::tempdir()?);
    /// # let (copy, place) = (copy.path(), beside.path().join("tree.manifest"));
    /// // `folder`: a directory with the files `tool` and `notes.txt`; `copy`: an empty one.
    /// let tree = Tree::open(folder, Rules::default(), false, 2)?;
    /// let options = SignOptions { attribute: Some(USER_IMA), ..SignOptions::default() };
    /// tree.sign(&signer, options, |_| Ok::<(), Error>(()))?;
    ///
    /// // A copy by a tool that leaves attributes behind.
    /// for name in ["tool", "notes.txt"] {
    ///     std::fs::write(copy.join(name), std::fs::read(folder.join(name))?)?;
    /// }
    ///
    /// # let header = Header {
    /// #     created: 1_800_000_000,
    /// #     label: b"tools".to_vec(),
    /// #     hash: signer.hash(),
    /// #     key: None,
    /// #     rules: Rules::default(),
    /// #     cross_mounts: false,
    /// # };
    /// // Signatures travel in a manifest, which itself needs none.
    /// let mut writer = Writer::new(File::create(&place)?, header, None)?;
    /// tree.extract(USER_IMA, signer.hash(), |entry| entry.line.iter().try_for_each(|line| writer.line(line)))?;
    /// writer.finish()?;
    ///
    /// let mut appraiser = Appraiser::new();
    /// signer.public().trusted_by(&mut appraiser)?;
    /// let tree = Tree::open(copy, Rules::default(), false, 2)?;
    /// tree.apply(Manifest::unverified(File::open(&place)?)?, &appraiser, USER_IMA, false, |entry| {
    ///     assert_eq!(entry.outcome, Applying::Applied(signer.public().key_id));
    ///     Ok::<(), Error>(())
    /// })?;
    /// let mut good = 0;
    /// tree.verify(&appraiser, USER_IMA, |entry| {
    ///     good += usize::from(matches!(entry.outcome, Verification::Good(_)));
    ///     Ok::<(), Error>(())
    /// })?;
    /// assert_eq!(good, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of `take`, which ends the work.
    pub fn apply<E>(
        &self,
        manifest: Manifest,
        appraiser: &Appraiser,
        attribute: &str,
        replace: bool,
        take: impl FnMut(Entry<Applying>) -> Result<(), E>,
    ) -> Result<(), E> {
        let work = |buffer: &mut Vec<u8>, batch: Vec<Result<Line, Error>>| {
            let done = batch.into_iter().map(|line| match line {
                Err(why) => Entry::new(Vec::new(), Applying::Failed(why)),
                Ok(line) => {
                    let outcome = self.apply_line(&line, appraiser, attribute, replace, buffer);
                    let outcome = outcome.unwrap_or_else(Applying::Failed);
                    Entry { path: line.path, bytes: line.size, outcome, line: None }
                }
            });
            done.collect()
        };
        pipeline::run(self.jobs, WINDOW_WITH_LINES, manifest, Vec::new, work, take)
    }

    fn apply_line(
        &self,
        line: &Line,
        appraiser: &Appraiser,
        attribute: &str,
        replace: bool,
        buffer: &mut Vec<u8>,
    ) -> Result<Applying, Error> {
        let value = line.attribute.as_deref().ok_or(Error::Unsigned)?;
        let record = Record::parse(value)?;
        let key_id = record.key_id();
        let mut file = match self.take(&line.path, None)? {
            Ok(file) => file,
            Err(_) => return Err(Error::NotRegular),
        };
        let there = file.attribute(attribute)?;
        let own = match &there {
            None => None,
            // One of another kind or hash function is refused below, as it is not of this digest.
            Some(there) => {
                Record::before(there, key_id, replace)?.filter(|own| own.version() == record.version())
            }
        };
        // Once more, for another name of the file may get its signature at the same time.
        for _ in 0..2 {
            let id = file.id(record.kind(), record.hash(), buffer)?;
            appraiser.appraise(&record, &id)?;
            if own.is_some_and(|own| appraiser.appraise(&own, &id).is_ok()) {
                return Ok(Applying::Kept(key_id));
            }
            if file.is_unchanged()? {
                file.set_attribute(attribute, value)?;
                return Ok(Applying::Applied(key_id));
            }
        }
        Err(Error::Changed)
    }
}

/// A file of the manifest, of the tree, or of both.
enum Pair {
    Both(Line, Found),
    Broken(Error),
    Found(Vec<u8>, Found),
    Listed(Line),
}

/// Two sequences in the same order.
struct SideBySide<'a> {
    walk: Peekable<Walk<'a>>,
    lines: Peekable<Manifest>,
}

impl Iterator for SideBySide<'_> {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        let first = match (self.walk.peek(), self.lines.peek()) {
            (None, None) => return None,
            (_, Some(Err(_))) | (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some((path, _)), Some(Ok(line))) => order(path, &line.path),
        };
        if first.is_lt() {
            return self.walk.next().map(|(path, found)| Pair::Found(path, found));
        }
        match self.lines.next()? {
            Err(why) => Some(Pair::Broken(why)),
            Ok(line) if first.is_eq() => self.walk.next().map(|(_, found)| Pair::Both(line, found)),
            Ok(line) => Some(Pair::Listed(line)),
        }
    }
}

/// Files that are verified side by side.
struct Batch<'a> {
    tree: &'a Tree,
    appraiser: &'a Appraiser,
    attribute: &'a str,
    buffer: &'a mut Vec<u8>,
    seen: &'a Seen,
}

impl Batch<'_> {
    fn run(&mut self, batch: Vec<(Vec<u8>, Found)>) -> Vec<Entry<Verification>> {
        let mut entries: Vec<Entry<Verification>> = Vec::with_capacity(batch.len());
        let mut read: Vec<(usize, Looked)> = Vec::new();
        for (path, found) in batch {
            let mut bytes = 0;
            let outcome = match found {
                Found::Left(why) => Verification::Left(why),
                Found::Unreadable(errno) => Verification::Bad(Error::system("listed", errno)),
                Found::File => match self.look(&path) {
                    Err(why) => Verification::Bad(why),
                    Ok(Err(why)) => Verification::Left(why),
                    Ok(Ok(looked)) => {
                        bytes = looked.size;
                        read.push((entries.len(), looked));
                        // Replaced below.
                        Verification::Bad(Error::BadSignature)
                    }
                },
            };
            entries.push(Entry { path, bytes, outcome, line: None });
        }
        let mut claims = Vec::with_capacity(read.len());
        for (_, looked) in &read {
            // Read once already.
            if let Ok(record) = Record::parse(&looked.value) {
                claims.push((record, looked.id));
            }
        }
        let verdicts = self.appraiser.appraise_all(&claims);
        debug_assert_eq!(verdicts.len(), read.len());
        for (((index, looked), (record, _)), verdict) in read.iter().zip(&claims).zip(verdicts) {
            entries[*index].outcome = match verdict {
                Ok(()) if looked.is_held => Verification::Good(Some(record.key_id())),
                Ok(()) => Verification::GoodWithoutVerity(record.key_id()),
                Err(why) => Verification::Bad(why),
            };
        }
        entries
    }

    /// The file's signature and its digest, of the kind and by the hash function that the signature names. A file whose signature nobody can
    /// check is not read.
    fn look(&mut self, path: &[u8]) -> Result<Result<Looked, Left>, Error> {
        let mut file = match self.tree.take(path, Some(self.seen))? {
            Ok(file) => file,
            Err(why) => return Ok(Err(why)),
        };
        let value = file.attribute(self.attribute)?.ok_or(Error::Unsigned)?;
        let record = Record::parse(&value)?;
        if !self.appraiser.knows(record.key_id()) {
            return Err(Error::UnknownKey { key_id: record.key_id() });
        }
        let is_held = record.kind() != Kind::Verity || file.has_verity(record.hash())?;
        let id = file.id(record.kind(), record.hash(), self.buffer)?;
        Ok(Ok(Looked { size: file.state.size, value, id, is_held }))
    }
}

/// A file with a signature that somebody trusted may have made.
struct Looked {
    size: u64,
    value: Vec<u8>,
    id: FileId,
    /// Whether the kernel takes a signature of this kind of the file as it stands.
    is_held: bool,
}
