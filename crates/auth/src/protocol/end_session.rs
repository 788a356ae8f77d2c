//! The end-session endpoint, OpenID Connect RP-Initiated Logout 1.0: a client sends a person here to sign out.
//!
//! Who asks is shown by an ID token of ours. One that is for the session of this browser ends it at once; without one the
//! person is asked. Nobody is sent on to an address that the client has not registered.

use std::sync::Arc;

use sealstone_jose::UnixSeconds;

use super::{Code, OAuthError, Parameters, granted, id_token};
use crate::client::Client;
use crate::issuer::Issuer;
use crate::people::Session;
use crate::snapshot::Snapshot;

/// A request that can be followed.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who asks, as far as that is shown or said.
    client: Option<Arc<Client>>,
    /// The `sid` of the ID token that came along.
    hinted: Option<String>,
    /// Where the person is sent afterwards.
    location: Option<String>,
}

/// What happens now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The person is asked whether to sign out.
    Ask,
    /// Nobody is signed in here.
    NobodyIsSignedIn,
    /// The session ends.
    SignOut,
}

impl Request {
    /// Reads a request.
    /// RP-Initiated Logout §2 and §3. `logout_hint` and `ui_locales` are not used.
    ///
    /// An ID token that does not hold counts as none, and nobody is sent on for it: a client may still have one whose key
    /// has left the JWK set, and its person is asked. It may have expired (§2).
    /// Errors: `invalid_request` for a client that does not exist or is not that of the ID token, and for an address that
    /// is not registered. The person is told, and not sent anywhere (§4).
    pub fn read(
        parameters: &Parameters,
        snapshot: &Snapshot,
        issuer: &Issuer,
        now: UnixSeconds,
    ) -> Result<Self, OAuthError> {
        let invalid = |what: &'static str| OAuthError::new(Code::InvalidRequest, what);
        let sent = parameters.value("id_token_hint");
        let hint = sent.and_then(|token| id_token::read(token, snapshot, issuer, now));
        let named = match parameters.value("client_id") {
            None => None,
            Some(id) => {
                let client = snapshot.clients.by_id(id);
                Some(Arc::clone(client.ok_or_else(|| invalid("no client has this `client_id`"))?))
            }
        };
        let (client, hinted) = match (hint, named) {
            (Some(hint), Some(named)) if hint.client.id != named.id => {
                return Err(invalid("`id_token_hint` was issued to another client than `client_id`"));
            }
            (Some(hint), _) => (Some(hint.client), Some(hint.sid)),
            (None, named) => (named, None),
        };
        let uri = parameters.value("post_logout_redirect_uri");
        let location = match (&client, uri) {
            (Some(client), Some(uri)) => {
                if !client.logout.post_logout_redirect_uris.iter().any(|known| known.as_str() == uri) {
                    return Err(invalid(
                        "`post_logout_redirect_uri` is not one that the client has registered",
                    ));
                }
                let suspect = sent.is_some() && hinted.is_none();
                (!suspect).then(|| location(uri, parameters.value("state")))
            }
            _ => None,
        };
        Ok(Self { client, hinted, location })
    }

    /// Who asks, as far as that is shown or said.
    pub fn client(&self) -> Option<&Client> {
        self.client.as_deref()
    }

    /// What happens now: §2 demands that the person is asked unless the ID token is one of theirs.
    pub fn next(&self, session: Option<&Session>) -> Next {
        let Some(session) = session else { return Next::NobodyIsSignedIn };
        match (&self.client, &self.hinted) {
            (Some(client), Some(sid)) if *sid == granted::sid_at(&session.sid, &client.id) => Next::SignOut,
            _ => Next::Ask,
        }
    }

    /// Where the person is sent afterwards. §3: only where an ID token has shown who asks, or the person has agreed.
    pub fn location(&self, agreed: bool) -> Option<&str> {
        self.location.as_deref().filter(|_| agreed || self.hinted.is_some())
    }
}

/// §3: the address with `state` as it came; a query that was registered stays.
fn location(uri: &str, state: Option<&str>) -> String {
    let mut location = uri.to_owned();
    if let Some(state) = state {
        location.push(if uri.contains('?') { '&' } else { '?' });
        location.push_str("state=");
        location.extend(form_urlencoded::byte_serialize(state.as_bytes()));
    }
    location
}
