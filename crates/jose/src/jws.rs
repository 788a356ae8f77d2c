//! JSON Web Signatures: compact ones (RFC 7515 §7.1), those in JSON (§7.2, [`General`]), and those whose payload goes another way
//! (Appendix F, [`Detached`]).
//!
//! A token is read with one key in hand, and that key decides the algorithm. The header can only agree or be refused.
//! What a header says about where keys are (`jku`, `x5u`) or what they are (`jwk`, `x5c`) is never followed and never
//! trusted; [`ReceivedHeader::get`] shows it to a caller who knows a protocol (such as DPoP) that gives it a meaning.

mod detached;
mod general;
pub(crate) mod keys;

use core::fmt;
use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::alg::Algorithm;
use crate::b64;
use crate::error::{Error, check_size, shown};
use crate::json;
use crate::jwk::{JwkSet, kid_is_sane};
use crate::key::{PrivateKey, PublicKey};

pub use detached::{Detached, Signer, Verifier, encode_detached};
pub use general::General;
pub(crate) use keys::Named;
pub use keys::{SigningKey, VerifyingKey};

/// Most bytes of a token that are read or written.
pub const MAX_TOKEN: usize = 65_536;
/// Most characters of a token's first part.
pub const MAX_HEADER: usize = 8_192;

/// Most values in a header, at all depths: a chain of certificates fits.
const MAX_HEADER_VALUES: usize = 256;

/// Header members that would change what a compact token means, each with the reason why it is refused.
const REFUSED: [(&str, &str); 4] = [
    ("crit", "no extension is understood in a compact token, so none can be critical (RFC 7515 §4.1.11)"),
    ("b64", "the payload of a compact token is base64url (RFC 7797 §5.2, §7)"),
    ("zip", "compression belongs to encrypted tokens (RFC 7516 §4.1.3)"),
    ("enc", "this is the header of an encrypted token (RFC 7516 §4.1.2)"),
];

/// What to write into the protected header beside `alg`.
///
/// By default: no `typ`, no `cty`, and the key id of the key.
///
/// ```
/// use sealstone_jose::{Algorithm, PrivateKey, jws};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let key = PrivateKey::generate(Algorithm::Es256)?;
/// let header = jws::Header::new().typ("reading+jws").cty("text/plain").without_kid();
/// let token = jws::encode(&key, &header, b"21.5 C")?;
///
/// let verified = jws::Unverified::parse(&token)?.verify(key.public())?;
/// assert_eq!(verified.payload(), b"21.5 C");
/// let header = verified.header();
/// assert_eq!((header.typ(), header.cty(), header.kid()), (Some("reading+jws"), Some("text/plain"), None));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    typ: Option<String>,
    cty: Option<String>,
    without_kid: bool,
    unencoded: bool,
    more: Vec<(&'static str, String)>,
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

    /// With a member that this crate gives a meaning.
    #[cfg(feature = "legacy")]
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.more.push((name, value.to_owned()));
        self
    }

    /// With `"b64":false`, RFC 7797: the payload is signed as it is, and not as base64url. Readers must know that extension. For
    /// [`Detached`] and [`General`]; a compact token with its payload in it is refused with it.
    #[must_use]
    pub fn unencoded(self) -> Self {
        Self { unencoded: true, ..self }
    }
}

/// Signs `payload` into a compact token. Header members are written in the order `alg`, `typ`, `cty`, `kid`, `b64`, `crit`.
///
/// # Errors
/// [`Error::TooLarge`] and [`Error::NotCompact`] for a token that [`Unverified::parse`] would refuse for its size or
/// its empty payload, [`Error::HeaderMalformed`] for a key id it would refuse, [`Error::Provider`].
pub fn encode(key: &PrivateKey, header: &Header, payload: &[u8]) -> Result<String, Error> {
    Unsigned::new(key, header, payload)?.sign()
}

/// A token that lacks nothing but its signature, and the key to make it with.
///
/// ```
/// use sealstone_jose::{Algorithm, PrivateKey, jws};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let key = PrivateKey::generate(Algorithm::MlDsa44)?;
/// let unsigned = |payload: &[u8]| jws::Unsigned::new(&key, &jws::Header::new(), payload);
/// let one = unsigned(b"one")?;
/// assert_eq!(one.algorithm(), Algorithm::MlDsa44);
/// jws::Unverified::parse(&one.sign()?)?.verify(key.public())?;
///
/// // Many at once take less time for each.
/// let tokens = jws::Unsigned::sign_all(vec![unsigned(b"two")?, unsigned(b"three")?]);
/// for token in tokens {
///     jws::Unverified::parse(&token?)?.verify(key.public())?;
/// }
/// # Ok(())
/// # }
/// ```
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
    if header.unencoded {
        let [_, (member, reason), ..] = REFUSED;
        return Err(Error::HeaderRefused { member, reason });
    }
    let json = header.json(algorithm, kid)?;
    let header_len = b64::encoded_len(json.len());
    let proof_len = b64::encoded_len(proof_len);
    let token_len = header_len + b64::encoded_len(payload.len()) + proof_len + 2;
    check_size("token", MAX_TOKEN, token_len)?;

    let mut token = String::with_capacity(token_len);
    b64::encode_into(json.as_bytes(), &mut token);
    token.push('.');
    b64::encode_into(payload, &mut token);
    Ok(token)
}

impl Header {
    /// The protected header's text.
    ///
    /// # Errors
    /// [`Error::HeaderMalformed`] for a key id that a reader would refuse, [`Error::TooLarge`].
    fn json(&self, algorithm: &str, kid: Option<&str>) -> Result<String, Error> {
        let mut json = String::with_capacity(160);
        json.push_str("{\"alg\":");
        json::quote(algorithm, &mut json);
        let mut member = |name: &str, value: &str| {
            json.push_str(",\"");
            json.push_str(name);
            json.push_str("\":");
            json::quote(value, &mut json);
        };
        if let Some(typ) = &self.typ {
            member("typ", typ);
        }
        if let Some(cty) = &self.cty {
            member("cty", cty);
        }
        if let Some(kid) = kid.filter(|_| !self.without_kid) {
            check_kid(kid)?;
            member("kid", kid);
        }
        for (name, value) in &self.more {
            member(name, value);
        }
        if self.unencoded {
            json.push_str(",\"b64\":false,\"crit\":[\"b64\"]");
        }
        json.push('}');
        check_size("header", MAX_HEADER, b64::encoded_len(json.len()))?;
        Ok(json)
    }

    /// The same as it stands in a signature: base64url.
    fn protected(&self, key: &impl SigningKey) -> Result<String, Error> {
        Ok(b64::encode(self.json(key.alg(), Some(key.key_id()))?.as_bytes()))
    }
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
///
/// ```
/// use sealstone_jose::{Algorithm, JwkSet, PrivateKey, jws};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let keys = [PrivateKey::generate(Algorithm::MlDsa44)?, PrivateKey::generate(Algorithm::MlDsa44)?];
/// let set = JwkSet::new(keys.iter().map(|key| key.public().clone()))?;
/// let token = jws::encode(&keys[1], &jws::Header::new(), b"21.5 C")?;
///
/// let unverified = jws::Unverified::parse(&token)?;
/// assert_eq!(unverified.peek_payload_untrusted(), b"21.5 C"); // to show it, not to use it
/// assert_eq!(unverified.header().kid(), Some(keys[1].kid()));
///
/// // Is there a key for it? Only then is it worth the work, which another thread may do.
/// assert_eq!(unverified.key_in(&set)?, keys[1].public());
/// let unverified = unverified.into_owned();
/// drop(token);
/// let verified = std::thread::spawn(move || unverified.verify_with_set(&set)).join().expect("no panic")?;
/// assert_eq!(verified.payload(), b"21.5 C");
/// # Ok(())
/// # }
/// ```
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
        key.accept(self.header.algorithm)?;
        key.verify(self.signing_input.as_bytes(), &self.signature)?;
        Ok(self.proven())
    }

    /// Checks the signature with the key of `keys` that the token's `kid` names, or, if it names none, with the only
    /// one of its algorithm.
    ///
    /// # Errors
    /// [`Error::UnknownKid`], [`Error::AmbiguousKey`], and those of [`verify`](Self::verify).
    pub fn verify_with_set(self, keys: &JwkSet) -> Result<Verified, Error> {
        let key = self.key_in(keys)?;
        self.verify(key)
    }

    /// Checks each with its key, as [`verify`](Self::verify) does: ML-DSA signatures of one level side by side, which takes less
    /// time for each than alone. Each gets what it would get alone, in the place where it was.
    ///
    /// ```
    /// use sealstone_jose::jws::{self, Header, Unverified};
    /// use sealstone_jose::{Algorithm, PrivateKey};
    ///
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// let key = PrivateKey::generate(Algorithm::MlDsa44)?;
    /// let token = jws::encode(&key, &Header::new(), b"x")?;
    /// let tokens = vec![(Unverified::parse(&token)?, key.public()), (Unverified::parse(&token)?, key.public())];
    /// assert!(Unverified::verify_all(tokens).iter().all(Result::is_ok));
    /// # Ok(())
    /// # }
    /// ```
    pub fn verify_all(tokens: Vec<(Self, &PublicKey)>) -> Vec<Result<Verified, Error>> {
        let checked: Vec<Result<(), Error>> =
            tokens.iter().map(|(token, key)| key.accept(token.header.algorithm)).collect();
        let fits = tokens.iter().zip(&checked).filter(|(_, checked)| checked.is_ok());
        let jobs: Vec<_> = fits
            .map(|((token, key), _)| (*key, token.signing_input.as_bytes(), token.signature.as_slice()))
            .collect();
        let mut verdicts = PublicKey::verify_all(&jobs).into_iter();
        let checked: Vec<Result<(), Error>> = checked
            .into_iter()
            .map(|checked| checked.and_then(|()| verdicts.next().unwrap_or(Err(Error::BadSignature))))
            .collect();
        tokens
            .into_iter()
            .zip(checked)
            .map(|((token, _), checked)| checked.map(|()| token.proven()))
            .collect()
    }

    /// The key with which [`verify_with_set`](Self::verify_with_set) would check: for a caller who wants to know
    /// whether there is one before the work of checking.
    ///
    /// # Errors
    /// [`Error::UnknownKid`], [`Error::AmbiguousKey`].
    pub fn key_in<'k>(&self, keys: &'k JwkSet) -> Result<&'k PublicKey, Error> {
        PublicKey::of_set(&self.header, keys)
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
    // Nobody writes more spaces in front of it.
    if token.bytes().take(64).find(|byte| !byte.is_ascii_whitespace()) == Some(b'{') {
        return Err(Error::JsonSerialization);
    }
    let [header, payload, signature] = split(token)?;
    check_not_empty("header", header)?;
    check_size("header", MAX_HEADER, header.len())?;
    let header = read_header::<A>(header, Extensions::None)?;
    check_not_empty("payload", payload)?;
    let proof_len = signature.len();
    let signature = read_proof(header.algorithm, signature)?;
    let signing_input = Cow::Borrowed(&token[..token.len() - proof_len - 1]);
    let payload = b64::decode("payload", payload)?;
    Ok(Unverified { signing_input, header, payload, signature })
}

/// A signature or MAC, of which nothing is looked at before its length is one that its algorithm has.
fn read_proof<A: Named>(algorithm: A, text: &str) -> Result<Vec<u8>, Error> {
    check_not_empty("signature", text)?;
    // RFC 7518 §3.2, §3.4, RFC 8032 §5.1.6, FIPS 204 Table 2: each algorithm has one length. RSA keys have one each.
    let (least, most) = algorithm.proof_len().into_inner();
    if !(b64::encoded_len(least)..=b64::encoded_len(most)).contains(&text.len()) {
        return Err(algorithm.wrong_len(least, text.len() * 3 / 4));
    }
    b64::decode("signature", text)
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
///
/// ```
/// use sealstone_jose::{Algorithm, PrivateKey, jws};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let key = PrivateKey::generate(Algorithm::Es256)?;
/// let token = jws::encode(&key, &jws::Header::new().typ("JWT"), b"{}")?;
/// let verified = jws::Unverified::parse(&token)?.verify(key.public())?;
///
/// let header = verified.header();
/// assert_eq!(header.algorithm(), Algorithm::Es256);
/// assert_eq!(header.get("typ").and_then(|typ| typ.as_str()), Some("JWT"));
/// assert!(header.members().keys().eq(["alg", "kid", "typ"]));
/// assert!(header.is_encoded()); // no `"b64":false`
/// assert!(header.unprotected().is_empty()); // only documents in JSON have one
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedHeader<A = Algorithm> {
    algorithm: A,
    members: Map<String, Value>,
    unprotected: Map<String, Value>,
    encoded: bool,
}

impl<A> ReceivedHeader<A> {
    /// The key of several that its `kid` names, which is `named`, or, if it names none, the only one that `fits` its algorithm.
    /// Errors: `UnknownKid`, `AmbiguousKey`.
    pub(crate) fn key_among<'k, K>(
        &self,
        named: Option<&'k K>,
        keys: &'k [K],
        fits: impl Fn(&K) -> bool,
    ) -> Result<&'k K, Error> {
        if let Some(kid) = self.kid() {
            return named.ok_or_else(|| Error::UnknownKid { kid: shown(kid) });
        }
        let mut candidates = keys.iter().filter(|key| fits(key));
        match (candidates.next(), candidates.count()) {
            (Some(key), 0) => Ok(key),
            (first, more) => Err(Error::AmbiguousKey { candidates: usize::from(first.is_some()) + more }),
        }
    }
}

impl<A: Copy> ReceivedHeader<A> {
    /// What `alg` says. The key decides whether it is believed.
    pub fn algorithm(&self) -> A {
        self.algorithm
    }
}

impl<A> ReceivedHeader<A> {
    /// `kid`; in a [`General`] the unprotected header may have it, too, and whoever changes it there only makes another key be tried.
    pub fn kid(&self) -> Option<&str> {
        self.text("kid").or_else(|| self.unprotected.get("kid").and_then(Value::as_str))
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

    /// The members of the unprotected header (RFC 7515 §7.2.1), which no signature covers. Compact tokens have none.
    pub fn unprotected(&self) -> &Map<String, Value> {
        &self.unprotected
    }

    /// Whether the payload was signed as base64url: all are, but those with `"b64":false` (RFC 7797).
    pub fn is_encoded(&self) -> bool {
        self.encoded
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name).and_then(Value::as_str)
    }
}

/// The extensions that a reader understands (RFC 7515 §4.1.11).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extensions {
    /// None.
    None,
    /// `b64`, RFC 7797.
    B64,
}

fn read_header<A: Named>(part: &str, extensions: Extensions) -> Result<ReceivedHeader<A>, Error> {
    let members = json::object_of("header", &b64::decode("header", part)?, MAX_HEADER_VALUES)?;
    for (member, reason) in REFUSED {
        let understood = extensions == Extensions::B64 && matches!(member, "crit" | "b64");
        if members.contains_key(member) && !understood {
            return Err(Error::HeaderRefused { member, reason });
        }
    }
    let encoded = read_b64(&members)?;
    check_texts(&members, &["alg", "kid", "typ", "cty"])?;
    let text = |member: &str| members.get(member).and_then(Value::as_str);
    let Some(algorithm) = text("alg") else {
        return Err(malformed("alg", "a string", "nothing"));
    };
    if let Some(kid) = text("kid") {
        check_kid(kid)?;
    }
    let algorithm = algorithm.parse()?;
    Ok(ReceivedHeader { algorithm, members, unprotected: Map::new(), encoded })
}

/// Whether the payload is base64url. `crit` lists `b64` and nothing else, and lists it if it is there: RFC 7515 §4.1.11, RFC 7797 §6.
fn read_b64(members: &Map<String, Value>) -> Result<bool, Error> {
    let refused = |member, reason| Err(Error::HeaderRefused { member, reason });
    match members.get("crit") {
        None if members.contains_key("b64") => {
            return refused("b64", "`crit` must list it, so that nobody overlooks it (RFC 7797 §6)");
        }
        None => return Ok(true),
        Some(Value::Array(names)) => match &names[..] {
            [name] if name == "b64" => {}
            [] => return refused("crit", "the list must not be empty (RFC 7515 §4.1.11)"),
            _ => return refused("crit", "of extensions `b64` alone is understood, once (RFC 7515 §4.1.11)"),
        },
        Some(other) => return Err(malformed("crit", "an array of names", json::kind(other))),
    }
    match members.get("b64") {
        Some(Value::Bool(encoded)) => Ok(*encoded),
        None => refused("crit", "what it lists is not in the header (RFC 7515 §4.1.11)"),
        Some(other) => Err(malformed("b64", "true or false", json::kind(other))),
    }
}

/// Those of the members that are there are strings.
fn check_texts(members: &Map<String, Value>, names: &[&'static str]) -> Result<(), Error> {
    for member in names {
        if let Some(other) = members.get(*member).filter(|value| !value.is_string()) {
            return Err(malformed(member, "a string", json::kind(other)));
        }
    }
    Ok(())
}

fn malformed(member: &'static str, expected: &'static str, found: &str) -> Error {
    Error::HeaderMalformed { member, expected, found: found.to_owned() }
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
