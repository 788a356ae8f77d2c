//! Bytes that no publisher of ours writes.

use super::world::{Case, Said, TOPIC, plain};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use sealstone_mqtt::gateway::wire::{Properties, Publish};
use sealstone_mqtt::{Form, Number};

pub(crate) fn cases() -> Vec<Case> {
    [v1(), paper(), cose(), detached(), unsigned(), topics()].concat()
}

/// Offsets of docs/formats/mqtt.md.
fn v1() -> Vec<Case> {
    let said = Said::asking(Form::V1);
    let case = |what: &str, reason, change: fn(&mut Vec<u8>)| {
        Case::new(format!("v1: {what}"), reason, said.changed(change))
    };
    vec![
        case("a seal that nobody knows", "malformed-unknown", |bytes| bytes[1] = 0x46),
        case("a seal of 0", "malformed-unknown", |bytes| bytes[1] = 0),
        case("a kind that nobody knows", "malformed-unknown", |bytes| bytes[2] = 5),
        case("relabelled to ML-DSA-65", "malformed-truncated", |bytes| bytes[1] = 0x65),
        case("relabelled to ML-DSA-87", "malformed-truncated", |bytes| bytes[1] = 0x87),
        case("relabelled to a tag", "malformed-trailing-bytes", |bytes| bytes[1] = 0x4d),
        case("relabelled to a tag, and cut to its length", "level", |bytes| {
            bytes[1] = 0x4d;
            bytes.truncate(bytes.len() - 2420 + 32);
        }),
        case("a content type of 255 bytes", "malformed-not-text", |bytes| bytes[3] = 255),
        case("a response topic of 65535 bytes", "malformed-truncated", |bytes| bytes[22..24].fill(0xff)),
        case("correlation data of 65535 bytes", "malformed-truncated", |bytes| bytes[24..26].fill(0xff)),
        case("a payload of 4294967295 bytes", "malformed-truncated", |bytes| bytes[26..30].fill(0xff)),
        case("a payload of no bytes", "malformed-trailing-bytes", |bytes| bytes[26..30].fill(0)),
        case("a content type that is no text", "malformed-not-text", |bytes| bytes[30] = 0xff),
        case("a response topic with a wildcard", "malformed-response-topic", |bytes| bytes[40] = b'#'),
        case("a response topic that is no text", "malformed-response-topic", |bytes| bytes[40] = 0xff),
        case("bytes moved from payload to correlation data", "bad-signature", |bytes| {
            bytes[25] += 1;
            bytes[29] -= 1;
        }),
        case("bytes moved from content type to response topic", "bad-signature", |bytes| {
            bytes[3] -= 1;
            bytes[23] += 1;
        }),
        case("the first byte of detached", "signature-topic", |bytes| bytes[0] = 0xe2),
        case("the first byte of cose", "malformed-not-canonical", |bytes| bytes[0] = 0x84),
        case("the first byte of paper", "malformed-truncated", |bytes| bytes[0] = 0x01),
        case("the first byte of a message without a signature", "unsigned-device", |bytes| bytes[0] = 0x00),
        case("the first byte of a command", "command", |bytes| bytes[0] = 0xe3),
        case("the first byte of nothing", "unsigned-device", |bytes| bytes[0] = 0x7f),
    ]
}

fn paper() -> Vec<Case> {
    let said = Said::new(Form::Paper);
    let case = |what: &str, reason, change: fn(&mut Vec<u8>)| {
        Case::new(format!("paper: {what}"), reason, said.changed(change))
    };
    // 1 type, 2 length, 6 payload, 1 level, 2 key id, 4 time, 2 length.
    let stripped = |bytes: &mut Vec<u8>| bytes[0] = 0x00;
    vec![
        case("relabelled as unsigned", "unsigned-device", stripped),
        case("relabelled as unsigned, where that passes", "malformed-trailing-bytes", stripped)
            .under("[policy]\ndefault = \"compatible\"\n"),
        case("relabelled as unsigned and cut", "unsigned-device", |bytes| {
            bytes[0] = 0x00;
            bytes.truncate(9);
        }),
        case("a payload of 65535 bytes", "malformed-truncated", |bytes| bytes[1..3].fill(0xff)),
        case("a level that nobody knows", "malformed-unknown", |bytes| bytes[9] = 0x46),
        case("relabelled to ML-DSA-65", "malformed-not-canonical", |bytes| bytes[9] = 0x65),
        case("relabelled to ML-DSA-65 with its length", "malformed-truncated", |bytes| {
            bytes[9] = 0x65;
            bytes[16..18].copy_from_slice(&3309_u16.to_be_bytes());
        }),
        case("relabelled to a tag", "malformed-unknown", |bytes| bytes[9] = 0x4d),
        case("a signature of another length", "malformed-not-canonical", |bytes| bytes[17] ^= 1),
        case("another time", "bad-signature", |bytes| bytes[15] ^= 1),
        case("another key id", "unknown-key", |bytes| bytes[10] = 1),
        case("a byte moved from payload to level", "malformed-unknown", |bytes| bytes[2] -= 1),
    ]
}

/// COSE_Sign1 by hand: a protected header, something unprotected, and 2420 bytes for a signature.
fn cose() -> Vec<Case> {
    let case = |what: &str, reason, protected: &[u8], unprotected: &[u8]| {
        let len = protected.len() as u8;
        let mut bytes = vec![0xd2, 0x84];
        bytes.extend(if len < 24 { vec![0x40 | len] } else { vec![0x58, len] });
        bytes.extend(protected);
        bytes.extend(unprotected);
        bytes.extend(b"\x4421.5\x59\x09\x74");
        bytes.extend([7; 2420]);
        Case::new(format!("cose: {what}"), reason, plain(TOPIC, &bytes))
    };
    let whole = |what: &str, reason, change: fn(&mut Vec<u8>)| {
        Case::new(format!("cose: {what}"), reason, Said::new(Form::Cose).changed(change))
    };
    // Time and number as docs/formats/mqtt.md has them, at the time of the tests.
    let claims = b"\x0f\xa2\x06\x1a\x6b\x49\xd2\x00\x07\x48\0\0\0\x02\0\0\0\x09";
    let with = |before: &[u8], after: &[u8]| [before, &claims[..], after].concat();
    let empty = &[0xa0][..];
    let timeless = Said { number: None, time: 0, ..Said::new(Form::Cose) };
    vec![
        case(
            "a signature that is none",
            "bad-signature",
            &with(b"\xa3\x01\x38\x2f\x04\x42\0\x01", b""),
            empty,
        ),
        case("without an algorithm", "malformed-missing", b"\xa1\x04\x42\0\x01", empty),
        case("without a key id", "malformed-missing", b"\xa1\x01\x38\x2f", empty),
        case("the key id unprotected", "malformed-unknown", b"\xa1\x01\x38\x2f", b"\xa1\x04\x42\0\x01"),
        case("the algorithm unprotected", "malformed-unknown", b"\xa1\x04\x42\0\x01", b"\xa1\x01\x38\x2f"),
        case("an algorithm that nobody knows", "malformed-unknown", b"\xa2\x01\x38\x32\x04\x42\0\x01", empty),
        case("ES256", "malformed-unknown", b"\xa2\x01\x26\x04\x42\0\x01", empty),
        case("an algorithm as text", "malformed-not-canonical", b"\xa2\x01\x61a\x04\x42\0\x01", empty),
        case("a key id of one byte", "malformed-unknown", b"\xa2\x01\x38\x2f\x04\x41\x01", empty),
        case(
            "a critical label that nobody knows",
            "malformed-unknown",
            b"\xa3\x01\x38\x2f\x02\x81\x18\x63\x04\x42\0\x01",
            empty,
        ),
        case(
            "a label that nobody knows",
            "malformed-unknown",
            b"\xa3\x01\x38\x2f\x04\x42\0\x01\x18\x63\x01",
            empty,
        ),
        case(
            "a text label that nobody knows",
            "malformed-unknown",
            b"\xa3\x01\x38\x2f\x04\x42\0\x01\x62zz\x01",
            empty,
        ),
        case(
            "a label twice",
            "malformed-not-canonical",
            b"\xa3\x01\x38\x2f\x01\x38\x2f\x04\x42\0\x01",
            empty,
        ),
        case("labels in another order", "malformed-not-canonical", b"\xa2\x04\x42\0\x01\x01\x38\x2f", empty),
        case(
            "a number that is not the shortest",
            "malformed-not-canonical",
            b"\xa2\x18\x01\x38\x2f\x04\x42\0\x01",
            empty,
        ),
        case("a map without an end", "malformed-not-canonical", b"\xbf\x01\x38\x2f\x04\x42\0\x01\xff", empty),
        case(
            "an empty content type",
            "malformed-not-canonical",
            b"\xa3\x01\x38\x2f\x03\x60\x04\x42\0\x01",
            empty,
        ),
        case(
            "an empty map of claims",
            "malformed-not-canonical",
            b"\xa3\x01\x38\x2f\x04\x42\0\x01\x0f\xa0",
            empty,
        ),
        case(
            "a claim that nobody knows",
            "malformed-unknown",
            b"\xa3\x01\x38\x2f\x04\x42\0\x01\x0f\xa1\x01\x61a",
            empty,
        ),
        case(
            "a time past all time",
            "malformed-unknown",
            b"\xa3\x01\x38\x2f\x04\x42\0\x01\x0f\xa1\x06\x1b\xff\xff\xff\xff\xff\xff\xff\xff",
            empty,
        ),
        case(
            "a number of seven bytes",
            "malformed-unknown",
            b"\xa3\x01\x38\x2f\x04\x42\0\x01\x0f\xa1\x07\x47\0\0\0\0\0\0\0",
            empty,
        ),
        case(
            "bytes behind the header",
            "malformed-trailing-bytes",
            b"\xa2\x01\x38\x2f\x04\x42\0\x01\0",
            empty,
        ),
        case(
            "the kind plain, which is left out",
            "malformed-not-canonical",
            b"\xa3\x01\x38\x2f\x04\x42\0\x01\x62kd\0",
            empty,
        ),
        case("relabelled to ML-DSA-65", "malformed-truncated", b"\xa2\x01\x38\x30\x04\x42\0\x01", empty),
        whole("another tag", "unsigned-device", |bytes| bytes[0] = 0xd1),
        whole("an array of five", "malformed-unknown", |bytes| bytes[1] = 0x85),
        whole("an array without an end", "malformed-not-canonical", |bytes| bytes[1] = 0x9f),
        Case::new("cose: neither a number nor a time", "no-number", timeless.publish()),
        Case::new(
            "cose: a time and no number, a second time",
            "replay",
            Said { number: None, ..Said::new(Form::Cose) }.publish(),
        )
        .after(vec![Said { number: None, ..Said::new(Form::Cose) }.publish()]),
        Case::new(
            "cose: the signature of another level's key",
            "level",
            Said { level: sealstone_mldsa::Level::MlDsa87, seed: 6, ..Said::new(Form::Cose) }.publish(),
        ),
    ]
}

fn detached() -> Vec<Case> {
    let said = Said::new(Form::Detached);
    let property = |values: &[&str]| {
        let user = values.iter().map(|&value| ("sealstone".to_owned(), value.to_owned())).collect();
        Publish { properties: Properties { user, ..Properties::default() }, ..plain(TOPIC, said.payload) }
    };
    let genuine = said.publish();
    let value = genuine.properties.user[0].1.clone();
    let case = |what: &str, reason, publish| Case::new(format!("detached: {what}"), reason, publish);
    let named = |name: &str| {
        let user = vec![(name.to_owned(), value.clone())];
        Publish { properties: Properties { user, ..Properties::default() }, ..plain(TOPIC, said.payload) }
    };
    vec![
        case("two signatures", "signature-property", property(&[&value, &value])),
        case("a signature that is no base64url", "signature-property", property(&["%%%"])),
        case("a signature with padding", "signature-property", property(&[&URL_SAFE.encode(said.sealed())])),
        case("an empty property", "malformed-truncated", property(&[""])),
        case("the property under another name", "unsigned-device", named("Sealstone")),
        case("the envelope as the payload", "signature-topic", plain(TOPIC, &said.sealed())),
        case(
            "on the topic of signatures",
            "signature-topic",
            plain(&format!("{TOPIC}/$sig"), &said.sealed()),
        ),
        case("without its payload", "malformed-truncated", Publish { payload: vec![], ..genuine.clone() }),
        case(
            "a payload of another length",
            "malformed-truncated",
            Publish { payload: b"t=21.50".to_vec(), ..genuine.clone() },
        ),
        case(
            "a payload of the same length",
            "bad-signature",
            Publish { payload: b"t=21.6".to_vec(), ..genuine.clone() },
        ),
        case("an envelope of v1 in the property", "malformed-unknown", {
            let bytes = Said::new(Form::V1).sealed();
            said.carried(bytes)
        }),
        case(
            "around an envelope of v1",
            "malformed-truncated",
            Publish { payload: Said::new(Form::V1).sealed(), ..genuine },
        ),
    ]
}

fn unsigned() -> Vec<Case> {
    let strict = "[policy]\ndefault = \"strict\"\n";
    let one = "[policy]\ndefault = \"compatible\"\ndevices = { a = \"strict\" }\n";
    let compatible = "[policy]\ndefault = \"compatible\"\n";
    let case = |what: &str, reason, payload: &[u8]| {
        Case::new(format!("unsigned: {what}"), reason, plain(TOPIC, payload))
    };
    let nobody = |what: &str, reason, payload: &[u8]| {
        Case::new(format!("unsigned: {what}"), reason, plain("device/none/telemetry/temp", payload))
    };
    vec![
        case("of a device that must sign", "unsigned-device", b"t=1"),
        case("in the paper's layout, of a device that must sign", "unsigned-device", b"\0\0\x03t=1"),
        case("empty, of a device that must sign", "unsigned-device", b""),
        case("where everything must be signed", "unsigned", b"t=1").under(strict),
        nobody("of nobody, where everything must be signed", "unsigned", b"t=1").under(strict),
        case("of the one device that must", "unsigned", b"t=1").under(one),
        nobody("of nobody, and cut", "malformed-truncated", b"\0\0\x09t=1"),
        nobody("of nobody, with bytes behind it", "malformed-trailing-bytes", b"\0\0\x01t=1"),
        nobody("of nobody, with the first byte of v1", "malformed-truncated", b"\xe1"),
        nobody("of nobody, with the first byte of cose", "malformed-truncated", b"\x84"),
        case("with the first byte of paper, where unsigned passes", "malformed-truncated", b"\x01")
            .under(compatible),
        case("a command", "command", b"\xe3\0\0\0\x01\0\0"),
        case("a command, where unsigned passes", "command", b"\xe3\0\0\0\x01\0\0").under(compatible),
        Case::new("unsigned: kept by the broker, where that is refused", "retained", {
            Publish { retain: true, ..plain("device/none/telemetry/temp", b"t=1") }
        })
        .under("[policy]\nretained = \"refuse\"\n"),
        Case::new(
            "unsigned: on a topic without a class",
            "unknown-topic",
            plain("device/none/other", b"t=1"),
        ),
    ]
}

fn topics() -> Vec<Case> {
    let bytes = Said::new(Form::V1).sealed();
    let case =
        |what: &str, reason, topic: &str| Case::new(format!("topic: {what}"), reason, plain(topic, &bytes));
    let far = Said {
        topic: "device/c/critical/key",
        number: Some(Number { epoch: 1, sequence: 1 }),
        ..Said::new(Form::V1)
    };
    vec![
        case("empty", "bad-topic", ""),
        case("with +", "bad-topic", "device/+/telemetry/temp"),
        case("with #", "bad-topic", "device/a/#"),
        case("with U+0000", "bad-topic", "device/a/telemetry/\0"),
        case("of 65536 bytes", "bad-topic", &"a".repeat(65_536)),
        case("a device without a name", "no-device", "device//telemetry/temp"),
        case("no device", "no-device", "other"),
        case("of the broker's own", "no-device", "$SYS/broker/load"),
        case("with a slash before it", "no-device", "/device/a/telemetry/temp"),
        Case::new(
            "topic: of a class that is above the key, with the key's id of another device",
            "level",
            far.publish(),
        ),
        Case::new(
            "topic: without a class, where that is critical",
            "below-floor",
            Said { topic: "device/a/other", ..Said::new(Form::V1) }.publish(),
        )
        .under("[policy]\nunknown_topic = \"critical\"\n"),
    ]
}
