//! Tags: what whoever has no key, another device's key, or the shared key alone can try.

use super::world::{Case, NOW, Said, plain};
use sealstone_mldsa::Level;
use sealstone_mqtt::gateway::wire::Publish;
use sealstone_mqtt::{Form, Kind, Number};

/// The forms that hold tags.
pub(crate) const FORMS: [Form; 2] = [Form::V1, Form::Detached];

/// The messages of this file before anything is wrong.
pub(crate) fn genuine() -> Vec<Publish> {
    let checkpoints =
        [Form::V1, Form::Cose, Form::Detached].map(|form| over(form, 17, &[(1, 1), (2, 2)]).publish());
    [FORMS.map(|form| Said::tagged(form).publish()).to_vec(), checkpoints.to_vec()].concat()
}

pub(crate) fn cases() -> Vec<Case> {
    let tagged = FORMS
        .into_iter()
        .flat_map(|form| [changed(form), elsewhere(form), keys(form), numbers(form)].concat());
    tagged.chain([Form::V1, Form::Cose, Form::Detached].into_iter().flat_map(checkpoints)).collect()
}

/// A checkpoint of device a over tags of its key 17 and the epoch 3: sequence numbers, each with 16 times a byte.
fn over(form: Form, key: u16, tags: &[(u32, u8)]) -> Said {
    let mut payload = [&key.to_be_bytes()[..], &[0, 0, 0, 3], &(tags.len() as u16).to_be_bytes()].concat();
    tags.iter()
        .for_each(|(sequence, byte)| payload.extend([&sequence.to_be_bytes()[..], &[*byte; 16]].concat()));
    Said { kind: Kind::Checkpoint, payload: payload.leak(), ..Said::new(form) }
}

fn checkpoints(form: Form) -> Vec<Case> {
    let good = over(form, 17, &[(1, 1), (2, 2)]);
    let with = |change: fn(&mut Vec<u8>)| {
        let mut payload = good.payload.to_vec();
        change(&mut payload);
        Said { payload: payload.leak(), ..good.clone() }.publish()
    };
    let case = |what: &str, reason, publish| {
        Case::new(format!("{}, a checkpoint: {what}", form.name()), reason, publish)
    };
    let b = Said { topic: "device/b/telemetry/temp", level: Level::MlDsa65, seed: 5, ..good.clone() };
    let late = |seed| Said { number: Some(Number { epoch: 3, sequence: 1 }), seed, ..Said::tagged(Form::V1) };
    vec![
        case("empty", "malformed-truncated", with(|payload| payload.clear())),
        case("of no tags", "malformed-not-canonical", over(form, 17, &[]).publish()),
        case("cut", "malformed-truncated", with(|payload| payload.truncate(payload.len() - 1))),
        case("with a byte behind it", "malformed-trailing-bytes", with(|payload| payload.push(0))),
        case("of more tags than there are", "malformed-truncated", with(|payload| payload[7] = 3)),
        case("of 65535 tags", "malformed-truncated", with(|payload| payload[6..8].fill(0xff))),
        case("of fewer tags than there are", "malformed-trailing-bytes", with(|payload| payload[7] = 1)),
        case(
            "that names a number twice",
            "malformed-not-canonical",
            over(form, 17, &[(1, 1), (1, 2)]).publish(),
        ),
        case(
            "that names numbers out of order",
            "malformed-not-canonical",
            over(form, 17, &[(2, 2), (1, 1)]).publish(),
        ),
        case("over a key that nobody knows", "unknown-key", over(form, 99, &[(1, 1)]).publish()),
        case("over a key that signs", "unknown-key", over(form, 1, &[(1, 1)]).publish()),
        case("over the key of another device", "unknown-key", over(form, 19, &[(1, 1)]).publish()),
        case("of another device over a key of this one", "unknown-key", b.publish()),
        case("of another device, with its key", "bad-signature", Said { seed: 7, ..good.clone() }.publish()),
        case("a second time", "replay", good.publish()).after(vec![good.publish()]),
        case(
            "and then a tag under a number that it gave to something else",
            "contradicted",
            late(17).publish(),
        )
        .after(vec![good.publish()]),
        case("and then the same with a bad tag", "bad-signature", late(18).publish())
            .after(vec![good.publish()]),
    ]
}

fn case(form: Form, what: &str, reason: &'static str, publish: Publish) -> Case {
    Case::new(format!("{}, tagged: {what}", form.name()), reason, publish)
}

fn changed(form: Form) -> Vec<Case> {
    let said = Said::tagged(form);
    let sealed = said.sealed();
    let tag = sealed.len() - 32;
    let case = |what: &str, reason, publish| case(form, what, reason, publish);
    let mut payload = said.publish();
    match form {
        Form::Detached => payload.payload[0] ^= 1,
        _ => payload.payload[tag - 1] ^= 1,
    }
    let other = Said { payload: b"t=99.9", ..said.clone() }.sealed();
    // The head of one message and the tag of another.
    let relabelled = |as_if: Said| {
        let mut bytes = as_if.sealed();
        let at = bytes.len() - 32;
        bytes[at..].copy_from_slice(&sealed[tag..]);
        as_if.carried(bytes)
    };
    let number = |epoch, sequence| Said { number: Some(Number { epoch, sequence }), ..said.clone() };
    let labelled = |byte, len: usize| {
        said.changed(|bytes| {
            bytes[1] = byte;
            bytes.resize(tag + len, 0);
        })
    };
    vec![
        case("a bit of the payload is another one", "bad-signature", payload),
        case("the first bit of the tag", "bad-signature", said.changed(|bytes| bytes[tag] ^= 0x80)),
        case("the last bit of the tag", "bad-signature", said.changed(|bytes| bytes[tag + 31] ^= 1)),
        case("a tag of zeros", "bad-signature", said.changed(|bytes| bytes[tag..].fill(0))),
        case("a tag of ones", "bad-signature", said.changed(|bytes| bytes[tag..].fill(0xff))),
        case(
            "the tag of another message",
            "bad-signature",
            said.changed(|bytes| bytes[tag..].copy_from_slice(&other[tag..])),
        ),
        case("half of the tag", "malformed-truncated", said.changed(|bytes| bytes.truncate(tag + 16))),
        case("the tag is missing", "malformed-truncated", said.changed(|bytes| bytes.truncate(tag))),
        case("a byte behind it", "malformed-trailing-bytes", said.changed(|bytes| bytes.push(0))),
        case("another sequence number", "bad-signature", relabelled(number(3, 5001))),
        case("another epoch", "bad-signature", relabelled(number(4, 5000))),
        case("another time", "bad-signature", relabelled(Said { time: NOW.0 + 1000, ..said.clone() })),
        case("another kind", "bad-signature", relabelled(Said { kind: Kind::Batch, ..said.clone() })),
        case(
            "another content type",
            "bad-signature",
            relabelled(Said { content_type: "text/html", ..said.clone() }),
        ),
        case("relabelled to ML-DSA-44", "malformed-truncated", labelled(0x44, 32)),
        case("relabelled to ML-DSA-44, with a signature of zeros", "level", labelled(0x44, 2420)),
        case("stripped to its payload", "unsigned-device", plain(said.topic, said.payload)),
        case("an hour old", "stale", Said { time: NOW.0 - 3_600_000, ..said.clone() }.publish()),
        case("an hour ahead", "future", Said { time: NOW.0 + 3_600_000, ..said.clone() }.publish()),
    ]
}

fn elsewhere(form: Form) -> Vec<Case> {
    let said = Said::tagged(form);
    let case = |what: &str, reason, publish| case(form, what, reason, publish);
    let moved = |topic| Said { topic, ..said.clone() }.carried(said.sealed());
    let on = |topic| Said { topic, ..said.clone() }.publish();
    let mut cases = vec![
        case("on another topic of the device", "bad-signature", moved("device/a/telemetry/humidity")),
        case(
            "on the topic of another device with a key of the same id",
            "bad-signature",
            moved("device/narrow/telemetry/temp"),
        ),
        case("on the topic of another device", "unknown-key", moved("device/b/telemetry/temp")),
        case("on a topic of a class that takes no tags", "tag", moved("device/a/status/temp")),
        case("made for a class that takes no tags", "tag", on("device/a/status/temp")),
        case("made for the class high", "tag", on("device/a/alert/temp")),
        case("made for the class critical", "tag", on("device/a/critical/temp")),
        case("made for a topic without a class", "unknown-topic", on("device/a/other")),
        case(
            "of a device on a topic that is not its",
            "not-its-topic",
            Said { topic: "device/narrow/status/temp", seed: 27, ..said.clone() }.publish(),
        )
        .under("[policy]\ntags = [\"low\", \"medium\"]\n"),
        case("of a device that nobody knows", "unknown-device", on("device/none/telemetry/temp")),
        case(
            "as a checkpoint, which only a signature can make",
            "tag",
            Said { kind: Kind::Checkpoint, ..said.clone() }.publish(),
        ),
    ];
    let under = |what: &str, reason, config: &str| case(what, reason, said.publish()).under(config);
    cases.extend([
        under("where no class takes tags", "tag", "[policy]\ntags = []\n"),
        under("where another class takes them", "tag", "[policy]\ntags = [\"medium\"]\n"),
        under(
            "below the floor of its class",
            "tag",
            "[class.low]\nfloor = \"ML-DSA-65\"\ntopics = [\"device/+/telemetry/#\"]\n",
        ),
        under("a form that is not taken", "form", "[policy]\nforms = [\"cose\", \"paper\"]\n"),
        case("on a topic that is critical for want of a class", "tag", on("device/a/other"))
            .under("[policy]\nunknown_topic = \"critical\"\n"),
        case("without a time, where that is refused", "no-clock", Said { time: 0, ..said.clone() }.publish())
            .under("[policy]\nno_clock = \"refuse\"\n"),
        case(
            "kept by the broker, where that is refused",
            "retained",
            Publish { retain: true, ..said.publish() },
        )
        .under("[policy]\nretained = \"refuse\"\n"),
    ]);
    cases
}

fn keys(form: Form) -> Vec<Case> {
    let said = Said::tagged(form);
    let case = |what: &str, reason, publish| case(form, what, reason, publish);
    let with = |key_id, seed| Said { key_id, seed, ..said.clone() }.publish();
    let signed = Said { key_id: 17, ..Said::new(form) };
    vec![
        case("with a key that nobody knows", "bad-signature", with(17, 200)),
        case("with another device's key", "bad-signature", with(17, 27)),
        case("with another device's key under its id there", "unknown-key", with(19, 19)),
        case("with a retired key", "key-retired", with(18, 18)),
        case("with a retired key under the id of another", "bad-signature", with(17, 18)),
        case("with a key of zeros", "bad-signature", with(17, 0)),
        case("a key id that nobody knows", "unknown-key", with(99, 17)),
        case("the id of a key that signs", "level", with(1, 17)),
        case("the id of a retired key that signs", "level", with(2, 17)),
        case("a signature under the id of a shared key", "level", signed.publish()),
    ]
}

fn numbers(form: Form) -> Vec<Case> {
    let said = Said::tagged(form);
    let case = |what: &str, reason, publish| case(form, what, reason, publish);
    let number = |epoch, sequence| Said { number: Some(Number { epoch, sequence }), ..said.clone() };
    let once = vec![said.publish()];
    let again = Publish { dup: true, ..said.publish() };
    let mut later = case("a second time, when its time is over", "stale", said.publish());
    later.later_ms = 400_000;
    vec![
        case("a second time", "replay", said.publish()).after(once.clone()),
        case("delivered again by the broker", "redelivered", again).after(once.clone()),
        later.after(once.clone()),
        case(
            "the same number for something else",
            "replay",
            Said { payload: b"t=99.9", ..said.clone() }.publish(),
        )
        .after(once),
        case("a number before the window", "too-old", said.publish()).after(vec![number(3, 9000).publish()]),
        case("an epoch that is closed", "too-old", said.publish())
            .after(vec![number(4, 0).publish(), number(5, 0).publish()]),
        case("a number that a signature has taken", "replay", said.publish())
            .after(vec![Said::new(form).publish()]),
        case("a number that a signature in another form has taken", "replay", said.publish())
            .after(vec![Said::new(Form::Cose).publish()]),
        case("a number that a signature of another level has taken", "replay", said.publish())
            .after(vec![Said { level: Level::MlDsa65, key_id: 4, seed: 4, ..Said::new(form) }.publish()]),
    ]
}
