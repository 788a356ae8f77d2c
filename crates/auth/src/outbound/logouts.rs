//! Logout tokens on their way to clients, OpenID Connect Back-Channel Logout 1.0 §2.5.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::Outbound;
use crate::Error;
use crate::clock::Clock;
use crate::issuer::Issuer;
use crate::protocol::backchannel_logout::{self, Claimed};
use crate::snapshot::Live;

/// Tokens in one round.
const IN_A_ROUND: usize = 16;
/// Of these, to one client: one that does not answer must not hold up the others.
const TO_ONE_CLIENT: usize = 4;

/// Sends what waits.
#[derive(Clone)]
pub(crate) struct Logouts {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) issuer: Issuer,
    pub(crate) live: Arc<Live>,
    /// Not the one that fetches keys: clients that do not answer here must not keep others from being authenticated.
    pub(crate) outbound: Arc<Outbound>,
}

impl Logouts {
    /// One round: whose turn it is, a few at a time. Returns when each has an answer, or its time is over.
    /// Errors: `Store`; what was not sent waits.
    pub(crate) async fn round(&self) -> Result<(), Error> {
        let (store, now) = (self.live.store(), self.clock.now());
        let (mut to_client, mut round) = (HashMap::<String, usize>::new(), JoinSet::new());
        for due in backchannel_logout::due(store, now).await? {
            if round.len() >= IN_A_ROUND {
                break;
            }
            let before = to_client.entry(due.client_id().to_owned()).or_default();
            if *before >= TO_ONE_CLIENT {
                continue;
            }
            *before += 1;
            if let Some(claimed) = due.claim(store, now).await? {
                let this = self.clone();
                round.spawn(async move { this.send(claimed).await });
            }
        }
        while let Some(sent) = round.join_next().await {
            sent.unwrap_or(Ok(()))?;
        }
        Ok(())
    }

    async fn send(&self, claimed: Claimed) -> Result<(), Error> {
        let (store, randomness) = (self.live.store(), self.live.randomness());
        let snapshot = self.live.snapshot_owned();
        let (key, now) = (&self.live.flow_keys().pairwise, self.clock.now());
        let Some((uri, token)) = claimed.token(&snapshot, &self.issuer, key, randomness, now)? else {
            return claimed.remove(store).await;
        };
        // A token is base64url and dots: nothing to encode.
        let sent = self.outbound.post(&uri, format!("logout_token={token}").into()).await;
        let client = claimed.client_id();
        match sent {
            Ok(()) => {
                tracing::info!(client, "a logout token was taken");
                claimed.remove(store).await
            }
            Err(cause) if claimed.is_last() => {
                tracing::error!(client, cause, "a logout token was not taken, and is not sent again");
                claimed.remove(store).await
            }
            Err(cause) => {
                tracing::warn!(client, cause, "a logout token was not taken, and is sent again later");
                Ok(())
            }
        }
    }
}
