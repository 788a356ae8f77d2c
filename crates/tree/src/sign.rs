//! Signing a tree: each file is opened once, and what is read, signed and written is of that one inode.

use crate::error::Error;
use crate::file::File;
use crate::file_id::FileId;
use crate::keys::Signer;
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
                            match self.read(index, file) {
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
        let value = match self.options.attribute {
            Some(name) => file.attribute(name)?,
            None => None,
        };
        let Some(value) = value else { return Ok(Ok((file, Step::Sign))) };
        let step = match Record::parse(&value) {
            Ok(record) if record.key_id() == self.signer.public().key_id => {
                let as_now = record.version() == self.signer.version() && record.hash() == self.signer.hash();
                if as_now { Step::Check(value) } else { Step::Sign }
            }
            // A bare digest, which IMA writes where it measures: nobody's signature.
            Err(Error::NotSigned { kind: 1 | 4 }) => Step::Sign,
            _ if self.options.replace => Step::Sign,
            Ok(record) => return Err(Error::OtherKey { key_id: record.key_id() }),
            Err(_) => return Err(Error::Occupied),
        };
        Ok(Ok((file, step)))
    }

    fn read(&mut self, index: usize, mut file: File) -> Result<Read, Error> {
        let id = file.digest(self.signer.hash(), self.buffer)?;
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
            read.id = read.file.digest(self.signer.hash(), self.buffer)?;
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
