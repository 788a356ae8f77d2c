//! What a device is given: one encoding, nothing changed, nobody else's.

use proptest::prelude::*;
use sealstone_mldsa::Level;
use sealstone_mqtt::blob::{Blob, Topics};
use sealstone_mqtt::level::Policy;
use sealstone_mqtt::provision::Provision;
use sealstone_mqtt::{Error, Field, KeyId};

fn given(device: &str) -> Provision<'_> {
    let topics = Topics::new(&[]).unwrap();
    let seed = &[0x5e; 32];
    let blob = |level| Blob { device, key_id: KeyId(3), level, seed, policy: Policy::BATTERY, topics };
    Provision {
        keys: Level::ALL.map(blob),
        mac_key_id: KeyId(9),
        mac_key: &[0x4d; 32],
        address: [10, 0, 2, 2],
        port: 1883,
        keepalive_s: 300,
        answer_ms: 30_000,
        interval_ms: 60_000,
    }
}

#[test]
fn it_comes_back_from_a_page_and_not_changed_or_cut() {
    let mut page = [0xff; 1024];
    let len = given("7").emit(&mut page).unwrap();
    assert_eq!(Provision::parse(&page), Ok(given("7")));
    assert_eq!(Provision::parse(&page[..len]), Ok(given("7")));
    for short in 0..len {
        assert!(Provision::parse(&page[..short]).is_err(), "{short} bytes");
        assert_eq!(given("7").emit(&mut vec![0; short]), Err(Error::TooLong));
    }
    for at in 0..8 * len {
        let mut changed = page;
        changed[at / 8] ^= 1 << (at % 8);
        assert!(Provision::parse(&changed).is_err(), "bit {at}");
    }
    assert!(!format!("{:?}", given("7")).contains("94"), "no seed is shown");
}

#[test]
fn of_one_device_and_three_levels() {
    let mut page = [0xff; 1024];
    for name in ["", "a/b", "+", "#", "a\0"] {
        assert_eq!(given(name).emit(&mut page), Err(Error::BadTopic), "{name:?}");
    }
    let mut other = given("7");
    other.keys[1].device = "8";
    assert_eq!(other.emit(&mut page), Err(Error::BadTopic));
    let mut other = given("7");
    other.keys[1].level = Level::MlDsa44;
    assert_eq!(other.emit(&mut page), Err(Error::Unknown(Field::Algorithm)));
}

proptest! {
    #[test]
    fn any_bytes_are_answered(mut bytes in proptest::collection::vec(any::<u8>(), 4..400)) {
        bytes[..4].copy_from_slice(b"SSP1");
        prop_assert!(Provision::parse(&bytes).is_err());
    }
}
