//! The publisher beside a scripted broker that another client's codec reads for: bytes in any pieces, cuts at any byte.

use crate::flash::Chance;
use crate::support::topic;
use bytes::BytesMut;
use rumqttc::v5::mqttbytes::v5::Packet as Theirs;
use sealstone_mqtt::level::Class;
use sealstone_mqtt::packet::{Qos, Version};
use sealstone_mqtt::publisher::{Cause, Closed, Event, Publisher, Settings, Ticket, Transport, Waiting};
use sealstone_mqtt::{Error, Filter};
use std::collections::{HashMap, HashSet};

/// A broker at the other end of a line. It lets go of messages of QoS 2 once, as a broker does.
#[derive(Default)]
pub(crate) struct Broker {
    came: BytesMut,
    goes: Vec<u8>,
    /// The line: bytes that it takes at once; bytes until it breaks.
    at_once: usize,
    left: Option<usize>,
    refuses: u8,
    mute: bool,
    forgets: bool,
    session: bool,
    connections: usize,
    /// Payloads that were handed on, how often; ids of QoS 2 that are held.
    pub(crate) got: HashMap<Vec<u8>, usize>,
    held: HashSet<u16>,
    /// What was sent on this connection, and ever, by packet id and payload.
    here: HashSet<(u16, Vec<u8>)>,
    ever: HashSet<(u16, Vec<u8>)>,
    pings: usize,
    subscribed: usize,
    acked: Vec<u16>,
    puback: u8,
    pub(crate) order: Vec<Vec<u8>>,
    /// The user property `sealstone` of each.
    pub(crate) seals: Vec<Option<String>>,
}

impl Broker {
    pub(crate) fn new() -> Self {
        Broker { at_once: usize::MAX, ..Broker::default() }
    }

    fn take(&mut self, packet: Theirs) {
        if self.mute {
            return;
        }
        match packet {
            Theirs::Connect(connect, ..) => {
                assert_eq!(connect.client_id, "device-7");
                if connect.clean_start || self.forgets {
                    (self.session, self.forgets) = (false, false);
                    self.held.clear();
                    self.ever.clear();
                }
                self.goes.extend([0x20, 3, u8::from(self.session && self.refuses == 0), self.refuses, 0]);
                self.session |= self.refuses == 0;
            }
            Theirs::Publish(publish) => {
                let name = (publish.pkid, publish.payload.to_vec());
                if publish.qos as u8 > 0 {
                    assert!(self.here.insert(name.clone()), "sent twice on one connection");
                    assert!(publish.dup || self.ever.insert(name), "sent again without DUP");
                }
                self.order.push(publish.payload.to_vec());
                let said = publish.properties.clone().map(|properties| properties.user_properties);
                let seal = said.unwrap_or_default().into_iter().find(|(name, _)| name == "sealstone");
                self.seals.push(seal.map(|(_, value)| value));
                let [high, low] = publish.pkid.to_be_bytes();
                if publish.qos as u8 == 1 && self.puback > 0 {
                    self.goes.extend([0x40, 3, high, low, self.puback]);
                    return;
                }
                if publish.qos as u8 == 1 {
                    self.goes.extend([0x40, 2, high, low]);
                }
                let first = publish.qos as u8 != 2 || self.held.insert(publish.pkid);
                if publish.qos as u8 == 2 {
                    self.goes.extend([0x50, 2, high, low]);
                }
                if first {
                    *self.got.entry(publish.payload.to_vec()).or_default() += 1;
                }
            }
            Theirs::PubRel(release) => {
                self.held.remove(&release.pkid);
                let [high, low] = release.pkid.to_be_bytes();
                self.goes.extend([0x70, 2, high, low]);
            }
            Theirs::PubAck(ack) => self.acked.push(ack.pkid),
            Theirs::PubRec(ack) => {
                let [high, low] = ack.pkid.to_be_bytes();
                self.goes.extend([0x62, 2, high, low]);
            }
            Theirs::PubComp(ack) => self.acked.push(ack.pkid),
            Theirs::PingReq(_) => {
                self.pings += 1;
                self.goes.extend([0xd0, 0]);
            }
            Theirs::Subscribe(subscribe) => {
                self.subscribed += 1;
                let [high, low] = subscribe.pkid.to_be_bytes();
                self.goes.extend([0x90, 4, high, low, 0, 1]);
            }
            Theirs::Disconnect(_) => {}
            other => panic!("{other:?}"),
        }
    }

    /// How much of so many bytes the line takes. Errors: it broke.
    fn line(&mut self, bytes: usize) -> Result<usize, Closed> {
        let now = bytes.min(self.at_once);
        match &mut self.left {
            Some(0) => Err(Closed),
            Some(left) => {
                let now = now.min(*left);
                *left -= now;
                Ok(now)
            }
            None => Ok(now),
        }
    }
}

impl Transport for Broker {
    fn connect(&mut self) -> Result<bool, Closed> {
        self.connections += 1;
        self.here.clear();
        Ok(true)
    }
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Closed> {
        assert!(!bytes.is_empty());
        let now = self.line(bytes.len())?;
        self.came.extend_from_slice(&bytes[..now]);
        while let Ok(packet) = Theirs::read(&mut self.came, None) {
            self.take(packet);
        }
        Ok(now)
    }
    fn read(&mut self, out: &mut [u8]) -> Result<usize, Closed> {
        let now = self.line(out.len().min(self.goes.len()))?;
        out[..now].copy_from_slice(&self.goes[..now]);
        self.goes.drain(..now);
        Ok(now)
    }
    fn close(&mut self) {
        self.came.clear();
        self.goes.clear();
        self.left = None;
    }
}

pub(crate) fn leaked(len: usize) -> &'static mut [u8] {
    vec![0; len].leak()
}

fn publisher<const W: usize>(settings: Settings<'static>) -> Publisher<'static, W> {
    Publisher::new(settings, leaked(2_000), leaked(128), leaked(64), [(); W].map(|()| leaked(300)))
}

pub(crate) fn seven() -> Settings<'static> {
    Settings::new("device-7")
}

/// Seals nothing: the payload is the envelope.
fn send<const W: usize>(publisher: &mut Publisher<'_, W>, now: u64) -> Option<Result<Ticket, Error>> {
    let turn = publisher.turn(now)?;
    let len = turn.message()?.payload.len();
    Some(turn.send(len, |message, out| {
        out.copy_from_slice(message.payload);
        Ok(len)
    }))
}

/// Polls until nothing happens; gives what happened, in words.
fn settle<const W: usize>(publisher: &mut Publisher<'_, W>, broker: &mut Broker, now: u64) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        while let Some(event) = publisher.poll(now, 0, broker) {
            all.push(format!("{event:?}"));
        }
        if send(publisher, now).is_none() {
            break;
        }
    }
    all
}

fn message(payload: &[u8], qos: Qos) -> Waiting<'_> {
    Waiting { qos, ..Waiting::new(Class::Low, topic("device/7/telemetry/temp"), payload) }
}

#[test]
fn each_quality_is_delivered_in_both_versions() {
    // The scripted broker speaks MQTT 5.0; the real one is asked in MQTT 3.1.1 (tests/real.rs).
    let (mut publisher, mut broker) = (publisher::<2>(seven()), Broker::new());
    for (payload, qos) in [(b"zero", Qos::ALL[0]), (b"one.", Qos::ALL[1]), (b"two.", Qos::ALL[2])] {
        publisher.push(&message(payload, qos), |_, _| panic!("dropped")).unwrap();
    }
    let events = settle(&mut publisher, &mut broker, 5).join(" ");
    for ticket in 0..3 {
        assert!(events.contains(&format!("Delivered(Ticket({ticket}))")), "{events}");
    }
    assert!(broker.got.values().all(|times| *times == 1) && broker.got.len() == 3);
    assert_eq!((publisher.under_way(), publisher.waiting().count()), (0, 0));
}

/// Cuts, pieces, brokers that forget: what is pushed arrives, with QoS 2 once as long as the session lasts.
#[test]
fn everything_arrives_over_a_line_that_breaks_anywhere() {
    for seed in 1..=40 {
        let mut chance = Chance(seed);
        let mut publisher = publisher::<3>(seven());
        let mut broker = Broker::new();
        let forgetful = chance.below(4) == 0;
        let (mut wanted, mut delivered) = (HashMap::new(), HashSet::new());
        let mut now = 0;
        for round in 0..4_000u64 {
            now += chance.below(700);
            broker.at_once = 1 + chance.below(60) as usize;
            if chance.below(40) == 0 && broker.left.is_none() {
                broker.left = Some(chance.below(200) as usize);
                broker.forgets = forgetful && chance.below(3) == 0;
            }
            if wanted.len() < 30 && chance.below(8) == 0 {
                let payload = format!("{seed}.{round}.{}", "x".repeat(chance.below(90) as usize));
                let qos = Qos::ALL[1 + chance.below(2) as usize];
                let ticket = publisher.push(&message(payload.as_bytes(), qos), |_, _| panic!("dropped"));
                if let Ok(ticket) = ticket {
                    wanted.insert(ticket, (payload.into_bytes(), qos));
                }
            }
            if let Some(Event::Delivered(ticket)) =
                publisher.poll(now, chance.below(1 << 32) as u32, &mut broker)
            {
                assert!(delivered.insert(ticket), "{ticket:?} delivered twice");
                assert!(broker.got.contains_key(&wanted[&ticket].0), "delivered, and the broker has it not");
            }
            if chance.below(3) == 0 {
                send(&mut publisher, now);
            }
        }
        broker.left = None;
        for _ in 0..2_000 {
            now += 1_000;
            if let Some(Event::Delivered(ticket)) = publisher.poll(now, 0, &mut broker) {
                delivered.insert(ticket);
            }
            send(&mut publisher, now);
        }
        assert_eq!(delivered.len(), wanted.len(), "seed {seed}");
        for (payload, qos) in wanted.values() {
            let times = broker.got.get(payload).copied().unwrap_or(0);
            assert!(times >= 1);
            assert!(forgetful || *qos != Qos::ExactlyOnce || times == 1, "seed {seed}: QoS 2 {times} times");
        }
    }
}

/// The same for messages that take two packets: none is delivered before the broker has both, and neither is sent again once it was acknowledged.
#[test]
fn both_packets_of_a_message_arrive_over_a_line_that_breaks_anywhere() {
    let (mut cuts, mut refused) = (0, 0);
    for seed in 1..=60 {
        let mut chance = Chance(seed);
        let mut publisher = publisher::<2>(seven());
        let mut broker = Broker::new();
        let (mut wanted, mut gone, mut now) = (HashMap::new(), HashSet::new(), 0);
        for round in 0..3_000u64 {
            now += if round < 2_000 { chance.below(700) } else { 1_000 };
            broker.at_once = if round < 2_000 { 1 + chance.below(60) as usize } else { usize::MAX };
            if round < 2_000 && chance.below(40) == 0 && broker.left.is_none() {
                broker.left = Some(chance.below(300) as usize);
                cuts += 1;
            }
            broker.puback = if round < 2_000 && chance.below(30) == 0 { 0x87 } else { 0 };
            if wanted.len() < 20 && chance.below(8) == 0 {
                let payload = format!("{seed}.{round}.{}", "x".repeat(chance.below(60) as usize));
                let ticket = publisher.push(&message(payload.as_bytes(), Qos::AtLeastOnce), |_, _| ());
                wanted.extend(ticket.map(|ticket| (ticket, payload)));
            }
            match publisher.poll(now, chance.below(1 << 32) as u32, &mut broker) {
                Some(Event::Delivered(ticket)) => {
                    assert!(gone.insert(ticket), "{ticket:?} twice");
                    let payload = &wanted[&ticket];
                    for one in [payload.clone(), format!("sig of {payload}")] {
                        assert!(broker.got.contains_key(one.as_bytes()), "{one}");
                    }
                }
                Some(Event::Refused(ticket, 0x87)) => {
                    assert!(gone.insert(ticket), "{ticket:?} twice");
                    refused += 1;
                }
                Some(Event::Disconnected { cause, .. }) => assert_eq!(cause, Cause::Closed, "seed {seed}"),
                _ => {}
            }
            if let Some(turn) = publisher.turn(now) {
                let len = 7 + turn.message().unwrap().payload.len();
                turn.send_beside(len, |message, out| {
                    out.copy_from_slice(&[b"sig of ", message.payload].concat());
                    Ok(len)
                })
                .unwrap();
            }
        }
        assert_eq!(gone.len(), wanted.len(), "seed {seed}");
        assert!(broker.order.iter().all(|one| one.len() < 100));
    }
    assert!(cuts > 100 && refused > 10, "{cuts} cuts, {refused} refused");
}

#[test]
fn the_highest_class_goes_first_and_the_lowest_is_dropped_first() {
    let mut publisher = Publisher::new(seven(), leaked(240), leaked(128), leaked(64), [leaked(300)]);
    let say = |class, payload| Waiting { class, ..message(payload, Qos::AtLeastOnce) };
    let mut dropped = Vec::new();
    let mut push = |publisher: &mut Publisher<'_, 1>, class, payload: &'static [u8]| {
        publisher
            .push(&say(class, payload), |_, gone| dropped.push(gone.payload.to_vec()))
            .map(|_| std::mem::take(&mut dropped))
    };
    // Each takes 38 + 23 + 12 = 73 bytes: three fit.
    let none = Vec::<Vec<u8>>::new();
    assert_eq!(push(&mut publisher, Class::Low, b"low........1"), Ok(none.clone()));
    assert_eq!(push(&mut publisher, Class::Medium, b"medium.....1"), Ok(none.clone()));
    assert_eq!(push(&mut publisher, Class::Low, b"low........2"), Ok(none.clone()));
    assert_eq!(push(&mut publisher, Class::Low, b"low........3"), Ok(vec![b"low........1".to_vec()]));
    assert_eq!(push(&mut publisher, Class::Critical, b"critical...1"), Ok(vec![b"low........2".to_vec()]));
    assert_eq!(push(&mut publisher, Class::High, b"high.......1"), Ok(vec![b"low........3".to_vec()]));
    assert_eq!(push(&mut publisher, Class::Low, b"low........4"), Err(Error::QueueFull));
    assert_eq!(push(&mut publisher, Class::Medium, b"medium.....2"), Err(Error::QueueFull));
    assert_eq!(push(&mut publisher, Class::Critical, b"critical...2"), Ok(vec![b"medium.....1".to_vec()]));
    assert_eq!(push(&mut publisher, Class::High, b"high.......2"), Err(Error::QueueFull));
    assert_eq!(push(&mut publisher, Class::Critical, b"critical...3"), Ok(vec![b"high.......1".to_vec()]));
    assert_eq!(push(&mut publisher, Class::Critical, b"critical...4"), Err(Error::QueueFull));
    assert_eq!(push(&mut publisher, Class::Critical, &[0; 300]), Err(Error::TooLong));
    let mut broker = Broker::new();
    settle(&mut publisher, &mut broker, 0);
    assert_eq!(broker.order, [b"critical...1", b"critical...2", b"critical...3"]);
}

#[test]
fn the_turn_goes_by_class_and_what_may_not_be_sealed_waits() {
    let (mut publisher, mut broker) = (publisher::<1>(seven()), Broker::new());
    for (class, payload) in [(Class::Low, b"low."), (Class::Critical, b"crit"), (Class::High, b"high")] {
        publisher.push(&Waiting { class, ..message(payload, Qos::AtLeastOnce) }, |_, _| ()).unwrap();
    }
    while publisher.poll(0, 0, &mut broker).is_some() {}
    let turn = publisher.turn(0).unwrap();
    assert_eq!(turn.message().unwrap().payload, b"crit");
    turn.defer(500);
    settle(&mut publisher, &mut broker, 0);
    assert_eq!(broker.order, [b"high", b"low."]);
    settle(&mut publisher, &mut broker, 500);
    assert_eq!(broker.order.last().unwrap(), b"crit");
    // What cannot be sealed stays, and so does what is sealed in another length.
    publisher.push(&message(b"stay", Qos::AtLeastOnce), |_, _| ()).unwrap();
    let refused = publisher.turn(500).unwrap().send(4, |_, _| Err(Error::RngFailed));
    assert_eq!(refused, Err(Error::RngFailed));
    assert_eq!(publisher.turn(500).unwrap().send(4, |_, _| Ok(3)), Err(Error::TooLong));
    assert_eq!(publisher.turn(500).unwrap().send(400, |_, _| Ok(400)), Err(Error::TooLong));
    assert_eq!(publisher.waiting().count(), 1);
    assert_eq!(publisher.turn(500).unwrap().give_up(), Ticket(3));
    assert_eq!(publisher.waiting().count(), 0);
}

#[test]
fn silence_is_broken_by_pings_and_a_mute_broker_is_left() {
    let (mut publisher, mut broker) = (publisher::<1>(seven()), Broker::new());
    settle(&mut publisher, &mut broker, 0);
    for now in (0..1_500_000).step_by(1_000) {
        assert_eq!(settle(&mut publisher, &mut broker, now), Vec::<String>::new(), "at {now}");
    }
    assert_eq!(broker.pings, 9, "one each 150 s");
    // A signature that takes as long as it may: nothing is lost.
    let late = 1_500_000 + 149_000;
    assert!(settle(&mut publisher, &mut broker, late).is_empty());
    broker.mute = true;
    let mut now = late;
    let left = loop {
        now += 1_000;
        if let Some(event) = publisher.poll(now, 0, &mut broker) {
            break format!("{event:?}");
        }
    };
    assert!(left.contains("NoAnswer"), "{left}");
    assert_eq!(now - late, 150_000 + 30_000);
}

#[test]
fn an_acknowledgement_that_does_not_come_is_asked_for_on_a_new_connection() {
    let (mut publisher, mut broker) = (publisher::<1>(seven()), Broker::new());
    settle(&mut publisher, &mut broker, 0);
    broker.mute = true;
    publisher.push(&message(b"once", Qos::AtLeastOnce), |_, _| ()).unwrap();
    assert!(settle(&mut publisher, &mut broker, 1_000).is_empty());
    assert!(settle(&mut publisher, &mut broker, 30_999).is_empty());
    let events = settle(&mut publisher, &mut broker, 31_000);
    assert!(events[0].contains("NoAnswer"), "{events:?}");
    broker.mute = false;
    let events = settle(&mut publisher, &mut broker, 40_000).join(" ");
    assert!(events.contains("session_present: true") && events.contains("Delivered(Ticket(0))"), "{events}");
}

#[test]
fn tries_wait_longer_each_time_and_are_told_after_three() {
    let (mut publisher, mut broker) = (publisher::<1>(seven()), Broker::new());
    broker.refuses = 0x88;
    let (mut now, mut waits, mut told) = (0, Vec::new(), Vec::new());
    while waits.len() < 9 {
        match publisher.poll(now, u32::MAX, &mut broker) {
            Some(Event::Disconnected { cause, again_at }) => {
                assert_eq!(cause, Cause::Refused(0x88));
                waits.push(again_at - now);
                assert_eq!(publisher.poll(again_at - 1, 0, &mut broker).is_some(), waits.len() % 3 == 0);
                if waits.len() % 3 == 0 {
                    told.push(waits.len());
                }
                now = again_at;
            }
            other => panic!("{other:?}"),
        }
    }
    for (i, wait) in waits.iter().enumerate() {
        let whole = (1_000 << i).min(60_000);
        assert!((whole / 2..=whole).contains(wait), "try {i}: {wait} ms");
    }
    assert_eq!(told, [3, 6, 9]);
    broker.refuses = 0;
    assert!(settle(&mut publisher, &mut broker, now + 60_000)[0].contains("Connected"));
}

/// Brokers let these pass. Not acknowledged, one of them came again after each connection that it had ended.
#[test]
fn what_a_sender_chooses_ends_no_connection() {
    let (mut publisher, mut broker) = (publisher::<1>(seven()), Broker::new());
    settle(&mut publisher, &mut broker, 0);
    let seal = [&[0x26, 0, 9][..], b"sealstone", &[0, 1, b'A']].concat();
    let properties = [[&seal[..], &seal].concat(), vec![8, 0, 3, b'a', b'/', b'#']];
    for (now, (said, qos)) in properties.iter().flat_map(|said| [(said, 0), (said, 1), (said, 2)]).enumerate()
    {
        let id: &[u8] = if qos > 0 { &[0, 7] } else { &[] };
        let rest = [&[0, 1, b'a'][..], id, &[said.len() as u8], said].concat();
        broker.goes.extend([&[0x30 | qos << 1, rest.len() as u8][..], &rest].concat());
        broker.goes.extend([0x32, 7, 0, 1, b'b', 0, 6, 0, b'.']);
        let events = settle(&mut publisher, &mut broker, now as u64);
        assert!(events[0].contains("Skipped") && events[1].contains("Received"), "{events:?}");
    }
    // A payload format that is none says nothing.
    broker.goes.extend([0x32, 9, 0, 1, b'b', 0, 5, 2, 1, 2, b'.']);
    assert!(settle(&mut publisher, &mut broker, 9)[0].contains("Received"));
    // This broker goes on with QoS 2 after a PUBREC that refuses.
    let acked = |id: u16| broker.acked.iter().filter(|acked| **acked == id).count();
    assert_eq!((acked(6), acked(7), broker.connections), (6, 4, 1));
}

#[test]
fn what_is_too_long_takes_neither_the_connection_nor_all_the_time() {
    let settings = Settings { answer_ms: 1_000, keepalive_s: 10, ..seven() };
    let (mut publisher, mut broker) = (publisher::<1>(settings), Broker::new());
    settle(&mut publisher, &mut broker, 0);
    // The answer to a PINGREQ waits behind 1 MiB that comes slowly.
    broker.mute = true;
    broker.goes.extend([&[0x30, 0x80, 0x80, 0x40, 0, 1, b'a', 0][..], &[0; 60]].concat());
    for now in (5_000..20_000).step_by(500) {
        broker.goes.extend([0; 100]);
        let events = settle(&mut publisher, &mut broker, now);
        assert!(events.iter().all(|event| event.contains("Skipped")), "{now}: {events:?}");
    }
    broker.goes.extend(vec![0; (1 << 20) + 4 - 68 - 30 * 100]);
    broker.goes.extend([0xd0, 0]);
    broker.mute = false;
    publisher.poll(20_000, 0, &mut broker);
    assert!(broker.goes.len() > 1_000_000, "others have a turn");
    while !broker.goes.is_empty() {
        assert!(publisher.poll(20_001, 0, &mut broker).is_none());
    }
    assert!(settle(&mut publisher, &mut broker, 21_500).is_empty() && broker.connections == 1);
    // Half of one came: the next connection begins anew. Nothing at all comes: it ends.
    broker.goes.extend([&[0x32, 0x80, 0x80, 0x40, 1, 0][..], &[b'a'; 200]].concat());
    assert!(settle(&mut publisher, &mut broker, 21_600).is_empty());
    broker.mute = true;
    let events = settle(&mut publisher, &mut broker, 30_000);
    assert!(events.is_empty(), "{events:?}");
    let events = settle(&mut publisher, &mut broker, 31_000);
    assert!(events[0].contains("NoAnswer"), "{events:?}");
    broker.mute = false;
    assert!(settle(&mut publisher, &mut broker, 90_000)[0].contains("Connected"));
    // No packet has the id 0.
    broker.goes.extend([&[0x32, 0xc9, 0x01, 0, 1, b'a', 0, 0, 0][..], &[0x55; 195]].concat());
    assert!(settle(&mut publisher, &mut broker, 90_001)[0].contains("BadPacket"));
}

#[test]
fn what_comes_is_handed_out_once_and_acknowledged_afterwards() {
    let filters = Box::leak(Box::new([(Filter::new("device/7/command/#").unwrap(), Qos::AtLeastOnce)]));
    let (mut publisher, mut broker) = (publisher::<1>(Settings { filters, ..seven() }), Broker::new());
    let events = settle(&mut publisher, &mut broker, 0);
    assert!(events[1].contains("Subscribed { refused: 0 }"), "{events:?}");
    broker.goes.extend([0x32, 7, 0, 1, b'a', 0, 9, 0, b'!']);
    let event = publisher.poll(1, 0, &mut broker);
    assert!(matches!(event, Some(Event::Received(publish, b"!")) if publish.packet_id == 9), "{event:?}");
    assert!(broker.acked.is_empty(), "not before it was used");
    // QoS 2, twice: handed out once.
    broker.goes.extend([0x34, 7, 0, 1, b'a', 0, 8, 0, b'?', 0x3c, 7, 0, 1, b'a', 0, 8, 0, b'?']);
    let events = settle(&mut publisher, &mut broker, 2);
    assert_eq!(events.iter().filter(|event| event.contains("Received")).count(), 1, "{events:?}");
    assert_eq!(broker.acked[..2], [9, 8]);
    // Longer than the memory for it: gone, acknowledged, and what follows is read.
    let long =
        [&[0x32, 0xc9, 0x01, 0, 1, b'a', 0, 7, 0][..], &[0x55; 195], &[0x32, 7, 0, 1, b'b', 0, 6, 0, b'.']];
    broker.goes.extend(long.concat());
    let events = settle(&mut publisher, &mut broker, 3);
    assert!(events[0].contains("Skipped(204)") && events[1].contains("Received"), "{events:?}");
    assert_eq!(broker.acked[broker.acked.len() - 2..], [7, 6]);
    // The same where the topic alone is longer: the id stands behind it. One that is not acknowledged is one less that may come.
    let topic = |flags, len: u16| [&[flags, 0xb4, 0x02][..], &len.to_be_bytes(), &[b'a'; 300]].concat();
    let after = [0x32, 7, 0, 1, b'b', 0, 2, 0, b'.'];
    for len in [300, 190, 191, 192, 193, 194, 195, 196, 304] {
        let mut long = topic(0x32, len);
        long.resize(3 + 0x134, 0);
        long[5 + usize::from(len)..][..2].copy_from_slice(&[0, 5]);
        for pieces in [1, 3, 400] {
            for piece in [&long[..], &after].concat().chunks(400 / pieces) {
                broker.goes.extend(piece);
                settle(&mut publisher, &mut broker, 4);
            }
            assert_eq!(broker.acked[broker.acked.len() - 2..], [5, 2], "{len} {pieces}");
        }
    }
    broker.goes.extend([topic(0x30, 300), vec![0; 6], after.to_vec()].concat());
    let events = settle(&mut publisher, &mut broker, 5);
    assert!(events[0].contains("Skipped(311)") && events[1].contains("Received"), "{events:?}");
    // A session that is kept is not subscribed to again; one that is lost is.
    for (forgets, times) in [(false, 1), (true, 2)] {
        (broker.forgets, broker.left) = (forgets, Some(0));
        settle(&mut publisher, &mut broker, 10);
        settle(&mut publisher, &mut broker, 10_000);
        assert_eq!(broker.subscribed, times);
    }
    // Nor does a new program trust that the one before it wanted the same.
    let (mut publisher, _) = (self::publisher::<1>(Settings { filters, ..seven() }), publisher);
    settle(&mut publisher, &mut broker, 0);
    assert!(broker.session && broker.subscribed == 3);
}

#[test]
fn what_the_broker_refuses_is_told_and_gone() {
    let (mut publisher, mut broker) = (publisher::<1>(seven()), Broker::new());
    broker.puback = 0x87;
    publisher.push(&message(b"no", Qos::AtLeastOnce), |_, _| ()).unwrap();
    let events = settle(&mut publisher, &mut broker, 0);
    assert!(events.contains(&"Refused(Ticket(0), 135)".to_string()), "{events:?}");
    assert_eq!(publisher.under_way(), 0);
}

/// Nothing that a broker sends brings the device down, or makes it believe that a message was delivered which was not sent.
#[test]
fn a_hostile_broker() {
    let starts: [&[u8]; 4] = [&[], &[0x20, 3, 0, 0, 0], &[0x20, 3, 1, 0, 0], &[0x30, 0xff, 0xff, 0xff, 0x7f]];
    for seed in 1..=500 {
        let mut chance = Chance(seed);
        let version = if seed % 2 == 0 { Version::V5 } else { Version::V311 };
        let mut publisher = publisher::<2>(Settings { version, ..seven() });
        let mut broker = Broker { mute: true, ..Broker::new() };
        for now in 0..40 {
            let qos = Qos::ALL[chance.below(3) as usize];
            let _ = publisher.push(&message(b"said", qos), |_, _| ());
            if chance.below(3) == 0 {
                broker.goes.extend(starts[chance.below(4) as usize]);
            }
            for _ in 0..chance.below(6) {
                let kinds =
                    [0x20, 0x32, 0x34, 0x40, 0x50, 0x62, 0x70, 0x90, 0xd0, 0xe0, chance.below(256) as u8];
                let len = chance.below(6) as u8;
                broker.goes.extend([kinds[chance.below(11) as usize], len]);
                broker.goes.extend((0..len).map(|_| chance.below(4) as u8));
            }
            for _ in 0..8 {
                let under_way = publisher.under_way();
                if let Some(Event::Delivered(_) | Event::Refused(..)) =
                    publisher.poll(now * 2_000, 0, &mut broker)
                {
                    assert!(under_way > 0);
                }
                send(&mut publisher, now * 2_000);
            }
        }
    }
}
