//! Payloads and detached signatures that come apart: the signature on `<topic>/$sig` (docs/formats/mqtt.md).
//!
//! A half waits here, whichever comes first, until the other one is there, its time is over, or there is no room. It is on the disk
//! as long, and acknowledged, so it keeps no other message from being acknowledged. Which payload a signature is of, only verifying
//! tells: a signature is tried on each payload that waits on its topic, the latest first.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::config::Stance;
use super::reason::Reason;
use super::verify::{Judge, Looked, SIGNATURE_PROPERTY, Seen, Verified, repeated};
use super::wire::Publish;
use crate::form::Form;
use crate::message::UnixMillis;
use crate::open;
use crate::topic::Topic;

/// What a topic's signatures are under.
const LEVEL: &str = "/$sig";
/// The most halves of a device that wait, and so the most tries for one signature.
const MOST: usize = 32;
/// The most bytes of them.
const MOST_BYTES: usize = 4 << 20;
/// The most bytes of all halves.
const ALL_BYTES: usize = 64 << 20;

/// The halves that wait.
#[derive(Debug)]
pub(super) struct Pairs {
    /// 0: nothing waits.
    within_ms: u64,
    /// By number, in the order of arrival.
    halves: BTreeMap<u64, Half>,
    devices: HashMap<Box<str>, Load>,
    /// Of those that have not had to make room.
    bytes: usize,
    next: u64,
}

/// What waits of a device, in the same order.
#[derive(Debug, Default)]
struct Load {
    numbers: Vec<u64>,
    /// How many have not had to make room, and their bytes.
    count: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Half {
    publish: Arc<Publish>,
    device: Box<str>,
    due: UnixMillis,
    /// The other half is there, and the two are under way.
    engaged: bool,
    /// It had to make room.
    gone: bool,
}

/// What becomes of a half that came.
#[derive(Debug)]
pub(super) enum Met {
    /// It waits, under this number.
    Waits(u64),
    /// It and the half of this number are one message.
    Whole(u64, Box<Verified>),
    /// It is refused.
    Refused(Reason),
}

impl Pairs {
    /// With what waited when the gateway ended.
    pub(super) fn new<'h>(
        within_ms: u64,
        judge: &Judge<'_>,
        held: impl Iterator<Item = (u64, &'h Arc<Publish>)>,
    ) -> Self {
        let mut pairs =
            Pairs { within_ms, halves: BTreeMap::new(), devices: HashMap::new(), bytes: 0, next: 0 };
        for (number, publish) in held {
            let device = Topic::new(&publish.topic).ok().and_then(|topic| judge.rules.device(topic));
            pairs.insert(number, device.unwrap_or_default().into(), Arc::clone(publish), UnixMillis(0));
        }
        pairs
    }

    /// The device of a message that may be a half: one that must sign, whose message was refused for having no signature, or
    /// for being one.
    pub(super) fn device<'t>(
        &self,
        judge: &Judge<'_>,
        publish: &'t Publish,
        refused: Reason,
        now: UnixMillis,
    ) -> Option<&'t str> {
        let half = match refused {
            Reason::SignatureTopic => publish.topic.ends_with(LEVEL),
            Reason::Unsigned | Reason::UnsignedDevice => true,
            _ => false,
        };
        if self.within_ms == 0 || !half || !judge.rules.takes(Form::Detached) {
            return None;
        }
        let device = judge.rules.device(Topic::new(&publish.topic).ok()?)?;
        let signs = judge.directory.device(device).is_some_and(|known| known.can_sign(now));
        (signs && judge.rules.stance(device) != Stance::Compatible).then_some(device)
    }

    /// A half came. `failed` is called once if it was tried on others and is of none of them.
    pub(super) fn meet(
        &mut self,
        publish: &Arc<Publish>,
        device: &str,
        judge: &Judge<'_>,
        seen: &impl Seen,
        failed: impl FnOnce(),
        now: UnixMillis,
    ) -> Met {
        let signature = publish.topic.ends_with(LEVEL);
        if signature {
            let Some((key, number)) = open::detached_number(&publish.payload) else {
                return Met::Refused(Reason::SignatureTopic);
            };
            if let Err(replay) = seen.check(device, key, number) {
                return Met::Refused(repeated(replay, publish));
            }
        }
        if publish.dup && self.of(device).any(|(_, half)| same(&half.publish, publish)) {
            return Met::Refused(Reason::Redelivered);
        }
        let waits = |half: &Half| !half.engaged && !half.gone && parts(&half.publish, publish).is_some();
        let others = self.of(device).rev().filter(|(_, half)| waits(half));
        let others: Vec<_> = others.map(|(number, half)| (number, Arc::clone(&half.publish))).collect();
        let mut tried = false;
        for (number, other) in others {
            let Some((payload, apart)) = parts(&other, publish) else { continue };
            match judge.look(&Arc::new(joined(payload, apart)), seen, now) {
                Ok(Looked::Signed(candidate)) => {
                    if let Ok(verified) = candidate.check() {
                        self.halves.entry(number).and_modify(|half| half.engaged = true);
                        return Met::Whole(number, Box::new(verified));
                    }
                    tried = true;
                }
                // A payload of another length: it says nothing of the signature. What else is wrong is wrong with any payload.
                Err(Reason::Malformed(_)) | Ok(Looked::Unsigned(_) | Looked::Release) => {}
                Err(reason) if signature => return Met::Refused(reason),
                Err(_) => {}
            }
        }
        if tried {
            failed();
        }
        let due = UnixMillis(now.0.saturating_add(self.within_ms));
        let number = self.next;
        self.insert(number, device.into(), Arc::clone(publish), due);
        self.make_room(device, number);
        Met::Waits(number)
    }

    /// Everything waits anew: the other half cannot have come while there was no broker.
    pub(super) fn renew(&mut self, now: UnixMillis) {
        let due = UnixMillis(now.0.saturating_add(self.within_ms));
        self.halves.values_mut().for_each(|half| half.due = due);
    }

    /// Those whose time is over, or that had to make room, in the order of arrival.
    pub(super) fn due(&self, now: UnixMillis) -> Vec<u64> {
        let over = |half: &Half| !half.engaged && (half.gone || half.due <= now);
        self.halves.iter().filter(|(_, half)| over(half)).map(|(number, _)| *number).collect()
    }

    /// A half waits no more.
    pub(super) fn release(&mut self, number: u64) -> Option<Arc<Publish>> {
        self.let_go(number);
        let half = self.halves.remove(&number)?;
        if let Some(load) = self.devices.get_mut(&half.device) {
            load.numbers.retain(|other| *other != number);
            if load.numbers.is_empty() {
                self.devices.remove(&half.device);
            }
        }
        Some(half.publish)
    }

    fn insert(&mut self, number: u64, device: Box<str>, publish: Arc<Publish>, due: UnixMillis) {
        let load = self.devices.entry(device.clone()).or_default();
        load.numbers.push(number);
        load.count += 1;
        load.bytes += len(&publish);
        self.bytes += len(&publish);
        self.next = self.next.max(number + 1);
        self.halves.insert(number, Half { publish, device, due, engaged: false, gone: false });
    }

    /// The earliest of the device go before their time, and where all together are too many, the earliest of the device that has
    /// the most. So whoever floods a device's topics has to send as much between two halves to part them, and parts no others.
    fn make_room(&mut self, device: &str, latest: u64) {
        let full = |load: &Load| load.count > MOST || load.bytes > MOST_BYTES;
        while self.devices.get(device).is_some_and(full) && self.earliest_goes(device, latest) {}
        while self.bytes > ALL_BYTES {
            let most = self.devices.iter().max_by_key(|(_, load)| load.bytes);
            let Some(most) = most.map(|(device, _)| device.clone()) else { break };
            if !self.earliest_goes(&most, latest) {
                break;
            }
        }
    }

    /// False if none can.
    fn earliest_goes(&mut self, device: &str, latest: u64) -> bool {
        let may = |(number, half): &(u64, &Half)| !half.engaged && !half.gone && *number != latest;
        let earliest = self.of(device).find(may).map(|(number, _)| number);
        earliest.is_some_and(|number| self.let_go(number))
    }

    /// It counts no more. False if it did not.
    fn let_go(&mut self, number: u64) -> bool {
        let Some(half) = self.halves.get_mut(&number).filter(|half| !half.gone) else { return false };
        half.gone = true;
        self.bytes -= len(&half.publish);
        if let Some(load) = self.devices.get_mut(&half.device) {
            load.count -= 1;
            load.bytes -= len(&half.publish);
        }
        true
    }

    fn of(&self, device: &str) -> impl DoubleEndedIterator<Item = (u64, &Half)> {
        let numbers = self.devices.get(device).map_or(&[][..], |load| &load.numbers);
        numbers.iter().filter_map(|number| Some((*number, self.halves.get(number)?)))
    }
}

/// Payload and signature, if one is the other's by their topics.
fn parts<'p>(one: &'p Publish, other: &'p Publish) -> Option<(&'p Publish, &'p Publish)> {
    let of =
        |signature: &Publish, payload: &Publish| signature.topic.strip_suffix(LEVEL) == Some(&payload.topic);
    if of(one, other) { Some((other, one)) } else { of(other, one).then_some((one, other)) }
}

/// A payload with its signature beside it: a detached message like those whose signature comes in a user property.
fn joined(payload: &Publish, signature: &Publish) -> Publish {
    let mut whole = payload.clone();
    whole.properties.user.push((SIGNATURE_PROPERTY.into(), URL_SAFE_NO_PAD.encode(&signature.payload)));
    whole.dup |= signature.dup;
    whole.retain |= signature.retain;
    whole
}

fn same(one: &Publish, other: &Publish) -> bool {
    one.topic == other.topic && one.payload == other.payload
}

/// What a half takes up, about.
fn len(publish: &Publish) -> usize {
    let user: usize = publish.properties.user.iter().map(|(name, value)| name.len() + value.len()).sum();
    publish.topic.len() + publish.payload.len() + user + 256
}

#[cfg(test)]
mod tests {
    use super::{ALL_BYTES, MOST, MOST_BYTES, Pairs};
    use crate::gateway::wire::Publish;
    use crate::message::UnixMillis;
    use std::collections::{BTreeMap, HashMap};
    use std::sync::Arc;

    fn with(pairs: &mut Pairs, device: &str, bytes: usize) {
        let publish = Arc::new(Publish { payload: vec![0; bytes], ..Publish::default() });
        let number = pairs.next;
        pairs.insert(number, device.into(), publish, UnixMillis(2));
        pairs.make_room(device, number);
    }

    #[test]
    fn the_earliest_make_room() {
        let (halves, devices) = (BTreeMap::new(), HashMap::new());
        let mut pairs = Pairs { within_ms: 1, halves, devices, bytes: 0, next: 0 };
        for _ in 0..6 {
            with(&mut pairs, "a", 900_000);
        }
        assert_eq!(pairs.due(UnixMillis(1)), [0, 1], "four of 900 000 bytes are below {MOST_BYTES}");
        for _ in 0..MOST + 3 {
            with(&mut pairs, "b", 10);
        }
        assert_eq!(pairs.due(UnixMillis(1)), [0, 1, 6, 7, 8]);
        for number in pairs.due(UnixMillis(1)) {
            pairs.release(number);
        }
        // All together: it is the one with the most that makes room, and never the one that has just come.
        for device in 0..70 {
            with(&mut pairs, &device.to_string(), 1_000_000);
        }
        assert!(pairs.bytes <= ALL_BYTES);
        let gone = pairs.due(UnixMillis(1));
        assert_eq!(gone[..3], [2, 3, 4], "of a");
        let count: usize = pairs.devices.values().map(|load| load.count).sum();
        assert_eq!(count + gone.len(), pairs.halves.len());
        // Everything goes in the end, and nothing is counted any more.
        for number in pairs.due(UnixMillis(2)) {
            pairs.release(number);
        }
        assert_eq!((pairs.bytes, pairs.devices.len(), pairs.halves.len()), (0, 0, 0));
    }
}
