//! Messages with tags, through the judge and through a real broker.

use crate::broker::{Mosquitto, client, message};
use crate::negative::world::{NOW, Said, World};
use crate::place::{Running, config, now, shared};
use crate::support::public;
use sealstone_mldsa::Level;
use sealstone_mqtt::form::By;
use sealstone_mqtt::gateway::directory::{Entry, KeyEntry, StateName, mac_text};
use sealstone_mqtt::gateway::state::Recent;
use sealstone_mqtt::gateway::tags::Tagged;
use sealstone_mqtt::gateway::verify::{Judge, Looked, Passed};
use sealstone_mqtt::gateway::wire::{Publish, Qos, Version};
use sealstone_mqtt::gateway::{Config, Reason};
use sealstone_mqtt::mac::{MacKey, Tagger};
use sealstone_mqtt::{Form, KeyId, Message, Number, Topic, seal};
use std::sync::Arc;
use std::time::Duration;

const TOPIC: &str = "device/7/telemetry/temp";
pub(crate) const KEY: [u8; 32] = [0x4d; 32];

/// The verdicts of one gateway over messages in order.
fn verdicts(more: &str, messages: &[Publish]) -> Vec<Result<Passed, Reason>> {
    let world = World::new();
    let config = world.config(more);
    let rules = config.rules().unwrap();
    let judge = Judge { rules: &rules, directory: &world.directory };
    let mut seen = Recent::default();
    messages.iter().map(|message| judge.judge(&Arc::new(message.clone()), &mut seen, NOW)).collect()
}

#[test]
fn a_tag_passes_and_says_that_it_is_one() {
    for form in [Form::V1, Form::Detached] {
        let passed = verdicts("", &[Said::tagged(form).publish()]).remove(0).unwrap();
        let signer = passed.signer.unwrap();
        assert_eq!((signer.by, signer.key, &*signer.device), (By::Mac, KeyId(17), "a"));
        assert!(!passed.marks.any() && passed.payload == b"t=21.5");
    }
    // A payload that is too long for the loop goes the other way, to the same end.
    let long = Said { payload: &[7; 100_000], ..Said::tagged(Form::V1) };
    assert_eq!(verdicts("", &[long.publish()])[0].as_ref().unwrap().payload.len(), 100_000);
    let medium = Said { topic: "device/a/status/temp", ..Said::tagged(Form::V1) }.publish();
    assert!(verdicts("[policy]\ntags = [\"medium\"]\n", &[medium])[0].is_ok());
}

/// Each bit of a whole message: head, payload, tag.
#[test]
fn no_bit_can_be_another_one() {
    for form in [Form::V1, Form::Detached] {
        let said = Said { content_type: "text/plain", correlation: &[7, 8], ..Said::tagged(form) };
        let len = said.sealed().len();
        let changed: Vec<Publish> =
            (0..8 * len).map(|bit| said.changed(|bytes| bytes[bit / 8] ^= 1 << (bit % 8))).collect();
        for (bit, verdict) in verdicts("", &changed).iter().enumerate() {
            assert!(verdict.is_err(), "{}: bit {bit} of {len} bytes", form.name());
        }
        assert!(verdicts("", &[said.publish()])[0].is_ok());
    }
}

/// Whoever has the shared key keeps no signature out: a number that a tag has taken is still good for one, once.
#[test]
fn a_signature_passes_under_a_number_that_a_tag_has_taken() {
    let (tag, signed) = (Said::tagged(Form::V1).publish(), Said::new(Form::V1).publish());
    let verdicts = verdicts("", &[tag.clone(), signed.clone(), signed, tag]);
    assert!(verdicts[0].as_ref().is_ok_and(|passed| passed.tags.is_empty()));
    // And tells who was first: not the device.
    let contradicted = &verdicts[1].as_ref().unwrap().tags.contradicted;
    assert_eq!(contradicted[..], [Tagged { key: KeyId(17), number: Number { epoch: 3, sequence: 5000 } }]);
    assert_eq!(verdicts[2..], [Err(Reason::Replay), Err(Reason::Replay)]);
}

/// Both are looked at before either is accepted, as where a worker is slow: the signature has the number, in whatever order they came.
#[test]
fn a_tag_that_was_looked_at_first_has_no_number_of_a_signature() {
    let world = World::new();
    let config = world.config("");
    let rules = config.rules().unwrap();
    let judge = Judge { rules: &rules, directory: &world.directory };
    let mut seen = Recent::default();
    let look = |said: Said| match judge.look(&Arc::new(said.publish()), &Recent::default(), NOW).unwrap() {
        Looked::Signed(candidate) => candidate.check().unwrap(),
        Looked::Unsigned(_) | Looked::Release => panic!("it is sealed"),
    };
    let (tag, signed) = (look(Said::tagged(Form::V1)), look(Said::new(Form::V1)));
    assert!(judge.accept(signed, &mut seen, NOW).is_ok());
    assert_eq!(judge.accept(tag, &mut seen, NOW), Err(Reason::Replay));
}

#[test]
fn classes_with_a_higher_floor_take_no_tags() {
    let takes = |text: &str| {
        let config = Config::parse(text, None).unwrap();
        let rules = config.rules().unwrap();
        sealstone_mqtt::level::Class::ALL.map(|class| rules.takes_tags(class))
    };
    assert_eq!(takes(""), [true, false, false, false]);
    assert_eq!(takes("[policy]\ntags = []\n"), [false; 4]);
    assert_eq!(takes("[policy]\ntags = [\"medium\"]\n"), [false, true, false, false]);
    assert_eq!(takes("[class.low]\nfloor = \"ML-DSA-65\"\n"), [false; 4]);
    for (text, what) in [
        ("[policy]\ntags = [\"high\"]\n", "`tags` has \"high\", whose floor is ML-DSA-65"),
        (
            "[class.low]\nfloor = \"ML-DSA-65\"\n[policy]\ntags = [\"low\"]\n",
            "`tags` has \"low\", whose floor is ML-DSA-65",
        ),
        ("[policy]\ntags = [\"lowest\"]\n", "unknown variant `lowest`"),
        ("[policy]\ncheckpoint_within_s = 0\n", "invalid value: integer `0`"),
    ] {
        let cause = Config::parse(text, None).unwrap_err().to_string();
        assert!(cause.contains(what), "{cause}, expected {what}");
    }
    assert_eq!(
        takes("[class.high]\nfloor = \"ML-DSA-44\"\n[policy]\ntags = [\"high\"]\n"),
        [false, false, true, false]
    );
}

/// A folder with the device "7": key 1 signs, 17 is shared.
pub(crate) fn devices(folder: &std::path::Path) {
    let entry = Entry {
        device: "7".into(),
        topics: vec![],
        keys: vec![KeyEntry::new(KeyId(1), public(Level::MlDsa44))],
        macs: vec![shared(folder, 17, &KEY, StateName::Active)],
    };
    std::fs::write(folder.join("devices.json"), serde_json::to_string(&entry).unwrap()).unwrap();
}

/// A message with a tag.
pub(crate) fn tagged(key: &[u8; 32], payload: &[u8], sequence: u32) -> Vec<u8> {
    let message = Message {
        key_id: KeyId(17),
        number: Some(Number { epoch: 1, sequence }),
        time: now(),
        ..Message::new(Topic::new(TOPIC).unwrap(), payload)
    };
    let mut out = vec![0; 200 + payload.len()];
    let len = seal::seal(Form::V1, &message, &mut Tagger(&MacKey::from_bytes(key)), &mut out).unwrap();
    out.truncate(len);
    out
}

/// Through Mosquitto and the gateway in both versions: short ones in the loop, long ones in the workers, in order all the same;
/// forgeries up to the budget; a key that changes while the gateway runs.
#[test]
fn tags_through_a_broker() {
    for (version, name) in [(Version::V5, "5"), (Version::V311, "3.1.1")] {
        let folder = tempfile::tempdir().unwrap();
        let broker = Mosquitto::start(folder.path());
        devices(folder.path());
        let gateway =
            Running::start(config(folder.path(), broker.port, name, "policy.failures_per_minute = 3\n"));
        let mut reader = client(broker.port, version, "reader");
        reader.subscribe(&["clean/#", "dead-letters/#"], Qos::ExactlyOnce).unwrap();
        let mut writer = client(broker.port, version, "writer");
        let mut next = || reader.next(Duration::from_secs(30)).unwrap().expect("it comes");
        for sequence in 0..20 {
            let payload = vec![sequence as u8; if sequence % 3 == 1 { 9000 } else { 10 }];
            writer.publish(message(TOPIC, &tagged(&KEY, &payload, sequence))).unwrap();
        }
        for sequence in 0..20 {
            let came = next();
            assert_eq!((&*came.topic, came.payload[0]), ("clean/device/7/telemetry/temp", sequence));
            if version == Version::V5 {
                let said = |name| came.properties.user(name).collect::<Vec<_>>();
                assert_eq!(said("sealstone-seal"), ["tag"]);
                assert_eq!(said("sealstone-key"), ["17"]);
                assert!(said("sealstone-level").is_empty());
            }
        }
        // Short and long ones count alike.
        for (sequence, len) in [(20, 10), (21, 9000), (22, 10)] {
            writer.publish(message(TOPIC, &tagged(&[1; 32], &vec![0; len], sequence))).unwrap();
            assert_eq!(next().topic, format!("dead-letters/bad-signature/{TOPIC}"));
        }
        writer.publish(message(TOPIC, &tagged(&KEY, b"1", 23))).unwrap();
        assert_eq!(next().topic, format!("dead-letters/over-budget/{TOPIC}"));

        let another = [0x4e; 32];
        let entry = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
        let file = entry.into_iter().find(|file| file.extension().is_some_and(|kind| kind == "mac")).unwrap();
        crate::place::write_key(&file, &*mac_text(&another), 0o644);
        assert!(gateway.until("DirectoryFault").contains("0644"));
        crate::place::write_key(&file, &*mac_text(&another), 0o600);
        gateway.until("Directory {");
        gateway.stop().unwrap();
        let gateway = Running::start(config(folder.path(), broker.port, name, ""));
        writer.publish(message(TOPIC, &tagged(&another, b"2", 24))).unwrap();
        assert_eq!(next().payload, b"2");
        writer.publish(message(TOPIC, &tagged(&KEY, b"3", 25))).unwrap();
        assert_eq!(next().topic, format!("dead-letters/bad-signature/{TOPIC}"));
        gateway.stop().unwrap();
    }
}
