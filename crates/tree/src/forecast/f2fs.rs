//! f2fs: attributes lie in the inode's node and, if that is too little, in one node more, all together. After fs/f2fs/xattr.c of
//! Linux 6.18; the largest value was measured with 6.1 and 7.2, the cost was not.

use super::{Attribute, Misfit};

/// Bytes of a node.
pub(super) const NODE: u32 = 4096;
/// Room in the inode (`inline_xattr`, 50 words), and before the first entry (`struct f2fs_xattr_header`).
const INLINE: u64 = 200;
const HEADER: u64 = 24;
/// A node without its footer (VALID_XATTR_BLOCK_SIZE).
const BESIDE: u64 = 4096 - 24;
/// Before the name of each (`struct f2fs_xattr_entry`).
const ENTRY: u64 = 4;

/// Nodes of a file's attributes beside the inode, with a new one in the place of its namesake.
pub(super) fn nodes(attributes: &[Attribute], new: Option<&Attribute>) -> Result<i64, Misfit> {
    let stays = |old: &&Attribute| new.is_none_or(|new| new.name != old.name);
    let size = |attribute: &Attribute| {
        let (name, value) = attribute.stored();
        (ENTRY + name + value).next_multiple_of(4)
    };
    let used: u64 = HEADER + attributes.iter().filter(stays).chain(new).map(size).sum::<u64>();
    let Some(missing) = used.checked_sub(INLINE + BESIDE + 1) else {
        return Ok(i64::from(used > INLINE));
    };
    let Some(new) = new else { return Ok(1) };
    let limit = INLINE + BESIDE - HEADER - ENTRY - new.stored().0;
    let name = String::from_utf8_lossy(&new.name);
    Err(Misfit::new(limit, missing + 1, attributes, new.len, &name))
}
