//! Payloads and detached signatures on `<topic>/$sig`: what belongs together passes once, and nothing else does.

use crate::broker::{Mosquitto, client, message};
use crate::hostile::{listener, number};
use crate::peer::Peer;
use crate::place::{Running, config, devices, sealed};
use sealstone_mldsa::Level;
use sealstone_mqtt::Form;
use sealstone_mqtt::gateway::wire::{Packet, Qos, Version};
use std::collections::BTreeMap;
use std::time::Duration;

const TOPIC: &str = "device/44/telemetry/temp";
/// Halves wait, and nothing that is said of them stands in the way of what the tests count.
const WAITS: &str = "policy.pair_within_ms = 2000\npolicy.failures_per_minute = 100000\nalerts.topic = \"\"\n\
     topics.dead_letters_per_second = 100000\n";

fn signature(topic: &str, payload: &[u8], sequence: u32) -> Vec<u8> {
    let level = if topic.starts_with("device/65") { Level::MlDsa65 } else { Level::MlDsa44 };
    sealed(Form::Detached, level, topic, payload, number(sequence))
}

/// Topics and payloads.
type Halves = Vec<(String, Vec<u8>)>;
/// `clean` or a reason, and the payload.
type Becomes = Vec<(&'static str, Vec<u8>)>;

/// What is delivered in this order, and what becomes of it: `clean` or the reason, and the payload.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// A payload and its signature that passed before.
    before: Halves,
    pub(crate) halves: Halves,
    pub(crate) becomes: Becomes,
}

pub(crate) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let sig = |topic: &str| format!("{topic}/$sig");
    let genuine = || b"21.5".to_vec();
    let evil = || b"99.9".to_vec();
    let mut case = |name: &'static str, make: &dyn Fn(&str, u32) -> (Halves, Becomes)| {
        let at = all.len() as u32;
        let topic = format!("device/{}/telemetry/{at}", if at.is_multiple_of(2) { 44 } else { 65 });
        let (halves, becomes) = make(&topic, at * 10);
        let again = name.ends_with("a second time");
        let once = || vec![(topic.clone(), genuine()), (sig(&topic), signature(&topic, b"21.5", at * 10))];
        all.push(Case { name, before: if again { once() } else { Vec::new() }, halves, becomes });
    };
    case("the payload, and its signature", &|topic, n| {
        let apart = signature(topic, b"21.5", n);
        (vec![(topic.into(), genuine()), (sig(topic), apart)], vec![("clean", genuine())])
    });
    case("the signature, and its payload", &|topic, n| {
        let apart = signature(topic, b"21.5", n);
        (vec![(sig(topic), apart), (topic.into(), genuine())], vec![("clean", genuine())])
    });
    case("another payload before the genuine one", &|topic, n| {
        let apart = signature(topic, b"21.5", n);
        let halves = vec![(topic.into(), evil()), (topic.into(), genuine()), (sig(topic), apart)];
        (halves, vec![("clean", genuine()), ("unsigned-device", evil())])
    });
    case("another payload between the signature and the genuine one", &|topic, n| {
        let apart = signature(topic, b"21.5", n);
        let halves = vec![(sig(topic), apart), (topic.into(), evil()), (topic.into(), genuine())];
        (halves, vec![("clean", genuine()), ("unsigned-device", evil())])
    });
    case("another payload behind the genuine one", &|topic, n| {
        let apart = signature(topic, b"21.5", n);
        let halves = vec![(topic.into(), genuine()), (topic.into(), evil()), (sig(topic), apart)];
        (halves, vec![("clean", genuine()), ("unsigned-device", evil())])
    });
    case("the payload changed", &|topic, n| {
        let apart = signature(topic, b"21.5", n);
        let halves = vec![(topic.into(), evil()), (sig(topic), apart.clone())];
        (halves, vec![("unsigned-device", evil()), ("signature-topic", apart)])
    });
    case("the payload of another length", &|topic, n| {
        let apart = signature(topic, b"21.5", n);
        let halves = vec![(topic.into(), b"21.50".to_vec()), (sig(topic), apart.clone())];
        (halves, vec![("unsigned-device", b"21.50".to_vec()), ("signature-topic", apart)])
    });
    case("two payloads alike with one signature", &|topic, n| {
        let apart = signature(topic, b"21.5", n);
        let halves = vec![(topic.into(), genuine()), (topic.into(), genuine()), (sig(topic), apart)];
        (halves, vec![("clean", genuine()), ("unsigned-device", genuine())])
    });
    case("the signature a second time", &|topic, n| {
        let apart = signature(topic, b"21.5", n);
        (vec![(sig(topic), apart.clone())], vec![("replay", apart)])
    });
    case("payload and signature a second time", &|topic, n| {
        let apart = signature(topic, b"21.5", n);
        let halves = vec![(topic.into(), genuine()), (sig(topic), apart.clone())];
        (halves, vec![("unsigned-device", genuine()), ("replay", apart)])
    });
    case("a signature changed", &|topic, n| {
        let mut apart = signature(topic, b"21.5", n);
        *apart.last_mut().unwrap() ^= 1;
        let halves = vec![(topic.into(), genuine()), (sig(topic), apart.clone())];
        (halves, vec![("unsigned-device", genuine()), ("signature-topic", apart)])
    });
    case("the signature of another topic", &|topic, n| {
        let apart = signature(TOPIC, b"21.5", n);
        let halves = vec![(topic.into(), genuine()), (sig(topic), apart.clone())];
        let signature = if topic.starts_with("device/65") { "level" } else { "signature-topic" };
        (halves, vec![("unsigned-device", genuine()), (signature, apart)])
    });
    case("an envelope of v1 on the topic of signatures", &|topic, n| {
        let bytes = sealed(Form::V1, Level::MlDsa44, topic, b"21.5", number(n));
        (vec![(sig(topic), bytes.clone())], vec![("signature-topic", bytes)])
    });
    case("nothing on the topic of signatures", &|topic, _| {
        (vec![(sig(topic), Vec::new())], vec![("signature-topic", Vec::new())])
    });
    case("a payload that nothing follows", &|topic, _| {
        (vec![(topic.into(), genuine())], vec![("unsigned-device", genuine())])
    });
    case("a signature that nothing follows", &|topic, n| {
        let apart = signature(topic, b"21.5", n);
        (vec![(sig(topic), apart.clone())], vec![("signature-topic", apart)])
    });
    all
}

/// What came of so many messages, all of which are acknowledged, by topic and payload.
fn outcome(peer: &mut Peer, count: usize, acknowledged: usize) -> BTreeMap<(String, Vec<u8>), u32> {
    let (mut found, mut acks, mut came) = (BTreeMap::new(), Vec::new(), 0);
    while came < count || acks.len() < acknowledged {
        match peer.read() {
            Packet::Publish(copy) => {
                *found.entry((copy.topic, copy.payload)).or_insert(0) += 1;
                came += 1;
                peer.send(match copy.qos {
                    Qos::ExactlyOnce => Packet::PubRec { id: copy.id, reason: 0 },
                    _ => Packet::PubAck { id: copy.id, reason: 0 },
                });
            }
            Packet::PubRel { id, .. } => peer.send(Packet::PubComp { id, reason: 0 }),
            Packet::PubAck { id, .. } => acks.push(id),
            other => panic!("{other:?}"),
        }
    }
    assert!(acks.is_sorted(), "acknowledged in the order of arrival (MQTT 5.0, 4.6)");
    found
}

#[test]
fn what_belongs_together_passes_once_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    devices(folder.path());
    let (listener, port) = listener();
    let gateway = Running::start_alone(config(folder.path(), port, "5", WAITS));
    let mut peer = Peer::welcome(&listener, false);
    let cases = cases();
    let mut id = 0;
    let mut deliver = |peer: &mut Peer, halves: &[&(String, Vec<u8>)]| {
        for (topic, payload) in halves {
            id += 1;
            peer.deliver(id, false, topic, payload);
        }
    };
    let before: Vec<_> = cases.iter().flat_map(|case| &case.before).collect();
    deliver(&mut peer, &before);
    assert_eq!(outcome(&mut peer, before.len() / 2, before.len()).len(), 2);
    let halves: Vec<_> = cases.iter().flat_map(|case| &case.halves).collect();
    deliver(&mut peer, &halves);
    let count = cases.iter().map(|case| case.becomes.len()).sum();
    let found = outcome(&mut peer, count, halves.len());
    for case in &cases {
        let topic = case.halves[0].0.trim_end_matches("/$sig");
        for (becomes, payload) in &case.becomes {
            let half = case.halves.iter().find(|(_, half)| half == payload);
            let on = match *becomes {
                "clean" => format!("clean/{topic}"),
                reason => format!("dead-letters/{reason}/{}", half.unwrap().0),
            };
            let topics: Vec<_> = found.keys().map(|(topic, _)| topic).collect();
            assert_eq!(found.get(&(on, payload.clone())), Some(&1), "{}: {becomes}; {topics:?}", case.name);
        }
    }
    drop(gateway);
}

/// Halves of one device part its own, and neither part nor delay those of another.
#[test]
fn a_flood_of_halves_does_not_starve_others() {
    let folder = tempfile::tempdir().unwrap();
    devices(folder.path());
    let (listener, port) = listener();
    let waits = WAITS.replace("2000", "60000");
    let gateway = Running::start_alone(config(folder.path(), port, "5", &waits));
    let mut peer = Peer::welcome(&listener, false);
    let other = "device/65/telemetry/temp";
    peer.deliver(1, false, other, b"21.5");
    for id in 2..=400_u16 {
        let (topic, payload) = if id % 2 == 0 {
            (TOPIC.to_owned(), id.to_string().into_bytes())
        } else {
            (format!("{TOPIC}/$sig"), [&b"\xe2\x44\0\0\0\x01"[..], &[0; 20], &id.to_be_bytes()].concat())
        };
        peer.deliver(id, false, &topic, &payload);
    }
    peer.deliver(401, false, &format!("{other}/$sig"), &signature(other, b"21.5", 1));
    // All but 32 of the flood had to make room, long before their time.
    let found = outcome(&mut peer, 399 - 32 + 1, 401);
    assert_eq!(found.get(&(format!("clean/{other}"), b"21.5".to_vec())), Some(&1));
    let dead = |(topic, _): &&(String, Vec<u8>)| topic.starts_with("dead-letters/");
    assert_eq!(found.keys().filter(dead).count(), 399 - 32);
    drop(gateway);
}

/// A half that was acknowledged outlives the gateway and the connection; one that comes again is no second one.
#[test]
fn halves_wait_over_restarts() {
    let folder = tempfile::tempdir().unwrap();
    devices(folder.path());
    let (listener, port) = listener();
    let waits = WAITS.replace("2000", "300");
    let started = || Running::start_alone(config(folder.path(), port, "5", &waits));
    let gateway = started();
    let mut peer = Peer::welcome(&listener, false);
    peer.deliver(1, false, TOPIC, b"21.5");
    assert_eq!(peer.read(), Packet::PubAck { id: 1, reason: 0 });
    drop(gateway);
    drop(peer);
    // Nobody is there for longer than halves wait: that time does not count.
    let gateway = started();
    std::thread::sleep(Duration::from_millis(600));
    let mut peer = Peer::welcome(&listener, true);
    peer.deliver(2, false, &format!("{TOPIC}/$sig"), &signature(TOPIC, b"21.5", 1));
    let found = outcome(&mut peer, 1, 1);
    let clean = |payload: &[u8]| BTreeMap::from([((format!("clean/{TOPIC}"), payload.to_vec()), 1)]);
    assert_eq!(found, clean(b"21.5"));
    // The same half twice, by a broker that had no answer.
    peer.deliver(3, false, TOPIC, b"22.0");
    peer.deliver(3, true, TOPIC, b"22.0");
    peer.deliver(4, false, &format!("{TOPIC}/$sig"), &signature(TOPIC, b"22.0", 2));
    assert_eq!(outcome(&mut peer, 1, 3), clean(b"22.0"));
    // Both halves of before once more: the signature is known, the payload is nobody's.
    peer.deliver(5, true, &format!("{TOPIC}/$sig"), &signature(TOPIC, b"21.5", 1));
    peer.deliver(6, true, TOPIC, b"21.5");
    let found = outcome(&mut peer, 1, 2);
    let dead = (format!("dead-letters/unsigned-device/{TOPIC}"), b"21.5".to_vec());
    assert_eq!(found, BTreeMap::from([(dead, 1)]));
    drop(gateway);
}

/// With Mosquitto, which is restarted between the halves; in MQTT 3.1.1 it is the only way of a detached signature.
#[test]
fn halves_pass_through_a_broker_that_restarts() {
    for (version, name) in [(Version::V5, "5"), (Version::V311, "3.1.1")] {
        let folder = tempfile::tempdir().unwrap();
        let mut broker = Mosquitto::start(folder.path());
        devices(folder.path());
        let waits = WAITS.replace("2000", "60000");
        let gateway = Running::start(config(folder.path(), broker.port, name, &waits));
        client(broker.port, version, "writer").publish(message(TOPIC, b"21.5")).unwrap();
        gateway.until("Received");
        broker.down();
        gateway.until("Disconnected");
        broker.up();
        gateway.until("Connected");
        let mut reader = client(broker.port, version, "reader");
        reader.subscribe(&["clean/#", "dead-letters/#"], Qos::AtLeastOnce).unwrap();
        let apart = message(&format!("{TOPIC}/$sig"), &signature(TOPIC, b"21.5", 1));
        client(broker.port, version, "writer").publish(apart).unwrap();
        let came = reader.next(Duration::from_secs(30)).unwrap().expect("a message");
        assert_eq!((came.topic, came.payload), (format!("clean/{TOPIC}"), b"21.5".to_vec()), "MQTT {name}");
        assert_eq!(reader.next(Duration::from_millis(300)).unwrap(), None, "MQTT {name}: nothing more");
        gateway.stop().unwrap();
    }
}
