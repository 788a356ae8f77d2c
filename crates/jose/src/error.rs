//! The one error type. Variants are facts about the input; none carries a byte of a secret.

use core::fmt;

use crate::alg::Algorithm;
use crate::jwt::UnixSeconds;

/// Why a key, a token or a set was refused.
///
/// `Display` says what is wrong and where, on one line; [`Error::hint`] says what to do. Text from outside stands in the variants as
/// it is shown: quoted, escaped, and cut where it is long.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The token names another algorithm than the key it is checked with. The key decides (RFC 8725 §3.1).
    AlgorithmMismatch {
        /// What the key is for.
        key: Algorithm,
        /// What the token's header says.
        token: Algorithm,
    },
    /// No algorithm of this name is known here; `none` never is.
    AlgorithmUnknown {
        /// The name found.
        found: String,
    },
    /// The token names no key and the set has more than one, or none, that could have signed it.
    AmbiguousKey {
        /// How many keys of the set fit the algorithm.
        candidates: usize,
    },
    /// None of the token's audiences is one that the rules allow.
    AudienceMismatch {
        /// The audience of the rules; empty if the rules name none.
        expected: String,
        /// What the token says.
        found: String,
    },
    /// Text is not canonical base64url without padding (RFC 7515 §2).
    BadBase64 {
        /// The part or member.
        place: &'static str,
        /// Character within it.
        offset: usize,
        /// What is wrong there.
        problem: &'static str,
    },
    /// Bytes are not CBOR, or CBOR that two readers could read differently: a label twice, a length of another form (RFC 8949
    /// §5.6, RFC 9052 §9).
    BadCbor {
        /// The part or file.
        place: &'static str,
        /// Byte within it.
        offset: usize,
        /// What is wrong there.
        problem: &'static str,
    },
    /// Text is not JSON, or JSON that two readers could read differently: a member twice, too deep.
    BadJson {
        /// The part or file.
        place: &'static str,
        /// Line within it, from 1.
        line: usize,
        /// Column within the line, from 1.
        column: usize,
        /// What is wrong there.
        problem: String,
    },
    /// The signature is not one of this key over this token. All forgeries look alike.
    BadSignature,
    /// A claim has the wrong type or a value that cannot be.
    ClaimMalformed {
        /// The claim.
        claim: String,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// A claim that the rules demand is absent.
    ClaimMissing {
        /// The claim.
        claim: String,
    },
    /// A composite key or signature was refused.
    #[cfg(feature = "composite")]
    Composite(sealstone_composite::Error),
    /// Two keys of a set have the same key id, so a token could mean either (RFC 7517 §4.5).
    DuplicateKid {
        /// The key id.
        kid: String,
    },
    /// The token's time is over (RFC 7519 §4.1.4).
    Expired {
        /// The claim `exp`.
        exp: UnixSeconds,
        /// The time of the check.
        now: UnixSeconds,
    },
    /// A header member has the wrong type or a value that cannot be.
    HeaderMalformed {
        /// The member.
        member: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// A header member that changes the meaning of the token in a way that is not supported: it is never ignored.
    HeaderRefused {
        /// The member.
        member: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// The token says it was issued after now.
    IssuedInFuture {
        /// The claim `iat`.
        iat: UnixSeconds,
        /// The time of the check.
        now: UnixSeconds,
    },
    /// The token is from another issuer (RFC 8725 §3.8).
    IssuerMismatch {
        /// The issuer of the rules; empty if the rules name none.
        expected: String,
        /// What the token says.
        found: String,
    },
    /// Five parts: an encrypted token (JWE, RFC 7516), given to a reader of signed ones.
    Jwe,
    /// JSON serialization (RFC 7515 §7.2); only the compact one is read.
    JsonSerialization,
    /// A JWK member is absent, of the wrong type or length, or of a value that cannot be.
    KeyMalformed {
        /// The member.
        member: &'static str,
        /// What it must be.
        expected: String,
        /// What it is; for a secret only its length or type.
        found: String,
    },
    /// The public and the private half of a key do not belong together (RFC 9964 §7.4).
    KeyMismatch {
        /// The member that is not what the private half gives.
        member: &'static str,
    },
    /// A key of this type is not used here.
    KeyTypeUnknown {
        /// `kty`, and `crv` where that decides.
        found: String,
    },
    /// The key says that it must not be used so (`use`, `key_ops`).
    KeyUseRefused {
        /// The member that says so.
        member: &'static str,
        /// What it says.
        found: String,
    },
    /// One of key and token is composite, or both are, and not of the same algorithms. Feature `composite`.
    #[cfg(feature = "composite")]
    KindMismatch {
        /// The algorithm of the key.
        key: &'static str,
        /// What the token's header names.
        token: &'static str,
    },
    /// The content is itself a token (`cty`); the inner one must be checked on its own.
    NestedToken,
    /// A document of signatures has no payload in it, and none was given beside it.
    NoPayload,
    /// No signature of a document is one of a key of the set. What each was refused for, in the order of the document.
    NoneVerifies {
        /// The errors.
        refused: Vec<Error>,
    },
    /// Not three parts with dots between.
    NotCompact {
        /// Parts found; six stands for six or more.
        parts: usize,
        /// The part that is empty, if that is the trouble.
        empty: Option<&'static str>,
    },
    /// The token has its payload in it, given to a reader of detached ones (RFC 7515, Appendix F).
    NotDetached,
    /// A COSE message that is not one signature over one content (RFC 9052 §4.2).
    NotSign1 {
        /// What it is.
        found: String,
    },
    /// The algorithm needs the whole message twice, so it cannot take it in pieces (RFC 8032 §5.1.6).
    NotStreamable {
        /// The algorithm.
        algorithm: Algorithm,
    },
    /// The token's time has not come (RFC 7519 §4.1.5).
    NotYetValid {
        /// The claim `nbf`.
        nbf: UnixSeconds,
        /// The time of the check.
        now: UnixSeconds,
    },
    /// A private member where only a public key may be.
    PrivateMember {
        /// The member.
        member: &'static str,
    },
    /// The operating system gave no randomness, or the cryptographic library failed; nothing was signed.
    Provider,
    /// A shared secret has fewer bytes than the hash it is used with (RFC 7518 §3.2).
    SecretTooShort {
        /// The least.
        expected: usize,
        /// Bytes found.
        found: usize,
    },
    /// The signature's length is not that of the algorithm, known before any of it is computed.
    SignatureLength {
        /// The algorithm named in the header.
        algorithm: Algorithm,
        /// Bytes of its signatures.
        expected: usize,
        /// Bytes found.
        found: usize,
    },
    /// The token is older than the rules allow.
    TooOld {
        /// The claim `iat`.
        iat: UnixSeconds,
        /// The time of the check.
        now: UnixSeconds,
    },
    /// Larger than this reader takes.
    TooLarge {
        /// What.
        place: &'static str,
        /// Most that is taken, in bytes or (for a set) keys.
        limit: usize,
        /// What there was.
        found: usize,
    },
    /// The header's `typ` is not the one that the rules want (RFC 8725 §3.11).
    TypMismatch {
        /// The type of the rules; empty if the rules name none.
        expected: String,
        /// What the token says.
        found: String,
    },
    /// No key of the set has this key id.
    UnknownKid {
        /// The key id.
        kid: String,
    },
    /// The key set at an address cannot be had, and none is known from before that may still be believed.
    Unreachable {
        /// The address.
        url: String,
        /// What went wrong.
        cause: String,
    },
    /// A key set is not fetched from such an address.
    UrlRefused {
        /// The address.
        url: String,
        /// Why.
        reason: &'static str,
    },
}

impl Error {
    /// What the reader of the message could do, where that is known.
    ///
    /// ```
    /// use sealstone_jose::{Algorithm, Error, JwkSet, PrivateKey, jws};
    ///
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// let key = PrivateKey::generate(Algorithm::Es256)?.with_kid("2026-11");
    /// let token = jws::encode(&key, &jws::Header::new(), b"{}")?;
    /// let old = JwkSet::new([PrivateKey::generate(Algorithm::Es256)?.public().clone()])?;
    ///
    /// let error = jws::Unverified::parse(&token)?.verify_with_set(&old).expect_err("the set is too old");
    /// assert!(matches!(error, Error::UnknownKid { .. }));
    /// assert_eq!(error.to_string(), r#"no key of the set has the kid "2026-11""#);
    /// assert_eq!(error.hint(), Some("fetch the key set again: the key may be newer than your copy"));
    ///
    /// // To a forger there is nothing to say.
    /// assert_eq!(Error::BadSignature.hint(), None);
    /// # Ok(())
    /// # }
    /// ```
    pub const fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::AlgorithmMismatch { .. } => "give the key that signed the token; its kid is in the header",
            #[cfg(feature = "composite")]
            Self::KindMismatch { .. } => "give the key that signed the token; its kid is in the header",
            Self::AlgorithmUnknown { .. } => {
                "known: EdDSA, Ed25519, ES256, ES384, ES512, ML-DSA-44, ML-DSA-65, ML-DSA-87"
            }
            Self::AmbiguousKey { .. } => "name the key by its kid",
            Self::BadBase64 { .. } => "copy the text again, whole and without line ends",
            #[cfg(feature = "composite")]
            Self::Composite(error) => return error.hint(),
            Self::IssuedInFuture { .. } | Self::NotYetValid { .. } => {
                "compare the clocks, or allow some leeway"
            }
            Self::Jwe => "decrypt it first; what is inside must itself be signed",
            Self::JsonSerialization => "give the compact form: header.payload.signature",
            Self::NotDetached => "read it with its payload, as a compact token",
            Self::NotStreamable { .. } => "give the whole message at once, or sign with another algorithm",
            Self::NoPayload => "give the payload that it was signed with",
            Self::KeyMismatch { .. } => "the file was edited or mixed from two keys: export the key again",
            Self::PrivateMember { .. } => "give the public half; if this was published, replace the key",
            Self::UnknownKid { .. } => "fetch the key set again: the key may be newer than your copy",
            Self::NotSign1 { .. } => "take the signed message out of what carries it",
            Self::Unreachable { .. } => "try the address by hand; one of a private network must be allowed",
            Self::UrlRefused { .. } => "give the https:// address of the key set",
            _ => return None,
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlgorithmMismatch { key, token } => {
                write!(f, "the key is for {key}, the token's header says {token}")
            }
            Self::AlgorithmUnknown { found } => write!(f, "unknown signature algorithm {found}"),
            Self::AmbiguousKey { candidates } => {
                write!(
                    f,
                    "the token has no kid and {candidates} keys of the set fit its algorithm, expected one"
                )
            }
            Self::AudienceMismatch { expected, found } => mismatch(f, "aud", expected, found),
            Self::BadBase64 { place, offset, problem } => {
                write!(f, "{place}: bad base64url at character {offset}: {problem}")
            }
            Self::BadCbor { place, offset, problem } => {
                write!(f, "{place}: bad CBOR at byte {offset}: {problem}")
            }
            Self::BadJson { place, line, column, problem } => {
                write!(f, "{place}: bad JSON at line {line} column {column}: {problem}")
            }
            Self::BadSignature => f.write_str("the signature does not verify"),
            Self::ClaimMalformed { claim, expected, found } => {
                write!(f, "claim `{claim}`: expected {expected}, found {found}")
            }
            Self::ClaimMissing { claim } => write!(f, "claim `{claim}` is missing"),
            #[cfg(feature = "composite")]
            Self::Composite(error) => error.fmt(f),
            Self::DuplicateKid { kid } => write!(f, "two keys of the set have the kid {kid}"),
            Self::Expired { exp, now } => write!(f, "the token expired at {exp}, it is {now}"),
            Self::HeaderMalformed { member, expected, found } => {
                write!(f, "header `{member}`: expected {expected}, found {found}")
            }
            Self::HeaderRefused { member, reason } => write!(f, "header `{member}` refused: {reason}"),
            Self::IssuedInFuture { iat, now } => write!(f, "the token was issued at {iat}, it is {now}"),
            Self::IssuerMismatch { expected, found } => mismatch(f, "iss", expected, found),
            Self::Jwe => {
                f.write_str("five parts: this is an encrypted token (JWE), expected a signed one (JWS)")
            }
            Self::JsonSerialization => f.write_str("this is a JWS in JSON, expected the compact form"),
            Self::KeyMalformed { member, expected, found } => {
                write!(f, "key member `{member}`: expected {expected}, found {found}")
            }
            Self::KeyMismatch { member } => {
                write!(f, "key member `{member}` does not belong to the private key")
            }
            Self::KeyTypeUnknown { found } => {
                write!(f, "key type {found} is not known, expected AKP, EC, OKP or RSA")
            }
            Self::KeyUseRefused { member, found } => {
                write!(f, "the key's `{member}` is {found}: not for this use")
            }
            #[cfg(feature = "composite")]
            Self::KindMismatch { key, token } => {
                write!(f, "the key is for {key}, the token's header says {token}")
            }
            Self::NestedToken => f.write_str("the content is itself a token (`cty`), expected claims"),
            Self::NotDetached => f.write_str("the token has its payload in it, expected a detached one"),
            Self::NotSign1 { found } => write!(f, "expected a COSE_Sign1, found {found}"),
            Self::NotStreamable { algorithm } => {
                write!(f, "{algorithm} cannot sign a message in pieces: it reads it twice")
            }
            Self::NoPayload => f.write_str("the payload is not in the document, and was not given"),
            Self::NoneVerifies { refused } if refused.len() == 1 => {
                refused.iter().try_for_each(|why| why.fmt(f))
            }
            Self::NoneVerifies { refused } => {
                write!(f, "none of {} signatures verifies", refused.len())?;
                refused.iter().enumerate().try_for_each(|(n, why)| write!(f, "; number {}: {why}", n + 1))
            }
            Self::NotCompact { empty: Some(part), .. } => write!(f, "the token's {part} is empty"),
            Self::NotCompact { parts, empty: None } => {
                write!(f, "expected three parts with dots between, found {parts}")
            }
            Self::NotYetValid { nbf, now } => write!(f, "the token is valid from {nbf}, it is {now}"),
            Self::PrivateMember { member } => write!(f, "private member `{member}` in a public key"),
            Self::Provider => f.write_str("no randomness, or the cryptographic library failed"),
            Self::SecretTooShort { expected, found } => {
                write!(f, "the secret: expected at least {expected} bytes, found {found}")
            }
            Self::SignatureLength { algorithm, expected, found } => {
                write!(f, "signature: expected {expected} bytes for {algorithm}, found {found}")
            }
            Self::TooOld { iat, now } => write!(f, "the token was issued at {iat}, too long before {now}"),
            Self::TooLarge { place, limit, found } => write!(f, "{place}: at most {limit}, found {found}"),
            Self::TypMismatch { expected, found } => mismatch(f, "typ", expected, found),
            Self::UnknownKid { kid } => write!(f, "no key of the set has the kid {kid}"),
            Self::Unreachable { url, cause } => write!(f, "the key set at {url} cannot be fetched: {cause}"),
            Self::UrlRefused { url, reason } => write!(f, "the address {url} is refused: {reason}"),
        }
    }
}

impl core::error::Error for Error {}

fn mismatch(f: &mut fmt::Formatter<'_>, name: &str, expected: &str, found: &str) -> fmt::Result {
    if expected.is_empty() {
        write!(f, "`{name}` is {found}, the rules name none")
    } else {
        write!(f, "`{name}`: expected {expected}, found {found}")
    }
}

/// Refuses what is larger than a reader takes.
pub(crate) fn check_size(place: &'static str, limit: usize, found: usize) -> Result<(), Error> {
    if found > limit { Err(Error::TooLarge { place, limit, found }) } else { Ok(()) }
}

/// Text from outside, made safe for one line of a terminal or log: quoted, escaped, cut at 64 characters.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 64;
    let mut out: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() {
        out.push_str("...");
    }
    format!("\"{out}\"")
}
