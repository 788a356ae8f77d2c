//! What attributes cost a file system, computed from how it stores them: blocks added, files that have no room, and why. Numbers
//! in, numbers out: nothing here knows a disk. What a tree holds is counted by `census`, how a disk is laid out is found by
//! `geometry`.
//!
//! | file | what | exact |
//! |---|---|---|
//! | `ext4` | the inode, one block beside it that files may share, inodes for large values | to the byte |
//! | `xfs` | the inode, a leaf, and blocks of their own for large values | to the byte |
//! | `btrfs` | items in the leaves of a tree, whose splits are played through | within a tenth |
//! | `f2fs` | the inode, and one node beside it | from the source alone |
//!
//! The tests measure each of these on disks of their own.

mod attribute;
mod btrfs;
mod ext4;
mod f2fs;
mod xfs;

use core::fmt;

pub use attribute::Attribute;

use crate::census::{Census, Group};
use crate::file_system::FileSystem;

/// A file system, with what decides over the place of attributes. Sizes are in bytes.
///
/// ```
/// use sealstone_tree::forecast::{Attribute, Geometry};
/// use sealstone_tree::{Census, Record, SECURITY_IMA};
///
/// let ext4 = Geometry::Ext4 { block: 4096, inode: 256, ea_inode: false };
/// let xfs = Geometry::Xfs { block: 4096, inode: 512 };
/// // Signatures of ML-DSA-44, -65 and -87.
/// let [small, middle, large] = [2420, 3309, 4627].map(Record::len_for);
///
/// // A step, not a slope: from 3072 bytes on XFS gives a value blocks of its own, beside the leaf that names it.
/// assert_eq!((xfs.alone(SECURITY_IMA, small), xfs.alone(SECURITY_IMA, middle)), (Ok(4096), Ok(8192)));
/// // ext4 has one block for all attributes of a file, and what does not fit there does not fit.
/// assert_eq!(ext4.alone(SECURITY_IMA, middle), Ok(4096));
/// let misfit = ext4.alone(SECURITY_IMA, large).expect_err("one block is too little");
/// assert_eq!((misfit.limit, misfit.to_string().as_str()), (4040, "a value has at most 4040 bytes"));
///
/// // A thousand files with a label of SELinux each.
/// let label = Attribute::shared("security.selinux", 30);
/// let labelled = Census::of_files(1000, 60_000, &[label.clone()]);
/// let forecast = xfs.forecast(&labelled, SECURITY_IMA, middle);
/// assert_eq!((forecast.pure(), forecast.added), (3_318_000, 8_192_000));
///
/// // The same with a signature of P-384, for which ext4 has given the block already.
/// let signed = Census::of_files(1000, 60_000, &[label, Attribute::unique(SECURITY_IMA, 113)]);
/// assert_eq!(ext4.forecast(&signed, SECURITY_IMA, middle).added, 0);
/// assert_eq!(ext4.forecast(&signed, SECURITY_IMA, large).unfit(), 1000);
///
/// // What is usual, under the names of mkfs.
/// let names: Vec<String> = Geometry::all().iter().map(Geometry::to_string).collect();
/// assert!(names.contains(&"ext4 4K ea_inode".to_owned()) && names.contains(&"btrfs 16K, DUP".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Geometry {
    /// Items in the leaves of a tree.
    Btrfs {
        /// Of a node of the tree (`mkfs.btrfs -n`).
        node: u64,
        /// How often each node is written: 2 for DUP, which is the default on one disk.
        copies: u64,
    },
    /// The inode, and one block.
    Ext4 {
        /// `mkfs.ext4 -b`.
        block: u64,
        /// `mkfs.ext4 -I`.
        inode: u64,
        /// Whether large values get inodes of their own (`-O ea_inode`).
        ea_inode: bool,
    },
    /// The inode, and one node of 4 KiB.
    F2fs,
    /// What is written goes to a layer above, with the whole file.
    Overlay {
        /// The file system of that layer.
        upper: Box<Geometry>,
    },
    /// Memory of the kernel.
    Tmpfs,
    /// The inode, a leaf, and blocks of their own.
    Xfs {
        /// `mkfs.xfs -b size=`.
        block: u64,
        /// `mkfs.xfs -i size=`.
        inode: u64,
    },
}

impl Geometry {
    /// What the report shows where it is not told otherwise.
    pub fn all() -> Vec<Self> {
        let ext4 = |block, inode, ea_inode| Self::Ext4 { block, inode, ea_inode };
        vec![
            ext4(4096, 256, false),
            ext4(4096, 512, false),
            ext4(4096, 256, true),
            ext4(1024, 256, false),
            Self::Xfs { block: 4096, inode: 512 },
            Self::Btrfs { node: 16_384, copies: 2 },
            Self::Btrfs { node: 16_384, copies: 1 },
            Self::Btrfs { node: 4096, copies: 2 },
            Self::F2fs,
            Self::Tmpfs,
            Self::Overlay { upper: Box::new(ext4(4096, 256, false)) },
        ]
    }

    /// Its kind.
    pub fn kind(&self) -> FileSystem {
        match self {
            Self::Btrfs { .. } => FileSystem::Btrfs,
            Self::Ext4 { .. } => FileSystem::Ext4,
            Self::F2fs => FileSystem::F2fs,
            Self::Overlay { .. } => FileSystem::Overlay,
            Self::Tmpfs => FileSystem::Tmpfs,
            Self::Xfs { .. } => FileSystem::Xfs,
        }
    }

    /// Bytes of disk for one more file with an attribute of this length, which has no other: what decides is the length.
    ///
    /// # Errors
    /// [`Misfit`].
    pub fn alone(&self, name: &str, len: usize) -> Result<u64, Misfit> {
        let census = Census::of_files(1, 1, &[]);
        let forecast = self.forecast(&census, name, len);
        match forecast.misfits.into_iter().next() {
            Some((misfit, _)) => Err(misfit),
            None => Ok(u64::try_from(forecast.added).unwrap_or(0)),
        }
    }

    /// Whether a file with these attributes has room for one more, or for a new value of its namesake.
    pub(crate) fn holds(&self, attributes: &[Attribute], name: &str, len: usize) -> bool {
        self.forecast(&Census::of_files(1, 1, attributes), name, len).unfit() == 0
    }

    /// What it takes to give every file of a tree this attribute. A value that is there under its name is replaced.
    pub fn forecast(&self, census: &Census, name: &str, len: usize) -> Forecast {
        let new = Attribute::unique(name, len);
        let mut forecast = Forecast { value: len as u64, ..Forecast::default() };
        match self {
            Self::Btrfs { node, copies } => btrfs::forecast(&mut forecast, census, &new, *node, *copies),
            Self::Ext4 { block, inode, ea_inode } => {
                let room = ext4::Geometry { block: *block, inode: *inode, ea_inode: *ea_inode };
                ext4::forecast(&mut forecast, census, &new, &room);
            }
            Self::F2fs => {
                for group in census.groups() {
                    match (f2fs::nodes(&group.attributes, None), f2fs::nodes(&group.attributes, Some(&new))) {
                        (before, Ok(after)) => {
                            forecast.fits(group, (after - before.unwrap_or(0)) * i64::from(f2fs::NODE))
                        }
                        (_, Err(misfit)) => forecast.misfit(misfit, group.files),
                    }
                }
            }
            Self::Overlay { upper } => copied_up(&mut forecast, census, name, len, upper),
            Self::Tmpfs => census.groups().for_each(|group| forecast.fits(group, 0)),
            Self::Xfs { block, inode } => {
                for group in census.groups() {
                    let before = xfs::blocks(&group.attributes, None, *block, *inode);
                    match xfs::blocks(&group.attributes, Some(&new), *block, *inode) {
                        Ok(after) => forecast
                            .fits(group, (after - before.unwrap_or(0)) * i64::try_from(*block).unwrap_or(0)),
                        Err(misfit) => forecast.misfit(misfit, group.files),
                    }
                }
            }
        }
        forecast
    }
}

/// As mkfs would be told.
impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kib = |bytes: &u64| {
            if bytes.is_multiple_of(1024) { format!("{}K", bytes / 1024) } else { bytes.to_string() }
        };
        match self {
            Self::Btrfs { node, copies: 1 } => write!(f, "btrfs {}, single", kib(node)),
            Self::Btrfs { node, copies: 2 } => write!(f, "btrfs {}, DUP", kib(node)),
            Self::Btrfs { node, copies } => write!(f, "btrfs {}, {copies} copies", kib(node)),
            Self::Ext4 { block, inode, ea_inode } => {
                write!(f, "ext4 {}", kib(block))?;
                if *inode != 256 {
                    write!(f, " -I {inode}")?;
                }
                if *ea_inode { f.write_str(" ea_inode") } else { Ok(()) }
            }
            Self::F2fs => f.write_str("f2fs"),
            Self::Overlay { upper } => write!(f, "overlay on {upper}"),
            Self::Tmpfs => f.write_str("tmpfs"),
            Self::Xfs { block, inode } => {
                f.write_str("XFS")?;
                if *block != 4096 {
                    write!(f, " -b {block}")?;
                }
                if *inode != 512 { write!(f, " -i {inode}") } else { Ok(()) }
            }
        }
    }
}

/// What it would take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forecast {
    /// Files whose attribute has room.
    pub files: u64,
    /// Bytes of one value.
    pub value: u64,
    /// Bytes that the disk gives, all in all; less than nothing where larger values were there before.
    pub added: i64,
    /// Of these, bytes of files that are copied to an upper layer.
    pub copied: u64,
    /// Inodes that the disk gives: ext4 with `ea_inode` alone.
    pub inodes: u64,
    /// Why others have no room, and how many these are.
    pub misfits: Vec<(Misfit, u64)>,
}

impl Forecast {
    /// Bytes of the values alone.
    pub fn pure(&self) -> u64 {
        self.value * self.files
    }

    /// Files that have no room.
    pub fn unfit(&self) -> u64 {
        self.misfits.iter().map(|(_, files)| files).sum()
    }

    fn fits(&mut self, group: &Group, each: i64) {
        let files = i64::try_from(group.files).unwrap_or(i64::MAX);
        self.files += group.files;
        self.added = self.added.saturating_add(each.saturating_mul(files));
    }

    fn misfit(&mut self, misfit: Misfit, files: u64) {
        match self.misfits.iter_mut().find(|(known, _)| *known == misfit) {
            Some((_, count)) => *count += files,
            None => self.misfits.push((misfit, files)),
        }
    }
}

/// Why an attribute has no room.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Misfit {
    /// The most that a value may have, were it alone.
    pub limit: u64,
    /// Bytes that are missing beside the attributes of `others`; 0 where the value is over the limit.
    pub missing: u64,
    /// Other attributes of the file, with the bytes of their values.
    pub others: Vec<(String, usize)>,
}

impl Misfit {
    fn new(limit: u64, missing: u64, attributes: &[Attribute], len: usize, name: &str) -> Self {
        if len as u64 > limit {
            return Self { limit, missing: 0, others: Vec::new() };
        }
        let others = attributes.iter().filter(|other| other.name != name.as_bytes());
        let others = others.map(|other| (String::from_utf8_lossy(&other.name).into_owned(), other.len));
        Self { limit, missing, others: others.collect() }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.missing == 0 {
            return write!(f, "a value has at most {} bytes", self.limit);
        }
        let others: Vec<String> =
            self.others.iter().map(|(name, len)| format!("{name} of {len} bytes")).collect();
        write!(f, "{} bytes are missing beside {}", self.missing, others.join(", "))
    }
}

/// Every file is taken to lie in a lower layer: it is copied whole, with its attributes, and its directories are made above. A
/// file whose signature has no room is copied before that shows.
fn copied_up(forecast: &mut Forecast, census: &Census, name: &str, len: usize, upper: &Geometry) {
    *forecast = upper.forecast(census, name, len);
    forecast.copied = upper.standing(census);
    forecast.added = forecast.added.saturating_add(i64::try_from(forecast.copied).unwrap_or(i64::MAX));
}

impl Geometry {
    /// What the files and directories of a tree take as they are.
    fn standing(&self, census: &Census) -> u64 {
        let attributes = |blocks: &dyn Fn(&Group) -> i64, block: u64| {
            let blocks: i64 = census.groups().map(|group| blocks(group) * group.files as i64).sum();
            u64::try_from(blocks).unwrap_or(0) * block
        };
        match self {
            Self::Btrfs { node, copies } => census.allocated(4096) + btrfs::standing(census, *node, *copies),
            Self::Ext4 { block, inode, ea_inode } => {
                let room = ext4::Geometry { block: *block, inode: *inode, ea_inode: *ea_inode };
                census.allocated(*block) + (census.directories + ext4::standing(census, &room)) * block
            }
            Self::F2fs => {
                let nodes = |group: &Group| f2fs::nodes(&group.attributes, None).unwrap_or(0) + 1;
                census.allocated(4096) + census.directories * 8192 + attributes(&nodes, 4096)
            }
            Self::Overlay { upper } => upper.standing(census),
            Self::Tmpfs => census.allocated(4096),
            Self::Xfs { block, inode } => {
                let blocks =
                    |group: &Group| xfs::blocks(&group.attributes, None, *block, *inode).unwrap_or(0);
                // Inodes come in chunks of 64.
                let inodes = (census.files() + census.directories).div_ceil(64) * 64 * inode;
                census.allocated(*block) + inodes + attributes(&blocks, *block)
            }
        }
    }
}
