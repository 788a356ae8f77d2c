//! JSON Web Tokens (RFC 7519): claims, and the rules that a verified token must meet (RFC 8725 §3).
//!
//! Time is passed in; nothing here reads a clock.

mod verifier;

use core::fmt;
use core::time::Duration;

use serde_json::{Map, Value};

use crate::alg::Algorithm;
use crate::error::{Error, shown};
use crate::json;
use crate::jws::{Header, ReceivedHeader, Unsigned, Verified};
use crate::key::PrivateKey;

pub use verifier::Verifier;

/// 9999-12-31T23:59:59Z. A larger NumericDate is milliseconds or nonsense.
const LAST_SECOND: u64 = 253_402_300_799;

/// Seconds since 1970-01-01T00:00:00Z, leap seconds not counted: the NumericDate of RFC 7519 §2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixSeconds(pub u64);

impl fmt::Display for UnixSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Signs `claims` into a token of type `typ` (`JWT`, `at+jwt`, …).
///
/// # Errors
/// Those of [`jws::encode`](crate::jws::encode).
pub fn sign(key: &PrivateKey, typ: &str, claims: &Claims) -> Result<String, Error> {
    unsigned(key, typ, claims)?.sign()
}

/// The same up to the signature, for what signs many side by side.
///
/// ```
/// use sealstone_jose::jws::Unsigned;
/// use sealstone_jose::{Algorithm, PrivateKey, UnixSeconds, jwt};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let key = PrivateKey::generate(Algorithm::MlDsa44)?;
/// let now = UnixSeconds(1_800_000_000);
/// let of = |subject: &str| {
///     let claims = jwt::Claims::new().with("sub", subject).with("exp", now.0 + 300);
///     jwt::unsigned(&key, "JWT", &claims)
/// };
/// let tokens = Unsigned::sign_all(vec![of("alice")?, of("bob")?]);
///
/// let verifier = jwt::Verifier::of_key(key.public().clone(), jwt::Rules::new());
/// for (token, subject) in tokens.into_iter().zip(["alice", "bob"]) {
///     assert_eq!(verifier.verify(&token?, now)?.claims().subject(), Some(subject));
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Those of [`Unsigned::new`].
pub fn unsigned(key: &PrivateKey, typ: &str, claims: &Claims) -> Result<Unsigned, Error> {
    Unsigned::new(key, &Header::new().typ(typ), claims.to_json().as_bytes())
}

/// A set of claims: a JSON object, each member at most once.
///
/// ```
/// use sealstone_jose::{UnixSeconds, jwt};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let claims = jwt::Claims::new()
///     .with("iss", "https://id.example")
///     .with("sub", "alice")
///     .with("aud", vec!["orders", "billing"])
///     .with("iat", 1_800_000_000)
///     .with("nbf", 1_800_000_000)
///     .with("exp", 1_800_000_300)
///     .with("jti", "8f3c")
///     .with("admin", false);
/// assert_eq!(claims.issuer(), Some("https://id.example"));
/// assert_eq!(claims.subject(), Some("alice"));
/// assert_eq!(claims.audiences(), ["orders", "billing"]);
/// assert_eq!((claims.issued(), claims.not_before()), (Some(UnixSeconds(1_800_000_000)), claims.issued()));
/// assert_eq!(claims.expires(), Some(UnixSeconds(1_800_000_300)));
/// assert_eq!(claims.id(), Some("8f3c"));
/// assert_eq!(claims.text("jti"), claims.id());
/// assert_eq!(claims.get("admin").and_then(|value| value.as_bool()), Some(false));
/// assert_eq!(claims.members().len(), 8);
///
/// // From JSON and back; a member that stands twice has no meaning.
/// assert_eq!(jwt::Claims::parse(&claims.to_json())?.members(), claims.members());
/// assert!(jwt::Claims::parse(r#"{"sub":"alice","sub":"bob"}"#).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    map: Map<String, Value>,
}

impl Claims {
    /// No claims.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads claims to be signed. What comes in a token is read by [`Rules::check`] alone.
    ///
    /// # Errors
    /// [`Error::BadJson`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        Ok(Self { map: json::object("claims", text.as_bytes())? })
    }

    /// With this claim as well.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.map.insert(name.to_owned(), value.into());
        self
    }

    /// Any claim.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.map.get(name)
    }

    /// A claim that is a string.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }

    /// `iss`.
    pub fn issuer(&self) -> Option<&str> {
        self.text("iss")
    }

    /// `sub`.
    pub fn subject(&self) -> Option<&str> {
        self.text("sub")
    }

    /// `aud`, whether written as one string or as an array.
    pub fn audiences(&self) -> Vec<&str> {
        match self.get("aud") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// `jti`.
    pub fn id(&self) -> Option<&str> {
        self.text("jti")
    }

    /// `exp`: the first second in which the token is over.
    pub fn expires(&self) -> Option<UnixSeconds> {
        self.time("exp").ok().flatten()
    }

    /// `nbf`: the first second in which the token is good.
    pub fn not_before(&self) -> Option<UnixSeconds> {
        self.time("nbf").ok().flatten()
    }

    /// `iat`.
    pub fn issued(&self) -> Option<UnixSeconds> {
        self.time("iat").ok().flatten()
    }

    /// All claims, by name.
    pub fn members(&self) -> &Map<String, Value> {
        &self.map
    }

    /// The JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.map).expect("a map of strings to JSON values is JSON")
    }

    /// A NumericDate (RFC 7519 §2). A fraction of a second is rounded so that the token lives shorter: `nbf` up,
    /// the others down.
    fn time(&self, claim: &str) -> Result<Option<UnixSeconds>, Error> {
        let Some(value) = self.get(claim) else { return Ok(None) };
        let malformed = |found: String| Error::ClaimMalformed {
            claim: claim.to_owned(),
            expected: "a number of seconds since 1970, not after the year 9999",
            found,
        };
        let Value::Number(number) = value else { return Err(malformed(json::kind(value).to_owned())) };
        let seconds = match (number.as_u64(), number.as_f64()) {
            (Some(seconds), _) => seconds,
            // In this range every f64 is within a millisecond of what was written, and the cast is exact.
            (None, Some(float)) if (0.0..=LAST_SECOND as f64).contains(&float) => {
                (if claim == "nbf" { float.ceil() } else { float.floor() }) as u64
            }
            _ => return Err(malformed(shown(&number.to_string()))),
        };
        if seconds > LAST_SECOND {
            return Err(malformed(seconds.to_string()));
        }
        Ok(Some(UnixSeconds(seconds)))
    }

    /// RFC 7519 §4.1: the registered claims have the types they must have.
    fn check_types(&self) -> Result<(), Error> {
        let malformed = |claim: &str, expected, value: &Value| {
            Err(Error::ClaimMalformed {
                claim: claim.to_owned(),
                expected,
                found: json::kind(value).to_owned(),
            })
        };
        for claim in ["iss", "sub", "jti"] {
            match self.get(claim) {
                None | Some(Value::String(_)) => {}
                Some(other) => return malformed(claim, "a string", other),
            }
        }
        match self.get("aud") {
            None | Some(Value::String(_)) => {}
            Some(Value::Array(all)) if all.iter().all(Value::is_string) => {}
            Some(other) => return malformed("aud", "a string or an array of strings", other),
        }
        for claim in ["exp", "nbf", "iat"] {
            self.time(claim)?;
        }
        Ok(())
    }
}

/// What a token must say to be accepted.
///
/// What the rules do not name, a token must not bring: with no audience named, a token for some audience is refused,
/// and likewise for the issuer and the type. `exp` is required. Loosen one by one, in words.
///
/// ```
/// use std::time::Duration;
///
/// use sealstone_jose::{Algorithm, Error, PrivateKey, UnixSeconds, jwt};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let key = PrivateKey::generate(Algorithm::Es256)?;
/// let now = UnixSeconds(1_800_000_000);
/// let check = |rules: jwt::Rules, token: &str| {
///     jwt::Verifier::of_key(key.public().clone(), rules).verify(token, now).map(|_| ())
/// };
///
/// // A token that says little is refused by the strictest rules, for want of an end.
/// let token = jwt::sign(&key, "note+jwt", &jwt::Claims::new().with("iss", "https://id.example").with("iat", now.0))?;
/// let missing = |claim: &str| Err(Error::ClaimMissing { claim: claim.into() });
/// let open = jwt::Rules::new().any_issuer().any_audience().any_typ();
/// assert_eq!(check(open.clone(), &token), missing("exp"));
///
/// // Each rule is loosened by its name, or tightened.
/// let endless = open.without_expiry();
/// check(endless.clone(), &token)?;
/// check(endless.clone().max_age(Duration::from_secs(60)), &token)?;
/// assert_eq!(check(endless.require("sub"), &token), missing("sub"));
/// let elsewhere = check(jwt::Rules::new().issuer("https://other.example").any_typ().without_expiry(), &token);
/// assert!(matches!(elsewhere, Err(Error::IssuerMismatch { .. })));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Rules {
    issuer: Named,
    audience: Named,
    typ: Named,
    leeway: Duration,
    max_age: Option<Duration>,
    required: Vec<String>,
}

#[derive(Clone, Debug)]
enum Named {
    Absent,
    Exactly(String),
    Any,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            issuer: Named::Absent,
            audience: Named::Absent,
            typ: Named::Absent,
            leeway: Duration::ZERO,
            max_age: None,
            required: vec!["exp".to_owned()],
        }
    }
}

impl Rules {
    /// The strictest: no issuer, no audience, no type (or `JWT`), `exp` required, no leeway.
    pub fn new() -> Self {
        Self::default()
    }

    /// `iss` must be this (RFC 8725 §3.8).
    #[must_use]
    pub fn issuer(self, issuer: &str) -> Self {
        Self { issuer: Named::Exactly(issuer.to_owned()), ..self }
    }

    /// Any issuer, or none.
    #[must_use]
    pub fn any_issuer(self) -> Self {
        Self { issuer: Named::Any, ..self }
    }

    /// `aud` must be or contain this (RFC 7519 §4.1.3, RFC 8725 §3.9).
    #[must_use]
    pub fn audience(self, audience: &str) -> Self {
        Self { audience: Named::Exactly(audience.to_owned()), ..self }
    }

    /// Any audience, or none.
    #[must_use]
    pub fn any_audience(self) -> Self {
        Self { audience: Named::Any, ..self }
    }

    /// `typ` must be this, so that one kind of token cannot pass for another (RFC 8725 §3.11). Case and a leading
    /// `application/` do not count (RFC 7515 §4.1.9).
    #[must_use]
    pub fn typ(self, typ: &str) -> Self {
        Self { typ: Named::Exactly(typ.to_owned()), ..self }
    }

    /// Any type, or none.
    #[must_use]
    pub fn any_typ(self) -> Self {
        Self { typ: Named::Any, ..self }
    }

    /// How far the clocks may differ, in whole seconds.
    #[must_use]
    pub fn leeway(self, leeway: Duration) -> Self {
        Self { leeway, ..self }
    }

    /// `iat` is required and must not lie further back than this.
    #[must_use]
    pub fn max_age(self, age: Duration) -> Self {
        Self { max_age: Some(age), ..self }.require("iat")
    }

    /// This claim must be present.
    #[must_use]
    pub fn require(mut self, claim: &str) -> Self {
        self.required.push(claim.to_owned());
        self
    }

    /// A token without `exp` is accepted; one with it must still be within its time.
    #[must_use]
    pub fn without_expiry(mut self) -> Self {
        self.required.retain(|claim| claim != "exp");
        self
    }

    /// Reads the claims of a verified token and holds them against the rules.
    ///
    /// # Errors
    /// The first rule that is not met.
    pub fn check<A>(&self, verified: Verified<A>, now: UnixSeconds) -> Result<Token<A>, Error> {
        let (header, payload) = verified.into_parts();
        self.check_typ(&header)?;
        let claims = Claims { map: json::object("payload", &payload)? };
        claims.check_types()?;
        for claim in &self.required {
            if claims.get(claim).is_none_or(Value::is_null) {
                return Err(Error::ClaimMissing { claim: claim.clone() });
            }
        }
        self.check_issuer(&claims)?;
        self.check_audience(&claims)?;
        self.check_time(&claims, now)?;
        Ok(Token { header, claims })
    }

    fn check_typ<A>(&self, header: &ReceivedHeader<A>) -> Result<(), Error> {
        if header.cty().map(bare_type).is_some_and(is_token) {
            return Err(Error::NestedToken);
        }
        let found = header.typ().map(bare_type);
        let (good, expected) = match &self.typ {
            Named::Any => (true, ""),
            Named::Absent => (found.is_none_or(|typ| typ.eq_ignore_ascii_case("jwt")), ""),
            Named::Exactly(typ) => {
                (found.is_some_and(|found| found.eq_ignore_ascii_case(bare_type(typ))), typ.as_str())
            }
        };
        if good {
            return Ok(());
        }
        let found = header.typ().map_or_else(|| "absent".to_owned(), shown);
        Err(Error::TypMismatch { expected: quoted(expected), found })
    }

    fn check_issuer(&self, claims: &Claims) -> Result<(), Error> {
        let (good, expected) = match &self.issuer {
            Named::Any => (true, ""),
            Named::Absent => (claims.issuer().is_none(), ""),
            Named::Exactly(issuer) => (claims.issuer() == Some(issuer), issuer.as_str()),
        };
        if good {
            return Ok(());
        }
        let found = claims.issuer().map_or_else(|| "absent".to_owned(), shown);
        Err(Error::IssuerMismatch { expected: quoted(expected), found })
    }

    fn check_audience(&self, claims: &Claims) -> Result<(), Error> {
        let found = claims.audiences();
        let (good, expected) = match &self.audience {
            Named::Any => (true, ""),
            Named::Absent => (claims.get("aud").is_none(), ""),
            Named::Exactly(audience) => (found.contains(&audience.as_str()), audience.as_str()),
        };
        if good {
            return Ok(());
        }
        let found = if found.is_empty() { "absent".to_owned() } else { shown(&found.join(" ")) };
        Err(Error::AudienceMismatch { expected: quoted(expected), found })
    }

    /// RFC 7519 §4.1.4 to §4.1.6. A token is over in the second that `exp` names.
    fn check_time(&self, claims: &Claims, now: UnixSeconds) -> Result<(), Error> {
        let leeway = self.leeway.as_secs();
        if let Some(exp) = claims.time("exp")?
            && now.0 >= exp.0.saturating_add(leeway)
        {
            return Err(Error::Expired { exp, now });
        }
        if let Some(nbf) = claims.time("nbf")?
            && now.0.saturating_add(leeway) < nbf.0
        {
            return Err(Error::NotYetValid { nbf, now });
        }
        if let Some(iat) = claims.time("iat")? {
            if now.0.saturating_add(leeway) < iat.0 {
                return Err(Error::IssuedInFuture { iat, now });
            }
            let oldest = self.max_age.map_or(u64::MAX, |age| age.as_secs().saturating_add(leeway));
            if now.0.saturating_sub(iat.0) > oldest {
                return Err(Error::TooOld { iat, now });
            }
        }
        Ok(())
    }
}

/// A token whose signature and claims have passed: the only thing whose claims may be acted upon.
///
/// ```
/// use sealstone_jose::{Algorithm, PrivateKey, UnixSeconds, jwt};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let key = PrivateKey::generate(Algorithm::MlDsa44)?;
/// let now = UnixSeconds(1_800_000_000);
/// let text = jwt::sign(&key, "at+jwt", &jwt::Claims::new().with("sub", "alice").with("exp", now.0 + 300))?;
///
/// let verifier = jwt::Verifier::of_key(key.public().clone(), jwt::Rules::new().typ("at+jwt"));
/// let token = verifier.verify(&text, now)?;
/// assert_eq!(token.header().algorithm(), Algorithm::MlDsa44);
/// assert_eq!(token.claims().subject(), Some("alice"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Token<A = Algorithm> {
    header: ReceivedHeader<A>,
    claims: Claims,
}

impl<A> Token<A> {
    /// The protected header.
    pub fn header(&self) -> &ReceivedHeader<A> {
        &self.header
    }

    /// The claims.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }
}

/// RFC 7515 §4.1.9: a media type, its `application/` left out where nothing else contains a slash. Case does not count.
fn bare_type(typ: &str) -> &str {
    const PREFIX: &str = "application/";
    match typ.split_at_checked(PREFIX.len()) {
        Some((front, rest)) if front.eq_ignore_ascii_case(PREFIX) && !rest.contains('/') => rest,
        _ => typ,
    }
}

/// Whether content of a media type is itself a token: RFC 7519 §5.2, RFC 7515 §9.2, and the suffix of RFC 8417 §2.4.
fn is_token(bare: &str) -> bool {
    let suffix = bare.len().checked_sub(4).and_then(|at| bare.get(at..));
    ["jwt", "jose", "jose+json"].into_iter().any(|name| bare.eq_ignore_ascii_case(name))
        || suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("+jwt"))
}

fn quoted(expected: &str) -> String {
    if expected.is_empty() { String::new() } else { shown(expected) }
}
