//! Signatures in JSON (RFC 7515 §7.2): one payload, signed by several, or by one ("flattened").

use serde_json::{Map, Value};

use super::detached::signing_input;
use super::{
    Extensions, Header, MAX_HEADER, ReceivedHeader, SigningKey, VerifyingKey, check_kid, check_not_empty,
    check_texts, malformed, read_header, read_proof,
};
#[cfg(feature = "composite")]
use crate::any;
use crate::b64;
use crate::error::{Error, check_size};
use crate::json;
use crate::key::PublicKey;

/// Most bytes of a document that is read or written.
const MAX_DOCUMENT: usize = 4 << 20;
/// Most signatures of one.
const MAX_SIGNATURES: usize = 32;

/// Most values of one, at all depths: what is small as text is not in memory.
const MAX_VALUES: usize = 8_192;

/// Members of an unprotected header that are refused: what decides how a signature is checked must be signed.
const PROTECTED_ONLY: [&str; 4] = ["b64", "crit", "enc", "zip"];

/// A document of signatures, to be checked with standard keys, or with keys of either kind: payload and headers as they came, of which
/// nothing is proven before a `verify` has said so.
///
/// It is no JSON Web Token: those are compact (RFC 7519 §1).
///
/// ```
/// use sealstone_jose::{Algorithm, JwkSet, PrivateKey, jws};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let (old, new) = (PrivateKey::generate(Algorithm::Es256)?, PrivateKey::generate(Algorithm::MlDsa65)?);
/// let header = jws::Header::new();
/// let text = jws::General::sign(b"of both worlds", &[(&old, &header), (&new, &header)])?;
///
/// let document = jws::General::parse(&text)?;
/// assert_eq!(document.verify_any(&JwkSet::new([new.public().clone()])?)?.0, b"of both worlds");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct General<K: VerifyingKey = PublicKey> {
    payload: Option<Vec<u8>>,
    signatures: Vec<Signature<K>>,
}

#[derive(Debug)]
struct Signature<K: VerifyingKey> {
    header: ReceivedHeader<K::Algorithm>,
    protected: String,
    signature: Vec<u8>,
}

impl General {
    /// Signs `payload` with each key, in the general form (§7.2.1).
    ///
    /// # Errors
    /// [`Error::HeaderMalformed`] for a key id that a reader would refuse; [`Error::HeaderRefused`] if only some headers are
    /// [`unencoded`](Header::unencoded) (RFC 7797 §3); [`Error::BadJson`] for an unencoded payload that is not UTF-8;
    /// [`Error::TooLarge`]; [`Error::Provider`].
    pub fn sign<S: SigningKey>(payload: &[u8], signers: &[(&S, &Header)]) -> Result<String, Error> {
        check_size("signatures", MAX_SIGNATURES, signers.len())?;
        let encoded = signers.iter().all(|(_, header)| !header.unencoded);
        if !encoded && signers.iter().any(|(_, header)| !header.unencoded) {
            return Err(mixed());
        }
        let signatures: Vec<Value> = signers
            .iter()
            .map(|(key, header)| Ok(Value::Object(signature(*key, header, payload)?)))
            .collect::<Result<_, Error>>()?;
        let payload = written(payload, encoded)?;
        document(
            [("payload", payload), ("signatures", Value::Array(signatures))].map(named).into_iter().collect(),
        )
    }

    /// Signs `payload` with one key, in the flattened form (§7.2.2).
    ///
    /// ```
    /// use sealstone_jose::{Algorithm, PrivateKey, jws};
    ///
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// let key = PrivateKey::generate(Algorithm::MlDsa44)?;
    /// let text = jws::General::flattened(&key, &jws::Header::new().typ("reading+jws"), b"21.5 C")?;
    /// assert!(text.contains(r#""payload":"MjEuNSBD""#));
    ///
    /// let document = jws::General::parse(&text)?;
    /// assert!(document.has_payload());
    /// assert!(document.headers().all(|header| header.typ() == Some("reading+jws")));
    /// assert_eq!(document.verify(key.public())?.0, b"21.5 C");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`sign`](Self::sign).
    pub fn flattened<S: SigningKey>(key: &S, header: &Header, payload: &[u8]) -> Result<String, Error> {
        let mut members = signature(key, header, payload)?;
        members.insert("payload".into(), written(payload, !header.unencoded)?);
        document(members)
    }

    /// Takes a document of either form apart. Of extensions `b64` is understood (RFC 7797).
    ///
    /// # Errors
    /// The first thing that is wrong with it, in whichever signature: what cannot be read is not skipped.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::take_apart(text)
    }
}

#[cfg(feature = "composite")]
impl General<any::PublicKey> {
    /// The same for a document that may have composite signatures, by a draft ([`composite`](crate::composite)), beside standard ones.
    ///
    /// # Errors
    /// Those of [`parse`](General::parse).
    pub fn parse_any(text: &str) -> Result<Self, Error> {
        Self::take_apart(text)
    }
}

impl<K: VerifyingKey> General<K> {
    fn take_apart(text: &str) -> Result<Self, Error> {
        check_size("document", MAX_DOCUMENT, text.len())?;
        let members = json::object_of("document", text.as_bytes(), MAX_VALUES)?;
        // RFC 7516 §9: what tells a JWE in JSON from a JWS.
        if members.contains_key("ciphertext") {
            let reason = "this is an encrypted document (RFC 7516 §7.2), which no signature covers";
            return Err(Error::HeaderRefused { member: "ciphertext", reason });
        }
        let entries: Vec<&Map<String, Value>> = match members.get("signatures") {
            None => vec![&members],
            Some(Value::Array(entries)) => {
                // RFC 7515 §7.2.2: a document is of one form.
                if let Some(member) =
                    ["signature", "protected", "header"].into_iter().find(|name| members.contains_key(*name))
                {
                    let reason = "it stands beside `signatures`, where each has its own";
                    return Err(Error::HeaderRefused { member, reason });
                }
                let object = |entry: &'_ Value| match entry {
                    Value::Object(_) => Ok(()),
                    other => Err(malformed("signatures", "objects", json::kind(other))),
                };
                entries.iter().try_for_each(object)?;
                entries.iter().filter_map(Value::as_object).collect()
            }
            Some(other) => return Err(malformed("signatures", "an array", json::kind(other))),
        };
        check_size("signatures", MAX_SIGNATURES, entries.len())?;
        if entries.is_empty() {
            return Err(malformed("signatures", "at least one", "none"));
        }
        let signatures = entries.into_iter().map(Signature::read).collect::<Result<Vec<_>, _>>()?;
        let encoded = signatures.first().is_none_or(|first| first.header.encoded);
        if signatures.iter().any(|other| other.header.encoded != encoded) {
            return Err(mixed());
        }
        let payload = match (members.get("payload"), encoded) {
            (None, _) => None,
            (Some(Value::String(text)), true) => Some(b64::decode("payload", text)?),
            (Some(Value::String(text)), false) => Some(text.as_bytes().to_vec()),
            (Some(other), _) => return Err(malformed("payload", "a string", json::kind(other))),
        };
        Ok(Self { payload, signatures })
    }

    /// Whether the payload is in the document, and did not come another way.
    pub fn has_payload(&self) -> bool {
        self.payload.is_some()
    }

    /// With a payload that came another way. Errors: `NotDetached` if there is one in the document.
    ///
    /// ```
    /// use sealstone_jose::{Algorithm, Error, PrivateKey, jws};
    ///
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// let key = PrivateKey::generate(Algorithm::MlDsa44)?;
    /// let text = jws::General::flattened(&key, &jws::Header::new(), b"21.5 C")?;
    /// let detached = text.replace(r#""payload":"MjEuNSBD","#, "");
    ///
    /// let document = jws::General::parse(&detached)?;
    /// assert!(!document.has_payload());
    /// assert_eq!(document.verify(key.public()).err(), Some(Error::NoPayload));
    /// assert_eq!(document.with_payload(b"21.5 C")?.verify(key.public())?.0, b"21.5 C");
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_payload(self, payload: &[u8]) -> Result<Self, Error> {
        match self.payload {
            Some(_) => Err(Error::NotDetached),
            None => Ok(Self { payload: Some(payload.to_vec()), ..self }),
        }
    }

    /// The headers in the order of the signatures, of which nothing is proven.
    pub fn headers(&self) -> impl ExactSizeIterator<Item = &ReceivedHeader<K::Algorithm>> {
        self.signatures.iter().map(|signature| &signature.header)
    }

    /// The payload, if every signature is one of a key of `keys`.
    ///
    /// ```
    /// use sealstone_jose::{Algorithm, JwkSet, PrivateKey, jws};
    ///
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// let (old, new) = (PrivateKey::generate(Algorithm::Es256)?, PrivateKey::generate(Algorithm::MlDsa65)?);
    /// let header = jws::Header::new();
    /// let text = jws::General::sign(b"of both worlds", &[(&old, &header), (&new, &header)])?;
    ///
    /// let document = jws::General::parse(&text)?;
    /// let both = JwkSet::new([old.public().clone(), new.public().clone()])?;
    /// assert_eq!(document.verify_all(&both)?, b"of both worlds");
    /// let one = JwkSet::new([new.public().clone()])?;
    /// assert!(document.verify_all(&one).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoPayload`]; the first that a signature is refused for: [`Error::UnknownKid`], [`Error::AmbiguousKey`],
    /// [`Error::AlgorithmMismatch`], [`Error::BadSignature`].
    pub fn verify_all(&self, keys: &K::Set) -> Result<&[u8], Error> {
        let payload = self.payload()?;
        for signature in &self.signatures {
            signature.verify(K::of_set(&signature.header, keys)?, payload)?;
        }
        Ok(payload)
    }

    /// The payload, and the header of the first signature that is one of a key of `keys`.
    ///
    /// # Errors
    /// [`Error::NoPayload`], [`Error::NoneVerifies`].
    pub fn verify_any(&self, keys: &K::Set) -> Result<(&[u8], &ReceivedHeader<K::Algorithm>), Error> {
        self.first(|header| K::of_set(header, keys))
    }

    /// The payload, and the header of the first signature that `key` made, whatever key the headers name.
    ///
    /// # Errors
    /// [`Error::NoPayload`], [`Error::NoneVerifies`].
    pub fn verify(&self, key: &K) -> Result<(&[u8], &ReceivedHeader<K::Algorithm>), Error> {
        self.first(|_| Ok(key))
    }

    fn first<'k>(
        &self,
        key: impl Fn(&ReceivedHeader<K::Algorithm>) -> Result<&'k K, Error>,
    ) -> Result<(&[u8], &ReceivedHeader<K::Algorithm>), Error>
    where
        K: 'k,
    {
        let payload = self.payload()?;
        let mut refused = Vec::new();
        for signature in &self.signatures {
            match key(&signature.header).and_then(|key| signature.verify(key, payload)) {
                Ok(()) => return Ok((payload, &signature.header)),
                Err(why) => refused.push(why),
            }
        }
        Err(Error::NoneVerifies { refused })
    }

    fn payload(&self) -> Result<&[u8], Error> {
        self.payload.as_deref().ok_or(Error::NoPayload)
    }
}

impl<K: VerifyingKey> Signature<K> {
    fn read(members: &Map<String, Value>) -> Result<Self, Error> {
        let text = |member: &'static str| match members.get(member) {
            Some(Value::String(text)) => Ok(text.as_str()),
            other => Err(malformed(member, "a string", other.map_or("nothing", json::kind))),
        };
        let protected = text("protected")?;
        check_not_empty("header", protected)?;
        check_size("header", MAX_HEADER, protected.len())?;
        let mut header: ReceivedHeader<K::Algorithm> = read_header(protected, Extensions::B64)?;
        match members.get("header") {
            None => {}
            Some(Value::Object(unprotected)) => {
                check_unprotected(&header, unprotected)?;
                header.unprotected = unprotected.clone();
            }
            Some(other) => return Err(malformed("header", "an object", json::kind(other))),
        }
        let signature = read_proof(header.algorithm, text("signature")?)?;
        Ok(Self { header, protected: protected.to_owned(), signature })
    }

    fn verify(&self, key: &K, payload: &[u8]) -> Result<(), Error> {
        key.accept(self.header.algorithm)?;
        key.verify_whole(&signing_input(&self.protected, self.header.encoded, payload), &self.signature)
    }
}

/// RFC 7515 §7.2.1: no name in both headers; and here, nothing that decides how the signature is checked.
fn check_unprotected<A>(header: &ReceivedHeader<A>, unprotected: &Map<String, Value>) -> Result<(), Error> {
    if let Some(member) = PROTECTED_ONLY.into_iter().find(|name| unprotected.contains_key(*name)) {
        return Err(Error::HeaderRefused { member, reason: "it must be in the protected header" });
    }
    if unprotected.keys().any(|name| header.members.contains_key(name)) {
        let reason = "one name stands in it and in the protected header (RFC 7515 §7.2.1)";
        return Err(Error::HeaderRefused { member: "header", reason });
    }
    check_texts(unprotected, &["kid", "typ", "cty"])?;
    unprotected.get("kid").and_then(Value::as_str).map_or(Ok(()), check_kid)
}

/// `protected` and `signature`.
fn signature(key: &impl SigningKey, header: &Header, payload: &[u8]) -> Result<Map<String, Value>, Error> {
    let protected = header.protected(key)?;
    let signature = key.sign_whole(&signing_input(&protected, !header.unencoded, payload))?;
    Ok([("protected", protected.into()), ("signature", b64::encode(&signature).into())]
        .map(named)
        .into_iter()
        .collect())
}

/// The payload as it stands in the document. Errors: `BadJson` if it is no text and is to stand there as it is.
fn written(payload: &[u8], encoded: bool) -> Result<Value, Error> {
    if encoded {
        return Ok(b64::encode(payload).into());
    }
    let text = core::str::from_utf8(payload).map_err(|error| Error::BadJson {
        place: "payload",
        line: 1,
        column: error.valid_up_to() + 1,
        problem: "not UTF-8, as it must be to stand in JSON unencoded".into(),
    })?;
    Ok(text.into())
}

fn document(members: Map<String, Value>) -> Result<String, Error> {
    let text = Value::Object(members).to_string();
    check_size("document", MAX_DOCUMENT, text.len())?;
    Ok(text)
}

fn named((name, value): (&str, Value)) -> (String, Value) {
    (name.to_owned(), value)
}

fn mixed() -> Error {
    Error::HeaderRefused { member: "b64", reason: "it must be the same in all signatures (RFC 7797 §3)" }
}
