//! The refresh token grant, RFC 6749 §6, with rotation as RFC 9700 §4.14 wants it.
//!
//! A refresh token is `srt1~FAMILY~GENERATION~TAG`: a family, a number within it, and an HMAC over both. The family's
//! record holds the number of the one token that holds. So a token that is made up costs no read, the store holds nothing
//! from which a token could be made, and the successor of a token is the same for whoever asks: a client whose answer was
//! lost, or that asked twice at once, asks again within [`GRACE_SECONDS`] and gets that same successor. Later, or for any
//! older token, the second use is a sign that a token was stolen: the family is revoked.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::UnixSeconds;

use super::granted::{self, Family, not_held};
use super::token::{Ground, TokenResponse};
use super::{Authenticated, Confirmation, OAuthError, Parameters, id_token, target};
use crate::client::{AuthMethod, Client};
use crate::clock::later;
use crate::people::user;
use crate::store::{Kind, Record, Write};

/// How long a token may be exchanged again after its successor was issued.
pub const GRACE_SECONDS: u64 = 10;

/// Exchanges a refresh token for an access token and, where it rotates, for its successor.
/// RFC 6749 §6; OpenID Connect Core §12; RFC 9449 §5.
/// Errors: `invalid_grant`, for whatever is wrong with the token; `invalid_scope` and `invalid_target` for more than was
/// granted.
pub async fn grant(
    caller: &Authenticated,
    parameters: &Parameters,
    ground: Ground<'_>,
) -> Result<TokenResponse, OAuthError> {
    let client = caller.client();
    let presented = Presented::open(parameters.required("refresh_token")?, ground.refresh_key)
        .ok_or_else(|| not_held("the refresh token is not one of ours"))?;
    // Each round that does not end has seen another request move the family on.
    for _ in 0..16 {
        let record = ground.store.read(Kind::Family, presented.family, ground.now).await?;
        let record = record.ok_or_else(|| not_held("the refresh token has ended"))?;
        let family: Family = granted::parse(Kind::Family, &record.body)?;
        check(&family, client, ground).await?;
        let generation = match family.place(presented.generation, ground.now) {
            Place::Holds if !rotates(client, &family.confirmation) => family.generation,
            Place::Holds => match rotate(&family, &record, client, ground).await? {
                Some(generation) => generation,
                None => continue,
            },
            Place::JustExchanged => family.generation,
            Place::Old => {
                ground.end_family(presented.family).await?;
                return Err(not_held("a refresh token was used a second time: its family is revoked"));
            }
        };
        return answer(&family, generation, client, parameters, ground).await;
    }
    Err(not_held("many requests exchange this token at once"))
}

/// RFC 9700 §4.14.2: the tokens of a public client rotate. Those of a client that authenticates and shows a key besides
/// do not, as the FAPI 2.0 Security Profile §5.3.2.1 demands: a lost answer would lose the grant, for no gain.
fn rotates(client: &Client, confirmation: &Confirmation) -> bool {
    client.authentication.method() == AuthMethod::None || confirmation.is_bearer()
}

/// Whether the family is this client's and still holds.
async fn check(family: &Family, client: &Client, ground: Ground<'_>) -> Result<(), OAuthError> {
    let granted = &family.granted;
    if !granted.is_for(client) {
        return Err(not_held("the refresh token was issued to another client"));
    }
    if family.revoked || ground.snapshot.revocations.contains(&granted.family) {
        return Err(not_held("the family of the refresh token is revoked"));
    }
    // RFC 9449 §5: a public client goes on with the key that it began with. One that authenticates may take another.
    let public = client.authentication.method() == AuthMethod::None;
    if public && family.confirmation != *ground.confirmation {
        return Err(not_held("the refresh token is bound to a key that the request does not show"));
    }
    match user::by_sub(ground.store, &granted.sub, ground.now).await? {
        Some(person) if !person.disabled => Ok(()),
        _ => Err(not_held("the person is not a user any more, or is disabled")),
    }
}

/// Moves the family on; `None` if somebody else did. The new end is counted from now: a token in use does not end.
async fn rotate(
    family: &Family,
    record: &Record,
    client: &Client,
    ground: Ground<'_>,
) -> Result<Option<u64>, OAuthError> {
    let generation = family.generation.saturating_add(1);
    let moved = Family { generation, rotated_at: ground.now.0, ..family.clone() };
    let ends = later(ground.now, client.code_flow.refresh_lifetime_seconds.0);
    match ground.store.replace(moved.record(ends)?, record.version, ground.now).await? {
        Write::Done(_) => Ok(Some(generation)),
        Write::Refused => Ok(None),
    }
}

async fn answer(
    family: &Family,
    generation: u64,
    client: &Client,
    parameters: &Parameters,
    ground: Ground<'_>,
) -> Result<TokenResponse, OAuthError> {
    let granted = &family.granted;
    let scope = target::narrowed_scope(granted.scope.as_deref(), parameters.value("scope"))?;
    let audiences = target::narrowed(&granted.audiences, parameters)?;
    let (access_token, expires_in) =
        granted.access_token(client, &audiences, scope.as_deref(), ground).await?;
    let is_openid = scope.as_deref().is_some_and(|scope| scope.split(' ').any(|one| one == "openid"));
    let id_token = match is_openid {
        // OpenID Connect Core §12.2: without the nonce.
        true => Some(id_token::issue(granted, None, &access_token, client, ground).await?),
        false => None,
    };
    let refresh_token = Some(token(&granted.family, generation, ground.refresh_key));
    let token_type = ground.confirmation.token_type();
    let issued_token_type = None;
    Ok(TokenResponse {
        access_token,
        expires_in,
        id_token,
        issued_token_type,
        refresh_token,
        scope,
        token_type,
    })
}

/// Where a token stands in its family.
enum Place {
    Holds,
    /// Its successor was issued a moment ago.
    JustExchanged,
    Old,
}

impl Family {
    /// Whether this is the token that is to be exchanged next.
    pub(crate) fn holds(&self, token: &Presented<'_>) -> bool {
        self.generation == token.generation
    }

    fn place(&self, generation: u64, now: UnixSeconds) -> Place {
        let fresh = now.0 <= self.rotated_at.saturating_add(GRACE_SECONDS);
        match self.generation.checked_sub(generation) {
            Some(0) => Place::Holds,
            Some(1) if fresh => Place::JustExchanged,
            // A number that is still to come is one of a store that was set back: it does not hold either.
            _ => Place::Old,
        }
    }
}

/// A refresh token whose tag is good.
#[derive(Debug)]
pub(crate) struct Presented<'a> {
    pub(crate) family: &'a str,
    generation: u64,
}

impl<'a> Presented<'a> {
    /// Reads a token; its tag is compared in constant time.
    pub(crate) fn open(text: &'a str, key: &hmac::Key) -> Option<Self> {
        let (rest, tag) = text.rsplit_once('~')?;
        let (family, generation) = rest.strip_prefix(PREFIX)?.split_once('~')?;
        hmac::verify(key, rest.as_bytes(), &URL_SAFE_NO_PAD.decode(tag).ok()?).ok()?;
        Some(Self { family, generation: generation.parse().ok()? })
    }
}

/// What every refresh token begins with: no access token does, and a search for leaked secrets finds it.
pub(crate) const PREFIX: &str = "srt1~";

pub(crate) fn token(family: &str, generation: u64, key: &hmac::Key) -> String {
    let rest = format!("{PREFIX}{family}~{generation}");
    let tag = URL_SAFE_NO_PAD.encode(hmac::sign(key, rest.as_bytes()));
    format!("{rest}~{tag}")
}
