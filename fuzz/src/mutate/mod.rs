//! Changes that keep a structure one: a text is read as a tree, a node of the tree is changed, and the tree is written again
//! with the lengths that now are right. A fuzzer that changes bytes alone rarely gets past the first length.
//!
//! Half of all changes are left to the fuzzer's own mutator, which knows nothing of structures: broken ones must come, too.

mod cbor;
mod der;
mod json;

/// How a text is read as a tree and written again.
type Grammar = (fn(&[u8]) -> Option<Node>, fn(&Node, &mut Vec<u8>));

/// CBOR: one item.
pub const CBOR: Grammar = (cbor::read, cbor::write);
/// DER: values one after the other.
pub const DER: Grammar = (der::read, der::write);
/// JSON: lines of values, as the target `jws` takes a header and a payload.
pub const JSON: Grammar = (json::read, json::write);

/// Deeper is not read as a tree, but as bytes.
const MAX_DEPTH: usize = 40;

/// A value of any of the grammars.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// DER: the tag. CBOR: the major type. JSON: the first byte.
    kind: u8,
    /// What a node without kids holds; with kids, what stands before them.
    leaf: Vec<u8>,
    kids: Vec<Node>,
}

/// Numbers for the choices: SplitMix64.
struct Choices(u64);

impl Choices {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Changes `data[..size]`, and returns its new size, at most `max_size`. `bytes` is the fuzzer's own mutator, with the same
/// arguments; `words` are what leaves may become.
pub fn mutate(
    (read, write): Grammar,
    words: &[&[u8]],
    (data, size, max_size, seed): (&mut [u8], usize, usize, u32),
    bytes: impl Fn(&mut [u8], usize, usize) -> usize,
) -> usize {
    let mut choices = Choices(u64::from(seed));
    let tree = if choices.below(2) == 0 { None } else { read(&data[..size]) };
    let Some(mut tree) = tree else { return bytes(data, size, max_size) };
    for _ in 0..=choices.below(3) {
        change(&mut tree, words, &mut choices, &bytes);
    }
    let mut written = Vec::new();
    write(&tree, &mut written);
    if written.len() > max_size {
        return bytes(data, size, max_size);
    }
    data[..written.len()].copy_from_slice(&written);
    written.len()
}

/// One change of one node.
fn change(
    tree: &mut Node,
    words: &[&[u8]],
    choices: &mut Choices,
    bytes: &impl Fn(&mut [u8], usize, usize) -> usize,
) {
    let count = count(tree);
    let other = at(tree, choices.below(count)).clone();
    let node = at(tree, choices.below(count));
    let kids = node.kids.len();
    match choices.below(8) {
        0 if kids > 0 => drop(node.kids.remove(choices.below(kids))),
        1 if kids > 0 && kids < 100 => {
            let again = node.kids[choices.below(kids)].clone();
            node.kids.insert(choices.below(kids + 1), again);
        }
        2 if kids > 1 => node.kids.swap(choices.below(kids), choices.below(kids)),
        3 if kids < 100 => node.kids.insert(choices.below(kids + 1), other),
        4 => *node = other,
        5 => node.kind ^= 1 << choices.below(8),
        6 if !words.is_empty() && kids == 0 => node.leaf = words[choices.below(words.len())].to_vec(),
        _ => {
            let size = node.leaf.len();
            node.leaf.resize(size + 16, 0);
            let size = bytes(&mut node.leaf, size, size + 16);
            node.leaf.truncate(size);
        }
    }
}

/// Nodes of a tree.
fn count(node: &Node) -> usize {
    1 + node.kids.iter().map(count).sum::<usize>()
}

/// The node with this number, counted from the root.
fn at(node: &mut Node, mut number: usize) -> &mut Node {
    if number == 0 {
        return node;
    }
    number -= 1;
    // By index: a borrow of the kid that is found would outlive the loop.
    let mut kid = 0;
    while kid + 1 < node.kids.len() {
        let size = count(&node.kids[kid]);
        if number < size {
            break;
        }
        number -= size;
        kid += 1;
    }
    at(&mut node.kids[kid], number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is committed is read as a tree and written as it was; changed a thousand times, it stays one that is read.
    #[test]
    fn trees_are_written_as_they_were_read() {
        for (grammar, targets) in [(CBOR, &["cose"][..]), (DER, &["der"]), (JSON, &["jwk", "jwks"])] {
            let mut inputs = Vec::new();
            for target in targets {
                let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
                let files = std::fs::read_dir(folder).unwrap();
                inputs.extend(files.map(|file| std::fs::read(file.unwrap().path()).unwrap()));
            }
            for input in inputs {
                let tree =
                    (grammar.0)(&input).unwrap_or_else(|| panic!("{targets:?}: {}", input.escape_ascii()));
                let mut written = Vec::new();
                (grammar.1)(&tree, &mut written);
                assert_eq!(written.escape_ascii().to_string(), input.escape_ascii().to_string());

                let (mut read, mut others) = (0, 0);
                for seed in 0..1000 {
                    let mut data = input.clone();
                    data.resize(input.len() + 64, 0);
                    // A mutator of bytes that does nothing: only changes of structure remain.
                    let max = data.len();
                    let size =
                        mutate(grammar, &[b"word"], (&mut data, input.len(), max, seed), |_, size, _| size);
                    read += usize::from((grammar.0)(&data[..size]).is_some());
                    others += usize::from(data[..size] != input);
                }
                assert!(read > 700, "{targets:?}: {read} of 1000 are trees");
                assert!(others > 150, "{targets:?}: {others} of 1000 are others");
            }
        }
    }

    #[test]
    fn every_node_has_its_number() {
        let mut tree = (JSON.0)(br#"{"a":[1,{"b":2}],"c":3}"#).unwrap();
        let count = count(&tree);
        let seen: std::collections::BTreeSet<*const Node> =
            (0..count).map(|number| at(&mut tree, number) as *const Node).collect();
        assert_eq!(seen.len(), count);
    }
}
