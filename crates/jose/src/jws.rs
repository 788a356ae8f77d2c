//! Compact JSON Web Signatures (RFC 7515 §7.1).
//!
//! A token is read with one key in hand, and that key decides the algorithm. The header can only agree or be refused.
//! What a header says about where keys are (`jku`, `x5u`) or what they are (`jwk`, `x5c`) is never followed and never
//! trusted; [`ReceivedHeader::get`] shows it to a caller who knows a protocol (such as DPoP) that gives it a meaning.

use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::alg::Algorithm;
use crate::b64;
use crate::error::{Error, check_size, shown};
use crate::json;
use crate::jwk::{JwkSet, kid_is_sane};
use crate::key::{PrivateKey, PublicKey};
use crate::rsa;

/// Most bytes of a token that are read or written.
pub const MAX_TOKEN: usize = 65_536;
/// Most characters of a token's first part.
pub const MAX_HEADER: usize = 8_192;

/// Header members that would change what a token means, each with the reason why it is refused.
const REFUSED: [(&str, &str); 4] = [
    ("crit", "no extension is understood, so none can be critical (RFC 7515 §4.1.11)"),
    ("b64", "the payload is always base64url here (RFC 7797)"),
    ("zip", "compression belongs to encrypted tokens (RFC 7516 §4.1.3)"),
    ("enc", "this is the header of an encrypted token (RFC 7516 §4.1.2)"),
];

/// What to write into the protected header beside `alg`.
///
/// By default: no `typ`, no `cty`, and the key id of the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    typ: Option<String>,
    cty: Option<String>,
    without_kid: bool,
}

impl Header {
    /// Only `alg` and `kid`.
    pub fn new() -> Self {
        Self::default()
    }

    /// With this `typ`, such as `JWT` or `at+jwt`.
    #[must_use]
    pub fn typ(self, typ: &str) -> Self {
        Self { typ: Some(typ.to_owned()), ..self }
    }

    /// With this `cty`, the media type of the payload.
    #[must_use]
    pub fn cty(self, cty: &str) -> Self {
        Self { cty: Some(cty.to_owned()), ..self }
    }

    /// Without a key id: the reader knows which key it is.
    #[must_use]
    pub fn without_kid(self) -> Self {
        Self { without_kid: true, ..self }
    }
}

/// Signs `payload` into a compact token. Header members are written in the order `alg`, `typ`, `cty`, `kid`.
///
/// # Errors
/// [`Error::TooLarge`] and [`Error::NotCompact`] for a token that [`Unverified::parse`] would refuse for its size or
/// its empty payload, [`Error::HeaderMalformed`] for a key id it would refuse, [`Error::Provider`].
pub fn encode(key: &PrivateKey, header: &Header, payload: &[u8]) -> Result<String, Error> {
    Unsigned::new(key, header, payload)?.sign()
}

/// A token that lacks nothing but its signature, and the key to make it with.
pub struct Unsigned {
    key: PrivateKey,
    /// With room for the signature.
    token: String,
}

impl Unsigned {
    /// Header and payload, as [`encode`] writes them.
    ///
    /// # Errors
    /// Those of [`encode`] but [`Error::Provider`].
    pub fn new(key: &PrivateKey, header: &Header, payload: &[u8]) -> Result<Self, Error> {
        let name = key.algorithm().name();
        let token = signing_input(name, key.public().signature_len(), Some(key.kid()), header, payload)?;
        Ok(Self { key: key.clone(), token })
    }

    /// What it will be signed with.
    pub fn algorithm(&self) -> Algorithm {
        self.key.algorithm()
    }

    /// Signs it.
    ///
    /// # Errors
    /// [`Error::Provider`] if there is no randomness.
    pub fn sign(self) -> Result<String, Error> {
        let signature = self.key.sign(self.token.as_bytes())?;
        Ok(sealed(self.token, &signature))
    }

    /// Signs them all: ML-DSA tokens of one level side by side, which takes less time for each than alone. Each gets what
    /// it would get alone, in the place where it was.
    pub fn sign_all(tokens: Vec<Self>) -> Vec<Result<String, Error>> {
        let jobs: Vec<_> = tokens.iter().map(|token| (&token.key, token.token.as_bytes())).collect();
        let signatures = PrivateKey::sign_all(&jobs);
        let seal = |(token, signature): (Self, Result<Vec<u8>, Error>)| Ok(sealed(token.token, &signature?));
        tokens.into_iter().zip(signatures).map(seal).collect()
    }
}

impl fmt::Debug for Unsigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unsigned").field("key", &self.key).finish_non_exhaustive()
    }
}

/// Header and payload of a token whose proof will have so many bytes, RFC 7515 §5.1. There is room for it behind them.
pub(crate) fn signing_input(
    algorithm: &str,
    proof_len: usize,
    kid: Option<&str>,
    header: &Header,
    payload: &[u8],
) -> Result<String, Error> {
    if payload.is_empty() {
        return Err(Error::NotCompact { parts: 3, empty: Some("payload") });
    }
    let quoted = |text: &str| Value::String(text.to_owned()).to_string();
    let mut json = format!("{{\"alg\":{}", quoted(algorithm));
    for (name, value) in [("typ", &header.typ), ("cty", &header.cty)] {
        if let Some(value) = value {
            json.push_str(&format!(",\"{name}\":{}", quoted(value)));
        }
    }
    if let Some(kid) = kid.filter(|_| !header.without_kid) {
        check_kid(kid)?;
        json.push_str(&format!(",\"kid\":{}", quoted(kid)));
    }
    json.push('}');

    let header_len = b64::encoded_len(json.len());
    check_size("header", MAX_HEADER, header_len)?;
    let proof_len = b64::encoded_len(proof_len);
    let token_len = header_len + b64::encoded_len(payload.len()) + proof_len + 2;
    check_size("token", MAX_TOKEN, token_len)?;

    let mut token = String::with_capacity(token_len);
    b64::encode_into(json.as_bytes(), &mut token);
    token.push('.');
    b64::encode_into(payload, &mut token);
    Ok(token)
}

/// With its proof.
pub(crate) fn sealed(mut token: String, proof: &[u8]) -> String {
    token.push('.');
    b64::encode_into(proof, &mut token);
    token
}

/// A token that has been taken apart, and of which nothing is known.
///
/// Its size, its three parts, their encoding, its header and the length of its signature have been checked; its
/// signature has not. A token with a MAC is another type: see [`mac`](crate::mac).
pub struct Unverified<'t, A = Algorithm> {
    pub(crate) signing_input: Cow<'t, str>,
    pub(crate) header: ReceivedHeader<A>,
    payload: Vec<u8>,
    pub(crate) signature: Vec<u8>,
}

impl<'t> Unverified<'t> {
    /// Takes a token apart. The order of the checks, cheapest first: size, parts, header, signature length, encoding.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn parse(token: &'t str) -> Result<Self, Error> {
        take_apart(token)
    }

    /// Checks the signature with `key` and the algorithm of `key`.
    ///
    /// # Errors
    /// [`Error::AlgorithmMismatch`] if the header names another algorithm, [`Error::BadSignature`].
    pub fn verify(self, key: &PublicKey) -> Result<Verified, Error> {
        if !key.algorithm().accepts(self.header.algorithm) {
            return Err(Error::AlgorithmMismatch { key: key.algorithm(), token: self.header.algorithm });
        }
        key.verify(self.signing_input.as_bytes(), &self.signature)?;
        Ok(self.proven())
    }

    /// Checks the signature with the key of `keys` that the token's `kid` names, or, if it names none, with the only
    /// one of its algorithm.
    ///
    /// # Errors
    /// [`Error::UnknownKid`], [`Error::AmbiguousKey`], and those of [`verify`](Self::verify).
    pub fn verify_with_set(self, keys: &JwkSet) -> Result<Verified, Error> {
        let key = self.key_in(keys)?.clone();
        self.verify(&key)
    }

    /// The key with which [`verify_with_set`](Self::verify_with_set) would check: for a caller who wants to know
    /// whether there is one before the work of checking.
    ///
    /// # Errors
    /// [`Error::UnknownKid`], [`Error::AmbiguousKey`].
    pub fn key_in<'k>(&self, keys: &'k JwkSet) -> Result<&'k PublicKey, Error> {
        match self.header.kid() {
            Some(kid) => keys.by_kid(kid).ok_or_else(|| Error::UnknownKid { kid: shown(kid) }),
            None => {
                let fits = |key: &&PublicKey| key.algorithm().accepts(self.header.algorithm);
                let mut candidates = keys.keys().iter().filter(fits);
                match (candidates.next(), candidates.count()) {
                    (Some(key), 0) => Ok(key),
                    (first, more) => {
                        Err(Error::AmbiguousKey { candidates: usize::from(first.is_some()) + more })
                    }
                }
            }
        }
    }
}

impl<A> Unverified<'_, A> {
    /// The header, of which nothing is proven: good for choosing the key by `kid`.
    pub fn header(&self) -> &ReceivedHeader<A> {
        &self.header
    }

    /// The payload, of which nothing is proven: good for showing it to a person, never for a decision.
    pub fn peek_payload_untrusted(&self) -> &[u8] {
        &self.payload
    }

    /// The same without the text that it was read from: to be checked on another thread.
    pub fn into_owned(self) -> Unverified<'static, A> {
        let Self { signing_input, header, payload, signature } = self;
        Unverified { signing_input: Cow::Owned(signing_input.into_owned()), header, payload, signature }
    }

    /// What it says is proven.
    pub(crate) fn proven(self) -> Verified<A> {
        Verified { header: self.header, payload: self.payload }
    }
}

/// The door of both readers.
pub(crate) fn take_apart<A: Named>(token: &str) -> Result<Unverified<'_, A>, Error> {
    check_size("token", MAX_TOKEN, token.len())?;
    if token.trim_start().starts_with('{') {
        return Err(Error::JsonSerialization);
    }
    let [header, payload, signature] = split(token)?;
    check_not_empty("header", header)?;
    check_size("header", MAX_HEADER, header.len())?;
    let header = read_header::<A>(header)?;
    check_not_empty("payload", payload)?;
    check_not_empty("signature", signature)?;
    // RFC 7518 §3.2, §3.4, RFC 8032 §5.1.6, FIPS 204 Table 2: each algorithm has one length. RSA keys have one each.
    let (least, most) = header.algorithm.proof_len().into_inner();
    if !(b64::encoded_len(least)..=b64::encoded_len(most)).contains(&signature.len()) {
        return Err(header.algorithm.wrong_len(least, signature.len() * 3 / 4));
    }
    let signing_input = Cow::Borrowed(&token[..token.len() - signature.len() - 1]);
    let signature = b64::decode("signature", signature)?;
    let payload = b64::decode("payload", payload)?;
    Ok(Unverified { signing_input, header, payload, signature })
}

/// The header, and sizes only of what is not verified.
impl<A: fmt::Debug> fmt::Debug for Unverified<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unverified")
            .field("header", &self.header)
            .field("payload_len", &self.payload.len())
            .finish_non_exhaustive()
    }
}

/// A token whose signature has been checked. That it is meant for us, and now, has not: see
/// [`Rules::check`](crate::jwt::Rules::check).
#[derive(Debug)]
pub struct Verified<A = Algorithm> {
    header: ReceivedHeader<A>,
    payload: Vec<u8>,
}

impl<A> Verified<A> {
    /// The protected header.
    pub fn header(&self) -> &ReceivedHeader<A> {
        &self.header
    }

    /// What was signed.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    pub(crate) fn into_parts(self) -> (ReceivedHeader<A>, Vec<u8>) {
        (self.header, self.payload)
    }
}

/// A header as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedHeader<A = Algorithm> {
    algorithm: A,
    members: Map<String, Value>,
}

impl<A: Copy> ReceivedHeader<A> {
    /// What `alg` says. The key decides whether it is believed.
    pub fn algorithm(&self) -> A {
        self.algorithm
    }
}

impl<A> ReceivedHeader<A> {
    /// `kid`.
    pub fn kid(&self) -> Option<&str> {
        self.text("kid")
    }

    /// `typ`.
    pub fn typ(&self) -> Option<&str> {
        self.text("typ")
    }

    /// `cty`.
    pub fn cty(&self) -> Option<&str> {
        self.text("cty")
    }

    /// Any member.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.members.get(name)
    }

    /// All members, by name.
    pub fn members(&self) -> &Map<String, Value> {
        &self.members
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name).and_then(Value::as_str)
    }
}

fn read_header<A: Named>(part: &str) -> Result<ReceivedHeader<A>, Error> {
    let members = json::object("header", &b64::decode("header", part)?)?;
    for (member, reason) in REFUSED {
        if members.contains_key(member) {
            return Err(Error::HeaderRefused { member, reason });
        }
    }
    for member in ["alg", "kid", "typ", "cty"] {
        let found = members.get(member).map_or("nothing", json::kind);
        if found != "a string" && !(found == "nothing" && member != "alg") {
            let found = found.to_owned();
            return Err(Error::HeaderMalformed { member, expected: "a string", found });
        }
    }
    let text = |member: &str| members.get(member).and_then(Value::as_str);
    if let Some(kid) = text("kid") {
        check_kid(kid)?;
    }
    let algorithm = text("alg").unwrap_or_default().parse()?;
    Ok(ReceivedHeader { algorithm, members })
}

/// What `alg` may name: one family of algorithms, and no name of another.
pub(crate) trait Named: Copy + FromStr<Err = Error> {
    /// Bytes of a signature or MAC.
    fn proof_len(self) -> RangeInclusive<usize>;

    /// What to say of another length.
    fn wrong_len(self, expected: usize, found: usize) -> Error;
}

impl Named for Algorithm {
    fn proof_len(self) -> RangeInclusive<usize> {
        let bytes = |bits| bits / 8;
        let rsa = bytes(*rsa::MODULUS_BITS.start())..=bytes(*rsa::MODULUS_BITS.end());
        self.signature_len().map_or(rsa, |len| len..=len)
    }

    fn wrong_len(self, expected: usize, found: usize) -> Error {
        Error::SignatureLength { algorithm: self, expected, found }
    }
}

/// Three parts; of a text with thousands of dots only the first are looked at.
fn split(token: &str) -> Result<[&str; 3], Error> {
    let parts: Vec<&str> = token.splitn(6, '.').collect();
    match parts[..] {
        [header, payload, signature] => Ok([header, payload, signature]),
        [_, _, _, _, _] => Err(Error::Jwe),
        _ => Err(Error::NotCompact { parts: parts.len(), empty: None }),
    }
}

fn check_not_empty(name: &'static str, part: &str) -> Result<(), Error> {
    if part.is_empty() { Err(Error::NotCompact { parts: 3, empty: Some(name) }) } else { Ok(()) }
}

fn check_kid(kid: &str) -> Result<(), Error> {
    if kid_is_sane(kid) {
        return Ok(());
    }
    let expected = "1 to 512 bytes, no control character among them";
    Err(Error::HeaderMalformed { member: "kid", expected, found: shown(kid) })
}
