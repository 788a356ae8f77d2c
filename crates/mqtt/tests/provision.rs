//! What a device is given: one encoding, nothing changed, and nothing that a device could not use.

use proptest::prelude::*;
use sealstone_mldsa::Level;
use sealstone_mqtt::level::{Class, Policy};
use sealstone_mqtt::provision::{CommanderKey, Key, Provision, Saying, Topics, first_key_id};
use sealstone_mqtt::sealer::Apart;
use sealstone_mqtt::{Error, Field, Filter, KeyId};

fn topics(filters: &[(&str, Class)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (text, class) in filters {
        let mut entry = [0; 256];
        let len = Topics::emit(Filter::new(text).unwrap(), *class, &mut entry).unwrap();
        bytes.extend(&entry[..len]);
    }
    bytes
}

fn given<'a>(device: &'a str, topics: &'a [u8]) -> Provision<'a> {
    Provision {
        device,
        keys: Level::ALL.map(|level| Key { id: first_key_id(level), seed: &[0x5e; 32] }),
        mac_key_id: KeyId(9),
        mac_key: &[0x5e; 32],
        tagged: [true, false, true, false],
        address: [10, 0, 2, 2],
        port: 1883,
        keepalive_s: 300,
        answer_ms: 30_000,
        interval_ms: 60_000,
        policy: Policy::INDUSTRIAL,
        saying: Saying { form: Apart::Property, batch: 12, silence_s: 60, full_s: 3_600 },
        topics: Topics::new(topics).unwrap(),
        commander: None,
    }
}

#[test]
fn it_comes_back_from_a_page_and_not_changed_or_cut() {
    let filters = [("device/+/critical/#", Class::Critical), ("device/+/telemetry/#", Class::Low)];
    let map = topics(&filters);
    let given = given("pump-7", &map);
    let mut page = [0xff; 1024];
    let len = given.emit(&mut page).unwrap();
    // docs/formats/mqtt-device.md: 190 bytes before the name, 7 behind the topics without a commander.
    assert_eq!(len, 190 + 6 + (3 + 19) + (3 + 20) + 7);
    assert_eq!(Provision::parse(&page), Ok(given));
    assert_eq!(Provision::parse(&page[..len]), Ok(given));
    let classes: Vec<_> = given.topics.iter().map(|(filter, class)| (filter.as_str(), class)).collect();
    assert_eq!(classes, filters);
    for short in 0..len {
        assert!(Provision::parse(&page[..short]).is_err(), "{short} bytes");
        assert_eq!(given.emit(&mut vec![0; short]), Err(Error::TooLong));
    }
    for at in 0..8 * len {
        let mut changed = page;
        changed[at / 8] ^= 1 << (at % 8);
        assert!(Provision::parse(&changed).is_err(), "bit {at}");
    }
    assert!(!format!("{given:?}").contains("94"), "no seed is shown");
}

#[test]
fn each_field_stands_where_the_format_says() {
    let mut page = [0; 512];
    given("7", &[]).emit(&mut page).unwrap();
    assert_eq!(page[..6], *b"SMD\x03\x11\x31"); // 4401
    assert_eq!(page[106..108], [0, 9]);
    assert_eq!(page[140], 0b0101);
    assert_eq!(page[141..147], [10, 0, 2, 2, 0x07, 0x5b]);
    assert_eq!(page[147..157], [1, 44, 0, 0, 0x75, 0x30, 0, 0, 0xea, 0x60]);
    assert_eq!(page[181..187], [1, 12, 0, 60, 0x0e, 0x10]);
    assert_eq!(page[187..191], [1, 0, 0, b'7']);
    assert_eq!(page[191..194], [0; 3], "no commander");
    for (form, byte) in [(Apart::Not, 0), (Apart::Property, 1), (Apart::Topic, 2)] {
        let given = Provision { saying: Saying { form, ..Saying::PLAIN }, ..given("7", &[]) };
        given.emit(&mut page).unwrap();
        assert_eq!((page[181], Provision::parse(&page)), (byte, Ok(given)));
    }
}

#[test]
fn the_commanders_key_stands_at_the_end() {
    for level in Level::ALL {
        let public_key = vec![0xc0; level.verifying_key_len()];
        let commander = Some(CommanderKey { level, id: KeyId(0x1234), public_key: &public_key });
        let given = Provision { commander, ..given("7", &[]) };
        let mut page = [0xff; 4096];
        let len = given.emit(&mut page).unwrap();
        assert_eq!(len, 191 + 3 + public_key.len() + 4);
        assert_eq!(page[191..194], [[0x44, 0x65, 0x87][level as usize], 0x12, 0x34]);
        assert_eq!(page[194..194 + public_key.len()], public_key);
        assert_eq!(Provision::parse(&page), Ok(given));
        for short in 0..len {
            assert!(Provision::parse(&page[..short]).is_err(), "{short} bytes");
        }
        let cut = &public_key[1..];
        let commander = Some(CommanderKey { level, id: KeyId(1), public_key: cut });
        let cut = Provision { commander, ..given }.emit(&mut page);
        assert_eq!(cut, Err(Error::Unsupported(Field::Payload)));
    }
}

#[test]
fn another_version_is_said_to_be_one() {
    let mut page = [0; 512];
    given("7", &[]).emit(&mut page).unwrap();
    for version in [0, 1, 2, 4, 255] {
        page[3] = version;
        assert_eq!(Provision::parse(&page), Err(Error::OtherVersion));
    }
    assert!(Error::OtherVersion.to_string().contains("provision"), "it says what to do");
}

#[test]
fn what_no_device_says_is_refused() {
    let mut page = [0; 512];
    for (saying, error) in [
        (Saying { batch: 0, ..Saying::PLAIN }, Error::NotCanonical),
        (Saying { batch: 65, ..Saying::PLAIN }, Error::NotCanonical),
        (Saying { silence_s: 2, full_s: 1, ..Saying::PLAIN }, Error::NotCanonical),
    ] {
        assert_eq!(Provision { saying, ..given("7", &[]) }.emit(&mut page), Err(error), "{saying:?}");
    }
}

#[test]
fn what_no_device_could_use_is_refused() {
    let mut page = [0xff; 8192];
    for name in ["", "a/b", "+", "#", "a\0"] {
        assert_eq!(given(name, &[]).emit(&mut page), Err(Error::BadTopic), "{name:?}");
    }
    let mut twice = given("7", &[]);
    twice.keys[2].id = twice.keys[0].id;
    assert_eq!(twice.emit(&mut page), Err(Error::KeyState));
    let most = topics(&[("a/#", Class::Low); Topics::MAX]);
    assert!(given("7", &most).emit(&mut page).is_ok());
    let more = topics(&[("a/#", Class::Low); Topics::MAX + 1]);
    assert_eq!(given("7", &more).emit(&mut page), Err(Error::TooLong));
    let long = "a".repeat(253);
    let long = topics(&[(long.as_str(), Class::Low); Topics::MAX]);
    assert_eq!(given("7", &long).emit(&mut page), Err(Error::TooLong), "a device looks at 4096 bytes");
}

proptest! {
    #[test]
    fn any_bytes_are_answered(mut bytes in proptest::collection::vec(any::<u8>(), 4..400)) {
        bytes[..4].copy_from_slice(b"SMD\x03");
        prop_assert!(Provision::parse(&bytes).is_err());
    }
}
