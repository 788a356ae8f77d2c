//! `sealstone mqtt` with a real broker: a gateway that is killed at any moment loses nothing and doubles nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = folder.join("mosquitto.conf");
    let text =
        format!("listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nlog_dest none\n");
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
    Client::connect(&Options { address, version: Version::V5, max_packet_bytes: 1 << 20, connect }).unwrap().0
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
    let asked = Command::new("kill").args(["-TERM", &gateway.0.id().to_string()]).status().unwrap();
    assert!(asked.success() && gateway.0.wait().unwrap().success());
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
