//! Commands signed beforehand: each once, in its time, with its token, whatever is cut.

use crate::flash::{Chance, Chip};
use crate::support::{public, sealed, topic};
use proptest::prelude::*;
use sealstone_mldsa::Level;
use sealstone_mqtt::template::{Command, Release, Taken, Template};
use sealstone_mqtt::{Error, Form, KeyId, Kind, Message, Number, UnixMillis, open::Envelope};

const FROM: UnixMillis = UnixMillis(1_000);
const TO: UnixMillis = UnixMillis(2_000);
const NOW: UnixMillis = UnixMillis(1_500);

fn token(index: u16) -> [u8; 32] {
    let mut token = [0x5e; 32];
    token[..2].copy_from_slice(&index.to_be_bytes());
    token
}

fn payload(id: u32, count: u16) -> Vec<u8> {
    let tokens: Vec<_> = (0..count).map(token).collect();
    let texts: Vec<_> = (0..count).map(|index| format!("command {index}")).collect();
    let commands: Vec<_> =
        tokens.iter().zip(&texts).map(|(token, text)| Command { token, bytes: text.as_bytes() }).collect();
    let mut out = vec![0; 100 + 60 * usize::from(count)];
    let len = Template::emit(id, FROM, TO, &commands, &mut out).unwrap();
    out.truncate(len);
    out
}

fn release(template: u32, index: u16) -> Release {
    Release { template, index, token: token(index) }
}

fn chip() -> Chip {
    let mut chip = Chip::new(144); // three records of 48 bytes
    Taken::format(&mut chip).unwrap();
    chip
}

#[test]
fn from_the_key_to_the_command() {
    let payload = payload(7, 3);
    let said = Message {
        kind: Kind::Template,
        key_id: KeyId(1),
        number: Some(Number { epoch: 1, sequence: 1 }),
        ..Message::new(topic("device/7/command/valve"), &payload)
    };
    let wire = sealed(Form::V1, &said, Level::MlDsa65).unwrap();
    let envelope = Envelope::parse(Form::V1, said.topic, &wire).unwrap();
    let template = Template::parse(envelope.verify(public(Level::MlDsa65)).unwrap().payload).unwrap();
    assert_eq!((template.id, template.len()), (7, 3));
    assert_eq!(template.commands().collect::<Vec<_>>(), [b"command 0", b"command 1", b"command 2"]);
    let mut chip = chip();
    let mut taken = Taken::open(&mut chip).unwrap();
    assert_eq!(taken.take(&template, &release(7, 0), NOW), Err(Error::AlreadyTaken), "it was not begun");
    taken.begin(&template).unwrap();
    for index in [2, 0, 1] {
        let command = taken.take(&template, &release(7, index), NOW).unwrap();
        assert_eq!(command, format!("command {index}").as_bytes());
        assert_eq!(taken.take(&template, &release(7, index), NOW), Err(Error::AlreadyTaken));
    }
}

#[test]
fn what_lets_nothing_go() {
    let payload = payload(7, 256);
    let template = Template::parse(&payload).unwrap();
    let mut chip = chip();
    let mut taken = Taken::open(&mut chip).unwrap();
    taken.begin(&template).unwrap();
    let good = release(7, 255);
    let mut wrong = good;
    for bit in 0..256 {
        wrong.token[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(taken.take(&template, &wrong, NOW), Err(Error::BadSignature), "bit {bit}");
        wrong.token[bit / 8] ^= 1 << (bit % 8);
    }
    for other in
        [Release { template: 8, ..good }, Release { index: 254, ..good }, Release { index: 256, ..good }]
    {
        assert_eq!(taken.take(&template, &other, NOW), Err(Error::BadSignature), "another's token");
    }
    for time in [0, 999, 2_001, u64::MAX] {
        assert_eq!(taken.take(&template, &good, UnixMillis(time)), Err(Error::OutOfTime), "at {time}");
    }
    for time in [1_000, 2_000] {
        let index = (time / 1_000) as u16;
        assert!(taken.take(&template, &release(7, index), UnixMillis(time)).is_ok(), "at {time}");
    }
    assert!(taken.take(&template, &good, NOW).is_ok(), "nothing of it was in the way");
}

#[test]
fn without_a_clock_nothing_is_let_go() {
    let mut payload = payload(7, 1);
    payload[4..12].fill(0); // not before the beginning of time
    let template = Template::parse(&payload).unwrap();
    let mut chip = chip();
    let mut taken = Taken::open(&mut chip).unwrap();
    taken.begin(&template).unwrap();
    assert_eq!(taken.take(&template, &release(7, 0), UnixMillis(0)), Err(Error::OutOfTime));
    assert!(taken.take(&template, &release(7, 0), UnixMillis(1)).is_ok());
}

#[test]
fn an_earlier_template_is_over() {
    let (old, new) = (payload(7, 2), payload(8, 2));
    let (old, new) = (Template::parse(&old).unwrap(), Template::parse(&new).unwrap());
    let mut chip = chip();
    let mut taken = Taken::open(&mut chip).unwrap();
    taken.begin(&old).unwrap();
    taken.take(&old, &release(7, 0), NOW).unwrap();
    taken.begin(&old).unwrap();
    assert_eq!(taken.take(&old, &release(7, 0), NOW), Err(Error::AlreadyTaken), "begun again");
    taken.begin(&new).unwrap();
    assert_eq!(taken.take(&old, &release(7, 1), NOW), Err(Error::AlreadyTaken));
    assert_eq!(taken.begin(&old), Err(Error::AlreadyTaken));
    assert!(taken.take(&new, &release(8, 0), NOW).is_ok());
}

#[test]
fn no_command_twice_whatever_is_cut() {
    let payload = payload(1, 40);
    let template = Template::parse(&payload).unwrap();
    for seed in 1..=100 {
        let mut chance = Chance(seed);
        let mut chip = chip();
        Taken::open(&mut chip).unwrap().begin(&template).unwrap();
        let mut done = std::collections::HashSet::new();
        for _ in 0..80 {
            chip.cut_after(1 + chance.below(300), chance.below(256) as u8, chance.below(2) == 0);
            if let Ok(mut taken) = Taken::open(&mut chip) {
                for _ in 0..4 {
                    let index = chance.below(40) as u16;
                    if taken.take(&template, &release(1, index), NOW).is_ok() {
                        assert!(done.insert(index), "seed {seed}: command {index} twice");
                    }
                }
            }
            chip.restore();
        }
        assert!(done.len() > 10);
    }
}

#[test]
fn templates_and_releases_have_one_encoding_and_length() {
    let bytes = payload(7, 2);
    for len in 0..bytes.len() {
        assert!(Template::parse(&bytes[..len]).is_err(), "{len} bytes");
    }
    assert_eq!(Template::parse(&[&bytes[..], &[0]].concat()), Err(Error::TrailingBytes));
    let none = [&[0, 0, 0, 1][..], &1u64.to_be_bytes(), &2u64.to_be_bytes(), &[0, 0]].concat();
    assert_eq!(Template::parse(&none), Err(Error::NotCanonical), "no command");
    let mut never = bytes.clone();
    never[4..12].copy_from_slice(&3_000u64.to_be_bytes());
    assert_eq!(Template::parse(&never), Err(Error::NotCanonical), "it ends before it begins");
    let command = Command { token: &[0; 32], bytes: b"" };
    let mut out = vec![0; 20_000];
    assert_eq!(Template::emit(1, FROM, TO, &[], &mut out), Err(Error::NotCanonical));
    assert_eq!(Template::emit(1, TO, TO, &[command], &mut out), Err(Error::NotCanonical));
    assert_eq!(Template::emit(1, FROM, TO, &[command; 257], &mut out), Err(Error::TooLong));
    assert_eq!(Template::emit(1, FROM, TO, &[command], &mut out[..50]), Err(Error::TooLong));
    let said = release(0x0102_0304, 0x0506).emit();
    assert_eq!(said[..7], [0xe3, 1, 2, 3, 4, 5, 6]);
    assert_eq!(Release::parse(&said), Ok(release(0x0102_0304, 0x0506)));
    assert_eq!(Release::parse(&said[..38]), Err(Error::Truncated));
    assert_eq!(Release::parse(&[&said[..], &[0]].concat()), Err(Error::TrailingBytes));
    let shown = format!("{:?} {:?}", command, release(1, 1));
    assert!(!shown.contains("94, 94") && !shown.contains("token"), "{shown}");
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..160), count in 0u8..4) {
        let mut bytes = bytes;
        if bytes.len() > 22 {
            (bytes[20], bytes[21]) = (0, count);
        }
        let _ = Release::parse(&bytes);
        if let Ok(template) = Template::parse(&bytes) {
            prop_assert_eq!(template.commands().count(), usize::from(count));
        }
    }
}
