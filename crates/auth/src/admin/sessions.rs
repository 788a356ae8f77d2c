//! Who is signed in, and what was issued: seen, and ended.

use std::collections::HashMap;

use aws_lc_rs::hmac;

use super::Admin;
use crate::Error;
use crate::audit::What;
use crate::clock::{CLOCK_SLACK_SECONDS, later};
use crate::issuer::Issuer;
use crate::people::{Session, User};
use crate::protocol::access_token;
use crate::protocol::granted;
use crate::protocol::session_clients;
use crate::protocol::token_refresh::Presented;
use crate::snapshot::Snapshot;
use crate::store::{Kind, NewRecord, Version, Write};

impl Admin {
    /// The sessions that hold, of one user or of all, by `sid`.
    pub async fn list_sessions(&self, user: Option<&User>) -> Result<Vec<Session>, Error> {
        let users = self.list_users().await?;
        let users: HashMap<&str, &User> = users.iter().map(|user| (user.username.as_str(), user)).collect();
        let records = self.store.list(Kind::Session, Version::ZERO, self.clock.now()).await?;
        let mut sessions = records.iter().map(Session::from_record).collect::<Result<Vec<_>, Error>>()?;
        sessions.retain(|session| {
            let holder = users.get(session.username.as_str());
            holder.is_some_and(|holder| session.belongs_to(holder))
                && user.is_none_or(|wanted| wanted.sub == session.sub)
        });
        sessions.sort_by(|a, b| a.sid.cmp(&b.sid));
        Ok(sessions)
    }

    /// Ends a session by its `sid`, and tells its clients.
    /// Errors: `SessionUnknown`.
    pub async fn end_session(&self, sid: &str) -> Result<(), Error> {
        self.can_note().await?;
        loop {
            let records = self.store.list(Kind::Session, Version::ZERO, self.clock.now()).await?;
            let mut found = None;
            for record in &records {
                let session = Session::from_record(record)?;
                if session.sid == sid {
                    found = Some((session, record));
                }
            }
            let Some((session, record)) = found else {
                return Err(Error::SessionUnknown { sid: sid.to_owned() });
            };
            // First the clients: what stops half way leaves a session that can be ended again.
            let (store, most, now) = (&*self.store, self.max_lifetime_seconds, self.clock.now());
            session_clients::end(sid, &session.sub, most, store, now).await?;
            // Refused: a request has just moved its end, so it is looked for again.
            if let Write::Done(_) = self.store.remove(Kind::Session, &record.id, record.version).await? {
                return self.note(What::SessionEnded, "user", &session.username).await;
            }
        }
    }

    /// Revokes a token, whoever it was issued to: an access token alone, a refresh token with its family. What is neither
    /// is over already, and no error (RFC 7009 §2.2).
    pub async fn revoke(
        &self,
        token: &str,
        refresh_key: &hmac::Key,
        snapshot: &Snapshot,
        issuer: &Issuer,
    ) -> Result<(), Error> {
        self.can_note().await?;
        let now = self.clock.now();
        if let Some(presented) = Presented::open(token, refresh_key) {
            granted::end_family(presented.family, self.max_lifetime_seconds, &*self.store, now).await?;
            return self.note(What::TokenRevoked, "mark", presented.family).await;
        }
        let Ok(token) = access_token::check(token, snapshot, issuer, now) else { return Ok(()) };
        let mark = NewRecord {
            kind: Kind::Revocation,
            id: token.jti().to_owned(),
            expires_at: Some(later(token.expires_at(), CLOCK_SLACK_SECONDS)),
            body: Vec::new(),
        };
        let (Write::Done(_) | Write::Refused) = self.store.insert(mark, now).await?;
        self.note(What::TokenRevoked, "mark", token.jti()).await
    }
}
