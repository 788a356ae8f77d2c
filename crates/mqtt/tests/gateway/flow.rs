//! From a publisher through Mosquitto and the gateway to a subscriber, in both versions of MQTT.

use crate::broker::{Mosquitto, client, message};
use crate::place::{Running, config, config_with, devices, sealed, sealed_as};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_mldsa::Level;
use sealstone_mqtt::gateway::client::Client;
use sealstone_mqtt::gateway::wire::{Properties, Publish, Qos, Version};
use sealstone_mqtt::{Form, KeyId, Message, Number, Topic};
use std::collections::BTreeMap;
use std::time::Duration;

const TOPIC: &str = "device/44/telemetry/temp";

fn number(sequence: u32) -> Number {
    Number { epoch: 1, sequence }
}

/// So many messages, by topic.
pub(crate) fn collect(subscriber: &mut Client, count: usize) -> BTreeMap<String, Vec<Publish>> {
    let mut found: BTreeMap<String, Vec<Publish>> = BTreeMap::new();
    for at in 0..count {
        let came = subscriber.next(Duration::from_secs(30)).unwrap();
        let came = came.unwrap_or_else(|| panic!("{at} of {count} came: {:?}", found.keys()));
        found.entry(came.topic.clone()).or_default().push(came);
    }
    assert_eq!(subscriber.next(Duration::from_millis(300)).unwrap(), None, "nothing more");
    found
}

/// Mosquitto (2.0.11, 2.0.21) takes each message that is larger than its reader said for one under way, for ever: after as many as
/// the receive maximum nothing comes. And in MQTT 3.1.1, which cannot say it, the gateway left at each, and got the same again.
#[test]
fn messages_that_are_too_large_do_not_silence_the_gateway() {
    for (version, name) in [(Version::V5, "5"), (Version::V311, "3.1.1")] {
        let folder = tempfile::tempdir().unwrap();
        let broker = Mosquitto::start(folder.path());
        devices(folder.path());
        let bounds = "max_packet_bytes = 4096\nreceive_maximum = 8";
        let gateway = Running::start(config_with(folder.path(), broker.port, name, "", bounds));
        let mut reader = client(broker.port, version, "reader");
        reader.subscribe(&["clean/#", "dead-letters/#"], Qos::AtLeastOnce).unwrap();
        let mut writer = client(broker.port, version, "writer");
        let genuine = |sequence| sealed(Form::V1, Level::MlDsa44, TOPIC, b"t=21.5", number(sequence));
        for len in (1..=20).map(|n| n * 4096) {
            writer.publish(message(TOPIC, &vec![1; len])).unwrap();
        }
        writer.publish(message(TOPIC, &genuine(1))).unwrap();
        writer.publish(Publish { qos: Qos::AtMostOnce, ..message(TOPIC, &[1; 300_000]) }).unwrap();
        writer.publish(message(TOPIC, &genuine(2))).unwrap();
        let found = collect(&mut reader, 23);
        assert_eq!(found[&format!("clean/{TOPIC}")].len(), 2, "MQTT {name}");
        let refused = &found[&format!("dead-letters/too-large/{TOPIC}")];
        assert!(refused.len() == 21 && refused.iter().all(|letter| letter.payload.is_empty()), "MQTT {name}");
        if version == Version::V5 {
            let said = &refused[0].properties.user;
            assert!(said.contains(&("sealstone-bytes".into(), "4128".into())), "{said:?}");
        }
        gateway.stop().unwrap();
    }
}

/// Mosquitto lets these pass. A gateway that left for one of them would get it again after each connection.
#[test]
fn what_a_sender_chooses_ends_no_connection() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path());
    devices(folder.path());
    let gateway = Running::start(config(folder.path(), broker.port, "5", ""));
    let mut reader = client(broker.port, Version::V5, "reader");
    reader.subscribe(&["clean/#", "dead-letters/#"], Qos::AtLeastOnce).unwrap();
    let mut writer = client(broker.port, Version::V5, "writer");
    let seal = |value: &str| ("sealstone".to_owned(), value.to_owned());
    let choices = [
        Properties { payload_format: Some(2), ..Properties::default() },
        Properties { payload_format: Some(255), ..Properties::default() },
        Properties { response_topic: Some("a/#".into()), ..Properties::default() },
        Properties { response_topic: Some(String::new()), ..Properties::default() },
        Properties { user: vec![seal("A"), seal("A")], ..Properties::default() },
        Properties { user: vec![(String::new(), String::new())], ..Properties::default() },
    ];
    for properties in &choices {
        writer.publish(Publish { properties: properties.clone(), ..message(TOPIC, b"x") }).unwrap();
    }
    let bytes = sealed(Form::V1, Level::MlDsa44, TOPIC, b"t=21.5", number(1));
    writer.publish(Publish { properties: choices[0].clone(), ..message(TOPIC, &bytes) }).unwrap();
    let found = collect(&mut reader, choices.len() + 1);
    assert_eq!(found[&format!("clean/{TOPIC}")].len(), 1);
    let formats = found.values().flatten().map(|publish| publish.properties.payload_format);
    assert!(formats.eq([None; 7]), "a format that is none is not handed on, in dead letters neither");
    gateway.stop().unwrap();
}

#[test]
fn what_is_genuine_arrives_and_nothing_else() {
    for (version, name) in [(Version::V5, "5"), (Version::V311, "3.1.1")] {
        let folder = tempfile::tempdir().unwrap();
        let broker = Mosquitto::start(folder.path());
        devices(folder.path());
        let gateway = Running::start(config(folder.path(), broker.port, name, ""));
        let mut reader = client(broker.port, version, "reader");
        reader.subscribe(&["clean/#", "marked/#", "dead-letters/#"], Qos::ExactlyOnce).unwrap();
        let mut writer = client(broker.port, version, "writer");

        let mut good = 0;
        for (sequence, form) in [Form::V1, Form::Cose, Form::Paper].into_iter().enumerate() {
            let payload = format!("t={}", form.name());
            let bytes = sealed(form, Level::MlDsa44, TOPIC, payload.as_bytes(), number(sequence as u32));
            writer.publish(message(TOPIC, &bytes)).unwrap();
            good += 1;
        }
        if version == Version::V5 {
            let bytes = sealed(Form::Detached, Level::MlDsa44, TOPIC, b"t=detached", number(3));
            let user = vec![("sealstone".into(), URL_SAFE_NO_PAD.encode(bytes))];
            let properties = Properties { user, ..Properties::default() };
            writer.publish(Publish { properties, ..message(TOPIC, b"t=detached") }).unwrap();
            good += 1;
        }
        // An alert of device 65; the same bytes as telemetry; one byte changed; a second time.
        let alert = "device/65/alert/door";
        let bytes = sealed(Form::V1, Level::MlDsa65, alert, b"open", number(9));
        writer.publish(message(alert, &bytes)).unwrap();
        writer.publish(message("device/65/telemetry/door", &bytes)).unwrap();
        let mut changed = sealed(Form::V1, Level::MlDsa65, alert, b"open", number(10));
        changed[32] ^= 1;
        writer.publish(message(alert, &changed)).unwrap();
        writer.publish(message(alert, &bytes)).unwrap();
        // Unsigned: of a device that must sign, and of one that nobody knows.
        writer.publish(message(TOPIC, b"t=99")).unwrap();
        writer.publish(message("device/9/telemetry/temp", b"t=98")).unwrap();

        let found = collect(&mut reader, good + 1 + 5);
        let payloads = |topic: &str| -> Vec<String> {
            let of = |publish: &Publish| String::from_utf8_lossy(&publish.payload).into_owned();
            found[topic].iter().map(of).collect()
        };
        assert_eq!(payloads("clean/device/44/telemetry/temp").len(), good);
        assert_eq!(payloads("clean/device/44/telemetry/temp")[..3], ["t=v1", "t=cose", "t=paper"]);
        assert_eq!(payloads("clean/device/65/alert/door"), ["open"]);
        assert_eq!(payloads("marked/device/9/telemetry/temp"), ["t=98"]);
        assert_eq!(payloads("dead-letters/unsigned-device/device/44/telemetry/temp"), ["t=99"]);
        assert_eq!(found["dead-letters/bad-signature/device/65/telemetry/door"][0].payload, bytes);
        assert_eq!(found["dead-letters/bad-signature/device/65/alert/door"][0].payload, changed);
        assert_eq!(found["dead-letters/replay/device/65/alert/door"].len(), 1);
        if version == Version::V5 {
            let said = &found["clean/device/65/alert/door"][0].properties;
            assert_eq!(said.user("sealstone-device").collect::<Vec<_>>(), ["65"]);
            assert_eq!(said.user("sealstone-number").collect::<Vec<_>>(), ["1.9"]);
            let said = &found["marked/device/9/telemetry/temp"][0].properties;
            assert_eq!(said.user("sealstone-marks").collect::<Vec<_>>(), ["unsigned"]);
        }
        gateway.stop().unwrap();
    }
}

/// What a broker dropped comes back from the envelope; what it changed is refused.
#[test]
fn properties_are_the_signed_ones() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path());
    devices(folder.path());
    let gateway = Running::start(config(folder.path(), broker.port, "5", ""));
    let mut reader = client(broker.port, Version::V5, "reader");
    reader.subscribe(&["clean/#", "dead-letters/#"], Qos::AtLeastOnce).unwrap();
    let mut writer = client(broker.port, Version::V5, "writer");
    let topic = "device/87/config/valve";
    let said = |sequence| {
        let message = Message {
            key_id: KeyId(1),
            number: Some(number(sequence)),
            time: crate::place::now(),
            content_type: "text/plain",
            response_topic: Some(Topic::new("device/87/answers").unwrap()),
            correlation_data: &[7, 8],
            ..Message::new(Topic::new(topic).unwrap(), b"close")
        };
        sealed_as(Form::V1, Level::MlDsa87, &message)
    };
    writer.publish(message(topic, &said(1))).unwrap();
    let elsewhere = Properties { response_topic: Some("evil/answers".into()), ..Properties::default() };
    writer.publish(Publish { properties: elsewhere, ..message(topic, &said(2)) }).unwrap();
    let found = collect(&mut reader, 2);
    let clean = &found["clean/device/87/config/valve"][0];
    assert_eq!(clean.properties.content_type.as_deref(), Some("text/plain"));
    assert_eq!(clean.properties.response_topic.as_deref(), Some("device/87/answers"));
    assert_eq!(clean.properties.correlation_data.as_deref(), Some(&[7, 8][..]));
    assert_eq!(found["dead-letters/response-topic/device/87/config/valve"].len(), 1);
    gateway.stop().unwrap();
}

/// A device that is added while the gateway runs is known without a restart; a directory with a fault changes nothing.
#[test]
fn the_directory_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path());
    let path = folder.path().join("devices.json");
    std::fs::write(&path, "[]").unwrap();
    let gateway = Running::start(config(folder.path(), broker.port, "5", ""));
    std::fs::write(&path, "[{]").unwrap();
    gateway.until("DirectoryFault");
    devices(folder.path());
    assert_eq!(gateway.until("Directory {"), "Directory { devices: 3 }");
    let mut reader = client(broker.port, Version::V5, "reader");
    reader.subscribe(&["clean/#"], Qos::AtLeastOnce).unwrap();
    let bytes = sealed(Form::V1, Level::MlDsa44, TOPIC, b"1", number(1));
    client(broker.port, Version::V5, "writer").publish(message(TOPIC, &bytes)).unwrap();
    assert_eq!(collect(&mut reader, 1).len(), 1);
    gateway.stop().unwrap();
}

/// User and password come from files; without the right ones it says why, and goes on trying.
#[test]
fn a_broker_with_passwords() {
    for version in ["5", "3.1.1"] {
        let folder = tempfile::tempdir().unwrap();
        let broker = Mosquitto::start_with_password(folder.path(), "gateway", "open sesame");
        devices(folder.path());
        let (user, password) = (folder.path().join("user"), folder.path().join("password"));
        std::fs::write(&user, "gateway\n").unwrap();
        std::fs::write(&password, "open sesame\nand a second line\n").unwrap();
        let files = format!("user_file = {user:?}\npassword_file = {password:?}");
        let started =
            |files: &str| Running::start_alone(config_with(folder.path(), broker.port, version, "", files));
        let gateway = started(&files);
        gateway.until("Subscribed");
        gateway.stop().unwrap();
        let gateway = started("");
        let why = gateway.until("Disconnected");
        assert!(why.contains("refuses the connection: not authorized"), "MQTT {version}: {why}");
        gateway.stop().unwrap();
    }
}
