//! Keys that devices announce (docs/formats/mqtt.md, "key"): what a verified announcement must be like to be confirmed.

use std::sync::Arc;

use sealstone_mldsa::{Level, any};

use super::config::Announcements;
use super::directory::{Device, Key};
use super::known::{Change, Known};
use super::learned::{LearnedKey, is_same, root};
use super::reason::Reason;
use super::verify::{Effect, Judge};
use crate::error::{Error, Field};
use crate::form::By;
use crate::keyring::Announcement;
use crate::message::{KeyId, Kind, Message, UnixMillis};

/// Where devices announce their keys; the answer goes to `confirmed` below it.
pub const TOPIC: &str = "device/+/critical/key";

/// A key that counts from now on, or counted before and is confirmed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmed {
    /// The key.
    pub key: Arc<Key>,
    /// It counted before: the answer was lost, or the device asks again.
    pub again: bool,
    /// From when on the keys of its level before it do not count; none where the directory alone says so.
    pub before_until: Option<UnixMillis>,
}

/// Whether a verified announcement of a device is to be confirmed. Nothing is changed, and its number not taken.
///
/// Errors: `Announcement` where none is; `Malformed`; `Tag`; `AnnouncedBelow`, `AnnouncedId`, `AnnouncedKey`, `AnnouncedOtherwise`.
pub(super) fn weigh(
    judge: &Judge<'_>,
    (device, by): (&str, By),
    message: &Message<'_>,
    known: &Known,
    now: UnixMillis,
) -> Result<(Effect, Option<Change>), Reason> {
    let keys = judge.rules.keys();
    if keys.announcements == Announcements::Refuse {
        return Err(Reason::Announcement);
    }
    let By::Signature(signer) = by else { return Err(Reason::Tag) };
    if message.kind != Kind::Plain {
        return Err(Reason::Malformed(Error::Unknown(Field::Kind)));
    }
    let announced = Announcement::parse(message.payload).map_err(Reason::Malformed)?;
    let Announcement { level, key_id: id, public_key } = announced;
    if signer < level {
        return Err(Reason::AnnouncedBelow);
    }
    any::VerifyingKey::decode(level, public_key).map_err(|_| Reason::AnnouncedKey)?;
    let entry = judge.directory.device(device).ok_or(Reason::UnknownDevice)?;
    let new = Arc::new(Key::active(id, level, public_key));
    if let Some(there) = entry.key(id).or_else(|| known.learned.key(device, id)) {
        if !is_same(there, &new) {
            return Err(Reason::AnnouncedOtherwise);
        }
        // Retired, or announced by the operator's word: it is not for us to confirm.
        let over = known.learned.over_at(device, there).is_some_and(|at| at <= now);
        if over || !there.counts(now) {
            return Err(Reason::AnnouncedId);
        }
        let confirmed = Confirmed { key: Arc::clone(there), again: true, before_until: None };
        return Ok((Effect::Confirmed(confirmed), None));
    }
    if entry.mac(id).is_some() {
        return Err(Reason::AnnouncedOtherwise);
    }
    let (newest, root) = newest(entry, device, level, known).ok_or(Reason::AnnouncedId)?;
    if newest.0.checked_add(1) != Some(id.0) {
        return Err(Reason::AnnouncedId);
    }
    if judge.directory.has(public_key) || known.learned.has(public_key) {
        return Err(Reason::AnnouncedKey);
    }
    let until = UnixMillis(now.0.saturating_add(u64::from(keys.overlap_s).saturating_mul(1000)));
    let learned = LearnedKey::new(Arc::clone(&new), now, until, root);
    let confirmed = Confirmed { key: new, again: false, before_until: Some(until) };
    Ok((Effect::Confirmed(confirmed), Some(Change::Learned(device.into(), learned))))
}

/// The id of a device's latest key of a level, and the root of what follows it.
fn newest(entry: &Device, device: &str, level: Level, known: &Known) -> Option<(KeyId, [u8; 32])> {
    let listed = entry.keys().iter().filter(|key| key.level == level).max_by_key(|key| key.id);
    match (listed, known.learned.newest(device, level)) {
        (Some(listed), Some(learned)) if learned.key.id > listed.id => Some((learned.key.id, learned.root)),
        (Some(listed), _) => Some((listed.id, root(listed))),
        // What was learned has its root in the directory, or is there itself.
        (None, _) => None,
    }
}
