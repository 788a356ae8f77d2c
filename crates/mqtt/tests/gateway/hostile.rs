//! A broker of ours that does what brokers must not do, and a network that breaks where it hurts.

use crate::peer::Peer;
use crate::place::{Running, config, config_with, devices, sealed};
use sealstone_mldsa::Level;
use sealstone_mqtt::gateway::wire::{Packet, Properties, Publish, Qos};
use sealstone_mqtt::{Form, Number};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

const TOPIC: &str = "device/44/telemetry/temp";

impl Peer {
    /// Lets the gateway in, with or without the session of before.
    pub(crate) fn accept(listener: &TcpListener, session_present: bool) -> Self {
        let stream = listener.accept().unwrap().0;
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut peer = Peer::over(stream);
        let connect = peer.read();
        assert!(matches!(&connect, Packet::Connect(connect) if !connect.clean_start), "{connect:?}");
        peer.send(Packet::ConnAck { session_present, code: 0, properties: Box::default() });
        peer
    }

    /// The same, and confirms the subscription.
    pub(crate) fn welcome(listener: &TcpListener, session_present: bool) -> Self {
        let mut peer = Self::accept(listener, session_present);
        peer.subscribed();
        peer
    }

    pub(crate) fn deliver(&mut self, id: u16, dup: bool, topic: &str, payload: &[u8]) {
        let (topic, payload) = (topic.to_owned(), payload.to_owned());
        let publish = Publish { dup, qos: Qos::AtLeastOnce, id, topic, payload, ..Publish::default() };
        self.send(Packet::Publish(Box::new(publish)));
    }

    /// The next packet, which is a publication.
    pub(crate) fn publication(&mut self) -> Publish {
        match self.read() {
            Packet::Publish(publish) => *publish,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

pub(crate) fn number(sequence: u32) -> Number {
    Number { epoch: 1, sequence }
}

/// The connection breaks after each step of one delivery, and the gateway is started anew in the middle.
#[test]
fn a_copy_is_sent_once_whatever_breaks() {
    let folder = tempfile::tempdir().unwrap();
    devices(folder.path());
    let (listener, port) = listener();
    let gateway = Running::start_alone(config(folder.path(), port, "5", ""));
    let mut peer = Peer::welcome(&listener, false);
    let bytes = sealed(Form::V1, Level::MlDsa44, TOPIC, b"21.5", number(1));
    peer.deliver(7, false, TOPIC, &bytes);
    let copy = peer.publication();
    assert_eq!((copy.qos, copy.dup, &copy.payload[..]), (Qos::ExactlyOnce, false, &b"21.5"[..]));
    assert_eq!(copy.topic, format!("clean/{TOPIC}"));
    assert_eq!(peer.read(), Packet::PubAck { id: 7, reason: 0 });
    drop(peer);

    // Not received: the same again, under the same identifier.
    let mut peer = Peer::accept(&listener, true);
    assert_eq!(peer.publication(), Publish { dup: true, ..copy.clone() });
    drop(gateway);
    drop(peer);
    let gateway = Running::start_alone(config(folder.path(), port, "5", ""));
    let mut peer = Peer::welcome(&listener, true);
    assert_eq!(peer.publication(), Publish { dup: true, ..copy.clone() });

    // Received: from now on it is released, and never sent.
    peer.send(Packet::PubRec { id: copy.id, reason: 0 });
    assert_eq!(peer.read(), Packet::PubRel { id: copy.id, reason: 0 });
    drop(peer);
    let mut peer = Peer::accept(&listener, true);
    assert_eq!(peer.read(), Packet::PubRel { id: copy.id, reason: 0 });
    drop(gateway);
    drop(peer);
    let gateway = Running::start_alone(config(folder.path(), port, "5", ""));
    let mut peer = Peer::welcome(&listener, true);
    assert_eq!(peer.read(), Packet::PubRel { id: copy.id, reason: 0 });
    drop(peer);

    // The broker forgot everything: then nothing may be lost.
    let mut peer = Peer::welcome(&listener, false);
    assert_eq!(peer.publication(), copy);
    peer.send(Packet::PubRec { id: copy.id, reason: 0 });
    assert_eq!(peer.read(), Packet::PubRel { id: copy.id, reason: 0 });
    peer.send(Packet::PubComp { id: copy.id, reason: 0 });

    // The message once more: by a broker that says so, and by one that does not.
    peer.deliver(8, true, TOPIC, &bytes);
    assert_eq!(peer.read(), Packet::PubAck { id: 8, reason: 0 });
    peer.deliver(9, false, TOPIC, &bytes);
    assert_eq!(peer.publication().topic, "alerts/replay");
    assert_eq!(peer.publication().topic, format!("dead-letters/replay/{TOPIC}"));
    assert_eq!(peer.read(), Packet::PubAck { id: 9, reason: 0 });
    drop(gateway);
}

/// Messages that a broker drops, repeats, reorders, moves to other topics, cuts and changes: those that came whole on their own
/// topic at least once are copied once, and nothing else is.
#[test]
fn what_a_hostile_broker_makes_of_messages() {
    let folder = tempfile::tempdir().unwrap();
    devices(folder.path());
    let (listener, port) = listener();
    let gateway = Running::start_alone(config(
        folder.path(),
        port,
        "5",
        "policy.failures_per_minute = 100000\ntopics.dead_letters = \"\"\nalerts.topic = \"\"\n",
    ));
    let mut peer = Peer::welcome(&listener, false);
    let mut chance = 1_u64;
    let mut draw = |bound: usize| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (chance >> 33) as usize % bound
    };
    let mut expected = BTreeMap::new();
    let mut deliveries = Vec::new();
    for sequence in 0..150 {
        let payload = sequence.to_string();
        let bytes = sealed(Form::V1, Level::MlDsa44, TOPIC, payload.as_bytes(), number(sequence));
        for _ in 0..1 + draw(4) {
            let (mut bytes, mut topic) = (bytes.clone(), TOPIC);
            match draw(8) {
                0 => continue, // dropped
                1 => topic = "device/44/telemetry/other",
                2 => topic = "device/65/telemetry/temp",
                3 => bytes.truncate(draw(bytes.len())),
                4 => {
                    let at = draw(bytes.len());
                    bytes[at] ^= 1 << draw(8);
                }
                _ => drop(expected.insert(payload.clone(), 1)),
            }
            deliveries.push((topic, bytes, draw(2) == 1));
        }
    }
    for at in (1..deliveries.len()).rev() {
        deliveries.swap(at, draw(at + 1));
    }
    let count = deliveries.len();
    for (id, (topic, bytes, dup)) in deliveries.iter().enumerate() {
        peer.deliver(id as u16 + 1, *dup, topic, bytes);
    }
    let (mut copied, mut acknowledged) = (BTreeMap::new(), Vec::new());
    while acknowledged.len() < count {
        match peer.read() {
            Packet::Publish(copy) => {
                // What is cut to an empty payload is unsigned, of a device that must sign.
                assert!(copy.topic.starts_with("clean/"), "{}", copy.topic);
                *copied.entry(String::from_utf8(copy.payload).unwrap()).or_insert(0) += 1;
                peer.send(Packet::PubRec { id: copy.id, reason: 0 });
            }
            Packet::PubRel { id, .. } => peer.send(Packet::PubComp { id, reason: 0 }),
            Packet::PubAck { id, .. } => acknowledged.push(id),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(
        acknowledged,
        (1..=count as u16).collect::<Vec<_>>(),
        "in the order of arrival (MQTT 5.0, 4.6)"
    );
    assert!(expected.len() > 100 && count > expected.len());
    assert_eq!(copied, expected);
    drop(gateway);
}

/// Forgeries of one device are looked at up to its budget; another device is heard all the while.
#[test]
fn forgeries_of_one_device_do_not_keep_others_from_being_heard() {
    let folder = tempfile::tempdir().unwrap();
    devices(folder.path());
    let (listener, port) = listener();
    let gateway = Running::start_alone(config(folder.path(), port, "5", "policy.failures_per_minute = 5\n"));
    let mut peer = Peer::welcome(&listener, false);
    let mut reasons: Vec<String> = Vec::new();
    for id in 1..=12 {
        let mut bytes = sealed(Form::V1, Level::MlDsa44, TOPIC, b"0", number(id));
        *bytes.last_mut().unwrap() ^= 1;
        peer.deliver(id as u16, false, TOPIC, &bytes);
        reasons.push(peer.publication().topic.split('/').nth(1).unwrap().to_owned());
        assert_eq!(peer.read(), Packet::PubAck { id: id as u16, reason: 0 });
    }
    assert_eq!(reasons[..5], ["bad-signature"; 5]);
    assert!(reasons[5..].iter().any(|reason| reason == "over-budget"), "{reasons:?}");
    let other = "device/65/telemetry/temp";
    let bytes = sealed(Form::V1, Level::MlDsa65, other, b"1", number(1));
    peer.deliver(100, false, other, &bytes);
    assert_eq!(peer.publication().topic, format!("clean/{other}"));
    drop(gateway);
}

/// Bytes that are no MQTT end the connection, and not the gateway.
#[test]
fn what_is_no_packet_ends_the_connection_alone() {
    let folder = tempfile::tempdir().unwrap();
    devices(folder.path());
    let (listener, port) = listener();
    let gateway = Running::start_alone(config_with(folder.path(), port, "5", "", "max_packet_bytes = 4096"));
    let borrows = [&b"\x30\x81\x20\xff\xff"[..], &[b'a'; 4095]].concat(); // a topic beyond its packet
    let nonsense: [&[u8]; 8] = [
        &borrows,
        b"\x30\xff\xff\xff\xff\x7f",
        b"\x90\xff\xff\xff\x7f",
        b"\x36\x05\x00\x01a\x00\x00",
        b"\x32\x05\x00\x01a\x00\x00",
        b"\x30\x04\x00\x09ab",
        b"\x30\x05\x00\x01a\x02\x01",
        b"\xf0\x00",
    ];
    let mut first = true;
    for bytes in nonsense {
        let mut peer = if first { Peer::welcome(&listener, false) } else { Peer::accept(&listener, true) };
        peer.stream.write_all(bytes).unwrap();
        let mut rest = Vec::new();
        peer.stream.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty(), "it stayed so long that it asked whether somebody is there: {bytes:x?}");
        first = false;
    }
    // An alias was never allowed: the topic stays empty, and the message is refused.
    let mut peer = Peer::accept(&listener, true);
    let properties = Properties { topic_alias: Some(1), ..Properties::default() };
    let publish = Publish { qos: Qos::AtLeastOnce, id: 3, properties, ..Publish::default() };
    peer.send(Packet::Publish(Box::new(publish)));
    assert_eq!(peer.publication().topic, "dead-letters/bad-topic/");
    assert_eq!(peer.read(), Packet::PubAck { id: 3, reason: 0 });
    drop(gateway);
}
