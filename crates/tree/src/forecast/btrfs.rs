//! btrfs: attributes are items in the leaves of the tree of files, and what they cost depends on how leaves are split. So the
//! splits are played through, for some files and by the rules of split_leaf in fs/btrfs/ctree.c of Linux 6.18, whose names are in
//! brackets; what the rest takes is that in proportion.

use super::{Attribute, Forecast, Misfit};
use crate::census::{Census, Remembered};

/// Before the items of a node (`struct btrfs_header`), and each of these (`struct btrfs_item`).
const HEADER: u64 = 101;
const ITEM: u64 = 25;
/// Before name and value (`struct btrfs_dir_item`).
const ATTRIBUTE: u64 = 30;
/// What every file has: its inode, and its name with ten bytes before it.
const INODE_ITEM: u64 = 160;
const INODE_REF: u64 = 10;
/// A file's contents: an extent, or so many bytes before them where they lie in the leaf itself (`max_inline`).
const EXTENT: u64 = 53;
const INLINE: u64 = 21;
const INLINE_MAX: u64 = 2048;
/// What the tree of extents says of a node (`METADATA_ITEM` with one reference), and a node of the node above it.
const EXTENT_ITEM: u64 = 33 + ITEM;
const POINTER: u64 = 33;
/// How full these other nodes are, in tenths.
const FILL: u64 = 7;

/// Room for items in a node.
fn room(node: u64) -> u64 {
    node.saturating_sub(HEADER)
}

/// The most that a value of an attribute has.
fn limit(node: u64, name: usize) -> u64 {
    room(node).saturating_sub(ITEM + ATTRIBUTE + name as u64)
}

fn item(attribute: &Attribute) -> u64 {
    ITEM + ATTRIBUTE + attribute.name.len() as u64 + attribute.len as u64
}

pub(super) fn forecast(forecast: &mut Forecast, census: &Census, new: &Attribute, node: u64, copies: u64) {
    let limit = limit(node, new.name.len());
    if new.len as u64 > limit {
        let name = String::from_utf8_lossy(&new.name);
        forecast.misfit(Misfit::new(limit, 0, &[], new.len, &name), census.files());
        return;
    }
    census.groups().for_each(|group| forecast.fits(group, 0));
    let files = census.remembered();
    if files.is_empty() {
        return;
    }
    let mut leaves = Leaves::of(files, room(node));
    let before = leaves.count();
    leaves.give(files, new);
    let more = (leaves.count() as f64 - before as f64) / files.len() as f64 * census.files() as f64;
    forecast.added = (more * with_the_rest(node)) as i64 * node as i64 * copies as i64;
}

/// Bytes of the leaves of all files as they are.
pub(super) fn standing(census: &Census, node: u64, copies: u64) -> u64 {
    let files = census.remembered();
    let leaves = Leaves::of(files, room(node)).count() as f64 / files.len().max(1) as f64;
    (leaves * census.files() as f64 * with_the_rest(node)) as u64 * node * copies
}

/// A leaf, and its shares of the nodes that know of it.
fn with_the_rest(node: u64) -> f64 {
    1.0 + ((EXTENT_ITEM + POINTER) * 10) as f64 / (room(node) * FILL) as f64
}

/// An item's place in the order of the tree, and its bytes.
#[derive(Clone, Copy)]
struct Item {
    key: u64,
    size: u64,
}

/// The leaves of a tree, in order.
struct Leaves {
    leaves: Vec<Vec<Item>>,
    room: u64,
}

/// Keys of a file: its place among the files, and that of the item in it.
const ITEMS: u64 = 64;
const SIGNATURE: u64 = ITEMS - 3;

impl Leaves {
    /// Files that were made one after the other, in the order of their inodes. Their contents came later, when they were written
    /// to the disk, and split leaves that were full.
    fn of(files: &[Remembered], room: u64) -> Self {
        let mut tree = Self { leaves: vec![Vec::new()], room };
        let mut order: Vec<&Remembered> = files.iter().collect();
        order.sort_by_key(|file| (file.run, file.inode));
        for (place, file) in order.iter().enumerate() {
            let first = place as u64 * ITEMS;
            tree.insert(Item { key: first, size: ITEM + INODE_ITEM });
            tree.insert(Item { key: first + 1, size: ITEM + INODE_REF + file.name as u64 });
            for (number, attribute) in file.attributes.iter().take(SIGNATURE as usize - 2).enumerate() {
                tree.insert(Item { key: first + 2 + number as u64, size: item(attribute).min(room) });
            }
        }
        for (place, file) in order.iter().enumerate() {
            let size = match file.size {
                0 => continue,
                size if size < INLINE_MAX && INLINE + size + ITEM <= room => ITEM + INLINE + size,
                _ => ITEM + EXTENT,
            };
            tree.insert(Item { key: place as u64 * ITEMS + ITEMS - 1, size });
        }
        tree
    }

    fn count(&self) -> usize {
        self.leaves.len()
    }

    /// Gives each file the attribute, in the order of the walk.
    fn give(&mut self, files: &[Remembered], new: &Attribute) {
        let mut order: Vec<usize> = (0..files.len()).collect();
        order.sort_by_key(|at| (files[*at].run, files[*at].inode));
        let mut place = vec![0; files.len()];
        order.iter().enumerate().for_each(|(rank, at)| place[*at] = rank as u64);
        for (file, place) in files.iter().zip(place) {
            let first = place * ITEMS;
            match file.attributes.iter().position(|old| old.name == new.name) {
                None => self.insert(Item { key: first + SIGNATURE, size: item(new) }),
                Some(number) => self.replace(Item { key: first + 2 + number as u64, size: item(new) }),
            }
        }
    }

    fn used(items: &[Item]) -> u64 {
        items.iter().map(|item| item.size).sum()
    }

    fn free(&self, leaf: usize) -> u64 {
        self.room - Self::used(&self.leaves[leaf])
    }

    /// The leaf that a key belongs to, and the place in it.
    fn find(&self, key: u64) -> (usize, usize) {
        let after = self.leaves.partition_point(|leaf| leaf.first().is_some_and(|first| first.key <= key));
        let leaf = after.saturating_sub(1);
        (leaf, self.leaves[leaf].partition_point(|item| item.key < key))
    }

    fn insert(&mut self, item: Item) {
        let (leaf, slot) = self.find(item.key);
        let (leaf, slot) = self.make_room(leaf, slot, item.size, false);
        self.leaves[leaf].insert(slot, item);
    }

    /// Room for the whole new value is made before the old one goes.
    fn replace(&mut self, item: Item) {
        let (leaf, slot) = self.find(item.key);
        let (leaf, slot) = self.make_room(leaf, slot, item.size, true);
        if let Some(old) = self.leaves[leaf].get_mut(slot).filter(|old| old.key == item.key) {
            *old = item;
        }
    }

    /// split_leaf: items move to a neighbour, or the leaf becomes two. `extend`: the item is there and grows.
    fn make_room(&mut self, mut leaf: usize, mut slot: usize, size: u64, extend: bool) -> (usize, usize) {
        if self.free(leaf) >= size {
            return (leaf, slot);
        }
        let needed = if slot < self.leaves[leaf].len() { size.saturating_sub(self.free(leaf)) } else { size };
        if !self.push_right(&mut leaf, &mut slot, needed) {
            let needed = if slot > 0 { size.saturating_sub(self.free(leaf)) } else { size };
            self.push_left(&mut leaf, &mut slot, needed);
        }
        // A split in two may leave no room on the side of the slot, and is followed by another.
        for _ in 0..3 {
            if self.free(leaf) >= size {
                return (leaf, slot);
            }
            let at = match self.middle(leaf, slot, size) {
                0 if extend => 1,
                at => at,
            };
            if extend && self.leaves[leaf].len() < 2 {
                break;
            }
            let right = self.leaves[leaf].split_off(at);
            self.leaves.insert(leaf + 1, right);
            if slot >= at && at > 0 {
                (leaf, slot) = (leaf + 1, slot - at);
            }
        }
        (leaf, slot)
    }

    /// Where a leaf is split: in the middle, or at the slot, or before or after all (nothing is in one half then).
    fn middle(&self, leaf: usize, slot: usize, size: u64) -> usize {
        let items = &self.leaves[leaf];
        let middle = items.len().div_ceil(2);
        if middle <= slot {
            if items.len() == 1 || Self::used(&items[middle..]) + size > self.room { slot } else { middle }
        } else if Self::used(&items[..middle]) + size > self.room {
            slot
        } else {
            middle
        }
    }

    /// push_leaf_right: whether something moved.
    fn push_right(&mut self, leaf: &mut usize, slot: &mut usize, size: u64) -> bool {
        let right = *leaf + 1;
        if right >= self.leaves.len() || self.free(right) < size {
            return false;
        }
        let (left_free, right_free) = (self.free(*leaf), self.free(right));
        let items = &self.leaves[*leaf];
        if *slot == items.len() {
            // The new item itself is the first of the neighbour.
            (*leaf, *slot) = (right, 0);
            return true;
        }
        let (mut moved, mut space) = (0, 0);
        for at in (1..items.len()).rev() {
            if moved > 0 && (*slot > at || *slot == at && left_free + space * 2 > right_free) {
                break;
            }
            if *slot == at {
                space += size;
            }
            if items[at].size + space > right_free {
                break;
            }
            moved += 1;
            space += items[at].size;
        }
        if moved == 0 {
            return false;
        }
        let kept = items.len() - moved;
        let mut pushed = self.leaves[*leaf].split_off(kept);
        pushed.append(&mut self.leaves[right]);
        self.leaves[right] = pushed;
        if *slot >= kept {
            (*leaf, *slot) = (right, *slot - kept);
        }
        true
    }

    /// push_leaf_left.
    fn push_left(&mut self, leaf: &mut usize, slot: &mut usize, size: u64) -> bool {
        let Some(left) = leaf.checked_sub(1) else { return false };
        if self.free(left) < size {
            return false;
        }
        let (right_free, left_free) = (self.free(*leaf), self.free(left));
        let items = &self.leaves[*leaf];
        let (mut moved, mut space) = (0, 0);
        for (at, item) in items.iter().enumerate().take(items.len().saturating_sub(1)) {
            if moved > 0 && (*slot < at || *slot == at && right_free + space * 2 > left_free) {
                break;
            }
            if *slot == at {
                space += size;
            }
            if item.size + space > left_free {
                break;
            }
            moved += 1;
            space += item.size;
        }
        if moved == 0 {
            return false;
        }
        let kept = self.leaves[*leaf].split_off(moved);
        let mut pushed = std::mem::replace(&mut self.leaves[*leaf], kept);
        let before = self.leaves[left].len();
        self.leaves[left].append(&mut pushed);
        if *slot < moved {
            (*leaf, *slot) = (left, *slot + before);
        } else {
            *slot -= moved;
        }
        true
    }
}
