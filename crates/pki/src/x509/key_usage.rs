//! keyUsage, RFC 5280 §4.2.1.3, and what RFC 9881 §5 allows of it.

use core::fmt;

use crate::der::{self, Reader};
use crate::error::Error;

/// What a key may be used for: a set.
///
/// ```
/// use sealstone_pki::x509::KeyUsage;
///
/// let usage = KeyUsage::KEY_CERT_SIGN.with(KeyUsage::CRL_SIGN);
/// assert!(usage.has(KeyUsage::CRL_SIGN) && !usage.has(KeyUsage::DIGITAL_SIGNATURE));
/// assert!(usage.names().eq(["keyCertSign", "cRLSign"]));
/// assert_eq!(usage.to_string(), "keyCertSign, cRLSign");
/// assert!(usage.is_for_signatures_only() && !usage.is_empty());
///
/// // From words, such as those of a command line.
/// let words = ["digitalSignature", "keyEncipherment"];
/// let usage = words.iter().filter_map(|word| KeyUsage::by_name(word)).fold(KeyUsage::default(), KeyUsage::with);
/// assert!(!usage.is_for_signatures_only(), "no ML-DSA key may say so");
/// assert_eq!(usage.to_der(), [0x03, 2, 5, 0b1010_0000]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeyUsage(u16);

/// In the order of their bits.
const NAMES: [&str; 9] = [
    "digitalSignature",
    "nonRepudiation",
    "keyEncipherment",
    "dataEncipherment",
    "keyAgreement",
    "keyCertSign",
    "cRLSign",
    "encipherOnly",
    "decipherOnly",
];

impl KeyUsage {
    /// Signatures but those of certificates and lists.
    pub const DIGITAL_SIGNATURE: Self = Self(1);
    /// Signatures that hold against the signer; also called contentCommitment.
    pub const NON_REPUDIATION: Self = Self(1 << 1);
    /// Enciphering of keys.
    pub const KEY_ENCIPHERMENT: Self = Self(1 << 2);
    /// Enciphering of data.
    pub const DATA_ENCIPHERMENT: Self = Self(1 << 3);
    /// Agreement on keys.
    pub const KEY_AGREEMENT: Self = Self(1 << 4);
    /// Signatures of certificates.
    pub const KEY_CERT_SIGN: Self = Self(1 << 5);
    /// Signatures of revocation lists.
    pub const CRL_SIGN: Self = Self(1 << 6);
    /// Of key agreement, only to encipher.
    pub const ENCIPHER_ONLY: Self = Self(1 << 7);
    /// Of key agreement, only to decipher.
    pub const DECIPHER_ONLY: Self = Self(1 << 8);

    /// What a key that only signs may be used for, one of them at least (RFC 9881 §5).
    pub const SIGNING: Self =
        Self(Self::DIGITAL_SIGNATURE.0 | Self::NON_REPUDIATION.0 | Self::KEY_CERT_SIGN.0 | Self::CRL_SIGN.0);

    /// Each of the nine, in the order of their bits.
    pub const ALL: [Self; 9] = [
        Self::DIGITAL_SIGNATURE,
        Self::NON_REPUDIATION,
        Self::KEY_ENCIPHERMENT,
        Self::DATA_ENCIPHERMENT,
        Self::KEY_AGREEMENT,
        Self::KEY_CERT_SIGN,
        Self::CRL_SIGN,
        Self::ENCIPHER_ONLY,
        Self::DECIPHER_ONLY,
    ];

    /// Both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is in it.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether it is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// RFC 9881 §5: for a key that only signs, one signing use at least and nothing else.
    pub const fn is_for_signatures_only(self) -> bool {
        self.0 & Self::SIGNING.0 != 0 && self.0 & !Self::SIGNING.0 == 0
    }

    /// The names of the standard, in its order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.iter().enumerate().filter(move |(bit, _)| self.0 >> bit & 1 == 1).map(|(_, name)| *name)
    }

    /// The use of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        let name = if name == "contentCommitment" { "nonRepudiation" } else { name };
        NAMES.iter().position(|known| known.eq_ignore_ascii_case(name)).map(|bit| Self(1 << bit))
    }

    /// Reads the extension's value. X.690 §11.2.2: zero bits at the end are left out.
    pub(crate) fn read(value: &mut Reader<'_>) -> Result<Self, Error> {
        let at = value.clone();
        let content = value.take(der::BIT_STRING)?.rest();
        let refusal =
            |found: &str| at.refusal("a BIT STRING of key uses, as short as it can be", found.into());
        let (unused, bytes) = match content {
            [unused @ 0..=7, bytes @ ..] if (1..=2).contains(&bytes.len()) => (*unused, bytes),
            [0] => return Err(at.refusal("one use at least", "none".into())),
            _ => return Err(refusal("another length")),
        };
        let last = bytes[bytes.len() - 1];
        if last == 0 || last.trailing_zeros() != u32::from(unused) {
            return Err(refusal("zero bits at the end, or too many unused"));
        }
        let mut bits = 0;
        for (index, byte) in bytes.iter().enumerate() {
            bits |= u16::from(byte.reverse_bits()) << (8 * index);
        }
        if bits >> NAMES.len() != 0 {
            return Err(refusal("a bit that has no meaning"));
        }
        Ok(Self(bits))
    }

    /// Writes the extension's value.
    pub fn to_der(self) -> Vec<u8> {
        let mut bytes = vec![(self.0 as u8).reverse_bits(), ((self.0 >> 8) as u8).reverse_bits()];
        while bytes.last() == Some(&0) {
            bytes.pop();
        }
        let unused = bytes.last().map_or(0, |last| last.trailing_zeros()) as u8;
        der::write(der::BIT_STRING, &[&[unused], &bytes]).to_vec()
    }
}

/// The names, with commas.
impl fmt::Display for KeyUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.names().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            f.write_str(name)?;
        }
        Ok(())
    }
}
