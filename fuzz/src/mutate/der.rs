//! DER (X.690) as a tree: what is constructed has kids, and so has a string of octets or bits that holds DER itself.

use super::{MAX_DEPTH, Node};

const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;

/// The root has no tag: its kids stand one after the other.
pub fn read(bytes: &[u8]) -> Option<Node> {
    let kids = values(bytes, MAX_DEPTH)?;
    (!kids.is_empty()).then_some(Node { kids, ..Node::default() })
}

pub fn write(root: &Node, out: &mut Vec<u8>) {
    root.kids.iter().for_each(|kid| value(kid, out));
}

fn values(mut bytes: &[u8], depth: usize) -> Option<Vec<Node>> {
    let depth = depth.checked_sub(1)?;
    let mut nodes = Vec::new();
    while let [kind, first, rest @ ..] = bytes {
        let more = match first {
            0..=0x7f => 0,
            0x81..=0x83 => usize::from(first & 0x7f),
            _ => return None,
        };
        let len = rest.get(..more)?.iter().fold(0, |len, byte| len << 8 | usize::from(*byte));
        let len = if more == 0 { usize::from(*first) } else { len };
        let content = rest.get(more..)?.get(..len)?;
        bytes = &rest[more + len..];
        let (before, within) = match (*kind, content) {
            (BIT_STRING, [0, within @ ..]) => (&content[..1], within),
            (OCTET_STRING, within) => (&[][..], within),
            (kind, within) if kind & 0x20 != 0 => (&[][..], within),
            _ => (content, &[][..]),
        };
        let kids = if within.is_empty() { None } else { values(within, depth) };
        nodes.push(match kids {
            Some(kids) => Node { kind: *kind, leaf: before.to_vec(), kids },
            None => Node { kind: *kind, leaf: content.to_vec(), kids: Vec::new() },
        });
    }
    bytes.is_empty().then_some(nodes)
}

fn value(node: &Node, out: &mut Vec<u8>) {
    let mut content = node.leaf.clone();
    node.kids.iter().for_each(|kid| value(kid, &mut content));
    out.push(node.kind);
    let len = (content.len() as u32).to_be_bytes();
    match content.len() {
        0..=0x7f => out.push(len[3]),
        0x80..=0xff => out.extend_from_slice(&[0x81, len[3]]),
        0x100..=0xffff => out.extend_from_slice(&[0x82, len[2], len[3]]),
        _ => out.extend_from_slice(&[0x83, len[1], len[2], len[3]]),
    }
    out.append(&mut content);
}
