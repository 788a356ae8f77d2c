//! Announced keys, commands and templates, with the command: what an operator types, and a gateway that is killed.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use sealstone_mldsa::{Level, OsRandom, any::SigningKey};
use sealstone_mqtt::gateway::wire::{Packet, Properties, Publish, Qos};
use sealstone_mqtt::keyring::{Announcement, Confirmation};
use sealstone_mqtt::open::Envelope;
use sealstone_mqtt::provision::Provision;
use sealstone_mqtt::{Form, KeyId, Keyed, Message, Number, Topic, UnixMillis, seal};

use crate::mqtt::{Started, connect, gateway, mosquitto, sealstone};
use crate::peer::Peer;

const KEY: &str = "device/7/critical/key";
const ANSWER: &str = "device/7/critical/key/confirmed";
const READING: &str = "device/7/telemetry/flow";

/// Device 7 and its numbers.
struct Device {
    given: Vec<u8>,
    sequence: u32,
}

impl Device {
    fn new(folder: &Path) -> Self {
        Device { given: fs::read(folder.join("7.device")).unwrap(), sequence: 0 }
    }

    fn says(&mut self, topic: &str, payload: &[u8], key: &SigningKey, id: KeyId) -> Vec<u8> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        self.sequence += 1;
        let message = Message {
            key_id: id,
            number: Some(Number { epoch: 1, sequence: self.sequence }),
            time: UnixMillis(since.as_millis() as u64),
            ..Message::new(Topic::new(topic).unwrap(), payload)
        };
        let (signer, mut chance, mut wire) = (key.expand(), OsRandom, vec![0; 9000]);
        let len = seal::seal(Form::V1, &message, &mut Keyed::new(&signer, &mut chance), &mut wire).unwrap();
        wire.truncate(len);
        wire
    }

    /// A key of level 65, announced with its key of level 87.
    fn announces(&mut self, id: u16, seed: u8) -> Vec<u8> {
        let public = next(seed).verifying_key();
        let announcement =
            Announcement { level: Level::MlDsa65, key_id: KeyId(id), public_key: public.encode() };
        let mut payload = vec![0; 3000];
        let len = announcement.emit(&mut payload).unwrap();
        let given = self.given.clone();
        let key = Provision::parse(&given).unwrap().key(Level::MlDsa87);
        self.says(KEY, &payload[..len], &SigningKey::from_seed(Level::MlDsa87, key.seed), key.id)
    }

    /// A reading with such a key.
    fn reads(&mut self, id: u16, seed: u8) -> Vec<u8> {
        self.says(READING, b"21.5", &next(seed), KeyId(id))
    }
}

fn next(seed: u8) -> SigningKey {
    SigningKey::from_seed(Level::MlDsa65, &[seed; 32])
}

/// Device 7, the commander, and the configuration of a gateway that confirms what devices announce.
fn provisioned(folder: &Path, port: u16) {
    let text = format!(
        "[broker]\naddress = \"127.0.0.1:{port}\"\n[keys]\nannouncements = \"confirm\"\n\
         commander = \"commander.device\"\n[class.critical]\nfresh_s = 3600\ntopics = [\"device/+/critical/#\"]\n"
    );
    fs::write(folder.join("gateway.toml"), text).unwrap();
    for name in ["7", "commander"] {
        said(folder, &["mqtt", "provision", name]);
    }
}

/// What a command says that succeeds.
fn said(folder: &Path, args: &[&str]) -> String {
    let done = sealstone(folder, args).output().unwrap();
    assert!(done.status.success(), "{args:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// A confirmation as a device opens it: with the commander's public key.
fn opened(folder: &Path, answer: &Publish) -> (Confirmation, Number) {
    assert_eq!(answer.topic, ANSWER);
    let given = fs::read(folder.join("commander.device")).unwrap();
    let key = Provision::parse(&given).unwrap().key(Level::MlDsa87);
    let public = SigningKey::from_seed(Level::MlDsa87, key.seed).verifying_key();
    let envelope = Envelope::parse(Form::V1, Topic::new(ANSWER).unwrap(), &answer.payload).unwrap();
    let message = envelope.verify(&public).unwrap();
    (Confirmation::parse(message.payload).unwrap(), message.number.unwrap())
}

/// A broker of ours, which takes one packet at a time, so that a test decides what was published.
impl Peer {
    fn welcome(listener: &TcpListener, session_present: bool) -> Self {
        let stream = listener.accept().unwrap().0;
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut peer = Peer::over(stream);
        assert!(matches!(peer.read(), Packet::Connect(_)));
        let properties = Box::new(Properties { receive_maximum: Some(1), ..Properties::default() });
        peer.send(Packet::ConnAck { session_present, code: 0, properties });
        peer.subscribed();
        peer
    }

    fn deliver(&mut self, id: u16, dup: bool, payload: &[u8]) {
        let (topic, payload) = (KEY.into(), payload.to_owned());
        let publish = Publish { dup, qos: Qos::AtLeastOnce, id, topic, payload, ..Publish::default() };
        self.send(Packet::Publish(Box::new(publish)));
    }

    /// The next publication; not confirmed. One of before may be released once more, whose end was not on the disk.
    fn publication(&mut self) -> Publish {
        loop {
            match self.read() {
                Packet::Publish(publish) => return *publish,
                Packet::PubRel { id, .. } => self.send(Packet::PubComp { id, reason: 0 }),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Confirms a publication to its end.
    fn complete(&mut self, id: u16) {
        self.send(Packet::PubRec { id, reason: 0 });
        assert_eq!(self.read(), Packet::PubRel { id, reason: 0 });
        self.send(Packet::PubComp { id, reason: 0 });
    }
}

/// The gateway is killed when its frame is on the disk and the answer not published: the next one publishes it, the same bytes,
/// as often as it takes. No number of the commander is used twice.
#[test]
fn a_confirmation_outlives_a_gateway_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    provisioned(folder.path(), listener.local_addr().unwrap().port());
    let mut device = Device::new(folder.path());
    let announced = device.announces(6502, 41);
    let start = || {
        let mut command = sealstone(folder.path(), &["mqtt", "gateway", "--config", "gateway.toml"]);
        Started(command.stderr(Stdio::null()).spawn().unwrap())
    };

    // The copy is on its way, and the answer waits for its turn.
    let running = start();
    let mut peer = Peer::welcome(&listener, false);
    peer.deliver(5, false, &announced);
    let copy = peer.publication();
    assert_eq!(copy.topic, format!("clean/{KEY}"));
    assert_eq!(peer.read(), Packet::PubAck { id: 5, reason: 0 });
    drop((running, peer));

    let running = start();
    let mut peer = Peer::welcome(&listener, true);
    assert_eq!(peer.publication().payload, copy.payload);
    peer.complete(copy.id);
    let answer = peer.publication();
    let (confirmation, first) = opened(folder.path(), &answer);
    assert_eq!((confirmation.level, confirmation.key_id), (Level::MlDsa65, KeyId(6502)));
    drop((running, peer));

    let running = start();
    let mut peer = Peer::welcome(&listener, true);
    assert_eq!(peer.publication(), Publish { dup: true, ..answer.clone() });
    peer.complete(answer.id);
    // The same message again is nothing new; the same key in another message is confirmed again.
    peer.deliver(6, true, &announced);
    assert_eq!(peer.read(), Packet::PubAck { id: 6, reason: 0 });
    peer.deliver(7, false, &device.announces(6502, 41));
    let copy = peer.publication();
    assert_eq!(peer.read(), Packet::PubAck { id: 7, reason: 0 });
    peer.complete(copy.id);
    let (again, second) = opened(folder.path(), &peer.publication());
    assert_eq!(again, confirmation);
    assert!(second > first, "{second:?} after {first:?}");
    drop((running, peer));
}

/// What an operator sees of a key that a device announced, and how it becomes his own word.
#[test]
fn learned_keys_are_listed_and_adopted() {
    let folder = tempfile::tempdir().unwrap();
    let (_broker, port) = mosquitto(folder.path());
    provisioned(folder.path(), port);
    let mut device = Device::new(folder.path());
    let running = gateway(folder.path());
    let mut watch = connect(port, "watch", false);
    watch.subscribe(&["clean/#", ANSWER], Qos::AtLeastOnce).unwrap();
    let mut writer = connect(port, "writer", false);
    let mut send = |topic: &str, payload: Vec<u8>| {
        let publish = Publish { qos: Qos::AtLeastOnce, topic: topic.into(), payload, ..Publish::default() };
        writer.publish(publish).unwrap();
    };
    let mut came = |topic: &str| loop {
        let next = watch.next(Duration::from_secs(60)).unwrap().unwrap_or_else(|| panic!("{topic}"));
        if next.topic == topic {
            return next;
        }
    };
    send(KEY, device.announces(6502, 41));
    opened(folder.path(), &came(ANSWER));
    send(READING, device.reads(6502, 41));
    came("clean/device/7/telemetry/flow");

    let keys = |args: &[&str]| {
        said(folder.path(), &[&["mqtt", "keys"], args, &["--config", "gateway.toml"]].concat())
    };
    let listed = keys(&["list"]);
    assert!(listed.starts_with("7  key 6502 of ML-DSA-65  learned  confirmed "), "{listed}");
    let entry = || fs::read_to_string(folder.path().join("devices/7.json")).unwrap();
    assert!(!entry().contains("6502"));
    assert_eq!(keys(&["adopt", "7"]), "7  key 6502 of ML-DSA-65 is in devices\n");
    let adopted: serde_json::Value = serde_json::from_str(&entry()).unwrap();
    let of =
        |id: u16| adopted["keys"].as_array().unwrap().iter().find(|key| key["id"] == id).unwrap().clone();
    assert_eq!(of(6502)["state"], "active");
    assert_eq!(of(6501)["state"], "retired");
    let listed: serde_json::Value = serde_json::from_str(&keys(&["list", "--json"])).unwrap();
    assert_eq!(listed[0]["state"], "adopted");
    assert_eq!(of(6501)["retired_at"], listed[0]["before_retired_at"]);
    assert_eq!(keys(&["adopt"]), "nothing to adopt\n");
    drop(running);

    // Without the data directory nothing is lost of it.
    fs::remove_dir_all(folder.path().join("sealstone-mqtt-data")).unwrap();
    let running = gateway(folder.path());
    send(READING, device.reads(6502, 41));
    came("clean/device/7/telemetry/flow");
    drop(running);
}

/// One command for each order, and a token that lets a command go without a key.
#[test]
fn orders_of_an_operator_arrive() {
    let folder = tempfile::tempdir().unwrap();
    let (_broker, port) = mosquitto(folder.path());
    provisioned(folder.path(), port);
    let broker = format!("127.0.0.1:{port}");
    let running = gateway(folder.path());
    let mut watch = connect(port, "watch", false);
    watch.subscribe(&["clean/#", "dead-letters/#"], Qos::AtLeastOnce).unwrap();
    let mut next = || watch.next(Duration::from_secs(60)).unwrap().expect("a message");
    let publish = |key: &str, topic: &str, more: &[&str]| {
        let args = [
            &[
                "mqtt",
                "publish",
                "--broker",
                &broker,
                "--client-id",
                "operator",
                "--as",
                key,
                "--topic",
                topic,
            ],
            more,
        ];
        said(folder.path(), &args.concat());
    };
    for (topic, order) in [("device/7/command/keys", "rotate 65"), ("device/7/command/pace", "interval 5000")]
    {
        publish("commander.device", topic, &["--message", order]);
        let copy = next();
        assert_eq!((copy.topic, &*copy.payload), (format!("clean/{topic}"), order.as_bytes()));
    }
    // The device's own key has the same id: the signature tells them apart.
    fs::write(folder.path().join("7.device.number"), "2.0").unwrap();
    publish("7.device", "device/7/command/keys", &["--message", "rotate 44"]);
    assert_eq!(next().topic, "dead-letters/bad-signature/device/7/command/keys");

    let make =
        ["template", "make", "--command", "open", "--command", "close", "--valid", "1d", "--out", "valve"];
    said(folder.path(), &[&["mqtt"], &make[..]].concat());
    publish("commander.device", "device/7/command/valve", &["--file", "valve", "--kind", "template"]);
    assert_eq!(next().payload, fs::read(folder.path().join("valve")).unwrap());
    let release = |token: &str| {
        let to = ["--topic", "device/7/command/valve", "--broker", &broker, "--client-id", "guard"];
        said(folder.path(), &[&["mqtt", "template", "release", token], &to[..]].concat());
    };
    release("valve.token-1");
    assert_eq!(next().payload, b"close");
    release("valve.token-1");
    assert_eq!(next().topic, "dead-letters/command-taken/device/7/command/valve");
    drop(running);
}
