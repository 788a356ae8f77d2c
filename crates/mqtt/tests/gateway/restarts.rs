//! A broker that goes away and comes back, while messages flow: none is lost, none comes twice.

use crate::broker::{Mosquitto, message, options};
use crate::place::{Running, config_with, devices, sealed};
use crate::tls::Papers;
use sealstone_mldsa::Level;
use sealstone_mqtt::gateway::client::Client;
use sealstone_mqtt::gateway::link::Options;
use sealstone_mqtt::gateway::wire::{Qos, Version};
use sealstone_mqtt::{Form, Number};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const TOPIC: &str = "device/44/telemetry/count";

#[test]
fn nothing_is_lost_or_doubled_over_restarts() {
    restarts(Version::V5, "5", 4, false);
    restarts(Version::V311, "3.1.1", 4, false);
}

#[test]
fn nothing_is_lost_or_doubled_over_restarts_under_tls() {
    restarts(Version::V5, "5", 4, true);
}

/// `./dev mqtt-restarts [N]`.
#[test]
#[ignore = "long: ./dev mqtt-restarts"]
fn many_restarts() {
    let rounds = std::env::var("SEALSTONE_RESTARTS").map_or(100, |rounds| rounds.parse().unwrap());
    restarts(Version::V5, "5", rounds, false);
    restarts(Version::V311, "3.1.1", rounds, false);
}

fn restarts(version: Version, name: &str, rounds: u32, tls: bool) {
    let folder = tempfile::tempdir().unwrap();
    let papers = tls.then(|| Papers::new(&folder.path().join("papers")));
    let mut broker = match &papers {
        Some(papers) => Mosquitto::start_with(folder.path(), &papers.listener(true)),
        None => Mosquitto::start(folder.path()),
    };
    let port = broker.port;
    let options = |name: &str, stays| {
        let plain = options(port, version, name, stays);
        papers.as_ref().map_or(plain.clone(), |papers| papers.options(plain))
    };
    devices(folder.path());
    // The reader has a session, and reads at the end what the broker kept for it.
    let session = options("reader", true);
    let mut reader = Client::connect(&session).unwrap().0;
    reader.subscribe(&["clean/#", "marked/#"], Qos::AtLeastOnce).unwrap();
    reader.disconnect().unwrap();
    let gateway = Running::start(config_with(
        folder.path(),
        port,
        name,
        "",
        &papers.as_ref().map_or_else(String::new, Papers::toml),
    ));

    let done = AtomicBool::new(false);
    let sent = std::thread::scope(|scope| {
        let publisher = scope.spawn(|| publish(&options("writer", false), &done));
        let end = WhenDropped(&done);
        for _ in 0..rounds {
            std::thread::sleep(Duration::from_millis(250));
            broker.down();
            broker.up();
        }
        drop(end);
        publisher.join().unwrap()
    });

    let mut reader = Client::connect(&session).unwrap().0;
    let mut came: BTreeMap<u32, u32> = BTreeMap::new();
    while came.len() < sent as usize {
        let next = reader.next(Duration::from_secs(30)).unwrap();
        let next = next.unwrap_or_else(|| panic!("MQTT {name}: {} of {sent} came", came.len()));
        *came.entry(String::from_utf8(next.payload).unwrap().parse().unwrap()).or_default() += 1;
    }
    assert_eq!(reader.next(Duration::from_millis(500)).unwrap(), None, "MQTT {name}: one came twice");
    let twice: Vec<_> = came.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "MQTT {name}: came twice: {twice:?}");
    assert!(sent > rounds, "MQTT {name}: {sent} messages in {rounds} restarts");
    println!("MQTT {name}: {sent} messages, {rounds} restarts, none lost, none twice");
    gateway.stop().unwrap();
}

/// Tells the publisher that it is done, also where a panic ends its rounds: it would be waited for without end.
struct WhenDropped<'a>(&'a AtomicBool);

impl Drop for WhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Publishes 0, 1, 2, … and each again until the broker has it. Returns how many.
fn publish(options: &Options, done: &AtomicBool) -> u32 {
    let mut connected: Option<Client> = None;
    let mut sequence = 0;
    while !done.load(Ordering::Acquire) {
        let payload = sequence.to_string();
        let number = Number { epoch: 1, sequence };
        let bytes = sealed(Form::V1, Level::MlDsa44, TOPIC, payload.as_bytes(), number);
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            assert!(Instant::now() < deadline, "the broker does not come back");
            let client = connected.take();
            let client = client.or_else(|| Some(Client::connect(options).ok()?.0));
            let Some(mut client) = client else {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            };
            if client.publish(message(TOPIC, &bytes)).is_ok() {
                connected = Some(client);
                break;
            }
        }
        sequence += 1;
    }
    sequence
}
