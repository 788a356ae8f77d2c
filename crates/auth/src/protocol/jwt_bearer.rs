//! The jwt-bearer grant: a client brings an assertion of an issuer that is trusted for it, and gets a token for the
//! subject that the assertion names. RFC 7521 §4.1 and RFC 7523 §2.1 and §3.
//!
//! The issuer's keys come from its registration and decide the algorithm; nothing that an assertion says about keys is
//! followed. Cheap checks stand before the signature: size, form, issuer, client, end. That an assertion is used once is
//! decided by the store, after everything else has held.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::jws::Unverified;
use sealstone_jose::jwt::{Claims, Rules};
use serde::Deserialize;

use super::access_token::{self, NewToken};
use super::client_assertion::{LEEWAY_SECONDS, MAX_ASSERTION, check_end};
use super::target::{audiences, is_scope_token};
use super::token::{Ground, TokenResponse};
use super::{Authenticated, Code, OAuthError, Parameters, subject};
use crate::client::Client;
use crate::clock::{CLOCK_SLACK_SECONDS, later};
use crate::people::user;
use crate::store::{Kind, NewRecord, Write};
use crate::trusted::{SubjectRule, TrustedIssuer};

/// The parameter that holds the assertion, RFC 7521 §4.1.
pub const ASSERTION: &str = "assertion";

/// Issues a token for the subject of an assertion.
/// RFC 7523 §2.1 and §3. As with any grant in which the user takes no part, there is no refresh token (RFC 7521 §4.1).
///
/// Errors: `invalid_grant`, the same for every assertion that does not hold (§3.1); `invalid_request` without one;
/// `invalid_scope`, `invalid_target`; `server_error` if the client's algorithm has no key or the store fails.
pub async fn grant(
    caller: &Authenticated,
    parameters: &Parameters,
    ground: Ground<'_>,
) -> Result<TokenResponse, OAuthError> {
    let client = caller.client();
    let held = check(client, parameters.required(ASSERTION)?, ground)?;
    let scope = scope(client, held.issuer, parameters.value("scope"))?;
    let audiences = audiences(client, parameters, ground.issuer.as_str())?;
    let key = ground.signing_key(client)?;
    let own = held.issuer.subject == SubjectRule::Same;
    if own {
        check_user(client, &held.subject, ground).await?;
    }
    if let Write::Refused = ground.store.insert(held.mark, ground.now).await? {
        return Err(refused(client, "was used before"));
    }
    // A user of this server is to the client who it is in its other tokens; whoever else is named stays as named.
    let seen = match own {
        true => subject::given(client, &held.subject, ground.pairwise_key, ground.store, ground.now).await?,
        false => held.subject.as_str().into(),
    };
    let lifetime = ground.lifetime(client);
    let token = NewToken {
        audiences: &audiences,
        client,
        confirmation: ground.confirmation,
        family: held.issuer.family.as_deref(),
        lifetime,
        more: Claims::new(),
        scope: scope.as_deref(),
        subject: &seen,
    };
    let access_token = access_token::issue(token, key, ground).await?;
    Ok(TokenResponse::new(access_token, lifetime, scope, ground.confirmation))
}

/// An assertion that holds, if it is used for the first time.
struct Held<'a> {
    issuer: &'a TrustedIssuer,
    mark: NewRecord,
    subject: String,
}

/// What is read before the signature.
#[derive(Deserialize)]
struct Claimed<'a> {
    exp: f64,
    #[serde(borrow)]
    iss: Cow<'a, str>,
}

/// RFC 7523 §3.
fn check<'a>(client: &Client, assertion: &str, ground: Ground<'a>) -> Result<Held<'a>, OAuthError> {
    if assertion.len() > MAX_ASSERTION {
        return Err(refused(client, "is longer than any that could be accepted"));
    }
    let unverified = Unverified::parse(assertion).map_err(|cause| refused(client, cause))?;
    check_typ(unverified.header().typ()).map_err(|what| refused(client, what))?;
    // Of what is not verified, the issuer chooses the keys, and the end can only refuse.
    let claimed: Claimed<'_> = serde_json::from_slice(unverified.peek_payload_untrusted())
        .map_err(|_| refused(client, "has no `iss` or no `exp`, or another claim is malformed"))?;
    let issuer = ground.snapshot.trusted.by_issuer(&claimed.iss);
    let issuer = issuer.ok_or_else(|| refused(client, "is of an issuer that is not trusted"))?;
    let wrong = |what: &dyn std::fmt::Display| refused(client, format!("of {}: {what}", issuer.issuer));
    if !issuer.clients.contains(&client.id) {
        return Err(wrong(&"the client may not bring assertions of this issuer"));
    }
    check_end(claimed.exp, ground.now).map_err(|what| wrong(&what))?;
    let verified = unverified.verify_with_set(&issuer.keys).map_err(|cause| wrong(&cause))?;
    let rules = Rules::new().issuer(&issuer.issuer).any_audience().any_typ().require("sub").require("jti");
    let rules = rules.leeway(Duration::from_secs(LEEWAY_SECONDS));
    let token = rules.check(verified, ground.now).map_err(|cause| wrong(&cause))?;
    let claims = token.claims();
    // §3, item 3; a second audience could use the assertion here before the client does, or the other way round.
    if claims.text("aud") != Some(ground.issuer.as_str()) {
        return Err(wrong(&"has an `aud` that is not exactly the issuer"));
    }
    if !ground.confirmation.shows(claims.get("cnf")) {
        return Err(wrong(&"is bound to a key that this request does not show"));
    }
    let (Some(exp), Some(jti)) = (claims.expires(), claims.id().filter(|jti| !jti.is_empty())) else {
        return Err(wrong(&"has no `exp` or no `jti`"));
    };
    check_end(exp.0 as f64, ground.now).map_err(|what| wrong(&what))?;
    let subject = claims.subject().and_then(|sub| issuer.subject(sub));
    let subject = subject.ok_or_else(|| wrong(&"has a `sub` that cannot be one here"))?;
    // RFC 9700 §4.15: a resource server tells by the subject whether a user or a client is behind a token.
    if ground.snapshot.clients.by_id(&subject).is_some() {
        return Err(wrong(&"has the id of a client as its subject"));
    }
    let mark = NewRecord {
        kind: Kind::SingleUse,
        id: mark_id(&issuer.issuer, jti),
        expires_at: Some(later(exp, LEEWAY_SECONDS + CLOCK_SLACK_SECONDS)),
        body: Vec::new(),
    };
    Ok(Held { issuer, mark, subject })
}

/// Whoever speaks about the users of this server speaks about those there are, and who may sign in.
async fn check_user(client: &Client, sub: &str, ground: Ground<'_>) -> Result<(), OAuthError> {
    match user::by_sub(ground.store, sub, ground.now).await? {
        Some(user) if !user.disabled => Ok(()),
        _ => Err(refused(client, "is about nobody who may sign in here")),
    }
}

/// RFC 8725 §3.11: no token of another kind passes for a grant. The second name is that of
/// draft-ietf-oauth-rfc7523bis.
fn check_typ(typ: Option<&str>) -> Result<(), &'static str> {
    let good =
        |typ: &str| ["JWT", "authorization-grant+jwt"].iter().any(|known| typ.eq_ignore_ascii_case(known));
    match typ.is_none_or(good) {
        true => Ok(()),
        false => Err("has the `typ` of another kind of token"),
    }
}

/// The scopes that the issuer, the client and the request share; without a request, those that the first two share.
/// RFC 7521 §4.1: the assertion may not be given more than its issuer is trusted with.
fn scope(client: &Client, issuer: &TrustedIssuer, asked: Option<&str>) -> Result<Option<String>, OAuthError> {
    let both: BTreeSet<&str> = client.scopes.intersection(&issuer.scopes).map(String::as_str).collect();
    let scopes = match asked {
        None => both,
        Some(asked) => {
            let asked: BTreeSet<&str> = asked.split(' ').collect();
            if !asked.iter().all(|name| is_scope_token(name)) {
                let what = "`scope` is not a list of names with one space between";
                return Err(OAuthError::new(Code::InvalidScope, what));
            }
            if !asked.is_subset(&both) {
                let what = "a scope is not one that the client may have for this issuer's subjects";
                return Err(OAuthError::new(Code::InvalidScope, what));
            }
            asked
        }
    };
    Ok((!scopes.is_empty()).then(|| scopes.into_iter().collect::<Vec<_>>().join(" ")))
}

/// The name of a used assertion. An issuer holds no zero byte, so no two pairs have one text.
fn mark_id(issuer: &str, jti: &str) -> String {
    let text = [b"sealstone grant assertion v1\0", issuer.as_bytes(), b"\0", jti.as_bytes()].concat();
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, &text))
}

/// The peer learns that it failed; the operator learns why.
fn refused(client: &Client, what: impl std::fmt::Display) -> OAuthError {
    let hint = format!("client `{}`: the assertion that it brought {what}", client.id);
    OAuthError::new(Code::InvalidGrant, "the assertion does not hold").hint(hint)
}
