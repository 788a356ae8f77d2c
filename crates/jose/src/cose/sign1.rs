//! COSE_Sign1 (RFC 9052 §4.2): one content, one signature; its content in it or not.

use core::fmt;

use super::cbor::{Value, Write as _};
use super::header::{ALG, CONTENT_TYPE, ContentType, KID, ReceivedHeader, TYP};
use super::{by_id, id};
use crate::alg::Algorithm;
use crate::error::{Error, check_size};
use crate::jws::Named;
use crate::key::{PrivateKey, PublicKey};

/// Most bytes of a message that is read or written.
pub const MAX_MESSAGE: usize = 16 << 20;

/// The tag of COSE_Sign1, RFC 9052 §2.
const TAG: u64 = 18;

/// What a message that is to be signed looks like. By default: tagged, its content in it, and in its protected header `alg` and
/// the key id of the key.
///
/// ```
/// use sealstone_jose::{Algorithm, PrivateKey, cose};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let key = PrivateKey::generate(Algorithm::MlDsa65)?;
/// let image = b"what goes another way";
/// let message = cose::Sign1::new().detached().external_aad(b"board 7").sign(&key, image)?;
///
/// let unverified = cose::Unverified::parse(&message)?;
/// let verified = unverified.external_aad(b"board 7").verify_detached(key.public(), image)?;
/// assert_eq!(verified.payload(), image);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sign1<'a> {
    content_type: Option<ContentType>,
    typ: Option<ContentType>,
    without_kid: bool,
    untagged: bool,
    detached: bool,
    external_aad: &'a [u8],
}

impl<'a> Sign1<'a> {
    /// As described above.
    pub fn new() -> Self {
        Self::default()
    }

    /// With this media type of the content.
    #[must_use]
    pub fn content_type(self, media: &str) -> Self {
        Self { content_type: Some(ContentType::Media(media.to_owned())), ..self }
    }

    /// With this number of the CoAP Content-Formats registry.
    #[must_use]
    pub fn content_format(self, format: u16) -> Self {
        Self { content_type: Some(ContentType::Format(format)), ..self }
    }

    /// With this type of the message, RFC 9596: what a JSON token's `typ` is.
    #[must_use]
    pub fn typ(self, media: &str) -> Self {
        Self { typ: Some(ContentType::Media(media.to_owned())), ..self }
    }

    /// Without a key id: the reader knows which key it is.
    #[must_use]
    pub fn without_kid(self) -> Self {
        Self { without_kid: true, ..self }
    }

    /// Without the tag 18: what carries the message says what it is.
    #[must_use]
    pub fn untagged(self) -> Self {
        Self { untagged: true, ..self }
    }

    /// Without its content, which goes another way.
    #[must_use]
    pub fn detached(self) -> Self {
        Self { detached: true, ..self }
    }

    /// Signed together with these bytes, which both sides know and the message does not carry (RFC 9052 §4.3).
    #[must_use]
    pub fn external_aad(self, bytes: &'a [u8]) -> Self {
        Self { external_aad: bytes, ..self }
    }

    /// Signs `payload`.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for what [`Unverified::parse`] would refuse; [`Error::Provider`].
    pub fn sign(&self, key: &PrivateKey, payload: &[u8]) -> Result<Vec<u8>, Error> {
        self.sign_by(key.public(), payload, |message| key.sign(message))
    }

    /// Signs `payload` with a key that lives elsewhere: `sign` gets the Sig_structure of RFC 9052 §4.4 and gives its signature
    /// by the private half of `key`.
    ///
    /// ```
    /// use sealstone_jose::{Algorithm, PrivateKey, cose};
    ///
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// # let device = PrivateKey::generate(Algorithm::MlDsa65)?;
    /// # let public = device.public().clone();
    /// // The private half is in a device; here is only the public one.
    /// let message = cose::Sign1::new().sign_by(&public, b"21.5 C", |to_be_signed| device.sign(to_be_signed))?;
    /// cose::Unverified::parse(&message)?.verify(&public)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`sign`](Self::sign) and of `sign`.
    pub fn sign_by(
        &self,
        key: &PublicKey,
        payload: &[u8],
        sign: impl FnOnce(&[u8]) -> Result<Vec<u8>, Error>,
    ) -> Result<Vec<u8>, Error> {
        self.write(id(key.algorithm()), &key.cose_kid(), payload, sign)
    }

    pub(crate) fn write(
        &self,
        alg: i64,
        kid: &[u8],
        payload: &[u8],
        sign: impl FnOnce(&[u8]) -> Result<Vec<u8>, Error>,
    ) -> Result<Vec<u8>, Error> {
        let protected = self.protected(alg, kid);
        check_size("protected header", super::header::MAX_HEADER, protected.len())?;
        let signature = sign(&to_be_signed(&protected, self.external_aad, payload))?;
        let carried = if self.detached { 0 } else { payload.len() };
        let mut out = Vec::with_capacity(protected.len() + carried + signature.len() + 32);
        if !self.untagged {
            out.tag(TAG);
        }
        out.array(4);
        out.byte_string(&protected);
        out.map(0);
        match self.detached {
            true => out.null(),
            false => out.byte_string(payload),
        }
        out.byte_string(&signature);
        check_size("message", MAX_MESSAGE, out.len())?;
        Ok(out)
    }

    fn protected(&self, alg: i64, kid: &[u8]) -> Vec<u8> {
        let kid = Some(kid).filter(|_| !self.without_kid);
        let mut out = Vec::new();
        let optional = [self.content_type.is_some(), kid.is_some(), self.typ.is_some()];
        out.map(1 + optional.into_iter().map(u64::from).sum::<u64>());
        out.int(ALG);
        out.int(alg);
        let typed = |label, value: &Option<ContentType>, out: &mut Vec<u8>| match value {
            None => {}
            Some(ContentType::Format(format)) => {
                out.int(label);
                out.int(i64::from(*format));
            }
            Some(ContentType::Media(media)) => {
                out.int(label);
                out.text(media);
            }
        };
        typed(CONTENT_TYPE, &self.content_type, &mut out);
        if let Some(kid) = kid {
            out.int(KID);
            out.byte_string(kid);
        }
        typed(TYP, &self.typ, &mut out);
        out
    }
}

/// Sig_structure, RFC 9052 §4.4, of a COSE_Sign1.
fn to_be_signed(protected: &[u8], external_aad: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(protected.len() + external_aad.len() + payload.len() + 40);
    out.array(4);
    out.text("Signature1");
    // §4.4: an empty header is no bytes, however it was written.
    out.byte_string(if protected == [0xa0] { &[] } else { protected });
    out.byte_string(external_aad);
    out.byte_string(payload);
    out
}

/// A message that has been taken apart, and of which nothing is known.
///
/// Its encoding, its headers and the length of its signature have been checked; its signature has not.
///
/// ```
/// use sealstone_jose::{Algorithm, PrivateKey, cose};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let key = PrivateKey::generate(Algorithm::MlDsa44)?;
/// let message = cose::Sign1::new().content_type("text/plain").sign(&key, b"21.5 C")?;
///
/// let unverified = cose::Unverified::parse(&message)?;
/// assert!(unverified.is_tagged() && !unverified.is_detached());
/// assert_eq!(unverified.peek_payload_untrusted(), Some(b"21.5 C".as_slice())); // to show it, not to use it
/// let verified = unverified.verify(key.public())?;
/// assert_eq!(verified.payload(), b"21.5 C");
/// assert_eq!(verified.header().algorithm(), Algorithm::MlDsa44);
///
/// // As small as it can be, for who knows what comes, and from whom.
/// let small = cose::Sign1::new().untagged().without_kid().sign(&key, b"21.5 C")?;
/// assert!(small.len() < message.len());
/// let unverified = cose::Unverified::parse(&small)?;
/// assert!(!unverified.is_tagged() && unverified.header().kid().is_none());
/// unverified.verify(key.public())?;
/// # Ok(())
/// # }
/// ```
pub struct Unverified<'m, A = Algorithm> {
    protected: &'m [u8],
    header: ReceivedHeader<'m, A>,
    payload: Option<&'m [u8]>,
    pub(crate) signature: &'m [u8],
    tagged: bool,
    external_aad: &'m [u8],
}

impl<'m> Unverified<'m> {
    /// Takes a message apart, with its tag or without.
    ///
    /// # Errors
    /// The first thing that is wrong with it: [`Error::TooLarge`], [`Error::BadCbor`], [`Error::NotSign1`], what is wrong with
    /// its headers, [`Error::SignatureLength`].
    pub fn parse(message: &'m [u8]) -> Result<Self, Error> {
        take_apart(message, by_id)
    }

    /// Checks the signature with `key` and the algorithm of `key`.
    ///
    /// # Errors
    /// [`Error::NoPayload`] if it is detached, [`Error::AlgorithmMismatch`], [`Error::BadSignature`].
    pub fn verify(self, key: &PublicKey) -> Result<Verified<'m>, Error> {
        let payload = self.payload.ok_or(Error::NoPayload)?;
        self.check(key, payload)
    }

    /// The same over a payload that came another way.
    ///
    /// # Errors
    /// [`Error::NotDetached`] if there is one in the message; [`Error::AlgorithmMismatch`], [`Error::BadSignature`].
    pub fn verify_detached(self, key: &PublicKey, payload: &'m [u8]) -> Result<Verified<'m>, Error> {
        match self.payload {
            Some(_) => Err(Error::NotDetached),
            None => self.check(key, payload),
        }
    }

    fn check(self, key: &PublicKey, payload: &'m [u8]) -> Result<Verified<'m>, Error> {
        let token = self.header.algorithm();
        if !key.algorithm().accepts(token) {
            return Err(Error::AlgorithmMismatch { key: key.algorithm(), token });
        }
        key.verify(&self.to_be_signed(payload), self.signature)?;
        Ok(self.proven(payload))
    }
}

impl<'m, A> Unverified<'m, A> {
    /// The headers, of which nothing is proven: good for choosing the key by its id.
    pub fn header(&self) -> &ReceivedHeader<'m, A> {
        &self.header
    }

    /// Whether the content goes another way.
    pub fn is_detached(&self) -> bool {
        self.payload.is_none()
    }

    /// Whether it has the tag 18.
    pub fn is_tagged(&self) -> bool {
        self.tagged
    }

    /// The content, of which nothing is proven: good for showing it to a person, never for a decision.
    pub fn peek_payload_untrusted(&self) -> Option<&'m [u8]> {
        self.payload
    }

    /// With the bytes that were signed together with it.
    #[must_use]
    pub fn external_aad(self, bytes: &'m [u8]) -> Self {
        Self { external_aad: bytes, ..self }
    }

    pub(crate) fn to_be_signed(&self, payload: &[u8]) -> Vec<u8> {
        to_be_signed(self.protected, self.external_aad, payload)
    }

    pub(crate) fn proven(self, payload: &'m [u8]) -> Verified<'m, A> {
        Verified { header: self.header, payload }
    }
}

/// The door of both readers.
pub(crate) fn take_apart<A: Named>(
    message: &[u8],
    by_id: impl Fn(i64) -> Option<A>,
) -> Result<Unverified<'_, A>, Error> {
    check_size("message", MAX_MESSAGE, message.len())?;
    let (tagged, value) = match Value::read("message", message)? {
        Value::Tag(TAG, value) => (true, *value),
        Value::Tag(tag, _) => return Err(Error::NotSign1 { found: named_tag(tag) }),
        other => (false, other),
    };
    let items = match value {
        Value::Array(items) => items,
        other => return Err(Error::NotSign1 { found: other.kind().to_owned() }),
    };
    let count = items.len();
    let Ok([protected, unprotected, payload, signature]) = <[Value<'_>; 4]>::try_from(items) else {
        return Err(Error::NotSign1 { found: format!("an array of {count}") });
    };
    let wrong =
        |part: &str, found: &Value<'_>| Error::NotSign1 { found: format!("{part} that is {}", found.kind()) };
    let (protected, unprotected) = match (protected, unprotected) {
        (Value::Bytes(protected), Value::Map(unprotected)) => (protected, unprotected),
        (Value::Bytes(_), other) => return Err(wrong("an unprotected header", &other)),
        (other, _) => return Err(wrong("a protected header", &other)),
    };
    let header = ReceivedHeader::read(protected, unprotected, by_id)?;
    let signature = match signature {
        Value::Bytes(signature) => signature,
        other => return Err(wrong("a signature", &other)),
    };
    let lens = header.algorithm().proof_len();
    if !lens.contains(&signature.len()) {
        return Err(header.algorithm().wrong_len(*lens.start(), signature.len()));
    }
    let payload = match payload {
        Value::Bytes(payload) => Some(payload),
        Value::Null => None,
        other => return Err(wrong("a payload", &other)),
    };
    Ok(Unverified { protected, header, payload, signature, tagged, external_aad: &[] })
}

fn named_tag(tag: u64) -> String {
    let name = match tag {
        16 => "COSE_Encrypt0",
        17 => "COSE_Mac0",
        61 => "CWT",
        96 => "COSE_Encrypt",
        97 => "COSE_Mac",
        98 => "COSE_Sign",
        _ => return format!("tag {tag}"),
    };
    format!("tag {tag} ({name})")
}

/// The header, and sizes only of what is not verified.
impl<A: fmt::Debug> fmt::Debug for Unverified<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unverified")
            .field("header", &self.header)
            .field("payload_len", &self.payload.map(<[u8]>::len))
            .finish_non_exhaustive()
    }
}

/// A message whose signature has been checked.
#[derive(Debug)]
pub struct Verified<'m, A = Algorithm> {
    header: ReceivedHeader<'m, A>,
    payload: &'m [u8],
}

impl<'m, A> Verified<'m, A> {
    /// The headers; of them the signature covers the [`protected`](ReceivedHeader::protected).
    pub fn header(&self) -> &ReceivedHeader<'m, A> {
        &self.header
    }

    /// What was signed.
    pub fn payload(&self) -> &'m [u8] {
        self.payload
    }
}
