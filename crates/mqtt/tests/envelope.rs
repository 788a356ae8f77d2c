//! Envelopes: what goes in comes out, in one encoding only, and nothing that was changed does.

use crate::support::{Zeros, expanded, message, parse, public, sealed, topic};
use proptest::prelude::*;
use sealstone_mldsa::Level;
use sealstone_mqtt::form::By;
use sealstone_mqtt::{Error, Field, Form, KeyId, Keyed, Kind, Message, Number, UnixMillis, open, seal};

#[test]
fn each_form_at_each_level_gives_back_what_was_sealed() {
    for form in Form::ALL {
        for level in Level::ALL {
            let said = message(form);
            let bytes = sealed(form, &said, level).unwrap();
            assert_eq!(Form::of(&bytes), Some(form));
            let envelope = parse(form, said.topic, said.payload, &bytes).unwrap();
            assert_eq!(envelope.by(), By::Signature(level));
            assert_eq!(envelope.verify(public(level)).unwrap(), said, "{form:?} {level}");
            let whole = bytes.len() - if form == Form::Detached { 0 } else { said.payload.len() };
            assert_eq!(seal::overhead(form, &said, By::Signature(level)), Ok(whole));
        }
    }
}

#[test]
fn no_byte_of_an_envelope_can_be_changed() {
    for form in Form::ALL {
        let said = message(form);
        let bytes = sealed(form, &said, Level::MlDsa44).unwrap();
        // Every byte before the signature, and some of it.
        let head = bytes.len() - 2420;
        for at in (0..head).chain((head..bytes.len()).step_by(97)) {
            for flip in [1, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                let answer = parse(form, said.topic, said.payload, &changed)
                    .and_then(|envelope| envelope.verify(public(Level::MlDsa44)));
                assert!(answer.is_err(), "{form:?}: byte {at} ^ {flip:#x}");
            }
        }
    }
}

#[test]
fn an_envelope_verifies_on_its_own_topic_alone() {
    for form in Form::ALL {
        let said = message(form);
        let bytes = sealed(form, &said, Level::MlDsa44).unwrap();
        for other in
            ["device/8/telemetry/temp", "device/7/telemetry/tem", "device/7/telemetry/temp/", "$device"]
        {
            let envelope = parse(form, topic(other), said.payload, &bytes).unwrap();
            assert_eq!(envelope.verify(public(Level::MlDsa44)), Err(Error::BadSignature), "{form:?} {other}");
        }
    }
}

#[test]
fn an_envelope_of_any_other_length_is_refused() {
    for form in Form::ALL {
        let said = message(form);
        let bytes = sealed(form, &said, Level::MlDsa44).unwrap();
        for len in 0..bytes.len() {
            assert!(parse(form, said.topic, said.payload, &bytes[..len]).is_err(), "{form:?}: {len} bytes");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(
            parse(form, said.topic, said.payload, &longer).err(),
            Some(Error::TrailingBytes),
            "{form:?}"
        );
    }
}

#[test]
fn a_detached_payload_cannot_be_changed() {
    let said = message(Form::Detached);
    let bytes = sealed(Form::Detached, &said, Level::MlDsa44).unwrap();
    let changed = parse(Form::Detached, said.topic, b"t=99.5;h=40", &bytes).unwrap();
    assert_eq!(changed.verify(public(Level::MlDsa44)), Err(Error::BadSignature));
    assert_eq!(parse(Form::Detached, said.topic, b"", &bytes).err(), Some(Error::Truncated));
}

/// The layout of seed 002, 4.5, written out by hand.
#[test]
fn paper_is_the_papers_layout() {
    let said = message(Form::Paper);
    let bytes = sealed(Form::Paper, &said, Level::MlDsa65).unwrap();
    let mut by_hand = vec![0x01, 0, 11];
    by_hand.extend(b"t=21.5;h=40");
    by_hand.extend([0x65, 0, 3]);
    by_hand.extend(1_800_000_000u32.to_be_bytes());
    by_hand.extend(3309u16.to_be_bytes());
    assert_eq!(bytes[..by_hand.len()], by_hand);
    assert_eq!(bytes.len(), by_hand.len() + 3309);
}

/// The bytes of docs/formats/mqtt.md.
#[test]
fn cose_is_the_annotated_example() {
    let said = Message {
        key_id: KeyId(1),
        number: Some(Number { epoch: 2, sequence: 9 }),
        time: UnixMillis(1_800_000_000_000),
        ..Message::new(topic("device/7/telemetry/temp"), b"21.5")
    };
    let bytes = sealed(Form::Cose, &said, Level::MlDsa44).unwrap();
    let mut by_hand =
        vec![0xd2, 0x84, 0x58, 26, 0xa3, 0x01, 0x38, 0x2f, 0x04, 0x42, 0, 1, 0x0f, 0xa2, 0x06, 0x1a];
    by_hand.extend(1_800_000_000u32.to_be_bytes());
    by_hand.extend([0x07, 0x48, 0, 0, 0, 2, 0, 0, 0, 9, 0xa0, 0x44]);
    by_hand.extend(b"21.5");
    by_hand.extend([0x59, 0x09, 0x74]);
    assert_eq!(bytes[..by_hand.len()], by_hand);
    assert_eq!(bytes.len(), by_hand.len() + 2420);
}

#[test]
fn a_form_refuses_what_it_has_no_place_for() {
    let said = Message { number: Some(Number { epoch: 1, sequence: 1 }), ..message(Form::Paper) };
    assert_eq!(sealed(Form::Paper, &said, Level::MlDsa44), Err(Error::Unsupported(Field::Number)));
    let said = Message { content_type: "text/plain", ..message(Form::Paper) };
    assert_eq!(sealed(Form::Paper, &said, Level::MlDsa44), Err(Error::Unsupported(Field::ContentType)));
    assert_eq!(
        sealed(Form::V1, &message(Form::Paper), Level::MlDsa44),
        Err(Error::Unsupported(Field::Number)),
        "v1 without a number"
    );
    let long = vec![0; 65_536];
    let said = Message { payload: &long, ..message(Form::Paper) };
    assert_eq!(sealed(Form::Paper, &said, Level::MlDsa44), Err(Error::TooLong));
}

#[test]
fn a_buffer_that_is_too_short_is_told() {
    for form in Form::ALL {
        let said = message(form);
        let len = sealed(form, &said, Level::MlDsa44).unwrap().len();
        for short in [0, 1, 20, 40, len - 2420, len - 1] {
            let mut out = vec![0; short];
            let mut zeros = Zeros;
            let mut signer = Keyed::new(expanded(Level::MlDsa44), &mut zeros);
            assert_eq!(
                seal::seal(form, &said, &mut signer, &mut out),
                Err(Error::TooLong),
                "{form:?} {short}"
            );
        }
    }
}

#[test]
fn the_papers_unsigned_messages() {
    assert_eq!(open::unsigned(b"\x00\x00\x02hi"), Ok(&b"hi"[..]));
    assert_eq!(open::unsigned(b"\x00\x00\x02hi\x44"), Err(Error::TrailingBytes));
    assert_eq!(open::unsigned(b"\x00\x00\x03hi"), Err(Error::Truncated));
    assert_eq!(open::unsigned(b"\x01\x00\x02hi"), Err(Error::Unknown(Field::Form)));
    assert_eq!(open::unsigned(b""), Err(Error::Truncated));
}

proptest! {
    /// What parses was written in the only encoding: writing it again gives the same bytes.
    #[test]
    fn the_encoding_is_canonical(mut bytes in proptest::collection::vec(any::<u8>(), 0..120), form in 0usize..4) {
        let form = Form::ALL[form];
        // Heads by chance, with a signature's length of zeros behind.
        let head = sealed(form, &message(form), Level::MlDsa44).unwrap();
        let keep = bytes.len().min(head.len() - 2420);
        for (i, byte) in bytes.iter_mut().enumerate() {
            if let Some(kept) = head[..keep].get(i) && *byte % 8 != 0 {
                *byte = *kept;
            }
        }
        bytes.extend(&head[keep..]);
        let payload = message(form).payload;
        if let Ok(envelope) = parse(form, topic("a/b"), payload, &bytes)
            && let By::Signature(level) = envelope.by()
        {
            let again = sealed(form, envelope.claimed(), level).unwrap();
            let (untagged, seal) = (form == Form::Cose && bytes[0] == 0x84, level.signature_len());
            let from = usize::from(untagged);
            prop_assert_eq!(&again[from..again.len() - seal], &bytes[..bytes.len() - seal]);
        }
    }

    /// Any message that a form can hold comes back from it.
    #[test]
    fn any_message_comes_back(
        payload in proptest::collection::vec(any::<u8>(), 0..300),
        kind in 0usize..5,
        key_id: u16,
        numbers: (u32, u32),
        seconds in 0u64..=u64::from(u32::MAX),
        content_type in ".{0,20}",
        response in proptest::option::of("[a-z/]{1,40}"),
        correlation_data in proptest::collection::vec(any::<u8>(), 0..40),
        form in 0usize..3,
    ) {
        let form = [Form::V1, Form::Cose, Form::Detached][form];
        let said = Message {
            kind: Kind::ALL[kind],
            key_id: KeyId(key_id),
            number: Some(Number { epoch: numbers.0, sequence: numbers.1 }),
            time: UnixMillis(seconds * 1000),
            content_type: &content_type,
            response_topic: response.as_deref().map(topic),
            correlation_data: &correlation_data,
            ..Message::new(topic("device/7/x"), &payload)
        };
        let bytes = sealed(form, &said, Level::MlDsa44).unwrap();
        let envelope = parse(form, said.topic, said.payload, &bytes).unwrap();
        prop_assert_eq!(envelope.verify(public(Level::MlDsa44)).unwrap(), said);
    }

    /// Bytes of any kind are refused or read, and never more.
    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..6000), first in 0usize..8) {
        let mut bytes = bytes;
        if let (Some(byte), Some(mark)) = (bytes.first_mut(), [0x01, 0xe1, 0xe2, 0xd2, 0x84].get(first)) {
            *byte = *mark;
        }
        for form in Form::ALL {
            if let Ok(envelope) = parse(form, topic("a"), b"", &bytes) {
                prop_assert!(envelope.verify(public(Level::MlDsa44)).is_err());
            }
        }
        let _ = open::unsigned(&bytes);
    }
}
