//! Keys and tokens of two halves, ML-DSA and a classical algorithm, as draft-ietf-jose-pq-composite-sigs-04 has them. Feature
//! `composite`.
//!
//! This is a draft, and its encoding has changed twice: whoever signs with it says so by using this module, and finds the revision in
//! [`REVISION`]. Its keys and tokens are types of their own, so that nobody who reads standard tokens takes one of these by mistake.
//!
//! ```
//! use sealstone_jose::composite::{Algorithm, PrivateKey, encode};
//! use sealstone_jose::jws::{Header, Unverified};
//!
//! # fn main() -> Result<(), sealstone_jose::Error> {
//! let key = PrivateKey::generate(Algorithm::MlDsa65Ed25519)?;
//! let token = encode(&key, &Header::new().typ("JWT"), b"{}")?;
//! let verified = Unverified::parse_composite(&token)?.verify_composite(key.public())?;
//! assert_eq!(verified.payload(), b"{}");
//! assert!(Unverified::parse(&token).is_err(), "no standard algorithm");
//! # Ok(())
//! # }
//! ```

use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;
use std::sync::{Arc, OnceLock};

use aws_lc_rs::digest;
use sealstone_composite as pair;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::b64;
use crate::cose;
use crate::error::{Error, check_size, shown};
use crate::json;
use crate::jwk::{Fields, Jwk, MAX_JWK, Wiped, refuse_private, write_object};
use crate::jws::{self, Header, Named, Unverified, Verified};

/// The document that keys and tokens of this module follow.
pub const REVISION: &str = "draft-ietf-jose-pq-composite-sigs-04";

/// A composite algorithm of JOSE.
///
/// ```
/// use sealstone_composite as pair;
/// use sealstone_jose::composite::Algorithm;
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let algorithm: Algorithm = "ML-DSA-65-ES256".parse()?;
/// assert_eq!(algorithm.name(), "ML-DSA-65-ES256");
/// assert_eq!(algorithm.pair(), pair::Algorithm::MlDsa65EcdsaP256);
/// assert_eq!(algorithm.cose_id(), -55);
/// assert_eq!(Algorithm::of_pair(pair::Algorithm::MlDsa65EcdsaP256), Some(algorithm));
///
/// // X.509 has pairs that JOSE does not take.
/// assert_eq!(Algorithm::of_pair(pair::Algorithm::MlDsa87EcdsaP521), None);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// `ML-DSA-44-ES256`.
    MlDsa44Es256,
    /// `ML-DSA-44-Ed25519`.
    MlDsa44Ed25519,
    /// `ML-DSA-65-ES256`.
    MlDsa65Es256,
    /// `ML-DSA-65-Ed25519`.
    MlDsa65Ed25519,
    /// `ML-DSA-87-ES384`.
    MlDsa87Es384,
    /// `ML-DSA-87-Ed448`.
    MlDsa87Ed448,
}

impl Algorithm {
    /// Every algorithm, in the order of their names.
    pub const ALL: [Self; 6] = [
        Self::MlDsa44Es256,
        Self::MlDsa44Ed25519,
        Self::MlDsa65Es256,
        Self::MlDsa65Ed25519,
        Self::MlDsa87Es384,
        Self::MlDsa87Ed448,
    ];

    /// The `alg` value.
    pub const fn name(self) -> &'static str {
        match self.pair().jose_name() {
            Some(name) => name,
            None => "",
        }
    }

    /// The one of a pair, for the six pairs that JOSE takes.
    pub fn of_pair(pair: pair::Algorithm) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.pair() == pair)
    }

    /// What it computes.
    pub const fn pair(self) -> pair::Algorithm {
        match self {
            Self::MlDsa44Es256 => pair::Algorithm::MlDsa44EcdsaP256,
            Self::MlDsa44Ed25519 => pair::Algorithm::MlDsa44Ed25519,
            Self::MlDsa65Es256 => pair::Algorithm::MlDsa65EcdsaP256,
            Self::MlDsa65Ed25519 => pair::Algorithm::MlDsa65Ed25519,
            Self::MlDsa87Es384 => pair::Algorithm::MlDsa87EcdsaP384,
            Self::MlDsa87Ed448 => pair::Algorithm::MlDsa87Ed448,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Exact, case included: RFC 7515 §4.1.1.
impl FromStr for Algorithm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let known = Self::ALL.into_iter().find(|algorithm| algorithm.name() == name);
        known.ok_or_else(|| Error::AlgorithmUnknown { found: shown(name) })
    }
}

impl Named for Algorithm {
    fn proof_len(self) -> RangeInclusive<usize> {
        self.pair().signature_min()..=self.pair().signature_max()
    }

    fn wrong_len(self, _: usize, found: usize) -> Error {
        Error::Composite(pair::Error::SignatureLength { algorithm: self.pair(), found })
    }
}

/// A key that signs with both halves. Cloning shares it; dropping the last clone wipes it.
///
/// ```
/// use sealstone_jose::composite::{Algorithm, PrivateKey};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let key = PrivateKey::generate(Algorithm::MlDsa44Ed25519)?.with_kid("2026-11");
///
/// // Kept in a file, as JSON, as CBOR or as bytes.
/// let secret = key.secret();
/// assert_eq!(secret.len(), 32 + 32);
/// let kept = [
///     PrivateKey::from_jwk(&key.to_jwk())?,
///     PrivateKey::from_cose(&key.to_cose())?,
///     PrivateKey::from_secret(Algorithm::MlDsa44Ed25519, &secret)?,
/// ];
/// assert!(kept.iter().all(|read| read.public().thumbprint() == key.public().thumbprint()));
///
/// // The key itself, for X.509; a key is used for one thing alone, so choose.
/// assert_eq!(key.pair().public().encode(), key.public().as_bytes());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PrivateKey {
    pair: Arc<pair::PrivateKey>,
    public: PublicKey,
}

impl PrivateKey {
    /// Makes a key from the randomness of the operating system.
    ///
    /// # Errors
    /// [`Error::Provider`] if there is none.
    pub fn generate(algorithm: Algorithm) -> Result<Self, Error> {
        Self::of(algorithm, pair::PrivateKey::generate(algorithm.pair())?)
    }

    /// Takes a raw private key, as [`pair::PrivateKey::decode`] does.
    ///
    /// # Errors
    /// [`Error::Composite`].
    pub fn from_secret(algorithm: Algorithm, secret: &[u8]) -> Result<Self, Error> {
        Self::of(algorithm, pair::PrivateKey::decode(algorithm.pair(), secret)?)
    }

    /// Reads a private JWK: `kty` `AKP`, `alg`, `pub` and `priv`, which must belong together.
    ///
    /// # Errors
    /// [`Error::Composite`], also with [`pair::Error::RawEcdsa`] for a key of revision -03; [`Error::KeyMismatch`]; what is wrong with
    /// it, by member.
    pub fn from_jwk(text: &str) -> Result<Self, Error> {
        check_size("JWK", MAX_JWK, text.len())?;
        let map = Wiped(json::object("JWK", text.as_bytes())?);
        let fields = Fields { map: &map.0 };
        let algorithm = algorithm(&fields)?;
        fields.check_use("sign")?;
        let secret = fields.text("priv")?;
        let secret = b64::decode_secret("priv", secret, secret.len() * 3 / 4)?;
        let public = PublicKey::of_fields(algorithm, &fields)?;
        let key = Self::from_secret(algorithm, &secret)?;
        if key.public.as_bytes() != public.as_bytes() {
            return Err(Error::KeyMismatch { member: "pub" });
        }
        Ok(Self { public, ..key })
    }

    /// The key as private JSON.
    pub fn to_jwk(&self) -> Zeroizing<String> {
        let mut public = self.public.to_jwk().to_json();
        public.pop();
        let secret = b64::encode_secret(self.pair.encode());
        // All room at once: a buffer that grew would leave a copy of the secret behind.
        let mut out = Zeroizing::new(String::with_capacity(public.len() + secret.len() + 11));
        out.push_str(&public);
        out.push_str(",\"priv\":\"");
        secret.iter().for_each(|character| out.push(char::from(*character)));
        out.push_str("\"}");
        out
    }

    /// The same key under another key id.
    #[must_use]
    pub fn with_kid(self, kid: &str) -> Self {
        Self { public: self.public.with_kid(kid), ..self }
    }

    /// The public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The key under its other name, in X.509.
    pub fn pair(&self) -> &pair::PrivateKey {
        &self.pair
    }

    /// The raw private key, as [`from_secret`](Self::from_secret) takes it.
    pub fn secret(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.pair.encode().to_vec())
    }

    fn of(algorithm: Algorithm, pair: pair::PrivateKey) -> Result<Self, Error> {
        let public = PublicKey::from_public(algorithm, pair.public().encode())?;
        Ok(Self { pair: Arc::new(pair), public })
    }
}

/// The algorithm and the key id, never the key.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey")
            .field("algorithm", &self.public.algorithm)
            .field("kid", &self.public.kid())
            .finish_non_exhaustive()
    }
}

/// A key that verifies both halves. Cloning shares it.
///
/// ```
/// use sealstone_jose::composite::{Algorithm, PrivateKey, PublicKey};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// # let key = PrivateKey::generate(Algorithm::MlDsa44Ed25519)?.public().clone();
/// // Published as JSON.
/// let text = key.clone().with_kid("2026-11").to_jwk().to_json();
/// let read = PublicKey::from_jwk(&text)?;
/// assert_eq!(read.thumbprint(), key.thumbprint()); // a name makes no other key
/// assert_eq!((read.kid(), key.kid()), ("2026-11", key.thumbprint()));
/// assert_eq!(read.algorithm(), Algorithm::MlDsa44Ed25519);
///
/// // Inside of a larger document.
/// let document: serde_json::Value = serde_json::from_str(&format!(r#"{{"key":{text}}}"#)).expect("it is JSON");
/// let members = document["key"].as_object().expect("a JWK is an object");
/// assert_eq!(PublicKey::from_members(members)?.kid(), "2026-11");
///
/// // As bytes, and in COSE, where it has another thumbprint.
/// assert_eq!(PublicKey::from_public(Algorithm::MlDsa44Ed25519, key.as_bytes())?.thumbprint(), key.thumbprint());
/// let cose = PublicKey::from_cose(&key.to_cose())?;
/// assert_eq!(cose.cose_thumbprint(), key.cose_thumbprint());
/// assert_eq!(cose.pair(), key.pair());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PublicKey {
    algorithm: Algorithm,
    pair: Arc<pair::PublicKey>,
    thumbprint: Arc<OnceLock<String>>,
    kid: Option<Arc<str>>,
}

impl PublicKey {
    /// Takes a raw public key, as [`pair::PublicKey::decode`] does.
    ///
    /// # Errors
    /// [`Error::Composite`].
    pub fn from_public(algorithm: Algorithm, bytes: &[u8]) -> Result<Self, Error> {
        let pair = Arc::new(pair::PublicKey::decode(algorithm.pair(), bytes)?);
        Ok(Self { algorithm, pair, thumbprint: Arc::default(), kid: None })
    }

    /// Reads a public JWK.
    ///
    /// # Errors
    /// [`Error::PrivateMember`] if there is one; [`Error::Composite`]; else what is wrong with it, by member.
    pub fn from_jwk(text: &str) -> Result<Self, Error> {
        check_size("JWK", MAX_JWK, text.len())?;
        let map = Wiped(json::object("JWK", text.as_bytes())?);
        Self::from_members(&map.0)
    }

    /// Reads a public JWK that is part of a larger JSON value.
    ///
    /// # Errors
    /// As for [`from_jwk`](Self::from_jwk).
    pub fn from_members(map: &Map<String, Value>) -> Result<Self, Error> {
        refuse_private(map)?;
        let fields = Fields { map };
        let algorithm = algorithm(&fields)?;
        fields.check_use("verify")?;
        Self::of_fields(algorithm, &fields)
    }

    /// The key as public JSON, with its key id and `use` `sig`.
    pub fn to_jwk(&self) -> Jwk {
        let [kty, alg, public] = self.members();
        let kid = ("kid", self.kid().to_owned());
        Jwk { members: vec![kty, alg, kid, ("use", "sig".to_owned()), public] }
    }

    /// The same key under another key id.
    #[must_use]
    pub fn with_kid(self, kid: &str) -> Self {
        Self { kid: Some(kid.into()), ..self }
    }

    /// The algorithm that it checks.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The key under its other name, in X.509.
    pub fn pair(&self) -> &pair::PublicKey {
        &self.pair
    }

    /// The key id: the one it was given, or else the thumbprint.
    pub fn kid(&self) -> &str {
        self.kid.as_deref().unwrap_or_else(|| self.thumbprint())
    }

    /// The SHA-256 thumbprint of RFC 7638 over the members that RFC 9964 §6 names.
    pub fn thumbprint(&self) -> &str {
        self.thumbprint.get_or_init(|| {
            let mut members = self.members();
            members.sort_unstable();
            let mut text = String::new();
            write_object(&members, &mut text);
            b64::encode(digest::digest(&digest::SHA256, text.as_bytes()).as_ref())
        })
    }

    /// The raw public key, as [`from_public`](Self::from_public) takes it.
    pub fn as_bytes(&self) -> &[u8] {
        self.pair.encode()
    }

    fn of_fields(algorithm: Algorithm, fields: &Fields<'_>) -> Result<Self, Error> {
        let key = Self::from_public(algorithm, &b64::decode("pub", fields.text("pub")?)?)?;
        Ok(match fields.kid()? {
            Some(kid) => key.with_kid(kid),
            None => key,
        })
    }

    fn members(&self) -> [(&'static str, String); 3] {
        let kty = ("kty", "AKP".to_owned());
        [kty, ("alg", self.algorithm.name().to_owned()), ("pub", b64::encode(self.as_bytes()))]
    }
}

/// The same key for the same algorithm, whatever it is called.
impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.pair == other.pair
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicKey")
            .field("algorithm", &self.algorithm)
            .field("kid", &self.kid())
            .finish_non_exhaustive()
    }
}

/// Signs `payload` into a compact token, as [`jws::encode`] does.
///
/// # Errors
/// Those of [`jws::encode`].
pub fn encode(key: &PrivateKey, header: &Header, payload: &[u8]) -> Result<String, Error> {
    let (algorithm, kid) = (key.public.algorithm, key.public.kid());
    let most = algorithm.pair().signature_max();
    let token = jws::signing_input(algorithm.name(), most, Some(kid), header, payload)?;
    let signature = key.pair.sign(b"", token.as_bytes())?;
    Ok(jws::sealed(token, &signature))
}

impl<'t> Unverified<'t, Algorithm> {
    /// Takes a token with a composite signature apart, as [`parse`](Unverified::parse) does a standard one.
    ///
    /// # Errors
    /// The first thing that is wrong with it; [`Error::AlgorithmUnknown`] for a standard one.
    pub fn parse_composite(token: &'t str) -> Result<Self, Error> {
        jws::take_apart(token)
    }

    /// Checks both halves of the signature with `key` and the algorithm of `key`.
    ///
    /// # Errors
    /// [`Error::BadSignature`], also if the header names another algorithm; [`Error::Composite`] with
    /// [`pair::Error::RawEcdsa`] for a signature of revision -03.
    pub fn verify_composite(self, key: &PublicKey) -> Result<Verified<Algorithm>, Error> {
        if self.header.algorithm() != key.algorithm {
            return Err(Error::BadSignature);
        }
        key.pair.verify(b"", self.signing_input.as_bytes(), &self.signature)?;
        Ok(self.proven())
    }
}

/// In COSE, with the values of `alg` that the draft asks for; IANA has given none of them yet. The ECDSA halves are those of
/// revision -04.
impl Algorithm {
    /// The requested value of `alg` in COSE, -54 to -59.
    pub const fn cose_id(self) -> i64 {
        match self {
            Self::MlDsa44Es256 => -54,
            Self::MlDsa65Es256 => -55,
            Self::MlDsa87Es384 => -56,
            Self::MlDsa44Ed25519 => -57,
            Self::MlDsa65Ed25519 => -58,
            Self::MlDsa87Ed448 => -59,
        }
    }

    fn by_cose_id(value: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.cose_id() == value)
    }
}

impl PublicKey {
    /// Reads a public COSE_Key. A key id that is no text is not kept.
    ///
    /// # Errors
    /// [`Error::PrivateMember`] if there is one; [`Error::Composite`]; else what is wrong with it, by member.
    pub fn from_cose(bytes: &[u8]) -> Result<Self, Error> {
        let fields = cose::Fields::read(bytes)?;
        if fields.has_private() {
            return Err(Error::PrivateMember { member: "priv" });
        }
        Self::of_cose(&fields, 2)
    }

    fn of_cose(fields: &cose::Fields<'_>, operation: i128) -> Result<Self, Error> {
        const AKP: i128 = 7;
        match fields.kty()? {
            AKP => fields.check_labels(-2)?,
            other => return Err(Error::KeyTypeUnknown { found: format!("{other} of COSE") }),
        }
        fields.check_operation(operation)?;
        let alg = fields.alg()?.ok_or_else(|| cose::malformed("alg", "an integer", "nothing"))?;
        let algorithm = i64::try_from(alg).ok().and_then(Algorithm::by_cose_id);
        let algorithm = algorithm.ok_or_else(|| Error::AlgorithmUnknown { found: alg.to_string() })?;
        let key = Self::from_public(algorithm, fields.byte_string(-1, "pub")?)?;
        Ok(match fields.kid()?.as_ref().and_then(cose::Kid::text) {
            Some(kid) => key.with_kid(kid),
            None => key,
        })
    }

    /// The key as a COSE_Key, with the key id that it was given, or else with its thumbprint in COSE (RFC 9679).
    pub fn to_cose(&self) -> Vec<u8> {
        cose::akp_key(&self.cose_kid(), self.algorithm.cose_id(), self.as_bytes(), None)
    }

    /// The SHA-256 thumbprint of RFC 9679 over the members that RFC 9964 §6 names, with the value of `alg` that the draft asks for.
    pub fn cose_thumbprint(&self) -> [u8; 32] {
        cose::akp_thumbprint(self.algorithm.cose_id(), self.as_bytes())
    }

    fn cose_kid(&self) -> Vec<u8> {
        match &self.kid {
            Some(kid) => kid.as_bytes().to_vec(),
            None => self.cose_thumbprint().to_vec(),
        }
    }
}

impl PrivateKey {
    /// Reads a private COSE_Key, whose public half must be that of the private one.
    ///
    /// # Errors
    /// As for [`from_jwk`](Self::from_jwk).
    pub fn from_cose(bytes: &[u8]) -> Result<Self, Error> {
        let fields = cose::Fields::read(bytes)?;
        let public = PublicKey::of_cose(&fields, 1)?;
        let key = Self::from_secret(public.algorithm, fields.byte_string(-2, "priv")?)?;
        if key.public.as_bytes() != public.as_bytes() {
            return Err(Error::KeyMismatch { member: "pub" });
        }
        Ok(Self { public, ..key })
    }

    /// The key as a private COSE_Key, which is wiped when dropped.
    pub fn to_cose(&self) -> Zeroizing<Vec<u8>> {
        let (id, public) = (self.public.algorithm.cose_id(), self.public.as_bytes());
        Zeroizing::new(cose::akp_key(&self.public.cose_kid(), id, public, Some(self.pair.encode())))
    }

    /// Signs `payload` into a COSE_Sign1, as [`Sign1::sign`](cose::Sign1::sign) does.
    ///
    /// ```
    /// use sealstone_jose::composite::{Algorithm, PrivateKey};
    /// use sealstone_jose::{Error, cose};
    ///
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// let key = PrivateKey::generate(Algorithm::MlDsa65Ed25519)?;
    /// let message = key.sign1(&cose::Sign1::new(), b"21.5 C")?;
    /// let verified = cose::Unverified::parse_composite(&message)?.verify_composite(key.public(), None)?;
    /// assert_eq!(verified.payload(), b"21.5 C");
    ///
    /// // A reader of standard messages does not take it.
    /// assert!(matches!(cose::Unverified::parse(&message), Err(Error::AlgorithmUnknown { .. })));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of it.
    pub fn sign1(&self, form: &cose::Sign1<'_>, payload: &[u8]) -> Result<Vec<u8>, Error> {
        let sign = |message: &[u8]| Ok(self.pair.sign(b"", message)?);
        form.write(self.public.algorithm.cose_id(), &self.public.cose_kid(), payload, sign)
    }
}

impl<'m> cose::Unverified<'m, Algorithm> {
    /// Takes a COSE_Sign1 with a composite signature apart.
    ///
    /// # Errors
    /// As for a standard one; [`Error::AlgorithmUnknown`] for a standard one.
    pub fn parse_composite(message: &'m [u8]) -> Result<Self, Error> {
        cose::take_apart(message, Algorithm::by_cose_id)
    }

    /// Checks both halves of the signature, over the payload in the message or else over `detached`.
    ///
    /// # Errors
    /// [`Error::NoPayload`], [`Error::NotDetached`] if there are two payloads; those of
    /// [`verify_composite`](Unverified::verify_composite).
    pub fn verify_composite(
        self,
        key: &PublicKey,
        detached: Option<&'m [u8]>,
    ) -> Result<cose::Verified<'m, Algorithm>, Error> {
        let payload = match (self.peek_payload_untrusted(), detached) {
            (Some(_), Some(_)) => return Err(Error::NotDetached),
            (payload, detached) => payload.or(detached).ok_or(Error::NoPayload)?,
        };
        if self.header().algorithm() != key.algorithm {
            return Err(Error::BadSignature);
        }
        key.pair.verify(b"", &self.to_be_signed(payload), self.signature)?;
        Ok(self.proven(payload))
    }
}

/// `alg` of an AKP key, which must be composite.
fn algorithm(fields: &Fields<'_>) -> Result<Algorithm, Error> {
    match fields.text("kty")? {
        "AKP" => {
            fields.refuse(&["crv", "x", "y", "d", "n", "e", "k"], "no such member in an AKP key")?;
            fields.text("alg")?.parse()
        }
        other => Err(Error::KeyTypeUnknown { found: shown(other) }),
    }
}

/// A bad signature looks like any other.
impl From<pair::Error> for Error {
    fn from(error: pair::Error) -> Self {
        match error {
            pair::Error::BadSignature => Self::BadSignature,
            pair::Error::Provider => Self::Provider,
            other => Self::Composite(other),
        }
    }
}
