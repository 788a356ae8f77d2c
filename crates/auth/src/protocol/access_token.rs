//! Access tokens: what they say (RFC 9068 §2) and whether one is ours and still holds (§4).

use std::time::Duration;

use sealstone_jose::jws::Unverified;
use sealstone_jose::jwt::{Claims, Rules, Token};
use sealstone_jose::{Error as JoseError, UnixSeconds};
use serde_json::Value;

use super::granted::IN_SESSION;
use super::token::Ground;
use super::{Code, Confirmation, OAuthError};
use crate::Error;
use crate::client::Client;
use crate::clock::{later, random_id};
use crate::issuer::Issuer;
use crate::keys::ServerKey;
use crate::snapshot::Snapshot;

/// The media type of access tokens, RFC 9068 §2.1.
pub const TYP: &str = "at+jwt";

/// What distinguishes one token from the next.
#[derive(Clone, Debug)]
pub(crate) struct NewToken<'a> {
    /// For whom. Not empty.
    pub(crate) audiences: &'a [String],
    /// To whom.
    pub(crate) client: &'a Client,
    /// Which key its holder must show.
    pub(crate) confirmation: &'a Confirmation,
    /// The family that it is revoked with; `None` where nobody but the client takes part.
    pub(crate) family: Option<&'a str>,
    /// For how many seconds.
    pub(crate) lifetime: u64,
    /// What a grant says besides, as `auth_time` and `acr` (RFC 9068 §2.2.1) or `act` (RFC 8693 §4.1).
    pub(crate) more: Claims,
    /// With which scopes.
    pub(crate) scope: Option<&'a str>,
    /// About whom. RFC 9068 §5: the client's id where no user takes part.
    pub(crate) subject: &'a str,
}

/// Issues a token.
/// RFC 9068 §2.2: iss, exp, aud, sub, client_id, iat, jti; §2.2.3: scope; RFC 7800: cnf. A token of a family carries
/// the family's id in its own, before a dot.
pub(crate) async fn issue(token: NewToken<'_>, key: &ServerKey, ground: Ground<'_>) -> Result<String, Error> {
    debug_assert!(!token.audiences.is_empty());
    let audience = match token.audiences {
        [one] => Value::from(one.as_str()),
        several => Value::from(several),
    };
    let mut jti = random_id(ground.randomness)?;
    if let Some(family) = token.family {
        jti = format!("{family}.{jti}");
    }
    let mut claims = token
        .more
        .with("iss", ground.issuer.as_str())
        .with("sub", token.subject)
        .with("client_id", token.client.id.as_str())
        .with("aud", audience)
        .with("iat", ground.now.0)
        .with("exp", later(ground.now, token.lifetime).0)
        .with("jti", jti);
    if !token.confirmation.is_bearer() {
        let cnf = serde_json::to_value(token.confirmation);
        claims = claims.with("cnf", cnf.map_err(|cause| Error::Key { what: cause.to_string() })?);
    }
    if let Some(scope) = token.scope {
        claims = claims.with("scope", scope);
    }
    ground.sign(key, TYP, &claims).await
}

/// A token that this server signed as an access token and whose time has not passed. It may be revoked: see
/// [`OwnToken::is_active`].
#[derive(Debug)]
pub struct OwnToken {
    token: Token,
    /// Copied out of the claims, whose presence [`check`] has required.
    client_id: String,
    jti: String,
    issued_at: UnixSeconds,
    expires_at: UnixSeconds,
}

/// Why a token is not an [`OwnToken`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Malformed, signed by nobody here, or past its time. All of these look alike.
    NotHeld,
    /// Signed here, as something else than an access token.
    OtherType,
}

/// Decides whether a token is one of ours within its time.
/// RFC 9068 §4, as far as it is the issuer's to check. Cheap checks stand before the signature: size, form, key id.
///
/// `exp` has no leeway. `iat` may lie ahead: the clock was set back, or the node that
/// issued the token is before this one. It will hold here too, so it can be revoked.
pub fn check(
    token: &str,
    snapshot: &Snapshot,
    issuer: &Issuer,
    now: UnixSeconds,
) -> Result<OwnToken, Foreign> {
    let unverified = Unverified::parse(token).map_err(not_held)?;
    let key = unverified.header().kid().and_then(|kid| snapshot.keys.by_kid(kid)).ok_or(Foreign::NotHeld)?;
    let verified = unverified.verify(key.public()).map_err(not_held)?;
    if verified.header().typ() != Some(TYP) {
        return Err(Foreign::OtherType);
    }
    let token = Rules::new()
        .issuer(issuer.as_str())
        .any_audience()
        .typ(TYP)
        .leeway(Duration::MAX)
        .check(verified, now)
        .map_err(not_held)?;
    let claims = token.claims();
    let held = || {
        Some((
            claims.text("client_id")?.to_owned(),
            claims.id()?.to_owned(),
            claims.issued()?,
            claims.expires()?,
        ))
    };
    let (client_id, jti, issued_at, expires_at) = held().ok_or(Foreign::NotHeld)?;
    if expires_at <= now {
        return Err(Foreign::NotHeld);
    }
    Ok(OwnToken { client_id, jti, issued_at, expires_at, token })
}

/// Checks that an access token opens a resource of this server: ours, active, for this server, with one of the scopes.
/// RFC 6750 §3.1; RFC 9068 §4. Whether its holder shows the key that it is bound to is for the caller to check.
/// Errors: `invalid_token`, the same for every token that does not hold; `insufficient_scope`.
pub fn open(
    token: &str,
    scopes: &[&str],
    snapshot: &Snapshot,
    issuer: &Issuer,
    now: UnixSeconds,
) -> Result<OwnToken, OAuthError> {
    let invalid = || OAuthError::new(Code::InvalidToken, "the access token does not hold");
    let token = check(token, snapshot, issuer, now).map_err(|_| invalid())?;
    if !token.is_active(snapshot) || !token.audiences().contains(&issuer.as_str()) {
        return Err(invalid());
    }
    match scopes.iter().any(|scope| token.has_scope(scope)) {
        true => Ok(token),
        false => {
            let lacking = format!("the access token has no scope `{}`", scopes.first().unwrap_or(&""));
            Err(OAuthError::new(Code::InsufficientScope, lacking))
        }
    }
}

impl OwnToken {
    /// Whether it is neither revoked itself, nor with its family or the token that it was exchanged from, nor by the
    /// removal of its client. A client registered again under the same
    /// id does not revive the tokens of the first, save those of the second in which it was registered again.
    pub fn is_active(&self, snapshot: &Snapshot) -> bool {
        let client = snapshot.clients.by_id(&self.client_id);
        client.is_some_and(|client| client.created_at <= self.issued_at)
            && !self.line().any(|id| snapshot.revocations.contains(id))
    }

    /// What it is revoked with: its own id, before each dot the id of its family or of a token that it was exchanged from
    /// (see [`issue`]), and the session that it ends with, where there is one.
    fn line(&self) -> impl Iterator<Item = &str> {
        let dots = self.jti.match_indices('.').map(|(at, _)| &self.jti[..at]);
        let session = self.jti.split_once(IN_SESSION).map(|(session, _)| session);
        dots.chain([self.jti.as_str()]).chain(session)
    }

    /// Whether the scope is one of its own, RFC 9068 §2.2.3.
    pub fn has_scope(&self, name: &str) -> bool {
        let scope = self.claim("scope").and_then(Value::as_str).unwrap_or_default();
        scope.split(' ').any(|one| one == name)
    }

    /// For whom.
    pub fn audiences(&self) -> Vec<&str> {
        self.token.claims().audiences()
    }

    /// Any claim.
    pub fn claim(&self, name: &str) -> Option<&Value> {
        self.token.claims().get(name)
    }

    /// To whom.
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// The second in which it is over.
    pub fn expires_at(&self) -> UnixSeconds {
        self.expires_at
    }

    /// Its id.
    pub fn jti(&self) -> &str {
        &self.jti
    }
}

fn not_held(_: JoseError) -> Foreign {
    Foreign::NotHeld
}
