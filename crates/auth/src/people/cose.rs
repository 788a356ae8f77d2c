//! Public keys of authenticators: COSE_Key, RFC 9052 §7, in the CBOR (RFC 8949) that authenticators write.
//!
//! | alg | name | key | signature |
//! |---:|---|---|---|
//! | -48, -49, -50 | ML-DSA-44, -65, -87, RFC 9964 | AKP (7): pub (-1) | FIPS 204 |
//! | -7 | ES256, RFC 9053 §2.1 | EC2 (2): crv (-1) P-256 (1), x (-2), y (-3) | DER, WebAuthn §6.5.5 |
//! | -8 | EdDSA, RFC 9053 §2.2 | OKP (1): crv (-1) Ed25519 (6), x (-2) | RFC 8032 |
//! | -257 | RS256, RFC 8812 §2 | RSA (3): n (-1), e (-2) | PKCS #1 v1.5 |

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use sealstone_jose::{Algorithm, PublicKey};

/// The algorithms that are asked for, the most wanted first. RS256 is for authenticators that have nothing else.
pub const OFFERED: [i64; 6] = [-49, -48, -50, -7, -8, -257];

/// A key that checks signatures of one algorithm.
#[derive(Clone, Debug)]
pub enum CoseKey {
    /// ECDSA on P-256, as an uncompressed point (SEC 1 §2.3.3).
    Es256(Vec<u8>),
    /// Ed25519 or ML-DSA.
    Jose(PublicKey),
    /// RSA with SHA-256: modulus and exponent.
    Rs256 {
        /// The modulus, big-endian.
        n: Vec<u8>,
        /// The exponent, big-endian.
        e: Vec<u8>,
    },
}

impl CoseKey {
    /// Reads a key and returns what follows it. Its map has exactly the members of its type (WebAuthn §6.5.1.1: no
    /// optional ones).
    /// Errors: `None`, whatever is wrong with it.
    pub fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut reader = Reader(bytes);
        let mut members = Vec::new();
        for _ in 0..reader.head(5).filter(|count| *count <= 8)? {
            let label = reader.integer()?;
            if members.iter().any(|(known, _)| *known == label) {
                return None;
            }
            members.push((label, reader.value()?));
        }
        let key = of_members(&members)?;
        Some((key, reader.0))
    }

    /// Whether `signature` is one of this key over `message`. Time: all of this is public.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            CoseKey::Es256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).verify(message, signature).is_ok()
            }
            CoseKey::Jose(key) => key.verify(message, signature).is_ok(),
            CoseKey::Rs256 { n, e } => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok(),
        }
    }
}

fn of_members(members: &[(i64, Value<'_>)]) -> Option<CoseKey> {
    let find = |label: i64| members.iter().find(|(known, _)| *known == label).map(|(_, value)| *value);
    let number = |label| find(label).and_then(Value::number);
    let bytes = |label| find(label).and_then(Value::bytes);
    let jose = |algorithm, label| PublicKey::from_public(algorithm, bytes(label)?).ok().map(CoseKey::Jose);
    match (number(1)?, number(3)?, members.len()) {
        (1, -8, 4) if number(-1)? == 6 => jose(Algorithm::Ed25519, -2),
        (2, -7, 5) if number(-1)? == 1 => {
            let (x, y) = (bytes(-2)?, bytes(-3)?);
            let point = [&[4], x, y].concat();
            // The point must lie on the curve; the jose crate checks it.
            PublicKey::from_public(Algorithm::Es256, &point).ok()?;
            Some(CoseKey::Es256(point))
        }
        (3, -257, 4) => {
            let (n, e) = (bytes(-1)?, bytes(-2)?);
            ((256..=1024).contains(&n.len()) && n[0] != 0 && (1..=8).contains(&e.len()) && e[0] != 0)
                .then(|| CoseKey::Rs256 { n: n.to_vec(), e: e.to_vec() })
        }
        (7, -48, 3) => jose(Algorithm::MlDsa44, -1),
        (7, -49, 3) => jose(Algorithm::MlDsa65, -1),
        (7, -50, 3) => jose(Algorithm::MlDsa87, -1),
        _ => None,
    }
}

/// The two kinds of values that a key has.
#[derive(Clone, Copy)]
enum Value<'a> {
    Bytes(&'a [u8]),
    Number(i64),
}

impl<'a> Value<'a> {
    fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            Value::Number(_) => None,
        }
    }

    fn number(self) -> Option<i64> {
        match self {
            Value::Number(number) => Some(number),
            Value::Bytes(_) => None,
        }
    }
}

/// CBOR of definite lengths, RFC 8949 §3, each in its shortest form (CTAP2 canonical CBOR).
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// The argument of an item of this major type.
    fn head(&mut self, major: u8) -> Option<u64> {
        let first = *self.take(1)?.first()?;
        if first >> 5 != major {
            return None;
        }
        let (width, least) = match first & 0x1f {
            small @ 0..24 => return Some(u64::from(small)),
            24 => (1, 24),
            25 => (2, 1 << 8),
            26 => (4, 1 << 16),
            _ => return None,
        };
        let argument = self.take(width)?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        (argument >= least).then_some(argument)
    }

    fn integer(&mut self) -> Option<i64> {
        match *self.0.first()? >> 5 {
            0 => i64::try_from(self.head(0)?).ok(),
            _ => i64::try_from(self.head(1)?).ok().map(|n| -1 - n),
        }
    }

    fn value(&mut self) -> Option<Value<'a>> {
        if *self.0.first()? >> 5 != 2 {
            return self.integer().map(Value::Number);
        }
        let length = usize::try_from(self.head(2)?).ok()?;
        self.take(length).map(Value::Bytes)
    }
}
