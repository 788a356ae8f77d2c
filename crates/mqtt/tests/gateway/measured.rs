//! Figures, for `./dev mqtt-figures`: not compared with a clock.

use crate::broker::{Mosquitto, client, message, options};
use crate::place::{Running, config, devices, sealed};
use sealstone_mldsa::{Level, any};
use sealstone_mqtt::gateway::Directory;
use sealstone_mqtt::gateway::client::Client;
use sealstone_mqtt::gateway::directory::{Entry, KeyEntry};
use sealstone_mqtt::gateway::wire::{Qos, Version};
use sealstone_mqtt::{Form, KeyId, Number};
use std::time::{Duration, Instant};

/// 10,000 devices of level 65, one file each.
#[test]
#[ignore = "figures: ./dev mqtt-figures"]
fn ten_thousand_devices() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..10_000_u32 {
        let mut seed = [0; 32];
        seed[..4].copy_from_slice(&number.to_be_bytes());
        let key = any::SigningKey::from_seed(Level::MlDsa65, &seed).verifying_key();
        let device = format!("device-{number}");
        let entry = Entry {
            topics: vec![],
            keys: vec![KeyEntry::new(KeyId(1), &key)],
            macs: vec![],
            device: device.clone(),
        };
        let path = folder.path().join(format!("{device}.json"));
        std::fs::write(path, serde_json::to_string(&entry).unwrap()).unwrap();
    }
    let (before, begin) = (resident_kb(), Instant::now());
    let directory = Directory::load(folder.path()).unwrap();
    let (took, grown) = (begin.elapsed(), resident_kb() - before);
    let looked = Instant::now();
    assert!(!directory.changed(folder.path()).unwrap());
    println!(
        "{} devices: {grown} kB more in memory, read in {took:?}, looked at again in {:?}",
        directory.len(),
        looked.elapsed()
    );
    assert_eq!(directory.len(), 10_000);
    assert!(grown < 200_000, "{grown} kB");
}

/// Messages of three devices, one of each level, through a broker and the gateway: from the first sent to the last copy.
#[test]
#[ignore = "figures: ./dev mqtt-figures"]
fn messages_a_second() {
    const EACH: u32 = 3000;
    for (version, name) in [(Version::V5, "5"), (Version::V311, "3.1.1")] {
        let folder = tempfile::tempdir().unwrap();
        let broker = Mosquitto::start(folder.path());
        devices(folder.path());
        let parts = Level::ALL.map(|level| {
            let topic = format!("device/{}/telemetry/count", &level.name()[7..]);
            let number = |sequence| Number { epoch: 1, sequence };
            let wire = |sequence| sealed(Form::V1, level, &topic, b"21.5", number(sequence));
            let wires: Vec<Vec<u8>> = (0..EACH).map(wire).collect();
            (topic, wires)
        });
        let gateway = Running::start(config(folder.path(), broker.port, name, ""));
        let mut reader = client(broker.port, version, "reader");
        reader.subscribe(&["clean/#", "dead-letters/#"], Qos::AtLeastOnce).unwrap();
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for (topic, wires) in &parts {
                let mut writer =
                    Client::connect(&options(broker.port, version, &topic.replace('/', "-"), false))
                        .unwrap()
                        .0;
                scope.spawn(move || {
                    wires.iter().for_each(|wire| writer.publish(message(topic, wire)).unwrap())
                });
            }
        });
        let sent = begin.elapsed();
        for at in 0..3 * EACH {
            let came = reader.next(Duration::from_secs(30)).unwrap();
            let came = came.unwrap_or_else(|| panic!("{at} of {} came", 3 * EACH));
            assert!(came.topic.starts_with("clean/"), "{}", came.topic);
        }
        let took = begin.elapsed();
        let rate = f64::from(3 * EACH) / took.as_secs_f64();
        println!("MQTT {name}: {} messages in {took:?}, {rate:.0} a second, sent in {sent:?}", 3 * EACH);
        gateway.stop().unwrap();
    }
}

fn resident_kb() -> i64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
