//! What a device is told, on both boards: commands, keys of its own, templates; by its commander, and by others.

use super::*;
use crate::support::Zeros;
use sealstone_mqtt::keyring::Confirmation;
use sealstone_mqtt::template::{self, Release, Template};
use sealstone_mqtt::{Keyed, Message, Number, Topic, UnixMillis, seal};

#[test]
#[ignore = "needs QEMU and Mosquitto: ./dev test mqtt"]
fn the_stm32f405_obeys_its_commander_and_nobody_else() {
    obeys(Board::Netduinoplus2);
}

#[test]
#[ignore = "needs QEMU and Mosquitto: ./dev test mqtt"]
fn the_an386_obeys_its_commander_and_nobody_else() {
    obeys(Board::Mps2An386);
}

#[test]
#[ignore = "needs QEMU and Mosquitto: ./dev test mqtt"]
fn the_stm32f405_rotates_its_keys_whenever_its_power_is_cut() {
    rotates(Board::Netduinoplus2);
}

#[test]
#[ignore = "needs QEMU and Mosquitto: ./dev test mqtt"]
fn the_an386_rotates_its_keys_whenever_its_power_is_cut() {
    rotates(Board::Mps2An386);
}

#[test]
#[ignore = "needs QEMU and Mosquitto: ./dev test mqtt"]
fn the_stm32f405_bears_any_bytes() {
    bears(Board::Netduinoplus2);
}

#[test]
#[ignore = "needs QEMU and Mosquitto: ./dev test mqtt"]
fn the_an386_bears_any_bytes() {
    bears(Board::Mps2An386);
}

pub(super) const COMMAND: &str = "device/7/command/valve";
const CONFIRMED: &str = "device/7/critical/key/confirmed";

/// Text, intervals, templates over a power cut, and everything that is none of the commander's.
fn obeys(board: Board) {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let place = Place::with(board, "obeys", Saying::PLAIN, true);
    let _broker = place.broker();
    let (came, mut operator) = (subscribe(place.port), Operator::new(place.port));
    let (mut device, mut gateway) = (place.power_on(), Gateway::default());
    device.says("\"subscribed\",\"refused\":0", 1);

    let first = operator.sealed(COMMAND, Kind::Plain, b"open the valve");
    operator.send(COMMAND, &first);
    device.says("\"text\":\"open the valve\"", 1);
    // Again; by a stranger; sealed for another device, topic, level; not sealed; a number from before.
    operator.send(COMMAND, &first);
    let stranger = any::SigningKey::from_seed(Level::MlDsa87, &[1; 32]).expand();
    let message = operator.message(COMMAND, Kind::Plain, b"forged");
    operator.send(COMMAND, &signed(&stranger, &message));
    for on in ["device/8/command/valve", "device/7/command/other"] {
        let elsewhere = operator.sealed(on, Kind::Plain, b"for somebody else");
        operator.send(COMMAND, &elsewhere);
    }
    let weak = any::SigningKey::from_seed(Level::MlDsa44, &COMMANDER.0).expand();
    let message = operator.message(COMMAND, Kind::Plain, b"weak");
    operator.send(COMMAND, &signed(&weak, &message));
    operator.send(COMMAND, b"open the valve");
    let message = Message { number: Some(Number { epoch: 0, sequence: 9 }), ..message };
    operator.send(COMMAND, &signed(&operator.key, &message));
    device.says("\"not taken\"", 7);
    assert_eq!(device.said("\"told\""), 1, "{}", device.log());

    let interval = operator.sealed(COMMAND, Kind::Plain, b"interval 300");
    operator.send(COMMAND, &interval);
    device.says("\"interval\":300", 1);
    gateway.take(&came);

    // A template, and the power is cut between its commands.
    let template = template(5, &["let it rain", "rotate 65", "stop"]);
    let template = operator.sealed(COMMAND, Kind::Template, &template);
    operator.send(COMMAND, &template);
    device.says("\"template\":5", 1);
    operator.send(COMMAND, &release(5, 0));
    device.says("\"text\":\"let it rain\"", 1);
    device.cut_the_power();
    let mut device = place.power_on();
    device.says("\"subscribed\",\"refused\":0", 1);
    operator.send(COMMAND, &release(5, 0));
    operator.send(COMMAND, &Release { template: 5, index: 2, token: [9; 32] }.emit());
    operator.send("device/7/command/other", &release(5, 2));
    operator.send(COMMAND, &template);
    device.says("\"not taken\"", 4);
    operator.send(COMMAND, &release(5, 2));
    device.says("\"text\":\"stop\"", 1);
    assert_eq!(device.said("let it rain"), 0, "not twice\n{}", device.log());
    operator.send(COMMAND, &release(5, 1));
    device.says("\"rotate\":\"MlDsa65\"", 1);

    // The key of 65, by the template; those of the others, by commands.
    for level in ["44", "87"] {
        let rotate = operator.sealed(COMMAND, Kind::Plain, format!("rotate {level}").as_bytes());
        operator.send(COMMAND, &rotate);
    }
    gateway.until(&came, &mut device, |seen| seen.announced.len() == 3);
    // Wrong answers: another key's hash, and one that a stranger sealed.
    let (id, (level, public_key)) = gateway.announced.iter().next().unwrap();
    let right = Confirmation::of(&Announcement { level: *level, key_id: KeyId(*id), public_key }).emit();
    let mut wrong = right;
    wrong[34] ^= 1;
    let wrong = operator.sealed(CONFIRMED, Kind::Plain, &wrong);
    operator.send(CONFIRMED, &wrong);
    let message = operator.message(CONFIRMED, Kind::Plain, &right);
    operator.send(CONFIRMED, &signed(&stranger, &message));
    device.says("\"not taken\"", 6);
    assert_eq!(device.said("\"rotated\""), 0, "{}", device.log());
    operator.confirm_all(&gateway);
    gateway.begin_again();
    let next = |level| first_key_id(level).0 + 1;
    let all = |seen: &Gateway| {
        Level::ALL.iter().all(|level| seen.newest.get(level).is_some_and(|newest| newest.0 == next(*level)))
    };
    gateway.until(&came, &mut device, all);
    // An interval that was told lasts, and so do the keys.
    device.cut_the_power();
    gateway.take(&came);
    let mut device = place.power_on();
    let before = gateway.numbers.len();
    gateway.until(&came, &mut device, |seen| seen.numbers.len() > before + 8);
    assert_eq!(device.said("\"told\""), 0, "{}", device.log());
    eprintln!("{board:?}: {} messages, {:?}", gateway.numbers.len(), gateway.newest);
}

/// Rotations at every level while the emulator is killed twenty times, at any point. What came verifies with a key that was announced; no
/// key that was followed by another signs again; and a last life finishes everything.
fn rotates(board: Board) {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let place = Place::with(board, "rotates", Saying::PLAIN, true);
    let _broker = place.broker();
    let (came, mut operator) = (subscribe(place.port), Operator::new(place.port));
    let (mut gateway, mut chance) = (Gateway::default(), Chance(0x207a + board as u64));
    let rotate = |operator: &mut Operator, level: &str| {
        let rotate = operator.sealed(COMMAND, Kind::Plain, format!("rotate {level}").as_bytes());
        operator.send(COMMAND, &rotate);
    };
    {
        let mut device = place.power_on();
        device.says("\"subscribed\",\"refused\":0", 1); // the broker keeps commands from here on
        device.cut_the_power();
    }
    let mut confirmed = 0;
    for life in 0..20 {
        if life % 3 == 0 {
            rotate(&mut operator, ["44", "65", "87"][chance.below(3) as usize]);
        }
        let mut device = place.power_on();
        let until = Instant::now() + Duration::from_millis(200 + chance.below(2_800));
        while Instant::now() < until {
            if let Ok(one) = came.recv_timeout(Duration::from_millis(20)) {
                gateway.message(one);
                if gateway.announced.len() > confirmed && chance.below(4) > 0 {
                    confirmed = gateway.announced.len();
                    operator.confirm_all(&gateway);
                }
            }
        }
        device.cut_the_power();
        gateway.take(&came);
    }
    let mut device = place.power_on();
    for level in ["44", "65", "87"] {
        rotate(&mut operator, level);
    }
    let begin = Instant::now();
    let mut asked = begin;
    let done = |seen: &Gateway| {
        let announced =
            |level: Level| seen.announced.iter().filter(|(_, (of, _))| *of == level).map(|(id, _)| *id).max();
        Level::ALL.iter().all(|level| {
            announced(*level).is_some_and(|id| seen.newest.get(level).is_some_and(|newest| newest.0 == id))
        })
    };
    while !done(&gateway) {
        let seen = gateway.numbers.len();
        gateway.until(&came, &mut device, |now| now.numbers.len() > seen);
        // Once more now and then: a flood of confirmations would leave the device no time for messages of its own.
        if gateway.announced.len() > confirmed || asked.elapsed() > Duration::from_secs(20) {
            confirmed = gateway.announced.len();
            operator.confirm_all(&gateway);
            asked = Instant::now();
        }
        assert!(
            begin.elapsed() < PATIENCE,
            "{:?} {:?}\n{}",
            gateway.announced.keys(),
            gateway.newest,
            device.log()
        );
    }
    eprintln!(
        "{board:?}: {} messages, {} keys announced, {:?}",
        gateway.numbers.len(),
        gateway.announced.len(),
        gateway.newest
    );
}

/// Bytes of any kind on every topic that a device hears, then from a broker of ours: it lives, and obeys afterwards.
fn bears(board: Board) {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let place = Place::with(board, "bears", Saying::PLAIN, true);
    let mut chance = Chance(0xbea2 + board as u64);
    let (listener, good) = (TcpListener::bind(("127.0.0.1", place.port)).unwrap(), connack());
    let mut device = place.power_on();
    for round in 0..8 {
        let (mut line, _) = listener.accept().unwrap();
        let _ = line.set_read_timeout(Some(Duration::from_secs(5)));
        let _ = std::io::Read::read(&mut line, &mut [0; 512]);
        let _ = std::io::Write::write_all(&mut line, &good);
        for _ in 0..40 {
            let first = [0x30, 0x32, 0x34, 0x3d, 0x40, 0x50, 0x62, 0x90, 0xd0, 0xe0, chance.below(256) as u8];
            let len = if chance.below(5) == 0 { chance.below(8_000) } else { chance.below(120) } as usize;
            let mut packet = vec![first[chance.below(11) as usize]];
            let mut rest = len;
            while rest > 127 {
                packet.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            packet.push(rest as u8);
            if round % 2 == 0 && len > 40 {
                packet.truncate(0);
                let body = [&[0, COMMAND.len() as u8][..], COMMAND.as_bytes(), &[0, 7, 0]].concat();
                packet.extend([0x32, (body.len() + 16) as u8]);
                packet.extend(body);
                packet.extend((0..16).map(|_| chance.below(256) as u8));
            } else {
                packet.extend((0..len).map(|_| chance.below(256) as u8));
            }
            if std::io::Write::write_all(&mut line, &packet).is_err() {
                break;
            }
        }
        std::thread::sleep(Duration::from_millis(50));
        assert!(
            device.process.try_wait().unwrap().is_none(),
            "round {round}: the device stopped\n{}",
            device.log()
        );
    }
    drop(listener);
    let _broker = place.broker();
    let mut operator = Operator::new(place.port);
    device.says("\"subscribed\",\"refused\":0", 1);
    let template = template(3, &["one", "two"]);
    let seeds = [
        operator.sealed(COMMAND, Kind::Plain, b"rotate 44"),
        operator.sealed(COMMAND, Kind::Template, &template),
        operator.sealed(CONFIRMED, Kind::Plain, &[0x44; 35]),
        release(3, 1).to_vec(),
        vec![],
    ];
    for i in 0..150 {
        let mut bytes = seeds[chance.below(5) as usize].clone();
        match chance.below(4) {
            0 => bytes.truncate(chance.below(1 + bytes.len() as u64) as usize),
            1 => bytes.extend(vec![0xa5; chance.below(3_000) as usize]),
            _ if bytes.is_empty() => bytes = vec![chance.below(256) as u8; chance.below(90) as usize],
            // Lengths, marks and kinds stand in front.
            _ => {
                for _ in 0..1 + chance.below(4) {
                    let at = chance.below(bytes.len().min(40) as u64) as usize;
                    bytes[at] = chance.below(256) as u8;
                }
            }
        }
        let on = [COMMAND, CONFIRMED, "device/7/command", "device/7/command/\"}\\"][i % 4];
        if !seeds.contains(&bytes) {
            operator.send(on, &bytes);
        }
    }
    let last = operator.sealed(COMMAND, Kind::Plain, b"still there");
    operator.send(COMMAND, &last);
    device.says("\"text\":\"still there\"", 1);
    let log = device.log();
    assert_eq!(device.said("\"told\""), 1, "{log}");
    assert!(!log.contains("panicked") && !log.contains("fault,") && device.said("\"started\"") == 1, "{log}");
    eprintln!("{board:?}: {} refused", device.said("\"not taken\""));
}

fn connack() -> [u8; 5] {
    [0x20, 3, 0, 0, 0]
}

fn template(id: u32, texts: &[&str]) -> Vec<u8> {
    let tokens: Vec<[u8; 32]> = (0..texts.len()).map(|i| [i as u8; 32]).collect();
    let commands: Vec<_> = texts
        .iter()
        .zip(&tokens)
        .map(|(text, token)| template::Command { token, bytes: text.as_bytes() })
        .collect();
    let mut out = vec![0; 1_000];
    let until = UnixMillis(u64::MAX);
    let len = Template::emit(id, UnixMillis(1), until, &commands, &mut out).unwrap();
    out.truncate(len);
    out
}

fn release(template: u32, index: u16) -> [u8; Release::LEN] {
    Release { template, index, token: [index as u8; 32] }.emit()
}

fn signed(key: &any::ExpandedSigningKey, message: &Message<'_>) -> Vec<u8> {
    let mut out = vec![0; 5_200 + message.payload.len()];
    let len = seal::seal(Form::V1, message, &mut Keyed::new(key, &mut Zeros), &mut out).unwrap();
    out.truncate(len);
    out
}

/// The commander, at the broker.
pub(super) struct Operator {
    client: Client,
    key: any::ExpandedSigningKey,
    sequence: u32,
}

impl Operator {
    pub(super) fn new(port: u16) -> Self {
        let (client, mut connection) = Client::new(MqttOptions::new("operator", "127.0.0.1", port), 256);
        std::thread::spawn(move || {
            for event in connection.iter() {
                if event.is_err() {
                    std::thread::sleep(Duration::from_millis(200));
                }
            }
        });
        let key = any::SigningKey::from_seed(Level::MlDsa87, &COMMANDER.0).expand();
        Operator { client, key, sequence: 0 }
    }

    /// Under the next number.
    fn message<'m>(&mut self, on: &'m str, kind: Kind, payload: &'m [u8]) -> Message<'m> {
        self.sequence += 1;
        let number = Some(Number { epoch: 1, sequence: self.sequence });
        Message { kind, number, key_id: COMMANDER.1, ..Message::new(Topic::new(on).unwrap(), payload) }
    }

    pub(super) fn sealed(&mut self, on: &str, kind: Kind, payload: &[u8]) -> Vec<u8> {
        let message = self.message(on, kind, payload);
        signed(&self.key, &message)
    }

    pub(super) fn send(&self, on: &str, bytes: &[u8]) {
        self.client.publish(on, QoS::AtLeastOnce, false, bytes.to_vec()).unwrap();
    }

    /// The gateway's part: every key that was announced is confirmed.
    fn confirm_all(&mut self, gateway: &Gateway) {
        for (id, (level, public_key)) in &gateway.announced {
            let of = Announcement { level: *level, key_id: KeyId(*id), public_key };
            let answer = self.sealed(CONFIRMED, Kind::Plain, &Confirmation::of(&of).emit());
            self.send(CONFIRMED, &answer);
        }
    }
}

impl Device {
    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// How many lines say so.
    fn said(&self, what: &str) -> usize {
        self.log().lines().filter(|line| line.contains(what)).count()
    }

    /// Waits for so many lines.
    pub(super) fn says(&mut self, what: &str, times: usize) {
        let begin = Instant::now();
        while self.said(what) < times {
            assert!(begin.elapsed() < PATIENCE, "it never said {what} {times} times\n{}", self.log());
            assert!(self.process.try_wait().unwrap().is_none(), "the device stopped\n{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
