//! How keys look in CBOR: COSE_Key (RFC 9052 §7) of the key types AKP (RFC 9964 §3), EC2 and OKP (RFC 9053 §7) and RSA
//! (RFC 8230 §4), and their thumbprints (RFC 9679).

use std::borrow::Cow;
use std::sync::Arc;

use aws_lc_rs::digest;
use zeroize::Zeroizing;

use super::cbor::{Value, Write as _};
use super::{by_id, id};
use crate::alg::{Algorithm, Curve, Family};
use crate::error::{Error, check_size};
use crate::jwk::{self, MAX_KID};
use crate::key::{PrivateKey, PublicKey};
use crate::rsa;

/// Most bytes of a key in CBOR.
pub(crate) const MAX_KEY: usize = 32_768;

/// Labels of a key, RFC 9052 §7.1.
const KTY: i64 = 1;
const KID: i64 = 2;
const ALG: i64 = 3;
const KEY_OPS: i64 = 4;

/// Key types, RFC 9053 §7, RFC 8230 §4, RFC 9964 §3.
const OKP: i128 = 1;
const EC2: i128 = 2;
const RSA: i128 = 3;
const AKP: i128 = 7;

/// The curve Ed25519, RFC 9053 §7.1.
const ED25519: i64 = 6;
/// Operations, RFC 9052 §7.1.
const SIGN: i128 = 1;
const VERIFY: i128 = 2;

/// A key id that a key was given: one that JSON can hold, or bytes of COSE.
#[derive(Clone)]
pub(crate) enum Kid {
    Bytes(Arc<[u8]>),
    Text(Arc<str>),
}

impl Kid {
    /// A text, if it can be one.
    fn of(bytes: &[u8]) -> Self {
        match core::str::from_utf8(bytes) {
            Ok(text) if jwk::kid_is_sane(text) => Self::Text(text.into()),
            _ => Self::Bytes(bytes.into()),
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(_) => None,
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl PublicKey {
    /// Reads a public COSE_Key.
    ///
    /// # Errors
    /// [`Error::PrivateMember`] if there is one; [`Error::BadCbor`]; else what is wrong with it, by member.
    pub fn from_cose(bytes: &[u8]) -> Result<Self, Error> {
        let fields = Fields::read(bytes)?;
        let algorithm = fields.algorithm()?;
        if let Some(label) = fields.private_label(algorithm.family()) {
            return Err(Error::PrivateMember { member: member(algorithm, label) });
        }
        fields.check_operation(VERIFY)?;
        fields.with_kid(fields.public_key(algorithm)?)
    }

    /// The key as a COSE_Key, with its [`cose_kid`](Self::cose_kid).
    ///
    /// ```
    /// use sealstone_jose::{Algorithm, PrivateKey, PublicKey};
    ///
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// let key = PrivateKey::generate(Algorithm::MlDsa65)?;
    /// assert_eq!(&PublicKey::from_cose(&key.public().to_cose())?, key.public());
    /// # Ok(())
    /// # }
    /// ```
    pub fn to_cose(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_head(self, 0, &mut out);
        write_public(self, &mut out);
        out
    }

    /// The SHA-256 thumbprint of RFC 9679, over the members that it and RFC 9964 §6 name. It is not that of JSON
    /// ([`thumbprint`](Self::thumbprint)), which hashes another text.
    ///
    /// ```
    /// use sealstone_jose::{Algorithm, PrivateKey};
    ///
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// let key = PrivateKey::generate(Algorithm::MlDsa44)?.public().clone();
    /// assert_eq!(key.cose_kid(), key.cose_thumbprint().as_slice());
    ///
    /// // Under a name of its own it is the same key.
    /// let named = key.clone().with_kid("board 7");
    /// assert_eq!(named.cose_kid(), b"board 7".as_slice());
    /// assert_eq!(named.cose_thumbprint(), key.cose_thumbprint());
    /// # Ok(())
    /// # }
    /// ```
    pub fn cose_thumbprint(&self) -> [u8; 32] {
        if self.algorithm().level().is_some() {
            return akp_thumbprint(id(self.algorithm()), self.as_bytes());
        }
        let family = self.algorithm().family();
        let mut text = Vec::new();
        text.map(1 + public_count(family));
        text.int(KTY);
        text.int(kty(family));
        write_public(self, &mut text);
        sha256(&text)
    }

    /// The key id in COSE: the one that the key was given, or else the [`cose_thumbprint`](Self::cose_thumbprint).
    pub fn cose_kid(&self) -> Cow<'_, [u8]> {
        match self.given_kid() {
            Some(kid) => Cow::Borrowed(kid.bytes()),
            None => Cow::Owned(self.cose_thumbprint().to_vec()),
        }
    }
}

impl PrivateKey {
    /// Reads a private COSE_Key. The public members are required, and must be those of the private one.
    ///
    /// # Errors
    /// What is wrong with it, by member.
    pub fn from_cose(bytes: &[u8]) -> Result<Self, Error> {
        let fields = Fields::read(bytes)?;
        let algorithm = fields.algorithm()?;
        fields.check_operation(SIGN)?;
        let public = fields.public_key(algorithm)?;
        let secret = match algorithm.family() {
            Family::MlDsa(level) => {
                fields.bytes(-2, "priv", &[32]).map_err(|error| match fields.raw(-2) {
                    Some(Value::Bytes(key)) if key.len() == level.signing_key_len() => Error::KeyMalformed {
                        member: "priv",
                        expected: format!("the 32-byte seed of {level} (RFC 9964 §4)"),
                        found: format!("an expanded key of {} bytes, which has no COSE form", key.len()),
                    },
                    _ => error,
                })?
            }
            Family::Ec(curve) => fields.bytes(-4, "d", &[curve.field_len()])?,
            Family::Ed25519 => fields.bytes(-4, "d", &[32])?,
            Family::Rsa(_) => {
                let mut numbers: [&[u8]; 8] = [&[]; 8];
                for (number, (label, member)) in numbers.iter_mut().zip((1..).zip(rsa::PRIVATE_MEMBERS)) {
                    *number = fields.number(-label, member)?;
                }
                return fields.private_key(algorithm, &rsa::private_der(&numbers), &public);
            }
        };
        fields.private_key(algorithm, secret, &public)
    }

    /// The key as a private COSE_Key, which is wiped when dropped.
    pub fn to_cose(&self) -> Zeroizing<Vec<u8>> {
        let (public, secret) = (self.public(), self.secret());
        let numbers = rsa::private_numbers(&secret);
        let members: Vec<(i64, &[u8])> = match (public.algorithm().family(), &numbers) {
            (Family::MlDsa(_), _) => vec![(-2, secret.as_slice())],
            (Family::Rsa(_), Ok(numbers)) => {
                (3..).map(|label: i64| -label).zip(numbers[2..].iter().copied()).collect()
            }
            _ => vec![(-4, secret.as_slice())],
        };
        // All room at once: a buffer that grew would leave a copy of the secret behind.
        let room: usize = members.iter().map(|(_, bytes)| bytes.len() + 6).sum();
        let mut out =
            Zeroizing::new(Vec::with_capacity(public.as_bytes().len() + public.cose_kid().len() + 64 + room));
        write_head(public, members.len() as u64, &mut out);
        write_public(public, &mut out);
        for (label, bytes) in members {
            out.int(label);
            out.byte_string(bytes);
        }
        out
    }
}

/// Kty, kid and alg, in front of `more` private members and of those that [`write_public`] writes.
fn write_head(key: &PublicKey, more: u64, out: &mut Vec<u8>) {
    let family = key.algorithm().family();
    out.map(3 + public_count(family) + more);
    out.int(KTY);
    out.int(kty(family));
    out.int(KID);
    out.byte_string(&key.cose_kid());
    out.int(ALG);
    out.int(id(key.algorithm()));
}

const fn kty(family: Family) -> i64 {
    (match family {
        Family::Ed25519 => OKP,
        Family::Ec(_) => EC2,
        Family::Rsa(_) => RSA,
        Family::MlDsa(_) => AKP,
    }) as i64
}

/// The members that hold the public key.
const fn public_count(family: Family) -> u64 {
    match family {
        Family::MlDsa(_) => 1,
        Family::Ed25519 | Family::Rsa(_) => 2,
        Family::Ec(_) => 3,
    }
}

fn write_public(key: &PublicKey, out: &mut Vec<u8>) {
    let bytes = key.as_bytes();
    match key.algorithm().family() {
        Family::MlDsa(_) => {
            out.int(-1);
            out.byte_string(bytes);
        }
        Family::Ed25519 => {
            out.int(-1);
            out.int(ED25519);
            out.int(-2);
            out.byte_string(bytes);
        }
        Family::Ec(curve) => {
            let (x, y) = bytes[1..].split_at(curve.field_len());
            out.int(-1);
            out.int(crv(curve));
            out.int(-2);
            out.byte_string(x);
            out.int(-3);
            out.byte_string(y);
        }
        Family::Rsa(_) => {
            // The numbers were read before.
            let (n, e) = rsa::public_numbers(bytes).unwrap_or_default();
            out.int(-1);
            out.byte_string(n);
            out.int(-2);
            out.byte_string(e);
        }
    }
}

/// RFC 9053 §7.1.
const fn crv(curve: Curve) -> i64 {
    match curve {
        Curve::P256 => 1,
        Curve::P384 => 2,
        Curve::P521 => 3,
    }
}

/// The name of a private member, for an error.
const fn member(algorithm: Algorithm, label: i64) -> &'static str {
    match (algorithm.family(), label) {
        (Family::MlDsa(_), _) => "priv",
        (Family::Rsa(_), -4) => "p",
        (Family::Rsa(_), -5) => "q",
        (Family::Rsa(_), -6) => "dp",
        (Family::Rsa(_), -7) => "dq",
        (Family::Rsa(_), -8) => "qi",
        _ => "d",
    }
}

/// A COSE_Key of type AKP from its parts, for algorithms that are no [`Algorithm`].
#[cfg(feature = "composite")]
pub(crate) fn akp_key(kid: &[u8], alg: i64, public: &[u8], secret: Option<&[u8]>) -> Vec<u8> {
    // All room at once: a buffer that grew would leave a copy of the secret behind.
    let mut out = Vec::with_capacity(public.len() + kid.len() + secret.map_or(0, <[u8]>::len) + 64);
    out.map(4 + u64::from(secret.is_some()));
    out.int(KTY);
    out.int(AKP as i64);
    out.int(KID);
    out.byte_string(kid);
    out.int(ALG);
    out.int(alg);
    out.int(-1);
    out.byte_string(public);
    if let Some(secret) = secret {
        out.int(-2);
        out.byte_string(secret);
    }
    out
}

/// Its thumbprint, RFC 9679 over the members of RFC 9964 §6.
pub(crate) fn akp_thumbprint(alg: i64, public: &[u8]) -> [u8; 32] {
    let mut text = Vec::with_capacity(public.len() + 16);
    text.map(3);
    text.int(KTY);
    text.int(AKP as i64);
    text.int(ALG);
    text.int(alg);
    text.int(-1);
    text.byte_string(public);
    sha256(&text)
}

fn sha256(text: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    out.copy_from_slice(digest::digest(&digest::SHA256, text).as_ref());
    out
}

/// The members of a COSE_Key, read with care.
pub(crate) struct Fields<'a>(Vec<(Value<'a>, Value<'a>)>);

impl<'a> Fields<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        check_size("COSE key", MAX_KEY, bytes.len())?;
        match Value::read("COSE key", bytes)? {
            Value::Map(members) => Ok(Self(members)),
            other => Err(malformed("COSE_Key", "a map", other.kind())),
        }
    }

    fn raw(&self, label: i64) -> Option<&Value<'a>> {
        let label = Value::Int(i128::from(label));
        self.0.iter().find(|(other, _)| *other == label).map(|(_, value)| value)
    }

    /// Kty, the curve, and alg, which must fit them; a member that belongs to another key type is refused.
    fn algorithm(&self) -> Result<Algorithm, Error> {
        let alg = self.alg()?.map(|value| {
            let known = i64::try_from(value).ok().and_then(by_id);
            known.ok_or_else(|| Error::AlgorithmUnknown { found: value.to_string() })
        });
        let alg = alg.transpose()?;
        let wrong = |expected: &str, found: Algorithm| malformed("alg", expected, found.name());
        match self.kty()? {
            AKP => {
                self.check_labels(-2)?;
                let alg = alg.ok_or_else(|| malformed("alg", "an integer", "nothing"))?;
                alg.level().map(|_| alg).ok_or_else(|| wrong("-48, -49 or -50", alg))
            }
            EC2 => {
                self.check_labels(-4)?;
                let curve = self.curve()?;
                let curve =
                    [Curve::P256, Curve::P384, Curve::P521].into_iter().find(|known| crv(*known) == curve);
                let curve =
                    curve.ok_or_else(|| Error::KeyTypeUnknown { found: "EC2 on another curve".into() })?;
                match alg {
                    Some(alg) if alg != curve.algorithm() => Err(wrong(curve.algorithm().name(), alg)),
                    _ => Ok(curve.algorithm()),
                }
            }
            OKP => {
                self.check_labels(-4)?;
                if self.curve()? != ED25519 {
                    return Err(Error::KeyTypeUnknown { found: "OKP on another curve".into() });
                }
                match alg {
                    None => Ok(Algorithm::EdDsa),
                    Some(alg) if alg.family() == Family::Ed25519 => Ok(alg),
                    Some(alg) => Err(wrong("EdDSA or Ed25519", alg)),
                }
            }
            RSA => {
                self.check_labels(-8)?;
                match alg {
                    // As with JSON.
                    None => Ok(Algorithm::Rs256),
                    Some(alg) if matches!(alg.family(), Family::Rsa(_)) => Ok(alg),
                    Some(alg) => Err(wrong("PS256 or RS256", alg)),
                }
            }
            other => Err(Error::KeyTypeUnknown { found: format!("{other} of COSE") }),
        }
    }

    pub(crate) fn kty(&self) -> Result<i128, Error> {
        match self.raw(KTY) {
            Some(Value::Int(kty)) => Ok(*kty),
            // RFC 9964 §3: a name would be of a private registry.
            other => Err(malformed("kty", "an integer", other.map_or("nothing", Value::kind))),
        }
    }

    pub(crate) fn alg(&self) -> Result<Option<i128>, Error> {
        match self.raw(ALG) {
            None => Ok(None),
            Some(Value::Int(alg)) => Ok(Some(*alg)),
            Some(other) => Err(malformed("alg", "an integer", other.kind())),
        }
    }

    fn curve(&self) -> Result<i64, Error> {
        match self.raw(-1) {
            Some(Value::Int(crv)) => Ok(i64::try_from(*crv).unwrap_or(0)),
            other => Err(malformed("crv", "an integer", other.map_or("nothing", Value::kind))),
        }
    }

    /// RFC 9052 §7.1: labels below zero belong to the key type. One that it does not have would make one text two keys.
    pub(crate) fn check_labels(&self, last: i64) -> Result<(), Error> {
        let stranger = |label: &Value<'_>| matches!(label, Value::Int(label) if *label < i128::from(last));
        match self.0.iter().any(|(label, _)| stranger(label)) {
            true => Err(malformed("COSE_Key", "members of its key type", "another")),
            false => Ok(()),
        }
    }

    fn private_label(&self, family: Family) -> Option<i64> {
        let private = match family {
            Family::MlDsa(_) => -2..=-2,
            Family::Ec(_) | Family::Ed25519 => -4..=-4,
            Family::Rsa(_) => -8..=-3,
        };
        private.rev().find(|label| self.raw(*label).is_some())
    }

    #[cfg(feature = "composite")]
    pub(crate) fn has_private(&self) -> bool {
        self.raw(-2).is_some()
    }

    /// RFC 9052 §7.1: a key that says what it is for must allow `operation`.
    pub(crate) fn check_operation(&self, operation: i128) -> Result<(), Error> {
        let ops = match self.raw(KEY_OPS) {
            None => return Ok(()),
            Some(Value::Array(ops)) => ops,
            Some(other) => return Err(malformed("key_ops", "an array", other.kind())),
        };
        if let Some(other) = ops.iter().find(|op| !matches!(op, Value::Int(_) | Value::Text(_))) {
            return Err(malformed("key_ops", "an array of integers and texts", other.kind()));
        }
        let name = if operation == SIGN { "sign" } else { "verify" };
        if ops.contains(&Value::Int(operation)) || ops.contains(&Value::Text(name)) {
            return Ok(());
        }
        let found = Value::Array(ops.clone()).to_string();
        Err(Error::KeyUseRefused { member: "key_ops", found: found.chars().take(64).collect() })
    }

    fn public_key(&self, algorithm: Algorithm) -> Result<PublicKey, Error> {
        match algorithm.family() {
            Family::MlDsa(level) => {
                PublicKey::from_public(algorithm, self.bytes(-1, "pub", &[level.verifying_key_len()])?)
            }
            Family::Ed25519 => PublicKey::from_public(algorithm, self.bytes(-2, "x", &[32])?),
            Family::Ec(curve) => {
                if let Some(Value::Bool(_)) = self.raw(-3) {
                    return Err(malformed("y", "a coordinate", "a compressed point, which is not read"));
                }
                let x = self.bytes(-2, "x", &[curve.field_len()])?;
                let y = self.bytes(-3, "y", &[curve.field_len()])?;
                PublicKey::from_public(algorithm, &[&[0x04], x, y].concat())
            }
            Family::Rsa(_) => PublicKey::from_public(
                algorithm,
                &rsa::public_der(self.number(-1, "n")?, self.number(-2, "e")?),
            ),
        }
    }

    /// RFC 8230 §4: no zero octets in front.
    fn number(&self, label: i64, member: &'static str) -> Result<&'a [u8], Error> {
        let most = rsa::MODULUS_BITS.end() / 8;
        let number = self.byte_string(label, member)?;
        match number.first() {
            None | Some(0) => Err(malformed(member, "a number without zeros in front", "another form")),
            _ => check_size("number of an RSA key", most, number.len()).map(|()| number),
        }
    }

    /// A byte string of one of these lengths.
    pub(crate) fn bytes(&self, label: i64, member: &'static str, lens: &[usize]) -> Result<&'a [u8], Error> {
        let bytes = self.byte_string(label, member)?;
        match lens.contains(&bytes.len()) {
            true => Ok(bytes),
            false => {
                let expected = lens.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ");
                Err(malformed(member, &format!("{expected} bytes"), &format!("{} bytes", bytes.len())))
            }
        }
    }

    pub(crate) fn byte_string(&self, label: i64, member: &'static str) -> Result<&'a [u8], Error> {
        match self.raw(label) {
            Some(Value::Bytes(bytes)) => Ok(bytes),
            other => Err(malformed(member, "a byte string", other.map_or("nothing", Value::kind))),
        }
    }

    pub(crate) fn kid(&self) -> Result<Option<Kid>, Error> {
        match self.raw(KID) {
            None => Ok(None),
            Some(Value::Bytes(kid)) if (1..=MAX_KID).contains(&kid.len()) => Ok(Some(Kid::of(kid))),
            Some(Value::Bytes(kid)) => {
                Err(malformed("kid", &format!("1 to {MAX_KID} bytes"), &format!("{} bytes", kid.len())))
            }
            Some(other) => Err(malformed("kid", "a byte string", other.kind())),
        }
    }

    /// The thumbprint is what a key is called that was given no name.
    fn with_kid(&self, key: PublicKey) -> Result<PublicKey, Error> {
        Ok(match self.kid()? {
            Some(kid) if kid.bytes() != key.cose_thumbprint() => key.with_given_kid(kid),
            _ => key,
        })
    }

    fn private_key(
        &self,
        algorithm: Algorithm,
        secret: &[u8],
        public: &PublicKey,
    ) -> Result<PrivateKey, Error> {
        let key = PrivateKey::from_secret_and_public(algorithm, secret, public.as_bytes())?;
        match self.with_kid(key.public().clone())?.given_kid() {
            Some(kid) => Ok(key.with_given_kid(kid.clone())),
            None => Ok(key),
        }
    }
}

pub(crate) fn malformed(member: &'static str, expected: &str, found: &str) -> Error {
    Error::KeyMalformed { member, expected: expected.to_owned(), found: found.to_owned() }
}
