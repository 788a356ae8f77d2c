//! How keys look in JSON: JWK and JWK Set (RFC 7517), key types EC and RSA (RFC 7518 §6.2, §6.3), OKP (RFC 8037 §2)
//! and AKP (RFC 9964 §3, §4).
//!
//! Public and private JSON are two types, so a key set cannot publish a private member.

use core::fmt;

use aws_lc_rs::digest;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::alg::{Algorithm, Curve, Family};
use crate::b64;
use crate::error::{Error, check_size, shown};
use crate::json;
use crate::key::{PrivateKey, PublicKey};
use crate::rsa;

/// Most bytes of a single key in JSON: an ML-DSA-87 key with a certificate chain beside it fits.
pub(crate) const MAX_JWK: usize = 65_536;
/// Most bytes of a set.
const MAX_SET: usize = 1_048_576;
/// Most values of a set, at all depths: what is small as text is not in memory.
const MAX_SET_VALUES: usize = 65_536;
/// Most keys of a set.
pub(crate) const MAX_KEYS: usize = 512;
/// Most bytes of a key id.
pub(crate) const MAX_KID: usize = 512;
/// Members that hold a secret in any key type (RFC 7518 §6, RFC 9964 §4), and `seed` of its early drafts.
const PRIVATE_MEMBERS: [&str; 10] = ["d", "priv", "seed", "k", "p", "q", "dp", "dq", "qi", "oth"];

/// A public key as JSON. It can go into a set, a file or a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jwk {
    pub(crate) members: Vec<(&'static str, String)>,
}

impl Jwk {
    /// The JSON text, members in the order `kty`, `alg`, `kid`, `use`, then the key itself.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        write_object(&self.members, &mut out);
        out
    }
}

impl Serialize for Jwk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.members.len()))?;
        for (name, value) in &self.members {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// A private key as JSON: it goes nowhere by itself, [`PrivateJwk::to_json`] gives text that is wiped when dropped.
///
/// ```
/// use sealstone_jose::{Algorithm, Error, PrivateKey, PublicKey};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let key = PrivateKey::from_secret(Algorithm::MlDsa44, &[0; 32])?;
/// let file = key.to_jwk().to_json();
/// assert!(file.ends_with(r#""priv":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#)); // the seed
/// assert_eq!(PrivateKey::from_jwk(&file)?.public(), key.public());
///
/// // What is to be published is another type, and a private key is not taken for one.
/// let published = key.public().to_jwk().to_json();
/// assert_eq!(&PublicKey::from_jwk(&published)?, key.public());
/// assert!(!published.contains("priv"));
/// assert_eq!(PublicKey::from_jwk(&file).err(), Some(Error::PrivateMember { member: "priv" }));
/// # Ok(())
/// # }
/// ```
pub struct PrivateJwk {
    key: PrivateKey,
}

impl PrivateJwk {
    /// The JSON text: the members of the public key, then `priv` (the seed, RFC 9964 §4) or `d`, and with RSA the other
    /// numbers of RFC 7518 §6.3.2.
    pub fn to_json(&self) -> Zeroizing<String> {
        let mut public = self.key.public().to_jwk().to_json();
        public.pop();
        let secret = self.key.secret();
        let members: Vec<(&str, Zeroizing<Vec<u8>>)> = match rsa::private_numbers(&secret) {
            Ok(numbers) if matches!(self.key.algorithm().family(), Family::Rsa(_)) => {
                let private = rsa::PRIVATE_MEMBERS.into_iter().zip(numbers).skip(2);
                private.map(|(member, number)| (member, b64::encode_secret(number))).collect()
            }
            _ => vec![(secret_member(self.key.algorithm()), b64::encode_secret(&secret))],
        };
        // All room at once: a buffer that grew would leave a copy of the secret behind.
        let room: usize = members.iter().map(|(member, text)| member.len() + text.len() + 6).sum();
        let mut out = Zeroizing::new(String::with_capacity(public.len() + room + 1));
        out.push_str(&public);
        for (member, text) in &members {
            out.push_str(",\"");
            out.push_str(member);
            out.push_str("\":\"");
            text.iter().for_each(|character| out.push(char::from(*character)));
            out.push('"');
        }
        out.push('}');
        out
    }
}

impl fmt::Debug for PrivateJwk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PrivateJwk").field(&self.key).finish()
    }
}

impl PrivateKey {
    /// Reads a private JWK. `alg` and the public members are required for AKP, the public members for all types, and
    /// they must be those of the private one.
    ///
    /// # Errors
    /// What is wrong with it, by member.
    pub fn from_jwk(text: &str) -> Result<Self, Error> {
        check_size("JWK", MAX_JWK, text.len())?;
        let map = Wiped(json::object("JWK", text.as_bytes())?);
        let fields = Fields { map: &map.0 };
        let algorithm = fields.algorithm()?;
        fields.check_use("sign")?;
        let public = fields.public_key(algorithm)?;
        let secret = match algorithm.secret_len() {
            Some(len) => fields.secret(algorithm, len)?,
            None => fields.rsa_secret()?,
        };
        let key = Self::from_secret_and_public(algorithm, &secret, public.as_bytes())?;
        Ok(match fields.kid()? {
            Some(kid) => key.with_kid(kid),
            None => key,
        })
    }

    /// The key as private JSON.
    pub fn to_jwk(&self) -> PrivateJwk {
        PrivateJwk { key: self.clone() }
    }
}

impl PublicKey {
    /// Reads a public JWK.
    ///
    /// # Errors
    /// [`Error::PrivateMember`] if there is one; else what is wrong with it, by member.
    pub fn from_jwk(text: &str) -> Result<Self, Error> {
        check_size("JWK", MAX_JWK, text.len())?;
        let map = Wiped(json::object("JWK", text.as_bytes())?);
        Self::from_members(&map.0)
    }

    /// The key as public JSON, with its key id and `use` `sig`.
    pub fn to_jwk(&self) -> Jwk {
        let kid = ("kid", self.kid().to_owned());
        let mut members = public_members(self);
        members.splice(2..2, [kid, ("use", "sig".to_owned())]);
        Jwk { members }
    }

    /// Reads a public JWK that is part of a larger JSON value, a set or a header.
    ///
    /// ```
    /// use sealstone_jose::{Algorithm, PrivateKey, PublicKey};
    ///
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// # let key = PrivateKey::generate(Algorithm::Es256)?.public().clone();
    /// // As in the claim `cnf` of RFC 7800: a token that names the key of its holder.
    /// let claims = serde_json::json!({ "sub": "alice", "cnf": { "jwk": key.to_jwk() } });
    /// let members = claims["cnf"]["jwk"].as_object().expect("a JWK is an object");
    /// assert_eq!(PublicKey::from_members(members)?, key);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`from_jwk`](Self::from_jwk).
    pub fn from_members(map: &Map<String, Value>) -> Result<Self, Error> {
        refuse_private(map)?;
        let fields = Fields { map };
        let algorithm = fields.algorithm()?;
        fields.check_use("verify")?;
        let key = fields.public_key(algorithm)?;
        Ok(match fields.kid()? {
            Some(kid) => key.with_kid(kid),
            None => key,
        })
    }
}

/// A set of public keys (RFC 7517 §5).
///
/// It holds [`PublicKey`]s, so a private key in it does not compile:
///
/// ```compile_fail
/// # use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
/// let key = PrivateKey::generate(Algorithm::Es256).unwrap();
/// let set = JwkSet::new([key]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JwkSet {
    keys: Vec<PublicKey>,
    ignored: Vec<Ignored>,
}

/// A member of a set that is not a key for us (RFC 7517 §5: ignored, not an error).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// Its position in the set, from 0.
    pub index: usize,
    /// Why it is not used.
    pub reason: Error,
}

impl JwkSet {
    /// Collects keys.
    ///
    /// # Errors
    /// [`Error::DuplicateKid`] if two have the same key id, [`Error::TooLarge`] for more than 512.
    pub fn new(keys: impl IntoIterator<Item = PublicKey>) -> Result<Self, Error> {
        let mut set = Self::default();
        for key in keys {
            set.push(key)?;
        }
        Ok(set)
    }

    /// Reads a set. Keys of types and algorithms not known here, or malformed, are ignored (see
    /// [`ignored`](Self::ignored)).
    ///
    /// # Errors
    /// [`Error::PrivateMember`] if any key, known or not, holds one; [`Error::DuplicateKid`]; [`Error::TooLarge`]
    /// for more than a mebibyte or 512 keys; [`Error::BadJson`].
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        check_size("JWK set", MAX_SET, text.len())?;
        let map = Wiped(json::object_of("JWK set", text, MAX_SET_VALUES)?);
        let Some(Value::Array(items)) = map.0.get("keys") else {
            return Err(Error::KeyMalformed {
                member: "keys",
                expected: "an array of keys".into(),
                found: map.0.get("keys").map_or("nothing", json::kind).into(),
            });
        };
        check_size("keys of a JWK set", MAX_KEYS, items.len())?;
        let mut set = Self::default();
        for (index, item) in items.iter().enumerate() {
            let Value::Object(members) = item else {
                return Err(Error::KeyMalformed {
                    member: "keys",
                    expected: "objects".into(),
                    found: format!("{} at index {index}", json::kind(item)),
                });
            };
            match PublicKey::from_members(members) {
                Ok(key) => set.push(key)?,
                Err(error @ Error::PrivateMember { .. }) => return Err(error),
                Err(reason) => set.ignored.push(Ignored { index, reason }),
            }
        }
        Ok(set)
    }

    /// Reads a set of one's own, of which nothing may be left out: as [`parse`](Self::parse) does, but a key that would be
    /// ignored is an error.
    ///
    /// ```
    /// use sealstone_jose::JwkSet;
    ///
    /// let text = br#"{"keys":[{"kty":"AKP","alg":"ML-DSA-99","pub":"AA"}]}"#;
    /// assert_eq!(JwkSet::parse(text)?.ignored().len(), 1);
    /// assert!(JwkSet::parse_whole(text).is_err());
    /// # Ok::<(), sealstone_jose::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse), and why the first key that is not for us is not.
    pub fn parse_whole(text: &[u8]) -> Result<Self, Error> {
        let set = Self::parse(text)?;
        match set.ignored.first() {
            Some(ignored) => Err(ignored.reason.clone()),
            None => Ok(set),
        }
    }

    /// The keys, in their order.
    pub fn keys(&self) -> &[PublicKey] {
        &self.keys
    }

    /// The key of this id.
    ///
    /// ```
    /// use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
    ///
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// let key = PrivateKey::generate(Algorithm::MlDsa44)?.public().clone().with_kid("2026-11");
    /// let set = JwkSet::parse(JwkSet::new([key.clone()])?.to_json().as_bytes())?;
    /// assert_eq!(set.keys(), [key.clone()]);
    /// assert_eq!(set.by_kid("2026-11"), Some(&key));
    /// assert_eq!(set.by_kid(key.thumbprint()), None);
    /// assert_eq!(set.by_thumbprint(key.thumbprint()), Some(&key));
    /// # Ok(())
    /// # }
    /// ```
    pub fn by_kid(&self, kid: &str) -> Option<&PublicKey> {
        self.keys.iter().find(|key| key.kid() == kid)
    }

    /// The key of this thumbprint (RFC 7638), whatever its `kid` is.
    pub fn by_thumbprint(&self, thumbprint: &str) -> Option<&PublicKey> {
        // No other text is one: none of the keys is hashed for it.
        (thumbprint.len() == b64::encoded_len(32))
            .then(|| self.keys.iter().find(|key| key.thumbprint() == thumbprint))
            .flatten()
    }

    /// The key that a token's `kid` means: the one of that id, or else of that thumbprint.
    ///
    /// ```
    /// use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
    ///
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// let key = PrivateKey::generate(Algorithm::MlDsa44)?.public().clone().with_kid("2026-11");
    /// let set = JwkSet::new([key.clone()])?;
    /// assert_eq!(set.find("2026-11"), Some(&key));
    /// assert_eq!(set.find(key.thumbprint()), Some(&key));
    /// # Ok(())
    /// # }
    /// ```
    pub fn find(&self, kid: &str) -> Option<&PublicKey> {
        self.by_kid(kid).or_else(|| self.by_thumbprint(kid))
    }

    /// What was read but is not used, and why.
    pub fn ignored(&self) -> &[Ignored] {
        &self.ignored
    }

    /// The JSON text.
    pub fn to_json(&self) -> String {
        let keys: Vec<String> = self.keys.iter().map(|key| key.to_jwk().to_json()).collect();
        format!("{{\"keys\":[{}]}}", keys.join(","))
    }

    fn push(&mut self, key: PublicKey) -> Result<(), Error> {
        check_size("keys of a JWK set", MAX_KEYS, self.keys.len() + 1)?;
        if self.by_kid(key.kid()).is_some() {
            return Err(Error::DuplicateKid { kid: shown(key.kid()) });
        }
        self.keys.push(key);
        Ok(())
    }
}

/// The (first) member of the private half.
pub(crate) const fn secret_member(algorithm: Algorithm) -> &'static str {
    if algorithm.level().is_some() { "priv" } else { "d" }
}

/// The (first) member of the public half.
pub(crate) const fn public_member(algorithm: Algorithm) -> &'static str {
    match algorithm.family() {
        Family::Ec(_) | Family::Ed25519 => "x",
        Family::MlDsa(_) => "pub",
        Family::Rsa(_) => "n",
    }
}

/// RFC 7638 §3: SHA-256 over the required members, by name, without spaces.
pub(crate) fn thumbprint(key: &PublicKey) -> String {
    let mut members = public_members(key);
    // RFC 7638 §3.2 and RFC 8037 §2 hash no `alg`; RFC 9964 §6 does.
    members.retain(|(name, _)| *name != "alg" || key.algorithm().level().is_some());
    members.sort_unstable();
    let mut text = String::new();
    write_object(&members, &mut text);
    b64::encode(digest::digest(&digest::SHA256, text.as_bytes()).as_ref())
}

/// `kty`, `alg` and the members that hold the key, in the order in which they are written.
fn public_members(key: &PublicKey) -> Vec<(&'static str, String)> {
    let (algorithm, bytes) = (key.algorithm(), key.as_bytes());
    let mut members =
        vec![("kty", algorithm.family().kty().to_owned()), ("alg", algorithm.name().to_owned())];
    match algorithm.family() {
        Family::Ec(curve) => {
            let (x, y) = bytes[1..].split_at(curve.field_len());
            members.push(("crv", curve.name().to_owned()));
            members.push(("x", b64::encode(x)));
            members.push(("y", b64::encode(y)));
        }
        Family::Ed25519 => {
            members.push(("crv", "Ed25519".to_owned()));
            members.push(("x", b64::encode(bytes)));
        }
        Family::MlDsa(_) => members.push(("pub", b64::encode(bytes))),
        Family::Rsa(_) => {
            // The numbers were read before.
            let (n, e) = rsa::public_numbers(bytes).unwrap_or_default();
            members.push(("n", b64::encode(n)));
            members.push(("e", b64::encode(e)));
        }
    }
    members
}

pub(crate) fn write_object(members: &[(&'static str, String)], out: &mut String) {
    for (index, (name, value)) in members.iter().enumerate() {
        out.push_str(if index == 0 { "{\"" } else { ",\"" });
        out.push_str(name);
        out.push_str("\":");
        json::quote(value, out);
    }
    out.push('}');
}

pub(crate) fn refuse_private(map: &Map<String, Value>) -> Result<(), Error> {
    match PRIVATE_MEMBERS.into_iter().find(|member| map.contains_key(*member)) {
        Some(member) => Err(Error::PrivateMember { member }),
        None => Ok(()),
    }
}

/// Bytes of the expanded ML-DSA key that a text of this length would be, if it is one.
fn expanded_len(text: &str) -> Option<usize> {
    sealstone_mldsa::Level::ALL
        .into_iter()
        .map(|level| level.signing_key_len())
        .find(|len| text.len() == b64::encoded_len(*len))
}

/// JSON members that may hold a secret: overwritten when dropped.
pub(crate) struct Wiped(pub(crate) Map<String, Value>);

impl Drop for Wiped {
    fn drop(&mut self) {
        self.0.values_mut().for_each(json::wipe);
    }
}

/// The members of a JWK, read with care.
pub(crate) struct Fields<'a> {
    pub(crate) map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// From `kty`, `crv` and `alg`; a member that belongs to another key type is refused, as it would make one text
    /// two keys.
    pub(crate) fn algorithm(&self) -> Result<Algorithm, Error> {
        let alg = self.optional("alg")?;
        match self.text("kty")? {
            "AKP" => {
                self.refuse(&["crv", "x", "y", "d", "n", "e", "k"], "no such member in an AKP key")?;
                let alg: Algorithm = self.text("alg")?.parse()?;
                if alg.level().is_none() {
                    return Err(wrong_alg("ML-DSA-44, ML-DSA-65 or ML-DSA-87", alg));
                }
                Ok(alg)
            }
            "EC" => {
                self.refuse(&["pub", "priv", "n", "e", "k"], "no such member in an EC key")?;
                let crv = self.text("crv")?;
                let curve = Curve::by_name(crv)
                    .ok_or_else(|| Error::KeyTypeUnknown { found: format!("EC {}", shown(crv)) })?;
                match alg.map(str::parse::<Algorithm>).transpose()? {
                    Some(alg) if alg != curve.algorithm() => Err(wrong_alg(curve.algorithm().name(), alg)),
                    _ => Ok(curve.algorithm()),
                }
            }
            "OKP" => {
                self.refuse(&["pub", "priv", "y", "n", "e", "k"], "no such member in an OKP key")?;
                let crv = self.text("crv")?;
                if crv != "Ed25519" {
                    return Err(Error::KeyTypeUnknown { found: format!("OKP {}", shown(crv)) });
                }
                match alg.map(str::parse::<Algorithm>).transpose()? {
                    None => Ok(Algorithm::EdDsa),
                    Some(alg) if alg.family() == Family::Ed25519 => Ok(alg),
                    Some(alg) => Err(wrong_alg("EdDSA or Ed25519", alg)),
                }
            }
            "RSA" => {
                self.refuse(&["pub", "priv", "crv", "x", "y", "k"], "no such member in an RSA key")?;
                match alg.map(str::parse::<Algorithm>).transpose()? {
                    // What most who leave it out mean, and what OpenID Connect Core §15.1 expects of everybody.
                    None => Ok(Algorithm::Rs256),
                    Some(alg) if matches!(alg.family(), Family::Rsa(_)) => Ok(alg),
                    Some(alg) => Err(wrong_alg("PS256 or RS256", alg)),
                }
            }
            other => Err(Error::KeyTypeUnknown { found: shown(other) }),
        }
    }

    pub(crate) fn public_key(&self, algorithm: Algorithm) -> Result<PublicKey, Error> {
        match algorithm.family() {
            Family::Ec(curve) => {
                let mut point = vec![0x04];
                point.extend(self.bytes("x", curve.field_len())?);
                point.extend(self.bytes("y", curve.field_len())?);
                PublicKey::from_public(algorithm, &point)
            }
            Family::Ed25519 => PublicKey::from_public(algorithm, &self.bytes("x", 32)?),
            Family::MlDsa(level) => {
                PublicKey::from_public(algorithm, &self.bytes("pub", level.verifying_key_len())?)
            }
            Family::Rsa(_) => {
                PublicKey::from_public(algorithm, &rsa::public_der(&self.number("n")?, &self.number("e")?))
            }
        }
    }

    /// The raw private key of an algorithm where all have one length.
    fn secret(&self, algorithm: Algorithm, len: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
        let text = self.text(secret_member(algorithm))?;
        if let (Some(level), Some(found)) = (algorithm.level(), expanded_len(text)) {
            return Err(Error::KeyMalformed {
                member: "priv",
                expected: format!("the 32-byte seed of {level} (RFC 9964 §4)"),
                found: format!("an expanded key of {found} bytes, which has no JWK form"),
            });
        }
        b64::decode_secret(secret_member(algorithm), text, len)
    }

    /// RFC 7518 §6.3.2: all numbers of two primes, or none of them can be used.
    fn rsa_secret(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.refuse(&["oth"], "a key of two primes")?;
        let mut numbers = Vec::with_capacity(rsa::PRIVATE_MEMBERS.len());
        for member in rsa::PRIVATE_MEMBERS {
            numbers.push(self.number(member)?);
        }
        let numbers: Vec<&[u8]> = numbers.iter().map(|number| number.as_slice()).collect();
        let numbers: &[&[u8]; 8] = numbers.as_slice().try_into().map_err(|_| Error::Provider)?;
        Ok(rsa::private_der(numbers))
    }

    /// RFC 7518 §2, Base64urlUInt: not zero, no zero octet in front.
    fn number(&self, member: &'static str) -> Result<Zeroizing<Vec<u8>>, Error> {
        let text = self.text(member)?;
        let most = b64::encoded_len(rsa::MODULUS_BITS.end() / 8);
        check_size("number of an RSA key", most, text.len())?;
        let bytes = b64::decode_secret(member, text, text.len() * 3 / 4)?;
        match bytes.first() {
            None | Some(0) => Err(Error::KeyMalformed {
                member,
                expected: "a number without zeros in front".into(),
                found: "another form".into(),
            }),
            _ => Ok(bytes),
        }
    }

    /// RFC 7517 §4.2, §4.3: a key that says what it is for must allow `operation`.
    pub(crate) fn check_use(&self, operation: &str) -> Result<(), Error> {
        if let Some(purpose) = self.optional("use")?
            && purpose != "sig"
        {
            return Err(Error::KeyUseRefused { member: "use", found: shown(purpose) });
        }
        let Some(value) = self.map.get("key_ops") else { return Ok(()) };
        let names: Option<Vec<&str>> =
            value.as_array().and_then(|ops| ops.iter().map(Value::as_str).collect());
        let malformed = |found: &str| Error::KeyMalformed {
            member: "key_ops",
            expected: "an array of different strings".into(),
            found: found.into(),
        };
        let names = names.ok_or_else(|| malformed(json::kind(value)))?;
        if names.iter().enumerate().any(|(index, name)| names[..index].contains(name)) {
            return Err(malformed("one twice"));
        }
        if names.contains(&operation) {
            Ok(())
        } else {
            Err(Error::KeyUseRefused { member: "key_ops", found: shown(&names.join(" ")) })
        }
    }

    pub(crate) fn kid(&self) -> Result<Option<&'a str>, Error> {
        let kid = self.optional("kid")?;
        match kid {
            Some(kid) if !kid_is_sane(kid) => Err(Error::KeyMalformed {
                member: "kid",
                expected: format!("1 to {MAX_KID} bytes, no control character among them"),
                found: shown(kid),
            }),
            _ => Ok(kid),
        }
    }

    fn bytes(&self, member: &'static str, len: usize) -> Result<Vec<u8>, Error> {
        let bytes = b64::decode(member, self.text(member)?)?;
        if bytes.len() != len {
            return Err(Error::KeyMalformed {
                member,
                expected: format!("{len} bytes"),
                found: format!("{} bytes", bytes.len()),
            });
        }
        Ok(bytes)
    }

    pub(crate) fn text(&self, member: &'static str) -> Result<&'a str, Error> {
        self.optional(member)?.ok_or_else(|| Error::KeyMalformed {
            member,
            expected: "a string".into(),
            found: "nothing".into(),
        })
    }

    fn optional(&self, member: &'static str) -> Result<Option<&'a str>, Error> {
        match self.map.get(member) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(Error::KeyMalformed {
                member,
                expected: "a string".into(),
                found: json::kind(other).into(),
            }),
        }
    }

    pub(crate) fn refuse(&self, members: &[&'static str], expected: &str) -> Result<(), Error> {
        match members.iter().find(|member| self.map.contains_key(**member)) {
            Some(member) => {
                Err(Error::KeyMalformed { member, expected: expected.into(), found: "it".into() })
            }
            None => Ok(()),
        }
    }
}

/// Whether a text can be a key id: neither empty nor long, and it can stand on one line of a log.
pub(crate) fn kid_is_sane(kid: &str) -> bool {
    (1..=MAX_KID).contains(&kid.len()) && !kid.chars().any(char::is_control)
}

fn wrong_alg(expected: &str, found: Algorithm) -> Error {
    Error::KeyMalformed { member: "alg", expected: expected.into(), found: shown(found.name()) }
}
