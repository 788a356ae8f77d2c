//! Keys that devices announce, and commands of a commander, through Mosquitto.

use crate::broker::{Mosquitto, client, message};
use crate::flow::collect;
use crate::place::{Running, config, now};
use crate::support::Zeros;
use sealstone_mldsa::{Level, OsRandom, any};
use sealstone_mqtt::gateway::client::Client;
use sealstone_mqtt::gateway::directory::{Entry, KeyEntry, StateName};
use sealstone_mqtt::gateway::wire::{Qos, Version};
use sealstone_mqtt::gateway::{Commander, Gateway};
use sealstone_mqtt::keyring::{Announcement, Confirmation};
use sealstone_mqtt::open::Envelope;
use sealstone_mqtt::template::{Command, Release, Template};
use sealstone_mqtt::{Form, KeyId, Keyed, Kind, Message, Number, Topic, UnixMillis, seal};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

const KEY: &str = "device/r/critical/key";
const ANSWER: &str = "device/r/critical/key/confirmed";
const READING: &str = "device/r/telemetry/flow";
const VALVE: &str = "device/r/command/valve";

fn key(level: Level, seed: u8) -> any::SigningKey {
    any::SigningKey::from_seed(level, &[seed; 32])
}

/// Device r with keys 6501 and 8701, and the commander with key 1; and what the test adds to r's keys.
fn directory(folder: &Path, more: &[KeyEntry]) {
    directory_of(folder, more, StateName::Active);
}

fn directory_of(folder: &Path, more: &[KeyEntry], commander: StateName) {
    let state = commander;
    let entry = |device: &str, keys| Entry { device: device.into(), topics: vec![], keys, macs: vec![] };
    let own = [(6501, Level::MlDsa65, 11), (8701, Level::MlDsa87, 13)];
    let own = own.map(|(id, level, seed)| KeyEntry::new(KeyId(id), &key(level, seed).verifying_key()));
    let commander = KeyEntry::new(KeyId(1), &key(Level::MlDsa87, 14).verifying_key());
    let commander = KeyEntry { state, ..commander };
    let entries = [entry("r", [&own[..], more].concat()), entry("commander", vec![commander])];
    std::fs::write(folder.join("devices.json"), serde_json::to_string(&entries).unwrap()).unwrap();
}

/// The numbers of the commander in one test, over restarts of its gateway.
static NUMBERS: AtomicU32 = AtomicU32::new(0);

fn gateway(folder: &Path, port: u16, version: &str, overlap_s: u32) -> Running {
    let keys =
        format!("keys.announcements = \"confirm\"\nkeys.commander = \"-\"\nkeys.overlap_s = {overlap_s}\n");
    let numbers = || Ok(Number { epoch: 7, sequence: NUMBERS.fetch_add(1, Ordering::Relaxed) });
    let signer = key(Level::MlDsa87, 14).expand();
    let commander = Commander::new(KeyId(1), signer, Box::new(numbers), Box::new(OsRandom));
    let gateway = Gateway::new(config(folder, port, version, &keys)).with_commander(commander);
    let running = Running::start_gateway(gateway);
    running.until("Subscribed");
    running
}

/// Who says something: key id, level, seed.
type Signer = (u16, Level, u8);
const R65: Signer = (6501, Level::MlDsa65, 11);
const R87: Signer = (8701, Level::MlDsa87, 13);
const COMMANDER: Signer = (1, Level::MlDsa87, 14);

fn said(topic: &str, payload: &[u8], kind: Kind, (id, level, seed): Signer) -> Vec<u8> {
    static SEQUENCE: AtomicU32 = AtomicU32::new(0);
    let message = Message {
        kind,
        key_id: KeyId(id),
        number: Some(Number { epoch: 3, sequence: SEQUENCE.fetch_add(1, Ordering::Relaxed) }),
        time: now(),
        ..Message::new(Topic::new(topic).unwrap(), payload)
    };
    let (signer, mut out) = (key(level, seed).expand(), vec![0; 6000 + payload.len()]);
    let len = seal::seal(Form::V1, &message, &mut Keyed::new(&signer, &mut Zeros), &mut out).unwrap();
    out.truncate(len);
    out
}

fn announced(id: u16, level: Level, seed: u8) -> Vec<u8> {
    let (public, mut payload) = (key(level, seed).verifying_key(), vec![0; 3000]);
    let announcement = Announcement { level, key_id: KeyId(id), public_key: public.encode() };
    let len = announcement.emit(&mut payload).unwrap();
    said(KEY, &payload[..len], Kind::Plain, R87)
}

/// The answer, once its signature was checked.
fn answered(bytes: &[u8]) -> (Confirmation, Number) {
    let envelope = Envelope::parse(Form::V1, Topic::new(ANSWER).unwrap(), bytes).unwrap();
    let said = envelope.verify(&key(Level::MlDsa87, 14).verifying_key()).unwrap();
    (Confirmation::parse(said.payload).unwrap(), said.number.unwrap())
}

fn reader(port: u16, version: Version) -> Client {
    let mut reader = client(port, version, "reader");
    reader.subscribe(&["clean/#", "dead-letters/#", "alerts/#", ANSWER], Qos::ExactlyOnce).unwrap();
    reader
}

#[test]
fn a_device_goes_on_to_its_next_key() {
    for (version, name) in [(Version::V5, "5"), (Version::V311, "3.1.1")] {
        let folder = tempfile::tempdir().unwrap();
        let broker = Mosquitto::start(folder.path());
        directory(folder.path(), &[]);
        let running = gateway(folder.path(), broker.port, name, 3600);
        let mut reader = reader(broker.port, version);
        let mut writer = client(broker.port, version, "writer");
        let mut send = |topic: &str, bytes: &[u8]| writer.publish(message(topic, bytes)).unwrap();
        let new = (6502, Level::MlDsa65, 41);

        // Nobody knows the key; then it is announced, confirmed, and counts, beside the old one.
        send(READING, &said(READING, b"0", Kind::Plain, new));
        send(KEY, &announced(6502, Level::MlDsa65, 41));
        let found = collect(&mut reader, 5);
        assert_eq!(found["dead-letters/unknown-key/device/r/telemetry/flow"].len(), 1);
        assert_eq!(found["alerts/unknown-key"].len(), 1);
        assert_eq!(found["clean/device/r/critical/key"].len(), 1);
        // Readers see the answer as any message of the commander.
        let (first, before) = answered(&found[ANSWER][0].payload);
        assert_eq!(found["clean/device/r/critical/key/confirmed"][0].payload, first.emit());
        let public = key(Level::MlDsa65, 41).verifying_key();
        let announcement =
            Announcement { level: Level::MlDsa65, key_id: KeyId(6502), public_key: public.encode() };
        assert_eq!(first, Confirmation::of(&announcement));
        send(READING, &said(READING, b"1", Kind::Plain, new));
        send(READING, &said(READING, b"2", Kind::Plain, R65));
        assert_eq!(collect(&mut reader, 2)["clean/device/r/telemetry/flow"].len(), 2);

        // The same again is answered again, with another number; another key under the id is refused and told.
        send(KEY, &announced(6502, Level::MlDsa65, 41));
        let found = collect(&mut reader, 3);
        let (second, after) = answered(&found[ANSWER][0].payload);
        assert_eq!(second, first);
        assert!(after > before);
        send(KEY, &announced(6502, Level::MlDsa65, 42));
        let found = collect(&mut reader, 2);
        assert_eq!(found["dead-letters/announced-otherwise/device/r/critical/key"].len(), 1);
        assert_eq!(found["alerts/key-conflict"].len(), 1);

        // It is still known after a restart, and what comes next follows it.
        running.stop().unwrap();
        let running = gateway(folder.path(), broker.port, name, 3600);
        send(READING, &said(READING, b"3", Kind::Plain, new));
        send(KEY, &announced(6503, Level::MlDsa65, 43));
        let found = collect(&mut reader, 4);
        assert_eq!(found["clean/device/r/telemetry/flow"].len(), 1);
        assert_eq!(answered(&found[ANSWER][0].payload).0.key_id, KeyId(6503));

        // The directory gets another key with that id: then this one counts, and the learned one does not.
        let other = key(Level::MlDsa65, 50).verifying_key();
        directory(folder.path(), &[KeyEntry::new(KeyId(6503), &other)]);
        running.until("Directory {");
        send(READING, &said(READING, b"4", Kind::Plain, (6503, Level::MlDsa65, 50)));
        send(READING, &said(READING, b"5", Kind::Plain, (6503, Level::MlDsa65, 43)));
        let found = collect(&mut reader, 3);
        assert_eq!(found["clean/device/r/telemetry/flow"][0].payload, b"4");
        assert_eq!(found["dead-letters/bad-signature/device/r/telemetry/flow"].len(), 1);
        assert_eq!(found["alerts/key-conflict"].len(), 1);
        running.stop().unwrap();
    }
}

/// Without an overlap the old key is over at once, after a restart too, and after the operator has written the new one down and
/// left the old one as it was.
#[test]
fn the_key_before_is_over_after_the_overlap() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path());
    directory(folder.path(), &[]);
    let mut running = gateway(folder.path(), broker.port, "5", 0);
    let mut reader = reader(broker.port, Version::V5);
    let mut writer = client(broker.port, Version::V5, "writer");
    writer.publish(message(KEY, &announced(6502, Level::MlDsa65, 41))).unwrap();
    collect(&mut reader, 3);
    for round in 0..3 {
        let old = said(READING, b"old", Kind::Plain, R65);
        writer.publish(message(READING, &old)).unwrap();
        let new = said(READING, b"new", Kind::Plain, (6502, Level::MlDsa65, 41));
        writer.publish(message(READING, &new)).unwrap();
        let found = collect(&mut reader, 2);
        assert_eq!(found["dead-letters/key-retired/device/r/telemetry/flow"].len(), 1, "round {round}");
        assert_eq!(found["clean/device/r/telemetry/flow"][0].payload, b"new");
        if round == 0 {
            running.stop().unwrap();
            running = gateway(folder.path(), broker.port, "5", 0);
        } else if round == 1 {
            let new = key(Level::MlDsa65, 41).verifying_key();
            directory(folder.path(), &[KeyEntry::new(KeyId(6502), &new)]);
            running.until("Directory {");
        }
    }
    // What the operator says of the key itself counts, too.
    let new = KeyEntry::new(KeyId(6502), &key(Level::MlDsa65, 41).verifying_key());
    directory(folder.path(), &[KeyEntry { state: StateName::Retired, ..new }]);
    running.until("Directory {");
    let new = said(READING, b"new", Kind::Plain, (6502, Level::MlDsa65, 41));
    writer.publish(message(READING, &new)).unwrap();
    assert_eq!(collect(&mut reader, 1)["dead-letters/key-retired/device/r/telemetry/flow"].len(), 1);
    running.stop().unwrap();
}

#[test]
fn a_command_signed_beforehand_is_let_go_once_over_restarts() {
    for (version, name) in [(Version::V5, "5"), (Version::V311, "3.1.1")] {
        let folder = tempfile::tempdir().unwrap();
        let broker = Mosquitto::start(folder.path());
        directory(folder.path(), &[]);
        let mut running = gateway(folder.path(), broker.port, name, 3600);
        let mut reader = reader(broker.port, version);
        let mut writer = client(broker.port, version, "writer");
        let mut send = |topic: &str, bytes: &[u8]| writer.publish(message(topic, bytes)).unwrap();
        send(VALVE, &said(VALVE, b"interval 5000", Kind::Plain, COMMANDER));
        assert_eq!(collect(&mut reader, 1)["clean/device/r/command/valve"][0].payload, b"interval 5000");

        let commands =
            [(1, b"open "), (2, b"close"), (3, b"drain")].map(|(token, bytes)| (vec![token; 32], bytes));
        let commands = commands
            .each_ref()
            .map(|(token, bytes)| Command { token: token[..].first_chunk().unwrap(), bytes: &bytes[..] });
        let (from, to) = (UnixMillis(now().0 - 1), UnixMillis(now().0 + 3_600_000));
        let mut payload = vec![0; 300];
        let len = Template::emit(5, from, to, &commands, &mut payload).unwrap();
        let release = |index, token| Release { template: 5, index, token: [token; 32] }.emit();
        send(VALVE, &said(VALVE, &payload[..len], Kind::Template, COMMANDER));
        send(VALVE, &release(0, 9));
        let found = collect(&mut reader, 2);
        assert_eq!(found["clean/device/r/command/valve"][0].payload, &payload[..len]);
        assert_eq!(found["dead-letters/wrong-token/device/r/command/valve"][0].payload, release(0, 9));

        running.stop().unwrap();
        running = gateway(folder.path(), broker.port, name, 3600);
        send(VALVE, &release(1, 2));
        let found = collect(&mut reader, 1);
        let copy = &found["clean/device/r/command/valve"][0];
        assert_eq!(copy.payload, b"close");
        if version == Version::V5 {
            assert_eq!(copy.properties.user("sealstone-release").collect::<Vec<_>>(), ["5.1"]);
            assert_eq!(copy.properties.user("sealstone-device").collect::<Vec<_>>(), ["commander"]);
        }
        running.stop().unwrap();
        running = gateway(folder.path(), broker.port, name, 3600);
        send(VALVE, &release(1, 2));
        send(VALVE, &release(0, 1));
        let found = collect(&mut reader, 2);
        assert_eq!(found["dead-letters/command-taken/device/r/command/valve"].len(), 1);
        assert_eq!(found["clean/device/r/command/valve"][0].payload, b"open ");
        // A template falls with the key that signed it.
        directory_of(folder.path(), &[], StateName::Retired);
        running.until("Directory {");
        send(VALVE, &release(2, 3));
        assert_eq!(collect(&mut reader, 1)["dead-letters/key-retired/device/r/command/valve"].len(), 1);
        running.stop().unwrap();
    }
}

/// Tokens that are guessed on one device's topic take nothing from another's.
#[test]
fn guesses_are_counted_as_forgeries_are() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path());
    directory(folder.path(), &[]);
    let keys = "policy.failures_per_minute = 3\n";
    let running = Running::start(config(folder.path(), broker.port, "5", keys));
    let mut reader = reader(broker.port, Version::V5);
    let mut writer = client(broker.port, Version::V5, "writer");
    let command = Command { token: &[1; 32], bytes: b"open" };
    let mut payload = vec![0; 300];
    let (from, to) = (UnixMillis(now().0 - 1), UnixMillis(now().0 + 3_600_000));
    let len = Template::emit(5, from, to, &[command], &mut payload).unwrap();
    writer.publish(message(VALVE, &said(VALVE, &payload[..len], Kind::Template, COMMANDER))).unwrap();
    collect(&mut reader, 1);
    for token in 2..8 {
        let guess = Release { template: 5, index: 0, token: [token; 32] }.emit();
        writer.publish(message(VALVE, &guess)).unwrap();
    }
    let found = collect(&mut reader, 6);
    assert!(found["dead-letters/wrong-token/device/r/command/valve"].len() >= 3);
    assert!(!found["dead-letters/over-budget/device/r/command/valve"].is_empty(), "{:?}", found.keys());
    let other = "device/commander/command/x";
    writer.publish(message(other, &said(other, b"1", Kind::Plain, COMMANDER))).unwrap();
    assert_eq!(collect(&mut reader, 1)["clean/device/commander/command/x"].len(), 1);
    running.stop().unwrap();
}

/// A device that announces without end is answered so often, and others are heard all the while.
#[test]
fn announcements_without_end_are_not_all_answered() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path());
    directory(folder.path(), &[]);
    let running = gateway(folder.path(), broker.port, "5", 3600);
    let mut reader = client(broker.port, Version::V5, "reader");
    reader.subscribe(&["clean/#", "dead-letters/#"], Qos::ExactlyOnce).unwrap();
    let mut writer = client(broker.port, Version::V5, "writer");
    for _ in 0..30 {
        writer.publish(message(KEY, &announced(6502, Level::MlDsa65, 41))).unwrap();
    }
    writer.publish(message(READING, &said(READING, b"1", Kind::Plain, R65))).unwrap();
    let mut answered = 0;
    let mut refused = 0;
    while answered + refused < 30 {
        match &*reader.next(std::time::Duration::from_secs(30)).unwrap().unwrap().topic {
            "clean/device/r/critical/key" => answered += 1,
            "dead-letters/over-budget/device/r/critical/key" => refused += 1,
            "clean/device/r/critical/key/confirmed" | "clean/device/r/telemetry/flow" => {}
            other => panic!("{other}"),
        }
    }
    assert!(answered >= 10 && refused > 0, "{answered} answered, {refused} refused");
    running.stop().unwrap();
}

/// Who confirms must have the key that the directory has.
#[test]
fn a_commander_that_is_another_one_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let keys = "keys.announcements = \"confirm\"\nkeys.commander = \"-\"\n";
    let start = |commander: Option<(u16, u8)>| {
        let gateway = Gateway::new(config(folder.path(), 1, "5", keys));
        let gateway = match commander {
            None => gateway,
            Some((id, seed)) => gateway.with_commander(Commander::new(
                KeyId(id),
                key(Level::MlDsa87, seed).expand(),
                Box::new(|| Ok(Number { epoch: 1, sequence: 1 })),
                Box::new(OsRandom),
            )),
        };
        gateway.run(now, &()).unwrap_err().to_string()
    };
    std::fs::write(folder.path().join("devices.json"), "[]").unwrap();
    assert!(start(None).contains("nobody has the commander's key"));
    assert!(start(Some((1, 14))).contains("no \"commander\""));
    directory(folder.path(), &[]);
    assert!(start(Some((2, 14))).contains("another one"));
    assert!(start(Some((1, 15))).contains("another one"));
}
