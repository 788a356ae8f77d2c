//! Genuine messages with one thing wrong, in each form that can carry it.

use super::world::{Case, NOW, Said, plain};
use sealstone_mldsa::Level;
use sealstone_mqtt::gateway::wire::{Properties, Publish};
use sealstone_mqtt::{Form, Kind, Number};

/// The messages of this file before anything is wrong.
pub(crate) fn genuine() -> Vec<Publish> {
    let asking = [Form::V1, Form::Cose, Form::Detached].map(|form| Said::asking(form).publish());
    [Form::ALL.map(|form| Said::new(form).publish()).to_vec(), asking.to_vec()].concat()
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for form in Form::ALL {
        in_form(form, &mut cases);
        if form != Form::Paper {
            numbered(form, &mut cases);
        }
    }
    cases
}

/// What each form holds.
fn in_form(form: Form, cases: &mut Vec<Case>) {
    let said = Said::new(form);
    let sealed = said.sealed();
    let signature = sealed.len() - 2420;
    let mut case = |what: &str, reason, publish| {
        cases.push(Case::new(format!("{}: {what}", form.name()), reason, publish));
    };

    let mut changed = said.publish();
    match form {
        Form::Detached => changed.payload[0] ^= 1,
        _ => {
            let at = sealed.windows(6).position(|window| window == b"t=21.5").unwrap();
            changed.payload[at] ^= 1;
        }
    }
    case("a bit of the payload is another one", "bad-signature", changed);
    case("the first bit of the signature", "bad-signature", said.changed(|bytes| bytes[signature] ^= 1));
    case(
        "the last bit of the signature",
        "bad-signature",
        said.changed(|bytes| *bytes.last_mut().unwrap() ^= 1),
    );
    case("a signature of zeros", "bad-signature", said.changed(|bytes| bytes[signature..].fill(0)));
    case("a signature of ones", "bad-signature", said.changed(|bytes| bytes[signature..].fill(0xff)));
    let other = Said { payload: b"t=99.9", ..said.clone() }.sealed();
    let graft = |bytes: &mut Vec<u8>| bytes[signature..].copy_from_slice(&other[signature..]);
    case("the signature of another message", "bad-signature", said.changed(graft));
    case(
        "the last byte is missing",
        "malformed-truncated",
        said.changed(|bytes| bytes.truncate(bytes.len() - 1)),
    );
    case(
        "the second half is missing",
        "malformed-truncated",
        said.changed(|bytes| bytes.truncate(bytes.len() / 2)),
    );
    case("only the first byte", "malformed-truncated", said.changed(|bytes| bytes.truncate(1)));
    case("the signature is missing", "malformed-truncated", said.changed(|bytes| bytes.truncate(signature)));
    case("a byte behind it", "malformed-trailing-bytes", said.changed(|bytes| bytes.push(0)));
    case(
        "twice in one message",
        "malformed-trailing-bytes",
        said.changed(|bytes| bytes.extend(sealed.clone())),
    );

    let moved = |topic| Said { topic, ..said.clone() }.carried(sealed.clone());
    case("on another topic of the device", "bad-signature", moved("device/a/telemetry/humidity"));
    case("on the same topic with a slash more", "bad-signature", moved("device/a/telemetry/temp/"));
    case("on a topic of another case", "bad-signature", moved("device/a/telemetry/Temp"));
    case("on the topic of another device", "bad-signature", moved("device/narrow/telemetry/temp"));
    case("on a topic of a lower class", "bad-signature", moved("device/a/status/temp"));
    case("behind a bridge that changed the topic", "no-device", moved("site/device/a/telemetry/temp"));
    case("on a topic without a class", "unknown-topic", moved("device/a/other/temp"));
    case("on a topic of a class with a higher floor", "below-floor", moved("device/a/critical/temp"));
    let alert = Said { topic: "device/a/alert/temp", ..said.clone() };
    case("signed for a class with a higher floor", "below-floor", alert.publish());
    let elsewhere = Said { topic: "device/none/telemetry/temp", ..said.clone() };
    case("of a device that nobody knows", "unknown-device", elsewhere.publish());
    let narrow = Said { topic: "device/narrow/status/temp", seed: 7, ..said.clone() };
    case("of a device on a topic that is not its", "not-its-topic", narrow.publish());
    let gone = Said { topic: "device/gone/telemetry/temp", seed: 8, ..said.clone() };
    case("of a device whose only key is retired", "key-retired", gone.publish());

    case(
        "signed with a key that nobody knows",
        "bad-signature",
        Said { seed: 200, ..said.clone() }.publish(),
    );
    case("signed with another device's key", "bad-signature", Said { seed: 7, ..said.clone() }.publish());
    case(
        "signed with a retired key under the id of another",
        "bad-signature",
        Said { seed: 2, ..said.clone() }.publish(),
    );
    case("a key id that nobody knows", "unknown-key", Said { key_id: 99, ..said.clone() }.publish());
    case("a retired key", "key-retired", Said { key_id: 2, seed: 2, ..said.clone() }.publish());
    case(
        "a key that nobody has confirmed",
        "key-announced",
        Said { key_id: 3, seed: 3, ..said.clone() }.publish(),
    );
    case("the id of a key of another level", "level", Said { key_id: 4, ..said.clone() }.publish());
    let higher = Said { level: Level::MlDsa65, seed: 4, ..said.clone() };
    case("a level that is not the key's", "level", higher.publish());

    case("an hour old", "stale", Said { time: NOW.0 - 3_600_000, ..said.clone() }.publish());
    case("a second too old", "stale", Said { time: NOW.0 - 301_000, ..said.clone() }.publish());
    case("an hour ahead", "future", Said { time: NOW.0 + 3_600_000, ..said.clone() }.publish());
    if form == Form::Paper {
        // Without a number only the time stops a replay: no choice and no broker's store makes it pass.
        let old = Said { time: NOW.0 - 3_600_000, ..said.clone() }.publish();
        let mark = "[policy]\nstale = \"mark\"\n";
        cases.push(
            Case::new("paper: an hour old, where late messages pass", "stale", old.clone()).under(mark),
        );
        cases.push(Case::new(
            "paper: an hour old and kept by the broker",
            "stale",
            Publish { retain: true, ..old },
        ));
    }
    let retained = Publish { retain: true, ..said.publish() };
    let refuse = "[policy]\nretained = \"refuse\"\n";
    cases.push(
        Case::new(
            format!("{}: kept by the broker, where that is refused", form.name()),
            "retained",
            retained,
        )
        .under(refuse),
    );
    let others: Vec<_> = Form::ALL
        .into_iter()
        .filter(|other| *other != form)
        .map(|other| format!("{:?}", other.name()))
        .collect();
    let without = format!("[policy]\nforms = [{}]\n", others.join(", "));
    cases.push(
        Case::new(format!("{}: a form that is not taken", form.name()), "form", said.publish())
            .under(&without),
    );
    cases.push(
        Case::new(format!("{}: a second time", form.name()), "replay", said.publish())
            .after(vec![said.publish()]),
    );
    let mut later =
        Case::new(format!("{}: a second time, when its time is over", form.name()), "stale", said.publish());
    later.later_ms = 400_000;
    cases.push(later.after(vec![said.publish()]));
    let again = Publish { dup: true, ..said.publish() };
    cases.push(
        Case::new(format!("{}: delivered again by the broker", form.name()), "redelivered", again)
            .after(vec![said.publish()]),
    );
    let kept = Publish { retain: true, ..said.publish() };
    cases.push(
        Case::new(format!("{}: kept by the broker, and taken before", form.name()), "redelivered", kept)
            .after(vec![said.publish()]),
    );
}

/// What the forms with a number hold besides.
fn numbered(form: Form, cases: &mut Vec<Case>) {
    let said = Said::new(form);
    let mut case = |what: &str, reason, publish| {
        cases.push(Case::new(format!("{}: {what}", form.name()), reason, publish));
    };
    let number = |epoch, sequence| Said { number: Some(Number { epoch, sequence }), ..Said::new(form) };
    // The relabelled envelope has the head of one message and the signature of another.
    let relabelled = |as_if: Said, real: Said| {
        let (mut bytes, signature) = (as_if.sealed(), real.sealed());
        let (to, from) = (bytes.len() - 2420, signature.len() - 2420);
        bytes[to..].copy_from_slice(&signature[from..]);
        as_if.carried(bytes)
    };
    case("another sequence number", "bad-signature", relabelled(number(3, 5001), said.clone()));
    case("another epoch", "bad-signature", relabelled(number(4, 5000), said.clone()));
    let time = Said { time: NOW.0 + 1000, ..said.clone() };
    case("another time", "bad-signature", relabelled(time, said.clone()));
    let kind = Said { kind: Kind::Batch, ..said.clone() };
    case("another kind", "bad-signature", relabelled(kind, said.clone()));
    let asking = Said::asking(form);
    let content = Said { content_type: "text/html!", ..asking.clone() };
    case("another content type", "bad-signature", relabelled(content, asking.clone()));
    let response = Said { response_topic: Some("device/b/answers"), ..asking.clone() };
    case("another response topic", "bad-signature", relabelled(response, asking.clone()));
    let correlation = Said { correlation: &[7, 9], ..asking.clone() };
    case("other correlation data", "bad-signature", relabelled(correlation, asking.clone()));
    case(
        "the properties stripped from the envelope",
        "bad-signature",
        relabelled(said.clone(), asking.clone()),
    );
    let key = Said { key_id: 4, ..said.clone() };
    case("another key id", "level", relabelled(key, said.clone()));

    let beside = |said: &Said, change: fn(&mut Properties)| {
        let mut publish = said.publish();
        change(&mut publish.properties);
        publish
    };
    let response: fn(&mut Properties) = |beside| beside.response_topic = Some("evil".into());
    let content: fn(&mut Properties) = |beside| beside.content_type = Some("text/html".into());
    let correlation: fn(&mut Properties) = |beside| beside.correlation_data = Some(vec![1]);
    case("beside it another response topic", "response-topic", beside(&asking, response));
    case("beside it a response topic, and none signed", "response-topic", beside(&said, response));
    case("beside it another content type", "content-type", beside(&asking, content));
    case("beside it a content type, and none signed", "content-type", beside(&said, content));
    case("beside it other correlation data", "correlation-data", beside(&asking, correlation));
    case("beside it correlation data, and none signed", "correlation-data", beside(&said, correlation));

    let name = |what: &str| format!("{}: {what}", form.name());
    let ahead = vec![number(3, 9000).publish()];
    cases.push(Case::new(name("a number before the window"), "too-old", said.publish()).after(ahead));
    let closed = vec![number(4, 0).publish(), number(5, 0).publish()];
    cases.push(Case::new(name("an epoch that is closed"), "too-old", said.publish()).after(closed));
    let wrapped = vec![number(3, u32::MAX).publish()];
    cases.push(
        Case::new(name("a sequence that began again"), "too-old", number(3, 0).publish()).after(wrapped),
    );
    let same = Said { payload: b"t=99.9", ..said.clone() };
    cases.push(
        Case::new(name("the same number for something else"), "replay", same.publish())
            .after(vec![said.publish()]),
    );
    let between = vec![number(3, 5001).publish(), said.publish(), number(3, 4999).publish()];
    cases.push(Case::new(name("out of order, and a second time"), "replay", said.publish()).after(between));
    let timeless = Said { time: 0, ..said.clone() };
    let refuse = "[policy]\nno_clock = \"refuse\"\n";
    cases.push(
        Case::new(name("without a time, where that is refused"), "no-clock", timeless.publish())
            .under(refuse),
    );
    cases.push(Case::new(
        name("stripped to its payload"),
        "unsigned-device",
        plain(said.topic, said.payload),
    ));
}
