//! Signing a tree: each file is opened once, and what is read, signed and written is of that one inode.

use crate::error::Error;
use crate::file::File;
use crate::file_id::FileId;
use crate::keys::{Signer, Subject};
use crate::manifest::Line;
use crate::pipeline;
use crate::record::Record;
use crate::tree::{Entry, Seen, Tree, WINDOW, WINDOW_WITH_LINES};
use crate::walk::{Found, Left, Walk};

/// Where signatures go, and what may happen to those that are there.
#[derive(Clone, Copy, Debug, Default)]
pub struct SignOptions<'a> {
    /// The attribute to write, if one is to be written.
    pub attribute: Option<&'a str>,
    /// Whether to give each entry a line for a manifest.
    pub lines: bool,
    /// Whether to put each file's signature into its line.
    pub keep_signatures: bool,
    /// Whether to overwrite other keys' signatures, and what nobody can read.
    pub replace: bool,
    /// Says what would happen, and writes nothing.
    pub dry_run: bool,
}

/// What became of a file that was to be signed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signing {
    /// It is not signed.
    Failed(Error),
    /// It had a signature by this key over this content, and has it still.
    Kept,
    /// Not a file that is meant.
    Left(Left),
    /// Its digest is for a manifest.
    Listed,
    /// It has a new signature.
    Signed,
    /// It would get a new signature.
    WouldSign,
}

/// A file whose digest is known.
struct Read {
    index: usize,
    file: File,
    id: FileId,
    /// One more name of a file that is signed elsewhere: it has a line, and its attribute is not written twice.
    is_name: bool,
}

/// What to do with a file, after a look at what it has.
enum Step {
    Check(Vec<u8>),
    Name,
    Sign,
}

impl Tree {
    /// Signs every file that the rules take, and hands over what became of each, in the order of the walk.
    ///
    /// ```
    /// use sealstone_tree::{Appraiser, Error, Left, Rules, SignOptions, Signer, Signing, Tree, USER_IMA, Verification};
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
    /// // A folder with `tool` and `notes.txt`, of which the notes need no signature.
    /// let tree = Tree::open(folder, Rules::new(vec!["*.txt".into()], vec![])?, false, 2)?;
    /// let options = SignOptions { attribute: Some(USER_IMA), ..SignOptions::default() };
    /// let mut signed = Vec::new();
    /// tree.sign(&signer, options, |entry| {
    ///     signed.push((entry.path, entry.outcome));
    ///     Ok::<(), Error>(())
    /// })?;
    /// assert_eq!(
    ///     signed,
    ///     [(b"notes.txt".to_vec(), Signing::Left(Left::Ignored)), (b"tool".to_vec(), Signing::Signed)],
    /// );
    ///
    /// // Somebody changes the tool.
    /// let mut appraiser = Appraiser::new();
    /// signer.public().trusted_by(&mut appraiser)?;
    /// std::fs::write(folder.join("tool"), "what it should not do")?;
    /// let mut bad = Vec::new();
    /// tree.verify(&appraiser, USER_IMA, |entry| {
    ///     if let Verification::Bad(why) = entry.outcome {
    ///         bad.push((entry.path, why));
    ///     }
    ///     Ok::<(), Error>(())
    /// })?;
    /// assert_eq!(bad, [(b"tool".to_vec(), Error::BadSignature)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of `take`, which ends the work.
    pub fn sign<E>(
        &self,
        signer: &Signer,
        options: SignOptions<'_>,
        take: impl FnMut(Entry<Signing>) -> Result<(), E>,
    ) -> Result<(), E> {
        let seen = Seen::default();
        let seen = options.attribute.is_some().then_some(&seen);
        let window = if options.lines { WINDOW_WITH_LINES } else { WINDOW };
        let walk = Walk::new(&self.root, &self.rules);
        let work =
            |buffer: &mut Vec<u8>, batch| Batch { tree: self, signer, options, buffer }.run(batch, seen);
        pipeline::run(self.jobs, window, walk, Vec::new, work, take)
    }
}

/// Files that are signed side by side.
struct Batch<'a> {
    tree: &'a Tree,
    signer: &'a Signer,
    options: SignOptions<'a>,
    buffer: &'a mut Vec<u8>,
}

impl Batch<'_> {
    fn run(&mut self, batch: Vec<(Vec<u8>, Found)>, seen: Option<&Seen>) -> Vec<Entry<Signing>> {
        let mut entries: Vec<Entry<Signing>> = Vec::with_capacity(batch.len());
        let (mut to_check, mut to_list, mut to_sign) = (Vec::new(), Vec::new(), Vec::new());
        for (path, found) in batch {
            let index = entries.len();
            // Replaced below for whatever is signed or kept.
            let outcome = match found {
                Found::Left(why) => Signing::Left(why),
                Found::Unreadable(errno) => Signing::Failed(Error::system("listed", errno)),
                Found::File => match self.first_look(&path, seen) {
                    Err(why) => Signing::Failed(why),
                    Ok(Err(why)) => Signing::Left(why),
                    Ok(Ok((file, step))) => {
                        // What has no signature needs no digest to know what would happen.
                        if self.options.dry_run && matches!(step, Step::Sign) {
                            Signing::WouldSign
                        } else {
                            match self.read(index, file, &step) {
                                Err(why) => Signing::Failed(why),
                                Ok(mut read) => {
                                    read.is_name = matches!(step, Step::Name);
                                    match step {
                                        Step::Check(value) => to_check.push((read, value)),
                                        Step::Name if !self.options.keep_signatures => to_list.push(read),
                                        Step::Name | Step::Sign => to_sign.push(read),
                                    }
                                    Signing::Failed(Error::Unsigned)
                                }
                            }
                        }
                    }
                },
            };
            entries.push(Entry::new(path, outcome));
        }
        to_list.iter().for_each(|read| self.done(read, None, Signing::Listed, &mut entries));
        to_sign.extend(self.keep(to_check, &mut entries));
        if self.options.dry_run {
            to_sign.iter().for_each(|read| entries[read.index].outcome = Signing::WouldSign);
        } else if self.options.attribute.is_none() && !self.options.keep_signatures {
            to_sign.iter().for_each(|read| self.done(read, None, Signing::Listed, &mut entries));
        } else {
            self.sign(to_sign, &mut entries);
        }
        entries
    }

    /// Opens a file and looks at what it has: `Check` for a signature that says it is of this key and made as it would be
    /// made now.
    fn first_look(&self, path: &[u8], seen: Option<&Seen>) -> Result<Result<(File, Step), Left>, Error> {
        let file = match self.tree.take(path, seen)? {
            Ok(file) => file,
            // A manifest lists every name, so that it also fits a copy without hard links.
            Err(Left::HardLink) if self.options.lines => {
                return Ok(self.tree.take(path, None)?.map(|file| (file, Step::Name)));
            }
            Err(why) => return Ok(Err(why)),
        };
        if self.signer.subject() == Subject::Verity && !file.has_verity(self.signer.hash())? {
            return Err(Error::NoVerity);
        }
        let value = match self.options.attribute {
            Some(name) => file.attribute(name)?,
            None => None,
        };
        let Some(value) = value else { return Ok(Ok((file, Step::Sign))) };
        let own = Record::before(&value, self.signer.public().key_id, self.options.replace)?;
        let as_now = own.is_some_and(|record| {
            record.version() == self.signer.version()
                && record.hash() == self.signer.hash()
                && record.kind() == self.signer.subject().kind()
        });
        let step = if as_now { Step::Check(value) } else { Step::Sign };
        Ok(Ok((file, step)))
    }

    /// Computes its digest. Before a new signature is kept anywhere, [`store`](Self::store) asks whether the file is still the
    /// same; all others are asked here.
    fn read(&mut self, index: usize, mut file: File, step: &Step) -> Result<Read, Error> {
        let is_stored = self.options.attribute.is_some() || self.options.keep_signatures;
        let (subject, hash) = (self.signer.subject(), self.signer.hash());
        if self.options.lines && subject != Subject::Bytes {
            return Err(Error::Key { what: "a manifest lists digests of bytes, not of Merkle trees" });
        }
        let id = match step {
            Step::Sign if is_stored => file.id_as_read(subject.kind(), hash, self.buffer)?,
            _ => file.id(subject.kind(), hash, self.buffer)?,
        };
        Ok(Read { index, file, id, is_name: false })
    }

    /// Keeps what verifies, and gives back the rest.
    fn keep(&self, to_check: Vec<(Read, Vec<u8>)>, entries: &mut [Entry<Signing>]) -> Vec<Read> {
        let mut claims = Vec::with_capacity(to_check.len());
        for (read, value) in &to_check {
            // Read once already.
            if let Ok(record) = Record::parse(value) {
                claims.push((record, read.id));
            }
        }
        let verdicts = self.signer.own().appraise_all(&claims);
        debug_assert_eq!(verdicts.len(), to_check.len());
        let mut rest = Vec::new();
        for ((read, value), verdict) in to_check.into_iter().zip(verdicts) {
            match verdict {
                Ok(()) => self.done(&read, Some(value), Signing::Kept, entries),
                Err(_) => rest.push(read),
            }
        }
        rest
    }

    fn sign(&mut self, to_sign: Vec<Read>, entries: &mut [Entry<Signing>]) {
        let ids: Vec<FileId> = to_sign.iter().map(|read| read.id).collect();
        for (mut read, made) in to_sign.into_iter().zip(self.signer.sign(&ids)) {
            match made.and_then(|value| self.store(&mut read, value)) {
                Ok((value, signing)) => self.done(&read, Some(value), signing, entries),
                Err(why) => entries[read.index].outcome = Signing::Failed(why),
            }
        }
    }

    /// Writes the attribute, if the file is still the one that was read; otherwise it is read and signed once more.
    fn store(&mut self, read: &mut Read, mut value: Vec<u8>) -> Result<(Vec<u8>, Signing), Error> {
        if !read.file.is_unchanged()? {
            read.id = read.file.id(self.signer.subject().kind(), self.signer.hash(), self.buffer)?;
            value = self.signer.sign(&[read.id]).pop().unwrap_or(Err(Error::Changed))?;
            if !read.file.is_unchanged()? {
                return Err(Error::Changed);
            }
        }
        let Some(name) = self.options.attribute.filter(|_| !read.is_name) else {
            return Ok((value, Signing::Listed));
        };
        read.file.set_attribute(name, &value)?;
        Ok((value, Signing::Signed))
    }

    fn done(&self, read: &Read, value: Option<Vec<u8>>, signing: Signing, entries: &mut [Entry<Signing>]) {
        let entry = &mut entries[read.index];
        entry.outcome = signing;
        entry.bytes = read.file.state.size;
        if self.options.lines {
            entry.line = Some(Line {
                digest: read.id.digest().to_vec(),
                size: read.file.state.size,
                mode: read.file.mode,
                attribute: value.filter(|_| self.options.keep_signatures),
                path: entry.path.clone(),
            });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use sealstone_mldsa::Level;
    use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo};

    use super::*;
    use crate::file_id::{HashAlgorithm, Kind};
    use crate::rules::Rules;

    #[test]
    fn a_file_that_changes_before_its_signature_is_written_is_signed_as_it_is_then() {
        let folder = std::env::temp_dir().join(format!("sealstone-store-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("data"), [1; 5000]).unwrap();
        let info = PrivateKeyInfo::new(KeyAlgorithm::MlDsa(Level::MlDsa44), &[1; 32], None).unwrap();
        let signer = Signer::new(&info, None, 0).unwrap();
        let tree = Tree::open(&folder, Rules::default(), false, 1).unwrap();
        // Without an attribute, so that every file system will do.
        let options = SignOptions { keep_signatures: true, ..SignOptions::default() };
        let mut batch = Batch { tree: &tree, signer: &signer, options, buffer: &mut Vec::new() };
        let mut read = batch.read(0, tree.take(b"data", None).unwrap().unwrap(), &Step::Sign).unwrap();
        let value = signer.sign(&[read.id]).pop().unwrap().unwrap();

        // The clock of times of change may stand still for some milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(folder.join("data"), [2; 5000]).unwrap();
        let (value, _) = batch.store(&mut read, value).unwrap();
        let digest = crate::digest::of(HashAlgorithm::Sha256, &[2; 5000]);
        let now = FileId::new(Kind::File, HashAlgorithm::Sha256, digest.as_ref()).unwrap();
        assert_eq!(signer.own().appraise(&Record::parse(&value).unwrap(), &now), Ok(()));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
