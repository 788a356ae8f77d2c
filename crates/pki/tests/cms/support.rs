//! What the tests of messages share: certificates made by hand, and DER taken apart and put together again, with none
//! of the code that is tested.

use sealstone_mldsa::Level;
use sealstone_pki::sign::{Signer as _, SigningKey};
use sealstone_pki::x509::Certificate;
use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo};

/// A value of DER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Primitive(u8, Vec<u8>),
    Constructed(u8, Vec<Node>),
}

pub(crate) fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    match content.len() {
        len @ 0..=0x7f => out.push(len as u8),
        len @ 0x80..=0xff => out.extend([0x81, len as u8]),
        len @ 0x100..=0xffff => out.extend([0x82, (len >> 8) as u8, len as u8]),
        len => out.extend([0x83, (len >> 16) as u8, (len >> 8) as u8, len as u8]),
    }
    out.extend_from_slice(content);
    out
}

pub(crate) fn seq(parts: &[&[u8]]) -> Vec<u8> {
    tlv(0x30, &parts.concat())
}

impl Node {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let (node, rest) = Self::take(bytes);
        assert!(rest.is_empty());
        node
    }

    fn take(bytes: &[u8]) -> (Self, &[u8]) {
        let tag = bytes[0];
        let (len, start) = match bytes[1] {
            short @ 0..=0x7f => (usize::from(short), 2),
            long => {
                let count = usize::from(long & 0x7f);
                (bytes[2..2 + count].iter().fold(0, |len, octet| len << 8 | usize::from(*octet)), 2 + count)
            }
        };
        let (mut content, rest) = bytes[start..].split_at(len);
        if tag & 0x20 == 0 {
            return (Self::Primitive(tag, content.to_vec()), rest);
        }
        let mut children = Vec::new();
        while !content.is_empty() {
            let (child, left) = Self::take(content);
            children.push(child);
            content = left;
        }
        (Self::Constructed(tag, children), rest)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Primitive(tag, content) => tlv(*tag, content),
            Self::Constructed(tag, children) => {
                tlv(*tag, &children.iter().map(Node::bytes).collect::<Vec<_>>().concat())
            }
        }
    }

    /// In BER: every constructed value with an indefinite length, every OCTET STRING in pieces of this size.
    pub(crate) fn streamed(&self, size: usize) -> Vec<u8> {
        let indefinite =
            |tag: u8, content: Vec<Vec<u8>>| [vec![tag, 0x80], content.concat(), vec![0, 0]].concat();
        match self {
            Self::Primitive(0x04, content) if content.len() > size => {
                indefinite(0x24, content.chunks(size).map(|piece| tlv(0x04, piece)).collect())
            }
            Self::Primitive(0x80, content) if content.len() > 32 => {
                indefinite(0xa0, content.chunks(size).map(|piece| tlv(0x04, piece)).collect())
            }
            Self::Primitive(tag, content) => tlv(*tag, content),
            // Signed attributes and certificates are DER, whatever is around them.
            Self::Constructed(tag, children) if *tag == 0xa0 && children.len() > 1 => {
                Self::Constructed(*tag, children.clone()).bytes()
            }
            Self::Constructed(tag, children) => {
                indefinite(*tag, children.iter().map(|child| child.streamed(size)).collect())
            }
        }
    }

    pub(crate) fn children(&mut self) -> &mut Vec<Node> {
        match self {
            Self::Constructed(_, children) => children,
            Self::Primitive(tag, _) => panic!("{tag:#04x} is primitive"),
        }
    }

    /// The node at the end of this path of positions.
    pub(crate) fn at(&mut self, path: &[usize]) -> &mut Node {
        path.iter().fold(self, |node, index| &mut node.children()[*index])
    }

    pub(crate) fn content(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Primitive(_, content) => content,
            Self::Constructed(tag, _) => panic!("{tag:#04x} is constructed"),
        }
    }
}

/// An object identifier, whole.
pub(crate) fn oid(dotted: &str) -> Vec<u8> {
    tlv(0x06, &sealstone_pki::der::undotted(dotted).unwrap())
}

pub(crate) fn key(algorithm: KeyAlgorithm, byte: u8) -> SigningKey {
    let mut secret = vec![byte; algorithm.secret_len()];
    if algorithm == KeyAlgorithm::EcP521 {
        // Below the order, which has 521 bits of these 528.
        secret[0] = 0;
    }
    SigningKey::from_info(&PrivateKeyInfo::new(algorithm, &secret, None).unwrap()).unwrap()
}

pub(crate) fn ml_dsa(level: Level) -> SigningKey {
    key(KeyAlgorithm::MlDsa(level), 7)
}

/// What a certificate of the tests says.
pub(crate) struct Said<'a> {
    pub(crate) name: &'a str,
    pub(crate) serial: u8,
    pub(crate) key_id: Option<&'a [u8]>,
    /// The content of the BIT STRING, with the number of unused bits.
    pub(crate) usage: Option<&'a [u8]>,
}

impl Default for Said<'_> {
    fn default() -> Self {
        Self { name: "signer", serial: 1, key_id: Some(b"the key of a signer"), usage: Some(&[7, 0x80]) }
    }
}

/// A certificate of this public key, signed by `issuer` in its own name.
pub(crate) fn certificate_of(spki: &[u8], said: &Said<'_>, issuer: &SigningKey) -> Certificate {
    let algorithm = issuer.algorithm().to_der();
    let attribute = seq(&[&oid("2.5.4.3"), &tlv(0x0c, said.name.as_bytes())]);
    let name = seq(&[&tlv(0x31, &attribute)]);
    let validity = seq(&[&tlv(0x17, b"250101000000Z"), &tlv(0x17, b"450101000000Z")]);
    let mut extensions = Vec::new();
    if let Some(id) = said.key_id {
        extensions.push(seq(&[&oid("2.5.29.14"), &tlv(0x04, &tlv(0x04, id))]));
    }
    if let Some(bits) = said.usage {
        extensions.push(seq(&[&oid("2.5.29.15"), &tlv(0x01, &[0xff]), &tlv(0x04, &tlv(0x03, bits))]));
    }
    let extensions = match extensions.is_empty() {
        true => Vec::new(),
        false => tlv(0xa3, &tlv(0x30, &extensions.concat())),
    };
    let version = tlv(0xa0, &tlv(0x02, &[2]));
    let serial = tlv(0x02, &[said.serial]);
    let tbs = seq(&[&version, &serial, &algorithm, &name, &validity, &name, spki, &extensions]);
    let signature = issuer.sign(&tbs).unwrap();
    let bits = tlv(0x03, &[&[0][..], &signature].concat());
    Certificate::from_der(&seq(&[&tbs, &algorithm, &bits])).unwrap()
}

pub(crate) fn certificate(key: &SigningKey) -> Certificate {
    certificate_of(key.spki(), &Said::default(), key)
}
