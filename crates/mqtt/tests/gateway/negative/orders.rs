//! Who may tell whom what: announced keys, confirmations, commands, and commands that were signed beforehand.

use super::world::{Case, NOW, Said, plain, public};
use sealstone_mldsa::Level;
use sealstone_mqtt::gateway::wire::Publish;
use sealstone_mqtt::keyring::{Announcement, Confirmation};
use sealstone_mqtt::template::{Command, Release, Template};
use sealstone_mqtt::{Form, KeyId, Kind, Number, UnixMillis};

const KEY: &str = "device/r/critical/key";
const VALVE: &str = "device/r/command/valve";
/// Announcements are taken; the file is read by the command alone.
pub(crate) const CONFIRM: &str = "[keys]\nannouncements = \"confirm\"\ncommander = \"-\"\n";
const LOW_FLOOR: &str = "[keys]\nannouncements = \"confirm\"\ncommander = \"-\"\n[class.critical]\nfloor = \"ML-DSA-44\"\ntopics = [\"device/+/critical/#\"]\n";

pub(crate) fn cases() -> Vec<Case> {
    [announcements(), confirmations(), commands(), templates()].concat()
}

/// Messages of this file that pass, with the configuration under which they do.
pub(crate) fn genuine() -> Vec<(Publish, &'static str)> {
    vec![
        (announced(8702, Level::MlDsa87, 40).publish(), CONFIRM),
        (announced(6502, Level::MlDsa65, 41).publish(), CONFIRM),
        (announced(6502, Level::MlDsa65, 41).by(6501, Level::MlDsa65, 11).publish(), LOW_FLOOR),
        (command(b"rotate 65").publish(), ""),
        (template(5).publish(), ""),
        (confirmation(KEY).publish(), ""),
    ]
}

/// An announcement, a template, and a command of it let go: each changes what is known.
pub(crate) fn changing() -> [Publish; 3] {
    [announced(8702, Level::MlDsa87, 40).publish(), template(5).publish(), release(5, 1, 2)]
}

impl Said {
    /// Signed with another key.
    fn by(self, key_id: u16, level: Level, seed: u8) -> Self {
        Said { key_id, level, seed, ..self }
    }

    fn number(self, sequence: u32) -> Self {
        Said { number: Some(Number { epoch: 3, sequence }), ..self }
    }
}

/// Device r announces a key, with its key 8701 of level 87.
fn announced(id: u16, level: Level, seed: u8) -> Said {
    let key = public(level, seed);
    let mut payload = vec![0; 3000];
    let announcement = Announcement { level, key_id: KeyId(id), public_key: key.encode() };
    let len = announcement.emit(&mut payload).unwrap();
    payload.truncate(len);
    let said = Said { topic: KEY, payload: payload.leak(), ..Said::new(Form::V1) };
    said.by(8701, Level::MlDsa87, 13)
}

/// A message of the commander.
fn commanded(topic: &'static str, payload: &'static [u8]) -> Said {
    Said { topic, payload, ..Said::new(Form::V1) }.by(1, Level::MlDsa87, 14)
}

fn command(payload: &'static [u8]) -> Said {
    commanded(VALVE, payload)
}

fn confirmation(announced_on: &str) -> Said {
    let key = public(Level::MlDsa87, 40);
    let announcement = Announcement { level: Level::MlDsa87, key_id: KeyId(8702), public_key: key.encode() };
    let payload = Confirmation::of(&announcement).emit().to_vec().leak();
    commanded(format!("{announced_on}/confirmed").leak(), payload)
}

/// A template with two commands, from now on for ten seconds.
fn template(id: u32) -> Said {
    template_of(id, NOW.0, b"close")
}

fn template_of(id: u32, from: u64, second: &[u8]) -> Said {
    let commands = [Command { token: &[1; 32], bytes: b"open" }, Command { token: &[2; 32], bytes: second }];
    let mut payload = vec![0; 300];
    let len =
        Template::emit(id, UnixMillis(from), UnixMillis(from + 10_000), &commands, &mut payload).unwrap();
    payload.truncate(len);
    Said { kind: Kind::Template, ..command(payload.leak()) }
}

fn release(template: u32, index: u16, token: u8) -> Publish {
    plain(VALVE, &Release { template, index, token: [token; 32] }.emit())
}

fn announcements() -> Vec<Case> {
    let first = announced(8702, Level::MlDsa87, 40);
    let high = |id, seed| announced(id, Level::MlDsa87, seed);
    let case = |what: &str, reason, said: &Said| {
        Case::new(format!("announcement: {what}"), reason, said.publish()).under(CONFIRM)
    };
    let payload = |change: fn(&mut Vec<u8>)| {
        let mut payload = first.payload.to_vec();
        change(&mut payload);
        Said { payload: payload.leak(), ..first.clone() }
    };
    let of_c = |said: Said| Said { topic: "device/c/critical/key", ..said }.by(1, Level::MlDsa87, 6);
    let again = |said: Said| said.number(5001);
    let mut after_overlap =
        case("signed with a key whose overlap is over", "key-retired", &again(high(8703, 41)));
    after_overlap.later_ms = 2000;
    vec![
        case("where the configuration takes none", "announcement", &first).under(""),
        case("signed at a lower level than the class demands", "below-floor", &{
            announced(6502, Level::MlDsa65, 41).by(6501, Level::MlDsa65, 11)
        }),
        case("signed at a lower level than the new key's", "announced-below", &{
            first.clone().by(6501, Level::MlDsa65, 11)
        })
        .under(LOW_FLOOR),
        case("signed with a retired key", "key-retired", &first.clone().by(8700, Level::MlDsa87, 12)),
        after_overlap.under(&format!("{CONFIRM}overlap_s = 1\n")).after(vec![first.publish()]),
        case("signed with the new key itself", "unknown-key", &first.clone().by(8702, Level::MlDsa87, 40)),
        case(
            "signed with the key of another device",
            "bad-signature",
            &first.clone().by(8701, Level::MlDsa87, 6),
        ),
        Case::new(
            "announcement: of another device's topic",
            "unknown-key",
            Said { topic: "device/c/critical/key", ..first.clone() }.carried(first.sealed()),
        )
        .under(CONFIRM),
        case("a second time", "replay", &first).after(vec![first.publish()]),
        case("an hour old", "stale", &Said { time: NOW.0 - 3_600_000, ..first.clone() }),
        case("an id skipped", "announced-id", &high(8703, 40)),
        case("an id of before", "announced-id", &high(8699, 40)),
        case("the last id and one more", "announced-id", &high(0, 40)),
        case("the id of a retired key, with it", "announced-id", &high(8700, 12)),
        case("the id of a retired key, with another one", "announced-otherwise", &high(8700, 40)),
        case("the id that counts, with another key", "announced-otherwise", &high(8701, 40)),
        case("an id announced before, with another key", "announced-otherwise", &again(high(8702, 41)))
            .after(vec![first.publish()]),
        case("an id of another level", "announced-otherwise", &high(6501, 40)),
        case("the id of a key for tags", "announced-otherwise", &announced(17, Level::MlDsa44, 40)),
        case("with a tag", "tag", &Said { tagged: true, ..first.clone().by(17, Level::MlDsa44, 37) })
            .under(&format!("{LOW_FLOOR}[policy]\ntags = [\"critical\"]\n")),
        case("the next id of another level", "announced-id", &high(6502, 40)),
        case(
            "of a level that the device does not have",
            "announced-id",
            &of_c(announced(2, Level::MlDsa44, 42)),
        ),
        case("the key of another device", "announced-key", &high(8702, 6)),
        case("the commander's key", "announced-key", &high(8702, 14)),
        case("its own key under a new id", "announced-key", &high(8702, 13)),
        case("its retired key under a new id", "announced-key", &high(8702, 12)),
        case("a key that another device announced", "announced-key", &of_c(announced(2, Level::MlDsa87, 40)))
            .after(vec![first.publish()]),
        case("of the kind template", "malformed-unknown", &Said { kind: Kind::Template, ..first.clone() }),
        case(
            "a byte of the key is missing",
            "malformed-truncated",
            &payload(|bytes| bytes.truncate(bytes.len() - 1)),
        ),
        case("a byte behind the key", "malformed-trailing-bytes", &payload(|bytes| bytes.push(0))),
        case("of a level that nobody knows", "malformed-unknown", &payload(|bytes| bytes[0] = 0x46)),
        case("of a key for tags", "malformed-unknown", &payload(|bytes| bytes[0] = 0x4d)),
        case("empty", "malformed-truncated", &Said { payload: b"", ..first.clone() }),
        case("of the commander", "not-its-topic", &{
            Said { topic: "device/commander/critical/key", ..high(2, 40) }.by(1, Level::MlDsa87, 14)
        }),
        Case::new("announcement: unsigned", "unsigned-device", plain(KEY, first.payload)).under(CONFIRM),
        Case::new("announcement: unsigned, where that passes", "unsigned", plain(KEY, first.payload))
            .under(&format!("{CONFIRM}[policy]\ndefault = \"compatible\"\n")),
    ]
}

fn confirmations() -> Vec<Case> {
    let said = confirmation(KEY);
    let case = |what: &str, reason, publish| Case::new(format!("confirmation: {what}"), reason, publish);
    let elsewhere = Said { topic: "device/c/critical/key/confirmed", ..said.clone() };
    vec![
        case("of the device itself", "unknown-key", said.clone().by(8701, Level::MlDsa87, 13).publish()),
        case("of the device itself, under the commander's key id", "bad-signature", {
            said.clone().by(1, Level::MlDsa87, 13).publish()
        }),
        case("of another device", "bad-signature", said.clone().by(1, Level::MlDsa87, 6).publish()),
        case("that was another device's", "bad-signature", elsewhere.carried(said.sealed())),
        case("a second time", "replay", said.publish()).after(vec![said.publish()]),
        case("unsigned", "unsigned-device", plain(said.topic, said.payload)),
        case("of a device that nobody knows", "unknown-device", {
            Said { topic: "device/none/critical/key/confirmed", ..said.clone() }.publish()
        }),
    ]
}

fn commands() -> Vec<Case> {
    let said = command(b"rotate 65");
    let case = |what: &str, reason, publish| Case::new(format!("command: {what}"), reason, publish);
    let other = Said { topic: "device/c/command/valve", ..said.clone() };
    vec![
        case("of the device itself", "unknown-key", said.clone().by(8701, Level::MlDsa87, 13).publish()),
        case("of a device to itself, under the commander's key id", "bad-signature", {
            other.clone().by(1, Level::MlDsa87, 6).publish()
        }),
        case("that was another device's", "bad-signature", other.carried(said.sealed())),
        case("with a tag", "tag", {
            Said { tagged: true, ..said.clone().by(17, Level::MlDsa44, 37) }.publish()
        })
        .under(
            "[policy]\ntags = [\"high\"]\n[class.high]\nfloor = \"ML-DSA-44\"\ntopics = [\"device/+/command/#\"]\n",
        ),
        case("to a device that nobody knows", "unknown-device", {
            Said { topic: "device/none/command/valve", ..said.clone() }.publish()
        }),
        case("where nobody commands", "no-commander", said.publish())
            .under("[keys]\ncommander_name = \"nobody\"\n"),
        case("a second time", "replay", said.publish()).after(vec![said.publish()]),
        case("unsigned", "unsigned-device", plain(VALVE, b"rotate 65")),
        case("unsigned, to a device without a key that counts", "unsigned-device", {
            plain("device/gone/command/valve", b"rotate 65")
        }),
        case("the commander's key on a topic of its own", "not-its-topic", {
            Said { topic: "device/commander/telemetry/x", ..said.clone() }.publish()
        }),
        case("the commander's key on a device's topic", "bad-signature", {
            Said { topic: "device/c/telemetry/x", ..said.clone() }.publish()
        }),
    ]
}

fn templates() -> Vec<Case> {
    let said = template(5);
    let next = |said: Said| said.number(5001);
    let case = |what: &str, reason, publish| {
        Case::new(format!("template: {what}"), reason, publish).after(vec![template(5).publish()])
    };
    let mut late = case("a command of one that is over", "command-late", release(5, 1, 2));
    late.later_ms = 10_001;
    let ahead = template_of(5, NOW.0 + 5_000, b"close");
    let taken = || vec![said.publish(), release(5, 1, 2)];
    let on = |topic: &str| plain(topic, &Release { template: 5, index: 1, token: [2; 32] }.emit());
    let status = Said { topic: "device/c/status/valve", ..said.clone() }.by(1, Level::MlDsa87, 6);
    vec![
        case("of a device's own key", "unknown-key", said.clone().by(8701, Level::MlDsa87, 13).publish()),
        case("of a device's own key, under the commander's key id", "bad-signature", {
            next(Said { topic: "device/c/command/valve", ..said.clone() }.by(1, Level::MlDsa87, 6)).publish()
        }),
        case("an id of before", "template-old", next(template(4)).publish()),
        case("the same id with other commands", "template-old", {
            next(template_of(5, NOW.0, b"drain")).publish()
        }),
        case("that is none", "malformed-truncated", {
            next(Said { kind: Kind::Template, ..command(b"open") }).publish()
        }),
        case("longer than what is remembered", "malformed", {
            let payload = vec![7; 64 * 1024 + 1].leak();
            next(Said { kind: Kind::Template, ..command(payload) }).publish()
        }),
        case("a token that was guessed", "wrong-token", release(5, 1, 3)),
        case("the token of another command", "wrong-token", release(5, 1, 1)),
        case("a command that it does not have", "wrong-token", release(5, 2, 2)),
        case("a command of the last index", "wrong-token", release(5, 65_535, 2)),
        case("a command of one that did not come", "template-unknown", release(6, 1, 2)),
        case("a command where none came", "template-unknown", release(5, 1, 2)).after(vec![]),
        case("a command on another topic of the device", "template-unknown", on("device/r/command/pump")),
        case("a command on the topic of another device", "template-unknown", on("device/c/command/valve")),
        case("a command for a device that nobody knows", "unknown-device", on("device/none/command/valve")),
        case("a command of one that was replaced", "template-unknown", release(5, 1, 2))
            .after(vec![said.publish(), next(template(6)).publish()]),
        case("a command of one that came as a plain message", "template-unknown", release(5, 1, 2))
            .after(vec![Said { kind: Kind::Plain, ..said.clone() }.publish()]),
        case("a command of one on a topic of the device's own", "command", on("device/c/status/valve"))
            .after(vec![status.publish()]),
        case("a command a second time", "command-taken", release(5, 1, 2)).after(taken()),
        case("a command a second time, after the template came again", "command-taken", release(5, 1, 2))
            .after([taken(), vec![next(template(5)).publish()]].concat()),
        case("a command delivered again by the broker", "redelivered", {
            Publish { dup: true, ..release(5, 1, 2) }
        })
        .after(taken()),
        case("a command too early", "command-early", release(5, 1, 2)).after(vec![ahead.publish()]),
        late,
        case("a command kept by the broker, where that is refused", "retained", {
            Publish { retain: true, ..release(5, 1, 2) }
        })
        .under("[policy]\nretained = \"refuse\"\n"),
        case("a command cut", "malformed-truncated", plain(VALVE, b"\xe3\0\0\0\x05\0\x01")),
        case("a command with a byte behind it", "malformed-trailing-bytes", {
            let mut longer = release(5, 1, 2);
            longer.payload.push(0);
            longer
        }),
    ]
}
