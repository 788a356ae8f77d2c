//! Signed messages: what comes from a network that nobody trusts.

use sealstone_mldsa::{Level, any};
use sealstone_mqtt::form::By;
use sealstone_mqtt::gateway::wire;
use sealstone_mqtt::keyring::{Announcement, Confirmation};
use sealstone_mqtt::mac::Checkpointed;
use sealstone_mqtt::open::{self, Envelope};
use sealstone_mqtt::packet::{self, Packet, Version};
use sealstone_mqtt::seal::{self, Signer};
use sealstone_mqtt::{Error, Form, Topic, form, provision};
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
