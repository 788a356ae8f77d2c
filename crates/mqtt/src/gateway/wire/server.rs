//! What a broker reads and writes, for those who play one.

use zeroize::Zeroizing;

use super::{Connect, Packet, Properties, Version};
use crate::error::Error;
use crate::open::Bytes;
use crate::packet::emit::frame;
use crate::packet::parse::packet_id;
use crate::packet::properties::{self, Put, id, read_binary, read_text, set};

/// Of the version that was agreed on; without a will, as the gateway sends it. Errors: `Truncated`, `TrailingBytes`, `BadPacket`.
pub(super) fn parse_connect(version: Version, mut rest: Bytes<'_>) -> Result<Connect, Error> {
    let level = if version == Version::V5 { 5 } else { 4 };
    if read_text(&mut rest)? != "MQTT" || rest.u8()? != level {
        return Err(Error::BadPacket);
    }
    let flags = rest.u8()?;
    let keep_alive_s = rest.u16()?;
    // The reserved bit, and those of a will.
    if flags & 0b0011_1101 != 0 {
        return Err(Error::BadPacket);
    }
    const ALLOWED: u64 =
        set(&[id::SESSION_EXPIRY, id::RECEIVE_MAXIMUM, id::MAXIMUM_PACKET, id::TOPIC_ALIAS_MAXIMUM]);
    let mut said = Properties::default();
    if version == Version::V5 {
        properties::read(&mut rest, ALLOWED, |id, value| said.add(id, value))?;
    }
    let client_id = read_text(&mut rest)?.to_owned();
    let user = if flags & 0x80 == 0 { None } else { Some(read_text(&mut rest)?.to_owned()) };
    let password =
        if flags & 0x40 == 0 { None } else { Some(Zeroizing::new(read_binary(&mut rest)?.to_vec())) };
    rest.end()?;
    // MQTT 3.1.1, 3.1.3-7 and 3.1.2-22.
    let nameless = client_id.is_empty() && flags & 2 == 0;
    if version == Version::V311 && (nameless || flags & 0xc0 == 0x40) {
        return Err(Error::BadPacket);
    }
    Ok(Connect { client_id, clean_start: flags & 2 != 0, keep_alive_s, user, password, properties: said })
}

/// Errors: `Truncated`, `BadPacket`.
pub(super) fn parse_subscribe(version: Version, mut rest: Bytes<'_>) -> Result<Packet, Error> {
    let id = packet_id(&mut rest)?;
    if version == Version::V5 {
        properties::read(&mut rest, set(&[id::SUBSCRIPTION_ID]), |_, _| Ok(()))?;
    }
    let mut filters = Vec::new();
    while !rest.0.is_empty() {
        filters.push((read_text(&mut rest)?.to_owned(), rest.u8()?));
    }
    // MQTT 5.0, 3.8.3-2.
    if filters.is_empty() { Err(Error::BadPacket) } else { Ok(Packet::Subscribe { id, filters }) }
}

pub(super) fn emit_connack(
    version: Version,
    session_present: bool,
    code: u8,
    said: &Properties,
    out: Put<'_>,
) -> Result<(), Error> {
    frame(out, 0x20, 0, &|put| {
        put(&[u8::from(session_present), code])?;
        if version == Version::V5 { properties::emit(put, &|put| said.emit(put)) } else { Ok(()) }
    })
}

pub(super) fn emit_suback(version: Version, packet_id: u16, codes: &[u8], out: Put<'_>) -> Result<(), Error> {
    frame(out, 0x90, 0, &|put| {
        put(&packet_id.to_be_bytes())?;
        if version == Version::V5 {
            put(&[0])?;
        }
        put(codes)
    })
}

pub(super) fn emit_pingresp(out: Put<'_>) -> Result<(), Error> {
    out(&[0xd0, 0])
}
