//! Signed messages: what comes from a network that nobody trusts.

use sealstone_mldsa::{Level, any};
use sealstone_mqtt::commander::Commander;
use sealstone_mqtt::flash::Flash;
use sealstone_mqtt::form::By;
use sealstone_mqtt::gateway::wire;
use sealstone_mqtt::keyring::{Announcement, Confirmation};
use sealstone_mqtt::level::Class;
use sealstone_mqtt::mac::Checkpointed;
use sealstone_mqtt::open::{self, Envelope};
use sealstone_mqtt::packet::{self, Packet, Qos, Version};
use sealstone_mqtt::publisher::{Closed, Event, Publisher, Settings, Transport, Waiting};
use sealstone_mqtt::seal::{self, Signer};
use sealstone_mqtt::{Error, Filter, Form, KeyId, Topic, UnixMillis, form, provision};
use std::sync::LazyLock;

/// Any bytes as an envelope of each form: no panic; nothing verifies; what is read is written again, byte for byte.
pub fn mqtt_envelope(input: &[u8]) {
    static KEYS: LazyLock<[any::VerifyingKey; 3]> =
        LazyLock::new(|| Level::ALL.map(|level| any::SigningKey::from_seed(level, &[7; 32]).verifying_key()));
    let topic = Topic::new("device/7/telemetry/temp").expect("a topic");
    // A signature's length of zeros behind it, so that what is read is the fuzzer's head.
    let (by, input) = input.split_first().map_or((0, input), |(by, rest)| (usize::from(*by), rest));
    let by = [
        By::Mac,
        By::Signature(Level::MlDsa44),
        By::Signature(Level::MlDsa65),
        By::Signature(Level::MlDsa87),
    ][by % 4];
    let bytes = [input, &vec![0; by.len()]].concat();
    for bytes in [input, &bytes] {
        let read = Form::ALL.into_iter().filter_map(|form| match form {
            Form::Detached => Envelope::parse_detached(topic, &input[..input.len().min(8)], bytes).ok(),
            _ => Envelope::parse(form, topic, bytes).ok(),
        });
        for envelope in read {
            assert_eq!(Form::of(bytes), Some(envelope.form()));
            for key in &*KEYS {
                assert_eq!(envelope.verify(key), Err(Error::BadSignature));
            }
            let mut again = vec![0; bytes.len() + 8];
            let len = seal::seal(envelope.form(), envelope.claimed(), &mut Same(&envelope), &mut again);
            let len = len.expect("what was read can be written");
            // COSE may come without its tag, and is written with it.
            let tagged = usize::from(bytes.first() == Some(&0x84));
            assert_eq!(&again[tagged..len], bytes);
        }
        let _ = open::unsigned(bytes);
    }
}

/// Any bytes as MQTT packets, for a device and for the gateway, and as what a device is given or told: no panic.
pub fn mqtt_packet(input: &[u8]) {
    for version in [Version::V311, Version::V5] {
        let mut rest = input;
        while let Ok(Some(len)) = packet::packet_len(rest)
            && let Some((one, after)) = rest.split_at_checked(len)
        {
            owned(version, one);
            rest = after;
        }
        let _ = Packet::parse(version, input);
    }
    let _ = provision::Provision::parse(input);
    let _ = Announcement::parse(input);
    let _ = Checkpointed::parse(input);
    let _ = Confirmation::parse(input);
}

/// The gateway reads what a device reads, and what it reads it writes so that it reads the same again.
fn owned(version: Version, one: &[u8]) {
    let read = wire::Packet::parse(version, one);
    assert!(read.is_ok() || Packet::parse(version, one).is_err());
    let Ok(packet) = read else { return };
    let mut again = Vec::new();
    packet.emit(version, &mut again).expect("what was read can be written");
    assert_eq!(packet::packet_len(&again), Ok(Some(again.len())));
    assert_eq!(wire::Packet::parse(version, &again), Ok(packet));
}

/// Any bytes as what a device is told, on each topic that it hears: no panic, and nothing is taken.
pub fn mqtt_command(input: &[u8]) {
    let Some((first, bytes)) = input.split_first() else { return };
    let on =
        ["device/7/command", "device/7/command/x", "device/7/critical/key/confirmed", "device/8/command"];
    take(Topic::new(on[usize::from(first & 3)]).expect("a topic"), bytes);
}

fn take(topic: Topic<'_>, bytes: &[u8]) {
    static KEY: LazyLock<any::VerifyingKey> =
        LazyLock::new(|| any::SigningKey::from_seed(Level::MlDsa44, &[7; 32]).verifying_key());
    let mut chips = [(); 3].map(|()| Chip([[0xff; 512]; 2]));
    let [told, taken, template] = &mut chips;
    Commander::<&any::VerifyingKey, _>::format([&mut *told, taken, template]).expect("a chip that works");
    let [told, taken, template] = &mut chips;
    let mut memory = [0; 512];
    let commander = Commander::open("7", KeyId(1), &*KEY, [told, taken, template], &mut memory);
    let mut commander = commander.expect("a chip that works");
    // A signature's length of zeros behind it, so that what is read is the fuzzer's head.
    for bytes in [bytes, &[bytes, &[0; 2420]].concat()] {
        assert!(commander.take(topic, bytes, UnixMillis(1)).is_err());
    }
}

/// Any bytes from a broker that took the connection, for a device that hands what comes to its commander's key: no panic, nothing is taken, and
/// nothing counts as delivered that was not sent.
pub fn mqtt_downlink(input: &[u8]) {
    let Some((first, bytes)) = input.split_first() else { return };
    let version = if first & 1 == 0 { Version::V5 } else { Version::V311 };
    let filters = [(Filter::new("device/7/command/#").expect("a filter"), Qos::AtLeastOnce)];
    let settings = Settings { version, filters: &filters, ..Settings::new("7") };
    let (mut queue, mut control, mut came, mut flight) = ([0; 256], [0; 128], [0; 300], [0; 300]);
    let mut publisher = Publisher::new(settings, &mut queue, &mut control, &mut came, [&mut flight]);
    let greeting: &[u8] = if version == Version::V5 { &[0x20, 3, 0, 0, 0] } else { &[0x20, 2, 0, 0] };
    let mut line = Line { goes: [greeting, bytes].concat(), at: 0, piece: 1 + usize::from(first >> 1) };
    let message = Waiting::new(Class::Low, Topic::new("device/7/x").expect("a topic"), b"21.5");
    publisher.push(&message, |_, _| ()).expect("there is room");
    for now in 0..64 {
        let under_way = publisher.under_way();
        match publisher.poll(now * 100, 0, &mut line) {
            Some(Event::Received(publish, payload)) => take(publish.topic, payload),
            Some(Event::Delivered(_) | Event::Refused(..)) => assert!(under_way > 0),
            Some(_) => {}
            None if line.at >= line.goes.len() => break,
            None => {}
        }
        if let Some(turn) = publisher.turn(now * 100) {
            let sent = turn.send(4, |message, out| {
                out.copy_from_slice(message.payload);
                Ok(4)
            });
            sent.expect("it fits");
        }
    }
}

/// A line that hands over bytes in pieces and takes everything.
struct Line {
    goes: Vec<u8>,
    at: usize,
    piece: usize,
}

impl Transport for Line {
    fn connect(&mut self) -> Result<bool, Closed> {
        Ok(true)
    }
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Closed> {
        Ok(bytes.len())
    }
    fn read(&mut self, out: &mut [u8]) -> Result<usize, Closed> {
        let rest = self.goes.get(self.at..).unwrap_or_default();
        let len = out.len().min(rest.len()).min(self.piece);
        out[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }
    fn close(&mut self) {}
}

/// Two pages of flash.
struct Chip([[u8; 512]; 2]);

impl Flash for Chip {
    fn page_len(&self) -> usize {
        512
    }
    fn read(&mut self, page: usize, at: usize, out: &mut [u8]) -> Result<(), Error> {
        out.copy_from_slice(&self.0[page][at..at + out.len()]);
        Ok(())
    }
    fn write(&mut self, page: usize, at: usize, bytes: &[u8]) -> Result<(), Error> {
        self.0[page][at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
    fn erase(&mut self, page: usize) -> Result<(), Error> {
        self.0[page].fill(0xff);
        Ok(())
    }
}

/// Seals with what was there.
struct Same<'a>(&'a Envelope<'a>);

impl Signer for Same<'_> {
    fn by(&self) -> By {
        self.0.by()
    }

    fn seal(&mut self, _: &form::Covered<'_>, seal: &mut [u8]) -> Result<(), Error> {
        seal.copy_from_slice(self.0.seal());
        Ok(())
    }
}
