//! What a tree holds, as far as it decides over the cost of signatures: sizes, and attributes that are there already. Files with
//! the same attributes are counted together, so that a million files take little memory.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use crate::error::Error;
use crate::file::File;
use crate::forecast::Attribute;
use crate::pipeline;
use crate::tree::{Entry, SECURITY_IMA, Seen, Tree, USER_IMA, WINDOW};
use crate::walk::{Found, Left, Walk};

/// Files in a row that are remembered one by one, and how many of these there are at most.
const RUN: u64 = 64;
const REMEMBERED: usize = 8192;
/// From so many different sets of attributes on, values are no longer told apart.
const GROUPS: usize = 20_000;

/// Files with the same attributes.
#[derive(Clone, Debug)]
pub struct Group {
    /// What each has.
    pub attributes: Arc<[Attribute]>,
    /// How many.
    pub files: u64,
    /// Bytes of their contents.
    pub bytes: u64,
    /// The same in whole blocks of 1 KiB and of 4 KiB, as if there were no holes.
    kib: u64,
    pages: u64,
}

/// A file that is remembered by itself: some that lie beside each other, from all over the tree.
#[derive(Clone, Debug)]
pub struct Remembered {
    pub(crate) run: u64,
    /// Its inode, whose order is that in which files were made.
    pub inode: u64,
    /// Bytes of its contents.
    pub size: u64,
    /// Bytes of its name.
    pub name: usize,
    /// What it has.
    pub attributes: Arc<[Attribute]>,
}

/// What a tree holds.
///
/// ```
/// use sealstone_tree::{Rules, Tree, USER_IMA};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// # std::fs::create_dir(folder.join("bin"))?;
/// # std::fs::write(folder.join("bin/tool"), "what it does")?;
/// # std::fs::hard_link(folder.join("bin/tool"), folder.join("bin/same"))?;
/// # std::fs::write(folder.join("notes.txt"), "what it means")?;
/// // A folder with `notes.txt` and `bin/tool`, which is also called `bin/same`.
/// let census = Tree::open(folder, Rules::default(), false, 2)?.census();
/// assert_eq!((census.files(), census.bytes()), (2, 25));
/// assert_eq!((census.directories, census.hard_links, census.unreadable), (1, 1, 0));
/// assert_eq!(census.having(USER_IMA, None), 0);
///
/// // Files with the same attributes are one group, so that a million files are few.
/// assert_eq!(census.groups().map(|group| group.files).sum::<u64>(), 2);
/// // Some are remembered one by one; here all of them are.
/// assert_eq!(census.remembered().iter().map(|file| file.size).sum::<u64>(), 25);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Census {
    groups: Vec<Group>,
    by_attributes: HashMap<Arc<[Attribute]>, usize>,
    remembered: Vec<Remembered>,
    stride: u64,
    seen: u64,
    /// Directories with something in them.
    pub directories: u64,
    /// Further names of files that are counted once.
    pub hard_links: u64,
    /// Files that this user may not read, or that went away.
    pub unreadable: u64,
}

impl Default for Census {
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            by_attributes: HashMap::new(),
            remembered: Vec::new(),
            stride: 1,
            seen: 0,
            directories: 0,
            hard_links: 0,
            unreadable: 0,
        }
    }
}

impl Census {
    /// Files without a tree: so many, of sizes about a mean, each with these attributes. Sizes are those of an exponential
    /// distribution: many small ones, few large.
    pub fn of_files(files: u64, mean_size: u64, attributes: &[Attribute]) -> Self {
        let mut census = Self { directories: files.div_ceil(20), ..Self::default() };
        let attributes: Arc<[Attribute]> = attributes.into();
        // As many sizes as are told apart, each for its share of the files.
        let kinds = files.clamp(1, REMEMBERED as u64);
        for kind in 0..kinds {
            // A fixed order that is no order of size.
            let turn = (kind * 5039) % kinds;
            let share = (turn as f64 + 0.5) / kinds as f64;
            let size = (-(1.0 - share).ln() * mean_size as f64).round() as u64;
            let count = files / kinds + u64::from(kind < files % kinds);
            census.add(&attributes, size, count);
            census.remembered.push(Remembered {
                run: 0,
                inode: kind,
                size,
                name: 12,
                attributes: attributes.clone(),
            });
        }
        census
    }

    /// The files, by what they have.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(|group| group.files > 0)
    }

    /// Some files one by one, in the order of the walk.
    pub fn remembered(&self) -> &[Remembered] {
        &self.remembered
    }

    /// All of them.
    pub fn files(&self) -> u64 {
        self.groups.iter().map(|group| group.files).sum()
    }

    /// Bytes of their contents.
    pub fn bytes(&self) -> u64 {
        self.groups.iter().map(|group| group.bytes).sum()
    }

    /// Files that have this attribute already, with a value of this length where one is given.
    pub fn having(&self, name: &str, len: Option<usize>) -> u64 {
        let has = |attribute: &Attribute| {
            attribute.name == name.as_bytes() && len.is_none_or(|len| attribute.len == len)
        };
        self.groups.iter().filter(|group| group.attributes.iter().any(has)).map(|group| group.files).sum()
    }

    /// Bytes of the contents in whole blocks.
    pub(crate) fn allocated(&self, block: u64) -> u64 {
        match block {
            1024 => self.groups.iter().map(|group| group.kib * 1024).sum(),
            _ => self.groups.iter().map(|group| group.pages * 4096).sum(),
        }
    }

    fn add(&mut self, attributes: &Arc<[Attribute]>, size: u64, files: u64) {
        let next = self.groups.len();
        let at = *self.by_attributes.entry(attributes.clone()).or_insert(next);
        if at == next {
            self.groups.push(Group { attributes: attributes.clone(), files: 0, bytes: 0, kib: 0, pages: 0 });
        }
        let group = &mut self.groups[at];
        group.files += files;
        group.bytes = group.bytes.saturating_add(size.saturating_mul(files));
        group.kib = group.kib.saturating_add(size.div_ceil(1024).saturating_mul(files));
        group.pages = group.pages.saturating_add(size.div_ceil(4096).saturating_mul(files));
    }

    /// One file of the walk.
    fn take(&mut self, name: usize, file: Counted) {
        let mut attributes = file.attributes;
        if self.groups.len() >= GROUPS {
            attributes.iter_mut().for_each(|attribute| attribute.content = None);
        }
        let attributes: Arc<[Attribute]> = match self.by_attributes.get_key_value(&attributes[..]) {
            Some((known, _)) => known.clone(),
            None => attributes.into(),
        };
        self.add(&attributes, file.size, 1);
        let run = self.seen / RUN;
        self.seen += 1;
        if run.is_multiple_of(self.stride) {
            let remembered = Remembered { run, inode: file.inode, size: file.size, name, attributes };
            self.remembered.push(remembered);
        }
        if self.remembered.len() > REMEMBERED {
            self.stride *= 2;
            self.remembered.retain(|file| file.run.is_multiple_of(self.stride));
        }
    }
}

/// A file, looked at.
struct Counted {
    inode: u64,
    size: u64,
    attributes: Vec<Attribute>,
}

impl Tree {
    /// Counts every file that the rules take, with its attributes. Nothing is read of the contents.
    pub fn census(&self) -> Census {
        let seen = Seen::default();
        let mut census = Census::default();
        let mut last = Vec::new();
        let walk = Walk::new(&self.root, &self.rules);
        let work = |_: &mut (), batch: Vec<(Vec<u8>, Found)>| {
            let look = |(path, found): (Vec<u8>, Found)| {
                let outcome = match found {
                    Found::File => {
                        self.take(&path, Some(&seen)).map(|taken| taken.map(|file| counted(&file)))
                    }
                    Found::Left(why) => Ok(Err(why)),
                    Found::Unreadable(errno) => Err(Error::system("listed", errno)),
                };
                Entry::new(path, outcome)
            };
            batch.into_iter().map(look).collect::<Vec<_>>()
        };
        let Ok(()) = pipeline::run(
            self.jobs,
            WINDOW,
            walk,
            || (),
            work,
            |entry: Entry<_>| {
                census.directories += entered(&last, &entry.path);
                match entry.outcome {
                    Ok(Ok(file)) => {
                        let name = entry.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
                        census.take(name.len(), file);
                    }
                    Ok(Err(Left::HardLink)) => census.hard_links += 1,
                    Ok(Err(_)) => {}
                    Err(_) => census.unreadable += 1,
                }
                last = entry.path;
                Ok::<(), Infallible>(())
            },
        );
        census
    }
}

/// Directories that are entered on the way from one path to the next.
fn entered(from: &[u8], to: &[u8]) -> u64 {
    let parents = |path: &[u8]| -> Vec<Vec<u8>> {
        let mut parts: Vec<Vec<u8>> = path.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect();
        parts.pop();
        parts
    };
    let (from, to) = (parents(from), parents(to));
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    (to.len() - same) as u64
}

fn counted(file: &File) -> Counted {
    // Not the seeded hasher of a map: the same for each file, and of no use to anybody who would like two values to meet.
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let mut attributes = Vec::new();
    for (name, len) in file.attributes() {
        // XFS lists access control lists once more, by its own name for them.
        if name.starts_with(b"trusted.SGI_ACL") {
            continue;
        }
        let is_signature =
            [SECURITY_IMA, USER_IMA, "security.evm"].iter().any(|known| name == known.as_bytes());
        let content = match is_signature {
            true => None,
            false => file.attribute(&name[..]).ok().flatten().map(|value| hasher.hash_one(value)),
        };
        attributes.push(Attribute { name, len, content });
    }
    Counted { inode: file.identity().1, size: file.state.size, attributes }
}
