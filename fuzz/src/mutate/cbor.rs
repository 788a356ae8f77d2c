//! CBOR (RFC 8949) as a tree: arrays, maps and tags have kids, and so has a byte string that holds a map, as the protected
//! header of COSE does.

use super::{MAX_DEPTH, Node};

const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;

pub fn read(bytes: &[u8]) -> Option<Node> {
    let (node, rest) = item(bytes, MAX_DEPTH)?;
    rest.is_empty().then_some(node)
}

/// One item, and what is behind it. Of an integer, a tag or a simple value the leaf is its number, eight bytes.
fn item(bytes: &[u8], depth: usize) -> Option<(Node, &[u8])> {
    let depth = depth.checked_sub(1)?;
    let (first, mut rest) = bytes.split_first()?;
    let (kind, info) = (first >> 5, first & 31);
    let mut number = u64::from(info);
    if info >= 24 {
        let more = if info < 28 { 1 << (info - 24) } else { return None };
        let (head, behind) = rest.split_at_checked(more)?;
        number = head.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        rest = behind;
    }
    let mut node = Node { kind, leaf: number.to_be_bytes().to_vec(), kids: Vec::new() };
    let kids = match kind {
        BYTES | TEXT => {
            let (content, behind) = rest.split_at_checked(usize::try_from(number).ok()?)?;
            let map = content.first().is_some_and(|first| first >> 5 == MAP);
            node.kids.extend(if kind == BYTES && map { read(content) } else { None });
            node.leaf = if node.kids.is_empty() { content.to_vec() } else { Vec::new() };
            return Some((node, behind));
        }
        ARRAY => number,
        MAP => number.checked_mul(2)?,
        TAG => 1,
        _ => 0,
    };
    for _ in 0..kids {
        let (kid, behind) = item(rest, depth)?;
        node.kids.push(kid);
        rest = behind;
    }
    Some((node, rest))
}

pub fn write(node: &Node, out: &mut Vec<u8>) {
    let kind = node.kind & 7;
    let mut number = [0; 8];
    let len = node.leaf.len().min(8);
    number[8 - len..].copy_from_slice(&node.leaf[..len]);
    let mut content = Vec::new();
    let number = match kind {
        BYTES | TEXT => {
            content.clone_from(&node.leaf);
            node.kids.iter().for_each(|kid| write(kid, &mut content));
            content.len() as u64
        }
        ARRAY => node.kids.len() as u64,
        MAP => node.kids.len() as u64 / 2,
        _ => u64::from_be_bytes(number),
    };
    let bytes = number.to_be_bytes();
    let (info, more) = match number {
        0..=23 => (bytes[7], 0),
        24..=0xff => (24, 1),
        0x100..=0xffff => (25, 2),
        0x1_0000..=0xffff_ffff => (26, 4),
        _ => (27, 8),
    };
    out.push(kind << 5 | info);
    out.extend_from_slice(&bytes[8 - more..]);
    match kind {
        BYTES | TEXT => out.append(&mut content),
        ARRAY => node.kids.iter().for_each(|kid| write(kid, out)),
        MAP => node.kids[..node.kids.len() / 2 * 2].iter().for_each(|kid| write(kid, out)),
        // A tag is on one item.
        TAG => match node.kids.first() {
            Some(kid) => write(kid, out),
            None => out.push(0xf6),
        },
        _ => {}
    }
}
