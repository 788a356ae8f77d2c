//! XFS: all attributes lie in the inode if they fit together, else in leaves of one block, and values of three quarters of a block
//! or more in blocks of their own beside the leaf. After fs/xfs/libxfs of Linux 6.18, whose names are in brackets.

use super::{Attribute, Misfit};

/// An inode before its forks, in version 5 (`struct xfs_dinode`).
const INODE: u64 = 176;
/// What a file's extents keep of the inode: three of 16 bytes and their header, in eights (XFS_BMDR_SPACE_CALC(MINDBTPTRS)).
const EXTENTS: u64 = 56;
/// Before the attributes in an inode (`struct xfs_attr_sf_hdr`), and before each.
const SHORT_HEADER: u64 = 4;
const SHORT_ENTRY: u64 = 3;
/// Longer values are not in the inode: their length is one byte (XFS_ATTR_SF_ENTSIZE_MAX).
const SHORT_MAX: u64 = 255;
/// Before the entries of a leaf, in version 5 (`struct xfs_attr3_leaf_hdr`), and each of these.
const LEAF_HEADER: u64 = 80;
const LEAF_ENTRY: u64 = 8;
/// Before name and value in a leaf, and before a name whose value lies elsewhere.
const LOCAL: u64 = 3;
const REMOTE: u64 = 9;
/// Before a piece of a value in its block, in version 5 (`struct xfs_attr3_rmt_hdr`).
const REMOTE_HEADER: u64 = 56;
/// The most that Linux lets an attribute have (XATTR_SIZE_MAX).
const VALUE_MAX: u64 = 65_536;

/// Blocks of a file's attributes, with a new one in the place of its namesake.
///
/// Extents are taken to be three at most. From four on the inode has 16 bytes less for each, and from 13 on the list of
/// extents may need a block of its own when attributes leave the inode.
pub(super) fn blocks(
    attributes: &[Attribute],
    new: Option<&Attribute>,
    block: u64,
    inode: u64,
) -> Result<i64, Misfit> {
    let stays = |old: &&Attribute| new.is_none_or(|new| new.name != old.name);
    let all: Vec<(u64, u64)> = attributes.iter().filter(stays).chain(new).map(stored).collect();
    if let Some(new) = new.filter(|new| new.len as u64 > VALUE_MAX) {
        let name = String::from_utf8_lossy(&new.name);
        return Err(Misfit::new(VALUE_MAX, 0, attributes, new.len, &name));
    }
    let short: u64 = all.iter().map(|(name, value)| SHORT_ENTRY + name + value).sum();
    let room = inode.saturating_sub(INODE + EXTENTS);
    let is_short = |(_, value): &(u64, u64)| *value <= SHORT_MAX;
    if all.is_empty() || SHORT_HEADER + short <= room && all.iter().all(is_short) {
        return Ok(0);
    }
    let mut apart = 0;
    let mut entries = Vec::with_capacity(all.len());
    for (name, value) in all {
        let local = (LOCAL + name + value).next_multiple_of(4);
        // xfs_attr_leaf_entsize_local_max: half and a quarter of the block.
        if local < block / 2 + block / 4 {
            entries.push(LEAF_ENTRY + local);
        } else {
            entries.push(LEAF_ENTRY + (REMOTE + name).next_multiple_of(4));
            apart += value.div_ceil(block - REMOTE_HEADER);
        }
    }
    let leaves = leaves(entries, block - LEAF_HEADER);
    // Leaves have a node above them where they are several.
    let node = u64::from(leaves > 1);
    Ok((apart + leaves + node) as i64)
}

/// Leaves that entries of these sizes fill. Their order in the leaves is that of a hash of the names; by size they pack as well
/// or better.
fn leaves(mut entries: Vec<u64>, room: u64) -> u64 {
    entries.sort_unstable_by(|a, b| b.cmp(a));
    let mut left: Vec<u64> = Vec::new();
    for entry in entries {
        match left.iter_mut().find(|left| **left >= entry) {
            Some(left) => *left -= entry,
            None => left.push(room.saturating_sub(entry)),
        }
    }
    left.len() as u64
}

/// Bytes of name and value. An access control list has a name of its own, and 12 bytes for each entry (`struct xfs_acl_entry`).
fn stored(attribute: &Attribute) -> (u64, u64) {
    if !attribute.is_acl() {
        return (attribute.suffix().len() as u64, attribute.len as u64);
    }
    // SGI_ACL_FILE, SGI_ACL_DEFAULT.
    let name = if attribute.name.ends_with(b"access") { 12 } else { 15 };
    (name, (4 + 12 * attribute.acl_entries()) as u64)
}
