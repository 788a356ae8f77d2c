//! ext4: a value lies in the inode if it fits, else in one block of its file, else, with the feature `ea_inode`, in an inode of
//! its own. Blocks with the same contents are shared. After fs/ext4/xattr.c of Linux 6.18, whose names are in brackets.

use std::collections::HashMap;

use super::{Attribute, Forecast, Misfit};
use crate::census::{Census, Group};

/// Before the first entry of a block (`struct ext4_xattr_header`).
const BLOCK_HEADER: u64 = 32;
/// An entry without its name (`struct ext4_xattr_entry`).
const ENTRY: u64 = 16;
/// Behind the last entry; also before the first of an inode.
const WORD: u64 = 4;
/// Of an inode: the old part, and the fields that came later (`i_extra_isize` of mkfs).
const INODE: u64 = 128 + 32;
/// Files that share one block at most (EXT4_XATTR_REFCOUNT_MAX).
const SHARERS: u64 = 1024;
/// More than the room of most inodes.
const LARGE: usize = 2048;
/// The most that Linux lets an attribute have (XATTR_SIZE_MAX).
const VALUE_MAX: u64 = 65_536;

pub(super) struct Geometry {
    pub(super) block: u64,
    pub(super) inode: u64,
    pub(super) ea_inode: bool,
}

impl Geometry {
    /// Room for entries and values in the inode.
    fn in_inode(&self) -> u64 {
        self.inode.saturating_sub(INODE + 2 * WORD)
    }

    fn in_block(&self) -> u64 {
        self.block - BLOCK_HEADER - WORD
    }

    /// Values above this go to inodes of their own at once (EXT4_XATTR_MIN_LARGE_EA_SIZE).
    fn large(&self) -> u64 {
        self.in_block() - ENTRY - pad(3)
    }

    /// The largest value of an attribute that is alone.
    fn limit(&self, attribute: &Attribute) -> u64 {
        if self.ea_inode {
            return VALUE_MAX;
        }
        let entry = ENTRY + pad(attribute.stored().0);
        self.in_block().max(self.in_inode()).saturating_sub(entry) / 4 * 4
    }
}

/// Where the attributes of a file lie.
#[derive(Clone, Default)]
struct Layout<'a> {
    inode: Vec<Placed<'a>>,
    block: Vec<Placed<'a>>,
}

#[derive(Clone, Copy)]
struct Placed<'a> {
    attribute: &'a Attribute,
    /// Whether the value has an inode of its own.
    apart: bool,
}

impl Placed<'_> {
    fn value(&self) -> u64 {
        if self.apart { 0 } else { pad(self.attribute.stored().1) }
    }

    fn size(&self) -> u64 {
        ENTRY + pad(self.attribute.stored().0) + self.value()
    }
}

impl<'a> Layout<'a> {
    /// In the order in which they are listed: those of the inode come first. Only values that are too large for most inodes come
    /// last, as they do in life: an entry in the inode may be that of a value that lies apart.
    fn of(attributes: &'a [Attribute], room: &Geometry) -> Self {
        let mut layout = Self::default();
        let (large, small): (Vec<_>, Vec<_>) = attributes.iter().partition(|attribute| attribute.len > LARGE);
        for attribute in small.into_iter().chain(large) {
            // What is there has room, whatever is computed.
            let _ = layout.set(attribute, room);
        }
        layout
    }

    /// Sets one (ext4_xattr_set_handle).
    fn set(&mut self, attribute: &'a Attribute, room: &Geometry) -> Result<(), u64> {
        let len = attribute.stored().1;
        let mut apart = room.ea_inode && pad(len) > room.large();
        if len > VALUE_MAX {
            return Err(len - VALUE_MAX);
        }
        loop {
            let new = Placed { attribute, apart };
            let of_inode = without(&self.inode, attribute);
            let of_block = without(&self.block, attribute);
            if used(&of_inode) + new.size() <= room.in_inode() {
                self.block = of_block;
                self.inode = of_inode;
                self.inode.push(new);
                return Ok(());
            }
            let values: u64 = of_block.iter().map(Placed::value).sum::<u64>() + new.value();
            // Room is left for entries of values that lie elsewhere (EXT4_XATTR_BLOCK_RESERVE).
            let reserved = room.ea_inode
                && new.value() > 0
                && room.block.saturating_sub(values) < (room.block / 8).min(1024);
            let needed = used(&of_block) + new.size();
            if needed <= room.in_block() && !reserved {
                self.inode = of_inode;
                self.block = of_block;
                self.block.push(new);
                return Ok(());
            }
            if !room.ea_inode || apart || len == 0 {
                return Err(needed.saturating_sub(room.in_block()).max(1));
            }
            apart = true;
        }
    }

    /// Blocks and inodes of values that lie apart.
    fn apart(&self, room: &Geometry) -> (u64, u64) {
        let apart = self.inode.iter().chain(&self.block).filter(|placed| placed.apart);
        apart.fold((0, 0), |(blocks, inodes), placed| {
            (blocks + placed.attribute.stored().1.div_ceil(room.block), inodes + 1)
        })
    }

    /// What is the same for files that share a block: `None` for a block that no other file can have.
    fn contents(&self) -> Option<Vec<&'a Attribute>> {
        let mut contents: Vec<&Attribute> = Vec::with_capacity(self.block.len());
        for placed in &self.block {
            // An inode of its own makes the entry its own.
            if placed.apart || placed.attribute.content.is_none() {
                return None;
            }
            contents.push(placed.attribute);
        }
        contents.sort_by(|a, b| a.name.cmp(&b.name));
        Some(contents)
    }
}

/// Blocks of many files, some of which share them.
#[derive(Default)]
struct Blocks<'a> {
    own: u64,
    shared: HashMap<Vec<&'a Attribute>, u64>,
}

impl<'a> Blocks<'a> {
    fn add(&mut self, layout: &Layout<'a>, files: u64, room: &Geometry) {
        self.own += layout.apart(room).0 * files;
        if layout.block.is_empty() {
            return;
        }
        match layout.contents() {
            None => self.own += files,
            Some(contents) => *self.shared.entry(contents).or_default() += files,
        }
    }

    fn count(&self) -> u64 {
        self.own + self.shared.values().map(|files| files.div_ceil(SHARERS)).sum::<u64>()
    }
}

pub(super) fn forecast(forecast: &mut Forecast, census: &Census, new: &Attribute, room: &Geometry) {
    let (mut before, mut after) = (Blocks::default(), Blocks::default());
    for group in census.groups() {
        let old = Layout::of(&group.attributes, room);
        let mut layout = old.clone();
        before.add(&old, group.files, room);
        match layout.set(new, room) {
            Ok(()) => {
                after.add(&layout, group.files, room);
                let inodes = layout.apart(room).1.saturating_sub(old.apart(room).1);
                forecast.inodes += inodes * group.files;
                forecast.fits(group, 0);
            }
            Err(missing) => {
                after.add(&old, group.files, room);
                forecast.misfit(misfit(group, new, missing, room), group.files);
            }
        }
    }
    let blocks = after.count() as i64 - before.count() as i64;
    forecast.added = blocks * room.block as i64;
}

fn misfit(group: &Group, new: &Attribute, missing: u64, room: &Geometry) -> Misfit {
    Misfit::new(room.limit(new), missing, &group.attributes, new.len, &String::from_utf8_lossy(&new.name))
}

/// Blocks of the attributes that files have.
pub(super) fn standing(census: &Census, room: &Geometry) -> u64 {
    let mut blocks = Blocks::default();
    for group in census.groups() {
        blocks.add(&Layout::of(&group.attributes, room), group.files, room);
    }
    blocks.count()
}

fn without<'a>(placed: &[Placed<'a>], attribute: &Attribute) -> Vec<Placed<'a>> {
    placed.iter().filter(|other| other.attribute.name != attribute.name).copied().collect()
}

fn used(placed: &[Placed<'_>]) -> u64 {
    placed.iter().map(Placed::size).sum()
}

/// Names and values fill words of four bytes.
const fn pad(len: u64) -> u64 {
    len.div_ceil(4) * 4
}
