//! Control packets on their way out, and packets on their way in.

use super::{Cause, Closed, Settings, Transport};
use crate::error::Error;
use crate::open::Bytes;
use crate::packet::properties::read_variable;
use crate::packet::{Connect, PINGREQ, Qos, Subscribe, Version, Will, packet_len};

/// Bytes that an acknowledgement and a PINGREQ need.
const ROOM: usize = 8;
/// How often the memory for what came is filled by what is skipped before somebody else has a turn.
const PIECES: usize = 64;

#[derive(Debug)]
pub(super) struct Wire<'a> {
    control: &'a mut [u8],
    /// Control bytes from..to are to be written.
    from: usize,
    to: usize,
    came: &'a mut [u8],
    have: usize,
    /// Bytes of the packet at the front of `came` that was handed out.
    packet: usize,
    /// Bytes of a packet that is too long, still to come.
    skip: usize,
    /// They end where the id of that packet stands: its quality, its length, and what of it begins there.
    id_behind: Option<(Qos, usize, usize)>,
    /// Whether a PUBLISH is partly written.
    pub(super) inside_packet: bool,
}

/// What came.
pub(super) enum Came {
    Nothing,
    /// A whole packet: [`Wire::packet`].
    Packet,
    /// A message for which there is no room; with QoS 1 or 2 its quality and id.
    TooLong {
        len: usize,
        publish: Option<(Qos, u16)>,
    },
}

impl<'a> Wire<'a> {
    pub(super) fn new(control: &'a mut [u8], came: &'a mut [u8]) -> Self {
        Wire {
            control,
            from: 0,
            to: 0,
            came,
            have: 0,
            packet: 0,
            skip: 0,
            id_behind: None,
            inside_packet: false,
        }
    }

    /// As before a connection.
    pub(super) fn clear(&mut self) {
        (self.from, self.to, self.have, self.packet, self.skip) = (0, 0, 0, 0, 0);
        (self.id_behind, self.inside_packet) = (None, false);
    }

    pub(super) fn is_between_packets(&self) -> bool {
        !self.inside_packet && self.from == self.to
    }

    pub(super) fn greet(
        &mut self,
        settings: &Settings<'_>,
        clean: bool,
        will: Option<Will<'_>>,
    ) -> Result<(), Cause> {
        let connect = Connect {
            version: settings.version,
            client_id: settings.client_id,
            clean,
            session_expiry_s: settings.session_expiry_s,
            keepalive_s: settings.keepalive_s,
            receive_maximum: 8,
            // Not said: Mosquitto would count what is longer as under way for ever. It is skipped instead.
            maximum_packet: 0,
            will,
            user_name: settings.user_name,
            password: settings.password.map(|password| password.0),
        };
        self.to = connect.emit(self.control).map_err(|_| Cause::NoRoom)?;
        self.from = 0;
        Ok(())
    }

    pub(super) fn subscribe(&mut self, version: Version, subscribe: &Subscribe<'_>) -> Result<(), Cause> {
        let room = self.control.get_mut(self.to..).unwrap_or_default();
        self.to += subscribe.emit(version, room).map_err(|_| Cause::NoRoom)?;
        Ok(())
    }

    pub(super) fn ping(&mut self) -> Result<(), Cause> {
        self.say(&PINGREQ)
    }

    pub(super) fn say(&mut self, bytes: &[u8]) -> Result<(), Cause> {
        let room = self.control.get_mut(self.to..).and_then(|room| room.get_mut(..bytes.len()));
        room.ok_or(Cause::NoRoom)?.copy_from_slice(bytes);
        self.to += bytes.len();
        Ok(())
    }

    /// Whether an answer has room.
    pub(super) fn has_room(&self) -> bool {
        self.control.len() - self.to >= ROOM
    }

    /// Writes control bytes, unless a PUBLISH is half way out. Says whether the transport took less than there is.
    pub(super) fn write_control(
        &mut self,
        transport: &mut impl Transport,
        now: u64,
        said_at: &mut u64,
    ) -> Result<bool, Cause> {
        while !self.inside_packet && self.from < self.to {
            let rest = self.control.get(self.from..self.to).unwrap_or(&[]);
            let written = transport.write(rest).map_err(|Closed| Cause::Closed)?;
            if written == 0 {
                return Ok(true);
            }
            *said_at = now;
            self.from += written;
        }
        if self.from >= self.to {
            (self.from, self.to) = (0, 0);
        }
        Ok(false)
    }

    /// The packet that came.
    pub(super) fn packet(&self) -> &[u8] {
        self.came.get(..self.packet).unwrap_or(&[])
    }

    /// Makes room for the next one.
    pub(super) fn forget_packet(&mut self) {
        self.came.copy_within(self.packet..self.have, 0);
        self.have -= self.packet;
        self.packet = 0;
    }

    /// Bytes to skip that are still to come.
    pub(super) fn to_skip(&self) -> usize {
        self.skip
    }

    /// Reads until a packet is whole or nothing comes; of what is skipped only so much that there is time for other things.
    pub(super) fn read(&mut self, transport: &mut impl Transport) -> Result<Came, Cause> {
        self.forget_packet();
        let mut pieces = 0;
        loop {
            if self.skip > 0 {
                pieces += 1;
                if pieces > PIECES {
                    return Ok(Came::Nothing);
                }
                let gone = self.skip.min(self.have);
                self.came.copy_within(gone..self.have, 0);
                (self.skip, self.have) = (self.skip - gone, self.have - gone);
            }
            let came = self.came.get(..self.have).unwrap_or(&[]);
            if self.skip == 0
                && let Some((qos, len, rest)) = self.id_behind
                && let Some(id) = came.first_chunk()
            {
                (self.id_behind, self.skip) = (None, rest);
                return match u16::from_be_bytes(*id) {
                    0 => Err(Cause::BadPacket), // 2.2.1
                    id => Ok(Came::TooLong { len, publish: Some((qos, id)) }),
                };
            }
            if self.skip == 0 && self.id_behind.is_none() {
                match packet_len(came).map_err(|_| Cause::BadPacket)? {
                    Some(len) if len <= self.have => {
                        self.packet = len;
                        return Ok(Came::Packet);
                    }
                    Some(len) if len > self.came.len() && self.have == self.came.len() => {
                        let (qos, before) = before_id(came).map_err(|_| Cause::BadPacket)?;
                        if qos == Qos::AtMostOnce {
                            self.skip = len;
                            return Ok(Came::TooLong { len, publish: None });
                        }
                        let rest = len.checked_sub(before).filter(|rest| *rest >= 2);
                        self.id_behind = Some((qos, len, rest.ok_or(Cause::BadPacket)?));
                        self.skip = before;
                        continue;
                    }
                    _ => {}
                }
            }
            let room = self.came.get_mut(self.have..).unwrap_or_default();
            if room.is_empty() {
                return Err(Cause::BadPacket); // too few bytes of memory
            }
            match transport.read(room).map_err(|Closed| Cause::Closed)? {
                0 => return Ok(Came::Nothing),
                read => self.have = (self.have + read).min(self.came.len()),
            }
        }
    }
}

/// Quality of a PUBLISH whose beginning these bytes are, and how many bytes stand before its id, most of them its topic.
/// Errors: `Truncated` if there is no room for so much, which are seven bytes; `BadPacket`, also for another packet.
fn before_id(bytes: &[u8]) -> Result<(Qos, usize), Error> {
    let mut rest = Bytes(bytes);
    let first = rest.u8()?;
    if first >> 4 != 3 {
        return Err(Error::BadPacket);
    }
    read_variable(&mut rest)?;
    let topic = usize::from(rest.u16()?);
    Ok((Qos::of(first >> 1 & 3)?, bytes.len() - rest.0.len() + topic))
}
