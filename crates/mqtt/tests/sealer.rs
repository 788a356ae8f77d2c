//! From waiting to sealed: levels, refusals, tags, checkpoints, and what the gateway makes of them.

use crate::flash::Chip;
use crate::publisher::{Broker, leaked, seven};
use crate::support::{Zeros, expanded, public, topic};
use sealstone_mldsa::{Level, any};
use sealstone_mqtt::form::By;
use sealstone_mqtt::keyring::KeyRing;
use sealstone_mqtt::level::{Class, Means, Need, Policy, Refusal};
use sealstone_mqtt::mac::{Checkpoint, Checkpointed, MacKey, Rhythm};
use sealstone_mqtt::number::Numbers;
use sealstone_mqtt::open::Envelope;
use sealstone_mqtt::publisher::{Publisher, Waiting};
use sealstone_mqtt::sealer::{Chosen, ExpandedKeys, Sealer, Served, Tags};
use sealstone_mqtt::{Error, Form, KeyId, Kind, Message, Number, UnixMillis};

const NEED: Need = Need([12_000, 16_000, 20_000]);
const PLENTY: Means = Means { energy: 1000, heat: 0, free: 100_000 };
const TIME: UnixMillis = UnixMillis(1_800_000_000_000);

type Tested = Sealer<'static, &'static mut Chip, &'static mut Chip, ExpandedKeys<'static, Zeros>, 64>;

fn sealer(ids: [u16; 3]) -> Tested {
    let keys = Level::ALL.map(|level| (KeyId(ids[level as usize]), expanded(level)));
    let keys: &'static [(KeyId, &'static any::ExpandedSigningKey); 3] = Box::leak(Box::new(keys));
    let [numbers, ring] = [(); 2].map(|()| Box::leak(Box::new(Chip::new(96))));
    Numbers::format(&mut *numbers, 0).unwrap();
    KeyRing::format(&mut *ring, ids.map(KeyId)).unwrap();
    Sealer::new(
        &Policy::BATTERY,
        NEED,
        Numbers::start(numbers).unwrap(),
        KeyRing::open(ring).unwrap(),
        ExpandedKeys { keys, rng: Zeros },
        topic("device/7/alert/refused"),
    )
}

fn publisher() -> Publisher<'static, 1> {
    Publisher::new(seven(), leaked(4_000), leaked(128), leaked(64), [leaked(5_120)])
}

/// Serves all that waits; gives what became of each, and what was decided.
fn serve(
    sealer: &mut Tested,
    publisher: &mut Publisher<'_, 1>,
    broker: &mut Broker,
    means: Means,
    now: u64,
) -> (Vec<Served>, Vec<String>) {
    let (mut all, mut log) = (Vec::new(), Vec::new());
    loop {
        while publisher.poll(now, 0, broker).is_some() {}
        let mut observer = |chosen: &Chosen<'_>| {
            log.push(format!(
                "{} {:?} {:?} {}",
                chosen.topic, chosen.by, chosen.decision.level, chosen.key_id.0
            ));
        };
        let Some(served) = sealer.serve(publisher, means, TIME, now, &mut observer) else { break };
        all.push(served);
    }
    (all, log)
}

#[test]
fn each_class_at_its_level_and_the_gateway_reads_them() {
    let (mut sealer, mut publisher, mut broker) = (sealer([1, 2, 3]), publisher(), Broker::new());
    let said = [
        (Class::Low, "device/7/telemetry/temp", Level::MlDsa44),
        (Class::Medium, "device/7/status", Level::MlDsa65),
        (Class::High, "device/7/alert/smoke", Level::MlDsa87),
        (Class::Critical, "device/7/critical/fw", Level::MlDsa87),
    ];
    for (class, name, _) in said {
        publisher
            .push(&Waiting { time: TIME, ..Waiting::new(class, topic(name), b"21.5") }, |_, _| ())
            .unwrap();
    }
    let (served, log) = serve(&mut sealer, &mut publisher, &mut broker, PLENTY, 0);
    assert_eq!((served.len(), log.len()), (4, 4));
    for (sequence, ((_, name, level), bytes)) in said.iter().rev().zip(&broker.order).enumerate() {
        let envelope = Envelope::parse(Form::V1, topic(name), bytes).unwrap();
        let message = envelope.verify(public(*level)).unwrap();
        assert_eq!(message.number, Some(Number { epoch: 1, sequence: sequence as u32 }));
        assert_eq!(
            (message.key_id.0, message.time, message.payload),
            (*level as u16 + 1, TIME, &b"21.5"[..])
        );
        assert!(log[sequence].contains(&format!("{level:?}")), "{log:?}");
    }
}

#[test]
fn what_may_not_be_sealed_waits_and_somebody_is_told_once() {
    let (mut sealer, mut publisher, mut broker) = (sealer([1; 3]), publisher(), Broker::new());
    let short = Means { free: 17_000, ..PLENTY };
    for payload in [b"one", b"two"] {
        let critical = Waiting::new(Class::Critical, topic("device/7/critical/fw"), payload);
        publisher.push(&critical, |_, _| ()).unwrap();
    }
    let (served, _) = serve(&mut sealer, &mut publisher, &mut broker, short, 0);
    let refused: Vec<_> = served
        .iter()
        .filter_map(|served| match served {
            Served::Refused(_, refusal, alert) => Some((*refusal, alert.is_some())),
            _ => None,
        })
        .collect();
    assert_eq!(refused, [(Refusal::FloorDoesNotFit, true), (Refusal::FloorDoesNotFit, false)]);
    // The alert alone went out, at its own class's floor.
    assert_eq!(broker.order.len(), 1);
    let alert = Envelope::parse(Form::V1, topic("device/7/alert/refused"), &broker.order[0]).unwrap();
    let alert = alert.verify(public(Level::MlDsa65)).unwrap();
    assert_eq!(alert.payload, b"critical: the floor does not fit");
    assert_eq!(publisher.waiting().count(), 2);
    // With memory again they go, at 87, and not before the pause is over.
    assert!(serve(&mut sealer, &mut publisher, &mut broker, PLENTY, 9_999).0.is_empty());
    serve(&mut sealer, &mut publisher, &mut broker, PLENTY, 10_000);
    assert_eq!(broker.order.len(), 3);
    for bytes in &broker.order[1..] {
        let envelope = Envelope::parse(Form::V1, topic("device/7/critical/fw"), bytes).unwrap();
        assert!(envelope.verify(public(Level::MlDsa87)).is_ok());
    }
}

#[test]
fn a_key_that_is_not_there_signs_nothing() {
    let (mut sealer, mut publisher, mut broker) = (sealer([1; 3]), publisher(), Broker::new());
    // The ring goes on to key 2, whose seed nobody stored.
    sealer.ring.prepare(Level::MlDsa44).unwrap();
    sealer.ring.announced(Level::MlDsa44).unwrap();
    sealer.ring.confirm(Level::MlDsa44, KeyId(2)).unwrap();
    publisher.push(&Waiting::new(Class::Low, topic("device/7/x"), b"x"), |_, _| ()).unwrap();
    let (served, _) = serve(&mut sealer, &mut publisher, &mut broker, PLENTY, 0);
    assert!(matches!(served[..], [Served::Failed(_, Error::KeyState)]), "{served:?}");
    assert_eq!((broker.order.len(), publisher.waiting().count()), (0, 1));
}

#[test]
fn routine_messages_get_tags_and_a_signature_over_them() {
    let (mut sealer, mut publisher, mut broker) = (sealer([1; 3]), publisher(), Broker::new());
    let shared: &'static MacKey = Box::leak(Box::new(MacKey::from_bytes(&[5; 32])));
    sealer.tags = Some(Tags::new(shared, KeyId(77)));
    let name = topic("device/7/telemetry/temp");
    for i in 0..5u8 {
        publisher.push(&Waiting::new(Class::Low, name, &[i]), |_, _| ()).unwrap();
    }
    publisher.push(&Waiting::new(Class::High, topic("device/7/alert/x"), b"!"), |_, _| ()).unwrap();
    let (served, _) = serve(&mut sealer, &mut publisher, &mut broker, PLENTY, 0);
    let tags = served.iter().filter(|served| matches!(served, Served::Sent(_, By::Mac, _))).count();
    assert_eq!(tags, 5);
    let checkpoint = topic("device/7/status/checkpoint");
    let mut space = [0; 2_000];
    sealer.checkpoint(&mut publisher, checkpoint, Class::Low, TIME, &mut space).unwrap().unwrap();
    assert_eq!(sealer.checkpoint(&mut publisher, checkpoint, Class::Low, TIME, &mut space), None);
    serve(&mut sealer, &mut publisher, &mut broker, PLENTY, 1);
    let last = broker.order.last().unwrap();
    let envelope = Envelope::parse(Form::V1, checkpoint, last).unwrap();
    let signed = envelope.verify(public(Level::MlDsa44)).unwrap();
    assert_eq!(signed.kind, Kind::Checkpoint, "signed, though its class has tags");
    let named = Checkpointed::parse(signed.payload).unwrap();
    assert_eq!((named.key_id, named.tags().count()), (KeyId(77), 5));
    for bytes in &broker.order[1..6] {
        let envelope = Envelope::parse(Form::V1, name, bytes).unwrap();
        let message = envelope.verify_mac(shared).unwrap();
        assert!(named.names(message.number.unwrap(), envelope.seal()));
        assert!(!named.names(Number { epoch: 9, ..message.number.unwrap() }, envelope.seal()));
        // A tag is no signature, and no other key's, and holds on its own topic alone.
        assert!(Level::ALL.iter().all(|level| envelope.verify(public(*level)).is_err()));
        assert!(envelope.verify_mac(&MacKey::from_bytes(&[6; 32])).is_err());
        let moved = Envelope::parse(Form::V1, topic("device/8/telemetry/temp"), bytes).unwrap();
        assert_eq!(moved.verify_mac(shared), Err(Error::BadSignature));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            let believed =
                Envelope::parse(Form::V1, name, &changed).and_then(|other| other.verify_mac(shared));
            assert!(believed.is_err(), "byte {at}");
        }
    }
    let signed = Envelope::parse(Form::V1, topic("device/7/alert/x"), &broker.order[0]).unwrap();
    assert_eq!(signed.verify_mac(shared), Err(Error::BadSignature), "a signature is no tag");
}

#[test]
fn a_message_that_finds_no_room_among_the_tags_is_signed() {
    let (mut sealer, mut publisher, mut broker) = (sealer([1; 3]), publisher(), Broker::new());
    let shared: &'static MacKey = Box::leak(Box::new(MacKey::from_bytes(&[5; 32])));
    sealer.tags = Some(Tags::new(shared, KeyId(77)));
    for _ in 0..70 {
        publisher.push(&Waiting::new(Class::Low, topic("device/7/t"), b"x"), |_, _| ()).unwrap();
        serve(&mut sealer, &mut publisher, &mut broker, PLENTY, 0);
    }
    let tagged = broker.order.iter().filter(|bytes| bytes[1] == 0x4d).count();
    assert_eq!((tagged, broker.order.len()), (64, 70), "as many tags as a checkpoint names");
}

#[test]
fn checkpoints_are_due_by_count_and_by_time() {
    let mut some = Checkpoint::<4>::new(KeyId(1));
    let rhythm = Rhythm { every: 3, within_ms: 1_000 };
    let number = |sequence| Number { epoch: 2, sequence };
    assert!(!some.is_due(rhythm, 1 << 40));
    some.add_at(number(1), &[1; 32], 500).unwrap();
    assert!(!some.is_due(rhythm, 1_499) && some.is_due(rhythm, 1_500));
    some.add_at(number(2), &[2; 32], 600).unwrap();
    assert!(!some.is_due(rhythm, 700));
    assert_eq!(some.add(Number { epoch: 3, sequence: 0 }, &[3; 32]), Err(Error::QueueFull), "another epoch");
    assert!(some.add(number(3), &[3; 31]).is_err() && some.add(number(3), &[3; 33]).is_err());
    some.add_at(number(3), &[3; 32], 700).unwrap();
    assert!(some.is_due(rhythm, 700));
    some.add(number(4), &[4; 32]).unwrap();
    assert_eq!(some.add(number(5), &[5; 32]), Err(Error::QueueFull));
    let mut out = [0; 88];
    assert_eq!(some.emit(&mut out[..87]), Err(Error::TooLong));
    assert_eq!(some.emit(&mut out), Ok(88));
    let by_hand = [&[0, 1, 0, 0, 0, 2, 0, 4, 0, 0, 0, 1][..], &[1; 16], &[0, 0, 0, 2], &[2; 16]].concat();
    assert_eq!(out[..by_hand.len()], by_hand);
    for len in 0..88 {
        assert!(Checkpointed::parse(&out[..len]).is_err());
    }
    assert_eq!(Checkpointed::parse(&[&out[..], &[0]].concat()), Err(Error::TrailingBytes));
    assert_eq!(Checkpointed::parse(&[0, 1, 0, 0, 0, 2, 0, 0]), Err(Error::NotCanonical));
}

#[test]
fn a_message_of_another_size_does_not_take_a_tag_of_the_paper() {
    // The paper's form has no place for a tag: such a message is signed.
    let (mut sealer, mut publisher, mut broker) = (sealer([1; 3]), publisher(), Broker::new());
    sealer.form = Form::Paper;
    sealer.tags = Some(Tags::new(Box::leak(Box::new(MacKey::from_bytes(&[5; 32]))), KeyId(77)));
    publisher
        .push(&Waiting { time: TIME, ..Waiting::new(Class::Low, topic("device/7/t"), b"x") }, |_, _| ())
        .unwrap();
    serve(&mut sealer, &mut publisher, &mut broker, PLENTY, 0);
    let envelope = Envelope::parse(Form::Paper, topic("device/7/t"), &broker.order[0]).unwrap();
    assert_eq!(
        envelope.verify(public(Level::MlDsa44)).map(|message: Message<'_>| message.payload),
        Ok(&b"x"[..])
    );
}

#[test]
fn a_detached_envelope_goes_in_the_user_property_and_the_payload_as_it_is() {
    let mut publisher = Publisher::new(seven(), leaked(4_000), leaked(128), leaked(64), [leaked(7_000)]);
    let (mut sealer, mut broker) = (sealer([1, 2, 3]), Broker::new());
    sealer.form = Form::Detached;
    let mac = MacKey::from_bytes(&[4; 32]);
    sealer.tags = Some(Tags::new(Box::leak(Box::new(mac.clone())), KeyId(9)));
    let said = [(Class::Low, "device/7/telemetry/temp"), (Class::High, "device/7/alert/test")];
    for (class, name) in said {
        for len in [0, 1, 2, 3, 100] {
            let payload = vec![b'x'; len];
            let message =
                Waiting { content_type: "text/plain", ..Waiting::new(class, topic(name), &payload) };
            publisher.push(&message, |_, _| ()).unwrap();
        }
    }
    serve(&mut sealer, &mut publisher, &mut broker, PLENTY, 0);
    assert_eq!(broker.order.len(), 10);
    let mut numbers = std::collections::HashSet::new();
    for (payload, seal) in broker.order.iter().zip(&broker.seals) {
        let seal = crate::real::decoded(seal.as_deref().unwrap());
        assert!(payload.iter().all(|byte| *byte == b'x'));
        let read = |name| Envelope::parse_detached(topic(name), payload, &seal).unwrap();
        let message = match read(said[0].1).by() {
            By::Mac => read(said[0].1).verify_mac(&mac),
            By::Signature(level) => read(said[1].1).verify(public(level)),
        };
        assert!(numbers.insert(message.unwrap().number));
    }
    // MQTT 3.1.1 has no place for it: the message waits.
    let old =
        sealstone_mqtt::publisher::Settings { version: sealstone_mqtt::packet::Version::V311, ..seven() };
    let mut publisher = Publisher::<1>::new(old, leaked(400), leaked(128), leaked(64), [leaked(7_000)]);
    publisher.push(&Waiting::new(Class::High, topic(said[1].1), b"x"), |_, _| ()).unwrap();
    let mut line = Old(vec![0x20, 2, 0, 0]);
    while publisher.poll(0, 0, &mut line).is_some() {}
    let served = sealer.serve(&mut publisher, PLENTY, TIME, 0, &mut |_: &Chosen<'_>| ());
    assert!(matches!(served, Some(Served::Failed(_, Error::Unsupported(_)))), "{served:?}");
}

/// A broker of MQTT 3.1.1 that says yes.
struct Old(Vec<u8>);

impl sealstone_mqtt::publisher::Transport for Old {
    fn connect(&mut self) -> Result<bool, sealstone_mqtt::publisher::Closed> {
        Ok(true)
    }
    fn write(&mut self, bytes: &[u8]) -> Result<usize, sealstone_mqtt::publisher::Closed> {
        Ok(bytes.len())
    }
    fn read(&mut self, out: &mut [u8]) -> Result<usize, sealstone_mqtt::publisher::Closed> {
        let len = out.len().min(self.0.len());
        out[..len].copy_from_slice(&self.0[..len]);
        self.0.drain(..len);
        Ok(len)
    }
    fn close(&mut self) {}
}
