//! Keys and messages for the tests.

use sealstone_mldsa::{Level, any};
use sealstone_mqtt::{
    Error, Form, KeyId, Keyed, Kind, Message, Number, Topic, UnixMillis, open::Envelope, seal,
};
use std::sync::LazyLock;

/// Randomness that is none: signatures repeat.
pub(crate) struct Zeros;

impl sealstone_mldsa::Randomness for Zeros {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), sealstone_mldsa::Error> {
        out.fill(0);
        Ok(())
    }
}

/// One key a level.
pub(crate) fn key(level: Level) -> &'static any::SigningKey {
    static KEYS: LazyLock<[any::SigningKey; 3]> =
        LazyLock::new(|| Level::ALL.map(|level| any::SigningKey::from_seed(level, &[7; 32])));
    &KEYS[level as usize]
}

/// The same, expanded.
pub(crate) fn expanded(level: Level) -> &'static any::ExpandedSigningKey {
    static KEYS: LazyLock<[any::ExpandedSigningKey; 3]> =
        LazyLock::new(|| Level::ALL.map(|level| key(level).expand()));
    &KEYS[level as usize]
}

/// The public half.
pub(crate) fn public(level: Level) -> &'static any::VerifyingKey {
    static KEYS: LazyLock<[any::VerifyingKey; 3]> =
        LazyLock::new(|| Level::ALL.map(|level| key(level).verifying_key()));
    &KEYS[level as usize]
}

/// A topic that is one.
pub(crate) fn topic(name: &str) -> Topic<'_> {
    Topic::new(name).unwrap()
}

/// A message that says as much as its form can.
pub(crate) fn message(form: Form) -> Message<'static> {
    let plain = Message {
        key_id: KeyId(3),
        time: UnixMillis(1_800_000_000_000),
        ..Message::new(topic("device/7/telemetry/temp"), b"t=21.5;h=40")
    };
    match form {
        Form::Paper => plain,
        _ => Message {
            kind: Kind::Batch,
            number: Some(Number { epoch: 5, sequence: 77 }),
            content_type: "text/plain",
            response_topic: Some(topic("device/7/answers")),
            correlation_data: &[1, 2, 3],
            ..plain
        },
    }
}

/// The envelope of a message, signed deterministically.
pub(crate) fn sealed(form: Form, message: &Message<'_>, level: Level) -> Result<Vec<u8>, Error> {
    let mut out = vec![0; 5200 + message.payload.len()];
    let len = seal::seal(form, message, &mut Keyed::new(expanded(level), &mut Zeros), &mut out)?;
    out.truncate(len);
    Ok(out)
}

/// Reads an envelope of any form; `payload` is what came beside a detached one.
pub(crate) fn parse<'a>(
    form: Form,
    on: Topic<'a>,
    payload: &'a [u8],
    bytes: &'a [u8],
) -> Result<Envelope<'a>, Error> {
    match form {
        Form::Detached => Envelope::parse_detached(on, payload, bytes),
        _ => Envelope::parse(form, on, bytes),
    }
}
