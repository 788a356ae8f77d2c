//! `sealstone mqtt` with a real broker: a gateway that is killed at any moment loses nothing and doubles nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use sealstone_mqtt::gateway::client::Client;
use sealstone_mqtt::gateway::link::Options;
use sealstone_mqtt::gateway::wire::{Connect, Properties, Publish, Qos, Version};

/// A process that ends with the test.
pub(crate) struct Started(pub(crate) Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn mosquitto(folder: &Path) -> (Started, u16) {
    mosquitto_with(folder, "")
}

/// With more lines for its listener.
fn mosquitto_with(folder: &Path, more: &str) -> (Started, u16) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = folder.join("mosquitto.conf");
    let text = format!(
        "listener {port} 127.0.0.1\n{more}allow_anonymous true\nmax_queued_messages 0\nlog_dest none\n"
    );
    fs::write(&config, text).unwrap();
    let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("mosquitto");
    command.env("PATH", path).arg("-c").arg(&config).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Started(command.spawn().expect("mosquitto is installed (apt-get install mosquitto)"));
    for _ in 0..400 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return (started, port);
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    panic!("mosquitto does not listen");
}

pub(crate) fn sealstone(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealstone"));
    command.current_dir(folder).args(args).stdin(Stdio::null());
    command
}

/// A gateway that is subscribed; what it says afterwards is read by a thread, so that it never waits.
pub(crate) fn gateway(folder: &Path) -> Started {
    let mut command = sealstone(folder, &["mqtt", "gateway", "--config", "gateway.toml", "--json"]);
    let mut started = Started(command.stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(started.0.stderr.take().unwrap()).lines();
    let subscribed = lines.by_ref().map_while(Result::ok).any(|line| line.contains("\"subscribed\""));
    assert!(subscribed, "the gateway ended");
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    started
}

pub(crate) fn connect(port: u16, name: &str, stays: bool) -> Client {
    let properties = Properties { session_expiry_s: stays.then_some(3600), ..Properties::default() };
    let connect = Connect {
        client_id: name.into(),
        clean_start: !stays,
        keep_alive_s: 60,
        properties,
        ..Connect::default()
    };
    let address = format!("127.0.0.1:{port}");
    Client::connect(&Options { address, tls: None, version: Version::V5, max_packet_bytes: 1 << 20, connect })
        .unwrap()
        .0
}

/// A folder with a device, a broker and a configuration.
fn folder() -> (tempfile::TempDir, Started, u16) {
    let folder = tempfile::tempdir().unwrap();
    let (broker, port) = mosquitto(folder.path());
    let text = format!("[broker]\naddress = \"127.0.0.1:{port}\"\n");
    fs::write(folder.path().join("gateway.toml"), text).unwrap();
    let made = sealstone(folder.path(), &["mqtt", "provision", "7"]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    (folder, broker, port)
}

/// The options of TLS reach the broker, from each command: it has a certificate of its own, and demands one.
#[test]
fn published_and_subscribed_to_under_tls() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let made = rcgen::generate_simple_self_signed(["broker.example.org".to_owned()]).unwrap();
    for (name, text) in [("broker.pem", made.cert.pem()), ("broker.key", made.signing_key.serialize_pem())] {
        fs::write(file(name), text).unwrap();
        fs::set_permissions(file(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let (certificate, key) = (file("broker.pem"), file("broker.key"));
    // Its own certificate is the one that it knows.
    let more = format!(
        "cafile {certificate}\ncertfile {certificate}\nkeyfile {key}\nrequire_certificate true\nuser root\n"
    );
    let (_broker, port) = mosquitto_with(folder.path(), &more);
    let broker = format!("mqtts://127.0.0.1:{port}");
    let made = sealstone(folder.path(), &["mqtt", "provision", "7"]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let secured = ["--tls-ca", &certificate, "--tls-name", "broker.example.org"];
    let known = ["--tls-certificate", &certificate, "--tls-key", &key];
    let topic = "device/7/telemetry/flow";
    let publish = [
        "mqtt",
        "publish",
        "--as",
        "7.device",
        "--topic",
        topic,
        "--message",
        "21.5",
        "--retain",
        "--broker",
        &broker,
    ];
    let done = sealstone(folder.path(), &[&publish[..], &secured].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success() && said.contains("it demands a certificate of ours"), "{said}");
    let done = sealstone(folder.path(), &[&publish[..], &secured, &known].concat()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    // It is retained: whoever subscribes now gets it.
    let subscribe = ["mqtt", "subscribe", "--json", "--count", "1", "--broker", &broker];
    let done = sealstone(folder.path(), &[&subscribe[..], &secured, &known].concat()).output().unwrap();
    assert!(String::from_utf8_lossy(&done.stdout).contains("\"payload\":\"21.5\""), "{done:?}");
}

#[test]
fn published_verified_and_subscribed_to() {
    let (folder, _broker, port) = folder();
    let broker = format!("127.0.0.1:{port}");
    let mut reading = sealstone(
        folder.path(),
        &[
            "mqtt",
            "subscribe",
            "--broker",
            &broker,
            "--client-id",
            "reader",
            "--json",
            "--count",
            "4",
            "--wait",
            "120s",
        ],
    );
    let mut reading = reading.stdout(Stdio::piped()).spawn().unwrap();
    let mut watch = connect(port, "watch", false);
    watch.subscribe(&["clean/#", "dead-letters/#"], Qos::AtLeastOnce).unwrap();
    let mut gateway = gateway(folder.path());
    let topic = "device/7/telemetry/flow";
    for form in ["v1", "cose", "detached"] {
        let args = [
            "mqtt",
            "publish",
            "--as",
            "7.device",
            "--topic",
            topic,
            "--message",
            form,
            "--form",
            form,
            "--broker",
            &broker,
        ];
        let done = sealstone(folder.path(), &args).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }
    let forged =
        Publish { qos: Qos::AtLeastOnce, topic: topic.into(), payload: b"9".into(), ..Publish::default() };
    connect(port, "forger", false).publish(forged).unwrap();
    let mut came = Vec::new();
    for _ in 0..4 {
        let publish = watch.next(Duration::from_secs(30)).unwrap().unwrap();
        came.push((publish.topic, String::from_utf8(publish.payload).unwrap()));
    }
    let clean = format!("clean/{topic}");
    let dead = format!("dead-letters/unsigned-device/{topic}");
    let expected = [(&clean, "cose"), (&clean, "detached"), (&clean, "v1"), (&dead, "9")];
    came.sort(); // copies of quality 2 and dead letters of quality 1 may overtake each other
    assert_eq!(came, expected.map(|(topic, payload)| (topic.clone(), payload.to_owned())));
    let said = reading.wait_with_output_lines();
    assert_eq!(said.iter().filter(|line| line.contains("\"genuine\"")).count(), 3, "{said:?}");
    assert!(said[3].contains("\"unsigned-device\""), "{said:?}");

    // It ends when it is asked to, and its log holds and says what was refused.
    kill_process(Pid::from_child(&gateway.0), Signal::TERM).unwrap();
    assert!(gateway.0.wait().unwrap().success());
    let data = "sealstone-mqtt-data";
    let (key, log) = (format!("{data}/audit.pub.pem"), format!("{data}/audit"));
    let checked = sealstone(folder.path(), &["audit", "verify", "--key", &key, &log]).output().unwrap();
    assert!(checked.status.success(), "{checked:?}");
    let mut lines = String::new();
    for file in fs::read_dir(folder.path().join(log).join("gateway")).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_some_and(|extension| extension == "jsonl") {
            lines.push_str(&fs::read_to_string(file).unwrap());
        }
    }
    let refused = lines.lines().find(|line| line.contains("mqtt.refused")).unwrap();
    assert!(refused.contains("unsigned-device") && refused.contains(topic), "{refused}");
    assert!(lines.contains("mqtt.started") && lines.contains("mqtt.stopped"), "{lines}");
    for (name, mode) in [("audit.key", 0o600), ("audit", 0o700)] {
        let found = fs::metadata(folder.path().join(data).join(name)).unwrap();
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o077,
            0,
            "{name}: {mode:o}"
        );
    }
}

/// What a process printed until it ended.
trait Lines {
    fn wait_with_output_lines(&mut self) -> Vec<String>;
}

impl Lines for Child {
    fn wait_with_output_lines(&mut self) -> Vec<String> {
        let lines = BufReader::new(self.stdout.take().unwrap()).lines().map(Result::unwrap).collect();
        assert_eq!(self.wait().unwrap().code(), Some(1), "one was refused");
        lines
    }
}

/// What a device is given tags its routine messages; the gateway of the same provisioning takes them, and reconciles the checkpoint.
#[test]
fn tags_of_a_provisioned_device_are_taken_and_reconciled() {
    use sealstone_mqtt::form::By;
    use sealstone_mqtt::mac::{Checkpoint, MacKey, Tagger};
    use sealstone_mqtt::{Form, Keyed, Kind, Message, Number, Topic, UnixMillis, seal};

    let (folder, _broker, port) = folder();
    let mut reader = connect(port, "reader", false);
    reader.subscribe(&["clean/#", "dead-letters/#", "alerts/#"], Qos::AtLeastOnce).unwrap();
    let mut gateway = gateway(folder.path());
    let bytes = fs::read(folder.path().join("7.device")).unwrap();
    let given = sealstone_mqtt::provision::Provision::parse(&bytes).unwrap();
    assert_eq!(given.tagged, [true, false, false, false]);
    let key = MacKey::from_bytes(given.mac_key);
    let level = sealstone_mldsa::Level::MlDsa44;
    let signer = sealstone_mldsa::any::SigningKey::from_seed(level, given.key(level).seed).expand();
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    let topic = "device/7/telemetry/flow";
    let message = |key_id, sequence, payload| Message {
        key_id,
        number: Some(Number { epoch: 1, sequence }),
        time: UnixMillis(time),
        ..Message::new(Topic::new(topic).unwrap(), payload)
    };
    let mut writer = connect(port, "writer", false);
    let mut publish = |payload: &[u8]| {
        let (topic, payload) = (topic.to_owned(), payload.to_vec());
        writer.publish(Publish { qos: Qos::AtLeastOnce, topic, payload, ..Publish::default() }).unwrap();
    };
    let mut checkpoint = Checkpoint::<8>::new(given.mac_key_id);
    for sequence in 0..3 {
        let mut wire = [0; 200];
        let said = message(given.mac_key_id, sequence, b"21.5");
        let len = seal::seal(Form::V1, &said, &mut Tagger(&key), &mut wire).unwrap();
        checkpoint.add(said.number.unwrap(), &wire[len - By::Mac.len()..len]).unwrap();
        // The last one never leaves the device.
        if sequence < 2 {
            publish(&wire[..len]);
            let came = reader.next(Duration::from_secs(30)).unwrap().unwrap();
            assert_eq!(came.topic, format!("clean/{topic}"));
            assert_eq!(came.properties.user("sealstone-seal").collect::<Vec<_>>(), ["tag"]);
        } else {
            fs::write(folder.path().join("tagged.bin"), &wire[..len]).unwrap();
        }
    }
    let mut payload = [0; 200];
    let len = checkpoint.emit(&mut payload).unwrap();
    let said = Message { kind: Kind::Checkpoint, ..message(given.key(level).id, 3, &payload[..len]) };
    let (mut wire, mut chance) = (vec![0; 4000], sealstone_mldsa::OsRandom);
    let len = seal::seal(Form::V1, &said, &mut Keyed::new(&signer, &mut chance), &mut wire).unwrap();
    publish(&wire[..len]);
    let came = reader.next(Duration::from_secs(30)).unwrap().unwrap();
    assert_eq!(came.properties.user("sealstone-kind").collect::<Vec<_>>(), ["checkpoint"]);

    let inspect = ["mqtt", "inspect", "--topic", topic, "--directory", "devices", "tagged.bin"];
    let said = sealstone(folder.path(), &inspect).output().unwrap();
    let text = String::from_utf8(said.stdout).unwrap();
    assert!(text.contains("KMAC256, 32 bytes") && text.contains("the tag is good: key 1 of 7"), "{text}");
    let mut changed = fs::read(folder.path().join("tagged.bin")).unwrap();
    *changed.last_mut().unwrap() ^= 1;
    fs::write(folder.path().join("tagged.bin"), changed).unwrap();
    let said = sealstone(folder.path(), &inspect).output().unwrap();
    let text = String::from_utf8(said.stderr).unwrap();
    assert!(said.status.code() == Some(1) && text.contains("the tag is not good"), "{text}");

    kill_process(Pid::from_child(&gateway.0), Signal::TERM).unwrap();
    assert!(gateway.0.wait().unwrap().success());
    let log = folder.path().join("sealstone-mqtt-data/audit/gateway/000001.jsonl");
    let lines = fs::read_to_string(&log).unwrap();
    let tags = lines.lines().find(|line| line.contains("mqtt.tags")).unwrap();
    let members = r#""event":"mqtt.tags","device":"7","covered":2,"lost":1,"lost_messages":"1:1.2"}"#;
    assert!(tags.ends_with(members), "{tags}");
    // The key for tags is in no line, in no form.
    let shared = fs::read_to_string(folder.path().join("devices/7.1.mac")).unwrap();
    assert!(!lines.contains(shared.trim()));
    let holds = sealstone(folder.path(), &["mqtt", "audit", "--config", "gateway.toml"]).output().unwrap();
    assert!(holds.status.success(), "{holds:?}");
    fs::write(&log, lines.replace("\"lost\":1", "\"lost\":0")).unwrap();
    let holds = sealstone(folder.path(), &["mqtt", "audit"]).output().unwrap();
    assert_eq!(holds.status.code(), Some(1), "{holds:?}");
}

#[test]
fn a_gateway_that_is_killed_loses_nothing_and_doubles_nothing() {
    kills(6);
}

/// `./dev mqtt-kills [N]`.
#[test]
#[ignore = "long: ./dev mqtt-kills"]
fn killed_often() {
    kills(std::env::var("SEALSTONE_KILLS").map_or(100, |kills| kills.parse().unwrap()));
}

fn kills(kills: u32) {
    let (folder, _broker, port) = folder();
    let mut reader = connect(port, "reader", true);
    reader.subscribe(&["clean/#"], Qos::AtLeastOnce).unwrap();
    reader.disconnect().unwrap();
    // Envelopes are made once, by the command; what is measured is the gateway.
    let mut running = gateway(folder.path());
    let mut sent = 0_u32;
    let mut writer = connect(port, "writer", false);
    let key = fs::read(folder.path().join("7.device")).unwrap();
    let given = sealstone_mqtt::provision::Provision::parse(&key).unwrap();
    let level = sealstone_mldsa::Level::MlDsa44;
    let signer = sealstone_mldsa::any::SigningKey::from_seed(level, given.key(level).seed).expand();
    for round in 0..kills {
        // A burst, and the kill somewhere within it.
        for _ in 0..60 {
            let payload = sent.to_string();
            let wire = seal(&signer, given.key(level).id, sent, payload.as_bytes());
            let topic = "device/7/telemetry/count".to_owned();
            let publish = Publish { qos: Qos::AtLeastOnce, topic, payload: wire, ..Publish::default() };
            writer.publish(publish).unwrap();
            sent += 1;
            if sent % 60 == 10 + round * 7 % 45 {
                drop(running);
                running = gateway(folder.path());
            }
        }
    }
    let mut reader = connect(port, "reader", true);
    let mut came: BTreeMap<u32, u32> = BTreeMap::new();
    while came.len() < sent as usize {
        let next = reader.next(Duration::from_secs(30)).unwrap();
        let next = next.unwrap_or_else(|| panic!("{} of {sent} came", came.len()));
        *came.entry(String::from_utf8(next.payload).unwrap().parse().unwrap()).or_default() += 1;
    }
    assert_eq!(reader.next(Duration::from_millis(500)).unwrap(), None, "one came twice");
    let twice: Vec<_> = came.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "came twice: {twice:?}");
    println!("{sent} messages, {kills} kills, none lost, none twice");
}

fn seal(
    signer: &sealstone_mldsa::any::ExpandedSigningKey,
    key_id: sealstone_mqtt::KeyId,
    sequence: u32,
    payload: &[u8],
) -> Vec<u8> {
    use sealstone_mqtt::{Form, Keyed, Message, Number, Topic, UnixMillis, seal};
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    let message = Message {
        key_id,
        number: Some(Number { epoch: 1, sequence }),
        time: UnixMillis(time),
        ..Message::new(Topic::new("device/7/telemetry/count").unwrap(), payload)
    };
    let mut wire = vec![0; 4000];
    let mut chance = sealstone_mldsa::OsRandom;
    let len = seal::seal(Form::V1, &message, &mut Keyed::new(signer, &mut chance), &mut wire).unwrap();
    wire.truncate(len);
    wire
}
