//! The records of the journal and the snapshot: one byte of kind, then fields, numbers big-endian.

use super::WORDS;
use crate::gateway::known::{self, Change};
use crate::gateway::tags::{Named, Tagged, Tags};
use crate::gateway::wire::{Packet, Publish, Version};
use crate::message::{KeyId, Number, UnixMillis};
use crate::replay::Window;

/// A change.
pub(super) enum Record<'a> {
    Number(&'a str, KeyId, Number),
    Digest([u8; 32], UnixMillis),
    Owed(&'a Publish),
    OwedBytes(&'a [u8]),
    Received(u16),
    Done(u16),
    Window(&'a str, KeyId, Box<Window<WORDS>>),
    /// A number, and the tag that was accepted with it.
    Tag(&'a str, Tagged, Named, UnixMillis),
    /// All that is remembered of a device's tags.
    Tags(&'a str, &'a Tags),
    TagsRead(&'a str, Tags),
    /// Somebody was told of the tags until then.
    Told(&'a str, UnixMillis),
    /// Half of a message, which waits for the other under a number.
    Half(u64, &'a Publish),
    HalfBytes(u64, &'a [u8]),
    /// It waits no more.
    Released(u64),
    /// What is known beside the directory changed.
    Change(Change),
}

impl<'a> Record<'a> {
    /// None where a name or a packet is longer than MQTT allows, which was checked where it came in.
    pub(super) fn emit(&self, out: &mut Vec<u8>) -> Option<()> {
        let of = |out: &mut Vec<u8>, kind: u8, device: &str| {
            let len = u16::try_from(device.len()).ok()?;
            out.push(kind);
            out.extend(len.to_be_bytes());
            out.extend(device.as_bytes());
            Some(())
        };
        let named = |out: &mut Vec<u8>, kind: u8, device: &str, key: KeyId| {
            of(out, kind, device)?;
            out.extend(key.0.to_be_bytes());
            Some(())
        };
        match self {
            Record::Number(device, key, number) => {
                named(out, 1, device, *key)?;
                out.extend(number.epoch.to_be_bytes());
                out.extend(number.sequence.to_be_bytes());
            }
            Record::Digest(digest, until) => {
                out.push(2);
                out.extend(digest);
                out.extend(until.0.to_be_bytes());
            }
            Record::Owed(publish) => {
                let bytes = packet(publish)?;
                out.push(3);
                out.extend((bytes.len() as u32).to_be_bytes());
                out.extend(bytes);
            }
            Record::OwedBytes(_) | Record::HalfBytes(..) => return None,
            Record::Half(number, publish) => {
                let bytes = packet(publish)?;
                out.push(20);
                out.extend(number.to_be_bytes());
                out.extend((bytes.len() as u32).to_be_bytes());
                out.extend(bytes);
            }
            Record::Released(number) => {
                out.push(21);
                out.extend(number.to_be_bytes());
            }
            Record::Received(id) => {
                out.push(4);
                out.extend(id.to_be_bytes());
            }
            Record::Done(id) => {
                out.push(5);
                out.extend(id.to_be_bytes());
            }
            Record::Window(device, key, window) => {
                named(out, 6, device, *key)?;
                window.words().for_each(|word| out.extend(word.to_be_bytes()));
            }
            Record::Tag(device, tagged, first, at) => {
                named(out, 7, device, tagged.key)?;
                out.extend(tagged.number.epoch.to_be_bytes());
                out.extend(tagged.number.sequence.to_be_bytes());
                out.extend(first);
                out.extend(at.0.to_be_bytes());
            }
            Record::Tags(device, tags) => {
                of(out, 8, device)?;
                tags.emit(out);
            }
            Record::TagsRead(..) => return None,
            Record::Change(change) => change.emit(out)?,
            Record::Told(device, until) => {
                of(out, 9, device)?;
                out.extend(until.0.to_be_bytes());
            }
        }
        Some(())
    }

    pub(super) fn parse(rest: &mut &'a [u8]) -> Option<Self> {
        match take::<1>(rest)? {
            [1] => {
                let (device, key) = device_and_key(rest)?;
                Some(Record::Number(device, key, number(rest)?))
            }
            [2] => Some(Record::Digest(take(rest)?, UnixMillis(u64::from_be_bytes(take(rest)?)))),
            [3] => Some(Record::OwedBytes(bytes(rest)?)),
            [4] => Some(Record::Received(u16::from_be_bytes(take(rest)?))),
            [5] => Some(Record::Done(u16::from_be_bytes(take(rest)?))),
            [6] => {
                let (device, key) = device_and_key(rest)?;
                let mut words = std::iter::from_fn(|| take(rest).map(u64::from_be_bytes));
                Some(Record::Window(device, key, Box::new(Window::from_words(&mut words)?)))
            }
            [7] => {
                let (device, key) = device_and_key(rest)?;
                let tagged = Tagged { key, number: number(rest)? };
                Some(Record::Tag(device, tagged, take(rest)?, UnixMillis(u64::from_be_bytes(take(rest)?))))
            }
            [8] => Some(Record::TagsRead(device(rest)?, Tags::parse(rest)?)),
            [kind] if known::KINDS.contains(&kind) => Change::parse(kind, rest).map(Record::Change),
            [9] => Some(Record::Told(device(rest)?, UnixMillis(u64::from_be_bytes(take(rest)?)))),
            [20] => Some(Record::HalfBytes(u64::from_be_bytes(take(rest)?), bytes(rest)?)),
            [21] => Some(Record::Released(u64::from_be_bytes(take(rest)?))),
            _ => None,
        }
    }
}

fn packet(publish: &Publish) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    Packet::Publish(Box::new(publish.clone())).emit(Version::V5, &mut bytes).ok()?;
    Some(bytes)
}

fn bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = u32::from_be_bytes(take(rest)?) as usize;
    let (bytes, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(bytes)
}

fn device<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let len = u16::from_be_bytes(take(rest)?);
    let (device, after) = rest.split_at_checked(usize::from(len))?;
    *rest = after;
    std::str::from_utf8(device).ok()
}

fn device_and_key<'a>(rest: &mut &'a [u8]) -> Option<(&'a str, KeyId)> {
    Some((device(rest)?, KeyId(u16::from_be_bytes(take(rest)?))))
}

fn number(rest: &mut &[u8]) -> Option<Number> {
    Some(Number { epoch: u32::from_be_bytes(take(rest)?), sequence: u32::from_be_bytes(take(rest)?) })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*taken)
}
