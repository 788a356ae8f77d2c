//! The headers of a COSE message (RFC 9052 §3): what is read, and how far it is believed.

use super::cbor::Value;
use crate::error::{Error, check_size, shown};
use crate::jwk::MAX_KID;

/// Most bytes of a header.
pub(super) const MAX_HEADER: usize = 8_192;

/// Labels of the header, RFC 9052 §3.1 and RFC 9596 §2.
pub(super) const ALG: i64 = 1;
pub(super) const CRIT: i64 = 2;
pub(super) const CONTENT_TYPE: i64 = 3;
pub(super) const KID: i64 = 4;
pub(super) const TYP: i64 = 16;

/// What the content is: a number of the CoAP Content-Formats registry, or a media type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentType {
    /// A Content-Format, RFC 7252 §12.3.
    Format(u16),
    /// A media type.
    Media(String),
}

/// Headers as they came.
///
/// ```
/// use sealstone_jose::{Algorithm, PrivateKey, cose};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let key = PrivateKey::generate(Algorithm::Es256)?.with_kid("board 7");
/// let message = cose::Sign1::new().content_format(60).typ("application/reading+cose").sign(&key, b"21.5 C")?;
///
/// let unverified = cose::Unverified::parse(&message)?;
/// let header = unverified.header();
/// assert_eq!(header.algorithm(), Algorithm::Es256);
/// assert_eq!(header.kid(), Some(b"board 7".as_slice()));
/// assert_eq!(header.content_type(), Some(cose::ContentType::Format(60))); // application/cbor
/// assert_eq!(header.typ(), Some(cose::ContentType::Media("application/reading+cose".into())));
///
/// // By label: 1 is `alg`. All of it was signed.
/// assert_eq!(header.get(1), Some(&cose::Value::Int(-7)));
/// assert_eq!(header.protected().len(), 4);
/// assert!(header.unprotected().is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedHeader<'m, A> {
    algorithm: A,
    protected: Vec<(Value<'m>, Value<'m>)>,
    unprotected: Vec<(Value<'m>, Value<'m>)>,
}

impl<'m, A> ReceivedHeader<'m, A> {
    /// Reads both. The algorithm must stand in the protected one.
    pub(super) fn read(
        protected: &'m [u8],
        unprotected: Vec<(Value<'m>, Value<'m>)>,
        by_id: impl Fn(i64) -> Option<A>,
    ) -> Result<Self, Error> {
        check_size("protected header", MAX_HEADER, protected.len())?;
        // RFC 9052 §3: no members at all are written as no bytes.
        let protected = match protected {
            [] => Vec::new(),
            bytes => match Value::read("protected header", bytes)? {
                Value::Map(members) => members,
                other => return Err(malformed("protected", "a map", other.kind())),
            },
        };
        // §3: what the signature covers cannot be said otherwise beside it.
        if unprotected.iter().any(|(label, _)| find(&protected, label).is_some()) {
            let reason = "one label stands in both headers (RFC 9052 §3)";
            return Err(Error::HeaderRefused { member: "unprotected", reason });
        }
        for (label, member) in [(ALG, "alg"), (CRIT, "crit")] {
            if int(&unprotected, label).is_some() {
                let reason = "it must be in the protected header (RFC 9052 §3.1)";
                return Err(Error::HeaderRefused { member, reason });
            }
        }
        let algorithm = match int(&protected, ALG) {
            Some(Value::Int(value)) => i64::try_from(*value)
                .ok()
                .and_then(by_id)
                .ok_or_else(|| Error::AlgorithmUnknown { found: value.to_string() })?,
            Some(Value::Text(name)) => return Err(Error::AlgorithmUnknown { found: shown(name) }),
            other => return Err(malformed("alg", "an integer", other.map_or("nothing", Value::kind))),
        };
        check_critical(&protected)?;
        let header = Self { algorithm, protected, unprotected };
        header.check_types()?;
        Ok(header)
    }

    /// The key id, from whichever header has it: who changes it in the unprotected one only makes another key be tried.
    pub fn kid(&self) -> Option<&'m [u8]> {
        match self.get(KID) {
            Some(Value::Bytes(kid)) => Some(kid),
            _ => None,
        }
    }

    /// The content type, if the signature covers it.
    pub fn content_type(&self) -> Option<ContentType> {
        content_type(int(&self.protected, CONTENT_TYPE)?).ok()
    }

    /// The type of the message (RFC 9596), if the signature covers it.
    pub fn typ(&self) -> Option<ContentType> {
        content_type(int(&self.protected, TYP)?).ok()
    }

    /// Any member, of the protected header or else of the other one.
    pub fn get(&self, label: i64) -> Option<&Value<'m>> {
        int(&self.protected, label).or_else(|| int(&self.unprotected, label))
    }

    /// The members that the signature covers.
    pub fn protected(&self) -> &[(Value<'m>, Value<'m>)] {
        &self.protected
    }

    /// The members that no signature covers.
    pub fn unprotected(&self) -> &[(Value<'m>, Value<'m>)] {
        &self.unprotected
    }

    fn check_types(&self) -> Result<(), Error> {
        match self.get(KID) {
            None => {}
            Some(Value::Bytes(kid)) if (1..=MAX_KID).contains(&kid.len()) => {}
            Some(Value::Bytes(kid)) => {
                return Err(malformed("kid", "1 to 512 bytes", &kid.len().to_string()));
            }
            Some(other) => return Err(malformed("kid", "a byte string", other.kind())),
        }
        for (label, member) in [(CONTENT_TYPE, "content type"), (TYP, "typ")] {
            if let Some(value) = self.get(label) {
                content_type(value)
                    .map_err(|()| malformed(member, "a text or a number up to 65535", value.kind()))?;
            }
        }
        Ok(())
    }
}

impl<A: Copy> ReceivedHeader<'_, A> {
    /// What `alg` says. The key decides whether it is believed.
    pub fn algorithm(&self) -> A {
        self.algorithm
    }
}

/// RFC 9052 §3.1: what is critical must be there, and must be understood.
fn check_critical(protected: &[(Value<'_>, Value<'_>)]) -> Result<(), Error> {
    let refused = |reason| Err(Error::HeaderRefused { member: "crit", reason });
    let labels = match int(protected, CRIT) {
        None => return Ok(()),
        Some(Value::Array(labels)) => labels,
        Some(other) => return Err(malformed("crit", "an array of labels", other.kind())),
    };
    if labels.is_empty() {
        return refused("the list must not be empty (RFC 9052 §3.1)");
    }
    for label in labels {
        if ![ALG, CONTENT_TYPE, KID, TYP].iter().any(|known| *label == Value::Int(i128::from(*known))) {
            return refused("it lists what is not understood here (RFC 9052 §3.1)");
        }
        if find(protected, label).is_none() {
            return refused("what it lists is not in the protected header (RFC 9052 §3.1)");
        }
    }
    Ok(())
}

fn content_type(value: &Value<'_>) -> Result<ContentType, ()> {
    match value {
        Value::Int(format) => u16::try_from(*format).map(ContentType::Format).map_err(|_| ()),
        Value::Text(media) => Ok(ContentType::Media((*media).to_owned())),
        _ => Err(()),
    }
}

fn find<'v, 'm>(members: &'v [(Value<'m>, Value<'m>)], label: &Value<'_>) -> Option<&'v Value<'m>> {
    members.iter().find(|(other, _)| other == label).map(|(_, value)| value)
}

fn int<'v, 'm>(members: &'v [(Value<'m>, Value<'m>)], label: i64) -> Option<&'v Value<'m>> {
    find(members, &Value::Int(i128::from(label)))
}

fn malformed(member: &'static str, expected: &'static str, found: &str) -> Error {
    Error::HeaderMalformed { member, expected, found: found.to_owned() }
}
