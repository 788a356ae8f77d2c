//! In which form a file holds a key: the one recognition, for every reader of key files. It looks at how the bytes begin and at
//! nothing else; whether they are such a key, the readers of the forms say. It stands here, and not beside JWK and COSE, because all
//! but two of the forms are this crate's, and because it needs no key to tell them apart.
//!
//! ```
//! use sealstone_pki::form::{Form, Kind};
//!
//! assert_eq!(Form::of(b"{\"kty\":\"AKP\"}"), Some(Form::Json));
//! assert_eq!(Form::of(b"-----BEGIN PUBLIC KEY-----\n"), Some(Form::Pem(Kind::Spki)));
//! assert_eq!(Form::of(b"hello"), None);
//! ```

use sealstone_mldsa::Level;

use crate::algorithm::KeyAlgorithm;

/// id-PBES2, 1.2.840.113549.1.5.13 (RFC 8018, Appendix A.4), whole.
const PBES2: [u8; 11] = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d];

/// A form of key files.
///
/// ```
/// use sealstone_pki::form::{Form, Kind};
/// use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo, pkcs8};
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// let key = PrivateKeyInfo::new(KeyAlgorithm::Ed25519, &[7; 32], None)?;
/// let form = Form::of(&pkcs8::to_der(&key)?);
/// assert_eq!(form, Some(Form::Der(Kind::Pkcs8)));
/// assert!(Kind::Pkcs8.is_private() && !Kind::Spki.is_private());
///
/// // Is a password needed?
/// let encrypted = Form::of(b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n");
/// assert!(encrypted.is_some_and(Form::is_encrypted) && !form.is_some_and(Form::is_encrypted));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A map of CBOR (RFC 8949 §3.1): a COSE_Key.
    Cose,
    /// DER.
    Der(Kind),
    /// An object of JSON: a JWK, or a set of them.
    Json,
    /// PEM, spaces before it not counted.
    Pem(Kind),
    /// The key itself, whose length and first byte no other form has.
    Raw(KeyAlgorithm, Part),
}

/// What of an ML-DSA or EC key raw bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The expanded private key of ML-DSA (FIPS 204, Algorithm 24).
    Expanded,
    /// The public key; of an elliptic curve the uncompressed point.
    Public,
}

/// What a block of PEM or DER holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// EncryptedPrivateKeyInfo (RFC 5958 §3): a private key under a password.
    Encrypted,
    /// Something else: a certificate, perhaps.
    Other,
    /// RSAPrivateKey (RFC 8017 §A.1.2).
    Pkcs1,
    /// PrivateKeyInfo (RFC 5958 §2).
    Pkcs8,
    /// ECPrivateKey (RFC 5915 §3).
    Sec1,
    /// SubjectPublicKeyInfo (RFC 5280 §4.1.2.7).
    Spki,
}

impl Kind {
    /// Whether such a block holds a private key.
    pub const fn is_private(self) -> bool {
        matches!(self, Self::Encrypted | Self::Pkcs1 | Self::Pkcs8 | Self::Sec1)
    }
}

impl Form {
    /// The form of a file. `None` for an empty one, and for what begins like no key; raw private keys are among that, for nothing
    /// tells a seed from other bytes.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if let Some(raw) = raw(bytes) {
            return Some(raw);
        }
        match bytes.trim_ascii_start() {
            // Shorter than any other form, whatever it starts with: a seed or a scalar.
            _ if bytes.len() == 32 => None,
            [b'{', ..] => Some(Self::Json),
            text @ [b'-', ..] => Some(Self::Pem(kind_of_pem(text))),
            _ => match bytes {
                [0x30, ..] => Some(Self::Der(kind_of_der(bytes))),
                [0xa0..=0xbf, ..] => Some(Self::Cose),
                _ => None,
            },
        }
    }

    /// Whether this is a private key under a password.
    pub const fn is_encrypted(self) -> bool {
        matches!(self, Self::Pem(Kind::Encrypted) | Self::Der(Kind::Encrypted))
    }
}

/// Text is no raw key, and neither is DER whose length is right.
fn raw(bytes: &[u8]) -> Option<Form> {
    if bytes.len() <= 32 || core::str::from_utf8(bytes).is_ok() || is_whole_der(bytes) {
        return None;
    }
    let curve = match bytes {
        [0x04, point @ ..] => match point.len() {
            64 => Some(KeyAlgorithm::EcP256),
            96 => Some(KeyAlgorithm::EcP384),
            132 => Some(KeyAlgorithm::EcP521),
            _ => None,
        },
        _ => None,
    };
    let level = |len: fn(Level) -> usize| {
        let level = Level::ALL.into_iter().find(|level| len(*level) == bytes.len());
        level.map(KeyAlgorithm::MlDsa)
    };
    let public = curve.or_else(|| level(Level::verifying_key_len));
    public
        .map(|of| Form::Raw(of, Part::Public))
        .or_else(|| level(Level::signing_key_len).map(|of| Form::Raw(of, Part::Expanded)))
}

/// A SEQUENCE whose two bytes of length are those of what follows.
fn is_whole_der(bytes: &[u8]) -> bool {
    matches!(bytes, [0x30, 0x82, high, low, rest @ ..] if rest.len() == usize::from(u16::from_be_bytes([*high, *low])))
}

fn kind_of_pem(text: &[u8]) -> Kind {
    const LABELS: [(&[u8], Kind); 5] = [
        (b"EC PRIVATE KEY-----", Kind::Sec1),
        (b"ENCRYPTED PRIVATE KEY-----", Kind::Encrypted),
        (b"PRIVATE KEY-----", Kind::Pkcs8),
        (b"PUBLIC KEY-----", Kind::Spki),
        (b"RSA PRIVATE KEY-----", Kind::Pkcs1),
    ];
    let label = text.strip_prefix(b"-----BEGIN ").unwrap_or_default();
    LABELS.iter().find(|(begin, _)| label.starts_with(begin)).map_or(Kind::Other, |(_, kind)| *kind)
}

/// The kinds differ in what comes first: an algorithm in SPKI and in what is encrypted, a version in the others; and then an algorithm
/// in PKCS#8, the key in SEC 1, a number in PKCS#1.
fn kind_of_der(bytes: &[u8]) -> Kind {
    let long_form = bytes.get(1).is_some_and(|length| length & 0x80 != 0);
    let header = 2 + if long_form { usize::from(bytes[1] & 0x7f) } else { 0 };
    let inside = bytes.get(header..).unwrap_or_default();
    match inside {
        [0x30, ..] if inside.windows(PBES2.len()).take(5).any(|window| window == PBES2) => Kind::Encrypted,
        [0x30, rest @ ..] if is_algorithm(rest) => Kind::Spki,
        [0x02, 0x01, 0x01, 0x04, ..] => Kind::Sec1,
        [0x02, 0x01, _, 0x30, ..] => Kind::Pkcs8,
        [0x02, 0x01, 0x00, 0x02, ..] => Kind::Pkcs1,
        _ => Kind::Other,
    }
}

/// Whether an OBJECT IDENTIFIER follows the length of a SEQUENCE.
fn is_algorithm(rest: &[u8]) -> bool {
    match rest {
        [0x81, _, first, ..] | [0x82, _, _, first, ..] => *first == 0x06,
        [0x00..=0x7f, first, ..] => *first == 0x06,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use sealstone_mldsa::any::SigningKey;

    use super::*;
    use crate::{PrivateKeyInfo, PublicKeyInfo, pkcs8, rsa, spki};

    /// Each form that this crate writes is known again, in PEM and in DER.
    #[test]
    fn what_is_written_is_known_again() {
        for level in Level::ALL {
            let of = KeyAlgorithm::MlDsa(level);
            let info = PrivateKeyInfo::new(of, &[7; 32], None).unwrap();
            for form in [pkcs8::Form::Seed, pkcs8::Form::Both] {
                let (der, pem) =
                    (pkcs8::to_der_as(&info, form).unwrap(), pkcs8::to_pem_as(&info, form).unwrap());
                assert_eq!(Form::of(&der), Some(Form::Der(Kind::Pkcs8)), "{level}");
                assert_eq!(Form::of(pem.as_bytes()), Some(Form::Pem(Kind::Pkcs8)));
            }
            let expanded = SigningKey::from_seed(level, &[7; 32]).expand();
            let public = expanded.verifying_key();
            let spki = PublicKeyInfo::new(of, public.encode()).unwrap();
            assert_eq!(Form::of(&spki::to_der(&spki)), Some(Form::Der(Kind::Spki)));
            assert_eq!(Form::of(spki::to_pem(&spki).as_bytes()), Some(Form::Pem(Kind::Spki)));
            let mut bytes = vec![0; level.signing_key_len()];
            expanded.encode(&mut bytes).unwrap();
            // Whatever a raw key begins with: like JSON, PEM, DER, CBOR, or a point.
            for first in [b'{', b'-', 0x30, 0xa4, 0x04, 0x00, 0xff] {
                bytes[0] = first;
                bytes[1] = 0xff;
                assert_eq!(Form::of(&bytes), Some(Form::Raw(of, Part::Expanded)), "{first:#x}");
                let mut raw = public.encode().to_vec();
                raw[0] = first;
                raw[1] = 0xff;
                assert_eq!(Form::of(&raw), Some(Form::Raw(of, Part::Public)), "{first:#x}");
                assert!(!matches!(Form::of(&raw[1..]), Some(Form::Raw(..))), "a byte less");
            }
        }
        let key = [0x30, 0x06, 0x02, 0x01, 0x0f, 0x02, 0x01, 0x03];
        assert_eq!(Form::of(&rsa::public_to_der(&key)), Some(Form::Der(Kind::Spki)));
        assert_eq!(Form::of(&rsa::private_to_der(&key)), Some(Form::Der(Kind::Pkcs8)));
    }

    #[test]
    fn what_others_write_is_known() {
        let labels: [(&str, Kind); 7] = [
            ("CERTIFICATE", Kind::Other),
            ("EC PRIVATE KEY", Kind::Sec1),
            ("ENCRYPTED PRIVATE KEY", Kind::Encrypted),
            ("PRIVATE KEY", Kind::Pkcs8),
            ("PRIVATE KEYS", Kind::Other),
            ("PUBLIC KEY", Kind::Spki),
            ("RSA PRIVATE KEY", Kind::Pkcs1),
        ];
        for (label, kind) in labels {
            for before in ["", "\n  "] {
                let text = format!("{before}-----BEGIN {label}-----\nAAAAAAAAAAAA\n");
                assert_eq!(Form::of(text.as_bytes()), Some(Form::Pem(kind)), "{label}");
            }
            assert_eq!(kind.is_private(), label.ends_with("PRIVATE KEY"), "{label}");
        }
        let der: [(&[u8], Kind); 6] = [
            // PBES2, behind a short and behind a long length.
            (
                &[0x30, 0x20, 0x30, 0x10, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 5, 0x0d, 0x30],
                Kind::Encrypted,
            ),
            (
                &[
                    0x30, 0x82, 1, 0, 0x30, 0x81, 0x90, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 5, 0x0d,
                    0x30,
                ],
                Kind::Encrypted,
            ),
            (&[0x30, 0x10, 0x02, 0x01, 0x01, 0x04, 0x01], Kind::Sec1),
            (&[0x30, 0x10, 0x02, 0x01, 0x00, 0x02, 0x01], Kind::Pkcs1),
            // A certificate: a SEQUENCE that begins with [0], or a number.
            (&[0x30, 0x82, 1, 0, 0x30, 0x82, 0, 0x90, 0xa0, 3], Kind::Other),
            (&[0x30], Kind::Other),
        ];
        for (bytes, kind) in der {
            assert_eq!(Form::of(bytes), Some(Form::Der(kind)), "{bytes:02x?}");
            assert_eq!(Form::Der(kind).is_encrypted(), kind == Kind::Encrypted);
        }
        assert_eq!(Form::of(&[0xa5, 1, 7]), Some(Form::Cose));
        let point = |len: usize| [&[0x04], vec![0xff; len].as_slice()].concat();
        for (len, of) in [(64, KeyAlgorithm::EcP256), (96, KeyAlgorithm::EcP384), (132, KeyAlgorithm::EcP521)]
        {
            assert_eq!(Form::of(&point(len)), Some(Form::Raw(of, Part::Public)));
            assert_eq!(Form::of(&point(len + 1)), None);
        }
    }

    #[test]
    fn what_is_no_key_is_none() {
        for bytes in [&b""[..], b" \n", b"hello", &[0xff; 32], &[0x30; 32], &[b'{'; 32], &[0x01, 0x02]] {
            assert_eq!(Form::of(bytes), None, "{bytes:02x?}");
        }
    }
}
