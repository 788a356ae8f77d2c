//! The device code grant, RFC 8628 §3.4 and §3.5: a device asks until its person has answered, and gets its tokens once.

use super::device::{DeviceRecord, State};
use super::granted::{self, not_held};
use super::token::{Ground, TokenResponse};
use super::{Authenticated, Code, OAuthError, Parameters};
use crate::client::Client;
use crate::people::user;
use crate::store::{Kind, Record, Use, Write};

/// What a device that asks too soon must wait longer from then on, RFC 8628 §3.5.
const SLOWER_BY_SECONDS: u64 = 5;
/// The longest that it is made to wait: a device that never slows down costs no more writes from here on.
pub const SLOWEST_SECONDS: u64 = 60;

/// Answers a device's question.
/// RFC 8628 §3.4 and §3.5. Tokens are those of the code grant, bound to the key that this request shows.
///
/// Whoever comes second with a code that was exchanged gets nothing, and what the first one got is revoked, as with an
/// authorization code: the store decides.
/// Errors: `authorization_pending`, `slow_down`, `access_denied`, `expired_token`; `invalid_grant` for whatever else is
/// wrong with the code; `invalid_request` without `device_code`.
pub async fn grant(
    caller: &Authenticated,
    parameters: &Parameters,
    ground: Ground<'_>,
) -> Result<TokenResponse, OAuthError> {
    let client = caller.client();
    let id = granted::name_of(parameters.required("device_code")?);
    // Each round that does not end has seen another question or the person's answer.
    for _ in 0..16 {
        let record = ground.store.read(Kind::Device, &id, ground.now).await?;
        let record = record.ok_or_else(|| not_held("no such device code, or one that ended long ago"))?;
        let device: DeviceRecord = granted::parse(Kind::Device, &record.body)?;
        if !device.is_for(client) {
            return Err(not_held("the device code was issued to another client"));
        }
        let ended = device.ends_at <= ground.now.0;
        match &device.state {
            State::Denied => return Err(OAuthError::new(Code::AccessDenied, "the person did not agree")),
            State::Granted(_) if record.used_at.is_some() || !ended => {
                return exchange(client, &id, parameters, ground).await;
            }
            State::Granted(_) | State::Pending if ended => {
                return Err(OAuthError::new(Code::ExpiredToken, "the device code's time is over"));
            }
            State::Granted(_) | State::Pending => {}
        }
        if let Some(told) = ask_again(&device, record, ground).await? {
            return Err(told);
        }
    }
    Err(slow_down())
}

/// Tells the device to ask again, and notes that it has asked; `None` if the record has changed meanwhile.
async fn ask_again(
    device: &DeviceRecord,
    record: Record,
    ground: Ground<'_>,
) -> Result<Option<OAuthError>, OAuthError> {
    let in_time = device.polled_at.is_none_or(|last| last.saturating_add(device.interval) <= ground.now.0);
    let (noted, told) = match in_time {
        true => {
            let pending = OAuthError::new(Code::AuthorizationPending, "the person has not answered yet");
            (DeviceRecord { polled_at: Some(ground.now.0), ..device.clone() }, pending)
        }
        false if device.interval >= SLOWEST_SECONDS => return Ok(Some(slow_down())),
        false => {
            let interval = device.interval.saturating_add(SLOWER_BY_SECONDS);
            (DeviceRecord { interval, ..device.clone() }, slow_down())
        }
    };
    let written = ground.store.replace(noted.record(record.id)?, record.version, ground.now).await?;
    Ok(matches!(written, Write::Done(_)).then_some(told))
}

fn slow_down() -> OAuthError {
    OAuthError::new(Code::SlowDown, "the device asks too often: it must wait 5 seconds longer each time")
}

/// The person has agreed: one request gets the tokens.
async fn exchange(
    client: &Client,
    id: &str,
    parameters: &Parameters,
    ground: Ground<'_>,
) -> Result<TokenResponse, OAuthError> {
    let granted = |record: &Record| match granted::parse::<DeviceRecord>(Kind::Device, &record.body)?.state {
        State::Granted(granted) => Ok(granted),
        State::Denied | State::Pending => Err(not_held("the device code was not granted")),
    };
    let granted = match ground.store.consume(Kind::Device, id, ground.now).await? {
        Use::First(record) => granted(&record)?,
        Use::Again(record) => {
            ground.end_family(&granted(&record)?.family).await?;
            return Err(not_held("the device code was used before: everything issued for it is revoked"));
        }
        Use::Absent => return Err(not_held("the device code ended at this moment")),
    };
    // Minutes may have passed since they agreed.
    match user::by_sub(ground.store, &granted.sub, ground.now).await? {
        Some(person) if !person.disabled => {}
        _ => return Err(not_held("the person is not a user any more, or is disabled")),
    }
    granted::issue(&granted, None, client, parameters, ground).await
}
