//! What a device is given: read back as it was written, and refused where a byte is another one.

use sealstone_mldsa::Level;
use sealstone_mqtt::blob::{Blob, Topics};
use sealstone_mqtt::level::{Class, Policy};
use sealstone_mqtt::{Error, Filter, KeyId};

fn topics(out: &mut [u8]) -> usize {
    let mut len = 0;
    for (text, class) in [("device/+/critical/#", Class::Critical), ("device/+/telemetry/#", Class::Low)] {
        len += Topics::emit(Filter::new(text).unwrap(), class, &mut out[len..]).unwrap();
    }
    len
}

#[test]
fn a_blob_is_read_back_and_no_byte_can_be_another_one() {
    let mut map = [0; 100];
    let len = topics(&mut map);
    let blob = Blob {
        device: "pump-7",
        key_id: KeyId(258),
        level: Level::MlDsa65,
        seed: &[9; 32],
        policy: Policy::INDUSTRIAL,
        topics: Topics::new(&map[..len]).unwrap(),
    };
    let mut bytes = [0; 300];
    let len = blob.emit(&mut bytes).unwrap();
    // docs/formats/mqtt-device.md: 66 bytes before the name, 4 behind the topics.
    assert_eq!(len, 66 + 6 + (3 + 19) + (3 + 20) + 4);
    assert_eq!(Blob::parse(&bytes[..len]), Ok(blob));
    let classes: Vec<_> = blob.topics.iter().map(|(filter, class)| (filter.as_str(), class)).collect();
    assert_eq!(classes, [("device/+/critical/#", Class::Critical), ("device/+/telemetry/#", Class::Low)]);
    for at in 0..len {
        assert!(Blob::parse(&bytes[..at]).is_err(), "cut at {at}");
        let mut changed = bytes;
        changed[at] ^= 0x40;
        assert!(Blob::parse(&changed[..len]).is_err(), "byte {at}");
    }
    assert_eq!(Blob::parse(&bytes[..len + 1]), Err(Error::TrailingBytes));
    assert_eq!(blob.emit(&mut bytes[..len - 1]), Err(Error::TooLong));
    assert!(!format!("{blob:?}").contains("9, 9"), "no key in {blob:?}");
}
