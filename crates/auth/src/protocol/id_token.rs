//! ID tokens, OpenID Connect Core §2: who signed in, said to the client.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::jws::Unverified;
use sealstone_jose::jwt::{Claims, Rules};
use sealstone_jose::{Algorithm, UnixSeconds};
use serde_json::Value;

use super::granted::{self, Granted};
use super::token::Ground;
use super::{OAuthError, subject};
use crate::client::Client;
use crate::clock::later;
use crate::issuer::Issuer;
use crate::snapshot::Snapshot;

/// How long a client may take to read it. It says what was true when it was signed, and opens nothing.
const LIFETIME_SECONDS: u64 = 300;
/// RFC 7519 §5.1.
pub(crate) const TYP: &str = "JWT";

/// Issues an ID token.
/// OpenID Connect Core §2; §3.1.3.6 for `at_hash`. It never says more of the person than `sub`: the userinfo endpoint
/// does (§5.4).
pub(crate) async fn issue(
    granted: &Granted,
    nonce: Option<&str>,
    access_token: &str,
    client: &Client,
    ground: Ground<'_>,
) -> Result<String, OAuthError> {
    let mut claims = Claims::new()
        .with("iss", ground.issuer.as_str())
        .with("sub", subject::at(client, &granted.sub, ground.pairwise_key).as_ref())
        .with("aud", client.id.as_str())
        .with("iat", ground.now.0)
        .with("exp", later(ground.now, LIFETIME_SECONDS).0)
        .with("auth_time", granted.auth_time)
        .with("sid", granted::sid_at(&granted.sid, &client.id));
    if let Some(acr) = &granted.acr {
        claims = claims.with("acr", acr.as_str());
    }
    if !granted.amr.is_empty() {
        claims = claims.with("amr", Value::from(granted.amr.clone()));
    }
    if let Some(nonce) = nonce {
        claims = claims.with("nonce", nonce);
    }
    let key = ground.signing_key(client)?;
    if let Some(hash) = half_hash(client.algorithm, access_token) {
        claims = claims.with("at_hash", hash);
    }
    Ok(ground.sign(key, TYP, &claims).await?)
}

/// What an ID token shows that came back as a hint.
pub(crate) struct Hint {
    pub(crate) client: Arc<Client>,
    pub(crate) sid: String,
    pub(crate) sub: String,
}

/// Reads an ID token of ours, however old: OpenID Connect Core §3.1.2.1, RP-Initiated Logout §2. Keys that have left the
/// JWK set sign for nobody any more.
pub(crate) fn read(token: &str, snapshot: &Snapshot, issuer: &Issuer, now: UnixSeconds) -> Option<Hint> {
    let unverified = Unverified::parse(token).ok()?;
    let key = snapshot.keys.by_kid(unverified.header().kid()?)?;
    let verified = unverified.verify(key.public()).ok()?;
    let rules = Rules::new().issuer(issuer.as_str()).any_audience().typ(TYP).leeway(Duration::MAX);
    let token = rules.check(verified, now).ok()?;
    let claims = token.claims();
    let (&[id], sid) = (claims.audiences().as_slice(), claims.text("sid")?) else { return None };
    let client = snapshot.clients.by_id(id)?;
    // An ID token of a client that had this id before says nothing of this one.
    (client.created_at <= claims.issued()?).then_some(())?;
    Some(Hint { client: Arc::clone(client), sid: sid.to_owned(), sub: claims.text("sub")?.to_owned() })
}

/// The left half of the hash that the algorithm's name says. For Ed25519 and ML-DSA no document says which that is, and
/// the code flow can do without (§3.1.3.6): it is left out, for a wrong one is refused.
fn half_hash(algorithm: Algorithm, access_token: &str) -> Option<String> {
    let hash = match algorithm {
        Algorithm::Es256 | Algorithm::Ps256 | Algorithm::Rs256 => &digest::SHA256,
        Algorithm::Es384 => &digest::SHA384,
        Algorithm::Es512 => &digest::SHA512,
        _ => return None,
    };
    let whole = digest::digest(hash, access_token.as_bytes());
    Some(URL_SAFE_NO_PAD.encode(&whole.as_ref()[..whole.as_ref().len() / 2]))
}
