//! JSON (RFC 8259) without spaces as a tree, and lines of it: strings and numbers are leaves, as they are written.

use super::{MAX_DEPTH, Node};

const LINES: u8 = b'\n';
const OBJECT: u8 = b'{';
const ARRAY: u8 = b'[';
const STRING: u8 = b'"';

pub fn read(bytes: &[u8]) -> Option<Node> {
    let mut kids = Vec::new();
    let mut rest = bytes;
    loop {
        let (kid, behind) = value(rest, MAX_DEPTH)?;
        kids.push(kid);
        match behind {
            [] => return Some(Node { kind: LINES, leaf: Vec::new(), kids }),
            [b'\n', behind @ ..] => rest = behind,
            _ => return None,
        }
    }
}

fn value(bytes: &[u8], depth: usize) -> Option<(Node, &[u8])> {
    let depth = depth.checked_sub(1)?;
    let (kind, rest) = bytes.split_first()?;
    match *kind {
        OBJECT => listed(OBJECT, b'}', rest, depth),
        ARRAY => listed(ARRAY, b']', rest, depth),
        STRING => {
            let mut escaped = false;
            let end = rest.iter().position(|byte| {
                let end = *byte == b'"' && !escaped;
                escaped = *byte == b'\\' && !escaped;
                end
            })?;
            Some((Node { kind: STRING, leaf: rest[..end].to_vec(), kids: Vec::new() }, &rest[end + 1..]))
        }
        _ => {
            let end = bytes.iter().position(|byte| b",:]}\n".contains(byte)).unwrap_or(bytes.len());
            let leaf = bytes[..end].to_vec();
            (end > 0).then(|| (Node { kind: b'0', leaf, kids: Vec::new() }, &bytes[end..]))
        }
    }
}

/// Names and values of an object take turns.
fn listed(kind: u8, close: u8, mut rest: &[u8], depth: usize) -> Option<(Node, &[u8])> {
    let mut node = Node { kind, ..Node::default() };
    if let [first, behind @ ..] = rest
        && *first == close
    {
        return Some((node, behind));
    }
    loop {
        let (kid, behind) = value(rest, depth)?;
        node.kids.push(kid);
        let (between, behind) = behind.split_first()?;
        let name = kind == OBJECT && node.kids.len() % 2 == 1;
        match *between {
            b':' if name => {}
            b',' if !name => {}
            end if end == close && !name => return Some((node, behind)),
            _ => return None,
        }
        rest = behind;
    }
}

pub fn write(node: &Node, out: &mut Vec<u8>) {
    let kids = |out: &mut Vec<u8>, between: [u8; 2]| {
        for (number, kid) in node.kids.iter().enumerate() {
            if number > 0 {
                out.push(between[(number + 1) % 2]);
            }
            write(kid, out);
        }
    };
    match node.kind {
        LINES => kids(out, [b'\n'; 2]),
        ARRAY => {
            out.push(ARRAY);
            kids(out, [b','; 2]);
            out.push(b']');
        }
        OBJECT => {
            out.push(OBJECT);
            kids(out, [b':', b',']);
            out.push(b'}');
        }
        STRING => {
            out.push(STRING);
            out.extend_from_slice(&node.leaf);
            out.push(STRING);
        }
        _ => out.extend_from_slice(&node.leaf),
    }
}
