//! What a device is told: once, by its commander, for itself, whatever is cut.

use crate::flash::{Chance, Chip};
use crate::support::{Zeros, public, sealed, topic};
use proptest::prelude::*;
use sealstone_mldsa::device::{EncodedVerifyingKey, Small, VerifySpace};
use sealstone_mldsa::{Level, MlDsa44, any};
use sealstone_mqtt::commander::{Commander, Order, Verifier};
use sealstone_mqtt::device::SpacedVerifier;
use sealstone_mqtt::keyring::{Announcement, Confirmation};
use sealstone_mqtt::mac::{MacKey, Tagger};
use sealstone_mqtt::template::{Command, Release, Template};
use sealstone_mqtt::{Error, Field, Form, KeyId, Keyed, Kind, Message, Number, UnixMillis, seal};
use std::cell::RefCell;
use std::rc::Rc;

const PAGE: usize = 512;
const ID: KeyId = KeyId(8701);
const NOW: UnixMillis = UnixMillis(1_500);
const COMMAND: &str = "device/7/command/valve";
const CONFIRMED: &str = "device/7/critical/key/confirmed";

/// A chip that two may look at: the device and the test.
#[derive(Clone)]
pub(crate) struct Shared(pub(crate) Rc<RefCell<Chip>>);

impl Shared {
    pub(crate) fn new(page: usize) -> Self {
        Shared(Rc::new(RefCell::new(Chip::new(page))))
    }
}

impl sealstone_mqtt::flash::Flash for Shared {
    fn page_len(&self) -> usize {
        self.0.borrow().page_len()
    }
    fn read(&mut self, page: usize, at: usize, out: &mut [u8]) -> Result<(), Error> {
        self.0.borrow_mut().read(page, at, out)
    }
    fn write(&mut self, page: usize, at: usize, bytes: &[u8]) -> Result<(), Error> {
        self.0.borrow_mut().write(page, at, bytes)
    }
    fn erase(&mut self, page: usize) -> Result<(), Error> {
        self.0.borrow_mut().erase(page)
    }
}

fn chips() -> [Shared; 3] {
    let chips = [(); 3].map(|()| Shared::new(PAGE));
    Commander::<&any::VerifyingKey, _>::format(chips.clone()).unwrap();
    chips
}

type Told<'a> = Commander<'a, &'static any::VerifyingKey, Shared>;

fn open<'a>(chips: &[Shared; 3], memory: &'a mut [u8]) -> Result<Told<'a>, Error> {
    Commander::open("7", ID, public(Level::MlDsa44), chips.clone(), memory)
}

fn number(epoch: u32, sequence: u32) -> Option<Number> {
    Some(Number { epoch, sequence })
}

fn said<'a>(on: &'a str, payload: &'a [u8], sequence: u32) -> Message<'a> {
    Message { key_id: ID, number: number(3, sequence), ..Message::new(topic(on), payload) }
}

fn wire(message: &Message<'_>) -> Vec<u8> {
    sealed(Form::V1, message, Level::MlDsa44).unwrap()
}

fn template(id: u32, commands: &[&str]) -> Vec<u8> {
    let tokens: Vec<[u8; 32]> = (0..commands.len()).map(|i| [i as u8; 32]).collect();
    let commands: Vec<Command<'_>> =
        commands.iter().zip(&tokens).map(|(text, token)| Command { token, bytes: text.as_bytes() }).collect();
    let mut out = vec![0; 4_000];
    let len = Template::emit(id, UnixMillis(1_000), UnixMillis(2_000), &commands, &mut out).unwrap();
    out.truncate(len);
    out
}

fn release(template: u32, index: u16) -> [u8; Release::LEN] {
    Release { template, index, token: [index as u8; 32] }.emit()
}

#[test]
fn words_are_understood_and_kept() {
    let (chips, mut memory) = (chips(), [0; PAGE]);
    let mut commander = open(&chips, &mut memory).unwrap();
    let mut take = |payload: &[u8], sequence| {
        let bytes = wire(&said(COMMAND, payload, sequence));
        let order = commander.take(topic(COMMAND), &bytes, NOW).map(|order| format!("{order:?}"));
        (order, commander.owed(), commander.interval_ms())
    };
    assert_eq!(take(b"interval 250", 1), (Ok("Interval(250)".into()), None, Some(250)));
    assert_eq!(take(b"rotate 87", 2), (Ok("Rotate(MlDsa87)".into()), Some(Level::MlDsa87), Some(250)));
    let owed = Some(Level::MlDsa44);
    assert_eq!(take(b"rotate 44", 3), (Ok("Rotate(MlDsa44)".into()), owed, Some(250)));
    assert_eq!(take(b"open 3", 4), (Ok("Text(\"open 3\")".into()), owed, Some(250)));
    let unknown = || Err(Error::Unsupported(Field::Payload));
    for (i, bad) in
        ["rotate 4", "rotate ", "rotate -4", "rotate 444", "interval 9", "interval 2592000001", "interval x"]
            .into_iter()
            .enumerate()
    {
        assert_eq!(take(bad.as_bytes(), 10 + i as u32).0, unknown(), "{bad}");
    }
    assert_eq!(take(&[0xff], 20).0, Err(Error::NotText(Field::Payload)));
    // All of it lasts.
    let mut memory = [0; PAGE];
    let mut commander = open(&chips, &mut memory).unwrap();
    assert_eq!((commander.owed(), commander.interval_ms()), (owed, Some(250)));
    commander.done(Level::MlDsa44).unwrap();
    assert_eq!(commander.owed(), Some(Level::MlDsa87));
}

#[test]
fn a_number_counts_once_and_upwards() {
    let (chips, mut memory) = (chips(), [0; PAGE]);
    let mut commander = open(&chips, &mut memory).unwrap();
    let at = |number| wire(&Message { number, ..said(COMMAND, b"x", 0) });
    for (number, fresh) in [
        (number(3, 5), true),
        (number(3, 5), false),
        (number(3, 4), false),
        (number(2, 9), false),
        (number(3, 9), true),
        (number(4, 0), true),
        (number(3, u32::MAX), false),
    ] {
        let taken = commander.take(topic(COMMAND), &at(number), NOW).map(|_| ());
        assert_eq!(taken, if fresh { Ok(()) } else { Err(Error::AlreadyTaken) }, "{number:?}");
    }
    drop(commander);
    let mut memory = [0; PAGE];
    let mut commander = open(&chips, &mut memory).unwrap();
    assert_eq!(
        commander.take(topic(COMMAND), &at(number(4, 0)), NOW),
        Err(Error::AlreadyTaken),
        "a new start"
    );
}

#[test]
fn who_may_not_say_so() {
    let (chips, mut memory) = (chips(), [0; PAGE]);
    let mut commander = open(&chips, &mut memory).unwrap();
    let message = said(COMMAND, b"open", 1);
    let good = wire(&message);
    let mut refused = |on: &str, bytes: &[u8], why| {
        assert_eq!(
            commander.take(topic(on), bytes, NOW),
            Err(why),
            "{on} {:?}",
            &bytes[..bytes.len().min(40)]
        )
    };
    for on in [
        "device/8/command/valve",
        "device/77/command/valve",
        "device/7/commands/valve",
        "device/7/telemetry/x",
        "device/7",
        "device/7/critical/key",
        "device/7/critical/key/confirmed/x",
        "x/7/command/valve",
    ] {
        refused(on, &good, Error::BadTopic);
    }
    refused("device/7/command/other", &good, Error::BadSignature);
    refused("device/7/command", &good, Error::BadSignature);
    for at in (0..good.len()).step_by(7).chain(0..60) {
        let mut changed = good.clone();
        changed[at] ^= 1;
        let why = commander_refuses(&mut changed, &chips);
        assert!(why.is_err(), "byte {at}");
    }
    let level = sealed(Form::V1, &message, Level::MlDsa65).unwrap();
    refused(COMMAND, &level, Error::Unsupported(Field::Seal));
    let mut tag = vec![0; 200];
    let len = seal::seal(Form::V1, &message, &mut Tagger(&MacKey::from_bytes(&[1; 32])), &mut tag).unwrap();
    refused(COMMAND, &tag[..len], Error::Unsupported(Field::Seal));
    refused(COMMAND, &wire(&Message { key_id: KeyId(1), ..message }), Error::KeyState);
    let stranger = any::SigningKey::from_seed(Level::MlDsa44, &[9; 32]).expand();
    let mut forged = vec![0; 2_600];
    let len = seal::seal(Form::V1, &message, &mut Keyed::new(&stranger, &mut Zeros), &mut forged).unwrap();
    refused(COMMAND, &forged[..len], Error::BadSignature);
    for form in [Form::Paper, Form::Cose] {
        let message = if form == Form::Paper { Message { number: None, ..message } } else { message };
        let other = sealed(form, &message, Level::MlDsa44).unwrap();
        refused(COMMAND, &other, Error::Unknown(Field::Form));
    }
    for kind in [Kind::Batch, Kind::Unchanged, Kind::Checkpoint] {
        refused(COMMAND, &wire(&Message { kind, ..message }), Error::Unsupported(Field::Kind));
    }
    // None of it was in the way.
    assert_eq!(commander.take(topic(COMMAND), &good, NOW), Ok(Order::Text("open")));
}

fn commander_refuses(bytes: &mut [u8], chips: &[Shared; 3]) -> Result<(), Error> {
    let mut memory = [0; PAGE];
    open(chips, &mut memory).unwrap().take(topic(COMMAND), bytes, NOW).map(|_| ())
}

#[test]
fn a_confirmation_is_handed_on_whatever_its_number() {
    let (chips, mut memory) = (chips(), [0; PAGE]);
    let mut commander = open(&chips, &mut memory).unwrap();
    let public_key = &[5; 1312];
    let of = Confirmation::of(&Announcement { level: Level::MlDsa44, key_id: KeyId(2), public_key });
    let payload = of.emit();
    commander.take(topic(COMMAND), &wire(&said(COMMAND, b"x", 9)), NOW).unwrap();
    for _ in 0..2 {
        let bytes = wire(&said(CONFIRMED, &payload, 1));
        assert_eq!(commander.take(topic(CONFIRMED), &bytes, NOW), Ok(Order::Confirmed(of)));
    }
    let moved = wire(&said(CONFIRMED, &payload, 1));
    assert!(commander.take(topic(COMMAND), &moved, NOW).is_err(), "and on no other topic");
}

#[test]
fn commands_of_a_template_are_let_go_once_and_over_starts() {
    let chips = chips();
    let payload = template(7, &["open", "interval 100", "rotate 65"]);
    let kind = Kind::Template;
    let sent = wire(&Message { kind, ..said(COMMAND, &payload, 1) });
    let with = |then: &mut dyn FnMut(&mut Told<'_>)| {
        let mut memory = [0; PAGE];
        then(&mut open(&chips, &mut memory).unwrap());
    };
    with(&mut |commander| {
        assert_eq!(
            commander.take(topic(COMMAND), &release(7, 0), NOW),
            Err(Error::BadSignature),
            "no template"
        );
        assert_eq!(commander.take(topic(COMMAND), &sent, NOW), Ok(Order::Template(7)));
        assert_eq!(commander.take(topic(COMMAND), &sent, NOW), Err(Error::AlreadyTaken));
    });
    with(&mut |commander| {
        let elsewhere = "device/7/command/other";
        assert_eq!(commander.take(topic(elsewhere), &release(7, 0), NOW), Err(Error::BadTopic));
        let late = commander.take(topic(COMMAND), &release(7, 0), UnixMillis(2_001)).map(|_| ());
        assert_eq!(late, Err(Error::OutOfTime));
        assert_eq!(commander.take(topic(COMMAND), &release(7, 0), NOW), Ok(Order::Text("open")));
        assert_eq!(commander.take(topic(COMMAND), &release(7, 0), NOW), Err(Error::AlreadyTaken));
    });
    with(&mut |commander| {
        assert_eq!(commander.take(topic(COMMAND), &release(7, 0), NOW), Err(Error::AlreadyTaken));
        assert_eq!(commander.take(topic(COMMAND), &release(7, 2), NOW), Ok(Order::Rotate(Level::MlDsa65)));
        assert_eq!(commander.owed(), Some(Level::MlDsa65));
        // Sent again under a new number: nothing that was taken comes back. Another one with its id is none.
        let again = wire(&Message { kind, ..said(COMMAND, &payload, 2) });
        assert_eq!(commander.take(topic(COMMAND), &again, NOW), Ok(Order::Template(7)));
        assert_eq!(commander.take(topic(COMMAND), &release(7, 2), NOW), Err(Error::AlreadyTaken));
        let other = template(7, &["shut"]);
        let other = wire(&Message { kind, ..said(COMMAND, &other, 3) });
        assert_eq!(commander.take(topic(COMMAND), &other, NOW), Err(Error::AlreadyTaken));
        let zero = template(0, &["shut"]);
        let zero = wire(&Message { kind, ..said(COMMAND, &zero, 3) });
        assert_eq!(commander.take(topic(COMMAND), &zero, NOW), Err(Error::AlreadyTaken));
        let long = "x".repeat(PAGE);
        let long = template(8, &[&long]);
        let long = wire(&Message { kind, ..said(COMMAND, &long, 3) });
        assert_eq!(commander.take(topic(COMMAND), &long, NOW), Err(Error::TooLong));
        assert_eq!(
            commander.take(topic(COMMAND), &release(7, 1), NOW),
            Ok(Order::Interval(100)),
            "7 is kept"
        );
        let next = template(8, &["shut"]);
        let next = wire(&Message { kind, ..said(COMMAND, &next, 4) });
        assert_eq!(commander.take(topic(COMMAND), &next, NOW), Ok(Order::Template(8)));
        assert_eq!(commander.take(topic(COMMAND), &release(8, 0), NOW), Ok(Order::Text("shut")));
    });
}

/// A broker sends until it is acknowledged; the power goes at any byte that is written. `rotate` and `interval` are done, text and what is
/// let go at most once.
#[test]
fn nothing_twice_and_no_order_lost_whatever_is_cut() {
    let payload = template(1, &["a", "b", "c", "d", "e", "f", "g", "h"]);
    let mut queue: Vec<Vec<u8>> = vec![wire(&Message { kind: Kind::Template, ..said(COMMAND, &payload, 1) })];
    for i in 0..8 {
        queue.push(release(1, i).to_vec());
        queue.push(wire(&said(COMMAND, format!("text {i}").as_bytes(), 10 + 2 * u32::from(i))));
        let order = if i % 2 == 0 { format!("interval {}", 100 + i) } else { "rotate 65".to_string() };
        queue.push(wire(&said(COMMAND, order.as_bytes(), 11 + 2 * u32::from(i))));
    }
    let mut all_cuts = 0;
    for seed in 1..=60 {
        let (mut chance, chips) = (Chance(seed), chips());
        let mut heard = std::collections::HashMap::<String, u32>::new();
        let (mut at, mut cuts) = (0, 0);
        while at < queue.len() {
            for chip in &chips {
                let steps = 1 + chance.below(900);
                chip.0.borrow_mut().cut_after(steps, chance.below(256) as u8, chance.below(2) == 0);
            }
            let mut memory = [0; PAGE];
            if let Ok(mut commander) = open(&chips, &mut memory) {
                while let Some(bytes) = queue.get(at) {
                    match commander.take(topic(COMMAND), bytes, NOW) {
                        Err(Error::FlashFailed) => break, // not acknowledged
                        Ok(Order::Text(text)) => *heard.entry(text.to_string()).or_default() += 1,
                        Ok(_) | Err(Error::AlreadyTaken) => {}
                        Err(error) => panic!("seed {seed}, {at}: {error}"),
                    }
                    at += 1;
                }
            }
            cuts += chips.iter().filter(|chip| chip.0.borrow_mut().restore()).count();
            assert!(cuts < 10_000);
        }
        assert!(heard.values().all(|times| *times == 1), "seed {seed}: {heard:?}");
        assert!(heard.len() > 6, "seed {seed}: {} heard", heard.len());
        all_cuts += cuts;
        let mut memory = [0; PAGE];
        let commander = open(&chips, &mut memory).unwrap();
        assert_eq!(
            (commander.owed(), commander.interval_ms()),
            (Some(Level::MlDsa65), Some(106)),
            "seed {seed}"
        );
    }
    assert!(all_cuts > 100, "{all_cuts} cuts");
}

/// The device's verifier and the host's say the same.
#[test]
fn in_a_microcontrollers_memory() {
    let pk = public(Level::MlDsa44).encode();
    let key = EncodedVerifyingKey::<MlDsa44>::decode(pk).unwrap();
    let mut space = VerifySpace::<MlDsa44, Small>::new();
    let chips = chips();
    let mut memory = [0; PAGE];
    let verifier = SpacedVerifier { key: &key, space: &mut space };
    assert_eq!(verifier.level(), Level::MlDsa44);
    let mut commander = Commander::open("7", ID, verifier, chips, &mut memory).unwrap();
    let mut bytes = wire(&said(COMMAND, b"open", 1));
    bytes[35] ^= 1;
    assert_eq!(commander.take(topic(COMMAND), &bytes, NOW), Err(Error::BadSignature));
    bytes[35] ^= 1;
    assert_eq!(commander.take(topic(COMMAND), &bytes, NOW), Ok(Order::Text("open")));
}

proptest! {
    #[test]
    fn any_bytes_are_answered(
        head in proptest::collection::vec(any::<u8>(), 0..200),
        mark in 0u8..6,
        on in 0usize..4,
    ) {
        let chips = chips();
        let mut memory = [0; PAGE];
        let mut commander = open(&chips, &mut memory).unwrap();
        let on = [COMMAND, CONFIRMED, "device/7/command", "a"][on];
        let mut bytes = head;
        // Now and then as good as an envelope can be that nobody signed.
        match (mark, &mut bytes[..]) {
            (0, [first, ..]) => *first = 0xe3,
            (1 | 2, _) => {
                let kind = Kind::ALL[bytes.len() % 5];
                let claimed = Message { kind, ..said(on, &bytes, 1) };
                let len = 30 + claimed.payload.len();
                let mut whole = wire(&claimed);
                if mark == 1 { whole[len] ^= 1 } else { whole[20] ^= 1 }
                bytes = whole;
            }
            _ => {}
        }
        prop_assert!(commander.take(topic(on), &bytes, NOW).is_err());
    }
}
