//! What a client sees of a person: OpenID Connect Core 1.0 §8.
//!
//! A pairwise `sub` is an HMAC-SHA256, under a key of the store, over the client's sector and the person's own `sub`. So
//! clients of two sectors cannot tell by it that they know the same person, and nobody without the key finds a person's own
//! `sub`. The one way back is a record that the server itself reads, where a token with a pairwise `sub` is shown to it.

use std::borrow::Cow;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::UnixSeconds;

use crate::Error;
use crate::client::{Client, SubjectType};
use crate::people::{User, user};
use crate::store::{Kind, NewRecord, Store, Write};

/// The `sub` by which a client knows a person. §8.1: the same for every client of the sector, for ever.
pub(crate) fn at<'a>(client: &Client, sub: &'a str, key: &hmac::Key) -> Cow<'a, str> {
    match &client.subject {
        SubjectType::Public => Cow::Borrowed(sub),
        // No host has a zero byte in it, so no two pairs have one text.
        SubjectType::Pairwise { sector, .. } => {
            let tag = hmac::sign(key, &[sector.as_bytes(), b"\0", sub.as_bytes()].concat());
            Cow::Owned(URL_SAFE_NO_PAD.encode(tag))
        }
    }
}

/// The same, before it is given out for the first time: from then on [`person`] finds it.
/// Errors: `Store`.
pub(crate) async fn given<'a>(
    client: &Client,
    sub: &'a str,
    key: &hmac::Key,
    store: &dyn Store,
    now: UnixSeconds,
) -> Result<Cow<'a, str>, Error> {
    let seen = at(client, sub, key);
    if let Cow::Owned(pairwise) = &seen
        && store.read(Kind::PairwiseSubject, pairwise, now).await?.is_none()
    {
        let body = sub.as_bytes().to_vec();
        let new = NewRecord { kind: Kind::PairwiseSubject, id: pairwise.clone(), expires_at: None, body };
        // Refused: another request has written the same.
        let (Write::Done(_) | Write::Refused) = store.insert(new, now).await?;
    }
    Ok(seen)
}

/// The person behind the `sub` of a token of ours, whichever kind it is.
/// Errors: `Store`.
pub(crate) async fn person(store: &dyn Store, sub: &str, now: UnixSeconds) -> Result<Option<User>, Error> {
    if let Some(person) = user::by_sub(store, sub, now).await? {
        return Ok(Some(person));
    }
    let Some(record) = store.read(Kind::PairwiseSubject, sub, now).await? else { return Ok(None) };
    match std::str::from_utf8(&record.body) {
        Ok(own) => user::by_sub(store, own, now).await,
        Err(_) => Ok(None),
    }
}
