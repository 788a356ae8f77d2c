//! Client authentication by a signed token, RFC 7521 §4.2 and RFC 7523 §2.2 and §3; OpenID Connect Core §9
//! (`private_key_jwt` and `client_secret_jwt`).
//!
//! The key or the secret comes from the client's registration and decides the algorithm; the token's header can only
//! agree. A token with a signature and one with a MAC are two types from the start: no public key is ever a secret here,
//! and no secret a key (RFC 8725 §2.1). Cheap checks stand before the proof: size, form, header, client, end. That an
//! assertion is used once is decided by the store, after everything else has held.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::jws::{Unverified, Verified};
use sealstone_jose::jwt::{Claims, Rules};
use sealstone_jose::mac::MacAlgorithm;
use sealstone_jose::{Algorithm, Error as JoseError, UnixSeconds};
use serde::Deserialize;

use super::client_auth::{FAILED, Means, check_method, contradictory, refused};
use super::discovery::TOKEN;
use super::{OAuthError, Parameters};
use crate::client::{AssertionAudience, AuthMethod, Client, ClientKeys};
use crate::clock::{CLOCK_SLACK_SECONDS, later};
use crate::issuer::Issuer;
use crate::store::{Kind, NewRecord, Store, Write};

/// The parameter that holds the token, RFC 7521 §4.2.
pub const ASSERTION: &str = "client_assertion";
/// The parameter that says what the other one is.
pub const ASSERTION_TYPE: &str = "client_assertion_type";
/// The one type that is read, RFC 7523 §2.2.
pub const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// Most bytes of an assertion: one signed with ML-DSA-87 takes 6170 for the signature and leaves 2022.
pub const MAX_ASSERTION: usize = 8_192;
/// How far the client's clock may be off.
pub const LEEWAY_SECONDS: u64 = 10;
/// How far ahead the end of an assertion may lie. It bounds how long its id must be remembered.
pub const MAX_LIFETIME_SECONDS: u64 = 300;

/// An assertion, or the token of a ticket, that holds, if it is used for the first time.
#[must_use]
#[derive(Debug)]
pub struct SingleUse {
    pub(super) client: Arc<Client>,
    pub(super) mark: NewRecord,
    /// What the client is answered for it, see [`Authenticated::reply`](super::Authenticated::reply).
    pub(super) reply: Option<String>,
    /// What the operator is told when it comes again.
    pub(super) what: &'static str,
}

impl SingleUse {
    /// Whose it is.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Asks the store: of any number of presentations, on any number of nodes, exactly one goes on.
    /// RFC 7523 §3, item 7.
    /// Errors: `invalid_client` for each but the first.
    pub(super) async fn spend(
        self,
        store: &dyn Store,
        now: UnixSeconds,
    ) -> Result<(Arc<Client>, Option<String>), OAuthError> {
        match store.insert(self.mark, now).await? {
            Write::Done(_) => Ok((self.client, self.reply)),
            Write::Refused => {
                let (id, what) = (&self.client.id, self.what);
                Err(refused(FAILED).hint(format!("client `{id}`: {what} was used before")))
            }
        }
    }
}

/// Checks everything about the assertion but that it was not used before.
/// RFC 7523 §3.
/// Errors: `temporarily_unavailable` if the client's keys cannot be fetched or too many signatures wait; `invalid_client`, and `invalid_request` if `client_id` names another client.
pub(super) async fn check(parameters: &Parameters, means: Means<'_>) -> Result<SingleUse, OAuthError> {
    let (kind, assertion) = (parameters.required(ASSERTION_TYPE)?, parameters.required(ASSERTION)?);
    if kind != JWT_BEARER {
        return Err(refused("the assertion type is not supported"));
    }
    if assertion.len() > MAX_ASSERTION {
        return Err(refused(FAILED).hint("the assertion is longer than any that could be accepted"));
    }
    let taken = Taken::apart(assertion)?;
    // Of what is not proven, the issuer chooses the key, and the end can only refuse.
    let claimed: Claimed<'_> = serde_json::from_slice(taken.payload()).map_err(|_| {
        nobody("the assertion has no `iss` or no `exp`, or another claim is malformed".into())
    })?;
    if parameters.value("client_id").is_some_and(|id| id != claimed.iss) {
        return Err(contradictory("`client_id` is not the authenticated client's"));
    }
    let client = means
        .clients
        .by_id(&claimed.iss)
        .ok_or_else(|| nobody("no client has the id that the assertion's `iss` gives".into()))?;
    check_method(client, taken.method())?;
    check_typ(taken.typ()).map_err(|what| wrong(client, what))?;
    if taken.algorithm().is_some_and(|algorithm| !client.may_use(algorithm)) {
        return Err(wrong(client, "is signed with an algorithm that its profile does not have"));
    }
    check_end(claimed.exp, means.now).map_err(|what| wrong(client, what))?;
    let claims = taken.prove(client, means).await?;
    let (Some(exp), Some(jti)) = (claims.expires(), claims.id()) else {
        return Err(wrong(client, "has no `exp` or no `jti`"));
    };
    check_end(exp.0 as f64, means.now).map_err(|what| wrong(client, what))?;
    let mark = NewRecord {
        kind: Kind::SingleUse,
        id: mark_id(&client.id, jti),
        expires_at: Some(later(exp, LEEWAY_SECONDS + CLOCK_SLACK_SECONDS)),
        body: Vec::new(),
    };
    Ok(SingleUse { client: Arc::clone(client), mark, reply: None, what: "its assertion" })
}

/// An assertion that has been taken apart: one of two kinds, by the family of its algorithm, and nothing is proven.
enum Taken<'t> {
    /// Signed with a key of the client's own.
    Signed(Unverified<'t>),
    /// With a MAC under a secret that both sides know.
    Maced(Unverified<'t, MacAlgorithm>),
}

impl<'t> Taken<'t> {
    fn apart(assertion: &'t str) -> Result<Self, OAuthError> {
        let taken = match Unverified::parse(assertion) {
            Err(JoseError::AlgorithmUnknown { .. }) => Unverified::parse_mac(assertion).map(Self::Maced),
            signed => signed.map(Self::Signed),
        };
        taken.map_err(|cause| nobody(format!("the assertion: {cause}")))
    }

    const fn method(&self) -> AuthMethod {
        match self {
            Self::Signed(_) => AuthMethod::PrivateKeyJwt,
            Self::Maced(_) => AuthMethod::ClientSecretJwt,
        }
    }

    /// Of a signature; a MAC's is the registered one.
    fn algorithm(&self) -> Option<Algorithm> {
        match self {
            Self::Signed(token) => Some(token.header().algorithm()),
            Self::Maced(_) => None,
        }
    }

    fn typ(&self) -> Option<&str> {
        match self {
            Self::Signed(token) => token.header().typ(),
            Self::Maced(token) => token.header().typ(),
        }
    }

    fn payload(&self) -> &[u8] {
        match self {
            Self::Signed(token) => token.peek_payload_untrusted(),
            Self::Maced(token) => token.peek_payload_untrusted(),
        }
    }

    /// Checks the signature or MAC, and what it proves.
    async fn prove(self, client: &Client, means: Means<'_>) -> Result<Claims, OAuthError> {
        match (self, client.authentication.assertion_keys(), client.authentication.shared_secret()) {
            (Self::Signed(token), Some(keys), _) => {
                let has = |known: &ClientKeys| token.key_in(known.set()).is_ok();
                let known = means.keys(client, &keys.keys, has).await?;
                let key = token.key_in(known.set()).map_err(|cause| wrong(client, cause))?.clone();
                let token = token.into_owned();
                let verified = means.work(client, move || token.verify(&key)).await?;
                read(verified.map_err(|cause| wrong(client, cause))?, client, keys.audience, means)
            }
            (Self::Maced(token), _, Some(secret)) => {
                if token.header().algorithm() != secret.algorithm {
                    return Err(wrong(client, format_args!("is not made with {}", secret.algorithm)));
                }
                let key = secret.open(&client.id, means.sealer)?;
                let verified = token.verify_mac(&key).map_err(|cause| wrong(client, cause))?;
                read(verified, client, secret.audience, means)
            }
            // The method has been checked.
            _ => Err(refused(FAILED)),
        }
    }
}

/// The claims of an assertion that is the client's.
fn read<A>(
    verified: Verified<A>,
    client: &Client,
    audience: AssertionAudience,
    means: Means<'_>,
) -> Result<Claims, OAuthError> {
    let rules = Rules::new().issuer(&client.id).any_audience().any_typ().require("sub").require("aud");
    let rules = rules.require("jti").leeway(Duration::from_secs(LEEWAY_SECONDS));
    let token = rules.check(verified, means.now).map_err(|cause| wrong(client, cause))?;
    let claims = token.claims();
    check_claims(claims, client, audience, means.issuer).map_err(|what| wrong(client, what))?;
    Ok(claims.clone())
}

/// What is read before the signature.
#[derive(Deserialize)]
struct Claimed<'a> {
    exp: f64,
    #[serde(borrow)]
    iss: Cow<'a, str>,
}

/// RFC 7523 §3, item 4: over, or too far away.
pub(super) fn check_end(exp: f64, now: UnixSeconds) -> Result<(), &'static str> {
    let (now, leeway) = (now.0 as f64, LEEWAY_SECONDS as f64);
    if now >= exp + leeway {
        return Err("is over");
    }
    if exp > now + leeway + MAX_LIFETIME_SECONDS as f64 {
        return Err("has an end that is more than 5 minutes away");
    }
    Ok(())
}

/// RFC 8725 §3.11: no token of another kind passes for an assertion. The second name is that of
/// draft-ietf-oauth-rfc7523bis.
fn check_typ(typ: Option<&str>) -> Result<(), &'static str> {
    let good =
        |typ: &str| ["JWT", "client-authentication+jwt"].iter().any(|known| typ.eq_ignore_ascii_case(known));
    match typ.is_none_or(good) {
        true => Ok(()),
        false => Err("has the `typ` of another kind of token"),
    }
}

/// RFC 7523 §3, items 2, 3 and 7; OpenID Connect Core §9: `iss` and `sub` are the client, `aud` is this server and
/// nobody besides, `jti` is there.
fn check_claims(
    claims: &Claims,
    client: &Client,
    allowed: AssertionAudience,
    issuer: &Issuer,
) -> Result<(), &'static str> {
    if claims.subject() != Some(&client.id) {
        return Err("has a `sub` that is not the client");
    }
    let good = claims.text("aud").is_some_and(|aud| {
        aud == issuer.as_str()
            || (allowed == AssertionAudience::IssuerOrTokenEndpoint && aud == issuer.endpoint(TOKEN))
    });
    if !good {
        return Err("has an `aud` that is not exactly the issuer");
    }
    match claims.id() {
        None | Some("") => Err("has an empty `jti`"),
        Some(_) => Ok(()),
    }
}

/// The name of a used assertion. A client's id holds no zero byte, so no two pairs have one text.
fn mark_id(client: &str, jti: &str) -> String {
    let text = [b"sealstone client assertion v1\0", client.as_bytes(), b"\0", jti.as_bytes()].concat();
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, &text))
}

fn nobody(hint: String) -> OAuthError {
    refused(FAILED).hint(hint)
}

/// The peer learns that it failed; the operator learns why.
fn wrong(client: &Client, what: impl std::fmt::Display) -> OAuthError {
    refused(FAILED).hint(format!("client `{}`: its assertion {what}", client.id))
}
