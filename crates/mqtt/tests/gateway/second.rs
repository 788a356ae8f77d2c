//! The gateway with a second broker, rumqttd: `./dev mqtt-rumqttd`, which builds it and names it in `SEALSTONE_RUMQTTD`.

use crate::broker::{client, free_port, message};
use crate::flow::collect;
use crate::place::{Running, config, devices, sealed};
use sealstone_mldsa::Level;
use sealstone_mqtt::gateway::wire::{Qos, Version};
use sealstone_mqtt::{Form, Number};
use std::net::TcpStream;
use std::process::{Child, Command};
use std::time::Duration;

/// Messages of each level.
const EACH: u32 = 50;

struct Rumqttd(Child);

impl Rumqttd {
    fn start(version: &str) -> (Self, u16) {
        let program = std::env::var_os("SEALSTONE_RUMQTTD").expect("`./dev mqtt-rumqttd` says where it is");
        let port = free_port();
        let child = Command::new(program).args([version, &port.to_string()]).spawn().unwrap();
        let broker = Rumqttd(child);
        for _ in 0..400 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return (broker, port);
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        panic!("rumqttd does not listen");
    }
}

impl Drop for Rumqttd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Three levels, in order and each once, with the gateway started anew in between; what is forged, replayed or unsigned is refused.
#[test]
#[ignore = "needs rumqttd: ./dev mqtt-rumqttd"]
fn rumqttd_carries_what_is_genuine_and_nothing_else() {
    for (version, name) in [(Version::V5, "5"), (Version::V311, "3.1.1")] {
        let folder = tempfile::tempdir().unwrap();
        let (_broker, port) = Rumqttd::start(name);
        devices(folder.path());
        let mut gateway = Running::start(config(folder.path(), port, name, ""));
        let mut reader = client(port, version, "reader");
        reader.subscribe(&["clean/#", "dead-letters/#"], Qos::AtLeastOnce).unwrap();
        let mut writer = client(port, version, "writer");
        let topic = |level: Level| format!("device/{}/critical/count", &level.name()[7..]);
        let levels = [Level::MlDsa87];
        let (mut sent, mut last) = (0, Vec::new());
        for sequence in 0..EACH {
            for level in levels {
                last = sealed(
                    Form::V1,
                    level,
                    &topic(level),
                    sequence.to_string().as_bytes(),
                    Number { epoch: 1, sequence },
                );
                writer.publish(message(&topic(level), &last)).unwrap();
                sent += 1;
            }
            for (level, class) in [(Level::MlDsa44, "telemetry"), (Level::MlDsa65, "alert")] {
                let topic = format!("device/{}/{class}/count", &level.name()[7..]);
                let bytes = sealed(
                    Form::V1,
                    level,
                    &topic,
                    sequence.to_string().as_bytes(),
                    Number { epoch: 1, sequence },
                );
                writer.publish(message(&topic, &bytes)).unwrap();
                sent += 1;
            }
            if sequence == EACH / 2 {
                gateway.stop().unwrap();
                gateway = Running::start(config(folder.path(), port, name, ""));
            }
        }
        let critical = topic(Level::MlDsa87);
        let fresh = Number { epoch: 1, sequence: EACH };
        let mut changed = sealed(Form::V1, Level::MlDsa87, &critical, b"50", fresh);
        changed[31] ^= 1;
        writer.publish(message(&critical, &changed)).unwrap();
        writer.publish(message(&critical, &last)).unwrap();
        writer.publish(message(&critical, b"51")).unwrap();
        let found = collect(&mut reader, sent + 3);
        for (topic, came) in found.iter().filter(|(topic, _)| topic.starts_with("clean/")) {
            let counted: Vec<String> =
                came.iter().map(|one| String::from_utf8_lossy(&one.payload).into_owned()).collect();
            let wanted: Vec<String> = (0..EACH).map(|sequence| sequence.to_string()).collect();
            assert_eq!(counted, wanted, "{topic}, MQTT {name}");
        }
        for reason in ["bad-signature", "replay", "unsigned-device"] {
            let came = found.get(&format!("dead-letters/{reason}/{critical}"));
            assert_eq!(came.map(Vec::len), Some(1), "{reason} among {:?}", found.keys());
        }
        gateway.stop().unwrap();
        println!("rumqttd, MQTT {name}: {sent} messages, each once and in order; three refused");
    }
}
